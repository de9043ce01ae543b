"""What a fit to a table that Dask holds costs: tasks, bytes, work and memory, as formulas.

n samples in C classes, d features of ``itemsize`` bytes, B blocks, W workers, k neighbors. The table lies
with the workers already, cut as it is worked on. Tasks are named as Dask's scheduler shows them, and are
exact; for ``IRelief`` by columns they are the most there can be, as blocks whose weights are all 0 are not
asked. Arrays that grow with none of n, d, B are left out, and so are the graphs, which the client sends with
what is known of the features. ``benchmarks.dask_scale`` holds all of this against what Dask counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from math import factorial
from typing import NamedTuple

import numpy as np

#: How many results are added up by one task.
FAN_IN = 4
#: Rows and columns of a tile of distances.
TILE = 64
#: Numbers that are known of every feature by whoever has a block: ends, mean, and what scales it.
OF_FEATURE = 6


class Problem(NamedTuple):
    """A table, how it is cut, and who works on it."""

    n: int
    d: int
    itemsize: int
    n_blocks: int
    n_workers: int
    k: int = 10
    n_classes: int = 2
    #: Samples whose neighbors are looked for; None: all.
    n_anchors: int | None = None
    #: Whether distances are only nearly known at first: not those of genotypes and other few levels.
    measures: bool = True

    @property
    def anchors(self) -> int:
        """Number of samples whose neighbors are looked for."""
        return self.n if self.n_anchors is None else self.n_anchors

    @property
    def table(self) -> float:
        """Bytes of the table."""
        return float(self.n) * self.d * self.itemsize

    @property
    def float_bytes(self) -> int:
        """Bytes of a number that is computed with."""
        return 4 if self.itemsize == 4 else 8

    @property
    def n_pairs(self) -> int:
        """Pairs of blocks, each with itself too."""
        return self.n_blocks * (self.n_blocks + 1) // 2


class Bytes(NamedTuple):
    """What is sent: from worker to worker, from workers to the client, and by the client."""

    between: float
    to_client: float
    from_client: float

    @property
    def by_workers(self) -> float:
        """What workers send, which is what they count."""
        return self.between + self.to_client


# Trees


def tree_tasks(n: int) -> int:
    """Tasks that add up n results."""
    tasks = 0
    while n > 1:
        n = -(-n // FAN_IN)
        tasks += n
    return tasks


def tree_moves(places: Sequence[int], *, most: bool = False) -> int:
    """Results that change the worker while they are added up, each where most of its parts lie.

    ``most``: where fewest of them do, as a scheduler may have it that thinks of who is idle.
    """
    moves, chosen = 0, -1 if most else 0
    while len(places) > 1:
        above = []
        for first in range(0, len(places), FAN_IN):
            parts = Counter(places[first : first + FAN_IN])
            place, there = parts.most_common()[chosen]
            moves += parts.total() - there
            above.append(place)
        places = above
    return moves


def expected_moves(n: int, n_workers: int, *, most: bool = False) -> float:
    """The same on average where results lie anywhere; ``most``: if all but one of every sum are moved."""
    if most:
        return n - 1.0 if n_workers > 1 else 0.0
    moves = 0.0
    while n > 1:
        full, rest = divmod(n, FAN_IN)
        moves += full * _moved(FAN_IN, n_workers) + _moved(rest, n_workers)
        n = -(-n // FAN_IN)
    return moves


@cache
def _moved(m: int, n_workers: int) -> float:
    """How many of m results are not where most of them are, on average."""
    if m < 2:
        return 0.0
    at_most = []
    for most in range(m + 1):
        # Terms of (Σ x^j/j!)^W up to x^m: the ways to deal out m results, up to so many each.
        one = [1.0 / factorial(j) if j <= most else 0.0 for j in range(m + 1)]
        ways = np.polynomial.Polynomial([1.0])
        for _ in range(n_workers):
            ways = np.polynomial.Polynomial((ways * np.polynomial.Polynomial(one)).coef[: m + 1])
        coefficients = np.pad(ways.coef, (0, m + 1 - ways.coef.size))
        at_most.append(coefficients[m] * factorial(m) / float(n_workers) ** m)
    largest = sum(most * (at_most[most] - at_most[most - 1]) for most in range(1, m + 1))
    return m - largest


def in_runs(n_blocks: int, n_workers: int) -> list[int]:
    """Workers of the blocks where neighbors lie together, which moves least."""
    return [block * n_workers // n_blocks for block in range(n_blocks)]


def fetched(problem: Problem, pairs_of_blocks: float) -> float:
    """Blocks that are sent to workers which have a share of so many pairs, whichever these are."""
    n_blocks, n_workers = problem.n_blocks, problem.n_workers
    per_worker = pairs_of_blocks / n_workers
    needed = n_blocks * (1.0 - (1.0 - 2.0 / (n_blocks + 1)) ** per_worker)
    return (n_workers - 1) * needed


# Sizes of what is sent


def _padded(n: int) -> int:
    return -(-n // TILE) * TILE


def distances_size(problem: Problem) -> float:
    """ReliefF's distances by columns, of all anchors to all samples."""
    return 4.0 * _padded(problem.anchors) * _padded(problem.n)


