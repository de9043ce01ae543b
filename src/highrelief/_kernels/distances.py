"""Tiles of pairwise distances: Σ|a − b| of float rows, Σ w·|a − b|, and exact distances of quantized rows.

Manhattan tiles use |a − b| = a + b − 2·min(a, b): the sums of a and b belong to the rows, so that a pair
costs one minimum and one addition per feature. Row sums are computed with the same additions in the same
order, so that two equal rows are at distance exactly 0.

A sum runs in the precision of the data over the lanes of :mod:`.vectors`, at most
:data:`ADDITIONS_PER_LANE` additions in each, and is then added in float64. :func:`relative_error` bounds the
rounding error.
"""

import math

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from .intrinsics import empty, intrinsic, minimum, zeros
from .jit import kernel, wide_vectors
from .packing import ROW_BLOCK
from .simd import count_bits, joint_sums, load, row_pointer, splat, store, target_vector_bytes
from .vectors import LANE_BYTES, add_minimum_sums, add_weighted_minimum_sums, lanes_of, prefetch_rows

#: Rows and columns of a tile.
TILE = 64
#: Additions per lane in the precision of the data before the sum is added in float64.
ADDITIONS_PER_LANE = 64


def relative_error(dtype):
    """Bound the error of a block's sum relative to the sum: roundings per term × unit roundoff.

    A term is added in its lane, then the lanes are added pairwise.
    """
    dtype = np.dtype(dtype)
    halvings = math.log2(LANE_BYTES // dtype.itemsize)
    return (ADDITIONS_PER_LANE + halvings + 4) * np.finfo(dtype).eps / 2


def n_tiles(n_rows):
    """Return the number of tiles that cover every pair of rows once."""
    blocks = -(-n_rows // TILE)
    return blocks * (blocks + 1) // 2


@kernel
def tile_corner(t):
    """Return the corner (i, j), i ≤ j, of the t-th tile: column by column, each down to the diagonal."""
    j = np.int64((math.sqrt(8.0 * t + 1.0) - 1.0) / 2.0)
    # The rounded root may be one too large or too small.
    while j * (j + 1) // 2 > t:
        j -= 1
    while (j + 1) * (j + 2) // 2 <= t:
        j += 1
    return (t - j * (j + 1) // 2) * TILE, j * TILE


@kernel
def _add_minimum_block(A, i0, i1, B, j0, j1, k0, k1, unit, upper_only, T):
    """Add Σ_k min(a_ik, b_jk), k0 ≤ k < k1, to T[i − i0, j − j0].

    ``unit`` contains a 1 that the compiler cannot fold; see :mod:`.vectors`.
    """
    wide_vectors()
    one = unit[0]
    for i in range(i0, i1, ROW_BLOCK):
        start = j0 + (i - i0) if upper_only else j0
        for j in range(start, j1, ROW_BLOCK):
            if i + 2 * ROW_BLOCK <= A.shape[0]:
                prefetch_rows(A, i + ROW_BLOCK, k0, k1, (j - j0) // ROW_BLOCK)
            add_minimum_sums(A, i, B, j, k0, k1, one, T, i - i0, j - j0)


@kernel
def row_sums(X, out):
    """Sum every row with the additions of the tiles, so that equal rows cancel exactly."""
    T = zeros((ROW_BLOCK, ROW_BLOCK), np.float64)
    unit = np.ones(1, X.dtype)
    features = ADDITIONS_PER_LANE * lanes_of(X)
    for i in range(0, X.shape[0], ROW_BLOCK):
        T[:] = 0.0
        for k0 in range(0, X.shape[1], features):
            k1 = minimum(k0 + features, X.shape[1])
            _add_minimum_block(X, i, i + ROW_BLOCK, X, i, i + ROW_BLOCK, k0, k1, unit, False, T)
        for r in range(ROW_BLOCK):
            out[i + r] = T[r, r]


@kernel
def minima_to_distances(row, own_sum, sums):
    """Convert Σ min(a, b), for one a and many b, to Σ |a − b| in place."""
    wide_vectors()
    for q in range(sums.shape[0]):
        # Rounding can leave −ε for rows that are nearly equal.
        d = (own_sum + sums[q]) - 2.0 * row[q]
        row[q] = d if d > 0.0 else 0.0


@kernel
def distance_block(A, a_sums, i0, i1, B, b_sums, j0, j1, upper_only, T):
    """Fill T[:i1−i0, :j1−j0] with the distances of rows i0 … i1 of A to rows j0 … j1 of B.

    The ranges are whole blocks of rows. ``upper_only`` skips blocks below the diagonal of a square tile.
    """
    unit = np.ones(1, A.dtype)
    features = ADDITIONS_PER_LANE * lanes_of(A)
    for p in range(i1 - i0):
        T[p, : j1 - j0] = 0.0
    for k0 in range(0, A.shape[1], features):
        k1 = minimum(k0 + features, A.shape[1])
        _add_minimum_block(A, i0, i1, B, j0, j1, k0, k1, unit, upper_only, T)
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


# Weighted distances Σ_k w_k·|a_k − b_k|, without a scaled copy of the rows.
#
# The weight replaces the 1 in the multiply-add of a minimum. Sums run over the first len(w) columns, which
# are whole vectors, in blocks of the same size as above. Columns may therefore also arrive block by block, if
# all blocks but the last are multiples of :func:`columns_per_sum`.


def columns_per_sum(itemsize):
    """Return the number of columns that are summed in the precision of the data before float64."""
    return ADDITIONS_PER_LANE * (LANE_BYTES // itemsize)


@kernel
def _add_weighted_minimum_block(A, i0, i1, B, j0, j1, k0, k1, w, upper_only, T):
    wide_vectors()
    for i in range(i0, i1, ROW_BLOCK):
        start = j0 + (i - i0) if upper_only else j0
        for j in range(start, j1, ROW_BLOCK):
            if i + 2 * ROW_BLOCK <= A.shape[0]:
                prefetch_rows(A, i + ROW_BLOCK, k0, k1, (j - j0) // ROW_BLOCK)
            add_weighted_minimum_sums(A, i, B, j, k0, k1, w, T, i - i0, j - j0)


@kernel
def _add_weighted_minima(A, i0, i1, B, j0, j1, w, upper_only, T):
    """Add Σ_k w_k·min(a_ik, b_jk) to T[i − i0, j − j0]."""
    features = ADDITIONS_PER_LANE * lanes_of(A)
    for k0 in range(0, w.shape[0], features):
        _add_weighted_minimum_block(
            A, i0, i1, B, j0, j1, k0, minimum(k0 + features, w.shape[0]), w, upper_only, T
        )


@kernel
def add_row_sums(X, w, p0, p1, sums):
    """Add the weighted sums of rows p0 … p1 with the additions of the tiles: equal rows cancel exactly."""
    T = zeros((ROW_BLOCK, ROW_BLOCK), np.float64)
    for i in range(p0, p1, ROW_BLOCK):
        for r in range(ROW_BLOCK):
            T[r, r] = sums[i + r]
        _add_weighted_minima(X, i, i + ROW_BLOCK, X, i, i + ROW_BLOCK, w, False, T)
        for r in range(ROW_BLOCK):
            sums[i + r] = T[r, r]


@kernel
def add_tile_minima(X, w, t0, t1, M):
    """Add weighted sums of minima for the pairs of tiles t0 … t1; on the diagonal only the upper half."""
    n = X.shape[0]
    for t in range(t0, t1):
        i0, j0 = tile_corner(t)
        _add_weighted_minima(X, i0, minimum(i0 + TILE, n), X, j0, minimum(j0 + TILE, n), w, i0 == j0, M[t])


@kernel
def finish_tile(sums, i0, i1, j0, j1, T):
    """Convert sums of minima to distances; a tile on the diagonal is mirrored."""
    for p in range(i1 - i0):
        minima_to_distances(T[p, : j1 - j0], sums[i0 + p], sums[j0:j1])
    if i0 == j0:
        for p in range(i1 - i0):
            for q in range(p):
                T[p, q] = T[q, p]


@kernel
def weighted_tile(X, w, sums, i0, i1, j0, j1, T):
    """Fill T with the weighted distances of rows i0 … i1 to rows j0 … j1."""
    for p in range(i1 - i0):
        T[p, : j1 - j0] = 0.0
    _add_weighted_minima(X, i0, i1, X, j0, j1, w, i0 == j0, T)
    finish_tile(sums, i0, i1, j0, j1, T)


@kernel
def weighted_block(A, a_sums, i0, i1, B, b_sums, w, T):
    """Fill T with the weighted distances of rows i0 … i1 of A to all rows of B."""
    n = B.shape[0]
    for p in range(i1 - i0):
        T[p, :n] = 0.0
    _add_weighted_minima(A, i0, i1, B, 0, n, w, False, T)
    for p in range(i1 - i0):
        minima_to_distances(T[p, :n], a_sums[i0 + p], b_sums)


# Exact distances between quantized rows.
#
# Features are stored in one of two forms, and a table may have both:
#
# * on an *integer grid* of 2¹⁶ points, one int16 per feature: |a − b| = a + b − 2·min(a, b), so that a pair
#   costs one minimum and one multiply-add for 32 features of a 512-bit vector, twice as many as in float32;
# * as *bit planes*, for features of two or three equally spaced levels: a thermometer code whose number of
#   differing bits is the distance.
#
# Distances are uint32 and all arithmetic is modulo 2³²: a distance that fits is exact, regardless of overflow
# in partial sums, of their order and of the width of vectors.
#
# The vector code has the width of the machine (:mod:`.simd`); the functions ``_plain_…`` replace it if
# HIGHRELIEF_VECTORS is ``off``.

#: Rows of a register block.
BLOCK = 4
#: int16 features, and 64-bit words of bit planes, are padded to multiples of these: vectors of 64 bytes.
GRID_PAD, WORD_PAD = 32, 8
#: Grid features per pass over the rows: the rows of two tiles then stay in the L2 cache.
_FEATURES_AT_ONCE = 2048
#: Distance of a masked pair: padding, or a row and itself.
MASKED = np.uint32(0xFFFFFFFF)

_I16, _I32, _I64 = ir.IntType(16), ir.IntType(32), ir.IntType(64)


def _constant(vector, value):
    return ir.Constant(vector, [value] * vector.count)


def _emit_minimum(builder, n_bytes):
    """Return a step that adds pairwise sums of min(a, b) of int16 vectors, and its vector types."""
    values, sums = ir.VectorType(_I16, n_bytes // 2), ir.VectorType(_I32, n_bytes // 4)
    # Multiply-add of adjacent int16, here by 1.
    name = {64: "llvm.x86.avx512.pmaddw.d.512", 32: "llvm.x86.avx2.pmadd.wd", 16: "llvm.x86.sse2.pmadd.wd"}
    on_x86 = builder.module.triple.startswith(("x86", "i386", "i686"))
    even = ir.Constant(ir.VectorType(_I32, sums.count), list(range(0, values.count, 2)))
    odd = ir.Constant(ir.VectorType(_I32, sums.count), list(range(1, values.count, 2)))

    def step(a, b, total):
        minimum = builder.select(builder.icmp_signed("<", a, b), a, b)
        if on_x86:
            function = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(sums, [values, values]), name[n_bytes]
            )
            return builder.add(total, builder.call(function, [minimum, _constant(values, 1)]))
        undefined = ir.Constant(values, ir.Undefined)
        for half in (even, odd):
            selected = builder.shuffle_vector(minimum, undefined, half)
            total = builder.add(total, builder.sext(selected, sums))
        return total

    return values, sums, step


def _emit_differing_bits(builder, n_bytes):
    """Return a step that adds the number of differing bits of 64-bit words, and its vector types."""
    words = ir.VectorType(_I64, n_bytes // 8)
    name = f"llvm.ctpop.v{words.count}i64"

    def step(a, b, total):
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(words, [words]), name)
        return builder.add(total, builder.call(function, [builder.xor(a, b)]))

    return words, words, step


def _pair_intrinsic(emit_step):
    """Return an intrinsic that adds weight·Σ step(a_i, b_j) of 4 × 4 pairs of rows to S and its mirror."""

    @intrinsic
    def add_pairs(typing_context, A, i, B, j, first, n_items, weight, S, mirror, p, q):
        index = types.int64
        signature = types.void(A, index, B, index, index, index, types.int32, S, mirror, index, index)

        def emit(context, builder, signature, arguments):
            builder.function.attributes.add("noinline")
            n_bytes = target_vector_bytes()
            values, sums, step = emit_step(builder, n_bytes)
            unpacked = [
                context.make_array(kind)(context, builder, value) if isinstance(kind, types.Array) else value
                for kind, value in zip(signature.args, arguments, strict=True)
            ]
            A, i, B, j, first, n_items, weight, S, mirror, p, q = unpacked
            # 16 sums and 5 rows need 32 registers; with 16 registers, process half a block at a time.
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
                    a_values = [load(builder, pointer, values, at) for pointer in rows_of_a]
                    for c in range(BLOCK):
                        b_values = load(builder, rows_of_b[c], values, at)
                        for r in range(height):
                            total = totals[r * BLOCK + c]
                            builder.store(step(a_values[r], b_values, builder.load(total)), total)
                # Bit counts fit into the lower half of their words; the upper half is 0.
                lanes = ir.VectorType(_I32, n_bytes // 4)
                found = joint_sums(builder, [builder.bitcast(builder.load(t), lanes) for t in totals])
                _add_to_tile(builder, found, weight, height, S, builder.add(p, _I64(top)), q, mirror)
            return context.get_dummy_value()

        return signature, emit

    return add_pairs


def _add_to_tile(builder, found, weight, height, S, p, q, mirror):
    """Add weight·found, height × 4 sums row by row, to S[p:, q:] and, transposed, to mirror[q:, p:]."""
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


_minimum_sums_intrinsic = _pair_intrinsic(_emit_minimum)
_differing_bits_intrinsic = _pair_intrinsic(_emit_differing_bits)


@kernel
def _plain_integer_minimum_sums(A, i, B, j, first, n_items, weight, S, mirror, p, q):
    for r in range(BLOCK):
        a = A[i + r, first : first + n_items]
        for c in range(BLOCK):
            b = B[j + c, first : first + n_items]
            # 64 bits, as in compiled code, also with NUMBA_DISABLE_JIT.
            total = np.int64(0)
            for k in range(a.shape[0]):
                total += a[k] if a[k] < b[k] else b[k]
            S[p + r, q + c] += weight * total
            mirror[q + c, p + r] += weight * total


@kernel
def _plain_differing_bits(A, i, B, j, first, n_items, weight, S, mirror, p, q):
    for r in range(BLOCK):
        for c in range(BLOCK):
            total = 0
            for k in range(first, first + n_items):
                total += count_bits(A[i + r, k] ^ B[j + c, k])
            S[p + r, q + c] += weight * total
            mirror[q + c, p + r] += weight * total


if target_vector_bytes() == 0:
    _add_minimum_sums, _add_differing_bits = _plain_integer_minimum_sums, _plain_differing_bits
else:

    @kernel
    def _add_minimum_sums(A, i, B, j, first, n_items, weight, S, mirror, p, q):
        _minimum_sums_intrinsic(A, i, B, j, first, n_items, weight, S, mirror, p, q)

    @kernel
    def _add_differing_bits(A, i, B, j, first, n_items, weight, S, mirror, p, q):
        _differing_bits_intrinsic(A, i, B, j, first, n_items, weight, S, mirror, p, q)


@kernel
def add_tile(G, i, H, j, P, Q, n_single, unit, n_i, n_j, diagonal, S, mirror):
    """Add the differences of n_i rows from i of (G, P) and n_j rows from j of (H, Q), minus the row sums.

    Parameters
    ----------
    G, H : (·, n_grid) int16
        Rows on the integer grid.
    P, Q : (·, n_words) uint64
        Bit planes of the same rows: ``n_single`` words whose bits have the weight ``unit``, then words whose
        bits have twice that weight.
    diagonal : bool
        Whether both are the same rows: blocks below the diagonal are left to the mirror.
    S, mirror : (64, 64) int32
        The tile and its transpose.
    """
    for k in range(0, G.shape[1], _FEATURES_AT_ONCE):
        n = minimum(_FEATURES_AT_ONCE, G.shape[1] - k)
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
        # On the diagonal, entries left of a row's block are in the mirror.
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
    """Compute the distances of ``n_rows`` rows from i on to ``n_columns`` rows from j on, tiles t0 … t1.

    Distances are written (or added) to D and transposed to E. With i = j only tiles on and above the
    diagonal are computed, and E is D.
    """
    S = empty((TILE, TILE), np.int32)
    mirror = empty((TILE, TILE), np.int32)
    across = (n_columns + TILE - 1) // TILE
    for t in range(t0, t1):
        a, b = t // across, t % across
        if i == j and b < a:
            continue
        di, dj = a * TILE, b * TILE
        n_i, n_j = minimum(TILE, n_rows - di), minimum(TILE, n_columns - dj)
        diagonal = i == j and a == b
        _clear(S)
        _clear(mirror)
        add_tile(G, i + di, G, j + dj, P, P, n_single, unit, n_i, n_j, diagonal, S, mirror)
        _write_tile(S, mirror, diagonal, n_i, n_j, sums, i + di, sums, j + dj, add, D, di, dj)
        if not diagonal:
            _write_tile(mirror, S, False, n_j, n_i, sums, j + dj, sums, i + di, add, E, dj, di)


@kernel
def fill_rows(own, own_sums, own_planes, G, sums, P, n_single, unit, n0, n1, add, D):
    """Write (or add) the distances of some rows (a multiple of 4, at most 64) to rows n0 … n1 of others."""
    S = empty((TILE, TILE), np.int32)
    mirror = empty((TILE, TILE), np.int32)
    for j in range(n0, n1, TILE):
        n_j = minimum(TILE, n1 - j)
        _clear(S)
        _clear(mirror)
        add_tile(own, 0, G, j, own_planes, P, n_single, unit, own.shape[0], n_j, False, S, mirror)
        _write_tile(S, mirror, False, own.shape[0], n_j, own_sums, 0, sums, j, add, D, 0, j)
