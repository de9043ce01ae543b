"""ReliefF of this package and of its peers: the same answers, then interleaved timing. See README.md."""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import peers
from .data import continuous_table

N_NEIGHBORS = 10
SIZES = ("500x1000", "1000x1000", "2000x1000", "100x10000")
# A contender gets as many rounds as fit into this time, within the limits.
SECONDS, FEWEST_ROUNDS = 20.0, 2
# Below this correlation the answers are not the same, whatever their difference.
CORRELATION = 0.9999

Weigh = Callable[[], NDArray[np.floating]]


@dataclass
class Contender:
    """Something to time: a call that returns weights, and how far they may be from the reference."""

    name: str
    weigh: Weigh
    #: None: another method, whose weights are not compared.
    tolerance: float | None
    correlation: float = float("nan")
    difference: float = float("nan")
    rounds: int = 0
    seconds: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        return min(self.seconds)


def contenders(n_samples: int, n_features: int, chosen: list[str], by_name: bool) -> list[Contender]:
    """Those that are measured on a table of this size; highrelief in float32 and in float64 come first."""
    ours = peers.load("highrelief")
    tables = {dtype: continuous_table(n_samples, n_features, dtype) for dtype in (np.float32, np.float64)}

    def relieff(peer: Any, dtype: type) -> Weigh:
        X, y = tables[dtype]
        return lambda: peer.relieff(X, y, N_NEIGHBORS)

    label = f"{ours.NAME} {ours.VERSION}"
    found = [
        Contender(f"{label} float32", relieff(ours, np.float32), ours.TOLERANCE),
        Contender(f"{label} float64", relieff(ours, np.float64), 0.0),
    ]
    for name in chosen:
        peer = peers.load(name)
        if by_name or peer.MOST_SAMPLES is None or n_samples <= peer.MOST_SAMPLES:
            weigh = relieff(peer, peer.DTYPE)
            dtype = np.dtype(peer.DTYPE).name
            found.append(Contender(f"{peer.NAME} {peer.VERSION} {dtype}", weigh, peer.TOLERANCE))
    found.append(Contender("IRelief, 10 steps, float32", _irelief(*tables[np.float32]), None))
    return found


def _irelief(X: NDArray[np.floating], y: NDArray[np.integer]) -> Weigh:
    from highrelief import IRelief

    return lambda: IRelief(sigma=0.5, max_iter=10, tol=0, n_jobs=1).fit(X, y).feature_weights_


def check_answers(entrants: list[Contender], most_rounds: int) -> None:
    """Compare all weights with highrelief's in float64; stop if someone computes something else."""
    reference = np.asarray(entrants[1].weigh(), dtype=np.float64)
    for each in entrants:
        start = time.process_time()
        weights = np.asarray(each.weigh(), dtype=np.float64)
        seconds = time.process_time() - start
        each.rounds = int(np.clip(SECONDS / seconds, FEWEST_ROUNDS, most_rounds))
        if each.tolerance is None:
            continue
        each.correlation = float(np.corrcoef(weights, reference)[0, 1])
        each.difference = float(np.max(np.abs(weights - reference)))
        if not (each.difference <= each.tolerance and each.correlation >= CORRELATION):
            raise SystemExit(
                f"{each.name} gives other weights than highrelief in float64: they differ by up to"
                f" {each.difference:.2g} (at most {each.tolerance:g} expected), correlation"
                f" {each.correlation:.6f}. Times of different things are not compared."
            )


def measure(entrants: list[Contender], most_rounds: int) -> None:
    """Time everyone in turn, round by round; slow ones drop out early."""
    for turn in range(most_rounds):
        for each in entrants:
            if turn < each.rounds:
                start = time.process_time()
                each.weigh()
                each.seconds.append(time.process_time() - start)


def table(entrants: list[Contender]) -> str:
    unit = entrants[0].best
    lines = [f"{'':34s}{'CPU s':>9s}{'rounds':>8s}{'ratio':>9s}{'correlation':>13s}{'difference':>12s}"]
    for each in entrants:
        line = f"{each.name:34s}{each.best:9.4f}{each.rounds:8d}{each.best / unit:9.2f}"
        if each.tolerance is not None:
            line += f"{each.correlation:13.7f}{each.difference:12.1e}"
        lines.append(line)
    return "\n".join(lines)


