"""FREL against its oracle, and what is special about it."""

import numpy as np
import pytest
from oracles import (
    frel_objective,
    frel_sgd,
    hits_and_misses,
    lmba,
    scale_range,
    variance_reduction_shares,
)
from registry import continuous_table, discrete_table, pairwise, rounded_table
from scipy.optimize import minimize

from highrelief import FREL, EnsembleWeighting, Lmba, Relief, VarianceReduction
from highrelief._engine.neighbors import Neighborhood

LOSSES = ["log", "square", "hinge", "square-exp"]
TABLES = [continuous_table, discrete_table, rounded_table]


def noisy_table():
    """Six features that may matter among others that do not."""
    X, y = continuous_table()
    return np.column_stack([X, np.random.default_rng(0).normal(size=(60, 20))]), y


def rows_of(weighter, X, y, sample_weight=None):
    return weighter._choose_engine(weighter._check_fit(X, y, sample_weight))


# What the losses see


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("weighted", [False, True])
def test_hits_misses_and_gaps(table, weighted):
    X, y = table(40)
    s = np.random.default_rng(0).integers(1, 4, size=40) if weighted else None
    H, M, gaps, counts = hits_and_misses(scale_range(X), y, s)
    near = rows_of(FREL(solver="exact"), X, y, s).nearest(Neighborhood(1, pooled=True))
    found = near.sample_margins(separate=True, gaps=True)
    np.testing.assert_allclose(found.rows[:40], H, atol=1e-12)
    np.testing.assert_allclose(found.rows[40:], M, atol=1e-12)
    np.testing.assert_allclose(found.gaps, gaps, atol=1e-12)
    np.testing.assert_array_equal(found.counts, counts)
    np.testing.assert_allclose(near.sample_margins().rows, M - H, atol=1e-12)


def test_many_ties_are_met_in_portions(force):
    X, y = discrete_table(40)
    force(pairs_at_once=7)
    _, _, gaps, _ = hits_and_misses(scale_range(X), y)
    near = rows_of(FREL(solver="exact"), X, y).nearest(Neighborhood(1, pooled=True))
    np.testing.assert_allclose(near.sample_margins(gaps=True).gaps, gaps, atol=1e-12)


def test_a_tie_by_hand():
    """The first sample has two nearest hits and two nearest misses."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [0.0, 2.0], [9.0, 9.0], [9.0, 10.0]])
    y = np.array([0, 0, 0, 1, 1, 1, 0])
    near = rows_of(FREL(scale=None), X, y).nearest(Neighborhood(1, pooled=True))
    found = near.sample_margins(separate=True, gaps=True)
    np.testing.assert_allclose(found.rows[0], [0.5, 0.5])
    np.testing.assert_allclose(found.rows[7], [1.0, 1.0])
    # (1, 0) is 1 and 3 from the misses, (0, 1) is 3 and 1.
    assert found.gaps[0] == pytest.approx(2.0)


# The oracles themselves


@pytest.mark.slow
@pytest.mark.parametrize("name", ["binary", "three", "wide"])
def test_oracles_equal_the_reference(golden_folder, name):
    with np.load(golden_folder / f"{name}.npz") as file:
        X, y = file["X"], file["y"]
        for loss in ("log", "square"):
            for penalty, alpha in (("l2", 1.0), ("l1", 0.01)):
                expected = file[f"frel_sgd_{loss}_{penalty}_{alpha}"]
                np.testing.assert_allclose(frel_sgd(X, y, loss, penalty, alpha), expected, atol=1e-12)
        shares = variance_reduction_shares(X, y, 5)
        np.testing.assert_allclose(shares, file["vr_sample_weights_k5"], rtol=1e-10)
        np.testing.assert_allclose(lmba(X, y, 5), file["lmba_k5"], atol=1e-12)
        np.testing.assert_allclose(lmba(X, y, 5, shares=shares), file["vr_lmba_k5"], atol=1e-12)


# Algorithm 1


@pairwise(
    pytest.mark.parametrize("table", TABLES),
    pytest.mark.parametrize("penalty", ["l1", "l2"]),
    pytest.mark.parametrize("loss", LOSSES),
)
def test_algorithm_1(loss, penalty, table):
    X, y = table(40)
    for alpha, n_epochs in ((1.0, 1), (1e-3, 1), (0.0, 2)):
        frel = FREL(loss=loss, penalty=penalty, alpha=alpha, n_epochs=n_epochs).fit(X, y)
        expected = frel_sgd(scale_range(X), y, loss, penalty, alpha, n_epochs)
        np.testing.assert_allclose(frel.feature_weights_, expected, atol=1e-9)
        assert frel.n_steps_ == 40 * n_epochs
        assert np.isnan(frel.residual_)


def test_algorithm_1_passes_a_lonely_sample_over():
    X, y = continuous_table(30, n_classes=2)
    y[11] = 2
    frel = FREL(alpha=0.1).fit(X, y)
    np.testing.assert_allclose(frel.feature_weights_, frel_sgd(scale_range(X), y, alpha=0.1), atol=1e-12)
    assert frel.n_steps_ == 29


def test_algorithm_1_does_not_overflow():
    """exp(−Ē) is beyond float64 when the weights have become negative enough."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(20, 3)) * 1e4, np.arange(20) % 2
    frel = FREL(loss="square-exp", scale=None, alpha=0.0, n_epochs=5).fit(X, y)
    assert np.isfinite(frel.feature_weights_).all()


