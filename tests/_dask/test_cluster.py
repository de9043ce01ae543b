"""Tables that a real cluster of processes holds, and clusters that fail in the middle of a fit."""

import os
import re
import signal
import threading
import time
from contextlib import contextmanager, nullcontext

import dask
import dask.array as da
import numpy as np
import pytest
from contract import assert_same, same_bits
from dask_cluster import (
    cluster,
    kill,
    process_ids,
    scheduler_apart,
    wait_until,
    wide_table,
    worker_of,
)
from registry import THOROUGH, in_turn, long

from highrelief import FREL, IM4E, LFE, LOGO, EnsembleWeighting, IRelief, Relief, ReliefF
from highrelief._dask import scheduler as scheduler_module
from highrelief._dask import table as table_module
from highrelief._dask.row_blocks import RowBlocks
from highrelief._dask.row_neighbors import tied_weight
from highrelief._dask.scheduler import Executor

distributed = pytest.importorskip("distributed", reason="needs the extra 'dask'")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:Sending large graph"),
]
ways = pytest.mark.parametrize("way", table_module.PARTITIONS)
# For faults that a fit by columns and one by rows meet in the same code: clusters take seconds to start.
mainly_rows = pytest.mark.parametrize("way", table_module.PARTITIONS if THOROUGH else ["rows"])
mainly_columns = pytest.mark.parametrize("way", table_module.PARTITIONS if THOROUGH else ["columns"])


WEIGHTERS = [
    Relief(),
    ReliefF(),
    ReliefF(n_anchors=30, random_state=0),
    # A few steps: each passes over the table in the same way.
    IRelief(max_iter=3),
    IRelief(sigma=1.0, margin="prior", max_iter=3),
    LOGO(max_iter=3),
    IM4E(sigma=0.5, max_iter=3),
    FREL(solver="exact", alpha=0.1),
]


@pytest.fixture(scope="module")
def two_workers():
    with cluster(n_workers=2) as client:
        yield client


@pytest.fixture
def small_blocks(force):
    force(min_dask_columns=64, min_dask_rows=16)


@in_turn(pytest.mark.parametrize("weighter", WEIGHTERS), way=table_module.PARTITIONS)
def test_a_cluster_gives_the_weights_of_the_table_in_memory(weighter, way, two_workers, small_blocks):
    X, y = wide_table(100, 400)
    local = weighter.fit(X, y).feature_weights_
    with dask.config.set({"highrelief.partition": way}):
        ours = weighter.fit(da.from_array(X, chunks=(30, 90)), y)
    assert ours.execution_["backend"] == "dask cluster"
    assert ours.execution_["n_workers"] == 2
    assert ours.execution_["partition"] == way
    assert_same(ours.feature_weights_, local, 1e-6 if isinstance(weighter, LOGO) else 1e-10)


@ways
@pytest.mark.parametrize("solver", ["primal", "dual"])
def test_directions(solver, way, two_workers, small_blocks):
    X, y = wide_table(100, 150)
    local = LFE(n_components=3, n_neighbors=3, solver=solver).fit(X, y).components_
    with dask.config.set({"highrelief.partition": way}):
        ours = LFE(n_components=3, n_neighbors=3, solver=solver).fit(da.from_array(X, chunks=(30, 90)), y)
    np.testing.assert_allclose(ours.components_, local, atol=1e-9)


@ways
def test_the_order_in_which_workers_finish_changes_no_bit(way, two_workers, small_blocks):
    X, y = wide_table(100, 400)
    lazy = da.from_array(X, chunks=(30, 90))
    rng = np.random.default_rng(0)

    def delayed_at_random(block):
        time.sleep(float(rng.uniform(0.0, 0.05)))
        return block

    with dask.config.set({"highrelief.partition": way}):
        found = [
            IRelief(sigma=1.0, max_iter=3).fit(each, y).feature_weights_
            for each in (lazy, lazy.map_blocks(delayed_at_random, dtype=X.dtype), lazy)
        ]
    assert same_bits(found[0], found[1])
    assert same_bits(found[0], found[2])


