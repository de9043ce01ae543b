"""Tables of counts of all pairs of features by class, on bit planes, and the statistics of these tables.

A feature has one bit plane per level: one bit per sample, samples sorted by stratum and class, each such
group padded to whole 64-bit words. The count of two levels in a group is the population count of the AND of
their planes. Eight features form a block, word by word side by side, so that a vector of words belongs to as
many features, which are the *lanes* of the code below. Where all features of a block are observed in all
samples, the last level has no plane: its counts follow from the margins.

All sums of n·log n are sums of 64-bit integers (:class:`Planes`, ``entropy``), which are exact. Statistics
therefore do not depend on the order of samples, features, levels or threads.
"""

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from .intrinsics import intrinsic, maximum, minimum, zeros
from .jit import bits_from_float32, float32_from_bits, kernel, wide_vectors
from .simd import count_bits, load, splat, store, target_vector_bytes

#: Features of a block.
LANES = 8
#: Bits of a word.
WORD = 64
#: Relative error that bounds the rounding of a threshold.
_SLACK = 1e-9

_I64 = ir.IntType(64)
_MOST = np.int64(2**63 - 1)
_ONE = np.uint64(1)

# Rows of the work space of a pair of blocks, one number per lane: sums of n·log n, then degrees of freedom.
_JOINT, _OF_I, _OF_J, _OF_ALL = 0, 1, 2, 3
_CELLS_IN_I, _CELLS_IN_J, _CELLS = 4, 5, 6
_BASE_I, _BASE_J, _LEVELS_I, _LEVELS_J, _CLASSES = 7, 8, 9, 10, 11
_N_ROWS = 12


class Planes(NamedTuple):
    """Bit planes of all features in one or several binnings, margins, and tables of functions.

    Kernels unpack it once and pass arrays on: to take an array out of a tuple costs a reference count.
    """

    #: Blocks of [plane][word][lane].
    words: Any
    #: (n_binnings, n_blocks) where a block begins in ``words``.
    first_word: Any
    #: (n_binnings, n_blocks) planes of a block.
    n_planes: Any
    #: Margins in blocks of [stratum][class][level][lane].
    margins: Any
    #: Number of classes at a level minus 1, or 0, in blocks of [stratum][level][lane].
    spare: Any
    #: (n_binnings, n_blocks) where a block begins in ``spare``; in ``margins`` times the number of classes.
    first_spare: Any
    #: (n_blocks,) whether nothing is missing: the last level has no plane.
    complete: Any
    #: (n_blocks,) number of binnings.
    binnings: Any
    #: (n_blocks,) whether all features are complete, have three levels with all classes at each, and are not
    #: binned, and there is one stratum: most blocks of genotypes.
    three: Any
    #: (n_blocks · 8,) index of the feature, or -1 for padding.
    feature: Any
    #: (3, n_binnings, n_blocks · 8) Σ n·log n over the cells (level, class) minus that over levels,
    #: Σ ``spare``, and degrees of freedom of the feature by itself.
    constants: Any
    #: (n_groups + 1,) first word of each group, a stratum and a class.
    group_words: Any
    #: (n_strata,) number of classes in each stratum minus 1, or 0.
    classes: Any
    #: Σ n·log n over the classes minus that over strata.
    of_all: int
    #: (n_samples + 1,) n·log n on an integer grid.
    entropy: Any
    #: Twice the distance of grid points: the factor from sums to G.
    unit: float
    #: (2, …) Wilson–Hilferty: 1 - 2/(9·df) and sqrt(2/(9·df)) for each df.
    deviates: Any


class Maxima(NamedTuple):
    """Running maxima over the pairs visited so far, by position of the feature in the blocks."""

    #: (2, n_blocks · 8) largest z of the conditional information of a feature, and of the interaction part.
    z: Any
    #: (2, n_blocks · 8) the partners.
    partners: Any
    #: (4, n_blocks · 8) sums on the integer grid that a z above the largest needs, for two features of three
    #: levels: with nine occupied cells, and with seven.
    limits: Any
    #: (2, n_pairs) best pairs, falling: the smaller of both conditional z, and the z of the interaction part.
    pair_z: Any
    #: (2, n_pairs) their features.
    pair_features: Any


# Bit planes


