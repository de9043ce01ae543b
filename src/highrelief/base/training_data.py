"""Validated input of a fit, and the engine that computes on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse as is_sparse
from sklearn import get_config

from .._dask.collections import is_dask_table
from .._engine.batches import BatchConstraint
from .._engine.categories import Encoding
from .._engine.columns import sparse_ranges, sparse_scaling
from .._engine.engine import Engine, LocalEngine
from .._engine.layout import Packed, SparsePacked
from .._engine.scaling import ColumnRanges, MissingMask, Scaling, feature_scaling
from .._engine.sparse import SparseEngine

#: Arguments of a fit with one entry per sample, such as ``sample_weight``, by name.
Metadata = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Samples:
    """Validated X and y."""

    #: (n_samples, n_features) array, CSR matrix or Dask table; not scaled.
    X: Any
    #: (n_samples,) class labels or continuous targets; None where a meta-estimator needs none.
    y: Any
    #: Ranges of the columns; None where an estimator of another package is fitted, to X of any type.
    known_ranges: ColumnRanges | None = None
    #: Missing values, which X replaces by the minimum of the column; None: no value is missing.
    missing_mask: MissingMask | None = None
    #: From features to columns of X, where some features are categorical; None: each column is a feature.
    encoding: Encoding | None = None

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return int(self.X.shape[0])

    @property
    def ranges(self) -> ColumnRanges:
        """Minima and maxima of the columns, where they are known."""
        assert self.known_ranges is not None, "Ranges are only known of data for weighters of highrelief."
        return self.known_ranges

    @property
    def observed(self) -> NDArray[Any]:
        """X with NaN where a value is missing."""
        return self.X if self.missing_mask is None else self.missing_mask.restore_nan(self.X)

    def select(self, included: NDArray[np.bool_], n_threads: int) -> Samples:
        """Return the samples of a mask."""
        X, missing_mask = self.X[included], self.missing_mask
        if missing_mask is not None:
            # The minimum of a column may be in a sample that is not included.
            missing_mask, X = MissingMask.extract(missing_mask.restore_nan(X, included), n_threads)
        return Samples(
            X=X,
            y=None if self.y is None else self.y[included],
            known_ranges=None if self.known_ranges is None else column_ranges(X),
            missing_mask=missing_mask,
            encoding=None if self.encoding is None else self.encoding.of_samples(included),
        )


@dataclass(frozen=True, kw_only=True)
class TrainingData(Samples):
    """Validated input of a fit, without the samples of weight 0."""

    #: (n_samples,) indices into ``classes_``; all 0 where y does not hold classes.
    codes: NDArray[np.int64]
    #: (n_samples,) or None: every sample has weight 1.
    sample_weight: NDArray[np.float64] | None = None
    #: (number of samples passed to ``fit``,) mask of the samples of positive weight, which X holds.
    included: NDArray[np.bool_]
    #: (n_classes,) or None: every class has weight 1.
    class_weights: NDArray[np.float64] | None = None
    #: Which pairs of samples can be neighbors; None: all pairs.
    batch_constraint: BatchConstraint | None = None
    #: Of meta-estimators: metadata for the fits inside, by the routed name ("estimator", "classifier").
    metadata: Mapping[str, Metadata] = field(default_factory=dict)

    def __sizeof__(self) -> int:
        """Bytes; joblib's Dask backend sends large arguments once instead of with every fit."""
        return object.__sizeof__(self) + int(getattr(self.X, "nbytes", 0))

    def metadata_for(self, name: str, rows: Any = slice(None)) -> Metadata:
        """Return the metadata of some samples for one of the fits inside a meta-estimator."""
        return {key: values[rows] for key, values in self.metadata.get(name, {}).items()}

    def fit_arguments(self, rows: NDArray[np.int64] | slice = slice(None)) -> Metadata:
        """Return the arguments with which a weighter is fitted to some of the samples."""
        batches = None if self.batch_constraint is None else self.batch_constraint.batches[rows]
        return {
            "X": self.observed[rows],
            "y": self.y[rows],
            "sample_weight": None if self.sample_weight is None else self.sample_weight[rows],
            "batches": batches,
        }


def column_ranges(X: Any, n_threads: int = 1) -> ColumnRanges:
    """Return the ranges of the columns of an array, a CSR matrix or a Dask table."""
    if is_sparse(X):
        return sparse_ranges(X)
    return X.ranges() if is_dask_table(X) else ColumnRanges.of(X, n_threads)


def column_scaling(
    X: Any,
    scale: str | None,
    sample_weight: NDArray[np.float64] | None,
    ranges: ColumnRanges,
    missing_mask: MissingMask | None = None,
    n_threads: int = 1,
) -> Scaling:
    """Return the scaling of the columns of an array, a CSR matrix or a Dask table.

    Missing values are NaN in the array, or replaced and listed in ``missing_mask``.
    """
    if is_sparse(X):
        return sparse_scaling(X, scale, sample_weight, ranges)
    if is_dask_table(X):
        return X.scaling(scale, sample_weight, ranges)
    if not ranges.finite:
        missing_mask, X = MissingMask.extract(X, n_threads)
        ranges = column_ranges(X)
    return feature_scaling(X, scale, sample_weight, ranges, missing_mask)


def choose_engine(data: TrainingData, scaling: Scaling, n_threads: int, memory: float) -> Engine:
    """Return the engine for the type of X: local dense, local sparse, or Dask.

    ``memory``: bytes for lists of neighbors, or for distances, between two passes.
    """
    # New samples may have another precision than those of the fit.
    dtype = data.X.dtype if data.X.dtype.itemsize == 1 else scaling.offset.dtype
    if data.encoding is not None:
        scaling = data.encoding.of_columns(scaling)
    X = data.X.astype(dtype, copy=False)
    rows = X, data.codes, int(data.codes.max()) + 1
    metadata: dict[str, Any] = {
        "scaling": scaling,
        "sample_weight": data.sample_weight,
        "n_threads": n_threads,
        "ranges": data.ranges if data.X.dtype == dtype else column_ranges(X),
        "class_weights": data.class_weights,
        "batch_constraint": data.batch_constraint,
    }
    if is_sparse(X):
        return SparseEngine(SparsePacked(*rows, **metadata), memory)
    if is_dask_table(X):
        from .._dask.column_engine import ColumnEngine  # noqa: PLC0415
        from .._dask.row_engine import RowEngine  # noqa: PLC0415
        from .._dask.table import DaskPacked  # noqa: PLC0415

        engine = ColumnEngine if X.partition == "columns" else RowEngine
        return engine(DaskPacked(*rows, **metadata), memory)
    packed = Packed(*rows, missing_mask=data.missing_mask, encoding=data.encoding, **metadata)
    return LocalEngine(packed, memory)


def working_memory() -> float:
    """Return scikit-learn's setting ``working_memory``, in bytes."""
    return float(get_config()["working_memory"] * 2.0**20)
