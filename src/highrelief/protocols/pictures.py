"""Pictures of several panels, as the papers have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def panels(
    n: int, *, columns: int = 3, width: float = 3.6, height: float = 3.2, **options: Any
) -> tuple[Figure, list[Any]]:
    """A picture and the axes of its n panels, row by row; ``options`` as in ``Figure.subplots``."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    columns = min(columns, n)
    rows = -(-n // columns)
    picture = Figure(figsize=(width * columns, height * rows), layout="constrained")
    axes = picture.subplots(rows, columns, squeeze=False, **options).ravel()
    for ax in axes[n:]:
        ax.set_axis_off()
    return picture, list(np.asarray(axes)[:n])
