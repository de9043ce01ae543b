"""
A ranking or a short list
=========================

Ten features of this table are redundant: copies of two, with some noise. A ranking puts all of them on top,
which is right if the question is *what is associated with the class*. If it is *what do I have to measure*, a
few are enough. LOGO's penalty leaves redundant features out; ``RedundancyFilter`` does the same
for any ranking.
"""

# %%
# Five noisy copies of each of two features that act together
# -----------------------------------------------------------

import matplotlib.pyplot as plt
import numpy as np

from highrelief import LOGO, IRelief, RedundancyFilter
from highrelief.datasets import make_xor

X, y, _ = make_xor(300, n_irrelevant=50, random_state=0)
rng = np.random.default_rng(0)
copies = np.repeat(X[:, :2], 5, axis=1) + 0.05 * rng.normal(size=(300, 10))
X = np.hstack([copies, X[:, 2:]])  # x0 to x4 are copies of one feature, x5 to x9 of the other

ranking = IRelief(n_features_to_select=10).fit(X, y)
short = LOGO().fit(X, y)
filtered = RedundancyFilter(IRelief(n_features_to_select=10), threshold=0.9).fit(X, y)

kept = {
    "IRelief, best ten": ranking.get_support(),
    "LOGO": short.get_support(),
    "RedundancyFilter(IRelief)": filtered.get_support(),
}
figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained", sharex=True)
weights = (ranking.feature_weights_, short.feature_weights_, filtered.feature_weights_)
for ax, (name, support), values in zip(axes, kept.items(), weights, strict=True):
    colors = np.where(support, "tab:blue", "lightgray")
    ax.bar(np.arange(len(values)), values / values.max(), color=colors, width=0.9)
    ax.set(title=f"{name}: {support.sum()} kept", xlabel="feature")
    ax.axvline(4.5, color="black", lw=0.5)
    ax.axvline(9.5, color="black", lw=0.5)
axes[0].set_ylabel("weight, largest = 1")
plt.show()

for name, support in kept.items():
    print(f"{name:26s}", np.flatnonzero(support).tolist())

# %%
# The path of LOGO's penalty
# --------------------------
#
# As λ (``alpha``) falls, features come in: first the two groups, one member after the other, then noise. By
# default λ is a fifth of the smallest one that leaves nothing, in every step.

penalties = np.geomspace(12, 0.3, 16)
path = np.array([LOGO(alpha=alpha).fit(X, y).feature_weights_ for alpha in penalties])

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
lines = ax.plot(penalties, path[:, 10:], color="silver", lw=0.8)
first = ax.plot(penalties, path[:, :5], color="tab:blue")
second = ax.plot(penalties, path[:, 5:10], color="tab:orange")
ax.set(
    xscale="log", xlabel="penalty λ, falling to the right", ylabel="weight", title="Weights along the path"
)
ax.invert_xaxis()
ax.legend([first[0], second[0], lines[0]], ["copies of the first", "copies of the second", "noise"])
plt.show()
