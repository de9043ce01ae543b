"""Kernels, and the passes built from them, against the oracles and against their own stated accuracy."""

import math
from collections import namedtuple

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from registry import THOROUGH, pairwise
from sklearn.exceptions import ConvergenceWarning
from small_tables import PRECISIONS, draw_table, local_rows, packed_table, tables

from highrelief import IRelief, ReliefF
from highrelief._engine.class_distances import ClassDistances
from highrelief._engine.engine import LocalEngine
from highrelief._engine.layout import Packed
from highrelief._engine.missing_pairs import MissingCorrection
from highrelief._engine.neighbors import Neighborhood
from highrelief._engine.scaling import Scaling, feature_scaling
from highrelief._engine.soft import LocalPairwiseDistances
from highrelief._kernels import distances, online, packing
from highrelief._kernels import soft as soft_kernels
from highrelief._kernels.vectors import decay

SoftMargin = namedtuple("SoftMargin", "margin inlier")


def soft_margin(rows, w, sigma, *, margin, outliers):
    """ν and γ of one step."""
    near = rows.soft_neighborhoods(w, sigma)
    return SoftMargin(near.mean_margin(pooled=margin == "nearest", outliers=outliers), near.inlier)


class TestExponential:
    @pytest.mark.parametrize(
        ("dtype", "lowest", "accuracy"), [(np.float32, -60.0, 1.2e-7), (np.float64, -600.0, 2.3e-16)]
    )
    def test_accuracy(self, dtype, lowest, accuracy):
        @njit
        def apply(x, out):
            for i in range(x.size):
                out[i] = decay(x[i])

        x = np.concatenate([[0.0], -np.logspace(-8, 3, 200_001)]).astype(dtype)
        out = np.empty_like(x)
        apply(x, out)
        exact = np.exp(x.astype(np.longdouble))
        kept = x > lowest
        assert np.max(np.abs(out[kept] - exact[kept]) / exact[kept]) < accuracy
        assert np.all(out[~kept] == 0.0)
        assert out[0] == 1.0

    def test_minus_infinity_is_zero(self):
        @njit
        def apply(x):
            return decay(x)

        assert apply(-np.inf) == 0.0
        assert apply(np.float32(-np.inf)) == 0.0


class TestLayout:
    @given(tables)
    @settings(max_examples=30 if THOROUGH else 15, deadline=None)
    def test_rows_by_class_in_whole_blocks(self, table):
        X, y = table
        packed = packed_table(X, y)
        assert packed.X.ctypes.data % 64 == 0
        assert packed.n_rows % packing.ROW_BLOCK == 0
        assert np.all(np.diff(packed.codes) >= 0)
        np.testing.assert_array_equal(np.sort(packed.sample_of_row[packed.is_sample]), np.arange(len(X)))
        np.testing.assert_array_equal(
            y[packed.sample_of_row[packed.is_sample]], packed.codes[packed.is_sample]
        )
        np.testing.assert_array_equal(packed.unpacked(packed.sample_of_row), np.arange(len(X)))
        ours = packed.unpacked(packed.X)[:, : X.shape[1]]
        from_low, from_high = X - X.min(axis=0), X.max(axis=0) - X
        for j in range(X.shape[1]):  # measured from one end of the column, or from the other
            assert np.allclose(ours[:, j], from_low[:, j]) or np.allclose(ours[:, j], from_high[:, j])
        assert np.all(ours.min(axis=0) == 0.0)
        assert np.all(packed.X[~packed.is_sample] == 0.0)

    def test_row_length_is_no_multiple_of_the_page(self):
        for n_features in (1, 16, 17, 512, 1024, 2048):
            for itemsize in (4, 8):
                width = packing.padded_width(n_features, itemsize)
                assert width >= n_features
                assert width % packing.FEATURE_BLOCK == 0
                assert width * itemsize % 4096 != 0


