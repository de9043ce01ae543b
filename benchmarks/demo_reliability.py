"""How many irrelevant features do the methods of the demos stand, over many seeds?

``demo``: the branches of Fermat's spiral, one turn, and ``HighRelief()``, as ``highrelief demo`` has them.
``spiral``: the same spiral and ``LOGO()``.
``xor``: continuous XOR, two features that say nothing alone, and ``IRelief()``, as in ``examples/xor.py``.
For every number of samples and of irrelevant features: with how many seeds are the two relevant features on
ranks 1 and 2? Run as ``python -m benchmarks.demo_reliability``; what it printed is in
``benchmarks/README.md``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from highrelief import LOGO, HighRelief, IRelief
from highrelief.datasets import make_fermat_spiral, make_xor


@dataclass(frozen=True)
class Problem:
    """What is to be found, by what, and the sizes to try: irrelevant features by samples."""

    make: Callable[..., Any]
    parameters: Mapping[str, Any]
    method: Callable[[], Any]
    grid: Mapping[int, Sequence[int]]


PROBLEMS = {
    "demo": Problem(make_fermat_spiral, {"turns": 1.0}, lambda: HighRelief(random_state=0), {400: (1000,)}),
    "spiral": Problem(
        make_fermat_spiral, {"turns": 1.0}, LOGO, {200: (1000, 3000), 400: (1000, 3000, 5000, 10000)}
    ),
    "xor": Problem(
        make_xor,
        {},
        IRelief,
        {
            200: (50, 100, 200, 300, 500, 1000),
            400: (50, 100, 200, 500, 700, 1000, 1500, 2000, 5000),
            800: (200, 500, 1000, 2000, 3000, 5000),
        },
    ),
}
# A cell in which some seed failed is not worth more than this many.
SEEDS_OF_A_FAILURE = 50


def succeeds(problem: Problem, n_samples: int, n_irrelevant: int, seed: int) -> bool:
    """Whether the two relevant features, and only they, are in front."""
    X, y, relevant = problem.make(
        n_samples, n_irrelevant=n_irrelevant, shuffle_features=True, random_state=seed, **problem.parameters
    )
    return sorted(problem.method().fit(X, y).ranking_[relevant]) == [1, 2]


def study(problem: Problem, n_samples: int, n_irrelevant: int, n_seeds: int) -> tuple[int, int, float]:
    """Successes, seeds tried, and CPU seconds per seed."""
    start = time.process_time()
    successes = tried = 0
    while tried < n_seeds and (successes == tried or tried < SEEDS_OF_A_FAILURE):
        successes += succeeds(problem, n_samples, n_irrelevant, seed=tried)
        tried += 1
    return successes, tried, (time.process_time() - start) / tried


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.demo_reliability", description=__doc__)
    parser.add_argument("--problem", choices=PROBLEMS, default="spiral")
    parser.add_argument("--samples", type=int, nargs="+", help="numbers of samples (default: a grid)")
    parser.add_argument("--irrelevant", type=int, nargs="+", help="numbers of irrelevant features")
    parser.add_argument("--seeds", type=int, default=100, help="seeds per cell (default: %(default)s)")
    options = parser.parse_args()
    problem = PROBLEMS[options.problem]

    succeeds(problem, 40, 5, seed=0)  # compiles
    print("samples  irrelevant  both in front    share  CPU s per fit")
    for n_samples in options.samples or problem.grid:
        for n_irrelevant in options.irrelevant or problem.grid.get(n_samples, (1000, 3000)):
            successes, tried, seconds = study(problem, n_samples, n_irrelevant, options.seeds)
            print(
                f"{n_samples:7d}{n_irrelevant:12d}{successes:9d} of {tried:3d}{successes / tried:9.2f}"
                f"{seconds:15.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
