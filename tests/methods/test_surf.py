"""SURF, SURF*, MultiSURF and MultiSURF*."""

import numpy as np
import pytest
from oracles import scale_range, surf_family
from registry import continuous_table, discrete_table, pairwise, rounded_table
from sklearn import config_context

from highrelief import SURF, IterativeElimination, MultiSURF, MultiSURFStar, SURFStar
from highrelief.datasets import make_xor

NAMES = {SURF: "surf", SURFStar: "surf*", MultiSURF: "multisurf", MultiSURFStar: "multisurf*"}
over_family = pytest.mark.parametrize("method", NAMES, ids=lambda method: method.__name__)


def scaled(X):
    """Columns from 0 to 1; what is missing stays so."""
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    return (X - low) / np.where(high > low, high - low, 1.0)


# Against the oracle


@pairwise(
    over_family,
    pytest.mark.parametrize("table", [continuous_table, discrete_table, rounded_table]),
    pytest.mark.parametrize("n_classes", [2, 3, 5]),
)
def test_weights_are_those_of_the_oracle(method, table, n_classes):
    X, y = table(n_classes=n_classes)
    expected = surf_family(scale_range(X), y, NAMES[method])
    np.testing.assert_allclose(method().fit(X, y).feature_weights_, expected, atol=1e-13)


@pairwise(
    over_family,
    pytest.mark.parametrize("table", [continuous_table, discrete_table, rounded_table]),
    pytest.mark.parametrize("n_classes", [2, 3, 5]),
)
def test_radii_are_extended_as_by_the_oracle(method, table, n_classes):
    X, y = table(80, n_classes=n_classes)
    X = X + 6.0 * X.std(axis=0) * (y == 0)[:, np.newaxis]  # the first class has no near misses
    expected = surf_family(scale_range(X), y, NAMES[method], extended=True)
    found = method(unpaired="extend").fit(X, y).feature_weights_
    np.testing.assert_allclose(found, expected, atol=1e-13)
    assert not np.allclose(found, method().fit(X, y).feature_weights_)


@over_family
def test_radii_are_extended_with_weights_gaps_categories_and_batches(method):
    random = np.random.default_rng(0)
    X, y = continuous_table(80, n_classes=2)
    X = scale_range(X + 6.0 * X.std(axis=0) * (y == 0)[:, np.newaxis])
    X[:, 5] = random.integers(0, 3, 80)
    X[random.uniform(size=X.shape) < 0.05] = np.nan
    copies = random.integers(0, 4, 80).astype(float)
    for batches in (None, random.integers(0, 3, 80)):
        model = method(unpaired="extend", categorical_features=[5], scale=None)
        expected = surf_family(
            X,
            y,
            NAMES[method],
            s=copies,
            categorical=[5],
            reach=None if batches is None else batches[:, np.newaxis] == batches,
            extended=True,
        )
        found = model.fit(X, y, sample_weight=copies, batches=batches).feature_weights_
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_extended_radii_do_not_depend_on_memory():
    X, y = continuous_table(300, n_classes=2)
    X = X + 6.0 * X.std(axis=0) * (y == 0)[:, np.newaxis]
    model = MultiSURF(unpaired="extend")
    expected = model.fit(X, y).feature_weights_
    with config_context(working_memory=0.1):
        assert model.fit(X, y).execution_["distances"] == "recomputed"
        np.testing.assert_array_equal(model.feature_weights_, expected)


def test_elimination_keeps_the_features_of_classes_that_lie_apart():
    """With few features left no miss is near: the published mean of hits alone drops some of the best."""
    y = np.arange(100) % 2
    kept = {"count": 0, "extend": 0}
    for seed in range(4):
        X = np.random.default_rng(seed).normal(size=(100, 100))
        X[:, :5] += 3.0 * y[:, np.newaxis]
        for unpaired in kept:
            turf = IterativeElimination(MultiSURF(unpaired=unpaired), n_features_to_select=5).fit(X, y)
            kept[unpaired] += np.count_nonzero(turf.get_support(indices=True) < 5)
    assert kept["extend"] == 20
    assert kept["count"] < 20


@over_family
def test_float32(method):
    X, y = continuous_table(n_classes=2)
    X = X.astype(np.float32)
    expected = surf_family(scale_range(X), y, NAMES[method])
    np.testing.assert_allclose(method().fit(X, y).feature_weights_, expected, atol=2e-6)


@over_family
@pytest.mark.parametrize("table", [continuous_table, discrete_table])
def test_copies(method, table):
    X, y = table()
    s = np.random.default_rng(0).integers(1, 4, size=y.size)
    expected = surf_family(scale_range(X), y, NAMES[method], s)
    np.testing.assert_allclose(method().fit(X, y, sample_weight=s).feature_weights_, expected, atol=1e-13)


