"""Slow, literal reference implementations that the tests compare the package with.

One sample and one formula at a time, float64, loops instead of speed. Equation and figure
numbers are those of Y. Sun, "Iterative RELIEF for feature weighting: algorithms, theories, and
applications", IEEE TPAMI 29(6), 2007, unless another source is named.

Conventions
-----------
X : (n, d) array, already scaled. y : (n,) class labels (integer codes).
s : (n,) sample weights or None (all 1). Weight s means s copies of the row. Seen from a sample of
    weight s, its own row is a hit at distance 0 with weight max(s - 1, 0); for s = 1 that excludes
    the sample from its own neighbours. Rows of weight 0 are ignored. N is the sum of the weights.
"""

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

# --- scaling, distances, bookkeeping ------------------------------------------------------------


def scale_range(X):
    """Scale each feature to [0, 1] by its minimum and range; a constant feature becomes 0."""
    X = np.asarray(X, dtype=float)
    scaled = np.zeros_like(X)
    for j in range(X.shape[1]):
        low, high = X[:, j].min(), X[:, j].max()
        if high > low:
            scaled[:, j] = (X[:, j] - low) / (high - low)
    return scaled


def distance(a, b, w=None, metric="manhattan"):
    """Distance of two points.

    "manhattan": sum_i w_i |a_i - b_i|; "sqeuclidean": sum_i w_i (a_i - b_i)^2; "euclidean": the
    square root of the latter. w = None means all ones.
    """
    diff = np.abs(np.asarray(a, dtype=float) - np.asarray(b, dtype=float))
    w = np.ones(len(diff)) if w is None else np.asarray(w, dtype=float)
    if metric == "manhattan":
        return float(np.sum(w * diff))
    if metric == "sqeuclidean":
        return float(np.sum(w * diff**2))
    if metric == "euclidean":
        return float(np.sqrt(np.sum(w * diff**2)))
    raise ValueError(f"unknown metric {metric!r}")


def distances(X, w=None, metric="manhattan"):
    """All pairwise distances, (n, n), by two loops over `distance`."""
    X = np.asarray(X, dtype=float)
    D = np.zeros((len(X), len(X)))
    for n in range(len(X)):
        for i in range(len(X)):
            D[n, i] = distance(X[n], X[i], w, metric)
    return D


def difference(a, b, metric="manhattan"):
    """Per-feature difference: (a - b)^2 for "sqeuclidean", |a - b| for the other metrics."""
    diff = np.abs(a - b)
    return diff**2 if metric == "sqeuclidean" else diff


def _weights(X, s):
    """The sample weights as floats, all 1 for None."""
    return np.ones(len(X)) if s is None else np.asarray(s, dtype=float)


def _copies_seen_from(n, s):
    """Copies of every row that sample n can have as neighbours: s, but max(s_n - 1, 0) of n."""
    copies = s.copy()
    copies[n] = max(s[n] - 1.0, 0.0)
    return copies


def class_priors(y, s=None):
    """P(c), the share of the weight that class c has, as a dict; classes of weight 0 left out."""
    y = np.asarray(y)
    s = _weights(y, s)
    priors = {}
    for c in np.unique(y):
        if s[y == c].sum() > 0:
            priors[c] = s[y == c].sum() / s.sum()
    return priors


# --- Relief and ReliefF -------------------------------------------------------------------------


def neighbor_shares(d, weights, k, rank_decay=None, tol=1e-12):
    """Share of each candidate in the weighted mean over the k nearest neighbours.

    Parameters
    ----------
    d, weights : (m,) arrays
        Distance of each candidate and its number of copies, which may be fractional. The sample
        itself is either absent or present with its own further copies only.
    k : int
        Number of neighbours; copies count.
    rank_decay : float or None
        None: the k neighbours count alike. Otherwise the neighbour of rank r (1 = nearest) has
        the weight exp(-(r / rank_decay)^2), normalised over the k (Robnik-Sikonja and Kononenko
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
    over (0, min(k, sum of the weights)], so fewer than k neighbours are normalised over those
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


def _mean_difference(X, n, shares, metric):
    """sum_i shares_i |x_n - x_i| (squared differences for "sqeuclidean"), one vector."""
    mean = np.zeros(X.shape[1])
    for i in range(len(X)):
        if shares[i] > 0:
            mean += shares[i] * difference(X[n], X[i], metric)
    return mean


def _average_rows(rows, s, anchors):
    """(sum_n s_n z_n) / (sum_n s_n) over all samples, or over the anchors."""
    anchors = range(len(rows)) if anchors is None else anchors
    total = np.zeros(rows.shape[1])
    weight = 0.0
    for n in anchors:
        total += s[n] * rows[n]
        weight += s[n]
    return total / weight


def relief_rows(X, y, metric="manhattan", s=None, tol=1e-12):
    """z_n = |x_n - NM(x_n)| - |x_n - NH(x_n)|, (n, d); line 6 of Fig. 1.

    The nearest miss is the nearest one of all other classes together. Tied nearest neighbours
    share. A sample without a hit (or without a miss) has the row 0.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    s = _weights(X, s)
    D = distances(X, metric=metric)
    rows = np.zeros_like(X)
    for n in range(len(X)):
        if s[n] == 0:
            continue
        copies = _copies_seen_from(n, s)
        hits = np.where(y == y[n], copies, 0.0)
        misses = np.where(y != y[n], copies, 0.0)
        if hits.sum() == 0 or misses.sum() == 0:
            continue
        nearest_hit = neighbor_shares(D[n], hits, 1, tol=tol)
        nearest_miss = neighbor_shares(D[n], misses, 1, tol=tol)
        rows[n] = _mean_difference(X, n, nearest_miss, metric)
        rows[n] -= _mean_difference(X, n, nearest_hit, metric)
    return rows


