"""Exact distances of candidates, and the margins E|x − miss| − E|x − hit| of k-nearest neighborhoods.

Candidates (:mod:`.candidates`) that are not sure to be among the k nearest are decided by exact distances in
float64 (:func:`add_exact`). Neighbors enter the margins by their shares (:func:`margins`).

:func:`add_group` sums differences of equal weight in the precision of the data, row after row, then adds the
sum times the weight in float64: the same additions in the same order for any width of vectors.
:func:`add_margin` weights each difference separately and adds in float64 throughout.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from .intrinsics import empty, intrinsic, maximum, minimum
from .jit import fused_kernel, kernel, summing_kernel, wide_vectors
from .simd import element_type, fused, load, row_pointer, splat, store, target_vector_bytes

_I64 = ir.IntType(64)
#: Rows whose differences are summed in the precision of the data before the sum is added in float64.
ROWS_PER_SUM = 16
#: Vectors of features per iteration.
_VECTORS_AT_ONCE = 4

_FEATURES_PER_BLOCK = 1024


@fused_kernel
def _add_differences(a, b0, b1, b2, b3, c0, c1, c2, c3, out):
    wide_vectors()
    for k in range(a.shape[0]):
        x = np.float64(a[k])
        t0, t1 = abs(x - np.float64(b0[k])), abs(x - np.float64(b1[k]))
        t2, t3 = abs(x - np.float64(b2[k])), abs(x - np.float64(b3[k]))
        out[k] += (c0 * t0 + c1 * t1) + (c2 * t2 + c3 * t3)


@kernel
def add_margin(X, n, rows, coefficients, out):
    """Add Σ_t coefficients[t]·|x_n − x_rows[t]| to ``out``.

    In float64: hits and misses nearly cancel, and one outlying sample would absorb all other terms.
    """
    count = rows.shape[0]
    for k0 in range(0, out.shape[0], _FEATURES_PER_BLOCK):
        k1 = minimum(k0 + _FEATURES_PER_BLOCK, out.shape[0])
        a, target = X[n, k0:k1], out[k0:k1]
        for t in range(0, count, 4):
            t1, t2, t3 = t + 1 < count, t + 2 < count, t + 3 < count
            # Blocks are padded to four with the row itself at weight 0.
            b0 = X[rows[t], k0:k1]
            b1 = X[rows[t + 1] if t1 else n, k0:k1]
            b2 = X[rows[t + 2] if t2 else n, k0:k1]
            b3 = X[rows[t + 3] if t3 else n, k0:k1]
            c0 = coefficients[t]
            c1 = coefficients[t + 1] if t1 else 0.0
            c2 = coefficients[t + 2] if t2 else 0.0
            c3 = coefficients[t + 3] if t3 else 0.0
            _add_differences(a, b0, b1, b2, b3, c0, c1, c2, c3, target)


def _magnitude(builder, difference):
    vector = difference.type
    kind = "f32" if isinstance(vector.element, ir.FloatType) else "f64"
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(vector, [vector]), f"llvm.fabs.v{vector.count}{kind}"
    )
    return builder.call(function, [difference])


def _square(builder, difference):
    return builder.fmul(difference, difference)


def _group_intrinsic(measure):
    """Return an intrinsic that adds coefficient·Σ_t measure(x_i − x_others[t]), in whole vectors."""

    @intrinsic
    def add_whole_vectors(typing_context, X, i, first, n_columns, others, t0, t1, coefficient, unit, out):
        """Process as many of ``n_columns`` as fill vectors; return their number.

        ``unit`` contains a 1 that the compiler cannot fold: multiplied by it, additions become fused
        multiply-adds with the same result, which on AMD's Zen 4 do not compete with subtractions.
        """
        index = types.int64
        signature = index(X, index, index, index, others, index, index, types.float64, unit, out)

        def emit(context, builder, signature, arguments):
            dtype = signature.args[0].dtype
            X = context.make_array(signature.args[0])(context, builder, arguments[0])
            others = context.make_array(signature.args[4])(context, builder, arguments[4])
            unit = context.make_array(signature.args[8])(context, builder, arguments[8])
            out = context.make_array(signature.args[9])(context, builder, arguments[9])
            i, first, n_columns, t0, t1 = (arguments[n] for n in (1, 2, 3, 5, 6))
            vector = ir.VectorType(element_type(dtype), target_vector_bytes() // (dtype.bitwidth // 8))
            wide = ir.VectorType(ir.DoubleType(), vector.count)
            weight = splat(builder, arguments[7], wide)
            one = splat(builder, builder.load(unit.data), vector)
            x = row_pointer(builder, X, i, first)
            zero = ir.Constant(vector, [0.0] * vector.count)
            done = _I64(0)
            for n_vectors in (_VECTORS_AT_ONCE, 1):
                step = n_vectors * vector.count
                n_steps = builder.sdiv(builder.sub(n_columns, done), _I64(step))
                sums = [cgutils.alloca_once_value(builder, zero) for _ in range(n_vectors)]
                with cgutils.for_range(builder, n_steps) as columns:
                    at = builder.add(done, builder.mul(columns.index, _I64(step)))
                    places = [builder.add(at, _I64(v * vector.count)) for v in range(n_vectors)]
                    own = [load(builder, x, vector, place) for place in places]
                    for total in sums:
                        builder.store(zero, total)
                    with cgutils.for_range_slice(builder, t0, t1, _I64(1), inc=True) as (t, _):
                        row = builder.load(builder.gep(others.data, [t]))
                        other = row_pointer(builder, X, row, first)
                        for value, total, place in zip(own, sums, places, strict=True):
                            difference = builder.fsub(value, load(builder, other, vector, place))
                            term = measure(builder, difference)
                            builder.store(fused(builder, term, one, builder.load(total)), total)
                    for total, place in zip(sums, places, strict=True):
                        value_sum = builder.load(total)
                        if vector.element != wide.element:
                            value_sum = builder.fpext(value_sum, wide)
                        target = builder.gep(out.data, [place])
                        value_sum = builder.fadd(load(builder, target, wide), builder.fmul(weight, value_sum))
                        store(builder, value_sum, target)
                done = builder.add(done, builder.mul(n_steps, _I64(step)))
            return done

        return signature, emit

    return add_whole_vectors


@intrinsic
def _add_groups_in_whole_vectors(
    typing_context, X, first, n_columns, owners, bounds, members, coefficients, n_groups, unit, out
):
    """Add Σ_g coefficients[g]·Σ_t |x_owners[g] − x_members[t]|, bounds[g] ≤ t < bounds[g + 1], to ``out``.

    Each block of features is processed for all groups: with few rows, their values stay in the L1 cache and
    the sums in registers. Returns the number of columns that were processed.
    """
    index = types.int64
    signature = index(X, index, index, owners, bounds, members, coefficients, index, unit, out)

    def emit(context, builder, signature, arguments):
        dtype = signature.args[0].dtype
        X, owners, bounds, members, coefficients, unit, out = (
            context.make_array(signature.args[n])(context, builder, arguments[n])
            for n in (0, 3, 4, 5, 6, 8, 9)
        )
        first, n_columns, n_groups = arguments[1], arguments[2], arguments[7]
        vector = ir.VectorType(element_type(dtype), target_vector_bytes() // (dtype.bitwidth // 8))
        wide = ir.VectorType(ir.DoubleType(), vector.count)
        one = splat(builder, builder.load(unit.data), vector)
        zero = ir.Constant(vector, [0.0] * vector.count)
        step = _VECTORS_AT_ONCE * vector.count
        n_steps = builder.sdiv(n_columns, _I64(step))
        sums = [cgutils.alloca_once_value(builder, zero) for _ in range(_VECTORS_AT_ONCE)]
        totals = [
            cgutils.alloca_once_value(builder, ir.Constant(wide, [0.0] * wide.count))
            for _ in range(_VECTORS_AT_ONCE)
        ]
        with cgutils.for_range(builder, n_steps) as columns:
            at = builder.mul(columns.index, _I64(step))
            places = [builder.add(at, _I64(v * vector.count)) for v in range(_VECTORS_AT_ONCE)]
            targets = [builder.gep(out.data, [place]) for place in places]
            for total, target in zip(totals, targets, strict=True):
                builder.store(load(builder, target, wide), total)
            with cgutils.for_range(builder, n_groups) as group:
                g = group.index
                x = row_pointer(builder, X, builder.load(builder.gep(owners.data, [g])), first)
                own = [load(builder, x, vector, place) for place in places]
                for each in sums:
                    builder.store(zero, each)
                start = builder.load(builder.gep(bounds.data, [g]))
                end = builder.load(builder.gep(bounds.data, [builder.add(g, _I64(1))]))
                with cgutils.for_range_slice(builder, start, end, _I64(1), inc=True) as (t, _):
                    row = builder.load(builder.gep(members.data, [t]))
                    other = row_pointer(builder, X, row, first)
                    for value, each, place in zip(own, sums, places, strict=True):
                        difference = _magnitude(
                            builder, builder.fsub(value, load(builder, other, vector, place))
                        )
                        builder.store(fused(builder, difference, one, builder.load(each)), each)
                weight = splat(builder, builder.load(builder.gep(coefficients.data, [g])), wide)
                for each, total in zip(sums, totals, strict=True):
                    group_sum = builder.load(each)
                    if vector.element != wide.element:
                        group_sum = builder.fpext(group_sum, wide)
                    builder.store(builder.fadd(builder.load(total), builder.fmul(weight, group_sum)), total)
            for total, target in zip(totals, targets, strict=True):
                store(builder, builder.load(total), target)
        return builder.mul(n_steps, _I64(step))

    return signature, emit


_add_magnitudes_intrinsic = _group_intrinsic(_magnitude)
_add_squares_intrinsic = _group_intrinsic(_square)

if target_vector_bytes() == 0:

    @kernel
    def _add_magnitudes(X, i, first, n_columns, others, t0, t1, coefficient, unit, out):
        return 0

    _add_squares = _add_magnitudes

    @kernel
    def _add_group_vectors(X, first, n_columns, owners, bounds, members, coefficients, n_groups, unit, out):
        return 0

else:

    @kernel
    def _add_group_vectors(X, first, n_columns, owners, bounds, members, coefficients, n_groups, unit, out):
        return _add_groups_in_whole_vectors(
            X, first, n_columns, owners, bounds, members, coefficients, n_groups, unit, out
        )

    @kernel
    def _add_magnitudes(X, i, first, n_columns, others, t0, t1, coefficient, unit, out):
        return _add_magnitudes_intrinsic(X, i, first, n_columns, others, t0, t1, coefficient, unit, out)

    @kernel
    def _add_squares(X, i, first, n_columns, others, t0, t1, coefficient, unit, out):
        return _add_squares_intrinsic(X, i, first, n_columns, others, t0, t1, coefficient, unit, out)


@kernel
def _add_remaining_columns(X, i, first, done, n_columns, others, t0, t1, coefficient, squared, out):
    """Add coefficient·Σ_t |x_i − x_others[t]|, or squares, of columns from ``done`` on to ``out``."""
    for k in range(done, n_columns):
        total = X.dtype.type(0)
        for t in range(t0, t1):
            difference = X[i, first + k] - X[others[t], first + k]
            total += difference * difference if squared else abs(difference)
        out[k] += coefficient * np.float64(total)


@kernel
def add_group(X, i, first, n_columns, others, n_others, coefficient, squared, unit, out):
    """Add coefficient·Σ_t |x_i − x_others[t]|, or squares, of columns from ``first`` on to ``out``."""
    for t0 in range(0, n_others, ROWS_PER_SUM):
        t1 = minimum(t0 + ROWS_PER_SUM, n_others)
        if squared:
            done = _add_squares(X, i, first, n_columns, others, t0, t1, coefficient, unit, out)
        else:
            done = _add_magnitudes(X, i, first, n_columns, others, t0, t1, coefficient, unit, out)
        _add_remaining_columns(X, i, first, done, n_columns, others, t0, t1, coefficient, squared, out)


@kernel
def add_groups(X, first, n_columns, owners, bounds, members, coefficients, n_groups, unit, out):
    """Add Σ_g coefficients[g]·Σ_t |x_owners[g] − x_members[t]|, bounds[g] ≤ t < bounds[g + 1], to ``out``.

    The additions and their order are those of :func:`add_group` for one group after the other, each with at
    most :data:`ROWS_PER_SUM` members; faster for few rows.
    """
    done = _add_group_vectors(X, first, n_columns, owners, bounds, members, coefficients, n_groups, unit, out)
    for g in range(n_groups):
        _add_remaining_columns(
            X,
            owners[g],
            first,
            done,
            n_columns,
            members,
            bounds[g],
            bounds[g + 1],
            coefficients[g],
            False,
            out,
        )


_FEATURES_AT_ONCE = 1024
#: Codes of the metrics.
MANHATTAN, SQUARED_EUCLIDEAN, EUCLIDEAN = 0, 1, 2


@summing_kernel
def _manhattan(a, b, factors):
    wide_vectors()
    total = 0.0
    for k in range(a.shape[0]):
        total += abs(np.float64(a[k]) - np.float64(b[k])) * factors[k]
    return total


@summing_kernel
def _squared_euclidean(a, b, factors):
    wide_vectors()
    total = 0.0
    for k in range(a.shape[0]):
        t = (np.float64(a[k]) - np.float64(b[k])) * factors[k]
        total += t * t
    return total


@kernel
def add_exact(X, first, factors, metric, position, anchors, a0, a1, start, count, sure, rows, exact):
    """Add the contributions of len(factors) columns from ``first`` on to the distances of unsure candidates.

    Differences are multiplied by ``factors``. For both Euclidean metrics, squares are added to ``exact``.
    """
    end = first + factors.shape[0]
    for a in range(a0, a1):
        x = X[position[anchors[a]], first:end]
        for slot in range(start.shape[1]):
            for t in range(start[a, slot] + sure[a, slot], start[a, slot] + count[a, slot]):
                other = X[position[rows[t]], first:end]
                if metric == MANHATTAN:
                    exact[t] += _manhattan(x, other, factors)
                else:
                    exact[t] += _squared_euclidean(x, other, factors)


@kernel
def _add_shared_margin(X, i, first, n_columns, others, coefficients, n_others, squared, group, unit, out):
    """Add Σ_t coefficients[t]·|x_i − x_others[t]|, or squares, of columns from ``first`` on to ``out``.

    Overwrites ``coefficients``; ``group`` is scratch space.
    """
    for done in range(n_others):
        coefficient = coefficients[done]
        if coefficient == 0.0:
            continue
        n = 0
        for t in range(done, n_others):
            if coefficients[t] == coefficient:
                group[n] = others[t]
                n += 1
                coefficients[t] = 0.0
        add_group(X, i, first, n_columns, group, n, coefficient, squared, unit, out)


@kernel
def _add_moments(z, sample_weight, total, weighted, squares):
    wide_vectors()
    for k in range(z.shape[0]):
        t = sample_weight * z[k]
        total[k] += t
        weighted[k] += sample_weight * t
        squares[k] += t * t


@kernel
def few_rows_margin(
    X,
    first,
    width,
    position,
    anchors,
    a0,
    a1,
    codes,
    sample_weight,
    slot_factors,
    start,
    count,
    rows,
    shares,
    out,
):
    """Add the margins of :func:`margins` to ``out``, by the same additions; faster for tables of few rows."""
    n_slots = start.shape[1]
    most = 0
    for a in range(a0, a1):
        for slot in range(n_slots):
            most += count[a, slot]
    owners = empty(most, np.int64)
    members = empty(most, np.int64)
    coefficients = empty(most, np.float64)
    bounds = empty(most + 1, np.int64)
    others = empty(most, np.int64)
    weights = empty(most, np.float64)
    unit = np.ones(1, X.dtype)
    n_groups, free = 0, 0
    for a in range(a0, a1):
        n = anchors[a]
        n_others = list_others(
            a, n, position, codes, slot_factors, start, count, rows, shares, others, weights
        )
        for done in range(n_others):
            weight = weights[done] * sample_weight[n]
            if weight == 0.0:
                continue
            share = weights[done]
            n_in_group = ROWS_PER_SUM
            for t in range(done, n_others):
                if weights[t] != share:
                    continue
                if n_in_group == ROWS_PER_SUM:
                    owners[n_groups], coefficients[n_groups] = position[n], weight
                    bounds[n_groups] = free
                    n_groups += 1
                    n_in_group = 0
                members[free] = others[t]
                free += 1
                n_in_group += 1
                weights[t] = 0.0
    bounds[n_groups] = free
    add_groups(X, first, width, owners, bounds, members, coefficients, n_groups, unit, out)


@kernel
def most_others(a0, a1, count):
    """Return the largest number of candidates of any anchor a0 … a1, over all slots."""
    most = 0
    for a in range(a0, a1):
        n_others = 0
        for slot in range(count.shape[1]):
            n_others += count[a, slot]
        most = maximum(most, n_others)
    return most


@kernel
def list_others(a, n, position, codes, slot_factors, start, count, rows, shares, others, weights):
    """List the neighbors in the margin of anchor n, and their coefficients; return their number."""
    n_slots = start.shape[1]
    hits = 0
    while hits < n_slots - 1 and slot_factors[codes[n], hits] >= 0.0:
        hits += 1
    n_others = 0
    for turn in range(n_slots):
        # Hits first: with two classes, sums then do not depend on the order of the classes.
        slot = (hits + turn) % n_slots
        factor = slot_factors[codes[n], slot]
        for t in range(start[a, slot], start[a, slot] + count[a, slot]):
            if shares[t] > 0.0:
                others[n_others] = position[rows[t]]
                weights[n_others] = factor * shares[t]
                n_others += 1
    return n_others


@kernel
def margins(
    X,
    first,
    width,
    squared,
    position,
    anchors,
    a0,
    a1,
    codes,
    sample_weight,
    slot_factors,
    start,
    count,
    rows,
    shares,
    by_row,
    with_squares,
    out,
):
    """Add the margins E|x − miss| − E|x − hit| of anchors a0 … a1 in ``width`` columns from ``first`` on.

    ``slot_factors[class of the anchor, slot]`` is −1 for hits and the weight of the slot for misses. With
    ``by_row`` the margin of anchor a is added to ``out[a]``; otherwise margins, times the sample weights s of
    their anchors, are added to ``out[0]`` and, ``with_squares``, Σ s²z and Σ s²z² to ``out[1]`` and
    ``out[2]``.
    """
    most = most_others(a0, a1, count)
    others = empty(most, np.int64)
    group = empty(most, np.int64)
    coefficients = empty(most, np.float64)
    z = empty(_FEATURES_AT_ONCE, np.float64)
    unit = np.ones(1, X.dtype)
    # Block by block of features: rows stay in the cache from anchor to anchor.
    for k0 in range(0, width, _FEATURES_AT_ONCE):
        k1 = minimum(k0 + _FEATURES_AT_ONCE, width)
        for a in range(a0, a1):
            n = anchors[a]
            n_others = list_others(
                a, n, position, codes, slot_factors, start, count, rows, shares, others, coefficients
            )
            if by_row:
                target = out[a, k0:k1]
            elif with_squares:
                target = z[: k1 - k0]
                for k in range(k1 - k0):
                    z[k] = 0.0
            else:
                target = out[0, k0:k1]
                for t in range(n_others):
                    coefficients[t] *= sample_weight[n]
            _add_shared_margin(
                X,
                position[n],
                first + k0,
                k1 - k0,
                others,
                coefficients,
                n_others,
                squared,
                group,
                unit,
                target,
            )
            if with_squares and not by_row:
                _add_moments(target, sample_weight[n], out[0, k0:k1], out[1, k0:k1], out[2, k0:k1])
