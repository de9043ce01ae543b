"""Two features that matter only together, hidden among many that do not matter at all.

How many irrelevant features the method stands: ``benchmarks/demo_reliability.py``.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from highrelief import FisherScore, IRelief, ReliefF
from highrelief.datasets import make_xor

N_SAMPLES, N_IRRELEVANT, SEED = 800, 3000, 0
N_SHOWN, BAR = 10, 32


def compile_kernels() -> float:
    """Fit a small table, so that the fit below is timed without compilation. Returns the seconds."""
    start = time.perf_counter()
    X, y, _ = make_xor(40, n_irrelevant=5, random_state=0)
    for method in (IRelief(), ReliefF(), FisherScore()):
        method.fit(X, y)
    return time.perf_counter() - start


def ranked_table(
    names: list[str], weights: NDArray[np.float64], relevant: NDArray[np.bool_]
) -> Iterable[str]:
    """The first lines of the ranking, a bar for every weight."""
    yield f"{'rank':>4s}  {'feature':8s}{'weight':>7s}"
    best = np.argsort(-weights, kind="stable")[:N_SHOWN]
    for rank, j in enumerate(best, start=1):
        bar = "#" * round(BAR * weights[j] / weights[best[0]])
        mark = "relevant" if relevant[j] else ""
        yield f"{rank:4d}  {names[j]:8s}{weights[j]:7.4f}  {bar:{BAR}s}  {mark}".rstrip()


def main() -> None:
    X, y, relevant = make_xor(N_SAMPLES, n_irrelevant=N_IRRELEVANT, shuffle_features=True, random_state=SEED)
    names = [f"x{j:04d}" for j in range(X.shape[1])]

    print("highrelief: which features matter, when they act only together\n")
    print(f"The problem   {X.shape[0]} samples, 2 classes, {X.shape[1]} features, {relevant.sum()} relevant")
    print("              class 1 where the relevant two have the same sign, else class 0;")
    print("              alone, each is useless, and all features look alike\n")

    print("Getting the kernels ready (the first time this compiles) ...", end=" ", flush=True)
    print(f"{compile_kernels():.1f} s")
    print("IRelief().fit(X, y) ...", end=" ", flush=True)
    start = time.perf_counter()
    found = IRelief().fit(X, y)
    print(f"{time.perf_counter() - start:.2f} s\n")

    print("\n".join(ranked_table(names, found.feature_weights_, relevant)))

    print(f"\nRanks of the relevant features among {X.shape[1]}")
    for method in (found, ReliefF().fit(X, y), FisherScore().fit(X, y)):
        ranks = " and ".join(str(rank) for rank in sorted(method.ranking_[relevant]))
        print(f"  {type(method).__name__ + '()':15s}{ranks}")


if __name__ == "__main__":
    main()