def relief(X, y, metric="manhattan", s=None, anchors=None, tol=1e-12):
    """(1/N) sum_n z_n with z_n of `relief_rows`; Fig. 1 and z of eq. 3 with every sample once.

    With `anchors` (indices) the mean is over these samples; neighbours come from all of X.
    """
    return _average_rows(relief_rows(X, y, metric, s, tol), _weights(X, s), anchors)


def relieff_rows(X, y, k, metric="manhattan", rank_decay=None, s=None, tol=1e-12):
    """z_n of ReliefF, (n, d); eq. 19 with the factor of Kononenko 1994.

    z_n = sum_{c != y_n} P(c) / (1 - P(y_n)) mean_{k nearest of c} |x_n - x_i|
          - mean_{k nearest hits} |x_n - x_i|

    The means are weighted by `neighbor_shares`. A sample without a hit has the row 0; a class
    without samples adds nothing.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    s = _weights(X, s)
    D = distances(X, metric=metric)
    priors = class_priors(y, s)
    rows = np.zeros_like(X)
    for n in range(len(X)):
        if s[n] == 0:
            continue
        copies = _copies_seen_from(n, s)
        hits = np.where(y == y[n], copies, 0.0)
        if hits.sum() == 0 or len(priors) < 2:
            continue
        for c in priors:
            if c == y[n]:
                continue
            misses = np.where(y == c, copies, 0.0)
            shares = neighbor_shares(D[n], misses, k, rank_decay, tol)
            factor = priors[c] / (1 - priors[y[n]])
            rows[n] += factor * _mean_difference(X, n, shares, metric)
        shares = neighbor_shares(D[n], hits, k, rank_decay, tol)
        rows[n] -= _mean_difference(X, n, shares, metric)
    return rows


def relieff(X, y, k, metric="manhattan", rank_decay=None, s=None, anchors=None, tol=1e-12):
    """(1/N) sum_n z_n with z_n of `relieff_rows`; over the anchors only if these are given."""
    rows = relieff_rows(X, y, k, metric, rank_decay, s, tol)
    return _average_rows(rows, _weights(X, s), anchors)


# --- I-RELIEF -----------------------------------------------------------------------------------


def softmax(d, copies, sigma):
    """copies_i f(d_i) / sum_j copies_j f(d_j) with f(d) = exp(-d / sigma); eqs. 8 and 9.

    The smallest distance is subtracted first, which cancels in the ratio and avoids 0/0.
    Candidates with 0 copies get 0.
    """
    p = np.zeros(len(d))
    smallest = min(d[i] for i in range(len(d)) if copies[i] > 0)
    for i in range(len(d)):
        if copies[i] > 0:
            p[i] = copies[i] * np.exp(-(d[i] - smallest) / sigma)
    return p / p.sum()


def soft_margin_row(x, label, R, labels, copies, w, sigma, margin, priors):
    """The soft margin vector mbar - hbar of one point and its gamma; eqs. 8 to 11.

    Parameters
    ----------
    x, label : the point and its class.
    R, labels, copies : reference points, their classes, and how many copies of each count (0 for
        the point itself).
    margin : "nearest": mbar is one softmax over all misses (eq. 21, I-RELIEF-2). "prior": one
        softmax per other class c, with the factor P(c) / (1 - P(label)) (eq. 20, I-RELIEF-1).
    priors : dict or array, class -> P(class).

    Returns
    -------
    row, gamma : without a hit or without a miss row = 0 and gamma = 0.
    """
    d = np.array([distance(x, r, w) for r in R])
    diffs = np.abs(R - x)
    hits = np.where(labels == label, copies, 0.0)
    misses = np.where(labels != label, copies, 0.0)
    if hits.sum() == 0 or misses.sum() == 0:
        return np.zeros(R.shape[1]), 0.0

    if margin == "nearest":
        alpha = softmax(d, misses, sigma)
    elif margin == "prior":
        alpha = np.zeros(len(R))
        for c in np.unique(labels[misses > 0]):
            of_class = np.where(labels == c, copies, 0.0)
            alpha += priors[c] / (1 - priors[label]) * softmax(d, of_class, sigma)
    else:
        raise ValueError(f"unknown margin {margin!r}")
    beta = softmax(d, hits, sigma)

    mbar, hbar = np.zeros(R.shape[1]), np.zeros(R.shape[1])
    for i in range(len(R)):
        mbar += alpha[i] * diffs[i]
        hbar += beta[i] * diffs[i]

    # gamma = 1 - P_o of eq. 10 is the share of the hits; summed so, nothing cancels when small.
    everyone = softmax(d, copies, sigma)
    gamma = everyone[labels == label].sum()
    return mbar - hbar, float(gamma)


def soft_margin_rows(X, y, w, sigma, margin="nearest", s=None):
    """(Z, gamma): rows mbar_n - hbar_n without gamma, (n, d), and gamma_n, (n,); eqs. 8 to 11.

    A sample without a hit has gamma 0 and the row 0.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    s = _weights(X, s)
    priors = class_priors(y, s)
    Z, gamma = np.zeros_like(X), np.zeros(len(X))
    for n in range(len(X)):
        if s[n] == 0:
            continue
        copies = _copies_seen_from(n, s)
        Z[n], gamma[n] = soft_margin_row(X[n], y[n], X, y, copies, w, sigma, margin, priors)
    return Z, gamma


