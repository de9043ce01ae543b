"""Features left out of the sums over pairs: only such as get no weight, and no bit of the others moves."""

import warnings

import numpy as np
import oracles
import pytest
from registry import pairwise
from small_tables import PRECISIONS, draw_table, local_rows, packed_table

from highrelief import IRelief
from highrelief._engine.limits import limits
from highrelief._engine.pair_sums import Coefficients, PositiveMargins, WeightedRows
from highrelief._kernels import packing, pair_sums


@pytest.fixture
def summed(monkeypatch, force):
    """Leave out what can be left out, also of small tables; lists how many features are summed."""
    numbers = []
    sum_products = WeightedRows.sum_products

    def counted(self, S, totals, which, own):
        numbers.append(which.size)
        return sum_products(self, S, totals, which, own)

    monkeypatch.setattr(WeightedRows, "sum_products", counted)
    force(screened_terms=0)
    return numbers


def noisy_table(seed, n, d, kind, n_classes, dtype):
    X, y = draw_table(seed, n, d, n_classes, kind=kind, dtype=dtype)
    X[:, :3] += y[:, np.newaxis] / 2
    return X, y


def fit(X, y, s=None, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return IRelief(**{"sigma": 1.5, "max_iter": 20, "tol": 0.0} | parameters).fit(X, y, sample_weight=s)


class TestFit:
    @pairwise(
        pytest.mark.parametrize("dtype", PRECISIONS),
        pytest.mark.parametrize("kind", ["continuous", "thirds", "genotypes"]),
        pytest.mark.parametrize(("margin", "n_classes"), [("nearest", 2), ("prior", 3)]),
        pytest.mark.parametrize("counted", [False, True]),
    )
    def test_every_bit_is_the_same(self, summed, force, dtype, kind, margin, n_classes, counted):
        X, y = noisy_table(0, 150, 90, kind, n_classes, dtype)
        # Below 1: whoever has a copy of itself for a neighbor has positive margins only.
        s = 0.4 + 0.3 * (np.arange(len(y)) % 3) if counted else None
        fewer = [fit(X, y, s, margin=margin, n_jobs=n_jobs) for n_jobs in (1, 2)]
        assert min(summed) < 90
        again = fit(X, y, s, margin=margin, memory_budget=0)
        force(screened_bytes=0)
        summed.clear()
        whole = fit(X, y, s, margin=margin)
        assert not summed
        for each in (*fewer, again):
            for name in ("feature_weights_", "history_", "outlier_proba_"):
                np.testing.assert_array_equal(getattr(each, name), getattr(whole, name))

    def test_equals_the_oracle(self, summed):
        X, y = noisy_table(1, 60, 30, "continuous", 2, np.float64)
        weights = fit(X, y).feature_weights_
        assert min(summed) < 30
        expected = oracles.irelief(oracles.scale_range(X), y, 1.5, n_iter=20)[-1]
        np.testing.assert_allclose(weights, expected, atol=1e-10)

    def test_not_where_it_does_not_pay(self, summed):
        X, y = noisy_table(2, 100, 40, "continuous", 2, np.float64)
        fit(X, y, max_iter=2)
        assert not summed  # weights still change by much
        for changed in ({"screened_terms": 1e20}, {"screened_bytes": 1e4}):
            with limits(**changed):
                fit(X, y)
            assert not summed
        distances_only = 8.0 * 64**2 * 3
        assert fit(X, y, memory_budget=1.5 * distances_only).execution_["distances"] == "stored"
        assert not summed


class TestBounds:
    @pytest.mark.parametrize("dtype", PRECISIONS)
    @pytest.mark.parametrize("step", [1e-1, 1e-2, 1e-3, 1e-5])
    def test_what_is_left_out_is_not_positive(self, summed, force, dtype, step):
        force(small_step=np.inf)
        X, y = noisy_table(3, 130, 200, "continuous", 2, dtype)
        rng = np.random.default_rng(4)
        rows, all_rows = local_rows(X, y), local_rows(X, y)
        w = np.full(200, 0.05)
        for _ in range(4):
            ask = {"pooled": True, "outliers": True}
            found = rows.soft_neighborhoods(w, 0.7).mean_margin(**ask, only_positive=True)
            expected = all_rows.soft_neighborhoods(w, 0.7).mean_margin(**ask)
            np.testing.assert_array_equal(np.maximum(found, 0.0), np.maximum(expected, 0.0))
            w = w + step * rng.random(200)
        if step < 1e-2:
            assert min(summed) < 150

    @pytest.mark.parametrize("dtype", PRECISIONS)
    @pytest.mark.parametrize("value", [1 / 3, 0.7, 1.0])
    def test_roundings_are_within_their_bound(self, dtype, value):
        """All terms alike: they are rounded in the same direction again and again."""
        n = 256
        X = packing.aligned_zeros((n, 16), dtype)
        X[:] = value
        n_tiles = 10
        S = packing.aligned_zeros((n_tiles, 64, 64), dtype)
        S[:] = 0.1
        for t in (0, 2, 5, 9):  # on the diagonal
            S[t] = np.triu(S[t], 1)
        n_pairs = np.count_nonzero(S)
        minima = np.zeros(16)
        pair_sums.add_products(X, S, 0, 0, n_tiles, minima)
        exact = n_pairs * np.longdouble(S[1, 0, 0]) * np.longdouble(X[0, 0])
        assert n_pairs == n * (n - 1) // 2
        assert np.all(np.abs(minima - exact) <= pair_sums.relative_error(dtype, n) * exact)

    def test_sums_that_overflow_are_not_taken_for_negative(self):
        X, y = draw_table(5, 40, 12, 2)
        table = packed_table(X, y)
        rows = WeightedRows(table)
        positive = PositiveMargins(table, rows)
        tiles = packing.aligned_zeros((1, 64, 64), X.dtype)
        rows.read(np.ones(12), tiles, filled=True)
        low = np.zeros((2, table.n_rows))
        by = Coefficients(np.float64(1.0), low, np.ones((2, table.n_rows)))
        expected = positive.sums(tiles, by)
        table.scaled.spans[3] = np.inf
        positive._bounds[3] = -np.inf
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(positive.sums(tiles, by)[3], expected[3])


class TestSums:
    @pytest.mark.parametrize("dtype", PRECISIONS)
    @pytest.mark.parametrize("share", [0.0, 0.1, 0.6, 1.0])
    def test_any_features_get_the_bits_of_all(self, dtype, share):
        X, y = draw_table(6, 200, 75, 2, dtype=dtype)
        table = packed_table(X, y)
        rng = np.random.default_rng(7)
        rows = WeightedRows(table)
        S = packing.aligned_zeros((table.n_tiles, 64, 64), dtype)
        S[:] = rng.normal(size=S.shape)
        totals = rng.normal(size=table.n_rows)
        everything = np.arange(75)
        expected = rows.sum_products(S, totals, everything, None)
        for _ in range(4):
            rows.under(np.where(rng.random(75) < 0.5, rng.random(75), 0.0))
            which = np.flatnonzero(rng.random(75) < share)
            np.testing.assert_array_equal(rows.sum_products(S, totals, which, None), expected[which])
            columns = table.unpacked(rows.X)[:, rows._places()[which]]
            totals_of_columns = rows.weighted_totals(np.ones(table.n_rows), which)
            np.testing.assert_allclose(totals_of_columns, columns.sum(axis=0, dtype=np.float64))
