"""Drivers, threads, scaling, the reservoir: the plain parts between kernels and estimators."""

import multiprocessing
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_threads import n_helpers

from highrelief._engine.scaling import c_ordered, feature_scaling
from highrelief._engine.soft import width_for_entropy
from highrelief._engine.threads import even_ranges, run_all
from highrelief._solvers.fixed_point import fixed_point
from highrelief.methods.online import Reservoir


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


class TestFixedPoint:
    def test_stops_when_nothing_moves(self):
        end = fixed_point(lambda w: 0.5 * w + 1.0, np.zeros(2), max_iter=100, tol=1e-6)
        assert end.converged
        assert end.changes[-1] < 1e-6 <= end.changes[-2]
        assert len(end.changes) == end.n_iter
        np.testing.assert_allclose(end.weights, 2.0, atol=2e-6)

    @pytest.mark.parametrize("period", [2, 3, 5])
    def test_names_a_cycle_and_stops(self, period):
        points = np.eye(period)

        def around(w):
            return points[(np.argmax(w) + 1) % period]

        end = fixed_point(around, points[0], max_iter=100, tol=1e-6)
        assert end.cycle_length == period
        assert not end.converged
        assert end.n_iter <= 2 * period

    def test_a_slow_spiral_is_no_cycle(self):
        """Jumping to and fro around a limit, and coming nearer: it converges."""
        end = fixed_point(lambda w: -0.99 * w, np.ones(3), max_iter=5000, tol=1e-8)
        assert end.converged
        assert end.cycle_length == 0

    def test_a_cycle_that_does_not_close_is_still_seen(self):
        rng = np.random.default_rng(0)
        points = np.eye(2)

        def noisy(w):
            return points[1 - np.argmax(w)] + 1e-3 * rng.random(2)

        end = fixed_point(noisy, points[0], max_iter=20, tol=1e-9)
        assert end.n_iter == 20
        assert end.cycle_length == 2

    def test_without_tolerance_every_iteration_runs(self):
        points = np.eye(2)
        end = fixed_point(lambda w: points[1 - np.argmax(w)], points[0], max_iter=7, tol=0.0)
        assert end.n_iter == 7

    def test_averaging_is_the_mean_of_the_images(self):
        rng = np.random.default_rng(0)
        images = rng.random((6, 3))
        left = iter(images)
        end = fixed_point(lambda w: next(left), np.full(3, 9.0), max_iter=6, tol=0.0, averaging=True)
        np.testing.assert_allclose(end.weights, images.mean(axis=0))

    def test_an_undefined_step_keeps_the_last_weights(self):
        answers = iter([np.array([0.6, 0.8]), None])
        end = fixed_point(lambda w: next(answers), np.ones(2), max_iter=9, tol=1e-9)
        assert end.undefined
        np.testing.assert_array_equal(end.weights, [0.6, 0.8])

    def test_an_undefined_first_step_gives_zeros(self):
        end = fixed_point(lambda w: None, np.ones(2), max_iter=9, tol=1e-9)
        assert end.undefined
        assert end.n_iter == 0
        np.testing.assert_array_equal(end.weights, 0.0)

    def test_something_else_than_the_weights_may_settle(self):
        costs = iter([5.0, 4.0, 3.5, 3.4, 3.39])
        seen = []

        def converged(w, change):
            seen.append((next(costs), w[0], change))
            return len(seen) > 1 and abs(seen[-1][0] - seen[-2][0]) < 0.2

        end = fixed_point(lambda w: w + 1.0, np.zeros(1), max_iter=9, tol=1e-9, converged=converged)
        assert end.converged
        assert seen == [(5.0, 1.0, 1.0), (4.0, 2.0, 1.0), (3.5, 3.0, 1.0), (3.4, 4.0, 1.0)]

    def test_a_cycle_between_points_of_equal_cost_is_no_end(self):
        points = np.eye(2)
        end = fixed_point(
            lambda w: points[1 - np.argmax(w)],
            points[0],
            max_iter=9,
            tol=1e-6,
            converged=lambda w, change: np.array_equal(w, points[0]),
        )
        assert end.cycle_length == 2
        assert not end.converged

    def test_can_be_stopped(self):
        answers = iter([False, False, True])
        end = fixed_point(lambda w: w + 1.0, np.zeros(1), max_iter=9, tol=0.0, report=lambda: next(answers))
        assert end.interrupted
        assert end.n_iter == 3


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


