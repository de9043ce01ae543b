"""Neighbors only within batches, or only across them."""

import warnings

import numpy as np
import pytest
from contract import assert_same, same_bits, weights_of
from oracles import (
    fista,
    frel_objective,
    frel_sgd,
    hits_and_misses,
    im4e,
    irelief,
    irelief_auto,
    irelief_parameter_free,
    logo,
    margin_loss_slopes,
    reach_of,
    relief,
    relief_rows,
    relieff,
    scale_by_batch,
    soft_margin_rows,
)
from registry import continuous_table, discrete_table, pairwise
from sklearn.base import clone

from highrelief import FREL, IM4E, LOGO, SURF, IRelief, MultiSURF, MultiSURFStar, Relief, ReliefF, SURFStar
from highrelief._engine.neighbors import Neighborhood

# Iterations that do not settle are not what is looked at here.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

neighbors = pytest.mark.parametrize("neighbors", ["within", "across"])
tables = pytest.mark.parametrize("table", [continuous_table, discrete_table])
counted = pytest.mark.parametrize("counted", [False, True], ids=["", "counted"])
WEIGHTERS = [
    Relief(),
    ReliefF(n_neighbors=3),
    SURF(),
    SURFStar(),
    MultiSURF(),
    MultiSURFStar(),
    IRelief(sigma=1.0),
    IRelief(margin="prior"),
    LOGO(sigma=2.0, alpha=0.5),
    IM4E(sigma=0.3),
    FREL(alpha=0.01),
    FREL(solver="exact", alpha=0.01),
]
over_weighters = pytest.mark.parametrize("weighter", WEIGHTERS, ids=repr)


def batched(table=continuous_table, n_samples=45, n_classes=3):
    """A table in three batches of different size, with a scale of its own in each."""
    X, y = table(n_samples, n_classes=n_classes)
    batches = np.random.default_rng(7).choice(3, n_samples, p=[0.5, 0.3, 0.2])
    return X * np.array([1.0, 9.0, 0.2])[batches, np.newaxis], y, batches


def copies_of(X, counted):
    return np.random.default_rng(3).integers(0, 4, len(X)) if counted else None


def seen(X, y, batches, neighbors, s=None):
    """What the oracles are told: scaled rows, classes, copies and who is in reach, of samples that count."""
    kept = np.ones(len(X), dtype=bool) if s is None else s > 0
    X, y, batches = X[kept], y[kept], batches[kept]
    # Copies do not change a range.
    return scale_by_batch(X, batches), y, None if s is None else s[kept], reach_of(batches, neighbors)


# Against the oracles


@neighbors
@tables
@counted
@pytest.mark.parametrize(
    ("weighter", "oracle"),
    [
        (Relief(), relief),
        (Relief(metric="sqeuclidean"), lambda X, y, **more: relief(X, y, metric="sqeuclidean", **more)),
        (ReliefF(n_neighbors=3), lambda X, y, **more: relieff(X, y, 3, **more)),
        (
            ReliefF(n_neighbors=4, neighbor_weights="rank", rank_decay=2.0),
            lambda X, y, **more: relieff(X, y, 4, rank_decay=2.0, **more),
        ),
        (
            ReliefF(n_neighbors=3, metric="euclidean"),
            lambda X, y, **more: relieff(X, y, 3, metric="euclidean", **more),
        ),
    ],
    ids=["Relief", "Relief sqeuclidean", "ReliefF", "ReliefF rank", "ReliefF euclidean"],
)
def test_nearest_neighbors(weighter, oracle, table, neighbors, counted):
    X, y, batches = batched(table)
    s = copies_of(X, counted)
    rows, codes, copies, reach = seen(X, y, batches, neighbors, s)
    fitted = clone(weighter).set_params(batch_neighbors=neighbors).fit(X, y, s, batches)
    assert_same(fitted.feature_weights_, oracle(rows, codes, s=copies, reach=reach), 1e-11)


@neighbors
@counted
@pytest.mark.parametrize("margin", ["nearest", "prior"])
@pytest.mark.parametrize("outliers", [False, True])
def test_irelief(neighbors, counted, margin, outliers):
    X, y, batches = batched(n_samples=30)
    s = copies_of(X, counted)
    rows, codes, copies, reach = seen(X, y, batches, neighbors, s)
    expected = irelief(rows, codes, 0.7, margin, outliers, n_iter=3, s=copies, reach=reach)[-1]
    weighter = IRelief(sigma=0.7, margin=margin, outliers=outliers, max_iter=3, batch_neighbors=neighbors)
    assert_same(weights_of(weighter, X, y, sample_weight=s, batches=batches), expected, 1e-10)


