"""LFE: the answer of the formula by every solver, and what users of it rely on."""

import pickle
import warnings
from functools import partial

import numpy as np
import oracles
import pytest
from contract import assert_same, same_bits, same_directions
from hypothesis import given, settings
from hypothesis import strategies as st
from peak_memory import peak_of
from registry import continuous_table, discrete_table, over_extractors, rounded_table
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, LeaveOneOut, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from small_tables import wide_table

from highrelief import LFE, Relief
from highrelief._engine.columns import CenteredColumns
from highrelief._engine.scaling import Scaling

TABLES = {"continuous": continuous_table, "discrete": discrete_table, "rounded": rounded_table}
over_tables = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)


def unit(components):
    return components / np.linalg.norm(components, axis=1, keepdims=True)


def metric_of(components):
    return components.T @ components


# The formula


@over_tables
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_equals_the_oracle(table, k, metric):
    """W, not A, which is not unique where eigenvalues are equal."""
    X, y = table(40)
    fitted = LFE(n_neighbors=k, metric=metric).fit(X, y)
    values, components = oracles.lfe(oracles.scale_range(X), y, k, metric)
    np.testing.assert_allclose(fitted.eigenvalues_, values, rtol=1e-9)
    np.testing.assert_allclose(fitted.metric_, metric_of(components), rtol=0.0, atol=1e-10)
    assert fitted.discriminant_power_ == pytest.approx(np.linalg.norm(values), rel=1e-12)


@pytest.mark.parametrize("name", ["binary", "three", "wide"])
@pytest.mark.parametrize("solver", ["auto", "primal", "dual"])
def test_equals_the_reference(golden_folder, name, solver):
    reference = np.load(golden_folder / f"{name}.npz")
    fitted = LFE(n_neighbors=3, scale=None, solver=solver).fit(reference["X"], reference["y"])
    np.testing.assert_allclose(fitted.eigenvalues_, reference["lfe_k3_eigenvalues"], rtol=1e-10)
    same_directions(fitted.components_, reference["lfe_k3_components"], 1e-10)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("k", [1, 2, 50])
def test_wide_tables_equal_the_oracle(n_classes, k):
    X, y = wide_table(n_classes=n_classes)
    fitted = LFE(n_neighbors=k).fit(X, y)
    assert fitted.solver_ == "dual"
    values, components = oracles.lfe(oracles.scale_range(X), y, k)
    np.testing.assert_allclose(fitted.eigenvalues_, values, rtol=1e-9)
    same_directions(fitted.components_, components)


def test_copies_of_samples():
    X, y = discrete_table(30)
    s = np.random.default_rng(0).integers(0, 4, 30)
    for table in (X, wide_table(30)[0]):
        for k in (1, 4):
            by_weight = LFE(n_neighbors=k).fit(table, y, sample_weight=s)
            by_copies = LFE(n_neighbors=k).fit(np.repeat(table, s, axis=0), np.repeat(y, s))
            assert_same(by_weight.metric_, by_copies.metric_)
            assert by_weight.discriminant_power_ == pytest.approx(by_copies.discriminant_power_, rel=1e-10)


def test_weights_that_are_no_whole_numbers_equal_the_oracle():
    X, y = continuous_table(30)
    s = np.random.default_rng(1).uniform(0.3, 2.5, 30)
    fitted = LFE(n_neighbors=2).fit(X, y, sample_weight=s)
    values, components = oracles.lfe(oracles.scale_range(X), y, 2, s=s)
    np.testing.assert_allclose(fitted.eigenvalues_, values, rtol=1e-9)
    same_directions(fitted.components_, components)


@pytest.mark.parametrize("factor", [1e-300, 1e200])
def test_the_size_of_the_weights_is_no_part_of_the_components(factor):
    """Where all samples count less than once no one is his own hit."""
    X, y = continuous_table(30)
    s = np.random.default_rng(1).uniform(0.3, 0.9, 30) if factor < 1.0 else np.full(30, 1e10)
    one, other = (LFE(n_neighbors=60).fit(X, y, sample_weight=s * each) for each in (1.0, factor))
    np.testing.assert_allclose(other.components_, one.components_, atol=1e-9)
    assert other.discriminant_power_ == pytest.approx(factor * one.discriminant_power_, rel=1e-9)


