"""This package on a Dask cluster of one worker process with two threads, which already holds the table."""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .highrelief import DIFFERS, TOLERANCE, version

__all__ = ["DIFFERS", "TOLERANCE", "version"]

Call = Callable[[], NDArray[Any]]

NAME = "highrelief on Dask"
INSTALL = "pip install 'dask[array]' distributed"
VENV = None
DTYPES = ("float32", "float64")
MOST_ELEMENTS = None
#: What the worker takes is not seen from here.
MEMORY = False
#: Columns, or rows, of a chunk; 80 MB of the wide table, near the size that Dask's documentation recommends.
WIDTH, HEIGHT = 5000, 5000


@cache
def _client() -> Any:
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=1, threads_per_worker=2, memory_limit=None, dashboard_address=":0")
    client = Client(cluster)
    atexit.register(cluster.close)
    return client


def clock() -> float:
    """CPU seconds of this process and of the worker."""
    import psutil

    times = [each.cpu_times() for each in psutil.Process().children(recursive=True)]
    return time.process_time() + sum(each.user + each.system for each in times)


def _held(X: NDArray[Any]) -> Any:
    import dask.array as da
    from distributed import wait

    client = _client()
    wide = X.shape[1] >= X.shape[0]
    lazy = da.from_array(X, chunks=(-1, WIDTH) if wide else (HEIGHT, -1))
    held = client.persist(lazy)
    wait(held)
    return held


def relieff(X: NDArray[Any], y: NDArray[np.integer], n_neighbors: int, n_jobs: int = 1) -> Call:
    from highrelief import ReliefF

    held = _held(X)
    return lambda: ReliefF(n_neighbors=n_neighbors, n_jobs=n_jobs).fit(held, y).feature_weights_


def irelief(X: NDArray[Any], y: NDArray[np.integer], sigma: float, max_iter: int, n_jobs: int = 1) -> Call:
    from highrelief import IRelief

    held, settings = _held(X), {"sigma": sigma, "max_iter": max_iter, "tol": 0.0, "n_jobs": n_jobs}
    return lambda: IRelief(**settings).fit(held, y).feature_weights_
