"""What everything with one weight per feature offers: importances, ranking, selection, ``transform``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags, get_tags
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_feature_names, _check_n_features, check_is_fitted

from .._dask.collections import is_dask, is_dask_table
from .._engine.parameters import (
    check_choice,
    check_count,
    check_declared,
    check_number,
    check_seed,
    check_whole,
    checked_thread_count,
    constraints,
    one_of,
)
from .._engine.scaling import Scaling, finite
from .notebook import FittedViewMixin, beside, best_features_table
from .progress import CallbackSupportMixin
from .validation import (
    PRECISIONS,
    check_array,
    check_structure,
    is_sparse,
    raise_for_dask,
    refuse_dask,
    spread_columns,
    times_columns,
    unwarned,
    validate_data,
)

# Columns of Dask arrays and data frames that are to be kept, scaled or projected; nothing is computed.


def transformable(estimator: Any, X: Any) -> Any:
    """X as it is, unless what ``transform`` is to return could only be made of values that are here."""
    wanted = _get_output_config("transform", estimator)["dense"]
    if wanted != "default":
        raise_for_dask(
            f"{type(estimator).__name__} with set_output(transform={wanted!r})",
            "all of the values would have to be brought here.",
        )
    return compared_columns(estimator, X)


def compared_columns(estimator: Any, X: Any) -> Any:
    """X as it is, once its columns are found to be those of ``fit``; its values are not looked at."""
    is_frame = hasattr(X, "columns")
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, samples and features; got {X.ndim}.")
    _check_feature_names(estimator, X._meta if is_frame else X, reset=False)
    _check_n_features(estimator, X._meta if is_frame else X, reset=False)
    return X


def kept_columns(X: Any, kept: NDArray[np.bool_]) -> Any:
    """Some of the columns: of a data frame as one, of an array as one."""
    places = np.flatnonzero(kept)
    return X.iloc[:, places.tolist()] if hasattr(X, "columns") else X[:, places]


def precise_array(X: Any) -> Any:
    """An array of what is computed in its own precision, or of float64."""
    array = X.to_dask_array() if hasattr(X, "to_dask_array") else X
    return array if array.dtype in PRECISIONS else array.astype(np.float64)


def mapped_columns(
    array: Any,
    function: Callable[[NDArray[Any], NDArray[np.int64]], NDArray[Any]],
    dtype: np.dtype[Any],
) -> Any:
    """What a function makes of each block, given the places of its columns; of the same shape."""
    import dask.array as da  # noqa: PLC0415

    widths = array.chunks[1]
    places = da.from_array(np.arange(sum(widths))[np.newaxis], chunks=((1,), widths))
    return da.map_blocks(
        _of_block, array, places, function=function, dtype=dtype, meta=np.empty((0, 0), dtype)
    )


def product(array: Any, matrix: NDArray[Any]) -> Any:
    """The product of an array that Dask holds and a matrix that is here."""
    import dask.array as da  # noqa: PLC0415

    return array @ da.from_array(matrix, chunks=(array.chunks[1], -1))


def by_rows(
    X: Any, kept: NDArray[np.bool_], function: Callable[[NDArray[Any]], NDArray[Any]]
) -> NDArray[Any]:
    """What a function makes of the kept columns of some rows at a time, brought here.

    X may also be a judged table, which stays with its own workers.
    """
    from dask.delayed import delayed  # noqa: PLC0415

    from .._dask.scheduler import Executor  # noqa: PLC0415

    judged = is_dask_table(X)
    array = precise_array(kept_columns(X.array if judged else X, kept)).rechunk({1: -1})
    task = delayed(function, pure=False)
    parts = (X.executor if judged else Executor()).compute(
        lambda: [task(each) for each in array.to_delayed().ravel()]
    )
    return np.concatenate(parts)


def _of_block(
    block: NDArray[Any],
    places: NDArray[np.int64],
    function: Callable[[NDArray[Any], NDArray[np.int64]], NDArray[Any]],
) -> NDArray[Any]:
    return function(block, places[0])


#: What ``weighted`` may be.
WEIGHTED = (False, True, "manhattan", "euclidean")
#: Most features in the view of a notebook.
_N_SHOWN = 10


@dataclass
class WeighterTags(Tags):
    """scikit-learn's tags, and what else is asked of a weighter."""

    #: The order of the samples matters by nature.
    order_dependent: bool = False
    #: "manhattan" or "euclidean": the metric that the weights belong to, and that ``weighted=True`` makes.
    learned_metric: str = "manhattan"
    #: The order of the features matters by nature.
    feature_order_dependent: bool = False
    #: y holds numbers that are near or far, not classes.
    continuous_target: bool = False
    #: Features may be categories, which a parameter ``categorical_features`` names.
    categories: bool = False