@pytest.mark.parametrize("metric", ["manhattan", "euclidean"])
def test_where_blocks_lie_changes_no_bit(metric, two_workers, small_blocks):
    X, y = wide_table(100, 400)
    cuts = [(a, a + 80) for a in range(0, 400, 80)]
    workers = list(two_workers.ncores())

    def found(*places):
        parts = [
            two_workers.scatter(X[:, a:b], workers=[workers[k]], hash=False)
            for (a, b), k in zip(cuts, places, strict=True)
        ]
        lazy = da.concatenate(
            [da.from_delayed(dask.delayed(part), (100, 80), X.dtype) for part in parts], axis=1
        )
        with dask.config.set({"highrelief.partition": "columns"}):
            return ReliefF(metric=metric).fit(lazy, y).feature_weights_

    together, apart, alternating = found(0, 0, 0, 0, 0), found(0, 0, 1, 1, 1), found(1, 0, 1, 0, 1)
    assert same_bits(together, apart)
    assert same_bits(together, alternating)
    assert_same(together, ReliefF(metric=metric).fit(X, y).feature_weights_, 1e-10)


@in_turn(ways, sizes=[(1, 2), (3, 1)])
def test_the_number_of_workers_does_not_matter(sizes, way, small_blocks):
    n_workers, n_threads = sizes
    X, y = wide_table(100, 400)
    local = ReliefF().fit(X, y).feature_weights_
    with cluster(n_workers, n_threads), dask.config.set({"highrelief.partition": way}):
        ours = ReliefF().fit(da.from_array(X, chunks=(30, 90)), y)
    assert ours.execution_["n_workers"] == n_workers
    assert_same(ours.feature_weights_, local, 1e-10)


def test_columns_are_not_moved_and_not_brought_here(two_workers):
    """By columns, workers send distances and sums, and keep their columns.

    While it does not know how long tasks take, Dask may hand a small block or two to an idle worker.
    """
    X, y = wide_table(60, 80_000)
    lazy = da.from_array(X, chunks=(-1, 5000)).persist()
    distributed.wait(lazy)

    def sent():
        return sum(two_workers.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())

    before = sent()
    with dask.config.set({"highrelief.partition": "columns"}):
        weighter = IRelief(sigma=1.0, max_iter=10, tol=0.0).fit(lazy, y)
    assert weighter.execution_["n_blocks"] == 16
    # 21 passes over the table.
    assert sent() - before < X.nbytes / 2


# Faults


def in_the_background(fit):
    """A fit in a thread of its own, and what became of it."""
    outcome = {}

    def run():
        try:
            outcome["weights"] = fit()
        except Exception as error:
            outcome["error"] = error

    thread = threading.Thread(target=run)
    thread.start()
    return thread, outcome


class Slow:
    """Blocks that take a while to load, and count how often they were."""

    def __init__(self, seconds):
        self._seconds = seconds

    def __call__(self, block):
        time.sleep(self._seconds)
        return block


def slow_fit(X, y, way, *, weighter=None, chunks=(-1, 750), seconds=0.15):
    lazy = da.from_array(X, chunks=chunks).map_blocks(Slow(seconds), dtype=X.dtype)

    def fit():
        with dask.config.set({"highrelief.partition": way}):
            return (weighter or IRelief(sigma=1.0, max_iter=8, tol=0.0)).fit(lazy, y).feature_weights_

    return fit


def chunks_of(way):
    return (-1, 750) if way == "columns" else (20, -1)


@mainly_rows
def test_workers_that_are_killed_in_the_middle_of_a_fit(way, small_blocks):
    X, y = wide_table()
    local = IRelief(sigma=1.0, max_iter=8, tol=0.0).fit(X, y).feature_weights_
    with cluster(n_workers=3) as client:
        first = process_ids(client)
        thread, outcome = in_the_background(slow_fit(X, y, way, chunks=chunks_of(way)))
        time.sleep(0.8)
        assert thread.is_alive()
        kill(first[0])
        # Dask's nanny starts another one.
        wait_until(lambda: len(client.ncores()) == 3 and first[0] not in process_ids(client))
        assert thread.is_alive()
        kill(first[1])
        thread.join(120)
        assert not thread.is_alive()
    assert "error" not in outcome, outcome
    assert_same(outcome["weights"], local, 1e-10)


def rounds_of(monkeypatch, before=lambda number: None):
    """The numbers of the rounds of work from now on; what is to happen ``before`` each of them."""
    rounds = []
    results = Executor.compute

    def counted(self, tasks):
        rounds.append(len(rounds) + 1)
        before(rounds[-1])
        return results(self, tasks)

    monkeypatch.setattr(Executor, "compute", counted)
    return rounds


