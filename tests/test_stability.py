"""Measures of stability: their papers' formulas, hand-made cases, and what must not look stable."""

import numpy as np
import pytest
from oracles import (
    falling_ranks,
    jaccard_similarity,
    kuncheva_similarity,
    mean_over_pairs,
    nogueira_stability,
    rank_similarity,
    scale_range,
)
from registry import continuous_table
from scipy.stats import norm, spearmanr
from sklearn.base import clone
from sklearn.feature_selection import RFE, SelectKBest
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import highrelief
from highrelief import FREL, EnsembleWeighting, FisherScore, ReliefF
from highrelief.stability import (
    NogueiraStability,
    accuracy_tradeoff,
    jaccard,
    kuncheva,
    nogueira,
    spearman,
    stability_score,
)

SET_MEASURES = [jaccard, kuncheva, lambda supports: nogueira(supports).stability]


def random_rankings(n_rankings, n_features, seed=0):
    rng = np.random.default_rng(seed)
    return np.stack([1 + rng.permutation(n_features) for _ in range(n_rankings)])


def random_supports(n_selections, n_features, n_kept, seed=0):
    return random_rankings(n_selections, n_features, seed) <= n_kept


# Rankings


def test_the_reference(golden_folder):
    reference = np.load(golden_folder / "stability.npz")
    assert spearman(reference["rankings"]) == pytest.approx(float(reference["spearman_eq21"]), abs=1e-12)


@pytest.mark.parametrize(("n_rankings", "n_features"), [(2, 2), (2, 9), (5, 30), (11, 7)])
def test_the_formula_of_the_paper(n_rankings, n_features):
    rankings = random_rankings(n_rankings, n_features)
    assert spearman(rankings) == pytest.approx(mean_over_pairs(rank_similarity, rankings), abs=1e-12)


def test_ties_share_ranks():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 4, size=(6, 25)).astype(float)
    rows[2] = rng.normal(size=25)
    expected = mean_over_pairs(lambda a, b: spearmanr(a, b).statistic, rows)
    assert spearman(rows) == pytest.approx(expected, abs=1e-12)
    ranks = np.stack([falling_ranks(row) for row in rows])
    expected = mean_over_pairs(lambda a, b: np.corrcoef(a, b)[0, 1], ranks)
    assert spearman(rows) == pytest.approx(expected, abs=1e-12)


def test_a_sparse_solution_is_not_stable_by_the_order_of_its_zeros():
    """Ties broken by index would give two disjoint selections of 10 out of 1,000 features about 0.94."""
    weights = np.zeros((2, 1000))
    weights[0, :10] = weights[1, 10:20] = np.arange(1, 11)
    by_index = np.stack([np.argsort(np.argsort(-row, kind="stable")) for row in weights])
    assert mean_over_pairs(rank_similarity, by_index + 1) > 0.9
    assert -0.05 < spearman(weights) < 0.0


def test_rankings_by_hand():
    assert spearman([[1, 2, 3]] * 4) == 1.0
    assert spearman([[1, 2, 3, 4], [4, 3, 2, 1]]) == -1.0
    # Pairs: 1, -1, -1.
    assert spearman([[1, 2, 3], [1, 2, 3], [3, 2, 1]]) == pytest.approx(-1 / 3)
    # Squared differences 2 and 2·1 of d = 4: 1 - 12/60.
    assert spearman([[1, 2, 3, 4], [2, 1, 3, 4]]) == pytest.approx(0.8)


def test_identical_rankings_score_exactly_1():
    for n_features in (3, 10, 1001):
        row = random_rankings(1, n_features)[0]
        assert spearman(np.tile(row, (7, 1))) == 1.0


def test_random_rankings_score_about_0():
    # The mean of 190 pairs of standard deviation 1/√(d − 1), nearly independent.
    assert abs(spearman(random_rankings(20, 2000))) < 5 / np.sqrt(1999 * 190)


def test_ranks_weights_and_mean_ranks_are_all_the_same():
    weights = np.random.default_rng(0).normal(size=(5, 40))
    ranks = np.stack([falling_ranks(row) for row in weights])
    expected = spearman(ranks)
    assert spearman(weights) == pytest.approx(expected, abs=1e-12)
    assert spearman(np.exp(3.0 * weights)) == pytest.approx(expected, abs=1e-12)
    assert spearman(41 - ranks) == pytest.approx(expected, abs=1e-12)


