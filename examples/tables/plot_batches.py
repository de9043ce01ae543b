"""
Batches
=======

Samples of two laboratories. One sent mostly patients, the other mostly controls, and their instruments
differ. A feature that marks the laboratory also marks the class; ``fit(X, y, batches=...)`` searches
neighbors within each laboratory.
"""

# %%
# One relevant feature, three that only mark the laboratory
# ---------------------------------------------------------

import matplotlib.pyplot as plt
import numpy as np

from highrelief import ReliefF

rng = np.random.default_rng(0)
laboratory = np.arange(300) % 2
y = np.where(rng.uniform(size=300) < 0.9, laboratory, 1 - laboratory)
X = rng.normal(size=(300, 40))
X[:, 0] += 1.2 * y
X[:, 1:4] += 6.0 * laboratory[:, None]

plain = ReliefF().fit(X, y)
within = ReliefF().fit(X, y, batches=laboratory)
across = ReliefF(batch_neighbors="across").fit(X, y, batches=laboratory)

figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained", sharey=True)
colors = ["crimson"] + 3 * ["tab:orange"] + 36 * ["silver"]
for ax, fitted, title in zip(axes, (plain, within, across), ("plain", "within", "across"), strict=True):
    ax.bar(np.arange(40), fitted.feature_weights_, color=colors)
    ax.axhline(0, color="black", lw=0.5)
    ax.set(title=title, xlabel="feature")
axes[0].set_ylabel("weight")
plt.show()

# %%
# Red is the feature of the class, orange are those of the laboratory. Without batches the latter win;
# within or across batches, each scaled by itself, they are noise.

for name, fitted in (("plain", plain), ("within", within), ("across", across)):
    of_laboratory = fitted.ranking_[1:4].min()
    print(f"{name:7s} rank of the real feature {fitted.ranking_[0]}, best of the laboratory {of_laboratory}")