def environment() -> dict[str, Any]:
    from llvmlite.binding import get_host_cpu_name
    from threadpoolctl import threadpool_info

    threads = {pool["internal_api"]: pool["num_threads"] for pool in threadpool_info()}
    if any(n > 1 for n in threads.values()):
        raise SystemExit(f"More than one thread in use: {threads}.")
    libraries = ("numpy", "scipy", "scikit-learn", "numba")
    return {
        "cpu": get_host_cpu_name(),
        "machine": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "threads": threads,
        **{name: version(name) for name in libraries},
    }


def peak_memory() -> dict[str, float]:
    """What the memory benchmark reports, from a process that holds nothing else."""
    command = [sys.executable, "-m", f"{__package__}.memory"]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(answer.stdout)


def parse_size(text: str) -> tuple[int, int]:
    try:
        n_samples, n_features = map(int, text.lower().split("x"))
    except ValueError:
        message = f"a size is samples x features, as 1000x1000, not {text!r}"
        raise argparse.ArgumentTypeError(message) from None
    if n_samples < 40 or n_features < 20:
        raise argparse.ArgumentTypeError(f"{text} is too small: 40 samples and 20 features at least")
    return n_samples, n_features


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--sizes",
        nargs="+",
        type=parse_size,
        default=[parse_size(size) for size in SIZES],
        metavar="SIZE",
        help=f"samples x features (default: {' '.join(SIZES)})",
    )
    parser.add_argument(
        "--peers",
        nargs="*",
        choices=peers.NAMES,
        default=None,
        help="whom to compare with (default: all, the slow ones on small tables only; a peer that is"
        " named here takes part at every size)",
    )
    parser.add_argument("--rounds", type=int, default=15, help="most rounds (default: %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write the figures to this file")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    by_name = options.peers is not None
    chosen = list(options.peers if by_name else peers.NAMES)
    most_rounds = max(options.rounds, FEWEST_ROUNDS)
    # IRelief is told to stop after 10 steps, converged or not.
    warnings.filterwarnings("ignore", message="IRelief did not converge")

    # First, while this process is small: a child inherits the peak of its parent.
    memory = peak_memory()
    print("Peak memory of ReliefF, {n_samples} x {n_features}, float32:".format(**memory))
    print(
        "  arrays {arrays_peak_mib:.0f} MiB (the table itself: {table_mib:.1f} MiB; an n x n matrix would"
        " take {n_by_n_float32_mib:.0f} MiB)\n"
        "  whole process {process_peak_after_mib:.0f} MiB, {process_peak_before_mib:.0f} MiB before the"
        " fit".format(**memory)
    )

    for each in contenders(60, 30, chosen, by_name=True):
        each.weigh()  # compiles
    figures: dict[str, Any] = {"environment": environment(), "memory": memory, "relieff": []}
    for n_samples, n_features in options.sizes:
        print(f"\nReliefF, k = {N_NEIGHBORS}, {n_samples} x {n_features}, 2 classes, one thread, warm")
        entrants = contenders(n_samples, n_features, chosen, by_name)
        check_answers(entrants, most_rounds)
        measure(entrants, most_rounds)
        print(table(entrants), flush=True)
        for each in entrants:
            figures["relieff"].append(
                {
                    "n_samples": n_samples,
                    "n_features": n_features,
                    "n_neighbors": N_NEIGHBORS,
                    "contender": each.name,
                    "seconds": each.best,
                    "ratio": each.best / entrants[0].best,
                    "correlation": _or_none(each.correlation),
                    "difference": _or_none(each.difference),
                    "all_seconds": each.seconds,
                }
            )
    print(
        "\nCPU s: least CPU time of the rounds. ratio: how many times as long as highrelief in float32.\n"
        "correlation, difference: with the weights of highrelief in float64; the largest difference."
    )
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=1)
            file.write("\n")


def _or_none(number: float) -> float | None:
    return None if np.isnan(number) else number


if __name__ == "__main__":
    main()
