"""The base class of extractors, which project samples on directions in the space of the scaled features."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .._dask.collections import is_dask
from .._engine.memory import check_room
from .._engine.parameters import check_count
from .._engine.scaling import Scaling, finite
from .._solvers.scatter import Directions
from .selector import as_float_array, check_transformable, map_column_blocks, product
from .training_data import TrainingData
from .validation import FLOAT_TYPES, ValidationMixin, check_spans, validate_data, warn_user

#: Smallest range of the widest feature whose products of squares do not underflow.
_SMALLEST_SPAN = 1e-70
#: Scaled values of new samples are clipped here, so that their sums are finite.
_FARTHEST = 1e150
#: Square matrices in memory while all eigenvectors of one are computed.
_N_SQUARES = 6


class FeatureExtractor(ValidationMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of extractors: validates and scales the input, projects samples on ``components_``.

    A subclass implements ``fit``, which calls :meth:`_check_fit`, computes directions, and ends with
    ``return self._set_components(directions, lengths)``.

    Parameters
    ----------
    n_components : int or None
        Number of directions; None: all with a positive eigenvalue.
    scale : "range", "standard" or None
        Scaling of the features.
    n_jobs : int or None
        Number of threads. Results are bitwise identical for any value.
    """

    # Directions do not depend on the magnitude of the weights: only their sum must be finite.
    _largest_weight = (1e302, 1e302)

    _scaling: Scaling

    components_: NDArray[np.float64]
    eigenvalues_: NDArray[np.float64]

    def __init__(
        self, *, n_components: int | None = None, scale: str | None = "range", n_jobs: int | None = None
    ) -> None:
        self.n_components = n_components
        self.scale = scale
        self.n_jobs = n_jobs

    # Fit

    def _check_parameters(self, n_samples: int) -> None:
        super()._check_parameters(n_samples)
        if self.n_components is not None:
            most = min(n_samples - 1, self.n_features_in_)
            of = f"dimensions that {n_samples} samples with {self.n_features_in_} features span"
            check_count("n_components", self.n_components, at_most=most, of=of)

    def _check_data(self, data: TrainingData) -> None:
        if self._constant.all():
            raise ValueError(
                f"All {self.n_features_in_} features of X are constant: there is no direction to project on."
            )
        if self.scale is None:
            check_spans(data.ranges, 1.0 / _SMALLEST_SPAN, _SMALLEST_SPAN)

    def _reset(self) -> None:
        if hasattr(self, "components_"):
            del self.components_

    def _set_components(self, found: Directions, lengths: NDArray[np.float64] | float) -> Self:
        """Set ``components_``, the eigenvectors scaled to ``lengths``, and ``eigenvalues_``.

        The entries of constant features are 0.
        """
        self.eigenvalues_ = found.eigenvalues[: len(found.vectors)]
        components = found.vectors * np.reshape(lengths, (-1, 1))
        self.components_ = np.where(self._constant, 0.0, components)
        if self.n_components is not None and len(found.vectors) < self.n_components:
            warn_user(
                f"Only {len(found.vectors)} directions have a positive eigenvalue: {type(self).__name__}"
                f" keeps them, not n_components={self.n_components}.",
                UserWarning,
            )
        return self

    # Results

    def transform(self, X: ArrayLike) -> Any:
        """Project samples, scaled as in ``fit``, on the components.

        Parameters
        ----------
        X : {array-like, Dask array or data frame} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        X_projected : {array, Dask array} of shape (n_samples, n_components)
            Their scalar products with the rows of ``components_``. A Dask collection stays lazy.
        """
        check_is_fitted(self)
        if is_dask(X):
            array = as_float_array(check_transformable(self, X))
            scaling = self._scaling
            common = np.result_type(array.dtype, scaling.offset.dtype)
            scaled = map_column_blocks(array, lambda block, places: scaling.of(places).apply(block), common)
            return product(scaled, self.components_.T).astype(array.dtype)
        samples = validate_data(self, X, dtype=FLOAT_TYPES, reset=False)
        # The memory order determines the order of summation.
        scaled = np.ascontiguousarray(self._scaling.apply_clipped(samples))
        farthest = min(_FARTHEST, float(np.finfo(scaled.dtype).max))
        np.clip(scaled, -farthest, farthest, out=scaled)
        return finite(scaled @ self.components_.T, samples.dtype).astype(samples.dtype, copy=False)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def check_square(side: int, name: str, remedy: str) -> None:
    """Raise MemoryError if square matrices of this size and their eigenvectors do not fit into memory."""
    check_room(8.0 * _N_SQUARES * side**2, f"The matrices of {side} x {side} that {name} makes", remedy)
