"""Every estimator, and every kernel, on arrays between unmapped pages or with checked indices.

Run by `make memory-check`: with ``-p guarded_memory``, and once more under ``NUMBA_BOUNDSCHECK=1``. A process
that dies names its test, and so the estimator.
"""

import os

import numba
import numpy as np
import pytest
from fuzzing import ESTIMATORS, Case, answer_or_clear_error
from kernel_cases import CASES, numbers
from registry import ALL_ENTRIES, THOROUGH

if not (os.environ.get("HIGHRELIEF_GUARD") or os.environ.get("NUMBA_BOUNDSCHECK")):
    raise RuntimeError("memory_checks.py checks nothing without HIGHRELIEF_GUARD or NUMBA_BOUNDSCHECK=1.")

pytestmark = pytest.mark.filterwarnings("ignore")

#: More than a block of rows or features, and not a multiple of it; then what takes another way.
_WIDE = (*13 * ("normal",), "ties", "flags", "constant", "zeros")
TABLES = {
    "float64": Case(70, _WIDE, n_classes=3),
    "float32": Case(70, _WIDE, "float32", n_classes=3, alone=True),
    "int8": Case(35, 9 * ("ties",), "int8", times=2),
    "missing": Case(67, (*_WIDE, "holes", "missing", "all missing"), n_classes=3),
    "missing float32": Case(21, ("holes", "ties", "large with holes"), "float32", sample_weight="copies"),
    "CSR": Case(66, _WIDE, "sparse", n_classes=3, weighted="manhattan"),
    "CSR float32": Case(5, ("ties", "flags", "normal"), "sparse columns", sample_weight="uniform"),
    "categories": Case(37, ("ties", "flags", "holes", "normal"), categorical=True, class_weight="balanced"),
    "batches": Case(38, ("holes", *_WIDE), batches=True, groups=True, scale="standard"),
    "weights": Case(29, ("normal", "ties"), sample_weight="very different", weighted="euclidean"),
    "few": Case(3, ("normal",)),
}


SLOW = {str(entry) for entry in ALL_ENTRIES if entry.slow}
#: Each estimator meets some of the tables, in turn, and each table some of the estimators.
_MET = range(len(TABLES)) if THOROUGH else (0, 4, 8)
PAIRS = [
    (name, list(TABLES)[(place + step) % len(TABLES)])
    for place, name in enumerate(ESTIMATORS)
    if THOROUGH or name not in SLOW
    for step in _MET
]


def test_arrays_are_guarded_or_indices_checked():
    """Also in the processes that run the tests."""
    guarded = np._core.multiarray.get_handler_name() == "guarded"
    assert guarded == bool(os.environ.get("HIGHRELIEF_GUARD"))
    assert guarded or numba.config.BOUNDSCHECK == 1


@pytest.mark.parametrize(("name", "table"), PAIRS)
def test_no_estimator_leaves_its_arrays(name, table):
    answer_or_clear_error(ESTIMATORS[name], TABLES[table])


@pytest.mark.parametrize("name", CASES)
def test_no_kernel_leaves_its_arrays(name):
    # What was in memory before does not matter either.
    assert not np.isnan(numbers(name)).any()
