"""How often a pair of features stands out by chance, and how often the right one does."""

import numpy as np
import pytest

from highrelief import ReliefF, interactions
from highrelief.datasets import make_xor

N_SEEDS = 100


def table(kind, seed):
    rng = np.random.default_rng(1000 + seed)
    if kind == "exclusive or":
        X, y, _ = make_xor(200, n_irrelevant=28, random_state=seed)
        return X, y
    y = rng.integers(0, 2, 200)
    shared = 0.7 * rng.normal(size=(200, 1)) if kind == "correlated" else 0.0
    X = shared + (0.7 if kind == "correlated" else 1.0) * rng.normal(size=(200, 30))
    if kind != "noise":
        X[:, :4] += 0.8 * y[:, np.newaxis]
    return X, y


@pytest.mark.parametrize("kind", ["noise", "main effects", "correlated", "exclusive or"])
def test_pairs_beyond_noise(kind):
    right = {(0, 1), (1, 0)} if kind == "exclusive or" else set()
    n_wrong = n_found = 0
    for seed in range(N_SEEDS):
        found = interactions(ReliefF(), *table(kind, seed), random_state=seed)
        places = found.features
        clear = {(int(places[i]), int(places[j])) for i, j in zip(*np.nonzero(found.clear), strict=True)}
        n_wrong += bool(clear - right)
        n_found += right <= clear
    # 5 % for all pairs of a table together; two standard errors more are allowed by chance.
    assert n_wrong <= N_SEEDS * (0.05 + 2.0 * np.sqrt(0.05 * 0.95 / N_SEEDS))
    assert n_found == N_SEEDS
