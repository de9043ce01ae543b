"""What users of IM4E rely on beyond the contract, and what its paper says."""

import pickle
import warnings

import numpy as np
import oracles
import pytest
from registry import continuous_table, discrete_table
from scipy.optimize import check_grad, minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import get_tags

from highrelief import IM4E, IRelief
from highrelief._engine.limits import limits
from highrelief._solvers.fixed_point import simplex_positive_part, simplex_projection
from highrelief.datasets import make_waveform, make_xor
from highrelief.methods.im4e import SIGMA_PATH

any_end = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def waves():
    X, y, _ = make_waveform(70, n_irrelevant=4, random_state=0)
    return X, y


@pytest.fixture(scope="module")
def scaled(waves):
    return oracles.scale_range(waves[0]), waves[1]


def exact_step(v, lam):
    return oracles.im4e_simplex_minimizer(v, lam)


# Algorithm 1


@any_end
@pytest.mark.parametrize("memory_budget", [None, 0])
@pytest.mark.parametrize("copies", [False, True])
def test_iterates_equal_the_oracle(scaled, memory_budget, copies):
    X, y = scaled
    s = 1.0 + np.arange(len(X)) % 3 if copies else None
    path = oracles.im4e(X, y, 0.1, 4, s=s, lam=3.0)
    model = IM4E(sigma=0.1, max_iter=4, tol=0.0, alpha=3.0, memory_budget=memory_budget)
    model.fit(X, y, sample_weight=s)
    np.testing.assert_allclose(model.feature_weights_, path[-1][0], atol=1e-12)
    np.testing.assert_allclose(model.cost_, [cost for _, cost, _, _ in path], rtol=1e-10)
    np.testing.assert_allclose(model.hit_entropy_, [hit for _, _, hit, _ in path], rtol=1e-12)
    np.testing.assert_allclose(model.miss_entropy_, [miss for _, _, _, miss in path], rtol=1e-12)


@any_end
def test_exact_iterates_equal_the_oracle(scaled):
    X, y = scaled
    path = oracles.im4e(X, y, 0.1, 2, lam=5.0, w_step=exact_step)
    model = IM4E(sigma=0.1, max_iter=2, tol=0.0, alpha=5.0, w_step="exact").fit(X, y)
    np.testing.assert_allclose(model.feature_weights_, path[-1][0], atol=1e-10)
    np.testing.assert_allclose(model.cost_, [cost for _, cost, _, _ in path], rtol=1e-10)


def test_stops_when_the_cost_stands_still(waves):
    model = IM4E(sigma=0.25).fit(*waves)
    changes = np.abs(np.diff(model.cost_))
    assert model.converged_
    assert changes[-1] < 1e-6 <= changes[:-1].min()
    assert len(model.cost_) == len(model.hit_entropy_) == len(model.miss_entropy_) == model.n_iter_
    looser = IM4E(sigma=0.25, tol=1e-2).fit(*waves)
    assert looser.n_iter_ < model.n_iter_
    np.testing.assert_array_equal(looser.cost_, model.cost_[: looser.n_iter_])


@pytest.mark.slow
def test_rounding_in_single_precision_is_no_change():
    X, y, _ = make_waveform(1500, n_irrelevant=4, random_state=0)
    single, double = (IM4E(sigma=0.2).fit(X.astype(dtype), y) for dtype in (np.float32, np.float64))
    assert double.n_iter_ - 1 <= single.n_iter_ <= double.n_iter_
    np.testing.assert_allclose(single.feature_weights_, double.feature_weights_, atol=1e-5)
    # What rounding does, had it gone on.
    with pytest.warns(ConvergenceWarning):
        longer = IM4E(sigma=0.2, tol=0.0, max_iter=40).fit(X.astype(np.float32), y)
    assert np.abs(np.diff(longer.cost_[-20:])).max() > 1e-6


@pytest.mark.parametrize("sigma", [0.1, 0.4])
def test_number_of_iterations_is_that_of_the_formula(scaled, sigma):
    X, y = scaled
    model = IM4E(sigma=sigma, tol=1e-3).fit(X, y)
    costs = [cost for _, cost, _, _ in oracles.im4e(X, y, sigma, model.n_iter_ + 1)]
    small = np.abs(np.diff(costs)) < 1e-3
    assert model.n_iter_ == np.flatnonzero(small)[0] + 2