def test_a_sample_alone_in_its_class_is_a_miss_of_others_only():
    X, y = continuous_table(30, n_classes=2)
    y[0] = 2
    values, components = oracles.lfe(oracles.scale_range(X), y, 1)
    fitted = LFE().fit(X, y)
    np.testing.assert_allclose(fitted.eigenvalues_, values, rtol=1e-9)
    same_directions(fitted.components_, components)


# Theory


@over_tables
def test_the_diagonal_is_that_of_relief_with_squares(table):
    """diag(Σ_mh) = N × Relief's weights at the same neighbors."""
    X, y = table(40)
    scatter_of = oracles.lfe_scatter(oracles.scale_range(X), y, 1)
    relief = Relief(metric="sqeuclidean").fit(X, y)
    np.testing.assert_allclose(np.diag(scatter_of), len(X) * relief.feature_weights_, atol=1e-10)
    ours = _scatter_of_package(X, y)
    np.testing.assert_allclose(np.diag(ours), len(X) * relief.feature_weights_, atol=1e-10)
    np.testing.assert_allclose(ours, scatter_of, atol=1e-10)


def _parts_of_package(X, y, k=1):
    """Columns and L of a fit."""
    seen = {}

    class Watched(LFE):
        def _directions(self, columns, L):
            seen.update(columns=columns, L=L)
            return super()._directions(columns, L)

    Watched(n_neighbors=k).fit(X, y)
    return seen["columns"], seen["L"]


def _scatter_of_package(X, y, k=1):
    columns, L = _parts_of_package(X, y, k)
    return columns.scatter(L)


def test_products_with_the_matrix_need_no_matrix():
    X, y = wide_table()
    columns, L = _parts_of_package(X, y, 3)
    v = np.random.default_rng(0).normal(size=X.shape[1])
    dense = oracles.lfe_scatter(oracles.scale_range(X), y, 3)
    centered = columns.whole()
    np.testing.assert_allclose(centered.T @ (L @ (centered @ v)), dense @ v, rtol=1e-10)
    # A pair of neighbors has four entries, the diagonal is shared.
    assert L.nnz <= len(X) * (4 * 3 + 1)
    np.testing.assert_allclose(L.sum(axis=0), 0.0, atol=1e-12)
    assert (L != L.T).nnz == 0


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 4), rank=st.integers(1, 6))
def test_no_other_metric_has_larger_margins(seed, k, rank):
    """Eq. (3.3): W is feasible, its objective the discriminant power, and that of others is less."""
    X, y = continuous_table(30, seed=seed % 7)
    X = oracles.scale_range(X)
    fitted = LFE(n_neighbors=k, scale=None).fit(X, y)
    W = fitted.metric_
    assert np.linalg.norm(W) == pytest.approx(1.0, rel=1e-12)
    best = oracles.lfe_objective(W, X, y, k)
    assert best == pytest.approx(fitted.discriminant_power_, rel=1e-9)
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(6, rank))
    other = A @ A.T / np.linalg.norm(A @ A.T)
    near = W + 0.01 * other
    for each in (other, near / np.linalg.norm(near)):
        assert oracles.lfe_objective(each, X, y, k) < best


@pytest.mark.parametrize("n_kept", [1, 2, 5])
def test_what_is_lost_when_some_are_kept(n_kept):
    """Σ_{i>t} σ_i² / P of the discriminant power, section 3.1."""
    X, y = wide_table()
    X = oracles.scale_range(X)
    everything = LFE(n_neighbors=2, scale=None).fit(X, y)
    some = LFE(n_neighbors=2, scale=None, n_components=n_kept).fit(X, y)
    assert some.discriminant_power_ == pytest.approx(everything.discriminant_power_, rel=1e-12)
    same_directions(some.components_, everything.components_[:n_kept])
    lost = everything.discriminant_power_ - oracles.lfe_objective(some.metric_, X, y, 2)
    sigma = everything.eigenvalues_
    assert lost == pytest.approx(np.sum(sigma[n_kept:] ** 2) / np.linalg.norm(sigma), rel=1e-9)
    share = some.discriminant_power_ratio_
    assert lost == pytest.approx(some.discriminant_power_ * (1.0 - share.sum()), rel=1e-9)
    assert everything.discriminant_power_ratio_.sum() == pytest.approx(1.0, rel=1e-12)


def test_distances_of_projected_samples_are_those_under_the_metric():
    X, y = continuous_table()
    fitted = LFE(n_neighbors=3).fit(X, y)
    projected, scaled = fitted.transform(X), oracles.scale_range(X)
    difference = scaled[3] - scaled[8]
    squared = np.sum((projected[3] - projected[8]) ** 2)
    assert squared == pytest.approx(difference @ fitted.metric_ @ difference, rel=1e-10)