class WeightSelector(FittedViewMixin, CallbackSupportMixin, SelectorMixin, BaseEstimator):
    """Base of weighters and of what is wrapped around them: ranks by ``feature_weights_``, keeps the best.

    A subclass implements ``fit``, which sets ``feature_weights_`` and, for ``weighted``, ``_scaling``.

    Parameters
    ----------
    n_features_to_select : int, float or None
        None keeps every feature with weight > 0, at least one; an int that many; a float in (0, 1] that
        share.
    weighted : bool, "manhattan" or "euclidean"
        What ``transform`` returns: False the kept columns as they are; "manhattan" the kept columns scaled
        as in ``fit`` times max(weight, 0), "euclidean" times its square root; True the metric of the method.
    n_jobs : int or None
        Threads. The result is the same, bit for bit, for any number.
    verbose : int
        1 shows progress on long work.
    """

    # What ``weighted=True`` means for the method.
    _own_metric: str = "manhattan"
    # What each parameter may be.
    _constraints = constraints(
        weighted=one_of(*WEIGHTED),
        verbose=partial(check_whole, expected="a whole number >= 0", suits=lambda n: n >= 0),
        random_state=check_seed,
    )
    # The result depends on the order in which samples are visited.
    _order_dependent: bool = False
    # The result depends on the order in which features are visited.
    _feature_order_dependent: bool = False
    # y holds numbers that are near or far, not classes.
    _continuous_target: bool = False
    # Features may be categories, which a parameter ``categorical_features`` names.
    _takes_categories: bool = False
    # SciPy's sparse tables are worked on without storing their zeros.
    _takes_sparse: bool = False
    # How ``fit`` made features comparable.
    _scaling: Scaling

    n_features_to_select: int | float | None
    weighted: bool | str
    n_jobs: int | None
    verbose: int
    feature_weights_: NDArray[np.float64]

    # Fit

    def _check_parameters(self, n_samples: int) -> None:
        """Raise if a constructor parameter cannot be used; subclasses add rules between several of them."""
        check_declared(self)
        if self.n_features_to_select is None:
            return
        if is_share(self.n_features_to_select):
            check_number("n_features_to_select", self.n_features_to_select, above=0.0, at_most=1.0)
        else:
            check_count(
                "n_features_to_select",
                self.n_features_to_select,
                at_most=self.n_features_in_,
                of="features of X",
            )

    def _forget(self) -> None:
        """Be unfitted, so that a fit that fails does not leave the weights of an earlier one behind."""
        if hasattr(self, "feature_weights_"):
            del self.feature_weights_

    @property
    def _n_threads(self) -> int:
        return checked_thread_count(self.n_jobs)

    # What a fitted weighter offers

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """max(weight, 0), for ``SelectFromModel`` and ``RFE``, which take absolute values or squares."""
        check_is_fitted(self)
        return np.maximum(self.feature_weights_, 0.0)

    @property
    def ranking_(self) -> NDArray[np.int64]:
        """1 = best; equal weights share the lowest number."""
        check_is_fitted(self)
        return lowest_ranks(self._ranked_by)

    @property
    def _ranked_by(self) -> NDArray[np.float64]:
        """What the features are ranked by: the weights, where a method knows nothing finer."""
        return self.feature_weights_

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        wanted = self.n_features_to_select
        if wanted is None:
            wanted = n_positive(self.feature_weights_)
        return best_features(self._ranked_by, wanted)

    def _factors(self) -> NDArray[np.float64]:
        """What ``transform`` multiplies the kept columns with."""
        check_choice("weighted", self.weighted, WEIGHTED)
        metric = self._own_metric if self.weighted is True else self.weighted
        return metric_factors(self.feature_weights_[self.get_support()], metric)

    @property
    def _weighted_formats(self) -> str | bool:
        """Sparse format in which weighted columns are made; False where dense ones alone are."""
        return "csr" if get_tags(self).input_tags.sparse else False

    def transform(self, X: ArrayLike) -> Any:
        """Reduce X to the kept features; see ``weighted``.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array or data frame} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        X_kept : {array, sparse matrix, Dask array or data frame} of shape (n_samples, n_kept)
            The kept columns: as they are, or scaled as in ``fit`` and weighted. A sparse X stays sparse:
            its columns are then divided but not shifted, so that a 0 stays a 0; distances are the same. Of
            what Dask holds nothing is computed: a data frame remains one, unless its columns are weighted,
            which makes an array.
        """
        if is_dask(X):
            return self._lazily_transformed(X)
        check_structure(X)
        if self.weighted is False:
            return unwarned(super().transform)(X)
        check_is_fitted(self)
        factors = self._factors()
        allows_missing = self.__sklearn_tags__().input_tags.allow_nan
        samples = validate_data(
            self,
            X,
            accept_sparse=self._weighted_formats,
            dtype=PRECISIONS,
            ensure_all_finite="allow-nan" if allows_missing else True,
            reset=False,
        )
        kept = self.get_support()
        return weighted_columns(samples[:, kept], self._scaling.of(kept), factors)

    def _lazily_transformed(self, X: Any) -> Any:
        """The same of what Dask holds."""
        check_is_fitted(self)
        transformable(self, X)
        kept = self.get_support()
        if self.weighted is False:
            return kept_columns(X, kept)
        factors, scaling = self._factors(), self._scaling.of(kept)
        array = precise_array(kept_columns(X, kept))
        dtype = array.dtype

        def weigh(block: NDArray[Any], places: NDArray[np.int64]) -> NDArray[Any]:
            return weighted_columns(block, scaling.of(places), factors[places])

        return mapped_columns(array, weigh, dtype)

    def inverse_transform(self, X: ArrayLike) -> Any:
        """Put the kept features back in their places, zeros elsewhere.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_kept)
            What ``transform`` returned.

        Returns
        -------
        X_original : array of shape (n_samples, n_features)
            Kept columns in the original units; a column that was multiplied by 0 comes back as the value
            that the scaling maps to 0.
        """
        refuse_dask(X, f"{type(self).__name__}.inverse_transform")
        check_structure(X)
        allows_missing = self.__sklearn_tags__().input_tags.allow_nan
        if self.weighted is False:
            if is_sparse(X) or not allows_missing:
                return unwarned(super().inverse_transform)(X)
            return self._put_back(check_array(X, dtype=None, ensure_all_finite="allow-nan"))
        weighted = check_array(
            X,
            accept_sparse=self._weighted_formats,
            dtype=PRECISIONS,
            ensure_all_finite="allow-nan" if allows_missing else True,
        )
        kept = self.get_support()
        factors = self._factors()
        if weighted.shape[1] != factors.size:
            raise ValueError(
                f"X has a different shape than what transform returned: {weighted.shape[1]} columns, not"
                f" {factors.size}."
            )
        if is_sparse(weighted):
            unit, slopes = self._scaling.of(kept).slopes()
            with np.errstate(over="ignore"):
                back = np.divide(1.0, factors, out=np.zeros_like(factors), where=factors > 0.0)
            for step in (back, 1.0 / slopes, 1.0 / unit):
                weighted = times_columns(weighted, step)
            return spread_columns(weighted, np.flatnonzero(kept), kept.size)
        with np.errstate(over="ignore"):
            scaled = np.divide(weighted, factors, out=np.zeros_like(weighted), where=factors > 0.0)
            back = finite(self._scaling.of(kept).invert(finite(scaled)))
        return self._put_back(back)

    def _put_back(self, columns: NDArray[Any]) -> NDArray[Any]:
        """The kept columns in their places, zeros elsewhere; values may be missing."""
        kept = self.get_support()
        if columns.shape[1] != np.count_nonzero(kept):
            raise ValueError("X has a different shape than during fitting.")
        X = np.zeros((len(columns), kept.size), dtype=columns.dtype)
        X[:, kept] = columns
        return X

    # What a notebook shows: scikit-learn asks one or the other

    def _repr_html_inner(self) -> str:
        return self._with_best_features(super()._repr_html_inner())

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        views = super()._repr_mimebundle_(**kwargs)
        if "text/html" in views:
            views["text/html"] = self._with_best_features(views["text/html"])
        return views

    def _with_best_features(self, view: str) -> str:
        """Put the best features beside scikit-learn's view, once they are known."""
        if not self.__sklearn_is_fitted__():
            return view
        best = largest_first(self._ranked_by, _N_SHOWN)
        try:
            kept = self.get_support()
        except (TypeError, ValueError):
            # Parameters may have been changed since, to what nothing can be selected by.
            kept = None
        table = best_features_table(
            names_at(self, best),
            self.feature_weights_[best].tolist(),
            None if kept is None else kept[best].tolist(),
            n_features=self.feature_weights_.size,
            n_kept=None if kept is None else int(kept.sum()),
        )
        return beside(view, table)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "feature_weights_")

    def __sklearn_tags__(self) -> WeighterTags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        known = {each.name: getattr(tags, each.name) for each in fields(Tags)}
        return WeighterTags(
            **known,
            order_dependent=self._order_dependent,
            feature_order_dependent=self._feature_order_dependent,
            learned_metric=self._own_metric,
            continuous_target=self._continuous_target,
            categories=self._takes_categories,
        )


