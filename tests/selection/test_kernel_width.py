"""Kernel widths, and penalties, that are chosen by cross-validation."""

import inspect
import warnings

import numpy as np
import pytest
from oracles import (
    irelief_held,
    knn_accuracy,
    logistic_l1,
    logo_held,
    nearest_class_accuracy,
    scale_range,
    soft_margin_rows,
    unit,
)
from registry import continuous_table, pairwise
from scipy.sparse import csr_array
from sklearn import clone, config_context
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import balanced_accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline

from highrelief import IM4E, LOGO, IRelief, KernelWidthCV
from highrelief.base import soft
from highrelief.base.folds import usable_folds
from highrelief.datasets import make_twonorm, make_xor
from highrelief.selection.kernel_width import FACTORS, outwards
from highrelief.selection.knn import LearnedMetricKNN

pytestmark = pytest.mark.slow

over_all = pytest.mark.parametrize("estimator", [IRelief, IM4E, LOGO], ids=lambda each: each.__name__)


def search(estimator, **parameters):
    """A search around an estimator; parameters that it does not have itself are of the estimator."""
    own = inspect.signature(KernelWidthCV).parameters
    inner = {name: value for name, value in parameters.items() if name not in own}
    return KernelWidthCV(estimator(**inner), **{name: parameters[name] for name in parameters.keys() - inner})


def one_penalty(estimator):
    """Parameters of a search by which LOGO, the slowest, tries one penalty."""
    return {"alphas": [0.2]} if estimator is LOGO else {}


def xor(n_samples=100, n_irrelevant=8, seed=0):
    return make_xor(n_samples, n_irrelevant=n_irrelevant, random_state=seed)[:2]


def scaled_by(fitted, X):
    low, high = fitted.min(axis=0), fitted.max(axis=0)
    return (X - low) / (high - low)


# The scores are those of a plain loop


@pytest.mark.parametrize("estimator", [IRelief, IM4E], ids=lambda each: each.__name__)
def test_scores_are_those_of_a_loop(estimator):
    X, y = xor(40, 4)
    sigmas = [0.8, 0.3, 0.1]
    model = search(estimator, sigmas=sigmas, cv=3, warm_steps=0).fit(X, y)
    expected = np.empty((3, 3))
    for fold, (fitted, left_out) in enumerate(StratifiedKFold(3).split(X, y)):
        known, new = scaled_by(X[fitted], X[fitted]), scaled_by(X[fitted], X[left_out])
        for place, sigma in enumerate(sigmas):
            w = irelief_held(known, y[fitted], sigma, outliers=estimator is IRelief)
            if estimator is IRelief:
                score = knn_accuracy(known, y[fitted], new, y[left_out], w)
            else:
                on_simplex, width = w / w.sum(), sigma / w.sum()
                score = nearest_class_accuracy(known, y[fitted], new, y[left_out], on_simplex, width)
            expected[place, fold] = score
    assert np.ptp(expected) > 0.1
    np.testing.assert_allclose(model.scores_, expected, rtol=0, atol=1e-12)


def test_scores_of_logo_are_those_of_a_loop():
    X, y = xor(28, 4)
    sigmas, shares = [0.6, 0.2], [0.5, 0.2]
    model = search(LOGO, sigmas=sigmas, alphas=shares, cv=2, warm_steps=0).fit(X, y)
    expected = np.empty((2, 2, 2))
    for fold, (fitted, left_out) in enumerate(StratifiedKFold(2).split(X, y)):
        known, new = scaled_by(X[fitted], X[fitted]), scaled_by(X[fitted], X[left_out])
        for i, sigma in enumerate(sigmas):
            for j, share in enumerate(shares):
                w = logo_held(known, y[fitted], sigma, share)
                expected[i, j, fold] = knn_accuracy(known, y[fitted], new, y[left_out], w)
    assert np.ptp(expected) > 0.1
    np.testing.assert_allclose(model.scores_, expected, rtol=0, atol=1e-12)
    i, j = model.best_index_
    w = logo_held(scale_range(X), y, sigmas[i], shares[j])
    np.testing.assert_allclose(model.feature_weights_, w, rtol=0, atol=1e-7)


def collected(model, X, y):
    """Weights of every value in every fold, in the order of the path, and the model."""
    seen = []

    def score(rule, X, y):
        seen.append(rule.feature_weights_)
        return 0.0

    model.set_params(scoring=score).fit(X, y)
    return np.array(seen)


