"""Cross-validation over widths that are held, as one writes it: split, scale, fit, vote."""

import numpy as np

from .irelief_2007 import irelief_step, soft_margin_rows
from .logo_2010 import logistic_l1
from .shared import distance


def unit(w):
    """W at Euclidean norm 1."""
    return w / np.sqrt(np.sum(w**2))


def averaged(step, w, n_iter):
    """The running mean of the images, at norm 1."""
    for t in range(1, n_iter + 1):
        w = w + (step(w) - w) / t
    return unit(w)


def irelief_held(X, y, sigma, n_iter=10, outliers=True):
    """I-RELIEF with the kernel exp(-d / (sigma |w|_2)), averaged steps."""

    def step(w):
        return irelief_step(X, y, w, sigma * np.sqrt(np.sum(w**2)), outliers=outliers)

    return averaged(step, np.full(np.shape(X)[1], 1.0 / np.shape(X)[1]), n_iter)


def logo_held(X, y, sigma, share, n_iter=10):
    """LOGO with the same kernel, lambda a share of the smallest that leaves no feature, unit solutions."""

    def step(w):
        Z, _ = soft_margin_rows(X, y, w, sigma * np.sqrt(np.sum(w**2)), "nearest")
        return unit(logistic_l1(Z, share * np.max(Z.sum(axis=0)) / 2))

    return averaged(step, np.ones(np.shape(X)[1]), n_iter)


def knn_accuracy(X, y, new, labels, w, k=5):
    """Share of new samples whose class has most of the votes of the k nearest; no ties here."""
    right = 0
    for x, label in zip(new, labels, strict=True):
        nearest = np.argsort([distance(x, each, w) for each in X], kind="stable")[:k]
        votes = [np.sum(y[nearest] == c) for c in np.unique(y)]
        right += np.unique(y)[np.argmax(votes)] == label
    return right / len(new)


def nearest_class_accuracy(X, y, new, labels, w, sigma):
    """Share of new samples that eq. (10) of Bei and Hong (2015) puts into their class."""
    right = 0
    for x, label in zip(new, labels, strict=True):
        expected = []
        for c in np.unique(y):
            d = np.array([distance(x, each, w) for each in X[y == c]])
            p = np.exp(-(d - d.min()) / sigma)
            expected.append(np.sum(p * d) / np.sum(p))
        right += np.unique(y)[np.argmin(expected)] == label
    return right / len(new)
