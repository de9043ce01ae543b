"""Stability of FREL on leukemia; run with `make test-long`."""

import numpy as np
import pytest

from highrelief import FREL
from highrelief.stability import stability_score


@pytest.fixture(scope="module")
def leukemia(data_folder):
    with np.load(data_folder / "microarray" / "leukemia_golub.npz", allow_pickle=True) as file:
        return file["X"].astype(np.float64), file["y"]


def stabilities(X, y, solver, alphas, seed):
    return [
        stability_score(FREL(solver=solver, alpha=alpha), X, y, n_subsets=10, random_state=seed)
        for alpha in alphas
    ]


@pytest.mark.parametrize("seed", range(5))
def test_the_stability_of_the_minimiser_grows_with_the_penalty(leukemia, seed):
    """Fig. 2 and theorem 1 of Li et al. (2015)."""
    found = stabilities(*leukemia, "exact", [1e-4, 1e-2, 1.0, 100.0], seed)
    assert found == sorted(found)


@pytest.mark.parametrize("seed", range(5))
def test_algorithm_1_does_not_see_the_penalty(leukemia, seed):
    """From λ = 0.1 on the direction of a step is that of the penalty."""
    found = stabilities(*leukemia, "sgd", [0.1, 1.0, 10.0, 100.0], seed)
    np.testing.assert_allclose(found, found[0], atol=0.005)
