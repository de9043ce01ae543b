"""Margins of Gilad-Bachrach, Navot and Tishby 2004: Simba and G-flip."""

import numpy as np

from .relief_1994 import neighbor_shares
from .shared import copies_seen_from, weights_of


def weighted_norm(z, w):
    """||z||_w = sqrt(sum_i w_i^2 z_i^2); their definition 3."""
    return float(np.sqrt(np.sum(w**2 * z**2)))


def nearest_hit_and_miss(X, y, n, w, tol=1e-12):
    """Places of the nearest other sample of the class of x_n, and of the nearest of all other classes.

    None where there is none; of several, equal within a relative tol, the first.
    """
    d = [weighted_norm(X[n] - X[i], w) for i in range(len(X))]
    hits = [i for i in range(len(X)) if y[i] == y[n] and i != n]
    misses = [i for i in range(len(X)) if y[i] != y[n]]
    return tuple(
        next(i for i in among if d[i] <= min(d[k] for k in among) * (1 + tol)) if among else None
        for among in (hits, misses)
    )


def hypothesis_margins(X, y, w, s=None):
    """theta_w(x) = (||x - nearmiss(x)||_w - ||x - nearhit(x)||_w) / 2 of every sample, 0 without a hit.

    The nearest is, where samples are weighed, the mean over the nearest of total weight 1.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    s = weights_of(X, s)
    margins = np.zeros(len(X))
    for n in range(len(X)):
        d = np.array([weighted_norm(X[n] - X[i], w) for i in range(len(X))])
        copies = copies_seen_from(n, s)
        hits, misses = np.where(y == y[n], copies, 0.0), np.where(y != y[n], copies, 0.0)
        if hits.sum() > 0 and misses.sum() > 0:
            margins[n] = (neighbor_shares(d, misses, 1) @ d - neighbor_shares(d, hits, 1) @ d) / 2
    return margins


def has_hit(y, s=None):
    """Which samples have a hit: others of the class, or a copy of themselves."""
    s = weights_of(y, s)
    return np.array([copies_seen_from(n, s)[np.asarray(y) == y[n]].sum() > 0 for n in range(len(y))])


def utility_of(name, margin, beta=None):
    """u(theta); section 3 of the paper."""
    if name == "linear":
        return margin
    if name == "sigmoid":
        return 1 / (1 + np.exp(-beta * margin))
    if name == "zero-one":
        return 1.0 if margin > 0 else 0.0
    raise ValueError(f"unknown utility {name!r}")


def default_beta(X, y, s=None):
    """1 / mean size of the margins at w = 1, over all samples."""
    s = weights_of(X, s)
    return float(s.sum() / np.sum(s * np.abs(hypothesis_margins(X, y, np.ones(X.shape[1]), s))))


def margin_gradient(X, n, hit, miss, w):
    """Gradient of theta_w(x_n) in w, the neighbors held fixed; algorithm 2, step 2(b)."""
    m, h = X[n] - X[miss], X[n] - X[hit]
    return (m**2 / weighted_norm(m, w) - h**2 / weighted_norm(h, w)) * w / 2


def simba_path(X, y, order, utility="linear", beta=None):
    """w after every visit; the sample makes no step at distance 0 from its hit or its miss."""
    X = np.asarray(X, dtype=float)
    w = np.ones(X.shape[1])
    path = []
    for n in order:
        hit, miss = nearest_hit_and_miss(X, y, n, w)
        if hit is not None and miss is not None:
            to_hit, to_miss = weighted_norm(X[n] - X[hit], w), weighted_norm(X[n] - X[miss], w)
            if to_hit > 0 and to_miss > 0:
                slope = 1.0
                if utility == "sigmoid":
                    u = utility_of("sigmoid", (to_miss - to_hit) / 2, beta)
                    slope = beta * u * (1 - u)
                w = w + slope * margin_gradient(X, n, hit, miss, w)
        path.append(w)
    return path


def simba(X, y, order, utility="linear", beta=None):
    """w^2 / max(w^2); algorithm 2, steps 1 to 3."""
    w = simba_path(X, y, order, utility, beta)[-1]
    # The paper does not say what becomes of w = 0, to which steps may lead.
    return w**2 / np.max(w**2) if w.any() else w


def gflip_score(X, y, members, utility="linear", beta=None, s=None):
    """Sum of the utilities of the margins on the members; 0 without members."""
    members = np.asarray(members, dtype=float)
    if not members.any():
        return 0.0
    s = weights_of(X, s)
    margins = hypothesis_margins(X, y, members, s)
    # On discrete data margins that are 0 come out as roundings of it.
    margins = np.where(np.abs(margins) < 1e-13, 0.0, margins)
    counted = np.flatnonzero(has_hit(y, s))
    return float(sum(s[n] * utility_of(utility, margins[n], beta) for n in counted))


def gflip(X, y, orders, utility="linear", beta=None, s=None, tol=1e-12):
    """(members, scores after every sweep); algorithm 1 from the empty set on, until nothing is flipped.

    `orders` yields the order of the features for each sweep.
    """
    X = np.asarray(X, dtype=float)
    members = np.zeros(X.shape[1])
    score, scores = 0.0, []
    for order in orders:
        n_flips = 0
        for j in order:
            tried = members.copy()
            tried[j] = 1 - tried[j]
            after = gflip_score(X, y, tried, utility, beta, s)
            if after > score + tol * max(1.0, abs(after)):
                members, score = tried, after
                n_flips += 1
        scores.append(score)
        if n_flips == 0:
            break
    return members, scores