def tiles(problem: Problem) -> float:
    """Pairs of samples in tiles, each pair once."""
    side = _padded(problem.n) // TILE
    return side * (side + 1) / 2.0 * TILE**2


def lists_size(problem: Problem, n_anchors: float) -> float:
    """Neighbors of so many anchors: k of every class with their distances or shares."""
    return n_anchors * (16.0 * problem.k * problem.n_classes + 8.0 + 24.0 * problem.n_classes)


def block_size(problem: Problem) -> float:
    """A block of rows, with what it knows of the features."""
    height = problem.n / problem.n_blocks
    return height * (problem.d * problem.itemsize + 16.0) + OF_FEATURE * problem.d * problem.float_bytes


def looked(problem: Problem) -> float:
    """Ranges and levels of all features, by columns."""
    return problem.d * (3.0 * problem.float_bytes + 2.0)


def looked_at_rows(problem: Problem) -> float:
    """Ranges of all features as a block of rows knows them, and as they are joined."""
    return problem.d * (2.0 * problem.float_bytes + 8.0)


def layout_size(problem: Problem) -> float:
    """The classes of all samples, which every block of columns goes with."""
    return 8.0 * problem.n


# ReliefF by columns


def relieff_columns_tasks(problem: Problem, places: Sequence[int] | None = None) -> Counter[str]:
    """Tasks of a fit; ``places``: the worker of every block."""
    b, of_workers = problem.n_blocks, _blocks_of_workers(problem, places)
    tasks = Counter(
        {
            "contiguous": b,
            "ranges_and_levels": b,
            "LayoutSpec": 1,
            "ColumnBlock": b,
            "candidates": 1,
            "sums": b,
        }
    )
    # A worker takes all of its blocks at once, where it has room for them.
    tasks["partial_distances"] = len(of_workers)
    # What is shared counts as a task: who is asked for. Who goes on from a sum makes it.
    tasks.update({"sum_arrays": _below_the_last(len(of_workers)), "NeighborQuery": 1})
    if problem.measures:
        tasks.update({"exact_distances": b, "sum_arrays": _below_the_last(b), "with_shares": 1})
    return +tasks


def _below_the_last(n: int) -> int:
    """Tasks that add up n results, but for the last of them."""
    return max(0, tree_tasks(n) - 1)


def _blocks_of_workers(problem: Problem, places: Sequence[int] | None) -> list[int]:
    """Numbers of blocks of the workers that have some."""
    return list(Counter(in_runs(problem.n_blocks, problem.n_workers) if places is None else places).values())


def sought_size(problem: Problem) -> float:
    """Whose neighbors are looked for, and the classes of all; of few anchors their rows, too."""
    return 9.0 * problem.n + (0.0 if problem.n_anchors is None else 8.0 * problem.n_anchors)