class TestDistances:
    @pytest.mark.parametrize("dtype", PRECISIONS)
    @pytest.mark.parametrize("d", [1, 30, 700, 3000])
    def test_tiles_are_within_the_stated_error(self, dtype, d):
        X, y = draw_table(d, 130, d, 2, dtype=dtype)
        table = packed_table(X, y)
        T = np.empty((distances.TILE, distances.TILE))
        bound = distances.relative_error(dtype)
        for i0, j0 in map(distances.tile_corner, range(table.n_tiles)):
            i1, j1 = min(i0 + 64, table.n_rows), min(j0 + 64, table.n_rows)
            distances.distance_tile(table.X, table.row_sums, i0, i1, j0, j1, T)
            a, b = table.X[i0:i1].astype(float), table.X[j0:j1].astype(float)
            exact = np.abs(a[:, None] - b[None]).sum(axis=2)
            allowed = bound * 4.0 * table.row_sums.max()
            assert np.all(np.abs(T[: i1 - i0, : j1 - j0] - exact) <= allowed + 1e-300)

    @pytest.mark.parametrize("dtype", PRECISIONS)
    @pytest.mark.parametrize("d", [3, 700, 2000])
    def test_equal_rows_are_at_distance_zero_exactly(self, dtype, d):
        X, y = draw_table(1, 100, d, 2, dtype=dtype)
        X[50:] = X[:50]
        table = packed_table(X, y)
        T = np.empty((64, 64))
        place = np.argsort(np.where(table.is_sample, table.sample_of_row, 10**6))[:100]
        checked = 0
        for i0, j0 in map(distances.tile_corner, range(table.n_tiles)):
            i1, j1 = min(i0 + 64, table.n_rows), min(j0 + 64, table.n_rows)
            distances.distance_tile(table.X, table.row_sums, i0, i1, j0, j1, T)
            for n in range(50):
                p, q = sorted((place[n], place[n + 50]))
                if i0 <= p < i1 and j0 <= q < j1:
                    assert T[p - i0, q - j0] == 0.0
                    checked += 1
        assert checked >= 50

    def test_a_common_offset_costs_no_digits(self):
        X, y = draw_table(5, 60, 8, 2)
        X = np.round(X * 2**20) / 2**20  # so that adding the offset is exact
        near, far = local_rows(X, y), local_rows(X + 2.0**20, y)
        w = np.full(8, 0.3)
        a = soft_margin(near, w, 0.2, margin="nearest", outliers=True)
        b = soft_margin(far, w, 0.2, margin="nearest", outliers=True)
        np.testing.assert_allclose(a.margin, b.margin, rtol=1e-12)


