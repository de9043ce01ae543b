"""Every public estimator on tables that nobody would write down: an answer or a clear error.

A few tables each, always the same; ``tests/long/test_fuzz.py`` tries as many as one has time for.
"""

import re

import numpy as np
import pytest
import scipy.sparse
from contract import assert_same, same_bits, weights_of
from fuzzing import ESTIMATORS, Case, answer_or_clear_error, cases
from hypothesis import HealthCheck, given, settings
from registry import ONLY_PLAIN, continuous_table, in_turn, over_families, over_registry
from sklearn.neighbors import KNeighborsClassifier

import highrelief
from highrelief import (
    FREL,
    LFE,
    SURF,
    CrossValidatedSelector,
    ErrorControlledSelector,
    GFlip,
    HKNNClassifier,
    IRelief,
    RedundancyFilter,
    Relief,
    ReliefF,
    RReliefF,
    VarianceReduction,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:No class in y has two samples"),
]

TINY, HUGE = 5e-324, np.finfo(np.float64).max


@pytest.mark.parametrize("name", ESTIMATORS)
@settings(
    max_examples=3 if ONLY_PLAIN else 4,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(cases())
def test_an_answer_or_a_clear_error(name, case):
    answer_or_clear_error(ESTIMATORS[name], case)


# What was found by more of them, one by one.


@in_turn(over_registry, scale=["range", "standard"])
def test_a_column_of_the_smallest_number(entry, scale):
    """Its only value that is not 0 is 5e-324: parts of it are 0, and its inverse is infinite."""
    X, y = continuous_table(30, n_classes=2)
    one = (np.arange(len(X)) % 4 == 1) & (y == 1)
    expected = weights_of(entry.make(scale=scale), np.column_stack([X, one * 1.0]), y)
    assert_same(weights_of(entry.make(scale=scale), np.column_stack([X, one * TINY]), y), expected)


@over_families
def test_a_constant_column_of_the_largest_number(entry):
    X, y = continuous_table(30, n_classes=2)
    expected = weights_of(entry.make(), np.column_stack([X, np.zeros(len(X))]), y)
    found = weights_of(entry.make(), np.column_stack([X, np.full(len(X), HUGE)]), y)
    assert_same(found, expected, tolerance=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
def test_a_constant_column_of_the_largest_number_by_euclidean_distances(metric):
    X, y = continuous_table(30, n_classes=2)
    expected = weights_of(ReliefF(metric=metric), np.column_stack([X, np.zeros(len(X))]), y)
    found = weights_of(ReliefF(metric=metric), np.column_stack([X, np.full(len(X), HUGE)]), y)
    assert_same(found, expected, tolerance=1e-12)


@pytest.mark.parametrize("weighted", [False, "manhattan", "euclidean"])
@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
def test_columns_of_any_size_are_transformed_and_back(weighted, kind):
    rng = np.random.default_rng(0)
    y = np.arange(20) % 2
    X = np.column_stack([rng.integers(0, 3, 20) * 1.0, y * TINY, y * HUGE])
    weighter = ReliefF(n_neighbors=3, weighted=weighted, n_features_to_select=2).fit(X, y)
    np.testing.assert_array_equal(weighter.get_support(), [False, True, True])
    found = weighter.transform(kind(X))
    dense = found if kind is np.asarray else found.toarray()
    assert np.isfinite(dense).all()
    if weighted:
        np.testing.assert_allclose(dense[:, 0], dense[:, 1], rtol=1e-12)
        assert dense[:, 0].max() == pytest.approx(1.0, abs=0.5)
    back = weighter.inverse_transform(found)
    back = back if kind is np.asarray else back.toarray()
    np.testing.assert_allclose(back[:, 1] / TINY, X[:, 1] / TINY)
    np.testing.assert_allclose(back[:, 2] / HUGE, X[:, 2] / HUGE)


@pytest.mark.parametrize("weighted", ["manhattan", "euclidean"])
def test_samples_far_out_are_transformed(weighted):
    """What is out of reach of the fitted ones is at the end of what there is, and nothing is NaN."""
    X, y = continuous_table(30, n_classes=2)
    weighter = ReliefF(weighted=weighted, n_features_to_select=1.0).fit(X * 1e-200, y)
    far = np.where(X > 0.0, HUGE, -HUGE)
    assert np.isfinite(weighter.transform(far)).all()
    assert np.isfinite(LFE().fit(X * 1e-200, y).transform(far)).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_missing_values_are_transformed_and_back(weighted):
    X, y = continuous_table(30, n_classes=2)
    X[3, 0] = np.nan
    weighter = ReliefF(weighted=weighted, n_features_to_select=1.0).fit(X, y)
    back = weighter.inverse_transform(weighter.transform(X))
    np.testing.assert_array_equal(np.isnan(back), np.isnan(X))
    with pytest.raises(ValueError, match="X has a different shape"):
        weighter.inverse_transform(X[:, 1:])


@pytest.mark.parametrize(
    "estimator", [ReliefF(), IRelief(), HKNNClassifier(), CrossValidatedSelector(ReliefF())], ids=str
)
def test_labels_without_an_order(estimator):
    X, _ = continuous_table(6)
    with pytest.raises(TypeError, match=r"y mixes labels of the types int, str, .* y\.astype\(str\)"):
        estimator.fit(X, np.array(["a", 1, "b", 1, "a", "b"], dtype=object))


@pytest.mark.parametrize("value", [TINY, 1e-60, 1e60, HUGE])
def test_weights_of_samples_that_cannot_be_multiplied(value):
    X, y = continuous_table()
    weights = np.ones(len(X))
    weights[3] = value
    with pytest.raises(ValueError, match=re.escape(f"sample_weight has the value {value:g}, and")):
        ReliefF().fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("estimator", [ReliefF(n_neighbors=3), IRelief(sigma=1.0)], ids=str)
def test_weights_of_samples_in_single_precision(estimator):
    X, y = continuous_table(30, n_classes=2)
    weights = np.ones(len(X))
    weights[3] = 1e14
    assert np.isfinite(weights_of(estimator, X.astype(np.float32), y, sample_weight=weights)).all()
    weights[3] = 1e40
    assert np.isfinite(weights_of(estimator, X, y, sample_weight=weights)).all()
    with pytest.raises(ValueError, match=r"value 1e\+40, .* use weights from 1e-15 to 1e\+15"):
        estimator.fit(X.astype(np.float32), y, sample_weight=weights)


def test_a_class_of_next_to_no_weight():
    """P(c)/(1 − P(y)) where 1 − P(y) is 0 by rounding."""
    X, y = continuous_table(30, n_classes=2)
    expected = weights_of(ReliefF(n_neighbors=3), X, y, sample_weight=np.where(y == 0, 1e-9, 1.0))
    found = weights_of(ReliefF(n_neighbors=3), X, y, sample_weight=np.where(y == 0, 1e-30, 1.0))
    assert_same(found, expected, tolerance=1e-6)


@pytest.mark.parametrize(
    ("estimator", "size"),
    [(IRelief(), 1e100), (IRelief(), 1e-100), (Relief(metric="sqeuclidean"), 1e100), (FREL(), 1e100)],
    ids=str,
)
def test_features_that_cannot_be_squared_without_a_scaling(estimator, size):
    X, y = continuous_table()
    with pytest.raises(ValueError, match=r'features of X span .* use scale="range"'):
        estimator.set_params(scale=None).fit(X * size, y)
    assert np.isfinite(estimator.set_params(scale="range").fit(X * size, y).feature_weights_).all()


def test_a_numeric_target_of_the_smallest_numbers():
    X, y = continuous_table()
    expected = weights_of(RReliefF(), X, y * 1.0)
    assert same_bits(weights_of(RReliefF(), X, y * TINY), expected)


def test_the_empty_set_has_margins_without_a_scaling():
    X, y = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0, 1])
    with pytest.warns(UserWarning, match="weight 0"):
        found = GFlip(scale=None).fit(X, y)
    np.testing.assert_array_equal(found.margins(X, y), 0.0)


