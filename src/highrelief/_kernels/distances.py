"""Tiles of pairwise distances.

Manhattan tiles use |a − b| = a + b − 2·min(a, b): the sums of a and of b belong to the rows, so that
a pair costs one minimum and one addition per feature. The row sums are made by the same additions in
the same order, hence two equal rows are at distance 0 exactly.

A sum runs in the precision of the data over the lanes of :mod:`.vectors`, at most
:data:`ADDITIONS_PER_LANE` additions in each, and then goes to float64. :func:`relative_error` bounds what
that can cost.
"""

import math

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from .intrinsics import intrinsic
from .jit import kernel, wide_vectors
from .packing import ROW_BLOCK
from .simd import count_bits, joint_sums, load, row_pointer, splat, store, target_vector_bytes
from .vectors import LANE_BYTES, add_minimum_sums, add_weighted_minimum_sums, fetch_rows, lanes_of

#: Rows of a tile.
TILE = 64
#: Features that a lane adds up in the precision of the data before the sum goes to float64.
ADDITIONS_PER_LANE = 64


def relative_error(dtype):
    """Bound the error of a block's sum, relative to the sum: roundings on the way of a term × unit roundoff.

    A term is added in its lane, then the lanes are added by halves.
    """
    dtype = np.dtype(dtype)
    halvings = math.log2(LANE_BYTES // dtype.itemsize)
    return (ADDITIONS_PER_LANE + halvings + 4) * np.finfo(dtype).eps / 2


def n_tiles(n_rows):
    """Number of tiles that cover every pair of rows once."""
    blocks = -(-n_rows // TILE)
    return blocks * (blocks + 1) // 2


@kernel
def tile_corner(t):
    """Corner (i, j), i ≤ j, of the t-th tile: column by column, each down to the diagonal."""
    j = np.int64((math.sqrt(8.0 * t + 1.0) - 1.0) / 2.0)
    # The root may be off by one in its last digit.
    while j * (j + 1) // 2 > t:
        j -= 1
    while (j + 1) * (j + 2) // 2 <= t:
        j += 1
    return (t - j * (j + 1) // 2) * TILE, j * TILE


@kernel
def _add_sums(A, i0, i1, B, j0, j1, k0, k1, unit, upper_only, T):
    """Add Σ_k min(a_ik, b_jk), k0 ≤ k < k1, to T[i − i0, j − j0].

    ``unit`` holds a 1 that the compiler cannot see; see :mod:`.vectors`.
    """
    wide_vectors()
    one = unit[0]
    for i in range(i0, i1, ROW_BLOCK):
        start = j0 + (i - i0) if upper_only else j0
        for j in range(start, j1, ROW_BLOCK):
            if i + 2 * ROW_BLOCK <= A.shape[0]:
                fetch_rows(A, i + ROW_BLOCK, k0, k1, (j - j0) // ROW_BLOCK)
            add_minimum_sums(A, i, B, j, k0, k1, one, T, i - i0, j - j0)


@kernel
def row_sums(X, out):
    """Sum every row by the additions that the tiles make, so that equal rows cancel exactly."""
    T = np.zeros((ROW_BLOCK, ROW_BLOCK))
    unit = np.ones(1, X.dtype)
    features = ADDITIONS_PER_LANE * lanes_of(X)
    for i in range(0, X.shape[0], ROW_BLOCK):
        T[:] = 0.0
        for k0 in range(0, X.shape[1], features):
            k1 = min(k0 + features, X.shape[1])
            _add_sums(X, i, i + ROW_BLOCK, X, i, i + ROW_BLOCK, k0, k1, unit, False, T)
        for r in range(ROW_BLOCK):
            out[i + r] = T[r, r]


@kernel
def minima_to_distances(row, own_sum, sums):
    """Turn Σ min(a, b), for one a and many b, into Σ |a − b|."""
    wide_vectors()
    for q in range(sums.shape[0]):
        # Rounding can leave −ε for rows that are nearly equal.
        d = (own_sum + sums[q]) - 2.0 * row[q]
        row[q] = d if d > 0.0 else 0.0


@kernel
def distance_block(A, a_sums, i0, i1, B, b_sums, j0, j1, upper_only, T):
    """Fill T[:i1−i0, :j1−j0] with the distances of rows i0 … i1 of A to rows j0 … j1 of B.

    Whole blocks of rows. ``upper_only`` leaves out the blocks below the diagonal of a square tile.
    """
    unit = np.ones(1, A.dtype)
    features = ADDITIONS_PER_LANE * lanes_of(A)
    for p in range(i1 - i0):
        T[p, : j1 - j0] = 0.0
    for k0 in range(0, A.shape[1], features):
        k1 = min(k0 + features, A.shape[1])
        _add_sums(A, i0, i1, B, j0, j1, k0, k1, unit, upper_only, T)
    for p in range(i1 - i0):
        minima_to_distances(T[p, : j1 - j0], a_sums[i0 + p], b_sums[j0:j1])


@kernel
def distance_tile(X, sums, i0, i1, j0, j1, T):
    """Fill T with the distances of rows i0 … i1 to rows j0 … j1; a tile on the diagonal is mirrored."""
    distance_block(X, sums, i0, i1, X, sums, j0, j1, i0 == j0, T)
    if i0 == j0:
        for p in range(i1 - i0):
            for q in range(p):
                T[p, q] = T[q, p]


# Distances under weights, Σ_k w_k·|a_k − b_k|, without a copy of the rows times their weights.
#
# The weight goes into the multiply-add by which a minimum is added, where :mod:`.distances` has a 1. Sums
# run over the first len(w) columns, which are whole vectors, and by the same blocks as there; hence columns
# may also come block by block, if all blocks but the last are of whole :func:`columns_per_sum`.


def columns_per_sum(itemsize):
    """Columns that are added up in the precision of the data before their sum goes to float64."""
    return ADDITIONS_PER_LANE * (LANE_BYTES // itemsize)


@kernel
def _add_weighted_sums(A, i0, i1, B, j0, j1, k0, k1, w, upper_only, T):
    wide_vectors()
    for i in range(i0, i1, ROW_BLOCK):
        start = j0 + (i - i0) if upper_only else j0
        for j in range(start, j1, ROW_BLOCK):
            if i + 2 * ROW_BLOCK <= A.shape[0]:
                fetch_rows(A, i + ROW_BLOCK, k0, k1, (j - j0) // ROW_BLOCK)
            add_weighted_minimum_sums(A, i, B, j, k0, k1, w, T, i - i0, j - j0)


@kernel
def _add_minima(A, i0, i1, B, j0, j1, w, upper_only, T):
    """Add Σ_k w_k·min(a_ik, b_jk) to T[i − i0, j − j0]."""
    features = ADDITIONS_PER_LANE * lanes_of(A)
    for k0 in range(0, w.shape[0], features):
        _add_weighted_sums(A, i0, i1, B, j0, j1, k0, min(k0 + features, w.shape[0]), w, upper_only, T)


@kernel
def add_row_sums(X, w, p0, p1, sums):
    """Add the weighted sums of rows p0 … p1 by the additions of the tiles: equal rows cancel exactly."""
    T = np.zeros((ROW_BLOCK, ROW_BLOCK))
    for i in range(p0, p1, ROW_BLOCK):
        for r in range(ROW_BLOCK):
            T[r, r] = sums[i + r]
        _add_minima(X, i, i + ROW_BLOCK, X, i, i + ROW_BLOCK, w, False, T)
        for r in range(ROW_BLOCK):
            sums[i + r] = T[r, r]


@kernel
def add_tile_minima(X, w, t0, t1, M):
    """Add the weighted sums of minima for the pairs of tiles t0 … t1; on the diagonal, the upper half."""
    n = X.shape[0]
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        _add_minima(X, i0, min(i0 + TILE, n), X, j0, min(j0 + TILE, n), w, i0 == j0, M[t])


@kernel
def finish_tile(sums, i0, i1, j0, j1, T):
    """Turn sums of minima into distances; a tile on the diagonal is mirrored."""
    for p in range(i1 - i0):
        minima_to_distances(T[p, : j1 - j0], sums[i0 + p], sums[j0:j1])
    if i0 == j0:
        for p in range(i1 - i0):
            for q in range(p):
                T[p, q] = T[q, p]


@kernel
def weighted_tile(X, w, sums, i0, i1, j0, j1, T):
    """Fill T with the distances of rows i0 … i1 to rows j0 … j1."""
    for p in range(i1 - i0):
        T[p, : j1 - j0] = 0.0
    _add_minima(X, i0, i1, X, j0, j1, w, i0 == j0, T)
    finish_tile(sums, i0, i1, j0, j1, T)


@kernel
def weighted_block(A, a_sums, i0, i1, B, b_sums, w, T):
    """Fill T with the distances of rows i0 … i1 of A to all rows of B."""
    n = B.shape[0]
    for p in range(i1 - i0):
        T[p, :n] = 0.0
    _add_minima(A, i0, i1, B, 0, n, w, False, T)
    for p in range(i1 - i0):
        minima_to_distances(T[p, :n], a_sums[i0 + p], b_sums)


# Tiles of distances between rows of whole numbers, exact.
#
# Rows come in two forms, and a table may have both:
#
# * on a *grid* of 2¹⁶ points, one int16 per feature: |a − b| = a + b − 2·min(a, b), so that a pair costs
# one minimum and one multiply-add for 32 features of a 512-bit vector, twice as many as in float32; * as
# *bit planes*, for features of two or three equally spaced levels: a thermometer code, of which the number
# of differing bits is the distance.
#
# Distances are uint32 and everything is modulo 2³²: a distance that fits is exact whatever the sums on the
# way to it, in any order, for vectors of any width.
#
# The vector code is written out for the width of the machine (:mod:`.simd`); without it the functions named
# ``…_plainly`` give the same numbers.


#: Rows of a register block.
BLOCK = 4
#: int16 features, or 64-bit words of planes, are padded to whole vectors of 64 bytes.
GRID_PAD, WORD_PAD = 32, 8
#: Features of a grid that are worked on before the next rows: the rows of two tiles stay in the second cache.
_FEATURES_AT_ONCE = 2048
#: What no neighbor has: the distance of padding, and of a row to itself.
MASKED = np.uint32(0xFFFFFFFF)

_I16, _I32, _I64 = ir.IntType(16), ir.IntType(32), ir.IntType(64)


def _constant(vector, value):
    return ir.Constant(vector, [value] * vector.count)


def _emit_minimum(builder, n_bytes):
    """Make the step acc + Σ of pairs of min(a, b) over vectors of int16."""
    values, sums = ir.VectorType(_I16, n_bytes // 2), ir.VectorType(_I32, n_bytes // 4)
    # A multiply-add of neighboring int16, here by 1.
    name = {64: "llvm.x86.avx512.pmaddw.d.512", 32: "llvm.x86.avx2.pmadd.wd", 16: "llvm.x86.sse2.pmadd.wd"}
    on_x86 = builder.module.triple.startswith(("x86", "i386", "i686"))
    even = ir.Constant(ir.VectorType(_I32, sums.count), list(range(0, values.count, 2)))
    odd = ir.Constant(ir.VectorType(_I32, sums.count), list(range(1, values.count, 2)))

    def step(a, b, total):
        least = builder.select(builder.icmp_signed("<", a, b), a, b)
        if on_x86:
            function = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(sums, [values, values]), name[n_bytes]
            )
            return builder.add(total, builder.call(function, [least, _constant(values, 1)]))
        undefined = ir.Constant(values, ir.Undefined)
        for half in (even, odd):
            chosen = builder.shuffle_vector(least, undefined, half)
            total = builder.add(total, builder.sext(chosen, sums))
        return total

    return values, sums, step


def _emit_differing_bits(builder, n_bytes):
    """Make the step acc + number of differing bits over vectors of 64-bit words."""
    words = ir.VectorType(_I64, n_bytes // 8)
    name = f"llvm.ctpop.v{words.count}i64"

    def step(a, b, total):
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(words, [words]), name)
        return builder.add(total, builder.call(function, [builder.xor(a, b)]))

    return words, words, step


def _pairs_of_rows(emit_step):
    """Make an intrinsic that adds weight·Σ step(a_i, b_j) of 4 × 4 pairs of rows to S and its mirror."""

    @intrinsic
    def add_pairs(typing_context, A, i, B, j, first, n_items, weight, S, mirror, p, q):
        index = types.int64
        signature = types.void(A, index, B, index, index, index, types.int32, S, mirror, index, index)

        def emit(context, builder, signature, arguments):
            builder.function.attributes.add("noinline")
            n_bytes = target_vector_bytes()
            values, sums, step = emit_step(builder, n_bytes)
            made = [
                context.make_array(kind)(context, builder, value) if isinstance(kind, types.Array) else value
                for kind, value in zip(signature.args, arguments, strict=True)
            ]
            A, i, B, j, first, n_items, weight, S, mirror, p, q = made
            # 16 sums and 5 rows at work need 32 registers; with 16 registers, half a block after the other.
            height = BLOCK if n_bytes == 64 else BLOCK // 2
            n_steps = builder.sdiv(n_items, _I64(values.count))
            rows_of_b = [row_pointer(builder, B, builder.add(j, _I64(c)), first) for c in range(BLOCK)]
            for top in range(0, BLOCK, height):
                rows_of_a = [
                    row_pointer(builder, A, builder.add(i, _I64(top + r)), first) for r in range(height)
                ]
                totals = [
                    cgutils.alloca_once_value(builder, _constant(sums, 0)) for _ in range(height * BLOCK)
                ]
                for total in totals:
                    builder.store(_constant(sums, 0), total)
                with cgutils.for_range(builder, n_steps) as loop:
                    at = builder.mul(loop.index, _I64(values.count))
                    of_a = [load(builder, pointer, values, at) for pointer in rows_of_a]
                    for c in range(BLOCK):
                        of_b = load(builder, rows_of_b[c], values, at)
                        for r in range(height):
                            total = totals[r * BLOCK + c]
                            builder.store(step(of_a[r], of_b, builder.load(total)), total)
                # Counts of bits fit the lower half of their words, whose upper half is 0.
                lanes = ir.VectorType(_I32, n_bytes // 4)
                found = joint_sums(builder, [builder.bitcast(builder.load(t), lanes) for t in totals])
                _add_to_tile(builder, found, weight, height, S, builder.add(p, _I64(top)), q, mirror)
            return context.get_dummy_value()

        return signature, emit

    return add_pairs


def _add_to_tile(builder, found, weight, height, S, p, q, mirror):
    """Add weight·found, height × 4 sums row by row, to S[p:, q:] and, mirrored, to mirror[q:, p:]."""
    four = ir.VectorType(_I32, BLOCK)
    n = height * BLOCK
    found = builder.mul(found, splat(builder, weight, found.type))

    def add(target, row, column, lanes):
        part = builder.shuffle_vector(
            found, found, ir.Constant(ir.VectorType(_I32, len(lanes)), [_I32(lane) for lane in lanes])
        )
        pointer = row_pointer(builder, target, row, column)
        kind = ir.VectorType(_I32, len(lanes))
        store(builder, builder.add(load(builder, pointer, kind), part), pointer)

    for r in range(height):
        add(S, builder.add(p, _I64(r)), q, range(r * four.count, (r + 1) * four.count))
    for c in range(BLOCK):
        add(mirror, builder.add(q, _I64(c)), p, range(c, n, BLOCK))


_minimum_sums_intrinsic = _pairs_of_rows(_emit_minimum)
_differing_bits_intrinsic = _pairs_of_rows(_emit_differing_bits)


@kernel
def _minimum_sums_plainly(A, i, B, j, first, n_items, weight, S, mirror, p, q):
    for r in range(BLOCK):
        a = A[i + r, first : first + n_items]
        for c in range(BLOCK):
            b = B[j + c, first : first + n_items]
            # As wide as Numba's sums, also where NumPy adds (NUMBA_DISABLE_JIT).
            total = np.int64(0)
            for k in range(a.shape[0]):
                total += a[k] if a[k] < b[k] else b[k]
            S[p + r, q + c] += weight * total
            mirror[q + c, p + r] += weight * total


@kernel
def _differing_bits_plainly(A, i, B, j, first, n_items, weight, S, mirror, p, q):
    for r in range(BLOCK):
        for c in range(BLOCK):
            total = 0
            for k in range(first, first + n_items):
                total += count_bits(A[i + r, k] ^ B[j + c, k])
            S[p + r, q + c] += weight * total
            mirror[q + c, p + r] += weight * total


if target_vector_bytes() == 0:
    _add_minimum_sums, _add_differing_bits = _minimum_sums_plainly, _differing_bits_plainly
else:

    @kernel
    def _add_minimum_sums(A, i, B, j, first, n_items, weight, S, mirror, p, q):
        _minimum_sums_intrinsic(A, i, B, j, first, n_items, weight, S, mirror, p, q)

    @kernel
    def _add_differing_bits(A, i, B, j, first, n_items, weight, S, mirror, p, q):
        _differing_bits_intrinsic(A, i, B, j, first, n_items, weight, S, mirror, p, q)


@kernel
def add_tile(G, i, H, j, P, Q, n_single, unit, n_i, n_j, diagonal, S, mirror):
    """Add what n_i rows from i of (G, P) and n_j from j of (H, Q) differ by, less the sums of the rows.

    Parameters
    ----------
    G, H : (·, n_grid) int16
        Rows on the grid.
    P, Q : (·, n_words) uint64
        The same rows' bit planes: ``n_single`` words whose bits count ``unit`` each, then words whose bits
        count twice that.
    diagonal : bool
        Both are the same rows: blocks below the diagonal are left to the mirror.
    S, mirror : (64, 64) int32
        The tile and its transpose.
    """
    for k in range(0, G.shape[1], _FEATURES_AT_ONCE):
        n = min(_FEATURES_AT_ONCE, G.shape[1] - k)
        for p in range(0, n_i, BLOCK):
            for q in range(p if diagonal else 0, n_j, BLOCK):
                _add_minimum_sums(G, i + p, H, j + q, k, n, np.int32(-2), S, mirror, p, q)
    for p in range(0, n_i, BLOCK):
        for q in range(p if diagonal else 0, n_j, BLOCK):
            if n_single > 0:
                _add_differing_bits(P, i + p, Q, j + q, 0, n_single, np.int32(unit), S, mirror, p, q)
            if P.shape[1] > n_single:
                n = P.shape[1] - n_single
                _add_differing_bits(P, i + p, Q, j + q, n_single, n, np.int32(2 * unit), S, mirror, p, q)


@kernel
def _write_row(own, sums, S, add, out):
    wide_vectors()
    if add:
        for u in range(out.shape[0]):
            out[u] += np.uint32(own + sums[u] + np.uint32(S[u]))
    else:
        for u in range(out.shape[0]):
            out[u] = np.uint32(own + sums[u] + np.uint32(S[u]))


@kernel
def _write_tile(S, mirror, diagonal, n_i, n_j, i_sums, i, j_sums, j, add, D, di, dj):
    for p in range(n_i):
        # On the diagonal, what is left of a row's block was summed in its mirror.
        split = p // BLOCK * BLOCK if diagonal else 0
        own = i_sums[i + p]
        if split > 0:
            _write_row(own, j_sums[j : j + split], mirror[p, :split], add, D[di + p, dj : dj + split])
        out = D[di + p, dj + split : dj + n_j]
        _write_row(own, j_sums[j + split : j + n_j], S[p, split:n_j], add, out)


@kernel
def _clear(S):
    for p in range(S.shape[0]):
        for q in range(S.shape[1]):
            S[p, q] = 0


@kernel
def fill_tiles(G, sums, P, n_single, unit, i, j, n_rows, n_columns, t0, t1, add, D, E):
    """Distances of ``n_rows`` rows from i on to ``n_columns`` rows from j on, tiles t0 … t1 of all.

    Written (or added) to D, and mirrored to E. With i = j only tiles on and above the diagonal are worked on,
    and E is D.
    """
    S = np.empty((TILE, TILE), np.int32)
    mirror = np.empty((TILE, TILE), np.int32)
    across = (n_columns + TILE - 1) // TILE
    for t in range(t0, t1):
        a, b = t // across, t % across
        if i == j and b < a:
            continue
        di, dj = a * TILE, b * TILE
        n_i, n_j = min(TILE, n_rows - di), min(TILE, n_columns - dj)
        diagonal = i == j and a == b
        _clear(S)
        _clear(mirror)
        add_tile(G, i + di, G, j + dj, P, P, n_single, unit, n_i, n_j, diagonal, S, mirror)
        _write_tile(S, mirror, diagonal, n_i, n_j, sums, i + di, sums, j + dj, add, D, di, dj)
        if not diagonal:
            _write_tile(mirror, S, False, n_j, n_i, sums, j + dj, sums, i + di, add, E, dj, di)


@kernel
def fill_rows(own, own_sums, own_planes, G, sums, P, n_single, unit, n0, n1, add, D):
    """Write (or add) distances of some rows (a multiple of 4, at most 64) to rows n0 … n1 of others."""
    S = np.empty((TILE, TILE), np.int32)
    mirror = np.empty((TILE, TILE), np.int32)
    for j in range(n0, n1, TILE):
        n_j = min(TILE, n1 - j)
        _clear(S)
        _clear(mirror)
        add_tile(own, 0, G, j, own_planes, P, n_single, unit, own.shape[0], n_j, False, S, mirror)
        _write_tile(S, mirror, False, own.shape[0], n_j, own_sums, 0, sums, j, add, D, 0, j)
