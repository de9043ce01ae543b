"""Knockoffs: their covariance, that they can change places, the threshold, and what is decided by it."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.knockoffs_2018 import knockoff_plus, knockoff_qvalue
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.covariance import ledoit_wolf
from sklearn.linear_model import LogisticRegression

from highrelief import LOGO, IRelief, ReliefF
from highrelief.selection import knockoffs
from highrelief.selection.knockoffs import (
    Spectrum,
    decide_by_knockoffs,
    diagonal,
    draw_knockoffs,
    knockoff_cut,
    knockoffs_of,
    latent_scores,
    one_for_all,
)


def ar(rho, p):
    return rho ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))


@pytest.fixture(scope="module")
def mains():
    """Twelve features that count among 40."""
    random = np.random.RandomState(0)
    X = random.normal(size=(500, 40))
    y = np.where(X[:, :12].sum(axis=1) > 0, "b", "a")
    return X, y


# Covariance


@pytest.mark.parametrize(("n", "p"), [(30, 80), (200, 20)])
def test_shrinkage_is_half_that_of_ledoit_and_wolf(n, p):
    random = np.random.RandomState(1)
    Z = random.normal(size=(n, p)) @ np.linalg.cholesky(ar(0.6, p)).T
    Z -= Z.mean(axis=0)
    expected = 0.5 * ledoit_wolf(Z, assume_centered=True)[0] + 0.5 * Z.T @ Z / n
    np.testing.assert_allclose(Spectrum.shrunk(Z).matrix, expected, rtol=0, atol=1e-12)


def test_copies_count_in_the_covariance():
    random = np.random.RandomState(2)
    Z, copies = random.normal(size=(25, 6)), random.randint(1, 4, size=25)
    repeated = Spectrum.shrunk(np.repeat(Z, copies, axis=0)).matrix
    np.testing.assert_allclose(Spectrum.shrunk(Z, copies.astype(float)).matrix, repeated, atol=1e-12)


def loss(s, sigma):
    return np.sum(1 / s) + np.trace(np.linalg.inv(2 * sigma - np.diag(s)))


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.95])
def test_reconstructability_is_least(rho):
    """No step from s, along any feature or direction, improves the loss by more than was left undone."""
    random = np.random.RandomState(0)
    sigma = ar(rho, 12)
    s = diagonal(sigma)
    assert np.linalg.eigvalsh(2 * sigma - np.diag(s)).min() > 0
    assert s.min() > 0
    for direction in [*np.eye(12), *random.normal(size=(20, 12))]:
        for step in (-1e-3, 1e-3):
            assert loss(s, sigma) <= loss(s * (1 + step * direction), sigma) * (1 + 1e-5)
    assert loss(s, sigma) <= loss(np.full(12, one_for_all(Spectrum.of(sigma))), sigma)


def test_independent_features_have_independent_knockoffs():
    np.testing.assert_allclose(diagonal(np.eye(5)), 1.0, atol=1e-6)
    assert one_for_all(Spectrum.of(np.eye(5))) == pytest.approx(1.0, abs=1e-4)


def test_the_same_as_knockpy():
    smatrix = pytest.importorskip("knockpy.smatrix")
    for sigma in (ar(0.3, 10), ar(0.9, 30)):
        theirs = np.diag(smatrix.compute_smatrix(sigma, method="mvr"))
        np.testing.assert_allclose(diagonal(sigma), theirs, atol=5e-3)


@pytest.mark.parametrize("equal", [True, False])
def test_features_can_change_places_with_their_knockoffs(equal):
    """Means and covariances of both together are those of the theory, whichever features are swapped."""
    p, n = 5, 200_000
    random = np.random.RandomState(3)
    sigma = ar(0.6, p)
    Z = random.normal(size=(n, p)) @ np.linalg.cholesky(sigma).T
    spectrum = Spectrum.of(sigma)
    s = np.full(p, one_for_all(spectrum)) if equal else diagonal(sigma)
    copied = draw_knockoffs(Z, spectrum, random, equal=equal)
    cross = sigma - np.diag(s)
    expected = np.block([[sigma, cross], [cross, sigma]])
    for swapped in (np.zeros(p, bool), np.array([1, 0, 1, 0, 0], bool), np.ones(p, bool)):
        both = np.hstack([np.where(swapped, copied, Z), np.where(swapped, Z, copied)])
        # Five standard errors of a covariance of variables of variance 1.
        np.testing.assert_allclose(both.T @ both / n, expected, rtol=0, atol=5 * np.sqrt(2 / n))
        assert np.abs(both.mean(axis=0)).max() < 5 / np.sqrt(n)


def test_one_for_all_needs_no_square_matrix():
    """Along fewer eigenvectors than features, as by the whole matrix."""
    random = np.random.RandomState(4)
    Z = random.normal(size=(15, 40))
    Z -= Z.mean(axis=0)
    few = Spectrum.shrunk(Z)
    assert few.vectors.shape == (40, 15)
    whole = Spectrum.of(few.matrix)
    assert one_for_all(few) == pytest.approx(one_for_all(whole), rel=1e-4)
    s, noise = one_for_all(few), random.normal(size=Z.shape)
    np.testing.assert_allclose(
        knockoffs._with_one(Z, few, s, noise),
        knockoffs._with_one(Z, whole, s, noise),
        rtol=0,
        atol=1e-8,
    )


# Tables


def test_knockoffs_have_the_values_of_their_features():
    random = np.random.RandomState(5)
    X = np.column_stack([random.exponential(size=60), random.randint(2, size=60), np.full(60, 3.0)])
    copied = knockoffs_of(X, random)
    assert np.array_equal(np.sort(copied, axis=0), np.sort(X, axis=0))
    assert not np.array_equal(copied[:, 0], X[:, 0])


@pytest.mark.parametrize("marginals", ["empirical", "gaussian"])
def test_correlations_survive(marginals):
    random = np.random.RandomState(6)
    X = np.exp(random.normal(size=(4000, 6)) @ np.linalg.cholesky(ar(0.7, 6)).T)
    if marginals == "gaussian":
        X = np.log(X)
    copied = knockoffs_of(X, random, marginals=marginals)
    among = np.corrcoef(np.argsort(np.argsort(np.hstack([X, copied]), axis=0), axis=0).T)
    np.testing.assert_allclose(among[6:, 6:], among[:6, :6], atol=0.06)
    off = ~np.eye(6, dtype=bool)
    np.testing.assert_allclose(among[:6, 6:][off], among[:6, :6][off], atol=0.06)
    assert np.all(np.diag(among[:6, 6:]) < 0.9)


def of_few_values(n, p, seed=0):
    """Genotypes 0, 1, 2 behind which is a chain."""
    chain = np.random.RandomState(seed).normal(size=(n, p)) @ np.linalg.cholesky(ar(0.8, p)).T
    return (chain > 0.2).astype(float) + (chain > 1.0)


def test_correlations_of_features_of_few_values_survive():
    """Those of a knockoff with other features are those of its feature; lots among equals lose a part."""
    X = of_few_values(4000, 6)
    copied = knockoffs_of(X, np.random.RandomState(1))
    for j, other in ((0, 1), (2, 1), (2, 3), (1, 4)):
        expected = np.corrcoef(X[:, j], X[:, other])[0, 1]
        assert np.corrcoef(copied[:, j], X[:, other])[0, 1] == pytest.approx(expected, abs=0.05)


def test_scores_are_in_the_order_of_the_values():
    X = np.column_stack([of_few_values(60, 4), np.arange(60.0)])
    lots = np.random.RandomState(0).normal(size=(60, 5))
    scores = latent_scores(X, lots, np.random.RandomState(0))
    np.testing.assert_allclose(scores[:, 4], lots[:, 4], rtol=1e-12)
    for j in range(4):
        for low, high in ((0.0, 1.0), (1.0, 2.0)):
            assert scores[X[:, j] == low, j].max() <= scores[X[:, j] == high, j].min() + 1e-9


def test_scores_without_ties_are_left_alone():
    X, random = np.random.RandomState(0).normal(size=(40, 3)), np.random.RandomState(1)
    assert latent_scores(X, X, random) is X
    assert random.randint(1000) == np.random.RandomState(1).randint(1000)


@pytest.mark.parametrize(("n", "p"), [(50, 4), (5, 8)])
def test_scores_are_drawn_given_all_others(n, p, monkeypatch):
    """The mean and the variance of one Gaussian number given the others, by the covariance itself."""
    Z = np.random.RandomState(0).normal(size=(n, p))
    covariance, told = Spectrum.shrunk(Z - Z.mean(axis=0)), []

    def drawn(mean, deviation, *others):
        told.append((mean, deviation))
        return mean + 1.0

    monkeypatch.setattr(knockoffs, "_drawn_between", drawn)
    knockoffs._take_turns(moved := Z.copy(), covariance, np.array([1, 3]), [None, None], None)
    sigma = covariance.matrix
    for j, (mean, deviation) in zip((1, 3), told, strict=True):
        others = np.delete(np.arange(p), j)
        by_others = np.linalg.solve(sigma[np.ix_(others, others)], sigma[others, j])
        np.testing.assert_allclose(mean, Z[:, others] @ by_others, atol=1e-9)
        np.testing.assert_allclose(deviation**2, sigma[j, j] - sigma[j, others] @ by_others)
        Z[:, j] = moved[:, j]


def test_y_plays_no_part_in_the_drawing(mains):
    seen = []

    class Weigher(BaseEstimator):
        def fit(self, X, y):
            seen.append(X)
            self.feature_weights_ = np.zeros(X.shape[1])
            return self

    for y in (mains[1], mains[1][::-1]):
        decision = decide_by_knockoffs(Weigher(), mains[0], y, random_state=0)
        assert not decision.support.any()
    assert np.array_equal(*seen)


# Threshold


@given(st.lists(st.integers(-4, 9), min_size=1, max_size=25), st.sampled_from([0.1, 0.2, 0.34, 0.5]))
@settings(max_examples=150, deadline=None)
def test_cut_is_that_of_knockoff_plus(W, level):
    W = np.array(W, dtype=float)
    threshold, qvalues = knockoff_cut(W, level)
    expected = knockoff_plus(W, level)
    assert np.array_equal(threshold <= W, expected <= W)
    assert np.array_equal(qvalues <= level, expected <= W)


@pytest.mark.parametrize("seed", range(5))
def test_qvalues_are_the_smallest_levels(seed):
    W = np.random.RandomState(seed).randint(-3, 9, size=14).astype(float)
    expected = [knockoff_qvalue(W, j) for j in range(W.size)]
    np.testing.assert_allclose(knockoff_cut(W, 0.1)[1], expected)


# Decisions


@pytest.mark.parametrize("estimator", [ReliefF(), IRelief(), LogisticRegression()])
def test_swaps_change_signs_only(mains, estimator, monkeypatch):
    """W of a table whose features and knockoffs have changed places is −W there."""
    X, y = mains
    copied = knockoffs_of(X, np.random.RandomState(1))
    places = np.arange(40) % 3 == 0
    found = []
    for first, second in ((X, copied), (np.where(places, copied, X), np.where(places, X, copied))):
        monkeypatch.setattr(
            "highrelief.selection.knockoffs.knockoffs_of", lambda *a, other=second, **k: other
        )
        found.append(decide_by_knockoffs(estimator, first, y, random_state=0).statistic)
    np.testing.assert_allclose(found[1], np.where(places, -found[0], found[0]), rtol=0, atol=1e-10)


def test_features_that_count_are_kept(mains):
    decision = decide_by_knockoffs(LogisticRegression(), *mains, random_state=0)
    assert decision.support[:12].all()
    assert decision.support.sum() <= 15
    assert np.array_equal(decision.support, decision.statistic >= decision.threshold)
    assert np.array_equal(decision.support, decision.qvalues <= 0.1)
    weighter = decide_by_knockoffs(IRelief(), *mains, level=0.2, random_state=0)
    assert weighter.support[:12].sum() >= 10


@pytest.mark.parametrize("estimator", [ReliefF(), IRelief(), LOGO()])
def test_threads_and_seeds(mains, estimator):
    one, two = (
        decide_by_knockoffs(estimator, *mains, n_jobs=each, random_state=5).statistic for each in (1, 2)
    )
    assert np.array_equal(one, two)
    assert not np.array_equal(one, decide_by_knockoffs(estimator, *mains, random_state=6).statistic)


def test_a_table_drawn_from_the_same_seed_has_other_knockoffs():
    """Else the noise would be the table, and every knockoff its feature."""
    seen = []

    class Weigher(BaseEstimator):
        def fit(self, X, y):
            seen.append(X)
            self.feature_weights_ = np.zeros(X.shape[1])
            return self

    X = np.random.RandomState(0).standard_normal((200, 12))
    options = {"marginals": "gaussian", "covariance": np.eye(12)}
    decide_by_knockoffs(Weigher(), X, np.arange(200) % 2, random_state=0, **options)
    correlations = np.corrcoef(seen[0].T)[:12, 12:]
    assert np.abs(correlations).max() < 5 / np.sqrt(200)


def test_known_covariance(mains):
    X, y = mains
    known = {"marginals": "gaussian", "covariance": np.eye(40)}
    one = decide_by_knockoffs(LogisticRegression(), X, y, level=0.2, random_state=0, **known)
    assert one.support[:12].sum() >= 10
    # Knockoffs of independent features know nothing of them.
    copied = knockoffs_of(X, np.random.RandomState(7), **known)
    assert np.abs(np.corrcoef(X.T, copied.T)[:40, 40:]).max() < 5 / np.sqrt(500)


def test_frames_and_weights(mains):
    X, y = mains
    plain = decide_by_knockoffs(ReliefF(), X, y, random_state=0).statistic
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(40)])
    assert np.array_equal(
        decide_by_knockoffs(ReliefF(), frame, pd.Series(y), random_state=0).statistic, plain
    )
    weights = np.repeat([1.0, 0.0], 250)
    part = decide_by_knockoffs(ReliefF(), X, y, sample_weight=weights, random_state=0).statistic
    assert np.array_equal(part, decide_by_knockoffs(ReliefF(), X[:250], y[:250], random_state=0).statistic)


def test_more_features_than_samples():
    """No matrix of all pairs of features: that of 20,000 would take 3 GB."""
    random = np.random.RandomState(0)
    X, y = random.normal(size=(30, 20_000)), np.arange(30) % 2
    decision = decide_by_knockoffs(ReliefF(), X, y, random_state=0)
    assert decision.statistic.shape == (20_000,)
    assert decision.qvalues.min() > 0.0


@pytest.mark.parametrize("n_samples", [2, 3])
@pytest.mark.parametrize("equal", [False, True])
def test_few_samples_of_features_that_depend_on_each_other(n_samples, equal, force):
    """Nothing is to be shrunk, and the covariance that the samples have has no inverse."""
    force(max_individual_s=0 if equal else 600)
    X = np.outer([0.0, 1.0, 0.0][:n_samples], [1.0, -1.0, 2.0])
    found = knockoffs_of(X, np.random.RandomState(0))
    np.testing.assert_array_equal(np.sort(found, axis=0), np.sort(X, axis=0))


def test_knockoffs_of_the_largest_numbers():
    X = np.random.default_rng(0).choice([-1.0, 1.0], (20, 3)) * np.finfo(np.float64).max
    found = knockoffs_of(X, np.random.RandomState(0))
    np.testing.assert_array_equal(np.sort(found, axis=0), np.sort(X, axis=0))
    assert not np.array_equal(found, X)


def test_degenerate_columns(mains):
    X, y = mains
    X = np.column_stack([X, X[:, 0], np.ones(len(X))])
    decision = decide_by_knockoffs(ReliefF(), X, y, random_state=0)
    assert decision.statistic[-1] == 0.0
    assert np.isfinite(decision.statistic).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"control": "fwer"}, "beyond knockoffs"),
        ({"control": "fwe"}, "control='fwe' is not known"),
        ({"level": 0.0}, "level=0.0 must be"),
        ({"marginals": "normal"}, "marginals='normal' is not known"),
        ({"covariance": np.eye(40)}, "needs marginals='gaussian'"),
        ({"covariance": np.eye(3), "marginals": "gaussian"}, r"must be of shape \(40, 40\)"),
        ({"covariance": -np.eye(40), "marginals": "gaussian"}, "positive definite"),
        ({"groups": np.arange(500)}, "do not support groups"),
        ({"batches": np.arange(500)}, "do not support batches"),
        ({"estimator": ReliefF(categorical_features=[0])}, "categorical_features must be None"),
    ],
)
def test_what_cannot_be(mains, change, message):
    options = {"estimator": ReliefF(), "X": mains[0], "y": mains[1]} | change
    with pytest.raises(ValueError, match=message):
        decide_by_knockoffs(options.pop("estimator"), options.pop("X"), options.pop("y"), **options)


def test_tables_that_have_no_knockoffs(mains):
    X, y = mains
    with pytest.raises(ValueError, match="sparse"):
        decide_by_knockoffs(ReliefF(), sparse.csr_array(X), y)
    gaps = X.copy()
    gaps[3, 4] = np.nan
    with pytest.raises(ValueError, match="missing values"):
        decide_by_knockoffs(ReliefF(), gaps, y)


def test_memory_is_asked_for_before(mains, monkeypatch):
    monkeypatch.setattr("highrelief.selection.knockoffs.memory_budget", lambda asked: 1000.0)
    with pytest.raises(MemoryError, match="40 features of 500 samples need about"):
        decide_by_knockoffs(ReliefF(), *mains)


def test_few_features_cannot_be_kept(mains):
    X, y = mains
    with pytest.warns(UserWarning, match="no fewer than 10 features"):
        decision = decide_by_knockoffs(ReliefF(), X[:, :3], y, random_state=0)
    assert not decision.support.any()