def test_similarities_of_the_smallest_numbers():
    X, y = continuous_table(30, n_classes=2)
    X = np.column_stack([y * TINY, y * 1.0, X[:, 0]])
    filtered = RedundancyFilter(ReliefF(n_features_to_select=3)).fit(X, y)
    np.testing.assert_array_equal(sorted(map(len, filtered.groups_)), [1, 2])


@pytest.mark.parametrize("size", [1e-40, 1e40])
def test_a_linear_program_in_any_units(size):
    """HiGHS takes entries of other sizes for 0 or for infinite."""
    X, y = continuous_table(30, n_classes=2)
    parameters = {"solver": "exact", "loss": "hinge", "penalty": "l1", "scale": None}
    X = X / np.ptp(X, axis=0)
    expected = weights_of(FREL(**parameters, alpha=1e-2), X, y)
    found = weights_of(FREL(**parameters, alpha=1e-2 * size), X * size, y)
    assert_same(found, expected, tolerance=1e-6)


def test_variance_reduction_without_a_scaling_in_any_units():
    X, y = continuous_table(30, n_classes=2)
    expected = weights_of(VarianceReduction(ReliefF(n_neighbors=3, scale=None)), X, y)
    found = weights_of(VarianceReduction(ReliefF(n_neighbors=3, scale=None)), X * 2.0**700, y)
    assert_same(found * 2.0**-700, expected)


