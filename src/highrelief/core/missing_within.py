"""Missing values where neighbours are looked for within batches: what is expected comes from the own batch.

Samples that are compared are then of one batch. What the difference to a sample lacks can be taken from the
values of its batch alone, and there is still one number for each sample and feature.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import missing as kernels
from ..kernels import packing
from .cached_property import cached_property
from .encoding import MissingLevels
from .missing import MissingValues


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
                shape = (self.n_sets, self._n_chunks, self.features.size, kernels.CHUNK)
                excess = packing.aligned_zeros(shape, found.dtype)
            chunk, place = np.divmod(self._row_of[samples], kernels.CHUNK)
            from_chunk, from_place = np.divmod(np.arange(samples.size), kernels.CHUNK)
            excess[:, chunk, :, place] = found[:, from_chunk, :, from_place]
        assert excess is not None
        return excess

    def _options(self, samples: NDArray[np.int64]) -> dict[str, Any]:
        copies = None if self._copies is None else self._copies[samples]
        return {"copies": copies, "n_threads": self.n_threads}


class MissingValuesWithin(_WithinBatches):
    """What is missing of numeric features: any of the values that are observed in the batch."""

    def _part(self, samples: NDArray[np.int64]) -> MissingValues:
        layout = (self._X[samples], self._scaling, np.arange(samples.size))
        return MissingValues(self._absent.of_samples(samples), *layout, **self._options(samples))


class MissingLevelsWithin(_WithinBatches, MissingLevels):
    """What is missing of categorical features: P(v | class) in the batch."""

    def _part(self, samples: NDArray[np.int64]) -> MissingValues:
        layout = (self._X[samples], self._scaling, np.arange(samples.size), self._classes[samples])
        encoding, absent = self._encoding.of_samples(samples), self._absent.of_samples(samples)
        part = MissingLevels(encoding, absent, *layout, **self._options(samples))
        # Classes that are not in this batch are in others.
        part.n_sets = self.n_sets
        return part
