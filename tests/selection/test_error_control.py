"""Which features are real, by permuted labels."""

import inspect
import warnings

import numpy as np
import pytest
from contract import same_bits
from oracles import permutation_1993 as oracle
from registry import THOROUGH, continuous_table
from scipy import sparse, stats
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from highrelief import (
    LOGO,
    EnsembleWeighting,
    ErrorControlledSelector,
    FisherScore,
    IRelief,
    MultiSURF,
    Relief,
    ReliefF,
    RReliefF,
)
from highrelief.datasets import make_xor
from highrelief.selection.error_control import OPTIONS
from highrelief.selection.knockoffs import decide_by_knockoffs
from highrelief.selection.permutation import (
    Exchange,
    OwnNull,
    _permuted,
    benjamini_hochberg,
    global_pvalue,
    pooled_pvalues,
    relabelings,
    same_within,
    step_down_maxt,
)
from highrelief.selection.stability_selection import decide_by_stability


@pytest.fixture(scope="module")
def xor():
    X, y, _ = make_xor(200, n_irrelevant=30, random_state=0)
    return X, y


def noise(n_samples=60, n_features=20, seed=2):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_samples, n_features)), rng.permutation(np.arange(n_samples) % 2)


class TestManyAtOnce:
    @pytest.fixture(params=[False, True], ids=["different", "tied"])
    def weights(self, request):
        rng = np.random.default_rng(3)
        values = rng.standard_normal((31, 12)) * rng.uniform(0.1, 5.0, 12)
        if request.param:
            values = np.round(values)
            values[:, 4] = 2.0
        return values[0], values[1:]

    def test_standardized_by_their_own_null(self, weights):
        observed, null = weights
        own = OwnNull.of(null)
        z, Z = oracle.standardized(observed, null)
        np.testing.assert_allclose(own.standardized(observed), z, atol=1e-12)
        np.testing.assert_allclose(own.standardized_null(observed, null), Z, atol=1e-12)
        others = np.random.default_rng(0).standard_normal((3, observed.size))
        for each, found in zip(others, own.standardized(others), strict=True):
            np.testing.assert_allclose(found, oracle.standardized(each, null)[0], atol=1e-12)

    def test_the_pooled_null(self, weights):
        z, Z = oracle.standardized(*weights)
        among = np.arange(z.size) % 3 > 0
        np.testing.assert_allclose(pooled_pvalues(z, Z[:, among]), oracle.pooled_pvalues(z, Z, among))

    def test_step_down(self, weights):
        z, Z = oracle.standardized(*weights)
        np.testing.assert_allclose(step_down_maxt(z, Z), oracle.step_down_maxt(z, Z))

    def test_step_down_keeps_at_least_what_a_single_step_does(self, weights):
        z, Z = oracle.standardized(*weights)
        single = (1 + (Z.max(axis=1)[:, np.newaxis] >= z - 1e-4).sum(axis=0)) / (1 + len(Z))
        assert np.all(step_down_maxt(z, Z) <= single)

    def test_how_often_labels_by_lot_are_as_striking(self, weights):
        z, Z = oracle.standardized(*weights)
        for rows in (np.vstack([z, Z]), np.repeat([*z, *Z[0]], 3).reshape(-1, 3)):
            for b in range(0, len(rows), 1 if THOROUGH else 3):
                others = np.delete(rows, b, axis=0)
                np.testing.assert_allclose(
                    global_pvalue(rows[b], others), oracle.global_pvalue(rows[b], others)
                )

    def test_labels_by_lot_are_as_striking_as_level_times_at_most(self):
        # 30 copies of one feature are found together, by pooled p-values alone at every second labeling.
        rows = np.repeat(np.random.default_rng(0).standard_normal(2), 30).reshape(2, 30)
        first, second = rows[np.argsort(-rows[:, 0])]
        assert benjamini_hochberg(pooled_pvalues(first, second[np.newaxis])).max() < 0.1
        assert global_pvalue(first, second[np.newaxis]) == 0.5
        assert global_pvalue(second, first[np.newaxis]) == 1.0

    def test_benjamini_and_hochberg(self):
        p = np.random.default_rng(0).uniform(size=50) ** 3
        p[:5] = p[5]
        np.testing.assert_allclose(benjamini_hochberg(p), stats.false_discovery_control(p))


