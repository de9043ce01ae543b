"""Simpler designs that were tried: NumPy's argsort instead of our sorts, Numba's cache instead of ours.

    python -m benchmarks.alternatives sorting
    python -m benchmarks.alternatives cache

Contenders take turns in one run; the least time of each counts. All have one thread.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Missing share of the values.
_MISSING = 0.05


def _numpy_excess(
    X: NDArray[np.floating], missing: NDArray[np.bool_], low: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Return E|x − V| − x by NumPy's argsort, V drawn from the observed values of the column; (d, n)."""
    values = np.where(missing, np.inf, X - low).T.copy()
    order = np.argsort(values, axis=1)
    ordered = np.take_along_axis(values, order, axis=1).astype(np.float64)
    observed = np.isfinite(ordered)
    ordered[~observed] = 0.0
    n = observed.sum(axis=1, keepdims=True)
    before = np.cumsum(ordered, axis=1)
    total = before[:, -1:]
    rank = np.arange(1, X.shape[0] + 1)
    # M(x) = Σ min(x, v): the values up to x, and x for each above it.
    minima = before + ordered * (n - rank)
    half = (total - np.where(observed, minima, 0.0).sum(axis=1, keepdims=True) / n) / n
    excess = np.where(observed, (total - 2.0 * minima) / n, half)
    result = np.empty_like(excess)
    np.put_along_axis(result, order, excess, axis=1)
    return result


def sorting() -> None:
    """Print the time per value of the expectations for missing values, by three ways to sort."""
    print("ns per value         network   buckets     NumPy   argsort alone")
    for dtype in (np.float32, np.float64):
        for n, d in ((50, 20000), (200, 5000), (1000, 1000), (4000, 250), (20000, 50)):
            least = _sorting_times(n, d, np.dtype(dtype))
            cells = "".join(f"{1e9 * seconds / (n * d):10.1f}" for seconds in least.values())
            print(f"{n:6} x {d:5} {np.dtype(dtype).name[5:]:>3}{cells}", flush=True)


def _sorting_times(n: int, d: int, dtype: np.dtype[Any]) -> dict[str, float]:
    from highrelief._kernels.missing import CHUNK, excess_in_order, excess_of_columns

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(dtype)
    missing = rng.random((n, d)) < _MISSING
    low = np.where(missing, np.inf, X).min(axis=0).astype(dtype)
    X = np.where(missing, low, X)
    start = np.concatenate([[0], np.cumsum(missing.sum(axis=1))])
    shared = (X, np.arange(d), 0, d, low, start, np.nonzero(missing)[1], np.ones(d))

    def by(kernel: Any, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        excess = np.zeros((-(-n // CHUNK), d, CHUNK), dtype)
        kernel(*shared, weights, np.arange(n), excess)
        return excess.transpose(1, 0, 2).reshape(d, -1)[:, :n]

    contenders: dict[str, Callable[[], NDArray[Any]]] = {
        "network": lambda: by(excess_of_columns, np.empty(0)),
        "buckets": lambda: by(excess_in_order, np.ones(n)),
        "NumPy": lambda: _numpy_excess(X, missing, low),
    }
    answers = [contender() for contender in contenders.values()]
    for answer in answers:
        np.testing.assert_allclose(answer, answers[0], atol=1e-5 * float(np.ptp(answers[0])))
    columns = X.T.copy()
    return _race(contenders | {"argsort alone": lambda: np.argsort(columns, axis=1)})


def _race(contenders: dict[str, Callable[[], Any]], rounds: int = 7) -> dict[str, float]:
    least = dict.fromkeys(contenders, np.inf)
    for _ in range(rounds):
        for name, contender in contenders.items():
            begin = time.process_time()
            contender()
            least[name] = min(least[name], time.process_time() - begin)
    return least


_FIRST_FITS = """
import sys, time
begin = time.process_time()
from highrelief._kernels import cache
if sys.argv[1] != "ours":
    cache._NUMBA_IS_SUPPORTED = False  # as for versions of Numba whose internals are unknown
import numpy as np
from highrelief import ReliefF, IRelief, MultiSURF, LOGO
rng = np.random.default_rng(0)
X, y = rng.normal(size=(100, 50)), np.arange(100) % 2
for estimator in (ReliefF(), IRelief(), MultiSURF(), LOGO()):
    estimator.fit(X, y)
print(time.process_time() - begin)
"""


def cache() -> None:
    """Print the time of four first fits in a new process, kernels compiled and loaded, and the files."""
    with tempfile.TemporaryDirectory() as folder:
        least: dict[tuple[str, str], float] = {}
        for turn in ("compiled", *["loaded"] * 5):
            for name in ("ours", "Numba's cache"):
                place = Path(folder) / name.replace(" ", "_")
                place.mkdir(exist_ok=True)
                taken = _in_process(name, place)
                least[name, turn] = min(least.get((name, turn), np.inf), taken)
        print("CPU seconds       compiled    loaded   files        MB")
        for name in ("ours", "Numba's cache"):
            files = [f for f in (Path(folder) / name.replace(" ", "_")).rglob("*") if f.is_file()]
            size = sum(f.stat().st_size for f in files) / 1e6
            times = "".join(f"{least[name, turn]:10.2f}" for turn in ("compiled", "loaded"))
            print(f"{name:16}{times}{len(files):8}{size:10.1f}")


def _in_process(name: str, place: Path) -> float:
    command = [sys.executable, "-c", _FIRST_FITS, name]
    environment = {"PATH": "", "HOME": str(place), "XDG_CACHE_HOME": str(place)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


if __name__ == "__main__":
    for name in sys.argv[1:] or ["sorting", "cache"]:
        {"sorting": sorting, "cache": cache}[name]()
