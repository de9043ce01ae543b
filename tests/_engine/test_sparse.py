"""Tables of which only the values that are not 0 are stored: the same answers as with all of them."""

from functools import partial

import numpy as np
import oracles
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from peak_memory import peak_of
from registry import CLASSIFIERS, EXTRACTORS, FAMILIES, FOR_NUMBERS, THOROUGH, in_turn
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from small_tables import SEARCH_ORDERS

import highrelief
from highrelief import LOGO, CrossValidatedSelector, EnsembleWeighting, FisherScore, IRelief, Relief, ReliefF
from highrelief._engine.columns import sparse_ranges, sparse_scaling
from highrelief._engine.scaling import ColumnRanges, Scaling, feature_scaling
from highrelief.stability import stability_score

ESTIMATORS = {
    "Relief": Relief(),
    "Relief, squares": Relief(metric="sqeuclidean"),
    "Relief, standard": Relief(metric="euclidean", scale="standard"),
    "ReliefF": ReliefF(n_neighbors=3),
    "ReliefF, by rank": ReliefF(n_neighbors=4, neighbor_weights="rank", rank_decay=2.0),
    "ReliefF, Euclidean": ReliefF(metric="euclidean"),
    "ReliefF, squares": ReliefF(metric="sqeuclidean", scale="standard"),
    "ReliefF, not scaled": ReliefF(scale=None),
    "ReliefF, anchors": ReliefF(n_anchors=9, random_state=0),
    "ReliefF, until settled": ReliefF(max_error=0.1, random_state=0),
    "IRelief": IRelief(),
    "IRelief, by class": IRelief(sigma=1.0, max_iter=5, averaging=True, margin="prior", scale="standard"),
    "FisherScore": FisherScore(),
}
over_estimators = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS.keys())
#: What rounding may do to a sum over the samples of differences up to the ranges of the features.
ROUNDING = 1e-14


def sparse_table(n_samples=60, n_features=25, density=0.2, kind="continuous", full=True, seed=0):
    """Rows and columns of all kinds: empty, with one value, equal; ``full``: two columns without a 0."""
    rng = np.random.default_rng(seed)
    X = {
        "continuous": rng.exponential(size=(n_samples, n_features)),
        "signed": rng.normal(size=(n_samples, n_features)),
        "counts": rng.integers(1, 4, size=(n_samples, n_features)).astype(float),
        "binary": np.ones((n_samples, n_features)),
    }[kind]
    X[rng.random(X.shape) > density] = 0.0
    y = rng.integers(0, 3, n_samples)
    X[:, 1] += 2.0 * (y == 1)
    X[:, 2] = 0.0
    X[:, 5] = 0.0
    X[3, 5] = 2.0
    X[7] = 0.0
    X[8] = 0.0
    X[11] = X[12]
    if not full:
        return X, y
    X[:, 3] = 1e6 + rng.integers(0, 3, n_samples)
    X[:, 4] = 7.0
    return X, y


def assert_same_weights(found, expected):
    # FisherScore has no scale of its own, and neither have distances that are not scaled.
    largest = np.max(np.abs(expected))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=max(ROUNDING, 1e-12 * largest))


@pytest.mark.parametrize("kind", ["continuous", "signed", "counts", "binary"])
@in_turn(over_estimators, full=[False, True], weighted=[False, True])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_weights_are_those_of_all_values(estimator, kind, weighted, full):
    X, y = sparse_table(kind=kind, full=full)
    sample_weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], y.size) if weighted else None
    dense = estimator.fit(X, y, sample_weight=sample_weight).feature_weights_
    expected = dense.copy()
    margins = estimator.margins(X, y) if hasattr(estimator, "margins") else None
    fitted = estimator.fit(scipy.sparse.csr_array(X), y, sample_weight=sample_weight)
    assert_same_weights(fitted.feature_weights_, expected)
    assert fitted.feature_weights_[2] == 0.0
    assert not full or fitted.feature_weights_[4] == 0.0
    if margins is not None:
        assert_same_weights(fitted.margins(scipy.sparse.csc_matrix(X), y), margins)