def test_first_weights_are_brought_to_sum_1(waves):
    X, y = waves
    start = np.arange(1.0, X.shape[1] + 1)
    a = IM4E(sigma=0.1, init=start).fit(X, y)
    b = IM4E(sigma=0.1, init=100.0 * start).fit(X, y)
    np.testing.assert_allclose(a.cost_, b.cost_, rtol=1e-12)
    random = [IM4E(sigma=0.1, init="random", random_state=0).fit(X, y) for _ in range(2)]
    np.testing.assert_array_equal(random[0].cost_, random[1].cost_)
    assert random[0].cost_[0] != IM4E(sigma=0.1).fit(X, y).cost_[0]


def test_a_cycle_is_reported():
    X, y, _ = make_xor(24, n_irrelevant=2, random_state=0)
    with pytest.warns(ConvergenceWarning, match="cycle of length"):
        model = IM4E(sigma=0.1).fit(X, y)
    assert model.cycle_length_ == 2
    assert not model.converged_


def test_no_positive_margin_gives_zeros_and_the_first_class():
    X, y = np.array([[0.0], [1.0], [0.0], [1.0]]), np.array([3, 3, 5, 5])
    for w_step in ("paper", "exact"):
        with pytest.warns(ConvergenceWarning, match="no feature has a positive mean margin"):
            model = IM4E(sigma=0.1, w_step=w_step).fit(X, y)
        np.testing.assert_array_equal(model.feature_weights_, [0.0])
        assert model.cost_.shape == model.hit_entropy_.shape == (0,)
        np.testing.assert_array_equal(model.predict([[0.0], [7.0]]), [3, 3])


@any_end
@pytest.mark.parametrize(
    "parameters",
    [{}, {"sigma": 0.1}, {"sigma": 0.1, "averaging": True}, {"sigma": 0.1, "loss": "log"}],
    ids=str,
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("fewest", [0.0, limits.screened_terms], ids=["screened", "all summed"])
def test_threads_and_memory_change_no_bit(waves, parameters, dtype, fewest, force):
    force(screened_terms=fewest, small_step=np.inf)
    X, y = waves[0].astype(dtype), waves[1]
    first = IM4E(**parameters).fit(X, y)
    for changes in ({"n_jobs": 3}, {"memory_budget": 0}, {"memory_budget": 0, "n_jobs": 2}):
        again = IM4E(**parameters, **changes).fit(X, y)
        for name in ("feature_weights_", "cost_", "hit_entropy_", "miss_entropy_", "history_", "sigma_"):
            np.testing.assert_array_equal(getattr(again, name), getattr(first, name))
        np.testing.assert_array_equal(again.expected_distances(X), first.expected_distances(X))


# Theory


@pytest.mark.parametrize("sigma", [0.05, 0.5])
def test_alpha_minimizes_the_cost_and_beta_maximizes_it(scaled, sigma):
    """Eq. (8): a saddle. Moved away from eqs. (5) and (6), C rises with α and falls with β."""
    X, y = scaled[0][:30], scaled[1][:30]
    w = np.full(X.shape[1], 1.0 / X.shape[1])
    alpha, beta = oracles.im4e_probabilities(X, y, w, sigma)
    rng = np.random.default_rng(0)

    def moved(p):
        other = np.where(p > 0.0, rng.exponential(size=p.shape), 0.0)
        other /= other.sum(axis=1, keepdims=True)
        return 0.9 * p + 0.1 * other

    least = oracles.im4e_cost(X, alpha, beta, w, sigma, 1.0)
    for _ in range(5):
        assert oracles.im4e_cost(X, moved(alpha), beta, w, sigma, 1.0) > least + 1e-9
        assert oracles.im4e_cost(X, alpha, moved(beta), w, sigma, 1.0) < least - 1e-9


@any_end
def test_lambda_only_shifts_the_cost(waves):
    """By eq. (9) λ cancels in w, and C moves by λ‖w‖²."""
    models = [IM4E(sigma=0.1, alpha=alpha, max_iter=5, tol=0.0).fit(*waves) for alpha in (None, 1.0, 1e4)]
    weights = [IM4E(sigma=0.1, max_iter=t, tol=0.0).fit(*waves).feature_weights_ for t in range(1, 6)]
    squares = np.array([w @ w for w in weights])
    for model, alpha in zip(models, (len(waves[0]), 1.0, 1e4), strict=True):
        np.testing.assert_array_equal(model.feature_weights_, models[0].feature_weights_)
        np.testing.assert_allclose(model.cost_ - models[1].cost_, (alpha - 1.0) * squares, rtol=1e-9)


@pytest.mark.parametrize("lam", [0.01, 1.0, 30.0])
def test_the_exact_step_is_the_constrained_minimizer(lam):
    rng = np.random.default_rng(1)
    for n_features in (1, 2, 9):
        for _ in range(4):
            v = rng.normal(size=n_features)
            ours = simplex_projection(v / (2.0 * lam))
            assert ours.min() >= 0.0
            assert ours.sum() == pytest.approx(1.0, abs=1e-15)

            def cost(w, v=v):
                return -w @ v + lam * w @ w

            slow = minimize(
                cost,
                np.full(n_features, 1.0 / n_features),
                method="SLSQP",
                bounds=[(0.0, 1.0)] * n_features,
                constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0},
                options={"ftol": 1e-14, "maxiter": 1000},
            ).x
            np.testing.assert_allclose(ours, slow, atol=1e-5)
            assert cost(ours) <= cost(slow) + 1e-12
            # Optimality: the gradient is the same where w > 0, and not smaller elsewhere.
            gradient = 2.0 * lam * ours - v
            least = gradient[ours > 0.0].min()
            np.testing.assert_allclose(gradient[ours > 0.0], least, atol=1e-12 * (1.0 + lam))
            assert np.all(gradient >= least - 1e-12)


