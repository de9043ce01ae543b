"""Missing values in the methods with soft neighborhoods: I-RELIEF, LOGO, I-M4E."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracles.missing_1994 import expected_differences
from oracles.soft_missing import (
    differences_to_fitted,
    given_im4e,
    given_irelief,
    given_irelief_auto,
    given_logo,
    given_logo_auto,
    given_psi,
    given_sigma,
    given_soft_margins,
)
from registry import THOROUGH

import highrelief._engine.pair_sums
import highrelief._engine.soft
from highrelief import IM4E, LOGO, GFlip, IRelief, LHRelief, OnlineIRelief, Simba
from highrelief._engine.limits import limits

PRECISIONS = [(np.float64, 1e-11), (np.float32, 2e-5)]
NOT_STORED = 1000.0


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few iterations do not converge
        yield


def incomplete(n=45, n_features=6, rate=0.15, seed=0, n_classes=3):
    """Gaps anywhere, a sample without any value, a feature without any, one with a single value."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = random.normal(size=(n, n_features))
    X[:, 0] += 1.2 * y
    X[:, 1] += 0.6 * y
    X[random.random(X.shape) < rate] = np.nan
    X[7] = np.nan
    X[:, -1] = np.nan
    X[1:, -2] = np.nan
    return X, y


def copies_of(y, seed=1):
    return np.random.default_rng(seed).integers(1, 4, len(y)).astype(float)


