"""PairScan, the same scan in vectorized NumPy, and PLINK's epistasis scan: nanoseconds per pair.

    python -m benchmarks.pair_scan [--features 2000] [--repeats 5] [--threads 1]

Genotypes of three levels and two classes of equal size. Answers are compared before times are taken: the z of
NumPy with ours; of PLINK, whose statistics are others (a test of allelic odds ratios, or with ``boost`` of a
log-linear model), that the best pair is the same. Contenders take turns; the least of several times counts.
PLINK's times include reading the genotypes and writing a summary, ours include turning the table into levels.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from highrelief.methods.pair_scan import discretized, scan_pairs


def genotypes(n_samples: int, n_features: int) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
    """Return genotypes in equilibrium, without rare levels, one interacting pair, and two classes."""
    random = np.random.default_rng(0)
    y = np.arange(n_samples) % 2
    X = random.binomial(2, random.uniform(0.3, 0.5, n_features), (n_samples, n_features)).astype(np.int8)
    # The sum of a pair is odd more often in class 1.
    strong = random.uniform(size=n_samples) < 0.6
    X[:, 1] = np.where(strong & ((X[:, 0] + X[:, 1]) % 2 != y), (X[:, 1] + 1) % 3, X[:, 1])
    return X, y


def numpy_scan(X: NDArray[np.int8], y: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the largest conditional z of each feature, by matrix products of indicator columns."""
    levels = [[(X[y == c] == a).astype(np.float32) for a in range(3)] for c in range(2)]
    p = X.shape[1]
    best = np.zeros(p)
    rows = 256

    def entropy(n: NDArray[Any]) -> NDArray[np.float64]:
        n = n.astype(np.float64)
        return n * np.log(np.maximum(n, 1.0))

    margins = np.array([[level.sum(axis=0) for level in each] for each in levels])
    of_feature = (entropy(margins).sum(axis=0) - entropy(margins.sum(axis=0))).sum(axis=0)
    for start in range(0, p, rows):
        part = slice(start, min(start + rows, p))
        joint, cells = 0.0, 0
        for a in range(3):
            for b in range(3):
                counts = [levels[c][a][:, part].T @ levels[c][b] for c in range(2)]
                total = counts[0] + counts[1]
                joint = joint + entropy(counts[0]) + entropy(counts[1]) - entropy(total)
                cells = cells + (total > 0)
        # Every level has both classes: a row of J occupied cells has J - 1 degrees of freedom.
        df = np.maximum(cells - 3, 1)
        h = 2.0 / (9.0 * df)
        z = (np.cbrt(np.maximum(2.0 * (joint - of_feature), 0.0) / df) - (1.0 - h)) / np.sqrt(h)
        z[np.arange(part.stop - start), np.arange(start, part.stop)] = 0.0
        best[part] = np.maximum(z, 0.0).max(axis=1)
    return best


class Plink:
    """PLINK 1.9 on a file of genotypes."""

    def __init__(self, X: NDArray[np.int8], y: NDArray[np.int64], folder: Path, threads: int) -> None:
        self.program = shutil.which("plink1.9") or shutil.which("plink")
        self._stem, self._threads = folder / "genotypes", threads
        n, p = X.shape
        people = (f"f{i} i{i} 0 0 1 {label + 1}" for i, label in enumerate(y))
        self._stem.with_suffix(".fam").write_text("\n".join(people) + "\n")
        self._stem.with_suffix(".bim").write_text("".join(f"1 s{j} 0 {j + 1} A B\n" for j in range(p)))
        codes = np.pad(np.array([3, 2, 0], np.uint8)[X.T], ((0, 0), (0, -n % 4))).reshape(p, -1, 4)
        packed = (codes << np.array([0, 2, 4, 6], np.uint8)).sum(axis=2).astype(np.uint8)
        self._stem.with_suffix(".bed").write_bytes(b"\x6c\x1b\x01" + packed.tobytes())

    def __call__(self, *mode: str, report: float = 1e-12) -> Path:
        """Scan; return the file of the pairs with p-values below ``report``."""
        command = [str(self.program), "--bfile", str(self._stem), "--fast-epistasis", *mode]
        command += ["--epi1", str(report), "--allow-no-sex", "--threads", str(self._threads)]
        subprocess.run([*command, "--out", str(self._stem)], check=True, capture_output=True)
        return self._stem.with_suffix(".epi.cc")


def seconds_of(run: Callable[[], Any]) -> tuple[float, float]:
    """Return wall time and CPU time, those of child processes included."""

    def used() -> float:
        found = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(each.ru_utime + each.ru_stime for each in found)

    begin, cpu = time.perf_counter(), used()
    run()
    return time.perf_counter() - begin, used() - cpu


def compared(n_samples: int, n_features: int, repeats: int, threads: int) -> None:
    """Print nanoseconds per pair of all contenders for one shape."""
    X, y = genotypes(n_samples, n_features)

    def ours() -> Any:
        return scan_pairs(discretized(X, (3,)), y, 2, n_pairs=100, n_threads=threads)

    found = ours()
    np.testing.assert_allclose(found.conditional, numpy_scan(X, y), atol=1e-9)
    with tempfile.TemporaryDirectory() as folder:
        plink = Plink(X, y, Path(folder), threads)
        runs: dict[str, Callable[[], Any]] = {"PairScan": ours, "NumPy": lambda: numpy_scan(X, y)}
        if plink.program is None:
            print("PLINK is not installed (Debian: apt-get install plink1.9).")
        else:
            best = found.pair_features[0].tolist()
            listed = [line.split() for line in plink("boost", report=1e-8).read_text().splitlines()[1:]]
            assert [f"s{best[0]}", f"s{best[1]}"] in [[row[1], row[3]] for row in listed], "PLINK differs"
            runs |= {"PLINK --fast-epistasis": plink, "PLINK boost": lambda: plink("boost")}
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
        for _ in range(repeats):
            for name, run in runs.items():
                times[name].append(seconds_of(run))
    pairs = n_features * (n_features - 1) / 2
    for name, measured in times.items():
        wall, cpu = (1e9 / pairs * min(each[place] for each in measured) for place in range(2))
        print(f"{n_samples:6} x {n_features}  {name:24} {wall:8.1f} ns per pair, CPU {cpu:8.1f}")


def main() -> None:
    """Measure two shapes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--features", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        if os.environ.get(name) != str(options.threads):
            print(f"{name} is not {options.threads}: NumPy may use other threads.")
    for n_samples in (200, 1600):
        compared(n_samples, options.features, options.repeats, options.threads)


if __name__ == "__main__":
    main()
