"""What learns weights and classifies by them, with the settings of section 5.2."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
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
#: the UCI sets LOGO was no more and no less often right after 5 steps than after 10 or 30.
MOST_STEPS = {"I-M4E": 20, "LOGO": 5}
#: The penalty of LOGO's own paper.
LOGO_PENALTY = 1.0
#: Internal folds for σ and k; the paper does not say how many.
FOLDS_FOR_SETTINGS = 5


@dataclass(frozen=True)
class Learned:
    """Weights of the features, which rank them, and rules that classify by them."""

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


def best_settings(learner: Learner, X: Array, y: Array) -> dict[float, list[str]]:
    """Settings with which some rule is right most often in internal cross-validation, and which rules.

    Of equals the first; with all features.
    """
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


def chosen(learner: Learner, known: Array, y: Array, new: Array) -> dict[str, Choice]:
    """What each rule of a learner says of new samples, with its best setting."""
    choices = {}
    for setting, rules in best_settings(learner, known, y).items():
        found = learner.learn(known, y, setting)
        for name in rules:
            choices[name] = Choice(found.rules[name](new), float(setting), known.shape[1])
    return choices


# Large local margins


def im4e(X: Array, y: Array, sigma: float) -> Learned:
    """I-M4E and its rule, eq. (10)."""
    model = _fitted(IM4E(sigma=float(sigma), max_iter=MOST_STEPS["I-M4E"], scale=None, n_jobs=1), X, y)
    return Learned(model.feature_weights_, {"I-M4E": model.predict})


def logo(X: Array, y: Array, sigma: float) -> Learned:
    """LOGO with 3-NN under the weighted Manhattan distance, and with the rule of I-M4E."""
    model = LOGO(sigma=float(sigma), alpha=LOGO_PENALTY, max_iter=MOST_STEPS["LOGO"], scale=None, n_jobs=1)
    w = _fitted(model, X, y).feature_weights_
    rules = {
        "LOGO": nearest(X, y, w, n_neighbors=3, metric="manhattan"),
        "LOGO, eq. 10": expected_distance(X, y, w, float(sigma)),
    }
    return Learned(w, rules)


def relief_f(X: Array, y: Array, k: float) -> Learned:
    """RELIEF-F with k-NN under the weighted Manhattan distance."""
    at_hand = max(1, min(int(k), int(np.bincount(y).min()) - 1))
    w = _fitted(ReliefF(n_neighbors=at_hand, scale=None, n_jobs=1), X, y).feature_weights_
    return Learned(w, {"RFF": nearest(X, y, _factors(w), n_neighbors=int(k), metric="manhattan")})


def relief(X: Array, y: Array, _: float) -> Learned:
    """RELIEF of squared differences, with 1-NN under d² = Σ w (x − x')²."""
    w = _fitted(Relief(metric="sqeuclidean", scale=None, n_jobs=1), X, y).feature_weights_
    return Learned(w, {"RLF": nearest(X, y, np.sqrt(_factors(w)))})


def simba(X: Array, y: Array, _: float) -> Learned:
    """Simba with 1-NN under its own distance, d² = Σ w (x − x')²."""
    w = _fitted(Simba(scale=None, n_jobs=1, random_state=0), X, y).feature_weights_
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


def _factors(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights as factors of a distance: those below 0 are 0."""
    return np.maximum(weights, 0.0)


def _fitted(model: Any, X: Array, y: Array) -> Any:
    with warnings.catch_warnings():
        # That an iteration was stopped, or that λ leaves no feature, is what some settings come to.
        warnings.simplefilter("ignore")
        return model.fit(X, y)
