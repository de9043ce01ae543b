"""ReliefF of tables that have everything at once: gaps, categories, batches, copies, weights of classes."""

import numpy as np
import pandas as pd
import pytest
from contract import same_bits, weights_of
from oracles import average_rows, class_factors, copies_seen_from, neighbor_shares, reach_of
from oracles.missing_1994 import expected_distances, scale_observed
from registry import in_turn
from sklearn.ensemble import RandomForestClassifier

from highrelief import CrossValidatedSelector, Relief, ReliefF, VarianceReduction


def mixed_table(seed, n_samples=28):
    """Five features, the last two categories, with gaps; classes, copies and batches."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n_samples, p=[0.5, 0.35, 0.15])
    batches = rng.choice(3, n_samples, p=[0.5, 0.3, 0.2])
    X = rng.normal(size=(n_samples, 5)) if seed % 2 else rng.integers(0, 4, (n_samples, 5)).astype(float)
    X *= np.array([1.0, 9.0, 0.2])[batches, np.newaxis]
    X[:, 3:] = rng.integers(0, [2, 4], (n_samples, 2))
    X[rng.random(X.shape) < 0.15] = np.nan
    X[batches == 2, 1] = np.nan
    X[y == 0, 4] = np.nan
    return X, y, rng.integers(0, 4, n_samples), batches


def expected(X, y, k, metric, s, class_weight, batches, where, categorical, pooled=False):
    """ReliefF, or pooled and with k = 1 Relief, from the differences that are to be expected."""
    kept = s > 0
    X, y, s, batches = X[kept], y[kept], s[kept].astype(float), batches[kept]
    numeric = [j for j in range(X.shape[1]) if j not in categorical]
    for batch in np.unique(batches):
        rows = np.ix_(batches == batch, numeric)
        X[rows] = scale_observed(X[rows])
    D, E = np.zeros((len(X), len(X))), np.zeros((len(X), *X.shape))
    # What is missing may be anything that was seen in the own batch, or across in any.
    for part in np.unique(batches) if where == "within" else [None]:
        rows = np.flatnonzero(batches == part) if where == "within" else np.arange(len(X))
        D[np.ix_(rows, rows)], E[np.ix_(rows, rows)] = expected_distances(
            X[rows], metric, s[rows], categorical, y[rows]
        )
    reach, factors = reach_of(batches, where), class_factors(y, class_weight, s)
    z = np.zeros(X.shape)
    for n in range(len(X)):
        copies = copies_seen_from(n, s, reach)
        hits, misses = np.where(y == y[n], copies, 0.0), np.where(y != y[n], copies, 0.0)
        if hits.sum() == 0 or misses.sum() == 0:
            continue
        amounts = factors * misses
        groups = [y != y[n]] if pooled else [y == c for c in np.unique(y[misses > 0])]
        for group in groups:
            share = amounts[group].sum() / amounts.sum()
            z[n] += share * (neighbor_shares(D[n], np.where(group, misses, 0.0), k) @ E[n])
        z[n] -= neighbor_shares(D[n], hits, k) @ E[n]
    return average_rows(z, factors * s, None)


@in_turn(
    pytest.mark.parametrize("seed", range(4)),
    where=["within", "across"],
    class_weight=[None, "balanced", {0: 1.0, 1: 3.0, 2: 0.5}],
    metric=["manhattan", "euclidean", "sqeuclidean"],
)
def test_everything_at_once(seed, where, class_weight, metric):
    X, y, s, batches = mixed_table(seed)
    weighter = ReliefF(
        n_neighbors=3,
        metric=metric,
        class_weight=class_weight,
        batch_neighbors=where,
        categorical_features=[3, 4],
    )
    found = weights_of(weighter, X, y, sample_weight=s, batches=batches)
    wanted = expected(X.copy(), y, 3, metric, s, class_weight, batches, where, (3, 4))
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
    weighter.set_params(n_jobs=2)
    assert same_bits(weights_of(weighter, X, y, sample_weight=s, batches=batches), found)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("where", ["within", "across"])
def test_relief_with_gaps_in_batches(seed, where):
    X, y, s, batches = mixed_table(seed)
    weighter = Relief(class_weight="balanced", batch_neighbors=where)
    found = weights_of(weighter, X, y, sample_weight=s, batches=batches)
    wanted = expected(X.copy(), y, 1, "manhattan", s, "balanced", batches, where, (), pooled=True)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


def test_variance_reduction_refuses_categories():
    """Its margin vectors would take them for numbers."""
    X, y, _, _ = mixed_table(0)
    with pytest.raises(ValueError, match="Margin vectors are of numbers"):
        VarianceReduction(ReliefF(categorical_features=[3, 4])).fit(np.nan_to_num(X), y)


def test_nearest_neighbors_do_not_judge_categories():
    """They would take them for numbers; a forest does as it likes."""
    X, y, _, _ = mixed_table(0)
    X, inside = np.nan_to_num(X), ReliefF(categorical_features=[3, 4])
    with pytest.raises(ValueError, match="scores by k-NN, which does not support categorical_features"):
        CrossValidatedSelector(inside, cv=2).fit(X, y)
    forest = RandomForestClassifier(5, random_state=0)
    fitted = CrossValidatedSelector(inside, classifier=forest, cv=2).fit(X, y)
    np.testing.assert_array_equal(fitted.feature_weights_, weights_of(inside, X, y))


@pytest.mark.parametrize("categorical", [None, [3]], ids=["numbers", "mixed"])
@pytest.mark.filterwarnings("error")
def test_missing_values_of_r(categorical):
    """R's NA is a NaN with its quiet bit unset, which NumPy may warn of."""
    X, y, _, _ = mixed_table(1)
    X = X[:, :4]
    wanted = weights_of(ReliefF(categorical_features=categorical), X, y)
    X[np.isnan(X)] = np.array([0x7FF00000000007A2], dtype=np.uint64).view(np.float64)
    assert same_bits(weights_of(ReliefF(categorical_features=categorical), X, y), wanted)


@pytest.mark.parametrize("kind", ["string", "category", "object"])
def test_missing_batches_are_named(kind):
    X, y, _, batches = mixed_table(1)
    names = pd.Series(batches).map({0: "a", 1: "b", 2: None}).astype(kind)
    with pytest.raises(
        ValueError, match=f"batches has a missing value, at sample {np.argmax(batches == 2)};"
    ):
        ReliefF().fit(X, y, batches=names)
