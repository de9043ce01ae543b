"""What the tests of the contract share."""

import numpy as np
import pytest
from oracles import gflip_score, scale_range
from registry import ENTRIES, THOROUGH, continuous_table, discrete_table, over_entries, rounded_table

from highrelief.base.weighter import FeatureWeighter

takes_sample_weight = over_entries(lambda entry: entry.sample_weight)
copies_count = over_entries(
    lambda entry: entry.sample_weight and not entry.draws_samples and not entry.cuts_folds
)
has_margins = over_entries(lambda entry: entry.family.margins)
iterative = over_entries(lambda entry: entry.family.iterative)
rows_in_any_order = over_entries(
    lambda entry: not entry.order_dependent and not entry.draws_samples and not entry.cuts_folds
)
TABLES = [continuous_table, discrete_table]
TABLES_AND_ROUNDING = [*TABLES, rounded_table]
PRECISIONS = [np.float64, np.float32]

# Classes alternate on a line: the nearest miss is always nearer than the nearest hit.
ALTERNATING = np.arange(12.0).reshape(-1, 1), np.arange(12) % 2


def weights_of(weighter, X, y, **more):
    return weighter.fit(X, y, **more).feature_weights_


def assert_same(actual, expected, tolerance=1e-9):
    """Compare weights relative to their norm, which must not be 0."""
    assert np.linalg.norm(expected) > 0.0
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=tolerance * np.linalg.norm(expected))


def same_bits(first, second):
    return np.asarray(first).tobytes() == np.asarray(second).tobytes()


def ranked_by(weighter):
    """What a weighter ranks by: the weights, members of a set by what is lost without them, or by order."""
    w = weighter.feature_weights_
    if hasattr(weighter, "eliminated_in_"):
        return weighter._ranked_by
    return np.where(w > 0.0, weighter.score_losses_, -np.inf) if hasattr(weighter, "score_losses_") else w


def skip_where_nothing_is_found(entry, X, y):
    """Pass by a table of which no feature has a positive score by itself; the set is then empty."""
    if not entry.family.from_nothing or entry.parameters.get("utility") == "sigmoid":
        return
    scaled, utility = scale_range(X), entry.parameters.get("utility", "linear")
    if max(gflip_score(scaled, y, alone, utility) for alone in np.eye(X.shape[1])) <= 0.0:
        np.testing.assert_array_equal(weights_of(entry.make(), X, y), 0.0)
        pytest.skip("no feature has a positive score by itself")


class GivenWeights(FeatureWeighter):
    """The contract alone: weights are what the user says."""

    def __init__(self, weights=(), *, n_features_to_select=None, weighted=False, scale="range"):
        super().__init__(n_features_to_select=n_features_to_select, weighted=weighted, scale=scale)
        self.weights = weights

    def fit(self, X, y):
        self._check_fit(X, y)
        return self._set_weights(np.array(self.weights, dtype=np.float64))


def given(weights, **parameters):
    """Weigh random features as given."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, len(weights)))
    return GivenWeights(weights, **parameters).fit(X, np.arange(10) % 2)


#: What a fit computes beside the weights.
SCALARS = (
    *("sigma_", "alpha_", "outlier_proba_", "cost_", "kkt_residual_", "objective_", "stability_"),
    *("n_features_", "cv_scores_"),
)


def outcome(weighter, X, y, **more):
    """Everything numeric that a fit computes, as bytes."""
    weighter.fit(X, y, **more)
    found = [weighter.feature_weights_]
    found += [getattr(weighter, name) for name in SCALARS if hasattr(weighter, name)]
    if hasattr(weighter, "margins"):
        found.append(weighter.margins(X, y))
    return [np.asarray(each).tobytes() for each in found]


def same_directions(actual, expected, tolerance=1e-9):
    """Rows are equal but for their signs."""
    assert actual.shape == expected.shape
    signs = np.sign(np.sum(actual * expected, axis=1, keepdims=True))
    np.testing.assert_allclose(actual * signs, expected, rtol=0.0, atol=tolerance)


def bits_of_all(n_jobs=2):
    """What methods compute, as bytes; what is wrapped around them runs the same code again."""
    X, y = continuous_table()
    methods = [entry for entry in ENTRIES if entry.plain and entry.family.inside is None]
    methods = methods if THOROUGH else methods[::3]  # whose kernels are loaded in every process
    plain = [entry.make() for entry in methods if not entry.cuts_folds]
    own = [each.set_params(n_jobs=n_jobs) if "n_jobs" in each.get_params() else each for each in plain]
    return [outcome(each, X, y) for each in own]
