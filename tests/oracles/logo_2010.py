"""LOGO."""

import numpy as np
from scipy.special import expit

from .automatic_width import sigma_for_perplexity
from .irelief_2007 import soft_margin_rows
from .shared import remembered, weights_of


@remembered
def logistic_l1(Z, alpha, s=None, tol=1e-13, max_sweeps=100_000):
    """argmin over w >= 0 of sum_n s_n log(1 + exp(-w.z_n)) + alpha sum_j w_j.

    One coordinate after the other, each by Newton steps with halving, until no coordinate breaks
    the conditions of a minimum by more than tol, relative to the largest derivative at w = 0.
    """
    Z = np.asarray(Z, dtype=float)
    s = weights_of(Z, s)
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


def logo(X, y, sigma, alpha, n_iter=1, w0=None, s=None, reach=None, factors=1.0):
    """The fixed-point iteration without its stopping rule: [w1, ..., wT]; w0 = 1 unless given.

    w <- argmin over w >= 0 of sum_n log(1 + exp(-w.zbar_n)) + alpha |w|_1, zbar_n under the last w,
    all misses pooled, no outlier factor. Stays at 0 once there. `factors`: of the losses.
    """
    w = np.ones(np.shape(X)[1]) if w0 is None else np.asarray(w0, dtype=float)
    iterates = []
    for _ in range(n_iter):
        if w.any():
            Z, _ = soft_margin_rows(X, y, w, sigma, "nearest", s, reach)
            w = logistic_l1(Z, alpha, factors * weights_of(X, s))
        iterates.append(w)
    return iterates


@remembered
def logo_auto(X, y, share=0.5, n_iter=10, s=None):
    """The averaged iteration of AUTO: sigma from the entropy, lambda = 0.2 lambda_max, unit solutions."""
    w = np.ones(np.shape(X)[1])
    copies = weights_of(X, s)
    for t in range(1, n_iter + 1):
        Z, _ = soft_margin_rows(X, y, w, sigma_for_perplexity(X, w, share, s), "nearest", s)
        largest = np.max(copies @ Z) / 2
        solution = logistic_l1(Z, 0.2 * largest, s)
        w = w + (solution / np.sqrt(np.sum(solution**2)) - w) / t
    return w / np.sqrt(np.sum(w**2))
