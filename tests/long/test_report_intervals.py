"""How often the intervals of a report hold the truth: 1,400 tables of 7 kinds."""

import numpy as np
import pytest

from highrelief import FisherScore
from highrelief.inspection.report.diagnostics import stability
from highrelief.selection.halves import HalfFits, fits_to_halves

# Samples, features, height of the shifts, how many are shifted, correlation of all, how many are the best.
KINDS = [
    (60, 40, 0.0, 1, 0.0, 5),
    (60, 40, 0.8, 5, 0.0, 5),
    (60, 40, 1.5, 5, 0.0, 5),
    (60, 40, 0.8, 5, 0.5, 5),
    (100, 500, 0.8, 20, 0.0, 20),
    (40, 200, 0.5, 100, 0.3, 20),
    (60, 10, 1.0, 3, 0.0, 3),
]
N_TABLES, N_PAIRS = 200, 600


def table(random, n_samples, n_features, height, n_shifted, correlation):
    y = np.arange(n_samples) % 2
    shifts = np.zeros(n_features)
    shifts[:n_shifted] = height * np.linspace(1.0, 0.4, n_shifted)
    common = np.sqrt(correlation) * random.normal(size=(n_samples, 1))
    noise = np.sqrt(1.0 - correlation) * random.normal(size=(n_samples, n_features))
    return noise + common + np.outer(y, shifts), y


def truth(random, kind, n_best):
    """What two independent tables of half the size agree by, on the best features and on the ranking."""
    scorer, (n_samples, *shape) = FisherScore(), kind
    rows = [scorer.fit(*table(random, n_samples // 2, *shape)).feature_weights_ for _ in range(2 * N_PAIRS)]
    found, _ = stability(HalfFits(np.stack(rows), 0), n_best)
    return found.selection.value, found.ranking.value


@pytest.mark.parametrize(("n_samples", "n_features", "height", "n_shifted", "correlation", "n_best"), KINDS)
def test_intervals_hold_the_truth(n_samples, n_features, height, n_shifted, correlation, n_best):
    random = np.random.default_rng(0)
    kind = (n_samples, n_features, height, n_shifted, correlation)
    true = truth(random, kind, n_best)
    held = np.zeros(2)
    for seed in range(N_TABLES):
        fits = fits_to_halves(
            FisherScore(), *table(random, *kind), resamples=20, random_state=seed, n_jobs=None
        )
        found, _ = stability(fits, n_best)
        estimates = (found.selection, found.ranking)
        held += [each.lower <= value <= each.upper for each, value in zip(estimates, true, strict=True)]
    print(kind, "truth", np.round(true, 3), "held", held / N_TABLES)
    # 200 trials of probability 0.95 give fewer than 181 in one of 300 cases.
    assert np.all(held >= 181)
