"""What users of LHR rely on beyond the contract: the quadratic problem, the neighbors, the iteration."""

import itertools
import warnings

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from registry import THOROUGH, continuous_table, discrete_table
from sklearn.exceptions import ConvergenceWarning
from small_tables import packed_table

from highrelief import LHRelief, Relief
from highrelief._engine.engine import LocalEngine
from highrelief._kernels import hyperplanes as hyperplanes_kernels
from highrelief._solvers.fixed_point import unit_positive_part
from highrelief.datasets import make_xor


def fitted(X, y, sample_weight=None, **parameters):
    """A fit that may be cut short on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LHRelief(**parameters).fit(X, y, sample_weight)


def local_hyperplanes(X, y, k, lam, **layout):
    return LocalEngine(packed_table(X, y, **layout), memory=1e9).local_hyperplanes(k, lam)


# The quadratic problem


def mixture(x, H, w, lam, u):
    """Coefficients as the kernels find them, in the units of the given numbers."""
    X = np.vstack([x, H])
    m = len(H)
    both = np.array([m, 0])  # hits; the list of misses is empty
    gram, alpha = np.zeros(m * (m + 1) // 2), np.zeros(m)
    start, place, rows = np.array([0, m]), np.array([0, gram.size]), np.arange(1, m + 1)
    hyperplanes_kernels.add_gram(
        X, 0, np.sqrt(w), np.zeros(1, np.int64), start, both, rows, place, 0, 2, gram
    )
    hyperplanes_kernels.solve_mixtures(gram, place, start, both, u, lam, 0, 1, alpha)
    return alpha


def hessian(x, H, w, lam, u):
    differences = np.sqrt(w) * (H - x)
    return differences @ differences.T + np.diag(2.0 * lam / u)


def violation(A, alpha):
    """Largest violation of the conditions of a minimum of ½αᵀAα over the simplex, relative to A's scale."""
    slope = A @ alpha
    value = alpha @ slope
    return np.where(alpha > 0.0, np.abs(slope - value), value - slope).max() / A.diagonal().max()


def least_over_supports(A):
    """The least of ½αᵀAα over the simplex, by trying every support."""
    least = np.inf
    for size in range(1, len(A) + 1):
        for support in itertools.combinations(range(len(A)), size):
            inside = np.array(support)
            bordered = np.block([[A[np.ix_(inside, inside)], np.ones((size, 1))], [np.ones((1, size)), 0.0]])
            alpha = np.linalg.lstsq(bordered, np.append(np.zeros(size), 1.0), rcond=None)[0][:-1]
            if alpha.min() >= -1e-9 and abs(alpha.sum() - 1.0) < 1e-9:
                alpha = np.maximum(alpha, 0.0) / np.maximum(alpha, 0.0).sum()
                least = min(least, 0.5 * alpha @ A[np.ix_(inside, inside)] @ alpha)
    return least


