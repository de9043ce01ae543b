"""HKNN: the formula, its limits, and what users of a classifier rely on."""

import pickle

import numpy as np
import oracles
import pytest
from registry import continuous_table, discrete_table, rounded_table
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline

from highrelief import HKNNClassifier, IRelief
from highrelief._engine.limits import limits
from highrelief._kernels import hyperplanes as hyperplanes_kernels
from highrelief.datasets import make_fermat_spiral, make_xor

tables = pytest.mark.parametrize("table", [continuous_table, discrete_table, rounded_table])


def scaled(table, n_samples=60, **more):
    """Samples to fit and as many to ask for, scaled by the range of all, and classes of the first."""
    X, y = table(2 * n_samples, **more)
    X = oracles.scale_range(X)
    return X[:n_samples], y[:n_samples], X[n_samples:]


def distances(X, y, Q, sample_weight=None, **parameters):
    return HKNNClassifier(**parameters).fit(X, y, sample_weight=sample_weight).hyperplane_distances(Q)


# The formula


@tables
@pytest.mark.parametrize("k", [1, 4, 100])
@pytest.mark.parametrize("alpha", [1e-3, 1.0])
def test_distances_equal_the_oracle(table, k, alpha):
    X, y, Q = scaled(table)
    expected = oracles.hknn_distances(Q, X, y, k, alpha)
    found = distances(X, y, Q, n_neighbors=k, alpha=alpha)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@tables
def test_copies_equal_the_oracle(table):
    X, y, Q = scaled(table)
    for s in (np.arange(60) % 3, 0.3 + np.arange(60) % 4 * 0.7):
        expected = oracles.hknn_distances(Q, X, y, 5, 0.5, s)
        found = distances(X, y, Q, sample_weight=s, n_neighbors=5, alpha=0.5)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_least_squares_equals_the_oracle():
    """λ = 0, more features than neighbors, which are then the corners of a simplex."""
    rng = np.random.default_rng(0)
    X, y, Q = rng.normal(size=(40, 30)), np.arange(40) % 2, rng.normal(size=(9, 30))
    found = distances(X, y, Q, n_neighbors=5, alpha=0.0)
    for q, x in enumerate(Q):
        for c in (0, 1):
            members = X[y == c]
            nearest = members[np.argsort(np.linalg.norm(members - x, axis=1))[:5]]
            np.testing.assert_allclose(
                found[q, c], oracles.hknn_ridge_distance(x, nearest, 0), rtol=1e-12, err_msg=f"{q}, {c}"
            )


def test_by_hand():
    """Class 0 on a line through (−1, 0) and (1, 0), class 1 at one point; λ = 1 leaves 1/3 of the way."""
    X, y = np.array([[-1.0, 0.0], [1.0, 0.0], [5.0, 2.0]]), ["line", "line", "point"]
    model = HKNNClassifier().fit(X, y)
    np.testing.assert_allclose(model.hyperplane_distances([[3.0, 2.0]]), [[np.sqrt(5.0), 2.0]])
    np.testing.assert_array_equal(model.predict([[3.0, 2.0], [3.0, 1.0]]), ["point", "line"])
    model.set_params(alpha=0.0)
    np.testing.assert_allclose(model.hyperplane_distances([[9.0, 1.0]]), [[1.0, np.sqrt(17.0)]])


def test_scores_are_those_of_the_formula():
    X, y, Q = scaled(continuous_table)
    model = HKNNClassifier().fit(X, y)
    found = model.hyperplane_distances(Q)
    np.testing.assert_allclose(model.predict_proba(Q), oracles.hknn_scores(found), rtol=1e-12)
    expected = -(found**2) / (2.0 * np.mean(found**2, axis=1, keepdims=True))
    np.testing.assert_allclose(model.decision_function(Q), expected, rtol=1e-12)
    np.testing.assert_array_equal(model.classes_[model.predict_proba(Q).argmax(axis=1)], model.predict(Q))


