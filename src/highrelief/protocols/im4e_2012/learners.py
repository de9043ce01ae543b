"""What learns weights and classifies by them, with the settings of section 5.2."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier

from ...core.class_distances import ClassDistances
from ...core.scaling import Scaling
from ...gflip import GFlip
from ...im4e import IM4E, SIGMA_PATH
from ...logo import LOGO
from ...relief import Relief, ReliefF
from ...simba import Simba
from ..judges import folds_of

Array = NDArray[Any]
#: From new samples to their classes.
Rule = Callable[[Array], Array]

#: The paper has a pre-set limit and does not give it. With small σ both go on without settling; on three of
#: the UCI sets LOGO's accuracy after 5, 10 and 30 steps differed by chance only, and so did that of I-M4E
#: after 20 and 100.
MOST_STEPS = {"I-M4E": 20, "LOGO": 5}
#: The penalty of LOGO's own paper.
LOGO_PENALTY = 1.0
#: Internal folds: the paper has ten for the number of features, and does not say how many for σ and k.
FOLDS_FOR_SETTINGS, FOLDS_FOR_SIZES = 5, 10


@dataclass(frozen=True)
class Learned:
    """Weights of the features, and rules that classify by them."""

    weights: NDArray[np.float64]
    rules: Mapping[str, Rule]


@dataclass(frozen=True)
class Learner:
    """A method, its rules, and the values of what internal cross-validation chooses for it."""

    learn: Callable[[Array, Array, float], Learned]
    rules: tuple[str, ...]
    settings: Sequence[float] = (0.0,)


@dataclass(frozen=True)
class Choice:
    """Classes of new samples by a rule, and what internal cross-validation chose."""

    predicted: Array
    setting: float
    n_features: int


def chosen(
    learner: Learner, known: Array, y: Array, new: Array, sizes: Sequence[int] | None = None
) -> dict[str, Choice]:
    """What each rule of a learner says of new samples.

    Its setting is the one with which it is right most often in internal cross-validation with all features;
    of equals the first. With it, so is the number of features, one of ``sizes``; of equals the largest.
    """
    choices = {}
    sizes = [known.shape[1]] if sizes is None else sizes
    for setting, rules in _best_settings(learner, known, y).items():
        best = _best_sizes(learner, known, y, setting, sizes, rules)
        for kept, found in down(learner, known, y, setting, sizes):
            for name in rules:
                if best[name] == kept.size:
                    choices[name] = Choice(found.rules[name](new[:, kept]), float(setting), kept.size)
    return choices


def down(
    learner: Learner, X: Array, y: Array, setting: float, sizes: Sequence[int]
) -> Iterator[tuple[NDArray[np.int64], Learned]]:
    """Learn from all features, then from those that weigh most, fewer and fewer, each time anew."""
    kept = np.arange(X.shape[1])
    weights = np.zeros(kept.size)
    for size in sizes:
        kept = np.sort(kept[np.argsort(-weights, kind="stable")[:size]])
        found = learner.learn(X[:, kept], y, setting)
        weights = found.weights
        yield kept, found


def _best_settings(learner: Learner, X: Array, y: Array) -> dict[float, list[str]]:
    """Settings that are best for some rule, and for which."""
    if len(learner.settings) == 1:
        return {learner.settings[0]: list(learner.rules)}
    right = {name: np.zeros(len(learner.settings)) for name in learner.rules}
    for train, test in folds_of(y, FOLDS_FOR_SETTINGS):
        for place, setting in enumerate(learner.settings):
            found = learner.learn(X[train], y[train], setting)
            for name in learner.rules:
                right[name][place] += np.sum(found.rules[name](X[test]) == y[test])
    best: dict[float, list[str]] = {}
    for name, counts in right.items():
        best.setdefault(learner.settings[int(np.argmax(counts))], []).append(name)
    return best


def _best_sizes(
    learner: Learner, X: Array, y: Array, setting: float, sizes: Sequence[int], rules: Sequence[str]
) -> dict[str, int]:
    """The number of features that is best for each of some rules."""
    right = {name: np.zeros(len(sizes)) for name in rules}
    for train, test in folds_of(y, FOLDS_FOR_SIZES) if len(sizes) > 1 else ():
        for place, (kept, found) in enumerate(down(learner, X[train], y[train], setting, sizes)):
            for name in rules:
                right[name][place] += np.sum(found.rules[name](X[np.ix_(test, kept)]) == y[test])
    return {name: sizes[int(np.argmax(counts))] for name, counts in right.items()}


# Large local margins


def im4e(X: Array, y: Array, sigma: float) -> Learned:
    """I-M4E and its rule, eq. (10)."""
    model = _fitted(IM4E(sigma=float(sigma), max_iter=MOST_STEPS["I-M4E"], scale=None, n_jobs=1), X, y)
    return Learned(model.feature_weights_, {"I-M4E": model.predict})


def logo(X: Array, y: Array, sigma: float) -> Learned:
    """LOGO with 3-NN under the weighted Manhattan distance, and with the rule of I-M4E."""
    model = LOGO(sigma=float(sigma), alpha=LOGO_PENALTY, max_iter=MOST_STEPS["LOGO"], scale=None, n_jobs=1)
    w = _weights(model, X, y)
    rules = {
        "LOGO": nearest(X, y, w, n_neighbors=3, metric="manhattan"),
        "LOGO, eq. 10": expected_distance(X, y, w, float(sigma)),
    }
    return Learned(w, rules)


def relief_f(X: Array, y: Array, k: float) -> Learned:
    """RELIEF-F with k-NN under the weighted Manhattan distance."""
    at_hand = max(1, min(int(k), int(np.bincount(y).min()) - 1))
    w = _weights(ReliefF(n_neighbors=at_hand, scale=None, n_jobs=1), X, y)
    return Learned(w, {"RFF": nearest(X, y, w, n_neighbors=int(k), metric="manhattan")})


def relief(X: Array, y: Array, _: float) -> Learned:
    """RELIEF of squared differences, with 1-NN under d² = Σ w (x − x')²."""
    w = _weights(Relief(metric="sqeuclidean", scale=None, n_jobs=1), X, y)
    return Learned(w, {"RLF": nearest(X, y, np.sqrt(w))})


def simba(X: Array, y: Array, _: float) -> Learned:
    """Simba with 1-NN under its own distance, d² = Σ w (x − x')²."""
    w = _weights(Simba(scale=None, n_jobs=1, random_state=0), X, y)
    return Learned(w, {"SIM": nearest(X, y, np.sqrt(w))})


def g_flip(X: Array, y: Array, _: float) -> Learned:
    """G-flip with 1-NN on the features of its set, which it ranks by what dropping one would lose."""
    model = _fitted(GFlip(scale=None, n_jobs=1, random_state=0), X, y)
    members = model.feature_weights_
    return Learned(members * (1.0 + model.score_losses_), {"GFP": nearest(X, y, members)})


MARGIN_LEARNERS: Mapping[str, Learner] = {
    "SIM": Learner(simba, ("SIM",)),
    "GFP": Learner(g_flip, ("GFP",)),
    "RLF": Learner(relief, ("RLF",)),
    "RFF": Learner(relief_f, ("RFF",), (1, 3, 5)),
    "LOGO": Learner(logo, ("LOGO", "LOGO, eq. 10"), SIGMA_PATH.tolist()),
    "I-M4E": Learner(im4e, ("I-M4E",), SIGMA_PATH.tolist()),
}


# Rules


def nearest(
    X: Array, y: Array, factors: NDArray[np.float64], *, n_neighbors: int = 1, metric: str = "euclidean"
) -> Rule:
    """k-NN after each feature is multiplied by its factor."""
    kept = np.flatnonzero(factors)
    if kept.size == 0:
        return always(y)
    model = KNeighborsClassifier(n_neighbors, metric=metric, algorithm="kd_tree")
    model.fit(X[:, kept] * factors[kept], y)
    return lambda new: model.predict(new[:, kept] * factors[kept])


def expected_distance(X: Array, y: Array, w: NDArray[np.float64], sigma: float) -> Rule:
    """Eq. (10) under weights that another method has learned."""
    kept = np.flatnonzero(w)
    if kept.size == 0:
        return always(y)
    scaling = Scaling.none(kept.size, X.dtype)
    distances = ClassDistances(X[:, kept], scaling, y, w[kept], sigma)
    return lambda new: np.argmin(distances.expected(new[:, kept], 1), axis=1)


def always(y: Array) -> Rule:
    """The most frequent class: what is left where no feature has a weight."""
    most = int(np.argmax(np.bincount(y)))
    return lambda new: np.full(len(new), most)


def _weights(model: Any, X: Array, y: Array) -> NDArray[np.float64]:
    """Weights as factors of a distance: those below 0 are 0."""
    return np.maximum(_fitted(model, X, y).feature_weights_, 0.0)


def _fitted(model: Any, X: Array, y: Array) -> Any:
    with warnings.catch_warnings():
        # That an iteration was stopped, or that λ leaves no feature, is what some settings come to.
        warnings.simplefilter("ignore")
        return model.fit(X, y)
