"""
Controlling the error rate
==========================

Every ranking has a top, also if no feature is relevant. ``ErrorControlledSelector`` compares the weights with
those for permuted labels and selects features at a stated error rate. It may select none.
"""

# %%
# Two features that act together among a hundred
# --------------------------------------------------
#
# Once with the true labels, once with labels that mean nothing.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone

from highrelief import ErrorControlledSelector, ReliefF
from highrelief.datasets import make_xor

X, y, relevant = make_xor(200, n_irrelevant=100, random_state=0)
nothing = np.random.default_rng(0).permutation(y)

selector = ErrorControlledSelector(ReliefF(), level=0.1, n_permutations=300, random_state=0)
found = {}
for control in ("fdr", "fwer"):
    for name, labels in (("labels at random", nothing), ("true labels", y)):
        fitted = clone(selector).set_params(control=control).fit(X, labels)
        found[control, name] = fitted.get_support(indices=True).tolist()
        print(f"{control:5s} {name:17s} kept: {found[control, name]}")
selector.set_params(control="fdr").fit(X, y)

# %%
# x0 and x1 are real. ``control="fdr"`` bounds the share of false features among those kept, on average, and
# lets one of noise pass here; ``control="fwer"`` bounds the chance that there is any. With labels at random
# both keep nothing.
#
# p-values come from weights under permuted labels, q-values from the p-values: keeping all with q below 0.1
# errs in a tenth of the kept features on average.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
order = np.argsort(selector.pvalues_)
left.plot(np.arange(1, 103), selector.pvalues_[order], ".", color="gray", label="noise")
left.plot(
    1 + np.flatnonzero(relevant[order]),
    selector.pvalues_[order][relevant[order]],
    "o",
    color="crimson",
    label="real",
)
left.plot([1, 102], [1 / 102, 1], color="black", lw=0.5, label="chance")
left.set(title="p-values, sorted", xlabel="feature, by p-value", ylabel="p")
left.legend()
shown = np.argsort(selector.qvalues_, kind="stable")[:10]
right.barh(np.arange(10), selector.qvalues_[shown], color=np.where(relevant[shown], "crimson", "silver"))
right.axvline(0.1, color="black", ls="--", lw=1, label="level")
right.set(
    title="q-values of the ten best", yticks=np.arange(10), yticklabels=[f"x{j}" for j in shown], xlabel="q"
)
right.invert_yaxis()
right.legend()
plt.show()

# %%
# How often is it wrong?
# ----------------------
#
# 30 tables of pure noise at the level 0.1: in about three of them, or fewer, anything is kept.

wrong = 0
for seed in range(30):
    rng = np.random.default_rng(seed)
    noise, labels = rng.normal(size=(60, 100)), np.arange(60) % 2
    selector = ErrorControlledSelector(ReliefF(), level=0.1, n_permutations=100, random_state=seed)
    wrong += bool(selector.fit(noise, labels).get_support().any())
print(f"{wrong} of 30 tables of noise have a feature that is kept")
