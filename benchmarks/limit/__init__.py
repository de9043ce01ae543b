"""The limit kernel: ``kernel.cpp``, compiled on the spot for this machine, tuned, and called through ctypes.

It does what no estimator can do without: the distances of all pairs, and the sums over all pairs of
I-RELIEF's second pass. It checks nothing, scales nothing, searches nothing. How near the package comes to it
says how much there is left to gain.
"""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

SOURCE = Path(__file__).with_name("kernel.cpp")
BUILD = SOURCE.parent.parent / ".build"
# The two flags on numbers let `a < b ? a : b` be the machine's minimum; nothing here is NaN or infinite.
FLAGS = ("-std=c++17", "-O3", "-ffinite-math-only", "-fno-signed-zeros", "-shared", "-fPIC")
#: Features of a block, to choose from: the rows of a register block should stay in the first cache.
FEATURES_PER_BLOCK = (512, 1024)
#: Every register block divides it; rows up to the next multiple are read, not used.
_ROWS = 24
_LINE = 64


class NoCompilerError(RuntimeError):
    """There is no g++."""


def compiler() -> str:
    """Path of g++."""
    found = shutil.which(os.environ.get("CXX", "g++"))
    if found is None:
        raise NoCompilerError("the limit kernel needs g++, and there is none: apt-get install g++")
    return found


def compiled(target: str) -> Path:
    """The shared library for an architecture of gcc, such as "native" or "haswell"; made if need be."""
    command = [compiler(), *FLAGS, f"-march={target}"]
    # What gcc calls itself with tells its version and what "native" means on this machine.
    probe = [*command, "-E", "-v", "-x", "c++", os.devnull]
    called = subprocess.run(probe, capture_output=True, text=True, check=True).stderr
    meaning = [line for line in called.splitlines() if "cc1plus" in line or "version" in line]
    state = hashlib.sha256(SOURCE.read_bytes() + "\n".join([*command, *meaning]).encode()).hexdigest()[:16]
    library = BUILD / f"limit-{target}-{state}.so"
    if not library.exists():
        BUILD.mkdir(exist_ok=True)
        unfinished = library.with_suffix(f".{os.getpid()}")
        subprocess.run([*command, str(SOURCE), "-o", str(unfinished)], check=True)
        unfinished.replace(library)
    return library