def test_eq_9_is_the_exact_step_where_the_positive_part_has_sum_1():
    """Eq. (9) divides by a number, the exact step subtracts one; neither changes what is on the simplex."""
    v = np.array([0.5, -0.3, 0.3, 0.2, -1.0])
    np.testing.assert_allclose(simplex_projection(v), simplex_positive_part(v), atol=1e-15)
    # Nowhere else: eq. (9) keeps the ratios of v, the exact step keeps its differences.
    exact, paper = simplex_projection(2.0 * v), simplex_positive_part(2.0 * v)
    assert exact[0] - exact[2] == pytest.approx(0.4)
    assert paper[0] / paper[2] == pytest.approx(5 / 3)


@any_end
def test_the_exact_step_between_one_feature_and_all(waves):
    X, y = waves
    few = IM4E(sigma=0.5, w_step="exact", alpha=1e-6, tol=1e-9).fit(X, y)
    assert np.count_nonzero(few.feature_weights_) == 1
    all_alike = IM4E(sigma=0.5, w_step="exact", alpha=1e9).fit(X, y)
    np.testing.assert_allclose(all_alike.feature_weights_, 1.0 / X.shape[1], atol=1e-6)


@any_end
def test_the_exact_step_never_costs_more_than_eq_9(scaled):
    X, y = scaled
    for lam in (0.5, 5.0, 50.0):
        exact, paper = (
            IM4E(sigma=0.2, w_step=step, alpha=lam, max_iter=1).fit(X, y) for step in ("exact", "paper")
        )
        assert exact.cost_[0] <= paper.cost_[0]


@any_end
def test_narrow_kernel_knows_the_nearest_neighbors_only(scaled):
    X, y = scaled
    margin = oracles.relief(X, y)
    model = IM4E(sigma=1e-9, max_iter=1).fit(X, y)
    np.testing.assert_allclose(model.feature_weights_, np.maximum(margin, 0) / np.maximum(margin, 0).sum())
    np.testing.assert_allclose(model.hit_entropy_, 0.0, atol=1e-9)


