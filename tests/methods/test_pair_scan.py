"""PairScan: equal to its definition, blind to order and names, and what its page promises."""

import numpy as np
import pandas as pd
import pytest
from oracles import pair_scan as oracle
from scipy.stats import binomtest, kstest, norm

from highrelief import PairScan
from highrelief.datasets import make_xor
from highrelief.methods.pair_scan import Levels, discretized, n_steps, scan_pairs

#: Rounding of sums of logarithms in the oracle, and of three cube roots.
TOLERANCE = 1e-9
#: Where G is 0 but for rounding, 1e-14, the error of its cube root is 2e-5.
TOLERANCE_AT_0 = 1e-4


def mixed_table(seed, n_samples, n_features, n_classes, missing):
    """Continuous, binary, ternary, rounded and constant features, wide integers; classes of uneven size."""
    random = np.random.default_rng(seed)
    draws = (
        lambda: random.normal(size=n_samples),
        lambda: random.integers(0, 2, n_samples),
        lambda: random.binomial(2, 0.2, n_samples),
        lambda: np.round(random.normal(size=n_samples)),
        lambda: random.integers(0, 15, n_samples) * 37.0,
        lambda: random.choice([0.0, 5000.0, -3e6], n_samples),
        lambda: np.full(n_samples, 3.0),
    )
    X = np.stack([draws[j % len(draws)]() for j in random.permutation(n_features)], axis=1)
    X[random.uniform(size=X.shape) < missing] = np.nan
    sizes = random.dirichlet(np.ones(n_classes))
    y = np.concatenate([np.arange(n_classes), random.choice(n_classes, n_samples - n_classes, p=sizes)])
    return X.astype(float), y


def best(z):
    """Largest z > 0 of each row off the diagonal, or 0."""
    return np.maximum(np.where(np.eye(len(z), dtype=bool), 0.0, z), 0.0).max(axis=1)


def assert_partners(partners, z):
    for j, partner in enumerate(partners):
        if partner >= 0:
            assert z[j, partner] == pytest.approx(best(z)[j], abs=TOLERANCE)
        else:
            assert best(z)[j] < TOLERANCE


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize(
    ("n_samples", "n_features", "n_classes", "n_bins"),
    [(40, 9, 2, (3, 4)), (70, 12, 3, (5,)), (15, 7, 4, (2, 8)), (130, 8, 2, (3,)), (9, 2, 2, (3, 4))],
)
def test_equals_oracle(n_samples, n_features, n_classes, n_bins, missing):
    X, y = mixed_table(n_samples, n_samples, n_features, n_classes, missing)
    model = PairScan(n_bins=n_bins, n_pairs=7).fit(X, y)
    single, given, interaction = oracle.scan(X, y, n_bins)
    np.testing.assert_allclose(model.feature_weights_, best(given), atol=TOLERANCE)
    np.testing.assert_allclose(model.interaction_, best(interaction), atol=TOLERANCE)
    np.testing.assert_allclose(model.single_, single, atol=TOLERANCE_AT_0)
    assert_partners(model.best_partner_, given)
    assert_partners(model.interaction_partner_, interaction)
    weaker = np.minimum(given, given.T)
    falling = np.sort(weaker[np.triu_indices(n_features, 1)])[::-1]
    pairs = model.pairs_
    np.testing.assert_allclose(pairs["statistic"], falling[falling > 0.0][:7], atol=TOLERANCE)
    assert np.all(pairs["first"] < pairs["second"])
    at = pairs["first"], pairs["second"]
    np.testing.assert_allclose(pairs["statistic"], weaker[at], atol=TOLERANCE)
    np.testing.assert_allclose(pairs["interaction"], interaction[at], atol=TOLERANCE)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_strata_equal_oracle(missing):
    X, y = mixed_table(5, 60, 8, 3, missing)
    strata = np.arange(60) % 4 // 2
    found = scan_pairs(discretized(X, (3, 4)), y, 3, strata=strata)
    single, given, interaction = oracle.scan(X, y, (3, 4), strata=strata)
    np.testing.assert_allclose(found.conditional, best(given), atol=TOLERANCE)
    np.testing.assert_allclose(found.interaction, best(interaction), atol=TOLERANCE)
    np.testing.assert_allclose(found.single, single, atol=TOLERANCE_AT_0)


