"""A stream of ten million rows: rows per second, memory, and how near it comes to the batch answer.

50 features, made batch by batch. Two act only together (the class is whether their signs agree; neither says
anything alone), three weaker ones are shifted by the class, 45 are noise, and one label in twenty is wrong.
All are bounded, in units from 0.001 to 1,000: the range of a bounded feature is the same in a stream and in a
sample, so that both scale alike.

The batch answer is I-RELIEF with the same margin, the same outliers and the same rule for σ, on a sample that
the stream does not hold. 40 averaged steps: after the 10 of the default its weights still move towards those
of 100 by as much as samples differ. The distance between the answers of two samples is printed beside: that
much comes from the sample, not from the stream.

Run as ``python -m benchmarks.stream``; with ``--page``, docs/streams.md then says what was printed.
"""

from __future__ import annotations

import argparse
import threading
import time
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from highrelief import IRelief, OnlineIRelief

from .machine import environment

TARGET_DISTANCE = 0.05
N_FEATURES = 50
#: How far the class shifts the weaker features, whose own range is 2.
SHIFTS = (0.6, 0.5, 0.4)
#: The least distance of the two joint features from 0.
GAP = 0.3
WRONG_LABELS = 0.05
#: Of the batch algorithm.
STEPS = 40
PAGE = Path(__file__).resolve().parent.parent / "docs" / "streams.md"
UNITS = np.logspace(-3, 3, N_FEATURES)


def rows(batch: int, n_rows: int, dtype: str = "float64") -> tuple[NDArray[np.floating], NDArray[np.int64]]:
    """The samples of a batch and their classes; the same for the same number."""
    rng = np.random.default_rng([7, batch])
    y = rng.integers(0, 2, n_rows)
    side = 2.0 * y - 1.0
    X = rng.uniform(-1.0, 1.0, (n_rows, N_FEATURES))
    sign = rng.choice([-1.0, 1.0], n_rows)
    X[:, 0] = sign * rng.uniform(GAP, 1.0, n_rows)
    X[:, 1] = sign * side * rng.uniform(GAP, 1.0, n_rows)
    for j, shift in enumerate(SHIFTS, start=2):
        X[:, j] += shift * side
    X *= UNITS
    return X.astype(dtype, copy=False), np.where(rng.random(n_rows) < WRONG_LABELS, 1 - y, y)


def anonymous_memory() -> float:
    """Bytes of this process that no file holds, in MB; NaN where the system does not say."""
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    line = next(line for line in status.read_text().splitlines() if line.startswith("RssAnon"))
    return int(line.split()[1]) / 1000.0


class Peak:
    """The most anonymous memory since it was last asked for, looked at every few milliseconds."""

    def __init__(self) -> None:
        self._most = 0.0
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            self._most = max(self._most, anonymous_memory())
            time.sleep(0.005)

    def since_last(self) -> float:
        """MB."""
        most, self._most = max(self._most, anonymous_memory()), 0.0
        return most


def batch_answer(which: int, n_samples: int) -> NDArray[np.float64]:
    """Weights of I-RELIEF for a sample, told to do as OnlineIRelief does."""
    model = IRelief(
        margin="nearest", outliers=True, perplexity=0.5, averaging=True, max_iter=STEPS, tol=0.0, n_jobs=-1
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # told to make so many steps
        # Batches of the stream have smaller numbers.
        return model.fit(*rows(2**40 + which, n_samples)).feature_weights_


class Told:
    """Lines that are printed, and kept for the page."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def __call__(self, line: str) -> None:
        print(line, flush=True)
        self._lines.append(line)

    def put_on_page(self) -> None:
        """In the place of what was told before."""
        begin, end = "<!-- stream -->", "<!-- end of stream -->"
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
        after = rest.partition(end)[2]
        told = "\n".join(["", "```text", *self._lines, "```", ""])
        PAGE.write_text(before + begin + told + end + after, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.stream", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--batch", type=int, default=10_000, help="rows that partial_fit is given at a time")
    parser.add_argument("--buffer", type=int, default=1000, help="buffer_size")
    parser.add_argument("--sample", type=int, default=8000, help="rows that the batch answer is made of")
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float64")
    parser.add_argument("--page", action="store_true", help="have docs/streams.md say what is printed")
    options = parser.parse_args()
    machine, told = environment(), Told()
    told(f"{machine['processor']}, commit {machine['commit']}; one thread")
    n_batches = -(-options.rows // options.batch)
    stream = OnlineIRelief(buffer_size=options.buffer, random_state=0)
    OnlineIRelief(buffer_size=3).partial_fit(*rows(2**41, 10, options.dtype))  # compile
    peak, learning, of_cpu, making, marks = Peak(), 0.0, 0.0, 0.0, []
    for batch in range(n_batches):
        start = time.perf_counter()
        X, y = rows(batch, min(options.batch, options.rows - batch * options.batch), options.dtype)
        made, busy = time.perf_counter(), time.thread_time()
        stream.partial_fit(X, y)
        learning += time.perf_counter() - made
        of_cpu += time.thread_time() - busy
        making += made - start
        if (batch + 1) * 10 // n_batches > batch * 10 // n_batches:
            marks.append(peak.since_last())
            told(
                f"{stream.n_samples_seen_:12,d} rows {stream.n_samples_seen_ / learning:10,.0f} per second on"
                f" the clock {stream.n_samples_seen_ / of_cpu:10,.0f} per second of CPU time"
                f" {marks[-1]:8.1f} MB at most"
            )
    told(
        f"{learning:.1f} s in partial_fit ({of_cpu:.1f} s of CPU time), {making:.1f} s to make the rows,"
        f" buffer_size={options.buffer}"
    )
    growth = marks[-1] - marks[0]
    told(f"anonymous memory: {marks[0]:.1f} MB up to a tenth, {marks[-1]:.1f} MB in the last ({growth:+.1f})")
    first, second = (batch_answer(which, options.sample) for which in range(2))
    distance = float(np.linalg.norm(stream.feature_weights_ - first))
    told(f"weights, stream: {stream.feature_weights_[:6].round(3)}  batch: {first[:6].round(3)}")
    told(f"two samples of {options.sample:,}: {np.linalg.norm(first - second):.4f} apart")
    reached = "reached" if distance < TARGET_DISTANCE else "MISSED"
    told(f"stream and sample: {distance:.4f} apart, target {TARGET_DISTANCE}: {reached}")
    if options.page:
        told.put_on_page()


if __name__ == "__main__":
    main()
