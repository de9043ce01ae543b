"""Neighbours only within the batch of a sample, or only in the others."""

import numpy as np

from .integer_tiles import OUT_OF_REACH
from .jit import kernel


@kernel
def keep_batches_apart(D, anchors, j, n_columns, batches, within):
    """Put out of reach in D, distances of ``anchors`` to rows from j on, who cannot be a neighbour."""
    for r in range(anchors.shape[0]):
        own = batches[anchors[r]]
        for u in range(n_columns):
            if (batches[j + u] == own) != within:
                D[r, u] = np.uint32(OUT_OF_REACH)


@kernel
def keep_tile_apart(F, far, i0, i1, j0, j1, batches, within):
    """The same for a tile of distances between rows i0 … i1 and j0 … j1; no batches, nothing to do."""
    if batches.shape[0] == 0:
        return
    for p in range(i1 - i0):
        own = batches[i0 + p]
        for q in range(j1 - j0):
            if (batches[j0 + q] == own) != within:
                F[p, q] = far