def positive_part_normalised(nu):
    """(nu)^+ / ||(nu)^+||_2 of eq. 12, or None where it is undefined (no positive component)."""
    positive = np.maximum(nu, 0.0)
    norm = np.sqrt(np.sum(positive**2))
    return positive / norm if norm > 0 else None


def irelief_nu(X, y, w, sigma, margin="nearest", outliers=True, s=None):
    """nu = (1/N) sum_n gamma_n (mbar_n - hbar_n); eqs. 11 and 22. outliers=False: gamma_n = 1."""
    Z, gamma = soft_margin_rows(X, y, w, sigma, margin, s)
    s = _weights(X, s)
    nu = np.zeros(Z.shape[1])
    for n in range(len(Z)):
        nu += s[n] * (gamma[n] if outliers else 1.0) * Z[n]
    return nu / s.sum()


def irelief_step(X, y, w, sigma, margin="nearest", outliers=True, s=None):
    """One iteration of Fig. 2, eq. 12: the next w, or None if no component of nu is positive."""
    return positive_part_normalised(irelief_nu(X, y, w, sigma, margin, outliers, s))


def irelief(X, y, sigma, margin="nearest", outliers=True, n_iter=1, w0=None, s=None):
    """Fig. 2 without the stopping rule: the list [w1, ..., wT], T = n_iter.

    w0 = 1/I in every component unless given. If no component of nu is positive, the iteration
    stops: the list then ends with the last w there was, and is [0] if that happens at once.
    """
    n_features = np.shape(X)[1]
    w = np.full(n_features, 1.0 / n_features) if w0 is None else np.asarray(w0, dtype=float)
    iterates = []
    for _ in range(n_iter):
        w = irelief_step(X, y, w, sigma, margin, outliers, s)
        if w is None:
            break
        iterates.append(w)
    return iterates if iterates else [np.zeros(n_features)]


# --- automatic sigma, averaged iteration --------------------------------------------------------


def mean_entropy(X, w, sigma, s=None):
    """(1/N) sum_n H_n, H_n the entropy (nats) of exp(-d_ni / sigma) over all other samples.

    Every copy is an outcome of its own: with p_i the probability of one copy of sample i,
    H_n = -sum_i copies_i p_i log p_i. The other copies of sample n are outcomes at distance 0.
    """
    return _mean_entropy(distances(X, w), sigma, _weights(X, s))


def _mean_entropy(D, sigma, s):
    """`mean_entropy` for given distances."""
    total = 0.0
    for n in range(len(D)):
        copies = _copies_seen_from(n, s)
        if s[n] == 0 or copies.sum() == 0:
            continue
        mass = softmax(D[n], copies, sigma)
        entropy = 0.0
        for i in range(len(D)):
            if mass[i] > 0:
                entropy -= mass[i] * np.log(mass[i] / copies[i])
        total += s[n] * entropy
    return total / s.sum()


def sigma_for_perplexity(X, w, share=0.5, s=None):
    """The sigma with mean_n H_n(sigma) = log(max(2, share * (N - 1))).

    The mean entropy grows with sigma, from the log of the number of tied nearest samples to
    log(N - 1). ValueError if the target is not between these ends, by more than rounding.
    """
    D = distances(X, w)
    s = _weights(X, s)
    N = s.sum()
    target = np.log(max(2.0, share * (N - 1)))

    def excess(log_sigma):
        return _mean_entropy(D, np.exp(log_sigma), s) - target

    # Both ends are searched in factors of e from the mean distance, over a wide but finite range.
    mean_distance = D.mean()
    if mean_distance == 0:
        raise ValueError("all distances are 0: every sigma gives the same entropy")
    low = high = np.log(mean_distance)
    rounding = 1e-12
    for _ in range(35):
        if excess(low) < -rounding:
            break
        low -= 1.0
    for _ in range(35):
        if excess(high) > rounding:
            break
        high += 1.0
    if not (excess(low) < -rounding and excess(high) > rounding):
        raise ValueError("no sigma gives this mean entropy")
    return float(np.exp(brentq(excess, low, high, xtol=1e-13, rtol=1e-14)))


