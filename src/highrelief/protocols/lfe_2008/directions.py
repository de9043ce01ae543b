"""What the experiments share: samples of a run, and the directions that the methods find."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from ...dann import DANN
from ...lfe import LFE
from ..experiment import Outcome
from ..judges import best_count, curve, error, folds_of

#: X and y.
Samples = tuple[NDArray[Any], NDArray[Any]]

#: Numbers M of nearest hits and misses to choose from.
NEAREST = (1, 3, 5, 10, 15, 20)


class Split:
    """The samples of a run, training and test; and the classifier's K, chosen with all features."""

    def __init__(
        self,
        known: NDArray[Any],
        y: NDArray[np.int64],
        new: NDArray[Any],
        y_new: NDArray[np.int64],
        most: int | None = None,
    ) -> None:
        self.known, self.y, self.new, self.y_new = known, y, new, y_new
        #: Components up to which curves go.
        self.most = known.shape[1] if most is None else most
        self.k = best_count(self.known, self.y)

    def error(self, project: Callable[[NDArray[Any]], NDArray[Any]]) -> float:
        """Test error on what a projection makes of the samples."""
        return error(project(self.known), self.y, project(self.new), self.y_new, self.k)

    def curve(self, A: NDArray[Any]) -> list[float]:
        """Test errors with the first 1, 2, … of some directions, the columns of A."""
        return curve(self.known @ A, self.y, self.new @ A, self.y_new, self.k, self.most)

    def folds(self) -> Iterator[tuple[Samples, Samples]]:
        """The folds of the training samples: those to learn from, those to judge by."""
        for train, test in folds_of(self.y):
            yield (self.known[train], self.y[train]), (self.known[test], self.y[test])

    def curves_inside(self, directions: Callable[[Samples], list[NDArray[Any]]]) -> NDArray[np.float64]:
        """As ``curve``, by cross-validation on the training samples, for each of several A."""
        wrong = []
        for learn, (X, y) in self.folds():
            wrong.append(
                [
                    np.array(curve(learn[0] @ A, learn[1], X @ A, y, self.k, self.most)) * len(y)
                    for A in directions(learn)
                ]
            )
        return np.sum(wrong, axis=0) / len(self.y)


def lfe_directions(samples: Samples, nearest: int) -> NDArray[np.float64]:
    """LFE's components, scaled by what they discriminate, as columns."""
    X, y = samples
    return LFE(n_neighbors=at_hand(nearest, y), scale=None).fit(X, y).components_.T


def dann_directions(samples: Samples) -> NDArray[np.float64]:
    """DANN's directions, as columns."""
    return DANN(scale=None).fit(*samples).components_.T


def at_hand(nearest: int, y: NDArray[Any]) -> int:
    """M, or as many as the smallest class has for each of its samples."""
    return max(1, min(nearest, int(np.bincount(y).min()) - 1))


class Clock:
    """CPU time of fits; of several by one name, the last."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def timed(self, name: str, fit: Callable[[], Any]) -> Any:
        """What is fitted, its time kept."""
        begin = time.process_time()
        made = fit()
        self.seconds[name] = time.process_time() - begin
        return made


def nca_of(n_components: int, samples: Samples) -> Any:
    """NCA, started from principal components."""
    return NeighborhoodComponentsAnalysis(n_components, init="pca", random_state=0).fit(*samples)


def draw_curves(ax: Any, dataset: str, runs: Sequence[Outcome]) -> None:
    """Mean test errors against the number of components; NCA has them for some numbers alone."""
    for method in ("PCA", "LFE", "DANN"):
        mean = 100.0 * np.mean([run["curves"][method] for run in runs], axis=0)
        ax.plot(np.arange(1, len(mean) + 1), mean, label=method)
    means = {int(t): 100.0 * np.mean([run["nca"][t] for run in runs]) for t in runs[0]["nca"]}
    ax.plot(list(means), list(means.values()), marker="o", label="NCA")
    ax.set(title=dataset, xlabel="components", ylabel="test error, %")
