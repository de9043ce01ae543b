"""Interactions: losses as a loop of refits gives them, and what they must be where it is known."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

from highrelief import (
    IM4E,
    CrossValidatedSelector,
    EnsembleWeighting,
    FisherScore,
    IRelief,
    MultiSURF,
    RedundancyFilter,
    ReliefF,
    RReliefF,
    Simba,
    interactions,
    report,
)
from highrelief.datasets import make_epistasis, make_xor
from highrelief.inspection.interactions import InteractionTable

pytestmark = pytest.mark.slow

X, y, _ = make_xor(200, n_irrelevant=20, random_state=0)


def loss_by_hand(estimator, X, y, features, f, g):
    """1 − w_f without g / w_f; a norm of 1 is first spread over those that are left."""
    fitted = clone(estimator).fit(X[:, features], y).feature_weights_
    others = [each for each in features if each != g]
    without = clone(estimator).fit(X[:, others], y).feature_weights_
    weight = fitted[features.index(f)]
    for norm in (1, 2, np.inf):
        if abs(np.linalg.norm(fitted, norm) - 1.0) < 1e-9:
            weight /= np.linalg.norm([fitted[features.index(each)] for each in others], norm)
            break
    return 1.0 - without[others.index(f)] / weight


@pytest.mark.parametrize(
    "estimator",
    [ReliefF(), MultiSURF(), IRelief(), IM4E(), Simba(random_state=0)],
    ids=lambda e: type(e).__name__,
)
def test_losses_are_those_of_a_loop_of_refits(estimator):
    features = [3, 0, 7, 1, 12]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = interactions(estimator, X, y, features=features, n_resamples=0)
        assert table.features.tolist() == features
        assert table.noise is None
        assert table.clear is None
        for i, f in enumerate(features):
            for j, g in enumerate(features):
                if i == j or table.weights[i] <= 0.0:
                    assert np.isnan(table.losses[i, j])
                else:
                    expected = loss_by_hand(estimator, X, y, features, f, g)
                    assert table.losses[i, j] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def clear_pairs(table):
    return {
        tuple(sorted((each.first, each.second)))
        for each in table.pairs()
        if each.first_is_clear or each.second_is_clear
    }


@pytest.mark.parametrize("estimator", [ReliefF(), MultiSURF(), IRelief()], ids=lambda e: type(e).__name__)
def test_two_features_of_an_exclusive_or_need_each_other(estimator):
    table = interactions(estimator, X, y, random_state=0)
    assert clear_pairs(table) == {(0, 1)}
    first = table.pairs()[0]
    # Weights of norm 1 fall to what is left, noise or not, and some of it to the other of the two.
    least = 0.5 if isinstance(estimator, IRelief) else 0.9
    assert min(first.loss_of_first, first.loss_of_second) > least


def test_three_features_need_each_other_two_by_two():
    X, y, _ = make_xor(500, order=3, n_irrelevant=10, random_state=0)
    assert clear_pairs(interactions(ReliefF(), X, y, random_state=0)) == {(0, 1), (0, 2), (1, 2)}


def test_loci_that_act_together():
    X, y, _ = make_epistasis(800, heritability=0.4, n_irrelevant=15, random_state=0)[:3]
    table = interactions(ReliefF(), X, y, random_state=0)
    assert clear_pairs(table) == {(0, 1)}


def test_main_effects_and_noise_do_not_need_each_other():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    noise = rng.normal(size=(200, 15))
    assert clear_pairs(interactions(ReliefF(), noise, y, random_state=0)) == set()
    noise[:, :3] += y[:, np.newaxis]
    table = interactions(ReliefF(), noise, y, random_state=0)
    assert clear_pairs(table) == set()
    own = table.losses[:3, :3]
    assert np.nanmax(np.abs(own)) < 0.3


def test_copies_weigh_more_without_each_other():
    rng = np.random.default_rng(0)
    wide = np.column_stack([X, X[:, 0] + 0.02 * rng.normal(size=200)])
    table = interactions(ReliefF(), wide, y, random_state=0)
    place = {int(f): i for i, f in enumerate(table.features)}
    first, copy = place[0], place[22]
    assert table.clear[first, copy]
    assert table.clear[copy, first]
    assert table.losses[first, copy] < -0.3
    assert table.losses[copy, first] < -0.3
    # What both need, each needs as much.
    assert table.losses[first, place[1]] > 0.7


def test_a_feature_that_says_nothing_changes_nothing():
    table = interactions(ReliefF(), X, y, n_resamples=0)
    irrelevant = [i for i, f in enumerate(table.features) if f > 1]
    relevant = [i for i, f in enumerate(table.features) if f <= 1]
    assert np.abs(table.losses[np.ix_(relevant, irrelevant)]).max() < 0.1


def test_other_places_of_the_columns_are_the_same_table():
    order = np.random.default_rng(0).permutation(22)
    before = interactions(ReliefF(), X, y, random_state=0)
    after = interactions(ReliefF(), X[:, order], y, random_state=0)
    np.testing.assert_array_equal(order[after.features], before.features)
    np.testing.assert_allclose(after.losses, before.losses, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(after.noise, before.noise, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(after.clear, before.clear)


def test_classes_by_other_names_and_threads_give_the_same_bits():
    before = interactions(ReliefF(), X, y, n_resamples=4, random_state=0)
    after = interactions(ReliefF(), X, np.array(["b", "a"])[y], n_resamples=4, random_state=0, n_jobs=2)
    np.testing.assert_array_equal(after.features, before.features)
    np.testing.assert_allclose(after.losses, before.losses, rtol=1e-12)
    again = interactions(ReliefF(), X, y, n_resamples=4, random_state=0, n_jobs=2)
    np.testing.assert_array_equal(again.losses, before.losses)
    np.testing.assert_array_equal(again.noise, before.noise)


def test_noise_is_the_spread_over_halves():
    table = interactions(ReliefF(), X, y, n_features=4, n_resamples=6, random_state=0)
    assert table.n_resamples == 6
    assert table.noise.shape == (4, 4)
    assert np.all(table.noise[np.isfinite(table.losses)] > 0.0)
    other = interactions(ReliefF(), X, y, n_features=4, n_resamples=6, random_state=1)
    assert not np.array_equal(other.noise, table.noise)
    np.testing.assert_array_equal(other.losses, table.losses)


def test_what_is_clear():
    weights = np.array([1.0, 1.0, 0.01])
    without = np.array([[np.nan, 0.0, 0.95], [0.7, np.nan, 1.0], [0.0, 0.0, np.nan]])
    noise = np.full((3, 3), 0.001)
    table = InteractionTable(
        np.arange(3), list("abc"), weights, without, noise, np.array([0.01, 0.01, 0.01]), n_resamples=20
    )
    # Within noise of its own weight, and less than a tenth, are not.
    assert table.clear.tolist() == [[False, True, False], [True, False, False], [False, False, False]]
    (first, *_), (second, *_) = [table.pairs()[0][:2]], [table.pairs()[1][:2]]
    assert first == (0, 1)
    assert second[1] == 2


# What is given


@pytest.mark.parametrize(
    "estimator",
    [
        CrossValidatedSelector(ReliefF(), cv=3, n_features_to_select=4),
        RedundancyFilter(ReliefF(n_features_to_select=18)),
        EnsembleWeighting(ReliefF(), n_estimators=3, n_features_to_select=20, random_state=0),
        RandomForestClassifier(20, random_state=0),
        IRelief(init=np.ones(22)),
    ],
    ids=lambda e: type(e).__name__,
)
def test_any_estimator_fitted_or_not(estimator):
    fitted = clone(estimator).fit(X, y)
    before = dict(vars(fitted))
    table = interactions(fitted, X, y, n_features=4, n_resamples=4, random_state=0)
    assert vars(fitted).keys() == before.keys()
    again = interactions(estimator, X, y, n_features=4, n_resamples=4, random_state=0)
    np.testing.assert_array_equal(table.features, again.features)
    assert np.isfinite(table.weights).all()


def test_an_ensemble_of_weights_of_norm_1_loses_what_its_members_lose():
    """Without the strongest of three main effects the others weigh more, at norm 1, and lose nothing."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = rng.normal(size=(200, 5)) + np.outer(y, [3.0, 1.5, 1.0, 0.0, 0.0])
    alone = interactions(IRelief(), X, y, n_resamples=0).losses
    ensemble = EnsembleWeighting(IRelief(), n_estimators=3, random_state=0)
    of_mean = interactions(ensemble, X, y, n_resamples=0, random_state=0).losses
    np.testing.assert_allclose(of_mean[:3, :3], alone[:3, :3], atol=0.1)


