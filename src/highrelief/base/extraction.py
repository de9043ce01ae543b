"""What extractors share: directions in the space of the scaled features, on which samples are projected."""

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

#: Of the widest feature, so that squares, and products of squares, are numbers.
_SMALLEST_SPAN = 1e-70
#: New samples farther out are cut there: sums of such values, of either sign, are numbers.
_FARTHEST = 1e150
#: Square matrices that there are at the same time where all eigenvectors of one are found.
_N_SQUARES = 6


class FeatureExtractor(ValidationMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of extractors: checks and scales the input, projects samples on ``components_``.

    A subclass implements ``fit``: it asks :meth:`_check_fit` for the checked data, finds directions and ends
    with :meth:`_set_components`.

    Parameters
    ----------
    n_components : int or None
        Directions to keep; None: all with a positive eigenvalue.
    scale : "range", "standard" or None
        How features are made comparable before distances are taken.
    n_jobs : int or None
        Threads. The result is the same, bit for bit, for any number.
    """

    # The size of the weights is no part of the directions: only their sum must be a number.
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
        """Store eigenvectors, made as long as ``lengths`` says, and their eigenvalues.

        A constant feature has no part in them.
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

    # What a fitted extractor offers

    def transform(self, X: ArrayLike) -> Any:
        """Project samples, scaled as in ``fit``, on the components.

        Parameters
        ----------
        X : {array-like, Dask array or data frame} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        X_projected : {array, Dask array} of shape (n_samples, n_components)
            Their scalar products with the rows of ``components_``. Of what Dask holds nothing is computed.
        """
        check_is_fitted(self)
        if is_dask(X):
            array = as_float_array(check_transformable(self, X))
            scaling = self._scaling
            common = np.result_type(array.dtype, scaling.offset.dtype)
            scaled = map_column_blocks(array, lambda block, places: scaling.of(places).apply(block), common)
            return product(scaled, self.components_.T).astype(array.dtype)
        samples = validate_data(self, X, dtype=FLOAT_TYPES, reset=False)
        # Samples that lie in memory in another order would be added up in another order.
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


def check_square(side: int, who: str, instead: str) -> None:
    """Raise if there is no room for matrices of so many rows and columns and their eigenvectors."""
    check_room(8.0 * _N_SQUARES * side**2, f"The matrices of {side} x {side} that {who} makes", instead)
