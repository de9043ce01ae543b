"""Missing values of numeric and of categorical features, as one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .missing import MissingValues


class MissingOfBoth:
    """What is missing of the numeric and of the categorical features; see :class:`MissingValues`.

    Parameters
    ----------
    parts : list of MissingValues
        What is missing of some features each.
    """

    def __init__(self, parts: list[MissingValues]) -> None:
        #: What is missing of some features each.
        self.parts = parts
        self.n_threads = parts[0].n_threads
        self.features = np.concatenate([part.features for part in parts])
        borders = np.cumsum([0, *(part.features.size for part in parts)])
        self._slices = [slice(a, b) for a, b in pairwise(borders)]

    @property
    def n_rows(self) -> int:
        """Rows of the layout."""
        return self.parts[0].n_rows

    @property
    def root_unit(self) -> float:
        """A power of 2 whose square a squared excess is to be multiplied with."""
        return max(part.root_unit for part in self.parts)

    def _unit(self, part: MissingValues, squared: bool) -> float:
        return (part.root_unit / self.root_unit) ** 2 if squared else 1.0

    def rounding(self, squared: bool) -> NDArray[np.float64]:
        """By how much what each row lacks may be off."""
        return sum(
            (part.rounding(squared) * self._unit(part, squared) for part in self.parts),
            start=np.zeros(self.n_rows),
        )

    def lack_blocks(
        self,
        rows: NDArray[np.int64],
        chunks: tuple[int, int],
        squared: bool = False,
        *,
        others: NDArray[np.int64] | None = None,
    ) -> NDArray[np.floating]:
        """lack(a, b) of some rows a to the rows b of some chunks, (n_chunks, n_rows, CHUNK)."""
        total = None
        for part in self.parts:
            found = part.lack_blocks(rows, chunks, squared, others=others)
            found *= found.dtype.type(self._unit(part, squared))
            total = found if total is None else total + found
        assert total is not None
        return total

    def add_to_pairs(
        self,
        rows: NDArray[np.int64],
        others: NDArray[np.int64],
        factors: NDArray[np.float64],
        distances: NDArray[np.float64],
        squared: bool = False,
    ) -> None:
        """Add lack(a, b) + lack(b, a) to the distances of pairs."""
        for part, of in zip(self.parts, self._slices, strict=True):
            part.add_to_pairs(rows, others, factors[of] * self._unit(part, squared), distances, squared)

    def pair_sums(
        self,
        rows: NDArray[np.int64],
        others: NDArray[np.int64],
        coefficients: NDArray[np.float64],
        squared: bool = False,
    ) -> NDArray[np.float64]:
        """Σ coefficient·(excess of a pair), over listed pairs, (n_incomplete,)."""
        found = [
            part.pair_sums(rows, others, coefficients, squared) * self._unit(part, squared)
            for part in self.parts
        ]
        return np.concatenate(found)

    def add_to_rows(
        self,
        owners: NDArray[np.int64],
        rows: NDArray[np.int64],
        others: NDArray[np.int64],
        coefficients: NDArray[np.float64],
        out: NDArray[np.float64],
        squared: bool = False,
    ) -> None:
        """Add coefficient·(excess of a pair) to the row of ``out`` that owns it; columns are features."""
        for part in self.parts:
            scaled = coefficients * self._unit(part, squared)
            part.add_to_rows(owners, rows, others, scaled, out, squared)