def gone(client, place):
    """Kill the worker of an address, and wait until the scheduler knows."""
    kill(client.run(os.getpid, workers=[place])[place])
    wait_until(lambda: place not in client.ncores())


def assert_same_by_columns(client, monkeypatch, weighter, name, replaced):
    """A fit by columns gives the bits of one before, with a method of Executor replaced."""
    X, y = wide_table(90, 900)
    table = da.from_array(X, chunks=(-1, 150))
    with dask.config.set({"highrelief.partition": "columns"}):
        before = weighter.fit(table, y).feature_weights_
        monkeypatch.setattr(Executor, name, replaced(getattr(Executor, name)))
        thread, outcome = in_the_background(lambda: weighter.fit(table, y).feature_weights_)
        thread.join(90)
    assert not thread.is_alive()
    assert "error" not in outcome, outcome
    np.testing.assert_array_equal(outcome["weights"], before)


@pytest.mark.parametrize("weighter", [ReliefF(n_neighbors=5), IRelief(sigma=1.0, max_iter=2, tol=0.0)])
def test_a_worker_that_is_killed_before_what_is_done_was_brought(weighter, small_blocks, monkeypatch):
    n_rounds = []

    def replaced(bring):
        def brought(self, futures, bound):
            n_rounds.extend([1] if bound else [])
            if len(n_rounds) == 1 and bound:
                gone(client, min(bound))
            return bring(self, futures, bound)

        return brought

    with cluster(n_workers=2) as client:
        assert_same_by_columns(client, monkeypatch, weighter, "_gather", replaced)
    assert len(n_rounds) > 1


def test_a_worker_whose_loss_another_fit_has_noted(small_blocks, monkeypatch):
    """Fits of an ensemble share what is known of the workers."""
    n_calls = []

    def replaced(bind):
        def bound(self, places):
            n_calls.append(1)
            if len(n_calls) == 2:  # what is held is taken again
                for place in places:
                    gone(client, place)
                self._addresses.clear()
                self.generation = object()
            return bind(self, places)

        return bound

    with cluster(n_workers=2) as client:
        weighter = IRelief(sigma=1.0, max_iter=2, tol=0.0)
        assert_same_by_columns(client, monkeypatch, weighter, "require", replaced)
    assert len(n_calls) > 2


@pytest.mark.parametrize("kill_in_round", [3, 5] if THOROUGH else [3])
@pytest.mark.parametrize(
    ("way", "weighter"),
    [
        ("columns", IRelief(sigma=1.0, max_iter=3, tol=0.0)),
        ("columns", FREL(solver="exact", alpha=0.01, penalty="l1")),
        ("rows", IRelief(sigma=1.0, max_iter=3, tol=0.0)),
    ],
)
def test_a_worker_that_is_gone_when_a_round_begins(weighter, way, kill_in_round, small_blocks, monkeypatch):
    """Whatever was bound to it, or lay with it, is made again by the others."""
    X, y = wide_table(90, 900)
    local = weighter.fit(X, y).feature_weights_
    with cluster(n_workers=2) as client:
        rounds = rounds_of(
            monkeypatch, lambda number: number == kill_in_round and kill(process_ids(client)[0])
        )
        chunks = (-1, 150) if way == "columns" else (30, -1)
        with dask.config.set({"highrelief.partition": way}):
            thread, outcome = in_the_background(
                lambda: weighter.fit(da.from_array(X, chunks=chunks), y).feature_weights_
            )
            thread.join(90)
        assert not thread.is_alive()
    assert len(rounds) >= kill_in_round
    assert "error" not in outcome, outcome
    assert_same(outcome["weights"], local, 1e-10)