def test_categories_equal_oracle():
    X, y = mixed_table(2, 60, 7, 2, 0.1)
    random = np.random.default_rng(0)
    X[:, [0, 3]] = random.choice(6, (60, 2), p=[0.02, 0.4, 0.05, 0.3, 0.08, 0.15])
    model = PairScan(n_bins=3, categorical_features=[0, 3]).fit(X, y)
    given = oracle.scan(X, y, (3,), categorical=(0, 3))[1]
    np.testing.assert_allclose(model.feature_weights_, best(given), atol=TOLERANCE)


class TestLevels:
    @pytest.mark.parametrize("n_bins", [2, 3, 8])
    def test_bins_equal_oracle(self, n_bins):
        X, _ = mixed_table(8, 50, 14, 2, 0.1)
        levels = discretized(X, (n_bins, 5))
        for j, column in enumerate(X.T):
            values = [None if np.isnan(value) else value for value in column]
            for binning, expected in enumerate(oracle.levels(values, (n_bins, 5))):
                ours = levels.codes[levels.columns[j, binning]]
                assert [None if code < 0 else code for code in ours] == expected

    @pytest.mark.parametrize("n_samples", [3, 10, 13])
    def test_bins_of_few_samples_equal_oracle(self, n_samples):
        """Also of numbers with fewer than ten distinct values, in several blocks of columns and threads."""
        random = np.random.default_rng(0)
        X = np.round(random.normal(size=(n_samples, 600)), 1)
        X[:, ::3] = np.round(X[:, ::3])
        X[random.uniform(size=X.shape) < 0.01] = np.nan
        levels = discretized(X, (3, 4), n_threads=2)
        for j, column in enumerate(X.T):
            values = [None if np.isnan(value) else value for value in column]
            for binning, expected in enumerate(oracle.levels(values, (3, 4))):
                ours = levels.codes[levels.columns[j, binning]]
                assert [None if code < 0 else code for code in ours] == expected

    def test_genotypes_are_levels(self):
        X = np.repeat([[0, 1], [1, 1], [2, 0]], 20, axis=0).astype(np.int8)
        levels = discretized(X, (3, 4))
        np.testing.assert_array_equal(levels.codes, X.T)
        np.testing.assert_array_equal(levels.columns, [[0], [1]])

    def test_rare_levels_join_a_neighbor(self):
        x = np.repeat([0, 1, 2], [60, 36, 4])
        np.testing.assert_array_equal(discretized(x[:, np.newaxis], (3,)).codes[0], np.minimum(x, 1))

    def test_all_missing(self):
        X, y = mixed_table(1, 40, 5, 2, 0.0)
        X[:, 2] = np.nan
        model = PairScan(n_bins=3).fit(X, y)
        assert model.feature_weights_[2] == 0.0
        assert model.best_partner_[2] == -1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["numbers", "genotypes"])
def test_noise_seldom_exceeds_the_threshold(kind):
    """At most 5 %; a binomial test fails by chance once in 10,000 times."""
    n_above, n_tables = 0, 60
    for seed in range(n_tables):
        random = np.random.default_rng(seed)
        X = random.normal(size=(100, 20))
        if kind == "genotypes":
            X = random.binomial(2, random.uniform(0.1, 0.5, 20), (100, 20)).astype(np.int8)
        model = PairScan().fit(X, random.integers(0, 2, 100))
        n_above += model.feature_weights_.max() > model.threshold_
    assert binomtest(n_above, n_tables, 0.05, alternative="greater").pvalue > 1e-4


