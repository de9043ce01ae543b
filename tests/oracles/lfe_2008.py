"""LFE and DANN; Y. Sun and D. Wu, "A RELIEF based feature extraction algorithm", SDM 2008.

Equation numbers are those of this paper.
"""

import numpy as np

from .relief_1994 import neighbor_shares
from .shared import copies_seen_from, distances, weights_of


def lfe_scatter(X, y, k, metric="euclidean", s=None, tol=1e-12):
    """Sigma_mh = sum_n (E[m m'] - E[h h']), eqs. 3.5 and 3.6, over the k nearest misses and hits.

    Misses of all other classes are one set. A sample without a hit adds nothing.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    s = weights_of(X, s)
    D = distances(X, metric=metric)
    total = np.zeros((X.shape[1], X.shape[1]))
    for n in range(len(X)):
        copies = copies_seen_from(n, s)
        hits = np.where(y == y[n], copies, 0.0)
        misses = np.where(y != y[n], copies, 0.0)
        if s[n] == 0 or hits.sum() == 0 or misses.sum() == 0:
            continue
        of_hits = neighbor_shares(D[n], hits, k, tol=tol)
        of_misses = neighbor_shares(D[n], misses, k, tol=tol)
        for i in range(len(X)):
            difference = X[n] - X[i]
            total += s[n] * (of_misses[i] - of_hits[i]) * np.outer(difference, difference)
    return total


def lfe(X, y, k, metric="euclidean", s=None, tol=1e-12):
    """Positive eigenvalues of Sigma_mh in decreasing order, and the a_i of eq. 3.14 as rows."""
    values, vectors = np.linalg.eigh(lfe_scatter(X, y, k, metric, s, tol))
    power = np.sqrt(sum(value**2 for value in values if value > 0))
    eigenvalues, components = [], []
    for value, vector in sorted(zip(values, vectors.T, strict=True), key=lambda pair: -pair[0]):
        if value <= 1e-12 * np.abs(values).max():  # eq. 3.15
            break
        eigenvalues.append(value)
        components.append(vector * np.sqrt(value / power))
    return np.array(eigenvalues), np.array(components)


def lfe_objective(W, X, y, k):
    """The sum of the margins under the matrix W, eq. 3.3, neighbor by neighbor."""
    D = distances(X, metric="euclidean")
    total = 0.0
    for n in range(len(X)):
        others = np.arange(len(X)) != n
        of_hits = neighbor_shares(D[n], 1.0 * (others & (y == y[n])), k)
        of_misses = neighbor_shares(D[n], 1.0 * (y != y[n]), k)
        for i in range(len(X)):
            difference = X[n] - X[i]
            total += (of_misses[i] - of_hits[i]) * (difference @ W @ difference)
    return total


def dann_scatter(X, y, k, s=None, tol=1e-12):
    """Mean over the samples of the scatter between the classes among the k nearest, itself included.

    The sample itself is one of the k; the other k - 1 are the nearest of its further copies and of
    all other samples.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    s = weights_of(X, s)
    k = int(min(k, s.sum()))
    D = distances(X, metric="euclidean")
    total = np.zeros((X.shape[1], X.shape[1]))
    for n in range(len(X)):
        if s[n] == 0:
            continue
        p = (k - 1) * neighbor_shares(D[n], copies_seen_from(n, s), k - 1, tol=tol)
        p[n] += 1.0
        p /= k
        mean = p @ X
        for c in np.unique(y):
            share = p[y == c].sum()
            if share > 0:
                difference = p[y == c] @ X[y == c] / share - mean
                total += s[n] / s.sum() * share * np.outer(difference, difference)
    return total


def dann(X, y, k, s=None, tol=1e-12):
    """Positive eigenvalues in decreasing order, and the eigenvectors, of unit length, as rows."""
    values, vectors = np.linalg.eigh(dann_scatter(X, y, k, s, tol))
    positive = values > 1e-12 * values.max()
    return values[positive][::-1], vectors.T[positive][::-1]