@pytest.mark.parametrize(
    ("model", "tolerance"),
    [
        (search(IRelief, sigmas=[4.0, 2.0, 1.0], averaging=False, tol=1e-10), 1e-8),
        (search(IM4E, sigmas=[4.0, 2.0, 1.0], averaging=False, tol=1e-13), 1e-5),
        (search(LOGO, sigmas=[4.0, 2.0], alphas=[0.5, 0.2], averaging=False, tol=1e-9, max_iter=200), 1e-6),
    ],
    ids=["IRelief", "IM4E", "LOGO"],
)
def test_a_warm_path_ends_where_separate_fits_do(model, tolerance):
    """With wide kernels, under which there is one fixed point."""
    X, y, _ = make_twonorm(80, n_irrelevant=5, random_state=0)
    cold = collected(model.set_params(cv=2, warm_steps=0), X, y)
    warm = collected(model.set_params(warm_steps=None), X, y)
    np.testing.assert_allclose(warm, cold, rtol=0, atol=tolerance)
    assert len(np.unique(cold.round(4), axis=0)) == len(cold)  # every value has its own


@pytest.mark.parametrize("estimator", [IRelief, IM4E], ids=lambda each: each.__name__)
def test_where_it_converges_it_is_the_plain_one(estimator):
    X, y, _ = make_twonorm(80, n_irrelevant=5, random_state=0)
    few = {"averaging": False, "tol": 1e-12, "max_iter": 300}
    model = search(estimator, sigmas=[2.0, 1.0], cv=2, **few).fit(X, y)
    direct = estimator(sigma=model.sigma_, **few).fit(X, y)
    np.testing.assert_allclose(model.feature_weights_, direct.feature_weights_, rtol=0, atol=1e-6)


def test_where_logo_converges_it_is_a_fixed_point():
    X, y, _ = make_twonorm(80, n_irrelevant=5, random_state=0)
    model = search(LOGO, sigmas=[2.0], alphas=[0.2], cv=2, averaging=False, tol=1e-10, max_iter=200).fit(X, y)
    Z, _ = soft_margin_rows(scale_range(X), y, model.feature_weights_, model.sigma_, "nearest")
    solution = logistic_l1(Z, model.estimator_.alpha_)
    assert model.estimator_.alpha_ == pytest.approx(0.2 * np.max(Z.sum(axis=0)) / 2, rel=1e-6)
    np.testing.assert_allclose(unit(solution), model.feature_weights_, rtol=0, atol=1e-6)


# What it costs


@pytest.fixture
def steps(monkeypatch):
    """Iterations of every fit, with the share of the pairs that each went over."""
    taken = []
    plain = soft.fixed_point

    def counted(*args, **kwargs):
        end = plain(*args, **kwargs)
        taken.append(end.n_iter)
        return end

    monkeypatch.setattr(soft, "fixed_point", counted)
    return taken


@over_all
def test_a_value_costs_less_than_three_fits(estimator, steps):
    """In passes over all pairs of samples; a fold of three has 4/9 of them."""
    X, y = xor(80, 10)
    estimator().fit(X, y)
    (single,) = steps
    steps.clear()
    few = {"cv": 3, **({"alphas": [0.5, 0.2]} if estimator is LOGO else {})}
    model = search(estimator, **few).fit(X, y)
    n_values = model.scores_[..., 0].size
    assert len(steps) == 3 * n_values + 2
    passes = steps[0] + 4 / 9 * sum(steps[1:-1]) + steps[-1]
    assert passes < 3 * n_values * single
    warm = sum(steps)
    steps.clear()
    search(estimator, **few, warm_steps=0).fit(X, y)
    assert warm < 0.7 * sum(steps)


def test_every_value_begins_at_its_neighbor():
    assert list(outwards(5)) == [(2, -1), (1, 2), (0, 1), (3, 2), (4, 3)]
    assert list(outwards(1)) == [(0, -1)]


# What is tried, and what is chosen


