"""Requests to the scheduler of a Dask cluster, and how long a fit waits for its answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import dask
from dask.utils import parse_timedelta

#: In Dask's configuration: how long a scheduler may be silent, or without workers, until a fit is given up.
PATIENCE_KEY = "highrelief.patience"
#: As long as Dask's scheduler waits, by default, for a worker that sends no heartbeat.
_PATIENCE = "5 minutes"


class SchedulerSilent(ConnectionError):  # noqa: N818
    """The scheduler does not answer."""


def patience() -> float:
    """Seconds that a scheduler may be silent, or without workers, as Dask's configuration says."""
    wanted = dask.config.get(PATIENCE_KEY, _PATIENCE)
    try:
        seconds = float(parse_timedelta(wanted))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        seconds = 0.0
    if not 0.0 < seconds < float("inf"):
        raise ValueError(
            f"{PATIENCE_KEY}={wanted!r} in Dask's configuration is invalid: use a positive number of seconds,"
            " or a duration such as '5 minutes'."
        )
    return seconds


def ask(client: Any, question: Callable[[], Any]) -> Any:
    """Return the scheduler's answer to a coroutine function; raise if there is none in time.

    How long tasks take does not matter: a scheduler that works answers while they run.
    """
    seconds = patience()
    end = time.monotonic() + seconds
    while True:
        try:
            return client.sync(question, callback_timeout=max(end - time.monotonic(), 0.0))
        except Exception as error:
            # Dask gives up a new connection sooner, also to a scheduler that is only slow.
            if type(error) not in (OSError, TimeoutError) or client.status != "running":
                raise
            if time.monotonic() >= end:
                raise SchedulerSilent(
                    f"The scheduler of the Dask cluster has not answered for {seconds:g} seconds"
                    f" ({PATIENCE_KEY} in Dask's configuration). Nothing was fitted; fit again when the"
                    " scheduler is running."
                ) from error