class TestSoftMargins:
    @given(
        tables,
        st.sampled_from([0.02, 0.3, 5.0]),
        st.sampled_from(["nearest", "prior"]),
        st.booleans(),
        st.sampled_from([None, "counts", "fractions"]),
    )
    @settings(max_examples=60 if THOROUGH else 25, deadline=None)
    def test_equal_the_oracle(self, table, sigma, margin, outliers, weighting):
        X, y = table
        rng = np.random.default_rng(1)
        s = {
            None: None,
            "counts": rng.integers(1, 4, len(X)).astype(float),
            "fractions": rng.uniform(0.2, 3.0, len(X)),
        }[weighting]
        w = rng.random(X.shape[1])
        w[rng.random(w.size) < 0.3] = 0.0
        Z, gamma = oracles.soft_margin_rows(X, y, w, sigma, margin, s)
        nu = np.average(Z * (gamma[:, None] if outliers else 1.0), axis=0, weights=s)
        for memory in (2.0**30, 0.0):
            rows = local_rows(X, y, s, memory=memory)
            ours = soft_margin(rows, w, sigma, margin=margin, outliers=outliers)
            np.testing.assert_allclose(ours.margin, nu, rtol=1e-9, atol=1e-13)
            np.testing.assert_allclose(ours.inlier, gamma, rtol=1e-9, atol=1e-15)
            near = rows.soft_neighborhoods(w, sigma)
            single = near.margins(pooled=margin == "nearest")
            np.testing.assert_allclose(single, Z @ w, rtol=1e-9, atol=1e-12)
            packed = rows._table
            features = np.arange(X.shape[1])
            by_feature = near.margin_columns(
                features, packed, MissingCorrection.of(packed), pooled=margin == "nearest"
            )
            by_feature = rows._table.unpacked(by_feature)[:, : w.size]
            np.testing.assert_allclose(by_feature, Z, rtol=1e-9, atol=1e-13)

    @pairwise(
        pytest.mark.parametrize("dtype", PRECISIONS),
        pytest.mark.parametrize("memory", [2.0**30, 0.0]),
        pytest.mark.parametrize("sigma", [1e-310, 1e-300, 1e-12, 1e12, 1e300]),
    )
    def test_any_width_gives_numbers(self, dtype, memory, sigma):
        X, y = draw_table(7, 140, 5, 3, dtype=dtype)
        rows = local_rows(X, y, memory=memory)
        ours = soft_margin(rows, np.ones(5), sigma, margin="nearest", outliers=False)
        assert np.all(np.isfinite(ours.margin))
        assert np.all(np.isfinite(ours.inlier))
        if sigma < 1.0:
            expected = oracles.relief(X, y)
        else:
            expected, _ = oracles.soft_margin_rows(X, y, np.ones(5), 1e9)
            expected = expected.mean(axis=0)
        np.testing.assert_allclose(ours.margin, expected, atol=1e-6 if dtype == np.float32 else 1e-8)

    @pytest.mark.parametrize("memory", [2.0**30, 0.0])
    def test_several_tiles(self, memory):
        X, y = draw_table(8, 300, 40, 3)
        w = np.full(40, 40**-0.5)
        ours = soft_margin(local_rows(X, y, memory=memory), w, 0.1, margin="prior", outliers=True)
        Z, gamma = oracles.soft_margin_rows(X, y, w, 0.1, "prior")
        np.testing.assert_allclose(ours.margin, (Z * gamma[:, None]).mean(axis=0), atol=1e-13)

    @pytest.mark.parametrize("memory", [2.0**30, 0.0])
    def test_neighborhoods_outlive_the_next_weights(self, memory):
        X, y = draw_table(8, 150, 6, 2)
        rows = local_rows(X, y, memory=memory)
        expected = soft_margin(rows, np.full(6, 0.4), 0.3, margin="nearest", outliers=True).margin
        first = rows.soft_neighborhoods(np.full(6, 0.4), 0.3)
        rows.soft_neighborhoods(np.arange(6.0), 0.3)
        np.testing.assert_array_equal(first.mean_margin(pooled=True, outliers=True), expected)

    @pytest.mark.parametrize("memory", [2.0**30, 0.0])
    def test_one_sample_classes_contribute_nothing(self, memory):
        X, y = draw_table(9, 40, 5, 2)
        y[0] = 2
        ours = soft_margin(local_rows(X, y, memory=memory), np.ones(5), 0.3, margin="nearest", outliers=False)
        Z, _ = oracles.soft_margin_rows(X, y, np.ones(5), 0.3)
        assert ours.inlier[0] == 0.0
        assert np.all(Z[0] == 0.0)
        np.testing.assert_allclose(ours.margin, Z.mean(axis=0), atol=1e-13)

    @pytest.mark.parametrize("in_columns", [False, True])
    def test_online_margin_with_fixed_weights_averages_to_the_batch(self, in_columns):
        X, y = draw_table(10, 50, 6, 3)
        w = np.random.default_rng(0).random(6)
        w[2] = 0.0
        active = np.flatnonzero(w)
        priors = np.bincount(y) / len(y)
        for margin in ("nearest", "prior"):
            batch = soft_margin(local_rows(X, y), w, 0.4, margin=margin, outliers=True)
            rows = np.empty_like(X)
            members = np.argsort(y, kind="stable")
            bounds = np.searchsorted(y[members], np.arange(4))
            pooled = margin == "nearest"
            references = np.ascontiguousarray(X[members].T) if in_columns else X
            among = (references, in_columns, members, bounds, priors, w, active, 0.4)
            for at_once in (4, 8, 64):  # references in one, or several, blocks
                scratch = np.empty(at_once), np.empty((3, 6))
                for n in range(len(X)):
                    online.sample_margin(X[n], y[n], n, *among, pooled, True, *scratch, rows[n])
                np.testing.assert_allclose(rows.mean(axis=0), batch.margin, atol=1e-14)


