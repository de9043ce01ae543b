"""Margin losses and their penalized minimizers (FREL)."""

import numpy as np

from .relief_1994 import mean_difference, neighbor_shares
from .shared import copies_seen_from, distances, remembered, weights_of


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
    s = weights_of(H, s)
    total = 0.0
    for i in range(len(H)):
        total += s[i] * margin_loss(loss, w @ H[i], w @ M[i], delta[i])
    penalty = np.sum(w**2) if penalty == "l2" else np.sum(np.abs(w))
    return total / s.sum() + alpha * penalty


@remembered
def hits_and_misses(X, y, s=None, tol=1e-12, reach=None):
    """(H, M, delta, counts): |x - NH(x)|, |x - NM(x)| and ||NM(x) - NH(x)||_1 of every sample.

    All by the unweighted Manhattan distance, misses pooled. Where several samples are tied as the
    nearest, each of the three is its mean over the ties. A sample without a hit does not count.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    s = weights_of(X, s)
    D = distances(X)
    H, M, delta = np.zeros_like(X), np.zeros_like(X), np.zeros(len(X))
    counts = np.zeros(len(X), dtype=bool)
    for n in range(len(X)):
        copies = copies_seen_from(n, s, reach)
        hits = np.where(y == y[n], copies, 0.0)
        misses = np.where(y != y[n], copies, 0.0)
        if s[n] == 0 or hits.sum() == 0 or misses.sum() == 0:
            continue
        counts[n] = True
        of_hits, of_misses = (
            neighbor_shares(D[n], hits, 1, tol=tol),
            neighbor_shares(D[n], misses, 1, tol=tol),
        )
        H[n] = mean_difference(X, n, of_hits, "manhattan")
        M[n] = mean_difference(X, n, of_misses, "manhattan")
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


def frel_sgd(X, y, loss="log", penalty="l2", alpha=1.0, n_epochs=1, reach=None):
    """Algorithm 1 of Li et al. 2015, line by line; constant columns aside."""
    H, M, delta, counts = hits_and_misses(X, y, reach=reach)
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
            Z[n] = mean_difference(X, n, misses, "manhattan") - mean_difference(X, n, hits, "manhattan")
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