@st.composite
def neighborhoods(draw):
    """A sample, neighbors of every degenerate kind, weights with zeros, λ from nothing to everything."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    m, d = draw(st.integers(1, 9)), draw(st.integers(1, 12))
    kind = draw(st.sampled_from(["normal", "levels", "collinear", "duplicates", "far", "around"]))
    x = rng.normal(size=d)
    H = rng.normal(size=(m, d)) + 0.5
    if kind == "levels":
        x, H = rng.integers(0, 3, d) / 2.0, rng.integers(0, 3, (m, d)) / 2.0
    elif kind == "collinear":
        H = x + np.outer(rng.normal(size=m), rng.normal(size=d))
    elif kind == "duplicates":
        H = H[rng.integers(0, max(1, m // 2), m)]
    elif kind == "far":
        H += 1e6
    elif kind == "around":  # x is a mixture of its neighbors, or one of them
        x = H.mean(axis=0) if draw(st.booleans()) else H[0].copy()
    w = rng.uniform(size=d) * (rng.uniform(size=d) < draw(st.sampled_from([0.3, 1.0])))
    scale = 10.0 ** draw(st.integers(-60, 60))
    lam = draw(st.sampled_from([0.0, 1e-100, 1e-14, 1e-9, 1e-3, 1.0, 1e12])) * scale**2
    u = rng.uniform(0.2, 3.0, m) if draw(st.booleans()) else np.ones(m)
    return x * scale, H * scale, w, lam, u


@given(neighborhoods())
@settings(max_examples=400 if THOROUGH else 150, deadline=None)
def test_mixtures_meet_the_conditions_of_a_minimum(neighborhood):
    x, H, w, lam, u = neighborhood
    alpha = mixture(x, H, w, lam, u)
    A = hessian(x, H, w, lam, u)
    assert alpha.min() >= 0.0
    assert alpha.sum() == pytest.approx(1.0, abs=1e-14)
    if A.diagonal().max() > 0.0:
        # What a penalty too small to factorise by is raised by.
        farthest = (w * (H - x) ** 2).sum(axis=1).max()
        raised = 2.0 * max(hyperplanes_kernels.SMALLEST_PENALTY * farthest * u.max() - lam, 0.0) / u.min()
        assert violation(A, alpha) <= 1e-13 + raised / A.diagonal().max()


def test_no_number_ends_the_descent():
    """Each step leaves out one row at least, NaN all of them: it never goes round in circles."""
    H, L, z, nan = np.ones(3), np.ones(3), np.ones(2), np.full(2, np.nan)
    beta, support = np.ones(2), np.arange(2)
    assert hyperplanes_kernels._minimize_on_support(H, support, beta, nan, L, z, 2) == 0


@given(neighborhoods())
@settings(max_examples=60, deadline=None)
def test_mixtures_are_as_near_as_any_that_the_supports_offer(neighborhood):
    x, H, w, lam, u = neighborhood
    H, u = H[:6], u[:6]
    A = hessian(x, H, w, lam, u)
    if not A.diagonal().max() > 0.0:
        return
    A /= A.diagonal().max()
    alpha = mixture(x, H, w, lam, u)
    assert 0.5 * alpha @ A @ alpha <= least_over_supports(A) + 1e-10


def test_long_lists_are_solved_as_exactly():
    """Ties can make lists longer than any number of neighbors a user would ask for."""
    rng = np.random.default_rng(0)
    for m, d in ((65, 3), (150, 40), (150, 400)):
        H, x, w, u = rng.normal(size=(m, d)), rng.normal(size=d), rng.uniform(size=d), rng.uniform(0.1, 1, m)
        for lam in (0.0, 1e-3, 1.0):
            alpha = mixture(x, H, w, lam, u)
            assert violation(hessian(x, H, w, lam, u), alpha) <= 1e-10
            if lam > 0.0:
                np.testing.assert_allclose(alpha, oracles.nearest_mixture(x, H, w, lam, u), atol=1e-8)


def test_without_a_penalty_those_that_are_as_near_share():
    """Two equal neighbors, and one that differs only where the weight is 0."""
    x, w, u = np.zeros(3), np.array([1.0, 1.0, 0.0]), np.ones(4)
    H = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 5.0], [0.0, 2.0, 0.0]])
    alpha = mixture(x, H, w, 0.0, u)
    np.testing.assert_allclose(alpha, [0.8 / 3, 0.8 / 3, 0.8 / 3, 0.2], atol=1e-4)


def test_without_a_penalty_the_order_of_the_rows_matters_no_more_than_rounding():
    X, y = continuous_table(60)
    order = np.random.default_rng(0).permutation(60)
    one, other = (
        fitted(X[rows], y[rows], alpha=0.0, max_iter=3, tol=0.0).feature_weights_
        for rows in (np.arange(60), order)
    )
    np.testing.assert_allclose(one, other, atol=1e-7)


def test_equal_places_are_equal_coefficients_however_large_the_penalty():
    rng = np.random.default_rng(0)
    x, H, w = rng.normal(size=4), rng.normal(size=(5, 4)), np.ones(4)
    u = np.array([1.0, 2.0, 0.5, 1.0, 0.5])
    for lam in (1e9, 1e40, np.inf):
        np.testing.assert_allclose(mixture(x, H, w, lam, u), u / 5.0, atol=1e-8)
    np.testing.assert_allclose(mixture(x, np.tile(x, (5, 1)), w, 0.0, u), u / 5.0, atol=1e-15)


# The weights


@pytest.mark.parametrize("n_iter", [1, 3])
@pytest.mark.parametrize(("k", "alpha"), [(3, 1e-3), (7, 0.1)])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_equal_the_oracle(n_classes, k, alpha, n_iter):
    X, y = continuous_table(40, n_classes=n_classes)
    X = oracles.scale_range(X)
    ours = fitted(X, y, n_neighbors=k, alpha=alpha, max_iter=n_iter, tol=0.0)
    np.testing.assert_allclose(ours.feature_weights_, oracles.lhr(X, y, k, alpha, n_iter), atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_ties_share_the_places_left(weighted):
    X, y = discrete_table(40)
    X = oracles.scale_range(X)
    s = np.random.default_rng(1).choice([0.5, 1.0, 2.0, 3.5], 40) if weighted else None
    ours = fitted(X, y, s, n_neighbors=3, max_iter=2, tol=0.0)
    np.testing.assert_allclose(ours.feature_weights_, oracles.lhr(X, y, 3, 1e-3, 2, s), atol=1e-9)


def test_weights_of_samples_are_copies_where_neighbors_tie():
    X, y = discrete_table(50)
    s = np.random.default_rng(0).integers(1, 4, 50)
    parameters = {"n_neighbors": 4, "max_iter": 3, "tol": 0.0, "alpha": 1e-2}
    once = fitted(X, y, s, **parameters).feature_weights_
    copied = fitted(np.repeat(X, s, axis=0), np.repeat(y, s), **parameters).feature_weights_
    np.testing.assert_allclose(once, copied, atol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_one_neighbor_gives_the_margins_of_relief(n_classes):
    """Sample by sample, from uniform weights; with many classes the nearest of all misses."""
    X, y = continuous_table(80, n_classes=n_classes)
    X = oracles.scale_range(X)
    d = X.shape[1]
    w = np.full(d, d**-0.5)
    planes = local_hyperplanes(X, y, 1, 1e-3)
    rows = oracles.relief_rows(X, y)
    np.testing.assert_allclose(planes.margins(w), rows @ w, atol=1e-13)
    np.testing.assert_allclose(planes.mean_margin(w), rows.mean(axis=0), atol=1e-14)
    relief = Relief().fit(X, y).feature_weights_
    first = fitted(X, y, n_neighbors=1, max_iter=1).feature_weights_
    np.testing.assert_allclose(first, unit_positive_part(relief), atol=1e-12)


def test_a_huge_penalty_gives_distances_to_the_mean_of_the_neighbors():
    X, y = continuous_table(40, n_classes=2)
    X = oracles.scale_range(X)
    w = np.full(6, 6**-0.5)
    D = oracles.distances(X, w)
    np.fill_diagonal(D, np.inf)
    expected = np.zeros(6)
    for n in range(40):
        for same, sign in ((False, 1.0), (True, -1.0)):
            candidates = np.flatnonzero((y == y[n]) == same)
            near = candidates[np.argsort(D[n, candidates])[:5]]
            expected += sign * np.abs(X[n] - X[near].mean(axis=0)) / 40
    ours = local_hyperplanes(X, y, 5, 1e9).mean_margin(w)
    np.testing.assert_allclose(ours, expected, atol=1e-9)


def test_margins_are_those_whose_mean_the_next_step_takes():
    X, y = continuous_table(60)
    model = fitted(X, y, n_neighbors=3, max_iter=2, tol=0.0)
    w = model.feature_weights_
    scaled = oracles.scale_range(X)
    rows = oracles.lhr_rows(scaled, y, w, 3, 1e-3)
    np.testing.assert_allclose(model.margins(X, y), rows @ w, atol=1e-10)
    after = fitted(X, y, n_neighbors=3, max_iter=3, tol=0.0)
    np.testing.assert_allclose(after.feature_weights_, unit_positive_part(rows.mean(axis=0)), atol=1e-9)


def test_features_of_weight_0_can_come_back():
    X, y, _ = make_xor(100, n_irrelevant=20, random_state=0)
    history = [fitted(X, y, max_iter=t, tol=0.0).feature_weights_ for t in range(1, 5)]
    was_zero = np.array(history[:-1]) == 0.0
    assert np.any(was_zero & (np.array(history[1:]) > 0.0))


# How it is computed


def test_equal_rows_as_one_neighbor_change_nothing(force):
    X, y = discrete_table(300)
    s = 1.0 + np.arange(300) % 2
    parameters = {"n_neighbors": 5, "max_iter": 3, "tol": 0.0}
    force(long_list=10**9)
    one_by_one = fitted(X, y, s, **parameters).feature_weights_
    force(long_list=0)
    merged = fitted(X, y, s, **parameters).feature_weights_
    np.testing.assert_allclose(merged, one_by_one, atol=1e-10)


def test_memory_and_threads_do_not_change_a_bit(force):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2500)), np.arange(90) % 3
    force(part_work=1e5)
    expected = fitted(X, y, max_iter=2, tol=0.0).feature_weights_
    for n_jobs in (2, 3):
        np.testing.assert_array_equal(
            fitted(X, y, max_iter=2, tol=0.0, n_jobs=n_jobs).feature_weights_, expected
        )
    in_columns = fitted(np.asfortranarray(X), y, max_iter=2, tol=0.0).feature_weights_
    np.testing.assert_array_equal(in_columns, expected)


@pytest.mark.parametrize("table", [continuous_table, discrete_table])
def test_neighbors_from_bands_of_rows(force, table):
    """As where there are too many rows for all distances; ties leave lists that are too short."""
    X, y = table(300)
    parameters = {"n_neighbors": 4, "max_iter": 2, "tol": 0.0}
    expected = fitted(X, y, **parameters)
    force(band=64)
    banded = fitted(X, y, **parameters)
    np.testing.assert_allclose(banded.feature_weights_, expected.feature_weights_, atol=1e-12)
    np.testing.assert_allclose(banded.margins(X, y), expected.margins(X, y), atol=1e-12)


def test_gram_matrices_by_portions(force):
    X, y = continuous_table(60)
    expected = fitted(X, y, max_iter=2, tol=0.0).feature_weights_
    force(gram_bytes=1.0)
    np.testing.assert_array_equal(fitted(X, y, max_iter=2, tol=0.0).feature_weights_, expected)


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_single_precision(offset):
    """No two distances at the k-th place here differ by less than a millionth, which would be a tie."""
    rng = np.random.default_rng(1)
    y = np.arange(100) % 2
    X = (rng.normal(size=(100, 300)) + np.outer(y, np.arange(300) < 5) + offset).astype(np.float32)
    double = fitted(X.astype(np.float64), y, max_iter=3, tol=0.0).feature_weights_
    single = fitted(X, y, max_iter=3, tol=0.0).feature_weights_
    np.testing.assert_allclose(single, double, atol=2e-6)


def test_a_sample_far_out_leaves_the_others_their_digits():
    """Differences are taken before they are multiplied: what all values share costs nothing."""
    X, y = continuous_table(60, n_classes=2)
    X = np.round(X, 3)
    plain = fitted(X, y, max_iter=2, tol=0.0, scale=None).feature_weights_
    shifted = fitted(X + 2.0**20, y, max_iter=2, tol=0.0, scale=None).feature_weights_
    np.testing.assert_allclose(shifted, plain, atol=1e-8)


# The iteration


def test_it_says_when_it_does_not_settle():
    X, y, _ = make_xor(100, n_irrelevant=100, random_state=0)
    with pytest.warns(ConvergenceWarning, match="LHRelief did not converge"):
        model = LHRelief(max_iter=5).fit(X, y)
    assert not model.converged_
    assert model.history_.size == model.n_iter_ == 5


def test_it_settles_where_the_features_are_few():
    X, y = continuous_table(200, n_classes=2)
    model = LHRelief(max_iter=200).fit(X[:, [0, 1]], y)
    assert model.converged_
    assert model.history_[-1] < 1e-4
    again = local_hyperplanes(oracles.scale_range(X[:, [0, 1]]), y, 7, 1e-3)
    w = unit_positive_part(again.mean_margin(model.feature_weights_))
    np.testing.assert_allclose(w, model.feature_weights_, atol=1e-4)


def test_no_positive_margin_gives_no_weights():
    """Every sample lies on its misses."""
    X = np.repeat(np.arange(8.0), 2)[:, np.newaxis]
    y = np.tile([0, 1], 8)
    with pytest.warns(ConvergenceWarning, match="iteration 1: no feature has a positive mean margin"):
        model = LHRelief(n_neighbors=1).fit(X, y)
    assert not model.feature_weights_.any()
    assert not model.margins(X, y).any()