class TestEntropies:
    @given(
        tables,
        st.sampled_from([0.02, 0.3, 5.0]),
        st.sampled_from([None, "counts", "fractions"]),
    )
    @settings(max_examples=40 if THOROUGH else 20, deadline=None)
    def test_equal_the_oracle(self, table, sigma, weighting):
        X, y = table
        rng = np.random.default_rng(1)
        s = {
            None: None,
            "counts": rng.integers(1, 4, len(X)).astype(float),
            "fractions": rng.uniform(0.2, 3.0, len(X)),
        }[weighting]
        w = np.where(rng.random(X.shape[1]) < 0.3, 0.0, rng.random(X.shape[1]))
        alpha, beta = oracles.im4e_probabilities(X, y, w, sigma, s)
        _, gamma = oracles.soft_margin_rows(X, y, w, sigma, s=s)
        for memory in (2.0**30, 0.0):
            near = local_rows(X, y, s, memory=memory).soft_neighborhoods(w, sigma)
            hit, miss = near.entropies()
            np.testing.assert_allclose(hit, oracles.im4e_entropies(alpha, s), rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(miss, oracles.im4e_entropies(beta, s), rtol=1e-9, atol=1e-12)
            valid = gamma > 0.0
            np.testing.assert_allclose(near.log_inlier[valid], np.log(gamma[valid]), rtol=1e-9, atol=1e-12)
            np.testing.assert_array_equal(near.log_inlier[~valid], 0.0)

    @pytest.mark.parametrize("dtype", PRECISIONS)
    @pytest.mark.parametrize("memory", [2.0**30, 0.0])
    def test_several_tiles(self, dtype, memory):
        X, y = draw_table(8, 300, 12, 3, dtype=dtype)
        w = np.full(12, 1 / 12)
        hit, miss = local_rows(X, y, memory=memory).soft_neighborhoods(w, 0.02).entropies()
        alpha, beta = oracles.im4e_probabilities(X, y, w, 0.02)
        tolerance = 1e-12 if dtype == np.float64 else 2e-5
        np.testing.assert_allclose(hit, oracles.im4e_entropies(alpha), rtol=tolerance)
        np.testing.assert_allclose(miss, oracles.im4e_entropies(beta), rtol=tolerance)

    @pytest.mark.parametrize("dtype", PRECISIONS)
    def test_any_width_gives_numbers(self, dtype):
        X, y = draw_table(7, 140, 5, 3, dtype=dtype)
        y[0] = 3
        sizes = np.bincount(y)
        for sigma in (1e-310, 1e-300, 1e-12, 1e12, 1e300):
            near = local_rows(X, y).soft_neighborhoods(np.ones(5), sigma)
            hit, miss = near.entropies()
            assert np.isfinite(near.log_inlier).all()
            assert hit[0] == miss[0] == near.log_inlier[0] == 0.0
            expected = (
                (0.0, 0.0) if sigma < 1.0 else (np.log(sizes[y] - 1.0 + (y == 3)), np.log(140 - sizes[y]))
            )
            np.testing.assert_allclose(hit[1:], np.broadcast_to(expected[0], 140)[1:], atol=1e-5)
            np.testing.assert_allclose(miss[1:], np.broadcast_to(expected[1], 140)[1:], atol=1e-5)

    def test_hard_samples_count_most(self):
        X, y = draw_table(11, 90, 6, 3)
        w, sigma = np.random.default_rng(0).random(6), 0.3
        Z, gamma = oracles.soft_margin_rows(X, y, w, sigma)
        for memory in (2.0**30, 0.0):
            near = local_rows(X, y, memory=memory).soft_neighborhoods(w, sigma)
            hard = near.mean_margin(pooled=True, outliers=True, hard=True)
            np.testing.assert_allclose(hard, (1.0 - gamma) @ Z / 90, atol=1e-14)

    def test_all_count_where_hits_are_out_of_reach(self):
        """A share of the hits that is too small for a float is still a hit."""
        X = np.array([[0.0], [1.0], [0.1], [0.9]])
        y = np.array([0, 0, 1, 1])
        near = local_rows(X, y).soft_neighborhoods(np.ones(1), 1e-4)
        np.testing.assert_array_equal(near.inlier, 0.0)
        np.testing.assert_allclose(near.log_inlier, [-9000, -9000, -7000, -7000])
        np.testing.assert_allclose(near.mean_margin(pooled=True, outliers=False), [0.1 - 0.9])


class TestClassDistances:
    @given(
        tables,
        st.sampled_from([1e-300, 0.02, 0.3, 5.0, 1e300]),
        st.sampled_from([None, "counts", "fractions"]),
        st.integers(1, 3),
    )
    @settings(max_examples=40 if THOROUGH else 20, deadline=None)
    def test_equal_the_oracle(self, table, sigma, weighting, n_threads):
        X, y = table
        rng = np.random.default_rng(2)
        s = {
            None: None,
            "counts": rng.integers(1, 4, len(X)).astype(float),
            "fractions": rng.uniform(0.2, 3.0, len(X)),
        }[weighting]
        w = rng.random(X.shape[1])
        queries = np.concatenate([X[:7], rng.normal(size=(rng.integers(1, 80), X.shape[1]))])
        ours = ClassDistances(X, Scaling.none(X.shape[1], X.dtype), y, w, sigma, s).expected(
            queries, n_threads
        )
        expected = oracles.im4e_psi(queries, X, y, w, sigma, s)
        if sigma == 1e-300:  # of equally near samples, one or another: all are as far
            d = np.abs(queries[:, None] - X) @ w
            expected = np.array([[d[q, y == c].min() for c in np.unique(y)] for q in range(len(d))])
        np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-12)

    def test_a_common_offset_costs_no_digits(self):
        X, y = draw_table(5, 60, 8, 2)
        X = np.round(X * 2**20) / 2**20  # so that adding the offset is exact
        as_it_is = Scaling.none(8, X.dtype)
        near = ClassDistances(X, as_it_is, y, np.full(8, 0.3), 0.2).expected(X, 1)
        far = ClassDistances(X + 2.0**20, as_it_is, y, np.full(8, 0.3), 0.2).expected(X + 2.0**20, 1)
        np.testing.assert_allclose(far, near, rtol=1e-12)