def aligned_zeros(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Zeros that begin on a cache line."""
    dtype = np.dtype(dtype)
    n_bytes = int(np.prod(shape)) * dtype.itemsize
    buffer = np.zeros(n_bytes + _LINE, dtype=np.uint8)
    start = -buffer.ctypes.data % _LINE
    return buffer[start : start + n_bytes].view(dtype).reshape(shape)


class Layout:
    """A table as the kernel wants it: values ≥ 0, rows of whole cache lines, spare rows at the end."""

    def __init__(self, X: NDArray[np.floating]) -> None:
        self.n_rows, self.n_features = X.shape
        per_line = _LINE // X.itemsize
        width = -(-self.n_features // per_line) * per_line
        # Rows a multiple of the page size apart would share the same few places of the first cache.
        width += per_line if width * X.itemsize % 4096 == 0 else 0
        self.X = aligned_zeros((-(-self.n_rows // _ROWS) * _ROWS, width), X.dtype)
        self.X[: self.n_rows, : self.n_features] = X - X.min(axis=0)
        self.row_sums = self.X.sum(axis=1, dtype=np.float64).astype(X.dtype)


class Limit:
    """The compiled kernel with the register block, the block of features and the additions that suit best.

    Parameters
    ----------
    target : str
        Architecture, as gcc calls it.
    """

    def __init__(self, target: str = "native") -> None:
        self.target = target
        self._library = ctypes.CDLL(str(compiled(target)))
        self._library.blocks.restype = ctypes.c_char_p
        self.blocks = self._library.blocks().decode().split()
        self.vector_bits = 8 * self._library.vector_bytes()
        self._best: dict[tuple[str, str], tuple[int, int]] = {}

    def distance_pass(self, table: Layout) -> Callable[[], NDArray[np.floating]]:
        """A call that fills, and returns, the matrix of all distances."""
        D = aligned_zeros((table.n_rows, table.n_rows), table.X.dtype)
        variant, features = self._tuned("distances", table.X.dtype)

        def run() -> NDArray[np.floating]:
            self.distances(table, D, variant, features)
            return D

        return run

    def second_pass(self, table: Layout, S: NDArray[np.floating]) -> Callable[[], NDArray[np.float64]]:
        """A call that returns Σ_{i<j} S_ij·min(x_i, x_j), (n_features,)."""
        S = np.ascontiguousarray(S, dtype=table.X.dtype)
        variant, features = self._tuned("weighted_minima", table.X.dtype)

        def run() -> NDArray[np.float64]:
            return self.weighted_minima(table, S, variant, features)

        return run

    def distances(self, table: Layout, D: NDArray[np.floating], variant: int, features: int) -> None:
        """Fill D by one variant: a register block, twice its number, plus 1 for multiply-adds."""
        number = ctypes.c_float if table.X.dtype == np.float32 else ctypes.c_double
        self._function("distances", table.X.dtype)(
            ctypes.c_int(variant),
            *_table_arguments(table),
            ctypes.c_void_p(table.row_sums.ctypes.data),
            number(1.0),
            ctypes.c_long(features),
            ctypes.c_void_p(D.ctypes.data),
        )

    def weighted_minima(
        self, table: Layout, S: NDArray[np.floating], variant: int, features: int
    ) -> NDArray[np.float64]:
        """Sum by one variant: the number of a register block."""
        out = np.zeros(table.X.shape[1])
        self._function("weighted_minima", table.X.dtype)(
            ctypes.c_int(variant),
            *_table_arguments(table),
            ctypes.c_void_p(S.ctypes.data),
            ctypes.c_long(features),
            ctypes.c_void_p(out.ctypes.data),
        )
        return out[: table.n_features]

    def choice(self, name: str, dtype: DTypeLike) -> str:
        """What was found best, in words."""
        variant, features = self._tuned(name, np.dtype(dtype))
        if name == "distances":
            adding = ("additions", "multiply-adds")[variant % 2]
            return f"{self.blocks[variant // 2]}, {adding}, {features} features, {self.vector_bits} bit"
        return f"{self.blocks[variant]}, {features} features, {self.vector_bits} bit"

    def variants(self, name: str) -> range:
        """Numbers of all variants."""
        return range(len(self.blocks) * (2 if name == "distances" else 1))

    def _function(self, name: str, dtype: np.dtype[Any]) -> Any:
        function = getattr(self._library, f"{name}_{dtype.name}")
        function.restype = None
        return function

    def _tuned(self, name: str, dtype: np.dtype[Any]) -> tuple[int, int]:
        """The fastest variant and block of features, all tried in turn on one table."""
        key = name, dtype.name
        if key not in self._best:
            table = Layout(np.random.default_rng(0).random((768, 1000)).astype(dtype))
            square = aligned_zeros((table.n_rows, table.n_rows), dtype)
            candidates = list(itertools.product(self.variants(name), FEATURES_PER_BLOCK))
            least = dict.fromkeys(candidates, np.inf)
            call = self.distances if name == "distances" else self.weighted_minima
            for _ in range(5):
                for candidate in candidates:
                    start = time.process_time()
                    call(table, square, *candidate)
                    least[candidate] = min(least[candidate], time.process_time() - start)
            self._best[key] = min(candidates, key=least.__getitem__)
        return self._best[key]


def _table_arguments(table: Layout) -> tuple[Any, ...]:
    address = ctypes.c_void_p(table.X.ctypes.data)
    return address, ctypes.c_long(table.n_rows), ctypes.c_long(table.X.shape[1])
