"""One contender, one file.

A contender is a module that can be imported without its library, with

``NAME``
    What it is called in the tables.
``version()``
    The version of its library; raises ImportError where that is not installed.
``INSTALL``
    What to do then.
``VENV``
    Whose virtual environment it runs in: None for that of the benchmarks, or a name; ``.venv-bench-NAME`` is
    made by make from ``benchmarks/requirements/NAME.txt``.
``DTYPES``
    The precisions it works in. It gets the data in that precision, so that no conversion is timed.
``MOST_ELEMENTS``
    Samples² × features of the largest table it is measured on unless it is asked for by name; None: any.
``TOLERANCE``
    How far its weights may be from those of highrelief in float64 on two classes without ties, relative to
    the largest; None where it computes something else.
``DIFFERS``
    Why, for the table.

and functions by the name of a method, ``relieff(X, y, n_neighbors)``, ``surf(X, y, method)`` (of ``"SURF"``,
``"SURFStar"``, ``"MultiSURF"``, ``"MultiSURFStar"``), ``irelief(X, y, sigma, max_iter)``,
``lfe(X, y, n_components, n_neighbors)``, ``hknn(X, y, n_neighbors, alpha)`` (half of the samples is fitted,
the rest asked for), ``distances(X, y)``, ``ensemble(X, y, member, parameters, n_estimators)``, each of which
returns a call without arguments that does the work, and nothing but the work, on one thread, and returns the
weights. What a user would prepare once is done before that call. A contender is set as its documentation
advises; any choice left open is made in its favor.

Optional: ``clock()``, CPU seconds where they are not those of the Python process, with
``MEMORY = False``, since the peak of the Python process then says nothing;
``detail(method, dtype, **settings)``, a remark for the tables.

To add one: write the file, name it in ``NAMES``, and its library in a requirements file.
"""

from importlib import import_module
from types import ModuleType

#: The rivals, as ``--peers`` knows them.
NAMES = (
    "fast_select",
    "skrebate",
    "skfeature",
    "orange",
    "weka",
    "sklearn_distances",
    "sklearn_nca",
    "sklearn_pca",
    "numpy_irelief",
    "numpy_logo",
    "numpy_im4e",
    "numpy_frel",
    "numpy_hknn",
    "sklearn_knn",
    "numpy_lfe",
    "numpy_simba",
    "quadprog_lhr",
    "plain_loop",
)


def load(name: str) -> ModuleType:
    """The module of a contender."""
    return import_module(f"{__name__}.{name}")