class TestWidth:
    @given(tables, st.sampled_from([0.1, 0.5, 0.9]), st.booleans())
    @settings(max_examples=40 if THOROUGH else 20, deadline=None)
    def test_equals_the_oracle(self, table, share, counted):
        X, y = table
        s = np.random.default_rng(0).integers(1, 4, len(X)).astype(float) if counted else None
        w = np.full(X.shape[1], 1.0)
        try:
            expected = oracles.sigma_for_perplexity(X, w, share, s)
        except ValueError:  # no width has this perplexity
            expected = None
        for memory in (2.0**30, 0.0):
            ours = local_rows(X, y, s, memory=memory).width_for_perplexity(w, share)
            assert np.isfinite(ours)
            assert ours > 0.0
            if expected is not None:
                assert math.isclose(ours, expected, rel_tol=1e-7)

    def test_scales_with_the_weights(self):
        X, y = draw_table(11, 80, 10, 2)
        rows = local_rows(X, y)
        w = np.random.default_rng(0).random(10)
        small, large = rows.width_for_perplexity(w, 0.5), rows.width_for_perplexity(1e3 * w, 0.5)
        assert math.isclose(large, 1e3 * small, rel_tol=1e-9)

    @pytest.mark.parametrize("kind", ["continuous", "genotypes"])
    def test_many_rows_are_sampled_by_content(self, kind):
        X, y = draw_table(12, 1500, 9, 2, kind)
        rng = np.random.default_rng(0)
        order = rng.permutation(1500)
        w = rng.random(9)
        pairs = LocalPairwiseDistances.of(packed_table(X, y), 2.0**30).under(w)
        exact = pairs.width_for_perplexity(0.5, n_anchors=1500)
        ours = local_rows(X, y).width_for_perplexity(w, 0.5)
        assert ours != exact
        assert math.isclose(ours, exact, rel_tol=0.02)
        for other_y in (y[order], 1 - y[order]):
            moved = local_rows(X[order], other_y).width_for_perplexity(w, 0.5)
            assert math.isclose(moved, ours, rel_tol=1e-9)
        s = rng.integers(1, 4, 1500)
        counted = local_rows(X, y, s.astype(float)).width_for_perplexity(w, 0.5)
        copied = local_rows(np.repeat(X, s, axis=0), np.repeat(y, s))
        assert math.isclose(copied.width_for_perplexity(w, 0.5), counted, rel_tol=1e-9)

    @pytest.mark.parametrize("dtype", PRECISIONS)
    @pytest.mark.parametrize("n", [300, 1300])
    def test_memory_changes_no_bit(self, dtype, n):
        X, y = draw_table(12, n, 9, 3, dtype=dtype)
        w = np.random.default_rng(0).random(9)
        # Everything fits, the distances of the anchors only, nothing.
        columns = packed_table(X, y).n_rows * min(n, 1024) * X.itemsize
        budgets = (2.0**30, 1.01 * columns if n > 1024 else 0.99 * columns, 0.0)
        assert len({local_rows(X, y, memory=b).width_for_perplexity(w, 0.5) for b in budgets}) == 1

    def test_copies_decide_with_the_rows_which_are_measured(self):
        X, y = draw_table(12, 600, 9, 2)
        w = np.ones(9)
        counted = local_rows(X, y, np.full(600, 2.0)).width_for_perplexity(w, 0.5)
        copied = local_rows(np.repeat(X, 2, axis=0), np.repeat(y, 2)).width_for_perplexity(w, 0.5)
        assert math.isclose(copied, counted, rel_tol=1e-9)

    def test_all_rows_equal(self):
        X = np.tile(np.random.default_rng(0).random(4), (10, 1))
        y = np.arange(10) % 2
        assert np.isfinite(local_rows(X, y).width_for_perplexity(np.ones(4), 0.5))


