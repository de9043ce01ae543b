"""SURF, SURF*, MultiSURF, MultiSURF* and RReliefF on mixed tables, with gaps, classes weighed, in batches."""

import numpy as np
import pandas as pd
import pytest
from oracles import class_factors, reach_of, rrelieff, surf_family
from oracles.missing_1994 import scale_observed
from registry import continuous_table, discrete_table, pairwise
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils import get_tags
from small_tables import CATEGORICAL, mixed_table

from highrelief import SURF, MultiSURF, MultiSURFStar, RReliefF, SURFStar

NAMES = {SURF: "surf", SURFStar: "surf*", MultiSURF: "multisurf", MultiSURFStar: "multisurf*"}
over_family = pytest.mark.parametrize("method", NAMES, ids=lambda method: method.__name__)
over_all = pytest.mark.parametrize("method", [*NAMES, RReliefF], ids=lambda method: method.__name__)
neighbors = pytest.mark.parametrize("neighbors", ["within", "across"])
counted = pytest.mark.parametrize("counted", [False, True], ids=["", "counted"])
GIVEN = {0: 1.0, 1: 2.5, 2: 0.3}


def scaled(X, batches=None, categorical=CATEGORICAL):
    """Numbers from 0 to 1, in each batch by itself; codes as they are."""
    X, numeric = X.copy(), [j for j in range(X.shape[1]) if j not in categorical]
    for batch in [None] if batches is None else np.unique(batches):
        rows = np.arange(len(X)) if batch is None else np.flatnonzero(batches == batch)
        X[np.ix_(rows, numeric)] = scale_observed(X[np.ix_(rows, numeric)])
    return X


def copies_of(y, counted, least=0):
    return np.random.default_rng(1).integers(least, 4, len(y)).astype(float) if counted else None


def target_of(X, y):
    """Numbers that depend on two features, one of them categorical."""
    return np.nan_to_num(X[:, 0]) + 2.0 * (np.nan_to_num(X[:, 1]) == 3) + 0.1 * y


def batches_of(n):
    return np.random.default_rng(7).choice(3, n, p=[0.5, 0.3, 0.2])


# Against the oracles


@pairwise(
    over_family,
    pytest.mark.parametrize("gaps", [0.0, 0.15]),
    counted,
    pytest.mark.parametrize(("dtype", "close"), [(np.float64, 1e-12), (np.float32, 3e-6)]),
)
def test_mixed_tables(method, gaps, counted, dtype, close):
    X, y = mixed_table(gaps=gaps)
    X, s = X.astype(dtype), copies_of(y, counted, least=1)
    expected = surf_family(scaled(X), y, NAMES[method], s, categorical=CATEGORICAL)
    model = method(categorical_features=CATEGORICAL).fit(X, y, sample_weight=s)
    np.testing.assert_allclose(model.feature_weights_, expected, atol=close)
    assert model.n_features_in_ == model.ranking_.size == 7


@pairwise(
    pytest.mark.parametrize("gaps", [0.0, 0.15]),
    counted,
    pytest.mark.parametrize("metric", ["manhattan", "euclidean", "sqeuclidean"]),
    pytest.mark.parametrize("chosen", [None, CATEGORICAL], ids=["numbers", "mixed"]),
)
def test_mixed_tables_with_a_target(metric, gaps, counted, chosen):
    X, y = mixed_table(gaps=gaps)
    target, s = target_of(X, y), copies_of(y, counted, least=1)
    categorical = [] if chosen is None else chosen
    expected = rrelieff(
        scaled(X, categorical=categorical), target, 4, metric=metric, s=s, categorical=categorical
    )
    model = RReliefF(n_neighbors=4, metric=metric, categorical_features=chosen)
    model.fit(X, target, sample_weight=s)
    np.testing.assert_allclose(model.feature_weights_, expected, atol=1e-12)
    if counted:
        whole = s.astype(int)
        copied = clone(model).fit(np.repeat(X, whole, axis=0), np.repeat(target, whole))
        np.testing.assert_allclose(copied.feature_weights_, expected, atol=1e-12)


