"""Make the numbers of docs/automatic.md: ``python docs/automatic.py [folder of shared data sets]``.

The problems are fixed by the rule of :func:`problems`, and the rules were chosen on seed ``DEVELOPMENT``;
what the page shows is of the seeds ``FRESH``, which no rule has seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

from highrelief.datasets import (
    make_epistasis,
    make_fermat_spiral,
    make_ringnorm,
    make_twonorm,
    make_waveform,
    make_xor,
)

DEVELOPMENT = (0, 1)
FRESH = (1001, 1002, 1003)

SAMPLES = (50, 100, 200, 500, 1000, 2000)
IRRELEVANT = (10, 50, 200, 1000, 5000)
MISLABELLED = (0.0, 0.1, 0.0, 0.0, 0.2, 0.0)
#: Most samples² × features of one problem, so that the whole study takes an hour on one core.
MOST_TERMS = 1.5e9
#: Samples to measure the error of k-NN with, and most features that it is measured at.
N_TEST, MOST_TO_CLASSIFY = 500, 250


class Family(NamedTuple):
    """A generator, and how many features can hide its relevant ones from n samples."""

    make: Callable[..., Any]
    most_irrelevant: Callable[[int], float]


def _parity(order: int, kind: str) -> Family:
    """XOR: a distance over p features sees one of k that act together as p^(-k/2), the noise as 1/n."""
    return Family(
        lambda n, **more: make_xor(n, order=order, kind=kind, **more), lambda n: 2.0 * n ** (2.0 / order)
    )


def _epistasis(heritability: float) -> Family:
    """Two loci; the heritability is the square of the size of their effect."""
    return Family(
        lambda n, **more: make_epistasis(n, heritability=heritability, **more),
        lambda n: 10.0 * heritability * n,
    )


FAMILIES = {
    "twonorm": Family(make_twonorm, lambda n: np.inf),
    "ringnorm": Family(make_ringnorm, lambda n: np.inf),
    "waveform, 2 classes": Family(lambda n, **more: make_waveform(n, n_classes=2, **more), lambda n: np.inf),
    "waveform, 3 classes": Family(make_waveform, lambda n: np.inf),
    "spiral": Family(make_fermat_spiral, lambda n: 2.0 * n),
    "XOR of 2": _parity(2, "continuous"),
    "XOR of 3": _parity(3, "continuous"),
    "XOR of 4": _parity(4, "continuous"),
    "binary XOR of 2": _parity(2, "binary"),
    "binary XOR of 3": _parity(3, "binary"),
    "binary XOR of 4": _parity(4, "binary"),
    "epistasis 0.05": _epistasis(0.05),
    "epistasis 0.1": _epistasis(0.1),
    "epistasis 0.2": _epistasis(0.2),
    "epistasis 0.4": _epistasis(0.4),
}


class Problem(NamedTuple):
    """What is generated; with a seed, a table."""

    family: str
    n_samples: int
    n_irrelevant: int
    mislabelled: float

    def table(self, seed: int) -> Table:
        """The table of that seed: labels are wrong in the samples to fit, not in those to test with."""
        drawn = FAMILIES[self.family].make(
            self.n_samples + N_TEST, n_irrelevant=self.n_irrelevant, random_state=seed
        )
        X, y, relevant = drawn[0].astype(np.float32), drawn[1].copy(), drawn[2]
        n = self.n_samples
        random = np.random.default_rng([seed, n, self.n_irrelevant])
        wrong = random.permutation(n)[: round(self.mislabelled * n)]
        n_classes = y.max() + 1
        y[wrong] = (y[wrong] + random.integers(1, n_classes, wrong.size)) % n_classes
        return Table(X[:n], y[:n], relevant, X[n:], y[n:])


class Table(NamedTuple):
    """Samples to fit and to test with."""

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    relevant: NDArray[np.bool_]
    X_test: NDArray[np.float32]
    y_test: NDArray[np.int64]


def problems() -> Iterator[Problem]:
    """Half of all combinations, spread evenly, of those that can be solved and computed.

    Of family number f, size number i and number of irrelevant features j those with even f + i + j; of
    these, one after the other, every third has wrong labels. Then, for the error of k-NN alone, one problem
    without irrelevant features for every family.
    """
    count = 0
    for f, (name, family) in enumerate(FAMILIES.items()):
        for i, n in enumerate(SAMPLES):
            for j, n_irrelevant in enumerate(IRRELEVANT):
                if (f + i + j) % 2 or n_irrelevant > family.most_irrelevant(n):
                    continue
                if n**2 * (n_irrelevant + 20) > MOST_TERMS:
                    continue
                yield Problem(name, n, n_irrelevant, MISLABELLED[count % len(MISLABELLED)])
                count += 1
    for f, name in enumerate(FAMILIES):
        yield Problem(name, SAMPLES[1 + f % 5], 0, MISLABELLED[f % len(MISLABELLED)])


def area(relevant: NDArray[np.bool_], weights: NDArray[np.float64]) -> float:
    """Area under the ROC of finding the relevant features; ties count half, NaN if all are relevant."""
    return float("nan") if relevant.all() else float(roc_auc_score(relevant, weights))


def neighbor_error(table: Table, weighter: Any) -> float:
    """Share of the test samples that 5 neighbours under the weights classify wrongly; NaN if too wide."""
    if table.X.shape[1] > MOST_TO_CLASSIFY:
        return float("nan")
    weighter.set_params(weighted=True)
    near = KNeighborsClassifier(5, metric="manhattan").fit(weighter.transform(table.X), table.y)
    return float(np.mean(near.predict(weighter.transform(table.X_test)) != table.y_test))
