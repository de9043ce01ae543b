"""HighRelief: finds features of any order, errs as seldom as it says, and records its work."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import binomtest, chi2, kruskal

from highrelief import HighRelief, HighReliefRegressor, PairScan, RReliefF
from highrelief._engine.limits import limits
from highrelief.datasets import make_epistasis, make_xor
from highrelief.methods.high_relief import rank_evidence, tail_evidence


def genotypes(seed, n_samples, n_features):
    """Independent loci with minor alleles of 10 to 50 percent."""
    random = np.random.default_rng(seed)
    return random.binomial(2, random.uniform(0.1, 0.5, n_features), (n_samples, n_features)).astype(np.int8)


class TestFinds:
    """Each kind of mechanism, with nothing but the features that matter."""

    def test_a_single_feature(self):
        X = np.random.default_rng(0).normal(size=(150, 40))
        y = X[:, 7] > 0.0
        model = HighRelief(random_state=0).fit(X, y)
        assert model.get_support(indices=True).tolist() == [7]
        assert model.found_by_[7] == "single"
        assert model.partner_[7] == -1

    def test_a_pair(self):
        X, y, relevant = make_epistasis(600, n_irrelevant=50, random_state=1)
        model = HighRelief(random_state=0).fit(X, y)
        pair = np.flatnonzero(relevant)
        assert model.get_support(indices=True).tolist() == pair.tolist()
        assert set(model.found_by_[pair]) <= {"conditional", "interaction"}
        assert model.partner_[pair].tolist() == pair[::-1].tolist()

    @pytest.mark.parametrize("order", [3, 4])
    def test_a_group_that_no_pair_shows(self, order):
        X = np.random.default_rng(1).integers(0, 2, (600, 20))
        y = X[:, :order].sum(axis=1) % 2
        model = HighRelief(random_state=0).fit(X, y)
        assert model.get_support(indices=True).tolist() == list(range(order))
        assert (model.found_by_[:order] == "local").all()

    def test_a_second_mechanism_behind_the_first(self):
        random = np.random.default_rng(3)
        X = random.uniform(size=(700, 30))
        ring = np.abs(np.hypot(X[:, 0] - 0.5, X[:, 1] - 0.5) - 0.35) <= 0.0704
        xor = (X[:, 2] - 0.5) * (0.5 - X[:, 3]) >= 0.0337
        model = HighRelief(random_state=0).fit(X, ring | xor)
        assert model.get_support(indices=True).tolist() == [0, 1, 2, 3]
        assert model.execution_["n_strata"] == 2

    def test_features_with_missing_values(self):
        X = genotypes(4, 800, 15).astype(float)
        y = (X[:, 3] > 0) ^ (X[:, 9] > 0)
        X[np.random.default_rng(4).uniform(size=X.shape) < 0.1] = np.nan
        assert HighRelief(random_state=0).fit(X, y).get_support(indices=True).tolist() == [3, 9]

    def test_categories(self):
        random = np.random.default_rng(5)
        letters = np.array(["a", "b", "c", "d"])[random.integers(0, 4, (500, 6))]
        X = pd.DataFrame(letters, columns=list("uvwxyz")).astype("category")
        X["number"] = random.normal(size=500)
        y = np.isin(letters[:, 1], ["a", "c"]) ^ (X["number"] > 0.0)
        model = HighRelief(categorical_features="from_dtype", random_state=0).fit(X, y)
        assert model.get_feature_names_out().tolist() == ["v", "number"]

    def test_features_that_batches_hide(self):
        """Between batches the feature differs more than between classes, and so do the classes."""
        random = np.random.default_rng(6)
        batches = np.repeat([0, 1], 150)
        X = random.normal(size=(300, 20)) + 4.0 * batches[:, np.newaxis]
        y = X[:, 2] - 4.0 * batches + random.normal(size=300) > 0.0
        y[(batches == 1) & (random.uniform(size=300) < 0.3)] = True
        model = HighRelief(random_state=0).fit(X, y, batches=batches)
        assert model.get_support(indices=True).tolist() == [2]
        # Without them every feature tells the batch, which tells the class.
        assert HighRelief(random_state=0).fit(X, y).n_features_ > 1


class TestErrs:
    """Error rates, by repetition; a binomial test fails by chance once in 10,000 times."""

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["numbers", "genotypes", "rare class"])
    def test_seldom_keeps_noise(self, kind):
        n_wrong, n_tables, level = 0, 20, 0.1
        for seed in range(n_tables):
            random = np.random.default_rng(seed)
            X = genotypes(seed, 100, 20) if kind == "genotypes" else random.normal(size=(100, 20))
            y = random.uniform(size=100) < (0.1 if kind == "rare class" else 0.5)
            n_wrong += HighRelief(level=level, random_state=seed).fit(X, y).n_features_ > 0
        assert binomtest(n_wrong, n_tables, level, alternative="greater").pvalue > 1e-4

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["single", "pair", "correlated"])
    def test_seldom_keeps_noise_beside_signal(self, kind):
        n_wrong, n_tables, level = 0, 15, 0.1
        for seed in range(n_tables):
            random = np.random.default_rng(100 + seed)
            X = random.normal(size=(150, 20))
            if kind == "correlated":
                # Noise features that resemble each other, not those that matter.
                X[:, 2:] = 0.6 * X[:, 2:] + 0.8 * random.normal(size=(150, 1))
            y = (X[:, 0] > 0.0) ^ (X[:, 1] > 0.0) if kind == "pair" else X[:, 0] + X[:, 1] > 0.0
            n_wrong += HighRelief(level=level, random_state=seed).fit(X, y).support_[2:].any()
        assert binomtest(n_wrong, n_tables, level, alternative="greater").pvalue > 1e-4

    def test_a_label_that_tells_nothing_keeps_nothing(self):
        X = np.random.default_rng(8).normal(size=(100, 30))
        model = HighRelief(random_state=0).fit(X, np.arange(100) % 2)
        assert model.n_features_ == 0
        with pytest.warns(UserWarning, match="No features were selected"):
            assert model.transform(X).shape == (100, 0)
        # The ranking is complete all the same.
        assert model.set_params(n_features_to_select=3).transform(X).shape == (100, 3)


class TestAttributes:
    def fitted(self, **parameters):
        X, y, _ = make_xor(200, n_irrelevant=20, random_state=0)
        return HighRelief(random_state=0, **parameters).fit(X, y)

    def test_support_follows_from_the_adjusted_pvalues(self):
        model = self.fitted(level=0.05)
        np.testing.assert_array_equal(model.support_, model.adjusted_pvalues_ <= 0.05)
        np.testing.assert_allclose(model.adjusted_pvalues_, np.minimum(1.0, 22 * model.pvalues_))
        assert (model.pvalues_ <= model.qvalues_).all()
        assert (model.qvalues_ <= model.adjusted_pvalues_).all()

    def test_weights_above_1_are_recommended(self):
        model = self.fitted()
        np.testing.assert_array_equal(model.feature_weights_ >= 1.0, model.support_)
        assert model.feature_weights_.max() == 2.0
        np.testing.assert_array_equal(model.found_by_ != "", model.support_)

    def test_address_bits_rank_before_the_bits_they_choose(self):
        X = np.random.default_rng(2).integers(0, 2, (1000, 11))
        y = X[np.arange(1000), 3 + X[:, :3] @ [4, 2, 1]]
        ranking = HighRelief(random_state=0).fit(X, y).ranking_
        assert sorted(ranking[:3]) == [1, 2, 3]

    def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads(self):
        X, y, _ = make_epistasis(300, n_irrelevant=200, random_state=1)
        one, three = (HighRelief(random_state=5, n_jobs=n).fit(X, y) for n in (1, 3))
        for name in ("feature_weights_", "pvalues_", "evidence_", "partner_"):
            np.testing.assert_array_equal(getattr(one, name), getattr(three, name))

    def test_a_constant_feature_changes_nothing(self):
        X, y, _ = make_xor(200, n_irrelevant=20, random_state=0)
        model = HighRelief(random_state=0).fit(np.insert(X, 1, 3.0, axis=1), y)
        assert model.pvalues_[1] == 1.0
        assert model.feature_weights_[1] == 0.0
        np.testing.assert_array_equal(np.delete(model.pvalues_, 1), self.fitted().pvalues_)
        assert model.partner_[0] == 2


class TestWork:
    def test_a_small_table_is_searched_completely(self):
        X, y, _ = make_xor(100, n_irrelevant=20, random_state=0)
        work = HighRelief(random_state=0).fit(X, y).execution_
        assert work["complete"]
        assert (work["n_scanned"], work["n_local"]) == (22, 100)

    def test_a_bound_scans_the_features_of_largest_weight(self):
        X, y, relevant = make_epistasis(600, n_irrelevant=100, random_state=0)
        bounded = HighRelief(max_work=1e4, random_state=0).fit(X, y)
        assert not bounded.execution_["complete"]
        assert bounded.execution_["n_scanned"] < 30
        np.testing.assert_array_equal(bounded.support_, relevant)

    def test_single_features_beyond_the_bound_are_looked_at(self):
        X = genotypes(0, 300, 200)
        y = np.random.default_rng(0).uniform(size=300) < 0.5
        some, all_ = (HighRelief(max_work=w, random_state=0).fit(X, y) for w in (1e3, 1e9))
        assert some.execution_["n_scanned"] == 6
        np.testing.assert_allclose(some.evidence_[:, 0], all_.evidence_[:, 0], rtol=1e-12)

    def test_a_bound_makes_no_pvalue_smaller(self):
        """A feature that is not scanned has no evidence of a partner; one that is keeps that of its best."""
        X, y, _ = make_epistasis(300, n_irrelevant=60, random_state=3)
        some, all_ = (HighRelief(max_work=w, random_state=0).fit(X, y) for w in (1e4, 1e9))
        assert (some.evidence_[:, 1:3] <= all_.evidence_[:, 1:3] + 1e-12).all()

    def test_numbers_beyond_the_bound_are_looked_at_by_themselves(self):
        X = np.random.default_rng(1).normal(size=(120, 200))
        y = X[:, 5] > 0.0
        some, all_ = (HighRelief(max_work=w, random_state=0).fit(X, y) for w in (1e5, 1e9))
        assert some.execution_["n_scanned"] < 100
        np.testing.assert_allclose(some.evidence_[:, 0], all_.evidence_[:, 0], rtol=1e-5)

    def test_memory_bounds_the_features_that_are_scanned(self):
        X, y, relevant = make_xor(200, n_irrelevant=60, random_state=0)
        with limits(function_bytes=8.0 * 6.0 * 200 * 20):
            model = HighRelief(random_state=0).fit(X, y)
        assert model.execution_["n_scanned"] == 20
        assert not model.execution_["complete"]
        np.testing.assert_array_equal(model.support_, relevant)

    def test_many_samples_are_eliminated_on_a_part_of_them(self):
        X, y, relevant = make_xor(900, order=3, kind="binary", n_irrelevant=12, random_state=0)
        with limits(search_work=5.0 * 15 * 600**2):
            models = [HighRelief(random_state=0, n_jobs=n).fit(X, y) for n in (1, 2)]
        assert models[0].execution_["n_local"] == 600
        assert not models[0].execution_["complete"]
        np.testing.assert_array_equal(models[0].support_, relevant)
        np.testing.assert_array_equal(models[0].feature_weights_, models[1].feature_weights_)


class TestExtremes:
    """Few samples, and few or many features."""

    @pytest.mark.parametrize("method", [HighRelief, HighReliefRegressor])
    @pytest.mark.parametrize("n_features", [1, 2, 5000])
    def test_ten_samples(self, method, n_features):
        random = np.random.default_rng(0)
        for X in (random.normal(size=(10, n_features)), genotypes(0, 10, n_features)):
            X[0], X[1] = 0, 2  # not constant
            model = method(random_state=0).fit(X, np.arange(10) % 2)
            assert np.isfinite(model.evidence_).all()
            assert model.execution_["n_local"] == 10


class TestRefuses:
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2

    def test_continuous_targets(self):
        with pytest.raises(ValueError, match=r"use .*HighReliefRegressor"):
            HighRelief().fit(self.X, self.X[:, 0])

    def test_several_targets(self):
        with pytest.raises(ValueError, match="1d array"):
            HighRelief().fit(self.X, self.X[:, :2] > 0.0)

    def test_sparse_tables(self):
        with pytest.raises(TypeError, match="does not support sparse X"):
            HighRelief().fit(sparse.csr_matrix(self.X), self.y)

    def test_dask_tables(self):
        array = pytest.importorskip("dask.array").from_array(self.X)
        with pytest.raises(TypeError, match="in memory; ReliefF, IRelief and IterativeElimination take them"):
            HighRelief().fit(array, self.y)


class TestTailEvidence:
    """-log p of a value under a sample of the null distribution."""

    def test_counts_within_the_sample(self):
        null = np.arange(100.0)
        p = np.exp(-tail_evidence(np.array([-1.0, 50.0, 70.0]), null))
        np.testing.assert_allclose(p, [1.0, 51 / 101, 31 / 101])

    def test_is_exact_for_an_exponential_distribution(self):
        null = -np.log(1.0 - (np.arange(20_000) + 0.5) / 20_000)
        values = np.array([2.0, 5.0, 12.0])
        np.testing.assert_allclose(tail_evidence(values, null), values, rtol=0.01)
        np.testing.assert_allclose(tail_evidence(values, 2.0 * null, prior=0.0), values / 2.0, rtol=0.01)

    def test_a_prior_pulls_the_rate_toward_1(self):
        null = -0.5 * np.log(1.0 - (np.arange(100) + 0.5) / 100)
        none, some, much = (
            tail_evidence(np.array([9.0]), null, prior=prior)[0] for prior in (0.0, 20.0, 1e6)
        )
        assert none > some > much
        start = np.sort(null)[-21]
        assert much == pytest.approx(9.0 - start - np.log(21 / 101), rel=1e-3)

    def test_a_maximum_over_more_partners_is_less_evidence(self):
        null = -np.log(1.0 - (np.arange(2000) + 0.5) / 2000)
        values = np.array([0.1, 1.0, 6.0, 50.0])
        p = np.exp(-tail_evidence(values, null))
        of_more = np.exp(-tail_evidence(values, null, n_times=5.0))
        np.testing.assert_allclose(of_more, -np.expm1(5.0 * np.log1p(-p)), rtol=1e-9)


class TestRankEvidence:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)).round(1), rng.integers(0, 3, 60)
    one = np.zeros(60, np.int64)

    def test_it_is_the_test_of_kruskal_and_wallis(self):
        X = self.X + 0.5 * self.y[:, np.newaxis] * np.arange(5)
        p = [kruskal(*(column[self.y == c] for c in range(3))).pvalue for column in X.T]
        np.testing.assert_allclose(rank_evidence(X, self.y, self.one, 3), -np.log(p), rtol=1e-9)

    def test_sums_of_ranks_have_the_covariance_of_all_permutations_within_strata(self):
        X, strata = np.array([[0.3], [0.1], [0.2], [5.0], [np.nan], [7.0], [6.0]]), np.repeat([0, 1], [3, 4])
        y = np.array([0, 1, 2, 0, 0, 1, 2])
        scores = np.array([3.0, 1.0, 2.0, 1.0, 2.0, 3.0, 2.0]) - 2.0
        scores = scores / np.repeat([3.0, 4.0], [3, 4])
        sums = []
        for first in permutations(y[:3]):
            for second in permutations(y[3:]):
                labels = np.array([*first, *second])
                sums.append([scores[labels == c].sum() for c in (1, 2)])
        own = np.array([scores[y == c].sum() for c in (1, 2)])
        expected = own @ np.linalg.inv(np.cov(np.transpose(sums), bias=True)) @ own
        assert rank_evidence(X, y, strata, 3)[0] == pytest.approx(-chi2.logsf(expected, 2))

    def test_units_of_a_stratum_and_missing_columns_do_not_matter(self):
        strata = np.arange(60) % 4
        found = rank_evidence(self.X, self.y, strata, 3)
        moved = self.X * (1.0 + strata[:, np.newaxis]) + 10.0 * strata[:, np.newaxis]
        np.testing.assert_allclose(rank_evidence(moved, self.y, strata, 3), found, rtol=1e-9)
        assert rank_evidence(np.full((60, 1), np.nan), self.y, strata, 3)[0] == 0.0
        assert np.isfinite(rank_evidence(self.y[:, np.newaxis] * 1.0, self.y, self.one, 3)).all()


def test_statistics_are_those_of_the_scan():
    """The best partner is that of PairScan, the order of single features that of its statistic."""
    X, y, _ = make_epistasis(400, n_irrelevant=30, random_state=2)
    model, scan = HighRelief(random_state=0).fit(X, y), PairScan().fit(X, y)
    for feature in model.get_support(indices=True):
        partners = {"conditional": scan.best_partner_, "interaction": scan.interaction_partner_}
        assert model.partner_[feature] == partners[model.found_by_[feature]][feature]
    order = np.argsort(scan.single_)
    assert (np.diff(model.evidence_[order, 0]) >= -1e-12).all()


class TestContinuousTarget:
    """HighReliefRegressor."""

    def found(self, X, y, **parameters):
        return HighReliefRegressor(random_state=0, **parameters).fit(X, y)

    def test_a_single_feature(self):
        random = np.random.default_rng(0)
        X = random.normal(size=(150, 40))
        model = self.found(X, X[:, 7] + random.normal(size=150))
        assert model.get_support(indices=True).tolist() == [7]
        assert model.found_by_[7] == "single"
        assert not hasattr(model, "classes_")

    def test_a_product(self):
        random = np.random.default_rng(1)
        X = random.normal(size=(300, 40))
        model = self.found(X, X[:, 3] * X[:, 9] + 0.5 * random.normal(size=300))
        assert model.get_support(indices=True).tolist() == [3, 9]
        assert model.partner_[[3, 9]].tolist() == [9, 3]

    def test_a_group_that_no_pair_shows(self):
        random = np.random.default_rng(2)
        X = random.choice([-1, 1], (500, 20)).astype(np.int8)
        model = self.found(X, X[:, :3].prod(axis=1) + 0.3 * random.normal(size=500))
        assert model.get_support(indices=True).tolist() == [0, 1, 2]
        assert (model.found_by_[:3] == "local").all()

    def test_a_second_mechanism_behind_the_first(self):
        """In the tertiles of the target the first explains nearly all; not so in those of the residuals."""
        random = np.random.default_rng(3)
        X = random.normal(size=(400, 20))
        model = self.found(X, 4.0 * X[:, 2] + X[:, 0] * X[:, 1] + 0.3 * random.normal(size=400))
        assert model.get_support(indices=True).tolist() == [0, 1, 2]
        assert (model.found_by_[:2] == "stratified").all()
        assert model.execution_["n_strata"] == 3

    def test_nothing_in_noise(self):
        random = np.random.default_rng(4)
        X, y = random.normal(size=(100, 30)), random.normal(size=100)
        assert self.found(X, y).n_features_ == 0

    @pytest.mark.slow
    def test_seldom_keeps_noise(self):
        n_wrong, n_tables, level = 0, 20, 0.1
        for seed in range(n_tables):
            random = np.random.default_rng(seed)
            X = genotypes(seed, 100, 20) if seed % 2 else random.normal(size=(100, 20))
            model = HighReliefRegressor(level=level, random_state=seed)
            n_wrong += model.fit(X, random.standard_t(2, 100)).n_features_ > 0
        assert binomtest(n_wrong, n_tables, level, alternative="greater").pvalue > 1e-4

    def test_only_the_order_of_the_targets_matters(self):
        random = np.random.default_rng(5)
        X = random.normal(size=(120, 15))
        y = X[:, 0] + random.normal(size=120)
        outlier = np.where(y == y.max(), 1e9, y)
        expected = self.found(X, y)
        for target in (np.exp(y), outlier):
            np.testing.assert_array_equal(self.found(X, target).evidence_, expected.evidence_)

    def test_the_first_round_is_that_of_rrelieff(self):
        random = np.random.default_rng(6)
        X = random.normal(size=(80, 2))
        y = X[:, 0] + random.normal(size=80)
        ranks = np.argsort(np.argsort(y))
        expected = RReliefF().fit(X, ranks).feature_weights_
        np.testing.assert_allclose(self.found(X, y).local_weight_, expected, rtol=1e-12)

    @pytest.mark.parametrize("values", [2, 3, 5])
    def test_targets_of_few_values(self, values):
        random = np.random.default_rng(7)
        X = random.normal(size=(200, 10))
        y = np.clip(np.round(X[:, 4] * 2 + random.normal(size=200)), 0, values - 1)
        assert self.found(X, y).support_[4]

    def test_missing_values_categories_and_batches(self):
        random = np.random.default_rng(8)
        X = pd.DataFrame(random.normal(size=(400, 6)), columns=list("abcdef"))
        X["letter"] = pd.Categorical(np.array(list("uvw"))[random.integers(0, 3, 400)])
        batches = np.repeat(["one", "two"], 200)
        y = 2.0 * (X["letter"] == "u") * X["c"] + 9.0 * (batches == "two")
        X.loc[::7, "c"] = np.nan
        model = HighReliefRegressor(categorical_features="from_dtype", random_state=0)
        assert set(model.fit(X, y, batches=batches).get_feature_names_out()) == {"c", "letter"}

    def test_text_names_the_method_for_classes(self):
        X = np.random.default_rng(9).normal(size=(20, 2))
        with pytest.raises(ValueError, match=r"y must hold numbers.*for classes use HighRelief"):
            HighReliefRegressor().fit(X, np.array(["a", "b"] * 10))

    def test_bits_do_not_depend_on_threads(self):
        random = np.random.default_rng(10)
        X = random.normal(size=(90, 60))
        y = X[:, 0] + X[:, 1] * X[:, 2]
        one, three = (HighReliefRegressor(random_state=5, n_jobs=n).fit(X, y) for n in (1, 3))
        np.testing.assert_array_equal(one.evidence_, three.evidence_)