@pytest.mark.parametrize("metric", ["manhattan", "euclidean", "sqeuclidean"])
def test_relieff_equals_the_oracle(metric):
    X, y = sparse_table(kind="counts")
    found = ReliefF(n_neighbors=4, metric=metric).fit(scipy.sparse.csr_array(X), y).feature_weights_
    expected = oracles.relieff(oracles.scale_range(X), y, 4, metric)
    np.testing.assert_allclose(found, np.where(np.ptp(X, axis=0) == 0.0, 0.0, expected), atol=1e-12)


def unsorted(X):
    """CSR with the columns of each row in falling order."""
    table = scipy.sparse.csr_matrix(X)
    for start, end in zip(table.indptr[:-1], table.indptr[1:], strict=True):
        table.indices[start:end] = table.indices[start:end][::-1].copy()
        table.data[start:end] = table.data[start:end][::-1].copy()
    table.has_sorted_indices = False
    return table


def in_parts(X):
    """COO that holds every value as a sum of two."""
    table = scipy.sparse.coo_array(X)
    places = tuple(np.tile(each, 2) for each in (table.row, table.col))
    return scipy.sparse.coo_array((np.concatenate([table.data - 1.0, np.ones(table.nnz)]), places), X.shape)


def csr_in_parts(X):
    """CSR that holds every value as a sum of two, side by side."""
    table = scipy.sparse.csr_array(X)
    data = np.repeat(table.data / 2.0, 2)
    return scipy.sparse.csr_array((data, np.repeat(table.indices, 2), 2 * table.indptr), X.shape)


def with_zeros(X):
    """CSR that stores some zeros."""
    table = scipy.sparse.csr_array(X + 1.0)
    table.data -= 1.0
    return table


def wide_indices(X):
    table = scipy.sparse.csr_array(X)
    table.indices, table.indptr = table.indices.astype(np.int64), table.indptr.astype(np.int64)
    return table


def frozen(X):
    table = scipy.sparse.csr_array(X)
    for each in (table.data, table.indices, table.indptr):
        each.setflags(write=False)
    return table


FORMATS = [
    getattr(scipy.sparse, f"{name}_{kind}")
    for name in ("csr", "csc", "coo", "lil", "dok", "bsr")
    for kind in ("matrix", "array")
]
FORMATS += [unsorted, in_parts, csr_in_parts, with_zeros, wide_indices, frozen]


@pytest.mark.parametrize("estimator", [ReliefF(), IRelief(max_iter=3), FisherScore()], ids=str)
@pytest.mark.parametrize("make", FORMATS, ids=lambda make: make.__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_format_gives_the_same_and_is_left_as_it_was(estimator, make):
    X, y = sparse_table(kind="counts")
    expected = estimator.fit(scipy.sparse.csr_array(X), y).feature_weights_
    table = make(X)
    stored = {
        name: getattr(table, name).copy() for name in ("data", "indices", "indptr") if hasattr(table, name)
    }
    found = estimator.fit(table, y).feature_weights_
    assert_same_weights(found, expected)
    for name, before in stored.items():
        np.testing.assert_array_equal(getattr(table, name), before)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.bool_, np.int32, np.int64, np.float32])
