"""Tables that Dask holds, by blocks of rows, where many samples are equally far from many others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from peak_memory import peak_of
from sklearn.base import clone

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

from highrelief import FREL, LFE, Relief, ReliefF  # noqa: E402
from highrelief._dask import row_neighbors, table  # noqa: E402
from highrelief._engine.limits import Limits  # noqa: E402

pytestmark = pytest.mark.slow

#: As they are where no test changes them.
N_SAMPLES = 130
HEIGHTS = (50, 1, 79)
#: A sample of the first class unlike all others there.
ALONE = 100


@pytest.fixture(autouse=True)
def by_rows(monkeypatch: pytest.MonkeyPatch, force: Callable[..., None]) -> Iterator[None]:
    """Have small tables cut by rows, blocks that are the chunks, and anchors taken a few at a time."""
    monkeypatch.setattr(table, "_resized", lambda sizes, least, most: list(sizes))
    force(max_listed_pairs=2000)
    with dask.config.set({table.CONFIG_KEY: "rows", "scheduler": "threads"}):
        yield


def labels() -> NDArray[np.int64]:
    """Three classes of very different sizes."""
    y = np.arange(N_SAMPLES) % 2
    y[5:40:3] = 2
    return y


def binary() -> NDArray[np.float64]:
    """One column of two values, one of which a class has once: all others there are equally far from it."""
    X = (np.random.default_rng(0).random((N_SAMPLES, 1)) < 0.4).astype(float)
    X[labels() == 0] = 0.0
    X[ALONE] = 1.0
    return X


def few_levels() -> NDArray[np.float64]:
    """Thirds, whose sums are rounded; the last column is constant."""
    X = np.random.default_rng(1).integers(0, 4, (N_SAMPLES, 3)) / 3.0
    X[:, 0] += 0.1 * labels()
    return np.hstack([X, np.ones((N_SAMPLES, 1))])


def duplicates() -> NDArray[np.float64]:
    """Seven samples, over and over again, and a few others."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((7, 5))[rng.integers(0, 7, N_SAMPLES)]
    X[::17] = rng.standard_normal((len(X[::17]), 5))
    return X


def shaken() -> NDArray[np.float64]:
    """Binary columns, whose distances differ by a little less, or more, than what counts as equal."""
    rng = np.random.default_rng(3)
    return np.hstack([binary(), binary()[::-1]]) + 4e-13 * rng.random((N_SAMPLES, 2))


TABLES = {"binary": binary, "few levels": few_levels, "duplicates": duplicates, "shaken": shaken}
ESTIMATORS = [
    Relief(),
    Relief(metric="euclidean"),
    ReliefF(metric="sqeuclidean", n_neighbors=3),
    ReliefF(neighbor_weights="rank", rank_decay=4.0),
    ReliefF(n_anchors=20, random_state=0),
    ReliefF(n_anchors=100, random_state=0),
]


def assert_same(
    estimator: Any, X: NDArray[Any], y: NDArray[Any], name: str, tol: float, **given: Any
) -> None:
    """The same from memory and, twice with the same bits, from blocks of rows."""
    expected = getattr(clone(estimator).fit(X, y, **given), name)
    assert np.abs(expected).max() > 0.0
    lazy = da.from_array(X, chunks=(HEIGHTS, X.shape[1]))
    first, second = (getattr(clone(estimator).fit(lazy, y, **given), name) for _ in range(2))
    np.testing.assert_allclose(first, expected, rtol=0.0, atol=tol * np.abs(expected).max())
    np.testing.assert_array_equal(first, second)


@pytest.fixture(autouse=True)
def no_room(force: Callable[..., None]) -> None:
    """Have lists cut wherever somebody is tied with the last who is not needed."""
    force(max_extra_ties=0)


def n_looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows whenever somebody looks again for those who are tied."""
    calls: list[int] = []
    original: Callable[..., Any] = row_neighbors.AnchorDistances.tied_pairs

    def spy(direction: Any, ties: Any) -> Any:
        calls.append(ties.lists.size)
        return original(direction, ties)

    monkeypatch.setattr(row_neighbors.AnchorDistances, "tied_pairs", spy)
    return calls


@pytest.mark.parametrize(
    ("estimator", "made"),
    [(ReliefF(), made) for made in TABLES] + [(each, "few levels") for each in ESTIMATORS],
    ids=str,
)
def test_nearest(estimator: Any, made: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = n_looks(monkeypatch)
    X, y = TABLES[made](), labels()
    assert_same(estimator, X, y, "feature_weights_", 1e-10)
    assert any(looks)
    copies = np.random.default_rng(4).integers(0, 4, N_SAMPLES) + 0.5 * (np.arange(N_SAMPLES) % 3 == 0)
    copies[ALONE] = 1.0
    assert_same(estimator, X, y, "feature_weights_", 1e-10, sample_weight=copies)


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_other_types(dtype: str) -> None:
    tol = 1e-5 if dtype == "float32" else 1e-10
    for X in (binary(), np.round(3.0 * few_levels())):
        assert_same(ReliefF(), X.astype(dtype), labels(), "feature_weights_", tol)
        assert_same(
            ReliefF(rank_decay=2.0, neighbor_weights="rank"),
            X.astype(dtype),
            labels(),
            "feature_weights_",
            tol,
        )


@pytest.mark.parametrize("loss", ["log", "square"])
def test_frel(loss: str) -> None:
    y = np.minimum(labels(), 1)
    assert_same(FREL(solver="exact", alpha=0.01, loss=loss), few_levels(), y, "feature_weights_", 1e-10)


@pytest.mark.parametrize("solver", ["primal", "dual"])
def test_lfe(solver: str) -> None:
    assert_same(LFE(n_components=1, solver=solver), duplicates(), labels(), "components_", 1e-10)


def test_a_class_of_one_sample() -> None:
    y = np.arange(N_SAMPLES) % 2
    y[ALONE] = 2
    assert_same(ReliefF(), binary(), y, "feature_weights_", 1e-10)
    assert_same(Relief(), few_levels(), y, "feature_weights_", 1e-10)


def test_margins_of_samples() -> None:
    X, y = few_levels(), labels()
    fitted = ReliefF().fit(X, y)
    expected = fitted.margins(X, y)
    found = fitted.margins(da.from_array(X, chunks=(HEIGHTS, -1)), y)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-10 * np.abs(expected).max())


# Memory


def test_memory_does_not_grow_with_the_pairs_that_are_tied(force: Callable[..., None]) -> None:
    """Half of all pairs are equally far. Lists of them took 62 MB; all distances would take 23 MB."""
    force(max_extra_ties=Limits.max_extra_ties, max_listed_pairs=Limits.max_listed_pairs)
    n, y = 2400, np.arange(2400) % 2
    X = da.from_array((np.random.default_rng(0).random((n, 1)) < 0.5).astype(float), chunks=(300, 1))
    with dask.config.set(num_workers=1):
        ReliefF().fit(X[:600], y[:600])  # what is loaded and compiled does not count
        assert peak_of(lambda: ReliefF().fit(X, y)) < 4 * n**2
