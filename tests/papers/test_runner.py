"""Experiments of the papers: how they are planned, kept, run and put beside what was published."""

import json
import math
import os
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from protocol_sets import written_set

from highrelief.cli.reproduce import Reproduction
from highrelief.papers import lfe_2008, runner
from highrelief.papers.data import GENERATED, BadSetError, DataSet, NoSuchSetError, Sets
from highrelief.papers.experiment import Cell, Experiment, best_count, curve, error
from highrelief.papers.results import Estimate, Pair, Results, measured, p_value
from highrelief.papers.runner import Checkpoints, experiments, find_experiment, not_run, plan, run_plan

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path):
    written_set(tmp_path / "data", "thyroid")
    written_set(tmp_path / "data", "twonorm", seed=1)
    return tmp_path / "data"


class Counting(Experiment):
    """Counts how often it is asked."""

    name, paper, title = "counting", "sun2008", "Counts"
    datasets, repeats = ("thyroid", "twonorm", "nowhere"), 3
    asked = 0

    def seconds(self, cell):
        return 2.0

    def run(self, cell, data):
        type(self).asked += 1
        if type(self).asked > getattr(self, "most", math.inf):
            raise KeyboardInterrupt
        return {"value": float(data.X.sum()) + cell.repeat}

    def results(self, outcomes):
        return []


@pytest.fixture
def counting(monkeypatch):
    experiment = Counting()
    monkeypatch.setattr(Counting, "asked", 0)
    monkeypatch.setattr("highrelief.papers.runner.find_experiment", lambda name: experiment)
    return experiment


def test_what_is_done_is_not_done_again(counting, folder, tmp_path):
    planned = plan(counting, data=folder, cache=tmp_path / "cache", repeats=2)
    assert planned.missing == ["nowhere"]
    assert [cell.name for cell in planned.remaining[:2]] == ["thyroid//0", "twonorm//0"]
    assert planned.seconds(1) == 8.0
    told = []
    first = run_plan(planned, progress=lambda done, total: told.append((done, total)))
    assert (counting.asked, told[-1]) == (4, (4, 4))
    again = plan(counting, data=folder, cache=tmp_path / "cache", repeats=3)
    assert (len(again.done), len(again.remaining)) == (4, 2)
    more = run_plan(again)
    assert counting.asked == 6
    assert {cell: more[cell] for cell in first} == first
    # Cells that were measured say how long the rest takes.
    assert plan(counting, data=folder, cache=tmp_path / "cache", repeats=9).seconds(1) < 2.0


def test_sets_and_repeats_that_are_asked_for(counting, folder, tmp_path, monkeypatch):
    planned = plan(counting, data=folder, cache=tmp_path, repeats=1, datasets=["thyroid", "thyroid"])
    assert [cell.name for cell in planned.remaining] == ["thyroid//0"]
    assert len(plan(counting, data=folder, cache=tmp_path, repeats=1, datasets=[]).remaining) == 2
    patterns = plan(counting, data=folder, cache=tmp_path, repeats=1, datasets=["t*"])
    assert patterns.datasets == ["thyroid", "twonorm"]
    assert len(plan(counting, data=folder, cache=tmp_path, repeats=1, settings=["*"]).remaining) == 2
    with pytest.raises(ValueError, match="no cells with the settings a, b"):
        plan(counting, data=folder, cache=tmp_path, settings=["a", "b"])
    # Who asks for more where the paper has one run gets one.
    monkeypatch.setattr(Counting, "repeats", 1)
    assert len(plan(counting, data=folder, cache=tmp_path, repeats=9).remaining) == 2