class TestInvariance:
    X, y = mixed_table(11, 90, 21, 3, 0.05)

    def fitted(self, X, y, **more):
        return PairScan(n_bins=(3, 4), **more).fit(X, y)

    def test_order_of_samples(self):
        order = np.random.default_rng(0).permutation(90)
        one, other = self.fitted(self.X, self.y), self.fitted(self.X[order], self.y[order])
        np.testing.assert_array_equal(one.feature_weights_, other.feature_weights_)
        np.testing.assert_equal(one.pairs_, other.pairs_)

    def test_order_of_features(self):
        order = np.random.default_rng(0).permutation(21)
        one, other = self.fitted(self.X, self.y), self.fitted(self.X[:, order], self.y)
        np.testing.assert_array_equal(one.feature_weights_[order], other.feature_weights_)
        np.testing.assert_array_equal(one.interaction_[order], other.interaction_)

    def test_names_of_classes(self):
        one, other = self.fitted(self.X, self.y), self.fitted(self.X, np.array(["c", "a", "b"])[self.y])
        np.testing.assert_array_equal(one.feature_weights_, other.feature_weights_)

    def test_names_of_levels(self):
        random = np.random.default_rng(3)
        X = pd.DataFrame(random.choice(list("abcd"), (80, 6)))
        renamed = X.replace(dict(zip("abcd", "dbac", strict=True)))
        one, other = (
            PairScan(categorical_features="from_dtype").fit(each, self.y[:80]) for each in (X, renamed)
        )
        np.testing.assert_array_equal(one.feature_weights_, other.feature_weights_)

    def test_monotone_transformations(self):
        X = np.abs(self.X[:, :5] + 0.5)
        one, other = self.fitted(X, self.y), self.fitted(np.exp(X / np.nanmax(X)), self.y)
        np.testing.assert_array_equal(one.feature_weights_, other.feature_weights_)

    @pytest.mark.parametrize("n_jobs", [2, 3])
    def test_threads(self, n_jobs):
        random = np.random.default_rng(0)
        X, y = random.integers(0, 3, (70, 150)), random.integers(0, 2, 70)
        one, other = PairScan().fit(X, y), PairScan(n_jobs=n_jobs).fit(X, y)
        for name in ("feature_weights_", "best_partner_", "interaction_", "interaction_partner_", "pairs_"):
            np.testing.assert_equal(getattr(one, name), getattr(other, name))


def test_equal_partners_give_the_lowest():
    random = np.random.default_rng(0)
    a, b = random.integers(0, 2, (2, 100))
    X = np.stack([random.integers(0, 2, 100), b, a, b, b], axis=1)
    model = PairScan().fit(X, a ^ b)
    np.testing.assert_array_equal(model.best_partner_[1:], [2, 1, 2, 2])
    np.testing.assert_array_equal(model.pairs_["first"][:3], [1, 2, 2])
    np.testing.assert_array_equal(model.pairs_["second"][:3], [2, 3, 4])


@pytest.mark.parametrize("continuous", [False, True])
def test_finds_exclusive_or(continuous):
    if continuous:
        X, y, relevant = make_xor(250, n_irrelevant=100, random_state=0)
        relevant = np.flatnonzero(relevant) if np.asarray(relevant).dtype == bool else relevant
    else:
        random = np.random.default_rng(0)
        X, relevant = random.binomial(2, 0.5, (400, 300)), [17, 211]
        y = np.where(
            random.uniform(size=400) < 0.2, random.integers(0, 2, 400), X[:, relevant].sum(axis=1) % 2
        )
    model = PairScan().fit(X, y)
    first, second = relevant
    assert sorted(model.ranking_[[first, second]]) == [1, 2]
    assert model.best_partner_[first] == second
    assert model.best_partner_[second] == first
    assert {model.pairs_["first"][0], model.pairs_["second"][0]} == {first, second}
    np.testing.assert_array_equal(model.get_support(indices=True), sorted(relevant))


