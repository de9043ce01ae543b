"""Categories of any kind for meta-estimators whose fits get arrays of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.held import brought_here
from .abilities import categories_parameter, takes_categories, takes_missing
from .checks import check_X_y, validate_data
from .cluster_input import is_held
from .meta import SingleFitWeighter
from .mixed import as_columns, chosen_features, numbered, refuse_text, refuse_to_multiply


class MixedSingleFitWeighter(SingleFitWeighter):
    """Base of meta-estimators that tell what they fit which columns of an array of numbers are categories."""

    # Which features are categorical; None: the wrapped weighter takes all for numbers.
    _is_categorical: NDArray[np.bool_] | None = None

    def _checked(self, X: Any, y: Any, *, reset: bool, min_samples: int = 2) -> tuple[Any, Any]:
        """As any meta-estimator; but categories of any kind become numbers."""
        if is_held(X):
            self._is_categorical = None if reset else self._is_categorical
            return super()._checked(X, y, reset=reset, min_samples=min_samples)
        y = brought_here(y)
        parameter = categories_parameter(self.estimator)
        chosen = self.estimator.get_params()[parameter] if parameter else None
        if self._weighter is not None and chosen is not None:
            return self._numbered(X, y, chosen, reset, min_samples)
        if reset:
            self._is_categorical = None
        try:
            return super()._checked(X, y, reset=reset, min_samples=min_samples)
        except (TypeError, ValueError) as error:
            if takes_categories(self.estimator):
                refuse_text(X, [], error)
            raise

    def _numbered(self, X: Any, y: Any, chosen: Any, reset: bool, min_samples: int) -> tuple[Any, Any]:
        X = as_columns(X)
        validate_data(self, X, reset=reset, skip_check_array=True)
        if reset or self._is_categorical is None:
            self._is_categorical = chosen_features(chosen, X, getattr(self, "feature_names_in_", None))
        assert self._types is not None
        checked: tuple[Any, Any] = check_X_y(
            numbered(X, self._is_categorical, self._types),
            y,
            dtype=None,
            ensure_all_finite="allow-nan" if takes_missing(self.estimator) else True,
            ensure_min_samples=min_samples,
            estimator=self,
        )
        return checked

    def _told_of_categories(self, features: Any = slice(None)) -> Any:
        """A clone that is told which of some features are categories."""
        member = self._clone_for_all()
        if self._is_categorical is not None:
            member.set_params(**{categories_parameter(member): self._is_categorical[features]})
        return member

    def _factors(self) -> NDArray[np.float64]:
        refuse_to_multiply(self, self._is_categorical)
        return super()._factors()