@pytest.mark.parametrize("estimator", [ReliefF(n_neighbors=3), FisherScore()], ids=str)
def test_every_type_of_numbers(estimator, dtype):
    X, y = sparse_table(kind="binary")
    X[:, 3] -= 1e6
    X = X.astype(dtype)
    expected = estimator.fit(X, y).feature_weights_
    found = estimator.fit(scipy.sparse.csr_array(X), y).feature_weights_
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("estimator", [ReliefF(n_neighbors=3), IRelief(max_iter=3), FisherScore()], ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_single_precision(estimator):
    X, y = sparse_table()
    X = X.astype(np.float32)
    expected = estimator.fit(X, y).feature_weights_
    fitted = estimator.fit(scipy.sparse.csr_array(X), y)
    np.testing.assert_allclose(fitted.feature_weights_, expected, rtol=1e-4, atol=1e-5)
    kept = fitted.set_params(weighted=True).transform(scipy.sparse.csr_array(X))
    assert kept.dtype == np.float32
    fitted.set_params(weighted=False)


@pytest.mark.parametrize("way", SEARCH_ORDERS)
@pytest.mark.parametrize("metric", ["manhattan", "euclidean"])
def test_every_way_to_the_neighbors(way, metric, force):
    X, y = sparse_table(150, kind="counts")
    expected = ReliefF(metric=metric).fit(X, y).feature_weights_
    force(**SEARCH_ORDERS[way])
    found = ReliefF(metric=metric).fit(scipy.sparse.csr_array(X), y).feature_weights_
    assert_same_weights(found, expected)


@pytest.mark.parametrize("way", SEARCH_ORDERS)
@pytest.mark.parametrize("metric", ["manhattan", "euclidean"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_with_few_zeros_are_filled_up(way, metric, dtype, force):
    X, y = sparse_table(150, kind="counts", density=0.2)
    expected = ReliefF(metric=metric).fit(X.astype(dtype), y).feature_weights_
    force(**SEARCH_ORDERS[way], min_dense_columns=1)
    found = ReliefF(metric=metric).fit(scipy.sparse.csr_array(X.astype(dtype)), y)
    assert 0 < found.execution_["n_dense_features"] < X.shape[1]
    np.testing.assert_allclose(
        found.feature_weights_, expected, atol=ROUNDING if dtype is np.float64 else 1e-6
    )


@over_estimators
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_threads_do_not_change_a_bit(estimator):
    X, y = sparse_table(300, 40)
    table = scipy.sparse.csr_array(X)
    one = estimator.set_params(n_jobs=1).fit(table, y)
    weights, margins = one.feature_weights_.copy(), one.margins(table, y) if hasattr(one, "margins") else 0
    two = estimator.set_params(n_jobs=2).fit(table, y)
    np.testing.assert_array_equal(two.feature_weights_, weights)
    if hasattr(two, "margins"):
        np.testing.assert_array_equal(two.margins(table, y), margins)
    estimator.set_params(n_jobs=None)


def test_row_order_does_not_matter_with_ties():
    X, y = sparse_table(kind="binary")
    order = np.random.default_rng(0).permutation(y.size)
    expected = ReliefF().fit(scipy.sparse.csr_array(X), y).feature_weights_
    found = ReliefF().fit(scipy.sparse.csr_array(X[order]), y[order]).feature_weights_
    np.testing.assert_allclose(found, expected, atol=ROUNDING)


def test_a_weight_of_a_sample_is_a_number_of_copies():
    X, y = sparse_table(kind="counts")
    copies = np.random.default_rng(0).integers(0, 3, y.size)
    whole = ReliefF().fit(scipy.sparse.csr_array(np.repeat(X, copies, axis=0)), np.repeat(y, copies))
    weighted = ReliefF().fit(scipy.sparse.csr_array(X), y, sample_weight=copies)
    np.testing.assert_allclose(weighted.feature_weights_, whole.feature_weights_, atol=1e-13)


@settings(max_examples=60 if THOROUGH else 25, deadline=None)
@given(st.data())
def test_small_tables_of_any_numbers(data):
    n_samples, n_features = data.draw(st.integers(4, 12)), data.draw(st.integers(1, 6))
    number = st.sampled_from([0.0, 0.0, 0.0, 1.0, -1.0, 0.5, 3.0, 1e-30, -1e30, 1e300, 1e-300])
    values = data.draw(st.lists(number, min_size=n_samples * n_features, max_size=n_samples * n_features))
    X = np.array(values).reshape(n_samples, n_features)
    X[0, 0], X[1, 0] = 0.0, 1.0
    y = np.arange(n_samples) % 2
    for estimator in (ReliefF(n_neighbors=2), Relief(metric="euclidean"), FisherScore()):
        expected = estimator.fit(X, y).feature_weights_
        found = estimator.fit(scipy.sparse.csr_array(X), y).feature_weights_
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("scale", ["range", "standard", None])
@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2.0, 60)])
def test_ranges_and_scaling_count_what_is_not_stored(scale, weights):
    X, _ = sparse_table(kind="signed")
    table = scipy.sparse.csr_array(X)
    found, expected = sparse_ranges(table), ColumnRanges.of(X)
    np.testing.assert_array_equal(found.low, expected.low)
    np.testing.assert_array_equal(found.high, expected.high)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-13, atol=1e-15)
    ours = sparse_scaling(table, scale, weights, found)
    theirs = feature_scaling(X, scale, weights, expected)
    assert isinstance(ours, Scaling)
    np.testing.assert_allclose(ours.divisor, theirs.divisor, rtol=1e-12)
    np.testing.assert_allclose(ours.offset, theirs.offset, rtol=1e-12, atol=1e-15)


