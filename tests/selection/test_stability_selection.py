"""Stability selection: the bounds of Shah and Samworth, the halves, and what is decided by them."""

import numpy as np
import pytest
from oracles.shah_samworth_2013 import heaviest_concave_tail, plain_bound, unimodal_bound

from highrelief import IRelief, ReliefF, RReliefF
from highrelief.datasets import make_xor
from highrelief.selection.stability_selection import (
    LARGEST_SHARE,
    concave_tails,
    decide_by_stability,
    equal_halves,
    expected_false,
    named,
)

PAIRS = 50
TAU = 0.5 + np.arange(1, PAIRS + 1) / (2 * PAIRS)


@pytest.fixture(scope="module")
def mains():
    """Four features that count among 40."""
    random = np.random.RandomState(3)
    X = random.normal(size=(400, 40))
    y = np.where(X[:, :4].sum(axis=1) > 0, "b", "a")
    return X, y


# Bounds


@pytest.mark.slow
@pytest.mark.parametrize(("mean", "n", "r"), [(0.1, 3, -0.5), (0.05, 4, -0.25)])
def test_no_concave_distribution_has_a_heavier_tail(mean, n, r):
    """The search reaches what is claimed to be the largest, and nothing beyond."""
    tails = concave_tails(mean, n, r)
    for t in range(int(2 * mean * n) + 1, n + 1):
        assert tails[t] == pytest.approx(heaviest_concave_tail(mean, n, r, t), abs=1e-6)


def test_tails_fall():
    tails = concave_tails(0.05, 100, -0.25)
    assert np.all(tails[:11] == 1.0)
    assert np.all(np.diff(tails) <= 0)
    assert 0.0 < tails[-1] < 1e-3
    # Markov's inequality, which needs no shape, is never better.
    assert np.all(tails[11:] < 0.05 / (np.arange(11, 101) / 100))
    assert np.all(concave_tails(0.6, 20, -0.5) == 1.0)


def test_the_more_concave_the_lighter():
    assert np.all(concave_tails(0.05, 50, -0.25)[10:] < concave_tails(0.05, 50, -0.5)[10:])


@pytest.mark.parametrize(("p", "q"), [(100, 5), (1000, 20), (30, 10), (3, 2)])
def test_bounds_of_the_theorems(p, q):
    plain, unimodal = (expected_false(p, PAIRS, each)(q) for each in (None, "unimodal"))
    for tau, bound, narrower in zip(TAU, plain, unimodal, strict=True):
        known = plain_bound(q, p, tau)
        assert bound == pytest.approx(min(known, p))
        better = unimodal_bound(q, p, tau, PAIRS)
        assert narrower == pytest.approx(min(known, p, *([] if better is None else [better])))


@pytest.mark.parametrize(("p", "q"), [(100, 5), (1000, 20), (20000, 80)])
def test_assumptions_pay(p, q):
    """What is assumed makes bounds narrower, at each share that is of use."""
    concave, unimodal, plain = (expected_false(p, PAIRS, each)(q) for each in ("r-concave", "unimodal", None))
    useful = TAU >= 0.6
    assert np.all(concave[useful] < unimodal[useful])
    assert np.all(unimodal[useful] <= plain[useful])


def test_the_bound_holds_for_features_named_by_lot():
    """Names by lot in every half: all features are null, each is named with the probability q/p."""
    random = np.random.RandomState(0)
    p, q, pairs = 40, 8, 10
    bounds = expected_false(p, pairs, "r-concave")(q)
    # Half of the samples' own luck, which a pair shares with all others, half that of the half.
    kept = np.zeros(pairs)
    for _ in range(400):
        luck = random.normal(size=p)
        scores = luck + random.normal(size=(2 * pairs, p))
        scores[1::2] -= 2 * luck
        counts = named(scores, q, random).sum(axis=0)
        kept += [np.sum(counts >= m) for m in range(pairs + 1, 2 * pairs + 1)]
    assert np.all(kept / 400 <= bounds + 3 * np.sqrt(bounds / 400))


# Halves


def test_halves_are_of_one_distribution():
    codes = np.repeat([0, 1, 2], [7, 4, 1])
    left_out = np.zeros(12)
    for seed in range(200):
        first, second = equal_halves(np.random.RandomState(seed), codes, False)
        assert np.intersect1d(first, second).size == 0
        assert np.bincount(codes[first], minlength=3).tolist() == [3, 2, 0]
        assert np.bincount(codes[second], minlength=3).tolist() == [3, 2, 0]
        left_out[np.setdiff1d(np.arange(12), np.union1d(first, second))] += 1
    assert left_out[:7].min() > 10
    assert np.all(left_out[7:11] == 0)


def test_groups_stay_together():
    groups = np.array([0, 0, 1, 1, 1, 2, 3, 3, 4])
    for seed in range(20):
        first, second = equal_halves(np.random.RandomState(seed), groups, True)
        assert np.intersect1d(groups[first], groups[second]).size == 0
        assert np.unique(groups[first]).size == np.unique(groups[second]).size == 2
        assert np.isin(groups, groups[first]).sum() == first.size


# Names