def test_wide_kernel_takes_the_means_of_classes(scaled):
    X, y = scaled
    nu = np.zeros(X.shape[1])
    for n in range(len(X)):
        others = np.arange(len(X)) != n
        nu += np.abs(X[y != y[n]] - X[n]).mean(axis=0) - np.abs(X[(y == y[n]) & others] - X[n]).mean(axis=0)
    model = IM4E(sigma=1e9).fit(X, y)
    np.testing.assert_allclose(model.feature_weights_, np.maximum(nu, 0) / np.maximum(nu, 0).sum(), atol=1e-9)
    sizes = np.bincount(y)
    assert model.hit_entropy_[-1] == pytest.approx(np.sum(np.log(sizes[y] - 1.0)))
    assert model.miss_entropy_[-1] == pytest.approx(np.sum(np.log(len(y) - sizes[y])))


def test_automatic_is_irelief_without_outliers(waves):
    ours = IM4E(tol=0.0).fit(*waves)
    irelief = IRelief(outliers=False, margin="nearest", tol=0.0).fit(*waves)
    unit = irelief.feature_weights_
    np.testing.assert_allclose(ours.feature_weights_, unit / unit.sum(), atol=1e-15)
    assert ours.sigma_ == pytest.approx(irelief.sigma_ / unit.sum(), rel=1e-7)
    # A margin in other units.
    np.testing.assert_allclose(ours.margins(*waves), irelief.margins(*waves) / unit.sum(), rtol=1e-6)


def test_margins_are_those_of_the_formula(scaled):
    X, y = scaled
    model = IM4E(sigma=0.1).fit(X, y)
    Z, _ = oracles.soft_margin_rows(X, y, model.feature_weights_, 0.1)
    np.testing.assert_allclose(model.margins(X, y), Z @ model.feature_weights_, atol=1e-12)


# Ours: other losses and penalties


def log_cost(X, y, w, sigma, lam):
    """−σ Σ log γ_n + λ‖w‖²."""
    _, gamma = oracles.soft_margin_rows(X, y, w, sigma)
    return -sigma * np.log(gamma).sum() + lam * w @ w


def log_gradient(X, y, w, sigma, lam):
    Z, gamma = oracles.soft_margin_rows(X, y, w, sigma)
    return -(1.0 - gamma) @ Z + 2.0 * lam * w


def test_log_loss_is_a_likelihood(scaled):
    """σ log(1 + exp(−m/σ)) of margin and quality together is −σ log γ, and its gradient weighs by 1 − γ."""
    X, y = scaled[0][:25, :5], scaled[1][:25]
    w, sigma = np.array([0.1, 0.3, 0.2, 0.25, 0.15]), 0.2
    alpha, beta = oracles.im4e_probabilities(X, y, w, sigma)
    Z, gamma = oracles.soft_margin_rows(X, y, w, sigma)
    quality = oracles.im4e_entropies(beta) - oracles.im4e_entropies(alpha)
    joint = Z @ w - sigma * quality
    np.testing.assert_allclose(np.log1p(np.exp(-joint / sigma)), -np.log(gamma), rtol=1e-10)
    error = check_grad(
        lambda u: log_cost(X, y, u, sigma, 0.7), lambda u: log_gradient(X, y, u, sigma, 0.7), w
    )
    assert error < 1e-5
    with pytest.warns(ConvergenceWarning):
        model = IM4E(sigma=sigma, loss="log", alpha=0.7, max_iter=1, init=w, scale=None).fit(X, y)
    assert model.cost_[0] == pytest.approx(log_cost(X, y, w, sigma, 0.7), rel=1e-12)
    v = (1.0 - gamma) @ Z
    np.testing.assert_allclose(
        model.feature_weights_, np.maximum(v, 0.0) / np.maximum(v, 0.0).sum(), atol=1e-13
    )


def test_log_loss_with_exact_steps_ends_where_nothing_is_better(scaled):
    """A fixed point of the exact step satisfies the conditions for a minimum of the whole cost."""
    X, y = scaled[0][:30, :6], scaled[1][:30]
    model = IM4E(sigma=0.3, loss="log", w_step="exact", alpha=20.0, tol=1e-13, scale=None).fit(X, y)
    assert model.converged_
    w = model.feature_weights_
    gradient = log_gradient(X, y, w, 0.3, 20.0)
    least = gradient[w > 0.0].min()
    np.testing.assert_allclose(gradient[w > 0.0], least, atol=1e-5)
    assert np.all(gradient >= least - 1e-5)


