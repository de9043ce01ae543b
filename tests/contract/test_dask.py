"""What every estimator that takes Dask arrays promises: the answer of the same table in memory."""

from types import SimpleNamespace

import dask
import dask.array as da
import numpy as np
import pytest
from contract import assert_same, same_bits
from registry import (
    ALL_ENTRIES,
    EXTRACTORS,
    THOROUGH,
    continuous_table,
    discrete_table,
    in_turn,
    over_entries,
)
from sklearn.base import clone

from highrelief import LOGO, ReliefF
from highrelief._dask import table as table_module
from highrelief._dask.collections import is_dask
from highrelief._dask.scheduler import Executor
from highrelief._dask.table import DaskTable

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore::UserWarning"
)

#: Weights that are the end of an iteration with exact solvers in between differ by what these leave.
TOLERANCE = {LOGO: 1e-6}
ways = pytest.mark.parametrize("way", table_module.PARTITIONS)
#: Sizes of chunks along samples and features: side by side, one above the other, both, uneven, all in one.
CHUNKS = [(-1, 2), (20, -1), (23, 3), ((7, 13, 40), (1, 5)), (-1, -1)]


def takes_dask(entry):
    """Whether the estimator, and what it is wrapped around, work where a table lies."""
    estimator = entry.make()
    both = estimator, getattr(estimator, "estimator", estimator)
    return all(refusal(each) is None for each in both)


def refusal(estimator):
    """Why an estimator does not take Dask collections; None: it does."""
    asked = getattr(estimator, "_dask_refusal", None)
    return getattr(estimator, "_refuses_dask", "not asked") if asked is None else asked()


taking_dask = over_entries(takes_dask)
#: One variant of each way to work, where every way to cut a table is tried.
plainly_taking_dask = over_entries(
    lambda entry: takes_dask(entry) and entry.variant in ("", "exact", *THOROUGH * ["auto"])
)


@pytest.fixture(autouse=True)
def small_blocks(force):
    """Tables of a few rows and columns are cut as large ones are."""
    force(min_dask_columns=1, min_dask_rows=1)


def fitted(estimator, X, y, way, chunks=(-1, 2), **more):
    with dask.config.set({"highrelief.partition": way}):
        return clone(estimator).fit(da.from_array(X, chunks=chunks), y, **more)


@ways
def test_chunks_at_odd_addresses_are_laid_out_once(way):
    """As those are that came over a network."""
    X, y = continuous_table()
    odd = np.ndarray(X.shape, X.dtype, np.empty(X.nbytes + 1, np.uint8), offset=1)
    odd[...] = X
    assert not odd.flags.aligned
    table = DaskTable(da.from_array(odd, chunks=(20, 2)), Executor(), way)
    assert all(block.flags.aligned for block in table.executor.compute(lambda: table.blocks))
    assert same_bits(
        fitted(ReliefF(), odd, y, way).feature_weights_, fitted(ReliefF(), X, y, way).feature_weights_
    )


def test_most_estimators_of_the_issue_take_dask():
    """So that nobody leaves the contract by a slip."""
    names = {type(entry.make()).__name__ for entry in ALL_ENTRIES if takes_dask(entry)}
    assert names >= {"Relief", "ReliefF", "IRelief", "LOGO", "IM4E", "FREL"}


@in_turn(taking_dask, table=[continuous_table, discrete_table], way=table_module.PARTITIONS)
def test_dask_gives_the_weights_of_the_table_in_memory(entry, table, way):
    X, y = table()
    local = entry.make().fit(X, y)
    ours = fitted(entry.make(), X, y, way)
    if entry.family.inside is None:
        assert ours.execution_["partition"] == way
        assert ours.execution_["n_blocks"] > 1
    tolerance = TOLERANCE.get(entry.family.method, 1e-10)
    np.testing.assert_allclose(
        ours.feature_weights_,
        local.feature_weights_,
        rtol=0.0,
        atol=tolerance * max(np.linalg.norm(local.feature_weights_), 1e-300),
    )
    for name in ("sigma_", "outlier_proba_", "cost_", "objective_", "n_iter_"):
        if hasattr(local, name):
            np.testing.assert_allclose(getattr(ours, name), getattr(local, name), rtol=1e-6, atol=1e-10)


@in_turn(plainly_taking_dask, chunks=CHUNKS[1:], way=table_module.PARTITIONS)
def test_chunks_do_not_matter(entry, chunks, way):
    X, y = continuous_table()
    local = entry.make().fit(X, y).feature_weights_
    ours = fitted(entry.make(), X, y, way, chunks).feature_weights_
    assert_same(ours, local, TOLERANCE.get(entry.family.method, 1e-10))


@in_turn(over_entries(lambda entry: takes_dask(entry) and entry.sample_weight), way=table_module.PARTITIONS)
def test_sample_weights_count_as_for_a_table_in_memory(entry, way):
    X, y = continuous_table()
    s = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
    local = entry.make().fit(X, y, sample_weight=s).feature_weights_
    ours = fitted(entry.make(), X, y, way, sample_weight=s).feature_weights_
    assert_same(ours, local, TOLERANCE.get(entry.family.method, 1e-10))


