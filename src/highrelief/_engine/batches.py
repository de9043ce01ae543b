"""Who may be whose neighbor: samples of the same batch, or of all others."""

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

#: Which samples are in reach of a sample: those of its own batch, or those of the other batches.
BATCH_NEIGHBORS = ("within", "across")


@dataclass(frozen=True)
class BatchConstraint:
    """Batches of the samples of a table, and whether neighbors are within a batch or across."""

    #: (n_samples,) numbers from 0 on, each present.
    batches: NDArray[np.int64]
    #: In reach are the samples of the same batch; otherwise those of the others.
    within: bool

    @cached_property
    def n_batches(self) -> int:
        """Number of batches."""
        return int(self.batches.max()) + 1

    def available_by_class(
        self, codes: NDArray[np.integer], n_classes: int, sample_weight: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """How many samples (or copies) of every class are in reach of each batch, (n_batches, n_classes).

        A sample of the batch itself counts among those within.
        """
        places = self.batches * n_classes + codes
        present = np.bincount(places, minlength=self.n_batches * n_classes).reshape(-1, n_classes)
        if sample_weight is None:
            counts = present if self.within else present.sum(axis=0) - present
            return np.asarray(counts, dtype=np.float64)
        counted = np.bincount(places, weights=sample_weight, minlength=present.size)
        amounts: NDArray[np.float64] = counted.astype(np.float64).reshape(present.shape)
        if not self.within:
            # What rounding leaves of a class that is in no other batch is nothing.
            amounts = np.where(present.sum(axis=0) > present, amounts.sum(axis=0) - amounts, 0.0)
        return amounts

    def has_misses(self, codes: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Which samples have a sample of another class in reach."""
        amounts = self.available_by_class(codes, int(codes.max()) + 1)
        return amounts.sum(axis=1)[self.batches] > amounts[self.batches, codes]

    def has_hits(
        self, codes: NDArray[np.integer], sample_weight: NDArray[np.float64] | None = None
    ) -> NDArray[np.bool_]:
        """Which samples have another sample of their class, or a copy of themselves, in reach."""
        of_own_class = self.available_by_class(codes, int(codes.max()) + 1)[self.batches, codes]
        if not self.within:
            return of_own_class > 0.0
        once = np.ones(codes.size, dtype=bool) if sample_weight is None else sample_weight <= 1.0
        return of_own_class - once > 0.0

    def constant(self, X: NDArray[Any]) -> NDArray[np.bool_]:
        """Which features have one value in each batch, whatever it is."""
        same = np.ones(X.shape[1], dtype=bool)
        for batch in range(self.n_batches):
            part = X[self.batches == batch]
            # Written so that what is missing does not count.
            same &= ~(np.fmin.reduce(part, axis=0) < np.fmax.reduce(part, axis=0))
        return same


def scaled_by_batch(
    X: NDArray[Any],
    scale: str | None,
    sample_weight: NDArray[np.float64] | None,
    batch_constraint: BatchConstraint,
) -> NDArray[Any]:
    """A copy of a table whose features are scaled in each batch by itself; one constant there becomes 0.

    What is missing, NaN, stays so.
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


# Missing values where neighbors are looked for within batches: what is expected comes from the own batch.
#
# Samples that are compared are then of one batch. What the difference to a sample lacks can be taken from
# the values of its batch alone, and there is still one number for each sample and feature.


class _WithinBatches(MissingValues):
    """The excess of each sample as if its batch were the whole table; in pairs across batches no meaning.

    Parameters
    ----------
    arguments, options
        As of the class that is named after this one.
    batches : (n_samples,) int64
        Batch of every sample.
    """

    def __init__(self, *arguments: Any, batches: NDArray[np.int64], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._batches = batches

    @abstractmethod
    def _part(self, samples: NDArray[np.int64]) -> MissingValues:
        """What is missing of some samples, in their order, as if there were no others."""

    @cached_property
    def excess(self) -> NDArray[np.floating]:
        """By how much |x − x'| is too small where one lacks the value, in scaled units."""
        return self._gathered("excess")

    @cached_property
    def squared_excess(self) -> NDArray[np.floating]:
        """The same for (x − x')²."""
        return self._gathered("squared_excess")

    def _gathered(self, name: str) -> NDArray[np.floating]:
        """The excess of that name, batch by batch."""
        excess: NDArray[np.floating] | None = None
        for batch in range(int(self._batches.max()) + 1):
            samples = np.flatnonzero(self._batches == batch)
            part = self._part(samples)
            part.root_unit = self.root_unit
            found = getattr(part, name)
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
    """What is missing of numeric features: any of the values that are observed in the batch."""

    def _part(self, samples: NDArray[np.int64]) -> MissingValues:
        layout = (self._X[samples], self._scaling, np.arange(samples.size))
        return MissingValues(self._missing_mask.of_samples(samples), *layout, **self._options(samples))


class MissingLevelsWithin(_WithinBatches, MissingLevels):
    """What is missing of categorical features: P(v | class) in the batch."""

    def _part(self, samples: NDArray[np.int64]) -> MissingValues:
        layout = (self._X[samples], self._scaling, np.arange(samples.size), self._classes[samples])
        encoding, missing_mask = self._encoding.of_samples(samples), self._missing_mask.of_samples(samples)
        part = MissingLevels(encoding, missing_mask, *layout, **self._options(samples))
        # Classes that are not in this batch are in others.
        part.n_sets = self.n_sets
        return part