def test_each_step_has_length_1():
    """Of three samples one is alone in its class, and two take a step."""
    X, y = np.array([[0.0, 0.2], [1.0, 0.0], [0.2, 1.0]]), [0, 1, 0]
    one_way = FREL(penalty="l2", alpha=1e6).fit(X, y).feature_weights_  # the penalty alone: towards 0
    np.testing.assert_allclose(one_way, 1.0 - 2.0 / np.sqrt(2.0), atol=1e-5)


def test_constant_columns_have_no_part_in_the_norm_of_a_step():
    X, y = continuous_table(40)
    with_constants = np.column_stack([X, np.full((40, 100), 3.0)])
    for loss in LOSSES:
        w = FREL(loss=loss).fit(with_constants, y).feature_weights_
        np.testing.assert_allclose(w[:6], FREL(loss=loss).fit(X, y).feature_weights_, rtol=1e-12)


# The minimizer


@pairwise(
    pytest.mark.parametrize("weighted", [False, True]),
    pytest.mark.parametrize("table", TABLES),
    pytest.mark.parametrize("penalty", ["l1", "l2"]),
    pytest.mark.parametrize("loss", LOSSES),
)
def test_the_objective_is_that_of_the_paper(loss, penalty, table, weighted):
    X, y = table(30)
    s = np.random.default_rng(0).integers(1, 4, size=30) if weighted else None
    frel = FREL(loss=loss, penalty=penalty, alpha=0.02, solver="exact").fit(X, y, sample_weight=s)
    H, M, gaps, _ = hits_and_misses(scale_range(X), y, s)

    def objective(w):
        return frel_objective(w, H, M, gaps, loss, penalty, 0.02, s)

    assert frel.objective_ == pytest.approx(objective(frel.feature_weights_), rel=1e-12)
    assert frel.residual_ <= 1e-10
    # A derivative-free search from the minimum does not find less.
    found = minimize(objective, frel.feature_weights_, method="Powell", options={"maxiter": 3})
    assert found.fun >= frel.objective_ * (1 - 1e-10)


@pytest.mark.parametrize("loss", LOSSES)
def test_positive(loss):
    X, y = noisy_table()
    free = FREL(loss=loss, alpha=1e-3, solver="exact").fit(X, y)
    bound = FREL(loss=loss, alpha=1e-3, solver="exact", positive=True).fit(X, y)
    assert free.feature_weights_.min() < 0.0 <= bound.feature_weights_.min()
    assert free.objective_ <= bound.objective_


