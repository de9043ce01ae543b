"""One contender, one file.

A contender is a module with

``NAME``, ``VERSION``
    What is measured.
``DTYPE``
    The precision it works in. It gets the data in that precision, so that no conversion is timed.
``TOLERANCE``
    How far its weights may be from those of highrelief in float64 on data with two classes.
``MOST_SAMPLES``
    Largest table it is measured on unless it is asked for by name; None: no limit.
``relieff(X, y, n_neighbors)``
    Its ReliefF weights, one per feature, on one thread, set as its documentation advises for a table of
    continuous features. Any choice left open is made in favour of the contender.

To add one: write the file, name it in ``NAMES`` and in ``benchmarks/requirements.txt``.
"""

from importlib import import_module
from types import ModuleType

#: The contenders besides highrelief itself.
NAMES = ("fast_select", "skrebate")


def load(name: str) -> ModuleType:
    """Import a contender; it must be installed."""
    return import_module(f"{__name__}.{name}")
