"""Tables that Dask holds, by blocks of rows: the same answers as from memory, whatever the chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from peak_memory import peak_of
from registry import in_turn
from sklearn.base import clone

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

from highrelief import FREL, IM4E, LFE, LOGO, IRelief, Relief, ReliefF  # noqa: E402
from highrelief._dask import row_engine  # noqa: E402
from highrelief._dask import table as table_module  # noqa: E402
from highrelief._dask.row_blocks import RowBlock, StackedBlocks  # noqa: E402
from highrelief._dask.row_neighbors import merge_candidates  # noqa: E402

N_SAMPLES = 211
#: Heights of the chunks: one, uneven ones, blocks of one row and of two, whole tiles.
CHUNKS = [(211,), (70, 31, 110), (1, 2, 130, 64, 14)]

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")]


@pytest.fixture(autouse=True)
def by_rows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have small tables cut by rows, and blocks that are the chunks."""
    monkeypatch.setattr(table_module, "_resized", lambda sizes, least, most: list(sizes))
    with dask.config.set({table_module.CONFIG_KEY: "rows", "scheduler": "threads"}):
        yield


def table(n_classes: int = 3) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Samples of two or three classes; some are the same, and columns have few levels."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N_SAMPLES, 7))
    X[:20] = X[100:120]
    X[:, 3] = np.round(X[:, 3])
    y = (X[:, 0] * X[:, 1] > 0.0).astype(np.int64)
    return X, y + (X[:, 2] > 0.9) if n_classes == 3 else y


def copies() -> NDArray[np.float64]:
    """How often samples count; some do not."""
    return np.random.default_rng(4).integers(0, 4, N_SAMPLES).astype(np.float64)


def in_chunks(X: NDArray[Any], heights: tuple[int, ...]) -> Any:
    return da.from_array(X, chunks=(heights, X.shape[1]))


def assert_same(
    estimator: Any,
    X: NDArray[Any],
    y: NDArray[Any],
    heights: tuple[int, ...],
    *attributes: str,
    tol: float = 1e-10,
    **given: Any,
) -> None:
    """The same results from memory and, twice with the same bits, from blocks of rows."""
    local = clone(estimator).fit(X, y, **given)
    first, second = (clone(estimator).fit(in_chunks(X, heights), y, **given) for _ in range(2))
    assert first.execution_["partition"] == "rows"
    if "sample_weight" not in given:
        assert first.execution_["n_blocks"] == len(heights)
    for name in attributes or ("feature_weights_",):
        expected, found = getattr(local, name), getattr(first, name)
        assert np.nanmax(np.abs(expected)) > 0.0
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=tol * np.nanmax(np.abs(expected)))
        np.testing.assert_array_equal(found, getattr(second, name))


NEAREST = [
    ReliefF(),
    Relief(),
    ReliefF(metric="euclidean"),
    Relief(metric="sqeuclidean"),
    ReliefF(neighbor_weights="rank", rank_decay=4.0),
    ReliefF(n_neighbors=150, scale="standard"),
    ReliefF(class_weight="balanced", n_neighbors=3),
    ReliefF(scale=None),
]


@in_turn(pytest.mark.parametrize("estimator", NEAREST), heights=CHUNKS, counted=[False, True])
def test_nearest(estimator: Any, counted: bool, heights: tuple[int, ...]) -> None:
    given = {"sample_weight": copies()} if counted else {}
    assert_same(estimator, *table(), heights, **given)


@in_turn(
    pytest.mark.parametrize(
        "estimator",
        [
            ReliefF(n_anchors=20, random_state=0),
            ReliefF(n_anchors=150, random_state=0),
            Relief(n_anchors=60, metric="euclidean", random_state=0),
            ReliefF(max_error=0.01, random_state=0),
        ],
    ),
    heights=CHUNKS,
)
def test_some_anchors(estimator: Any, heights: tuple[int, ...]) -> None:
    X, y = table()
    assert_same(estimator, X, y, heights, "feature_weights_", "weight_intervals_")
    assert_same(estimator, X, y, heights, "weight_intervals_", sample_weight=copies())


