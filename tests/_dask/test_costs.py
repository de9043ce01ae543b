"""The cost model of fits on a Dask cluster, held against what Dask counts."""

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("distributed", reason="needs the extra 'dask'")

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import dask_costs as costs  # noqa: E402
from benchmarks import dask_scale  # noqa: E402
from benchmarks.dask_count import Case, cluster, counted, modeled  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:Sending large graph"),
    pytest.mark.xdist_group("dask cluster"),
]

#: How far what is sent may be beyond the bounds of the model.
FACTOR = 1.3
CASES = [
    Case("relieff", "columns", 300, 2304, 256),
    Case("relieff", "columns", 300, 2304, 256, "int8"),
    Case("relieff", "columns", 600, 1024, 256, n_anchors=60),
    Case("irelief", "columns", 300, 2304, 256),
    Case("relieff", "rows", 1536, 100, 256),
    Case("irelief", "rows", 1536, 100, 256),
]


@pytest.fixture(scope="module")
def two_workers():
    with cluster(2) as client:
        yield client


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.label)
def test_dask_counts_what_the_model_says(case, two_workers):
    # By rows pairs of blocks are dealt out to whoever is idle, and the model knows the mean of what is sent.
    fits = [counted(case, two_workers) for _ in range(5 if case.by == "rows" else 1)]
    for found in fits:
        tasks, least, most, shared = modeled(case, 2, found.places)
        assert found.tasks == tasks
        np.testing.assert_allclose(found.from_client, shared, rtol=0.15)
    assert least / FACTOR < np.mean([found.by_workers for found in fits]) < most * FACTOR


@pytest.mark.parametrize(("n", "tasks"), [(1, 0), (2, 1), (4, 1), (5, 3), (16, 5), (17, 8)])
def test_trees(n, tasks):
    assert costs.tree_tasks(n) == tasks
    # On one worker nothing moves, on as many as there are results all but one do.
    assert costs.tree_moves([0] * n) == 0
    assert costs.tree_moves(range(n)) == n - 1
    assert costs.expected_moves(n, 1) == pytest.approx(0.0)


@pytest.mark.parametrize("n_workers", [2, 3, 7])
def test_moves_on_average(n_workers):
    rng = np.random.default_rng(0)
    drawn = [costs.tree_moves(rng.integers(0, n_workers, 4).tolist()) for _ in range(4000)]
    assert costs.expected_moves(4, n_workers) == pytest.approx(np.mean(drawn), abs=0.06)


def test_few_pairs_need_few_blocks():
    many = costs.Problem(1000, 10, 8, n_blocks=20, n_workers=5)
    assert costs.fetched(many, 1e6) == pytest.approx(4 * 20)
    assert costs.fetched(many, 5) == pytest.approx(4 * 20 * 2 / 21)


def test_the_prediction_names_the_first_thing_that_ends():
    found = {choice.name: choice for choice in dask_scale.choices()}
    assert Counter(choice.possible for choice in found.values())[True] >= 2
    assert not found["all pairs, by columns"].possible
    # 4 bytes for every pair of 500,000 samples, from four workers, and their sum.
    assert found["all pairs, by columns"].worker == pytest.approx(5 * 4 * 5e5**2, rel=0.01)
    assert found["all pairs, by columns"].ends_by == "memory of a worker"


def test_the_tables_of_the_page_are_those_of_the_run_that_was_kept(tmp_path, monkeypatch):
    page = tmp_path / "scale.md"
    page.write_bytes(dask_scale.PAGE.read_bytes())
    monkeypatch.setattr(dask_scale, "PAGE", page)
    dask_scale.write_page()
    assert page.read_text(encoding="utf-8") == (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
