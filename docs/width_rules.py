"""The table "Where a path starts" of docs/methods/kernel-width-cv.md: what to choose a width by.

python docs/width_rules.py       # ten minutes
"""

from __future__ import annotations

import warnings
from collections import defaultdict

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from highrelief import IRelief, datasets

FACTORS = 2.0 ** np.arange(2, -4, -1.0)
MIDDLE = 2
#: Which width each begins at the weights of; None starts by itself.
PATHS = {
    "no warm starts": [None] * 6,
    "from wide to narrow": [None, 0, 1, 2, 3, 4],
    "from the middle outwards": [1, 2, None, 2, 3, 4],
}
STEPS = 5


class Held(IRelief):
    """I-RELIEF with the width held at sigma times the norm of the weights."""

    held = 1.0

    def _width(self, rows, w):
        return self.held * np.linalg.norm(w)


def problems(seed):
    """Name, table and number of samples to fit."""
    for n in (100, 200):
        for n_irrelevant in (50, 300):
            options = {"n_irrelevant": n_irrelevant, "random_state": seed}
            for name in ("xor", "ringnorm", "twonorm", "waveform", "fermat_spiral"):
                yield n, *getattr(datasets, f"make_{name}")(n + 500, **options)
            X, y, relevant = datasets.make_xor(n + 500, **options)
            y = y.copy()
            wrong = np.random.default_rng(seed).permutation(n)[: n // 8]
            y[wrong] = 1 - y[wrong]
            yield n, X, y, relevant


def distances(X, new, w):
    """Learned distances of new samples to fitted ones, by whose range they are scaled."""
    low, width, active = X.min(axis=0), np.ptp(X, axis=0), w > 0
    scale = (w / np.where(width > 0, width, 1.0))[active]
    return cdist((new - low)[:, active] * scale, (X - low)[:, active] * scale, "cityblock")


def neighbors_right(d, y, labels):
    """Whether 5-NN is right."""
    classes = np.unique(y)
    nearest = y[np.argsort(d, axis=1)[:, :5]]
    return classes[np.argmax([(nearest == c).mean(axis=1) for c in classes], axis=0)] == labels


def scores(d, y, labels, sigma):
    """Scores of samples left out: of 5-NN, of the rule of I-M4E, log-likelihood of soft neighbors."""
    classes = np.unique(y)
    expected, logs = [], []
    for c in classes:
        of_class = d[:, y == c]
        p = np.exp(-(of_class - of_class.min(axis=1, keepdims=True)) / sigma)
        expected.append((p * of_class).sum(axis=1) / p.sum(axis=1))
        logs.append(logsumexp(-of_class / sigma, axis=1))
    logs = np.array(logs) - logsumexp(logs, axis=0)
    own = logs[np.searchsorted(classes, labels), np.arange(len(labels))]
    return {
        "5-NN": neighbors_right(d, y, labels).mean(),
        "rule of I-M4E": (classes[np.argmin(expected, axis=0)] == labels).mean(),
        "log-likelihood": np.maximum(own, -10.0).mean(),
    }


def fitted(X, y, sigma, begin=None):
    """Weights with a width, from others on in few steps, or by themselves."""
    model = Held() if begin is None else Held(init=begin, max_iter=STEPS)
    model.held = sigma
    return model.fit(X, y).feature_weights_


def of_path(X, y, sigmas, before):
    """Scores of every criterion, (n_folds, n_widths), along one path."""
    found = defaultdict(list)
    order = [MIDDLE, 1, 0, 3, 4, 5] if before[MIDDLE] is None else range(6)
    for rows, left_out in StratifiedKFold(5).split(X, y):
        ends, of_fold = {}, defaultdict(lambda: np.zeros(6))
        for place in order:
            begin = None if before[place] is None else ends[before[place]]
            w = fitted(X[rows], y[rows], sigmas[place], begin)
            ends[place] = w if w.any() else np.ones_like(w)
            d = distances(X[rows], X[left_out], ends[place])
            for name, value in scores(d, y[rows], y[left_out], sigmas[place]).items():
                of_fold[name][place] = value
        for name, row in of_fold.items():
            found[name].append(row)
    return {name: np.array(rows) for name, rows in found.items()}


def chosen(rows, rule):
    """Place that a rule takes: the best, or the nearest to the middle within one standard error of it."""
    means = rows.mean(axis=0)
    best = int(np.argmax(means))
    if rule == "best":
        return best
    good = np.flatnonzero(means >= means[best] - rows[:, best].std(ddof=1) / np.sqrt(len(rows)))
    return int(good[np.argmin(np.abs(good - MIDDLE))])


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    quality, places = defaultdict(list), defaultdict(list)
    for seed in range(3):
        for n, X, y, relevant in problems(seed):
            truth = np.zeros(X.shape[1])
            truth[np.asarray(relevant)] = 1

            def judged(w, X=X, y=y, n=n, truth=truth):
                d = distances(X[:n], X[n : n + 300], w)
                wrong = 1.0 - neighbors_right(d, y[:n], y[n : n + 300]).mean() if w.any() else 0.5
                return roc_auc_score(truth, w), wrong

            auto = IRelief(perplexity=0.5).fit(X[:n], y[:n])
            sigmas = auto.sigma_ * FACTORS
            by_width = np.array([judged(fitted(X[:n], y[:n], sigma)) for sigma in sigmas])
            quality["auto"].append(judged(auto.feature_weights_))
            quality["hindsight"].append((by_width[:, 0].max(), by_width[:, 1].min()))
            for path, before in PATHS.items():
                for name, rows in of_path(X[:n], y[:n], sigmas, before).items():
                    for rule in ("best", "one-se"):
                        place = chosen(rows, rule)
                        places[name, rule, path].append(place)
                        quality[name, rule, path].append(by_width[place])
    for key, values in quality.items():
        same = ""
        if key in places:
            cold = places[key[0], key[1], "no warm starts"]
            same = f"{np.mean(np.array(places[key]) == cold):.0%}"
        area, error = np.mean(values, axis=0)
        print(
            f"| {key if isinstance(key, str) else ', '.join(key)} | {area:.3f} | {100 * error:.1f} | {same} |"
        )


if __name__ == "__main__":
    main()
