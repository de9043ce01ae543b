"""The base class of estimators with one weight per feature: ranking, selection, ``transform``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from importlib import import_module
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, is_regressor
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
from ..catalog import METHODS, any_of, methods_with
from .notebook import FittedViewMixin, beside, best_features_table
from .progress import CallbackSupportMixin
from .validation import (
    FLOAT_TYPES,
    check_array,
    check_structure,
    ignore_overflow,
    is_sparse,
    multiply_columns,
    place_columns,
    raise_for_dask,
    refuse_dask,
    validate_data,
    warn_user,
)

# Lazy transforms of Dask arrays and data frames


def check_transformable(estimator: Any, X: Any) -> Any:
    """Return X; raise if the output of ``transform`` would have to be gathered to the client."""
    wanted = _get_output_config("transform", estimator)["dense"]
    if wanted != "default":
        raise_for_dask(
            f"{type(estimator).__name__} with set_output(transform={wanted!r})",
            "all values would have to be gathered on the client.",
        )
    return check_columns(estimator, X)


def check_columns(estimator: Any, X: Any) -> Any:
    """Return X; raise if its columns are not those of ``fit``. Values are not computed."""
    is_frame = hasattr(X, "columns")
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, samples and features; got {X.ndim}.")
    _check_feature_names(estimator, X._meta if is_frame else X, reset=False)
    _check_n_features(estimator, X._meta if is_frame else X, reset=False)
    return X


def select_columns(X: Any, support: NDArray[np.bool_]) -> Any:
    """Return some columns of a Dask data frame or array, as one."""
    features = np.flatnonzero(support)
    return X.iloc[:, features.tolist()] if hasattr(X, "columns") else X[:, features]


def as_float_array(X: Any) -> Any:
    """Return a Dask array of a float type."""
    array = X.to_dask_array() if hasattr(X, "to_dask_array") else X
    return array if array.dtype in FLOAT_TYPES else array.astype(np.float64)


def map_column_blocks(
    array: Any,
    function: Callable[[NDArray[Any], NDArray[np.int64]], NDArray[Any]],
    dtype: np.dtype[Any],
) -> Any:
    """Return the array with a function applied to each block, given also the indices of its columns."""
    import dask.array as da  # noqa: PLC0415

    widths = array.chunks[1]
    places = da.from_array(np.arange(sum(widths))[np.newaxis], chunks=((1,), widths))
    return da.map_blocks(
        _of_block, array, places, function=function, dtype=dtype, meta=np.empty((0, 0), dtype)
    )


def product(array: Any, matrix: NDArray[Any]) -> Any:
    """Return the product of a Dask array and a matrix on the client."""
    import dask.array as da  # noqa: PLC0415

    return array @ da.from_array(matrix, chunks=(array.chunks[1], -1))


def map_row_blocks(
    X: Any, support: NDArray[np.bool_], function: Callable[[NDArray[Any]], NDArray[Any]]
) -> NDArray[Any]:
    """Apply a function to some columns of each block of rows, and gather the results to the client.

    X may also be a validated Dask table, which stays on its workers.
    """
    from dask.delayed import delayed  # noqa: PLC0415

    from .._dask.scheduler import Executor  # noqa: PLC0415

    validated = is_dask_table(X)
    array = as_float_array(select_columns(X.array if validated else X, support)).rechunk({1: -1})
    task = delayed(function, pure=False)
    parts = (X.executor if validated else Executor()).compute(
        lambda: [task(each) for each in array.to_delayed().ravel()]
    )
    return np.concatenate(parts)


def _of_block(
    block: NDArray[Any],
    places: NDArray[np.int64],
    function: Callable[[NDArray[Any], NDArray[np.int64]], NDArray[Any]],
) -> NDArray[Any]:
    return function(block, places[0])


#: Valid values of ``weighted``.
WEIGHTED = (False, True, "manhattan", "euclidean")
#: Number of features in the view of a notebook.
_N_SHOWN = 10
#: ``transform`` warns if it keeps more features than this number and this share of them by default.
_MANY, _MOST = 100, 0.25
#: Fitted attributes with one value per feature, and their columns in :meth:`WeightSelector.to_frame`.
_COLUMNS = {
    "pvalues_": "pvalue",
    "adjusted_pvalues_": "adjusted_pvalue",
    "qvalues_": "qvalue",
    "statistic_": "statistic",
    "selection_probability_": "selection_probability",
    "found_by_": "found_by",
    "partner_": "partner",
    "best_partner_": "partner",
    "local_weight_": "local_weight",
    "single_": "single",
    "interaction_": "interaction",
    "interaction_partner_": "interaction_partner",
    "score_losses_": "score_loss",
    "eliminated_in_": "eliminated_in",
    "labels_": "group",
    "similarity_": "similarity",
}


@dataclass
class WeighterTags(Tags):
    """scikit-learn's tags, and those of weighters."""

    #: The result depends on the order of the samples.
    order_dependent: bool = False
    #: "manhattan" or "euclidean": the metric that the weights define; that of ``weighted=True``.
    learned_metric: str = "manhattan"
    #: The result depends on the order of the features.
    feature_order_dependent: bool = False
    #: y holds continuous targets, not class labels.
    continuous_target: bool = False
    #: Categorical features are supported; the parameter ``categorical_features`` names them.
    categories: bool = False


