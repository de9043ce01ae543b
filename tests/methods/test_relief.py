"""What users of Relief and ReliefF rely on beyond the contract."""

import numpy as np
import oracles
import pytest
import scipy.stats
from sklearn.datasets import load_iris

from highrelief import Relief, ReliefF
from highrelief.datasets import make_epistasis, make_ringnorm, make_xor


@pytest.fixture(scope="module")
def genotypes():
    X, y, relevant = make_epistasis(400, n_irrelevant=10, random_state=0)
    return X, y, relevant


class TestRelieff:
    @pytest.mark.parametrize("neighbor_weights", ["uniform", "rank"])
    @pytest.mark.parametrize("metric", ["manhattan", "euclidean", "sqeuclidean"])
    def test_equals_the_oracle_on_tied_data(self, genotypes, neighbor_weights, metric):
        X, y, _ = genotypes
        X, y = X[:150], y[:150]
        fitted = ReliefF(neighbor_weights=neighbor_weights, rank_decay=4.0, metric=metric).fit(X, y)
        decay = None if neighbor_weights == "uniform" else 4.0
        expected = oracles.relieff(oracles.scale_range(X), y, 10, metric, rank_decay=decay)
        np.testing.assert_allclose(fitted.feature_weights_, expected, atol=1e-12)

    def test_weighs_the_irises_as_published(self):
        # relieff(meas, species, 10) in the documentation of MATLAB's Statistics Toolbox.
        weights = ReliefF(n_neighbors=10).fit(*load_iris(return_X_y=True)).feature_weights_
        np.testing.assert_array_equal(weights.round(4), [0.1399, 0.1226, 0.3590, 0.3754])

    def test_finds_a_pure_interaction(self, genotypes):
        X, y, relevant = genotypes
        assert np.all(ReliefF().fit(X, y).ranking_[relevant] <= 2)

    def test_row_order_does_not_matter_with_ties(self, genotypes):
        X, y, _ = genotypes
        order = np.random.default_rng(0).permutation(len(X))
        a = ReliefF().fit(X, y).feature_weights_
        np.testing.assert_allclose(ReliefF().fit(X[order], y[order]).feature_weights_, a, atol=1e-13)

    def test_more_neighbors_than_samples(self):
        X, y, _ = make_ringnorm(20, n_features=4, random_state=0)
        a = ReliefF(n_neighbors=10**9).fit(X, y).feature_weights_
        np.testing.assert_allclose(a, ReliefF(n_neighbors=20).fit(X, y).feature_weights_, atol=1e-15)

    def test_a_duplicate_is_a_neighbor_and_the_sample_is_not(self):
        X = np.array([[0.0], [0.0], [0.4], [1.0], [0.9]])
        y = np.array([0, 0, 0, 1, 1])
        rows = np.array([0.9 - 0.0, 0.9 - 0.0, 0.5 - 0.4, 0.6 - 0.1, 0.5 - 0.1])
        fitted = ReliefF(n_neighbors=1, scale=None).fit(X, y)
        np.testing.assert_allclose(fitted.feature_weights_, rows.mean())

    def test_three_unequal_classes_weigh_misses_by_prior(self):
        rng = np.random.default_rng(0)
        X = rng.random((60, 4))
        y = np.repeat([0, 1, 2], [40, 15, 5])
        fitted = ReliefF(n_neighbors=3, scale=None).fit(X, y)
        np.testing.assert_allclose(fitted.feature_weights_, oracles.relieff(X, y, 3), atol=1e-13)


class TestAnchors:
    @pytest.mark.parametrize("weighter", [Relief, ReliefF])
    def test_are_drawn_without_replacement(self, weighter):
        X, y, _ = make_ringnorm(80, n_features=5, random_state=0)
        everything = weighter(n_anchors=80, random_state=3).fit(X, y).feature_weights_
        np.testing.assert_allclose(everything, weighter().fit(X, y).feature_weights_, atol=1e-14)

    @pytest.mark.parametrize("n_anchors", [5, 40])
    def test_mean_over_the_anchors(self, n_anchors):
        X, y, _ = make_ringnorm(80, n_features=5, random_state=0)
        anchors = np.random.RandomState(7).choice(80, n_anchors, replace=False)
        ours = ReliefF(n_anchors=n_anchors, random_state=7).fit(X, y).feature_weights_
        expected = oracles.relieff(oracles.scale_range(X), y, 10, anchors=anchors)
        np.testing.assert_allclose(ours, expected, atol=1e-13)

    def test_depend_on_the_seed_only(self):
        X, y, _ = make_ringnorm(80, n_features=5, random_state=0)
        a, b, c = (Relief(n_anchors=10, random_state=s).fit(X, y).feature_weights_ for s in (0, 0, 1))
        np.testing.assert_array_equal(a, b)
        assert np.any(a != c)


