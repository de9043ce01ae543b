"""
How many features to keep
=========================

A ranking does not show where to cut. ``CrossValidatedSelector`` tries every cut, ranking again in each fold,
and keeps as many features as classify best. And it is easy to fool oneself with the accuracy of that
choice: three ways to measure it, of which one is right.
"""

# %%
# Breast tissue and columns of noise
# ----------------------------------
#
# 30 measurements of 80 samples, half of them benign and half malignant, beside 1,000 columns that mean
# nothing.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from highrelief import CrossValidatedSelector, ReliefF
from highrelief.datasets import add_irrelevant_features

data = load_breast_cancer()
order = np.random.default_rng(0).permutation(len(data.target))
chosen = np.concatenate([order[data.target[order] == label][:40] for label in (0, 1)])
X, y = data.data[chosen], data.target[chosen]
X, relevant = add_irrelevant_features(X / X.std(axis=0), 1000, random_state=0)

selector = CrossValidatedSelector(ReliefF(), cv=5).fit(X, y)
mean, spread = selector.cv_scores_.mean(axis=0), selector.cv_scores_.std(axis=0)

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.fill_between(
    selector.cuts_, mean - spread, mean + spread, alpha=0.2, label="± standard deviation over folds"
)
ax.plot(selector.cuts_, mean, "o-", ms=4, label="mean accuracy of 3-NN")
ax.axvline(selector.n_features_, color="crimson", ls="--", label=f"kept: {selector.n_features_}")
ax.set(xscale="log", xlabel="features kept", ylabel="accuracy in the folds", title="Every cut of the ranking")
ax.legend()
plt.show()

# %%
# What that accuracy is worth
# ---------------------------
#
# With permuted labels, three times: no feature is relevant, and an unbiased accuracy is about one half.
#
# - *Outside*: choose features on all samples, then cross-validate a classifier on them. Every feature has
#   seen the samples that evaluate it.
# - *Best cut*: the best of the scores above. Ranked inside the folds, but the best of many.
# - *Nested*: the selector goes into the pipeline, and the pipeline is cross-validated.

knn = make_pipeline(MinMaxScaler(), KNeighborsClassifier(3))
folds = StratifiedKFold(5, shuffle=True, random_state=0)


def accuracies(labels):
    """Accuracy by the three ways: outside, best cut, nested."""
    chosen = CrossValidatedSelector(ReliefF(), cv=3).fit(X, labels)
    best_20 = X[:, np.argsort(-chosen.feature_weights_, kind="stable")[:20]]
    nested = make_pipeline(CrossValidatedSelector(ReliefF(), cv=3), knn)
    return (
        cross_val_score(knn, best_20, labels, cv=folds).mean(),
        chosen.cv_scores_.mean(axis=0).max(),
        cross_val_score(nested, X, labels, cv=folds).mean(),
    )


ways = ("outside", "best cut", "nested")
honest = dict(zip(ways, accuracies(y), strict=True))
shuffled = [accuracies(np.random.default_rng(seed).permutation(y)) for seed in range(3)]
nothing = dict(zip(ways, np.mean(shuffled, axis=0), strict=True))

figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
places = np.arange(3)
ax.bar(places - 0.2, list(honest.values()), 0.4, label="true labels")
ax.bar(places + 0.2, list(nothing.values()), 0.4, label="labels at random")
ax.axhline(0.5, color="black", ls=":", label="guessing")
ax.set(xticks=places, xticklabels=honest, ylabel="accuracy", ylim=(0.3, 1.15), title="Three ways to measure")
ax.legend(loc="upper right", ncols=3)
plt.show()

print("labels at random:", {name: round(float(value), 2) for name, value in nothing.items()})
