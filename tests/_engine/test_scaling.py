"""Orders of tables, scaling, and kernel widths."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highrelief._engine.scaling import c_ordered, feature_scaling
from highrelief._engine.soft import width_for_entropy


class TestOrder:
    @pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8])
    def test_any_order_is_copied_once_if_small(self, dtype):
        X = np.arange(7 * 1100).reshape(7, 1100).astype(dtype)
        assert c_ordered(X) is X
        for given_ in (np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], X[::-1], X[:, :600]):
            copy = c_ordered(given_)
            assert copy.flags.c_contiguous
            assert copy.dtype == dtype
            np.testing.assert_array_equal(copy, given_)

    @pytest.mark.parametrize(
        ("n", "d", "copied"),
        [(100, 20_000, True), (2000, 1000, True), (2000, 1200, False), (100, 110_000, False)],
    )
    def test_large_tables_stay_as_they_are_sooner_if_they_are_not_wide(self, n, d, copied):
        X = np.zeros((n, d), order="F")
        assert (c_ordered(X) is not X) == copied


class TestWidth:
    @given(st.floats(-5.0, 5.0), st.floats(0.2, 5.0), st.floats(-8.0, 8.0))
    @settings(deadline=None)
    def test_finds_the_root(self, root, steepness, shift):
        def entropy(sigma):
            x = np.log(sigma) - root
            return np.tanh(steepness * x), steepness / np.cosh(steepness * x) ** 2

        found = width_for_entropy(entropy, 0.0, float(np.exp(root + shift)))
        assert np.log(found) == pytest.approx(root, abs=1e-8)

    def test_a_target_out_of_reach_gives_an_end_of_the_range(self):
        widest = width_for_entropy(lambda sigma: (1.0, 0.0), 2.0, 3.0)
        narrowest = width_for_entropy(lambda sigma: (1.0, 0.0), 0.5, 3.0)
        assert narrowest < 1e-6
        assert widest > 1e6


class TestScaling:
    def test_range(self):
        X = np.array([[1.0, 5.0, 2.0], [3.0, 5.0, -2.0]])
        scaling = feature_scaling(X, "range", None)
        np.testing.assert_array_equal(scaling.apply(X), [[0, 0, 1], [1, 0, 0]])
        np.testing.assert_array_equal(scaling.invert(scaling.apply(X)), X)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_a_range_beyond_the_precision(self, dtype):
        largest = np.finfo(dtype).max
        X = np.array([[-largest, 1.0], [0.0, 2.0], [largest, 3.0]], dtype=dtype)
        scaling = feature_scaling(X, "range", None)
        np.testing.assert_array_equal(scaling.apply(X), [[0, 0], [0.5, 0.5], [1, 1]])
        np.testing.assert_array_equal(scaling.invert(scaling.apply(X)), X)
        kept = np.array([True, False])
        np.testing.assert_array_equal(scaling.of(kept).apply(X[:, kept]), [[0], [0.5], [1]])

    @pytest.mark.parametrize("weights", [None, [1.0, 2.0, 1.0, 5.0]])
    def test_standard(self, weights):
        X = np.random.default_rng(0).random((4, 3))
        X[:, 1] = 0.1
        scaled = feature_scaling(X, "standard", None if weights is None else np.array(weights)).apply(X)
        repeated = scaled if weights is None else np.repeat(scaled, np.array(weights, int), axis=0)
        np.testing.assert_allclose(repeated.mean(axis=0), 0.0, atol=2e-15)
        np.testing.assert_allclose(repeated.std(axis=0), [1.0, 0.0, 1.0], atol=2e-15)

    def test_none(self):
        X = np.random.default_rng(0).random((4, 3)).astype(np.float32)
        scaled = feature_scaling(X, None, None).apply(X)
        assert scaled.dtype == np.float32
        np.testing.assert_array_equal(scaled, X)