@in_turn(
    pytest.mark.parametrize("estimator", [ReliefF(), Relief(metric="euclidean"), ReliefF(n_neighbors=2)]),
    heights=CHUNKS,
)
def test_ties(estimator: Any, heights: tuple[int, ...]) -> None:
    """Many samples are equally far, and which of them are met first does not matter."""
    X, y = table()
    rng = np.random.default_rng(5)
    for few_levels in (np.round(X), rng.integers(0, 3, (N_SAMPLES, 90)).astype(np.int8)):
        assert_same(estimator, few_levels, y, heights)
        assert_same(estimator, few_levels, y, heights, sample_weight=copies())


def test_columns_of_very_different_ranges() -> None:
    X, y = table()
    noise = np.random.default_rng(9).standard_normal((N_SAMPLES, 90))
    wide = np.hstack([1e3 * X[:, :1], X, noise])
    assert_same(ReliefF(scale=None), wide, y, CHUNKS[1])
    assert ReliefF(scale=None).fit(in_chunks(wide, CHUNKS[1]), y).execution_["distances"] == "floats"


SOFT = [
    IRelief(sigma=0.5, max_iter=6),
    IRelief(sigma=0.5, margin="prior", outliers=False, max_iter=6),
    IRelief(sigma=0.3, scale="standard", class_weight="balanced", max_iter=6),
    IRelief(max_iter=4),
    IRelief(perplexity=0.1, max_iter=4, averaging=False),
    IM4E(max_iter=4),
    IM4E(sigma=0.1, loss="log", max_iter=4),
    IM4E(sigma=0.1, w_step="exact", max_iter=4),
]


@in_turn(pytest.mark.parametrize("estimator", SOFT), heights=CHUNKS, counted=[False, True])
def test_soft(estimator: Any, counted: bool, heights: tuple[int, ...]) -> None:
    more = "outlier_proba_" if isinstance(estimator, IRelief) else "hit_entropy_"
    given = {"sample_weight": copies()} if counted else {}
    assert_same(estimator, *table(), heights, "feature_weights_", "sigma_", more, **given)


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("kept", [False, True])
def test_width_from_some_of_the_samples(counted: bool, kept: bool) -> None:
    """Beyond 1024 samples the width is that of anchors, drawn by their content."""
    rng = np.random.default_rng(6)
    X = rng.standard_normal((1300, 12))
    X[:50] = X[50:100]
    y = (X[:, 0] * X[:, 1] > 0.0).astype(np.int64)
    given = {"sample_weight": rng.integers(0, 4, 1300).astype(np.float64)} if counted else {}
    budget = None if kept else 1.0
    for heights in ((600, 64, 636), (1300,)):
        assert_same(
            IRelief(max_iter=2, memory_budget=budget), X, y, heights, "feature_weights_", "sigma_", **given
        )


@in_turn(
    pytest.mark.parametrize("estimator", [LOGO(max_iter=4), LOGO(alpha=1.0, sigma=0.5, max_iter=6)]),
    heights=CHUNKS[1:3],
)
def test_few_features(estimator: Any, heights: tuple[int, ...]) -> None:
    X, y = table()
    noise = np.random.default_rng(7).standard_normal((N_SAMPLES, 60))
    assert_same(estimator, X, y, heights, tol=1e-6)
    assert_same(estimator, np.hstack([X, noise]), y, heights, tol=1e-6, sample_weight=copies())