@over_family
def test_two_classes_and_one_sided_far_samples(method):
    """What far samples on one side add is 1 for a feature of any number of levels."""
    X, y = mixed_table()
    X, y = X[y < 2], y[y < 2]
    X[:, 0] += 9.0 * y
    X[:, 1] = np.where(np.isnan(X[:, 1]), np.nan, 2 * y + X[:, 1] % 2)
    expected = surf_family(scaled(X), y, NAMES[method], categorical=CATEGORICAL)
    found = method(categorical_features=CATEGORICAL).fit(X, y).feature_weights_
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.slow
@over_family
@counted
@pytest.mark.parametrize("class_weight", ["balanced", GIVEN], ids=["balanced", "given"])
@pytest.mark.parametrize("gaps", [0.0, 0.15])
def test_class_weights(method, class_weight, counted, gaps):
    X, y = mixed_table(gaps=gaps)
    s = copies_of(y, counted, least=1)
    factors = class_factors(y, class_weight, s)
    expected = surf_family(scaled(X), y, NAMES[method], s, categorical=CATEGORICAL, factors=factors)
    model = method(categorical_features=CATEGORICAL, class_weight=class_weight).fit(X, y, sample_weight=s)
    np.testing.assert_allclose(model.feature_weights_, expected, atol=1e-12)
    plain = clone(model).set_params(class_weight=None).fit(X, y, sample_weight=s)
    assert np.abs(plain.feature_weights_ - expected).max() > 1e-4


@pytest.mark.slow
@over_family
@neighbors
@counted
@pytest.mark.parametrize("gaps", [0.0, 0.15])
@pytest.mark.parametrize("class_weight", [None, GIVEN], ids=["", "weighed"])
def test_batches(method, neighbors, counted, gaps, class_weight):
    X, y = mixed_table(gaps=gaps)
    s, batches = copies_of(y, counted), batches_of(len(y))
    kept = np.ones(len(y), bool) if s is None else s > 0
    rows, of_kept = np.full(X.shape, np.nan), batches[kept]
    rows[kept] = scaled(X[kept], of_kept)
    expected = surf_family(
        rows,
        y,
        NAMES[method],
        s,
        categorical=CATEGORICAL,
        reach=reach_of(batches, neighbors),
        factors=class_factors(y, class_weight, s),
    )
    model = method(
        categorical_features=CATEGORICAL, class_weight=class_weight, batch_neighbors=neighbors
    ).fit(X, y, s, batches)
    np.testing.assert_allclose(model.feature_weights_, expected, atol=1e-12)


@over_family
@neighbors
@pytest.mark.parametrize("table", [continuous_table, discrete_table])
def test_batches_of_numbers(method, neighbors, table):
    X, y = table(45)
    batches = batches_of(45)
    rows = scaled(X * np.array([1.0, 9.0, 0.2])[batches, np.newaxis], batches, categorical=[])
    expected = surf_family(rows, y, NAMES[method], reach=reach_of(batches, neighbors))
    found = method(batch_neighbors=neighbors).fit(X, y, batches=batches).feature_weights_
    np.testing.assert_allclose(found, expected, atol=1e-12)


@neighbors
@counted
@pytest.mark.parametrize("gaps", [0.0, 0.15])
def test_batches_with_a_target(neighbors, counted, gaps):
    X, y = mixed_table(gaps=gaps)
    target, batches = target_of(X, y), batches_of(len(y))
    # One sample that has nobody within its batch.
    batches[5] = 9
    s = copies_of(y, counted, least=1)
    if s is not None:
        s[5] = 1.0
    expected = rrelieff(
        scaled(X, batches), target, 4, s=s, categorical=CATEGORICAL, reach=reach_of(batches, neighbors)
    )
    model = RReliefF(n_neighbors=4, categorical_features=CATEGORICAL, batch_neighbors=neighbors)
    np.testing.assert_allclose(model.fit(X, target, s, batches).feature_weights_, expected, atol=1e-12)


# What it means