@any_end
def test_sparsity_subtracts_before_the_positive_part(scaled):
    X, y = scaled
    alpha, beta = oracles.im4e_probabilities(X, y, np.full(X.shape[1], 1.0 / X.shape[1]), 0.1)
    v = oracles.im4e_two_lambda_v(X, alpha, beta)
    for sparsity in (0.0, 0.3, 0.9):
        kept = np.maximum(v - sparsity * v.max(), 0.0)
        model = IM4E(sigma=0.1, sparsity=sparsity, max_iter=1).fit(X, y)
        np.testing.assert_allclose(model.feature_weights_, kept / kept.sum(), atol=1e-12)
    with pytest.raises(ValueError, match=r"sparsity=0\.5.*w_step='exact'"):
        IM4E(sparsity=0.5, w_step="exact").fit(X, y)


# The classifier


def test_is_a_classifier_and_a_selector():
    tags = get_tags(IM4E())
    assert tags.estimator_type == "classifier"
    assert tags.transformer_tags is not None
    assert tags.target_tags.required


@any_end
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rule_equals_the_oracle(n_classes, copies, dtype):
    X, y = continuous_table(90, n_classes=n_classes)
    X = X.astype(dtype)
    s = 1.0 + np.arange(60) % 3 if copies else None
    model = IM4E(sigma=0.2).fit(X[:60], y[:60], sample_weight=s)
    low, high = X[:60].min(axis=0), X[:60].max(axis=0)
    fitted, new = (X[:60] - low) / (high - low), (X[60:] - low) / (high - low)
    psi = oracles.im4e_psi(new, fitted, y[:60], model.feature_weights_, 0.2, s)
    tolerance = 1e-11 if dtype == np.float64 else 2e-6
    np.testing.assert_allclose(model.expected_distances(X[60:]), psi, rtol=tolerance)
    np.testing.assert_array_equal(model.predict(X[60:]), psi.argmin(axis=1))
    loss = [[psi[q, c] - np.delete(psi[q], c).sum() for c in range(n_classes)] for q in range(len(psi))]
    np.testing.assert_allclose(model.assignment_loss(X[60:]), loss, rtol=tolerance, atol=tolerance)
    decision = psi[:, 0] - psi[:, 1] if n_classes == 2 else -psi
    np.testing.assert_allclose(model.decision_function(X[60:]), decision, rtol=tolerance, atol=tolerance)
    shares = np.exp(-psi / 0.2) / np.exp(-psi / 0.2).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X[60:]), shares, rtol=10 * tolerance)
    assert model.score(X[60:], y[60:]) == np.mean(psi.argmin(axis=1) == y[60:])


@any_end
def test_rule_with_a_narrow_kernel_is_the_nearest_neighbor():
    X, y = continuous_table(120)
    model = IM4E(sigma=0.25, weighted="manhattan").fit(X[:80], y[:80])
    model.set_params(sigma=1e-9, max_iter=1, init=model.feature_weights_, w_step="paper")
    narrow = model.fit(X[:80], y[:80])
    neighbors = KNeighborsClassifier(1, metric="manhattan").fit(narrow.transform(X[:80]), y[:80])
    np.testing.assert_array_equal(narrow.predict(X[80:]), neighbors.predict(narrow.transform(X[80:])))
    # A fitted sample is then its own nearest neighbor: it is an ordinary query.
    np.testing.assert_array_equal(narrow.predict(X[:80]), y[:80])
    np.testing.assert_allclose(narrow.expected_distances(X[:80])[np.arange(80), y[:80]], 0.0, atol=1e-12)


def test_rule_with_a_wide_kernel_compares_mean_distances(scaled):
    X, y = scaled
    model = IM4E(sigma=1e9, scale=None).fit(X, y)
    psi = model.expected_distances(X[:5])
    for c in range(3):
        mean = (np.abs(X[:5, np.newaxis] - X[y == c]) @ model.feature_weights_).mean(axis=1)
        np.testing.assert_allclose(psi[:, c], mean, rtol=1e-6)


