"""Fixed points: averages, cycles, and what is reported of them."""

import numpy as np
import pytest

from highrelief._solvers.fixed_point import fixed_point


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