@pytest.mark.parametrize("method", [MultiSURF, MultiSURFStar])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("table", [continuous_table, discrete_table])
def test_within_is_the_mean_of_fits_to_the_batches(method, table, n_classes):
    """Radii are those of each sample."""
    X, y = table(90, n_classes=n_classes)
    batches = batches_of(90)
    expected = 0.0
    for batch in range(3):
        part = batches == batch
        expected = expected + part.mean() * method().fit(X[part], y[part]).feature_weights_
    found = method().fit(X, y, batches=batches).feature_weights_
    np.testing.assert_allclose(found, expected, atol=1e-13)


def test_surf_has_one_radius_for_all_batches():
    X, y = continuous_table(90)
    batches = batches_of(90)
    parts = [batches == batch for batch in range(3)]
    apart = sum(part.mean() * SURF().fit(X[part], y[part]).feature_weights_ for part in parts)
    assert np.abs(SURF().fit(X, y, batches=batches).feature_weights_ - apart).max() > 1e-4


@over_all
def test_one_batch_is_no_batch(method):
    X, y = mixed_table()
    y = target_of(X, y) if method is RReliefF else y
    plain = method(categorical_features=CATEGORICAL).fit(X, y).feature_weights_
    found = method(categorical_features=CATEGORICAL).fit(X, y, batches=["all"] * len(y)).feature_weights_
    np.testing.assert_allclose(found, plain, atol=1e-13)


@neighbors
def test_batches_that_leave_no_neighbors_of_a_target(neighbors):
    X, y = continuous_table()
    model = RReliefF(batch_neighbors=neighbors, scale=None)
    batches = np.arange(len(y)) if neighbors == "within" else np.zeros(len(y))
    reason = "each sample has a batch of its own" if neighbors == "within" else "all samples are of one batch"
    with pytest.raises(ValueError, match=f"leaves RReliefF without neighbors: {reason}"):
        model.fit(X, X[:, 0], batches=batches)


@over_family
@neighbors
@pytest.mark.parametrize("shape", [(200, 30), (70, 700)])
def test_memory_and_threads_do_not_change_a_bit(method, neighbors, shape):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=shape), np.arange(shape[0]) % 3
    X[:, :9] = rng.integers(0, 4, size=(shape[0], 9))
    X[rng.uniform(size=shape) < 0.1] = np.nan
    parameters = {"categorical_features": range(9), "class_weight": GIVEN, "batch_neighbors": neighbors}
    batches = rng.integers(0, 3, shape[0])
    fitted = method(**parameters).fit(X, y, batches=batches)
    with config_context(working_memory=1e-3):
        again = method(n_jobs=2, **parameters).fit(X, y, batches=batches)
    assert [each.execution_["distances"] for each in (fitted, again)] == ["stored", "recomputed"]
    assert again.feature_weights_.tobytes() == fitted.feature_weights_.tobytes()


