"""What a search for neighbours asks of distances, wherever they come from, and which of them are tied."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

#: Rows from the first to before the last.
Range = tuple[int, int]


def tie_tolerance(dtype: np.dtype[Any]) -> float:
    """Distances that differ by less, relatively, are equal: scaling splits true ties by rounding."""
    return 1e-6 if dtype == np.float32 else 1e-12


def ties_made_equal(distances: NDArray[np.float64], tolerance: float) -> NDArray[np.float64]:
    """Distances, row by row, with the smallest in the place of all that are tied with it.

    Which of two equal ones is smaller must not be decided by their last digit.
    """
    nearest = distances.min(axis=1, keepdims=True)
    with np.errstate(over="ignore"):
        tied = distances <= nearest * (1.0 + tolerance)
    return np.where(tied, nearest, distances)


class Doubt(NamedTuple):
    """What a search has to know of distances that are there: the first four things that are said below."""

    as_float: bool
    exact: bool
    off: NDArray[np.float64]
    relative: float


class Distances(Protocol):
    """Distances between rows of the layout, as uint32 that order as they do, and possibly a little off.

    Columns are taken in pieces, whose distances are added up.
    """

    @property
    def as_float(self) -> bool:
        """Whether a uint32 holds the bits of a float32; otherwise it is a whole number of steps."""

    @property
    def exact(self) -> bool:
        """Whether equal distances are equal numbers, and others are not."""

    @property
    def off(self) -> NDArray[np.float64]:
        """By how much the distances of each row may be off, once all columns have been seen."""

    @property
    def relative(self) -> float:
        """What distances may be off by, relatively, beside that."""

    def describe(self) -> dict[str, Any]:
        """What was chosen, for the user to see."""

    def pieces(self, most_bytes: float) -> list[tuple[int, int]]:
        """Cut the columns so that a piece takes about this many bytes: which part, out of how many."""

    def piece(self, part: int, n_parts: int) -> Any:
        """Columns of one part, as the distances need them."""

    def add_tiles(
        self,
        piece: Any,
        rows: Range,
        others: Range,
        D: NDArray[np.uint32],
        E: NDArray[np.uint32],
        *,
        add: bool = False,
    ) -> None:
        """Write (or add) distances of rows to others into D, mirrored into E: D itself for the same rows."""

    def fill_rows(
        self, piece: Any, rows: NDArray[np.int64], D: NDArray[np.uint32], *, add: bool = False
    ) -> None:
        """Write (or add) the distances of some rows, a multiple of 4, to all."""