@neighbors
@counted
def test_automatic_width(neighbors, counted):
    """The entropy that is aimed at counts those in reach."""
    X, y, batches = batched(n_samples=30)
    s = copies_of(X, counted)
    rows, codes, copies, reach = seen(X, y, batches, neighbors, s)
    expected = irelief_auto(rows, codes, n_iter=3, s=copies, reach=reach)
    weighter = IRelief(perplexity=0.5, max_iter=3, batch_neighbors=neighbors)
    assert_same(weights_of(weighter, X, y, sample_weight=s, batches=batches), expected, 1e-8)
    expected = irelief_parameter_free(rows, codes, s=copies, reach=reach)
    weighter = IRelief(tol=0.0, batch_neighbors=neighbors)
    assert_same(weights_of(weighter, X, y, sample_weight=s, batches=batches), expected, 1e-8)


@neighbors
@counted
def test_logo(neighbors, counted):
    X, y, batches = batched(n_samples=30)
    s = copies_of(X, counted)
    rows, codes, copies, reach = seen(X, y, batches, neighbors, s)
    expected = logo(rows, codes, 2.0, 0.5, n_iter=2, s=copies, reach=reach)[-1]
    weighter = LOGO(sigma=2.0, alpha=0.5, max_iter=2, batch_neighbors=neighbors)
    assert_same(weights_of(weighter, X, y, sample_weight=s, batches=batches), expected, 1e-8)


@neighbors
@counted
def test_im4e(neighbors, counted):
    X, y, batches = batched(n_samples=30)
    s = copies_of(X, counted)
    rows, codes, copies, reach = seen(X, y, batches, neighbors, s)
    path = im4e(rows, codes, 0.3, 3, s=copies, reach=reach)
    fitted = IM4E(sigma=0.3, max_iter=3, tol=0.0, batch_neighbors=neighbors).fit(X, y, s, batches)
    assert_same(fitted.feature_weights_, path[-1][0], 1e-10)
    np.testing.assert_allclose(fitted.cost_, [step[1] for step in path], rtol=1e-9)


@neighbors
@pytest.mark.parametrize("loss", ["log", "square"])
def test_frel(neighbors, loss):
    X, y, batches = batched(n_samples=30)
    rows, codes, _, reach = seen(X, y, batches, neighbors)
    in_order = FREL(loss=loss, alpha=0.01, batch_neighbors=neighbors).fit(X, y, batches=batches)
    assert_same(in_order.feature_weights_, frel_sgd(rows, codes, loss, alpha=0.01, reach=reach), 1e-10)

    s = copies_of(X, True)
    rows, codes, copies, reach = seen(X, y, batches, neighbors, s)
    H, M, delta, counts = hits_and_misses(rows, codes, copies, reach=reach)

    def gradient(w):
        total = np.zeros(len(w))
        for i in np.flatnonzero(counts):
            of_hit, of_miss = margin_loss_slopes(loss, w @ H[i], w @ M[i], delta[i])
            total += copies[i] * (of_hit * H[i] + of_miss * M[i])
        return total / copies.sum()

    def value(w):
        return frel_objective(w, H[counts], M[counts], delta[counts], loss, "l2", 0.0, copies[counts]) * (
            copies[counts].sum() / copies.sum()
        )

    expected = fista(value, gradient, X.shape[1], 0.05, "l2")
    exact = FREL(loss=loss, solver="exact", alpha=0.05, batch_neighbors=neighbors).fit(X, y, s, batches)
    assert_same(exact.feature_weights_, expected, 1e-6)


@neighbors
def test_margins(neighbors):
    X, y, batches = batched()
    rows, codes, _, reach = seen(X, y, batches, neighbors)
    nearest = Relief(batch_neighbors=neighbors).fit(X, y, batches=batches)
    w = np.maximum(nearest.feature_weights_, 0.0)
    expected = relief_rows(rows, codes, reach=reach) @ w / np.linalg.norm(w)
    np.testing.assert_allclose(nearest.margins(X, y, batches), expected, atol=1e-12)
    soft = IRelief(sigma=0.7, batch_neighbors=neighbors).fit(X, y, batches=batches)
    expected = soft_margin_rows(rows, codes, soft.feature_weights_, 0.7, reach=reach)[0]
    np.testing.assert_allclose(
        soft.margins(X, y, batches=batches), expected @ soft.feature_weights_, atol=1e-11
    )
    # Without batches all samples are neighbors, scaled as one table.
    assert not np.allclose(soft.margins(X, y), soft.margins(X, y, batches))


