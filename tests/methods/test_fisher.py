"""What users of FisherScore rely on beyond the contract."""

import numpy as np
import oracles
import pytest

from highrelief import FisherScore


@pytest.mark.parametrize("scale", ["range", "standard", None])
def test_equals_the_oracle_in_any_scale(scale):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 6)) + 5.0, rng.integers(0, 3, 50)
    X[:, 2] = 1.0
    ours = FisherScore(scale=scale).fit(X, y).feature_weights_
    np.testing.assert_allclose(ours, oracles.fisher(X, y), rtol=1e-12)
    assert ours[2] == 0.0


def test_a_large_offset_costs_no_digits():
    rng = np.random.default_rng(0)
    X, y = np.round(rng.normal(size=(50, 3)) * 2**10) / 2**10, rng.integers(0, 2, 50)
    np.testing.assert_allclose(
        FisherScore().fit(X + 2.0**30, y).feature_weights_,
        FisherScore().fit(X, y).feature_weights_,
        rtol=1e-9,
    )


def test_perfect_separation_is_finite_and_first():
    X = np.array([[0.1, 0.2], [0.1, 0.4], [0.7, 0.5], [0.7, 0.8]])
    fitted = FisherScore().fit(X, [0, 0, 1, 1])
    assert np.isfinite(fitted.feature_weights_[0])
    assert fitted.feature_weights_[0] > 1e20
    assert fitted.ranking_[0] == 1
