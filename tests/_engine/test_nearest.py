"""Nearest neighbors: every way to find them, against the oracles."""

import math

import numpy as np
import oracles
import pytest
from contract import assert_same
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from peak_memory import peak_of
from registry import THOROUGH, continuous_table
from small_tables import SEARCH_ORDERS, draw_table, local_rows, packed_table, tables

from highrelief import Relief, ReliefF
from highrelief._engine import distances, quantized
from highrelief._engine import neighbors as neighbors_module
from highrelief._engine import scaling as scaling_module
from highrelief._engine.columns import Columns
from highrelief._engine.neighbors import Neighborhood
from highrelief._engine.scaling import Scaling, feature_scaling
from highrelief._engine.threads import even_ranges
from highrelief._kernels import candidates, packing
from highrelief._kernels import distances as distances_kernels
from highrelief._kernels.candidates import share_among

few_checks = [HealthCheck.function_scoped_fixture]


@pytest.fixture(params=SEARCH_ORDERS)
def way(request, force):
    """Take one way whatever the shape, in small steps."""
    # A piece holds 64 columns at least.
    force(**SEARCH_ORDERS[request.param], anchors_at_once=12, list_rows=20, piece_bytes=1.0)
    return request.param


class TestShares:
    @given(
        st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.0 + 1e-14, 2.0, 3.0]), min_size=1, max_size=12),
        st.integers(1, 8),
        st.sampled_from([None, 1.5, 20.0]),
        st.sampled_from(["ones", "counts", "fractions"]),
        st.integers(0, 1000),
    )
    @settings(max_examples=300 if THOROUGH else 100, deadline=None)
    def test_equal_the_oracle(self, d, k, rank_decay, kind, seed):
        rng = np.random.default_rng(seed)
        d = np.array(d)
        weights = {
            "ones": np.ones(d.size),
            "counts": rng.integers(1, 4, d.size).astype(float),
            "fractions": rng.uniform(0.1, 2.0, d.size),
        }[kind]
        shares = np.empty(d.size)
        among = Neighborhood(k, rank_decay=rank_decay)
        share_among(d, weights, among.rank_weights(k), 1e-12, shares)
        expected = oracles.neighbor_shares(d, weights, k, rank_decay=rank_decay)
        np.testing.assert_allclose(shares, expected, atol=1e-12)
        assert math.isclose(shares.sum(), 1.0, rel_tol=1e-9)

    def test_short_decay_does_not_underflow(self):
        weights = Neighborhood(5, rank_decay=0.01).rank_weights(100)
        assert weights[0] == 1.0
        assert np.all(weights[1:] == 0.0)

    def test_more_ranks_than_there_is_room_for(self):
        X, y = continuous_table(30)
        weighter = ReliefF(n_neighbors=10**30, neighbor_weights="rank")
        with pytest.raises(MemoryError, match=r"weights of the ranks of 1e\+30 neighbors would take"):
            weighter.fit(X, y, sample_weight=np.full(30, 1e30))

    def test_no_list_of_ranks_that_all_weigh_the_same(self):
        """With more neighbors than can be counted one by one, all samples are."""
        X, y = continuous_table(30)
        found = ReliefF(n_neighbors=10**40).fit(X, y, sample_weight=np.full(30, 1e30))
        expected = ReliefF(n_neighbors=10**7).fit(X, y, sample_weight=np.full(30, 1e5))
        # One copy of a sample, which is not its own neighbor, is a small part of those of a class.
        assert_same(found.feature_weights_, expected.feature_weights_, tolerance=1e-5)