def test_relief_is_the_limit_of_a_large_penalty():
    """w → −∇loss(0)/2λ, the mean margin of Relief times 1/4λ."""
    X, y = continuous_table()
    w = FREL(solver="exact", alpha=1e6).fit(X, y).feature_weights_
    np.testing.assert_allclose(4e6 * w, Relief().fit(X, y).feature_weights_, rtol=1e-5)
    w = FREL(solver="exact", loss="hinge", alpha=1e6).fit(X, y).feature_weights_
    np.testing.assert_allclose(2e6 * w, Relief().fit(X, y).feature_weights_, rtol=1e-9)


def test_l1_selects_few_of_many_features():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 500))
    X[:, 7] += 8.0 * y
    frel = FREL(penalty="l1", alpha=0.05, solver="exact").fit(X, y)
    assert frel.feature_weights_.argmax() == 7
    assert np.count_nonzero(frel.feature_weights_) < 30
    assert FREL(penalty="l1", alpha=10.0, solver="exact").fit(X, y).get_support().sum() == 1


def test_margins_have_sign_and_size_of_the_weights():
    X, y = noisy_table()
    frel = FREL(solver="exact", alpha=1e-3).fit(X, y)
    H, M, _, _ = hits_and_misses(scale_range(X), y)
    np.testing.assert_allclose(frel.margins(X, y), (M - H) @ frel.feature_weights_, atol=1e-9)
    assert frel.feature_weights_.min() < 0.0


def test_mislabeled_samples_have_the_smallest_margins():
    X, y = continuous_table(90, n_classes=2)
    X[:, 0] += 4.0 * y
    wrong = [3, 40, 77]
    y[wrong] = 1 - y[wrong]
    for frel in (FREL(solver="exact", alpha=0.01), FREL(loss="square", alpha=1e-3)):
        assert set(np.argsort(frel.fit(X, y).margins(X, y))[:3]) == set(wrong)


# What is refused


def test_sample_weight_needs_the_minimizer():
    X, y = continuous_table()
    with pytest.raises(TypeError, match=r"sample_weight.*solver='sgd'.*solver='exact'"):
        FREL().fit(X, y, sample_weight=np.ones(len(X)))


def test_no_sample_weight_is_no_sample_weight():
    X, y = continuous_table()
    np.testing.assert_array_equal(
        FREL().fit(X, y, sample_weight=None).feature_weights_, FREL().fit(X, y).feature_weights_
    )


@pytest.mark.parametrize("solver", ["sgd", "exact"])
def test_errors_name_the_method_that_was_called(solver):
    X, y = continuous_table()
    frel = FREL(solver=solver)
    assert frel.fit.__name__ == "fit"
    assert frel.fit.__qualname__ == FREL.fit.__qualname__ == "FREL.fit"
    with pytest.raises(TypeError, match=r"^FREL\.fit\(\) missing 1 required positional argument: 'y'"):
        frel.fit(X)
    with pytest.raises(TypeError, match=r"FREL\.fit.*groups"):
        frel.fit(X, y, groups=None)


def test_no_minimum_without_a_penalty():
    X, y = continuous_table()
    with pytest.raises(ValueError, match=r"alpha=0.0.*> 0.*exact"):
        FREL(solver="exact", alpha=0.0).fit(X, y)


def test_no_constraint_in_algorithm_1():
    with pytest.raises(ValueError, match="positive=True needs solver='exact'"):
        FREL(positive=True).fit(*continuous_table())


# Ensembles


def test_an_ensemble_of_each():
    X, y = continuous_table(n_classes=2)
    for inside in (FREL(), FREL(solver="exact"), Lmba(n_neighbors=3), VarianceReduction(Lmba())):
        ensemble = EnsembleWeighting(inside, n_estimators=3, random_state=0).fit(X, y)
        members = [member.feature_weights_ for member in ensemble.estimators_]
        np.testing.assert_allclose(ensemble.feature_weights_, np.mean(members, axis=0), rtol=1e-12)
