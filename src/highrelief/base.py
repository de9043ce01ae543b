"""What every feature weighter does before and after its method: input, scaling, iterations, margins."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .core.columns import ColumnRanges
from .core.drivers import FixedPoint
from .core.packed import Packed
from .core.parameters import check_choice
from .core.ranges import c_ordered
from .core.rows import LocalRows
from .core.scaling import SCALES, Scaling, feature_scaling
from .selector_base import WeightSelector

_WRAPPERS = ("highrelief.", "sklearn.", "joblib.")


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


def scaled_rows(table: Table, scaling: Scaling, n_threads: int, memory: float) -> LocalRows:
    """Where the rows of a table, scaled, are worked on; ``memory`` as :func:`working_memory` says."""
    # New samples may come in another precision than those of the fit.
    dtype = table.X.dtype if table.X.dtype.itemsize == 1 else scaling.offset.dtype
    packed = Packed(
        table.X.astype(dtype, copy=False),
        table.codes,
        int(table.codes.max()) + 1,
        scaling=scaling,
        copies=table.copies,
        n_threads=n_threads,
        ranges=table.ranges if table.X.dtype == dtype else None,
    )
    return LocalRows(packed, memory=memory)


def working_memory() -> float:
    """Bytes that may be spent on lists of neighbours, or on distances, between two passes."""
    return float(get_config()["working_memory"] * 2.0**20)


class FeatureWeighter(WeightSelector):
    """Base of all weighters: checks and scales the input, gives every feature a weight.

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

    # A class of one sample says nothing.
    _needs_hits = True

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
        super()._check_parameters(n_samples)
        check_choice("scale", self.scale, SCALES)

    def _check_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Table:
        """Judge the input of ``fit``: set ``classes_`` and the scaling, return what is to be weighed."""
        self._forget()
        X, y, ranges = self._checked(X, y, reset=True, min_samples=2)
        copies, kept = checked_copies(sample_weight, X)
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
        samples = c_ordered(samples)
        ranges = ColumnRanges.of(samples, self._n_threads)
        if not ranges.finite:
            assert_all_finite(samples, estimator_name=type(self).__name__, input_name="X")
        # Whole numbers are classes; to see what others are takes longer than to weigh a small table.
        if classes.dtype.kind not in "iub":
            check_classification_targets(classes)
        return samples, classes, ranges

    def _rows(self, table: Table) -> LocalRows:
        """Where the rows of the table, scaled, are worked on."""
        return scaled_rows(table, self._scaling, self._n_threads, self._memory)

    @property
    def _memory(self) -> float:
        return working_memory()

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

    def _margin_rows(self, X: ArrayLike, y: ArrayLike) -> tuple[LocalRows, NDArray[np.float64]]:
        """Rows of new samples, scaled as in ``fit``, and the weights as a metric of unit norm."""
        check_is_fitted(self)
        X, y, ranges = self._checked(X, y, reset=False, min_samples=2)
        codes = known_codes(self.classes_, y)
        if np.all(codes == codes[0]):
            raise ValueError(f"y has only one class ({plain(y[0])!r}): without misses there is no margin.")
        rows = self._rows(Table(X, codes, None, np.ones(len(X), dtype=bool), ranges))
        positive = self.feature_importances_
        norm = np.linalg.norm(positive)
        return rows, positive / norm if norm > 0.0 else positive


def known_codes(classes: NDArray[Any], y: NDArray[Any]) -> NDArray[np.int64]:
    """Positions of new samples' classes among the fitted ones."""
    codes = np.minimum(np.searchsorted(classes, y), classes.size - 1)
    unknown = np.flatnonzero(classes[codes] != y)
    if unknown.size:
        raise ValueError(
            f"y has the class {plain(y[unknown[0]])!r}, which was not in fit; known are {classes}."
        )
    return codes


def plain(value: Any) -> Any:
    """A value as Python would show it, for messages."""
    return value.item() if isinstance(value, np.generic) else value


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


def checked_copies(
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
