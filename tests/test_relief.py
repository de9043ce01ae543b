"""What users of Relief and ReliefF rely on beyond the contract."""

import numpy as np
import oracles
import pytest

from highrelief import Relief, ReliefF
from highrelief.datasets import make_epistasis, make_ringnorm


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

    def test_finds_a_pure_interaction(self, genotypes):
        X, y, relevant = genotypes
        assert np.all(ReliefF().fit(X, y).ranking_[relevant] <= 2)

    def test_row_order_does_not_matter_with_ties(self, genotypes):
        X, y, _ = genotypes
        order = np.random.default_rng(0).permutation(len(X))
        a = ReliefF().fit(X, y).feature_weights_
        np.testing.assert_allclose(ReliefF().fit(X[order], y[order]).feature_weights_, a, atol=1e-13)

    def test_more_neighbours_than_samples(self):
        X, y, _ = make_ringnorm(20, n_features=4, random_state=0)
        a = ReliefF(n_neighbors=10**9).fit(X, y).feature_weights_
        np.testing.assert_allclose(a, ReliefF(n_neighbors=20).fit(X, y).feature_weights_, atol=1e-15)

    def test_a_duplicate_is_a_neighbour_and_the_sample_is_not(self):
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


def test_epistasis_files(data_folder):
    """Causal genotypes come first on the data sets that the rivals use as examples."""
    data = np.load(data_folder / "epistasis" / "gametes_2way_20atts_0.4h.npz")
    ranking = ReliefF(n_neighbors=10).fit(data["X"], data["y"]).ranking_
    assert sorted(ranking[data["relevant"]]) == [1, 2]