def test_ensembles_of_noise_do_not_look_stable():
    """Eq. (22) on averaged ranks gives 1 − 1/m to rankings that have nothing to do with each other."""
    for m in (5, 20):
        averaged = np.stack([random_rankings(m, 1000, seed=100 * m + c).mean(axis=0) for c in range(10)])
        literal = mean_over_pairs(rank_similarity, averaged)
        assert literal == pytest.approx(1 - 1 / m, abs=0.01)
        assert abs(spearman(averaged)) < 0.03


def test_rows_that_order_nothing():
    assert spearman([[1.0, 2.0, 3.0], [5.0, 5.0, 5.0]]) == 0.0
    assert spearman([[5.0, 5.0], [5.0, 5.0]]) == 0.0
    # One pair of three is known.
    assert spearman([[1, 2, 3], [1, 2, 3], [7, 7, 7]]) == pytest.approx(1 / 3)
    assert np.isnan(spearman([[1.0], [2.0]]))


@pytest.mark.slow
def test_many_features_and_rankings():
    rankings = np.tile(np.arange(20_000.0), (200, 1))
    rankings[::2] = rankings[::2, ::-1]
    # Of 200·199/2 pairs, 2·4950 agree and 10,000 are reversed.
    assert spearman(rankings) == pytest.approx((9900 - 10_000) / 19_900, abs=1e-9)


# Selections


def test_selections_by_their_formulas():
    rng = np.random.default_rng(1)
    same_size = random_supports(7, 30, 8)
    any_size = rng.uniform(size=(9, 25)) < rng.uniform(0.2, 0.6, size=(9, 1))
    for supports in (same_size, any_size):
        assert jaccard(supports) == pytest.approx(mean_over_pairs(jaccard_similarity, supports), abs=1e-12)
        estimate, variance = nogueira_stability(supports)
        found = nogueira(supports)
        assert found.stability == pytest.approx(estimate, abs=1e-12)
        half = norm.ppf(0.975) * np.sqrt(variance)
        assert found.lower == pytest.approx(estimate - half, abs=1e-12)
        assert found.upper == pytest.approx(estimate + half, abs=1e-12)
    assert kuncheva(same_size) == pytest.approx(mean_over_pairs(kuncheva_similarity, same_size), abs=1e-12)


def test_nogueira_is_kuncheva_where_sizes_are_the_same():
    for seed in range(5):
        supports = random_supports(6, 20, 3 + seed, seed)
        assert nogueira(supports).stability == pytest.approx(kuncheva(supports), abs=1e-12)


def test_selections_by_hand():
    same, disjoint = [[1, 1, 0, 0]] * 3, [[1, 1, 0, 0], [0, 0, 1, 1]]
    assert [measure(same) for measure in SET_MEASURES] == [1.0, 1.0, 1.0]
    assert [measure(disjoint) for measure in SET_MEASURES] == pytest.approx([0.0, -1.0, -1.0])
    half = [[1, 1, 0, 0], [1, 0, 1, 0]]
    assert [measure(half) for measure in SET_MEASURES] == pytest.approx([1 / 3, 0.0, 0.0])
    interval = nogueira(same)
    assert (interval.lower, interval.upper) == (1.0, 1.0)


@pytest.mark.parametrize("n_kept", [5, 100, 180])
def test_random_selections_score_0_where_chance_is_corrected_for(n_kept):
    supports = random_supports(40, 200, n_kept)
    assert abs(kuncheva(supports)) < 0.02
    assert abs(nogueira(supports).stability) < 0.02
    # Jaccard is not: k/d of random selections are shared.
    share = n_kept / 200
    assert jaccard(supports) == pytest.approx(share / (2 - share), abs=0.02)


def test_the_interval_holds_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 1.0, size=40)
    mean = p.mean()
    truth = 1 - np.mean(p * (1 - p)) / (mean * (1 - mean))
    found = [nogueira(rng.uniform(size=(60, 40)) < p) for _ in range(400)]
    covered = np.mean([each.lower <= truth <= each.upper for each in found])
    # Three standard errors of 0.95 in 400, and a little for 60 being fewer than infinitely many.
    assert 0.90 < covered < 0.99
    assert np.mean([each.stability for each in found]) == pytest.approx(truth, abs=0.005)


def test_width_of_the_interval():
    supports = np.random.default_rng(0).uniform(size=(20, 30)) < 0.4
    usual, wide = nogueira(supports), nogueira(supports, confidence=0.99)
    assert isinstance(usual, NogueiraStability)
    assert usual == nogueira(supports, confidence=0.95)
    ratio = (wide.upper - wide.lower) / (usual.upper - usual.lower)
    assert ratio == pytest.approx(norm.ppf(0.995) / norm.ppf(0.975))
    for bad in (0.0, 1.0, 95, "high"):
        with pytest.raises((ValueError, TypeError), match="confidence"):
            nogueira(supports, confidence=bad)


