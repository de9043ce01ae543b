"""RReliefF."""

import numpy as np
import pytest
from oracles import rrelieff, scale_range
from registry import continuous_table, discrete_table
from sklearn.utils import get_tags

from highrelief import EnsembleWeighting, IterativeElimination, RReliefF, VarianceReduction


def table(kind=continuous_table, n_samples=60):
    """Six features, two of them related to a target that is a number."""
    X, _ = kind(n_samples)
    y = np.random.default_rng(0).normal(size=n_samples) + 3.0 * np.abs(X[:, 0] - np.median(X[:, 0])) + X[:, 1]
    return X, y


PARAMETERS = {
    "default": {},
    "few": {"n_neighbors": 3},
    "steep": {"n_neighbors": 6, "rank_decay": 1.5},
    "uniform": {"n_neighbors": 5, "neighbor_weights": "uniform"},
    "all": {"n_neighbors": 500},
    "euclidean": {"n_neighbors": 4, "metric": "euclidean"},
    "squared": {"n_neighbors": 4, "metric": "sqeuclidean"},
}


def by_oracle(X, y, parameters, **more):
    decay = None if parameters.get("neighbor_weights") == "uniform" else parameters.get("rank_decay", 20.0)
    k, metric = parameters.get("n_neighbors", 10), parameters.get("metric", "manhattan")
    return rrelieff(scale_range(X), y, min(k, 3 * len(X)), decay, metric, **more)


@pytest.mark.parametrize("parameters", PARAMETERS.values(), ids=PARAMETERS)
@pytest.mark.parametrize("kind", [continuous_table, discrete_table])
def test_weights_are_those_of_the_oracle(parameters, kind):
    X, y = table(kind)
    found = RReliefF(**parameters).fit(X, y).feature_weights_
    np.testing.assert_allclose(found, by_oracle(X, y, parameters), atol=1e-12)


@pytest.mark.parametrize("kind", [continuous_table, discrete_table])
def test_a_weight_is_a_number_of_copies(kind):
    X, y = table(kind)
    s = np.random.default_rng(1).integers(0, 4, size=y.size)
    weighted = RReliefF(n_neighbors=5).fit(X, y, sample_weight=s).feature_weights_
    copied = RReliefF(n_neighbors=5).fit(np.repeat(X, s, axis=0), np.repeat(y, s)).feature_weights_
    np.testing.assert_allclose(weighted, copied, atol=1e-12)
    kept = s > 0
    expected = by_oracle(X[kept], y[kept], {"n_neighbors": 5}, s=s[kept])
    np.testing.assert_allclose(weighted, expected, atol=1e-12)


def test_anchors():
    X, y = table()
    fitted = RReliefF(n_anchors=7, random_state=3).fit(X, y)
    drawn = np.random.RandomState(3).choice(y.size, 7, replace=False)
    np.testing.assert_allclose(fitted.feature_weights_, by_oracle(X, y, {}, anchors=drawn), atol=1e-12)
    assert fitted.n_anchors_ == 7


def test_the_order_of_the_rows_and_the_threads_do_not_matter():
    X, y = table(discrete_table, 200)
    weights = RReliefF().fit(X, y).feature_weights_
    assert RReliefF(n_jobs=2).fit(X, y).feature_weights_.tobytes() == weights.tobytes()
    order = np.random.default_rng(2).permutation(y.size)
    np.testing.assert_allclose(RReliefF().fit(X[order], y[order]).feature_weights_, weights, atol=1e-12)


# scikit-learn adds them up to see whether all are finite.
@pytest.mark.filterwarnings("ignore:invalid value encountered in reduce")
def test_units_of_the_target_do_not_matter():
    X, y = table()
    weights = RReliefF().fit(X, y).feature_weights_
    for changed in (-3.0 * y + 100.0, y * 1e300 / np.abs(y).max(), y.tolist()):
        np.testing.assert_allclose(RReliefF().fit(X, changed).feature_weights_, weights, atol=1e-10)
    far = np.where(y > np.median(y), 1.7e308, -1.7e308)
    near = np.where(y > np.median(y), 1.0, -1.0)
    np.testing.assert_allclose(
        RReliefF().fit(X, far).feature_weights_, RReliefF().fit(X, near).feature_weights_, atol=1e-12
    )