def test_a_worker_that_is_gone_while_those_who_are_tied_are_looked_for(small_blocks, monkeypatch):
    """Lists that are cut, and the passes that count and weigh those whom they do not hold, are made again."""
    X = np.random.default_rng(0).integers(0, 2, (500, 3)).astype(float)
    y = (X[:, 0] != X[:, 1]).astype(int)
    y[::7] = 1 - y[::7]
    lazy, local = da.from_array(X, chunks=(125, -1)), ReliefF().fit(X, y).feature_weights_

    def fit():
        with dask.config.set({"highrelief.partition": "rows"}):
            return ReliefF().fit(lazy, y).feature_weights_

    with cluster(n_workers=2) as client:
        with monkeypatch.context() as watched:
            rounds, asked, of_pairs = rounds_of(watched), [], RowBlocks.map_pairs

            def noted(blocks, function, *more, **where):
                asked.append(function)
                return of_pairs(blocks, function, *more, **where)

            watched.setattr(RowBlocks, "map_pairs", noted)
            assert_same(fit(), local, 1e-10)
        assert tied_weight in asked
        # The last but one has the lists, the last one the sums; a worker dies before each.
        for doomed in rounds[-2:]:
            with monkeypatch.context() as harmed:
                again = rounds_of(
                    harmed, lambda number, doomed=doomed: number == doomed and kill(process_ids(client)[0])
                )
                thread, outcome = in_the_background(fit)
                thread.join(90)
                assert not thread.is_alive()
            assert again == rounds
            assert "error" not in outcome, outcome
            assert_same(outcome["weights"], local, 1e-10)
            client.wait_for_workers(2)


@long
@mainly_rows
def test_a_worker_that_joins_late(way, small_blocks):
    """By rows it gets its part of the work; by columns blocks stay with the workers that have them."""
    X, y = wide_table()
    weighter = IRelief(sigma=1.0, max_iter=8, tol=0.0)
    local = weighter.fit(X, y).feature_weights_
    with cluster(n_workers=1) as client:
        first = set(client.ncores())
        fit = slow_fit(X, y, way, weighter=weighter, chunks=chunks_of(way), seconds=0.5)
        thread, outcome = in_the_background(fit)
        time.sleep(0.5)
        client.cluster.scale(3)
        client.wait_for_workers(3)
        assert thread.is_alive()
        held = set()
        while thread.is_alive():
            held |= {worker for worker, values in client.has_what().items() if values}
            time.sleep(0.02)
    assert "error" not in outcome, outcome
    assert_same(outcome["weights"], local, 1e-10)
    assert way == "columns" or held - first


@long
@mainly_rows
def test_workers_with_less_memory_than_their_share_move_blocks_to_the_disk(way, tmp_path):
    """Two workers of 500 MB hold a table of 800 MB; none of them dies."""
    n_blocks, height, width = (40, 300, 16668) if way == "columns" else (40, 260, 19231)
    axis = int(way == "columns")

    def block(block_info=None):
        place = block_info[None]["chunk-location"]
        made = np.random.default_rng(place).random((height, width), dtype=np.float32)
        if place[1] == 0:
            made[:, 5] += 3.0 * (np.arange(height) % 2)
        return made

    chunks = [(height,), (width,)]
    chunks[axis] *= n_blocks
    lazy = da.map_blocks(block, chunks=tuple(chunks), dtype=np.float32)
    # By rows one anchor, so that there are few pairs of blocks: its own is sent from worker to worker.
    weighter = ReliefF(n_features_to_select=1, n_anchors=None if way == "columns" else 1, random_state=0)
    y = np.arange(lazy.shape[0]) % 2
    with (
        dask.config.set({"temporary-directory": str(tmp_path), "highrelief.partition": way}),
        cluster(n_workers=2, memory_limit="500MB") as client,
    ):
        before = process_ids(client)
        thread, outcome = in_the_background(lambda: weighter.fit(lazy, y).get_support(indices=True))
        spilled = 0
        while thread.is_alive():
            time.sleep(0.05)
            workers = client.scheduler_info(n_workers=-1)["workers"].values()
            spilled = max([spilled, *(each["metrics"]["spilled_bytes"]["disk"] for each in workers)])
        assert process_ids(client) == before
    assert "error" not in outcome, outcome
    assert outcome["weights"].tolist() == [5]
    assert spilled > 5e7


@mainly_columns
def test_a_scheduler_that_is_lost(way, small_blocks):
    X, y = wide_table()
    weighter = IRelief(sigma=1.0, max_iter=50, tol=0.0)
    with scheduler_apart() as (address, scheduler), worker_of(address):
        client = distributed.Client(address, set_as_default=True)
        try:
            client.wait_for_workers(1, timeout=60)
            thread, outcome = in_the_background(
                slow_fit(X, y, way, weighter=weighter, chunks=chunks_of(way), seconds=0.3)
            )
            time.sleep(1.0)
            assert thread.is_alive()
            scheduler.kill()
            thread.join(90)
            assert not thread.is_alive()
        finally:
            client.close(timeout=1)
    assert isinstance(outcome["error"], ConnectionError)
    assert "connection to the scheduler" in str(outcome["error"])
    assert "nothing was fitted" in str(outcome["error"])
    assert not hasattr(weighter, "feature_weights_")


