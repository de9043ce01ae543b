"""What is written is what is compiled: kernels run as Python give the numbers of those that Numba made.

Run by `make coverage-kernels`, with ``-p without_jit``; a process of its own asks the compiled ones.
"""

import warnings
from unittest import mock

import numpy as np
import pytest
import scipy.sparse
from processes import run
from registry import ENTRIES, continuous_table, discrete_table, rounded_table
from sklearn.utils import get_tags

from highrelief import (
    FREL,
    IM4E,
    LOGO,
    SURF,
    ErrorControlledSelector,
    FisherScore,
    GFlip,
    HKNNClassifier,
    IRelief,
    LHRelief,
    MultiSURF,
    MultiSURFStar,
    Relief,
    ReliefF,
    RReliefF,
    SURFStar,
)
from highrelief.core import neighbor_search

#: Methods that compute by kernels of their own, and settle or are stopped early.
METHODS = [entry for entry in ENTRIES if entry.family.inside is None and not entry.cuts_folds]
PRECISIONS = (np.float64, np.float32)


def made(entry):
    return entry.make(**({"max_iter": 2} if entry.family.iterative else {}))


def with_gaps(X, share=0.15):
    return np.where(np.random.default_rng(5).uniform(size=X.shape) < share, np.nan, X)


def weights(model, X, y, **more):
    """What a fit finds, and what it makes of the same samples."""
    model.fit(X, y, **more)
    found = [model.feature_weights_]
    if hasattr(model, "margins") and not scipy.sparse.issparse(X) and not more:
        found.append(model.margins(X, y))
    return np.concatenate(found)


def plain():
    """Every method, on tables of numbers of each kind."""
    for entry in METHODS:
        for table in (continuous_table, discrete_table, rounded_table):
            for dtype in PRECISIONS if entry.plain else PRECISIONS[:1]:
                X, y = table(13)
                yield f"{entry} {table.__name__} {dtype.__name__}", made(entry), X.astype(dtype), y


