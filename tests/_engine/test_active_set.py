"""Margins of single samples under sparse weights; tests/methods/test_logo.py has what LOGO relies on."""

import numpy as np
import oracles
import pytest
from small_tables import packed_table

from highrelief._engine.engine import LocalEngine
from highrelief.datasets import make_waveform


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("memory", [2.0**30, 0.0])
def test_columns_and_sums_equal_the_oracle(dtype, memory):
    X, y, _ = make_waveform(60, n_irrelevant=4, random_state=0)
    X = oracles.scale_range(X)
    s = 1.0 + np.arange(len(y)) % 2
    table = packed_table(X.astype(dtype), y, s)
    w = np.where(np.arange(X.shape[1]) % 3 == 0, 0.7, 0.0)
    near = LocalEngine(table, memory).active_set_margins.at(w, 0.5)
    Z, _ = oracles.soft_margin_rows(X, y, w, 0.5, s=s)
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    # In any order, also such that looks like columns side by side.
    for some in (np.array([7, 0, 3]), np.array([0, 3, 2]), np.array([2, 1, 4, 5])):
        np.testing.assert_allclose(table.unpacked(near.columns(some)), Z[:, some], atol=tolerance)
    rng = np.random.default_rng(0)
    r = rng.uniform(size=len(y))
    packed = table.laid_out(r)
    sums = r @ Z
    # Between two sums: rounding must not decide which side one of them is on.
    threshold = float(np.sort(sums)[[sums.size // 2 - 1, sums.size // 2]].mean())
    above = near.features_above(packed, threshold)
    assert set(above) == set(np.flatnonzero(sums > threshold))
    np.testing.assert_allclose(np.diff(sums[above]), -np.abs(np.diff(sums[above])), atol=1e-3)
    largest = near.largest_sum(packed, np.array([1, 2]))
    assert largest == pytest.approx(sums.max(), abs=100.0 * tolerance)