def irelief_auto_path(X, y, share=0.5, n_iter=10, margin="nearest", outliers=True, s=None):
    """The averaged iteration: list of (w_t, sigma_t), t = 1 ... n_iter.

    w_t = (1 - 1/t) w_{t-1} + (1/t) F(w_{t-1}) with F(w) = (nu(w))^+ / ||(nu(w))^+||_2: the running
    mean of the images, not normalised. sigma_t is solved for w_{t-1}. The start is uniform; its
    scale has no effect, since sigma scales with w. Stops where F is undefined.
    """
    n_features = np.shape(X)[1]
    w = np.full(n_features, 1.0 / n_features)
    path = []
    for t in range(1, n_iter + 1):
        sigma = sigma_for_perplexity(X, w, share, s)
        image = irelief_step(X, y, w, sigma, margin, outliers, s)
        if image is None:
            break
        eta = 1.0 / t
        w = (1 - eta) * w + eta * image
        path.append((w, sigma))
    return path


def irelief_auto(X, y, share=0.5, n_iter=10, margin="nearest", outliers=True, s=None):
    """The last w of `irelief_auto_path` at unit norm; zeros if the first step is undefined."""
    path = irelief_auto_path(X, y, share, n_iter, margin, outliers, s)
    if not path:
        return np.zeros(np.shape(X)[1])
    w = path[-1][0]
    return w / np.sqrt(np.sum(w**2))


# --- online I-RELIEF ----------------------------------------------------------------------------


def online_pi(
    x,
    label,
    R,
    r_labels,
    w,
    sigma,
    margin="nearest",
    outliers=True,
    priors=None,
    self_index=None,
):
    """pi = gamma (mbar - hbar) of one point x against the references R; eq. 24, Fig. 3 step 6.

    priors : dict or array, class -> P(class); None takes the shares of the classes in R.
    self_index : row of R that is x itself, which is then no neighbour of it; None if x is not
        among the references.

    Without a hit or without a miss among the references pi = 0.
    """
    x, R, r_labels = np.asarray(x, dtype=float), np.asarray(R, dtype=float), np.asarray(r_labels)
    copies = np.ones(len(R))
    if self_index is not None:
        copies[self_index] = 0.0
    if priors is None:
        priors = class_priors(r_labels)
    row, gamma = soft_margin_row(x, label, R, r_labels, copies, w, sigma, margin, priors)
    return (gamma if outliers else 1.0) * row


def online_irelief_path(X, y, sigma, a=1.0, order=None, n_epochs=1, margin="nearest", outliers=True):
    """Fig. 3 over the samples in `order`, repeated n_epochs times: list of (w, nu) per step.

    w0 = 1/I, nu0 = 0, eta_t = min(1, 1 / (a t)),
    nu_t = (1 - eta_t) nu_{t-1} + eta_t pi_t (eq. 27), w_t = (nu_t)^+ / ||(nu_t)^+||_2 (eq. 28);
    w stays while no component of nu is positive.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    n_features = X.shape[1]
    order = range(len(X)) if order is None else order
    w, nu = np.full(n_features, 1.0 / n_features), np.zeros(n_features)
    path = []
    t = 0
    for _ in range(n_epochs):
        for n in order:
            t += 1
            pi = online_pi(X[n], y[n], X, y, w, sigma, margin, outliers, self_index=n)
            eta = min(1.0, 1.0 / (a * t))
            nu = (1 - eta) * nu + eta * pi
            new_w = positive_part_normalised(nu)
            w = w if new_w is None else new_w
            path.append((w, nu))
    return path


def online_irelief(X, y, sigma, a=1.0, order=None, n_epochs=1, margin="nearest", outliers=True):
    """The last w of `online_irelief_path`."""
    return online_irelief_path(X, y, sigma, a, order, n_epochs, margin, outliers)[-1][0]


# --- I-M4E (Bei and Hong, "Maximizing margin quality and quantity", 2012) -------------------------


def im4e_probabilities(X, y, w, sigma, s=None):
    """(alpha, beta), both (n, n): eqs. 5 and 6, the softmax over hits and over misses of each row.

    Entries are for all copies of a sample together. A row without a hit is 0 in both.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    s = _weights(X, s)
    D = distances(X, w)
    alpha, beta = np.zeros_like(D), np.zeros_like(D)
    for n in range(len(X)):
        copies = _copies_seen_from(n, s)
        hits, misses = np.where(y == y[n], copies, 0.0), np.where(y != y[n], copies, 0.0)
        if s[n] == 0 or hits.sum() == 0 or misses.sum() == 0:
            continue
        alpha[n] = softmax(D[n], hits, sigma)
        beta[n] = softmax(D[n], misses, sigma)
    return alpha, beta