@over_all
def test_widths_are_around_the_automatic_one(estimator):
    X, y = xor()
    model, automatic = (
        search(estimator, **one_penalty(estimator)).fit(X, y),
        estimator(perplexity=0.5).fit(X, y),
    )
    width = automatic.sigma_ / np.linalg.norm(automatic.feature_weights_)
    np.testing.assert_allclose(model.sigmas_, width * FACTORS, rtol=1e-12)
    row = np.atleast_1d(model.best_index_)[0]
    own = model.sigma_ / np.linalg.norm(model.feature_weights_)
    assert own == pytest.approx(model.sigmas_[row], rel=1e-12)
    np.testing.assert_array_equal(model.ranking_[:2] <= 2, True)


def fitted_scores(scores, **parameters):
    """A model whose scores are given, folds last, in the order of the path of falling widths."""
    scores = np.array(scores, dtype=float)
    order = [place for place, _ in outwards(len(scores))]
    queue = [scores[place, fold] for fold in range(scores.shape[1]) for place in order]
    X, y = continuous_table(40, n_classes=2)
    grid = np.arange(len(scores), 0, -1.0)
    return search(
        IRelief, sigmas=grid, cv=scores.shape[1], scoring=lambda *_: queue.pop(0), max_iter=2, **parameters
    ).fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_which_width_is_chosen():
    scores = [[0.9, 0.7], [0.8, 0.78], [0.7, 0.7], [0.5, 0.6], [0.2, 0.9]]
    model = fitted_scores(scores, rule="best")
    np.testing.assert_array_equal(model.scores_, scores)
    assert model.best_index_ == 0
    # 0.8 ± 0.1: all down to 0.7, and the middle is nearest to itself.
    assert fitted_scores(scores).best_index_ == 2
    scores[2] = [0.6, 0.6]
    assert fitted_scores(scores).best_index_ == 1
    assert fitted_scores([[0.5, 0.5]] * 5, rule="best").best_index_ == 2
    assert fitted_scores([[0.5, np.nan], [0.1, 0.1], [0.2, 0.1]], rule="best").best_index_ == 2


def test_the_largest_penalty_that_is_good_enough():
    X, y = xor(100, 10)
    best = search(LOGO, sigmas=[0.3, 0.15], alphas=[0.8, 0.5, 0.2], cv=3).fit(X, y)
    sparse = search(LOGO, sigmas=[0.3, 0.15], alphas=[0.8, 0.5, 0.2], cv=3, rule="one-se").fit(X, y)
    np.testing.assert_array_equal(best.scores_, sparse.scores_)
    means = best.scores_.mean(axis=-1)
    of_best = best.scores_[best.best_index_]
    least = means.max() - of_best.std(ddof=1) / np.sqrt(3)
    assert means[best.best_index_] == pytest.approx(means.max())
    assert sparse.best_index_[1] == np.flatnonzero((means >= least - 1e-12).any(axis=0))[0]
    assert sparse.alpha_share_ >= best.alpha_share_
    assert np.count_nonzero(sparse.feature_weights_) <= np.count_nonzero(best.feature_weights_)


def test_a_cycle_is_not_the_answer():
    X, y = xor(24, 2)
    with pytest.warns(ConvergenceWarning, match="cycle of length 2"):
        IRelief(sigma=0.2).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = search(IRelief, sigmas=[0.2], cv=2).fit(X, y)
    assert model.estimator_.converged_
    assert model.estimator_.cycle_length_ == 0
    with pytest.warns(ConvergenceWarning, match=r"cycle of length 2.*averaging=True may help"):
        search(IRelief, sigmas=[0.2], cv=2, averaging=False).fit(X, y)


# The rule that is scored


def test_the_rule_is_scikit_learns_k_nn():
    X, y = continuous_table(80)
    new, _ = continuous_table(40, seed=1)
    fitted = IRelief(sigma=0.5, weighted=True).fit(X, y)
    rule = LearnedMetricKNN(X, y, fitted.classes_, None, fitted._scaling, fitted.feature_weights_)
    known = KNeighborsClassifier(5, metric="manhattan").fit(fitted.transform(X), y)
    np.testing.assert_allclose(
        rule.predict_proba(new), known.predict_proba(fitted.transform(new)), rtol=0, atol=1e-12
    )
    np.testing.assert_array_equal(rule.predict(new), known.predict(fitted.transform(new)))


