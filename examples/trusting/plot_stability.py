"""
How stable is a ranking?
========================

With 100 samples and hundreds of columns, the top of a ranking is partly chance. ``EnsembleWeighting``
fits many subsets and averages; ``StabilityDisplay`` shows how far two halves of the samples, which share
none, agree about the best features.
"""

# %%
# Ten relevant features of 500
# ----------------------------

import matplotlib.pyplot as plt
import numpy as np

from highrelief import EnsembleWeighting, Relief, ReliefF
from highrelief.plots import FeatureWeightsDisplay, StabilityDisplay

rng = np.random.default_rng(0)
y = np.arange(100) % 2
X = rng.normal(size=(100, 500))
X[:, :10] += np.linspace(1.4, 0.5, 10) * y[:, None]

ensemble = EnsembleWeighting(
    ReliefF(), n_estimators=20, max_samples=0.5, n_features_to_select=10, random_state=0
)
ensemble.fit(X, y)
FeatureWeightsDisplay.from_estimator(ensemble, n_features=20)
plt.show()

# %%
# Lines are the standard deviation over the 20 members. Names from x0 to x9 are real, and of the weakest of
# them some are behind noise.
#
# How many can be relied on
# -------------------------
#
# 1: two halves name the same features; 0: what lots would score. ``Relief`` looks at one neighbor and is
# less stable than ``ReliefF``, which looks at ten; an ensemble helps the former.

figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained", sharey=True)
methods = {
    "Relief": Relief(),
    "ensemble of Relief": EnsembleWeighting(Relief(), n_estimators=10, random_state=0),
    "ReliefF": ReliefF(),
}
displays = {}
for ax, (name, method) in zip(axes, methods.items(), strict=True):
    displays[name] = StabilityDisplay.from_estimator(
        method, X, y, sizes=[1, 2, 3, 5, 7, 10, 15, 20, 30, 50], random_state=0, ax=ax
    )
    ax.set_title(name)
plt.show()

at_ten = {name: round(float(display.stability[5]), 2) for name, display in displays.items()}
print("Stability of the best ten:", at_ten)

# %%
# Stable is not right, and a number by itself means little: see the page on stability in the guide for how
# such numbers mislead.
