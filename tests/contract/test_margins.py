"""What every feature weighter says of single samples."""

import numpy as np
import pytest
from contract import (
    PRECISIONS,
    assert_same,
    has_margins,
)
from oracles import relief_rows
from registry import (
    continuous_table,
    in_turn,
)

from highrelief import LOGO, GFlip, IRelief, Relief, ReliefF

# Iterations that do not settle are looked at where they are meant to happen.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def separated_table():
    """Two clouds far apart in the first feature, noise in the second."""
    rng = np.random.default_rng(0)
    y = np.arange(30) % 2
    return np.column_stack([rng.uniform(size=30) + 9.0 * y, rng.uniform(size=30)]), y


@in_turn(has_margins, dtype=PRECISIONS)
def test_margins_of_separated_classes(entry, dtype):
    X, y = separated_table()
    weighter = entry.make().fit(X.astype(dtype), np.array(["left", "right"])[y])
    margins = weighter.margins(X[:20], np.array(["left", "right"])[y[:20]])
    assert margins.shape == (20,)
    assert margins.dtype == np.float64
    # The gap is 0.8 of the range, the clouds 0.1 wide.
    gap = entry.family.margin_factor
    assert margins.min() > 0.5 * gap
    wrong = y.copy()
    wrong[3] = 1 - wrong[3]
    flipped = weighter.margins(X, np.array(["left", "right"])[wrong])
    assert flipped[3] < -0.5 * gap
    assert np.delete(flipped, 3).min() > -0.2 * gap


@has_margins
def test_margins_follow_their_rows(entry):
    X, y = continuous_table()
    weighter = entry.make().fit(X, y)
    order = np.random.default_rng(5).permutation(len(X))
    assert_same(weighter.margins(X[order], y[order]), weighter.margins(X, y)[order])


@has_margins
def test_a_margin_of_a_sample_alone_in_its_class_is_0(entry):
    X, y = separated_table()
    weighter = entry.make().fit(X, y)
    lonely = np.r_[0, np.flatnonzero(y == 1)]
    margins = weighter.margins(X[lonely], y[lonely])
    assert margins[0] == 0.0
    assert margins[1:].min() > 0.0


@in_turn(has_margins, scale=["range", "standard", None])
def test_margins_of_samples_out_of_reach(entry, scale):
    X, y = separated_table()
    weighter = entry.make(scale=scale).fit(X * 1e-20, y)
    for size in (1e-25, 1e-15):
        assert np.isfinite(weighter.margins(X * size, y)).all()
    for size in (5e-324, 1e300):
        with pytest.raises(ValueError, match="Scaled as in fit, the features of X span"):
            weighter.margins(X.round() * size, y)


@in_turn(has_margins, scale=["range", "standard"])
def test_margins_where_a_narrow_feature_does_not_vary(entry, scale):
    X, y = separated_table()
    with_narrow = np.column_stack([X, 5e-324 * (np.arange(len(X)) % 3 == 0)])
    weighter = entry.make(scale=scale).fit(with_narrow, y)
    with_narrow[:, 2] = 0.0
    assert np.isfinite(weighter.margins(with_narrow, y)).all()


@pytest.mark.parametrize("weighter", [Relief(), IRelief(sigma=1.0), LOGO(), GFlip(random_state=0)], ids=str)
def test_margins_where_a_narrow_feature_is_far_out(weighter):
    X, y = separated_table()
    weighter.fit(np.column_stack([X, 5e-324 * y]), y)
    with pytest.raises(ValueError, match="feature 2 of X leaves the range of floating point"):
        weighter.margins(np.column_stack([X, np.full(len(X), np.finfo(np.float64).max)]), y)


@pytest.mark.parametrize("metric", ["manhattan", "euclidean", "sqeuclidean"])
def test_margins_where_nothing_varies_and_a_value_is_missing(metric):
    X, y = separated_table()
    weighter = ReliefF(n_neighbors=3, metric=metric).fit(X, y)
    constant = np.ones_like(X)
    constant[3, 0] = np.nan
    np.testing.assert_array_equal(weighter.margins(constant, y), 0.0)


@pytest.mark.parametrize("size", [1e-280, 1e280])
def test_margins_under_weights_that_cannot_be_squared(size):
    X, y = separated_table()
    expected = Relief(scale=None).fit(X, y).margins(X, y)
    np.testing.assert_allclose(Relief(scale=None).fit(X * size, y).margins(X * size, y) / size, expected)


def test_margins_are_scaled_as_in_fit():
    X, y = continuous_table(n_classes=2)
    few = np.arange(0, 60, 4)
    for metric in ("manhattan", "euclidean"):
        weighter = Relief(metric=metric).fit(X, y)
        scaled = (X - X.min(axis=0)) / np.ptp(X, axis=0)
        assert np.ptp(scaled[few], axis=0).min() < 0.9
        w = np.maximum(weighter.feature_weights_, 0.0)
        expected = relief_rows(scaled[few], y[few], metric=metric) @ (w / np.linalg.norm(w))
        np.testing.assert_allclose(weighter.margins(X[few], y[few]), expected, atol=1e-12)
