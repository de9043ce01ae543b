"""SURF, SURF*, MultiSURF, MultiSURF*: margins at all samples within a radius, instead of at k nearest."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .base import FeatureWeighter
from .core.radius_rows import RadiusMargins, RadiusPasses
from .progress import watched, with_callbacks

#: Near and far: one for all samples, or one for each.
Radii = tuple[Any, Any]


class _RadiusWeighter(FeatureWeighter):
    """What the family shares: distances of all pairs, a radius or two, one sum over pairs."""

    categorical_features: None

    def __init__(
        self,
        *,
        categorical_features: None = None,
        n_features_to_select: int | float | None = None,
        weighted: bool | str = False,
        scale: str | None = "range",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_features_to_select=n_features_to_select,
            weighted=weighted,
            scale=scale,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.categorical_features = categorical_features

    def _check_parameters(self, n_samples: int) -> None:
        super()._check_parameters(n_samples)
        if self.categorical_features is not None:
            raise ValueError(
                f"categorical_features={self.categorical_features!r} is not supported yet: all features must"
                " be numbers, and it must be None."
            )

    @abstractmethod
    def _radii(self, pairs: RadiusPasses) -> Radii:
        """Below which distance samples are near, and beyond which they are far; ∞: none is."""

    def _weights(self, margins: RadiusMargins) -> NDArray[np.float64]:
        return margins.mean

    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Weigh the features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each sample counts: weight s means s copies.

        Returns
        -------
        self : object
            The fitted weighter.
        """
        rows = self._rows(self._check_fit(X, y, sample_weight))
        with watched(self, total=2) as progress:
            pairs = rows.by_distance()
            near, far = self._radii(pairs)
            progress.advance()
            self._set_weights(self._weights(pairs.margins(near, far)))
            progress.advance()
        self.execution_ = rows.execution() | {"distances": "stored" if pairs.stored else "recomputed"}
        return self


class SURF(_RadiusWeighter):
    def _radii(self, pairs: RadiusPasses) -> Radii:
        return pairs.mean(), np.inf


class SURFStar(SURF):
    def _radii(self, pairs: RadiusPasses) -> Radii:
        mean = pairs.mean()
        return mean, mean


class MultiSURF(_RadiusWeighter):
    def _radii(self, pairs: RadiusPasses) -> Radii:
        mean, deviation = pairs.means_and_deviations()
        return mean - deviation / 2.0, np.inf


class MultiSURFStar(MultiSURF):
    def _radii(self, pairs: RadiusPasses) -> Radii:
        mean, deviation = pairs.means_and_deviations()
        return mean - deviation / 2.0, mean + deviation / 2.0

    def _weights(self, margins: RadiusMargins) -> NDArray[np.float64]:
        if self.classes_.size > 2:
            return margins.mean
        return margins.mean + (margins.only_misses - margins.only_hits) * margins.spans
