"""What kernels are asked as Python functions and as compiled ones: fits on small tables, and a few kernels.

Small tables alone would leave out what is done for large ones. Where such a way is chosen outside the
kernels, its bound is lowered here.
"""

import warnings
from functools import partial
from itertools import product

import numpy as np
import scipy.sparse
from registry import ENTRIES, continuous_table, discrete_table, rounded_table
from sklearn import config_context
from sklearn.utils import get_tags
from small_tables import SEARCH_ORDERS

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
    PairScan,
    Relief,
    ReliefF,
    RReliefF,
    SURFStar,
)
from highrelief._engine.limits import limits
from highrelief._kernels import candidates, distances, sorting

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
    """What a fit finds under other limits."""
    with limits(**bounds):
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
    for n_neighbors in (3, 4):
        model = ReliefF(n_neighbors=n_neighbors, metric="euclidean")
        yield f"{model} copies", model, X, y, {"sample_weight": 1.0 + np.arange(15) % 2}
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
        PairScan(n_bins=(2, 3)),
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
    levels[:3] = [[0], [1], [2]]
    levels[:, 64:] = levels[:, 64:] > 0
    alone = np.column_stack([np.arange(12) % 2 + 0.1 * np.sin(np.arange(12)), np.cos(7.0 * np.arange(12))])
    yield "one member", GFlip(shuffle=False), alone, np.arange(12) % 2
    yield "planes", ReliefF(n_neighbors=2), levels.astype(float), np.arange(9) % 2
    y = np.arange(60) % 2
    genotypes = np.random.default_rng(3).binomial(2, 0.5, size=(60, 19))
    yield "pairs of genotypes", PairScan(n_pairs=5), genotypes, y
    yield "no pairs", PairScan(n_pairs=0, n_jobs=2), np.tile(genotypes, (1, 4))[:, :70], y
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
    """Neighbors where there is no room for all distances."""
    X, y = continuous_table(40)
    for way in ("rows", "bands"):
        bounds = SEARCH_ORDERS[way] | {"anchors_at_once": 8}
        for name, model in {
            "manhattan": ReliefF(n_neighbors=2),
            "euclidean": ReliefF(n_neighbors=2, metric="euclidean"),
            "ranks": ReliefF(n_neighbors=2, neighbor_weights="rank"),
            "pooled": Relief(),
        }.items():
            yield f"{way} {name}", partial(with_bounds, bounds, model, X, y)
            if name in METRICS:
                table = scipy.sparse.csr_array(np.rint(X / X.std(axis=0)))
                yield f"{way} {name} sparse", partial(with_bounds, bounds, model, table, y)
        wide = np.random.default_rng(4).normal(size=(40, 70)) * np.where(np.arange(70), 1.0, 1e9)
        yield f"{way} in floats", partial(with_bounds, bounds, Relief(scale=None), wide, y)
    rng = np.random.default_rng(4)
    tables = {"many": rng.normal(size=(150, 2)), "tied": (rng.uniform(size=(150, 1)) < 0.9).astype(float)}
    bands = {"band": 64}
    for name, X in tables.items():
        for copies in (1.0, 1.0 + np.arange(150) % 2):
            more = {"sample_weight": copies * np.ones(150)}
            model = ReliefF(n_neighbors=2)
            yield f"bands {name} {np.max(copies)}", partial(with_bounds, bands, model, *uneven(X), **more)
        few = ReliefF(n_neighbors=3, n_anchors=12, random_state=0)
        yield f"rows {name}", partial(fitted, few, *uneven(X))
    pieces = {"piece_bytes": 2.0**10}
    wide = rng.normal(size=(9, 100))
    yield "pieces", partial(with_bounds, pieces, ReliefF(n_neighbors=2), wide, np.arange(9) % 2)
    most = ReliefF(n_neighbors=165, n_anchors=2, random_state=0)
    yield "rows most", partial(fitted, most, *uneven(rng.normal(size=(190, 1))))