@pairwise(
    over_family,
    pytest.mark.parametrize("table", [continuous_table, discrete_table]),
    pytest.mark.parametrize("copies", [False, True]),
)
def test_missing_values(method, table, copies):
    X, y = table()
    rng = np.random.default_rng(1)
    X[rng.uniform(size=X.shape) < 0.15] = np.nan
    s = rng.integers(1, 4, size=y.size) if copies else None
    expected = surf_family(scaled(X), y, NAMES[method], s)
    found = method().fit(X, y, sample_weight=s).feature_weights_
    np.testing.assert_allclose(found, expected, atol=1e-13)
    if copies:
        copied = method().fit(np.repeat(X, s, axis=0), np.repeat(y, s))
        np.testing.assert_allclose(copied.feature_weights_, expected, atol=1e-13)


@over_family
def test_a_column_of_nothing_weighs_nothing(method):
    X, y = continuous_table(n_classes=2)
    expected = method().fit(X, y).feature_weights_
    found = method().fit(np.column_stack([X, np.full(len(X), np.nan)]), y).feature_weights_
    np.testing.assert_allclose(found, [*expected, 0.0], atol=1e-14)
    assert found[-1] == 0.0


@over_family
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("shape", [(200, 30), (70, 3000)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_memory_and_threads_do_not_change_a_bit(method, missing, shape, dtype):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=shape).astype(dtype), np.arange(shape[0]) % 3
    if missing:
        X[rng.uniform(size=shape) < 0.1] = np.nan
    fitted = method().fit(X, y)
    assert fitted.execution_["distances"] == "stored"
    with config_context(working_memory=1e-3):
        again = method(n_jobs=2).fit(X, y)
    assert again.execution_["distances"] == "recomputed"
    assert again.feature_weights_.tobytes() == fitted.feature_weights_.tobytes()


def test_a_wide_table_is_not_copied():
    """It is worked on by blocks of columns, to the same weights."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(64, 40_000)), np.arange(64) % 2
    X[:, 17] += 3.0 * y
    weights = MultiSURF().fit(X, y).feature_weights_
    with config_context(working_memory=1e-3):
        np.testing.assert_allclose(MultiSURF().fit(X, y).feature_weights_, weights, atol=1e-15)
    assert weights.argmax() == 17


# By hand


def test_radii_by_hand():
    """Distances on a line: 0, 1, 2, 4 scaled to 0, ¼, ½, 1."""
    X, y = np.array([[0.0], [1.0], [2.0], [4.0]]), [0, 0, 1, 1]
    # Mean over all 16 ordered pairs: 26/4/16 = 0.40625. Near are 0-1 and 1-2, and nothing else.
    # 0: hit ¼. 1: hit ¼, miss ¼. 2: miss ¼. 3: nobody.
    assert SURF().fit(X, y).feature_weights_[0] == pytest.approx((-0.25 + 0.0 + 0.25) / 4, abs=1e-15)
    # Far are 0-2, 0-3, 1-3, 2-3.
    # 0: misses ½, 1. 1: miss ¾. 2: hit ½, miss ½. 3: hit ½, misses 1, ¾.
    far = (0.75 + 0.75 + (0.5 - 0.5) + (0.875 - 0.5)) / 4
    assert SURFStar().fit(X, y).feature_weights_[0] == pytest.approx(0.0 - far, abs=1e-15)


def test_a_distance_equal_to_the_radius_is_neither_near_nor_far():
    """All distances between the four corners of a square over its sides are 1, those across are 2."""
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = [0, 1, 1, 0]
    # The mean, each corner with itself included, is exactly 1.
    assert not SURF().fit(X, y).feature_weights_.any()
    # Across are hits, with differences 1; nothing is near.
    np.testing.assert_array_equal(SURFStar().fit(X, y).feature_weights_, [1.0, 1.0])


@over_family
def test_the_order_of_the_rows_does_not_matter_where_a_radius_is_tied(method):
    """Ranges of 3 and 7: equal sums of thirds and sevenths differ by rounding."""
    X, y = rounded_table(40, n_classes=2)
    weights = method().fit(X, y).feature_weights_
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(X))
        np.testing.assert_allclose(method().fit(X[order], y[order]).feature_weights_, weights, atol=1e-14)


def test_far_samples_on_one_side_only():
    """Far samples of MultiSURF* count by their likeness: the order of the features stays."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 10)
    X = rng.normal(size=(20, 4)) + 9.0 * y[:, np.newaxis]
    found = MultiSURFStar().fit(X, y).feature_weights_
    np.testing.assert_allclose(found, surf_family(scale_range(X), y, "multisurf*"), atol=1e-14)
    # In three classes the sign alone counts.
    three = np.where(np.arange(20) % 10 < 5, y, 2)
    found = MultiSURFStar().fit(X, three).feature_weights_
    np.testing.assert_allclose(found, surf_family(scale_range(X), three, "multisurf*"), atol=1e-14)


# Beside scikit-rebate


@pytest.fixture(scope="module")
def skrebate():
    return pytest.importorskip("skrebate", reason="scikit-rebate is not installed: nothing to compare with")


def theirs(skrebate, method, X, y):
    name = method.__name__.replace("Star", "star")
    return getattr(skrebate, name)(categorical_features=[]).fit(X.copy(), y).feature_importances_


@over_family
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shape", [(12, 3), (50, 6), (80, 12)])
@pytest.mark.parametrize("shift", [0.0, 1.0, 8.0])
def test_two_classes_as_scikit_rebate_has_them(skrebate, method, seed, shape, shift):
    """Also where classes lie apart, and where a sample has near or far ones on one side only."""
    rng = np.random.default_rng(seed)
    y = (rng.permutation(shape[0]) < shape[0] // 3).astype(int)
    X = rng.normal(size=shape)
    X[:, 0] += shift * y
    expected = theirs(skrebate, method, X, y)
    np.testing.assert_allclose(method().fit(X, y).feature_weights_, expected, atol=1e-9)


@over_family
def test_several_classes_differ_from_scikit_rebate_by_their_weights(skrebate, method):
    """Ours: a class of misses counts by P(c)/(1 − P(y)). There: by the square of how many are near."""
    X, y = continuous_table(80)
    ours, other = method().fit(X, y).feature_weights_, theirs(skrebate, method, X, y)
    np.testing.assert_allclose(ours, surf_family(scale_range(X), y, NAMES[method]), atol=1e-13)
    assert np.abs(ours - other).max() > 1e-3
    # With two of the classes as one there is no difference.
    joined = np.minimum(y, 1)
    ours, other = method().fit(X, joined).feature_weights_, theirs(skrebate, method, X, joined)
    np.testing.assert_allclose(ours, other, atol=1e-9)


@pytest.mark.parametrize(("method", "n_samples", "seed"), [(SURF, 5, 55), (MultiSURF, 6, 69)])
def test_ties_differ_from_scikit_rebate(skrebate, method, n_samples, seed):
    """There rounding decides about a distance equal to the radius; here it is not near.

    All values are thirds of the ranges: with the columns the other way round, distances round otherwise.
    """
    X = np.random.default_rng(seed).integers(0, 4, size=(n_samples, 3)).astype(float)
    X[:2] = [[0.0], [3.0]]
    y = np.arange(n_samples) % 2
    ours, other = method().fit(X, y).feature_weights_, theirs(skrebate, method, X, y)
    np.testing.assert_allclose(ours, surf_family(scale_range(X), y, NAMES[method]), atol=1e-14)
    assert np.abs(ours - other).max() > 1e-3
    mirrored = [np.where(flags, 3.0 - X, X) for flags in np.ndindex(2, 2, 2)]
    for each in mirrored:
        np.testing.assert_allclose(method().fit(each, y).feature_weights_, ours, atol=1e-14)
    assert any(np.abs(theirs(skrebate, method, each, y) - other).max() > 1e-3 for each in mirrored)


# What is known


@pytest.mark.parametrize(
    ("name", "methods"),
    [
        ("gametes_2way_20atts_0.4h", NAMES),
        ("gametes_2way_missing_0.1", NAMES),
        ("gametes_2way_mixed_attribute", NAMES),
        ("multiplexer6_500", NAMES),
        # Far samples count against main effects.
        ("gametes_main_effect", [SURF, MultiSURF]),
    ],
)
def test_the_loci_that_act_come_first(data_folder, name, methods):
    with np.load(data_folder / "epistasis" / f"{name}.npz") as data:
        X, y, relevant = data["X"], data["y"], data["relevant"]
    for method in methods:
        ranking = method().fit(X, y).ranking_
        assert set(ranking[relevant]) == set(range(1, relevant.sum() + 1)), method.__name__


@over_family
def test_features_that_act_only_together(method):
    X, y, relevant = make_xor(300, n_irrelevant=30, random_state=0)
    np.testing.assert_array_equal(method(n_features_to_select=2).fit(X, y).get_support(), relevant)
