"""The tables of docs/methods/kernel-width-cv.md: widths by rule and by cross-validation.

python docs/widths.py            # a few minutes
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

from highrelief import IM4E, LOGO, IRelief, KernelWidthCV
from highrelief.datasets import (
    flip_labels,
    make_fermat_spiral,
    make_ringnorm,
    make_twonorm,
    make_waveform,
    make_xor,
)

SEEDS = range(100, 103)
N_FITTED, N_NEW, N_IRRELEVANT = 120, 500, 50
METHODS = (IRelief, IM4E, LOGO)


def problems(seed):
    """Name, samples, classes and relevant features; the first N_FITTED are to be fitted."""
    options = {"n_irrelevant": N_IRRELEVANT, "random_state": seed}
    for make in (make_xor, make_ringnorm, make_twonorm, make_waveform, make_fermat_spiral):
        yield (make.__name__, *make(N_FITTED + N_NEW, **options))
    X, y, relevant = make_xor(N_FITTED + N_NEW, **options)
    wrong, _ = flip_labels(y[:N_FITTED], 0.1, random_state=seed)
    noisy = np.concatenate([wrong, y[N_FITTED:]])
    yield "make_xor, 10 % wrong labels", X, noisy, relevant


def measured(estimator, X, y, relevant):
    """Area under the ROC of the relevant features, error of 5-NN in the learned metric, CPU seconds."""
    begin = time.process_time()
    fitted = estimator.set_params(weighted=True, n_jobs=1).fit(X[:N_FITTED], y[:N_FITTED])
    seconds = time.process_time() - begin
    truth = np.isin(np.arange(X.shape[1]), np.flatnonzero(relevant) if relevant.dtype == bool else relevant)
    neighbors = KNeighborsClassifier(5, metric="manhattan").fit(fitted.transform(X[:N_FITTED]), y[:N_FITTED])
    error = 1.0 - neighbors.score(fitted.transform(X[N_FITTED:]), y[N_FITTED:])
    return roc_auc_score(truth, fitted.feature_weights_), error, seconds


def collect(seed, found):
    """Measure all on the problems of one seed."""
    for name, X, y, relevant in problems(seed):
        for method in METHODS:
            plain = method(perplexity=0.5)
            for label, estimator in (
                (method.__name__, plain),
                (f"{method.__name__}, width by CV", KernelWidthCV(plain)),
            ):
                row = found.setdefault(name, {}).setdefault(label, [])
                row.append(measured(estimator, X, y, np.asarray(relevant)))


def show(found):
    """Print one table for each measure."""
    names = list(next(iter(found.values())))
    for place, title in enumerate(("area under the ROC", "error of 5-NN, %", "CPU seconds")):
        print(f"\n| {title} | {' | '.join(f'`{each}`' for each in names)} |")
        print(f"| --- |{' ---: |' * len(names)}")
        factor, digits = (100.0, 1) if place == 1 else (1.0, 3 if place == 0 else 2)
        rows = [[factor * np.mean(found[p][n], axis=0)[place] for n in names] for p in found]
        for label, numbers in [*zip(found, rows, strict=True), ("mean", np.mean(rows, axis=0))]:
            shown = f"`{label}`" if label.startswith("make") and "," not in label else label
            print(f"| {shown} | {' | '.join(f'{each:.{digits}f}' for each in numbers)} |", flush=True)


def main() -> None:
    """Measure and print."""
    warnings.simplefilter("ignore")
    found: dict[str, dict[str, list]] = {}
    for seed in SEEDS:
        collect(seed, found)
    show(found)


if __name__ == "__main__":
    main()