def weighted_columns(X: Any, scaling: Scaling, factors: NDArray[np.float64]) -> Any:
    """Columns scaled and multiplied, in their own precision; none is beyond its largest number.

    A table in CSR format is not shifted, so that a 0 stays a 0.
    """
    if is_sparse(X):
        unit, slopes = scaling.slopes()
        return times_columns(times_columns(times_columns(X, unit), slopes), factors)
    with np.errstate(over="ignore"):
        return finite(scaling.apply_clipped(X) * factors, X.dtype).astype(X.dtype, copy=False)


def metric_factors(weights: NDArray[np.float64], metric: str | bool) -> NDArray[np.float64]:
    """What scaled columns are multiplied with so that distances are those of the learned metric."""
    positive = np.maximum(weights, 0.0)
    return np.sqrt(positive) if metric == "euclidean" else positive


def n_features_kept(wanted: int | float, n_features: int) -> int:
    """Number of features that a number or a share of them stands for."""
    if is_share(wanted):
        # 0.29 of 100 features are 29, although 0.29·100 is a little less.
        return max(1, int(wanted * n_features + 1e-9))
    return int(wanted)


def n_positive(weights: NDArray[np.float64]) -> int:
    """Number of features that weigh more than 0, and 1 if none does: at least one is kept."""
    return max(1, int(np.count_nonzero(weights > 0.0)))


