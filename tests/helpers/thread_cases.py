"""Fits that threads share, and how many threads there are."""

import sys
import time

from registry import continuous_table

from highrelief import IRelief, ReliefF
from highrelief._engine import threads


def table():
    """A table of several tiles, so that there is work for threads."""
    return continuous_table(200)


def fitted_bits(n_jobs=2):
    X, y = table()
    weights = [model.fit(X, y).feature_weights_ for model in (ReliefF(n_jobs=n_jobs), IRelief(n_jobs=n_jobs))]
    return b"".join(weight.tobytes() for weight in weights)


def n_helpers(patience=60.0):
    """Helper threads of this process; those that were started have ``patience`` seconds to run."""
    deadline = time.monotonic() + patience
    while _n_running() < threads._shared.n_threads and time.monotonic() < deadline:
        time.sleep(0.01)
    return _n_running()


def _n_running():
    begins = [frame for frame in sys._current_frames().values() if frame is not None]
    for i, frame in enumerate(begins):
        while frame.f_back is not None:
            frame = frame.f_back  # noqa: PLW2901
        begins[i] = frame
    return sum(frame.f_code is threads._help.__code__ for frame in begins)