@in_turn(
    pytest.mark.parametrize("loss", ["log", "hinge", "square", "square-exp"]),
    positive=[False, True],
    heights=CHUNKS,
    penalty=["l1", "l2"],
)
def test_frel(
    loss: str, penalty: str, positive: bool, heights: tuple[int, ...], force: Callable[..., None]
) -> None:
    estimator = FREL(solver="exact", alpha=0.01, loss=loss, penalty=penalty, positive=positive)
    X, y = table()
    assert_same(estimator, X, y, heights)
    # What would be brought here stays with the workers.
    force(max_gathered_bytes=0)
    assert_same(clone(estimator).set_params(class_weight="balanced"), X, y, CHUNKS[1], sample_weight=copies())


def test_frel_with_more_features_than_samples(force: Callable[..., None]) -> None:
    force(max_gathered_bytes=0)
    X, y = table()
    wide = np.hstack([X, np.random.default_rng(8).standard_normal((N_SAMPLES, 300))])
    for loss in ("log", "hinge"):
        assert_same(FREL(solver="exact", alpha=0.01, loss=loss), wide, y, CHUNKS[1])


@in_turn(
    pytest.mark.parametrize(
        "estimator",
        [
            LFE(),
            LFE(n_neighbors=3, metric="manhattan", scale="standard"),
            LFE(n_components=2, solver="arpack"),
            LFE(n_components=2, solver="dual"),
        ],
    ),
    heights=CHUNKS,
)
def test_lfe(estimator: Any, heights: tuple[int, ...]) -> None:
    X, y = table()
    assert_same(estimator, X, y, heights, "components_")
    assert_same(estimator, X, y, heights, "components_", sample_weight=copies())


@pytest.mark.parametrize("estimator", [ReliefF(), IRelief(sigma=0.5, max_iter=5), LOGO(sigma=0.5, alpha=1.0)])
def test_a_class_of_one_sample(estimator: Any) -> None:
    X, y = table(n_classes=2)
    y[17] = 2
    assert_same(estimator, X, y, CHUNKS[1], tol=1e-6 if isinstance(estimator, LOGO) else 1e-10)


@pytest.mark.parametrize("estimator", [ReliefF(), Relief(metric="euclidean"), IRelief(sigma=0.5, max_iter=5)])
def test_single_precision(estimator: Any) -> None:
    X, y = table()
    assert_same(estimator, X.astype(np.float32), y, CHUNKS[1], tol=1e-5)


@pytest.mark.parametrize(
    "estimator",
    [
        ReliefF(),
        IRelief(sigma=0.5, max_iter=3),
        FREL(solver="exact", alpha=0.01),
        LOGO(sigma=0.5, max_iter=3),
    ],
    ids=str,
)
def test_margins_of_samples(estimator: Any) -> None:
    X, y = table()
    fitted = clone(estimator).fit(X, y)
    expected = fitted.margins(X, y)
    found = fitted.margins(in_chunks(X, CHUNKS[1]), y)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-10 * np.abs(expected).max())


def test_chunks_do_not_matter() -> None:
    X, y = table()
    for estimator in (ReliefF(), IRelief(sigma=0.5, max_iter=5)):
        found = [clone(estimator).fit(in_chunks(X, h), y).feature_weights_ for h in CHUNKS]
        for other in found[1:]:
            np.testing.assert_allclose(other, found[0], rtol=0.0, atol=1e-12)


# Memory


def test_margins_of_many_anchors_are_held_block_by_block() -> None:
    """Their spread is found from the whole margins of every anchor, which take twice the table."""
    n, d = 400, 1600
    X = np.random.default_rng(0).standard_normal((n, d), dtype=np.float32)
    y, lazy = np.arange(n) % 2, in_chunks(X, (50,) * 8)
    fits = {"plain": ReliefF(), "all": ReliefF(n_anchors=n, random_state=0)}
    with dask.config.set(num_workers=1):
        ReliefF(n_anchors=9).fit(lazy[:200], y[:200])  # what is loaded and compiled does not count
        peaks = {name: peak_of(partial(estimator.fit, lazy, y)) for name, estimator in fits.items()}
    np.testing.assert_allclose(fits["all"].feature_weights_, fits["plain"].feature_weights_, atol=1e-6)
    assert peaks["all"] - peaks["plain"] < X.nbytes / 2


