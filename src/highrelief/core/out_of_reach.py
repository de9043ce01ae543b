"""Who cannot be a neighbour: padding, a sample itself, and who is in no batch that counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels import candidates, reach
from .packed import Packed


def keep_out_of_reach(
    table: Packed, D: NDArray[np.uint32], anchors: NDArray[np.int64], others: tuple[int, int]
) -> None:
    """Put them out of reach in D, distances of the anchors to a range of other rows."""
    first, n_columns = others[0], others[1] - others[0]
    candidates.keep_out_of_reach(D, anchors, first, n_columns, table.padding, table.copies)
    if table.reach is not None:
        reach.keep_batches_apart(D, anchors, first, n_columns, table.batches, table.within)


def n_available(table: Packed, pooled: bool) -> NDArray[np.int64]:
    """Number of rows that could be neighbours, by row and slot."""
    if table.reach is not None:
        in_reach = table.rows_in_reach
        hits = in_reach[np.arange(table.n_rows), table.codes]
        return np.stack([hits, in_reach.sum(axis=1) - hits], axis=1) if pooled else in_reach
    # A row that stands for several copies of a sample is a neighbour of itself.
    hits = table.class_sizes[table.codes] - (table.copies <= 1.0)
    if pooled:
        return np.stack([hits, table.n_samples - table.class_sizes[table.codes]], axis=1)
    by_class = np.tile(table.class_sizes, (table.n_rows, 1))
    by_class[np.arange(table.n_rows), table.codes] = hits
    return by_class