class TestNearestMargins:
    @given(
        tables,
        st.sampled_from([1, 2, 5, 10, 100]),
        st.sampled_from(["manhattan", "euclidean", "sqeuclidean"]),
        st.sampled_from([None, 3.0]),
        st.booleans(),
    )
    @settings(max_examples=60 if THOROUGH else 15, deadline=None, suppress_health_check=few_checks)
    def test_equal_the_oracle(self, way, table, k, metric, rank_decay, counted):
        X, y = table
        s = np.random.default_rng(0).integers(1, 4, len(X)).astype(float) if counted else None
        rows = local_rows(X, y, s)
        among = Neighborhood(k, metric, rank_decay=rank_decay)
        expected = oracles.relieff_rows(X, y, k, metric, rank_decay=rank_decay, s=s)
        np.testing.assert_allclose(rows.nearest(among).margins(), expected, atol=1e-12)
        mean = np.average(expected, axis=0, weights=s)
        np.testing.assert_allclose(rows.nearest(among).mean(), mean, atol=1e-12)

    @given(tables, st.booleans())
    @settings(max_examples=40 if THOROUGH else 15, deadline=None, suppress_health_check=few_checks)
    def test_pooled_misses_equal_the_oracle(self, way, table, counted):
        X, y = table
        s = np.random.default_rng(0).uniform(0.2, 3.0, len(X)) if counted else None
        ours = local_rows(X, y, s).nearest(Neighborhood(1, pooled=True)).mean()
        np.testing.assert_allclose(ours, oracles.relief(X, y, s=s), atol=1e-12)

    @pytest.mark.parametrize("n_anchors", [3, 20, 70])
    def test_some_anchors(self, way, n_anchors):
        X, y = draw_table(2, 150, 6, 3, "genotypes")
        anchors = np.random.default_rng(0).choice(150, n_anchors, replace=False)
        ours = local_rows(X, y).nearest(Neighborhood(4), anchors).mean()
        np.testing.assert_allclose(ours, oracles.relieff(X, y, 4, anchors=anchors), atol=1e-12)

    def test_more_ties_than_a_list_holds(self, way):
        rng = np.random.default_rng(3)
        X = rng.integers(0, 2, (200, 3)).astype(float)  # 8 different rows
        y = rng.integers(0, 2, 200)
        ours = local_rows(X, y).nearest(Neighborhood(10)).mean()
        np.testing.assert_allclose(ours, oracles.relieff(X, y, 10), atol=1e-12)

    def test_ties_split_by_rounding_are_ties(self, way):
        # 0.1 + 0.2 and 0.3 differ in the last digit; three rows stand at that distance from the first.
        X = np.array([[0.0, 0.0], [0.1, 0.2], [0.3, 0.0], [0.0, 0.3], [1.0, 1.0], [0.9, 1.0]])
        y = np.array([0, 0, 0, 0, 1, 1])
        rows = local_rows(X, y).nearest(Neighborhood(1)).margins()
        hit = np.array([0.1 + 0.3 + 0.0, 0.2 + 0.0 + 0.3]) / 3
        miss = np.array([0.9, 1.0])
        np.testing.assert_allclose(rows[0], miss - hit, atol=1e-15)

    def test_float32_ties(self, way):
        X, y = draw_table(4, 120, 9, 2, "thirds")
        single = local_rows(X.astype(np.float32), y).nearest(Neighborhood(7)).mean()
        np.testing.assert_allclose(single, oracles.relieff(X, y, 7), atol=2e-7)

    @pytest.mark.parametrize("magnitude", [1e-30, 1e30])
    def test_magnitudes_beyond_float32(self, way, magnitude):
        X, y = draw_table(5, 70, 5, 2)
        ours = local_rows(X * magnitude**2, y).nearest(Neighborhood(5)).mean() / magnitude**2
        np.testing.assert_allclose(ours, oracles.relieff(X, y, 5), rtol=1e-9)

    @pytest.mark.parametrize("magnitude", [1e-22, 1e20, 1e37])
    def test_squares_beyond_float32(self, way, magnitude):
        X, y = draw_table(5, 70, 5, 2)
        X = (X * magnitude).astype(np.float32)
        ours = local_rows(X, y).nearest(Neighborhood(5, "euclidean")).mean() / magnitude
        expected = oracles.relieff(X / magnitude, y, 5, "euclidean", tol=1e-6)
        np.testing.assert_allclose(ours, expected, atol=1e-6)

    def test_squares_of_very_different_ranges(self, way):
        """Where one feature decides, and among those whom it leaves equal the others."""
        X, y = draw_table(5, 70, 5, 2, dtype=np.float32)
        X[:, 0] = np.where(X[:, 0] > 0.5, 1e25, 0.0)
        ours = local_rows(X, y).nearest(Neighborhood(5, "euclidean")).mean()
        expected = oracles.relieff(X, y, 5, "euclidean", tol=1e-6)
        np.testing.assert_allclose(ours[1:], expected[1:], atol=1e-6)
        np.testing.assert_allclose(ours[0], expected[0], rtol=1e-6)

    @pytest.mark.slow
    def test_no_matrix_of_all_pairs(self):
        X, y = draw_table(6, 9000, 4, 2, dtype=np.float32)
        rows = local_rows(X, y)
        rows.nearest(Neighborhood(10)).mean()  # compile first
        peak = peak_of(lambda: rows.nearest(Neighborhood(10)).mean())
        assert peak < len(X) ** 2  # a quarter of the smallest matrix of distances


