"""Engines: siblings that offer one contract, and results that depend on the weights given alone."""

import gc
import itertools
import weakref

import numpy as np
import pytest
from scipy.sparse import csr_array
from small_tables import draw_table

from highrelief import IRelief
from highrelief._engine.engine import Engine, LocalEngine
from highrelief._engine.sparse import SparseEngine

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

from highrelief._dask import table as table_module  # noqa: E402
from highrelief._dask.column_engine import ColumnEngine  # noqa: E402
from highrelief._dask.row_engine import RowEngine  # noqa: E402

ENGINES = {"dense": LocalEngine, "sparse": SparseEngine, "columns": ColumnEngine, "rows": RowEngine}


@pytest.fixture(params=[*ENGINES, "recomputed", "blocks"])
def engine(request, force):
    """An engine of every backend, and local ones that recompute distances or read blocks of columns."""
    X, y = draw_table(0, 90, 40, 3)
    X[X < 0.3] = 0.0
    force(min_dask_columns=1, min_dask_rows=1)
    budget = 0 if request.param == "recomputed" else None
    if request.param == "blocks":
        force(view_ratio=0, copy_bytes=0)
    with dask.config.set({table_module.CONFIG_KEY: request.param, "scheduler": "threads"}):
        if request.param in ("columns", "rows"):
            X = da.from_array(X, chunks=(30, 40) if request.param == "rows" else (-1, 9))
        elif request.param == "sparse":
            X = csr_array(X)
        estimator = IRelief(memory_budget=budget)
        made = estimator._choose_engine(estimator._check_fit(X, y))
        assert type(made) is ENGINES.get(request.param, LocalEngine)
        yield made


def test_engines_are_siblings():
    for one, other in itertools.permutations(ENGINES.values(), 2):
        assert issubclass(one, Engine)
        assert not issubclass(one, other)


def results(near):
    nu = near.mean_margin(pooled=False, outliers=True)
    return np.concatenate([near.inlier, *near.entropies(), near.margins(pooled=True), nu])


def test_neighborhoods_keep_their_weights_whatever_came_after(engine):
    rng = np.random.default_rng(1)
    first, second = rng.random(40), np.where(np.arange(40) % 3, rng.random(40), 0.0)
    width = engine.width_for_perplexity(first, 0.3)
    expected = [results(engine.soft_neighborhoods(w, 0.7)) for w in (first, second)]
    near = [engine.soft_neighborhoods(w, 0.7) for w in (first, second)]
    given = first.copy()
    late = engine.soft_neighborhoods(given, 0.7)
    given[:] = 0.0
    for _ in range(2):
        for each, found in zip(expected, near, strict=True):
            np.testing.assert_array_equal(results(found), each)
    np.testing.assert_array_equal(results(late), expected[0])
    assert engine.width_for_perplexity(second, 0.3) != width
    assert engine.width_for_perplexity(first, 0.3) == width


def test_stored_distances_are_freed_with_the_last_reference(engine):
    near = engine.soft_neighborhoods(np.ones(40), engine.width_for_perplexity(np.ones(40), 0.3))
    pairs = weakref.ref(engine._pairs)
    gc.disable()  # a cycle would keep the distances until the next collection
    try:
        del engine.__dict__["_pairs"]
        assert pairs() is not None
        del near
        assert pairs() is None
    finally:
        gc.enable()


def test_a_method_that_a_backend_lacks_says_so(engine):
    if type(engine) is LocalEngine:
        engine.local_hyperplanes(3, 1.0)
    else:
        with pytest.raises(NotImplementedError, match=f"{type(engine).__name__} does not offer local_hyper"):
            engine.local_hyperplanes(3, 1.0)