# What it means


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("table", [continuous_table, discrete_table])
@pytest.mark.parametrize("weighter", [Relief(), ReliefF(n_neighbors=3)], ids=["Relief", "ReliefF"])
@counted
def test_within_is_the_mean_of_fits_to_the_batches(weighter, table, n_classes, counted):
    X, y, batches = batched(table, n_samples=70, n_classes=n_classes)
    s = copies_of(X, counted)
    copies = np.ones(len(X)) if s is None else s
    expected = 0.0
    for batch in range(3):
        part = batches == batch
        of_batch = weights_of(clone(weighter), X[part], y[part], sample_weight=None if s is None else s[part])
        expected = expected + copies[part].sum() / copies.sum() * of_batch
    assert_same(weights_of(clone(weighter), X, y, sample_weight=s, batches=batches), expected, 1e-12)


@over_weighters
def test_one_batch_within_is_no_batch(weighter):
    X, y = continuous_table()
    expected = weights_of(clone(weighter), X, y)
    assert_same(weights_of(clone(weighter), X, y, batches=["all"] * len(X)), expected, 1e-9)


@over_weighters
@neighbors
def test_a_scale_of_its_own_in_each_batch_changes_nothing(weighter, neighbors):
    X, y, batches = batched()
    weighter = clone(weighter).set_params(batch_neighbors=neighbors)
    expected = weights_of(weighter, X, y, batches=batches)
    brighter = (
        X * np.array([9.0, 1.0, 0.01])[batches, np.newaxis] + np.array([0.0, 40.0, -3.0])[batches, np.newaxis]
    )
    assert_same(weights_of(weighter, brighter, y, batches=batches), expected, 1e-8)


@pairwise(
    over_weighters,
    neighbors,
    tables,
)
def test_names_of_batches_and_the_order_of_rows_do_not_matter(weighter, neighbors, table):
    X, y, batches = batched(table)
    weighter = clone(weighter).set_params(batch_neighbors=neighbors)
    expected = weights_of(weighter, X, y, batches=batches)
    assert same_bits(
        weights_of(weighter, X, y, batches=np.array(["b", "a", "c"])[batches]),
        weights_of(weighter, X, y, batches=np.array([2, 1, 5])[batches]),
    )
    assert_same(weights_of(weighter, X, y, batches=np.array([2, 1, 0])[batches]), expected, 1e-9)
    if not weighter.__sklearn_tags__().order_dependent:
        order = np.random.default_rng(0).permutation(len(X))
        assert_same(weights_of(weighter, X[order], y[order], batches=batches[order]), expected, 1e-9)


@over_weighters
@neighbors
def test_bits_do_not_depend_on_threads(weighter, neighbors):
    X, y, batches = batched(n_samples=300)
    weighter = clone(weighter).set_params(batch_neighbors=neighbors)
    one = weights_of(clone(weighter).set_params(n_jobs=1), X, y, batches=batches)
    assert same_bits(one, weights_of(clone(weighter).set_params(n_jobs=2), X, y, batches=batches))


@over_weighters
def test_batches_are_not_used_unless_given(weighter):
    X, y = continuous_table()
    expected = weights_of(clone(weighter), X, y)
    assert same_bits(weights_of(clone(weighter).set_params(batch_neighbors="across"), X, y), expected)
    assert same_bits(weights_of(clone(weighter), X, y, batches=None), expected)


@pytest.mark.parametrize("weighter", [IRelief(sigma=0.7), LOGO(), IM4E(sigma=0.3)], ids=str)
@neighbors
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_distances_stored_or_computed_again(weighter, neighbors, dtype):
    X, y, batches = batched(n_samples=200)
    weighter = clone(weighter).set_params(batch_neighbors=neighbors)
    stored = clone(weighter).fit(X.astype(dtype), y, batches=batches)
    again = clone(weighter).set_params(memory_budget=0).fit(X.astype(dtype), y, batches=batches)
    assert stored.execution_["distances"] == "stored"
    assert again.execution_["distances"] == "recomputed"
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    assert_same(again.feature_weights_, stored.feature_weights_, tolerance)
    np.testing.assert_allclose(
        again.margins(X, y, batches), stored.margins(X, y, batches), atol=1e3 * tolerance
    )