class TestRelabeling:
    def test_labels_stay_in_their_strata(self):
        strata = np.array([0, 1, 0, 2, 1, 0, 1, 2])
        for places in relabelings(np.arange(20), 8, strata):
            assert sorted(places) == list(range(8))
            assert np.array_equal(strata[places], strata)

    def test_blocks_have_one_label(self):
        blocks = np.array([0, 0, 1, 2, 2, 2, 3])
        labels = np.array([1, 1, 0, 0, 0, 0, 1])
        seen = set()
        for places in relabelings(np.arange(60), 7, blocks=blocks):
            moved = labels[places]
            assert same_within(moved, blocks)
            first = moved[[0, 2, 3, 6]]
            assert first.sum() == 2
            seen.add(tuple(first))
        assert len(seen) == 6

    @pytest.mark.slow
    def test_every_permutation_is_as_likely(self):
        counts = np.zeros((4, 4))
        for places in relabelings(np.arange(4000), 4):
            counts[np.arange(4), places] += 1
        assert stats.chisquare(counts.ravel()).pvalue > 1e-3

    def test_who_exchanges_with_whom(self):
        y, pairs = np.array([0, 1] * 4), np.repeat(np.arange(4), 2)
        assert np.array_equal(Exchange.among(y, pairs, None).strata, pairs)
        patients = Exchange.among(np.repeat([0, 1, 0, 1], 2), pairs, None)
        assert patients.strata is None
        assert np.array_equal(patients.blocks, pairs)

    def test_batches_of_one_class_say_nothing(self):
        with pytest.raises(ValueError, match="Labels cannot be permuted"):
            Exchange.among(np.array([0, 0, 1, 1]), None, np.array([0, 0, 1, 1]))


TABLES = {
    "continuous": (lambda rng: rng.standard_normal((50, 8)), lambda rng: rng.integers(0, 2, 50)),
    "tied": (lambda rng: rng.integers(0, 3, (60, 5)).astype(float), lambda rng: rng.integers(0, 3, 60)),
    "rare classes": (
        lambda rng: rng.standard_normal((40, 6)),
        lambda rng: np.repeat([0, 1, 2, 3], [22, 12, 5, 1]),
    ),
    "single precision": (
        lambda rng: rng.standard_normal((50, 70)).astype(np.float32),
        lambda rng: rng.integers(0, 2, 50),
    ),
}
WEIGHTERS = [
    Relief(),
    ReliefF(),
    ReliefF(n_neighbors=100, class_weight="balanced"),
    ReliefF(n_neighbors=4, neighbor_weights="rank", rank_decay=2.0),
    ReliefF(n_neighbors=5, metric="euclidean", scale="standard"),
    ReliefF(n_neighbors=3, metric="sqeuclidean", class_weight={0: 2.0, 1: 1.0, 2: 3.0, 3: 1.0}),
]


