"""A real cluster of worker processes, and ways to harm it."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np

#: What workers use.
IMPORTED_AHEAD = [
    "distributed.nanny",
    "dask.array",
    "highrelief._dask.column_engine",
    "highrelief._dask.row_engine",
]


@contextmanager
def cluster(n_workers=2, threads_per_worker=1, *, set_as_default=True, **more):
    """A client of a cluster of processes on this machine, by default the current one inside.

    Workers are forked from a process that has imported what they use, which would take each of them seconds.
    """
    import dask
    from distributed import Client, LocalCluster
    from distributed.utils import get_mp_context

    options = {"dashboard_address": ":0", "processes": True, "memory_limit": None, "silence_logs": "CRITICAL"}
    options |= {"n_workers": n_workers, "threads_per_worker": threads_per_worker} | more
    method = "forkserver" if sys.platform == "linux" else "spawn"
    with dask.config.set({"distributed.worker.multiprocessing-method": method}):
        if method == "forkserver":
            get_mp_context().set_forkserver_preload(IMPORTED_AHEAD)
        with LocalCluster(**options) as made, Client(made, set_as_default=set_as_default) as client:
            yield client


def process_ids(client):
    """Processes of the workers; those that are just being lost do not count."""
    found = client.run(os.getpid, on_error="ignore")
    return sorted(found.values())


@contextmanager
def scheduler_apart():
    """The address of a scheduler in a process of its own, and that process."""
    process = _started("scheduler", "--port", "0", stderr=subprocess.PIPE)
    try:
        addresses = (line.split()[-1] for line in process.stderr if "Scheduler at:" in line)
        address = next(addresses)
        # Somebody must read on, or the process stops when the pipe is full.
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield address, process
    finally:
        process.kill()
        process.wait()


@contextmanager
def worker_of(address):
    """A worker in a process of its own."""
    process = _started("worker", address, "--nthreads", "1", "--no-nanny", stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _started(*command, stderr):
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *command, "--no-dashboard"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        text=True,
    )


def kill(process_id):
    """End a process at once, as a machine that fails would."""
    os.kill(process_id, signal.SIGKILL)


def wait_until(condition, seconds=60.0):
    """Wait for something that is about to happen."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def wide_table(n_samples=120, n_features=6000, seed=0):
    """Two features that act together, among many that do nothing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features))
    y = ((X[:, 3] > 0) ^ (X[:, n_features // 2] > 0)).astype(int)
    return X, y
