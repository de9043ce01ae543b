"""Threads beside other threads, processes, forks, joblib, Dask and BLAS."""

import _thread
import multiprocessing
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import joblib
import numpy as np
import pytest
from dask_cluster import wait_until
from hypothesis import given
from hypothesis import strategies as st
from processes import run
from thread_cases import fitted_bits, n_helpers, table
from threadpoolctl import threadpool_info, threadpool_limits

from highrelief import ReliefF
from highrelief._engine import threads
from highrelief._engine.threads import even_ranges, one_blas_thread, run_all, thread_count

needs_fork = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="this system does not fork"
)


def count_here(n_jobs):
    return thread_count(n_jobs)


class TestPool:
    def test_no_more_calls_at_once_than_threads_were_asked_for(self):
        run_all(time.sleep, [(0.001,)] * 8, 6)  # the process has more threads than the next call wants
        lock, running, most = threading.Lock(), 0, 0

        def count(_):
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            time.sleep(0.002)
            with lock:
                running -= 1

        run_all(count, [(i,) for i in range(30)], 3)
        assert most == 3

    @pytest.mark.slow
    def test_the_number_of_threads_alive_has_a_bound(self):
        """The largest number asked for, less the caller, however many callers there are and what they ask."""
        code = """
import json
from concurrent.futures import ThreadPoolExecutor
from highrelief._engine.threads import run_all
from thread_cases import n_helpers

def ask(n_threads):
    return run_all(lambda i: i, [(i,) for i in range(20)], n_threads)

for _ in range(3):
    with ThreadPoolExecutor(4) as callers:
        list(callers.map(ask, [2, 3, 4, 5, 6, 7, 8] * 4))
print(json.dumps(n_helpers()))
"""
        assert run(code, timeout=120) == 7

    def test_an_error_stops_the_rest(self):
        begun = []

        def fail(i):
            begun.append(i)
            time.sleep(0.001)
            raise KeyError(i)

        with pytest.raises(KeyError):
            run_all(fail, [(i,) for i in range(100)], 2)
        assert len(begun) <= 4

    def test_a_call_inside_a_call_does_not_wait_for_ever(self):
        def outer(i):
            return sum(run_all(lambda j: i * j, [(j,) for j in range(5)], 3))

        with ThreadPoolExecutor(1) as caller:
            work = caller.submit(run_all, outer, [(i,) for i in range(12)], 3)
            assert work.result(timeout=60) == [10 * i for i in range(12)]

    def test_fits_in_several_threads_at_once_give_the_same_bits(self):
        expected = fitted_bits(n_jobs=1)
        with ThreadPoolExecutor(4) as callers:
            assert set(callers.map(fitted_bits, [2, 3, 2, 1, 2, 3, 2, 1])) == {expected}


class TestNoThread:
    """Where memory is short, a thread does not start, or ends before its first line."""

    def refuse(self, *_):
        raise RuntimeError("can't start new thread")

    def exhaust(self, *_):
        raise MemoryError

    def die(self, *_):
        return 1

    @pytest.mark.parametrize("n_started", [0, 1])
    @pytest.mark.parametrize("fails", ["refuse", "exhaust", "die"])
    def test_the_others_work(self, fails, n_started, monkeypatch):
        start, calls = _thread.start_new_thread, []

        def limited(*arguments):
            calls.append(arguments)
            return (start if len(calls) <= n_started else getattr(self, fails))(*arguments)

        monkeypatch.setattr(threads, "_shared", threads._Shared())
        monkeypatch.setattr(_thread, "start_new_thread", limited)
        expected = fitted_bits(n_jobs=1)
        assert not calls
        assert fitted_bits(n_jobs=3) == expected
        assert len(calls) > n_started

    @pytest.mark.usefixtures("usual_handler")
    def test_an_interruption_is_heard(self, monkeypatch):
        monkeypatch.setattr(threads, "_shared", threads._Shared())
        monkeypatch.setattr(_thread, "start_new_thread", self.die)
        with pytest.raises(KeyboardInterrupt):
            run_all(signal.raise_signal, [(signal.SIGINT,)] * 8, 3)

    def test_an_error_that_leaves_no_memory_ends_the_wait(self):
        def fail():
            raise MemoryError

        helper = threads.start_helper(fail)
        wait_until(helper._turn.locked)
        assert isinstance(helper.end(), MemoryError)

    def test_what_no_thread_has_begun_is_not_waited_for(self, monkeypatch):
        monkeypatch.setattr(_thread, "start_new_thread", self.refuse)
        begun = []
        assert threads.start_helper(lambda: begun.append(1)).end() is None
        assert not begun

    @pytest.mark.slow
    def test_under_a_limit_of_addresses(self):
        """Too few are left for the stack of a thread."""
        pytest.importorskip("resource", reason="this system has no such limits")
        if not Path("/proc/self/statm").exists():
            pytest.skip("this system does not say what a process takes")
        code = """
import json, resource
from thread_cases import fitted_bits, n_helpers
expected = fitted_bits(1)
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 4 * 2**20,) * 2)
print(json.dumps([fitted_bits(4) == expected, n_helpers()]))
"""
        assert run(code, timeout=120) == [True, 0]