class TestPermutations:
    def test_pvalues_of_noise_are_uniform(self):
        random = np.random.default_rng(0)
        found = []
        for seed in range(30):
            X, y = random.integers(0, 3, (60, 8)), np.arange(60) % 2
            model = PairScan(n_permutations=39, random_state=seed).fit(X, y)
            assert model.pvalues_.min() >= 1 / 40
            assert np.all(model.adjusted_pvalues_ >= model.pvalues_)
            found.append(model.pvalues_[0])
        # One feature per table, as those of a table depend on each other; the grid of 40 adds at most 1/40.
        assert kstest(found, "uniform").statistic < 1.63 / np.sqrt(30) + 1 / 40

    def test_counts_by_hand(self):
        random = np.random.default_rng(1)
        X, y = random.integers(0, 3, (60, 6)), np.arange(60) % 2
        model = PairScan(n_permutations=5, random_state=3).fit(X, y)
        generator = np.random.RandomState(3)
        null = np.stack([PairScan().fit(X, generator.permutation(y)).feature_weights_ for _ in range(5)])
        np.testing.assert_array_equal(model.pvalues_, (1 + (null >= model.feature_weights_).sum(axis=0)) / 6)
        largest = null.max(axis=1, keepdims=True)
        expected = (1 + (largest >= model.feature_weights_).sum(axis=0)) / 6
        np.testing.assert_array_equal(model.adjusted_pvalues_, expected)

    def test_none_by_default(self):
        model = PairScan().fit([[0, 1], [1, 0], [0, 0], [1, 1]], [0, 0, 1, 1])
        assert model.pvalues_ is None
        assert model.adjusted_pvalues_ is None


def test_weights_of_noise_are_normal():
    """The z of given pairs has about mean 0 and deviation 1, for any number of levels."""
    random = np.random.default_rng(0)
    y = np.arange(400) % 2
    for n_levels in (2, 3, 5):
        X = random.integers(0, n_levels, (400, 400))
        # Features 2j and 2j + 1 are a pair: one scan for each.
        z = []
        for j in range(0, 400, 2):
            found = scan_pairs(Levels(X[:, j : j + 2].T.astype(np.int8), np.array([[0], [1]])), y, 2)
            z += found.conditional.tolist()
        # Of the standard normal, max(z, 0) has the mean 0.399 and the mean square 0.5; 400 values, half of
        # them independent.
        assert np.mean(z) == pytest.approx(0.399, abs=3 * 0.58 / np.sqrt(200))
        assert np.mean(np.square(z)) == pytest.approx(0.5, abs=3 * 1.12 / np.sqrt(200))


def test_threshold_is_bonferronis():
    random = np.random.default_rng(0)
    X, y = random.integers(0, 3, (300, 30)), np.arange(300) % 2
    model = PairScan().fit(X, y)
    assert norm.sf(model.threshold_) == pytest.approx(0.05 / (30 * 29))
    assert model.n_features_ == 1
    assert model.get_support().sum() == 1


def test_one_feature():
    x, y = np.arange(20.0)[:, np.newaxis], np.arange(20) // 10
    model = PairScan(n_bins=4).fit(x, y)
    np.testing.assert_array_equal(model.feature_weights_, model.single_)
    assert model.single_ == pytest.approx(oracle.scan(x, y, (4,))[0], abs=TOLERANCE)
    assert model.best_partner_ == -1
    assert model.pairs_["first"].size == 0


def test_progress_has_the_announced_steps():
    X = np.random.default_rng(0).integers(0, 3, (30, 100))
    levels, steps = discretized(X, (3,)), []
    scan_pairs(levels, np.arange(30) % 2, 2, advance=lambda: steps.append(1))
    assert len(steps) == n_steps(levels)


def test_refuses_continuous_targets_and_sample_weights():
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        PairScan().fit(X, X[:, 0])
    with pytest.raises(TypeError, match="sample_weight"):
        PairScan().fit(X, np.arange(20) % 2, sample_weight=np.ones(20))
