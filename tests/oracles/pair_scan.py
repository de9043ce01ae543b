"""PairScan by its definition, with plain loops over pairs, cells and samples."""

import math

import numpy as np


def least(n):
    """Return the smallest size of a level among n observed samples."""
    return max(0.02 * n, min(5.0, n / 4))


def merged(values, ordered):
    """Return levels with rare ones merged; values are numbers or None."""
    observed = [value for value in values if value is not None]
    groups = [{value} for value in sorted(set(observed))]

    def size(group):
        return sum(value in group for value in observed)

    while len(groups) > 1:
        sizes = [size(group) for group in groups]
        smallest = sizes.index(min(sizes))
        if sizes[smallest] >= least(len(observed)):
            break
        others = [place for place in range(len(groups)) if place != smallest]
        if ordered:
            others = [place for place in others if abs(place - smallest) == 1]
        target = min(others, key=lambda place: (sizes[place], place))
        low, high = sorted((smallest, target))
        groups[low] |= groups.pop(high)
    return [
        None if value is None else next(g for g, group in enumerate(groups) if value in group)
        for value in values
    ]


def binned(values, n_bins):
    """Return the quantile bin of each value."""
    observed = [value for value in values if value is not None]
    n = len(observed)
    bins = []
    for value in values:
        if value is None:
            bins.append(None)
            continue
        below = sum(other < value for other in observed)
        equal = sum(other == value for other in observed)
        bins.append(n_bins * (2 * below + equal) // (2 * n))
    return bins


def levels(values, n_bins, categorical=False):
    """Return the levels of a feature for each number of bins, the same for all if it is not binned."""
    if categorical:
        return [merged(values, ordered=False)] * len(n_bins)
    distinct = {value for value in values if value is not None}
    if len(distinct) <= 10 and all(value == int(value) for value in distinct):
        return [merged(values, ordered=True)] * len(n_bins)
    return [merged(binned(values, each), ordered=True) for each in n_bins]


def information(x, y):
    """Return G(x; y) = 2·n·I and the degrees of freedom of the occupied rows and columns."""
    n = len(y)
    G = 0.0
    for a in set(x):
        for c in set(y):
            joint = sum(u == a and v == c for u, v in zip(x, y, strict=True))
            if joint:
                G += 2 * joint * math.log(joint * n / (list(x).count(a) * list(y).count(c)))
    return G, max(len(set(x)) - 1, 0) * max(len(set(y)) - 1, 0)


def conditional(x, y, given):
    """Return G(x; y | given): sums of G and of the degrees of freedom over the levels of the condition."""
    G, df = 0.0, 0
    for a in set(given):
        members = [place for place, value in enumerate(given) if value == a]
        more, freedom = information([x[m] for m in members], [y[m] for m in members])
        G, df = G + more, df + freedom
    return G, df


def normal_deviate(G, df):
    if df <= 0:
        return 0.0
    h = 2 / (9 * df)
    return (max(G, 0.0) ** (1 / 3) / df ** (1 / 3) - (1 - h)) / math.sqrt(h)


def pair(x, other, y, strata):
    """Return the z of x given the other feature, of the other given x, and of the interaction part."""
    seen = [m for m in range(len(y)) if x[m] is not None and other[m] is not None]
    x, other, y, strata = ([each[m] for m in seen] for each in (x, other, y, strata))
    both = list(zip(x, other, strata, strict=True))
    given_other, df_x = conditional(x, y, [each[1:] for each in both])
    given_x, df_other = conditional(other, y, [(each[0], each[2]) for each in both])
    interaction, df = 0.0, 0
    for s in set(strata):
        members = [m for m in range(len(y)) if strata[m] == s]
        a, b, c = ([each[m] for m in members] for each in (x, other, y))
        interaction += (
            information(list(zip(a, b, strict=True)), c)[0] - information(a, c)[0] - information(b, c)[0]
        )
        cells = len(set(zip(a, b, strict=True)))
        df += (cells - len(set(a)) - len(set(b)) + 1) * (len(set(c)) - 1)
    return (
        normal_deviate(given_other, df_x),
        normal_deviate(given_x, df_other),
        normal_deviate(interaction, df),
    )


def scan(X, y, n_bins, categorical=(), strata=None):
    """Return single z, and matrices: z of row given column, and z of the interaction part."""
    columns = [[None if np.isnan(value) else float(value) for value in column] for column in X.T]
    features = [levels(column, n_bins, j in categorical) for j, column in enumerate(columns)]
    strata = [0] * len(y) if strata is None else list(strata)
    y = list(y)
    p = len(features)
    single, given, interaction = np.zeros(p), np.zeros((p, p)), np.zeros((p, p))
    for j in range(p):
        for x in features[j]:
            seen = [m for m in range(len(y)) if x[m] is not None]
            found = conditional([x[m] for m in seen], [y[m] for m in seen], [strata[m] for m in seen])
            single[j] += normal_deviate(*found) / len(n_bins)
    for i in range(p):
        for j in range(i):
            for x, other in zip(features[i], features[j], strict=True):
                of_i, of_j, both = (z / len(n_bins) for z in pair(x, other, y, strata))
                given[i, j] += of_i
                given[j, i] += of_j
                interaction[i, j] += both
                interaction[j, i] += both
    return single, given, interaction