def test_a_feature_that_separates_the_classes_scores_as_with_all_values():
    X = np.array([[0.0, 0.3, 1.0], [0.0, 0.3, 0.0], [2.0, 0.7, 1.0], [2.0, 0.7, 0.0], [0.1, 0.9, 0.0]])
    y = np.array([0, 0, 1, 1, 2])
    expected = FisherScore().fit(X, y).feature_weights_
    found = FisherScore().fit(scipy.sparse.csr_array(X), y).feature_weights_
    assert expected[:2].min() > 1e29
    np.testing.assert_allclose(found, expected, rtol=1e-12)


# Memory


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_zeros_are_never_stored():
    """Of a table of 8 GB, were it filled up, and 0.2 MB of values: sums of one number for each feature."""
    rng = np.random.default_rng(0)
    n_samples, n_features, n_values = 1000, 1_000_000, 20
    columns = np.sort(rng.integers(0, n_features, (n_samples, n_values)), axis=1)
    y = np.arange(n_samples) % 2
    columns[:, 0] = y
    values = rng.random(columns.size) + 1.0
    indptr = np.arange(0, columns.size + 1, n_values)
    table = scipy.sparse.csr_matrix((values, columns.ravel(), indptr), (n_samples, n_features))
    for estimator in (ReliefF(), FisherScore(), IRelief(sigma=1.0, max_iter=1, averaging=True)):
        estimator.set_params(n_features_to_select=2)
        assert peak_of(partial(estimator.fit, table, y)) < 3e8
        assert estimator.get_support(indices=True).tolist() == [0, 1]
        assert estimator.transform(table).shape == (n_samples, 2)
    assert ReliefF(n_features_to_select=2).fit(table, y).margins(table, y).min() > 0.0


def test_soft_neighborhoods_say_how_much_memory_they_need():
    X, y = sparse_table()
    with pytest.raises(MemoryError, match=r"sparse X of 60 samples needs .* memory_budget allows 0.001 MB"):
        IRelief(memory_budget=1000).fit(scipy.sparse.csr_array(X), y)


# Transform


@over_estimators
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_transform_keeps_a_table_sparse(estimator):
    X, y = sparse_table()
    table = scipy.sparse.csr_array(X)
    fitted = estimator.set_params(weighted=False, n_features_to_select=5).fit(table, y)
    plain = fitted.transform(table)
    assert scipy.sparse.issparse(plain)
    np.testing.assert_array_equal(plain.toarray(), X[:, fitted.get_support()])
    fitted.set_params(weighted=True)
    weighted = fitted.transform(table)
    assert scipy.sparse.issparse(weighted)
    assert weighted.nnz <= plain.nnz
    # The same distances, whatever the columns are measured from.
    dense = fitted.transform(X)
    shift = dense - weighted.toarray()
    np.testing.assert_allclose(shift, np.tile(shift[0], (len(X), 1)), atol=1e-8 * np.abs(dense).max())
    back = fitted.inverse_transform(weighted)
    assert scipy.sparse.issparse(back)
    alive = fitted.get_support() & (fitted.feature_weights_ > 0.0)
    np.testing.assert_allclose(back.toarray()[:, alive], X[:, alive], rtol=1e-12)
    estimator.set_params(weighted=False, n_features_to_select=None)