@pytest.mark.slow
def test_lists_of_many_classes_stay_small(force):
    X, _ = draw_table(16, 2000, 3, 2)
    y = np.arange(2000) % 200
    rows = local_rows(X, y)
    ours = rows.nearest(Neighborhood(10)).mean()
    assert peak_of(lambda: rows.nearest(Neighborhood(10)).mean()) < 70 * 2**20
    # The oracle would take minutes; every way is held against it above.
    force(**SEARCH_ORDERS["all"])
    np.testing.assert_allclose(ours, rows.nearest(Neighborhood(10)).mean(), atol=1e-12)


def test_pooled_misses_need_no_table_of_all_classes():
    X, _ = draw_table(18, 2000, 2, 2)
    table = packed_table(X, np.arange(2000) % 500)
    assert peak_of(lambda: neighbors_module.n_available(table, True)) < 2**20
    available = neighbors_module.n_available(table, True)
    np.testing.assert_array_equal(available[table.is_sample], np.tile([3, 1996], (2000, 1)))


@pytest.mark.parametrize("n", [0, 1, 2, 40, 160, 161, 162, 1000])
def test_few_and_many_keys_are_sorted(n):
    keys = np.random.default_rng(n).integers(0, 50 + n // 2, n + 3).astype(np.uint64)
    expected = np.concatenate([np.sort(keys[:n]), keys[n:]])
    candidates._sort(keys, n)
    np.testing.assert_array_equal(keys, expected)


def test_the_number_of_threads_does_not_choose_the_way():
    """Lists of neighbors fit the budget for few threads, and would not with a set for each of many."""
    X, _ = draw_table(17, 2000, 3, 2)
    y = np.arange(2000) % 60
    weights = {local_rows(X, y, n_threads=n).nearest(Neighborhood(10)).mean().tobytes() for n in (1, 2, 9)}
    assert len(weights) == 1


def wide_table(kind, n=70, d=400, dtype=np.float64):
    """Rows of one or several kinds of columns."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, d))
    if kind == "two":
        X = rng.integers(0, 2, (n, d)).astype(float)
    elif kind == "three":
        X = rng.integers(0, 3, (n, d)).astype(float)
    elif kind == "two and three":
        X = rng.integers(0, 3, (n, d)).astype(float)
        X[:, ::3] = rng.integers(0, 2, X[:, ::3].shape) * 7.0
    elif kind == "mixed":
        X[:, ::3] = rng.integers(0, 3, X[:, ::3].shape)
        X[:, 1::3] = rng.integers(5, 7, X[:, 1::3].shape)
    elif kind == "few levels":
        X = rng.integers(0, 5, (n, d)).astype(float)
    elif kind == "heavy tails":
        X = np.exp(3.0 * X)
    elif kind == "constant columns":
        X[:, ::4] = 2.5
    y = rng.integers(0, 3, n)
    return X.astype(dtype), y


KINDS = (
    "continuous",
    "two",
    "three",
    "two and three",
    "mixed",
    "few levels",
    "heavy tails",
    "constant columns",
)


def quantized_distances(columns, position, tolerance, n_threads):
    plan = quantized.plan_columns(columns, *quantized.find_levels(columns, n_threads), tolerance)
    return quantized.QuantizedDistances(columns, position, n_threads, plan)


class TestQuantizedDistances:
    """A grid and bit planes instead of the values."""

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("scale", ["range", "standard", None])
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_distances_are_off_by_no_more_than_stated(self, kind, scale, dtype):
        X, _ = wide_table(kind, dtype=dtype)
        scaling = feature_scaling(X, scale, None)
        numbers = quantized_distances(
            Columns(X, scaling), np.arange(len(X)), 1e-6 if dtype == np.float32 else 1e-12, 2
        )
        n = len(X)
        D = np.zeros((n, 128), np.uint32)
        rows = np.zeros((8, 128), np.uint32)
        # Rows come in whole blocks.
        assert n % 4 == 2
        numbers._sample_of_row = np.concatenate([np.arange(n), [-1, -1]])
        numbers._rounding_errors = np.zeros(n + 2)
        D = np.zeros((n + 2, 128), np.uint32)
        for part, n_parts in numbers.pieces(5000.0):
            piece = numbers.piece(part, n_parts)
            numbers.add_tiles(piece, (0, n + 2), (0, n + 2), D, D, add=part > 0)
        scaled = X.astype(np.float64) / scaling.divisor
        exact = np.abs(scaled[:, None] - scaled[None]).sum(axis=2) / numbers.plan.step
        error = np.abs(D[:n, :n] - exact)
        bound = numbers.error_bound()
        assert np.all(error <= bound.absolute[:n, None] + bound.relative * exact + 1e-6 * exact)
        np.testing.assert_array_equal(D[:n, :n], D[:n, :n].T)
        whole = numbers.piece(0, 1)
        numbers.fill_rows(whole, np.array([3, 69, 0, 7, 8, 9, 10, 11]), rows)
        np.testing.assert_array_equal(rows[:, :n], D[[3, 69, 0, 7, 8, 9, 10, 11], :n])

    @pytest.mark.parametrize("kind", KINDS)
    def test_what_is_noted_of_blocks_adds_up_to_the_same_in_any_order(self, kind):
        X, _ = wide_table(kind)
        scaling, position = feature_scaling(X, "range", None), np.arange(len(X))
        whole = quantized_distances(Columns(X, scaling), position, 1e-12, 1)
        whole.piece(0, 1)
        error_terms = []
        for a, b in even_ranges(X.shape[1], 7):
            columns = Columns(np.ascontiguousarray(X[:, a:b]), scaling.of(slice(a, b)))
            part = quantized.QuantizedDistances(columns, position, 1, whole.plan.of_columns(a, b))
            part.piece(0, 1)
            error_terms.append(part.error_terms)
        total = sum(error_terms)
        np.testing.assert_array_equal(total, sum(error_terms[::-1]))
        np.testing.assert_array_equal(
            total, (error_terms[3] + error_terms[5]) + sum(error_terms[i] for i in (6, 0, 2, 4, 1))
        )
        summed, bound = whole.bound_of(total, X.dtype), whole.error_bound()
        assert (summed.as_float, summed.exact, summed.relative) == (False, whole.exact, bound.relative)
        assert np.all(summed.absolute >= bound.absolute * (1.0 - 1e-12))
        np.testing.assert_allclose(summed.absolute, bound.absolute, rtol=0.0, atol=1e-3)

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_kind_is_told(self, kind):
        X, y = wide_table(kind)
        told = ReliefF().fit(X, y).execution_
        on_planes = {"two": 400, "three": 400, "two and three": 400, "mixed": 267}.get(kind, 0)
        assert told["n_bit_plane_features"] == on_planes
        names = {400: "bit planes", 267: "grid and bit planes", 0: "grid"}
        assert told["distances"] == names[on_planes]

    @pytest.mark.parametrize("high", [0.3, 0.4, 7.7, np.nextafter(0.1, 1.0)])
    @pytest.mark.parametrize("way", SEARCH_ORDERS, indirect=True)
    def test_any_two_levels_are_bits(self, high, way):
        """Also where half of them is no number exactly between."""
        rng = np.random.default_rng(0)
        X, y = np.where(rng.random((90, 70)) < 0.5, 0.1, high), rng.integers(0, 2, 90)
        ours = ReliefF().fit(X, y)
        # Two neighboring numbers have nothing between them: one of them is taken for the middle.
        assert ours.execution_["n_bit_plane_features"] == (70 if high > 0.2 else 0)
        np.testing.assert_allclose(ours.feature_weights_, oracles.relieff(X > 0.1, y, 10), atol=1e-12)

    @pytest.mark.parametrize("kind", ["two", "three", "two and three"])
    @pytest.mark.parametrize("among", [Neighborhood(10), Neighborhood(3, rank_decay=2.0)])
    def test_bit_planes_give_the_same_bits_as_the_general_path(self, kind, among, monkeypatch, force):
        X, y = wide_table(kind, n=150)
        X = oracles.scale_range(X)
        by_planes = local_rows(X, y).nearest(among)
        assert by_planes.describe()["distances"] == "bit planes"
        force(min_level_columns=10**9)
        monkeypatch.setattr(
            quantized,
            "_levels",
            lambda columns, *_: (
                quantized.BitPlanes(),
                quantized.BitPlanes(),
                np.flatnonzero(columns.spans > 0.0),
                0.0,
            ),
        )
        by_grid = local_rows(X, y).nearest(among)
        assert by_grid.describe()["distances"] == "grid"
        np.testing.assert_array_equal(by_planes.mean(), by_grid.mean())

    @pytest.mark.parametrize("dtype", [np.int8, np.uint8, bool])
    @pytest.mark.parametrize("estimator", [Relief(), ReliefF(), ReliefF(metric="euclidean")])
    def test_small_whole_numbers_give_the_same_bits_as_floats(self, dtype, estimator):
        X, y = wide_table("two" if dtype is bool else "three")
        ours = estimator.fit(X.astype(dtype), y)
        assert ours.execution_["dtype"] == np.dtype(dtype).name
        np.testing.assert_array_equal(ours.feature_weights_, estimator.fit(X, y).feature_weights_)

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("order", ["C", "F", "strided"])
    def test_the_order_of_the_table_does_not_matter(self, kind, order):
        X, y = wide_table(kind)
        other = np.repeat(X, 2, axis=1)[:, ::2] if order == "strided" else np.asarray(X, order=order)
        ours = ReliefF().fit(other, y).feature_weights_
        np.testing.assert_array_equal(ours, ReliefF().fit(X, y).feature_weights_)

    def test_very_different_ranges_are_left_to_floats(self, way):
        X, y = wide_table("continuous")
        X[:, 0] *= 1e9
        ours = local_rows(X, y).nearest(Neighborhood(10))
        assert ours.describe()["distances"] == "floats"
        np.testing.assert_allclose(ours.mean(), oracles.relieff(X, y, 10), rtol=1e-9, atol=1e-9)

    @pytest.mark.slow
    def test_distances_stay_below_two_to_the_32(self):
        X = np.zeros((8, 200_000), np.int8)
        X[::2] = 100
        X[0, 0], X[1, 1] = 37, 11  # more than three levels
        numbers = quantized_distances(
            Columns(X, Scaling.none(X.shape[1], np.dtype(np.float64))), np.arange(8), 1e-12, 1
        )
        assert not numbers.exact
        D = np.zeros((8, 64), np.uint32)
        piece = numbers.piece(0, 1)
        numbers.add_tiles(piece, (0, 8), (0, 8), D, D)
        exact = np.abs(X[:, None].astype(int) - X[None]).sum(axis=2) / numbers.plan.step
        assert np.all(np.abs(D[:, :8] - exact) <= numbers.error_bound().absolute[:, None] + 1e-6 * exact)

    def test_bits_that_count_too_much_stay_below_two_to_the_32(self):
        """Two units that are one millionth more than the columns' ranges, where every step counts."""
        n_double = 70_353
        X = np.zeros((8, n_double + 2), np.float32)
        X[1::2] = 2.0 * (1.0 - 0.9e-6)
        X[1::2, 0] = 1.0
        X[:, -1] = np.linspace(0.0, 1.0, 8)
        numbers = quantized_distances(Columns(X, Scaling.none(X.shape[1], X.dtype)), np.arange(8), 1e-6, 1)
        assert numbers.describe()["n_bit_plane_features"] == n_double + 1
        D = np.zeros((8, 64), np.uint32)
        numbers.add_tiles(numbers.piece(0, 1), (0, 8), (0, 8), D, D)
        exact = np.abs(X[:, None] - X[None].astype(float)).sum(axis=2) / numbers.plan.step
        bound = numbers.error_bound()
        assert np.all(np.abs(D[:, :8] - exact) <= bound.absolute[:, None] + bound.relative * exact)


@pytest.mark.parametrize("kind", ["continuous", "three", "few levels"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("among", [Neighborhood(10), Neighborhood(40), Neighborhood(3, rank_decay=2.0)])
def test_few_rows_are_summed_by_the_same_additions(kind, dtype, among, force):
    X, y = wide_table(kind, n=110, d=333, dtype=dtype)
    s = np.random.default_rng(0).integers(1, 3, 110).astype(float)
    by_groups = [local_rows(X, y, copies).nearest(among).mean() for copies in (None, s)]
    force(few_rows=0)
    by_anchor = [local_rows(X, y, copies).nearest(among).mean() for copies in (None, s)]
    np.testing.assert_array_equal(by_groups, by_anchor)


class TestProducts:
    """Squared Euclidean distances by matrix products."""

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("d", [3, 300, 5000])
    def test_distances_are_off_by_no_more_than_stated(self, dtype, d):
        X, y = draw_table(3, 66, d, 2, dtype=dtype)
        search = local_rows(X, y).nearest(Neighborhood(3, "sqeuclidean"))
        n = search._search._table.n_rows
        D = np.zeros((n, 128), np.uint32)
        for part, n_parts in search._search._distances.pieces(1.0):
            piece = search._search._distances.piece(part, n_parts)
            search._search._distances.add_tiles(piece, (0, n), (0, n), D, D, add=part > 0)
        real = search._search._table.is_sample
        rows = X[search._search._table.sample_of_row[real]].astype(np.float64)
        exact = np.square(rows[:, None] - rows[None]).sum(axis=2)
        error = np.abs(D.view(np.float32)[:, :n][real][:, real] - exact)
        bound = search._search._distances.error_bound()
        assert np.all(error <= bound.absolute[real][:, None] + bound.relative * exact)

    def test_a_long_product_is_a_sum_of_short_ones(self, force):
        """The bound on its error counts on it, also where all columns are one piece."""
        A, B = np.random.default_rng(0).normal(size=(2, 8, 1000)).astype(np.float32)
        force(product_width=300)
        expected = A[:, :300] @ B[:, :300].T
        for start in (300, 600, 900):
            expected += A[:, start : start + 300] @ B[:, start : start + 300].T
        rows = distances.ScaledRows(np.vstack([A, B]), np.zeros(len(A) + len(B)))
        product = rows.product(slice(0, len(A)), slice(len(A), None))
        np.testing.assert_array_equal(product, expected)

    def test_doubts_are_settled_exactly(self):
        """Neighbors that differ by less than a matrix product can tell."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(60, 40)).astype(np.float32)
        X[1:30] = X[0] + 1e-3 * rng.normal(size=(29, 40)).astype(np.float32)
        y = np.arange(60) % 2
        ours = local_rows(X, y).nearest(Neighborhood(5, "euclidean")).mean()
        expected = oracles.relieff(X.astype(np.float64), y, 5, "euclidean", tol=1e-6)
        np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-7)

    @pytest.mark.parametrize("way", SEARCH_ORDERS, indirect=True)
    def test_one_byte_numbers_stay_one_byte_numbers(self, way):
        X = np.random.default_rng(0).integers(-128, 128, (120, 500)).astype(np.int8)
        y = np.arange(120) % 2
        search = local_rows(X, y).nearest(Neighborhood(3, "euclidean"))
        assert search._search._distances.piece(0, 1).values.dtype == np.int8
        expected = oracles.relieff(X.astype(float), y, 3, "euclidean")
        np.testing.assert_allclose(local_rows(X, y).nearest(Neighborhood(3, "euclidean")).mean(), expected)


class TestColumns:
    def test_ranges_see_what_is_not_finite(self):
        for dtype in (np.float32, np.float64):
            for bad in (np.nan, np.inf, -np.inf):
                X = np.ones((5, 40), dtype)
                low, high, total = (
                    np.full(40, np.inf, dtype),
                    np.full(40, -np.inf, dtype),
                    np.zeros(40, dtype),
                )
                largest = np.finfo(dtype).max
                assert packing.column_ranges(X, 0, 5, 0, 40, largest, low, high, total)
                X[3, 33] = bad
                assert not packing.column_ranges(X, 0, 5, 0, 40, largest, low, high, total)

    @pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8])
    @pytest.mark.parametrize("order", ["C", "F"])
    @pytest.mark.parametrize("n_threads", [1, 3])
    def test_ranges_of_many_blocks(self, dtype, order, n_threads, force):
        force(block_bytes=5000, block_columns=100)
        X = np.asarray(np.random.default_rng(0).integers(-100, 100, (30, 777)), dtype, order=order)
        found = scaling_module.ColumnRanges.of(X, n_threads)
        assert found.finite
        np.testing.assert_array_equal(found.low, X.min(axis=0))
        np.testing.assert_array_equal(found.high, X.max(axis=0))
        np.testing.assert_allclose(found.mean, X.mean(axis=0), rtol=1e-4, atol=1e-4)

    def test_subnormal_ranges(self):
        X, y = draw_table(5, 70, 5, 2)
        X *= 1e-310
        expected = oracles.relieff(oracles.scale_range(X), y, 5)
        ours = ReliefF(n_neighbors=5).fit(X, y).feature_weights_
        np.testing.assert_allclose(ours, expected, atol=1e-11)

    @pytest.mark.parametrize("magnitude", [1e-40, 1e-30, 1e30, 3e38])
    def test_odd_magnitudes(self, magnitude):
        X, y = draw_table(5, 70, 5, 2)
        expected = oracles.relieff(oracles.scale_range(X), y, 5, tol=1e-6)
        odd = (X * 2.0 - 1.0) * magnitude if magnitude < 1e38 else (X - 0.5) * magnitude
        for metric in ("manhattan", "sqeuclidean"):
            expected = oracles.relieff(oracles.scale_range(odd), y, 5, metric, tol=1e-6)
            ours = ReliefF(n_neighbors=5, metric=metric).fit(odd.astype(np.float32), y).feature_weights_
            accuracy = 1e-4 if magnitude == 1e-40 else 1e-5  # 1e-40 is subnormal
            np.testing.assert_allclose(ours, expected, atol=accuracy * np.abs(expected).max())


class TestTiles:
    @given(st.integers(1, 70), st.integers(0, 3), st.integers(0, 3), st.integers(0, 3), st.integers(0, 10**6))
    @settings(max_examples=30 if THOROUGH else 15, deadline=None)
    def test_equal_the_sums(self, blocks, n_grid, n_single, n_double, seed):
        rng = np.random.default_rng(seed)
        n = 4 * blocks
        G = packing.aligned_zeros((n, 32 * n_grid), np.int16)
        G[:] = rng.integers(-(2**15), 2**15, G.shape)
        P = packing.aligned_zeros((n, 8 * (n_single + n_double)), np.uint64)
        P[:] = rng.integers(0, 2**63, P.shape, dtype=np.uint64)
        bits = np.unpackbits(P.view(np.uint8), axis=1).astype(int)
        weights = np.repeat([3, 6], [512 * n_single, 512 * n_double])
        exact = np.abs(G[:, None].astype(int) - G[None]).sum(axis=2)
        exact += (bits * weights) @ (1 - bits).T + (1 - bits) @ (bits * weights).T
        sums = G.sum(axis=1, dtype=np.int64).astype(np.uint32)
        D = np.zeros((n, -(-n // 64) * 64), np.uint32)
        n_tiles = (D.shape[1] // 64) ** 2
        distances_kernels.fill_tiles(G, sums, P, 8 * n_single, 3, 0, 0, n, n, 0, n_tiles, False, D, D)
        np.testing.assert_array_equal(D[:, :n], exact)