def test_nothing_and_everything():
    nothing, everything = np.zeros((3, 4)), np.ones((3, 4))
    assert jaccard(nothing) == jaccard(everything) == 1.0
    for supports in (nothing, everything):
        assert np.isnan(kuncheva(supports))
        assert np.isnan(nogueira(supports)).all()
    assert jaccard([[0, 0, 0], [1, 0, 0]]) == 0.0


def test_kuncheva_wants_selections_of_the_same_size():
    with pytest.raises(ValueError, match=r"same size.*1 to 2 features.*nogueira"):
        kuncheva([[1, 1, 0, 0], [1, 0, 0, 0]])


def test_flags_and_numbers_are_the_same():
    supports = random_supports(5, 12, 4)
    for measure in SET_MEASURES:
        assert measure(supports) == measure(supports.astype(int)) == measure(supports.astype(float).tolist())


def test_what_cannot_be_compared():
    rankings = random_rankings(3, 6)
    for measure in (spearman, *SET_MEASURES):
        with pytest.raises(ValueError, match="minimum of 2"):
            measure(rankings[:1] <= 2)
        with pytest.raises(ValueError, match="2D array"):
            measure(rankings[0] <= 2)
        with pytest.raises(ValueError, match="NaN"):
            measure(np.where(rankings == 1, np.nan, rankings <= 2))
    for measure in SET_MEASURES:
        with pytest.raises(ValueError, match=r"rankings <= k"):
            measure(rankings)


# Scores of estimators


def by_hand(estimator, X, y, **more):
    """An ensemble has the same members for the same seed."""
    return EnsembleWeighting(estimator, n_estimators=10, random_state=3).fit(X, y, **more)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_the_score_is_what_the_measure_says_of_the_fits(n_jobs):
    X, y = continuous_table()
    settings = {"random_state": 3, "n_jobs": n_jobs}
    members = by_hand(ReliefF(n_neighbors=3), X, y)
    score = stability_score(ReliefF(n_neighbors=3), X, y, **settings)
    assert score == spearman(members.member_weights_)
    top = np.stack([row.argsort()[-2:] for row in members.member_weights_])
    supports = np.zeros((10, 6), dtype=bool)
    np.put_along_axis(supports, top, True, axis=1)
    for measure, function in [("jaccard", jaccard), ("kuncheva", kuncheva), ("nogueira", nogueira)]:
        found = stability_score(ReliefF(n_neighbors=3), X, y, measure=measure, n_features=2, **settings)
        assert found == function(supports)
        own = stability_score(
            ReliefF(n_neighbors=3, n_features_to_select=2), X, y, measure=measure, **settings
        )
        assert own == found
    share = stability_score(ReliefF(n_neighbors=3), X, y, measure="jaccard", n_features=0.34, **settings)
    assert share == jaccard(supports)


def test_the_score_of_any_estimator():
    X, y = continuous_table(n_classes=2)
    score = stability_score(RidgeClassifier(), X, y, random_state=0)
    assert 0.0 < score < 1.0
    with pytest.raises(ValueError, match="RidgeClassifier selects nothing by itself"):
        stability_score(RidgeClassifier(), X, y, measure="jaccard")


@pytest.mark.parametrize(
    "selector",
    [
        SelectKBest(k=3),
        RFE(RidgeClassifier(), n_features_to_select=3),
        make_pipeline(StandardScaler(), SelectKBest(k=3)),
    ],
    ids=["SelectKBest", "RFE", "pipeline"],
)
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_the_score_of_what_only_selects(selector, n_jobs):
    X, y = continuous_table()
    settings = {"fraction": 0.5, "random_state": 3, "n_jobs": n_jobs}
    members = EnsembleWeighting(FisherScore(), n_estimators=10, max_samples=0.5, random_state=3).fit(X, y)
    supports = []
    for rows in members.estimators_samples_:
        fitted = clone(selector).fit(X[rows], y[rows])
        supports.append(getattr(fitted, "steps", [("", fitted)])[-1][1].get_support())
    assert len(np.unique(supports, axis=0)) > 1
    for measure, function in [("jaccard", jaccard), ("kuncheva", kuncheva), ("nogueira", nogueira)]:
        assert stability_score(selector, X, y, measure=measure, **settings) == function(supports)