def test_two_classes_have_one_decision():
    X, y, Q = scaled(continuous_table, n_classes=2)
    model = HKNNClassifier().fit(X, np.array(["no", "yes"])[y])
    found = model.hyperplane_distances(Q)
    decision = model.decision_function(Q)
    squares = found**2
    np.testing.assert_allclose(
        decision, (squares[:, 0] - squares[:, 1]) / (squares[:, 0] + squares[:, 1]), rtol=1e-12, atol=1e-15
    )
    assert {"no", "yes"} == set(model.predict(Q))
    np.testing.assert_array_equal(model.predict(Q) == "yes", decision > 0.0)
    assert model.predict_proba(Q).max() <= np.e / (1.0 + np.e) + 1e-15


# Limits


@tables
def test_a_large_penalty_leaves_the_distance_from_the_local_mean(table):
    X, y, Q = scaled(table)
    found = distances(X, y, Q, n_neighbors=4, alpha=1e15)
    for q, x in enumerate(Q):
        d = np.linalg.norm(X - x, axis=1)
        for c in range(3):
            u = oracles.neighbor_shares(d, np.where(y == c, 1.0, 0.0), 4)
            np.testing.assert_allclose(found[q, c], np.linalg.norm(x - u @ X), rtol=1e-10, atol=1e-14)


def test_a_large_penalty_and_all_neighbors_are_the_nearest_centroid():
    X, y, Q = scaled(continuous_table)
    model = HKNNClassifier(n_neighbors=1000, alpha=1e15).fit(X, y)
    np.testing.assert_array_equal(model.predict(Q), NearestCentroid().fit(X, y).predict(Q))


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_one_neighbor_is_the_nearest_neighbor(alpha):
    X, y, Q = scaled(continuous_table)
    model = HKNNClassifier(n_neighbors=1, alpha=alpha).fit(X, y)
    np.testing.assert_array_equal(model.predict(Q), KNeighborsClassifier(1).fit(X, y).predict(Q))


def test_a_small_penalty_is_near_least_squares():
    rng = np.random.default_rng(1)
    X, y, Q = rng.normal(size=(40, 30)), np.arange(40) % 2, rng.normal(size=(9, 30))
    least_squares = distances(X, y, Q, alpha=0.0)
    for alpha in (1e-12, 1e-30, 1e-300):
        np.testing.assert_allclose(distances(X, y, Q, alpha=alpha), least_squares, rtol=1e-10)


def test_distances_grow_with_the_penalty():
    X, y, Q = scaled(continuous_table)
    path = [distances(X, y, Q, alpha=alpha) for alpha in (0.0, 1e-3, 1e-2, 0.1, 1.0, 10.0, 1e6)]
    assert (np.diff(path, axis=0) >= -1e-13).all()
    assert (path[-1] > path[0] + 1e-3).all()


def test_as_many_neighbors_as_features_span_the_space():
    X, y, Q = scaled(continuous_table)
    np.testing.assert_allclose(distances(X, y, Q, n_neighbors=7, alpha=0.0), 0.0, atol=1e-13)
    assert (distances(X, y, Q, n_neighbors=6, alpha=0.0) > 1e-6).all()


# Degenerate neighborhoods


@pytest.mark.parametrize("alpha", [0.0, 1e-300, 1e-12, 1.0])
def test_duplicates_are_one_point(alpha):
    X = np.repeat([[0.1, 0.7, 0.3], [0.9, 0.2, 0.3]], 5, axis=0)
    y, Q = np.repeat([0, 1], 5), np.random.default_rng(0).normal(size=(6, 3))
    expected = np.linalg.norm(Q[:, np.newaxis] - X[[0, 5]], axis=2)
    np.testing.assert_allclose(distances(X, y, Q, alpha=alpha), expected, rtol=1e-14)


@pytest.mark.parametrize("alpha", [0.0, 1e-300])
def test_collinear_neighbors_span_a_line(alpha):
    """However many there are, the distance is that from the line."""
    direction = np.array([3.0, 4.0, 0.0]) / 5.0
    X = np.vstack([np.linspace(0.0, 1.0, 7)[:, np.newaxis] * direction, [[9.0, 9.0, 9.0]]])
    y, Q = np.repeat([0, 1], [7, 1]), np.array([[0.3, 0.4, 2.0], [-0.8, 0.6, 0.0]])
    np.testing.assert_allclose(distances(X, y, Q, alpha=alpha)[:, 0], [2.0, 1.0], rtol=1e-12)