@pytest.fixture(scope="module")
def one_thread():
    """A cluster that can do one thing at a time."""
    with cluster(n_workers=1) as client:
        yield client


@in_turn(
    pytest.mark.parametrize(
        "weighter",
        [
            ReliefF(),
            IRelief(sigma=1.0, max_iter=2),
            EnsembleWeighting(ReliefF(), n_estimators=3, random_state=0),
        ],
    ),
    aside={"": False, "which has stepped aside": True},
    way=table_module.PARTITIONS,
)
def test_a_fit_within_a_task_lets_others_have_its_thread(weighter, aside, way, one_thread):
    """Also where a round needs another one first, as for the means of weighted samples."""
    X, y = wide_table(60, 300)
    copies = 1.0 + np.arange(60) % 3

    def fit():
        with (
            dask.config.set({"highrelief.partition": way}),
            distributed.worker_client() if aside else nullcontext(),
        ):
            return weighter.fit(da.from_array(X, chunks=(30, 150)), y, sample_weight=copies).feature_weights_

    ours = one_thread.submit(fit, pure=False).result(timeout=90)
    assert_same(ours, weighter.fit(X, y, sample_weight=copies).feature_weights_, 1e-10)


@long
def test_a_single_worker_that_is_killed_comes_back(small_blocks):
    X, y = wide_table()
    local = IRelief(sigma=1.0, max_iter=8, tol=0.0).fit(X, y).feature_weights_
    with cluster(n_workers=1) as client:
        thread, outcome = in_the_background(slow_fit(X, y, "columns"))
        time.sleep(1.5)
        kill(process_ids(client)[0])
        thread.join(120)
        assert not thread.is_alive()
    assert "error" not in outcome, outcome
    assert_same(outcome["weights"], local, 1e-10)


@mainly_rows
def test_a_scheduler_that_is_lost_before_a_fit(way, monkeypatch):
    X, y = wide_table(60, 600)
    weighter = ReliefF()
    with scheduler_apart() as (address, scheduler):
        client = distributed.Client(address, set_as_default=False, timeout=10)
        # Dask would take the client of another cluster of these tests instead.
        monkeypatch.setattr(scheduler_module, "_current_client", lambda: client)
        try:
            scheduler.kill()
            with (
                dask.config.set({"highrelief.partition": way}),
                pytest.raises(ConnectionError, match=r"connection to the scheduler .* nothing was fitted"),
            ):
                weighter.fit(da.from_array(X, chunks=(-1, 200)), y)
        finally:
            client.close(timeout=1)
    assert not hasattr(weighter, "feature_weights_")


@contextmanager
def stoppable(patience):
    """The processes of a scheduler and of its worker, and a client of theirs with so much patience."""
    with (
        scheduler_apart() as (address, scheduler),
        worker_of(address) as worker,
        dask.config.set({"highrelief.patience": patience}),
    ):
        client = distributed.Client(address, set_as_default=True)
        try:
            client.wait_for_workers(1, timeout=60)
            yield scheduler, worker
        finally:
            client.close(timeout=1)


needs_stop = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="this system does not stop processes")


@needs_stop
@mainly_rows
def test_a_scheduler_that_is_stopped(way, small_blocks):
    X, y = wide_table()
    weighter = IRelief(sigma=1.0, max_iter=50, tol=0.0)
    with stoppable(patience="5s") as (scheduler, _):
        fit = slow_fit(X, y, way, weighter=weighter, chunks=chunks_of(way), seconds=0.3)
        thread, outcome = in_the_background(fit)
        time.sleep(1.0)
        assert thread.is_alive()
        scheduler.send_signal(signal.SIGSTOP)
        thread.join(90)
        assert not thread.is_alive()
    assert isinstance(outcome["error"], ConnectionError)
    assert re.search(
        r"has not answered for 5 seconds \(highrelief.patience .* Nothing", str(outcome["error"])
    )
    assert not hasattr(weighter, "feature_weights_")