class TestPrecision:
    """What docs/accuracy.md states."""

    @pytest.mark.parametrize(("n", "d"), [(150, 300), (60, 4000)])
    def test_float32_weights(self, n, d):
        X, y = draw_table(13, n, d, 2, dtype=np.float32)
        X[:, : d // 10] += 0.3 * y[:, None].astype(np.float32)
        double = X.astype(np.float64)
        w = np.full(d, d**-0.5)
        sigma = local_rows(double, y).width_for_perplexity(w, 0.5)
        a = local_rows(X, y).nearest(Neighborhood(10)).mean()
        b = oracles.relieff(double, y, 10, tol=1e-6)  # neighbors closer than that share, in float32
        assert np.max(np.abs(a - b)) < 2e-6 * np.max(np.abs(b))
        for memory in (2.0**30, 0.0):
            a = soft_margin(local_rows(X, y, memory=memory), w, sigma, margin="nearest", outliers=True)
            b = soft_margin(local_rows(double, y), w, sigma, margin="nearest", outliers=True)
            assert np.max(np.abs(a.margin - b.margin)) < 2e-5 * np.max(np.abs(b.margin))

    def test_float64_weights(self):
        X, y = draw_table(14, 200, 100, 3)
        w = np.full(100, 0.1)
        ours = soft_margin(local_rows(X, y), w, 0.2, margin="nearest", outliers=True).margin
        exact = oracles.irelief_nu(X, y, w, 0.2, "nearest", True, None)
        assert np.max(np.abs(ours - exact)) < 1e-12 * np.max(np.abs(exact))


class TestThreads:
    @pytest.mark.parametrize("dtype", PRECISIONS)
    @pytest.mark.parametrize("kind", ["continuous", "genotypes"])
    def test_every_bit_is_the_same_for_any_number(self, dtype, kind):
        X, y = draw_table(15, 500, 37, 3, kind, dtype)
        w = np.random.default_rng(0).random(37)
        nearest, soft_kernels = set(), set()
        for n_threads in (1, 2, 3, 7):
            for memory in (2.0**30, 0.0):
                rows = local_rows(X, y, n_threads=n_threads, memory=memory)
                nearest.add(rows.nearest(Neighborhood(10)).mean().tobytes())
                soft_kernels.add(
                    (
                        soft_margin(rows, w, 0.5, margin="nearest", outliers=True).margin.tobytes(),
                        rows.soft_neighborhoods(w, 0.5).margins(pooled=False).tobytes(),
                        rows.active_set_margins.at(w, 0.5).columns(np.arange(37)).tobytes(),
                        rows.width_for_perplexity(w, 0.5),
                    )
                )
        assert len(nearest) == 1
        assert len(soft_kernels) == 1


class TestFarOut:
    """A few values far from all others leave little of the range to the rest."""

    @pytest.mark.parametrize("far", [-1e4, 1e4])
    def test_a_row_far_out(self, far):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(150, 20)).astype(np.float32)
        y = rng.integers(0, 2, 150)
        X[:, :3] += y[:, None]
        X[0] = far
        double = X.astype(np.float64)
        exact = oracles.relieff(oracles.scale_range(double), y, 10, tol=1e-6)
        ours = ReliefF().fit(X, y).feature_weights_
        assert np.max(np.abs(ours - exact)) < 1e-5 * np.max(np.abs(exact))
        w = np.full(20, 0.05)
        exact = oracles.irelief_nu(oracles.scale_range(double), y, w, 1e-5, "nearest", True, None)
        scaling = feature_scaling(double, "range", None)
        rows = LocalEngine(Packed(double, y, 2, scaling=scaling), 2.0**30)
        ours = soft_margin(rows, w, 1e-5, margin="nearest", outliers=True).margin
        assert np.max(np.abs(ours - exact)) < 1e-11 * np.max(np.abs(exact))