# Solvers


@pytest.mark.parametrize("shape", [(100, 20), (40, 41), (40, 300), (150, 400)])
@pytest.mark.parametrize("n_components", [None, 4])
def test_dual_equals_primal(shape, n_components):
    X, y = wide_table(*shape, n_classes=3)
    primal, dual = (
        LFE(n_neighbors=3, n_components=n_components, solver=solver).fit(X, y)
        for solver in ("primal", "dual")
    )
    np.testing.assert_allclose(dual.eigenvalues_, primal.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(dual.components_, primal.components_, rtol=0.0, atol=1e-9)
    assert dual.discriminant_power_ == pytest.approx(primal.discriminant_power_, rel=1e-10)


@pytest.mark.parametrize("shape", [(200, 80), (80, 200)])
def test_arpack_equals_the_others(shape):
    X, y = wide_table(*shape)
    dense, few = (
        LFE(n_neighbors=3, n_components=5, solver=solver).fit(X, y) for solver in ("auto", "arpack")
    )
    assert few.solver_ == "arpack"
    np.testing.assert_allclose(few.eigenvalues_, dense.eigenvalues_, rtol=1e-10)
    np.testing.assert_allclose(unit(few.components_), unit(dense.components_), rtol=0.0, atol=1e-8)
    # The best metric of this rank.
    assert np.linalg.norm(few.metric_) == pytest.approx(1.0, rel=1e-12)
    assert few.discriminant_power_ == pytest.approx(np.linalg.norm(dense.eigenvalues_), rel=1e-10)


@pytest.mark.parametrize("shape", [(500, 300), (300, 500)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_few_eigenvectors_are_as_accurate_as_all(shape, dtype):
    """To 1e-11 of the largest eigenvalue, as a residual of the matrix itself."""
    X, y = wide_table(*shape)
    X = X.astype(dtype)
    few = LFE(n_components=10).fit(X, y)
    dense = _scatter_of_package(X, y)
    vectors = unit(few.components_)
    residual = vectors @ dense - few.eigenvalues_[:, np.newaxis] * vectors
    assert np.abs(residual).max() < 1e-11 * few.eigenvalues_[0]
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(10), atol=1e-11)
    np.testing.assert_allclose(few.eigenvalues_, np.linalg.eigvalsh(dense)[::-1][:10], rtol=1e-11)
    positive = np.linalg.eigvalsh(dense)
    assert few.discriminant_power_ == pytest.approx(np.linalg.norm(positive[positive > 0.0]), rel=1e-11)


def test_the_dual_of_features_of_very_different_size():
    """Scalar products square the ratio of the sizes, 1e4 here; what matters of the answer survives."""
    X, y = wide_table(60, 100)
    X *= np.logspace(0, -4, 100)
    primal, dual = (LFE(n_components=3, scale=None, solver=solver).fit(X, y) for solver in ("primal", "dual"))
    np.testing.assert_allclose(dual.eigenvalues_, primal.eigenvalues_, rtol=1e-10)
    np.testing.assert_allclose(dual.components_, primal.components_, rtol=0.0, atol=1e-10)


def test_fewer_dimensions_than_samples_and_features():
    """Redundant features and duplicates: no direction comes from rounding."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    inner = rng.normal(size=(40, 3)) + 2.0 * y[:, np.newaxis]
    X = inner @ rng.normal(size=(3, 60))
    for solver in ("primal", "dual"):
        fitted = LFE(n_neighbors=2, scale=None, solver=solver).fit(X, y)
        assert 1 <= len(fitted.eigenvalues_) <= 3


def test_the_choice_of_the_solver():
    tall, wide = continuous_table(), wide_table()
    assert LFE().fit(*tall).solver_ == "primal"
    assert LFE().fit(*wide).solver_ == "dual"
    assert LFE(solver="dual").fit(*tall).solver_ == "dual"
    assert LFE(solver="primal").fit(*wide).solver_ == "primal"


def test_no_matrix_of_features_is_formed():
    """20,000 features: such a matrix would take 3.2 GB; the components take 3 MB, the scaled table 8 MB."""
    X, y = wide_table(50, 20_000)
    for extractor in (LFE(n_components=20), LFE(), LFE(n_components=20, solver="arpack")):
        extractor.fit(X, y)  # kernels are there
        assert peak_of(partial(extractor.fit, X, y)) < 6 * X.nbytes


# Robustness


def test_bits_do_not_depend_on_threads():
    for X, y in (continuous_table(150), wide_table(40, 3000)):
        for dtype in (np.float32, np.float64):
            one, two, three = (LFE(n_neighbors=3, n_jobs=n).fit(X.astype(dtype), y) for n in (1, 2, 3))
            for other in (two, three):
                assert same_bits(one.components_, other.components_)
                assert same_bits(one.eigenvalues_, other.eigenvalues_)


@over_extractors
def test_a_second_fit_gives_the_same_bits(extractor):
    for X, y in (continuous_table(), wide_table()):
        first = extractor.fit(X, y).components_
        assert same_bits(first, clone(extractor).fit(X, y).components_)


@over_tables
def test_order_of_the_rows(table):
    """Ties are shared, not cut."""
    X, y = table()
    order = np.random.default_rng(0).permutation(len(X))
    for k in (1, 4):
        fitted, shuffled = LFE(n_neighbors=k).fit(X, y), LFE(n_neighbors=k).fit(X[order], y[order])
        assert_same(shuffled.metric_, fitted.metric_)


def test_order_of_the_features():
    for X, y in (continuous_table(), wide_table()):
        order = np.random.default_rng(0).permutation(X.shape[1])
        fitted, shuffled = LFE(n_neighbors=3).fit(X, y), LFE(n_neighbors=3).fit(X[:, order], y)
        np.testing.assert_allclose(shuffled.components_, fitted.components_[:, order], atol=1e-9)


def test_single_precision():
    for X, y in (continuous_table(), wide_table()):
        single, double = (LFE(n_neighbors=3).fit(X.astype(t), y) for t in (np.float32, np.float64))
        assert_same(single.metric_, double.metric_, 1e-5)
        assert single.transform(X.astype(np.float32)).dtype == np.float32


@over_extractors
def test_the_largest_entry_is_positive(extractor):
    for X, y in (continuous_table(), wide_table()):
        components = extractor.fit(X, y).components_
        largest = np.abs(components).argmax(axis=1)
        assert (components[np.arange(len(components)), largest] > 0.0).all()


def test_of_entries_of_the_same_size_the_first_is_positive():
    """A feature beside its own negative: rounding must not choose."""
    X, y = continuous_table(30)
    for n_components in (None, 1):
        components = LFE(n_components=n_components).fit(np.hstack([X, -X]), y).components_
        np.testing.assert_allclose(components[:, :6], -components[:, 6:], atol=1e-9)
        first = np.abs(components[:, :6]).argmax(axis=1)
        assert (components[np.arange(len(components)), first] > 0.0).all()


@over_extractors
def test_a_fit_leaves_everything_else_alone(extractor):
    """Parameters, samples in any order of memory, and NumPy's random numbers."""
    X, y = continuous_table()
    before, state = X.copy(), np.random.get_state()[1].copy()  # noqa: NPY002
    fitted = clone(extractor).fit(X, y)
    expected = fitted.components_
    assert fitted.get_params() == extractor.get_params()
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    X.setflags(write=False)
    for table in (X, np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2]):
        assert same_bits(clone(extractor).fit(table, y).components_, expected)


def test_constant_features_have_no_part():
    X, y = continuous_table()
    X[:, 2] = 5.0
    fitted = LFE(n_neighbors=3).fit(X, y)
    np.testing.assert_array_equal(fitted.components_[:, 2], 0.0)
    without = LFE(n_neighbors=3).fit(np.delete(X, 2, axis=1), y)
    np.testing.assert_allclose(np.delete(fitted.components_, 2, axis=1), without.components_, atol=1e-10)


def test_a_far_origin_costs_few_digits():
    X, y = wide_table()
    X = np.round(X * 2**10) / 2**10
    near, far = (LFE(scale=None, n_neighbors=2).fit(X + shift, y) for shift in (0.0, 2.0**20))
    assert_same(far.metric_, near.metric_, 1e-9)


# What cannot be used


def test_no_direction_with_a_margin():
    """Classes alternate on a line: nearest misses are nearer than nearest hits."""
    X, y = np.arange(12.0).reshape(-1, 1), np.arange(12) % 2
    for solver in ("primal", "dual"):
        extractor = LFE(solver=solver)
        with pytest.raises(ValueError, match=r"No direction has a positive margin.*n_neighbors=1"):
            extractor.fit(X, y)


@pytest.mark.parametrize("solver", ["primal", "dual", "arpack"])
def test_no_hits(solver):
    X = np.random.default_rng(0).normal(size=(5, 8))
    with pytest.raises(ValueError, match="No class in y has two samples"):
        LFE(solver=solver, n_components=2).fit(X, np.arange(5))


@over_extractors
def test_all_features_are_constant(extractor):
    with pytest.raises(ValueError, match="All 3 features of X are constant"):
        extractor.fit(np.ones((6, 3)), [0, 1] * 3)


@over_extractors
@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_squares_beyond_the_range_of_numbers(extractor, size):
    X, y = continuous_table()
    with pytest.raises(ValueError, match='use scale="range"'):
        clone(extractor).set_params(scale=None).fit(X * size, y)
    extremes = clone(extractor).fit(X * size, y)
    np.testing.assert_allclose(extremes.components_, clone(extractor).fit(X, y).components_, atol=1e-9)


@over_extractors
def test_every_sample_has_its_twin_in_the_other_class(extractor):
    """There is nothing to find, and rounding finds nothing."""
    X, _ = continuous_table(20)
    with pytest.raises(ValueError, match=r"No direction|No neighborhood"):
        extractor.fit(np.repeat(X, 6, axis=0), np.arange(120) % 2)


@over_extractors
@pytest.mark.parametrize("shape", [(20, 6), (8, 70)])
def test_twins_of_any_weight(extractor, shape):
    """Rounding grows with the weights, and with it what counts as nothing."""
    for seed in range(5):
        X = np.random.default_rng(seed).normal(size=shape)
        X, y = np.repeat(X, 6, axis=0), np.arange(6 * len(X)) % 2
        # With less than one copy a sample would count more than its twins in its own neighborhood for DANN.
        for s in (1.0, 1e6):
            with pytest.raises(ValueError, match=r"No direction|No neighborhood"):
                clone(extractor).fit(X, y, sample_weight=np.full(len(X), s))


@pytest.mark.parametrize("k", [1, 3])
def test_many_samples_in_few_cells(k):
    """Each has hits and misses in its own place, some more of these and some of those: sums cancel."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(1000, 3)).astype(float)
    y = (X.sum(axis=1) > 1.5) ^ (rng.random(1000) < 0.2)
    with pytest.raises(ValueError, match="No direction has a positive margin"):
        LFE(n_neighbors=k).fit(X, y.astype(int))


@pytest.mark.parametrize("solver", ["primal", "dual", "arpack"])
def test_a_matrix_of_zeros(solver):
    """Whole numbers: nothing is rounded."""
    X = np.repeat(np.arange(4.0)[:, np.newaxis] + np.eye(4, 5), 4, axis=0)
    with pytest.raises(ValueError, match="No direction has a positive margin"):
        LFE(n_components=2, solver=solver).fit(X, np.arange(16) % 2)


@over_extractors
def test_more_components_than_dimensions(extractor):
    X, y = wide_table(10, 30)
    with pytest.raises(ValueError, match=r"n_components=10 .* 9 dimensions that 10 samples with 30 features"):
        clone(extractor).set_params(n_components=10).fit(X, y)
    with pytest.raises(ValueError, match=r"n_components=7 .* 6 dimensions"):
        clone(extractor).set_params(n_components=7).fit(*continuous_table())


def test_samples_of_weight_0_span_nothing():
    X, y = wide_table(10, 30)
    with pytest.raises(ValueError, match=r"n_components=9 .* 8 dimensions that 9 samples"):
        LFE(n_components=9).fit(X, y, sample_weight=np.arange(10) > 0)


def test_fewer_positive_directions_than_wanted():
    X, y = continuous_table()
    n_positive = len(LFE().fit(X, y).eigenvalues_)
    assert n_positive < 6
    with pytest.warns(UserWarning, match=f"Only {n_positive} directions .* not n_components=6"):
        fitted = LFE(n_components=6).fit(X, y)
    assert fitted.transform(X).shape == (60, n_positive)


def test_no_large_matrix_is_made_where_few_components_are_wanted(force):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 60)), np.arange(80) % 2
    X[:, 0] += 3.0 * y
    whole = LFE(n_components=2).fit(X, y)
    assert whole.solver_ == "primal"
    force(max_eigh_rows=50)
    few = LFE(n_components=2).fit(X, y)
    assert few.solver_ == "arpack"
    np.testing.assert_allclose(few.eigenvalues_, whole.eigenvalues_, rtol=1e-10)
    assert LFE(n_components=10).fit(X, y).solver_ == "primal"
    assert LFE().fit(X, y).solver_ == "primal"


def test_arpack_wants_a_number_of_components():
    with pytest.raises(ValueError, match="n_components"):
        LFE(solver="arpack").fit(*continuous_table())


def test_arpack_for_every_dimension_there_is():
    X, y = continuous_table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = LFE(n_components=6, solver="arpack").fit(X, y)
        expected = LFE(n_components=6).fit(X, y)
    assert fitted.solver_ == "primal"
    np.testing.assert_array_equal(fitted.components_, expected.components_)


@over_extractors
def test_a_fit_that_fails_leaves_nothing_behind(extractor):
    X, y = continuous_table()
    extractor = clone(extractor).fit(X, y)
    with pytest.raises(ValueError, match="only one class"):
        extractor.fit(X, np.zeros(60))
    with pytest.raises(NotFittedError):
        extractor.transform(X)


def test_the_metric_before_a_fit():
    with pytest.raises(NotFittedError):
        _ = LFE().metric_


# Among scikit-learn's tools


@over_extractors
def test_names_and_frames(extractor):
    pandas = pytest.importorskip("pandas")
    X, y = continuous_table()
    frame = pandas.DataFrame(X, columns=list("abcdef"), index=np.arange(60) + 7)
    labels = np.array(["healthy", "sick", "unknown"])[y]
    plain = clone(extractor).fit(X, y)
    fitted = clone(extractor).set_output(transform="pandas").fit(frame, pandas.Series(labels))
    out = fitted.transform(frame)
    name = type(extractor).__name__.lower()
    assert list(out.columns) == [f"{name}{i}" for i in range(len(fitted.components_))]
    assert list(out.index) == list(frame.index)
    np.testing.assert_array_equal(fitted.get_feature_names_out(), out.columns)
    np.testing.assert_array_equal(out.to_numpy(), plain.transform(X))
    np.testing.assert_array_equal(fitted.classes_, ["healthy", "sick", "unknown"])
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(frame[list("fedcba")])


@over_extractors
def test_clone_and_pickle(extractor):
    X, y = continuous_table()
    fitted = clone(extractor).fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(X), fitted.transform(X))
    with pytest.raises(NotFittedError):
        clone(fitted).transform(X)


@over_extractors
def test_new_samples_are_scaled_as_those_of_the_fit(extractor):
    X, y = continuous_table()
    fitted = clone(extractor).fit(X, y)
    np.testing.assert_allclose(fitted.transform(X)[:5], fitted.transform(X[:5]), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        fitted.transform(X), oracles.scale_range(X) @ fitted.components_.T, rtol=1e-10, atol=1e-12
    )


def test_grid_search_in_a_pipeline():
    X, y = wide_table(60, 100)
    model = make_pipeline(LFE(), KNeighborsClassifier(3))
    grid = {"lfe__n_components": [1, 3], "lfe__n_neighbors": [1, 5]}
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(X, y)
    assert len(search.cv_results_["params"]) == 4
    assert search.best_estimator_[:-1].transform(X).shape == (60, search.best_params_["lfe__n_components"])


def test_real_data(data_folder):
    """72 samples with 7,129 genes: dual and arpack agree, and the projection separates the classes."""
    data = np.load(data_folder / "microarray" / "leukemia_golub.npz", allow_pickle=True)
    X, y = data["X"], data["y"]
    dual = LFE(n_components=5, n_neighbors=3).fit(X, y)
    few = LFE(n_components=5, n_neighbors=3, solver="arpack").fit(X, y)
    np.testing.assert_allclose(unit(few.components_), unit(dual.components_), rtol=0.0, atol=1e-8)
    assert cross_val_score(KNeighborsClassifier(1), dual.transform(X), y, cv=LeaveOneOut()).mean() == 1.0


# Its parts


def test_columns_are_centered_in_blocks():
    X = np.random.default_rng(0).normal(size=(7, 2500))
    columns = CenteredColumns(X, Scaling.none(2500, X.dtype), n_threads=2)
    centered = X - X.mean(axis=0)
    np.testing.assert_allclose(columns.whole(), centered, atol=1e-14)
    np.testing.assert_allclose(columns.gram(), centered @ centered.T, rtol=1e-12, atol=1e-10)
    weights = np.random.default_rng(1).normal(size=(7, 3))
    np.testing.assert_allclose(columns.combined(weights), weights.T @ centered, atol=1e-12)