def test_margins_are_those_of_the_formula():
    X, y, _ = make_ringnorm(60, n_features=5, random_state=0)
    fitted = ReliefF(n_neighbors=4).fit(X, y)
    rows = oracles.relieff_rows(oracles.scale_range(X), y, 4)
    positive = np.maximum(fitted.feature_weights_, 0.0)
    np.testing.assert_allclose(fitted.margins(X, y), rows @ (positive / np.linalg.norm(positive)), atol=1e-12)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_margins_go_with_the_units_of_features_that_are_not_scaled(unit):
    """Weights are so small, or so large, that their squares are no numbers."""
    X, y, _ = make_xor(60, n_irrelevant=2, random_state=0)
    expected, found = (Relief(scale=None).fit(each, y).margins(each, y) for each in (X, X * unit))
    np.testing.assert_allclose(found / unit, expected, rtol=1e-12, atol=1e-12)


def test_epistasis_files(data_folder):
    """Causal genotypes come first on the data sets that the rivals use as examples."""
    data = np.load(data_folder / "epistasis" / "gametes_2way_20atts_0.4h.npz")
    ranking = ReliefF(n_neighbors=10).fit(data["X"], data["y"]).ranking_
    assert sorted(ranking[data["relevant"]]) == [1, 2]


class TestIntervals:
    """How far weights from some anchors may be from those of all."""

    @pytest.fixture
    def table(self):
        X, y, _ = make_xor(600, n_irrelevant=20, random_state=0)
        return X, y

    def test_the_formula(self, table):
        X, y = (each[:160] for each in table)
        fitted = ReliefF(n_anchors=50, random_state=3, confidence=0.9).fit(X, y)
        anchors = np.random.RandomState(3).choice(160, 50, replace=False)
        z = oracles.relieff_rows(oracles.scale_range(X), y, 10)[anchors]
        error = z.std(axis=0, ddof=1) * np.sqrt((1 - 50 / 160) / 50)
        half = scipy.stats.t.ppf(0.95, 49) * error
        np.testing.assert_allclose(fitted.feature_weights_, z.mean(axis=0), atol=1e-12)
        expected = np.stack([z.mean(axis=0) - half, z.mean(axis=0) + half], axis=1)
        np.testing.assert_allclose(fitted.weight_intervals_, expected, atol=1e-10)
        assert fitted.n_anchors_ == 50

    def test_hold_as_often_as_they_say(self, table):
        X, y = table
        everything = ReliefF().fit(X, y).feature_weights_
        held = []
        for seed in range(100):
            low, high = ReliefF(n_anchors=60, random_state=seed).fit(X, y).weight_intervals_.T
            held.append(np.mean((low <= everything) & (everything <= high)))
        # 100 draws of 22 dependent features: the mean is 0.95 with a standard error well below 0.01.
        assert 0.92 < np.mean(held) < 0.98

    @pytest.mark.parametrize("parameters", [{}, {"n_anchors": 600}, {"max_error": 0.0}])
    def test_nothing_is_left_to_chance_with_all_anchors(self, table, parameters):
        X, y = table
        # Nothing but all anchors settles features that are as good as each other.
        X = np.hstack([X, X])
        fitted = ReliefF(**parameters, n_features_to_select=1, random_state=0).fit(X, y)
        assert fitted.n_anchors_ == 600
        np.testing.assert_array_equal(fitted.weight_intervals_[:, 0], fitted.weight_intervals_[:, 1])
        np.testing.assert_allclose(
            fitted.weight_intervals_[:, 0], ReliefF().fit(X, y).feature_weights_, atol=1e-14
        )

    def test_hold_for_rare_values_too(self):
        """A sample that has seen no carrier of a rare allele knows nothing of it."""
        rng = np.random.default_rng(0)
        X, y = rng.random((1000, 10)), rng.integers(0, 2, 1000)
        X[:, 0] = rng.random(1000) < 0.005
        everything = ReliefF().fit(X, y).feature_weights_[0]
        held = 0
        for seed in range(60):
            low, high = ReliefF(n_anchors=64, random_state=seed).fit(X, y).weight_intervals_[0]
            assert low < high
            held += low <= everything <= high
        assert held >= 54

    @pytest.mark.slow
    def test_hold_where_weights_go_with_the_margins(self):
        rng = np.random.default_rng(1)
        X, y = rng.random((500, 4)), rng.integers(0, 2, 500)
        X[:, 0] += 2.0 * y * (np.arange(500) < 100)
        s = np.where(np.arange(500) < 100, 5.0, 1.0)
        everything = ReliefF().fit(X, y, sample_weight=s).feature_weights_
        held = []
        for seed in range(200):
            fitted = ReliefF(n_anchors=80, random_state=seed).fit(X, y, sample_weight=s)
            low, high = fitted.weight_intervals_.T
            held.append((low <= everything) & (everything <= high))
        # 200 draws: 0.95 has a standard error of 0.015.
        assert np.all(np.mean(held, axis=0) > 0.91)

    def test_copies_count_as_their_weights_say(self, table):
        X, y = table
        s = np.random.default_rng(0).integers(1, 4, 600).astype(float)
        fitted = ReliefF(n_anchors=80, random_state=0).fit(X, y, sample_weight=s)
        everything = ReliefF().fit(X, y, sample_weight=s).feature_weights_
        low, high = fitted.weight_intervals_.T
        assert np.mean((low <= everything) & (everything <= high)) > 0.7
        assert np.all(low < high)


