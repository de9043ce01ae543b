"""What is written is what is compiled: kernels run as Python give the numbers of those that Numba made.

Run by `make coverage-kernels`, under ``NUMBA_DISABLE_JIT=1``; a process of its own runs the compiled ones.
"""

import os

import numpy as np
import pytest
from kernel_cases import CASES, numbers
from processes import run

if not os.environ.get("NUMBA_DISABLE_JIT"):
    raise RuntimeError("kernels_as_python.py needs NUMBA_DISABLE_JIT=1.")


@pytest.fixture(scope="module")
def compiled():
    code = "import json, kernel_cases; print(json.dumps(kernel_cases.found()))"
    return run(code, NUMBA_DISABLE_JIT=0)


@pytest.mark.parametrize("name", CASES)
def test_the_same_numbers(name, compiled):
    ours = numbers(name)
    # Compiled sums run in another order: a few hundred roundings.
    tolerance = 1e-4 if name.endswith("float32") else 1e-9
    np.testing.assert_allclose(ours, compiled[name], rtol=0.0, atol=tolerance * np.abs(ours).max())
