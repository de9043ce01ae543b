"""Missing values and categories where neighbors are looked for within batches, or across."""

import numpy as np
import pytest
from sklearn.base import clone

from highrelief import FREL, IM4E, LOGO, IRelief, Relief, ReliefF

METRICS = ["manhattan", "euclidean", "sqeuclidean"]
CATEGORICAL = [2, 3]


def with_gaps(n_samples=60, gaps=0.2, seed=0):
    """Two numeric columns, two of categories, classes and three batches, one much brighter than the others.

    The last numeric column has no value in one batch, the last of the categories none in one class of it.
    """
    random = np.random.default_rng(seed)
    y, batches = random.integers(0, 3, n_samples), random.integers(0, 3, n_samples)
    X = np.round(random.normal(size=(n_samples, 4)) + y[:, np.newaxis], 1)
    X[:, :2] *= 1.0 + 8.0 * (batches == 2)[:, np.newaxis]
    X[:, CATEGORICAL] = random.integers(0, 4, (n_samples, 2))
    X[random.random(X.shape) < gaps] = np.nan
    X[batches == 1, 1] = np.nan
    X[(batches == 1) & (y == 0), 3] = np.nan
    return X, y, batches


@pytest.mark.parametrize("scale", ["range", "standard", None])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("counted", [False, True])
def test_within_is_the_mean_of_the_batches_alone(scale, metric, counted):
    X, y, batches = with_gaps()
    s = np.random.default_rng(1).choice([0.5, 1.0, 3.0], y.size) if counted else np.ones(y.size)
    model = ReliefF(n_neighbors=4, scale=scale, metric=metric, categorical_features=CATEGORICAL)
    together = model.fit(X, y, sample_weight=s, batches=batches).feature_weights_
    alone, sizes = [], []
    for batch in range(3):
        own = batches == batch
        alone.append(model.fit(X[own], y[own], sample_weight=s[own]).feature_weights_)
        sizes.append(s[own].sum())
    np.testing.assert_allclose(together, np.average(alone, axis=0, weights=sizes), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        Relief(scale=None),
        ReliefF(scale=None, n_neighbors=3),
        IRelief(scale=None, sigma=1.0, max_iter=2),
        LOGO(scale=None, sigma=1.0, max_iter=2),
        IM4E(scale=None, sigma=1.0, max_iter=2),
        FREL(scale=None),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_margins_within_are_those_of_the_batches_alone(model):
    X, y, batches = with_gaps()
    if isinstance(model, ReliefF):
        # Its priors are those in reach.
        y = np.minimum(y, 1)
    model.fit(X, y)
    together = model.margins(X, y, batches=batches)
    for batch in range(3):
        own = batches == batch
        np.testing.assert_allclose(together[own], model.margins(X[own], y[own]), rtol=1e-9, atol=1e-12)
    assert np.ptp(together) > 0.0


@pytest.mark.parametrize("neighbors", ["within", "across"])
@pytest.mark.parametrize("kind", ["number", "category"])
def test_a_mark_of_the_batch_with_gaps_weighs_nothing(neighbors, kind):
    # Class 0 is mostly in the first batch, so that P(mark | class) tells the classes apart.
    random = np.random.default_rng(0)
    batches = np.arange(120) % 2
    y = np.where(random.random(120) < 0.8, batches, 1 - batches)
    X = np.stack([random.normal(size=120), batches.astype(float)], axis=1)
    X[random.random(120) < 0.3, 1] = np.nan
    chosen = [1] if kind == "category" else None
    model = ReliefF(categorical_features=chosen, batch_neighbors=neighbors).fit(X, y, batches=batches)
    assert model.feature_weights_[1] == 0.0


@pytest.mark.parametrize("neighbors", ["within", "across"])
def test_bytes_of_categories_in_batches_are_as_precise_as_floats(neighbors):
    X, y, batches = with_gaps(gaps=0.1)
    X = X[:, CATEGORICAL]
    options = {"metric": "sqeuclidean", "batch_neighbors": neighbors, "scale": None, "n_neighbors": 4}
    model = ReliefF(categorical_features=[0, 1], **options).fit(X, y, batches=batches)
    beside = np.column_stack([X, np.zeros(y.size)])
    floats = ReliefF(categorical_features=[0, 1], **options).fit(beside, y, batches=batches)
    np.testing.assert_allclose(model.feature_weights_, floats.feature_weights_[:2], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("neighbors", ["within", "across"])
@pytest.mark.parametrize(
    "model",
    [
        ReliefF(n_neighbors=3),
        IRelief(sigma=1.0, max_iter=2),
        IRelief(max_iter=2),
        LOGO(sigma=1.0, max_iter=2),
        IM4E(sigma=1.0, max_iter=2),
        FREL(solver="exact"),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_weight_of_a_sample_is_a_number_of_copies_in_its_batch(model, neighbors):
    X, y, batches = with_gaps(40)
    s = 1 + np.arange(y.size) % 3
    model = clone(model).set_params(batch_neighbors=neighbors)
    weighted = model.fit(X, y, sample_weight=s, batches=batches).feature_weights_
    rows = np.repeat(np.arange(y.size), s)
    copied = model.fit(X[rows], y[rows], batches=batches[rows]).feature_weights_
    np.testing.assert_allclose(weighted, copied, rtol=1e-6, atol=1e-9)
    assert weighted.any()