@neighbors
def test_wide_tables_by_blocks_of_columns(neighbors):
    rng = np.random.default_rng(0)
    y, batches = np.arange(30) % 2, np.arange(30) // 15
    X = rng.normal(size=(30, 80000)) + y[:, np.newaxis] * (np.arange(80000) < 50)
    weighter = IRelief(sigma=0.7, max_iter=2, batch_neighbors=neighbors)
    by_blocks = clone(weighter).fit(X, y, batches=batches)
    copied = clone(weighter).set_params(memory_budget=0).fit(X, y, batches=batches)
    assert_same(by_blocks.feature_weights_, copied.feature_weights_, 1e-12)


@neighbors
@counted
@pytest.mark.parametrize("pooled", [False, True])
def test_lists_of_neighbors_in_bands_of_rows(neighbors, counted, pooled):
    """Tall tables keep lists of the nearest so far; the same margins as from whole rows of distances."""
    X, y, batches = batched(n_samples=3000)
    s = copies_of(X, counted)
    weighter = Relief(batch_neighbors=neighbors)
    rows = weighter._choose_engine(weighter._check_fit(X, y, s, batches))
    among = Neighborhood(3, pooled=pooled)
    search = rows.nearest(among)
    assert search._search._order == "bands"
    whole = search.margins()
    some = np.arange(0, len(whole), 7)
    few = rows.nearest(among, some)
    assert few._search._order == "rows"
    np.testing.assert_allclose(whole[some], few.margins()[some], atol=1e-12)
    assert np.abs(whole).max() > 0.0


@neighbors
def test_anchors_are_drawn_as_without_batches(neighbors):
    X, y, batches = batched()
    whole = ReliefF(n_anchors=len(X), random_state=0, batch_neighbors=neighbors)
    expected = weights_of(ReliefF(batch_neighbors=neighbors), X, y, batches=batches)
    assert_same(weights_of(whole, X, y, batches=batches), expected, 1e-12)


def test_small_whole_numbers():
    X, y, batches = batched(discrete_table)
    X, y = discrete_table(45)
    expected = weights_of(ReliefF(), X, y, batches=batches)
    assert_same(weights_of(ReliefF(), X.astype(np.int8), y, batches=batches), expected, 1e-12)
    raw = ReliefF(scale=None)
    assert_same(
        weights_of(raw, X.astype(np.int8), y, batches=batches), weights_of(raw, X, y, batches=batches)
    )


def test_a_feature_that_is_constant_in_a_batch_contributes_nothing_there():
    X, y, batches = batched(n_classes=2)
    X[batches == 0, 2] = 5.0
    w = weights_of(ReliefF(n_neighbors=3), X, y, batches=batches)
    part = batches != 0
    alone = weights_of(ReliefF(n_neighbors=3), X[part], y[part], batches=batches[part])
    assert w[2] == pytest.approx(alone[2] * part.mean(), rel=1e-12)


@over_weighters
@neighbors
def test_a_feature_that_marks_the_batch_weighs_nothing(weighter, neighbors):
    X, y, batches = batched()
    weighter = clone(weighter).set_params(batch_neighbors=neighbors)
    marked = np.column_stack([X, 3.0 * batches])
    w = weights_of(weighter, marked, y, batches=batches)
    assert w[-1] == 0.0
    # Far samples, where they count, make the weights of main effects negative.
    assert w.max() > 0.0 if "Star" not in str(weighter) else w.any()


def test_a_batch_of_one_class_contributes_nothing():
    X, y, batches = batched(n_classes=2)
    y[batches == 1] = 1
    part = batches != 1
    expected = weights_of(Relief(), X[part], y[part], batches=batches[part]) * part.mean()
    assert_same(weights_of(Relief(), X, y, batches=batches), expected, 1e-12)


def test_samples_of_weight_0_are_in_no_batch():
    X, y, batches = batched()
    s = np.ones(len(X))
    s[:5] = 0.0
    named = np.array(["a", "b", "c"])[batches].astype(object)
    named[:5] = "gone"
    expected = weights_of(ReliefF(), X[5:], y[5:], batches=batches[5:])
    assert same_bits(weights_of(ReliefF(), X, y, sample_weight=s, batches=named), expected)


# What cannot be


