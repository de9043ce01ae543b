"""What Dask holds, told from arrays without importing Dask."""

from __future__ import annotations

from typing import Any


def is_dask(values: Any) -> bool:
    """Whether something is a Dask collection; Dask is not imported to find out."""
    return type(values).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(
        values, "__dask_graph__"
    )


def on_cluster(X: Any) -> bool:
    """Whether a judged table is one that Dask holds."""
    return bool(getattr(type(X), "held_by_dask", False))


def pairs_are_here(X: Any) -> bool:
    """Whether the distances of all pairs of the samples of a judged table are, or may be, in one memory."""
    return X.pairs_are_here if on_cluster(X) else True


def gathered(values: Any) -> Any:
    """Labels, weights or groups of the samples, in memory; anything but a Dask collection as it is."""
    if not is_dask(values):
        return values
    from .scheduler import Work  # noqa: PLC0415

    return Work().results(lambda: [values])[0]
