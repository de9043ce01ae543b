"""Innermost loops over floats, as vector instructions of the width that the machine has.

Computes Σ_k w_k·min(a_ik, b_jk) for 4 × 4 pairs of rows, and Σ_ij S_ij·min(x_i, x_j) feature by feature.
LLVM on its own leaves half of the registers idle or spills them, depending on the machine, and reduces
sixteen sums one by one. Here the loops are emitted as LLVM vector operations on 64, 32 or 16 bytes.

Results are bitwise identical for every width. A sum over features is split over as many lanes as 64 bytes
hold (16 float32, 8 float64): lane l adds features l, l + lanes, l + 2·lanes, … in order, and at the end lanes
are added pairwise by halves. Narrower vectors hold a part of the lanes, and the loop runs once for each part.
``HIGHRELIEF_VECTORS`` = ``auto``, ``512``, ``256``, ``128`` (bits) or ``off`` (scalar loops with the same
order of additions, vectorized by LLVM) overrides the detected width when kernels are compiled.
"""

import numpy as np
from llvmlite import ir
from numba import typeof, types
from numba.core import cgutils
from numba.extending import overload

from .intrinsics import empty, intrinsic
from .jit import float32_from_bits, float64_from_bits, kernel, summing_kernel, wide_vectors
from .packing import ROW_BLOCK
from .simd import SETTING, has_fused_multiply_add, vector_bytes

#: Bytes of all lanes that a sum is split over.
LANE_BYTES = 64
_INT64 = ir.IntType(64)
_BYTE = ir.IntType(8)


# The target machine


def _has_many_registers(triple, features):
    """Whether there are 32 vector registers, enough for a whole block; otherwise there are 16."""
    return "+avx512vl" in features or not triple.startswith(("x86", "i386", "i686"))


class _Target:
    """Vector operations on elements of one type for the target of a compilation."""

    def __init__(self, context, builder, dtype):
        triple, cpu, features = context.codegen().magic_tuple()
        # As a list: "+avx" is a prefix of "+avx512f".
        features = features.split(",")
        self.builder = builder
        self.number = ir.FloatType() if dtype == types.float32 else ir.DoubleType()
        self.itemsize = 4 if dtype == types.float32 else 8
        self.lanes = LANE_BYTES // self.itemsize
        width = vector_bytes(cpu, features)
        self.size = width // self.itemsize
        self.parts = LANE_BYTES // width
        self.vector = ir.VectorType(self.number, self.size)
        # Half a block if a whole one would spill registers.
        self.rows = ROW_BLOCK if width == LANE_BYTES or _has_many_registers(triple, features) else 2
        self._fuses = has_fused_multiply_add(triple, features)

    def zero(self):
        return ir.Constant(self.vector, None)

    def load(self, pointer, vector=None):
        vector = vector or self.vector
        value = self.builder.load(self.builder.bitcast(pointer, vector.as_pointer()))
        value.align = self.itemsize
        return value

    def store(self, value, pointer):
        stored = self.builder.store(value, self.builder.bitcast(pointer, value.type.as_pointer()))
        stored.align = self.itemsize

    def splat(self, number):
        """Broadcast a number to all lanes."""
        empty = ir.Constant(self.vector, ir.Undefined)
        first = self.builder.insert_element(empty, number, ir.Constant(ir.IntType(32), 0))
        return self.shuffle(first, empty, [0] * self.size)

    def shuffle(self, a, b, places):
        """Select elements of the concatenation (a, b) by index."""
        mask = ir.Constant(ir.VectorType(ir.IntType(32), len(places)), list(places))
        return self.builder.shuffle_vector(a, b, mask)

    def minimum(self, a, b):
        return self.builder.select(self.builder.fcmp_ordered("<", a, b), a, b)

    def multiply_add(self, a, b, c):
        """Return a·b + c, rounded once if the machine can."""
        if not self._fuses:
            return self.builder.fadd(self.builder.fmul(a, b), c)
        suffix = "f32" if self.itemsize == 4 else "f64"
        name = (
            f"llvm.fma.v{a.type.count}{suffix}" if isinstance(a.type, ir.VectorType) else f"llvm.fma.{suffix}"
        )
        signature = ir.FunctionType(a.type, [a.type] * 3)
        function = cgutils.get_or_insert_function(self.builder.module, signature, name)
        return self.builder.call(function, [a, b, c])

    def sums(self, vectors):
        """Return the sums of the elements of each of ``size`` vectors in one vector.

        All at once: two vectors are combined into one with, for each, the first half plus the second.
        """
        half = len(vectors) // 2
        if half == 0:
            return vectors[0]
        first, second = [], []
        for start in range(0, self.size, 2 * half):
            for places, offset in ((first, start), (second, start + half)):
                group = range(offset, offset + half)
                places += [*group, *(self.size + place for place in group)]
        return self.sums(
            [
                self.builder.fadd(self.shuffle(a, b, first), self.shuffle(a, b, second))
                for a, b in zip(vectors[:half], vectors[half:], strict=True)
            ]
        )