@over_weighters
def test_batches_that_are_the_classes(weighter):
    X, y = continuous_table(n_classes=2)
    with pytest.raises(ValueError, match="no batch has two classes"):
        clone(weighter).fit(X, y, batches=y)
    across = clone(weighter).set_params(batch_neighbors="across")
    with pytest.raises(ValueError, match=r"leaves .* without misses: all samples are of one batch"):
        across.fit(X, y, batches=np.zeros(len(X)))
    # No hits: everyone of a class is in one batch.
    with pytest.warns(UserWarning, match="no sample with a hit and a miss"):
        np.testing.assert_array_equal(weights_of(across, X, y, batches=y), 0.0)


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        ([0, 1], "batches must name the batch of each of the 60 samples"),
        (np.zeros((60, 2)), "batches must name"),
        ([np.nan] * 60, "batches has a missing value, at sample 0"),
        (np.array(["a", "b", None] * 20, dtype=object), "batches has a missing value, at sample 2"),
        (np.array([1, "a"] * 30, dtype=object), "names or numbers, all of one kind"),
    ],
    ids=["short", "two columns", "missing", "None", "mixed"],
)
def test_batches_that_are_none(batches, message):
    X, y = continuous_table()
    with pytest.raises(ValueError, match=message):
        ReliefF().fit(X, y, batches=batches)


def test_batches_of_single_samples():
    X, y = continuous_table()
    with pytest.raises(ValueError, match="features of X are constant in each batch"):
        ReliefF(batch_neighbors="across").fit(X, y, batches=np.arange(len(X)))


def test_unknown_batch_neighbors():
    X, y = continuous_table()
    with pytest.raises(ValueError, match="batch_neighbors='between' is not known"):
        ReliefF(batch_neighbors="between").fit(X, y)


def test_the_classifier_of_im4e_and_its_path_with_batches():
    X, y, batches = batched(n_samples=60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = IM4E(sigma="path", cv=2, tol=1e-3).fit(X, y, batches=batches)
    assert model.cv_scores_.max() > 0.0
    assert np.isfinite(model.predict_proba(X)).all()


# What it is for


def confounded(n_samples=200, seed=0):
    """Two batches with nine tenths of one class each; feature 3 tells classes apart, 8 the batches."""
    rng = np.random.default_rng(seed)
    batches = np.arange(n_samples) % 2
    y = np.where(rng.uniform(size=n_samples) < 0.9, batches, 1 - batches)
    X = rng.normal(size=(n_samples, 12))
    X[:, 3] += 1.5 * y
    X[:, 8] += 6.0 * batches
    return X, y, batches


@pytest.mark.parametrize("weighter", [ReliefF(), IRelief(), LOGO(), IM4E()], ids=str)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_batch_does_not_pose_as_a_signal(weighter, seed):
    X, y, batches = confounded(seed=seed)
    assert np.argmax(weights_of(clone(weighter), X, y)) == 8
    w = weights_of(clone(weighter), X, y, batches=batches)
    assert np.argmax(w) == 3
    assert w[8] < 0.3 * w[3]


@pytest.mark.parametrize("weighter", [ReliefF(), IRelief()], ids=str)
def test_across_asks_for_what_is_the_same_in_all_batches(weighter):
    """Feature 5 rises with the class in one batch and falls in the other; 3 rises in both, by less."""
    rng = np.random.default_rng(0)
    batches, y = np.arange(200) % 2, np.arange(200) // 2 % 2
    X = rng.normal(size=(200, 8))
    X[:, 3] += 1.5 * y
    X[:, 5] += 3.0 * np.where(batches == 0, y, 1 - y)
    within = weights_of(clone(weighter), X, y, batches=batches)
    across = weights_of(clone(weighter).set_params(batch_neighbors="across"), X, y, batches=batches)
    assert np.argmax(within) == 5
    assert np.argmax(across) == 3
    assert across[5] <= 0.0


def test_brighter_arrays_of_another_laboratory(data_folder):
    """docs/batches.md: genes found on all arrays hold on fresh ones better when batches are kept apart."""
    path = data_folder / "microarray" / "prostate_singh.npz"
    if not path.exists():
        pytest.skip(f"no {path}")
    with np.load(path) as data:
        X, y, train, test = (data[name] for name in ("X", "y", "train_idx", "test_idx"))
    assert X[test].mean() > 9.0 * X[train].mean()
    fitted, fresh = train[::2], train[1::2]
    some = np.concatenate([fitted, test])
    batches = np.isin(some, test)
    target = np.argsort(-weights_of(ReliefF(), X[fresh], y[fresh]))[:50]
    plain = weights_of(ReliefF(), X[some], y[some])
    within = weights_of(ReliefF(), X[some], y[some], batches=batches)
    shared = [np.intersect1d(np.argsort(-w)[:50], target).size for w in (plain, within)]
    assert shared[1] > shared[0]
    # Who is brighter does not matter at all.
    dimmed = X[some].astype(np.float64) / np.where(batches, 9.0, 1.0)[:, np.newaxis]
    assert_same(weights_of(ReliefF(), dimmed, y[some], batches=batches), within, 1e-5)
