"""Weights of the classes: factors of the terms of their samples, not copies of these."""

import numpy as np
import pytest
from contract import assert_same, same_bits, weights_of
from oracles import (
    class_factors,
    fisher,
    fista,
    frel_objective,
    hits_and_misses,
    irelief,
    irelief_auto,
    irelief_parameter_free,
    lhr,
    logo,
    margin_loss_slopes,
    reach_of,
    relief,
    relief_rows,
    relieff,
    scale_by_batch,
    scale_range,
    surf_family,
)
from registry import continuous_table, discrete_table, in_turn
from sklearn.base import clone

from highrelief import (
    FREL,
    LOGO,
    SURF,
    FisherScore,
    IRelief,
    LHRelief,
    MultiSURF,
    MultiSURFStar,
    Relief,
    ReliefF,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

GIVEN = {0: 1.0, 1: 2.5, 2: 0.3}
kinds = pytest.mark.parametrize("class_weight", ["balanced", GIVEN], ids=["balanced", "given"])
counted = pytest.mark.parametrize("counted", [False, True], ids=["", "counted"])
WEIGHTERS = [
    Relief(),
    ReliefF(n_neighbors=3),
    SURF(),
    MultiSURFStar(),
    IRelief(sigma=1.0),
    IRelief(margin="prior"),
    LOGO(),
    # Its tolerance is on the cost, which is a sum.
    FREL(solver="exact", alpha=0.01),
    LHRelief(n_neighbors=3, max_iter=3),
    FisherScore(),
]
over_weighters = pytest.mark.parametrize("weighter", WEIGHTERS, ids=repr)


def sample(table=continuous_table, counted=False, n_samples=40):
    X, y = table(n_samples)
    return X, y, np.random.default_rng(3).integers(1, 4, n_samples) if counted else None


# Against the oracles


ORACLES = {
    "Relief": (Relief(), relief),
    "ReliefF": (ReliefF(n_neighbors=3), lambda X, y, **more: relieff(X, y, 3, **more)),
    "ReliefF rank": (
        ReliefF(n_neighbors=4, neighbor_weights="rank", rank_decay=2.0),
        lambda X, y, **more: relieff(X, y, 4, rank_decay=2.0, **more),
    ),
    "SURF": (SURF(), lambda X, y, **more: surf_family(X, y, "surf", **more)),
    "MultiSURF": (MultiSURF(), lambda X, y, **more: surf_family(X, y, "multisurf", **more)),
    "MultiSURFStar": (MultiSURFStar(), lambda X, y, **more: surf_family(X, y, "multisurf*", **more)),
    "IRelief": (
        IRelief(sigma=0.7, max_iter=3),
        lambda X, y, **more: irelief(X, y, 0.7, n_iter=3, **more)[-1],
    ),
    "IRelief prior": (
        IRelief(sigma=0.7, margin="prior", outliers=False, max_iter=3),
        lambda X, y, **more: irelief(X, y, 0.7, "prior", False, n_iter=3, **more)[-1],
    ),
    "IRelief auto": (
        IRelief(perplexity=0.5, max_iter=3),
        lambda X, y, **more: irelief_auto(X, y, n_iter=3, **more),
    ),
    "IRelief, nothing chosen": (IRelief(tol=0.0), irelief_parameter_free),
    "LOGO": (
        LOGO(sigma=2.0, alpha=0.5, max_iter=2),
        lambda X, y, **more: logo(X, y, 2.0, 0.5, n_iter=2, **more)[-1],
    ),
    "LHRelief": (
        LHRelief(n_neighbors=3, alpha=0.1, max_iter=2),
        lambda X, y, **more: lhr(X, y, 3, 0.1, 2, **more),
    ),
    "FisherScore": (
        FisherScore(),
        lambda X, y, s, factors: fisher(X, y, factors * (1.0 if s is None else s)),
    ),
}


@counted
@in_turn(
    pytest.mark.parametrize("name", list(ORACLES)),
    table=[continuous_table, discrete_table],
    class_weight={"balanced": "balanced", "given": GIVEN},
)
def test_terms_of_samples(name, table, class_weight, counted):
    X, y, s = sample(table, counted, n_samples=34)
    weighter, oracle = ORACLES[name]
    expected = oracle(scale_range(X), y, s=s, factors=class_factors(y, class_weight, s))
    fitted = clone(weighter).set_params(class_weight=class_weight).fit(X, y, sample_weight=s)
    assert_same(fitted.feature_weights_, expected, 1e-7 if "auto" in name or "LOGO" in name else 1e-9)
    plain = clone(weighter).fit(X, y, sample_weight=s)
    assert not np.allclose(plain.feature_weights_, fitted.feature_weights_)


@kinds
@pytest.mark.parametrize("neighbors", ["within", "across"])
def test_with_batches(class_weight, neighbors):
    X, y, s = sample(counted=True, n_samples=45)
    batches = np.arange(45) % 3
    expected = relieff(
        scale_by_batch(X, batches),
        y,
        3,
        s=s.astype(float),
        reach=reach_of(batches, neighbors),
        factors=class_factors(y, class_weight, s),
    )
    weighter = ReliefF(n_neighbors=3, class_weight=class_weight, batch_neighbors=neighbors)
    assert_same(weights_of(weighter, X, y, sample_weight=s, batches=batches), expected, 1e-11)


@kinds
@pytest.mark.parametrize("loss", ["log", "square"])
def test_losses_of_frel(class_weight, loss):
    X, y, s = sample(counted=True)
    factors = class_factors(y, class_weight, s) * s
    H, M, delta, counts = hits_and_misses(scale_range(X), y, s)
    assert counts.all()

    def gradient(w):
        slopes = [margin_loss_slopes(loss, w @ h, w @ m, d) for h, m, d in zip(H, M, delta, strict=True)]
        terms = [a * h + b * m for (a, b), h, m in zip(slopes, H, M, strict=True)]
        return factors @ np.array(terms) / factors.sum()

    def value(w):
        return frel_objective(w, H, M, delta, loss, "l2", 0.0, factors)

    fitted = FREL(loss=loss, solver="exact", alpha=0.05, class_weight=class_weight).fit(X, y, s)
    assert_same(fitted.feature_weights_, fista(value, gradient, X.shape[1], 0.05, "l2"), 1e-6)


# What it means


@over_weighters
def test_balanced_on_balanced_classes_changes_nothing(weighter):
    X, _ = continuous_table()
    y = np.arange(60) % 3
    X = X + 0.5 * y[:, np.newaxis]
    expected = weights_of(clone(weighter), X, y)
    assert same_bits(weights_of(clone(weighter).set_params(class_weight="balanced"), X, y), expected)
    ones = dict.fromkeys(range(3), 1.0)
    assert same_bits(weights_of(clone(weighter).set_params(class_weight=ones), X, y), expected)


@over_weighters
def test_a_factor_common_to_all_classes_changes_nothing(weighter):
    X, y, _ = sample()
    expected = weights_of(clone(weighter).set_params(class_weight=GIVEN), X, y)
    more = {name: 7.3 * value for name, value in GIVEN.items()}
    assert_same(weights_of(clone(weighter).set_params(class_weight=more), X, y), expected, 1e-9)


def test_the_penalty_of_logo_is_on_a_sum():
    """There, a factor is one of the losses: it is made up for by the same factor of the penalty."""
    X, y, _ = sample()
    less = LOGO(sigma=2.0, alpha=0.5, class_weight=dict.fromkeys(range(3), 1.0))
    more = LOGO(sigma=2.0, alpha=1.5, class_weight=dict.fromkeys(range(3), 3.0))
    assert_same(weights_of(more, X, y), weights_of(less, X, y), 1e-8)
    assert not np.allclose(weights_of(more.set_params(alpha=0.5), X, y), weights_of(less, X, y))


def test_balanced_is_the_mean_over_classes_of_their_mean_margins():
    X, y, _ = sample()
    Z = relief_rows(scale_range(X), y)
    expected = np.mean([Z[y == c].mean(axis=0) for c in range(3)], axis=0)
    assert_same(weights_of(Relief(class_weight="balanced"), X, y), expected, 1e-12)


def test_a_class_twice_over():
    """Rows twice are hits of each other, at distance 0; all else stays as it is, if classes are balanced."""
    X, y = continuous_table(40, n_classes=2)
    Z = relief_rows(scale_range(X), y)
    hits = hits_and_misses(scale_range(X), y)[0]
    twice = np.concatenate([np.arange(40), np.flatnonzero(y == 1)])
    balanced = Relief(class_weight="balanced")
    expected = np.mean([Z[y == 0].mean(axis=0), (Z + hits)[y == 1].mean(axis=0)], axis=0)
    assert_same(weights_of(balanced, X[twice], y[twice]), expected, 1e-12)
    # Not so without.
    assert not np.allclose(weights_of(Relief(), X[twice], y[twice]), expected)


def test_balanced_fisher_scores_do_not_see_how_often_a_class_is_there():
    X, y = continuous_table(40)
    twice = np.concatenate([np.arange(40), np.flatnonzero(y == 1)])
    balanced = FisherScore(class_weight="balanced")
    assert_same(weights_of(balanced, X[twice], y[twice]), weights_of(balanced, X, y), 1e-12)


@over_weighters
def test_balanced_counts_copies(weighter):
    X, y, s = sample(counted=True)
    balanced = clone(weighter).set_params(class_weight="balanced")
    expected = weights_of(balanced, np.repeat(X, s, axis=0), np.repeat(y, s))
    assert_same(weights_of(balanced, X, y, sample_weight=s), expected, 1e-8)


@over_weighters
def test_names_of_classes_do_not_matter(weighter):
    X, y, _ = sample()
    names = np.array(["sick", "cured", "healthy"])
    given = {str(names[c]): weight for c, weight in GIVEN.items()} | {"unheard of": 3.0}
    expected = weights_of(clone(weighter).set_params(class_weight=GIVEN), X, y)
    assert_same(weights_of(clone(weighter).set_params(class_weight=given), X, names[y]), expected, 1e-9)


def test_anchors_that_are_all_samples():
    X, y, _ = sample()
    some = ReliefF(n_anchors=len(X), random_state=0, class_weight=GIVEN).fit(X, y)
    assert_same(some.feature_weights_, weights_of(ReliefF(class_weight=GIVEN), X, y), 1e-12)
    np.testing.assert_allclose(some.weight_intervals_[:, 0], some.feature_weights_, atol=1e-12)


def test_margins_of_new_samples_know_the_weights():
    X, y = continuous_table(60)
    fitted = ReliefF(n_neighbors=3, class_weight=GIVEN).fit(X, y)
    w = np.maximum(fitted.feature_weights_, 0.0)
    mean = np.average(fitted.margins(X, y), weights=class_factors(y, GIVEN))
    assert mean == pytest.approx(fitted.feature_weights_ @ w / np.linalg.norm(w), rel=1e-10)
    two = y < 2
    assert np.isfinite(fitted.margins(X[two], y[two])).all()


def test_steps_of_frel_have_no_class_weight():
    with pytest.raises(ValueError, match="class_weight='balanced' needs solver='exact'"):
        FREL(class_weight="balanced").fit(*continuous_table())