# What is refused


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("estimator", [ReliefF(), IRelief(), FisherScore()], ids=str)
def test_missing_and_infinite_values(estimator, value):
    X, y = sparse_table()
    X[2, 1] = value
    says = "Sparse X must not contain NaN; " if np.isnan(value) else "X contains infinity"
    with pytest.raises(ValueError, match=says):
        estimator.fit(scipy.sparse.csr_array(X), y)


def test_batches_need_dense_tables():
    X, y = sparse_table()
    model, batches = ReliefF().fit(X, y), np.arange(y.size) % 2
    for call in (model.margins, model.fit):
        with pytest.raises(TypeError, match="batches need a dense table"):
            call(scipy.sparse.csr_array(X), y, batches=batches)


def test_all_constant():
    with pytest.raises(ValueError, match="All 3 features of X are constant"):
        ReliefF().fit(scipy.sparse.csr_array((6, 3)), [0, 1] * 3)


def test_who_takes_sparse_tables():
    taken = {
        name for name in highrelief.__all__ if getattr(getattr(highrelief, name), "_takes_sparse", False)
    }
    assert taken >= {"Relief", "ReliefF", "IRelief", "FisherScore"}
    for name in taken:
        assert get_tags(getattr(highrelief, name)()).input_tags.sparse
    X, y = sparse_table()
    with pytest.raises(TypeError, match=r"does not support sparse X; use .*ReliefF"):
        LOGO().fit(scipy.sparse.csr_array(X), y)


# As it is used


def test_words_of_texts():
    rng = np.random.default_rng(0)
    common = [f"word{n}" for n in range(200)]
    texts = [
        " ".join(rng.choice(common, 15)) + (" goal match" if n % 2 else " vote party") for n in range(80)
    ]
    names = pd.Series(["sport" if n % 2 else "politics" for n in range(80)])
    words = CountVectorizer()
    X = words.fit_transform(texts)
    for estimator in (ReliefF(), IRelief(), FisherScore()):
        kept = estimator.set_params(n_features_to_select=4).fit(X, names).get_support()
        found = sorted(np.array(words.get_feature_names_out())[kept])
        assert found == ["goal", "match", "party", "vote"]
    model = make_pipeline(CountVectorizer(), ReliefF(n_features_to_select=4), LogisticRegression())
    assert model.fit(texts, names).score(texts, names) == 1.0


def test_meta_estimators_pass_sparse_tables_on():
    X, y = sparse_table(120, kind="counts")
    table = scipy.sparse.csr_array(X)
    # What LogisticRegression says of itself depends on the version of scikit-learn.
    classifier = LogisticRegression(max_iter=2000)
    for make, takes_sparse in (
        (lambda: EnsembleWeighting(ReliefF(), n_estimators=3, weighted=True, random_state=0), True),
        (
            lambda: CrossValidatedSelector(ReliefF(), classifier=classifier, cv=3),
            get_tags(classifier).input_tags.sparse,
        ),
    ):
        expected = make().fit(X, y)
        found = make().fit(table, y)
        assert get_tags(found).input_tags.sparse == takes_sparse
        np.testing.assert_allclose(found.feature_weights_, expected.feature_weights_, atol=1e-12)
        assert scipy.sparse.issparse(found.transform(table))
    scores = [stability_score(ReliefF(), each, y, n_features=5, random_state=0) for each in (X, table)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-9)
    with pytest.raises(TypeError, match="does not support sparse X"):
        CrossValidatedSelector(ReliefF()).fit(table, y)