class WeightSelector(FittedViewMixin, CallbackSupportMixin, SelectorMixin, BaseEstimator):
    """Base of weighters and meta-estimators: ranks features by ``feature_weights_`` and selects the best.

    A subclass implements ``fit``, which sets ``feature_weights_`` and, for ``weighted``, ``_scaling``.

    Parameters
    ----------
    n_features_to_select : int, float or None
        None selects every feature of positive weight, at least one; an int is the number of features, a float
        in (0, 1] a fraction of them.
    weighted : bool, "manhattan" or "euclidean"
        Output of ``transform``: with False the selected columns as is; with "manhattan" the selected columns,
        scaled as in ``fit``, times max(weight, 0), with "euclidean" times its square root; True is the metric
        of the method.
    n_jobs : int or None
        Number of threads. Results are bitwise identical for any value.
    verbose : int
        1 shows the progress of long fits.
    """

    # The metric that the weights define, which ``weighted=True`` selects.
    _own_metric: str = "manhattan"
    # Valid values of the parameters.
    _constraints = constraints(
        weighted=one_of(*WEIGHTED),
        verbose=partial(check_whole, expected="an integer >= 0", suits=lambda n: n >= 0),
        random_state=check_seed,
    )
    # The result depends on the order in which samples are visited.
    _order_dependent: bool = False
    # The result depends on the order in which features are visited.
    _feature_order_dependent: bool = False
    # y holds continuous targets, not class labels.
    _continuous_target: bool = False
    # Categorical features are supported; the parameter ``categorical_features`` names them.
    _takes_categories: bool = False
    # Sparse matrices are supported.
    _takes_sparse: bool = False
    # Mask of the categorical features of ``fit``; None: all features are numeric.
    _is_categorical: NDArray[np.bool_] | None = None
    # The scaling of ``fit``.
    _scaling: Scaling

    n_features_to_select: int | float | None
    weighted: bool | str
    n_jobs: int | None
    verbose: int
    feature_weights_: NDArray[np.float64]

    # Fit

    def _check_parameters(self, n_samples: int) -> None:
        """Raise if a parameter is invalid; subclasses add rules between several of them."""
        check_declared(self)
        self._check_n_features_to_select()

    def _check_n_features_to_select(self) -> None:
        if self.n_features_to_select is None:
            return
        if is_fraction(self.n_features_to_select):
            check_number("n_features_to_select", self.n_features_to_select, above=0.0, at_most=1.0)
        else:
            check_count(
                "n_features_to_select",
                self.n_features_to_select,
                at_most=self.n_features_in_,
                of="features of X",
            )

    def _reset(self) -> None:
        """Delete the results of an earlier fit, so that a fit that fails leaves none."""
        if hasattr(self, "feature_weights_"):
            del self.feature_weights_

    @property
    def _n_threads(self) -> int:
        return checked_thread_count(self.n_jobs)

    # Results

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """max(weight, 0), for ``SelectFromModel`` and ``RFE``, which take absolute values or squares."""
        check_is_fitted(self)
        return np.maximum(self.feature_weights_, 0.0)

    @property
    def ranking_(self) -> NDArray[np.int64]:
        """1 = best; equal weights have the lowest of their ranks."""
        check_is_fitted(self)
        return lowest_ranks(self._ranked_by)

    @property
    def _ranked_by(self) -> NDArray[np.float64]:
        """Values by which features are ranked: the weights, unless a method has a finer order."""
        return self.feature_weights_

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        n_features = self.n_features_to_select
        if n_features is None:
            n_features = n_positive(self.feature_weights_)
        return best_features(self._ranked_by, n_features)

    def to_frame(self) -> Any:
        """Return the results of the fit as a pandas DataFrame, the best features first.

        Returns
        -------
        frame : pandas.DataFrame
            A row per feature with its name (``feature``), ``weight``, ``rank`` and whether it is selected
            (``support``); then what else the method knows, such as ``pvalue``, ``qvalue`` and the name of the
            best ``partner``, missing where there is none.
        """
        check_is_fitted(self)
        try:
            pandas = import_module("pandas")  # not required
        except ImportError as error:
            raise ImportError(
                "to_frame needs pandas, which is not installed: pip install pandas installs it."
            ) from error
        n_features = self.feature_weights_.size
        names = np.array(feature_names_at(self, range(n_features)), dtype=object)
        columns: dict[str, Any] = {
            "feature": names,
            "weight": self.feature_weights_,
            "rank": self.ranking_,
            "support": self.get_support(),
        }
        for attribute, column in _COLUMNS.items():
            values = getattr(self, attribute, None)
            if values is not None and np.shape(values) == (n_features,):
                is_index = attribute.endswith("partner_")
                columns[column] = np.where(values >= 0, names[values], None) if is_index else values
        return pandas.DataFrame(columns).iloc[best_first(self._ranked_by)].reset_index(drop=True)

    @property
    def _metric(self) -> str | bool:
        """The metric in which Euclidean or Manhattan distances of transformed samples are; False: none."""
        return self.__sklearn_tags__().learned_metric if self.weighted is True else self.weighted

    def _column_factors(self) -> NDArray[np.float64]:
        """Return the factors by which ``transform`` multiplies the selected columns."""
        support = self.get_support()
        if self._is_categorical is not None and self._is_categorical[support].any():
            n_categorical = int(self._is_categorical[support].sum())
            raise ValueError(
                f"weighted={self.weighted!r} multiplies the kept columns, and {n_categorical} of them are"
                " categorical. Use weighted=False."
            )
        check_choice("weighted", self.weighted, WEIGHTED)
        return metric_factors(self.feature_weights_[support], self._metric)

    @property
    def _weighted_formats(self) -> str | bool:
        """Sparse format in which columns are weighted; False: dense columns only."""
        return "csr" if get_tags(self).input_tags.sparse else False

    def transform(self, X: ArrayLike) -> Any:
        """Reduce X to the selected features; see ``weighted``.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array or data frame} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        X_kept : {array, sparse matrix, Dask array or data frame} of shape (n_samples, n_kept)
            The selected columns: as is, or scaled as in ``fit`` and weighted. A sparse X stays sparse: its
            columns are divided but not shifted, so that zeros stay zeros; distances are the same. A Dask
            collection stays lazy: a data frame stays one, unless its columns are weighted, which returns an
            array.
        """
        if is_dask(X):
            return self._lazily_transformed(X)
        check_structure(X)
        if self.weighted is False:
            self._warn_of_many_features()
            return ignore_overflow(super().transform)(X)
        check_is_fitted(self)
        factors = self._column_factors()
        allows_missing = self.__sklearn_tags__().input_tags.allow_nan
        samples = validate_data(
            self,
            X,
            accept_sparse=self._weighted_formats,
            dtype=FLOAT_TYPES,
            ensure_all_finite="allow-nan" if allows_missing else True,
            reset=False,
        )
        support = self.get_support()
        return weighted_columns(samples[:, support], self._scaling.of(support), factors)

    def _warn_of_many_features(self) -> None:
        """Warn if all features of positive weight are kept, and these are most features of a wide X."""
        decides = type(self)._get_support_mask is not WeightSelector._get_support_mask
        if decides or self.n_features_to_select is not None or not self.__sklearn_is_fitted__():
            return
        n_kept, n_features = n_positive(self.feature_weights_), self.feature_weights_.size
        if n_kept > max(_MANY, _MOST * n_features):
            warn_user(
                f"transform keeps all {n_kept:,} of {n_features:,} features that have a positive weight: set"
                " n_features_to_select, or use HighRelief, ErrorControlledSelector or CrossValidatedSelector,"
                " which decide how many to keep.",
                UserWarning,
            )

    def _lazily_transformed(self, X: Any) -> Any:
        """Return the lazily transformed Dask collection."""
        check_is_fitted(self)
        check_transformable(self, X)
        support = self.get_support()
        if self.weighted is False:
            return select_columns(X, support)
        factors, scaling = self._column_factors(), self._scaling.of(support)
        array = as_float_array(select_columns(X, support))
        dtype = array.dtype

        def weighted(block: NDArray[Any], features: NDArray[np.int64]) -> NDArray[Any]:
            return weighted_columns(block, scaling.of(features), factors[features])

        return map_column_blocks(array, weighted, dtype)

    def inverse_transform(self, X: ArrayLike) -> Any:
        """Return X with all features: the selected ones in their columns, zeros elsewhere.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_kept)
            Output of ``transform``.

        Returns
        -------
        X_original : array of shape (n_samples, n_features)
            Selected columns in the original units; a column that was multiplied by 0 becomes the value that
            the scaling maps to 0.
        """
        refuse_dask(X, f"{type(self).__name__}.inverse_transform")
        check_structure(X)
        allows_missing = self.__sklearn_tags__().input_tags.allow_nan
        if self.weighted is False:
            if is_sparse(X) or not allows_missing:
                return ignore_overflow(super().inverse_transform)(X)
            return self._with_all_columns(check_array(X, dtype=None, ensure_all_finite="allow-nan"))
        weighted = check_array(
            X,
            accept_sparse=self._weighted_formats,
            dtype=FLOAT_TYPES,
            ensure_all_finite="allow-nan" if allows_missing else True,
        )
        support = self.get_support()
        factors = self._column_factors()
        if weighted.shape[1] != factors.size:
            raise ValueError(
                f"X has a different shape than what transform returned: {weighted.shape[1]} columns, not"
                f" {factors.size}."
            )
        if is_sparse(weighted):
            unit, slopes = self._scaling.of(support).slopes()
            with np.errstate(over="ignore"):
                inverse = np.divide(1.0, factors, out=np.zeros_like(factors), where=factors > 0.0)
            for each in (inverse, 1.0 / slopes, 1.0 / unit):
                weighted = multiply_columns(weighted, each)
            return place_columns(weighted, np.flatnonzero(support), support.size)
        with np.errstate(over="ignore"):
            scaled = np.divide(weighted, factors, out=np.zeros_like(weighted), where=factors > 0.0)
            original = finite(self._scaling.of(support).invert(finite(scaled)))
        return self._with_all_columns(original)

    def _with_all_columns(self, columns: NDArray[Any]) -> NDArray[Any]:
        """Return an array with the selected columns, and zeros elsewhere."""
        support = self.get_support()
        if columns.shape[1] != np.count_nonzero(support):
            raise ValueError("X has a different shape than during fitting.")
        X = np.zeros((len(columns), support.size), dtype=columns.dtype)
        X[:, support] = columns
        return X

    # View in a notebook: scikit-learn calls one or the other

    def _repr_html_inner(self) -> str:
        return self._with_best_features(super()._repr_html_inner())

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        views = super()._repr_mimebundle_(**kwargs)
        if "text/html" in views:
            views["text/html"] = self._with_best_features(views["text/html"])
        return views

    def _with_best_features(self, view: str) -> str:
        """Return scikit-learn's view; after the fit with the best features beside it."""
        if not self.__sklearn_is_fitted__():
            return view
        best = best_first(self._ranked_by, _N_SHOWN)
        try:
            support = self.get_support()
        except (TypeError, ValueError):
            # Parameters were changed to invalid values after the fit.
            support = None
        table = best_features_table(
            feature_names_at(self, best),
            self.feature_weights_[best].tolist(),
            None if support is None else support[best].tolist(),
            n_features=self.feature_weights_.size,
            n_kept=None if support is None else int(support.sum()),
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
    """Return columns scaled and multiplied, in their own precision, clipped to finite values.

    A CSR matrix is not shifted, so that zeros stay zeros.
    """
    if is_sparse(X):
        unit, slopes = scaling.slopes()
        return multiply_columns(multiply_columns(multiply_columns(X, unit), slopes), factors)
    with np.errstate(over="ignore"):
        return finite(scaling.apply_clipped(X) * factors, X.dtype).astype(X.dtype, copy=False)


def metric_factors(weights: NDArray[np.float64], metric: str | bool) -> NDArray[np.float64]:
    """Return the factors of scaled columns after which distances are those of the learned metric."""
    positive = np.maximum(weights, 0.0)
    return np.sqrt(positive) if metric == "euclidean" else positive


def n_selected_features(number: int | float, n_features: int) -> int:
    """Return the number of features that a number or a fraction of them means."""
    if is_fraction(number):
        # 0.29 of 100 features are 29, although 0.29·100 is a little less in floating point.
        return max(1, int(number * n_features + 1e-9))
    return int(number)


def n_positive(weights: NDArray[np.float64]) -> int:
    """Return the number of features of positive weight, at least 1."""
    return max(1, int(np.count_nonzero(weights > 0.0)))


def best_features(weights: NDArray[np.float64], number: int | float | None) -> NDArray[np.bool_]:
    """Return the mask of the selected features, by the rule of ``n_features_to_select``."""
    n_selected = n_positive(weights) if number is None else n_selected_features(number, weights.size)
    support = np.zeros(weights.size, dtype=bool)
    support[best_first(weights)[:n_selected]] = True
    return support


def feature_names_at(fitted: Any, features: Iterable[int]) -> list[str]:
    """Return the names of some features; x0, x1, … if they have none, as in scikit-learn."""
    names = getattr(fitted, "feature_names_in_", None)
    return [f"x{j}" if names is None else str(names[j]) for j in features]


def best_first(weights: NDArray[np.float64], n_features: int | None = None) -> NDArray[np.int64]:
    """Return the features in descending order of weights, ties by index; the first ``n_features`` of them."""
    if n_features is None or n_features >= weights.size:
        return np.argsort(-weights, kind="stable")
    # The others are not sorted.
    smallest = np.partition(weights, weights.size - n_features)[weights.size - n_features]
    candidates = np.flatnonzero(weights >= smallest)
    return candidates[np.argsort(-weights[candidates], kind="stable")[:n_features]]


def lowest_ranks(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return ranks, 1 for the largest weight; equal weights have the lowest of their ranks."""
    order = np.argsort(-weights)
    sorted_weights = weights[order]
    first = np.concatenate([[True], sorted_weights[1:] != sorted_weights[:-1]])
    ranks = np.empty(weights.size, dtype=np.int64)
    ranks[order] = np.maximum.accumulate(np.where(first, np.arange(1, weights.size + 1), 0))
    return ranks


def is_fraction(value: Any) -> bool:
    """Return whether a number of features is a fraction of them: a float, also 1.0."""
    return isinstance(value, Real) and not isinstance(value, Integral)


# Capabilities of any estimator, by its tags and parameters


def takes_missing(estimator: Any) -> bool:
    """Return whether an estimator supports missing values."""
    return bool(get_tags(estimator).input_tags.allow_nan)


def takes_categories(estimator: Any) -> bool:
    """Return whether an estimator supports categorical features."""
    return bool(getattr(get_tags(estimator), "categories", False))


def takes_continuous_target(estimator: Any) -> bool:
    """Return whether y holds continuous targets, also where they are integers."""
    return is_regressor(estimator) or bool(getattr(get_tags(estimator), "continuous_target", False))


def takes_sparse(estimator: Any) -> bool:
    """Return whether an estimator supports sparse matrices."""
    return bool(get_tags(estimator).input_tags.sparse)


def alternatives(ability: Callable[[Any], bool], *, continuous_target: bool) -> str:
    """Return the classes of methods that have an ability, for messages: "ReliefF, SURF or HighRelief"."""
    names = methods_with(ability, among=lambda other: takes_continuous_target(other) == continuous_target)
    classes = [METHODS[name].home for name in names if not METHODS[name].inside]
    return any_of(classes) if classes else ""


@contextmanager
def suggest_alternatives(estimator: Any, X: Any) -> Iterator[None]:
    """Have errors about input that an estimator does not support name the methods that do."""
    try:
        yield
    except (TypeError, ValueError) as error:
        message = _suggestion(estimator, X, error)
        if message is None:
            raise
        raise type(error)(message) from error


def _suggestion(estimator: Any, X: Any, error: Exception) -> str | None:
    """Return a message about unsupported input with a remedy; None for other errors."""
    name, continuous = type(estimator).__name__, takes_continuous_target(estimator)
    if str(error).startswith("Unknown label type: continuous."):
        others = alternatives(takes_continuous_target, continuous_target=True)
        return (
            f"Unknown label type: continuous. {name} needs class labels in y; use {others} for a continuous"
            " target."
        )
    if str(error).startswith("Input X contains NaN"):
        others = alternatives(takes_missing, continuous_target=continuous)
        return (
            f"Input X contains NaN. {name} does not support missing values; impute them, for example with"
            f" sklearn.impute.SimpleImputer, or use {others}."
        )
    if is_sparse(X):
        if not str(error).startswith("Sparse data was passed"):
            return None
        others = alternatives(takes_sparse, continuous_target=continuous)
        others = f", or {others}, which take sparse matrices" if others else ""
        return f"{name} does not support sparse X; use X.toarray(){others}."
    text = None if takes_categories(estimator) else _first_text(X)
    if text is None:
        return None
    others = alternatives(takes_categories, continuous_target=continuous)
    return (
        f"Column {text[0]} of X contains text ({text[1]!r}), which {name} does not support; encode it as"
        f" numbers, or use {others} with categorical_features."
    )


def _first_text(X: Any) -> tuple[str, str] | None:
    """Return the first column with text, by name or index, and its text; None if there is none."""
    if is_dask(X) or len(getattr(X, "shape", ())) != 2:
        return None
    names, array = getattr(X, "columns", None), np.asarray(X)
    if array.dtype.kind not in "OUS":
        return None
    for j, column in enumerate(array.T):
        for value in column:
            if isinstance(value, (str, bytes)):
                return str(j) if names is None else repr(str(names[j])), str(value)
    return None


def categories_parameter(estimator: Any) -> str:
    """Return the name of the, possibly nested, parameter ``categorical_features``; "" if there is none."""
    return _nested_parameter(estimator, "categorical_features")


def stays_within_batches(estimator: Any) -> bool:
    """Return whether neighbors are in the same batch, and not in other batches."""
    parameter = _nested_parameter(estimator, "batch_neighbors")
    return not parameter or estimator.get_params()[parameter] == "within"


def weighs_classes(estimator: Any) -> bool:
    """Return whether class weights are set."""
    parameter = _nested_parameter(estimator, "class_weight")
    return bool(parameter) and estimator.get_params()[parameter] is not None


def _nested_parameter(estimator: Any, name: str) -> str:
    """Return the outermost parameter of this name, of the estimator or of one inside; "" if there is none."""
    return min((each for each in estimator.get_params() if each.split("__")[-1] == name), key=len, default="")
