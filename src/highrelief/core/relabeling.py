"""Labels dealt out anew, so that no feature has anything to do with them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


def same_within(labels: NDArray[np.int64], groups: NDArray[np.int64]) -> bool:
    """Whether all samples of a group have the same label, in every group."""
    order = np.lexsort((labels, groups))
    grouped, label = groups[order], labels[order]
    return not bool(np.any((grouped[1:] == grouped[:-1]) & (label[1:] != label[:-1])))


def relabelings(
    seeds: NDArray[np.int64],
    n_samples: int,
    strata: NDArray[np.int64] | None = None,
    blocks: NDArray[np.int64] | None = None,
) -> Iterator[NDArray[np.int64]]:
    """Whose label each sample gets, (n_samples,), one after the other.

    Parameters
    ----------
    seeds : (n_permutations,) int
        Where the random numbers of each begin: more of them leave the first ones as they are.
    n_samples : int
        Number of samples.
    strata : (n_samples,) int, default=None
        Labels move within these only; numbers from 0 on.
    blocks : (n_samples,) int, default=None
        Samples of the same number, which have the same label, get the same label again, and are of one
        stratum.

    Yields
    ------
    places : (n_samples,) int
        Sample whose label goes here.
    """
    first = np.arange(n_samples)
    unit_of = first
    if blocks is not None:
        _, first, unit_of = np.unique(blocks, return_index=True, return_inverse=True)
    of_units = None if strata is None else strata[first]
    for seed in seeds:
        yield first[_shuffled(np.random.RandomState(seed), first.size, of_units)][unit_of]


def _shuffled(random: np.random.RandomState, n: int, strata: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """A permutation of 0 … n − 1 that leaves every place in its stratum."""
    shuffled = random.permutation(n)
    if strata is None:
        return shuffled
    places = np.empty(n, dtype=np.int64)
    places[np.argsort(strata, kind="stable")] = shuffled[np.argsort(strata[shuffled], kind="stable")]
    return places
