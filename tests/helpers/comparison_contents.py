"""Comparisons, made up by hand."""

from dataclasses import replace

import numpy as np

from highrelief.inspection.comparison import Accuracy, Comparison, MethodResult
from highrelief.inspection.report.contents import Origin, Reference

NAMES = ("alpha", "beta", "gamma", "delta")
N_SAMPLES = 40


def accuracy(*folds):
    return Accuracy(np.array(folds), np.full(len(folds), 30), np.full(len(folds), 10))


def method(name, knn, svm, weights, kept):
    """A result; ``kept`` has the features of every fold."""
    n_folds = len(knn)
    selections = np.zeros((n_folds, len(NAMES)), dtype=bool)
    for fold, features in enumerate(kept):
        selections[fold, list(features)] = True
    return MethodResult(
        name,
        {"knn": accuracy(*knn), "linear-svm": accuracy(*svm)},
        None if weights is None else np.array(weights, dtype=float),
        selections,
        np.array([0.5, 0.1, 0.2, 0.3]) if weights is not None else np.zeros(n_folds),
    )


def small_comparison():
    """Three methods, four folds, four features."""
    folds = [
        (np.setdiff1d(np.arange(N_SAMPLES), left_out), left_out)
        for left_out in np.arange(N_SAMPLES).reshape(4, 10)
    ]
    same = [[4, 3, 2, 1]] * 4
    few = [[4, 3, 2, 0], [4, 3, 2, 0], [4, 3, 2, 0], [4, 3, 2, 1]]
    turned = [[4, 3, 2, 1], [1, 2, 3, 4], [4, 3, 2, 1], [1, 2, 3, 4]]
    return Comparison(
        [
            method(
                "irelief", (1.0, 0.9, 1.0, 1.0), (0.8, 0.8, 0.9, 0.7), same, [(0,), (0, 1), (0, 1), (0, 1)]
            ),
            method("fisher", (0.9, 1.0, 0.9, 0.9), (0.9, 0.8, 0.8, 0.8), turned, [(0,), (3,), (0,), (3,)]),
            method("other", (0.5, 0.5, 0.5, 0.4), (0.8, 0.8, 0.9, 0.7), few, [(0, 1, 2)] * 4),
            method("all features", (0.6, 0.5, 0.6, 0.5), (0.8, 0.9, 0.8, 0.8), None, [range(4)] * 4),
        ],
        folds,
    )


def small_origin():
    return Origin(
        parameters={"outer folds": "4", "inner folds": "3", "seed": "0"},
        data={"file": "small.csv", "SHA-256": "0123456789abcdef" * 4},
        versions={"highrelief": "0.1.0", "numpy": "2.4.0"},
        time={"made": "2026-01-02 03:04"},
        again="highrelief compare small.csv --target class --methods irelief,fisher --folds 4",
        references=[Reference("A paper.", "@article{a,\n}", "https://doi.org/10.1109/TPAMI.2007.1093")],
    )


def evil_comparison(evil):
    """The small comparison, with methods and classifiers that try to be more than text."""
    small = small_comparison()
    renamed = []
    for place, each in enumerate(small.methods):
        judged = {evil[-2 - number]: found for number, found in enumerate(each.accuracy.values())}
        name = evil[place] if place < len(small.methods) - 1 else each.name
        renamed.append(replace(each, name=name, accuracy=judged))
    return Comparison(renamed, small.folds)


def evil_origin(evil):
    same = {each: each for each in evil}
    return Origin(same, same, same, same, " ".join(evil), [Reference(each, each, each) for each in evil])
