"""Where rows are worked on: the seam between the estimators and the machine.

An estimator asks for margins; what is packed, tiled, stored or computed again is decided behind these
methods. Another place to work (a cluster) offers the same ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .nearest_rows import NearestPass, Neighborhood
from .packed import Packed
from .soft_rows import WIDTH_ANCHORS, SoftMargin, SoftPasses

__all__ = ["LocalRows", "Neighborhood", "SoftMargin"]


class LocalRows:
    """Rows of a table in this process, worked on by its threads.

    Parameters
    ----------
    table : Packed
        The rows.
    memory : float
        Bytes that may be spent on keeping distances between two passes over them.
    """

    def __init__(self, table: Packed, memory: float) -> None:
        self._table = table
        self._soft = SoftPasses(table, memory)

    @property
    def priors(self) -> NDArray[np.float64]:
        """Share of every class, in copies of samples."""
        return self._table.priors

    def execution(self, *, soft: bool = False) -> dict[str, Any]:
        """What was chosen for these rows, for the user to see."""
        chosen: dict[str, Any] = {
            "backend": "threads",
            "n_threads": self._table.n_threads,
            "dtype": self._table.dtype.name,
        }
        if soft:
            chosen["distances"] = "stored" if self._soft.stored else "recomputed"
        return chosen

    def nearest_margin(
        self, among: Neighborhood, anchors: NDArray[np.integer] | None = None
    ) -> NDArray[np.float64]:
        """Mean over the anchors (None: all samples) of E|x − miss| − E|x − hit|, (n_features,)."""
        mask = self._table.real
        if anchors is not None:
            wanted = np.zeros(self._table.n_samples, dtype=bool)
            wanted[anchors] = True
            mask = mask & wanted[self._table.position]
        return NearestPass(self._table, among, mask).mean()

    def nearest_margin_rows(self, among: Neighborhood) -> NDArray[np.float64]:
        """E|x − miss| − E|x − hit| of every sample, (n_samples, n_features)."""
        return NearestPass(self._table, among, self._table.real).rows()

    def soft_margin(self, w: NDArray[np.float64], sigma: float, *, margin: str, outliers: bool) -> SoftMargin:
        """ν and γ under weights w and the kernel exp(−d/σ) (Sun 2007, eqs. 8 to 11).

        ``margin``: ``"nearest"`` is eq. (21), ``"prior"`` is eq. (20); without ``outliers`` γ is 1 in ν.
        """
        return self._soft.margin(w, sigma, pooled=margin == "nearest", outliers=outliers)

    def inlier(self, w: NDArray[np.float64], sigma: float) -> NDArray[np.float64]:
        """γ alone (eq. 10), (n_samples,)."""
        return self._soft.inlier(w, sigma)

    def soft_margin_rows(self, w: NDArray[np.float64], sigma: float, *, margin: str) -> SoftMargin:
        """Rows m̄_n − h̄_n, without γ, and γ apart."""
        return self._soft.margin_rows(w, sigma, pooled=margin == "nearest")

    def width_for_perplexity(
        self, w: NDArray[np.float64], share: float, n_anchors: int = WIDTH_ANCHORS
    ) -> float:
        """σ at which a neighbourhood holds, in effect, ``share`` of the other samples."""
        return self._soft.width_for_perplexity(w, share, n_anchors)
