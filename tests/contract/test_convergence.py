"""What every repeated feature weighter says of its end."""

import re
import warnings

import numpy as np
import pytest
from contract import (
    ALTERNATING,
    PRECISIONS,
    iterative,
)
from registry import (
    continuous_table,
    in_turn,
    over_entries,
)
from sklearn.exceptions import ConvergenceWarning

from highrelief import IRelief
from highrelief.base.meta import fit_inside
from highrelief.datasets import make_xor

# Iterations that do not settle are looked at where they are meant to happen.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@iterative
def test_a_warning_where_it_did_not_converge(entry):
    X, y = continuous_table()
    weighter = entry.make(max_iter=1)
    with pytest.warns(ConvergenceWarning, match=re.escape("max_iter=1")) as record:
        weighter = fit_inside(weighter.fit(X, y))
    assert len(record) == 1
    assert weighter.converged_ is False
    assert weighter.n_iter_ == 1
    assert weighter.history_.shape == (1,)
    assert weighter.history_[0] > weighter.tol


@in_turn(over_entries(lambda entry: entry.family.iterative and entry.family.settles), dtype=PRECISIONS)
def test_no_warning_where_it_converged(entry, dtype):
    X, y = continuous_table(90)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weighter = fit_inside(entry.make().fit(X.astype(dtype), y))
    assert weighter.converged_ is True
    assert weighter.n_iter_ == len(weighter.history_) > 1
    assert np.isfinite(weighter.history_).all()
    if entry.variant not in ("auto", "averaged"):
        changes, least = weighter.history_, weighter.tol
        if hasattr(weighter, "cost_"):  # which is to settle, as far as N roundings of its terms allow
            entropies = weighter.hit_entropy_[-1] + weighter.miss_entropy_[-1]
            rounding = np.finfo(dtype).eps * weighter.sigma_ * entropies / np.sqrt(len(X))
            changes, least = np.abs(np.diff(weighter.cost_)), max(least, rounding)
        assert changes[-1] < least <= changes[:-1].min()


@over_entries(lambda entry: entry.family.settles)
def test_no_warning_on_well_behaved_data(entry):
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        entry.make().fit(*continuous_table(90))
        entry.family.default().fit(*continuous_table(90))
    assert [str(each.message) for each in record] == []


def test_a_cycle_is_reported():
    X, y, _ = make_xor(24, n_irrelevant=2, random_state=0)
    weighter = IRelief(sigma=0.2)
    with pytest.warns(ConvergenceWarning, match="cycle of length 2"):
        weighter.fit(X, y)
    assert weighter.cycle_length_ == 2
    assert weighter.n_iter_ == len(weighter.history_) < 100  # the paper's plain iteration ends there
    assert weighter.converged_ is False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert IRelief().fit(X, y).cycle_length_ == 0


@over_entries(lambda entry: entry.family.unit_norm or entry.family.iterative)
def test_weights_are_0_with_a_warning_where_no_margin_is_positive(entry):
    weighter = entry.make()
    with pytest.warns(ConvergenceWarning, match="no feature .*positive mean margin"):
        weighter.fit(*ALTERNATING)
    np.testing.assert_array_equal(weighter.feature_weights_, 0.0)
    np.testing.assert_array_equal(weighter.get_support(), [True])
    if entry.family.iterative:
        assert fit_inside(weighter).converged_ is False
