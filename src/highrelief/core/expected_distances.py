"""Expected distances, where values are missing: what is found without regard to it, and what that lacks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels import missing as kernels
from .columns import Columns
from .distances import Distances, Range
from .missing import MissingValues
from .missing_of_both import MissingOfBoth
from .neighborhood import Neighbors
from .threads import even_ranges, run_all
from .whole_numbers import UNEQUAL, WholeNumbers

#: Parts of a whole number that expectations are rounded to where distances are whole numbers.
_PARTS = 2.0**16
Missing = MissingValues | MissingOfBoth

#: The largest whole number of steps that a distance may be.
_MOST_STEPS = 2.0**32 - 2.0**16


class _Piece(NamedTuple):
    """A part of the columns, and whether it is the last."""

    columns: Any
    last: bool


class ExpectedDistances:
    """Distances, possibly a little off, to which what missing values are expected to add is added.

    A row lacks the same of every other: lack(a, b) is a sum over the features that a lacks, and the expected
    distance is the one found plus lack(a, b) + lack(b, a); see :mod:`..kernels.missing`.

    Parameters
    ----------
    base : Distances
        Where the smallest value of a column stands for what is missing.
    missing : MissingValues or MissingOfBoth
        What is missing.
    columns : Columns
        Of the table.
    squared : bool
        Whether distances are sums of squares.
    """

    exact = False

    def __init__(self, base: Distances, missing: Missing, columns: Columns, squared: bool) -> None:
        self._base, self._missing, self._columns = base, missing, columns
        self._squared, self._n_threads = squared, missing.n_threads
        self.as_float = base.as_float
        #: Steps that a step of ``base`` is divided into, and what one unit of a scaled feature is in keys.
        self._times, self._per_unit = 1.0, self._distance_unit
        if isinstance(base, WholeNumbers):
            if base.exact:
                longest = float(columns.spans.sum()) / base.step
                self._times = max(1.0, min(_PARTS, np.floor(_MOST_STEPS / (1.0 + longest))))
            self._per_unit = self._times / base.step

    @property
    def _distance_unit(self) -> float:
        """What makes an excess, or a squared one, part of a distance as ``columns.distance_factors`` do."""
        unit = self._columns.distance_unit
        return (unit * self._missing.root_unit) ** 2 if self._squared else unit

    @property
    def relative(self) -> float:
        """What distances may be off by, relatively: levels may be spaced equally only up to a tolerance."""
        return UNEQUAL if self._base.exact else self._base.relative + (2.0**-23 if self.as_float else 0.0)

    @property
    def off(self) -> NDArray[np.float64]:
        """By how much the distances of each row may be off, once all columns have been seen."""
        rounding = self._missing.rounding(self._squared) * self._per_unit
        steps = 0.0 if self.as_float else 1.0
        return self._times * self._base.off + rounding + rounding.max() + steps

    def describe(self) -> dict[str, Any]:
        """What was chosen, for the user to see."""
        return self._base.describe() | {"n_incomplete_features": int(self._missing.features.size)}

    def pieces(self, most_bytes: float) -> list[tuple[int, int]]:
        """Cut the columns so that a piece takes about this many bytes: which part, out of how many."""
        return self._base.pieces(most_bytes)

    def piece(self, part: int, n_parts: int) -> _Piece:
        """Columns of one part, as the distances need them."""
        return _Piece(self._base.piece(part, n_parts), part == n_parts - 1)

    def add_tiles(
        self,
        piece: _Piece,
        rows: Range,
        others: Range,
        D: NDArray[np.uint32],
        E: NDArray[np.uint32],
        *,
        add: bool = False,
    ) -> None:
        """Write (or add) distances of rows to others into D, mirrored into E: D itself for the same rows."""
        self._base.add_tiles(piece.columns, rows, others, D, E, add=add)
        if not piece.last:
            return
        own = self._lacks(rows, others)
        theirs = own if rows == others else self._lacks(others, rows)
        self._add(D, rows[1] - rows[0], others[1] - others[0], own, theirs)
        if rows != others:
            self._add(E, others[1] - others[0], rows[1] - rows[0], theirs, own)

    def fill_rows(
        self, piece: _Piece, rows: NDArray[np.int64], D: NDArray[np.uint32], *, add: bool = False
    ) -> None:
        """Write (or add) the distances of some rows, a multiple of 4, to all."""
        self._base.fill_rows(piece.columns, rows, D, add=add)
        if piece.last:
            missing, n_rows = self._missing, self._missing.n_rows
            own = missing.lack_blocks(rows, (0, -(-n_rows // kernels.CHUNK)), squared=self._squared)
            everyone = np.arange(n_rows)
            theirs = missing.lack_blocks(everyone, (0, 0), squared=self._squared, others=rows)
            self._add(D, rows.size, n_rows, own, theirs)

    def put_own(
        self, D: NDArray[np.uint32], anchors: NDArray[np.int64], others: Range, copies: NDArray[np.float64]
    ) -> None:
        """Put what two copies of a sample are expected to differ by in its place in D, if it has several."""
        own = np.flatnonzero((anchors >= others[0]) & (anchors < others[1]) & (copies[anchors] > 1.0))
        rows = anchors[own]
        total = np.zeros(rows.size)
        factors = np.full(self._missing.features.size, self._per_unit)
        self._missing.add_to_pairs(rows, rows, factors, total, self._squared)
        keys = total.astype(np.float32).view(np.uint32) if self.as_float else np.rint(total).astype(np.uint32)
        D[own, rows - others[0]] = keys

    def add_exact(self, found: Neighbors, exact: NDArray[np.float64]) -> None:
        """Add to the exact distances of candidates that are not sure what is expected."""
        owner, place = found.unsure()
        distances = exact[place]
        factors = np.full(self._missing.features.size, self._distance_unit)
        self._missing.add_to_pairs(found.anchors[owner], found.rows[place], factors, distances, self._squared)
        exact[place] = np.maximum(distances, 0.0)

    def _lacks(self, rows: Range, others: Range) -> NDArray[np.floating]:
        chunks = others[0] // kernels.CHUNK, -(-others[1] // kernels.CHUNK)
        return self._missing.lack_blocks(np.arange(*rows), chunks, squared=self._squared)

    def _add(
        self,
        D: NDArray[np.uint32],
        n_rows: int,
        n_columns: int,
        own: NDArray[np.floating],
        theirs: NDArray[np.floating],
    ) -> None:
        def of_rows(a: int, b: int) -> None:
            if self.as_float:
                floats = D.view(np.float32)
                kernels.add_to_floats(floats, a, b, n_columns, own, theirs, self._per_unit)
            else:
                kernels.add_to_steps(D, a, b, n_columns, own, theirs, self._per_unit, self._times)

        run_all(of_rows, even_ranges(n_rows, 4 * self._n_threads, kernels.CHUNK), self._n_threads)