class TestMaxError:
    """Anchors are drawn until the top is settled."""

    @pytest.fixture
    def table(self):
        return make_xor(2000, n_irrelevant=30, random_state=0)

    def test_an_easy_top_needs_few_anchors(self, table):
        X, y, relevant = table
        fitted = ReliefF(n_features_to_select=2, max_error=0.01, random_state=0).fit(X, y)
        assert fitted.n_anchors_ < 1000
        np.testing.assert_array_equal(fitted.get_support(), relevant)

    def test_less_error_needs_more_anchors(self, table):
        X, y, _ = table
        drawn = [
            ReliefF(n_features_to_select=5, max_error=e, random_state=0).fit(X, y).n_anchors_
            for e in (0.1, 0.03, 0.01, 0.0)
        ]
        assert drawn == sorted(drawn)
        assert drawn[0] < drawn[-1] == 2000

    def test_the_promise_is_kept(self, table):
        X, y, _ = table
        X, y = X[:500], y[:500]
        everything = ReliefF().fit(X, y).feature_weights_
        for seed in range(40):
            fitted = ReliefF(n_features_to_select=5, max_error=0.02, random_state=seed).fit(X, y)
            kept = fitted.get_support()
            assert everything[~kept].max() - everything[kept].min() <= 0.02

    def test_without_a_number_to_select_the_sign_is_what_counts(self, table):
        X, y, _ = table
        X, y = X[:500], y[:500]
        everything = ReliefF().fit(X, y).feature_weights_
        fitted = ReliefF(max_error=0.02, random_state=0).fit(X, y)
        assert fitted.n_anchors_ < 500
        positive = fitted.feature_weights_ > 0.0
        assert everything[positive].min() >= -0.02
        assert everything[~positive].max() <= 0.02

    def test_the_same_seed_gives_the_same_bits(self, table):
        X, y, _ = table
        a, b = (
            ReliefF(max_error=0.01, n_features_to_select=2, random_state=4, n_jobs=n).fit(X, y)
            for n in (1, 3)
        )
        assert a.n_anchors_ == b.n_anchors_
        np.testing.assert_array_equal(a.weight_intervals_, b.weight_intervals_)

    def test_n_anchors_is_the_most_that_are_drawn(self, table):
        X, y, _ = table
        fitted = ReliefF(max_error=0.0, n_anchors=200, n_features_to_select=5, random_state=0).fit(X, y)
        assert fitted.n_anchors_ == 200
