"""DANN: the answer of the formula on tables of any shape, and what users of it rely on.

What it shares with LFE is tested beside that.
"""

import numpy as np
import oracles
import pytest
from contract import assert_same, same_bits, same_directions
from peak_memory import peak_of
from registry import continuous_table, discrete_table, rounded_table
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from small_tables import wide_table

from highrelief import DANN
from highrelief.methods.dann import FEWEST_NEIGHBORS


def average_scatter(fitted):
    return (fitted.components_.T * fitted.eigenvalues_) @ fitted.components_


@pytest.mark.parametrize("table", [continuous_table, discrete_table, rounded_table])
@pytest.mark.parametrize("k", [2, 7, 60, 1000])
def test_equals_the_oracle(table, k):
    """The matrix, not its eigenvectors, which are not unique where eigenvalues are equal."""
    X, y = table(40)
    fitted = DANN(n_neighbors=k).fit(X, y)
    scaled = oracles.scale_range(X)
    assert (fitted.solver_, fitted.n_neighbors_) == ("primal", min(k, 40))
    np.testing.assert_allclose(fitted.eigenvalues_, oracles.dann(scaled, y, k)[0], rtol=1e-9)
    np.testing.assert_allclose(average_scatter(fitted), oracles.dann_scatter(scaled, y, k), atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("k", [3, 24])
def test_wide_tables_equal_the_oracle(n_classes, k):
    X, y = wide_table(n_classes=n_classes)
    fitted = DANN(n_neighbors=k, n_components=1).fit(X, y)
    assert fitted.solver_ == "dual"
    values, vectors = oracles.dann(oracles.scale_range(X), y, k)
    np.testing.assert_allclose(fitted.eigenvalues_, values[:1], rtol=1e-9)
    same_directions(fitted.components_, vectors[:1])


@pytest.mark.parametrize("name", ["binary", "three", "wide"])
def test_equals_the_reference(golden_folder, name):
    reference = np.load(golden_folder / f"{name}.npz")
    fitted = DANN(n_neighbors=7, n_components=5, scale=None).fit(reference["X"], reference["y"])
    np.testing.assert_allclose(fitted.eigenvalues_, reference["dann_k7_eigenvalues"], rtol=1e-10)
    same_directions(fitted.components_, reference["dann_k7_components"], 1e-10)


def test_all_samples_as_neighbors_give_the_scatter_between_classes():
    """Every neighborhood is the whole table: discriminant analysis without its whitening."""
    X, y = continuous_table()
    X = oracles.scale_range(X)
    fitted = DANN(n_neighbors=len(X), scale=None).fit(X, y)
    means = np.array([X[y == c].mean(axis=0) for c in range(3)]) - X.mean(axis=0)
    between = (means.T * np.bincount(y) / len(y)) @ means
    np.testing.assert_allclose(average_scatter(fitted), between, atol=1e-13)
    assert fitted.components_.shape == (2, 6)  # one less than there are classes


def test_neighbors_by_default():
    assert DANN().fit(*continuous_table(60)).n_neighbors_ == FEWEST_NEIGHBORS
    assert DANN().fit(*continuous_table(40)).n_neighbors_ == 40
    assert DANN().fit(*continuous_table(300)).n_neighbors_ == 60
    s = np.full(60, 5.0)
    assert DANN().fit(*continuous_table(60), sample_weight=s).n_neighbors_ == 60


def test_components_are_orthonormal():
    for X, y in (continuous_table(), wide_table()):
        components = DANN(n_neighbors=10).fit(X, y).components_
        np.testing.assert_allclose(components @ components.T, np.eye(len(components)), atol=1e-8)


def test_copies_of_samples():
    X, y = discrete_table(30)
    s = np.random.default_rng(0).integers(0, 4, 30)
    for table in (X, wide_table(30)[0]):
        for k in (4, None):
            by_weight = DANN(n_neighbors=k).fit(table, y, sample_weight=s)
            by_copies = DANN(n_neighbors=k).fit(np.repeat(table, s, axis=0), np.repeat(y, s))
            assert_same(average_scatter(by_weight), average_scatter(by_copies))


def test_more_copies_than_can_be_listed():
    X, y = continuous_table(30)
    s = np.random.default_rng(0).uniform(1.0, 2.0, 30)
    many, most = (DANN().fit(X, y, sample_weight=s * size) for size in (1e9, 1e140))
    assert many.n_neighbors_ == int(np.sum(s * 1e9) / 5)
    # One copy of a sample, which is not among its own neighbors, is next to none.
    assert_same(average_scatter(many), average_scatter(most), tolerance=1e-7)


def test_order_of_the_rows():
    X, y = discrete_table()
    order = np.random.default_rng(0).permutation(len(X))
    fitted, shuffled = DANN(n_neighbors=9).fit(X, y), DANN(n_neighbors=9).fit(X[order], y[order])
    assert_same(average_scatter(shuffled), average_scatter(fitted))


def test_bits_do_not_depend_on_threads():
    for X, y in (continuous_table(150), wide_table(40, 3000)):
        one, two = (DANN(n_jobs=n).fit(X, y) for n in (1, 2))
        assert same_bits(one.components_, two.components_)
        assert same_bits(one.eigenvalues_, two.eigenvalues_)


def test_single_precision():
    for X, y in (continuous_table(), wide_table()):
        single, double = (DANN(n_neighbors=9).fit(X.astype(t), y) for t in (np.float32, np.float64))
        assert_same(average_scatter(single), average_scatter(double), 1e-5)


def test_no_matrix_of_features_is_formed():
    X, y = wide_table(50, 20_000)
    extractor = DANN(n_neighbors=10, n_components=5).fit(X, y)
    assert peak_of(lambda: extractor.fit(X, y)) < 6 * X.nbytes


def test_many_classes_equal_the_oracle():
    X, y = continuous_table(60)[0], np.arange(60) // 2
    np.testing.assert_allclose(
        average_scatter(DANN(n_neighbors=12).fit(X, y)),
        oracles.dann_scatter(oracles.scale_range(X), y, 12),
        atol=1e-12,
    )


def test_neighborhoods_of_one_class():
    """Classes far apart, few neighbors: there is nothing between classes anywhere."""
    X = np.r_[np.arange(10.0), 100.0 + np.arange(10.0)].reshape(-1, 1)
    y = np.arange(20) // 10
    with pytest.raises(ValueError, match=r"n_neighbors=4 .* DANN finds no direction"):
        DANN(n_neighbors=4).fit(X, y)
    assert DANN(n_neighbors=15).fit(X, y).components_.tolist() == [[1.0]]


def test_real_data(data_folder):
    data = np.load(data_folder / "microarray" / "leukemia_golub.npz", allow_pickle=True)
    X, y = data["X"], data["y"]
    projected = DANN(n_components=5).fit(X, y).transform(X)
    assert cross_val_score(KNeighborsClassifier(1), projected, y, cv=LeaveOneOut()).mean() > 0.95
