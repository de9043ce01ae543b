"""What goes wrong from outside: interruptions, callbacks that fail, other processes, memory that runs out."""

import re
import signal
import threading
import time

import pytest
from callbacks import needs_callbacks
from contract import outcome, same_bits
from processes import run
from registry import continuous_table, over_families
from thread_cases import n_helpers
from threadpoolctl import threadpool_info

from highrelief import (
    DANN,
    FREL,
    LFE,
    LOGO,
    CrossValidatedSelector,
    EnsembleWeighting,
    ErrorControlledSelector,
    FisherScore,
    IRelief,
    ReliefF,
)
from highrelief._engine import memory, threads
from highrelief._engine.limits import limits
from highrelief._engine.threads import one_blas_thread, run_all
from highrelief.base.progress import listening
from highrelief.cli.errors import RunError
from highrelief.cli.rank import fit_to_table
from highrelief.io.roles import InputTable

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# Ctrl-C


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def interrupts_at(step):
    def watcher(done, total):
        if done == step:
            signal.raise_signal(signal.SIGINT)

    return watcher


#: With steps that somebody can watch; three are taken at least.
WATCHED = {
    "IRelief": lambda: IRelief(sigma=1.0, n_jobs=2),
    "LOGO": lambda: LOGO(sigma=3.0, alpha=0.5, n_jobs=2),
    "EnsembleWeighting": lambda: EnsembleWeighting(ReliefF(), n_estimators=6, random_state=0, n_jobs=2),
    "CrossValidatedSelector": lambda: CrossValidatedSelector(ReliefF(), cv=4, n_jobs=2),
    "ErrorControlledSelector": lambda: ErrorControlledSelector(
        FisherScore(), n_permutations=9, level=0.5, random_state=0, n_jobs=2
    ),
}


@pytest.mark.usefixtures("usual_handler")
@pytest.mark.parametrize("name", WATCHED)
def test_an_interrupted_fit_leaves_nothing_behind(name):
    X, y = continuous_table(200)
    expected = outcome(WATCHED[name](), X, y)
    before = n_helpers(), blas_threads()
    weighter = WATCHED[name]()
    with listening(interrupts_at(2)), pytest.raises(KeyboardInterrupt):
        weighter.fit(X, y)
    assert not hasattr(weighter, "feature_weights_")
    assert (n_helpers(), blas_threads()) == before
    # The same object, and a new one.
    assert outcome(weighter, X, y) == expected
    assert outcome(WATCHED[name](), X, y) == expected
    assert (n_helpers(), blas_threads()) == before


