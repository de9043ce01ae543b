"""
Learning from a stream
======================

``OnlineIRelief.partial_fit`` learns from samples that arrive in batches and are not stored. New samples are
compared with a buffer of a few hundred, drawn at random from all samples so far, so that memory is bounded.
"""

# %%
# Two of twenty features matter, and only together
# ------------------------------------------------

import matplotlib.pyplot as plt
import numpy as np

from highrelief import IRelief, OnlineIRelief


def batch(number, n=250):
    """Samples of the stream: the class is whether the signs of the first two features agree."""
    X = np.random.default_rng(number).uniform(-1.0, 1.0, (n, 20))
    return X, (X[:, 0] * X[:, 1] > 0.0).astype(int)


table = [np.concatenate(parts) for parts in zip(*(batch(number) for number in range(8)), strict=True)]
as_a_whole = (
    IRelief(margin="nearest", outliers=True, perplexity=0.5, averaging=True).fit(*table).feature_weights_
)

# %%
# After every batch: what the features weigh, and how far that is from the weights of 2,000 samples at once.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
distances = {}
for size in (50, 200):
    stream = OnlineIRelief(buffer_size=size, random_state=0)
    weights = np.array([stream.partial_fit(*batch(number)).feature_weights_ for number in range(24)])
    distances[size] = np.linalg.norm(weights - as_a_whole, axis=1)
    right.plot(250 * np.arange(1, 25), distances[size], "o-", ms=3, label=f"buffer of {size}")
left.plot(250 * np.arange(1, 25), weights[:, 2:], color="silver", lw=0.8)
left.plot(250 * np.arange(1, 25), weights[:, :2], "o-", ms=3)
left.set(title="Weights, buffer of 200", xlabel="samples seen", ylabel="weight")
right.set(title="Distance from the batch algorithm", xlabel="samples seen", ylim=(0, None))
right.legend()
plt.show()

print(
    f"seen {stream.n_samples_seen_}, kept 200; best two:", np.argsort(-stream.feature_weights_)[:2].tolist()
)
