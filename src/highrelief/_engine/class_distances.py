"""Expected distances of new samples to the classes of fitted ones, for prediction.

Ψ_c(x) = Σ_{n in c} P_n d(x_n, x), with P the softmax of −d/σ over class c and d a weighted
Manhattan distance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels import distances, packing, soft
from .cached_property import cached_property
from .missing_pairs import FittedExpectations
from .scaling import Scaling
from .threads import run_all

# Values are clipped: sums of a few of them under weights of sum 1 must not overflow.
_FARTHEST = 1e305


class ClassDistances:
    """Ψ_c(x) = Σ_{n in c} P_n d(x_n, x), with P the softmax of −d/σ over class c (Bei and Hong 2015, eq. 10).

    In float64, whatever the type of the data: a decision may depend on the last digits. The samples are
    scaled and laid out at the first prediction: many fits are used for their weights only.

    A missing value, of a fitted sample or of a new one, is distributed as the values of the fitted samples.

    Parameters
    ----------
    X : (n_samples, n_features)
        The fitted samples, not scaled; only features of positive weight. NaN where a value is missing.
    scaling : Scaling
        Of these features.
    codes : (n_samples,) int
        Class codes 0 … n_classes − 1, each present.
    w : (n_features,)
        Weights of the distance.
    sigma : float
        Kernel width.
    sample_weight : (n_samples,) or None
        Sample weights; None: 1.
    """

    def __init__(
        self,
        X: NDArray[np.floating],
        scaling: Scaling,
        codes: NDArray[np.integer],
        w: NDArray[np.float64],
        sigma: float,
        sample_weight: NDArray[np.float64] | None = None,
    ) -> None:
        self._given, self._scaling, self._sigma = X, scaling, sigma
        self.n_classes = int(codes.max()) + 1
        self._position, self._codes = packing.class_layout(codes, self.n_classes)
        real = self._position != packing.PADDING
        self._sample_weight = np.zeros(self._position.size)
        self._sample_weight[real] = 1.0 if sample_weight is None else sample_weight[self._position[real]]
        self._w = np.zeros(-(-max(w.size, 1) // packing.FEATURE_BLOCK) * packing.FEATURE_BLOCK)
        self._w[: w.size] = w

    def __getstate__(self) -> dict[str, Any]:
        """Return the constructor's inputs: pickling would not preserve the alignment of the packed copy."""
        made_of = ("n_classes", "_scaling", "_sigma", "_position", "_codes", "_sample_weight", "_w")
        return {"_given": self._X} | {name: vars(self)[name] for name in made_of}

    @cached_property
    def _X(self) -> NDArray[np.floating]:  # noqa: N802
        """The fitted samples; Dask-backed ones are gathered on the client."""
        return np.asarray(self._given)

    def expected(self, X: NDArray[np.floating], n_threads: int) -> NDArray[np.float64]:
        """Return Ψ of the rows of X, not scaled, (n_rows, n_classes)."""
        fitted, fitted_sums = self._fitted
        expectations = self._expectations
        blocks = [(start, min(start + distances.TILE, len(X))) for start in range(0, len(X), distances.TILE)]
        per_sigma = 1.0 / min(max(self._sigma, 1e-290), 1e290)
        far = soft.masked_distance(np.float64)

        def of_block(a: int, b: int) -> NDArray[np.float64]:
            above = self._above_low(X[a:b])
            queries, sums = self._packed(above)
            correction = expectations.correction(above, len(queries))
            found = np.empty((self.n_classes, len(queries)))
            soft.expected_distances(
                fitted,
                self._w,
                fitted_sums,
                self._codes,
                self._sample_weight,
                queries,
                sums,
                correction,
                per_sigma,
                far,
                found,
            )
            return found[:, : b - a].T

        return np.concatenate(run_all(of_block, blocks, n_threads))

    @cached_property
    def _fitted(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        # Padding repeats the last sample, with weight 0.
        return self._packed(self._above_low(self._X[self._position]))

    @cached_property
    def _low(self) -> NDArray[np.floating]:
        """Smallest scaled values: subtracting them preserves digits of sums."""
        return np.nanmin(self._scaling.apply(self._X), axis=0)

    @cached_property
    def _expectations(self) -> FittedExpectations:
        return FittedExpectations(self._above_low(self._X), self._position, self._sample_weight, self._w)

    def _packed(self, above: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return rows, in whole blocks and as wide as the weights, and their weighted sums."""
        n_rows = -(-len(above) // packing.ROW_BLOCK) * packing.ROW_BLOCK
        rows = packing.aligned_zeros((n_rows, self._w.size), np.float64)
        # The smallest value replaces a missing one.
        rows[: len(above), : above.shape[1]] = np.nan_to_num(above, nan=0.0)
        sums = np.zeros(n_rows)
        distances.add_row_sums(rows, self._w, 0, n_rows, sums)
        return rows, sums

    def _above_low(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return scaled values minus the smallest ones; NaN where they are missing."""
        with np.errstate(over="ignore"):
            above = self._scaling.apply(X).astype(np.float64, copy=False)
            above -= self._low
        return np.clip(above, -_FARTHEST, _FARTHEST)