def test_ranks_are_no_weights():
    ensemble = EnsembleWeighting(ReliefF(), n_estimators=2, aggregate="ranks", random_state=0)
    with pytest.raises(ValueError, match=r"aggregate='ranks' .*aggregate='weights' gives weights"):
        interactions(ensemble, X, y, n_resamples=0)


def test_names_of_a_frame_and_words():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(X[:, :5], columns=list("abcde"))
    frame["word"] = pd.Categorical(np.array(["u", "v", "w"])[rng.integers(0, 3, 200)])
    frame["same"] = pd.Categorical(["u"] * 200)
    weighter = ReliefF(categorical_features="from_dtype").fit(frame, y)
    table = interactions(weighter, frame, y, n_features=7, n_resamples=4, random_state=0)
    assert sorted(table.names) == ["a", "b", "c", "d", "e", "word"]
    some = interactions(weighter, frame, y, features=["b", "word", "a"], n_resamples=0)
    assert some.names == ["b", "word", "a"]
    assert some.features.tolist() == [1, 5, 0]
    places = ReliefF(categorical_features=["word", "same"])
    again = interactions(places, frame, y, features=["b", "word", "a"], n_resamples=0)
    np.testing.assert_array_equal(again.losses, some.losses)


def test_a_polars_frame():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({f"g{j}": X[:, j] for j in range(5)})
    found = interactions(ReliefF(), frame, y, n_resamples=0)
    np.testing.assert_array_equal(found.losses, interactions(ReliefF(), X[:, :5], y, n_resamples=0).losses)
    assert found.names == [f"g{j}" for j in found.features]