@any_end
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ties_go_to_the_smaller_class(dtype):
    X = np.array([[0.0, 0.1], [0.1, 0.0], [0.9, 1.0], [1.0, 0.9]], dtype=dtype)
    for y in (["b", "b", "a", "a"], ["a", "a", "b", "b"]):
        model = IM4E(sigma=0.3).fit(X, y)
        np.testing.assert_array_equal(model.predict([[0.5, 0.5]]), ["a"])
        np.testing.assert_array_equal(model.predict_proba([[0.5, 0.5]]), [[0.5, 0.5]])
        np.testing.assert_array_equal(model.decision_function([[0.5, 0.5]]), [0.0])


@any_end
def test_queries_anywhere_get_an_answer():
    X, y = continuous_table(60)
    model = IM4E(sigma=1e-3).fit(X, y)
    for far in (1e3, -1e3, 1e30, 1e200, -1e308):
        psi = model.expected_distances(X + far)
        assert np.isfinite(psi).all()
        assert set(model.predict(X + far)) <= {0, 1, 2}
        np.testing.assert_allclose(model.predict_proba(X + far).sum(axis=1), 1.0)
    with pytest.raises(ValueError, match="infinity"):
        model.predict(np.full((1, 6), np.inf))
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, 1:])


@any_end
@pytest.mark.parametrize("unit", [1e-150, 1e150, 1e280])
def test_rule_in_extreme_units(unit):
    X, y = continuous_table(60)
    plain = IM4E(sigma=10.0, scale=None).fit(X[:40], y[:40])
    extreme = IM4E(sigma=10.0 * unit, scale=None).fit(X[:40] * unit, y[:40])
    np.testing.assert_array_equal(extreme.predict(X[40:] * unit), plain.predict(X[40:]))
    np.testing.assert_allclose(extreme.predict_proba(X[40:] * unit), plain.predict_proba(X[40:]), rtol=1e-6)


def test_only_features_with_weight_are_kept():
    X, y, _ = make_xor(60, n_irrelevant=200, random_state=0)
    model = IM4E(sparsity=0.5).fit(X, y)
    active = np.count_nonzero(model.feature_weights_)
    assert 0 < active < 50
    assert len(pickle.dumps(model)) < X.nbytes
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.expected_distances(X), model.expected_distances(X))
    changed = np.where(model.feature_weights_ > 0.0, X, 7.0)
    np.testing.assert_array_equal(model.predict(changed), model.predict(X))


@any_end
def test_blocks_of_queries_do_not_matter():
    X, y = discrete_table(150)
    model = IM4E(sigma=0.1).fit(X, y)
    at_once = model.expected_distances(X)
    one_by_one = np.concatenate([model.expected_distances(X[n : n + 1]) for n in range(len(X))])
    np.testing.assert_array_equal(at_once, one_by_one)


# The paper's choice of σ


def test_the_path_is_that_of_the_paper():
    assert SIGMA_PATH[0] == 1.0
    np.testing.assert_array_equal(SIGMA_PATH[1:] / SIGMA_PATH[:-1], 0.5)
    assert SIGMA_PATH[-1] >= 0.0001 > SIGMA_PATH[-1] / 2


@pytest.mark.slow
@any_end
def test_path_by_hand(waves):
    X, y = waves
    folds = list(StratifiedKFold(3).split(X, y))
    right, few = np.zeros(14), {"max_iter": 10}
    for fitted, left_out in folds:
        w = "uniform"
        for place, sigma in enumerate(SIGMA_PATH):
            model = IM4E(sigma=sigma, init=w, **few).fit(X[fitted], y[fitted])
            right[place] += np.sum(model.predict(X[left_out]) == y[left_out])
            w = model.feature_weights_
    best = int(right.argmax())
    w = "uniform"
    for sigma in SIGMA_PATH[: best + 1]:
        by_hand = IM4E(sigma=sigma, init=w, **few).fit(X, y)
        w = by_hand.feature_weights_
    for cv in (3, StratifiedKFold(3), folds):
        model = IM4E(sigma="path", cv=cv, **few).fit(X, y)
        np.testing.assert_allclose(model.cv_scores_, right / len(y), rtol=1e-12)
        np.testing.assert_array_equal(model.sigma_path_, SIGMA_PATH)
        assert model.sigma_ == SIGMA_PATH[best]
        np.testing.assert_array_equal(model.feature_weights_, by_hand.feature_weights_)
        np.testing.assert_array_equal(model.cost_, by_hand.cost_)
        np.testing.assert_array_equal(model.predict(X), by_hand.predict(X))


