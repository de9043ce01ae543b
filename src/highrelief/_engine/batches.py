"""Batch constraints: neighbors come from the same batch, or from all other batches.

Part of :class:`.layout.Layout`. Within batches, the expectation of a missing value is over its batch.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels import missing, packing
from .cached_property import cached_property
from .categories import MissingLevels
from .missing import MissingValues
from .scaling import MissingMask, feature_scaling

#: Valid values of ``batch_neighbors``: neighbors from the own batch, or from the other batches.
BATCH_NEIGHBORS = ("within", "across")


@dataclass(frozen=True)
class BatchConstraint:
    """Batches of the samples, and whether neighbors are within a batch or across."""

    #: (n_samples,) codes 0 … n_batches − 1, each present.
    batches: NDArray[np.int64]
    #: Whether neighbors are of the same batch; otherwise of other batches.
    within: bool

    @cached_property
    def n_batches(self) -> int:
        """Number of batches."""
        return int(self.batches.max()) + 1

    def available_by_class(
        self, codes: NDArray[np.integer], n_classes: int, sample_weight: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return the number (or weight) of possible neighbors by batch and class, (n_batches, n_classes).

        With ``within``, a sample itself is included.
        """
        places = self.batches * n_classes + codes
        present = np.bincount(places, minlength=self.n_batches * n_classes).reshape(-1, n_classes)
        if sample_weight is None:
            counts = present if self.within else present.sum(axis=0) - present
            return np.asarray(counts, dtype=np.float64)
        counted = np.bincount(places, weights=sample_weight, minlength=present.size)
        amounts: NDArray[np.float64] = counted.astype(np.float64).reshape(present.shape)
        if not self.within:
            # A class that is in no other batch has weight 0, not a rounding error.
            amounts = np.where(present.sum(axis=0) > present, amounts.sum(axis=0) - amounts, 0.0)
        return amounts

    def has_misses(self, codes: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return which samples have a possible neighbor of another class."""
        amounts = self.available_by_class(codes, int(codes.max()) + 1)
        return amounts.sum(axis=1)[self.batches] > amounts[self.batches, codes]

    def has_hits(
        self, codes: NDArray[np.integer], sample_weight: NDArray[np.float64] | None = None
    ) -> NDArray[np.bool_]:
        """Return which samples have a possible neighbor of their class: another sample, or a duplicate."""
        of_own_class = self.available_by_class(codes, int(codes.max()) + 1)[self.batches, codes]
        if not self.within:
            return of_own_class > 0.0
        once = np.ones(codes.size, dtype=bool) if sample_weight is None else sample_weight <= 1.0
        return of_own_class - once > 0.0

    def constant(self, X: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which features are constant within each batch."""
        same = np.ones(X.shape[1], dtype=bool)
        for batch in range(self.n_batches):
            part = X[self.batches == batch]
            # Negated, so that NaN does not count.
            same &= ~(np.fmin.reduce(part, axis=0) < np.fmax.reduce(part, axis=0))
        return same


def scaled_by_batch(
    X: NDArray[Any],
    scale: str | None,
    sample_weight: NDArray[np.float64] | None,
    batch_constraint: BatchConstraint,
) -> NDArray[Any]:
    """Return a copy of a table with features scaled within each batch; one constant there becomes 0.

    NaN stays NaN.
    """
    if scale is None:
        return X
    scaled = np.empty(X.shape, X.dtype if np.issubdtype(X.dtype, np.floating) else np.float64)
    for batch in range(batch_constraint.n_batches):
        rows = np.flatnonzero(batch_constraint.batches == batch)
        part = X[rows]
        missing_mask, filled = MissingMask.extract(part, 1) if part.dtype.kind == "f" else (None, part)
        scaling = feature_scaling(
            filled, scale, None if sample_weight is None else sample_weight[rows], missing_mask=missing_mask
        )
        scaled[rows] = scaling.apply(part)
    return scaled


# Missing values with neighbors within batches. Compared samples are of one batch, so the excess follows from
# the values of that batch, and is still one number per sample and feature.


class _WithinBatches(MissingValues):
    """Excess of each sample as if its batch were the whole table; undefined for pairs across batches.

    Parameters
    ----------
    arguments, options
        As in the next class of the method resolution order.
    batches : (n_samples,) int64
        Batch of every sample.
    """

    def __init__(self, *arguments: Any, batches: NDArray[np.int64], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._batches = batches

    @abstractmethod
    def _part(self, samples: NDArray[np.int64]) -> MissingValues:
        """Return the missing values of some samples, in their order, as if there were no others."""

    @cached_property
    def excess(self) -> NDArray[np.floating]:
        """Amount by which |x − x'| is too small if one value is missing, in scaled units."""
        return self._gathered("excess")

    @cached_property
    def squared_excess(self) -> NDArray[np.floating]:
        """Excess of (x − x')²."""
        return self._gathered("squared_excess")

    def _gathered(self, name: str) -> NDArray[np.floating]:
        """Return the excess of that name, computed batch by batch."""
        excess: NDArray[np.floating] | None = None
        for batch in range(int(self._batches.max()) + 1):
            samples = np.flatnonzero(self._batches == batch)
            found = getattr(self._part(samples), name)
            if excess is None:
                shape = (self.n_sets, self._n_chunks, self.features.size, missing.CHUNK)
                excess = packing.aligned_zeros(shape, found.dtype)
            chunk, place = np.divmod(self._row_of[samples], missing.CHUNK)
            from_chunk, from_place = np.divmod(np.arange(samples.size), missing.CHUNK)
            excess[:, chunk, :, place] = found[:, from_chunk, :, from_place]
        assert excess is not None
        return excess

    def _options(self, samples: NDArray[np.int64]) -> dict[str, Any]:
        sample_weight = None if self._sample_weight is None else self._sample_weight[samples]
        return {"sample_weight": sample_weight, "n_threads": self.n_threads}


class MissingValuesWithin(_WithinBatches):
    """Missing values of numeric features: distributed as the values observed in the batch."""

    def _part(self, samples: NDArray[np.int64]) -> MissingValues:
        layout = (self._X[samples], self._scaling, np.arange(samples.size))
        missing_mask, options = self._missing_mask.of_samples(samples), self._options(samples)
        return MissingValues(missing_mask, *layout, **options, root_unit=self.root_unit)


class MissingLevelsWithin(_WithinBatches, MissingLevels):
    """Missing values of categorical features: P(v | class) in the batch."""

    def _part(self, samples: NDArray[np.int64]) -> MissingValues:
        layout = (self._X[samples], self._scaling, np.arange(samples.size), self._classes[samples])
        encoding, missing_mask = self._encoding.of_samples(samples), self._missing_mask.of_samples(samples)
        # Classes that are absent from this batch occur in others.
        options = self._options(samples) | {"n_classes": self.n_sets}
        return MissingLevels(encoding, missing_mask, *layout, **options)