@needs_fork
class TestFork:
    @pytest.mark.slow
    def test_children_forked_while_others_fit(self):
        """Also on Python 3.11, where the lock of functools.cached_property is one for all objects."""
        code = """
import faulthandler, json, os, threading, time, warnings
warnings.simplefilter("ignore")
from thread_cases import fitted_bits
bits, stop = fitted_bits(), threading.Event()
def work():
    while not stop.is_set():
        fitted_bits()
busy = [threading.Thread(target=work) for _ in range(2)]
[each.start() for each in busy]
ends = []
for i in range(18):
    time.sleep(0.003 * (i % 9))
    child = os.fork()
    if child == 0:
        faulthandler.dump_traceback_later(60, exit=True)
        os._exit(0 if fitted_bits() == bits else 7)
    ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    if ends[-1]:
        break
stop.set()
[each.join() for each in busy]
print(json.dumps(ends))
"""
        assert run(code, timeout=300) == [0] * 18

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "lock", ["numba.core.compiler_lock.global_compiler_lock", "llvmlite.binding.ffi.lib._lock"]
    )
    def test_a_child_forked_while_another_thread_compiles(self, lock):
        code = f"""
import faulthandler, json, os, threading, time, warnings
warnings.simplefilter("ignore")
import numba, llvmlite.binding.ffi
import highrelief._engine.threads
begun = threading.Event()
def compile():
    with {lock}:
        begun.set()
        time.sleep(0.5)
other = threading.Thread(target=compile)
other.start()
begun.wait()
child = os.fork()
if child == 0:
    faulthandler.dump_traceback_later(60, exit=True)
    os._exit(0 if numba.njit(lambda x: x + 1)(1) == 2 else 7)
ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
other.join()
# Nothing of it is left to this process.
print(json.dumps([ended, numba.njit(lambda x: x + 2)(1), highrelief._engine.threads._compiler_locks]))
"""
        assert run(code, timeout=120) == [0, 3, []]

    @pytest.mark.slow
    def test_a_child_fits_and_exits(self):
        """A bare fork of a process that has threads; the child leaves as any program does."""
        code = """
import json, os, sys, warnings
warnings.simplefilter("ignore")
from thread_cases import fitted_bits
bits = fitted_bits()
child = os.fork()
if child == 0:
    sys.exit(0 if fitted_bits() == bits and fitted_bits(3) == bits else 1)
print(json.dumps(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))
"""
        assert run(code, timeout=120) == 0

    @pytest.mark.slow
    def test_a_child_forked_while_threads_work_fits(self):
        code = """
import json, os, sys, threading, time, warnings
warnings.simplefilter("ignore")
from thread_cases import fitted_bits
from highrelief._engine.threads import one_blas_thread, run_all
bits = fitted_bits()
def work():
    with one_blas_thread():
        run_all(time.sleep, [(0.05,)] * 20, 3)
busy = threading.Thread(target=work)
busy.start()
time.sleep(0.1)
child = os.fork()
if child == 0:
    with one_blas_thread():
        same = fitted_bits() == bits
    sys.exit(0 if same else 1)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
busy.join()
print(json.dumps(status))
"""
        assert run(code, timeout=120) == 0

    def test_a_pool_of_forked_processes(self):
        expected = fitted_bits()
        with multiprocessing.get_context("fork").Pool(2) as pool:
            results = pool.map_async(fitted_bits, [2, 1, 2, 3]).get(timeout=120)
        assert set(results) == {expected}


