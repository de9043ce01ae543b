"""Genes ranked by how well a single one of them tells two classes apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_ind_from_stats

from ..judges import in_range

Scores = NDArray[np.float64]
#: From the share of class 1 on a side of a cut to how mixed that side is.
Impurity = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def t_statistic(X: NDArray[Any], y: NDArray[Any]) -> Scores:
    """|t| of the means of the classes, variances not pooled; 0 for a constant gene."""
    return _t_test(X, y)[0]


def t_test(X: NDArray[Any], y: NDArray[Any]) -> Scores:
    """The p-values of that; 1 for a constant gene."""
    return _t_test(X, y)[1]


def _t_test(X: NDArray[Any], y: NDArray[Any]) -> tuple[Scores, Scores]:
    classes = [np.asarray(X[y == code], dtype=np.float64) for code in (1, 0)]
    moments = [part for each in classes for part in (each.mean(axis=0), each.std(axis=0, ddof=1), len(each))]
    with np.errstate(invalid="ignore", divide="ignore"):
        t, p = ttest_ind_from_stats(*moments, equal_var=False)
    t = np.nan_to_num(np.abs(t), nan=0.0, posinf=np.inf)
    # A gene that is constant in each class has no degrees of freedom: it is the class, or nothing.
    return t, np.where(np.isnan(p), np.where(t > 0.0, 0.0, 1.0), p)


def information_gain(X: NDArray[Any], y: NDArray[Any]) -> Scores:
    """Entropy of the classes that the best cut of a gene removes, in bits, times the number of samples."""
    return _best_cut(X, y, _entropy)


def gini(X: NDArray[Any], y: NDArray[Any]) -> Scores:
    """The same for the Gini index 1 − Σ p².

    With two classes the sum of variances of the class numbers on the two sides, Σ n p (1 − p), is half of the
    Gini index of a cut, and the twoing rule half of what the cut takes off it: all three rank alike.
    """
    return _best_cut(X, y, lambda p: 2.0 * p * (1.0 - p))


def _entropy(p: NDArray[np.float64]) -> NDArray[np.float64]:
    inside = np.clip(p, 1e-300, 1.0)
    outside = np.clip(1.0 - p, 1e-300, 1.0)
    return -(p * np.log2(inside) + (1.0 - p) * np.log2(outside))


def _best_cut(X: NDArray[Any], y: NDArray[Any], impurity: Impurity) -> Scores:
    """What the best cut between two different values of a gene takes off n·impurity; 0 if there is none."""
    n, n_ones = len(y), float(np.sum(y == 1))
    columns = np.ascontiguousarray(X.T)
    order = np.argsort(columns, axis=1)
    values = np.take_along_axis(columns, order, axis=1)
    # What a cut leaves depends on two whole numbers: how many lie below it, and how many of class 1.
    below, ones = np.arange(n + 1.0)[:, np.newaxis], np.arange(n_ones + 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares_below, shares_above = ones / below, (n_ones - ones) / (n - below)
    left = below * impurity(np.nan_to_num(np.clip(shares_below, 0.0, 1.0)))
    left += (n - below) * impurity(np.nan_to_num(np.clip(shares_above, 0.0, 1.0)))
    ones_below = np.cumsum(y[order] == 1, axis=1)[:, :-1]
    found = left[np.arange(1, n), ones_below]
    whole = float(left[0, 0])
    found[values[:, 1:] == values[:, :-1]] = whole
    return whole - found.min(axis=1)


def one_dimensional_svm(X: NDArray[Any], y: NDArray[Any], C: float = 1.0) -> Scores:
    """How little a linear SVM has to pay that sees one gene only, scaled to [0, 1]: less its least cost.

    The least cost ½w² + C Σ max(0, 1 − y(wx + b)) is the largest value of its dual. With s the sum of α over
    a class (the same over the other), that is 2s − ½D², D the smallest distance between Σαx over one class
    and over the other. D is max(0, G), where G takes the smallest values of the one class and the largest of
    the other: convex, and linear between whole s/C. So the best s is at such a place, or where the parabola
    between two of them has its top.
    """
    scaled = in_range(np.asarray(X, dtype=np.float64), np.asarray(X[:1], dtype=np.float64))[0]
    ones, zeros = np.sort(scaled[y == 1], axis=0), np.sort(scaled[y == 0], axis=0)
    above, below = _gaps(ones, zeros), _gaps(zeros, ones)
    # Which class has the larger values; G of the other way round is never positive.
    G = C * np.where(above[-1] > below[-1], above, below)
    s = C * np.arange(len(G), dtype=np.float64)[:, np.newaxis]
    best = (2.0 * s - 0.5 * np.maximum(G, 0.0) ** 2).max(axis=0)
    slope = np.diff(G, axis=0) / C
    top = np.divide(2.0, slope, out=np.zeros_like(slope), where=slope > 0.0)
    within = (top > np.maximum(G[:-1], 0.0)) & (top < G[1:])
    at = s[:-1] + np.divide(top - G[:-1], slope, out=np.zeros_like(slope), where=within)
    return -np.maximum(best, np.where(within, 2.0 * at - 0.5 * top**2, 0.0).max(axis=0))


def _gaps(upper: NDArray[np.float64], lower: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums of the 0, 1, 2, … smallest values of one class less those of the largest of the other."""
    n = min(len(upper), len(lower))
    return np.vstack([np.zeros(upper.shape[1]), np.cumsum(upper[:n] - lower[::-1][:n], axis=0)])
