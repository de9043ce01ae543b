"""Relief and ReliefF."""

import numpy as np

from .shared import class_priors, copies_seen_from, difference, distances, remembered, weights_of


def neighbor_shares(d, weights, k, rank_decay=None, tol=1e-12):
    """Share of each candidate in the weighted mean over the k nearest neighbors.

    Parameters
    ----------
    d, weights : (m,) arrays
        Distance of each candidate and its number of copies, which may be fractional. The sample
        itself is either absent or present with its own further copies only.
    k : int
        Number of neighbors; copies count.
    rank_decay : float or None
        None: the k neighbors count alike. Otherwise the neighbor of rank r (1 = nearest) has
        the weight exp(-(r / rank_decay)^2), normalized over the k (Robnik-Sikonja and Kononenko
        2003).
    tol : float
        Relative tolerance within which distances are tied.

    Returns
    -------
    (m,) array, sums to 1 (all zeros if there is no candidate of positive weight).

    Notes
    -----
    Uniform: let t be the distance of the k-th copy. Candidates nearer than t and not tied with it
    count with all their copies; those with |d - t| <= tol * t share what remains of k equally per
    copy. With fewer than k copies all count, and the mean is over their number.

    Rank weights: from the nearest on, candidates with d <= first * (1 + tol) form a group, `first`
    being the smallest distance of the group. A group gets the mean of the rank weights over the
    ranks that it occupies, ranks beyond k counting 0; equivalently, it gets their sum, and shares
    it equally per copy. With fractional copies ranks become a continuous position u on
    (0, sum of the weights]: the rank weight is the step function g(u) = exp(-(ceil(u) / decay)^2)
    for u <= k and 0 beyond, and a group that occupies (a, b] gets the integral of g over (a, b].
    For whole copies this is the sum over the ranks. The result is divided by the integral of g
    over (0, min(k, sum of the weights)], so fewer than k neighbors are normalized over those
    there are.
    """
    d = np.asarray(d, dtype=float)
    weights = np.asarray(weights, dtype=float)
    if weights.sum() <= 0:
        return np.zeros(len(d))
    if rank_decay is None:
        return _shares_uniform(d, weights, k, tol)
    return _shares_ranked(d, weights, k, rank_decay, tol)


def _shares_uniform(d, weights, k, tol):
    total = weights.sum()
    if total <= k:
        return weights / total
    # t: distance of the k-th copy, walking outwards copy by copy.
    counted = 0.0
    for i in np.argsort(d, kind="stable"):
        counted += weights[i]
        t = d[i]
        if counted >= k:
            break
    tied = np.abs(d - t) <= tol * t
    nearer = (d < t) & ~tied
    shares = np.zeros(len(d))
    shares[nearer] = weights[nearer]
    remaining = k - weights[nearer].sum()
    shares[tied] = remaining * weights[tied] / weights[tied].sum()
    return shares / k


def _shares_ranked(d, weights, k, rank_decay, tol):
    shares = np.zeros(len(d))
    start = 0.0
    for group in _tied_groups(d, weights, tol):
        copies = weights[group].sum()
        sum_of_ranks = _integral_of_rank_weight(start, start + copies, k, rank_decay)
        shares[group] = sum_of_ranks * weights[group] / copies
        start += copies
    return shares / shares.sum()


def _tied_groups(d, weights, tol):
    """Lists of indices of tied candidates, nearest group first; candidates without copies out."""
    groups = []
    for i in np.argsort(d, kind="stable"):
        if weights[i] <= 0:
            continue
        if groups and d[i] <= d[groups[-1][0]] * (1 + tol):
            groups[-1].append(i)
        else:
            groups.append([i])
    return groups


def _integral_of_rank_weight(a, b, k, rank_decay):
    """Integral over (a, b] of exp(-(ceil(u) / decay)^2), taken as 0 for u > k."""
    total = 0.0
    for rank in range(1, k + 1):
        covered = min(b, rank) - max(a, rank - 1)
        if covered > 0:
            total += covered * np.exp(-((rank / rank_decay) ** 2))
    return total


