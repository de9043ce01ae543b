"""mRMR: genes that say much about the class and little about each other (MID and MIQ), in three states.

No maintained library has both forms for discrete data: what there is in Python binds a program of 2007, which
is not free for all uses, or estimates mutual information of continuous values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .single_genes import t_test

#: Genes with a larger p-value in the t-test are left out first, "to reduce the computation burden".
CONFIDENCE = 0.01
#: Added to the redundancy that the quotient MIQ divides by: a gene may have none.
LEAST_REDUNDANCY = 0.01


def three_states(X: NDArray[Any]) -> NDArray[np.int8]:
    """1 above μ + σ, −1 below μ − σ, 0 between, gene by gene."""
    values = np.asarray(X, dtype=np.float64)
    mean, deviation = values.mean(axis=0), values.std(axis=0, ddof=1)
    return (values > mean + deviation).astype(np.int8) - (values < mean - deviation).astype(np.int8)


class States:
    """Genes in a few states: the mutual information of all of them with another variable."""

    def __init__(self, X: NDArray[np.int8]) -> None:
        self.n_samples, self.n_genes = X.shape
        #: Who is in which state, a matrix for each.
        self._members = [(state == X).astype(np.float32) for state in np.unique(X)]
        self._entropy = _entropy([members.mean(axis=0) for members in self._members])

    def information(self, other: NDArray[Any]) -> NDArray[np.float64]:
        """I(gene; other) in bits: H(gene) + H(other) − H(both)."""
        kinds = np.array([other == kind for kind in np.unique(other)], dtype=np.float32)
        # Counts are whole, and exact in single precision.
        joint = [kinds @ members / self.n_samples for members in self._members]
        alone = _entropy([np.atleast_1d(kind.mean()) for kind in kinds])
        return self._entropy + alone - _entropy(list(np.concatenate(joint)))


def _entropy(shares: list[NDArray[Any]]) -> NDArray[np.float64]:
    p = np.array(shares, dtype=np.float64)
    return -np.sum(p * np.log2(p, out=np.zeros_like(p), where=p > 0.0), axis=0)


def mrmr(X: NDArray[Any], y: NDArray[Any], n_genes: int, *, quotient: bool) -> NDArray[np.int64]:
    """The genes in the order in which they are taken, one by one.

    The first says most about the class. Each next one has the largest difference (MID), or quotient (MIQ), of
    what it says about the class and what it says on average about the genes taken before.
    """
    candidates = _candidates(X, y, n_genes)
    states = three_states(X[:, candidates])
    genes = States(states)
    relevance, redundancy = genes.information(y), np.zeros(len(candidates))
    taken = [int(np.argmax(relevance))]
    while len(taken) < min(n_genes, len(candidates)):
        redundancy += genes.information(states[:, taken[-1]])
        mean = redundancy / len(taken)
        score = relevance / (mean + LEAST_REDUNDANCY) if quotient else relevance - mean
        score[taken] = -np.inf
        taken.append(int(np.argmax(score)))
    return candidates[taken]


def _candidates(X: NDArray[Any], y: NDArray[Any], n_genes: int) -> NDArray[np.int64]:
    """Genes that the t-test leaves, in their order; at least as many as are wanted."""
    p = t_test(X, y)
    n_left = max(int(np.sum(p < CONFIDENCE)), n_genes)
    return np.sort(np.argsort(p, kind="stable")[:n_left])