@pytest.mark.parametrize("weighter", WEIGHTERS, ids=str)
@pytest.mark.parametrize("name", TABLES)
def test_all_labelings_at_once_are_refits(name, weighter):
    rng = np.random.default_rng(1)
    X, y = (make(rng) for make in TABLES[name])
    if isinstance(weighter, ReliefF) and isinstance(weighter.class_weight, dict):
        weighter.set_params(class_weight={c: weighter.class_weight.get(c, 1.0) for c in np.unique(y)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = weighter._choose_engine(weighter._check_fit(X, y))
        at_once = rows.relabeled(weighter._neighborhood(), weighter._class_weights)
        labels = np.stack([rng.permutation(y) for _ in range(12)])
        refits = np.stack([weighter.fit(X, each).feature_weights_ for each in labels])
    tolerance = 1e-9 if X.dtype == np.float64 else 1e-6
    np.testing.assert_allclose(at_once.mean_margins(labels), refits, atol=tolerance)
    np.testing.assert_allclose(at_once.mean_margins(labels, np.float32), refits, atol=1e-5)


def test_pairs_in_the_product_and_beside_it_add_up(force):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((70, 40)), rng.integers(0, 2, 70)
    weighter = ReliefF()
    rows = weighter._choose_engine(weighter._check_fit(X, y)).relabeled(weighter._neighborhood())
    labels = np.stack([rng.permutation(y) for _ in range(30)])
    found = []
    for share in (0.0, 0.3, 2.0):
        force(pair_share=share)
        found.append(rows.mean_margins(labels))
    np.testing.assert_allclose(found[1], found[0], atol=1e-14)
    np.testing.assert_allclose(found[2], found[0], atol=1e-14)


def test_labelings_in_several_batches_are_the_same(force):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((40, 10)), rng.integers(0, 2, 40)
    weighter = ReliefF(n_neighbors=3)
    rows = weighter._choose_engine(weighter._check_fit(X, y)).relabeled(weighter._neighborhood())
    labels = np.stack([rng.permutation(y) for _ in range(20)])
    whole = rows.mean_margins(labels)
    force(label_entries=1000)
    np.testing.assert_allclose(rows.mean_margins(labels), whole, atol=1e-14)


class TestFindsWhatIsReal:
    @pytest.mark.parametrize("control", ["fdr", "fwer"])
    @pytest.mark.parametrize("weighter", [ReliefF(), MultiSURF()], ids=str)
    def test_an_interaction(self, xor, weighter, control):
        selector = ErrorControlledSelector(
            weighter, control=control, level=0.05, n_permutations=60, random_state=0
        ).fit(*xor)
        assert selector.get_support(indices=True).tolist() == [0, 1]
        assert selector.transform(xor[0]).shape == (200, 2)
        assert selector.n_features_ == 2
        assert selector.threshold_ == selector.statistic_[:2].min()

    @pytest.mark.slow
    def test_by_an_iterative_method_whose_weights_are_shares(self, xor):
        common = {"n_permutations": 30, "random_state": 0}
        X, y = xor[0][:, :12], xor[1]
        by_margins = ErrorControlledSelector(IRelief(), **common).fit(X, y)
        assert by_margins.get_support(indices=True).tolist() == [0, 1]
        by_weights = ErrorControlledSelector(IRelief(), statistic="weights", **common).fit(X, y)
        assert by_weights.statistic_[:2].max() < by_margins.statistic_[:2].min()

    def test_numbers_for_a_target(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((80, 10))
        y = X[:, 3] + 0.2 * rng.standard_normal(80)
        selector = ErrorControlledSelector(RReliefF(), n_permutations=40, random_state=0).fit(X, y)
        assert selector.get_support(indices=True).tolist() == [3]
        assert not hasattr(selector, "classes_")

    @pytest.mark.slow
    def test_any_estimator(self):
        X, y = noise(80, 6)
        X[:, 2] += 2.0 * y
        forest = RandomForestClassifier(5, max_depth=2)
        for estimator in (forest, make_pipeline(StandardScaler(), forest), EnsembleWeighting(FisherScore())):
            selector = ErrorControlledSelector(estimator, n_permutations=20, random_state=0).fit(X, y)
            assert selector.get_support(indices=True).tolist() == [2]

    def test_nothing_is_an_answer(self):
        X, y = noise()
        selector = ErrorControlledSelector(ReliefF(), random_state=0).fit(X, y)
        assert not selector.get_support().any()
        assert selector.threshold_ == np.inf
        with pytest.warns(UserWarning, match="No features were selected"):
            assert selector.transform(X).shape == (60, 0)

    def test_a_number_of_features_may_be_asked_for_afterwards(self):
        X, y = noise()
        selector = ErrorControlledSelector(ReliefF(), n_permutations=9, random_state=0).fit(X, y)
        assert selector.set_params(n_features_to_select=3).get_support().sum() == 3


class TestEvidence:
    def test_q_values_follow_from_p_values(self, xor):
        selector = ErrorControlledSelector(ReliefF(), n_permutations=50, random_state=1).fit(*xor)
        rates = stats.false_discovery_control(selector.pvalues_)
        assert rates.min() < 1 / 51
        np.testing.assert_allclose(selector.qvalues_, np.maximum(rates, 1 / 51))
        assert np.array_equal(selector.get_support(), selector.qvalues_ <= selector.level)
        assert selector.pvalues_.min() > 0.0

    def test_as_refits_and_the_oracles_say(self):
        X, y = noise(40, 7, seed=5)
        selector = ErrorControlledSelector(
            ReliefF(), n_permutations=25, keep_found=False, random_state=3
        ).fit(X, y)
        random = np.random.RandomState(3)
        random.randint(2**31 - 1)
        seeds = random.randint(2**31 - 1, size=25)
        null = [ReliefF().fit(X, y[places]).feature_weights_ for places in relabelings(seeds, 40)]
        z, Z = oracle.standardized(selector.feature_weights_, null)
        np.testing.assert_allclose(selector.statistic_, z, atol=1e-4)
        np.testing.assert_allclose(
            selector.pvalues_, oracle.pooled_pvalues(z, Z, np.ones(7, bool)), atol=2.5 / (1 + 25 * 7)
        )
        adjusted = selector.set_params(control="fwer").fit(X, y).pvalues_
        np.testing.assert_allclose(adjusted, oracle.step_down_maxt(z, Z))

    def test_the_second_round_moves_all_but_what_was_found(self):
        X = np.arange(12.0).reshape(4, 3)
        places = np.array([2, 0, 3, 1])
        found = np.array([False, True, False])
        permuted = _permuted(X, found, places)
        assert np.array_equal(permuted[:, 1], X[:, 1])
        assert np.array_equal(permuted[:, [0, 2]], X[places][:, [0, 2]])
        assert np.array_equal(_permuted(sparse.csc_array(X), found, places).toarray(), permuted)

    def test_the_second_round_is_only_where_something_is_found(self, xor):
        X, y = noise()
        first = ErrorControlledSelector(ReliefF(), random_state=0, keep_found=False)
        both = ErrorControlledSelector(ReliefF(), random_state=0)
        assert same_bits(first.fit(X, y).pvalues_, both.fit(X, y).pvalues_)
        assert not np.array_equal(first.fit(*xor).pvalues_, both.fit(*xor).pvalues_)

    def test_what_a_method_does_not_have_is_not_there(self, xor):
        selector = ErrorControlledSelector(ReliefF(), n_permutations=19, control="fwer", random_state=0)
        selector.fit(*xor)
        for name in ("qvalues_", "selection_probability_"):
            assert not hasattr(selector, name)
            with pytest.raises(AttributeError, match=r"There are no .* by method='permutation'"):
                getattr(selector, name)
        assert "marginal" in selector.null_

    def test_where_everything_is_found_the_first_round_decides(self):
        X, y = noise(60, 1)
        X[:, 0] += 3.0 * y
        selector = ErrorControlledSelector(ReliefF(), n_permutations=30, random_state=0).fit(X, y)
        assert selector.get_support().tolist() == [True]
        np.testing.assert_allclose(selector.pvalues_, 1 / 31)

    def test_constant_features_are_no_part_of_it(self):
        X, y = noise(50, 6)
        with_constant = np.column_stack([X, np.ones(50), np.ones(50)])
        few = ErrorControlledSelector(ReliefF(), n_permutations=20, random_state=0).fit(X, y)
        more = ErrorControlledSelector(ReliefF(), n_permutations=20, random_state=0).fit(with_constant, y)
        np.testing.assert_allclose(more.pvalues_[:6], few.pvalues_)
        np.testing.assert_allclose(more.qvalues_[:6], few.qvalues_)
        assert np.all(more.pvalues_[6:] == 1.0)
        assert not more.get_support()[6:].any()


class TestTheSame:
    @pytest.mark.parametrize("weighter", [ReliefF(), LOGO(max_iter=2), RandomForestClassifier(3)], ids=str)
    def test_for_any_number_of_threads(self, weighter):
        X, y = noise(50, 300)
        X[:, 0] += 3.0 * y
        one, two = (
            ErrorControlledSelector(weighter, n_permutations=9, n_jobs=n, random_state=0).fit(X, y)
            for n in (1, 2)
        )
        assert same_bits(one.statistic_, two.statistic_)
        assert same_bits(one.pvalues_, two.pvalues_)

    def test_whatever_classes_are_called(self, xor):
        X, y = xor
        names = np.array(["b", "a"])[y]
        by_number = ErrorControlledSelector(ReliefF(), n_permutations=30, random_state=0).fit(X, y)
        by_name = ErrorControlledSelector(ReliefF(), n_permutations=30, random_state=0).fit(X, names)
        np.testing.assert_allclose(by_name.pvalues_, by_number.pvalues_)

    def test_more_permutations_leave_the_first_as_they_are(self):
        seeds = np.random.RandomState(0).randint(100, size=9)
        few, more = list(relabelings(seeds[:4], 10)), list(relabelings(seeds, 10))
        assert all(np.array_equal(a, b) for a, b in zip(few, more, strict=False))

    def test_samples_of_weight_0_are_not_there(self):
        X, y = noise(60, 8)
        weights = (np.arange(60) < 50).astype(float)
        kept = ErrorControlledSelector(ReliefF(), n_permutations=10, random_state=0).fit(X[:50], y[:50])
        told = ErrorControlledSelector(ReliefF(), n_permutations=10, random_state=0).fit(
            X, y, sample_weight=weights
        )
        np.testing.assert_allclose(told.pvalues_, kept.pvalues_)

    def test_refits_and_all_at_once_decide_the_same(self, force, xor):
        at_once = ErrorControlledSelector(ReliefF(), n_permutations=30, random_state=0).fit(*xor)
        force(label_samples=0)
        refitted = ErrorControlledSelector(ReliefF(), n_permutations=30, random_state=0).fit(*xor)
        np.testing.assert_allclose(at_once.statistic_, refitted.statistic_, atol=1e-4)
        assert np.array_equal(at_once.get_support(), refitted.get_support())


class TestGroups:
    def test_pairs_that_share_what_labels_follow(self):
        # Half of the pairs are ill more often, and differ in a feature that the label has no part in.
        rng = np.random.default_rng(2)
        pairs = np.repeat(np.arange(40), 3)
        place = np.repeat(rng.permutation(40) % 2, 3)
        y = (rng.random(120) < np.where(place, 0.85, 0.15)).astype(int)
        X = rng.standard_normal((120, 10))
        X[:, 0] = place + 0.1 * X[:, 0]
        anywhere = ErrorControlledSelector(ReliefF(), random_state=0).fit(X, y)
        within = ErrorControlledSelector(ReliefF(), random_state=0).fit(X, y, groups=pairs)
        assert anywhere.get_support()[0]
        assert not within.get_support()[0]

    def test_samples_of_one_patient_are_no_evidence_by_themselves(self):
        # Eight patients of many samples, and nothing real: their own features look like the label's.
        false = []
        for seed in range(6):
            rng = np.random.default_rng(seed)
            patients = np.repeat(np.arange(8), 8)
            X = (rng.standard_normal((8, 20)))[patients] + 0.2 * rng.standard_normal((64, 20))
            y = np.repeat(rng.permutation(np.arange(8) % 2), 8)
            common = {"n_permutations": 40, "random_state": 0}
            false.append(
                [
                    ErrorControlledSelector(ReliefF(), **common).fit(X, y).n_features_,
                    ErrorControlledSelector(ReliefF(), **common).fit(X, y, groups=patients).n_features_,
                ]
            )
        assert np.min(false, axis=0)[0] > 0
        assert np.mean(np.array(false)[:, 1] > 0) < 0.5

    def test_batches(self):
        X, y = continuous_table(60, n_classes=2)
        batches = np.arange(60) % 3
        selector = ErrorControlledSelector(ReliefF(n_neighbors=3), n_permutations=9, random_state=0)
        assert selector.fit(X, y, batches=batches).pvalues_.shape == (X.shape[1],)


class TestOtherMethods:
    @pytest.fixture
    def shifted(self):
        rng = np.random.default_rng(0)
        y = np.arange(120) % 2
        X = rng.standard_normal((120, 30))
        X[:, :10] += 1.5 * y[:, np.newaxis]
        return X, y

    @pytest.mark.parametrize(
        ("method", "has", "lacks"),
        [("stability", "selection_probability_", "pvalues_"), ("knockoff", "qvalues_", "pvalues_")],
    )
    def test_are_asked(self, shifted, method, has, lacks):
        selector = ErrorControlledSelector(ReliefF(), method=method, level=0.2, random_state=0).fit(*shifted)
        assert selector.get_support()[:10].any()
        assert getattr(selector, has).shape == (30,)
        assert not hasattr(selector, lacks)
        assert np.array_equal(selector.get_support(), selector.statistic_ >= selector.threshold_)

    def test_are_told_their_options(self, shifted):
        common = {"method": "stability", "control": "fwer", "random_state": 0}
        selector = ErrorControlledSelector(ReliefF(), options={"n_pairs": 5}, **common).fit(*shifted)
        shares = selector.selection_probability_ * 10
        np.testing.assert_allclose(shares, np.round(shares))

    @pytest.mark.parametrize("method", ["stability", "knockoff"])
    @pytest.mark.parametrize("name", ["level", "random_state", "n_pair", "sample_weight"])
    def test_options_do_not_undo_parameters(self, shifted, method, name):
        selector = ErrorControlledSelector(FisherScore(), method=method, options={name: 0.5})
        with pytest.raises(ValueError, match=f"{name} cannot be among them"):
            selector.fit(*shifted)

    def test_options_are_those_of_the_methods(self):
        own = {"control", "level", "n_jobs", "verbose", "random_state", "sample_weight", "groups", "batches"}
        for method, decide in (("stability", decide_by_stability), ("knockoff", decide_by_knockoffs)):
            names = set(inspect.signature(decide).parameters) - {"estimator", "X", "y"} - own
            assert names == set(OPTIONS[method])

    def test_nulls_differ(self, shifted):
        sentences = set()
        for method in ("permutation", "stability", "knockoff"):
            selector = ErrorControlledSelector(FisherScore(), method=method, n_permutations=9, random_state=0)
            sentences.add(selector.fit(*shifted).null_)
        assert len(sentences) == 3


class TestRefused:
    def test_no_margins(self):
        X, y = noise()
        with pytest.raises(ValueError, match="statistic='margins' needs an estimator that has margins"):
            ErrorControlledSelector(FisherScore(), statistic="margins").fit(X, y)

    def test_one_class(self):
        X, _ = noise()
        with pytest.raises(ValueError, match="only one class"):
            ErrorControlledSelector(ReliefF()).fit(X, np.zeros(60))

    @pytest.mark.parametrize("control", ["fdr", "fwer"])
    def test_too_few_permutations_are_told_of(self, control):
        X, y = noise(60, 1)
        X = np.repeat(X, 30, axis=1) + 3.0 * y[:, np.newaxis]
        selector = ErrorControlledSelector(ReliefF(), control=control, n_permutations=4, random_state=0)
        with pytest.warns(UserWarning, match=r"p-values below 0.2: .* At least 9 are needed"):
            assert not selector.fit(X, y).get_support().any()
        assert selector.set_params(n_permutations=9).fit(X, y).get_support().all()
