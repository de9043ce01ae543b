"""What kernels are asked as Python functions and as compiled ones: fits on small tables, and a few kernels.

Small tables alone would leave out what is done for large ones. Where such a way is chosen outside the kernels,
its bound is lowered here.
"""

import warnings
from contextlib import ExitStack
from functools import partial
from itertools import product
from unittest import mock

import numpy as np
import scipy.sparse
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
    Lmba,
    MultiSURF,
    MultiSURFStar,
    OnlineIRelief,
    Relief,
    ReliefF,
    RReliefF,
    SURFStar,
)
from highrelief.kernels import distances, networks

#: Methods that compute by kernels of their own, and settle or are stopped early.
METHODS = [entry for entry in ENTRIES if entry.family.inside is None and not entry.cuts_folds]
PRECISIONS = (np.float64, np.float32)
METRICS = ("manhattan", "euclidean", "sqeuclidean")


def made(entry):
    return entry.make(**({"max_iter": 2} if entry.family.iterative else {}))


def with_gaps(X, share=0.15):
    return np.where(np.random.default_rng(5).uniform(size=X.shape) < share, np.nan, X)


def weights(model, X, y, **more):
    """What a fit finds, and what it makes of the same samples."""
    model.fit(X, y, **more)
    found = [model.feature_weights_]
    if hasattr(model, "margins") and not more:
        found.append(model.margins(X, y))
    return np.concatenate(found)


def fitted(model, X, y):
    return model.fit(X, y).feature_weights_


def with_bounds(bounds, *fit, **more):
    """What a fit finds where bounds, by their names in the package, are others."""
    with ExitStack() as stack:
        for name, value in bounds.items():
            stack.enter_context(mock.patch(f"highrelief.{name}", value))
        return weights(*fit, **more)


# Fits


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
    X, y = discrete_table(15)
    parts = 0.4 + 0.3 * (np.arange(15) % 4)
    for model in (
        GFlip(shuffle=False),
        GFlip(shuffle=False, utility="sigmoid"),
        ReliefF(n_neighbors=3),
        ReliefF(n_neighbors=3, neighbor_weights="rank"),
    ):
        yield f"{model} parts of copies", model, X, y, {"sample_weight": parts}


