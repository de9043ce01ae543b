"""Fewer and fewer features: the half that weighs least is dropped, and the rest is learned from anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..judges import folds_of
from .learners import Array, Choice, Learned, Learner

#: Section 5.2.1: features are halved until there are fewer; how many to keep, internal folds tell.
FEWEST, INTERNAL_FOLDS = 50, 10


def halved(n_features: int) -> list[int]:
    """Numbers of features: all, half of them, … until fewer than 50."""
    sizes = [n_features]
    while sizes[-1] >= FEWEST:
        sizes.append(sizes[-1] // 2)
    return sizes


class Halving:
    """A learner with one of its settings, on fewer and fewer features.

    ``ranked_by``: samples that features are ranked by, instead of those that are learned from. It is there to
    show what comes of choosing features on all samples.
    """

    def __init__(
        self, learner: Learner, setting: float, *, ranked_by: tuple[Array, Array] | None = None
    ) -> None:
        self._learner, self._setting = learner, setting
        self._given = None if ranked_by is None else [kept for kept, _ in self._ranking(*ranked_by)]

    def down(self, X: Array, y: Array) -> Iterator[tuple[NDArray[np.int64], Learned]]:
        """Places of the features that are left, and what is learned from them."""
        if self._given is None:
            yield from self._ranking(X, y)
        else:
            for kept in self._given:
                yield kept, self._learner.learn(X[:, kept], y, self._setting)

    def _ranking(self, X: Array, y: Array) -> Iterator[tuple[NDArray[np.int64], Learned]]:
        kept, weights = np.arange(X.shape[1]), np.zeros(X.shape[1])
        for size in halved(X.shape[1]):
            kept = np.sort(kept[np.argsort(-weights, kind="stable")[:size]])
            found = self._learner.learn(X[:, kept], y, self._setting)
            weights = found.weights
            yield kept, found

    def choices(self, known: Array, y: Array, new: Array, rules: Sequence[str]) -> dict[str, Choice]:
        """What rules say of new samples, with as many features as did best inside; of equals the most."""
        best = self._best_places(known, y, rules)
        found = {}
        for place, (kept, learned) in enumerate(self.down(known, y)):
            for name in rules:
                if place == best[name]:
                    predicted = learned.rules[name](new[:, kept])
                    found[name] = Choice(predicted, float(self._setting), kept.size)
        return found

    def _best_places(self, X: Array, y: Array, rules: Sequence[str]) -> dict[str, int]:
        right = {name: np.zeros(len(halved(X.shape[1]))) for name in rules}
        for train, test in folds_of(y, INTERNAL_FOLDS):
            for place, (kept, learned) in enumerate(self.down(X[train], y[train])):
                left_out = X[np.ix_(test, kept)]
                for name in rules:
                    right[name][place] += np.sum(learned.rules[name](left_out) == y[test])
        return {name: int(np.argmax(counts)) for name, counts in right.items()}