def test_copies_are_neighbors_and_ties_share():
    fitted = IRelief(sigma=1.0, scale=None).fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
    X, w = np.array([[0.0], [2.0], [3.0]]), np.array([1.0])
    votes = LearnedMetricKNN(X, np.array([0, 1, 1]), np.arange(2), None, fitted._scaling, w)
    np.testing.assert_allclose(votes.predict_proba([[1.0]]), [[1 / 3, 2 / 3]])  # fewer than five: all
    many = LearnedMetricKNN(
        X, np.array([0, 1, 1]), np.arange(2), np.array([6.0, 4.0, 9.0]), fitted._scaling, w
    )
    np.testing.assert_allclose(many.predict_proba([[1.0]]), [[0.6, 0.4]])  # both at distance 1, five votes
    assert many.predict([[0.1]]) == [0]
    nothing = LearnedMetricKNN(X, np.array([0, 1, 1]), np.arange(2), None, fitted._scaling, np.array([0.0]))
    np.testing.assert_allclose(nothing.predict_proba([[1.0]]), [[1 / 3, 2 / 3]])


def test_names_of_classes_decide_no_tie():
    """By default; of three classes two may have two neighbors each."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.permutation(np.arange(60) % 3)
    found = [
        search(IRelief, sigmas=[1.0, 0.5], cv=3, scoring=scoring).fit(X, labels).scores_
        for scoring in (None, "accuracy")
        for labels in (y, 2 - y)
    ]
    np.testing.assert_array_equal(found[0], found[1])
    assert not np.array_equal(found[2], found[3])


def test_scoring():
    X, y = continuous_table(90, n_classes=2)  # five neighbors of two classes: no ties
    plain = search(IRelief, cv=3).fit(X, y)
    np.testing.assert_array_equal(search(IRelief, cv=3, scoring="accuracy").fit(X, y).scores_, plain.scores_)
    by_name = search(IRelief, cv=3, scoring="balanced_accuracy").fit(X, y).scores_
    by_scorer = search(IRelief, cv=3, scoring=make_scorer(balanced_accuracy_score)).fit(X, y).scores_
    np.testing.assert_array_equal(by_name, by_scorer)
    assert not np.array_equal(by_name, plain.scores_)
    assert (search(IM4E, cv=3, scoring="neg_log_loss").fit(X, y).scores_ < 0.0).all()


# Folds


def test_folds_as_they_are_given():
    X, y = continuous_table(60, n_classes=2)
    number = search(IRelief, cv=3).fit(X, y)
    splitter = search(IRelief, cv=StratifiedKFold(3)).fit(X, y)
    pairs = search(IRelief, cv=list(StratifiedKFold(3).split(X, y))).fit(X, y)
    np.testing.assert_array_equal(number.scores_, splitter.scores_)
    np.testing.assert_array_equal(number.scores_, pairs.scores_)
    assert number.feature_weights_.tobytes() == pairs.feature_weights_.tobytes()


@pairwise(
    over_all,
    pytest.mark.parametrize("cv", [4, GroupKFold(4)], ids=["number", "splitter"]),
    pytest.mark.parametrize("routed", [False, True]),
)
def test_groups_stay_together(estimator, cv, routed):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(20), 3)
    X, y = rng.normal(size=(20, 6))[groups] + 1e-3 * rng.normal(size=(60, 6)), (np.arange(20) % 2)[groups]
    few = {"sigmas": [0.5, 0.2], **one_penalty(estimator)}
    with config_context(enable_metadata_routing=routed):
        step = search(estimator, cv=cv, **few)
        if routed and estimator is IM4E:
            step.estimator.set_fit_request(groups=False)
        direct = clone(step).fit(X, y, groups=groups)
        model = Pipeline([("weigh", step), ("classify", KNeighborsClassifier(1))])
        if routed:
            step.set_fit_request(groups=True)
        model.fit(X, y, **{"groups" if routed else "weigh__groups": groups})
    np.testing.assert_array_equal(model[0].scores_, direct.scores_)
    folds = list(usable_folds(cv, X, y, np.ones(60, dtype=bool), groups))
    assert not any(np.isin(groups[fitted], groups[left_out]).any() for fitted, left_out in folds)
    np.testing.assert_array_equal(search(estimator, cv=folds, **few).fit(X, y).scores_, direct.scores_)
    assert not np.array_equal(search(estimator, cv=4, **few).fit(X, y).scores_, direct.scores_)


@over_all
def test_without_a_fold_the_middle_is_taken(estimator):
    X, y = continuous_table(20, n_classes=2)
    half = y == 0
    cv = [(np.flatnonzero(half), np.flatnonzero(~half))]
    with pytest.warns(UserWarning, match="cv gives no fold to choose by"):
        model = search(estimator, sigmas=[3.0, 2.0, 1.0], cv=cv).fit(X, y)
    assert model.scores_.shape[-1] == 0
    assert np.atleast_1d(model.best_index_)[0] == 1
    assert model.feature_weights_.any()


def test_few_samples_in_a_class():
    X, y = continuous_table(30, n_classes=2)
    with pytest.warns(UserWarning, match="cv=30 folds are not possible here"):
        model = search(IRelief, sigmas=[1.0], cv=30).fit(X, y)
    assert 2 <= model.scores_.shape[1] < 30


# Tables of other kinds


@over_all
def test_missing_values_words_and_weights(estimator):
    X, y = xor(120)
    rng = np.random.default_rng(0)
    X[rng.uniform(size=X.shape) < 0.05] = np.nan
    words = np.array(["ill", "well"])[y]
    few = {"cv": 3, **one_penalty(estimator)}
    model = search(estimator, **few).fit(X, words, sample_weight=np.arange(120) >= 10)
    np.testing.assert_array_equal(model.ranking_[:2] <= 2, True)
    without = search(estimator, **few).fit(X[10:], words[10:])
    assert model.feature_weights_.tobytes() == without.feature_weights_.tobytes()
    np.testing.assert_array_equal(model.scores_, without.scores_)
    if estimator is IRelief:
        assert model.estimator_.outlier_proba_.shape == (120,)
        np.testing.assert_array_equal(np.isnan(model.estimator_.outlier_proba_), np.arange(120) < 10)


@over_all
def test_copies_are_copies_where_values_are_missing(estimator):
    rng = np.random.default_rng(5)
    X, y = xor(60)
    X[rng.uniform(size=X.shape) < 0.15] = np.nan
    folds = [
        (np.flatnonzero(np.arange(60) % 3 != v), np.flatnonzero(np.arange(60) % 3 == v)) for v in range(3)
    ]
    copies = rng.integers(0, 4, size=60)
    rows = np.repeat(np.arange(60), copies)
    of_rows = [tuple(np.flatnonzero(np.isin(rows, part)) for part in fold) for fold in folds]
    few = one_penalty(estimator)
    weighed = search(estimator, cv=folds, **few).fit(X, y, sample_weight=copies)
    copied = search(estimator, cv=of_rows, **few).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighed.scores_, copied.scores_, rtol=1e-12)
    np.testing.assert_allclose(weighed.feature_weights_, copied.feature_weights_, atol=1e-10)


def test_weights_of_classes_by_name():
    X, y = continuous_table(90)
    words = np.array(["a", "b", "c"])[y]
    model = search(IRelief, cv=3, class_weight={"a": 1.0, "b": 5.0, "c": 1.0}).fit(X, words)
    direct = IRelief(perplexity=0.5, class_weight={"a": 1.0, "b": 5.0, "c": 1.0}).fit(X, words)
    np.testing.assert_allclose(model.sigmas_[2], direct.sigma_, rtol=1e-12)


def test_batches_reach_every_fit():
    X, y = xor(90)
    batches = np.arange(90) % 3
    shifted = X + 3.0 * batches[:, np.newaxis]
    model = search(IRelief, cv=3).fit(shifted, y, batches=batches)
    np.testing.assert_array_equal(model.ranking_[:2] <= 2, True)
    automatic = IRelief(perplexity=0.5).fit(shifted, y, batches=batches)
    assert model.sigmas_[2] == pytest.approx(automatic.sigma_)


# scikit-learn's own search


@pytest.mark.parametrize(
    ("weighter", "grid"),
    [
        (IRelief(weighted=True), {"sigma": ["auto", 0.1, 0.4]}),
        (IRelief(weighted=True), {"perplexity": [0.2, 0.5, 0.8]}),
        (LOGO(weighted=True), {"sigma": ["auto", 2.0], "alpha": ["auto", 1.0]}),
        (LOGO(weighted=True), {"perplexity": [0.3, 0.7], "alpha": ["auto", 1.0]}),
        (IM4E(weighted=True), {"sigma": ["auto", 0.1], "perplexity": [0.5]}),
        (search(IRelief, cv=2, weighted=True), {"estimator__margin": ["nearest", "prior"]}),
        (search(LOGO, cv=2, sigmas=[0.3, 0.15], alphas=[0.2], weighted=True), {"rule": ["best", "one-se"]}),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_grid_search_over_a_pipeline(weighter, grid):
    X, y = xor(100)
    model = Pipeline([("weigh", weighter), ("classify", KNeighborsClassifier(5, metric="manhattan"))])
    grid = {f"weigh__{name}": values for name, values in grid.items()}
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(X, y)
    means = search.cv_results_["mean_test_score"]
    assert search.best_score_ == means.max() > 0.6
    chosen = model.set_params(**search.best_params_).fit(X, y)[0]
    assert search.best_estimator_[0].feature_weights_.tobytes() == chosen.feature_weights_.tobytes()


@pytest.mark.parametrize(
    ("model", "grid"),
    [
        (IM4E(), {"sigma": ["auto", 0.3, 0.1, 0.03]}),
        (IM4E(), {"perplexity": [0.2, 0.5, 0.8]}),
        (search(IM4E, cv=2), {"estimator__w_step": ["paper", "exact"]}),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_grid_search_over_a_classifier(model, grid):
    X, y = xor(160)
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(X[:100], y[:100])
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    assert search.score(X[100:], y[100:]) > 0.8
    chosen = model.set_params(**search.best_params_).fit(X[:100], y[:100])
    assert search.best_estimator_.feature_weights_.tobytes() == chosen.feature_weights_.tobytes()


def test_a_grid_search_and_a_path_see_the_same():
    """Without warm starts, and where plain iterations settle, the scores are those of a pipeline."""
    X, y, _ = make_twonorm(80, n_irrelevant=5, random_state=0)
    sigmas = [4.0, 2.0, 1.0]
    path = search(IRelief, sigmas=sigmas, cv=3, averaging=False, tol=1e-10).fit(X, y)
    model = make_pipeline(IRelief(weighted=True, tol=1e-10), KNeighborsClassifier(5, metric="manhattan"))
    grid = GridSearchCV(model, {"irelief__sigma": sigmas}, cv=3).fit(X, y)
    by_fold = [grid.cv_results_[f"split{fold}_test_score"] for fold in range(3)]
    np.testing.assert_allclose(path.scores_, np.transpose(by_fold), rtol=0, atol=1e-12)


# Around an estimator


def test_only_logo_has_penalties():
    with pytest.raises(ValueError, match=r"alphas=\[0.1\] needs a LOGO: IRelief has no penalty"):
        KernelWidthCV(IRelief(), alphas=[0.1]).fit(*xor())


def test_the_width_of_the_estimator_is_replaced():
    X, y = xor()
    given = KernelWidthCV(LOGO(sigma=9.0, alpha=9.0), alphas=[0.2], cv=2).fit(X, y)
    free = KernelWidthCV(LOGO(), alphas=[0.2], cv=2).fit(X, y)
    assert given.feature_weights_.tobytes() == free.feature_weights_.tobytes()
    assert given.estimator.sigma == 9.0


def test_sparse_tables_are_refused():
    X, y = xor()
    with pytest.raises(TypeError, match="does not support sparse X"):
        KernelWidthCV(IRelief()).fit(csr_array(X), y)


def test_a_classifier_inside_predicts():
    pandas = pytest.importorskip("pandas")
    X, y = xor(120)
    names = [f"feature {j}" for j in range(X.shape[1])]
    frame = pandas.DataFrame(X, columns=names)
    model = KernelWidthCV(IM4E(), cv=2).fit(frame[:80], y[:80])
    assert is_classifier(model)
    assert not is_classifier(KernelWidthCV(IRelief()))
    assert not hasattr(KernelWidthCV(IRelief()), "predict")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of names of features
        predicted = model.predict(frame[80:])
        assert model.score(frame[80:], y[80:]) == np.mean(predicted == y[80:]) > 0.8
        for name in ("predict", "predict_proba", "decision_function"):
            of_array = getattr(model.estimator_, name)(X[80:])
            np.testing.assert_array_equal(getattr(model, name)(frame[80:]), of_array)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[80:].rename(columns={"feature 0": "other"}))


def test_a_classifier_inside_predicts_on_dask():
    da = pytest.importorskip("dask.array")
    X, y = xor(120)
    model = KernelWidthCV(IM4E(), cv=2).fit(X, y)
    np.testing.assert_array_equal(model.predict(da.from_array(X, chunks=(50, 4))), model.predict(X))