def test_what_only_selects_has_no_ranking():
    X, y = continuous_table()
    with pytest.raises(ValueError, match="SelectKBest weighs no features"):
        stability_score(SelectKBest(k=2), X, y)
    with pytest.raises(ValueError, match="SelectKBest weighs no features"):
        stability_score(SelectKBest(k=2), X, y, measure="jaccard", n_features=2)
    twice = make_pipeline(SelectKBest(k=4), SelectKBest(k=2))
    with pytest.raises(ValueError, match=r"SelectKBest selects among 4 features.*Pipeline.*6 features of X"):
        stability_score(twice, X, y, measure="jaccard")


def test_the_score_with_groups_and_weights():
    X, y = continuous_table()
    groups = np.arange(60) // 3
    members = by_hand(FisherScore(), X, y, groups=groups)
    assert stability_score(FisherScore(), X, y, groups=groups, random_state=3) == spearman(
        members.member_weights_
    )
    s = np.arange(60) % 3
    members = by_hand(FisherScore(), X, y, sample_weight=s)
    assert stability_score(FisherScore(), X, y, sample_weight=s, random_state=3) == spearman(
        members.member_weights_
    )


def test_smaller_subsets_of_noise_agree_less():
    """Subsets share samples: even noise is ranked alike where nearly all of them are the same."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 500)), np.arange(100) % 2
    scores = [stability_score(FisherScore(), X, y, fraction=a, random_state=0) for a in (0.9, 0.5, 0.1)]
    assert scores[0] > 0.7
    assert scores[0] > scores[1] > scores[2] > 0.0
    assert scores[2] < 0.15


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_subsets", 1),
        ("n_subsets", 2.5),
        ("fraction", 1.0),
        ("fraction", 0.0),
        ("fraction", 0.01),
        ("measure", "pearson"),
        ("n_features", 0),
        ("n_features", 7),
        ("n_features", 1.5),
        ("n_features", "all"),
        ("n_jobs", 0),
        ("random_state", "seed"),
    ],
)
def test_bad_parameters_of_the_score(name, value):
    X, y = continuous_table()
    with pytest.raises((ValueError, TypeError), match=rf"{name}={value!r}"):
        stability_score(FisherScore(), X, y, **{"measure": "jaccard", "n_features": 2, name: value})


def test_the_score_leaves_the_estimator_alone():
    X, y = continuous_table()
    weighter = FisherScore()
    stability_score(weighter, X, y, random_state=0)
    assert not hasattr(weighter, "feature_weights_")


# Means and standard deviations over five draws of ten subsets, of reference runs made elsewhere on a table
# that was scaled as a whole. (Scaled by each subset, as is the rule here, FREL's square loss has 0.87.)
LEUKEMIA = {
    "ReliefF": (ReliefF(scale=None), 0.885, 0.011),
    "FREL log": (FREL(scale=None), 0.643, 0.064),
    "FREL square": (FREL(loss="square", alpha=0.1, scale=None), 0.921, 0.007),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LEUKEMIA)
def test_ensembles_on_the_leukemia_data(data_folder, name):
    """The protocol of Li et al. (2015), section IV, but for mean ranks, which are ranked anew."""
    weighter, mean, deviation = LEUKEMIA[name]
    table = np.load(data_folder / "microarray" / "leukemia_golub.npz")
    X = scale_range(table["X"])
    ensemble = EnsembleWeighting(weighter, aggregate="ranks", random_state=0)
    score = stability_score(ensemble, X, table["y"], random_state=0)
    # Three standard errors of the difference between one draw and the mean of five.
    assert score == pytest.approx(mean, abs=3.0 * deviation * np.sqrt(1 + 1 / 5))


# Stability and accuracy


def test_the_trade_off():
    assert accuracy_tradeoff(0.6, 0.9) == pytest.approx(2 * 0.6 * 0.9 / 1.5)
    assert accuracy_tradeoff(1.0, 1.0) == 1.0
    assert accuracy_tradeoff(0.0, 0.0) == accuracy_tradeoff(0.0, 0.9) == accuracy_tradeoff(0.9, 0.0) == 0.0
    assert accuracy_tradeoff(-0.2, 0.9) == 0.0
    for name, values in [("stability", (1.5, 0.5)), ("accuracy", (0.5, 1.5)), ("accuracy", (0.5, -0.1))]:
        with pytest.raises(ValueError, match=name):
            accuracy_tradeoff(*values)
    with pytest.raises(ValueError, match="stability=nan"):
        accuracy_tradeoff(np.nan, 0.5)


def test_it_is_a_module_of_the_package():
    assert highrelief.stability.spearman is spearman
    assert "stability" in dir(highrelief)
