"""A weighter with ``weighted`` before k-NN is k-NN in the learned metric, written out."""

import numpy as np
import pytest
from registry import continuous_table, in_turn, over_families, over_registry
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from highrelief import HKNNClassifier, IRelief, MultiSURFStar, SURFStar

POWER = {"manhattan": 1, "euclidean": 2}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
WEIGHTINGS = [True, "manhattan", "euclidean"]


def learned_metric(weighter):
    """Which metric ``weighted`` makes: the one that is named, or for True that of the method, by its tag."""
    return get_tags(weighter).learned_metric if weighter.weighted is True else weighter.weighted


def distance(metric, w):
    """Σ_j w_j|a_j − b_j|, or √Σ_j w_j(a_j − b_j)²; a negative weight counts as 0."""

    def of_pair(a, b):
        total = 0.0
        for j in range(len(w)):
            if metric == "manhattan":
                total += max(w[j], 0.0) * abs(a[j] - b[j])
            else:
                total += max(w[j], 0.0) * (a[j] - b[j]) ** 2
        return total if metric == "manhattan" else np.sqrt(total)

    return of_pair


def scaled(X, fitted, scale):
    """Rows of X, scaled by what was fitted to."""
    if scale is None:
        return X
    if scale == "range":
        return (X - fitted.min(axis=0)) / np.ptp(fitted, axis=0)
    return (X - fitted.mean(axis=0)) / fitted.std(axis=0)


def assert_same_neighbors(weighter, scale="range", n_neighbors=3):
    X, y = continuous_table(60)
    new = continuous_table(25, seed=1)[0]
    metric = learned_metric(weighter)
    model = make_pipeline(weighter, KNeighborsClassifier(n_neighbors, p=POWER[metric])).fit(X, y)
    # A wrapper may keep fewer features than have a positive weight.
    w = np.where(model[0].get_support(), model[0].feature_weights_, 0.0)
    if w.max() <= 0.0:
        # Far samples can speak against every feature of a table with main effects.
        assert isinstance(model[0], SURFStar | MultiSURFStar)
        return
    written_out = KNeighborsClassifier(n_neighbors, algorithm="brute", metric=distance(metric, w))
    written_out.fit(scaled(X, X, scale), y)
    distances, neighbors = model[1].kneighbors(model[0].transform(new))
    expected_distances, expected = written_out.kneighbors(scaled(new, X, scale))
    np.testing.assert_array_equal(neighbors, expected)
    np.testing.assert_allclose(distances, expected_distances, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.predict(new), written_out.predict(scaled(new, X, scale)))


@in_turn(over_registry, weighted=WEIGHTINGS)
def test_neighbors_are_those_in_the_learned_metric(entry, weighted):
    assert_same_neighbors(entry.make(weighted=weighted))


@in_turn(over_families, weighted=WEIGHTINGS, scale=["standard", None])
def test_neighbors_under_another_scaling(entry, weighted, scale):
    assert_same_neighbors(entry.make(weighted=weighted, scale=scale), scale)


@over_registry
def test_the_tag_says_which_metric_is_the_method_s(entry):
    assert get_tags(entry.make()).learned_metric == entry.family.own_metric


def test_the_two_metrics_differ():
    """Otherwise the tests above would not see which one was taken."""
    X, y = continuous_table(60)
    new = continuous_table(25, seed=1)[0]
    neighbors = []
    for metric, p in POWER.items():
        model = make_pipeline(IRelief(sigma=1.0, weighted=metric), KNeighborsClassifier(3, p=p)).fit(X, y)
        neighbors.append(model[1].kneighbors(model[0].transform(new), return_distance=False))
    assert (neighbors[0] != neighbors[1]).any()


@in_turn(over_families, weighted=WEIGHTINGS)
def test_hyperplanes_behind_a_weighter(entry, weighted):
    """HKNN behind a Euclidean weighting is HKNN on the columns times √w; behind a Manhattan one, times w."""
    X, y = continuous_table(60)
    new = continuous_table(25, seed=1)[0]
    model = make_pipeline(entry.make(weighted=weighted), HKNNClassifier(n_neighbors=3)).fit(X, y)
    factors = np.maximum(model[0].feature_weights_, 0.0) ** (1.0 / POWER[learned_metric(model[0])])
    factors[~model[0].get_support()] = 0.0
    by_hand = HKNNClassifier(n_neighbors=3).fit(scaled(X, X, "range") * factors, y)
    np.testing.assert_allclose(
        model[1].hyperplane_distances(model[0].transform(new)),
        by_hand.hyperplane_distances(scaled(new, X, "range") * factors),
        rtol=1e-9,
        atol=1e-12,
    )