def relieff_columns_bytes(
    problem: Problem, places: Sequence[int] | None = None, *, most: bool = False
) -> Bytes:
    """Bytes of a fit, at least or at most; ``places``: the worker of every block."""
    places = in_runs(problem.n_blocks, problem.n_workers) if places is None else places
    asked, lists = sought_size(problem), lists_size(problem, problem.anchors)
    copies = problem.n_workers - 1
    layout = layout_size(problem)
    between = (len(set(places)) - 1) * distances_size(problem) + copies * (asked + layout + lists)
    if problem.measures:
        # Lengths of all candidates, and the lists again once they are divided.
        lengths = 8.0 * problem.k * problem.n_classes * problem.anchors
        between += tree_moves(places, most=most) * lengths + copies * lists
    # Samples of the anchors say how sure the weights are: three sums of every feature.
    n_sums = 1 if problem.n_anchors is None else 3
    return Bytes(between, n_sums * 8.0 * problem.d + looked(problem), asked + layout)


# ReliefF by rows


def relieff_rows_tasks(problem: Problem) -> Counter[str]:
    """Tasks of a fit."""
    b, pairs = problem.n_blocks, problem.n_pairs
    tasks = Counter(
        {
            "contiguous": b,
            "row_block_ranges": b,
            "merge_ranges": tree_tasks(b),
            "BlockMetadata": 1,
            "RowBlock": b,
        }
    )
    tasks.update(
        {"levels": b, "candidates_between": pairs, "getitem": b * b, "merge_candidates": b * tree_tasks(b)}
    )
    tasks.update({"finalize_neighbors": b, "n_truncated": b, "margin_sums_between": pairs})
    tasks.update({"sum_arrays": tree_tasks(b) + tree_tasks(pairs), "SearchSpec": 1, "MarginSpec": 1})
    return +tasks


def relieff_rows_bytes(problem: Problem, *, most: bool = False) -> Bytes:
    """Bytes of a fit, on average or at most: if Dask drops the blocks that were sent between the passes."""
    b, workers, d = problem.n_blocks, problem.n_workers, problem.d
    of_block = lists_size(problem, problem.n / b)
    moves = expected_moves(b, workers, most=most)
    n_fetches = 2 if most else 1
    between = n_fetches * fetched(problem, 2.0 * problem.n_pairs / n_fetches) * block_size(problem)
    between += b * moves * of_block
    between += fetched(problem, problem.n_pairs) * of_block
    between += expected_moves(problem.n_pairs, workers, most=most) * 8.0 * d
    between += moves * (16.0 * d + looked_at_rows(problem))
    asked = 9.0 * problem.n
    return Bytes(between + (workers - 1) * asked, looked_at_rows(problem) + 24.0 * d, asked)


# I-RELIEF by columns, with a width that is given


def coefficients_size(problem: Problem) -> float:
    """Coefficients of all pairs, and their sums by row, which all workers are sent."""
    return problem.float_bytes * tiles(problem) + 8.0 * problem.n


def irelief_columns_tasks(problem: Problem, n_iterations: int) -> Counter[str]:
    """Tasks of a fit: those of the iterations, and one more look at the neighborhoods."""
    b, n_looks = problem.n_blocks, n_iterations + 1
    tasks = Counter(
        {"contiguous": b, "ranges_and_levels": b, "LayoutSpec": 1, "ColumnBlock": b, "minima": n_looks * b}
    )
    tasks.update(
        {"sum_arrays": n_looks * _below_the_last(b), "stored_distances": n_looks, "statistics": n_looks}
    )
    # What is shared counts as a task: what coefficients are made of.
    tasks.update({"Coefficients": n_iterations, "coefficients": n_iterations})
    tasks["sums_of_products"] = n_iterations * b
    return +tasks


def irelief_columns_bytes(
    problem: Problem, n_iterations: int, places: Sequence[int] | None = None, *, most: bool = False
) -> Bytes:
    """Bytes of a fit, at least or at most; ``places``: the worker of every block."""
    places = in_runs(problem.n_blocks, problem.n_workers) if places is None else places
    moves = tree_moves(places, most=most)
    minima = 8.0 * tiles(problem) + 8.0 * problem.n
    coefficients = coefficients_size(problem)
    copies, layout = problem.n_workers - 1, layout_size(problem)
    between = (n_iterations + 1) * moves * minima + copies * (n_iterations * coefficients + layout)
    # Smallest distance and mass of every class, seen from every sample; what follows from them comes back.
    known = problem.n * problem.n_classes * (problem.float_bytes + 8.0)
    to_client = (n_iterations + 1) * known + n_iterations * 8.0 * problem.d + looked(problem)
    made_of = 2.0 * problem.n * problem.n_classes * problem.float_bytes
    return Bytes(between, to_client, n_iterations * made_of + layout)