def test_equals_are_drawn_by_lot():
    scores = np.tile([3.0, 1.0, 1.0, 1.0, -np.inf], (600, 1))
    chosen = named(scores, 2, np.random.RandomState(0))
    assert np.all(chosen.sum(axis=1) == 2)
    assert chosen[:, 0].all()
    assert not chosen[:, 4].any()
    assert np.all(np.abs(chosen[:, 1:4].mean(axis=0) - 1 / 3) < 0.08)


def test_what_weighs_nothing_is_not_named():
    scores = np.array([[2.0, -np.inf, -np.inf, -np.inf]])
    assert named(scores, 3, np.random.RandomState(0)).tolist() == [[True, False, False, False]]


# Decisions


def test_features_that_count_are_kept(mains):
    decision = decide_by_stability(ReliefF(), *mains, random_state=0)
    assert np.flatnonzero(decision.support).tolist() == [0, 1, 2, 3]
    assert np.array_equal(decision.support, decision.statistic >= decision.threshold)
    assert 0.5 < decision.threshold <= LARGEST_SHARE
    assert decision.statistic is decision.selection_probability
    assert decision.pvalues is None


@pytest.mark.slow
def test_fdr_keeps_what_fwer_keeps(mains):
    X, y = mains
    by = {
        each: decide_by_stability(ReliefF(), X[:120], y[:120], control=each, random_state=1)
        for each in ("fwer", "fdr")
    }
    assert np.array_equal(by["fwer"].statistic, by["fdr"].statistic)
    assert np.all(by["fdr"].support >= by["fwer"].support)
    assert np.array_equal(by["fdr"].support, by["fdr"].qvalues <= 0.1)
    order = np.argsort(by["fdr"].statistic)
    assert np.all(np.diff(by["fdr"].qvalues[order]) <= 0)


def test_interactions_are_found():
    X, y, relevant = make_xor(300, n_irrelevant=58, random_state=0)
    decision = decide_by_stability(ReliefF(), X, y, random_state=0)
    assert np.array_equal(decision.support, relevant)


@pytest.mark.parametrize("estimator", [ReliefF(), IRelief(max_iter=3)])
@pytest.mark.filterwarnings("ignore:The fits")
def test_threads_and_seeds(mains, estimator):
    X, y = mains[0][:150], mains[1][:150]
    one, two = (
        decide_by_stability(estimator, X, y, n_pairs=4, n_jobs=each, random_state=5).statistic
        for each in (1, 2)
    )
    assert np.array_equal(one, two)
    other = decide_by_stability(estimator, X, y, n_pairs=4, random_state=6).statistic
    assert not np.array_equal(one, other)
    state = np.random.RandomState(5)
    assert np.array_equal(decide_by_stability(estimator, X, y, n_pairs=4, random_state=state).statistic, one)


def test_numbers_as_target(mains):
    X = mains[0]
    decision = decide_by_stability(RReliefF(), X, X[:, 0] + X[:, 1], random_state=0)
    assert decision.support[:2].all()
    assert decision.support.sum() == 2


def test_weights_groups_and_batches_are_passed_on(mains):
    X, y = mains
    weights = np.repeat([1.0, 0.0, 2.0, 1.0], 100)
    kept = weights > 0
    some = decide_by_stability(ReliefF(), X, y, n_pairs=3, sample_weight=weights, random_state=0).statistic
    same = decide_by_stability(
        ReliefF(), X[kept], y[kept], n_pairs=3, sample_weight=weights[kept], random_state=0
    ).statistic
    assert np.array_equal(some, same)
    grouped = decide_by_stability(ReliefF(), X, y, n_pairs=3, groups=np.arange(400) // 4, random_state=0)
    assert grouped.statistic.shape == (40,)
    batched = decide_by_stability(ReliefF(), X, y, n_pairs=3, batches=np.arange(400) % 2, random_state=0)
    assert not np.array_equal(batched.statistic, grouped.statistic)


def test_classes_of_one_sample_and_constant_columns(mains):
    X, y = mains
    X = np.column_stack([X, np.ones(len(X))])
    y = np.append(y[:-1], "c")
    decision = decide_by_stability(ReliefF(), X, y, n_pairs=5, random_state=0)
    assert decision.statistic[-1] == 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"control": "fwe"}, "control='fwe' is not known"),
        ({"level": 1.0}, "level=1.0 must be"),
        ({"n_pairs": 1}, "n_pairs=1 must be at least 2"),
        ({"assumption": "concave"}, "assumption='concave' is not known"),
        ({"n_best": 0}, "n_best=0 must be at least 1"),
        ({"n_best": 41}, "more than the 40 features"),
        ({"n_best": 30}, "use at most"),
        ({"groups": np.zeros(400)}, "too few samples, or groups"),
    ],
)
def test_what_cannot_be(mains, options, message):
    with pytest.raises(ValueError, match=message):
        decide_by_stability(ReliefF(), *mains, **{"n_pairs": 4} | options)


def test_one_feature_proves_nothing(mains):
    X, y = mains
    with pytest.warns(UserWarning, match="stability cannot keep any"):
        decision = decide_by_stability(ReliefF(), X[:, :1], y, n_pairs=4, random_state=0)
    assert not decision.support.any()
    assert decision.threshold == np.inf


def test_fits_that_do_not_come_to_rest_are_counted(mains):
    with pytest.warns(UserWarning, match="of 8 halves did not converge"):
        decide_by_stability(IRelief(max_iter=1), *mains, n_pairs=4, random_state=0)