@pytest.mark.slow
def test_a_wide_table_of_categories():
    """It is worked on by blocks of columns, to the same weights."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, size=(40, 20_000)).astype(float), np.arange(40) % 2
    X[:, 17] = np.where(rng.random(40) < 0.95, y, 2)
    X[rng.random(X.shape) < 0.02] = np.nan
    model = MultiSURF(categorical_features=np.ones(20_000, bool)).fit(X, y)
    with config_context(working_memory=1e-3):
        again = clone(model).fit(X, y)
    np.testing.assert_allclose(again.feature_weights_, model.feature_weights_, atol=1e-14)
    assert model.ranking_[17] == 1


@over_all
def test_a_column_of_nothing_weighs_nothing(method):
    X, y = mixed_table()
    y = target_of(X, y) if method is RReliefF else y
    expected = method(categorical_features=CATEGORICAL).fit(X, y).feature_weights_
    wider = np.column_stack([X, np.full((len(X), 2), np.nan)])
    found = method(categorical_features=[*CATEGORICAL, 7]).fit(wider, y).feature_weights_
    np.testing.assert_allclose(found, [*expected, 0.0, 0.0], atol=1e-13)
    np.testing.assert_array_equal(found[-2:], 0.0)


@over_all
def test_order_of_rows_and_names_of_levels_do_not_matter(method):
    X, y = mixed_table()
    y = target_of(X, y) if method is RReliefF else y
    expected = method(categorical_features=CATEGORICAL).fit(X, y).feature_weights_
    renamed, order = X.copy(), np.random.default_rng(0).permutation(len(y))
    renamed[:, 1] = 100.0 - 7.0 * X[:, 1]
    for table, target in ((renamed, y), (X[order], y[order])):
        found = method(categorical_features=CATEGORICAL).fit(table, target).feature_weights_
        np.testing.assert_allclose(found, expected, atol=1e-13)


@over_all
def test_two_levels_are_numbers(method):
    X, y = mixed_table(gaps=0.0)
    X, target = X[:, [0, 3]], target_of(X, y) if method is RReliefF else y
    numeric = method().fit(X, target).feature_weights_
    found = method(categorical_features=[1]).fit(X, target).feature_weights_
    np.testing.assert_array_equal(found, numeric)


# As they are given


@over_all
def test_all_forms_agree(method):
    X, y = mixed_table()
    y = target_of(X, y) if method is RReliefF else y
    expected = method(categorical_features=CATEGORICAL).fit(X, y).feature_weights_
    colors = np.array(["red", "green", "blue", "gray", "pink"], dtype=object)
    frame = pd.DataFrame({f"f{j}": X[:, j] for j in range(7)})
    for j in CATEGORICAL:
        frame[f"f{j}"] = np.where(np.isnan(X[:, j]), None, colors[np.nan_to_num(X[:, j]).astype(int)])
    names = [f"f{j}" for j in CATEGORICAL]
    categories = frame.astype(dict.fromkeys(names, "category"))
    mask = np.isin(np.arange(7), CATEGORICAL)
    for table, chosen in ((X, mask), (frame, names), (frame, "from_dtype"), (categories, "from_dtype")):
        model = method(categorical_features=chosen, n_features_to_select=3).fit(table, y)
        np.testing.assert_allclose(model.feature_weights_, expected, atol=1e-13)
        assert model.transform(table).shape == (60, 3)
    with pytest.raises(ValueError, match="Column 'f1' of X holds text"):
        method().fit(frame, y)
    everything = method(categorical_features=names, weighted=True, n_features_to_select=7).fit(frame, y)
    with pytest.raises(ValueError, match="4 of them are categorical"):
        everything.transform(frame)


def test_a_target_beside_categories_is_judged_as_without():
    X, y = mixed_table()
    assert get_tags(RReliefF()).input_tags.allow_nan
    with pytest.raises(ValueError, match="y must hold numbers"):
        RReliefF(categorical_features=CATEGORICAL).fit(X, np.array(["a", "b", "c"])[y])
    with pytest.raises(ValueError, match="Unknown label type"):
        MultiSURF(categorical_features=CATEGORICAL).fit(X, np.nan_to_num(X[:, 0]))


# What is known


def load(data_folder, name):
    with np.load(data_folder / "epistasis" / f"{name}.npz") as data:
        return data["X"], data["y"], data["relevant"]


@over_family
@pytest.mark.parametrize("name", ["gametes_2way_missing_0.1", "gametes_2way_mixed_attribute"])
def test_the_loci_that_act_come_first(data_folder, method, name):
    X, y, relevant = load(data_folder, name)
    genotypes = [j for j in range(20) if set(np.unique(X[~np.isnan(X[:, j]), j])) <= {0.0, 1.0, 2.0}]
    assert genotypes
    ranking = method(categorical_features=genotypes, class_weight="balanced").fit(X, y).ranking_
    assert set(ranking[relevant]) == {1, 2}


def test_the_loci_of_a_trait_come_first_with_gaps(data_folder):
    X, y, relevant = load(data_folder, "gametes_2way_continuous_endpoint")
    X = X.astype(float)
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    for chosen in (None, range(X.shape[1])):
        assert set(RReliefF(categorical_features=chosen).fit(X, y).ranking_[relevant]) == {1, 2}