@any_end
def test_ties_on_the_path_go_to_the_larger_width():
    rng = np.random.default_rng(0)
    y = np.arange(30) % 2
    X = rng.normal(size=(30, 2)) + 50.0 * y[:, np.newaxis]  # any width classifies all
    model = IM4E(sigma="path").fit(X, y)
    np.testing.assert_array_equal(model.cv_scores_, 1.0)
    assert model.sigma_ == 1.0


@pytest.mark.parametrize(
    "y",
    [[0, 0, 0, 0, 0, 0, 0, 1], [0, 1, 2, 3, 4, 5, 6, 7], [0, 0, 0, 0, 0, 1, 2, 2], [0, 0, 1, 1, 2, 2, 3, 3]],
    ids=["one alone", "all alone", "small", "pairs"],
)
def test_small_classes_on_the_path(y):
    X = np.random.default_rng(0).normal(size=(8, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = IM4E(sigma="path").fit(X, y)
    assert np.isfinite(model.feature_weights_).all()
    assert model.sigma_ in SIGMA_PATH
    assert set(model.predict(X)) <= set(y)


@any_end
@pytest.mark.parametrize(
    "cv", [[], [([], [0, 1])], [(np.arange(70), [])], [(np.arange(0, 70, 2), np.arange(1, 70, 2))]]
)
def test_no_fold_to_choose_by(waves, cv):
    X = waves[0]
    with pytest.warns(UserWarning, match=r"No fold of cv.*sigma=1\.0"):
        model = IM4E(sigma="path", cv=cv).fit(X, np.arange(len(X)) % 2)
    assert np.isnan(model.cv_scores_).all()
    assert model.sigma_ == 1.0


@pytest.mark.slow
@any_end
def test_what_a_path_leaves_is_forgotten(waves):
    model = IM4E(sigma="path", cv=2).fit(*waves)
    assert hasattr(model, "cv_scores_")
    model.set_params(sigma=0.1).fit(*waves)
    assert not hasattr(model, "cv_scores_")
    assert not hasattr(model, "sigma_path_")
    assert vars(model).keys() == vars(IM4E(sigma=0.1).fit(*waves)).keys()


def test_folds_with_samples_that_are_not_there(waves):
    with pytest.raises(ValueError, match=r"cv names samples.*70 of X"):
        IM4E(sigma="path", cv=[(np.arange(60, 80), [0])]).fit(*waves)


@pytest.mark.slow
@any_end
def test_folds_count_the_samples_as_the_user_does(waves):
    X, y = waves
    s = (np.arange(len(X)) % 4 > 0).astype(float)
    folds = list(StratifiedKFold(3).split(X, y))
    place = np.cumsum(s > 0) - 1
    inside = [(place[a[s[a] > 0]], place[b[s[b] > 0]]) for a, b in folds]
    with_zeros = IM4E(sigma="path", cv=folds, max_iter=10).fit(X, y, sample_weight=s)
    without = IM4E(sigma="path", cv=inside, max_iter=10).fit(X[s > 0], y[s > 0])
    np.testing.assert_array_equal(with_zeros.cv_scores_, without.cv_scores_)
    np.testing.assert_array_equal(with_zeros.feature_weights_, without.feature_weights_)


def test_cross_validated_as_any_classifier():
    X, y, _ = make_xor(200, n_irrelevant=5, random_state=0)
    scores = cross_val_score(IM4E(), X, y, cv=4, error_score="raise")
    plain = cross_val_score(KNeighborsClassifier(3), X, y, cv=4)
    assert scores.mean() > plain.mean()