def tiles():
    """More rows than a tile has."""
    X, y = continuous_table(70)
    X = X[:, :2]
    for model in (IRelief(sigma=1.0, max_iter=1), IM4E(sigma=1.0, max_iter=1), MultiSURF()):
        for gaps in (0.0, 0.1):
            yield f"{model} tiles {gaps}", partial(fitted, model, with_gaps(X, gaps), y)
    few = {"width_anchors": 8}
    yield "tiles of few anchors", partial(with_bounds, few, IRelief(max_iter=1), X, y)
    yield "tiles of whole numbers", partial(fitted, Relief(), X, y)
    wide = np.random.default_rng(4).normal(size=(70, 70)) * np.where(np.arange(70), 1.0, 1e9)
    yield "tiles in floats", partial(fitted, Relief(scale=None), wide, y)


def blocks():
    """Tables that are not copied, distances that are not kept, coefficients that are."""
    X, y = np.random.default_rng(2).normal(size=(9, 100)), np.arange(9) % 2
    uncopied = {"copy_bytes": 0}
    for model in (IRelief(sigma=1.0, max_iter=2), IM4E(sigma=1.0, max_iter=2), MultiSURF()):
        for gaps in (0.0, 0.2):
            yield f"{model} blocks {gaps}", partial(with_bounds, uncopied, model, with_gaps(X, gaps), y)
    X, y = continuous_table(15)
    kept = {"screened_terms": 0, "small_step": np.inf}
    for gaps in (0.0, 0.15):
        model = IRelief(sigma=1.0, max_iter=3)
        yield f"coefficients {gaps}", partial(with_bounds, kept, model, with_gaps(X, gaps), y)
    online = OnlineIRelief(sigma=1.0, shuffle=False)
    columns = {"min_column_references": 1}
    yield "references in columns", partial(with_bounds, columns, online, X[:, 1:], y)
    wide = np.random.default_rng(2).normal(size=(10, 4100))
    yield "references at once", partial(fitted, online, wide, np.arange(10) % 2)
    yield "classes to come", partial(streamed, X, y)
    yield "distances again", partial(with_memory, 1e-6, MultiSURF(), X, y)


def with_memory(megabytes, *fit):
    with config_context(working_memory=megabytes):
        return weights(*fit)


def streamed(X, y):
    return OnlineIRelief(sigma=1.0).partial_fit(X, y, classes=np.arange(4)).feature_weights_


def orders():
    """Values that are put in order where others are missing, by the two ways there are."""
    X, y = continuous_table(40)
    crowded = np.linspace(1e-9, 0.0, 40)[:, np.newaxis] * np.ones(3)
    crowded[0] = 1.0
    for way, bounds in {
        "network": {},
        "buckets": {"max_network_samples": 0, "excess_values": 80},
    }.items():
        for name, table in {"spread": X, "crowded": crowded, "tiny": X * [1e-309, 1, 1, 1, 1, 1]}.items():
            model = ReliefF(n_neighbors=2, scale=None)
            yield f"{way} {name}", partial(with_bounds, bounds, model, with_gaps(table), y)


def chances():
    """How labels that are dealt out at random compare."""
    for statistic in ("weights", "margins"):
        yield f"chances of {statistic}", partial(pvalues, statistic)
    for model, table in product(
        (
            *(ReliefF(n_neighbors=3, metric=metric) for metric in METRICS),
            ReliefF(n_neighbors=3, neighbor_weights="rank"),
            Relief(),
        ),
        (continuous_table, discrete_table),
    ):
        yield f"{model} labels of {table.__name__}", partial(relabeled, model, table)


def pvalues(statistic):
    X, y = continuous_table(20, n_classes=2)
    model = ReliefF(n_neighbors=2)
    selector = ErrorControlledSelector(model, n_permutations=4, statistic=statistic, random_state=0)
    return selector.fit(X, y).pvalues_