def test_a_class_of_one_sample_is_a_point():
    X, y = continuous_table()
    y[0] = 7
    Q = continuous_table(seed=1)[0]
    found = distances(X, y, Q)
    np.testing.assert_allclose(found[:, -1], np.linalg.norm(Q - X[0], axis=1), rtol=1e-14)


@pytest.mark.parametrize("n_features", [1, 2])
def test_few_features(n_features):
    X, y, Q = scaled(continuous_table)
    X, Q = X[:, :n_features], Q[:, :n_features]
    expected = oracles.hknn_distances(Q, X, y, 7, 0.1)
    np.testing.assert_allclose(distances(X, y, Q, alpha=0.1), expected, rtol=1e-9, atol=1e-12)


def test_constant_features_are_no_obstacle():
    X, y, Q = scaled(continuous_table)
    more = [np.hstack([each, np.full((len(each), 2), 3.0)]) for each in (X, Q)]
    np.testing.assert_allclose(distances(more[0], y, more[1]), distances(X, y, Q), rtol=1e-12)
    model = HKNNClassifier().fit(np.ones((6, 2)), [1, 0, 2, 2, 0, 1])
    np.testing.assert_array_equal(model.predict(np.ones((3, 2))), [0, 0, 0])
    np.testing.assert_allclose(model.predict_proba(np.ones((1, 2))), 1 / 3)


@pytest.mark.parametrize("scale", ["range", "standard"])
def test_what_was_constant_in_the_fit_does_not_count(scale):
    X, y, Q = scaled(continuous_table)
    train, new = (np.hstack([each, np.full((len(each), 1), 3.0)]) for each in (X, Q))
    new[:, -1] = np.linspace(-1e9, 1e9, len(new))
    expected = distances(X, y, Q, scale=scale)
    np.testing.assert_allclose(distances(train, y, new, scale=scale), expected, rtol=1e-12)