@needs_stop
def test_a_scheduler_that_is_stopped_before_a_fit():
    X, y = wide_table(60, 600)
    given = {
        "X": (da.from_array(X, chunks=(-1, 200)), y),
        "y": (X, da.from_array(y, chunks=20)),
        "data frame": (da.from_array(X[:, :9], chunks=(20, -1)).to_dask_dataframe(), y),
    }
    with stoppable(patience=3) as (scheduler, _):
        scheduler.send_signal(signal.SIGSTOP)
        for of_dask, samples in given.items():
            thread, outcome = in_the_background(lambda samples=samples: ReliefF().fit(*samples))
            thread.join(90)
            assert not thread.is_alive(), of_dask
            assert "has not answered for 3 seconds" in str(outcome.get("error")), (of_dask, outcome)


@needs_stop
@mainly_columns
def test_a_worker_that_is_stopped(way, small_blocks):
    """Dask's scheduler replaces it when it has heard nothing of it for as long as it waits."""
    X, y = wide_table()
    local = IRelief(sigma=1.0, max_iter=8, tol=0.0).fit(X, y).feature_weights_
    with dask.config.set({"distributed.scheduler.worker-ttl": "6s"}), cluster(n_workers=2) as client:
        stopped = process_ids(client)[0]
        thread, outcome = in_the_background(slow_fit(X, y, way, chunks=chunks_of(way)))
        time.sleep(0.8)
        assert thread.is_alive()
        os.kill(stopped, signal.SIGSTOP)
        thread.join(180)
        assert not thread.is_alive()
    assert "error" not in outcome, outcome
    assert_same(outcome["weights"], local, 1e-10)


@long
@needs_stop
def test_a_scheduler_that_goes_on_in_time(small_blocks):
    X, y = wide_table()
    local = IRelief(sigma=1.0, max_iter=8, tol=0.0).fit(X, y).feature_weights_
    with stoppable(patience="1 minute") as (scheduler, _):
        thread, outcome = in_the_background(slow_fit(X, y, "columns"))
        time.sleep(1.0)
        assert thread.is_alive()
        scheduler.send_signal(signal.SIGSTOP)
        time.sleep(4.0)
        scheduler.send_signal(signal.SIGCONT)
        thread.join(120)
        assert not thread.is_alive()
    assert "error" not in outcome, outcome
    assert_same(outcome["weights"], local, 1e-10)


def test_a_task_may_take_longer_than_the_patience(small_blocks):
    X, y = wide_table(60, 600)
    local = ReliefF().fit(X, y).feature_weights_
    with stoppable(patience="5 minutes"):
        options = {"weighter": ReliefF(), "chunks": (-1, -1)}
        # The scheduler imports what the tasks are made of, and answers nobody meanwhile.
        slow_fit(X, y, "columns", **options, seconds=0.0)()
        with dask.config.set({"highrelief.patience": "8s"}):
            found = slow_fit(X, y, "columns", **options, seconds=11.0)()
    assert_same(found, local, 1e-10)


@pytest.mark.parametrize("patience", [0, -1, "soon", "", None, "0s", [1]])
def test_a_patience_that_is_none(patience, two_workers):
    X, y = wide_table(60, 600)
    with (
        dask.config.set({"highrelief.patience": patience}),
        pytest.raises(ValueError, match=r"highrelief.patience=.* is invalid: use a positive number"),
    ):
        ReliefF().fit(da.from_array(X, chunks=(-1, 200)), y)


def test_a_cluster_without_workers():
    X, y = wide_table(60, 600)
    with (
        dask.config.set({"highrelief.patience": 2}),
        distributed.LocalCluster(n_workers=0, dashboard_address=":0") as empty,
        distributed.Client(empty),
        pytest.raises(RuntimeError, match="no worker for 2 seconds"),
    ):
        ReliefF().fit(da.from_array(X, chunks=(-1, 200)), y)


def test_the_configuration_is_left_as_it_was(two_workers):
    before = dask.config.get("distributed.admin.large-graph-warning-threshold")
    X, y = wide_table(60, 600)
    EnsembleWeighting(ReliefF(), n_estimators=4).fit(da.from_array(X, chunks=(-1, 200)), y)
    assert dask.config.get("distributed.admin.large-graph-warning-threshold") == before


def test_an_error_in_a_block_is_the_users_to_see(two_workers):
    X, y = wide_table(60, 600)

    def fails(block):
        raise OSError("the disk of block 3 is gone")

    lazy = da.from_array(X, chunks=(-1, 100)).map_blocks(fails, dtype=X.dtype, meta=np.empty((0, 0)))
    with pytest.raises(OSError, match="the disk of block 3 is gone") as raised:
        ReliefF().fit(lazy, y)
    assert raised.value.__cause__ is not raised.value