@pytest.mark.usefixtures("usual_handler")
@pytest.mark.parametrize("when", ["before", "between", "inside"])
def test_an_interruption_stops_those_who_help(monkeypatch, when):
    """Wherever the caller is: before the work, between two pieces of it, or in one."""
    begun, seen, go_on = [], threading.Event(), threading.Event()
    start = threads._start

    def piece(i):
        begun.append(i)
        if threading.current_thread() is not threading.main_thread():
            seen.set()
            assert go_on.wait(30)
            # Long enough for the interruption to arrive before all pieces are done.
            time.sleep(0.01)
            return
        assert seen.wait(30)
        if when == "inside":
            # The helper goes on only when the interruption is on its way.
            go_on.set()
            signal.raise_signal(signal.SIGINT)

    def interrupted(work, n_times, started):
        start(work, n_times, started)
        if when == "before":
            assert seen.wait(30)
            go_on.set()
            signal.raise_signal(signal.SIGINT)

    class Places(list):
        def __getitem__(self, place):
            if when == "between" and place > 1 and threading.current_thread() is threading.main_thread():
                go_on.set()
                signal.raise_signal(signal.SIGINT)
            return super().__getitem__(place)

    monkeypatch.setattr(threads, "_start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_all(piece, Places((i,) for i in range(1000)), 2)
    assert len(begun) < 1000
    monkeypatch.undo()
    assert run_all(lambda i: i, [(i,) for i in range(9)], 2) == list(range(9))


@pytest.mark.usefixtures("usual_handler")
def test_an_interruption_of_who_waits_for_a_lock_leaves_it_to_others():
    # Raised as soon as the lock is had: Python 3.14 does not let go of one that ``with`` has taken then.
    lock, inside = threads.Exclusive(), threading.Event()

    def holding():
        inside.set()
        time.sleep(0.05)
        signal.raise_signal(signal.SIGINT)

    def waits():
        lock.run(lambda: None)
        time.sleep(5)  # where it may be raised

    helper = threading.Thread(target=lock.run, args=(holding,), daemon=True)
    helper.start()
    assert inside.wait(30)
    with pytest.raises(KeyboardInterrupt):
        waits()
    helper.join(30)
    other = threading.Thread(target=lock.run, args=(lambda: None,), daemon=True)
    other.start()
    other.join(30)
    assert not other.is_alive()


@pytest.mark.usefixtures("usual_handler")
def test_an_interruption_while_blas_is_limited_lifts_the_limit(monkeypatch):
    before, set_threads, calls = blas_threads(), threads._set_blas_threads, []

    def interrupted(limits):
        set_threads(limits)
        calls.append(limits)
        if len(calls) == 1:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(threads, "_set_blas_threads", interrupted)
    with pytest.raises(KeyboardInterrupt), one_blas_thread():
        pytest.fail("the interruption comes before")
    assert blas_threads() == before
    assert threads._shared.n_limiting == 0


# Callbacks that fail


class CallbackError(Exception):
    """What only the callback raises."""


class Fails:
    """Callback that fails when it is told something for the n-th time; ``None``: it counts."""

    def __init__(self, at=None):
        self.at, self.n_calls = at, 0

    def _told(self):
        self.n_calls += 1
        if self.n_calls == self.at:
            raise CallbackError

    def setup(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context):
        self._told()

    def on_fit_task_end(self, estimator, context):
        self._told()

    def teardown(self, estimator, context): ...


@needs_callbacks
@over_families
def test_an_error_in_a_callback_comes_out(entry):
    X, y = continuous_table()
    counting = Fails()
    expected = outcome(entry.make().set_callbacks(counting), X, y)
    if not counting.n_calls:
        pytest.skip("a fit in one step tells callbacks nothing")
    before = n_helpers(), blas_threads()
    weighter = entry.make()
    for at in (1, 1 + counting.n_calls // 2, counting.n_calls):
        with pytest.raises(CallbackError):
            weighter.set_callbacks(Fails(at)).fit(X, y)
        assert not hasattr(weighter, "feature_weights_") or at > 1
        assert (n_helpers(), blas_threads()) == before
    weighter.set_callbacks()
    assert outcome(weighter, X, y) == expected


def test_an_error_of_who_watches_comes_out():
    X, y = continuous_table()
    expected = outcome(IRelief(sigma=1.0), X, y)

    def fails(done, total):
        raise CallbackError

    weighter = IRelief(sigma=1.0)
    with listening(fails), pytest.raises(CallbackError):
        weighter.fit(X, y)
    assert outcome(weighter, X, y) == expected


# Other processes


@pytest.mark.slow
def test_pools_of_processes_after_a_fit():
    # In a process of its own: one that hangs is ended.
    code = """
import json, multiprocessing, warnings
from concurrent.futures import ProcessPoolExecutor
warnings.simplefilter("ignore")
from contract import bits_of_all
if __name__ == "__main__":
    bits, same = bits_of_all(), {}
    for method in {"fork", "spawn"} & set(multiprocessing.get_all_start_methods()):
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
            same[method] = pool.submit(bits_of_all, 1).result() == bits
    print(json.dumps(same))
"""
    found = run(code, timeout=300)
    assert set(found.values()) == {True}, found


# Memory


@pytest.fixture
def nothing_free(monkeypatch, force):
    monkeypatch.setattr(memory, "free_memory", lambda: 0.0)
    force(unchecked_bytes=0.0)


REMEDY = "Use fewer|Use more|makes none|needs least|holds"
SAYS = rf"would take about [\d.e+-]+ GiB, and 0 GiB are free\. .*({REMEDY})"


@over_families
def test_without_memory_a_fit_says_what_it_needs_or_needs_little(entry, monkeypatch):
    X, y = continuous_table()
    expected = outcome(entry.make(), X, y)
    with monkeypatch.context() as patched, limits(unchecked_bytes=0.0):
        patched.setattr(memory, "free_memory", lambda: 0.0)
        weighter, said = entry.make(), ""
        try:
            assert outcome(weighter, X, y) == expected
        except MemoryError as error:
            said = str(error)
    assert not said or re.search(SAYS, said)
    assert outcome(weighter, X, y) == expected


@pytest.mark.parametrize(
    ("estimator", "says"),
    [
        (LFE(solver="primal"), "matrices of 6 x 6 that LFE with solver='primal' makes"),
        (LFE(solver="dual"), "matrices of 60 x 60 that LFE with solver='dual' makes"),
        (DANN(), "matrices of 6 x 6 that DANN makes"),
        (FREL(), "margins of 60 samples in each of 6 features"),
        (EnsembleWeighting(ReliefF(), n_estimators=7), "weights of 7 members for 6 features"),
        (CrossValidatedSelector(FisherScore(), cv=2), "distances of 30 samples to 30"),
        (ErrorControlledSelector(FisherScore(), n_permutations=9), "weights of 6 features by 9 permutations"),
        (IRelief(), "scaled copy of"),
    ],
    ids=lambda each: each if isinstance(each, str) else type(each).__name__,
)
@pytest.mark.usefixtures("nothing_free")
def test_what_would_not_fit_is_said_before(estimator, says):
    X, y = continuous_table()
    with pytest.raises(MemoryError, match=f"{says}.* {SAYS}"):
        estimator.fit(X, y)


@pytest.mark.usefixtures("nothing_free")
def test_categories_that_would_not_fit():
    X, y = continuous_table()
    with pytest.raises(MemoryError, match=f"columns that the categories of 60 samples become {SAYS}"):
        ReliefF(categorical_features=[0]).fit(X, y)


def test_a_metric_that_would_not_fit(monkeypatch):
    X, y = continuous_table()
    extractor = LFE().fit(X, y)
    expected = extractor.metric_
    with monkeypatch.context() as patched, limits(unchecked_bytes=0.0):
        patched.setattr(memory, "free_memory", lambda: 0.0)
        with pytest.raises(MemoryError, match=f"metric_ of 6 features {SAYS}"):
            _ = extractor.metric_
    assert same_bits(extractor.metric_, expected)


@pytest.mark.usefixtures("nothing_free")
def test_the_command_passes_it_on():
    X, y = continuous_table()
    table = InputTable(X, y, list("abcdef"), None)
    with pytest.raises(RunError, match=f"not enough memory for this table and method: .* {SAYS}"):
        fit_to_table(IRelief(), table, {})


@pytest.mark.slow
def test_under_a_limit_of_addresses():
    """As batch systems set it; what is asked for is refused before the system would."""
    pytest.importorskip("resource", reason="this system has no such limits")
    code = """
import json, resource
import numpy as np
from highrelief import LFE, ReliefF
rng = np.random.default_rng(0)
X, y = rng.normal(size=(30, 15_000)), np.arange(30) % 2
before = ReliefF(n_neighbors=3).fit(X, y).feature_weights_
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 2**30,) * 2)
try:
    LFE(solver="primal").fit(X, y)
    said = ""
except MemoryError as error:
    said = str(error)
print(json.dumps([said, bool(np.array_equal(ReliefF(n_neighbors=3).fit(X, y).feature_weights_, before))]))
"""
    if not memory.Path("/proc/self/statm").exists():
        pytest.skip("this system does not say what a process takes")
    said, same = run(code, timeout=120)
    assert "matrices of 15000 x 15000" in said
    assert "10.1 GiB" in said
    assert "arpack" in said
    assert same