@pytest.mark.parametrize("alpha", [0.0, 1e-30])
def test_a_sample_in_the_hyperplanes_of_both_classes(alpha):
    """Both distances are 0 but for rounding, which must not decide."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        both, first, second = (rng.normal(size=(5, 12)) for _ in range(3))
        model = HKNNClassifier(n_neighbors=4, alpha=alpha)
        model.fit(np.vstack([first, both, second, both]), np.repeat(["a", "b"], 10))
        np.testing.assert_array_equal(model.hyperplane_distances(both), 0.0)
        np.testing.assert_array_equal(model.predict(both), np.full(5, "a"))
        np.testing.assert_array_equal(model.decision_function(both), 0.0)


# Ties, order, copies


@tables
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [None, "range", "standard"])
def test_the_order_of_the_rows_does_not_matter(table, dtype, scale):
    X, y = table(80)
    X, Q = X.astype(dtype), table(40, seed=1)[0].astype(dtype)
    model = HKNNClassifier(n_neighbors=3, scale=scale).fit(X, y)
    found, classes = model.hyperplane_distances(Q), model.predict(Q)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(80)
        model.fit(X[order], y[order])
        tolerance = 1e-9 if dtype == np.float64 else 1e-5
        np.testing.assert_allclose(model.hyperplane_distances(Q), found, rtol=tolerance, atol=tolerance)
        np.testing.assert_array_equal(model.predict(Q), classes)


def test_classes_may_be_renamed():
    X, y, Q = scaled(discrete_table)
    found = distances(X, y, Q)
    np.testing.assert_allclose(distances(X, 2 - y, Q), found[:, ::-1], rtol=1e-12)


def test_equal_distances_go_to_the_smaller_class():
    X, _, Q = scaled(continuous_table, n_classes=2)
    twice, classes = np.vstack([X, X[::-1]]), np.repeat(["b", "a"], 60)
    model = HKNNClassifier(scale="range").fit(twice, classes)
    np.testing.assert_array_equal(model.predict(Q), np.full(60, "a"))
    np.testing.assert_array_equal(model.decision_function(Q), np.zeros(60))


@tables
def test_weights_are_copies(table):
    X, y, Q = scaled(table)
    s = np.random.default_rng(0).integers(0, 4, size=60)
    repeated = distances(np.repeat(X, s, axis=0), np.repeat(y, s), Q, n_neighbors=5)
    found = distances(X, y, Q, sample_weight=s, n_neighbors=5)
    np.testing.assert_allclose(found, repeated, rtol=1e-10, atol=1e-12)
    assert np.abs(found - distances(X, y, Q, n_neighbors=5)).max() > 1e-3


@pytest.mark.parametrize("order", range(4))
def test_a_heavy_sample_does_not_absorb_the_others(order):
    """1e16 + 3 + 1e-10 − 1e16 is 4: what is counted must not depend on samples farther away."""
    X = np.concatenate([[[10.0], [1.0]], np.linspace(0.5, 0.1, 40)[:, None], np.linspace(20, 30, 5)[:, None]])
    y, s = np.repeat([0, 1], [42, 5]), np.concatenate([[1e16, 3.0], np.full(40, 1e-10), np.ones(5)])
    rows = np.random.default_rng(order).permutation(47) if order else np.arange(47)
    Q = np.array([[0.0], [0.3], [9.0]])
    light = np.where(s > 3.0, 3.0, s)
    expected = distances(X, y, Q, sample_weight=light, n_neighbors=1, alpha=0.5)
    for _ in range(5):
        found = distances(X[rows], y[rows], Q, sample_weight=s[rows], n_neighbors=1, alpha=0.5)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_tied_neighbors_share_the_last_place():
    """Four corners at the same distance from the query, two places: each takes half of one."""
    corners = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    X, y = np.vstack([corners, [[9.0, 9.0]]]), [0, 0, 0, 0, 1]
    found = distances(X, y, [[0.0, 0.0], [0.0, 0.5]], n_neighbors=2, alpha=1.0)
    assert found[0, 0] == pytest.approx(0.0, abs=1e-15)
    # The nearest is (0, 1); (1, 0) and (−1, 0) share the other place.
    neighbors, u = corners[[2, 0, 1]], np.array([1.0, 0.5, 0.5])
    expected = oracles.hknn_shared_distance(np.array([0.0, 0.5]), neighbors, u, 1.0)
    assert found[1, 0] == pytest.approx(expected, rel=1e-12)


# Precision, units, threads


@pytest.mark.parametrize("factor", [1e-170, 1e-12, 1e12, 1e170])
def test_units_change_nothing_else(factor):
    X, y, Q = scaled(continuous_table)
    with np.errstate(over="ignore", under="ignore"):
        alpha = 0.3 * float(np.float64(factor) ** 2)
    if 0.0 < alpha < np.inf:
        found = distances(factor * X, y, factor * Q, alpha=alpha)
        np.testing.assert_allclose(found, factor * distances(X, y, Q, alpha=0.3), rtol=1e-12)
    found = distances(factor * X, y, factor * Q, n_neighbors=4, alpha=0.0)
    np.testing.assert_allclose(found, factor * distances(X, y, Q, n_neighbors=4, alpha=0.0), rtol=1e-10)


def test_far_from_the_origin():
    """Matrix products would lose all digits, were they not measured from the mean."""
    X, y, Q = scaled(continuous_table)
    # Multiples of 2⁻²⁰ stay exact.
    X, Q = np.round(X * 2**20) / 2**20, np.round(Q * 2**20) / 2**20
    found = distances(X + 2.0**30, y, Q + 2.0**30)
    np.testing.assert_allclose(found, distances(X, y, Q), rtol=1e-12)


def test_far_away_samples_are_answered():
    X, y, _ = scaled(continuous_table)
    far = np.vstack([np.full(6, 1e307), np.full(6, -1e307), np.full(6, 1e200)])
    model = HKNNClassifier(scale="range").fit(X, y)
    assert set(model.predict(far)) <= {0, 1, 2}
    assert np.isfinite(model.predict_proba(far)).all()
    assert not np.isnan(model.hyperplane_distances(far)).any()


def test_far_away_samples_of_higher_precision():
    X, y, _ = scaled(continuous_table)
    model = HKNNClassifier().fit(X.astype(np.float32), y)
    expected = HKNNClassifier().fit(X.astype(np.float32).astype(np.float64), y)
    for far in (1e15, 1e30, 1e300):
        np.testing.assert_allclose(
            model.hyperplane_distances(np.full((1, 6), far)),
            expected.hyperplane_distances(np.full((1, 6), far)),
            rtol=1e-6,
        )


def test_huge_values_are_fitted():
    X = np.array([[-1.7e308, 0.0], [-1.6e308, 1.0], [1.7e308, 0.0], [1.6e308, 1.0]])
    for scale in (None, "range"):
        model = HKNNClassifier(n_neighbors=1, scale=scale).fit(X, [0, 0, 1, 1])
        # One by one: scikit-learn adds up all values to see whether they are finite.
        assert [model.predict([x])[0] for x in X] == [0, 0, 1, 1]


def test_single_precision():
    X, y, Q = scaled(continuous_table)
    X, Q = X.astype(np.float32), Q.astype(np.float32)
    expected = distances(X.astype(np.float64), y, Q.astype(np.float64))
    # The same numbers, and only the search is in single precision.
    np.testing.assert_allclose(distances(X, y, Q), expected, rtol=1e-12)
    np.testing.assert_allclose(distances(X, y, Q.astype(np.float64)), expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("block_bytes", [1.0, limits.query_bytes])
def test_threads_change_no_bit(dtype, block_bytes, force):
    force(query_bytes=block_bytes)
    X, y = discrete_table(90)
    X, Q = X.astype(dtype), continuous_table(700)[0][:, :5].astype(dtype)
    one, three = (HKNNClassifier(n_jobs=n).fit(X, y).hyperplane_distances(Q) for n in (1, 3))
    np.testing.assert_array_equal(one, three)


def test_blocks_of_rows_and_columns_give_the_same(force):
    rng = np.random.default_rng(0)
    X, y, Q = rng.normal(size=(90, 50)), np.arange(90) % 3, rng.normal(size=(40, 50))
    expected = distances(X, y, Q)
    force(query_bytes=1.0, product_width=8, centered_rows=7)
    np.testing.assert_allclose(distances(X, y, Q), expected, rtol=1e-13)


def test_doubtful_products_are_decided_by_exact_distances():
    """In single precision all candidates look alike: they differ in the seventh digit."""
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(200, 40))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    X = (directions * (1.0 + 4e-6 * rng.permutation(200)[:, np.newaxis])).astype(np.float32)
    y, Q = np.arange(200) % 2, np.zeros((1, 40), np.float32)
    found = distances(X, y, Q, n_neighbors=5)
    expected = oracles.hknn_distances(Q, X, y, 5, 1.0)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


# The kernel's linear algebra


@pytest.mark.parametrize("shape", [(3, 8), (8, 3), (1, 4), (4, 1), (6, 6), (40, 70)])
@pytest.mark.parametrize("rank", [1, 2, 100])
@pytest.mark.parametrize("alpha", [0.0, 1e-6, 1.0])
def test_ridge_distance_equals_that_by_singular_values(shape, rank, alpha):
    n, d = shape
    rng = np.random.default_rng(n + d)
    rank = min(rank, n, d)
    V, r = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d)), rng.normal(size=d)
    left, s, _ = np.linalg.svd(V.T, full_matrices=True)
    c = left.T @ r
    c[:rank] *= alpha / (s[:rank] ** 2 + alpha)
    found = hyperplanes_kernels._ridge_distance(np.vstack([V, r]), n, alpha)
    assert found == pytest.approx(np.linalg.norm(c), rel=1e-12, abs=1e-13)


# As a scikit-learn classifier


@pytest.mark.parametrize("scale", [None, "range", "standard"])
def test_scaling_is_that_of_the_fitted_samples(scale):
    X, y = continuous_table()
    Q = continuous_table(seed=1)[0]
    low, width = X.min(axis=0), np.ptp(X, axis=0)
    offset, divisor = {
        None: (0.0, 1.0),
        "range": (low, width),
        "standard": (X.mean(axis=0), X.std(axis=0)),
    }[scale]
    expected = distances((X - offset) / divisor, y, (Q - offset) / divisor)
    np.testing.assert_allclose(distances(X, y, Q, scale=scale), expected, rtol=1e-11)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_and_words(library):
    frames = pytest.importorskip(library)
    X, y, Q = scaled(continuous_table)
    names = list("abcdef")
    train, new = (frames.DataFrame(dict(zip(names, each.T, strict=True))) for each in (X, Q))
    words = np.array(["sick", "dead", "well"])[y]
    model = HKNNClassifier().fit(train, words)
    np.testing.assert_array_equal(model.predict(new), HKNNClassifier().fit(X, words).predict(Q))
    if library == "pandas":  # of which scikit-learn has always known the names
        np.testing.assert_array_equal(model.feature_names_in_, names)
        with pytest.raises(ValueError, match="feature names"):
            model.predict(new[names[::-1]])


def test_grid_search_over_both_parameters():
    X, y, _ = make_fermat_spiral(60, n_irrelevant=0, random_state=0)
    grid = {"n_neighbors": [1, 3, 7], "alpha": [0.0, 0.1, 10.0]}
    search = GridSearchCV(HKNNClassifier(), grid, cv=4, error_score="raise").fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert len(scores) == 9
    assert np.ptp(scores) > 0.0
    again = cross_val_score(HKNNClassifier(**search.best_params_), X, y, cv=4)
    assert again.mean() == search.best_score_


def test_behind_a_weighter_it_works_in_the_learned_metric():
    X, y, _ = make_xor(160, n_irrelevant=30, random_state=0)
    model = make_pipeline(IRelief(weighted="euclidean"), HKNNClassifier()).fit(X[:100], y[:100])
    weighter = IRelief().fit(X[:100], y[:100])
    factors = np.sqrt(weighter.feature_weights_)
    low, width = X[:100].min(axis=0), np.ptp(X[:100], axis=0)
    by_hand = (X - low) / width * factors
    np.testing.assert_allclose(
        model[-1].hyperplane_distances(model[:-1].transform(X[100:])),
        oracles.hknn_distances(by_hand[100:], by_hand[:100], y[:100], 7, 1.0),
        rtol=1e-10,
    )
    plain = HKNNClassifier(scale="range").fit(X[:100], y[:100])
    assert model.score(X[100:], y[100:]) > plain.score(X[100:], y[100:]) + 0.2


def test_on_a_microarray(data_folder):
    with np.load(data_folder / "microarray" / "leukemia_golub.npz", allow_pickle=False) as table:
        X, y = table["X"], table["y"]
    model = make_pipeline(IRelief(n_features_to_select=200, weighted="euclidean"), HKNNClassifier())
    scores = cross_val_score(model, X, y, cv=4)
    assert scores.mean() > max(np.mean(y == each) for each in np.unique(y)) + 0.2
    nearest = oracles.hknn_distances(X[:5], X[5:], y[5:], 3, 1.0)
    np.testing.assert_allclose(distances(X[5:], y[5:], X[:5], n_neighbors=3), nearest, rtol=1e-9)


def test_a_failed_fit_leaves_no_earlier_one():
    X, y = continuous_table()
    model = HKNNClassifier().fit(X, y)
    with pytest.raises(ValueError, match="only one class"):
        model.fit(X, np.zeros(60))
    with pytest.raises(ValueError, match="not fitted"):
        model.predict(X)


def test_parameters_are_judged_where_they_are_used():
    X, y = continuous_table()
    model = HKNNClassifier().fit(X, y).set_params(n_neighbors=0)
    with pytest.raises(ValueError, match="n_neighbors=0"):
        model.predict(X)


def test_clones_and_pickles():
    X, y, Q = scaled(continuous_table)
    model = HKNNClassifier(n_neighbors=3, alpha=0.2).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.hyperplane_distances(Q), model.hyperplane_distances(Q))
    np.testing.assert_array_equal(clone(model).fit(X, y).predict(Q), model.predict(Q))
