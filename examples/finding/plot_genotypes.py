"""
Interacting genotypes
=====================

1,000 people with 0, 1 or 2 rare alleles at each of 202 loci. Two loci cause a disease in combination
(heritability 0.2), and neither has an effect of its own. Which methods rank them first?
"""

# %%
# Genotypes are small integers, and stay so: no method needs them converted. Many people are equally far
# from each other; neighbors that tie share their place, so that the order of the rows never matters.

import matplotlib.pyplot as plt
import numpy as np

from highrelief import FisherScore, IRelief, IterativeElimination, MultiSURF, ReliefF
from highrelief.datasets import make_epistasis

methods = {
    "FisherScore": FisherScore(),
    "ReliefF": ReliefF(),
    "ReliefF, k = 100": ReliefF(n_neighbors=100),
    "MultiSURF": MultiSURF(),
    "TuRF around ReliefF": IterativeElimination(ReliefF(n_neighbors=100), n_features_to_select=10),
    "IRelief": IRelief(),
}
worst = {name: [] for name in methods}
for seed in range(4):
    X, y, relevant = make_epistasis(1000, n_irrelevant=200, random_state=seed)
    for name, method in methods.items():
        worst[name].append(method.fit(X, y).ranking_[relevant].max())

# %%
# The rank of the worse of the two loci, in each of four tables: 2 is perfect. A list of candidates to be
# tested next, such as the best 20, has both where the point is left of the line.

figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
for place, ranks in enumerate(worst.values()):
    ax.plot(ranks, np.full(4, place) + np.linspace(-0.15, 0.15, 4), "o", alpha=0.8)
ax.axvline(20, color="black", ls=":", lw=1)
ax.set(
    xscale="log",
    yticks=range(len(worst)),
    yticklabels=worst,
    xlabel="rank of the worse of the two loci, of 202",
)
ax.invert_yaxis()
plt.show()

for name, ranks in worst.items():
    print(f"{name:20s} median rank {np.median(ranks):5.0f}")
