"""VarianceReduction against its oracle, and what is special about it."""

import numpy as np
import pytest
from oracles import (
    lmba,
    scale_range,
    variance_reduction_shares,
)
from registry import continuous_table, discrete_table, rounded_table
from scipy.sparse import csr_matrix
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVR

from highrelief import FREL, FisherScore, Lmba, Relief, ReliefF, VarianceReduction

TABLES = [continuous_table, discrete_table, rounded_table]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("k", [1, 5, 50])
def test_shares_of_samples(table, k):
    X, y = table(30)
    meta = VarianceReduction(Lmba(), n_neighbors=k).fit(X, y)
    np.testing.assert_allclose(
        meta.sample_weights_, variance_reduction_shares(scale_range(X), y, k), rtol=1e-7
    )
    assert meta.sample_weights_.sum() == pytest.approx(1.0)


def test_vr_lmba():
    X, y = continuous_table(30)
    meta = VarianceReduction(Lmba(n_neighbors=4)).fit(X, y)
    shares = variance_reduction_shares(scale_range(X), y, 4)
    np.testing.assert_allclose(meta.feature_weights_, lmba(scale_range(X), y, 4, shares=shares), atol=1e-9)


@pytest.mark.parametrize("inside", [Relief(), ReliefF(n_neighbors=4), FREL(solver="exact"), FisherScore()])
def test_sample_weights_reach_the_wrapped_weighter(inside):
    X, y = continuous_table()
    meta = VarianceReduction(inside).fit(X, y)
    expected = inside.fit(X, y, sample_weight=60 * meta.sample_weights_).feature_weights_
    np.testing.assert_array_equal(meta.feature_weights_, expected)
    assert meta.estimator_ is not inside
    k = 4 if isinstance(inside, ReliefF) else 10
    np.testing.assert_allclose(
        meta.sample_weights_, variance_reduction_shares(scale_range(X), y, k), rtol=1e-10
    )


def test_variance_reduction_around_others():
    X, y = continuous_table(n_classes=2)
    meta = VarianceReduction(LogisticRegression()).fit(X.tolist(), y)
    plain = LogisticRegression().fit(X, y, sample_weight=60 * meta.sample_weights_)
    np.testing.assert_array_equal(meta.feature_weights_, np.abs(plain.coef_[0]))
    assert not hasattr(meta, "margins")
    with pytest.raises(TypeError, match="compares samples of different classes"):
        VarianceReduction(SVR(kernel="linear")).fit(X, X[:, 0])


def test_variance_reduction_standardizes_by_the_samples_as_weighed():
    X, y = continuous_table()
    meta = VarianceReduction(ReliefF(n_neighbors=3, scale="standard")).fit(X, y)
    s = meta.sample_weights_
    mean = np.average(X, axis=0, weights=s)
    deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=s))
    alone = ReliefF(n_neighbors=3, scale=None).fit(
        (X - mean) / deviation, y, sample_weight=len(X) * s / s.sum()
    )
    np.testing.assert_allclose(meta.feature_weights_, alone.feature_weights_, atol=1e-12)


@pytest.mark.parametrize(
    "inside", [Lmba(), ReliefF(), LogisticRegression(), HistGradientBoostingClassifier()]
)
def test_variance_reduction_needs_all_values(inside):
    X, y = continuous_table(n_classes=2)
    for missing in (np.nan, np.inf):
        holey = X.copy()
        holey[3, 1] = missing
        with pytest.raises(ValueError, match=r"(?i)X contains (NaN|infinity)"):
            VarianceReduction(inside).fit(holey, y)
    with pytest.raises(TypeError, match=r"(?i)sparse.*toarray"):
        VarianceReduction(inside).fit(csr_matrix(X), y)


def test_an_outlying_margin_vector_counts_least():
    X, y = continuous_table(n_classes=2)
    X[:, 0] += 20.0 * y
    y[5] = 1 - y[5]
    assert VarianceReduction(Relief()).fit(X, y).sample_weights_.argmin() == 5


def test_equal_margin_vectors_count_alike():
    X, y = np.repeat([[0.0, 3.0], [1.0, 3.0]], 5, axis=0), np.repeat([0, 1], 5)
    np.testing.assert_allclose(VarianceReduction(Lmba()).fit(X, y).sample_weights_, 0.1)