def im4e_entropies(p, s=None):
    """-sum p log p of every row (section 2.2), natural logarithm; copies are outcomes of their own."""
    s = _weights(p, s)
    entropies = np.zeros(len(p))
    for n in range(len(p)):
        copies = _copies_seen_from(n, s)
        for i in range(len(p)):
            if p[n, i] > 0:
                entropies[n] -= p[n, i] * np.log(p[n, i] / copies[i])
    return entropies


def im4e_two_lambda_v(X, alpha, beta, s=None):
    """sum_n (sum_m beta |x_n - x_m| - sum_h alpha |x_n - x_h|), the bracket above eq. 9."""
    X = np.asarray(X, dtype=float)
    s = _weights(X, s)
    total = np.zeros(X.shape[1])
    for n in range(len(X)):
        for i in range(len(X)):
            total += s[n] * (beta[n, i] - alpha[n, i]) * np.abs(X[n] - X[i])
    return total


def im4e_cost(X, alpha, beta, w, sigma, lam, s=None):
    """Eq. 3."""
    s = _weights(X, s)
    quality = np.sum(s * (im4e_entropies(beta, s) - im4e_entropies(alpha, s)))
    return float(-w @ im4e_two_lambda_v(X, alpha, beta, s) + sigma * quality + lam * np.sum(w**2))


def im4e(X, y, sigma, n_iter, w0=None, lam=None, s=None, w_step=None):
    """Algorithm 1 without the stopping rule: list of (w_t, cost_t, sum of E_hit, sum of E_miss).

    w_step: from (2 lambda v, lambda) to w; by default eq. 9. Stops where no component of v is positive.
    """
    X = np.asarray(X, dtype=float)
    s = _weights(X, s)
    lam = s.sum() if lam is None else lam
    w = np.full(X.shape[1], 1.0 / X.shape[1]) if w0 is None else np.asarray(w0, dtype=float)
    path = []
    for _ in range(n_iter):
        alpha, beta = im4e_probabilities(X, y, w, sigma, s)
        v = im4e_two_lambda_v(X, alpha, beta, s)
        if v.max() <= 0:
            break
        w = np.maximum(v, 0.0) / np.maximum(v, 0.0).sum() if w_step is None else w_step(v, lam)
        hit, miss = (np.sum(s * im4e_entropies(p, s)) for p in (alpha, beta))
        path.append((w, im4e_cost(X, alpha, beta, w, sigma, lam, s), hit, miss))
    return path


def im4e_simplex_minimiser(v, lam, n_iter=20000):
    """Minimise -w.v + lam |w|^2 over w >= 0, sum w = 1, slowly: move weight between two features.

    From the one, of those that have weight, where C falls most when it loses some, to the one where C falls
    most when it gains some; as much as lowers C most.
    """
    w = np.full(len(v), 1.0 / len(v))
    for _ in range(n_iter):
        gradient = 2 * lam * w - v
        gains = np.argmin(gradient)
        loses = np.argmax(np.where(w > 0, gradient, -np.inf))
        if gradient[loses] - gradient[gains] < 1e-13:
            break
        moved = min(w[loses], (gradient[loses] - gradient[gains]) / (4 * lam))
        w[loses] -= moved
        w[gains] += moved
    return w


def im4e_psi(Q, X, y, w, sigma, s=None):
    """Psi_c of eq. 10 for every row of Q: (len(Q), number of classes), classes in sorted order."""
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    s = _weights(X, s)
    psi = np.zeros((len(Q), len(np.unique(y))))
    for q in range(len(Q)):
        d = np.array([distance(Q[q], x, w) for x in X])
        for place, c in enumerate(np.unique(y)):
            psi[q, place] = softmax(d, np.where(y == c, s, 0.0), sigma) @ d
    return psi


# --- Fisher score -------------------------------------------------------------------------------