def damaged(kind):
    """Sparse tables whose arrays do not agree with each other or with their shape."""
    X, y = sparse_table(40, 8)
    form, fault = kind.split(", ")
    X = FORMATS_BY_NAME[form](X)
    arrays = {"coo": ("col", "row"), "csc": ("indices", "indptr")}.get(form, ("indices", "indptr"))
    indices, pointer = (getattr(X, name, None) for name in arrays)
    if fault == "index too large":
        indices[3] = 10**6
    elif fault == "negative index":
        indices[3] = -5
    elif fault == "rows fall":
        pointer[4] = pointer[-1] + 7
    elif fault == "rows begin late":
        pointer[0] = 1
    elif fault == "values are missing":
        X.data = X.data[:-2]
    elif fault == "too few rows":
        X.indptr = X.indptr[:-3]
    return X, y


FORMATS_BY_NAME = {
    "csr": scipy.sparse.csr_matrix,
    "csr array": scipy.sparse.csr_array,
    "csc": scipy.sparse.csc_matrix,
    "bsr": partial(scipy.sparse.bsr_matrix, blocksize=(2, 2)),
    "coo": scipy.sparse.coo_array,
}
DAMAGE = [
    *(
        f"{form}, {fault}"
        for form in ("csr", "csr array", "csc", "bsr")
        for fault in (
            "index too large",
            "negative index",
            "rows fall",
            "rows begin late",
            "values are missing",
            "too few rows",
        )
    ),
    *(f"coo, {fault}" for fault in ("index too large", "negative index", "values are missing")),
]


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_tables_are_refused_before_compiled_code_follows_them(kind):
    X, y = damaged(kind)
    for estimator in ESTIMATORS.values():
        with pytest.raises(ValueError, match="not a valid sparse table"):
            estimator.fit(X, y)


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_tables_are_refused_after_the_fit_too(kind):
    good, y = sparse_table(40, 8)
    X, _ = damaged(kind)
    fitted = IRelief(sigma=1.0, max_iter=2, tol=1.0).fit(good, y)
    with pytest.raises(ValueError, match="not a valid sparse table"):
        fitted.transform(X)
    with pytest.raises((ValueError, TypeError), match="sparse"):
        fitted.margins(X, y)
    with pytest.raises(ValueError, match="not a valid sparse table"):
        highrelief.interactions(fitted, X, y)
    with pytest.raises(ValueError, match="not a valid sparse table"):
        stability_score(FisherScore(), X, y)


EVERYTHING = [
    *(family.default() for family in FAMILIES),
    *CLASSIFIERS,
    *FOR_NUMBERS,
    *EXTRACTORS,
]


@pytest.mark.parametrize("estimator", EVERYTHING, ids=str)
def test_no_estimator_follows_a_damaged_table(estimator):
    for kind in ("csr, index too large", "csc, rows fall", "coo, negative index"):
        X, y = damaged(kind)
        with pytest.raises((ValueError, TypeError), match="sparse"):
            estimator.fit(X, y)


@pytest.mark.parametrize("form", ["lil", "dok", "dia"])
def test_damaged_tables_of_rare_formats(form):
    X, y = sparse_table(40, 8)
    X = scipy.sparse.csr_matrix(X).asformat(form)
    if form == "lil":
        X.rows[3].append(99)
    elif form == "dok":
        # Older versions of SciPy make it a dict itself.
        dict.__setitem__(getattr(X, "_dict", X), (3, 99), 1.0)
    else:
        X.offsets = X.offsets[:-1]
    with pytest.raises(ValueError, match="not a valid sparse table"):
        FisherScore().fit(X, y)


@pytest.mark.parametrize("estimator", [FisherScore(), ReliefF(n_neighbors=3)], ids=str)
def test_a_wrong_note_that_columns_are_sorted_is_not_believed(estimator):
    X, y = sparse_table(40, 8)
    X = scipy.sparse.csr_matrix(X)
    expected = estimator.fit(X, y).feature_weights_
    for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        X.indices[a:b], X.data[a:b] = X.indices[a:b][::-1].copy(), X.data[a:b][::-1].copy()
    X.has_sorted_indices = X.has_canonical_format = True
    np.testing.assert_array_equal(estimator.fit(X, y).feature_weights_, expected)
