"""Lmba against its oracle, and what is special about it."""

import numpy as np
import pytest
from oracles import (
    lmba,
    scale_range,
)
from registry import continuous_table, discrete_table

from highrelief import FREL, Lmba


@pytest.mark.parametrize("k", [1, 3, 10, 100])
def test_lmba(k):
    X, y = continuous_table(40)
    expected = lmba(scale_range(X), y, k, n_epochs=2)
    np.testing.assert_allclose(
        Lmba(n_neighbors=k, n_epochs=2).fit(X, y).feature_weights_, expected, atol=1e-9
    )


def test_lmba_of_ties():
    """Whole numbers: what is tied is tied exactly, and the first in the table come first."""
    X, y = discrete_table(40)
    expected = lmba(X, y, 4)
    np.testing.assert_allclose(
        Lmba(n_neighbors=4, scale=None).fit(X, y).feature_weights_, expected, atol=1e-9
    )


def test_lmba_of_one_neighbor_is_frel_without_a_penalty():
    X, y = continuous_table()
    expected = FREL(loss="square", alpha=0.0).fit(X, y).feature_weights_
    np.testing.assert_allclose(Lmba(n_neighbors=1).fit(X, y).feature_weights_, expected, atol=1e-10)


def test_lmba_with_equal_steps_is_lmba():
    X, y = continuous_table()
    equal = Lmba()._fit_with_steps(X, y, np.full(len(X), 1 / len(X))).feature_weights_
    np.testing.assert_array_equal(equal, Lmba().fit(X, y).feature_weights_)


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        (np.full(59, 1 / 59), r"shares has the shape \(59,\), but there are 60 samples"),
        (np.full((60, 1), 1 / 60), r"shape \(60, 1\)"),
        (np.r_[np.nan, np.ones(59)], "finite and at least 0"),
        (np.r_[np.inf, np.ones(59)], "finite and at least 0"),
        (np.r_[-0.1, np.ones(59)], "finite and at least 0"),
    ],
)
def test_lengths_of_steps_are_checked(shares, message):
    with pytest.raises(ValueError, match=message):
        Lmba()._fit_with_steps(*continuous_table(60), shares)