def test_numbers_groups_weights_and_batches():
    target = X[:, 0] * X[:, 1]
    table = interactions(RReliefF(), X, target, n_features=5, n_resamples=4, random_state=0)
    assert table.noise is not None
    groups = np.arange(200) // 2
    told = {"sample_weight": np.full(200, 2.0), "batches": np.arange(200) % 2, "groups": groups}
    table = interactions(ReliefF(), X, y, n_features=5, n_resamples=4, random_state=0, **told)
    assert table.n_resamples == 4


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"n_features": 1}, "n_features=1"),
        ({"n_resamples": 3}, "n_resamples=3"),
        ({"features": [0]}, "at least two"),
        ({"features": [0, 0]}, "each once"),
        ({"features": [0, 22]}, "22"),
        ({"features": [0, -1]}, "-1"),
        ({"features": [0, "gene"]}, "gene"),
        ({"features": [0, True]}, "True"),
        ({"random_state": "x"}, "random_state"),
    ],
)
def test_what_cannot_be_used_is_refused(wrong, words):
    with pytest.raises((ValueError, TypeError), match=words):
        interactions(ReliefF(), X, y, **wrong)


def test_two_features_that_vary_are_needed():
    flat = np.column_stack([X[:, 0], np.zeros((200, 3))])
    with pytest.raises(ValueError, match="at least two non-constant features"):
        interactions(FisherScore(), flat, y)