class TestReservoir:
    def test_keeps_everything_without_a_size(self):
        reservoir = Reservoir(2, np.dtype(np.float64), None)
        X = np.arange(20.0).reshape(10, 2)
        generator = np.random.RandomState(0)
        first = reservoir.add(X[:4], np.zeros(4, int), generator)
        second = reservoir.add(X[4:], np.ones(6, int), generator)
        np.testing.assert_array_equal(reservoir.rows, X)
        np.testing.assert_array_equal(np.concatenate([first, second]), np.arange(10))
        np.testing.assert_array_equal(reservoir.codes, [0] * 4 + [1] * 6)

    def test_every_sample_has_the_same_chance(self):
        counts = np.zeros(40)
        for seed in range(600):
            reservoir = Reservoir(1, np.dtype(np.float64), 8)
            generator = np.random.RandomState(seed)
            for start in range(0, 40, 7):
                batch = np.arange(start, min(start + 7, 40), dtype=float)[:, None]
                places = reservoir.add(batch, np.zeros(len(batch), int), generator)
                kept = places >= 0
                np.testing.assert_array_equal(reservoir.rows[places[kept]], batch[kept])
                assert len(np.unique(places[kept])) == kept.sum()
            assert len(reservoir.rows) == 8
            counts[reservoir.rows[:, 0].astype(int)] += 1
        expected = 600 * 8 / 40
        assert np.all(np.abs(counts - expected) < 5 * np.sqrt(expected))

    def test_draws_as_one_sample_after_another_would(self):
        """Vitter's algorithm R as it is written, from the same random numbers."""
        X = np.arange(90.0)[:, None]
        reservoir, generator = Reservoir(1, X.dtype, 8), np.random.RandomState(4)
        one_by_one, kept = np.random.RandomState(4), []
        for start, end in ((0, 5), (5, 6), (6, 40), (40, 90)):
            before = reservoir.rows, reservoir.rows.copy()
            places = reservoir.add(X[start:end], np.arange(start, end), generator)
            np.testing.assert_array_equal(*before)
            for t in range(start, end):
                place = len(kept) if t < 8 else one_by_one.randint(t + 1)
                if place < 8:
                    kept[place : place + 1] = [t]
            np.testing.assert_array_equal(reservoir.rows[:, 0], kept)
            np.testing.assert_array_equal(reservoir.codes, kept)
            expected = [kept.index(t) if t in kept else -1 for t in range(start, end)]
            np.testing.assert_array_equal(places, expected)
        assert generator.randint(10**9) == one_by_one.randint(10**9)

    @pytest.mark.parametrize("scale", ["range", "standard", None])
    def test_scaling_is_that_of_all_that_was_seen(self, scale):
        X = np.random.default_rng(0).normal(3.0, 2.0, (50, 3))
        X[:, 1] = 7.0
        reservoir = Reservoir(3, X.dtype, 5)
        for start in range(0, 50, 8):
            batch = X[start : start + 8]
            reservoir.add(batch, np.zeros(len(batch), int), np.random.RandomState(0))
        ours, expected = reservoir.scaling(scale).apply(X), feature_scaling(X, scale, None).apply(X)
        np.testing.assert_allclose(ours, expected, atol=1e-13)


class TestThreads:
    @given(st.integers(1, 300), st.integers(1, 20), st.sampled_from([1, 4, 64]))
    def test_ranges_cover_everything_once(self, n, parts, multiple):
        ranges = even_ranges(n, parts, multiple)
        assert [i for a, b in ranges for i in range(a, b)] == list(range(n))
        assert len(ranges) <= parts
        assert all(a % multiple == 0 for a, _ in ranges)

    def test_results_come_in_order(self):
        assert run_all(lambda i: i * i, [(i,) for i in range(50)], 4) == [i * i for i in range(50)]

    def test_an_error_reaches_the_caller(self):
        def fail(i):
            if i == 3:
                raise KeyError("three")

        with pytest.raises(KeyError, match="three"):
            run_all(fail, [(i,) for i in range(8)], 2)

    def test_several_callers_share_the_threads(self):
        def many(_):
            return sum(run_all(lambda i: i, [(i,) for i in range(20)], 2))

        with ThreadPoolExecutor(6) as callers:
            assert list(callers.map(many, range(12))) == [190] * 12

    @pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
    def test_works_in_a_forked_child(self):
        run_all(lambda i: i, [(1,), (2,)], 2)  # the parent has threads now
        assert n_helpers() > 0
        with multiprocessing.get_context("fork").Pool(1) as pool:
            assert pool.apply_async(_sum_in_threads).get(timeout=60) == 190


def _sum_in_threads():
    return sum(run_all(lambda i: i, [(i,) for i in range(20)], 2))