def weighed():
    """Copies, batches, classes of different weights."""
    X, y = continuous_table(15)
    for entry in METHODS:
        if entry.plain and entry.sample_weight:
            yield f"{entry} copies", made(entry), X, y, {"sample_weight": 1.0 + np.arange(15) % 3}
    for method, more in (
        (Relief, {}),
        (ReliefF, {"n_neighbors": 2}),
        (IRelief, {"max_iter": 2}),
        (LOGO, {"max_iter": 2}),
        (IM4E, {"max_iter": 2}),
        (MultiSURF, {}),
        (SURF, {}),
    ):
        for where in ("within", "across"):
            model = method(batch_neighbors=where, **more)
            yield f"{method.__name__} {where} batches", model, X, y, {"batches": np.arange(15) // 2 % 2}
    yield "classes of equal weight", ReliefF(n_neighbors=2, class_weight="balanced"), X, y


def incomplete():
    """Missing values, and categories among numbers."""
    X, y = discrete_table(15)
    X = X + np.array([0.0, 0.0, 0.1, 0.2, 0.3]) * np.arange(15)[:, np.newaxis]
    for model in (
        *(ReliefF(n_neighbors=2, metric=metric) for metric in ("manhattan", "euclidean", "sqeuclidean")),
        *(method() for method in (Relief, SURF, SURFStar, MultiSURF, MultiSURFStar)),
        RReliefF(n_neighbors=2),
        IRelief(max_iter=2),
        IRelief(max_iter=2, memory_budget=1.0),
        IM4E(sigma=0.3, max_iter=2),
        LOGO(max_iter=2),
        FREL(),
    ):
        for dtype in PRECISIONS:
            yield f"{model} with gaps {dtype.__name__}", model, with_gaps(X).astype(dtype), y
        if "categorical_features" in model.get_params():
            chosen = type(model)(**model.get_params() | {"categorical_features": [0, 1]})
            for gaps in (0.0, 0.15):
                yield f"{model} categories {gaps}", chosen, with_gaps(X, gaps), y


def otherwise():
    """Tables without their zeros, wide ones, targets that are numbers, whole numbers."""
    X, y = discrete_table(15)
    for model in (
        ReliefF(n_neighbors=2),
        ReliefF(n_neighbors=2, metric="euclidean"),
        IRelief(max_iter=2),
        FisherScore(),
    ):
        assert get_tags(model).input_tags.sparse
        for dtype in PRECISIONS:
            yield f"{model} sparse {dtype.__name__}", model, scipy.sparse.csr_array(X.astype(dtype)), y
    for dtype in (np.int8, np.uint8, bool):
        yield f"whole numbers {np.dtype(dtype)}", ReliefF(n_neighbors=2), (X > 0).astype(dtype), y
    wide = np.random.default_rng(2).normal(size=(9, 150))
    for model in (
        Relief(),
        ReliefF(n_neighbors=2),
        IRelief(max_iter=1),
        GFlip(shuffle=False),
        LHRelief(max_iter=1),
    ):
        yield f"{model} wide", model, wide, np.arange(9) % 2
    X, _ = continuous_table(15)
    for metric in ("manhattan", "euclidean", "sqeuclidean"):
        yield f"a target {metric}", RReliefF(n_neighbors=3, metric=metric), X, X[:, 0] + X[:, 1]


def fits():
    """Each fit by its name, to be called."""
    for name, model, X, y, *more in (*plain(), *weighed(), *incomplete(), *otherwise()):
        yield name, lambda a=(model, X, y), more=more: weights(*a, **(more[0] if more else {}))


def rows_at_once(way, metric):
    """Neighbours where there is no room for all distances."""
    X, y = continuous_table(40)
    with mock.patch.multiple(neighbor_search, _way=lambda *_: way, BAND=16, _ANCHORS_AT_ONCE=8):
        return weights(ReliefF(n_neighbors=2, metric=metric), X, y)


def chances(statistic):
    """How labels that are dealt out at random compare."""
    X, y = continuous_table(20, n_classes=2)
    selector = ErrorControlledSelector(
        ReliefF(n_neighbors=2), n_permutations=4, statistic=statistic, random_state=0
    )
    return selector.fit(X, y).pvalues_


def to_hyperplanes(alpha):
    X, y = continuous_table(20)
    return HKNNClassifier(n_neighbors=3, alpha=alpha).fit(X, y).hyperplane_distances(X[:5] + 0.1).ravel()


CASES = {
    **dict(fits()),
    **{
        f"{way} {metric}": lambda way=way, metric=metric: rows_at_once(way, metric)
        for way in ("rows", "bands")
        for metric in ("manhattan", "euclidean")
    },
    **{f"chances {each}": lambda each=each: chances(each) for each in ("weights", "margins")},
    **{f"hyperplanes {alpha}": lambda alpha=alpha: to_hyperplanes(alpha) for alpha in (0.0, 0.1)},
}


def numbers(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two steps are too few, and whole numbers go round as they should
        return np.asarray(CASES[name](), dtype=float)


def found():
    """What every case gives, by its name."""
    return {name: numbers(name).tolist() for name in CASES}


@pytest.fixture(scope="module")
def compiled():
    code = "import json, kernels_as_python; print(json.dumps(kernels_as_python.found()))"
    return run(code, NUMBA_DISABLE_JIT=0, HIGHRELIEF_VECTORS="auto")


@pytest.mark.parametrize("name", CASES)
def test_the_same_numbers(name, compiled):
    ours = numbers(name)
    # Compiled sums run in another order: a few hundred roundings.
    tolerance = 1e-4 if name.endswith("float32") else 1e-9
    np.testing.assert_allclose(ours, compiled[name], rtol=0.0, atol=tolerance * np.abs(ours).max())