def incomplete():
    """Missing values, and categories among numbers."""
    X, y = discrete_table(15)
    X = X + np.array([0.0, 0.0, 0.1, 0.2, 0.3]) * np.arange(15)[:, np.newaxis]
    copies = {"sample_weight": 1.0 + np.arange(15) % 3}
    for model in (
        *(ReliefF(n_neighbors=2, metric=metric) for metric in METRICS),
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
    for model in (ReliefF(n_neighbors=2), MultiSURF(), IRelief(max_iter=2)):
        yield f"{model} copies with gaps", model, with_gaps(X), y, copies
    wide = np.random.default_rng(2).normal(size=(9, 40))
    yield "side by side with gaps", ReliefF(n_neighbors=2), with_gaps(wide, 0.6), np.arange(9) % 2


def otherwise():
    """Tables without their zeros, wide ones, targets that are numbers, whole numbers."""
    X, y = discrete_table(15)
    for model in (
        ReliefF(n_neighbors=2),
        ReliefF(n_neighbors=2, metric="euclidean"),
        ReliefF(n_neighbors=2, metric="sqeuclidean", n_anchors=4, max_error=0.1, random_state=0),
        IRelief(max_iter=2),
        FisherScore(),
    ):
        assert get_tags(model).input_tags.sparse
        for dtype in PRECISIONS:
            table = scipy.sparse.csr_array((X - 1.0).astype(dtype))
            yield f"{model} sparse {dtype.__name__}", model, table, y
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
    levels = np.random.default_rng(2).integers(0, 3, size=(9, 134))
    levels[:, 64:] = levels[:, 64:] > 0
    yield "planes", ReliefF(n_neighbors=2), levels.astype(float), np.arange(9) % 2
    X, _ = continuous_table(15)
    for metric in METRICS:
        yield f"a target {metric}", RReliefF(n_neighbors=3, metric=metric), X, X[:, 0] + X[:, 1]
    X, y = continuous_table(12)
    y[:] = [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 2]
    X[:, 5] = 1.0
    for model in (
        FREL(loss="square-exp"),
        FREL(penalty="l1"),
        FREL(loss="hinge", alpha=0.0, n_epochs=3),
        Lmba(n_neighbors=2),
        OnlineIRelief(sigma=1.0, shuffle=False),
        OnlineIRelief(sigma=1.0, margin="prior", shuffle=False),
    ):
        yield f"{model} alone in a class", model, X, y


def fits():
    """Each fit by its name, to be called."""
    for name, model, X, y, *more in (*plain(), *weighed(), *incomplete(), *otherwise()):
        yield name, partial(weights, model, X, y, **(more[0] if more else {}))


# What is done for large tables


def uneven(X):
    """Nearly all of one class, some of another, and one by itself."""
    y = np.zeros(len(X), dtype=int)
    y[:8], y[8] = 1, 2
    return X, y


def searches():
    """Neighbours where there is no room for all distances."""
    X, y = continuous_table(40)
    for way in ("rows", "bands"):
        bounds = {
            "core.neighbor_search._way": lambda *_, way=way: way,
            "core.neighbor_search.BAND": 16,
            "core.neighbor_search._ANCHORS_AT_ONCE": 8,
        }
        for name, model in {
            "manhattan": ReliefF(n_neighbors=2),
            "euclidean": ReliefF(n_neighbors=2, metric="euclidean"),
            "ranks": ReliefF(n_neighbors=2, neighbor_weights="rank"),
            "pooled": Relief(),
        }.items():
            yield f"{way} {name}", partial(with_bounds, bounds, model, X, y)
        ranges = X * [1e9, 1.0, 1.0, 1.0, 1.0, 1.0]
        yield f"{way} in floats", partial(with_bounds, bounds, Relief(scale=None), ranges, y)
    rng = np.random.default_rng(4)
    tables = {"many": rng.normal(size=(150, 2)), "tied": rng.integers(0, 2, size=(150, 2)).astype(float)}
    bands = {"core.neighbor_search.BAND": 64}
    for name, X in tables.items():
        for copies in (1.0, 1.0 + np.arange(150) % 2):
            more = {"sample_weight": copies * np.ones(150)}
            model = ReliefF(n_neighbors=2)
            yield f"bands {name} {np.max(copies)}", partial(with_bounds, bands, model, *uneven(X), **more)
        few = ReliefF(n_neighbors=3, n_anchors=6, random_state=0)
        yield f"rows {name}", partial(fitted, few, *uneven(X))
    most = ReliefF(n_neighbors=165, n_anchors=2, random_state=0)
    yield "rows most", partial(fitted, most, *uneven(rng.normal(size=(190, 1))))


def tiles():
    """More rows than a tile has."""
    X, y = continuous_table(70)
    X = X[:, :2]
    for model in (IRelief(sigma=1.0, max_iter=1), IM4E(sigma=1.0, max_iter=1), MultiSURF()):
        for gaps in (0.0, 0.1):
            yield f"{model} tiles {gaps}", partial(fitted, model, with_gaps(X, gaps), y)
    yield "tiles in floats", partial(fitted, Relief(scale=None), X * [1e9, 1.0], y)


def blocks():
    """Tables that are not copied, distances that are not kept, coefficients that are."""
    X, y = np.random.default_rng(2).normal(size=(9, 100)), np.arange(9) % 2
    uncopied = {"core.weighted_rows.SMALL": 0}
    for model in (IRelief(sigma=1.0, max_iter=2), IM4E(sigma=1.0, max_iter=2), MultiSURF()):
        for gaps in (0.0, 0.2):
            yield f"{model} blocks {gaps}", partial(with_bounds, uncopied, model, with_gaps(X, gaps), y)
    X, y = continuous_table(15)
    kept = {"core.soft_rows.FEWEST_TERMS": 0, "core.soft_rows.SMALL_STEP": np.inf}
    for gaps in (0.0, 0.15):
        model = IRelief(sigma=1.0, max_iter=3)
        yield f"coefficients {gaps}", partial(with_bounds, kept, model, with_gaps(X, gaps), y)
    yield "few anchors", partial(with_bounds, {"core.rows.WIDTH_ANCHORS": 8}, IRelief(max_iter=1), X, y)
    online = OnlineIRelief(sigma=1.0, shuffle=False)
    yield "references in columns", partial(with_bounds, {"irelief_online.FEWEST_COLUMNS": 1}, online, X, y)
    wide = np.random.default_rng(2).normal(size=(14, 5000))
    yield "references at once", partial(fitted, online, wide, np.arange(14) % 2)
    buckets = {"core.missing.MOST_IN_NETWORK": 0}
    for name, table in (("spread", X), ("crowded", np.exp(X[:, [0, 3]] * 9.0))):
        yield f"in order {name}", partial(with_bounds, buckets, ReliefF(), with_gaps(table), y)


def chances():
    """How labels that are dealt out at random compare."""
    for model, table in (
        (ReliefF(n_neighbors=2), continuous_table),
        (ReliefF(n_neighbors=2, metric="euclidean"), continuous_table),
        (ReliefF(n_neighbors=2, metric="sqeuclidean"), discrete_table),
        (ReliefF(n_neighbors=3, neighbor_weights="rank"), discrete_table),
        (ReliefF(n_neighbors=3), discrete_table),
        (Relief(), continuous_table),
        (ReliefF(n_neighbors=9), continuous_table),
    ):
        yield f"{model} chances of {table.__name__}", partial(pvalues, model, table, n_permutations=20)
    few = {"n_permutations": 4, "statistic": "margins"}
    yield "chances of margins", partial(pvalues, ReliefF(n_neighbors=2), continuous_table, **few)


def pvalues(model, table, **more):
    return ErrorControlledSelector(model, random_state=0, **more).fit(*table(20, n_classes=2)).pvalues_


# What classifies


def to_hyperplanes(alpha, table=continuous_table, n_neighbors=3):
    X, y = table(20)
    model = HKNNClassifier(n_neighbors=n_neighbors, alpha=alpha).fit(X, y)
    return model.hyperplane_distances(np.concatenate([X[:3], X[:5] + 0.1])).ravel()


def to_classes(gaps, new_gaps):
    X, y = continuous_table(20)
    model = IM4E(sigma=1.0, max_iter=1).fit(with_gaps(X, gaps), y)
    return model.expected_distances(with_gaps(X[:5] + 0.1, new_gaps)).ravel()


# Kernels by themselves


def sorted_columns(n):
    keys = np.random.default_rng(n).integers(0, 2**32, size=(n, networks.LANES), dtype=np.uint32)
    expected = np.sort(keys, axis=0)
    networks.sort_columns(keys)
    np.testing.assert_array_equal(keys, expected)
    return keys[:, 0]


def corners():
    """Of tiles of which there would be more than ever fit into a memory."""
    return np.array([distances.tile_corner(j * (j + 1) // 2 - 1) for j in (1, 2, 9, 2**28)]).ravel()


CASES = {
    **dict(fits()),
    **dict(searches()),
    **dict(tiles()),
    **dict(blocks()),
    **dict(chances()),
    **{f"hyperplanes {alpha}": partial(to_hyperplanes, alpha) for alpha in (0.0, 0.1)},
    "hyperplanes of ties": partial(to_hyperplanes, 0.1, discrete_table),
    "hyperplanes of all": partial(to_hyperplanes, 0.0, n_neighbors=9),
    **{f"classes {gaps}": partial(to_classes, *gaps) for gaps in product((0.0, 0.15), (0.0, 0.3))},
    **{f"columns of {n}": partial(sorted_columns, n) for n in (24, 72, 136, 264)},
    "corners": corners,
}


def numbers(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two steps are too few, and whole numbers go round as they should
        return np.asarray(CASES[name](), dtype=float)


def found():
    """What every case gives, by its name."""
    return {name: numbers(name).tolist() for name in CASES}