@in_turn(taking_dask, way=table_module.PARTITIONS)
def test_two_runs_give_the_same_bits(entry, way):
    X, y = continuous_table()
    first, second = (fitted(entry.make(), X, y, way).feature_weights_ for _ in range(2))
    assert same_bits(first, second)


@in_turn(over_entries(lambda entry: takes_dask(entry) and entry.family.margins), way=table_module.PARTITIONS)
def test_margins_of_new_samples(entry, way):
    X, y = continuous_table()
    local = entry.make().fit(X, y)
    with dask.config.set({"highrelief.partition": way}):
        ours = local.margins(da.from_array(X[:40], chunks=(-1, 2)), y[:40])
    np.testing.assert_allclose(ours, local.margins(X[:40], y[:40]), rtol=0.0, atol=1e-10)


@ways
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint8, np.int64, bool])
def test_types_of_numbers(dtype, way):
    X, y = discrete_table()
    X = (X > 1).astype(dtype) if dtype is bool else X.astype(dtype)
    local = ReliefF(n_neighbors=3).fit(X, y).feature_weights_
    ours = fitted(ReliefF(n_neighbors=3), X, y, way).feature_weights_
    assert_same(ours, local, 1e-6 if dtype is np.float32 else 1e-10)


@ways
@pytest.mark.parametrize(
    ("scale", "magnitude"),
    [(None, 1.0), *((scale, size) for scale in ("range", "standard") for size in (1.0, 1e-200, 1e200))],
)
def test_scales(scale, magnitude, way):
    X, y = continuous_table()
    X = X * np.array([1.0, magnitude, 1.0, 1e3, 1e-3, 1.0])
    local = ReliefF(n_neighbors=3, scale=scale).fit(X, y).feature_weights_
    assert_same(fitted(ReliefF(n_neighbors=3, scale=scale), X, y, way).feature_weights_, local, 1e-10)