class _Rows:
    """Rows of a two-dimensional array with contiguous elements in each row."""

    def __init__(self, context, builder, array_type, value):
        self._builder = builder
        array = context.make_array(array_type)(context, builder, value)
        self._itemsize = array.itemsize
        self._data = builder.bitcast(array.data, _BYTE.as_pointer())
        self._stride = cgutils.unpack_tuple(builder, array.strides, 2)[0]
        self._pointer = array.data.type

    def at(self, row, column, *, below=0, right=0):
        """Return a pointer to the element ``below`` and to the ``right`` of a position."""
        builder = self._builder
        row, column = builder.add(row, _INT64(below)), builder.add(column, _INT64(right))
        offset = builder.add(builder.mul(row, self._stride), builder.mul(column, self._itemsize))
        return builder.bitcast(builder.gep(self._data, [offset]), self._pointer)


# Sums over features for pairs of rows


def _emit_pair_sums(context, builder, signature, arguments, term):
    """Add Σ_k term(a_ik, b_jk), k0 ≤ k < k1, for 4 × 4 pairs of rows to T[p:p+4, q:q+4]."""
    A, B, T = (_Rows(context, builder, signature.args[n], arguments[n]) for n in (0, 2, 7))
    i, j, k0, k1, p, q = (arguments[n] for n in (1, 3, 4, 5, 8, 9))
    target = _Target(context, builder, signature.args[0].dtype)
    weights = _weights_from(context, target, signature.args[6], arguments[6], k0)
    steps = builder.sdiv(builder.sub(k1, k0), _INT64(target.lanes))
    for top in range(0, ROW_BLOCK, target.rows):
        a = [A.at(i, k0, below=top + row) for row in range(target.rows)]
        b = [B.at(j, k0, below=row) for row in range(ROW_BLOCK)]
        parts = [_lane_sums(target, a, b, steps, part, weights, term) for part in range(target.parts)]
        while len(parts) > 1:
            half = len(parts) // 2
            parts = [
                [builder.fadd(x, y) for x, y in zip(parts[n], parts[n + half], strict=True)]
                for n in range(half)
            ]
        pairs = parts[0]
        reduced = [target.sums(pairs[n : n + target.size]) for n in range(0, len(pairs), target.size)]
        at_once = min(target.size, ROW_BLOCK)
        for n in range(0, len(pairs), at_once):
            first = n % target.size
            found = reduced[n // target.size]
            found = target.shuffle(found, found, range(first, first + at_once))
            place = T.at(p, q, below=top + n // ROW_BLOCK, right=n % ROW_BLOCK)
            doubles = ir.VectorType(ir.DoubleType(), at_once)
            if target.itemsize == 4:
                found = builder.fpext(found, doubles)
            target.store(builder.fadd(target.load(place, doubles), found), place)
    return context.get_dummy_value()


def _weights_from(context, target, kind, value, k0):
    """Return a function of the offset from k0 that loads feature weights, or one constant for all."""
    if not isinstance(kind, types.Array):
        same = target.splat(value)
        return lambda offset: same
    data = context.make_array(kind)(context, target.builder, value).data
    first = target.builder.gep(data, [k0])
    return lambda offset: target.load(target.builder.gep(first, [offset]))


def _lane_sums(target, a, b, steps, part, weights, term):
    """Sum one part of the lanes over the steps; return one vector per pair of rows."""
    builder = target.builder
    totals = [cgutils.alloca_once(builder, target.vector) for _ in range(len(a) * len(b))]
    for total in totals:
        builder.store(target.zero(), total)
    with cgutils.for_range(builder, steps) as loop:
        offset = builder.add(builder.mul(loop.index, _INT64(target.lanes)), _INT64(part * target.size))
        rows = [target.load(builder.gep(row, [offset])) for row in a]
        weight = weights(offset)
        for column, pointer in enumerate(b):
            other = target.load(builder.gep(pointer, [offset]))
            for row, value in enumerate(rows):
                total = totals[row * len(b) + column]
                builder.store(term(target, value, other, weight, builder.load(total)), total)
    return [builder.load(total) for total in totals]


def _add_minimum(target, a, b, weight, total):
    # Without weights, multiply by one: on AMD's Zen 4, minima and additions compete for the same units while
    # multiply-adds do not, which is 1.6 times as fast. Elsewhere it costs nothing; the sum is the same.
    return target.multiply_add(target.minimum(a, b), weight, total)


def _pair_sums_signature(A, B, weight, T):
    place = types.intp
    weight = weight if isinstance(weight, types.Array) else A.dtype
    return types.void(A, place, B, place, place, place, weight, T, place, place)


@intrinsic
def _minimum_sums(typing_context, A, i, B, j, k0, k1, one, T, p, q):
    def emit(context, builder, signature, arguments):
        return _emit_pair_sums(context, builder, signature, arguments, _add_minimum)

    return _pair_sums_signature(A, B, one, T), emit


@intrinsic
def _weighted_minimum_sums(typing_context, A, i, B, j, k0, k1, weights, T, p, q):
    def emit(context, builder, signature, arguments):
        return _emit_pair_sums(context, builder, signature, arguments, _add_minimum)

    return _pair_sums_signature(A, B, weights, T), emit


# Sums over pairs of rows for each feature


@intrinsic
def _minimum_products(typing_context, X, i, j, k0, k1, one, S, p, q, out):
    def emit(context, builder, signature, arguments):
        X, S = (_Rows(context, builder, signature.args[n], arguments[n]) for n in (0, 6))
        i, j, k0, k1, p, q = (arguments[n] for n in (1, 2, 3, 4, 7, 8))
        out = context.make_array(signature.args[9])(context, builder, arguments[9]).data
        target = _Target(context, builder, signature.args[0].dtype)
        one = target.splat(arguments[5])
        steps = builder.sdiv(builder.sub(k1, k0), _INT64(target.size))
        for top in range(0, ROW_BLOCK, target.rows):
            _emit_products(target, X, S, (i, j, k0, p, q), top, steps, one, out)
        return context.get_dummy_value()

    place = types.intp
    return types.void(X, place, place, place, place, X.dtype, S, place, place, out), emit


def _emit_products(target, X, S, places, top, steps, one, out):
    builder = target.builder
    i, j, k0, p, q = places
    rows = range(top, top + target.rows)
    a = [X.at(i, k0, below=row) for row in rows]
    b = [X.at(j, k0, below=column) for column in range(ROW_BLOCK)]
    factors = [
        [target.splat(builder.load(S.at(p, q, below=row, right=column))) for column in range(ROW_BLOCK)]
        for row in rows
    ]
    with cgutils.for_range(builder, steps) as loop:
        offset = builder.mul(loop.index, _INT64(target.size))
        out_pointer = builder.gep(out, [offset])
        left = [target.load(builder.gep(row, [offset])) for row in a]
        right = [target.load(builder.gep(row, [offset])) for row in b]
        total = target.load(out_pointer)
        # Two rows have independent chains of additions that overlap. The running total is updated once for
        # both, which saves roundings. The multiplication by one balances the load of the execution units.
        for row in range(0, target.rows, 2):
            first, second = (_chain(target, factors[r], left[r], right) for r in (row, row + 1))
            total = builder.fadd(total, target.multiply_add(first, one, second))
        target.store(total, out_pointer)


def _chain(target, factors, value, others):
    """Return Σ factor·min(value, other), summed in order."""
    total = None
    for factor, other in zip(factors, others, strict=True):
        least = target.minimum(value, other)
        total = target.multiply_add(factor, least, total) if total else target.builder.fmul(factor, least)
    return total


@intrinsic
def prefetch_rows(typing_context, X, i, k0, k1, part):
    """Prefetch the ``part``-th sixteenth of features k0 … k1 of a block of rows.

    Hardware prefetchers do not predict the next block of rows: 8 % faster.
    """

    def emit(context, builder, signature, arguments):
        X = _Rows(context, builder, signature.args[0], arguments[0])
        i, k0, k1, part = arguments[1:]
        itemsize = 4 if signature.args[0].dtype == types.float32 else 8
        line = _INT64(LANE_BYTES // itemsize)
        lines = builder.sdiv(builder.sub(k1, k0), line)
        first, end = (
            builder.sdiv(builder.mul(lines, number), _INT64(16))
            for number in (part, builder.add(part, _INT64(1)))
        )
        pointer = _BYTE.as_pointer()
        flag = ir.IntType(32)
        signature = ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag])
        function = builder.module.declare_intrinsic("llvm.prefetch", [pointer], signature)
        rows = [X.at(i, k0, below=row) for row in range(ROW_BLOCK)]
        with cgutils.for_range(builder, builder.sub(end, first)) as loop:
            offset = builder.mul(builder.add(first, loop.index), line)
            for row in rows:
                place = builder.bitcast(builder.gep(row, [offset]), pointer)
                builder.call(function, [place, flag(0), flag(3), flag(1)])
        return context.get_dummy_value()

    place = types.intp
    return types.void(X, place, place, place, place), emit


# Fallbacks for HIGHRELIEF_VECTORS=off, vectorized by LLVM


@intrinsic
def lanes_of(typing_context, X):
    """Return the number of lanes that sums over the elements of X are split over, a constant for LLVM."""

    def emit(context, builder, signature, arguments):
        return _INT64(_Target(context, builder, signature.args[0].dtype).lanes)

    return types.intp(X), emit


@intrinsic
def _multiply_add(typing_context, a, b, c):
    """Return a·b + c, rounded once if the machine can."""

    def emit(context, builder, signature, arguments):
        return _Target(context, builder, signature.return_type).multiply_add(*arguments)

    return a(a, a, a), emit


@kernel
def _plain_minimum_sums(A, i, B, j, k0, k1, one, T, p, q):
    wide_vectors()
    # Unsigned: with signed indices, Numba's wraparound of negative ones would prevent vectorization.
    lanes = np.uint64(lanes_of(A))
    sums = empty((ROW_BLOCK, lanes), A.dtype)
    s0, s1, s2, s3 = sums[0], sums[1], sums[2], sums[3]
    a0, a1, a2, a3 = A[i, k0:k1], A[i + 1, k0:k1], A[i + 2, k0:k1], A[i + 3, k0:k1]
    for c in range(ROW_BLOCK):
        b = B[j + c, k0:k1]
        sums[:] = 0
        for step in range(np.uint64(k1 - k0) // lanes):
            for lane in range(lanes):
                k = step * lanes + lane
                v = b[k]
                s0[lane] += a0[k] if a0[k] < v else v
                s1[lane] += a1[k] if a1[k] < v else v
                s2[lane] += a2[k] if a2[k] < v else v
                s3[lane] += a3[k] if a3[k] < v else v
        half = lanes // np.uint64(2)
        while half > 0:
            for r in range(ROW_BLOCK):
                for lane in range(half):
                    sums[r, lane] += sums[r, half + lane]
            half //= np.uint64(2)
        for r in range(ROW_BLOCK):
            T[p + r, q + c] += sums[r, 0]


@kernel
def _plain_weighted_minimum_sums(A, i, B, j, k0, k1, weights, T, p, q):
    wide_vectors()
    lanes = np.uint64(lanes_of(A))
    sums = empty(lanes, A.dtype)
    w = weights[k0:k1]
    for r in range(ROW_BLOCK):
        a = A[i + r, k0:k1]
        for c in range(ROW_BLOCK):
            b = B[j + c, k0:k1]
            sums[:] = 0
            for step in range(np.uint64(k1 - k0) // lanes):
                for lane in range(lanes):
                    k = step * lanes + lane
                    sums[lane] = _multiply_add(a[k] if a[k] < b[k] else b[k], w[k], sums[lane])
            half = lanes // np.uint64(2)
            while half > 0:
                for lane in range(half):
                    sums[lane] += sums[half + lane]
                half //= np.uint64(2)
            T[p + r, q + c] += sums[0]


@kernel
def _plain_minimum_products(X, i, j, k0, k1, one, S, p, q, out):
    wide_vectors()
    b0, b1 = X[j, k0:k1], X[j + 1, k0:k1]
    b2, b3 = X[j + 2, k0:k1], X[j + 3, k0:k1]
    for r in range(0, ROW_BLOCK, 2):
        a0, a1 = X[i + r, k0:k1], X[i + r + 1, k0:k1]
        c00, c01, c02, c03 = S[p + r, q], S[p + r, q + 1], S[p + r, q + 2], S[p + r, q + 3]
        c10, c11, c12, c13 = S[p + r + 1, q], S[p + r + 1, q + 1], S[p + r + 1, q + 2], S[p + r + 1, q + 3]
        for k in range(a0.shape[0]):
            u, v = a0[k], a1[k]
            w0, w1, w2, w3 = b0[k], b1[k], b2[k], b3[k]
            first = c00 * (u if u < w0 else w0)
            second = c10 * (v if v < w0 else w0)
            first = _multiply_add(c01, u if u < w1 else w1, first)
            second = _multiply_add(c11, v if v < w1 else w1, second)
            first = _multiply_add(c02, u if u < w2 else w2, first)
            second = _multiply_add(c12, v if v < w2 else w2, second)
            first = _multiply_add(c03, u if u < w3 else w3, first)
            second = _multiply_add(c13, v if v < w3 else w3, second)
            out[k] += first + second


# Entry points for kernels, which must call `wide_vectors`. ``one`` is a 1 that the compiler cannot fold.

_plain = SETTING == "off"
#: add_minimum_sums(A, i, B, j, k0, k1, one, T, p, q) adds Σ_k min(a_ik, b_jk), k0 ≤ k < k1, for 4 × 4 pairs
#: of rows to T[p:p+4, q:q+4]; k1 − k0 is a multiple of the lanes.
add_minimum_sums = _plain_minimum_sums if _plain else _minimum_sums
#: add_weighted_minimum_sums(A, i, B, j, k0, k1, w, T, p, q) adds Σ_k w_k·min(a_ik, b_jk) in the same way.
add_weighted_minimum_sums = _plain_weighted_minimum_sums if _plain else _weighted_minimum_sums
#: add_minimum_products(X, i, j, k0, k1, one, S, p, q, out) adds Σ S[p+a, q+b]·min(x_{i+a}, x_{j+b}) over
#: 4 × 4 pairs of rows to ``out``, feature by feature.
add_minimum_products = _plain_minimum_products if _plain else _minimum_products


# Sums over the features of one pair of rows, vectorized by LLVM.


@summing_kernel
def dot(a, b):
    """Return Σ a·b."""
    wide_vectors()
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@summing_kernel
def squared_distance(a, b):
    """Return Σ (a − b)²."""
    wide_vectors()
    total = 0.0
    for j in range(a.shape[0]):
        t = a[j] - b[j]
        total += t * t
    return total


# exp(x) for x ≤ 0 that vectorizes: a libm call costs as much as 160 features of a distance.

# Below these, exactly 0: products with tiny numbers would be denormal and ten times as slow.
_LOWEST32 = np.float32(-60.0)
_LOWEST64 = -600.0
_LOG2_E = 1.4426950408889634


def decay(x):
    """Return exp(x) for x ≤ 0 in the precision of x; 0 below −60 (float32) and −600 (float64).

    x = k·ln 2 + r with integer k and |r| ≤ ln(2)/2; exp(r) is a Taylor series accurate to the last digit;
    ln 2 is split in two so that k·ln 2 is subtracted without rounding.
    """
    return _decay(typeof(x))(x)


@overload(decay, jit_options={"fastmath": {"contract"}, "error_model": "numpy"})
def _decay(x):
    if x == types.float32:

        def decay32(x):
            y = x if x > _LOWEST32 else _LOWEST32
            k = np.floor(y * np.float32(_LOG2_E) + np.float32(0.5))
            r = y - k * np.float32(0.693359375)
            r = r - k * np.float32(-2.12194440e-4)
            p = np.float32(1 / 5040)
            p = p * r + np.float32(1 / 720)
            p = p * r + np.float32(1 / 120)
            p = p * r + np.float32(1 / 24)
            p = p * r + np.float32(1 / 6)
            p = p * r + np.float32(0.5)
            p = p * r + np.float32(1.0)
            p = p * r + np.float32(1.0)
            p = p * float32_from_bits(np.int32((np.int32(k) + np.int32(127)) << np.int32(23)))
            return p if x > _LOWEST32 else np.float32(0.0)

        return decay32

    def decay64(x):
        y = x if x > _LOWEST64 else _LOWEST64
        k = np.floor(y * _LOG2_E + 0.5)
        r = y - k * 6.93147180369123816490e-01
        r = r - k * 1.90821492927058770002e-10
        p = 1 / 6227020800
        p = p * r + 1 / 479001600
        p = p * r + 1 / 39916800
        p = p * r + 1 / 3628800
        p = p * r + 1 / 362880
        p = p * r + 1 / 40320
        p = p * r + 1 / 5040
        p = p * r + 1 / 720
        p = p * r + 1 / 120
        p = p * r + 1 / 24
        p = p * r + 1 / 6
        p = p * r + 0.5
        p = p * r + 1.0
        p = p * r + 1.0
        p = p * float64_from_bits((np.int64(k) + np.int64(1023)) << np.int64(52))
        return p if x > _LOWEST64 else 0.0

    return decay64