def test_an_interruption_keeps_what_is_done(counting, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(Counting, "most", 3, raising=False)
    with pytest.raises(KeyboardInterrupt):
        run_plan(plan(counting, data=folder, cache=tmp_path, repeats=3))
    monkeypatch.setattr(Counting, "most", math.inf, raising=False)
    planned = plan(counting, data=folder, cache=tmp_path, repeats=3)
    assert (len(planned.done), len(planned.remaining)) == (3, 3)


@pytest.mark.usefixtures("usual_handler")
def test_an_interruption_while_processes_are_started_is_not_lost():
    done = []

    def start():
        with runner._interrupts_blocked_in_children():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
            done.append(1)
        time.sleep(5)  # where it may be delivered

    # Which hears it in the place of the one that does not.
    other = threading.Thread(target=time.sleep, args=(1.0,))
    other.start()
    with pytest.raises(KeyboardInterrupt):
        start()
    other.join()
    assert done == [1]


def test_processes_hear_no_interruption():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        with runner._interrupts_blocked_in_children():
            found = pool.submit(signal.pthread_sigmask, signal.SIG_BLOCK, ())
        assert signal.SIGINT in found.result()
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_a_torn_line_spoils_no_other(counting, folder, tmp_path):
    run_plan(plan(counting, data=folder, cache=tmp_path, repeats=1))
    path = tmp_path / "counting.jsonl"
    path.write_text(path.read_text() + '\n{"dataset": "thyr')
    run_plan(plan(counting, data=folder, cache=tmp_path, repeats=2))
    planned = plan(counting, data=folder, cache=tmp_path, repeats=2)
    assert (len(planned.done), len(planned.remaining)) == (4, 0)


def test_other_data_and_other_versions_are_computed_anew(counting, folder, tmp_path, monkeypatch):
    run_plan(plan(counting, data=folder, cache=tmp_path, repeats=1))
    written_set(folder, "thyroid", seed=7)
    assert [c.dataset for c in plan(counting, data=folder, cache=tmp_path, repeats=1).remaining] == [
        "thyroid"
    ]
    monkeypatch.setattr(Counting, "version", 2)
    assert len(plan(counting, data=folder, cache=tmp_path, repeats=1).remaining) == 2


def test_random_numbers_belong_to_the_cell():
    cell = Cell("thyroid", "", 3)
    assert cell.random("a").randint(10**9) == Cell("thyroid", "", 3).random("a").randint(10**9)
    others = {each.random("a").randint(10**9) for each in (cell, Cell("thyroid", "", 4), Cell("x", "", 3))}
    assert len(others | {cell.random("b").randint(10**9)}) == 4


def test_sets_of_a_folder(folder):
    sets = Sets(folder)
    assert "thyroid" in sets
    assert "nowhere" not in sets
    found = sets.get("thyroid")
    assert found.X.shape == (110, 3)
    train, test = found.split(1, 60)
    assert sorted([*train, *test]) == list(range(110))
    with pytest.raises(NoSuchSetError, match="nowhere is not at hand"):
        sets.get("nowhere")


def test_a_file_of_another_form_is_named(folder):
    path = folder / "group" / "thyroid.npz"
    path.write_text("none")
    with pytest.raises(BadSetError, match=r"thyroid.npz is no file with the arrays X and y"):
        Sets(folder).get("thyroid")
    np.savez(path, X=np.zeros((3, 2)))
    with pytest.raises(BadSetError, match="arrays X and y"):
        Sets(folder).get("thyroid")
    np.savez(path, X=np.zeros((3, 2)), y=np.zeros(4))
    with pytest.raises(BadSetError, match=r"shape \(3, 2\) and y of shape \(4,\)"):
        Sets(folder).get("thyroid")


def test_a_set_without_partitions_gets_random_ones(folder):
    found = DataSet("x", np.zeros((30, 2)), np.arange(30) % 2)
    for held, n, repeat in ((found, 12, 0), (Sets(folder).get("thyroid"), 12, 4)):
        train, test = held.split(repeat, n)
        assert len(train) == n
        assert sorted([*train, *test]) == list(range(len(held.y)))
    assert not np.array_equal(found.split(0, 12)[0], found.split(1, 12)[0])
    assert np.array_equal(found.split(1, 12)[0], found.split(1, 12)[0])


@pytest.mark.parametrize("name", sorted(GENERATED))
def test_generated_sets_need_no_folder(name, tmp_path):
    made = Sets(None).get(name)
    assert set(made.y) == {0, 1}
    assert made.digest == Sets().get(name).digest
    # A file of the name has precedence.
    written_set(tmp_path, name)
    assert len(Sets(None, tmp_path).get(name).y) == 110


# Ours beside theirs


def test_apart_in_standard_errors():
    pair = Pair("a", "b", Estimate(12.0, 3.0, 9), Estimate(10.0, 4.0, 16))
    assert pair.z_score == pytest.approx(2.0 / math.hypot(1.0, 1.0))
    assert not pair.is_far
    assert Pair("a", "b", Estimate(14.0, 3.0, 9), Estimate(10.0, 4.0, 16)).is_far
    assert Pair("a", "b", Estimate(14.0, 3.0, 9), None).z_score is None
    assert Pair("a", "b", Estimate(14.0), Estimate(10.0, 4.0, 16)).z_score is None
    # Without a published deviation ours stands in.
    assert Pair("a", "b", Estimate(12.0, 3.0, 9), Estimate(10.0, None, 9)).z_score == pytest.approx(
        2.0 / math.hypot(1.0, 1.0)
    )


def test_measured_and_written_as_in_the_papers():
    found = measured([1.0, 2.0, 3.0])
    assert (found.mean, found.deviation, found.n) == (2.0, 1.0, 3)
    assert str(found) == "2.0(1.0)"
    assert measured([4.0]).deviation is None
    pairs = [Pair("a", "KNN", Estimate(14.0, 3.0, 9), Estimate(10.0, 4.0, 16)), Pair("b", "LFE", found, None)]
    table = Results("Table", "set", "%", pairs)
    assert table.lines() == [
        ["set", "KNN", "LFE"],
        ["a", "14.0(3.0) / 10.0(4.0) (+2.8)", ""],
        ["b", "", "2.0(1.0) / -"],
    ]
    alone = Results("Table", "set", "%", pairs[1:])
    assert alone.lines() == [["set", "LFE"], ["b", "2.0(1.0)"]]
    assert (table.heading, alone.heading) == (
        "Table (%): ours / theirs (standard errors apart)",
        "Table (%)",
    )
    assert "| a | **14.0(3.0) / 10.0(4.0) (+2.8)** |  |" in table.markdown()


def test_a_page_says_what_is_far_apart_and_why(monkeypatch):
    monkeypatch.setattr(Counting, "reasons", ("The splits differ.",))
    near = Pair("a", "KNN", Estimate(10.1, 3.0, 9), Estimate(10.0, 4.0, 16))
    far = Pair("b", "KNN", Estimate(14.0, 3.0, 9), Estimate(10.0, 4.0, 16))

    def page(*pairs):
        results = [Results("Table", "set", "%", list(pairs))]
        return Reproduction(Counting(), {}, results, ["nowhere"], ["twonorm"]).markdown()

    assert "b, KNN: 14.0(3.0) against 10.0(4.0), +2.8 standard errors" in page(near, far)
    assert "- The splits differ." in page(near, far)
    assert "splits" not in page(near)
    assert "Not at hand: nowhere\n" in page(near)
    assert "Made by a generator: twonorm\n" in page(near)


def test_a_paired_t_test_is_written_as_the_lfe_paper_does():
    from scipy.stats import ttest_rel

    better, worse = [1.0, 2.0, 3.0, 2.0], [1.5, 2.1, 3.6, 2.2]
    assert p_value(better, worse) == pytest.approx(ttest_rel(better, worse).pvalue)
    assert str(lfe_2008._tested(better, worse)) == f"{ttest_rel(better, worse).pvalue:.2g}+"
    assert str(lfe_2008._tested([1.0, 2.0], [0.0, 1.0])) == "< 0.001-"
    assert lfe_2008._tested([1.0], [2.0]) is None
    assert lfe_2008._quoted("< 0.001-").mean == 0.001


# Judges


def test_judges_are_nearest_neighbors():
    from sklearn.neighbors import KNeighborsClassifier

    random = np.random.default_rng(0)
    X_train, X_test = random.standard_normal((50, 4)), random.standard_normal((30, 4))
    y, y_test = (X_train[:, 0] > 0).astype(int), (X_test[:, 0] > 0).astype(int)
    for k in (1, 5):
        wrong = [
            1.0 - KNeighborsClassifier(k).fit(X_train[:, :t], y).score(X_test[:, :t], y_test)
            for t in (1, 2, 3, 4)
        ]
        assert curve(X_train, y, X_test, y_test, k, 6) == pytest.approx([*wrong, wrong[-1], wrong[-1]])
        assert error(X_train, y, X_test, y_test, k) == pytest.approx(wrong[-1])
    assert best_count(X_train, y) in range(1, 16, 2)


# All experiments


def test_every_experiment_says_what_it_is():
    known = experiments()
    for name, each in known.items():
        assert each.name == name
        assert each.title
        assert each.datasets
        assert find_experiment(name) is not None
    assert not set(known) & set(not_run())
    with pytest.raises(LookupError, match="did you mean lfe-table"):
        find_experiment("lfe-table")
    with pytest.raises(LookupError, match="sizes of the sets"):
        find_experiment("lfe-table1")


@pytest.fixture(scope="module")
def lfe_outcomes(tmp_path_factory):
    """A quick look at all of the LFE paper: two runs on each of two small sets."""
    data = tmp_path_factory.mktemp("data")
    written_set(data, "thyroid")
    written_set(data, "twonorm", seed=1)
    planned = plan(
        find_experiment("lfe-table2"),
        data=data,
        cache=data / "cache",
        repeats=2,
        datasets=("twonorm", "thyroid"),
    )
    return run_plan(planned), data


def test_the_experiments_of_the_lfe_paper(lfe_outcomes):
    pytest.importorskip("matplotlib", reason="figures need the extra 'report'")
    outcomes, data = lfe_outcomes
    table, tests = find_experiment("lfe-table2").results(outcomes)
    assert {pair.published.text for pair in tests.pairs if pair.row == "thyroid"} == {"0.001+", "0.36+"}
    assert table.row_names == ["twonorm", "thyroid"]
    assert table.column_names == list(lfe_2008.METHODS)
    for pair in table.pairs:
        reproduced = [
            100 * run["errors"].get(pair.column, 0)
            for cell, run in outcomes.items()
            if cell.dataset == pair.row
        ]
        if pair.column != "NCA":
            assert pair.reproduced.mean == pytest.approx(np.mean(reproduced))
        assert 0.0 <= pair.reproduced.mean < 50.0
        assert pair.published.n == 20
    (curves,) = find_experiment("lfe-fig2").results(outcomes)
    assert all(pair.published is None for pair in curves.pairs)
    (times,) = find_experiment("lfe-table3").results(outcomes)
    assert all(pair.reproduced.mean > 0 for pair in times.pairs)
    for name in ("lfe-fig2", "lfe-fig3"):
        (picture,) = find_experiment(name).figures(outcomes).values()
        assert picture.axes
    # The figures have the same cells: nothing is left to do for them.
    again = plan(
        find_experiment("lfe-fig2"), data=data, cache=data / "cache", repeats=2, datasets=("thyroid",)
    )
    assert again.remaining == []
    json.dumps(list(outcomes.values()), allow_nan=False)


def test_a_cell_does_what_the_paper_says(lfe_outcomes):
    """One run again, by scikit-learn's classifier and the estimators of the package."""
    from sklearn.neighbors import KNeighborsClassifier

    outcomes, data = lfe_outcomes
    cell = Cell("twonorm", "", 1)
    outcome, held = outcomes[cell], Sets(data).get("twonorm")
    split = lfe_2008.split_of(cell, held)
    train, test = held.split(1, 140)
    assert split.X_train.shape == (len(train), 3 + lfe_2008.N_IRRELEVANT)
    assert split.X_train.min(axis=0) == pytest.approx(0.0)
    assert split.X_train.max(axis=0) == pytest.approx(1.0)
    # The irrelevant features are drawn anew for every run, and never depend on the class.
    assert not np.allclose(
        split.X_train[:, -1], lfe_2008.split_of(Cell("twonorm", "", 2), held).X_train[:, -1]
    )
    k = outcome["chosen"]["K"]
    plainly = KNeighborsClassifier(k).fit(split.X_train, split.y)
    assert outcome["errors"]["KNN"] == pytest.approx(1.0 - plainly.score(split.X_test, held.y[test]))
    A = lfe_2008.lfe_directions((split.X_train, split.y), outcome["chosen"]["M"])[
        :, : outcome["chosen"]["LFE"]
    ]
    projected = KNeighborsClassifier(k).fit(split.X_train @ A, split.y)
    assert outcome["errors"]["LFE"] == pytest.approx(1.0 - projected.score(split.X_test @ A, held.y[test]))


def test_kept_cells_are_read_back(counting, tmp_path):
    checkpoints = Checkpoints(tmp_path, counting)
    checkpoints.add(Cell("thyroid", "s", 1), {"a": 1.5}, data="d", seconds=0.25)
    assert checkpoints.outcomes({"thyroid": "d"}) == {Cell("thyroid", "s", 1): {"a": 1.5}}
    assert checkpoints.outcomes({"thyroid": "other"}) == {}
    assert checkpoints.seconds() == {"thyroid/s": [0.25]}


@pytest.mark.parametrize(
    "line", [b"\xc3", b"[]", b"1", b"{}", b'{"dataset": "thyroid"}', b"[" * 100_000, b"\0"]
)
def test_a_line_that_is_not_ours_spoils_no_other(counting, tmp_path, line):
    checkpoints = Checkpoints(tmp_path, counting)
    checkpoints.add(Cell("thyroid", "s\u2028", 1), {"a": 1.5}, data="d", seconds=0.25)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes() + b"\n" + line)
    checkpoints.add(Cell("thyroid", "s", 2), {"a": 2.5}, data="d", seconds=0.25)
    found = checkpoints.outcomes({"thyroid": "d"})
    assert found == {Cell("thyroid", "s\u2028", 1): {"a": 1.5}, Cell("thyroid", "s", 2): {"a": 2.5}}


def test_a_cell_is_on_the_disk_when_it_is_kept(counting, tmp_path, monkeypatch):
    reached = []
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (reached.append(os.fstat(handle).st_ino), fsync(handle)))
    Checkpoints(tmp_path, counting).add(Cell("thyroid", "s", 1), {"a": 1.5}, data="d", seconds=0.25)
    (path,) = tmp_path.iterdir()
    assert reached == [path.stat().st_ino, tmp_path.stat().st_ino]