def scaled(X):
    """As scale="range" does, from what is there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # all-NaN
        low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    return (X - low) / np.where(high > low, high - low, 1.0)


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize(("dtype", "close"), PRECISIONS)
class TestOracle:
    @pytest.mark.parametrize("memory", [None, NOT_STORED])
    @pytest.mark.parametrize("margin", ["nearest", "prior"])
    @pytest.mark.parametrize("outliers", [True, False])
    def test_irelief(self, dtype, close, counted, memory, margin, outliers):
        X, y = incomplete()
        s = copies_of(y) if counted else None
        E = expected_differences(scaled(X), s)
        model = IRelief(
            sigma=0.5, margin=margin, outliers=outliers, max_iter=3, tol=0.0, memory_budget=memory
        ).fit(X.astype(dtype), y, s)
        assert model.execution_["distances"] == ("stored" if memory is None else "recomputed")
        expected = given_irelief(E, y, 0.5, margin, outliers, 3, s)
        np.testing.assert_allclose(model.feature_weights_, expected, atol=close)
        inlier = given_soft_margins(E, y, expected, 0.5, margin, s)[1]
        np.testing.assert_allclose(1.0 - model.outlier_proba_, inlier, atol=close)
        assert model.feature_weights_[-1] == 0.0
        assert model.feature_weights_[-2] == 0.0

    def test_irelief_with_automatic_width(self, dtype, close, counted):
        X, y = incomplete()
        s = copies_of(y) if counted else None
        E = expected_differences(scaled(X), s)
        model = IRelief(perplexity=0.5, max_iter=3).fit(X.astype(dtype), y, s)
        np.testing.assert_allclose(
            model.feature_weights_, given_irelief_auto(E, y, n_iter=3, s=s), atol=close
        )
        np.testing.assert_allclose(model.sigma_, given_sigma(E, model.feature_weights_, s=s), rtol=close)

    @pytest.mark.slow
    @pytest.mark.parametrize("memory", [None, NOT_STORED])
    def test_logo(self, dtype, close, counted, memory):
        X, y = incomplete()
        s = copies_of(y) if counted else None
        E = expected_differences(scaled(X), s)
        model = LOGO(sigma=0.5, alpha=0.4, max_iter=2, tol=0.0, memory_budget=memory)
        model.fit(X.astype(dtype), y, s)
        np.testing.assert_allclose(
            model.feature_weights_, given_logo(E, y, 0.5, 0.4, 2, s), rtol=1e3 * close, atol=10 * close
        )
        model = LOGO(max_iter=3, memory_budget=memory).fit(X.astype(dtype), y, s)
        np.testing.assert_allclose(
            model.feature_weights_, given_logo_auto(E, y, n_iter=3, s=s), atol=10 * close
        )

    def test_im4e(self, dtype, close, counted):
        X, y = incomplete()
        s = copies_of(y) if counted else None
        path = given_im4e(expected_differences(scaled(X), s), y, 0.5, 3, s)
        model = IM4E(sigma=0.5, max_iter=3, tol=0.0).fit(X.astype(dtype), y, s)
        np.testing.assert_allclose(model.feature_weights_, path[-1][0], atol=close)
        np.testing.assert_allclose(model.cost_, [step[1] for step in path], rtol=10 * close)
        np.testing.assert_allclose(model.hit_entropy_, [step[2] for step in path], rtol=10 * close)
        np.testing.assert_allclose(model.miss_entropy_, [step[3] for step in path], rtol=10 * close)

    @pytest.mark.parametrize("complete", [False, True])
    def test_im4e_classifies(self, dtype, close, counted, complete):
        X, y = incomplete()
        s = copies_of(y) if counted else None
        X = np.nan_to_num(X, nan=0.3) if complete else X
        model = IM4E(sigma=0.5, max_iter=3).fit(X.astype(dtype), y, s)
        random = np.random.default_rng(5)
        new = 2.0 * random.normal(size=(70, X.shape[1]))  # beyond the ends of the fitted values, too
        new[random.random(new.shape) < 0.3] = np.nan
        new[0] = np.nan
        with_gaps, fitted = (model._scaling.apply(A.astype(dtype)).astype(float) for A in (new, X))
        E = differences_to_fitted(with_gaps, fitted, s)
        psi = given_psi(E, y, model.feature_weights_, model.sigma_, s)
        np.testing.assert_allclose(model.expected_distances(new.astype(dtype)), psi, rtol=1e-11)
        np.testing.assert_array_equal(model.predict(new.astype(dtype)), np.argmin(psi, axis=1))
        assert np.isfinite(model.predict_proba(new.astype(dtype))).all()
        one_by_one = np.concatenate([model.expected_distances(row[np.newaxis]) for row in new.astype(dtype)])
        np.testing.assert_array_equal(one_by_one, model.expected_distances(new.astype(dtype)))


@pytest.mark.parametrize("model", [IRelief(margin="nearest", max_iter=3), LOGO(max_iter=3), IM4E(max_iter=3)])
def test_margins_of_new_samples(model):
    """What is missing may be any value of the samples given."""
    X, y = incomplete()
    model.fit(*incomplete(seed=8))
    new = model._scaling.apply(X)
    Z, _ = given_soft_margins(expected_differences(new), y, model.feature_weights_, model.sigma_)
    np.testing.assert_allclose(model.margins(X, y), Z @ model.feature_weights_, atol=1e-12)


MODELS = [
    IRelief(max_iter=3),
    IRelief(sigma=0.5, margin="prior", max_iter=12, averaging=True),
    LOGO(max_iter=3),
    LOGO(sigma=0.5, alpha=0.4, max_iter=3),
    IM4E(max_iter=3),
    IM4E(sigma=0.5, max_iter=3, w_step="exact"),
    IM4E(max_iter=2, loss="log"),
]


def weights(model, *args):
    return model.fit(*args).feature_weights_.copy()


@pytest.mark.parametrize("model", MODELS, ids=str)
class TestProperties:
    def test_weight_s_is_s_rows(self, model):
        X, y = incomplete()
        s = copies_of(y).astype(int)
        as_rows = weights(model, np.repeat(X, s, axis=0), np.repeat(y, s))
        np.testing.assert_allclose(weights(model, X, y, s), as_rows, atol=1e-9)

    def test_the_order_of_rows_and_classes_does_not_matter(self, model):
        X, y = incomplete(n=150)
        order = np.random.default_rng(2).permutation(len(y))
        again = weights(model, X[order], 2 - y[order])
        np.testing.assert_allclose(again, weights(model, X, y), atol=1e-9)

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_threads_and_memory_leave_every_bit(self, model, dtype):
        X, y = incomplete(n=200, n_features=9)
        X = X.astype(dtype)
        for s in (None, copies_of(y)):
            expected = weights(model.set_params(n_jobs=1, memory_budget=None), X, y, s)
            np.testing.assert_array_equal(weights(model.set_params(n_jobs=2), X, y, s), expected)
            if not isinstance(model, LOGO):
                not_stored = model.set_params(n_jobs=2, memory_budget=NOT_STORED)
                np.testing.assert_array_equal(weights(not_stored, X, y, s), expected)
            model.set_params(n_jobs=None, memory_budget=None)

    def test_a_sample_of_weight_0_is_not_there(self, model):
        X, y = incomplete()
        X[3] = 50.0
        s = np.ones(len(y))
        s[3] = 0.0
        np.testing.assert_array_equal(weights(model, X, y, s), weights(model, X[s > 0], y[s > 0]))

    def test_infinity_is_refused(self, model):
        X, y = incomplete()
        X[0, 0] = np.inf
        with pytest.raises(ValueError, match="infinity"):
            model.fit(X, y)


@pytest.mark.parametrize("model", [IRelief(max_iter=3), LOGO(max_iter=3), IM4E(max_iter=3, sigma=0.5)])
def test_a_feature_without_values_may_as_well_not_be_there(model):
    """With an automatic width, which goes with w; or with weights of sum 1 that it never had a share in."""
    X, y = incomplete()
    kept = ~np.isnan(X).all(axis=0)
    if isinstance(model, IM4E):  # 1/I of the first weights, which counts all columns
        model.set_params(init=kept.astype(float))
        with_it = weights(model, X, y)
        model.set_params(init="uniform")
    else:
        with_it = weights(model, X, y)
    assert not with_it[~kept].any()
    np.testing.assert_allclose(with_it[kept], weights(model, X[:, kept], y), atol=1e-12)


def test_first_weights_of_irelief_count_features_without_values():
    """w = 1/I literally: with a numeric sigma, as if the kernel of the first step were wider by I/(I − 1)."""
    X, y = incomplete()
    kept = ~np.isnan(X).all(axis=0)
    n, n_kept = X.shape[1], kept.sum()
    with_it = IRelief(sigma=0.1, max_iter=1).fit(X, y).feature_weights_[kept]
    without = IRelief(sigma=0.1 * n / n_kept, max_iter=1).fit(X[:, kept], y).feature_weights_
    np.testing.assert_allclose(with_it, without, atol=1e-12)


@pytest.mark.parametrize("counted", [False, True])
class TestLargerTables:
    """What only larger tables lead to, on small ones."""

    def test_blocks_of_columns(self, counted):
        X, y = incomplete(n=60, n_features=700)
        s = copies_of(y) if counted else None
        for dtype in (np.float64, np.float32):
            for model in (IRelief(max_iter=3), IM4E(max_iter=3)):
                expected = weights(model, X.astype(dtype), y, s)
                with limits(copy_bytes=0):
                    np.testing.assert_array_equal(weights(model, X.astype(dtype), y, s), expected)

    def test_features_that_stay_negative_are_left_out(self, counted, monkeypatch):
        X, y = incomplete(n=90, n_features=300, n_classes=2)
        s = copies_of(y) if counted else None
        for dtype in (np.float64, np.float32):
            for model in (IRelief(sigma=2.0, max_iter=40, tol=0.0), IRelief()):
                expected = weights(model, X.astype(dtype), y, s)
                summed = []
                with monkeypatch.context() as patch, limits(screened_terms=0.0):
                    original = highrelief._engine.pair_sums.WeightedRows.sum_products

                    def counting(rows, S, totals, which, own, original=original, summed=summed):
                        summed.append(which.size)
                        return original(rows, S, totals, which, own)

                    patch.setattr(highrelief._engine.pair_sums.WeightedRows, "sum_products", counting)
                    np.testing.assert_array_equal(weights(model, X.astype(dtype), y, s), expected)
                if model.sigma == 2.0:
                    assert summed[-1] < 300

    def test_sums_that_earlier_ones_bound(self, counted, force):
        X, y = incomplete(n=60, n_features=400, n_classes=2)
        s = copies_of(y) if counted else None
        force(min_bounded_features=0)
        for model in (LOGO(max_iter=6), LOGO(sigma=2.0, alpha=0.5, max_iter=10)):
            found = weights(model, X, y, s)
            assert min(model.execution_["features_summed"]) < 400
            all_summed = weights(model.set_params(memory_budget=NOT_STORED), X, y, s)
            np.testing.assert_allclose(found, all_summed, rtol=1e-6, atol=1e-9)

    def test_some_samples_stand_for_all(self, counted, force):
        force(width_anchors=30)
        X, y = incomplete(n=90)
        low = np.nanmin(X[:, 0])
        X[20:24, :] = X[20]
        X[20:22, 0], X[22:24, 0] = np.nan, low  # in memory the same
        s = copies_of(y) if counted else np.ones(90)
        order = np.random.default_rng(0).permutation(90)
        model = IRelief(max_iter=2)
        expected = weights(model, X, y, s)
        np.testing.assert_allclose(weights(model, X[order], y[order], s[order]), expected, atol=1e-12)
        not_stored = weights(model.set_params(memory_budget=NOT_STORED), X, y, s)
        np.testing.assert_array_equal(not_stored, expected)


@settings(max_examples=25 if THOROUGH else 10, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), rate=st.sampled_from([0.02, 0.3, 0.8]), levels=st.booleans())
def test_any_gaps(seed, rate, levels):
    random = np.random.default_rng(seed)
    n, d = random.integers(4, 25), random.integers(1, 6)
    y = np.arange(n) % 2
    X = random.normal(size=(n, d)) + 0.5 * y[:, np.newaxis]
    X = np.round(X) if levels else X
    X[random.random(X.shape) < rate] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # all-NaN
        assume(np.any(np.nanmax(X, axis=0) > np.nanmin(X, axis=0)))
    s = random.integers(1, 4, n).astype(float)
    E = expected_differences(scaled(X), s)
    sigma = 0.5
    w = np.full(d, 1.0 / d)
    Z, gamma = given_soft_margins(E, y, w, sigma, s=s)
    nu = (s * gamma) @ Z / s.sum()
    positive = np.maximum(np.where(np.abs(nu) > 1e-13, nu, 0.0), 0.0)
    expected = positive / max(np.linalg.norm(positive), 1e-300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = IRelief(sigma=sigma, max_iter=1).fit(X, y, s)
        classifier = IM4E(sigma=sigma, max_iter=2).fit(X, y, s)
    if not np.any((np.abs(nu) > 1e-16) & (np.abs(nu) < 1e-11)):
        np.testing.assert_allclose(model.feature_weights_, expected, atol=1e-9)
    assert np.isfinite(LOGO(max_iter=2).fit(X, y, s).feature_weights_).all()
    assert np.isin(classifier.predict(X), [0, 1]).all()


def test_the_path_of_im4e_keeps_the_gaps():
    X, y = incomplete(n=90, rate=0.4)
    model = IM4E(sigma="path", cv=3, max_iter=5).fit(X, y)
    filled = IM4E(sigma="path", cv=3, max_iter=5).fit(np.where(np.isnan(X), np.nanmin(X), X), y)
    assert np.isfinite(model.cv_scores_).all()
    assert not np.array_equal(model.cv_scores_, filled.cv_scores_)


def test_pandas_na_is_missing():
    pd = pytest.importorskip("pandas")
    X, y = incomplete()
    frame = pd.DataFrame(X).astype("Float64")
    assert frame.isna().to_numpy().sum() == np.isnan(X).sum()
    np.testing.assert_array_equal(weights(IRelief(max_iter=2), frame, y), weights(IRelief(max_iter=2), X, y))


@pytest.mark.parametrize("estimator", [OnlineIRelief(), LHRelief(), Simba(), GFlip()])
def test_others_say_that_they_cannot(estimator):
    X, y = incomplete()
    with pytest.raises(ValueError, match="Input X contains NaN"):
        estimator.fit(X, y)
    assert not estimator.__sklearn_tags__().input_tags.allow_nan


@pytest.mark.parametrize("estimator", [IRelief(), LOGO(), IM4E()])
def test_the_tag_says_that_values_may_be_missing(estimator):
    assert estimator.__sklearn_tags__().input_tags.allow_nan


def test_copies_differ_in_features_that_have_lost_their_weight():
    """A second step, from weights under which no copies of a sample are apart."""
    X, y = np.random.default_rng(276).normal(size=(14, 3)), np.arange(14) % 2
    X[:3, 1] = np.nan
    s = copies_of(y)
    E = expected_differences(scaled(X), s)
    once, twice = (given_irelief(E, y, 2.0, n_iter=n, s=s) for n in (1, 2))
    assert once[1] == 0.0 < twice[1]
    model = IRelief(sigma=2.0, max_iter=2, averaging=False).fit(X, y, sample_weight=s)
    np.testing.assert_allclose(model.feature_weights_, twice, atol=1e-11)