# I-RELIEF by rows, with a width that is given


def irelief_rows_tasks(problem: Problem, n_iterations: int) -> Counter[str]:
    """Tasks of a fit: those of the iterations, and one more look at the neighborhoods."""
    b, pairs, n_looks = problem.n_blocks, problem.n_pairs, n_iterations + 1
    tasks = Counter(
        {
            "contiguous": b,
            "row_block_ranges": b,
            "merge_ranges": tree_tasks(b),
            "BlockMetadata": 1,
            "RowBlock": b,
        }
    )
    tasks.update({"statistics": n_looks * pairs})
    tasks.update({"getitem": n_looks * b * b, "merge_statistics": n_looks * b * tree_tasks(b)})
    tasks.update({"differences": n_iterations * pairs, "sum_arrays": n_iterations * tree_tasks(pairs)})
    tasks.update({"SoftKernel": n_looks, "SampleCoefficients": n_iterations})
    return +tasks


def irelief_rows_bytes(problem: Problem, n_iterations: int, *, most: bool = False) -> Bytes:
    """Bytes of a fit, on average or at most.

    Dask drops copies that no task waits for after two seconds. A fit that is over by then sends the blocks
    once; a long one sends them in every pass, of which an iteration has two, and the last look is one.
    """
    b, workers, d = problem.n_blocks, problem.n_workers, problem.d
    n_passes = 2 * n_iterations + 1
    n_fetches = n_passes if most else 1
    known = problem.n * problem.n_classes * (problem.float_bytes + 8.0)
    between = n_fetches * fetched(problem, problem.n_pairs * n_passes / n_fetches) * block_size(problem)
    between += (n_iterations + 1) * expected_moves(b, workers, most=most) * known
    between += n_iterations * expected_moves(problem.n_pairs, workers, most=most) * 8.0 * d
    between += expected_moves(b, workers, most=most) * looked_at_rows(problem)
    around = 2.0 * problem.n * problem.n_classes * problem.float_bytes + 8.0 * d
    shared = n_iterations * around + (n_iterations + 1) * 8.0 * d
    to_client = (n_iterations + 1) * known + n_iterations * 8.0 * d + looked_at_rows(problem)
    return Bytes(between + (workers - 1) * shared, to_client, shared)


# Work and memory


def pair_features(problem: Problem, n_passes: int = 1) -> float:
    """Differences of two samples in a feature: what ReliefF does once, an iteration of I-RELIEF twice."""
    every = problem.n_anchors is None
    return n_passes * float(problem.anchors) * problem.n * problem.d * (0.5 if every else 1.0)


def task_memory(problem: Problem, by: str) -> float:
    """Bytes that ReliefF's largest task holds beside the blocks of its worker.

    By columns, that adds up distances: those it is sent and their sum. By rows, the one that compares two
    blocks: both, one below the other, the same in 16 bits, and the distances both ways.
    """
    if by == "columns":
        return (min(FAN_IN, problem.n_workers) + 1) * distances_size(problem)
    height = problem.n / problem.n_blocks
    return 2.0 * height * problem.d * (problem.itemsize + 2.0) + 8.0 * height**2


def client_memory(problem: Problem, by: str) -> float:
    """Bytes of ReliefF's fit at the client: what it is told of the features, and what it asks for."""
    of_features = OF_FEATURE * 8.0 * problem.d
    if by == "columns":
        return looked(problem) + sought_size(problem) + of_features
    return looked_at_rows(problem) + 9.0 * problem.n + of_features


def irelief_client_memory(problem: Problem) -> float:
    """Bytes of I-RELIEF's fit at the client, by columns: what is known of every sample and feature."""
    known = problem.n * problem.n_classes * (problem.float_bytes + 8.0)
    return 2.0 * known + OF_FEATURE * 8.0 * problem.d