class TestCount:
    def test_alone(self):
        assert [count_here(n) for n in (None, 1, 2, 7)] == [1, 1, 2, 7]
        cores = joblib.cpu_count()
        assert [count_here(n) for n in (-1, -cores, -cores - 5)] == [cores, 1, 1]

    @pytest.mark.skipif(not hasattr(joblib, "parallel_config"), reason="joblib 1.3 brought parallel_config")
    def test_none_asks_joblib(self):
        with joblib.parallel_config("threading", n_jobs=3):
            assert (count_here(None), count_here(2)) == (3, 2)
            assert ReliefF().fit(*table()).execution_["n_threads"] == 3
        assert count_here(None) == 1

    @pytest.mark.slow
    @pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
    def test_workers_of_joblib_do_not_multiply(self, backend):
        cores = joblib.cpu_count()
        wanted = (None, 1, 8, -1)
        counts = joblib.Parallel(n_jobs=cores, backend=backend)(joblib.delayed(count_here)(n) for n in wanted)
        assert counts == [1, 1, 1, 1]

    @pytest.mark.slow
    def test_a_share_that_joblib_leaves_to_its_processes_is_used(self):
        with joblib.parallel_backend("loky", n_jobs=2, inner_max_num_threads=3):
            counts = joblib.Parallel()(joblib.delayed(count_here)(n) for n in (None, 1, 2, 8))
        assert counts == [1, 1, 2, 3]

    @pytest.mark.slow
    @pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
    def test_fits_in_workers_of_joblib_give_the_same_bits(self, backend):
        expected = fitted_bits()
        work = joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(fitted_bits)(n) for n in (1, 2, 3))
        assert set(work) == {expected}

    @pytest.mark.slow
    @pytest.mark.parametrize("processes", [False, True])
    def test_workers_of_dask_do_not_multiply(self, processes):
        distributed = pytest.importorskip("distributed", reason="needs the extra 'dask'")
        expected = fitted_bits()
        with (
            distributed.LocalCluster(
                n_workers=1, threads_per_worker=2, processes=processes, dashboard_address=None
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            counts = client.gather(client.map(count_here, [None, 1, 8, -1], pure=False))
            bits = client.gather(client.map(fitted_bits, [1, 2, 3], pure=False))
        assert counts == [1, 1, 1, 1]
        assert set(bits) == {expected}
        assert count_here(2) == 2


class TestBlas:
    @staticmethod
    def blas_threads():
        # A product makes sure that there is a BLAS to be asked.
        np.ones((2, 2)) @ np.ones((2, 2))
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    @pytest.fixture(autouse=True)
    def _has_blas_threads(self):
        if max(self.blas_threads(), default=1) == 1:
            pytest.skip("BLAS has one thread here")

    def test_one_thread_inside_and_as_before_outside(self):
        before = self.blas_threads()
        with one_blas_thread():
            assert set(self.blas_threads()) == {1}
            with one_blas_thread():
                pass
            assert set(self.blas_threads()) == {1}
        assert self.blas_threads() == before

    def test_threads_other_than_the_first_can_limit_it(self):
        """The newest threadpoolctl obeys the first thread that ever set a limit, and no other."""
        before = self.blas_threads()

        def limited():
            with one_blas_thread():
                return self.blas_threads()

        with threadpool_limits(1), threadpool_limits(max(before)), ThreadPoolExecutor(1) as other:
            assert set(other.submit(limited).result()) == {1}
            assert self.blas_threads() == before
        assert self.blas_threads() == before

    def test_an_error_inside_lifts_the_limit(self):
        before = self.blas_threads()
        with pytest.raises(KeyError), one_blas_thread():
            raise KeyError
        assert self.blas_threads() == before

    def test_the_last_of_several_callers_lifts_it(self):
        """Whatever the order in which they leave."""
        before = self.blas_threads()
        first_is_in, second_is_in, first_is_out = threading.Event(), threading.Event(), threading.Event()
        seen = []

        def first():
            with one_blas_thread():
                first_is_in.set()
                second_is_in.wait(30)
            first_is_out.set()

        def second():
            first_is_in.wait(30)
            with one_blas_thread():
                second_is_in.set()
                first_is_out.wait(30)
                seen.extend(self.blas_threads())

        both = [threading.Thread(target=work) for work in (first, second)]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join(60)
        assert set(seen) == {1}
        assert self.blas_threads() == before


class TestThreads:
    @given(st.integers(1, 300), st.integers(1, 20), st.sampled_from([1, 4, 64]))
    def test_ranges_cover_everything_once(self, n, parts, multiple):
        ranges = even_ranges(n, parts, multiple)
        assert [i for a, b in ranges for i in range(a, b)] == list(range(n))
        assert len(ranges) <= parts
        assert all(a % multiple == 0 for a, _ in ranges)

    def test_results_come_in_order(self):
        assert run_all(lambda i: i * i, [(i,) for i in range(50)], 4) == [i * i for i in range(50)]

    def test_an_error_reaches_the_caller(self):
        def fail(i):
            if i == 3:
                raise KeyError("three")

        with pytest.raises(KeyError, match="three"):
            run_all(fail, [(i,) for i in range(8)], 2)

    def test_several_callers_share_the_threads(self):
        def many(_):
            return sum(run_all(lambda i: i, [(i,) for i in range(20)], 2))

        with ThreadPoolExecutor(6) as callers:
            assert list(callers.map(many, range(12))) == [190] * 12

    @pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
    def test_works_in_a_forked_child(self):
        run_all(lambda i: i, [(1,), (2,)], 2)  # the parent has threads now
        assert n_helpers() > 0
        with multiprocessing.get_context("fork").Pool(1) as pool:
            assert pool.apply_async(_sum_in_threads).get(timeout=60) == 190


def _sum_in_threads():
    return sum(run_all(lambda i: i, [(i,) for i in range(20)], 2))