# What tasks are given and make


def _spied(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[tuple[Any, ...]]:
    calls: list[tuple[Any, ...]] = []
    original: Callable[..., Any] = getattr(module, name)

    def spy(*arguments: Any) -> Any:
        calls.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(module, name, spy)
    return calls


@pytest.mark.parametrize(
    ("estimator", "module", "name"),
    [
        (ReliefF(), row_engine, "candidates_between"),
        (IRelief(sigma=0.5, max_iter=1), row_engine, "_differences"),
    ],
)
def test_every_pair_of_blocks_once(
    estimator: Any, module: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task sees two blocks, and distances of a pair are found by one task for both directions."""
    calls = _spied(monkeypatch, module, name)
    X, y = table()
    estimator.fit(in_chunks(X, CHUNKS[2]), y)
    n_blocks = len(CHUNKS[2])
    pairs = {(a.first, a.first if b is None else b.first) for a, b, *_ in calls}
    assert len(calls) == len(pairs) == n_blocks * (n_blocks + 1) // 2
    assert all(first <= second for first, second in pairs)


def test_few_anchors_leave_pairs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = _spied(monkeypatch, row_engine, "candidates_between")
    X, y = table()
    ReliefF(n_anchors=1, random_state=0).fit(in_chunks(X, CHUNKS[1]), y)
    assert len(calls) == len(CHUNKS[1])


def test_lists_merge_in_any_order() -> None:
    """Lists of candidates of many blocks are the same however they are merged."""
    X, y = table()
    search = _search_of(np.round(X), y)
    spec = search.spec
    blocks = dask.compute(*search._blocks.blocks, scheduler="threads")
    parts = [row_engine.candidates_between(blocks[0], None, spec)[0]]
    parts += [row_engine.candidates_between(blocks[0], other, spec)[0] for other in blocks[1:]]
    at_once = merge_candidates(parts, spec)
    assert at_once is not None
    for order in ([3, 2, 1, 0], [1, 3, 0, 2]):
        one_by_one = parts[order[0]]
        for place in order[1:]:
            one_by_one = merge_candidates([one_by_one, parts[place]], spec)
        assert one_by_one is not None
        np.testing.assert_array_equal(one_by_one.counts, at_once.counts)
        for number in range(at_once.counts.size):
            mine, other = (set(each.rows[each.list_index == number]) for each in (one_by_one, at_once))
            assert mine == other
    # Of 60 rows with at most some ties, not all: lists are cut.
    assert at_once.rows.size < sum(part.rows.size for part in parts if part is not None)


def _search_of(X: NDArray[Any], y: NDArray[Any]) -> Any:
    estimator = ReliefF(n_neighbors=3)
    rows = estimator._choose_engine(estimator._check_fit(in_chunks(X, (60, 60, 60, 31)), y))
    return rows.nearest(estimator._neighborhood())._search


def test_a_stack_is_made_of_whole_tiles() -> None:
    """All pairs of two blocks, and none within them, are in the tiles that a task works on."""
    X, y = table()
    search = _search_of(X, y)
    blocks: list[RowBlock] = list(dask.compute(*search._blocks.blocks, scheduler="threads"))
    stack = StackedBlocks(blocks[2:])
    assert all(last % 64 == 0 for _, last in stack.parts)
    np.testing.assert_array_equal(np.sort(stack.samples[stack.is_sample]), np.arange(120, N_SAMPLES))
    np.testing.assert_array_equal(stack.codes[stack.is_sample], y[stack.samples[stack.is_sample]])
    n_pairs = sum(last - first for first, last in stack.cross_tiles) * 64 * 64
    (a, b), (c, d) = stack.parts
    assert n_pairs == (b - a) * (d - c)