def fisher(X, y, s=None):
    """sum_c n_c (mu_cj - mu_j)^2 / sum_c n_c var_cj with population variances.

    0 for a constant feature; infinite if a feature varies between the classes only.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    s = _weights(X, s)
    X, y, s = X[s > 0], y[s > 0], s[s > 0]
    scores = np.zeros(X.shape[1])
    for j in range(X.shape[1]):
        x = X[:, j]
        if x.max() == x.min():
            continue
        mu = np.sum(s * x) / np.sum(s)
        between = within = 0.0
        for c in np.unique(y):
            xc, sc = x[y == c], s[y == c]
            n_c = np.sum(sc)
            # A class of equal values has variance 0 exactly, whatever the rounding of its mean.
            mu_c = xc[0] if xc.max() == xc.min() else np.sum(sc * xc) / n_c
            var_c = np.sum(sc * (xc - mu_c) ** 2) / n_c
            between += n_c * (mu_c - mu) ** 2
            within += n_c * var_c
        scores[j] = between / within if within > 0 else np.inf
    return scores


# --- margin losses and their penalised minimisers (FREL) ----------------------------------------


def margin_loss(name, E, Ebar, delta, gamma=1.0):
    """Loss of one sample by its energies E = w'h and Ebar = w'm (Li et al. 2015, eqs. 6, 7)."""
    if name == "log":
        return float(np.logaddexp(0.0, E - Ebar))
    if name == "square":
        return E**2 + max(0.0, delta - Ebar) ** 2
    if name == "hinge":
        return max(0.0, delta + E - Ebar)
    if name == "square-exp":
        return E**2 + gamma * float(np.exp(-Ebar))
    raise ValueError(f"unknown loss {name!r}")


def frel_objective(w, H, M, delta, loss, penalty, alpha, s=None):
    """(1/N) sum_i L(w, x_i) + alpha R(w); Li et al. 2015, eq. (2)."""
    s = _weights(H, s)
    total = 0.0
    for i in range(len(H)):
        total += s[i] * margin_loss(loss, w @ H[i], w @ M[i], delta[i])
    penalty = np.sum(w**2) if penalty == "l2" else np.sum(np.abs(w))
    return total / s.sum() + alpha * penalty


def hits_and_misses(X, y, s=None, tol=1e-12):
    """(H, M, delta, counts): |x - NH(x)|, |x - NM(x)| and ||NM(x) - NH(x)||_1 of every sample.

    All by the unweighted Manhattan distance, misses pooled. Where several samples are tied as the
    nearest, each of the three is its mean over the ties. A sample without a hit does not count.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    s = _weights(X, s)
    D = distances(X)
    H, M, delta = np.zeros_like(X), np.zeros_like(X), np.zeros(len(X))
    counts = np.zeros(len(X), dtype=bool)
    for n in range(len(X)):
        copies = _copies_seen_from(n, s)
        hits = np.where(y == y[n], copies, 0.0)
        misses = np.where(y != y[n], copies, 0.0)
        if s[n] == 0 or hits.sum() == 0 or misses.sum() == 0:
            continue
        counts[n] = True
        of_hits, of_misses = (
            neighbor_shares(D[n], hits, 1, tol=tol),
            neighbor_shares(D[n], misses, 1, tol=tol),
        )
        H[n] = _mean_difference(X, n, of_hits, "manhattan")
        M[n] = _mean_difference(X, n, of_misses, "manhattan")
        for i in range(len(X)):
            for j in range(len(X)):
                delta[n] += of_hits[i] * of_misses[j] * D[i, j]
    return H, M, delta, counts


def margin_loss_slopes(name, E, Ebar, delta, gamma=1.0):
    """(dL/dE, dL/dEbar) of `margin_loss`; 0 at corners."""
    if name == "log":
        p = 1.0 / (1.0 + np.exp(Ebar - E))
        return p, -p
    if name == "square":
        return 2 * E, -2 * max(0.0, delta - Ebar)
    if name == "hinge":
        inside = 1.0 if delta + E - Ebar > 0 else 0.0
        return inside, -inside
    if name == "square-exp":
        return 2 * E, -gamma * float(np.exp(-Ebar))
    raise ValueError(f"unknown loss {name!r}")


def frel_sgd(X, y, loss="log", penalty="l2", alpha=1.0, n_epochs=1):
    """Algorithm 1 of Li et al. 2015, line by line; constant columns aside."""
    H, M, delta, counts = hits_and_misses(X, y)
    n = len(H)
    w = np.where(np.ptp(X, axis=0) > 0, 1.0, 0.0)
    if not counts.any():
        return np.zeros(len(w))
    for _ in range(n_epochs):
        for i in range(n):
            if not counts[i]:
                continue
            slope_hit, slope_miss = margin_loss_slopes(loss, w @ H[i], w @ M[i], delta[i])
            step = (slope_hit * H[i] + slope_miss * M[i]) / n
            step = step + alpha * (2 * w if penalty == "l2" else np.sign(w))
            norm = np.sqrt(np.sum(step**2))
            if norm > 0:
                w = w - step / norm
    return w


def lmba(X, y, k=10, n_epochs=1, shares=None):
    """Unit steps down the mean square loss over pairs of j-th nearest hit and miss; no penalty."""
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    n = len(X)
    D = distances(X)
    shares = np.full(n, 1.0 / n) if shares is None else shares
    w = np.where(np.ptp(X, axis=0) > 0, 1.0, 0.0)
    for _ in range(n_epochs):
        for i in range(n):
            nearest = np.argsort(D[i], kind="stable")
            hits = [j for j in nearest if y[j] == y[i] and j != i][:k]
            misses = [j for j in nearest if y[j] != y[i]][:k]
            pairs = list(zip(hits, misses, strict=False))
            if not pairs:
                continue
            step = np.zeros(len(w))
            for hit, miss in pairs:
                h, m = np.abs(X[i] - X[hit]), np.abs(X[i] - X[miss])
                slope_hit, slope_miss = margin_loss_slopes("square", w @ h, w @ m, D[hit, miss])
                step += (slope_hit * h + slope_miss * m) / len(pairs)
            norm = np.sqrt(np.sum(step**2))
            if norm > 0:
                w = w - n * shares[i] * step / norm
    return w


