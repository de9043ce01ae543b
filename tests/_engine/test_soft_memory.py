"""Memory of I-RELIEF: one scaled copy of the table, and none of a wide one; the bits are the same."""

import numpy as np
import oracles
import pytest
from peak_memory import peak_of
from registry import in_turn
from sklearn.exceptions import ConvergenceWarning
from small_tables import PRECISIONS, draw_table, local_rows, packed_table

from highrelief import IRelief
from highrelief._engine import pair_sums
from highrelief._engine.layout import Packed
from highrelief._engine.limits import limits
from highrelief._engine.scaling import feature_scaling

MARGIN = 4 * 2**20


def peak_of_fit(X, y, **parameters):
    weigher = IRelief(sigma=0.5, max_iter=2, tol=0.0, **parameters)
    with pytest.warns(ConvergenceWarning):
        weigher.fit(X, y)  # compile first
    with pytest.warns(ConvergenceWarning):
        return peak_of(lambda: weigher.fit(X, y))


def blocks(force, wanted):
    """Have all tables taken by blocks of columns, small blocks, or none."""
    force(view_ratio=0 if wanted else 10**9, copy_bytes=0, weighted_bytes=1)


class TestPeak:
    @pytest.mark.slow
    @in_turn(pytest.mark.parametrize("dtype", PRECISIONS), order=["C", "F"])
    def test_one_copy(self, dtype, order):
        X, y = draw_table(0, 900, 5000, 2, dtype=dtype)
        X = np.asarray(X, order=order)
        # A table in another order is copied by blocks, and partial sums have a bound of their own.
        extra = 64 * 8 * (5016 + 904) + (2**24 if order == "F" else 0)
        assert peak_of_fit(X, y, memory_budget=0) <= X.nbytes + extra + MARGIN

    @pytest.mark.slow
    @pytest.mark.parametrize("dtype", PRECISIONS)
    def test_no_copy_of_a_wide_table(self, dtype):
        X, y = draw_table(1, 450, 24_000, 2, dtype=dtype)
        assert X.nbytes > limits.copy_bytes
        one_block = 2**24
        assert peak_of_fit(X, y) <= 0.2 * X.nbytes + one_block + MARGIN

    @pytest.mark.slow
    def test_one_copy_of_a_wide_table_of_another_order(self):
        X, y = draw_table(1, 350, 24_000, 2)
        one_block = 2**24
        peak = peak_of_fit(np.asfortranarray(X), y)
        assert X.nbytes < peak <= 1.2 * X.nbytes + one_block + MARGIN


class TestBlocks:
    @pytest.mark.parametrize("dtype", PRECISIONS)
    @pytest.mark.parametrize("counted", [False, True])
    @pytest.mark.parametrize(("n", "d"), [(70, 2500), (150, 37), (1300, 9)])
    def test_every_bit_is_that_of_the_copy(self, force, dtype, counted, n, d):
        X, y = draw_table(2, n, d, 3, dtype=dtype)
        rng = np.random.default_rng(0)
        copies = rng.integers(1, 4, n).astype(float) if counted else None
        w = np.where(rng.random(d) < 0.4, 0.0, rng.random(d))
        found = set()
        for by_blocks, n_threads in ((False, 1), (True, 1), (True, 3)):
            blocks(force, by_blocks)
            rows = local_rows(X, y, copies, n_threads=n_threads)
            assert rows._pairs.rows.must_store == by_blocks
            sigma = rows.width_for_perplexity(w, 0.5)
            near = rows.soft_neighborhoods(w, sigma)
            entropies = np.array(near.entropies())
            margin = near.mean_margin(pooled=False, outliers=True)
            # Coefficients take the place of distances, which are then found again.
            again = near.mean_margin(pooled=False, outliers=True)
            np.testing.assert_array_equal(again, margin)
            np.testing.assert_array_equal(near.entropies(), entropies)
            single = near.margins(pooled=True)
            found.add((sigma, *(a.tobytes() for a in (entropies, margin, near.inlier, single))))
        assert len(found) == 1

    @pytest.mark.parametrize("sigma", ["auto", 0.5])
    def test_fit(self, force, sigma):
        X, y = draw_table(3, 80, 1500, 2)
        X[:, :5] += 0.5 * y[:, None]
        weights = []
        for by_blocks in (False, True):
            blocks(force, by_blocks)
            weights.append(IRelief(sigma=sigma).fit(X, y).feature_weights_)
        np.testing.assert_array_equal(*weights)

    def test_equals_the_oracle(self, force):
        blocks(force, True)
        X, y = draw_table(4, 60, 1300, 3)
        w = np.where(np.arange(1300) % 3, 0.02, 0.0)
        ours = local_rows(X, y).soft_neighborhoods(w, 0.7).mean_margin(pooled=True, outliers=True)
        exact = oracles.irelief_nu(X, y, w, 0.7, "nearest", True, None)
        assert np.max(np.abs(ours - exact)) < 1e-12 * np.max(np.abs(exact))

    def test_a_budget_too_small_leads_to_a_copy(self, force):
        blocks(force, True)
        X, y = draw_table(5, 70, 900, 2)
        assert not local_rows(X, y, memory=0.0)._pairs.rows.must_store


class TestScaledColumns:
    @pytest.mark.parametrize("order", ["C", "F", "strided"])
    @pytest.mark.parametrize("dtype", PRECISIONS)
    def test_any_columns_of_any_order(self, dtype, order):
        X, y = draw_table(6, 50, 40, 2, dtype=dtype)
        given = {"C": X, "F": np.asfortranarray(X), "strided": np.repeat(X, 2, axis=1)[:, ::2]}[order]
        table = Packed(given, y, 2, scaling=feature_scaling(X, "range", None))
        scaled = oracles.scale_range(X.astype(np.float64))
        which = np.array([3, 4, 9, 30])
        packed = np.zeros((table.n_rows, 16), dtype)
        table.scaled.write(which, packed)
        ours = table.unpacked(packed)[:, :4]
        for c, j in enumerate(which):  # from one end, or from the other
            off = min(np.abs(ours[:, c] - ends).max() for ends in (scaled[:, j], 1.0 - scaled[:, j]))
            assert off < 4 * np.finfo(dtype).eps
        np.testing.assert_array_equal(ours, table.unpacked(table.X)[:, which])
        np.testing.assert_allclose(table.scaled.spans, table.X[:, :40].max(axis=0), rtol=1e-6)

    def test_order_comes_back(self):
        X, y = draw_table(7, 30, 20, 2)
        rows = pair_sums.WeightedRows(packed_table(X, y))
        before = rows.X.copy()
        for w in (np.arange(20.0) % 3, np.ones(20) - (np.arange(20) == 4), np.ones(20)):
            rows.under(w)
            expected = before[:, np.r_[np.flatnonzero(w), np.flatnonzero(w == 0.0)]]
            np.testing.assert_array_equal(rows.X[:, :20], expected)
