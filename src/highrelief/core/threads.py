"""Threads for kernels that release the interpreter lock."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

Result = TypeVar("Result")

_lock = threading.Lock()
_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}


def _forget_pools() -> None:
    """Drop the parent's pools in a forked child: their threads do not exist there."""
    global _lock  # noqa: PLW0603  the parent may have held it while forking
    _lock = threading.Lock()
    _pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pools)


def _pool(n_threads: int) -> ThreadPoolExecutor:
    key = (os.getpid(), n_threads)
    with _lock:
        if key not in _pools:
            _pools[key] = ThreadPoolExecutor(n_threads, thread_name_prefix="highrelief")
        return _pools[key]


#: Elements (pairs of samples × features) after which a user would like to hear something: about a second.
_ELEMENTS_PER_PIECE = 1e10
_MOST_PIECES = 64


def n_pieces(elements: float) -> int:
    """Into how many pieces work is cut so that progress is seen, and an interrupt answered, in between."""
    return int(min(max(elements / _ELEMENTS_PER_PIECE, 1.0), _MOST_PIECES))


def run_all(
    function: Callable[..., Result], arguments: Sequence[tuple[Any, ...]], n_threads: int
) -> list[Result]:
    """Call ``function`` with each tuple of arguments; results come in the order of the arguments.

    Only leaves of the computation are run here (kernels, never something that calls ``run_all``), so
    that threads of several callers can share one pool without waiting for each other.
    """
    if n_threads == 1 or len(arguments) <= 1:
        return [function(*each) for each in arguments]
    futures = [_pool(n_threads).submit(function, *each) for each in arguments]
    try:
        return [future.result() for future in futures]
    finally:
        for future in futures:
            future.cancel()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread per call, for threads of our own that call it."""
    with threadpool_limits(limits=1, user_api="blas"):
        yield


def even_ranges(n: int, parts: int, multiple: int = 1) -> list[tuple[int, int]]:
    """Cut 0 … n into at most ``parts`` ranges whose borders are multiples of ``multiple``."""
    blocks = -(-n // multiple)
    parts = max(1, min(parts, blocks))
    borders = [multiple * (blocks * p // parts) for p in range(parts)] + [n]
    return [(a, b) for a, b in pairwise(borders) if b > a]