def best_features(weights: NDArray[np.float64], wanted: int | float | None) -> NDArray[np.bool_]:
    """Which features are kept, by the rule of ``n_features_to_select``."""
    n_kept = n_positive(weights) if wanted is None else n_features_kept(wanted, weights.size)
    mask = np.zeros(weights.size, dtype=bool)
    mask[falling(weights)[:n_kept]] = True
    return mask


def names_at(fitted: Any, places: Iterable[int]) -> list[str]:
    """Names of the features at some places; x0, x1, … where there are none, as in scikit-learn."""
    names = getattr(fitted, "feature_names_in_", None)
    return [f"x{place}" if names is None else str(names[place]) for place in places]


def falling(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """The features from the best to the worst; of equal weights the lower index first."""
    return np.argsort(-weights, kind="stable")


def largest_first(weights: NDArray[np.float64], n_features: int) -> NDArray[np.int64]:
    """The first so many of :func:`falling`, without sorting the others."""
    if n_features >= weights.size:
        return falling(weights)
    least = np.partition(weights, weights.size - n_features)[weights.size - n_features]
    among = np.flatnonzero(weights >= least)
    return among[falling(weights[among])[:n_features]]


def lowest_ranks(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """1 for the largest; equal weights share the lowest number."""
    order = np.argsort(-weights)
    sorted_weights = weights[order]
    first = np.concatenate([[True], sorted_weights[1:] != sorted_weights[:-1]])
    ranks = np.empty(weights.size, dtype=np.int64)
    ranks[order] = np.maximum.accumulate(np.where(first, np.arange(1, weights.size + 1), 0))
    return ranks


def is_share(value: Any) -> bool:
    """Whether a number of features to keep is a share of them: a float, also 1.0."""
    return isinstance(value, Real) and not isinstance(value, Integral)
