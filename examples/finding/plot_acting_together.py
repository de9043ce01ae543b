"""
Two features that no t-test sees
================================

The class is whether two features have the same sign. Alone, each is uninformative: its mean and its whole
distribution are the same in both classes. Among 300 features of noise, tests of one feature at a time pass
by; I-RELIEF looks at neighbors, and neighbors know of both.
"""

# %%
# A table of 400 samples
# ----------------------
#
# ``make_xor`` puts the two features in columns 0 and 1.

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import ttest_ind

from highrelief import IRelief
from highrelief.datasets import make_xor
from highrelief.plots import InteractionDisplay

X, y, relevant = make_xor(400, n_irrelevant=300, random_state=0)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for label, marker in ((0, "o"), (1, "^")):
    left.scatter(*X[y == label][:, :2].T, s=12, marker=marker, label=f"class {label}")
left.set(title="Together they tell the classes apart", xlabel="x0", ylabel="x1")
left.legend(loc="upper right")
right.hist([X[y == 0, 0], X[y == 1, 0]], bins=20, label=["class 0", "class 1"])
right.set(title="Alone they do not", xlabel="x0", ylabel="samples")
right.legend()
plt.show()

# %%
# One feature at a time, and by neighbors
# ----------------------------------------
#
# On the left, how surprising the difference of the means is, for all 302 features; the two that matter are
# among the crowd. On the right, the weights of I-RELIEF, with its defaults.

p_values = ttest_ind(X[y == 0], X[y == 1]).pvalue
weighter = IRelief(n_features_to_select=2).fit(X, y)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
for ax, values, title in (
    (axes[0], -np.log10(p_values), r"t-tests: $-\log_{10}\,p$"),
    (axes[1], weighter.feature_weights_, "I-RELIEF: weights"),
):
    ax.vlines(np.arange(302), 0, values, color="silver", lw=1)
    ax.plot(np.arange(2), values[:2], "o", color="crimson", label="x0 and x1")
    ax.set(title=title, xlabel="feature", ylim=(0, None))
    ax.legend(loc="upper right")
plt.show()

ranks = 1 + np.argsort(np.argsort(p_values))[:2]
print(
    f"t-tests rank them {ranks[0]} and {ranks[1]} of 302, I-RELIEF {sorted(weighter.ranking_[:2].tolist())}."
)

# %%
# Who needs whom
# --------------
#
# A weight shows that a feature matters, not with which others. Leaving out the best features one at a time
# does: without the other, most or all of the weight of x0 and of x1 is gone. No other pair stands out.

display = InteractionDisplay.from_estimator(weighter, X, y, n_features=8, n_resamples=6, random_state=0)
plt.show()