class TestBalance:
    """Where hits and misses balance, the margin is 0, and rounding must not make weights of it."""

    @pytest.mark.parametrize("dtype", PRECISIONS)
    @pytest.mark.parametrize("memory", [2.0**30, 0.0])
    def test_every_sample_in_both_classes(self, dtype, memory):
        A = np.random.default_rng(0).normal(size=(30, 50)).astype(dtype)
        X, y = np.vstack([A] * 4), np.repeat([0, 1, 0, 1], 30)
        # Hits and misses of a sample are the same rows, but for the sample itself, which is at distance 0.
        rows = local_rows(X, y, memory=memory)
        margin = soft_margin(rows, np.full(50, 50**-0.5), 1e-3, margin="nearest", outliers=True).margin
        np.testing.assert_array_equal(margin, 0.0)

    def test_binary(self):
        X = np.array([[0], [1], [1], [0], [1], [0], [1], [1], [1], [0]], dtype=float)
        y = np.array([1, 1, 1, 0, 0, 0, 0, 0, 1, 0])
        with pytest.warns(ConvergenceWarning, match="no feature has a positive mean margin"):
            fitted = IRelief(sigma=0.001).fit(X, y)
        assert not fitted.converged_
        np.testing.assert_array_equal(fitted.feature_weights_, [0.0])


def test_tiles_are_numbered_column_by_column():
    corners = [distances.tile_corner(t) for t in range(distances.n_tiles(64 * 40))]
    assert corners == [(64 * i, 64 * j) for j in range(40) for i in range(j + 1)]
    for j in (10**5, 10**6, 10**7):  # where the root is no longer exact
        t = j * (j + 1) // 2
        assert distances.tile_corner(t) == (0, 64 * j)
        assert distances.tile_corner(t - 1) == (64 * (j - 1), 64 * (j - 1))


def test_row_sums_have_the_stated_error():
    X = np.random.default_rng(0).random((8, 5008)).astype(np.float32)  # whole vectors
    sums = np.empty(len(X))
    distances.row_sums(X, sums)
    error = np.abs(sums - X.sum(axis=1, dtype=np.float64))
    assert np.all(error <= distances.relative_error(np.float32) * X.sum(axis=1))


def test_padding_is_out_of_reach():
    for dtype in PRECISIONS:
        assert np.isfinite(np.array(4 * soft_kernels.masked_distance(dtype), dtype=dtype))