def test_few_samples_have_no_noise():
    with pytest.warns(UserWarning, match="Noise was not measured"):
        table = interactions(ReliefF(), X[:4], [0, 0, 0, 1], n_features=3)
    assert table.noise is None
    assert table.pairs()[0].first_is_clear is None


def test_without_noise_the_pair_that_weighs_comes_first():
    """A feature of nearly no weight may gain many times of it by chance."""
    weights = np.array([0.5, 0.4, 1e-4])
    without = np.array([[np.nan, 0.0, 0.49], [0.0, np.nan, 0.41], [1e-4, 1.4e-3, np.nan]])
    table = InteractionTable(np.array([3, 7, 9]), ["a", "b", "c"], weights, without)
    assert table.losses[2, 1] < -10.0
    assert table.pairs()[0][:2] == (3, 7)
    assert table.weighs.tolist() == [True, True, False]


# In a report


def test_a_report_says_who_acts_together():
    found = report(ReliefF().fit(X, y), X, y, resamples=20).contents
    pair = found.interactions.pairs[0]
    assert {pair.first, pair.second} == {"x0", "x1"}
    assert pair.kind == "interact"
    assert any("interact" in each and "x0" in each for each in found.summary)
    table = interactions(ReliefF().fit(X, y), X, y, random_state=0)
    losses = np.where(table.weighs[:, np.newaxis], table.losses, np.nan)
    expected = [[None if np.isnan(each) else each for each in row] for row in losses.tolist()]
    assert expected[0][1] is not None
    assert found.interactions.losses == expected
    assert found.interactions.clear == table.clear.tolist()


def test_a_report_says_why_there_are_none():
    weighter = ReliefF().fit(X, y)
    off = report(weighter, X, y, resamples=0, interactions=False).contents
    assert off.interactions is None
    assert "switched off" in off.absent["interactions"]
    alone = report(FisherScore().fit(X, y), X, y, resamples=0).contents
    assert "alone" in alone.absent["interactions"]
    without = report(weighter, X, y, resamples=0, interactions=True).contents.interactions
    assert without.clear is None
    assert "Noise was not measured" in without.words[-1]
    assert without.pairs


def test_a_report_leaves_out_what_takes_long(force):
    force(interaction_work=0.0)
    weighter = ReliefF().fit(X, y)
    assert "too much work" in report(weighter, X, y, resamples=0).contents.absent["interactions"]
    assert report(weighter, X, y, resamples=0, interactions=True).contents.interactions is not None


def test_a_report_shows_the_groups_of_a_filter():
    wide = np.column_stack([X, -X[:, 1]])
    found = report(
        RedundancyFilter(ReliefF(n_features_to_select=4)).fit(wide, y), wide, y, resamples=4
    ).contents
    assert found.correlations.filtered
    (group,) = found.correlations.similar
    assert (group.representative, [each.name for each in group.members]) == ("x1", ["x22"])
    assert "3 features are kept: the best of each group of redundant features." in found.features.words
    plain = report(ReliefF().fit(wide, y), wide, y, resamples=0).contents.correlations
    assert not plain.filtered
    assert [each.representative for each in plain.similar] == ["x1"]
    assert plain.similar[0].members[0].similarity == pytest.approx(-1.0)


def test_a_report_names_the_groups_of_categories():
    levels = np.random.default_rng(0).integers(0, 3, size=(100, 3)).astype(float)
    levels = np.column_stack([levels, 2.0 - levels[:, 0]])
    of_class = ((levels[:, 0] == 1) ^ (levels[:, 1] == 1)).astype(int)
    weighter = ReliefF(categorical_features=[0, 1, 2, 3], n_features_to_select=3)
    found = report(RedundancyFilter(weighter).fit(levels, of_class), levels, of_class, resamples=0).contents
    assert found.absent["correlations"].endswith("x0 stands for x3.")