def variance_reduction_shares(X, y, k=10):
    """s_n proportional to 1 / (mean Euclidean distance to the other margin vectors); Han and Yu 2010."""
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    D = distances(X)
    Z = np.zeros_like(X)
    for n in range(len(X)):
        others = np.arange(len(X)) != n
        hits = neighbor_shares(D[n], ((y == y[n]) & others).astype(float), k)
        misses = neighbor_shares(D[n], (y != y[n]).astype(float), k)
        if hits.sum() > 0:
            Z[n] = _mean_difference(X, n, misses, "manhattan") - _mean_difference(X, n, hits, "manhattan")
    nearness = np.zeros(len(X))
    for n in range(len(X)):
        apart = [np.sqrt(np.sum((Z[n] - Z[i]) ** 2)) for i in range(len(X)) if i != n]
        nearness[n] = 1.0 / np.mean(apart)
    return nearness / nearness.sum()


def soft_threshold(v, by, positive=False):
    """Proximal point of by*|v|_1, on v >= 0 if asked."""
    return np.maximum(v - by, 0.0) if positive else np.sign(v) * np.maximum(np.abs(v) - by, 0.0)


def fista(value, gradient, d, alpha, penalty, positive=False, n_iter=20000, tol=1e-12):
    """Accelerated proximal gradient with backtracking and restart, for value(w) + alpha R(w)."""

    def prox(v, step):
        if penalty == "l1":
            return soft_threshold(v, step * alpha, positive)
        v = v / (1.0 + 2.0 * step * alpha)
        return np.maximum(v, 0.0) if positive else v

    w = v = np.zeros(d)
    step, momentum = 1.0, 1.0
    for _ in range(n_iter):
        at, slope = value(v), gradient(v)
        while True:
            new = prox(v - step * slope, step)
            move = new - v
            if value(new) <= at + slope @ move + move @ move / (2.0 * step) + 1e-15 * abs(at):
                break
            step /= 2.0
        if (v - new) @ (new - w) > 0.0:
            momentum = 1.0
        following = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        v_next = new + (momentum - 1.0) / following * (new - w)
        change = np.max(np.abs(new - w))
        w, v, momentum = new, v_next, following
        if change <= tol * max(1.0, np.max(np.abs(w))):
            break
    return w


def coordinate_descent(loss, A, alpha, penalty, positive=False, n_sweeps=20000, tol=1e-13):
    """Newton steps in one weight at a time with halving, for loss(Aw) + alpha R(w), loss smooth."""
    d = A.shape[1]
    w, u = np.zeros(d), np.zeros(len(A))
    for _ in range(n_sweeps):
        largest = 0.0
        for j in range(d):
            a = A[:, j]
            slope = a @ loss.gradient(u)
            bend = a**2 @ loss.curvature(u)
            if penalty == "l2":
                target = w[j] - (slope + 2 * alpha * w[j]) / (bend + 2 * alpha)
                target = max(target, 0.0) if positive else target
            elif bend == 0.0:
                continue
            else:
                target = float(soft_threshold(w[j] - slope / bend, alpha / bend, positive))

            def one_weight(v, a=a, j=j, u=u):
                size = v**2 if penalty == "l2" else abs(v)
                return loss.value(u + (v - w[j]) * a) + alpha * size

            while one_weight(target) > one_weight(w[j]) + 1e-15 * abs(one_weight(w[j])):
                target = (target + w[j]) / 2.0
            u = u + (target - w[j]) * a
            largest = max(largest, abs(target - w[j]))
            w[j] = target
        if largest <= tol * max(1.0, np.max(np.abs(w))):
            break
    return w


# --- LOGO ---------------------------------------------------------------------------------------


def logistic_l1(Z, alpha, s=None, tol=1e-13, max_sweeps=100_000):
    """argmin over w >= 0 of sum_n s_n log(1 + exp(-w.z_n)) + alpha sum_j w_j.

    One coordinate after the other, each by Newton steps with halving, until no coordinate breaks
    the conditions of a minimum by more than tol, relative to the largest derivative at w = 0.
    """
    Z = np.asarray(Z, dtype=float)
    s = _weights(Z, s)
    w = np.zeros(Z.shape[1])
    scale = max(alpha, np.abs(Z.T @ s).max() / 2)

    def derivative(j):
        return alpha - np.sum(s * Z[:, j] * expit(-(Z @ w)))

    def violation(j):
        return abs(derivative(j)) if w[j] > 0 else max(-derivative(j), 0.0)

    for _ in range(max_sweeps):
        for j in range(len(w)):
            u = Z @ w
            curvature = np.sum(s * Z[:, j] ** 2 * expit(u) * expit(-u))
            if curvature == 0:
                continue
            before, g = w[j], derivative(j)
            step = -g / curvature
            while True:  # a step that lowers the derivative's size along j, or ends at 0
                w[j] = max(before + step, 0.0)
                if w[j] == before or derivative(j) * g >= 0 or abs(derivative(j)) <= 0.9 * abs(g):
                    break
                step /= 2
        if max(violation(j) for j in range(len(w))) <= tol * scale:
            return w
    raise RuntimeError("not settled")