def relabeled(model, table):
    """Margins by permuted labels, some classes having fewer than k and one sample."""
    X, y = table(20)
    y[:] = np.where(np.arange(20) < 3, [[2] + [1] * 19], 0)
    labels = np.stack([np.random.default_rng(seed).permutation(y) for seed in range(20)])
    rows = model._choose_engine(model._check_fit(X, y))
    return rows.relabeled(model._neighborhood()).mean_margins(labels).ravel()


# What classifies


def to_hyperplanes(alpha, table=continuous_table, n_neighbors=3, dtype=np.float64):
    X, y = table(20)
    model = HKNNClassifier(n_neighbors=n_neighbors, alpha=alpha).fit(X.astype(dtype), y)
    return model.hyperplane_distances(np.concatenate([X[:3], X[:5] + 0.1]).astype(dtype)).ravel()


def to_equally_far():
    """Neighbors that are all as near, some of them copies of others, and some a little farther."""
    near = np.concatenate([2.0 * np.eye(6)[:3], (2.0 + 3e-12) * np.eye(6)[3:]])
    X = np.concatenate([np.eye(6), -np.eye(6), np.eye(6), near])
    model = HKNNClassifier(n_neighbors=1, scale=None).fit(X, np.arange(24) // 18)
    return model.hyperplane_distances(np.full((1, 6), 0.0)).ravel()


def to_classes(gaps, new_gaps):
    X, y = continuous_table(20)
    model = IM4E(sigma=1.0, max_iter=1).fit(with_gaps(X, gaps), y)
    return model.expected_distances(with_gaps(X[:5] + 0.1, new_gaps)).ravel()


# Kernels by themselves


def sorted_columns(n):
    keys = np.random.default_rng(n).integers(0, 2**32, size=(n, sorting.LANES), dtype=np.uint32)
    expected = np.sort(keys, axis=0)
    sorting.sort_columns(keys)
    np.testing.assert_array_equal(keys, expected)
    return keys[:, 0]


def corners():
    """Of tiles of which there would be more than ever fit into a memory."""
    return np.array([distances.tile_corner(j * (j + 1) // 2 - 1) for j in (1, 2, 9, 2**28)]).ravel()


def keys_that_hold():
    """Up to which there are so many of 100 distances, larger than those of small tables, from any guess."""
    D = np.full((1, 128), candidates.MASKED, np.uint32)
    D[0, :100] = np.linspace(2**31, 2**32 - 1000, 100)
    found = []
    for guess in (0, 2**31 + 2**30, 2**32 - 2):
        found.append(candidates._key_with_count(D, 0, 0, 60, 60, 100, 10, 12, guess))
        assert 10 <= (D[0, :100] <= found[-1]).sum() <= 12
    return found


CASES = {
    **dict(fits()),
    **dict(searches()),
    **dict(tiles()),
    **dict(blocks()),
    **dict(orders()),
    **dict(chances()),
    **{f"hyperplanes {alpha}": partial(to_hyperplanes, alpha) for alpha in (0.0, 0.1)},
    "hyperplanes of ties": partial(to_hyperplanes, 0.1, discrete_table),
    "hyperplanes float32": partial(to_hyperplanes, 0.1, dtype=np.float32),
    "hyperplanes of equally far": to_equally_far,
    "hyperplanes of all": partial(to_hyperplanes, 0.0, n_neighbors=9),
    **{f"classes {gaps}": partial(to_classes, *gaps) for gaps in product((0.0, 0.15), (0.0, 0.3))},
    **{f"columns of {n}": partial(sorted_columns, n) for n in (24, 88, 104, 264)},
    "corners": corners,
    "keys": keys_that_hold,
}


def numbers(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two steps are too few, and whole numbers go round as they should
        return np.asarray(CASES[name](), dtype=float)


def found():
    """What every case gives, by its name."""
    return {name: numbers(name).tolist() for name in CASES}
