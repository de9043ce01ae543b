"""Columns that are sorted side by side, and expected differences of values that crowd."""

import numpy as np
import pytest

from highrelief._engine.missing import MissingValues
from highrelief._engine.scaling import MissingMask, Scaling
from highrelief._kernels.missing import CHUNK
from highrelief._kernels.sorting import LANES, sort_columns


@pytest.mark.parametrize("n", [8, 16, 24, 40, 96, 104, 256, 264, 520, 1000, 1024])
def test_columns_are_sorted(n):
    keys = np.random.default_rng(n).integers(0, 2**32, size=(n, LANES), dtype=np.uint32)
    expected = np.sort(keys, axis=0)
    sort_columns(keys)
    np.testing.assert_array_equal(keys, expected)


def _by_definition(X, copies):
    """E|x − V| − (x − least), and half of E|V − V'| where x is missing."""
    out = np.empty(X.shape)
    for j, x in enumerate(X.T):
        seen = ~np.isnan(x)
        v, c = x[seen], copies[seen] / copies[seen].sum()
        expected = np.abs(x[:, np.newaxis] - v) @ c
        out[:, j] = np.where(seen, expected - (x - v.min()), 0.5 * (expected[seen] @ c))
    return out


@pytest.mark.parametrize("most_in_network", [0, 4096])
@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("kind", ["usual", "far_out", "few_values"])
def test_excess_of_any_values(force, kind, counted, most_in_network):
    random = np.random.default_rng(3)
    X = random.normal(size=(300, 21))
    if kind == "far_out":
        X[0] = 1e12
    elif kind == "few_values":
        X = np.rint(X)
    X[random.random(X.shape) < 0.1] = np.nan
    X[1:3] = [[1.0], [2.0]]
    copies = random.integers(1, 4, len(X)).astype(float) if counted else np.ones(len(X))
    force(max_network_samples=most_in_network)
    absent, filled = MissingMask.extract(X, 1)
    rows = np.arange(len(X))
    scaling = Scaling.none(X.shape[1], X.dtype)
    found = MissingValues(absent, filled, scaling, rows, sample_weight=copies if counted else None).excess[0]
    by_row = found.transpose(0, 2, 1).reshape(len(found) * CHUNK, -1)[: len(X)]
    np.testing.assert_allclose(by_row, _by_definition(X, copies)[:, absent.features], rtol=1e-9, atol=1e-9)