def mean_difference(X, n, shares, metric):
    """sum_i shares_i |x_n - x_i| (squared differences for "sqeuclidean"), one vector."""
    mean = np.zeros(X.shape[1])
    for i in range(len(X)):
        if shares[i] > 0:
            mean += shares[i] * difference(X[n], X[i], metric)
    return mean


def average_rows(rows, s, anchors):
    """(sum_n s_n z_n) / (sum_n s_n) over all samples, or over the anchors."""
    anchors = range(len(rows)) if anchors is None else anchors
    total = np.zeros(rows.shape[1])
    weight = 0.0
    for n in anchors:
        total += s[n] * rows[n]
        weight += s[n]
    return total / weight


@remembered
def relief_rows(X, y, metric="manhattan", s=None, tol=1e-12, reach=None):
    """z_n = |x_n - NM(x_n)| - |x_n - NH(x_n)|, (n, d); line 6 of Fig. 1.

    The nearest miss is the nearest one of all other classes together. Tied nearest neighbors
    share. A sample without a hit (or without a miss) has the row 0.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    s = weights_of(X, s)
    D = distances(X, metric=metric)
    rows = np.zeros_like(X)
    for n in range(len(X)):
        if s[n] == 0:
            continue
        copies = copies_seen_from(n, s, reach)
        hits = np.where(y == y[n], copies, 0.0)
        misses = np.where(y != y[n], copies, 0.0)
        if hits.sum() == 0 or misses.sum() == 0:
            continue
        nearest_hit = neighbor_shares(D[n], hits, 1, tol=tol)
        nearest_miss = neighbor_shares(D[n], misses, 1, tol=tol)
        rows[n] = mean_difference(X, n, nearest_miss, metric)
        rows[n] -= mean_difference(X, n, nearest_hit, metric)
    return rows


def relief(X, y, metric="manhattan", s=None, anchors=None, tol=1e-12, reach=None, factors=1.0):
    """(1/N) sum_n z_n with z_n of `relief_rows`; Fig. 1 and z of eq. 3 with every sample once.

    With `anchors` (indices) the mean is over these samples; neighbors come from all of X, or from
    what is in `reach`. `factors`: of the samples, by their class.
    """
    return average_rows(relief_rows(X, y, metric, s, tol, reach), factors * weights_of(X, s), anchors)


@remembered
def relieff_rows(X, y, k, metric="manhattan", rank_decay=None, s=None, tol=1e-12, reach=None, factors=1.0):
    """z_n of ReliefF, (n, d); eq. 19 with the factor of Kononenko 1994.

    z_n = sum_{c != y_n} P(c) / (1 - P(y_n)) mean_{k nearest of c} |x_n - x_i|
          - mean_{k nearest hits} |x_n - x_i|

    The means are weighted by `neighbor_shares`. A sample without a hit has the row 0; a class
    without samples adds nothing. With `reach` only those in it are neighbors, and P is counted
    among them (and the sample itself, if it is in its own reach); `factors` multiply what a sample
    counts in P.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    s = weights_of(X, s)
    D = distances(X, metric=metric)
    rows = np.zeros_like(X)
    for n in range(len(X)):
        if s[n] == 0:
            continue
        priors = class_priors(y, factors * s * (1.0 if reach is None else reach[n]))
        copies = copies_seen_from(n, s, reach)
        hits = np.where(y == y[n], copies, 0.0)
        if hits.sum() == 0 or len(priors) < 2:
            continue
        for c in priors:
            if c == y[n]:
                continue
            misses = np.where(y == c, copies, 0.0)
            shares = neighbor_shares(D[n], misses, k, rank_decay, tol)
            factor = priors[c] / (1 - priors.get(y[n], 0.0))
            rows[n] += factor * mean_difference(X, n, shares, metric)
        shares = neighbor_shares(D[n], hits, k, rank_decay, tol)
        rows[n] -= mean_difference(X, n, shares, metric)
    return rows


def relieff(
    X, y, k, metric="manhattan", rank_decay=None, s=None, anchors=None, tol=1e-12, reach=None, factors=1.0
):
    """(1/N) sum_n z_n with z_n of `relieff_rows`; over the anchors only if these are given."""
    rows = relieff_rows(X, y, k, metric, rank_decay, s, tol, reach, factors)
    return average_rows(rows, factors * weights_of(X, s), anchors)
