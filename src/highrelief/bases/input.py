"""What everything that is fitted to samples of known classes does first: check, count copies, scale."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config

from ..core.absent import Absent
from ..core.columns import ColumnRanges
from ..core.encoding import Encoding
from ..core.held import brought_here, on_cluster
from ..core.packed import Packed
from ..core.parameters import check_choice, checked_thread_count
from ..core.ranges import c_ordered, precise_type
from ..core.reach import BATCH_NEIGHBORS, Reach, scaled_by_batch
from ..core.rows import LocalRows
from ..core.scaling import SCALES, Scaling, feature_scaling
from ..core.sparse_columns import sparse_ranges, sparse_scaling
from ..core.sparse_packed import SparsePacked
from ..core.sparse_rows import SparseRows
from .balance import class_weights_of, label_codes
from .checks import assert_all_finite, check_array, check_classification_targets, validate_data
from .cluster_input import IN_MEMORY, checked_dask, is_held, read_in_blocks, refuse_held
from .sparse_input import PRECISIONS, checked_sparse, is_sparse
from .views import FittedViewMixin

_WRAPPERS = ("highrelief.", "sklearn.", "joblib.")
#: Weights of samples from which on products of some of them are no numbers, in float64 and in float32.
LARGEST_WEIGHT = (1e50, 1e15)


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
    #: What is missing from X, where the smallest value of the column stands for it; None: nothing.
    absent: Absent | None = None
    #: (n_classes,) how much the classes count, or None: all the same.
    class_weights: NDArray[np.float64] | None = None
    #: Who may be whose neighbour, or None: everyone.
    reach: Reach | None = None
    #: The features that the columns of X belong to, where some are categorical; None: each is a feature.
    encoding: Encoding | None = None

    @property
    def observed(self) -> NDArray[Any]:
        """X with NaN where a value is missing."""
        return self.X if self.absent is None else self.absent.put_back(self.X)


def scaled_rows(table: Table, scaling: Scaling, n_threads: int, memory: float) -> LocalRows:
    """Where the rows of a table, scaled, are worked on; ``memory`` as :func:`working_memory` says."""
    # New samples may come in another precision than those of the fit.
    dtype = table.X.dtype if table.X.dtype.itemsize == 1 else scaling.offset.dtype
    if table.encoding is not None:
        scaling = table.encoding.of_columns(scaling)
    X = table.X.astype(dtype, copy=False)
    ranges = table.ranges if table.X.dtype == dtype else None
    laid_out, rows = _room_for(X)
    packed = laid_out(
        X,
        table.codes,
        int(table.codes.max()) + 1,
        scaling=scaling,
        copies=table.copies,
        n_threads=n_threads,
        ranges=ranges_of(X) if ranges is None else ranges,
        absent=table.absent,
        class_weights=table.class_weights,
        reach=table.reach,
        encoding=table.encoding,
    )
    return rows(packed, memory)


def _room_for(X: Any) -> tuple[Callable[..., Packed], Callable[[Any, float], LocalRows]]:
    """How a table is laid out, and where its rows are worked on: by what the table is."""
    if is_sparse(X):
        return SparsePacked, SparseRows
    if on_cluster(X):
        from ..core.cluster.packed import ClusterPacked  # noqa: PLC0415
        from ..core.cluster.rows import cluster_rows  # noqa: PLC0415

        return ClusterPacked, cluster_rows
    return Packed, LocalRows


def ranges_of(X: Any, n_threads: int = 1) -> ColumnRanges:
    """Ranges of the columns of a table of any kind."""
    if is_sparse(X):
        return sparse_ranges(X)
    return X.ranges() if on_cluster(X) else ColumnRanges.of(X, n_threads)


def scaling_of(
    X: Any,
    scale: str | None,
    copies: NDArray[np.float64] | None,
    ranges: ColumnRanges,
    absent: Absent | None = None,
) -> Scaling:
    """Scaling of the features of a table of any kind."""
    if is_sparse(X):
        return sparse_scaling(X, scale, copies, ranges)
    if on_cluster(X):
        return X.scaling(scale, copies, ranges)
    return feature_scaling(X, scale, copies, ranges, absent)


def working_memory() -> float:
    """Bytes that may be spent on lists of neighbours, or on distances, between two passes."""
    return float(get_config()["working_memory"] * 2.0**20)


class ClassTableMixin(FittedViewMixin):
    """Judges samples and their classes, and scales them: for weighters, extractors and classifiers alike.

    A subclass says in :meth:`_check_parameters` what its parameters may be and in :meth:`_forget` how it
    becomes unfitted, and asks :meth:`_check_fit` for the checked table.
    """

    # What is worked on as it is; anything else becomes float64.
    _types: Sequence[type] = PRECISIONS
    # Whether values may be missing: differences are then what they are expected to be.
    _allows_missing: bool = False
    # Weights of samples may be so large, in float64 and in float32, or the inverse of it.
    _largest_weight: tuple[float, float] = LARGEST_WEIGHT
    # SciPy's sparse tables are worked on without storing their zeros.
    _takes_sparse: bool = False
    # Why tables that Dask holds are not worked on where they are; None: they are.
    _refuses_dask: str | None = IN_MEMORY
    # What a value takes in the copy that a fit makes of a tall table.
    _bytes_per_value: int = 8

    scale: str | None
    n_jobs: int | None
    n_features_in_: int
    # Parameters of those that have them; see :mod:`.balance`.
    class_weight: Any = None
    batch_neighbors: str = "within"
    _class_weights: NDArray[np.float64] | None = None

    if TYPE_CHECKING:

        def _forget(self) -> None:
            """Be unfitted, so that a fit that fails does not leave the results of an earlier one behind."""

    def _check_parameters(self, n_samples: int) -> None:
        """Raise if a constructor parameter cannot be used; subclasses add their own."""
        check_choice("scale", self.scale, SCALES)
        check_choice("batch_neighbors", self.batch_neighbors, BATCH_NEIGHBORS)

    def _judge(self, table: Table) -> None:
        """Raise or warn if a table of at least two classes is not one to be fitted to."""

    @property
    def _n_threads(self) -> int:
        return checked_thread_count(self.n_jobs)

    def _check_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        batches: ArrayLike | None = None,
    ) -> Table:
        """Judge the input of ``fit``: set ``classes_`` and the scaling, return what is to be fitted to."""
        self._forget()
        X, y, ranges, absent, *encoded = self._checked(X, y, reset=True, min_samples=2)
        copies, kept = checked_copies(sample_weight, X, self._largest_weight)
        self._check_parameters(int(kept.sum()))
        if not kept.all():
            X, y = X[kept], y[kept]
            if absent is not None:
                # The smallest value of a column may have left.
                absent, X = Absent.taken_out(absent.put_back(X, kept), self._n_threads)
            ranges = ranges_of(X)
            encoded = [encoding.of_samples(kept) for encoding in encoded]
        codes = self._set_target(y)
        self._class_weights = None
        if self.class_weight is not None:
            self._class_weights = class_weights_of(self.class_weight, self.classes_, codes, copies)
        reach = self._reach(batches, kept, X)
        table = Table(X, codes, copies, kept, ranges, absent, self._class_weights, reach, *encoded)
        self._set_scaling(table)
        self._judge(table)
        return table

    def _set_target(self, y: NDArray[Any]) -> NDArray[np.int64]:
        """Store the classes, and return each sample's place among them."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        refuse_single_class(type(self).__name__, self.classes_)
        return codes

    def _set_scaling(self, table: Table) -> None:
        self._scaling = scaling_of(table.X, self.scale, table.copies, table.ranges, table.absent)
        self._constant = table.ranges.low == table.ranges.high
        reach = table.reach
        if self.scale is None and reach is not None and not reach.within:
            reach = None
        if reach is not None:
            self._constant = reach.constant(table.observed)
        if table.encoding is not None:
            self._scaling, self._constant = table.encoding.of_features(self._scaling, self._constant)
            if reach is not None:
                # What is missing of a category is not a value of its own.
                self._constant[table.encoding.features] = reach.constant(table.encoding.observed)

    def _check_batch(
        self, X: ArrayLike, y: ArrayLike, *, reset: bool, min_samples: int = 1
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Judge samples and their classes, without setting anything but what ``reset`` asks for."""
        return self._checked(X, y, reset=reset, min_samples=min_samples)[:2]

    def _checked(
        self, X: ArrayLike, y: ArrayLike, *, reset: bool, min_samples: int
    ) -> tuple[NDArray[Any], NDArray[Any], ColumnRanges, Absent | None, *tuple[Encoding, ...]]:
        """Samples and classes as :meth:`_check_batch` judges them, ranges of the columns, what is missing.

        And an :class:`Encoding`, where features are categorical.
        """
        if self._refuses_dask is None:
            X = read_in_blocks(X, self._bytes_per_value)
        if is_held(X):
            refuse_held(X, type(self).__name__, self._refuses_dask)
            held, target, ranges = checked_dask(
                self, X, y, reset=reset, min_samples=min_samples, types=self._types
            )
            # It has what is asked of an array here: a shape, a type, some of its rows.
            return cast("NDArray[Any]", held), self._checked_target(target), ranges, None
        y = brought_here(y)
        if self._takes_sparse and is_sparse(X):
            return *checked_sparse(self, X, y, reset=reset, min_samples=min_samples), None
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
        absent = None
        if not ranges.finite:
            if not self._allows_missing or ranges.infinite:
                self._refuse_infinite(samples)
            absent, samples = Absent.taken_out(samples, self._n_threads, ranges)
            ranges = ColumnRanges.of(samples, self._n_threads)
        return samples, self._checked_target(classes), ranges, absent

    def _refuse_infinite(self, samples: NDArray[Any]) -> None:
        """Raise if a value is infinite, or missing where none may be."""
        name = type(self).__name__
        assert_all_finite(samples, allow_nan=self._allows_missing, estimator_name=name, input_name="X")

    def _checked_target(self, y: NDArray[Any]) -> NDArray[Any]:
        """Judge what samples are labelled with."""
        # Whole numbers are classes; to see what others are takes longer than to weigh a small table.
        if y.dtype.kind not in "iub":
            check_classification_targets(y)
        return y

    def _reach(self, batches: ArrayLike | None, kept: NDArray[np.bool_], X: NDArray[Any]) -> Reach | None:
        """Who may be whose neighbour, by the batches of the samples given."""
        codes = label_codes("batches", batches, kept)
        if codes is not None and is_sparse(X):
            raise TypeError("batches need a dense table, but X is sparse. Use X.toarray().")
        if codes is not None and on_cluster(X):
            raise TypeError("batches need a table in memory, but X is held by Dask. Use X.compute().")
        return None if codes is None else Reach(codes, self.batch_neighbors == "within")

    def _rows(self, table: Table) -> LocalRows:
        """Where the rows of the table, scaled, are worked on."""
        if table.reach is not None:
            table = self._scaled_by_batch(table, table.reach)
            n_features = table.X.shape[1] if table.encoding is None else table.encoding.n_features
            unscaled = Scaling.none(n_features, precise_type(table.X.dtype))
            return scaled_rows(table, unscaled, self._n_threads, self._memory)
        return scaled_rows(table, self._scaling, self._n_threads, self._memory)

    def _scaled_by_batch(self, table: Table, reach: Reach) -> Table:
        """The table with its numbers scaled in each batch by itself; categories stay as they are."""
        X, absent, encoding = table.observed, table.absent, table.encoding
        scaled = scaled_by_batch(X, self.scale, table.copies, reach)
        if encoding is not None:
            levels = encoding.is_categorical[encoding.owner]
            scaled = np.where(levels, X, scaled)
        if absent is not None:
            absent, scaled = Absent.taken_out(scaled, self._n_threads)
        return replace(table, X=scaled, ranges=ColumnRanges.of(scaled, self._n_threads), absent=absent)

    @property
    def _memory(self) -> float:
        return working_memory()


def refuse_single_class(name: str, classes: NDArray[Any]) -> None:
    """Raise if there are not two classes to compare; ``name`` is that of the estimator."""
    if classes.size < 2:
        raise ValueError(
            f"{name} compares samples of different classes, but y has only one class"
            f" ({plain(classes[0])!r}); it needs at least two."
        )


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
    sample_weight: ArrayLike | None, X: NDArray[Any], limits: tuple[float, float] = LARGEST_WEIGHT
) -> tuple[NDArray[np.float64] | None, NDArray[np.bool_]]:
    """Weights of the samples that count, and which those are; None if all count once.

    Those beyond the limit of the table's precision, float64 or float32, or below its inverse, are refused.
    """
    if sample_weight is None:
        return None, np.ones(X.shape[0], dtype=bool)
    largest = limits[X.dtype == np.float32]
    sample_weight = brought_here(sample_weight)
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
    least, most = weights[kept].min(initial=1.0), weights.max()
    if least < 1.0 / largest or most > largest:
        odd = least if most <= largest else most
        raise ValueError(
            f"sample_weight has the value {odd:g}, and products of such numbers leave the range of floating"
            f" point; use weights from {1.0 / largest:g} to {largest:g}."
        )
    if np.count_nonzero(kept) < 2:
        raise ValueError(
            f"sample_weight is zero for all samples but {np.count_nonzero(kept)}; at least two samples"
            " need a weight above zero."
        )
    weights = weights[kept]
    return (None if np.all(weights == 1.0) else weights), kept


def check_spans(ranges: ColumnRanges, widest: float, narrowest: float = 0.0) -> None:
    """Raise if features that are not scaled span too much, or all of them too little, to be squared."""
    # Halves: the difference of two large numbers may be beyond the largest.
    half = float((ranges.high.astype(np.float64) / 2.0 - ranges.low.astype(np.float64) / 2.0).max())
    if not narrowest / 2.0 <= half < widest / 2.0:
        span = f"{2.0 * half:g}" if half < 1e307 else f"2 times {half:g}"
        raise ValueError(
            f"With scale=None the features of X span {span} at most, and sums of squares of such"
            ' numbers leave the range of floating point; use scale="range".'
        )


def check_scaled_spans(ranges: ColumnRanges, scaling: Scaling, widest: float) -> None:
    """Raise if features, scaled as others were, span too much, or all of them too little, to be squared."""
    unit, slopes = scaling.slopes()
    low, high = ranges.low, ranges.high
    with np.errstate(over="ignore", invalid="ignore"):
        spans = np.where(np.isfinite(high - low), (high - low) * unit, high * unit - low * unit)
        most = float((spans * slopes).max())
        ends = np.abs(np.stack([low, high]) * unit - scaling.offset) * slopes
    if most > 0.0 and not 1.0 / widest <= most < widest:
        raise ValueError(
            f"Scaled as in fit, the features of X span {most:g} at most, and sums of squares of such"
            " numbers leave the range of floating point."
        )
    if not ends.max() <= np.finfo(scaling.offset.dtype).max:
        raise ValueError(
            f"Scaled as in fit, feature {ends.max(axis=0).argmax()} of X leaves the range of floating point:"
            " it is too far from the samples of the fit."
        )


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the line that called into the package, not at a wrapper around its method."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_WRAPPERS):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