@pytest.mark.parametrize("size", [TINY, HUGE / 1e4])
def test_variance_reduction_without_a_scaling_of_what_has_no_distances(size):
    X, y = np.random.default_rng(0).integers(-2, 3, (20, 3)), np.arange(20) % 2
    with pytest.raises(ValueError, match=r'features of X span .* use scale="range"'):
        VarianceReduction(ReliefF(n_neighbors=3, scale=None)).fit(X * size, y)


def test_permutations_of_weights_that_cannot_be_squared():
    X, y = continuous_table(30, n_classes=2)
    selector = ErrorControlledSelector(ReliefF(n_neighbors=3, scale=None), n_permutations=9, random_state=0)
    with pytest.raises(ValueError, match=r'weights are as large as .* use scale="range"'):
        selector.fit(X * 1e200, y)
    # In single precision those of 2⁹⁰ cannot be either.
    found = weights_of(selector, X * 2.0**90, y)
    assert same_bits(found * 2.0**-90, weights_of(selector, X, y))


def test_permutations_of_a_small_weight_beside_others():
    """The inverse of its deviation is no number in single precision."""
    X, y = continuous_table(30, n_classes=2)
    X /= np.ptp(X, axis=0)
    selector = ErrorControlledSelector(ReliefF(n_neighbors=3, scale=None), n_permutations=9, random_state=0)
    found = selector.fit(np.column_stack([X, X[:, 0] * 1e-42]), y)
    assert np.isfinite(found.statistic_).all()
    np.testing.assert_allclose(found.statistic_[6], selector.fit(X, y).statistic_[0], rtol=0.1)


def test_directions_beside_a_constant_feature_of_the_largest_number():
    X, y = continuous_table(30, n_classes=2)
    expected = LFE(scale=None).fit(np.column_stack([X, np.zeros(30)]), y)
    found = LFE(scale=None).fit(np.column_stack([X, np.full(30, HUGE)]), y)
    np.testing.assert_allclose(found.eigenvalues_, expected.eigenvalues_)


def test_samples_at_the_largest_distance_are_classified():
    X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([0, 0, 1, 1])
    classifier = HKNNClassifier(scale=None).fit(X, y)
    assert np.isfinite(classifier.predict_proba([[HUGE], [-HUGE]])).all()


