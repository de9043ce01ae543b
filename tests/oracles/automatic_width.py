"""Automatic sigma and the averaged iteration."""

import numpy as np
from scipy.optimize import brentq

from .irelief_2007 import irelief_nu, irelief_step, softmax
from .shared import copies_seen_from, distances, remembered, weights_of


def mean_entropy(X, w, sigma, s=None, reach=None):
    """(1/N) sum_n H_n, H_n the entropy (nats) of exp(-d_ni / sigma) over all other samples.

    Every copy is an outcome of its own: with p_i the probability of one copy of sample i,
    H_n = -sum_i copies_i p_i log p_i. The other copies of sample n are outcomes at distance 0.
    """
    return _mean_entropy(distances(X, w), sigma, weights_of(X, s), reach)


def _mean_entropy(D, sigma, s, reach=None):
    """`mean_entropy` for given distances, over the samples that have others in `reach`."""
    total = counted = 0.0
    for n in range(len(D)):
        copies = copies_seen_from(n, s, reach)
        if s[n] == 0 or copies.sum() == 0:
            continue
        mass = softmax(D[n], copies, sigma)
        entropy = 0.0
        for i in range(len(D)):
            if mass[i] > 0:
                entropy -= mass[i] * np.log(mass[i] / copies[i])
        total += s[n] * entropy
        counted += s[n]
    return total / counted


def _wanted_entropy(share, s, reach):
    """Mean over the samples of log(max(2, share r_n)), at most log r_n, for the r_n copies in reach."""
    total = counted = 0.0
    for n in range(len(s)):
        others = copies_seen_from(n, s, reach).sum()
        if s[n] > 0 and others > 0:
            total += s[n] * np.log(min(max(2.0, share * others), max(others, 1.0)))
            counted += s[n]
    return total / counted


@remembered
def sigma_for_perplexity(X, w, share=0.5, s=None, reach=None):
    """The sigma with mean_n H_n(sigma) = log(max(2, share * (N - 1))).

    The mean entropy grows with sigma, from the log of the number of tied nearest samples to
    log(N - 1). ValueError if the target is not between these ends, by more than rounding. With
    `reach` the others are those in it, and the target is the mean over the samples.
    """
    D = distances(X, w)
    s = weights_of(X, s)
    N = s.sum()
    target = np.log(max(2.0, share * (N - 1))) if reach is None else _wanted_entropy(share, s, reach)

    def excess(log_sigma):
        return _mean_entropy(D, np.exp(log_sigma), s, reach) - target

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


@remembered
def irelief_auto_path(
    X, y, share=0.5, n_iter=10, margin="nearest", outliers=True, s=None, reach=None, factors=1.0
):
    """The averaged iteration: list of (w_t, sigma_t), t = 1 ... n_iter.

    w_t = (1 - 1/t) w_{t-1} + (1/t) F(w_{t-1}) with F(w) = (nu(w))^+ / ||(nu(w))^+||_2: the running
    mean of the images, not normalized. sigma_t is solved for w_{t-1}. The start is uniform; its
    scale has no effect, since sigma scales with w. Stops where F is undefined.
    """
    n_features = np.shape(X)[1]
    w = np.full(n_features, 1.0 / n_features)
    path = []
    for t in range(1, n_iter + 1):
        sigma = sigma_for_perplexity(X, w, share, s, reach)
        image = irelief_step(X, y, w, sigma, margin, outliers, s, reach, factors)
        if image is None:
            break
        eta = 1.0 / t
        w = (1 - eta) * w + eta * image
        path.append((w, sigma))
    return path


def irelief_auto(
    X, y, share=0.5, n_iter=10, margin="nearest", outliers=True, s=None, reach=None, factors=1.0
):
    """The last w of `irelief_auto_path` at unit norm; zeros if the first step is undefined."""
    path = irelief_auto_path(X, y, share, n_iter, margin, outliers, s, reach, factors)
    if not path:
        return np.zeros(np.shape(X)[1])
    w = path[-1][0]
    return w / np.sqrt(np.sum(w**2))


def joined_weights(w, nu):
    """(w/||w|| + c nu/||nu||)^+ at norm 1, c = cos^2 of the angle between w and the positive part of nu.

    w at norm 1 where nothing would be left, or nu has no positive part.
    """
    w = w / np.sqrt(np.sum(w**2))
    positive = [max(value, 0.0) for value in nu]
    if not any(positive):
        return w
    c = sum(a * b for a, b in zip(w, positive, strict=True)) ** 2 / sum(value**2 for value in positive)
    both = np.maximum(w + c * nu / np.sqrt(np.sum(nu**2)), 0.0)
    both = both if both.any() else w
    return both / np.sqrt(np.sum(both**2))


@remembered
def irelief_parameter_free(X, y, margin="prior", outliers=False, s=None, reach=None, factors=1.0):
    """Ten averaged steps at a perplexity of 0.5, joined with nu at equal weights and 0.7."""
    equal = np.ones(np.shape(X)[1])
    sigma = sigma_for_perplexity(X, equal, 0.7, s, reach)
    nu = irelief_nu(X, y, equal, sigma, "prior", False, s, reach, factors)
    return joined_weights(irelief_auto(X, y, 0.5, 10, margin, outliers, s, reach, factors), nu)