def test_types_of_the_target():
    X, y = table()
    whole = np.round(y).astype(int)
    weights = RReliefF().fit(X, whole).feature_weights_
    for same in (whole.astype(float), whole.astype(object), [str(each) for each in whole]):
        np.testing.assert_array_equal(RReliefF().fit(X, same).feature_weights_, weights)
    flags = y > np.median(y)
    np.testing.assert_array_equal(
        RReliefF().fit(X, flags).feature_weights_, RReliefF().fit(X, 5.0 * flags).feature_weights_
    )


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_genotypes_as_they_are(dtype):
    X, y = table(discrete_table)
    expected = RReliefF().fit(X, y).feature_weights_
    np.testing.assert_array_equal(RReliefF().fit(X.astype(dtype), y).feature_weights_, expected)


def test_it_has_neither_classes_nor_margins():
    X, y = table()
    fitted = RReliefF().fit(X, y)
    assert not hasattr(fitted, "classes_")
    assert not hasattr(fitted, "margins")
    assert get_tags(fitted).continuous_target
    assert get_tags(IterativeElimination(RReliefF())).continuous_target


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.full(60, 2.5), "y is constant"),
        (["sick"] * 30 + ["well"] * 30, "y must hold numbers"),
        ([np.nan] + [1.0] * 59, "NaN"),
    ],
    ids=["constant", "words", "NaN"],
)
def test_targets_that_say_nothing_are_refused(y, words):
    with pytest.raises(ValueError, match=words):
        RReliefF().fit(table()[0], y)


def test_a_constant_feature_weighs_nothing():
    X, y = table()
    assert RReliefF().fit(np.column_stack([X, np.ones(len(X))]), y).feature_weights_[-1] == 0.0


def test_fractions_without_a_denominator():
    """All neighbors have the same target; all neighbors are at the other end of its range."""
    X, y = np.array([[0.0], [0.1], [5.0], [5.3]]), np.array([0.0, 0.0, 1.0, 1.0])
    alike = RReliefF(n_neighbors=1).fit(X, y).feature_weights_
    np.testing.assert_allclose(alike, [-(0.1 + 0.1 + 0.3 + 0.3) / 5.3 / 4], atol=1e-14)
    different = RReliefF(n_neighbors=1).fit(X, [0.0, 1.0, 0.0, 1.0]).feature_weights_
    np.testing.assert_allclose(different, -alike, atol=1e-14)


def test_inside_others_whole_numbers_are_no_classes():
    X, y = table()
    y = np.round(y).astype(int)
    ensemble = EnsembleWeighting(RReliefF(), n_estimators=3, random_state=0).fit(X, y)
    assert not hasattr(ensemble, "classes_")
    assert not hasattr(IterativeElimination(RReliefF()).fit(X, y), "classes_")
    with pytest.raises(TypeError, match="different classes"):
        VarianceReduction(RReliefF()).fit(X, y)


def test_loci_of_a_continuous_trait_come_first(data_folder):
    with np.load(data_folder / "epistasis" / "gametes_2way_continuous_endpoint.npz") as data:
        X, y, relevant = data["X"], data["y"], data["relevant"]
    for parameters in ({}, {"n_neighbors": 100}, {"neighbor_weights": "uniform"}):
        assert set(RReliefF(**parameters).fit(X, y).ranking_[relevant]) == {1, 2}


def test_features_that_act_only_together():
    X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(400, 12))
    y = X[:, 3] * X[:, 7]
    np.testing.assert_array_equal(
        RReliefF(n_features_to_select=2).fit(X, y).get_support(indices=True), [3, 7]
    )
