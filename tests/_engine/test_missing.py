"""Missing values: expected differences, as the oracle writes them."""

import numpy as np
import pytest
from oracles.missing_1994 import expected_differences
from small_tables import incomplete_table

from highrelief._engine.missing import MissingValues
from highrelief._engine.scaling import MissingMask, feature_scaling
from highrelief._kernels import packing
from highrelief._kernels.missing import CHUNK


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize(("dtype", "close"), [(np.float64, 1e-13), (np.float32, 1e-5)])
class TestExcess:
    def test_distances_pairs_and_sums_equal_the_expectation(self, dtype, close, counted, squared):
        X, y, copies = incomplete_table(dtype, counted)
        absent, filled = MissingMask.extract(X, 1)
        scaling = feature_scaling(filled, "range", copies)
        position, _ = packing.class_layout(y, 3)
        missing = MissingValues(absent, filled, scaling, position, sample_weight=copies, n_threads=2)
        power = 2 if squared else 1
        scaled = scaling.apply(filled).astype(float)
        scaled[np.isnan(X)] = np.nan
        E = expected_differences(scaled, copies, power)
        found = scaling.apply(filled).astype(float)
        excess = E - np.abs(found[:, np.newaxis] - found) ** power

        random = np.random.default_rng(1)
        real = np.flatnonzero(position != packing.PADDING)
        of_rows = excess[np.ix_(position[real], position[real])]
        L = missing.correction_blocks(np.arange(position.size), (0, -(-position.size // CHUNK)), squared)
        L = np.concatenate(L, axis=1)[:, : position.size]
        added = (L + L.T)[np.ix_(real, real)]
        np.testing.assert_allclose(added, of_rows.sum(axis=2), atol=1e-5)

        factors = random.random(6)
        rows, others = (each.ravel() for each in np.meshgrid(real, real, indexing="ij"))
        pairs = np.zeros(rows.size)
        missing.add_to_pairs(rows, others, factors[missing.features], pairs, squared)
        np.testing.assert_allclose(pairs, (of_rows @ factors).ravel(), atol=close)

        C = random.normal(size=(real.size, real.size))
        sums = np.zeros(6)
        sums[missing.features] = missing.pair_sums(rows, others, C.ravel(), squared)
        expected = np.einsum("ab,abj->j", C, of_rows)
        np.testing.assert_allclose(sums, expected, atol=100 * close)


def test_some_samples_of_what_is_absent():
    X, _, _ = incomplete_table(np.float64, False)
    absent, _ = MissingMask.extract(X, 1)
    kept = np.arange(70) % 3 == 0
    mask = absent.of_samples(kept).mask(0, absent.features.size)
    np.testing.assert_array_equal(mask, np.isnan(X[kept][:, absent.features]).T)