def logo(X, y, sigma, alpha, n_iter=1, w0=None, s=None):
    """The fixed-point iteration without its stopping rule: [w1, ..., wT]; w0 = 1 unless given.

    w <- argmin over w >= 0 of sum_n log(1 + exp(-w.zbar_n)) + alpha |w|_1, zbar_n under the last w,
    all misses pooled, no outlier factor. Stays at 0 once there.
    """
    w = np.ones(np.shape(X)[1]) if w0 is None else np.asarray(w0, dtype=float)
    iterates = []
    for _ in range(n_iter):
        if w.any():
            Z, _ = soft_margin_rows(X, y, w, sigma, "nearest", s)
            w = logistic_l1(Z, alpha, s)
        iterates.append(w)
    return iterates


def logo_auto(X, y, share=0.5, n_iter=10, s=None):
    """The averaged iteration of AUTO: sigma from the entropy, lambda = 0.2 lambda_max, unit solutions."""
    w = np.ones(np.shape(X)[1])
    copies = _weights(X, s)
    for t in range(1, n_iter + 1):
        Z, _ = soft_margin_rows(X, y, w, sigma_for_perplexity(X, w, share, s), "nearest", s)
        largest = np.max(copies @ Z) / 2
        solution = logistic_l1(Z, 0.2 * largest, s)
        w = w + (solution / np.sqrt(np.sum(solution**2)) - w) / t
    return w / np.sqrt(np.sum(w**2))


# --- ensembles and stability: Li et al., "FREL: a stable feature selection algorithm", 2015 ------


def ensemble_weights(weigh, X, y, subsets):
    """Algorithm 2, eq. (10), given the subsets: w_E = (1/m) sum_t w_D(r_t)."""
    total = np.zeros(np.shape(X)[1])
    for rows in subsets:
        total = total + weigh(X[rows], y[rows]) / len(subsets)
    return total


def falling_ranks(w):
    """Rank 1 = largest weight; equal weights share the mean of their places."""
    ranks = np.zeros(len(w))
    for i in range(len(w)):
        larger = sum(w[j] > w[i] for j in range(len(w)))
        equal = sum(w[j] == w[i] for j in range(len(w)))
        ranks[i] = larger + (equal + 1) / 2
    return ranks


def rank_similarity(a, b):
    """Eq. (22), literally: 1 - 6 sum_p (a_p - b_p)^2 / (d (d^2 - 1))."""
    d = len(a)
    return 1.0 - 6.0 * sum((a[p] - b[p]) ** 2 for p in range(d)) / (d * (d**2 - 1))


def mean_over_pairs(similarity, rows):
    """Eq. (21): 2 / (c (c - 1)) sum_{l < l'} similarity."""
    c = len(rows)
    total = sum(similarity(rows[a], rows[b]) for a in range(c) for b in range(a + 1, c))
    return 2.0 * total / (c * (c - 1))


def jaccard_similarity(a, b):
    """|A and B| / |A or B| of two selections; 1 if both are empty."""
    a, b = set(np.flatnonzero(a)), set(np.flatnonzero(b))
    return len(a & b) / len(a | b) if a | b else 1.0


def kuncheva_similarity(a, b):
    """Kuncheva 2007: (r d - k^2) / (k (d - k)) of two selections of k features out of d, r in both."""
    d, k = len(a), int(np.sum(a))
    r = len(set(np.flatnonzero(a)) & set(np.flatnonzero(b)))
    return (r * d - k**2) / (k * (d - k))


def nogueira_stability(Z):
    """Nogueira, Sechidis and Brown 2018: the estimate (definition 4) and its variance, feature by feature."""
    Z = np.asarray(Z, dtype=float)
    M, d = Z.shape
    p = [sum(Z[i, f] for i in range(M)) / M for f in range(d)]
    k = [sum(Z[i, f] for f in range(d)) for i in range(M)]
    k_mean = sum(k) / M
    at_random = k_mean / d * (1 - k_mean / d)
    variances = [M / (M - 1) * p[f] * (1 - p[f]) for f in range(d)]
    estimate = 1 - sum(variances) / d / at_random
    phi = []
    for i in range(M):
        seen = sum(Z[i, f] * p[f] for f in range(d)) / d - k[i] * k_mean / d**2
        size = 2 * k_mean * k[i] / d**2 - k[i] / d - k_mean / d + 1
        phi.append((seen + estimate / 2 * size) / at_random)
    variance = 4 / M**2 * sum((each - sum(phi) / M) ** 2 for each in phi)
    return estimate, variance
