"""The contract of every feature weighter: input, scaling, ranking, selection."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags, assert_all_finite, check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .core.columns import ColumnRanges
from .core.drivers import FixedPoint
from .core.packed import Packed
from .core.parameters import check_choice, check_count, check_number, check_seed, check_whole
from .core.rows import LocalRows
from .core.scaling import SCALES, feature_scaling
from .core.threads import thread_count
from .progress import CallbackSupportMixin

#: What is computed in its own precision; anything else becomes float64.
PRECISIONS = [np.float64, np.float32]
#: What ``weighted`` may be.
WEIGHTED = (False, True, "manhattan", "euclidean")
_WRAPPERS = ("highrelief.", "sklearn.", "joblib.")


@dataclass
class WeighterTags(Tags):
    """scikit-learn's tags, and whether the order of the samples matters by nature."""

    order_dependent: bool = False


@dataclass(frozen=True)
class Table:
    """Checked input of a fit, samples of weight 0 left out."""

    #: (n_samples, n_features), as it was given, not scaled.
    X: NDArray[Any]
    #: (n_samples,) positions in ``classes_``.
    codes: NDArray[np.int64]
    #: (n_samples,) how often each sample counts, or None: once.
    copies: NDArray[np.float64] | None
    #: (number of samples given,) which of them are here.
    kept: NDArray[np.bool_]
    #: Of the columns.
    ranges: ColumnRanges