@kernel
def pack_blocks(codes, columns, n_levels, groups, places, P, first, last, single):
    """Fill planes, margins and statistics of single features for blocks ``first`` … ``last``.

    ``codes`` has a row per binned column, -1 where a value is missing; ``columns`` the row of each feature in
    each binning; ``groups`` and ``places`` the group and the bit of each sample; ``single`` gets G of the
    features by themselves on the integer grid. All arrays begin as 0.
    """
    n_strata = P.classes.shape[0]
    n_classes = (P.group_words.shape[0] - 1) // n_strata
    n_words = P.group_words[-1]
    total = zeros(n_classes, np.int64)
    for block in range(first, last):
        for binning in range(P.binnings[block]):
            n_planes = P.n_planes[binning, block]
            levels = n_planes + 1 if P.complete[block] else n_planes
            start, spare_start = P.first_word[binning, block], P.first_spare[binning, block]
            margin_start = spare_start * n_classes
            for lane in range(LANES):
                at = block * LANES + lane
                if P.feature[at] < 0:
                    continue
                column = columns[P.feature[at], binning]
                last_level = n_levels[column] - 1
                for sample in range(codes.shape[1]):
                    level = np.int64(codes[column, sample])
                    if level < 0:
                        continue
                    if P.complete[block] and level == last_level:
                        level = n_planes
                    else:
                        place = places[sample]
                        word = start + (level * n_words + place // WORD) * LANES + lane
                        P.words[word] |= _ONE << np.uint64(place % WORD)
                    P.margins[margin_start + (groups[sample] * levels + level) * LANES + lane] += _ONE
                of_feature, of_all, base, df = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
                for s in range(n_strata):
                    occupied = 0
                    total[:] = 0
                    for level in range(levels):
                        here, present = np.int64(0), 0
                        for c in range(n_classes):
                            row = (s * n_classes + c) * levels + level
                            n = np.int64(P.margins[margin_start + row * LANES + lane])
                            of_feature += P.entropy[n]
                            here += n
                            total[c] += n
                            present += n > 0
                        of_feature -= P.entropy[here]
                        occupied += here > 0
                        spare = maximum(present - 1, 0)
                        P.spare[spare_start + (s * levels + level) * LANES + lane] = spare
                        base += spare
                    here, present = np.int64(0), 0
                    for c in range(n_classes):
                        of_all += P.entropy[total[c]]
                        here += total[c]
                        present += total[c] > 0
                    of_all -= P.entropy[here]
                    df += maximum(occupied - 1, 0) * maximum(present - 1, 0)
                P.constants[0, binning, at] = of_feature
                P.constants[1, binning, at] = base
                P.constants[2, binning, at] = df
                single[binning, at] = of_feature - of_all


# Counts


@intrinsic
def _count_lanes_intrinsic(typing_context, words, row, column, n_words, N, at):
    """Write the bits that one plane shares with a plane of each of eight features to N[at:]."""
    index = types.int64
    signature = types.void(words, index, index, index, N, index)

    def emit(context, builder, signature, arguments):
        builder.function.attributes.add("noinline")
        vector = ir.VectorType(_I64, target_vector_bytes() // 8)
        words = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        N = context.make_array(signature.args[4])(context, builder, arguments[4]).data
        row, column = (builder.gep(words, [arguments[place]]) for place in (1, 2))
        zero = ir.Constant(vector, [0] * vector.count)
        starts = [_I64(lane) for lane in range(0, LANES, vector.count)]
        totals = [cgutils.alloca_once_value(builder, zero) for _ in starts]
        for total in totals:
            builder.store(zero, total)
        population = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(vector, [vector]), f"llvm.ctpop.v{vector.count}i64"
        )
        with cgutils.for_range(builder, arguments[3]) as loop:
            offset = builder.mul(loop.index, _I64(LANES))
            bits = splat(builder, builder.load(builder.gep(row, [offset])), vector)
            for start, total in zip(starts, totals, strict=True):
                others = load(builder, column, vector, builder.add(offset, start))
                found = builder.call(population, [builder.and_(bits, others)])
                builder.store(builder.add(builder.load(total), found), total)
        target = builder.gep(N, [arguments[5]])
        for start, total in zip(starts, totals, strict=True):
            store(builder, builder.load(total), builder.gep(target, [start]))
        return context.get_dummy_value()

    return signature, emit


@kernel
def _plain_count_lanes(words, row, column, n_words, N, at):
    for lane in range(LANES):
        total = np.int64(0)
        for offset in range(lane, n_words * LANES, LANES):
            total += count_bits(words[row + offset - lane] & words[column + offset])
        N[at + lane] = total


_count_lanes = _plain_count_lanes if target_vector_bytes() == 0 else _count_lanes_intrinsic


@kernel
def _count(words, group_words, row, planes_i, levels_i, column, planes_j, levels_j, N):
    """Count the samples at each pair of stored levels in each group: N as [group][level][level][lane]."""
    plane = group_words[-1] * LANES
    for g in range(group_words.shape[0] - 1):
        first, size = group_words[g] * LANES, group_words[g + 1] - group_words[g]
        for a in range(planes_i):
            at = (g * levels_i + a) * levels_j * LANES
            for b in range(planes_j):
                _count_lanes(
                    words, row + a * plane + first, column + b * plane + first, size, N, at + b * LANES
                )


@kernel
def _complete_counts(margins, n_groups, row, planes_i, levels_i, column, planes_j, levels_j, N):
    """Fill in the counts of last levels that have no plane; ``row`` and ``column`` are places in margins."""
    for g in range(n_groups):
        table = g * levels_i * levels_j * LANES
        for a in range(planes_i if planes_j < levels_j else 0):
            _subtract(
                margins, row + (g * levels_i + a) * LANES, 0, N, table + a * levels_j * LANES, planes_j, LANES
            )
        for b in range(planes_j if planes_i < levels_i else 0):
            _subtract(
                margins,
                column + (g * levels_j + b) * LANES,
                1,
                N,
                table + b * LANES,
                planes_i,
                levels_j * LANES,
            )
        if planes_i < levels_i and planes_j < levels_j:
            last = table + planes_i * levels_j * LANES
            _subtract(margins, row + (g * levels_i + planes_i) * LANES, 0, N, last, planes_j, LANES)


@kernel
def _subtract(margins, margin, stride, N, first, n_counts, step):
    """Write a margin minus counts at ``first``, ``first + step``, … behind them; all of eight lanes."""
    for k in range(LANES):
        rest = margins[margin + stride * k]
        for other in range(n_counts):
            rest -= N[first + other * step + k]
        N[first + n_counts * step + k] = rest


# Statistics of the tables


@kernel
def _three_levels(entropy, n_classes, N, margins, row, column, joint, cells):
    """Sum over the 3 × 3 cells of eight pairs, and count the occupied ones; N has counts of 2 × 2 levels."""
    wide_vectors()
    eight, three_rows, classes = np.uint64(LANES), np.uint64(3 * LANES), np.uint64(n_classes)
    for k in range(eight):
        sums = np.int64(0)
        t00 = t01 = t02 = t10 = t11 = t12 = t20 = t21 = t22 = np.uint64(0)
        at, of_i, of_j = np.uint64(k), np.uint64(row), np.uint64(column) + k
        for _ in range(classes):
            n00, n01 = N[at], N[at + eight]
            n10, n11 = N[at + three_rows], N[at + three_rows + eight]
            n02 = margins[of_i] - n00 - n01
            n12 = margins[of_i + eight] - n10 - n11
            n20 = margins[of_j] - n00 - n10
            n21 = margins[of_j + eight] - n01 - n11
            n22 = margins[of_i + eight + eight] - n20 - n21
            sums += entropy[n00] + entropy[n01] + entropy[n02]
            sums += entropy[n10] + entropy[n11] + entropy[n12]
            sums += entropy[n20] + entropy[n21] + entropy[n22]
            t00 += n00
            t01 += n01
            t02 += n02
            t10 += n10
            t11 += n11
            t12 += n12
            t20 += n20
            t21 += n21
            t22 += n22
            at += three_rows + three_rows + three_rows
            of_i += three_rows
            of_j += three_rows
        sums -= entropy[t00] + entropy[t01] + entropy[t02]
        sums -= entropy[t10] + entropy[t11] + entropy[t12]
        sums -= entropy[t20] + entropy[t21] + entropy[t22]
        joint[k] = sums
        occupied = np.int64(t00 > 0) + np.int64(t01 > 0) + np.int64(t02 > 0)
        occupied += np.int64(t10 > 0) + np.int64(t11 > 0) + np.int64(t12 > 0)
        cells[k] = occupied + np.int64(t20 > 0) + np.int64(t21 > 0) + np.int64(t22 > 0)


@kernel
def _all_cells(entropy, n_classes, N, levels_i, levels_j, spare_i, spare_j, classes, total, V):
    """Sum over the cells; spare numbers as [stratum][level][lane], ``classes`` as [stratum][lane]."""
    eight = np.uint64(LANES)
    for k in range(eight):
        V[_JOINT, k] = 0
        V[_CELLS_IN_I, k] = 0
        V[_CELLS_IN_J, k] = 0
        V[_CELLS, k] = 0
    group = np.uint64(levels_i * levels_j * LANES)
    for s in range(classes.shape[0]):
        for a in range(levels_i):
            row = np.uint64((s * levels_i + a) * LANES)
            for b in range(levels_j):
                column = np.uint64((s * levels_j + b) * LANES)
                at = np.uint64(((s * n_classes * levels_i + a) * levels_j + b) * LANES)
                for k in range(eight):
                    total[k] = 0
                for _ in range(n_classes):
                    for k in range(eight):
                        n = N[at + k]
                        total[k] += n
                        V[_JOINT, k] += entropy[n]
                    at += group
                for k in range(eight):
                    V[_JOINT, k] -= entropy[total[k]]
                    occupied = np.int64(total[k] > 0)
                    V[_CELLS_IN_I, k] += occupied * spare_i[row + k]
                    V[_CELLS_IN_J, k] += occupied * spare_j[column + k]
                    V[_CELLS, k] += occupied * classes[s, k]


@kernel
def _add_margins(N, n_groups, levels_i, levels_j, of_i, of_j, of_all):
    """Sum counts over the levels of one feature, of the other, and of both."""
    eight = np.uint64(LANES)
    of_i[: n_groups * levels_i * LANES] = 0
    of_j[: n_groups * levels_j * LANES] = 0
    of_all[: n_groups * LANES] = 0
    at = np.uint64(0)
    for g in range(n_groups):
        for a in range(levels_i):
            row = np.uint64((g * levels_i + a) * LANES)
            for b in range(levels_j):
                column = np.uint64((g * levels_j + b) * LANES)
                for k in range(eight):
                    of_i[row + k] += N[at + k]
                    of_j[column + k] += N[at + k]
                at += eight
            for k in range(eight):
                of_all[np.uint64(g * LANES) + k] += of_i[row + k]


@kernel
def _margin(entropy, n_classes, counts, n_levels, spare, total, present, V, of, base):
    """Add the margins of a feature to rows ``of`` and ``base`` of V, and set its spare numbers."""
    eight = np.uint64(LANES)
    n_strata = counts.shape[0] // (n_classes * n_levels * LANES)
    group = np.uint64(n_levels * LANES)
    for k in range(eight):
        V[of, k] = 0
        V[base, k] = 0
    for s in range(n_strata):
        for level in range(n_levels):
            at = np.uint64((s * n_classes * n_levels + level) * LANES)
            row = np.uint64((s * n_levels + level) * LANES)
            for k in range(eight):
                total[k] = 0
                present[k] = 0
            for _ in range(n_classes):
                for k in range(eight):
                    n = counts[at + k]
                    total[k] += n
                    present[k] += np.int64(n > 0)
                    V[of, k] += entropy[n]
                at += group
            for k in range(eight):
                V[of, k] -= entropy[total[k]]
                spare[row + k] = maximum(present[k] - 1, 0)
                V[base, k] += spare[row + k]


@kernel
def _levels_df(n_classes, counts, n_levels, classes, V, row):
    """Set a row of V to the degrees of freedom of a feature by itself."""
    n_strata = classes.shape[0]
    for k in range(LANES):
        V[row, k] = 0
        for s in range(n_strata):
            levels = 0
            for level in range(n_levels):
                for g in range(s * n_classes, (s + 1) * n_classes):
                    if counts[(g * n_levels + level) * LANES + k] > 0:
                        levels += 1
                        break
            V[row, k] += maximum(levels - 1, 0) * classes[s, k]


@kernel
def _known_margins(constants, binning_i, at_i, binning_j, at_j, of_all, n_classes, V):
    """Copy the margins of features that are observed in all samples."""
    for k in range(LANES):
        V[_OF_I, k] = constants[0, binning_i, at_i]
        V[_OF_J, k] = constants[0, binning_j, at_j + k]
        V[_OF_ALL, k] = of_all
        V[_BASE_I, k] = constants[1, binning_i, at_i]
        V[_BASE_J, k] = constants[1, binning_j, at_j + k]
        V[_LEVELS_I, k] = constants[2, binning_i, at_i]
        V[_LEVELS_J, k] = constants[2, binning_j, at_j + k]
        V[_CLASSES, k] = n_classes


@kernel
def _known_spare(spare, at_i, levels_i, at_j, levels_j, of_strata, spare_i, spare_j, classes):
    """Copy the spare numbers of features that are observed in all samples; ``at_i`` includes the lane."""
    for s in range(of_strata.shape[0]):
        for k in range(LANES):
            classes[s, k] = of_strata[s]
    for row in range(of_strata.shape[0] * levels_i):
        for k in range(LANES):
            spare_i[row * LANES + k] = spare[at_i + row * LANES]
    for place in range(of_strata.shape[0] * levels_j * LANES):
        spare_j[place] = spare[at_j + place]


@kernel
def _cube_root(x):
    """Return the cube root of a number ≥ 0, by the same operations on every machine."""
    y = np.float64(float32_from_bits(np.int32(bits_from_float32(np.float32(x)) // 3 + 709921077)))
    for _ in range(3):  # Halley: an error of 4 % becomes one of rounding
        cube = y * y * y
        y *= (cube + 2.0 * x) / (2.0 * cube + x)
    return y


@kernel
def _z_score(G, df, deviates):
    """Return the normal deviate of a χ² variable (Wilson and Hilferty 1931); 0 without degrees of freedom."""
    return (_cube_root(maximum(G, 0.0) / df) - deviates[0, df]) / deviates[1, df] if df > 0 else 0.0


@kernel
def _exceeds(G, df, z, deviates):
    """Whether G may have a z above a bound ≥ 0: without a cube root, and never wrongly False."""
    if df <= 0:
        return False
    bound = deviates[0, df] + deviates[1, df] * z
    return df * bound * bound * bound * (1.0 - _SLACK) < G


@kernel
def z_scores(G, df, deviates, out):
    """Fill ``out`` with the z of each G."""
    for row in range(G.shape[0]):
        for column in range(G.shape[1]):
            out[row, column] = _z_score(G[row, column], df[row, column], deviates)


# Maxima


@kernel
def _insert_pair(pair_z, pair_features, z, interaction, first, second):
    """Insert a pair among the best: falling z, then rising features."""
    place = pair_z.shape[1]
    while place > 0 and (
        z > pair_z[0, place - 1]
        or (
            z == pair_z[0, place - 1]
            and (
                first < pair_features[0, place - 1]
                or (first == pair_features[0, place - 1] and second < pair_features[1, place - 1])
            )
        )
    ):
        place -= 1
    if place == pair_z.shape[1]:
        return
    for other in range(pair_z.shape[1] - 1, place, -1):
        for row in range(2):
            pair_z[row, other] = pair_z[row, other - 1]
            pair_features[row, other] = pair_features[row, other - 1]
    pair_z[0, place] = z
    pair_z[1, place] = interaction
    pair_features[0, place] = first
    pair_features[1, place] = second


@kernel
def _raise_maximum(values, partners, which, at, z, partner):
    """Store a z if it is the largest of a feature; of equal ones that with the lowest partner."""
    if z > values[which, at] or (z == values[which, at] and z > 0.0 and partner < partners[which, at]):
        values[which, at] = z
        partners[which, at] = partner


@kernel
def _visit_pair(feature, values, partners, pair_z, pair_features, at_i, at_j, z_i, z_j, z_both):
    """Update the maxima by a pair: z of i given j, of j given i, and of the interaction."""
    i, j = feature[at_i], feature[at_j]
    for which in range(2):
        _raise_maximum(values, partners, which, at_i, z_both if which else z_i, j)
        _raise_maximum(values, partners, which, at_j, z_both if which else z_j, i)
    if minimum(z_i, z_j) > 0.0:
        _insert_pair(pair_z, pair_features, minimum(z_i, z_j), z_both, minimum(i, j), maximum(i, j))


@kernel
def _limit(z, df, unit, deviates):
    """Return a sum on the integer grid that is exceeded where G may have a z of at least a bound ≥ 0."""
    bound = deviates[0, df] + deviates[1, df] * z
    return np.int64(df * bound * bound * bound * (1.0 - _SLACK) / unit)


@kernel
def _none_exceeds(joint, cells, of_i, of_all, constants, limits, least, least_of_seven, at_i, at_j):
    """Whether no sum of eight pairs exceeds its limit, which is lower where cells are empty."""
    wide_vectors()
    given_9, both_9, given_7, both_7 = limits[0, at_i], limits[1, at_i], limits[2, at_i], limits[3, at_i]
    exceeded = False
    first = np.uint64(at_j)
    for k in range(np.uint64(LANES)):
        of_j = constants[0, 0, first + k]
        given_i, given_j = joint[k] - of_i, joint[k] - of_j
        both = given_i - of_j + of_all
        nine = cells[k] == 9
        exceeded |= (
            (cells[k] < 7)
            | (given_i > (limits[0, first + k] if nine else limits[2, first + k]))
            | (given_j > (given_9 if nine else given_7))
            | (both > (both_9 if nine else both_7))
            | (both > (limits[1, first + k] if nine else limits[3, first + k]))
            | (minimum(given_i, given_j) > (least if nine else least_of_seven))
        )
    return not exceeded


@kernel
def _visit_three_levels(
    joint,
    cells,
    of_all,
    spare,
    unit,
    deviates,
    constants,
    feature,
    values,
    partners,
    limits,
    pair_z,
    pair_features,
    at_i,
    at_j,
    lower,
):
    """Update the maxima by eight pairs of features of three levels with all classes."""
    wide_vectors()
    n_pairs = pair_z.shape[1]
    of_i = constants[0, 0, at_i]
    for k in range(lower, LANES):
        at = at_j + k
        if feature[at] < 0:
            continue
        of_j = constants[0, 0, at]
        G_j, G_i = unit * (joint[k] - of_i), unit * (joint[k] - of_j)
        G_both = unit * (joint[k] - of_i - of_j + of_all)
        df, df_both = (cells[k] - 3) * spare, (cells[k] - 5) * spare
        least = pair_z[0, n_pairs - 1] if n_pairs else np.inf
        if (
            _exceeds(G_j, df, minimum(values[0, at], least), deviates)
            or _exceeds(G_i, df, values[0, at_i], deviates)
            or _exceeds(G_both, df_both, minimum(values[1, at], values[1, at_i]), deviates)
        ):
            z_i, z_j = _z_score(G_i, df, deviates), _z_score(G_j, df, deviates)
            z_both = _z_score(G_both, df_both, deviates)
            _visit_pair(feature, values, partners, pair_z, pair_features, at_i, at, z_i, z_j, z_both)
            for place in (at_i, at):
                for which in range(2):
                    z = values[which, place]
                    limits[which, place] = _limit(z, (6 - 2 * which) * spare, unit, deviates)
                    limits[2 + which, place] = _limit(z, (4 - 2 * which) * spare, unit, deviates)


@kernel
def _scan_three_levels(
    words,
    group_words,
    margins,
    constants,
    entropy,
    deviates,
    feature,
    of_all,
    unit,
    values,
    partners,
    limits,
    pair_z,
    pair_features,
    block_i,
    word_i,
    margin_i,
    block_j,
    word_j,
    margin_j,
    N,
    joint,
    cells,
):
    """Visit the pairs of two blocks of features of three levels with all classes."""
    wide_vectors()
    n_classes, n_pairs, at_j = group_words.shape[0] - 1, pair_z.shape[1], block_j * LANES
    least = least_of_seven = _MOST
    for lane in range(LANES):
        at_i = block_i * LANES + lane
        if feature[at_i] < 0:
            continue
        _count(words, group_words, word_i + lane, 2, 3, word_j, 2, 3, N)
        _three_levels(entropy, n_classes, N, margins, margin_i + lane, margin_j, joint, cells)
        if n_pairs:
            least = _limit(pair_z[0, n_pairs - 1], 6 * (n_classes - 1), unit, deviates)
            least_of_seven = _limit(pair_z[0, n_pairs - 1], 4 * (n_classes - 1), unit, deviates)
        if _none_exceeds(
            joint,
            cells,
            constants[0, 0, at_i],
            of_all,
            constants,
            limits,
            least,
            least_of_seven,
            at_i,
            at_j,
        ):
            continue
        _visit_three_levels(
            joint,
            cells,
            of_all,
            n_classes - 1,
            unit,
            deviates,
            constants,
            feature,
            values,
            partners,
            limits,
            pair_z,
            pair_features,
            at_i,
            at_j,
            lane + 1 if block_i == block_j else 0,
        )


@kernel
def _screen(V, unit, deviates, values, at_i, at_j, lower, least, Z):
    """Fill Z with the z of eight pairs: of i given j, of j given i, and of the interaction.

    ``least`` < 0: all. Otherwise those where a maximum may rise, or where both conditional z may be above
    ``least``; of others Z remains 0, and no cube root is taken. Returns whether there are any.
    """
    found = False
    for k in range(lower, LANES):
        joint = V[_JOINT, k] - V[_OF_I, k]
        G_j = unit * joint
        G_i = unit * (V[_JOINT, k] - V[_OF_J, k])
        G_both = unit * (joint - V[_OF_J, k] + V[_OF_ALL, k])
        df_j = V[_CELLS_IN_I, k] - V[_BASE_I, k]
        df_i = V[_CELLS_IN_J, k] - V[_BASE_J, k]
        df_both = V[_CELLS, k] - V[_LEVELS_I, k] - V[_LEVELS_J, k] - V[_CLASSES, k]
        at = at_j + k
        if (
            least < 0.0
            or _exceeds(G_j, df_j, minimum(values[0, at], least), deviates)
            or _exceeds(G_i, df_i, values[0, at_i], deviates)
            or _exceeds(G_both, df_both, minimum(values[1, at], values[1, at_i]), deviates)
        ):
            Z[0, k] += _z_score(G_i, df_i, deviates)
            Z[1, k] += _z_score(G_j, df_j, deviates)
            Z[2, k] += _z_score(G_both, df_both, deviates)
            found = True
    return found


@kernel
def scan_blocks(P, M, first, last):
    """Visit all pairs of a feature of blocks ``first`` … ``last`` with itself or a later block."""
    words, group_words, margins, spare, constants = P.words, P.group_words, P.margins, P.spare, P.constants
    entropy, deviates, feature, of_strata, unit = P.entropy, P.deviates, P.feature, P.classes, P.unit
    complete, binnings, first_word, first_spare = P.complete, P.binnings, P.first_word, P.first_spare
    n_planes, three = P.n_planes, P.three
    values, partners, limits, pair_z, pair_features = M.z, M.partners, M.limits, M.pair_z, M.pair_features
    n_strata, n_groups = of_strata.shape[0], group_words.shape[0] - 1
    n_classes, n_pairs = n_groups // n_strata, pair_z.shape[1]
    most = n_planes.max() + 1
    N = zeros(n_groups * most * most * LANES, np.uint64)
    spare_i = zeros(n_strata * most * LANES, np.int64)
    spare_j = zeros(n_strata * most * LANES, np.int64)
    counts_i = zeros(n_groups * most * LANES, np.uint64)
    counts_j = zeros(n_groups * most * LANES, np.uint64)
    of_all = zeros(n_groups * LANES, np.uint64)
    flat_classes = zeros(n_strata * LANES, np.int64)
    classes = flat_classes.reshape((n_strata, LANES))
    total = zeros(LANES, np.uint64)
    present = zeros(LANES, np.int64)
    V = zeros((_N_ROWS, LANES), np.int64)
    Z = zeros((3, LANES), np.float64)
    joint, cells = zeros(LANES, np.int64), zeros(LANES, np.int64)
    spare_classes = of_strata.sum()
    for block_j in range(first, complete.shape[0]):
        for block_i in range(first, minimum(last, block_j + 1)):
            n_binnings = maximum(binnings[block_i], binnings[block_j])
            if three[block_i] and three[block_j]:
                _scan_three_levels(
                    words,
                    group_words,
                    margins,
                    constants,
                    entropy,
                    deviates,
                    feature,
                    P.of_all,
                    unit,
                    values,
                    partners,
                    limits,
                    pair_z,
                    pair_features,
                    block_i,
                    first_word[0, block_i],
                    first_spare[0, block_i] * n_classes,
                    block_j,
                    first_word[0, block_j],
                    first_spare[0, block_j] * n_classes,
                    N,
                    joint,
                    cells,
                )
                continue
            both = complete[block_i] and complete[block_j]
            for lane in range(LANES):
                at_i, at_j = block_i * LANES + lane, block_j * LANES
                if feature[at_i] < 0:
                    continue
                lower = lane + 1 if block_i == block_j else 0
                found = False
                for binning in range(n_binnings):
                    binning_i, binning_j = (
                        minimum(binning, binnings[block_i] - 1),
                        minimum(binning, binnings[block_j] - 1),
                    )
                    planes_i, planes_j = n_planes[binning_i, block_i], n_planes[binning_j, block_j]
                    levels_i, levels_j = planes_i + complete[block_i], planes_j + complete[block_j]
                    spare_row, spare_column = (
                        first_spare[binning_i, block_i] + lane,
                        first_spare[binning_j, block_j],
                    )
                    row, column = first_spare[binning_i, block_i] * n_classes + lane, spare_column * n_classes
                    _count(
                        words,
                        group_words,
                        first_word[binning_i, block_i] + lane,
                        planes_i,
                        levels_i,
                        first_word[binning_j, block_j],
                        planes_j,
                        levels_j,
                        N,
                    )
                    _complete_counts(
                        margins, n_groups, row, planes_i, levels_i, column, planes_j, levels_j, N
                    )
                    if both:
                        _known_margins(
                            constants, binning_i, at_i, binning_j, at_j, P.of_all, spare_classes, V
                        )
                        _known_spare(
                            spare,
                            spare_row,
                            levels_i,
                            spare_column,
                            levels_j,
                            of_strata,
                            spare_i,
                            spare_j,
                            classes,
                        )
                    else:
                        # The margins of the samples where both features are observed.
                        of_i = counts_i[: n_groups * levels_i * LANES]
                        of_j = counts_j[: n_groups * levels_j * LANES]
                        _add_margins(N, n_groups, levels_i, levels_j, of_i, of_j, of_all)
                        _margin(
                            entropy, n_classes, of_all, 1, flat_classes, total, present, V, _OF_ALL, _CLASSES
                        )
                        _margin(
                            entropy, n_classes, of_i, levels_i, spare_i, total, present, V, _OF_I, _BASE_I
                        )
                        _margin(
                            entropy, n_classes, of_j, levels_j, spare_j, total, present, V, _OF_J, _BASE_J
                        )
                        _levels_df(n_classes, of_i, levels_i, classes, V, _LEVELS_I)
                        _levels_df(n_classes, of_j, levels_j, classes, V, _LEVELS_J)
                    _all_cells(entropy, n_classes, N, levels_i, levels_j, spare_i, spare_j, classes, total, V)
                    weakest = pair_z[0, n_pairs - 1] if n_pairs else np.inf
                    least = -1.0 if n_binnings > 1 else weakest
                    found = _screen(V, unit, deviates, values, at_i, at_j, lower, least, Z)
                if not found:
                    continue
                for k in range(lower, LANES):
                    z_i, z_j, z_both = Z[0, k] / n_binnings, Z[1, k] / n_binnings, Z[2, k] / n_binnings
                    if feature[at_j + k] >= 0 and max(z_i, z_j, z_both) > 0.0:
                        _visit_pair(
                            feature,
                            values,
                            partners,
                            pair_z,
                            pair_features,
                            at_i,
                            at_j + k,
                            z_i,
                            z_j,
                            z_both,
                        )
                Z[:] = 0.0


@kernel
def merge_maxima(M, other):
    """Update maxima by those over other pairs."""
    for which in range(2):
        for at in range(M.z.shape[1]):
            _raise_maximum(M.z, M.partners, which, at, other.z[which, at], other.partners[which, at])
    for place in range(other.pair_z.shape[1]):
        if other.pair_z[0, place] > 0.0:
            _insert_pair(
                M.pair_z,
                M.pair_features,
                other.pair_z[0, place],
                other.pair_z[1, place],
                other.pair_features[0, place],
                other.pair_features[1, place],
            )
