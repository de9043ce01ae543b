"""What is known here of a labelled table that Dask holds: all but its values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..packed import Packed
from .table import ClusterTable


class ClusterPacked(Packed):
    """A labelled table whose values lie with workers; ``raw`` says its shape and type."""

    raw: ClusterTable  # type: ignore[assignment]

    def _taken(self, features: NDArray[np.int64]) -> NDArray[Any]:
        return self.raw.columns(features)