class FeatureWeighter(CallbackSupportMixin, SelectorMixin, BaseEstimator):
    """Base of all weighters: gives every feature a weight, ranks by it, keeps the best.

    A subclass implements ``fit``: it asks :meth:`_check_fit` for the checked table (or
    :meth:`_rows` for the rows, scaled), computes one weight per feature and ends with
    :meth:`_set_weights`.

    Parameters
    ----------
    n_features_to_select : int, float or None
        None keeps every feature with weight > 0, at least one; an int that many; a float in (0, 1] that
        share.
    weighted : bool, "manhattan" or "euclidean"
        What ``transform`` returns: False the kept columns as they are; "manhattan" the kept columns scaled
        as in ``fit`` times max(weight, 0), "euclidean" times its square root; True the metric of the method.
    scale : "range", "standard" or None
        How features are made comparable before distances are taken.
    n_jobs : int or None
        Threads. The result is the same, bit for bit, for any number.
    verbose : int
        1 shows progress on long work.
    """

    # What ``weighted=True`` means for the method.
    _own_metric = "manhattan"
    # The result depends on the order in which samples are visited.
    _order_dependent = False
    # A class of one sample says nothing.
    _needs_hits = True
    # What is worked on as it is; anything else becomes float64.
    _types: Sequence[type] = PRECISIONS

    def __init__(
        self,
        *,
        n_features_to_select: int | float | None = None,
        weighted: bool | str = False,
        scale: str | None = "range",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.weighted = weighted
        self.scale = scale
        self.n_jobs = n_jobs
        self.verbose = verbose

    # Fit

    def _check_parameters(self, n_samples: int) -> None:
        """Raise if a constructor parameter cannot be used; subclasses add their own."""
        check_choice("weighted", self.weighted, WEIGHTED)
        check_choice("scale", self.scale, SCALES)
        check_whole("verbose", self.verbose, "a whole number >= 0", lambda n: n >= 0)
        check_seed("random_state", getattr(self, "random_state", None))
        if self.n_features_to_select is None:
            return
        if _is_share(self.n_features_to_select):
            check_number("n_features_to_select", self.n_features_to_select, above=0.0, at_most=1.0)
        else:
            check_count(
                "n_features_to_select",
                self.n_features_to_select,
                at_most=self.n_features_in_,
                of="features of X",
            )

    def _check_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Table:
        """Judge the input of ``fit``: set ``classes_`` and the scaling, return what is to be weighed."""
        self._forget()
        X, y, ranges = self._checked(X, y, reset=True, min_samples=2)
        copies, kept = _checked_copies(sample_weight, X)
        self._check_parameters(int(kept.sum()))
        if not kept.all():
            X, y = X[kept], y[kept]
            ranges = ColumnRanges.of(X)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            raise ValueError(
                f"{type(self).__name__} compares samples of different classes, but y has only one class"
                f" ({plain(self.classes_[0])!r}); it needs at least two."
            )
        if self._needs_hits and np.bincount(codes).max() < 2 and (copies is None or copies.max() <= 1.0):
            warn_user(
                f"No class in y has two samples: without hits {type(self).__name__} gives every feature the"
                " weight 0.",
                UserWarning,
            )
        table = Table(X, codes, copies, kept, ranges)
        self._set_scaling(table)
        if self._constant.all():
            raise ValueError(
                f"All {self.n_features_in_} features of X are constant: there is nothing to weigh."
            )
        return table

    def _set_scaling(self, table: Table) -> None:
        self._scaling = feature_scaling(table.X, self.scale, table.copies, table.ranges)
        self._constant = table.ranges.low == table.ranges.high

    def _forget(self) -> None:
        """Be unfitted, so that a fit that fails does not leave the weights of an earlier one behind."""
        if hasattr(self, "feature_weights_"):
            del self.feature_weights_

    def _check_batch(
        self, X: ArrayLike, y: ArrayLike, *, reset: bool, min_samples: int = 1
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Judge samples and their classes, without setting anything but what ``reset`` asks for."""
        return self._checked(X, y, reset=reset, min_samples=min_samples)[:2]

    def _checked(
        self, X: ArrayLike, y: ArrayLike, *, reset: bool, min_samples: int
    ) -> tuple[NDArray[Any], NDArray[Any], ColumnRanges]:
        """Samples and classes as :meth:`_check_batch` judges them, and the ranges of the columns."""
        samples, classes = validate_data(
            self,
            X,
            y,
            dtype=list(self._types),
            ensure_min_samples=min_samples,
            # Seen on the way to the ranges.
            ensure_all_finite=False,
            # To find that nothing is to be done takes a tenth of the time to weigh a small table.
            skip_check_array=_needs_no_conversion(X, y, self._types, min_samples),
            reset=reset,
        )
        ranges = ColumnRanges.of(samples, self._n_threads)
        if not ranges.finite:
            assert_all_finite(samples, estimator_name=type(self).__name__, input_name="X")
        # Whole numbers are classes; to see what others are takes longer than to weigh a small table.
        if classes.dtype.kind not in "iub":
            check_classification_targets(classes)
        return samples, classes, ranges

    @property
    def _n_threads(self) -> int:
        if self.n_jobs is not None:
            check_whole("n_jobs", self.n_jobs, "None, or a whole number that is not 0", lambda n: n != 0)
        return thread_count(self.n_jobs)

    def _rows(self, table: Table) -> LocalRows:
        """Where the rows of the table, scaled, are worked on."""
        # New samples may come in another precision than those of the fit.
        dtype = table.X.dtype if table.X.dtype.itemsize == 1 else self._scaling.offset.dtype
        packed = Packed(
            table.X.astype(dtype, copy=False),
            table.codes,
            int(table.codes.max()) + 1,
            scaling=self._scaling,
            copies=table.copies,
            n_threads=self._n_threads,
            ranges=table.ranges if table.X.dtype == dtype else None,
        )
        return LocalRows(packed, memory=self._memory)

    @property
    def _memory(self) -> float:
        """Bytes that may be spent on lists of neighbours, or on distances, between two passes."""
        return float(get_config()["working_memory"] * 2.0**20)

    def _set_weights(self, weights: NDArray[np.float64]) -> Self:
        """Store the weights, and what follows from them. A constant feature weighs 0."""
        self.feature_weights_ = np.where(self._constant, 0.0, weights)
        return self

    def _set_iterations(self, end: FixedPoint, *, complete: bool, advice: str) -> None:
        """Store how an iteration ended, and warn if not as it should.

        ``complete``: the iteration was to run for as many steps as it did, settled or not.
        """
        self.n_iter_ = max(end.n_iter, 1)
        self.history_ = np.array(end.changes)
        self.cycle_length_ = end.cycle_length
        self.converged_ = not end.undefined and (end.settled or complete)
        name = type(self).__name__
        if end.undefined:
            kept = "all weights are 0" if end.n_iter == 0 else "the weights before it are kept"
            reason = (
                f"{name} stopped in iteration {end.n_iter + 1}: no feature has a positive mean margin"
                f" there, so that no weights follow from it; {kept}. {advice}"
            )
        elif end.cycle_length:
            reason = (
                f"{name} did not converge: it runs in a cycle of length {end.cycle_length} (change"
                f" {end.changes[-1]:.2g} per iteration), and the weights are one of its points. {advice}"
            )
        elif end.interrupted:
            reason = f"{name} was stopped by a callback after {end.n_iter} iterations."
        else:
            reason = (
                f"{name} did not converge in max_iter={end.n_iter} iterations; the last changed the"
                f" weights by {end.changes[-1]:.2g}. {advice}"
            )
        if not self.converged_:
            warn_user(reason.rstrip(), ConvergenceWarning)

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
        return _ranks(self.feature_weights_)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        weights = self.feature_weights_
        if self.n_features_to_select is None:
            n_kept = max(1, np.count_nonzero(weights > 0.0))
        else:
            n_kept = n_features_kept(self.n_features_to_select, weights.size)
        # Stable: a cut through a tie keeps the lower index.
        best = np.argsort(-weights, kind="stable")[:n_kept]
        mask = np.zeros(weights.size, dtype=bool)
        mask[best] = True
        return mask

    def _factors(self) -> NDArray[np.float64]:
        """What ``transform`` multiplies the kept columns with."""
        check_choice("weighted", self.weighted, WEIGHTED)
        metric = self._own_metric if self.weighted is True else self.weighted
        kept = self.feature_importances_[self.get_support()]
        return np.sqrt(kept) if metric == "euclidean" else kept

    def transform(self, X: ArrayLike) -> Any:
        """Reduce X to the kept features; see ``weighted``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        X_kept : array of shape (n_samples, n_kept)
            The kept columns: as they are, or scaled as in ``fit`` and weighted.
        """
        if self.weighted is False:
            return super().transform(X)
        check_is_fitted(self)
        samples = validate_data(self, X, dtype=PRECISIONS, reset=False)
        kept = self.get_support()
        scaled = self._scaling.of(kept).apply(samples[:, kept])
        return (scaled * self._factors()).astype(samples.dtype, copy=False)

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
        if self.weighted is False:
            return super().inverse_transform(X)
        weighted = check_array(X, dtype=PRECISIONS)
        kept = self.get_support()
        factors = self._factors()
        if weighted.shape[1] != factors.size:
            raise ValueError(
                f"X has a different shape than what transform returned: {weighted.shape[1]} columns, not"
                f" {factors.size}."
            )
        scaled = np.divide(weighted, factors, out=np.zeros_like(weighted), where=factors > 0.0)
        return super().inverse_transform(self._scaling.of(kept).invert(scaled))

    def _margin_rows(self, X: ArrayLike, y: ArrayLike) -> tuple[LocalRows, NDArray[np.float64]]:
        """Rows of new samples, scaled as in ``fit``, and the weights as a metric of unit norm."""
        check_is_fitted(self)
        X, y, ranges = self._checked(X, y, reset=False, min_samples=2)
        codes = np.searchsorted(self.classes_, y)
        codes = np.minimum(codes, self.classes_.size - 1)
        unknown = np.flatnonzero(self.classes_[codes] != y)
        if unknown.size:
            raise ValueError(
                f"y has the class {plain(y[unknown[0]])!r}, which was not in fit; known are {self.classes_}."
            )
        if np.all(codes == codes[0]):
            raise ValueError(f"y has only one class ({plain(y[0])!r}): without misses there is no margin.")
        rows = self._rows(Table(X, codes, None, np.ones(len(X), dtype=bool), ranges))
        positive = self.feature_importances_
        norm = np.linalg.norm(positive)
        return rows, positive / norm if norm > 0.0 else positive

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "feature_weights_")

    def __sklearn_tags__(self) -> WeighterTags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        known = {each.name: getattr(tags, each.name) for each in fields(Tags)}
        return WeighterTags(**known, order_dependent=self._order_dependent)


def plain(value: Any) -> Any:
    """A value as Python would show it, for messages."""
    return value.item() if isinstance(value, np.generic) else value


def n_features_kept(wanted: int | float, n_features: int) -> int:
    """Number of features that a number or a share of them stands for."""
    if _is_share(wanted):
        # 0.29 of 100 features are 29, although 0.29·100 is a little less.
        return max(1, int(wanted * n_features + 1e-9))
    return int(wanted)


def _ranks(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """1 for the largest; equal weights share the lowest number."""
    order = np.argsort(-weights)
    falling = weights[order]
    first = np.concatenate([[True], falling[1:] != falling[:-1]])
    ranks = np.empty(weights.size, dtype=np.int64)
    ranks[order] = np.maximum.accumulate(np.where(first, np.arange(1, weights.size + 1), 0))
    return ranks


def _is_share(value: Any) -> bool:
    """Whether a number of features to keep is a share of them: a float, also 1.0."""
    return isinstance(value, Real) and not isinstance(value, Integral)


def _needs_no_conversion(X: Any, y: Any, types: Sequence[type], min_samples: int) -> bool:
    """Whether scikit-learn's checks would return samples and classes as they are; values apart."""
    return (
        type(X) is np.ndarray
        and type(y) is np.ndarray
        and X.ndim == 2
        and X.shape[0] >= min_samples
        and X.shape[1] > 0
        and X.dtype in types
        and y.shape == X.shape[:1]
        and y.dtype.kind in "iub"
    )


def _checked_copies(
    sample_weight: ArrayLike | None, X: NDArray[Any]
) -> tuple[NDArray[np.float64] | None, NDArray[np.bool_]]:
    """Weights of the samples that count, and which those are; None if all count once."""
    if sample_weight is None:
        return None, np.ones(X.shape[0], dtype=bool)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(X.shape[0], sample_weight)
    weights = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.ndim != 1:
        raise ValueError(f"sample_weight must have one dimension, one weight per sample; got {weights.ndim}.")
    if weights.size != X.shape[0]:
        raise ValueError(
            f"sample_weight must hold one weight for each of the {X.shape[0]} samples; got {weights.size}."
        )
    if weights.min() < 0.0:
        raise ValueError(f"sample_weight has a negative value ({weights.min():g}).")
    kept = weights > 0.0
    if np.count_nonzero(kept) < 2:
        raise ValueError(
            f"sample_weight is zero for all samples but {np.count_nonzero(kept)}; at least two samples"
            " need a weight above zero."
        )
    weights = weights[kept]
    return (None if np.all(weights == 1.0) else weights), kept


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the line that called into the package, not at a wrapper around its method."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_WRAPPERS):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
