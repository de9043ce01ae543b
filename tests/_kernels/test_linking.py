"""Kernels inside kernels: the same bits wherever a copy was compiled, and whoever loads it."""

import pytest
from kernel_package import install
from processes import run

INNER = """
from .jit import summing_kernel, wide_vectors

@summing_kernel
def inner(row):
    wide_vectors()
    total = row.dtype.type(0)
    for u in range(row.shape[0]):
        total += row[u]
    return total
"""

OUTER = """
from .inner import inner
from .jit import kernel

@kernel
def middle(X, out):
    for i in range(X.shape[0]):
        out[i] += inner(X[i])

@kernel
def outer(X, out):
    middle(X, out)
"""

USE = """
import json
import numpy as np
from highrelief._kernels.inner import inner
from highrelief._kernels.outer import middle, outer

def by_inner(X, out):
    for i in range(X.shape[0]):
        out[i] = inner(X[i])

X = np.random.default_rng(0).normal(size=(40, 131))
sums = {}
for name in %r:
    out = np.zeros(X.shape[0])
    {"inner": by_inner, "middle": middle, "outer": outer}[name](X, out)
    sums[name] = out.tolist()
print(json.dumps(sums))
"""


@pytest.mark.slow
def test_a_sum_has_the_same_bits_on_its_own_and_in_its_callers(tmp_path):
    installed = install(tmp_path / "package")
    (installed / "highrelief" / "_kernels" / "inner.py").write_text(INNER)
    (installed / "highrelief" / "_kernels" / "outer.py").write_text(OUTER)
    here = {"path": installed, "HIGHRELIEF_CACHE_DIR": tmp_path / "cache"}
    compiled = run(USE % ["inner", "middle", "outer"], **here)
    assert compiled["inner"] == compiled["middle"] == compiled["outer"]
    for name in compiled:
        assert run(USE % [name], **here) == {name: compiled[name]}