@pytest.mark.parametrize("weighted", ["manhattan", "euclidean"])
def test_a_sparse_table_is_judged_in_the_learned_metric(weighted):
    X, y = continuous_table(40, n_classes=2)
    X = np.where(np.abs(X) < np.median(np.abs(X), axis=0), 0.0, X)
    made = [
        CrossValidatedSelector(
            ReliefF(n_neighbors=3, scale="range"), classifier=KNeighborsClassifier(3), cv=3, weighted=weighted
        ).fit(table, y)
        for table in (X, scipy.sparse.csr_array(X))
    ]
    np.testing.assert_allclose(made[1].cv_scores_, made[0].cv_scores_)


@pytest.mark.parametrize(
    "estimator", [ReliefF(n_neighbors=3), CrossValidatedSelector(ReliefF(n_neighbors=3), cv=2)], ids=str
)
def test_classes_that_are_large_numbers(estimator):
    """Beyond what 64 bits hold, scikit-learn sees no whole numbers, and NumPy has no need to warn."""
    X, y = continuous_table(30, n_classes=2)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        estimator.fit(X, y * 1e300)


def test_a_given_classifier_is_asked_of_the_largest_numbers():
    """Its checks add them up, of either sign."""
    y = np.arange(30) % 2
    signs = np.column_stack([2.0 * y - 1.0, np.random.default_rng(0).choice([-1.0, 1.0], 30)])
    selector = CrossValidatedSelector(
        ReliefF(n_neighbors=3), classifier=KNeighborsClassifier(3, metric="chebyshev"), cv=2, cuts=[2]
    )
    expected = selector.fit(signs, y).cv_scores_
    np.testing.assert_array_equal(selector.fit(signs * HUGE, y).cv_scores_, expected)


def test_a_case_can_be_written_down():
    case = Case(columns=("least",), kind="float32", n_jobs=2)
    assert eval(repr(case)) == case


@pytest.mark.parametrize("scale", ["range", "standard"])
@pytest.mark.parametrize("n_samples", [8, 5000])
@pytest.mark.parametrize("counted", [False, True])
def test_missing_values_where_sums_of_the_others_overflow(scale, n_samples, counted):
    """Expected differences are sums over all values: they are those of the column in smaller units."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1.0, 1.0, size=(n_samples, 2)), np.arange(n_samples) % 2
    X[rng.uniform(size=n_samples) < 0.2, 0] = np.nan
    X[:4, 0] = [np.nan, 1.0, 1.0, -1.0]
    weights = 10.0 ** rng.integers(0, 40, n_samples) if counted else None
    weighter = SURF(scale=scale) if n_samples == 8 else ReliefF(n_anchors=20, random_state=0, scale=scale)
    expected = weighter.fit(X, y, sample_weight=weights).feature_weights_
    # Powers of 2 round nothing.
    for unit in (2.0**1000, 2.0**1023):
        found = weighter.fit(X * [unit, 1.0], y, sample_weight=weights).feature_weights_
        np.testing.assert_allclose(found, expected, rtol=1e-14, atol=0.0)


@pytest.mark.parametrize(
    "name", ["Relief", "ReliefF", "SURF", "SURFStar", "MultiSURF", "MultiSURFStar", "IRelief"]
)
def test_missing_values_and_a_range_that_overflows(name):
    X = np.array([[np.nan], [1e308], [1e308], [-1e308]])
    parameters = {"n_neighbors": 1} if name == "ReliefF" else {}
    weighter = getattr(highrelief, name)(**parameters)
    expected = weighter.fit(X / 1e308, [0, 1, 0, 1]).feature_weights_
    np.testing.assert_allclose(weighter.fit(X, [0, 1, 0, 1]).feature_weights_, expected, rtol=1e-12)


def test_margins_where_no_column_varies():
    """NumPy warns of the mean of nothing."""
    case = Case(n_samples=3, columns=("constant", "flags"), kind="float32")
    assert answer_or_clear_error(ESTIMATORS["ErrorControlledSelector(ReliefF) fwer"], case) == "fitted"
