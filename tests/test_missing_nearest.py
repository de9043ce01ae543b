"""Missing values in the methods of the nearest neighbours: as the oracle has it, and what must not change."""

import numpy as np
import pytest
from oracles import missing_1994 as oracle
from oracles.frel_2015 import frel_objective
from oracles.relief_1994 import neighbor_shares
from scipy.special import stdtrit
from test_missing import incomplete_table

from highrelief import FREL, Relief, ReliefF
from highrelief.core import neighbor_search

METRICS = ["manhattan", "euclidean", "sqeuclidean"]


class TestOracle:
    @pytest.mark.parametrize("counted", [False, True])
    @pytest.mark.parametrize("metric", METRICS)
    @pytest.mark.parametrize(("dtype", "close"), [(np.float64, 1e-12), (np.float32, 2e-6)])
    def test_weights(self, dtype, close, metric, counted):
        X, y, copies = incomplete_table(dtype, counted)
        tol = 1e-6 if dtype == np.float32 else 1e-12
        given = {"sample_weight": copies} if counted else {}
        found = ReliefF(n_neighbors=4, metric=metric).fit(X, y, **given).feature_weights_
        np.testing.assert_allclose(found, oracle.relieff(X, y, 4, metric, s=copies, tol=tol), atol=close)
        found = Relief(metric=metric).fit(X, y, **given).feature_weights_
        expected = oracle.relieff(X, y, 1, metric, s=copies, pooled=True, tol=tol)
        np.testing.assert_allclose(found, expected, atol=close)

    @pytest.mark.parametrize("counted", [False, True])
    @pytest.mark.parametrize("neighbors", ["uniform", "rank"])
    def test_few_levels_with_ties(self, counted, neighbors):
        """Bit planes: distances are whole numbers but for what is expected."""
        random = np.random.default_rng(3)
        X = random.integers(0, 3, (60, 8)).astype(float)
        X[random.random(X.shape) < 0.15] = np.nan
        X[7] = np.nan
        y = random.integers(0, 2, 60)
        copies = random.integers(1, 4, 60).astype(float) if counted else None
        model = ReliefF(n_neighbors=5, neighbor_weights=neighbors, rank_decay=2.0)
        found = model.fit(X, y, sample_weight=copies).feature_weights_
        decay = 2.0 if neighbors == "rank" else None
        expected = oracle.relieff(X, y, 5, rank_decay=decay, s=copies)
        np.testing.assert_allclose(found, expected, atol=1e-12)

    @pytest.mark.parametrize("metric", METRICS)
    @pytest.mark.parametrize("way", ["rows", "bands"])
    def test_every_way_to_find_neighbors(self, way, metric, monkeypatch):
        X, y, _ = incomplete_table(np.float64, False)
        copies = np.where(np.arange(70) % 5, 1.0, 3.0)
        expected = oracle.relieff(X, y, 4, metric, s=copies)
        monkeypatch.setattr(neighbor_search, "_way", lambda *_: way)
        monkeypatch.setattr(neighbor_search, "BAND", 64)
        monkeypatch.setattr(neighbor_search, "_ANCHORS_AT_ONCE", 8)
        for n_jobs in (1, 2):
            model = ReliefF(n_neighbors=4, metric=metric, n_jobs=n_jobs).fit(X, y, sample_weight=copies)
            np.testing.assert_allclose(model.feature_weights_, expected, atol=1e-12)

    def test_pieces_of_a_wide_table(self, monkeypatch):
        random = np.random.default_rng(4)
        X = random.normal(size=(20, 700))
        X[:, ::3] = random.integers(0, 2, (20, 234))
        X[random.random(X.shape) < 0.1] = np.nan
        y = np.arange(20) % 2
        monkeypatch.setattr(neighbor_search, "_PIECE_BYTES", 2**12)
        found = ReliefF(n_neighbors=3).fit(X, y).feature_weights_
        np.testing.assert_allclose(found, oracle.relieff(X, y, 3), atol=1e-12)

    def test_very_different_ranges(self):
        """Distances in floats, and values that no square of fits a float."""
        random = np.random.default_rng(5)
        X = random.normal(size=(40, 5))
        X[random.random(X.shape) < 0.2] = np.nan
        y = np.arange(40) % 2
        for size, metric in ((1e-9, "manhattan"), (1e60, "sqeuclidean"), (1e200, "euclidean")):
            spread = X * [1.0, 1e-3, 1e-4, 1e-5, 1.0]
            D, E = oracle.expected_distances(spread, metric)
            expected = oracle.relieff_rows(D, E, y, 3).mean(axis=0)
            found = ReliefF(n_neighbors=3, metric=metric, scale=None).fit(spread * size, y).feature_weights_
            unit = size**2 if metric == "sqeuclidean" else size
            np.testing.assert_allclose(found / unit, expected, rtol=1e-9)

    @pytest.mark.parametrize("metric", METRICS)
    def test_margins(self, metric):
        X, y, _ = incomplete_table(np.float64, False)
        model = ReliefF(n_neighbors=4, metric=metric).fit(X, y)
        new, classes = X[::2], y[::2]
        w = model.feature_importances_ / np.linalg.norm(model.feature_importances_)
        scaled = model._scaling.apply(new)
        D, E = oracle.expected_distances(scaled, metric)
        expected = oracle.relieff_rows(D, E, classes, 4) @ w
        np.testing.assert_allclose(model.margins(new, classes), expected, atol=1e-12)

    @pytest.mark.parametrize("metric", METRICS)
    def test_anchors(self, metric):
        X, y, copies = incomplete_table(np.float64, True)
        model = ReliefF(n_neighbors=4, metric=metric, n_anchors=30, random_state=0)
        model.fit(X, y, sample_weight=copies)
        scaled = oracle.scale_observed(X)
        D, E = oracle.expected_distances(scaled, metric, copies)
        rows = oracle.relieff_rows(D, E, y, 4, s=copies)
        order = np.random.RandomState(0).choice(70, 30, replace=False)
        s, z = copies[order][:, np.newaxis], rows[order]
        mean = (s * z).sum(axis=0) / s.sum()
        np.testing.assert_allclose(model.feature_weights_, mean, atol=1e-12)
        m = s.sum() ** 2 / (s**2).sum()
        variance = (s**2 * (z - mean) ** 2).sum(axis=0) / s.sum() ** 2 * m / (m - 1.0) * (1.0 - 30 / 70)
        half = np.sqrt(variance) * stdtrit(m - 1.0, 0.975)
        found = np.diff(model.weight_intervals_, axis=1)[:, 0] / 2.0
        varies = np.arange(6) != 3
        np.testing.assert_allclose(found[varies], half[varies], rtol=1e-9)


class TestFrel:
    @pytest.mark.parametrize("loss", ["log", "square", "hinge", "square-exp"])
    def test_hits_misses_and_gaps(self, loss):
        """The objective, at the weights that were found, from expected differences."""
        X, y, _ = incomplete_table(np.float64, False)
        D, E = oracle.expected_distances(oracle.scale_observed(X), "manhattan")
        n = len(y)
        H, M, gaps = np.zeros((n, 6)), np.zeros((n, 6)), np.zeros(n)
        for i in range(n):
            others = np.arange(n) != i
            hits = neighbor_shares(D[i], ((y == y[i]) & others).astype(float), 1)
            misses = neighbor_shares(D[i], (y != y[i]).astype(float), 1)
            H[i], M[i], gaps[i] = hits @ E[i], misses @ E[i], hits @ D @ misses
        for solver in ("sgd", "exact"):
            model = FREL(loss=loss, solver=solver, alpha=0.1).fit(X, y)
            expected = frel_objective(model.feature_weights_, H, M, gaps, loss, "l2", 0.1)
            np.testing.assert_allclose(model.objective_, expected, rtol=1e-10)
        if solver == "exact":
            assert model.residual_ < 1e-9