@ways
@pytest.mark.parametrize("extractor", [each for each in EXTRACTORS if each._refuses_dask is None], ids=str)
def test_extractors_find_the_same_directions(extractor, way):
    X, y = continuous_table()
    local = clone(extractor).fit(X, y)
    ours = fitted(extractor, X, y, way)
    np.testing.assert_allclose(ours.components_, local.components_, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(ours.eigenvalues_, local.eigenvalues_, rtol=1e-9)


# What is given


@ways
def test_nothing_is_left_of_an_earlier_fit_where_one_fails(way):
    X, y = continuous_table()
    weighter = fitted(ReliefF(n_neighbors=3), X, y, way)
    with pytest.raises(ValueError, match="must not contain NaN"):
        weighter.fit(da.from_array(np.where(X > 1.0, np.nan, X), chunks=(-1, 2)), y)
    assert not hasattr(weighter, "feature_weights_")


def chosen(shape, chunks, n_workers=4, least_memory=np.inf):
    """The partition of a table of float64."""
    executor = SimpleNamespace(n_workers=n_workers, least_memory=least_memory)
    return table_module.choose_partition(shape, 8, chunks, executor)


def test_the_partition_is_chosen_by_shape_and_can_be_forced():
    wide = (100, 10_000), ((100,), (5000, 5000))
    cost = table_module.costs(wide[0], 8, wide[1], 4)
    assert cost.columns < cost.rows
    assert chosen(*wide) == "columns"
    assert chosen((100_000, 50), ((50_000, 50_000), (50,))) == "rows"
    with dask.config.set({"highrelief.partition": "rows"}):
        assert chosen(*wide) == "rows"
    with (
        dask.config.set({"highrelief.partition": "diagonal"}),
        pytest.raises(ValueError, match=r"highrelief\.partition='diagonal'.*'columns', 'rows' or 'auto'"),
    ):
        chosen(*wide)


def test_a_table_whose_pairs_do_not_fit_goes_by_rows(monkeypatch):
    wide = (4000, 10**6), ((4000,), (10**6,))
    assert chosen(*wide) == "columns"
    # With a worker, half of whose memory is for all pairs, as here.
    assert chosen(*wide, least_memory=769e6) == "columns"
    assert chosen(*wide, least_memory=767e6) == "rows"
    monkeypatch.setattr(table_module, "memory_budget", lambda asked: 383e6)
    assert chosen(*wide) == "rows"
    # Few pairs are not worth a question.
    assert chosen((1000, 10**6), ((1000,), (10**6,)), least_memory=1.0) == "columns"


@pytest.mark.parametrize("given", ["array", "series", "list"])
def test_classes_may_come_from_anywhere(given):
    X, y = continuous_table()
    names = np.array(["a", "b", "c"])[y]
    dd = pytest.importorskip("dask.dataframe", reason="needs the extra 'dask'")
    pandas = pytest.importorskip("pandas")
    as_given = {
        "array": lambda: da.from_array(names, chunks=11),
        "series": lambda: dd.from_pandas(pandas.Series(names), npartitions=3),
        "list": names.tolist,
    }[given]()
    ours = ReliefF(n_neighbors=3).fit(da.from_array(X, chunks=(-1, 2)), as_given)
    assert ours.classes_.tolist() == ["a", "b", "c"]
    assert_same(ours.feature_weights_, ReliefF(n_neighbors=3).fit(X, names).feature_weights_, 1e-10)


def test_data_frames_keep_their_names():
    dd = pytest.importorskip("dask.dataframe", reason="needs the extra 'dask'")
    pandas = pytest.importorskip("pandas")
    X, y = continuous_table()
    frame = pandas.DataFrame(X, columns=[f"gene {j}" for j in range(X.shape[1])])
    ours = ReliefF(n_neighbors=3).fit(dd.from_pandas(frame, npartitions=4), y)
    assert ours.feature_names_in_.tolist() == list(frame.columns)
    assert_same(ours.feature_weights_, ReliefF(n_neighbors=3).fit(frame, y).feature_weights_, 1e-10)


def test_columns_of_several_types_of_numbers():
    dd = pytest.importorskip("dask.dataframe", reason="needs the extra 'dask'")
    pandas = pytest.importorskip("pandas")
    X, y = continuous_table()
    frame = pandas.DataFrame(X[:, :3], columns=list("abc"))
    frame["d"], frame["e"] = X[:, 3] > 0, pandas.array(X[:, 4], dtype="Float64")
    as_numbers = frame.astype(float).to_numpy()
    ours = ReliefF(n_neighbors=3).fit(dd.from_pandas(frame, npartitions=2), y)
    assert_same(ours.feature_weights_, ReliefF(n_neighbors=3).fit(as_numbers, y).feature_weights_, 1e-10)
    frame["word"] = "x"
    with pytest.raises(ValueError, match="Columns of X do not hold numbers: word"):
        ReliefF().fit(dd.from_pandas(frame, npartitions=2), y)


def test_a_frame_in_memory_may_have_any_names():
    """A table that Dask holds is told by what it is, not by its attributes."""
    pandas = pytest.importorskip("pandas")
    X, y = continuous_table()
    frame = pandas.DataFrame(X, columns=["work", "by", "blocks", "cuts", "ranges", "x"])
    ours = ReliefF(n_neighbors=3).fit(frame, y).feature_weights_
    assert same_bits(ours, ReliefF(n_neighbors=3).fit(X, y).feature_weights_)


def test_sparse_chunks_are_refused():
    scipy_sparse = pytest.importorskip("scipy.sparse")
    X, y = continuous_table()
    lazy = da.from_array(X, chunks=(20, -1)).map_blocks(scipy_sparse.csr_matrix)
    with pytest.raises(TypeError, match="chunks of X are sparse"):
        ReliefF().fit(lazy, y)


def test_chunks_of_unknown_size_are_measured():
    X, y = continuous_table()
    unknown = da.from_array(X, chunks=(20, -1))
    unknown = unknown[unknown[:, 0] > -np.inf]
    assert np.isnan(unknown.shape[0])
    assert_same(
        ReliefF(n_neighbors=3).fit(unknown, y).feature_weights_,
        ReliefF(n_neighbors=3).fit(X, y).feature_weights_,
        1e-10,
    )
    assert np.isnan(unknown.shape[0])  # what was given is as it was


def test_sizes_that_do_not_agree():
    X, y = continuous_table()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ReliefF().fit(da.from_array(X), y[:-1])
    with pytest.raises(ValueError, match="two dimensions"):
        ReliefF().fit(da.from_array(y), y)
    with pytest.raises(ValueError, match="X has 3 features"):
        ReliefF(n_neighbors=3).fit(X, y).margins(da.from_array(X[:, :3]), y)


def test_words_are_no_numbers():
    with pytest.raises(ValueError, match="not numbers"):
        ReliefF().fit(da.from_array(np.array([["a"], ["b"], ["c"]])), [0, 1, 0])


def test_batches_need_a_table_in_memory():
    X, y = continuous_table()
    with pytest.raises(TypeError, match="batches need a table in memory"):
        ReliefF(n_neighbors=3).fit(da.from_array(X), y, batches=np.arange(len(y)) % 2)


def test_categories_need_a_table_in_memory():
    X, y = discrete_table()
    with pytest.raises(TypeError, match=r"categor.* in memory"):
        ReliefF(n_neighbors=3, categorical_features=[0]).fit(da.from_array(X), y)


@over_entries(lambda entry: entry.variant == "" and not takes_dask(entry))
def test_all_others_refuse_before_they_look(entry):
    X, y = continuous_table()
    looked = []

    def look(block):
        looked.append(block.shape)
        return block

    lazy = da.from_array(X, chunks=(20, -1)).map_blocks(look, dtype=X.dtype, meta=np.empty((0, 0)))
    assert is_dask(lazy)
    looked.clear()
    with pytest.raises(TypeError, match=r"does not take Dask arrays or data frames: .*X\.compute"):
        entry.make().fit(lazy, y)
    assert not looked
