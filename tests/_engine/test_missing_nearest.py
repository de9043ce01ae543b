"""Missing values in the methods of the nearest neighbors: as the oracle has it, and what must not change."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import missing_1994 as oracle
from oracles.frel_2015 import frel_objective
from oracles.relief_1994 import neighbor_shares
from registry import THOROUGH, pairwise
from scipy.special import stdtrit
from sklearn.base import clone
from small_tables import SEARCH_ORDERS, incomplete_table

from highrelief import FREL, CrossValidatedSelector, EnsembleWeighting, Relief, ReliefF, VarianceReduction
from highrelief._engine.neighbors import Neighborhood
from highrelief._engine.scaling import ColumnRanges, MissingMask, Scaling
from highrelief.base.training_data import TrainingData, choose_engine
from highrelief.stability import stability_score

METRICS = ["manhattan", "euclidean", "sqeuclidean"]


class TestOracle:
    @pairwise(
        pytest.mark.parametrize("counted", [False, True]),
        pytest.mark.parametrize("metric", METRICS),
        pytest.mark.parametrize(("dtype", "close"), [(np.float64, 1e-12), (np.float32, 2e-6)]),
    )
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
    def test_every_way_to_find_neighbors(self, way, metric, force):
        X, y, _ = incomplete_table(np.float64, False)
        copies = np.where(np.arange(70) % 5, 1.0, 3.0)
        expected = oracle.relieff(X, y, 4, metric, s=copies)
        force(**SEARCH_ORDERS[way], anchors_at_once=8)
        for n_jobs in (1, 2):
            model = ReliefF(n_neighbors=4, metric=metric, n_jobs=n_jobs).fit(X, y, sample_weight=copies)
            np.testing.assert_allclose(model.feature_weights_, expected, atol=1e-12)

    def test_pieces_of_a_wide_table(self, force):
        random = np.random.default_rng(4)
        X = random.normal(size=(20, 700))
        X[:, ::3] = random.integers(0, 2, (20, 234))
        X[random.random(X.shape) < 0.1] = np.nan
        y = np.arange(20) % 2
        force(piece_bytes=2**12)
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


class TestInsideOthers:
    def table(self):
        random = np.random.default_rng(0)
        X = random.normal(size=(80, 8))
        y = random.integers(0, 2, 80)
        X[:, 2] += 2 * y
        X[random.random(X.shape) < 0.1] = np.nan
        return X, y

    @pytest.mark.parametrize("weighter", [Relief(), ReliefF(), FREL(solver="exact")])
    def test_members_of_an_ensemble(self, weighter):
        X, y = self.table()
        whole = EnsembleWeighting(weighter, n_estimators=3, max_samples=0.7, random_state=0).fit(X, y)
        alone = [clone(weighter).fit(X[rows], y[rows]) for rows in whole.estimators_samples_]
        mean = np.mean([each.feature_weights_ for each in alone], axis=0)
        np.testing.assert_allclose(whole.feature_weights_, mean, atol=1e-14)
        assert np.isnan(whole.transform(X)).any()

    def test_weighted_columns_of_an_ensemble(self):
        X, y = self.table()
        whole = EnsembleWeighting(ReliefF(), n_estimators=3, random_state=0, weighted=True).fit(X, y)
        kept = whole.get_support()
        low, high = np.nanmin(X[:, kept], axis=0), np.nanmax(X[:, kept], axis=0)
        expected = (X[:, kept] - low) / (high - low) * whole.feature_weights_[kept]
        np.testing.assert_allclose(whole.transform(X), expected, atol=1e-14)

    def test_halves(self):
        X, y = self.table()
        assert -1.0 <= stability_score(ReliefF(), X, y, random_state=0) <= 1.0

    @pytest.mark.parametrize("around", [CrossValidatedSelector, VarianceReduction])
    def test_what_needs_all_values_says_so(self, around):
        with pytest.raises(ValueError, match="contains NaN"):
            around(ReliefF()).fit(*self.table())

    def test_categories_by_name(self):
        X, y = self.table()
        for chosen in ("from_dtype", ["a"]):
            with pytest.raises(ValueError, match="must be a mask or indices"):
                EnsembleWeighting(ReliefF(categorical_features=chosen)).fit(X, y)


@pytest.mark.parametrize("weighter", [Relief(), ReliefF(), FREL(), FREL(solver="exact", loss="hinge")])
class TestProperties:
    def table(self, seed=0, n=50):
        random = np.random.default_rng(seed)
        X = random.normal(size=(n, 6))
        y = random.integers(0, 2, n)
        X[random.random(X.shape) < 0.15] = np.nan
        return X, y

    def test_a_column_of_nothing_weighs_nothing(self, weighter):
        X, y = self.table()
        whole = np.insert(X, 2, np.nan, axis=1)
        found = clone(weighter).fit(whole, y).feature_weights_
        assert found[2] == 0.0
        expected = clone(weighter).fit(X, y).feature_weights_
        np.testing.assert_allclose(np.delete(found, 2), expected, atol=1e-14)

    def test_input_of_any_kind(self, weighter):
        X, y = self.table()
        expected = clone(weighter).fit(X, y).feature_weights_
        names = list("abcdef")
        frame = pd.DataFrame(X, columns=names)
        nulls = pl.DataFrame({n: [None if np.isnan(v) else v for v in X[:, j]] for j, n in enumerate(names)})
        for table in (np.asfortranarray(X), frame, frame.astype("Float64"), nulls, X[::-1].copy()[::-1]):
            np.testing.assert_array_equal(clone(weighter).fit(table, y).feature_weights_, expected)

    def test_names_of_classes_do_not_matter(self, weighter):
        X, y = self.table()
        expected = clone(weighter).fit(X, y).feature_weights_
        found = clone(weighter).fit(X, np.array(["b", "a"])[y]).feature_weights_
        np.testing.assert_allclose(found, expected, atol=1e-13)

    def test_transform_keeps_what_is_missing(self, weighter):
        X, y = self.table()
        model = clone(weighter).set_params(n_features_to_select=6).fit(X, y)
        np.testing.assert_array_equal(model.transform(X), X)
        weighted = model.set_params(weighted=True).transform(X)
        np.testing.assert_array_equal(np.isnan(weighted), np.isnan(X))

    def test_infinity_is_no_missing_value(self, weighter):
        X, y = self.table()
        X[0, 0] = np.inf
        with pytest.raises(ValueError, match="infinity"):
            clone(weighter).fit(X, y)


class TestNeighbors:
    def test_a_gap_moves_no_neighbors_of_others(self):
        """Rows of which neither has a gap, or a neighbor with one, keep their neighbors and shares."""
        random = np.random.default_rng(1)
        X = random.normal(size=(40, 5))
        y = np.arange(40) % 2
        found = []
        for table in (X, X.copy()):
            if found:
                table[7, 3] = np.nan
            rows = choose_engine(_training_data(table, y), Scaling.none(5, np.dtype(float)), 1, 1e8)
            shares = rows.nearest(Neighborhood(3)).all_shares().toarray()
            found.append(shares)
        away = np.delete(np.arange(40), 7)
        untouched = away[(found[0][away][:, 7] == 0.0) & (found[1][away][:, 7] == 0.0)]
        assert untouched.size > 20
        np.testing.assert_array_equal(found[0][untouched], found[1][untouched])

    @pytest.mark.parametrize("metric", METRICS)
    def test_copies_are_copies(self, metric):
        X, y, copies = incomplete_table(np.float64, True)
        counted = ReliefF(n_neighbors=4, metric=metric).fit(X, y, sample_weight=copies)
        rows = np.repeat(np.arange(70), copies.astype(int))
        copied = ReliefF(n_neighbors=4, metric=metric).fit(X[rows], y[rows])
        np.testing.assert_allclose(counted.feature_weights_, copied.feature_weights_, atol=1e-12)

    def test_order_of_rows_and_threads(self):
        X, y, copies = incomplete_table(np.float64, True)
        found = ReliefF().fit(X, y, sample_weight=copies).feature_weights_
        order = np.random.default_rng(0).permutation(70)
        again = ReliefF(n_jobs=2).fit(X[order], y[order], sample_weight=copies[order]).feature_weights_
        np.testing.assert_allclose(again, found, atol=1e-13)
        threads = ReliefF(n_jobs=2).fit(X, y, sample_weight=copies).feature_weights_
        assert threads.tobytes() == found.tobytes()

    def test_bits_do_not_depend_on_threads(self):
        random = np.random.default_rng(0)
        X = random.normal(size=(300, 90)).astype(np.float32)
        X[random.random(X.shape) < 0.05] = np.nan
        y = random.integers(0, 3, 300)
        for parameters in ({}, {"n_anchors": 60, "random_state": 0}, {"metric": "euclidean"}):
            one, two = (ReliefF(n_jobs=n, **parameters).fit(X, y) for n in (1, 2))
            assert one.feature_weights_.tobytes() == two.feature_weights_.tobytes()

    def test_gaps_at_random_make_no_signal(self):
        """The mean weight of a column of noise, over many tables, is 0 within its error."""
        weights = []
        for seed in range(60):
            random = np.random.default_rng(seed)
            X = random.normal(size=(60, 3))
            y = random.integers(0, 2, 60)
            X[random.random(60) < 0.5, 0] = np.nan
            X[random.random(60) < 0.9, 1] = np.nan
            weights.append(ReliefF(n_neighbors=5).fit(X, y).feature_weights_)
        mean, error = np.mean(weights, axis=0), np.std(weights, axis=0, ddof=1) / np.sqrt(60)
        assert np.all(np.abs(mean) < 4.0 * error)
        assert np.all(error[:2] < 0.01)

    @settings(max_examples=40 if THOROUGH else 15, deadline=None)
    @given(st.integers(0, 10**6), st.floats(0.0, 0.95), st.booleans(), st.booleans())
    def test_any_gaps(self, seed, share, few_levels, empty_row):
        random = np.random.default_rng(seed)
        X = random.integers(0, 3, (24, 4)).astype(float) if few_levels else random.normal(size=(24, 4))
        y = random.integers(0, 3, 24)
        X[random.random(X.shape) < share] = np.nan
        X[y == 1, 1] = np.nan
        X[0, :2], X[1, :2] = 0.0, 2.0
        if empty_row:
            X[5] = np.nan
        y[:2] = 0, 2
        found = ReliefF(n_neighbors=3).fit(X, y).feature_weights_
        np.testing.assert_allclose(found, oracle.relieff(X, y, 3), atol=1e-11)
        chosen = [1, 3]
        X[:, chosen] = np.round(X[:, chosen])
        found = ReliefF(n_neighbors=3, categorical_features=chosen).fit(X, y).feature_weights_
        np.testing.assert_allclose(found, oracle.relieff(X, y, 3, categorical=chosen), atol=1e-11)


def _training_data(X, y):
    absent = None
    if np.isnan(X).any():
        absent, X = MissingMask.extract(X, 1)
    included = np.ones(len(y), bool)
    ranges = ColumnRanges.of(X)
    return TrainingData(X=X, y=y, codes=y, included=included, known_ranges=ranges, missing_mask=absent)


class TestRealData:
    def load(self, data_folder, name, kind="epistasis"):
        data = np.load(data_folder / kind / f"{name}.npz")
        return data["X"], data["y"], data["relevant"] if kind == "epistasis" else None

    def test_missing(self, data_folder):
        X, y, relevant = self.load(data_folder, "gametes_2way_missing_0.1")
        assert np.isnan(X).mean() > 0.09
        for model in (ReliefF(), ReliefF(categorical_features=np.ones(20, bool))):
            assert set(np.flatnonzero(model.fit(X, y).ranking_ <= 2)) == set(np.flatnonzero(relevant))

    def test_mixed(self, data_folder):
        X, y, relevant = self.load(data_folder, "gametes_2way_mixed_attribute")
        genotypes = [j for j in range(20) if set(np.unique(X[:, j])) <= {0.0, 1.0, 2.0}]
        assert 0 < len(genotypes) < 20
        ranking = ReliefF(categorical_features=genotypes).fit(X, y).ranking_
        assert set(np.flatnonzero(ranking <= 2)) == set(np.flatnonzero(relevant))

    def test_breast_cancer(self, data_folder):
        X, y, _ = self.load(data_folder, "breast_vantveer_4948", "microarray")
        assert np.isnan(X).sum() == 177
        assert np.all(np.isfinite(ReliefF().fit(X, y).feature_weights_))
        incomplete = np.isnan(X).any(axis=0)
        some = (incomplete & (np.cumsum(incomplete) <= 25)) | (np.arange(X.shape[1]) < 25)
        found = ReliefF().fit(X[:, some], y).feature_weights_
        np.testing.assert_allclose(found, oracle.relieff(X[:, some], y, 10, tol=1e-6), atol=2e-6)
