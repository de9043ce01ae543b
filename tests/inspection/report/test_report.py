"""What stands in a report: right numbers, honest intervals, words that hold, for every weighter."""

import dataclasses
import hashlib
import itertools
import json
import sys
import types
import warnings

import numpy as np
import pytest
from registry import (
    CLASSIFIERS,
    ENTRIES,
    EXTRACTORS,
    FOR_NUMBERS,
    continuous_table,
    discrete_table,
    in_turn,
    long,
    over_registry,
)
from scipy.stats import spearmanr
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import highrelief
from highrelief import (
    FREL,
    LOGO,
    CrossValidatedSelector,
    EnsembleWeighting,
    FisherScore,
    GFlip,
    IRelief,
    LHRelief,
    OnlineIRelief,
    Relief,
    ReliefF,
    VarianceReduction,
    report,
)
from highrelief.base.progress import listening
from highrelief.catalog import METHODS, WRAPPERS, address, as_text, references
from highrelief.datasets import flip_labels, make_twonorm, make_waveform, make_xor
from highrelief.inspection.report.diagnostics import RankSpread, n_best, stability
from highrelief.inspection.report.features import Weights, evenly, interacting_features, quartiles
from highrelief.inspection.report.inputs import report_inputs
from highrelief.inspection.report.page import ranking_page
from highrelief.inspection.report.report import report_contents as contents
from highrelief.inspection.report.wording import two_digits
from highrelief.selection.halves import HalfFits, agreement, fits_to_halves, halves, members
from highrelief.selection.redundancy import pearson

pytestmark = pytest.mark.slow


def fitted(estimator, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X, y)


# Every weighter


@in_turn(over_registry, table=[continuous_table, discrete_table])
def test_every_weighter_has_a_report(entry, table):
    X, y = table()
    # Many searches, and fits to halves: a few steps of each.
    few = {"max_iter": 5} if entry.family.iterative else {}
    estimator = fitted(entry.make(**few), X, y)
    found = report(estimator, X, y, resamples=4).contents
    features = found.features
    order = np.argsort(estimator.ranking_, kind="stable")
    assert features.names == [f"x{j}" for j in order]
    assert features.ranks == sorted(estimator.ranking_.tolist())
    assert features.weights == estimator.feature_weights_[order].tolist()
    chosen = estimator.n_features_to_select is not None or hasattr(estimator, "n_features_")
    assert found.finding.n_features is not None, found.finding.reason
    if chosen:
        assert features.kept == estimator.get_support()[order].tolist()
    else:
        assert sum(features.kept) == found.finding.n_features
    assert features.univariate_ranks == FisherScore().fit(X, y).ranking_[order].tolist()
    assert found.stability is not None, found.absent
    assert sum(features.frequency) == pytest.approx(found.stability.n_best)
    assert all(low <= high for low, high in zip(features.rank_low, features.rank_high, strict=True))
    assert found.class_sizes == np.bincount(y).tolist()
    judged = hasattr(estimator, "margins") and estimator.feature_weights_.any()
    assert (found.samples is not None) == judged == ("samples" not in found.absent)
    if found.samples is not None:
        assert found.samples.margins == estimator.margins(X, y).tolist()
    assert (found.convergence is None) == ("convergence" in found.absent)
    inside = getattr(estimator, "estimator_", estimator)
    if entry.family.iterative:
        assert found.convergence.steps == inside.history_.tolist()
        assert found.convergence.converged == inside.converged_
    assert f"the classes of {len(y)} samples" in found.summary[0]
    assert all(sentence.endswith((".", ")")) and "nan" not in sentence.split() for sentence in found.summary)
    assert found.origin.references
    # What is not finite is no JSON.
    json.dumps(dataclasses.asdict(found), allow_nan=False)


def test_every_method_has_words():
    homes = {method.home for method in METHODS.values()} | set(WRAPPERS)
    weighters = {entry.family.estimator.__name__ for entry in ENTRIES}
    assert homes == weighters | {type(each).__name__ for each in FOR_NUMBERS}
    for method in (*METHODS.values(), *WRAPPERS.values()):
        assert method.title
        assert method.words.endswith(".")


def test_wrapped_methods_are_named_with_what_is_around_them():
    X, y = continuous_table()
    inside = EnsembleWeighting(IRelief(), n_estimators=2, random_state=0)
    found = report(fitted(CrossValidatedSelector(inside, cv=2), X, y), X, y, resamples=0).contents
    assert found.method == "Cross-validated ensemble of I-RELIEF"
    assert found.method_class == "CrossValidatedSelector"
    assert [each.address for each in found.origin.references] == [
        "https://doi.org/10.1109/TPAMI.2007.1093",
        "https://doi.org/10.1109/TNNLS.2014.2341627",
    ]
    assert found.absent["convergence"] == (
        "The result is the mean of 2 fits, each by itself; 2 of 2 converged."
    )


def test_other_estimators_inside_an_ensemble():
    X, y = continuous_table()
    ensemble = EnsembleWeighting(RandomForestClassifier(n_estimators=5), n_estimators=2, random_state=0)
    found = report(ensemble.fit(X, y), X, y, resamples=4).contents
    assert found.method == "Ensemble of RandomForestClassifier"
    assert found.stability is not None


# Stability


def by_hand(scores, pairs, k):
    """Frequencies, quantiles and agreements, feature by feature and pair by pair."""
    n, d = scores.shape
    ranks = np.array([[1 + sum(other > value for other in row) for value in row] for row in scores])
    frequency = np.zeros(d)
    kept = []
    for row in scores:
        order = sorted(range(d), key=lambda j: -row[j])
        kept.append(set(order[:k]))
        for j in order[:k]:
            frequency[j] += 1.0 / n
    selection = [(len(kept[i] & kept[j]) * d - k**2) / (k * (d - k)) for i, j in pairs]
    ranking = [spearmanr(scores[i], scores[j]).statistic for i, j in pairs]
    quantiles = []
    for j in range(d):
        ordered = sorted(ranks[:, j])
        at = [q * (n - 1) for q in (0.05, 0.95)]
        quantiles.append(
            [ordered[int(p)] + (p - int(p)) * (ordered[min(int(p) + 1, n - 1)] - ordered[int(p)]) for p in at]
        )
    return frequency, np.array(quantiles), np.mean(selection), np.mean(ranking)


def test_stability_by_hand():
    scores = np.random.default_rng(0).normal(size=(8, 12)) + np.linspace(2.0, 0.0, 12)
    found, spread = stability(HalfFits(scores, 0), 4)
    frequency, quantiles, selection, ranking = by_hand(scores, [(0, 1), (2, 3), (4, 5), (6, 7)], 4)
    np.testing.assert_allclose(spread.frequency, frequency, rtol=1e-13)
    np.testing.assert_allclose(np.stack([spread.low, spread.high], axis=1), quantiles, rtol=1e-13)
    assert found.selection.value == pytest.approx(selection, rel=1e-12)
    assert found.ranking.value == pytest.approx(ranking, rel=1e-12)
    assert found.sizes == list(range(1, 12))
    for size, estimate in zip(found.sizes, found.by_size, strict=True):
        wanted = by_hand(scores, [(0, 1), (2, 3), (4, 5), (6, 7)], size)[2]
        assert estimate.value == pytest.approx(wanted, rel=1e-12)
        assert estimate.lower <= estimate.value <= estimate.upper <= 1.0


def test_equals_share_the_last_places():
    scores = np.array([[3.0, 2.0, 2.0, 2.0, 1.0], [0.0, 0.0, 0.0, 0.0, 0.0]])
    best = members(HalfFits(scores, 0), 2)
    np.testing.assert_allclose(best, [[1, 1 / 3, 1 / 3, 1 / 3, 0], [0.4, 0.4, 0.4, 0.4, 0.4]])


def test_the_variance_of_an_agreement_by_hand():
    matrix = np.array(
        [[1.0, 0.5, 0.2, 0.4], [0.5, 1.0, 0.1, 0.3], [0.2, 0.1, 1.0, 0.7], [0.4, 0.3, 0.7, 1.0]]
    )
    within, by_half = [0.5, 0.7], [0.3, 0.2, 0.15, 0.35]
    variance = max(4.0 * np.var(by_half, ddof=1), np.var(within, ddof=1)) + np.var(within, ddof=1) / 2.0
    half = 3.182446305284263 * np.sqrt(variance)  # Student's t of 3 degrees of freedom
    found = agreement(matrix, least=-1.0, step=0.0)
    assert (found.value, found.lower) == pytest.approx((0.6, 0.6 - half))
    assert found.upper == 1.0


def test_no_interval_is_without_width():
    same = agreement(np.ones((20, 20)), least=-1.0, step=0.5)
    assert (same.value, same.upper) == (1.0, 1.0)
    assert same.lower == pytest.approx(1.0 - 0.5 * (1.0 - 0.05**0.1))


def test_halves_share_nothing_and_hold_every_class():
    codes = np.repeat([0, 1, 2, 3], [11, 5, 3, 2])
    random = np.random.RandomState(0)
    sizes = set()
    for _ in range(50):
        first, second = halves(random, codes)
        np.testing.assert_array_equal(np.sort(np.concatenate([first, second])), np.arange(codes.size))
        for half in (first, second):
            assert np.all(np.abs(np.bincount(codes[half], minlength=4) - np.bincount(codes) / 2) <= 0.5)
        sizes.add((first.size, second.size))
    assert sizes == {(10, 11), (11, 10)}


def shifted(random, n_samples, shifts):
    y = np.arange(n_samples) % 2
    return random.normal(size=(n_samples, len(shifts))) + np.outer(y, shifts), y


@pytest.mark.parametrize("height", [0.0, 1.5])
def test_intervals_hold_the_truth_as_often_as_they_claim(height):
    """The truth: how well two independent tables of half the size agree."""
    n_samples, k = 60, 5
    shifts = np.where(np.arange(40) < k, height, 0.0)
    random = np.random.default_rng(0)
    scorer = FisherScore()

    def two_tables():
        return np.stack([scorer.fit(*shifted(random, n_samples // 2, shifts)).feature_weights_ for _ in "ab"])

    pairs = [by_hand(two_tables(), [(0, 1)], k)[2:] for _ in range(150)]
    truth = np.mean(pairs, axis=0)
    held = []
    for seed in range(60):
        X, y = shifted(random, n_samples, shifts)
        fits = fits_to_halves(scorer, X, y, resamples=20, random_state=seed, n_jobs=None)
        found, _ = stability(fits, k)
        held.append(
            [
                each.lower <= true <= each.upper
                for each, true in zip((found.selection, found.ranking), truth, strict=True)
            ]
        )
    # 60 trials of probability 0.95 give fewer than 52 in one of 500 cases. A jackknife gives about 25.
    assert np.all(np.sum(held, axis=0) >= 52)


@pytest.mark.parametrize("estimator", [FisherScore(), ReliefF(scale=None)])
def test_weights_spread_over_halves_as_over_new_tables(estimator):
    """Of features that matter; over subsets of 90 % it would be a ninth."""
    random = np.random.default_rng(0)
    shifts = np.where(np.arange(10) < 5, 1.5, 0.0)
    new = [estimator.fit(*shifted(random, 100, shifts)).feature_weights_[:5] for _ in range(200)]
    over_halves = []
    for seed in range(15):
        X, y = shifted(random, 100, shifts)
        fits = fits_to_halves(estimator, X, y, resamples=20, random_state=seed, n_jobs=None)
        over_halves.append(fits.scores[:, :5].var(axis=0, ddof=1))
    assert 0.75 < np.mean(over_halves) / np.mean(np.var(new, axis=0, ddof=1)) < 1.4


def test_noise_is_not_stable():
    random = np.random.default_rng(1)
    values = []
    for seed in range(8):
        X, y = shifted(random, 60, np.zeros(300))
        found = report(ReliefF().fit(X, y), X, y, resamples=10, random_state=seed).contents
        values.append([found.stability.selection.value, found.stability.ranking.value])
        assert found.stability.ranking.lower < 0.0
        assert "chance" in " ".join(found.summary)
    np.testing.assert_allclose(np.mean(values, axis=0), 0.0, atol=0.06)
    assert np.max(np.abs(values)) < 0.2


def test_a_strong_signal_is_always_there():
    X, y, _ = make_xor(300, n_irrelevant=30, random_state=0)
    found = report(IRelief(n_features_to_select=2).fit(X, y), X, y, resamples=10).contents
    assert set(found.features.names[:2]) == {"x0", "x1"}
    assert found.features.frequency[:2] == [1.0, 1.0]
    assert found.features.rank_high[1] == 2.0
    assert (found.stability.n_best, found.stability.selection.value) == (2, 1.0)
    assert "exactly the same" in " ".join(found.summary)
    together = [sentence for sentence in found.features.words if "far down alone" in sentence]
    far = [
        name
        for name, rank in zip(found.features.names[:2], found.features.univariate_ranks[:2], strict=True)
        if rank > 20
    ]
    assert all(name in " ".join(together) for name in far)
    assert bool(far) == bool(together)


@long
def test_the_number_of_jobs_does_not_matter():
    X, y = continuous_table()
    models = [fitted(Relief(n_anchors=20), X, y), fitted(LOGO(), X, y)]
    for model in models:
        found = [report(model, X, y, resamples=6, n_jobs=n_jobs).contents for n_jobs in (None, 1, 2)]
        assert found[0].stability == found[1].stability == found[2].stability
        assert found[0].features == found[1].features == found[2].features


def test_the_seed_matters():
    X, y = continuous_table()
    model = ReliefF().fit(X, y)
    first, again, other = (report(model, X, y, resamples=6, random_state=seed).contents for seed in (1, 1, 2))
    assert first.features == again.features
    assert first.features.rank_low != other.features.rank_low or first.stability != other.stability


def test_what_is_kept_in_words():
    X, y = continuous_table()
    model = EnsembleWeighting(ReliefF(), n_estimators=2, aggregate="ranks", random_state=0)
    for estimator, words in (
        (ReliefF(n_features_to_select=2), "2 features are kept, as was chosen."),
        (model, "6 features are kept: mean ranks do not show which are irrelevant."),
        (GFlip(random_state=0), "features are kept: the members of the set."),
        (FisherScore(), "6 features are kept: all with a weight above 0."),
    ):
        found = report(estimator.fit(X, y), X, y, resamples=0).contents
        assert words in found.features.words[0]
        assert words in " ".join(found.summary)


def test_features_that_act_only_together_are_named():
    X, y, _ = make_xor(400, n_irrelevant=60, random_state=1)
    model = IRelief().fit(X, y)
    alone = FisherScore().fit(X, y).ranking_
    found = report(model, X, y, resamples=10).contents
    named = " ".join(sentence for sentence in found.features.words if "far down alone" in sentence)
    assert set(found.features.names[:2]) == {"x0", "x1"}
    assert max(alone[:2]) > 20
    for j in (0, 1):
        assert (f"x{j} ({alone[j]})" in named) == (alone[j] > 20)
    # Others are there by chance, which other samples would not confirm.
    for name, often in zip(found.features.names, found.features.frequency, strict=True):
        assert often >= 0.5 or f"{name} (" not in named
    only = report(FisherScore().fit(X, y), X, y, resamples=0).contents
    assert "far down alone" not in " ".join(only.features.words)


def test_equal_weights_are_told():
    X, y, _ = make_xor(200, n_irrelevant=40, random_state=0)
    found = report(LOGO().fit(X, y), X, y, resamples=4).contents
    assert any("share one rank" in sentence for sentence in found.stability.words)
    assert max(found.features.rank_high) < 42


@pytest.mark.parametrize(
    ("n_kept", "n_features", "chosen", "wanted"),
    [
        (7, 100, False, 7),
        (90, 100, False, 20),
        (90, 100, True, 90),
        (100, 100, True, 20),
        (6, 6, False, 3),
        (2, 2, False, 1),
        (60, 20_000, False, 20),
        (50, 20_000, False, 50),
    ],
)
def test_how_many_are_the_best(n_kept, n_features, chosen, wanted):
    assert n_best(n_kept, n_features, chosen=chosen) == wanted


@pytest.mark.parametrize("resamples", [0, None])
def test_resampling_can_be_switched_off(resamples):
    X, y = continuous_table()
    found = report(ReliefF().fit(X, y), X, y, resamples=resamples).contents
    assert found.stability is found.features.frequency is found.features.rank_low is None
    assert found.absent["stability"] == "Stability was not measured: resampling was switched off."


@pytest.mark.parametrize(
    ("resamples", "error"), [(3, ValueError), (2, ValueError), (-2, ValueError), (4.0, TypeError)]
)
def test_resamples_come_in_pairs(resamples, error):
    X, y = continuous_table()
    with pytest.raises(error, match=f"resamples={resamples!r}"):
        report(ReliefF().fit(X, y), X, y, resamples=resamples)


def test_progress_is_told(capsys):
    X, y = continuous_table()
    model = ReliefF().fit(X, y)
    told, outside = [], []
    report(model, X, y, resamples=4, progress=lambda done, total: told.append((done, total)))
    # Permutations come first; a second round is left out if the first finds nothing.
    assert told[-4:] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert len(told) > 4
    with listening(lambda done, total: outside.append((done, total))):
        contents(model, X, y, resamples=4)
    assert outside == told
    report(model, X, y, resamples=4)
    assert capsys.readouterr().err == ""  # too quick to be worth a line


# Small tables


def test_classes_too_small_to_be_halved():
    X, y = np.arange(12.0).reshape(6, 2) ** 2, np.array([0, 0, 0, 0, 0, 1])
    found = report(fitted(Relief(), X, y), X, y).contents
    assert "4 samples" in found.absent["stability"]
    assert any("few samples of" in sentence for sentence in found.summary)


def test_tiny_classes_that_can_be_halved():
    random = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], [6, 3, 2])
    found = report(ReliefF().fit(random.normal(size=(11, 5)), y), random.normal(size=(11, 5)), y).contents
    assert found.stability.n_resamples == 20


def test_a_method_that_cannot_be_fitted_to_half_of_the_samples():
    X, y = continuous_table()
    found = report(Relief(n_anchors=50, random_state=0).fit(X, y), X, y).contents
    assert "cannot be fitted to half of the samples: n_anchors=50" in found.absent["stability"]
    assert found.features.frequency is None


def test_one_feature():
    X, y = continuous_table()
    found = report(fitted(IRelief(), X[:, :1], y), X[:, :1], y).contents
    assert set(found.absent) == {"stability", "correlations", "interactions"}
    assert found.features.names == ["x0"]
    assert len(found.distributions) == 1


def test_constant_and_duplicated_columns():
    X, y = continuous_table()
    X = np.column_stack([X, X[:, 0], np.full(len(X), 3.0)])
    found = report(ReliefF().fit(X, y), X, y, resamples=4).contents
    assert sorted(["x0", "x6"]) in [sorted(group) for group in found.correlations.groups]
    place = found.correlations.names.index("x7")
    assert place == len(found.correlations.names) - 1
    assert set(found.correlations.matrix[place]) == {None}
    assert any("x0 and x6 are redundant" in sentence for sentence in found.summary)


def test_nothing_found_is_said():
    y = np.arange(20) % 2
    X = np.column_stack(
        [np.repeat(np.arange(10.0), 2), np.repeat(np.arange(10.0) ** 2, 2)]
    )  # twins of either class
    model = fitted(IRelief(sigma=0.1), X, y)
    assert not model.feature_weights_.any()
    found = report(model, X, y, resamples=4).contents
    assert any(sentence.startswith("No feature weighs more than 0") for sentence in found.summary)
    assert found.absent["samples"] == (
        "No feature weighs more than 0: under such weights, margins of samples mean nothing."
    )
    assert found.convergence.steps == []
    assert "first iteration" in found.convergence.words[0]


def test_signed_weights_below_zero_are_said():
    y = np.arange(20) % 2
    X = np.column_stack([np.repeat(np.arange(10.0), 2), np.repeat(np.arange(10.0) ** 2, 2)])
    found = report(Relief().fit(X, y), X, y, resamples=0).contents
    assert any(sentence.startswith("No feature weighs more than 0") for sentence in found.summary)
    assert any("weigh less than 0" in sentence for sentence in found.features.words)


# Convergence


def test_a_cycle_is_named():
    X, y, _ = make_xor(100, n_irrelevant=5, random_state=0)
    for sigma, seed in itertools.product((0.02, 0.05, 0.1), range(10)):
        X, y, _ = make_xor(60, n_irrelevant=8, random_state=seed)
        model = fitted(IRelief(sigma=sigma), X, y)
        if model.cycle_length_:
            break
    assert model.cycle_length_ > 1
    found = report(model, X, y, resamples=0).contents
    assert found.convergence.cycle_length == model.cycle_length_
    assert not found.convergence.converged
    assert found.convergence.tolerance == model.tol
    assert f"repeat after every {model.cycle_length_} iterations" in found.convergence.words[0]
    assert "averaging=True" in found.convergence.words[0]
    assert found.convergence.words[0] in found.summary


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (IRelief(sigma=1.0), "It converged after"),
        (IRelief(), "are the whole method"),
        (IRelief(sigma=1.0, max_iter=1), "It did not converge in 1 iteration;"),
        (LHRelief(max_iter=2), "It did not converge in 2 iterations;"),
        (GFlip(random_state=0), "no feature was taken in or out"),
        (GFlip(max_iter=1, random_state=0), "A larger max_iter"),
        (OnlineIRelief(random_state=0), "1 pass over the samples"),
    ],
)
def test_how_a_method_came_to_rest(estimator, words):
    X, y = continuous_table()
    found = report(fitted(estimator, X, y), X, y, resamples=0).contents
    assert words in found.convergence.words[0]
    assert found.convergence.converged == estimator.converged_


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (ReliefF(), "ReliefF does not iterate."),
        (FREL(alpha=1e-2, solver="exact"), "FREL solved its problem exactly: there are no steps to show."),
        (
            FREL(),
            "FREL goes through the samples a fixed number of times; convergence does not apply.",
        ),
    ],
)
def test_why_a_method_has_no_course(estimator, words):
    X, y = continuous_table()
    assert report(estimator.fit(X, y), X, y, resamples=0).contents.absent["convergence"] == words


# Samples


@pytest.mark.parametrize("make", [make_xor, make_twonorm, make_waveform])
def test_flipped_labels_are_found(make):
    """By I-RELIEF; 3 samples of 10 named at random would be flipped in one of 10 cases."""
    precision, recall = [], []
    for seed in range(4):
        X, y, _ = make(300, n_irrelevant=50, random_state=seed)
        wrong, flipped = flip_labels(y, 0.1, random_state=seed)
        found = report(IRelief().fit(X, wrong), X, wrong, resamples=0).contents.samples
        assert len(found.suspects) == len(found.reasons)
        precision.append(flipped[found.suspects].mean())
        recall.append(np.isin(np.flatnonzero(flipped), found.suspects).mean())
    assert np.mean(precision) > 0.7
    assert np.mean(recall) > 0.6


def test_what_is_said_of_suspects():
    X, y, _ = make_xor(300, n_irrelevant=50, random_state=0)
    wrong, _ = flip_labels(np.array(["case", "control"])[y], 0.1, random_state=0)
    model = IRelief().fit(X, wrong)
    found = report(model, X, wrong, resamples=0).contents
    likely = found.samples
    assert likely.outlier_probability == model.outlier_proba_.tolist()
    probabilities = model.outlier_proba_[likely.suspects]
    assert np.all(np.diff(probabilities) <= 0.0)
    assert np.all(probabilities > 0.5)
    assert np.all(model.margins(X, wrong)[likely.suspects] < 0.0)
    first = likely.suspects[0]
    assert f"sample {first + 1}" == likely.names[first]
    assert likely.reasons[0].startswith(
        f"probability {probabilities[0]:.2f} that the label {wrong[first]} is wrong"
    )
    assert f"{len(likely.suspects)} samples of 300 may be mislabeled" in " ".join(found.summary)
    wrong, _ = flip_labels(np.array(["case", "control"])[y], 0.03, random_state=0)
    hard = report(ReliefF().fit(X[:, :4], wrong), X[:, :4], wrong, resamples=0).contents
    assert hard.samples.outlier_probability is None
    assert "mislabeled:" not in " ".join([*hard.summary, *hard.samples.words])
    assert "hard" in " ".join(hard.summary)
    margins = ReliefF().fit(X[:, :4], wrong).margins(X[:, :4], wrong)
    assert (
        hard.samples.suspects == np.argsort(margins, kind="stable")[: min(50, np.sum(margins < 0))].tolist()
    )


def test_samples_are_named_only_where_the_classes_are_told_apart():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(120, 10)), np.arange(120) % 2
    overlapping = X + 0.5 * np.outer(y, np.arange(10) == 0)
    found = report(IRelief().fit(overlapping, y), overlapping, y, resamples=0).contents
    assert found.samples.suspects == []
    assert "from 85 % on" in found.samples.words[1]
    assert not any("Labels" in name for name, _ in found.facts)
    noise = report(IRelief().fit(X, y), X, y, resamples=4).contents
    assert noise.finding.n_features == 0
    assert "no feature stands out" in noise.samples.words[1]


def test_at_most_fifty_are_named():
    random = np.random.default_rng(0)
    y = np.arange(1200) % 2
    X = random.normal(size=(1200, 2)) + 6.0 * y[:, np.newaxis]
    wrong, _ = flip_labels(y, 0.05, random_state=0)
    found = report(Relief().fit(X, wrong), X, wrong, resamples=0).contents.samples
    n_negative = sum(margin < 0 for margin in found.margins)
    assert n_negative > 50 == len(found.suspects) == len(found.reasons)
    assert found.n_suspects == n_negative
    assert f"{n_negative} samples of 1,200" in found.words[1]
    assert "The first 50 are named here." in found.words[1]


def test_a_small_class_is_not_suspect_as_a_whole():
    random = np.random.default_rng(0)
    y = np.repeat([0, 1], [160, 40])
    X = random.normal(size=(200, 20))
    X[:, :3] += 1.5 * y[:, np.newaxis]
    model = IRelief().fit(X, y)
    assert np.sum(model.outlier_proba_[y == 1] > 0.5) >= 15
    found = report(model, X, y, resamples=0).contents
    assert len(found.samples.suspects) <= 5
    assert "are not named" in " ".join(found.samples.words)


# Shapes


def test_quartiles_of_the_largest_numbers_are_numbers():
    """NumPy's own are infinite, which no page can hold."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(40, 3)), np.arange(40) % 2
    X[:, 0] = np.where(random.random(40) > 0.5, 1.7e308, -1.7e308)
    found = quartiles(np.sort(X, axis=0))
    np.testing.assert_array_equal(found[:, 1:], np.quantile(X[:, 1:], [0.0, 0.25, 0.5, 0.75, 1.0], axis=0))
    assert found[0, 0] == -1.7e308
    assert found[-1, 0] == 1.7e308
    assert np.all(np.diff(found[:, 0]) >= 0.0)
    ranking_page(highrelief.report(ReliefF().fit(X, y), X, y, resamples=4).contents)
    infinite = ReliefF().fit(X, y)
    infinite.feature_weights_[0] = np.inf
    with pytest.raises(ValueError, match="weights that are no finite numbers"):
        highrelief.report(infinite, X, y)


def test_boxes_by_hand():
    X, y = continuous_table()
    found = report(ReliefF().fit(X, y), X, y, resamples=0).contents
    assert [each.feature for each in found.distributions] == found.features.names
    for each in found.distributions:
        column = X[:, int(each.feature[1:])]
        for c in range(3):
            values = sorted(column[y == c])
            n = len(values)
            wanted = []
            for share in (0.0, 0.25, 0.5, 0.75, 1.0):
                below = int(share * (n - 1))
                above = min(below + 1, n - 1)
                wanted.append(values[below] + (share * (n - 1) - below) * (values[above] - values[below]))
            np.testing.assert_allclose(each.boxes[c], wanted, rtol=1e-12)
            assert each.points[c] == values


def test_points_are_drawn_evenly():
    places = evenly(1001, 201)
    np.testing.assert_array_equal(places, np.arange(0, 1001, 5))
    random = np.random.default_rng(0)
    X, y = random.normal(size=(1000, 15)), np.arange(1000) % 2
    found = report(FisherScore().fit(X, y), X, y, resamples=0).contents.distributions
    assert len(found) == 12
    for each in found:
        for c in range(2):
            values = np.sort(X[y == c, int(each.feature[1:])])
            assert len(each.points[c]) == 200
            assert (each.points[c][0], each.points[c][-1]) == (values[0], values[-1])
            assert set(each.points[c]) <= set(values)


def test_correlations_by_hand():
    random = np.random.default_rng(0)
    base = random.normal(size=(50, 3))
    X = np.column_stack([base, -base[:, 0] + 0.1 * random.normal(size=50), base[:, 1] * 1e200, np.ones(50)])
    with np.errstate(all="raise"):
        matrix = pearson(X)
    for i, j in itertools.product(range(5), repeat=2):
        a, b = X[:, i] / np.abs(X[:, i]).max(), X[:, j] / np.abs(X[:, j]).max()
        a, b = a - a.mean(), b - b.mean()
        assert matrix[i, j] == pytest.approx(
            np.sum(a * b) / np.sqrt(np.sum(a * a) * np.sum(b * b)), abs=1e-12
        )
    assert np.isnan(matrix[5]).all()
    assert np.isnan(matrix[:, 5]).all()
    assert np.isfinite(pearson(np.array([[-1.7e308, 1.0], [1.7e308, 2.0], [0.0, 1.0]]))).all()


def test_every_two_of_a_group_say_the_same():
    random = np.random.default_rng(0)
    walk = np.cumsum(random.normal(size=(200, 25)), axis=1)  # neighbors alike, the ends not
    y = (walk[:, 12] > 0).astype(int)
    found = report(FisherScore().fit(walk, y), walk, y, resamples=0).contents.correlations
    matrix = dict(zip(found.names, found.matrix, strict=True))
    place = {name: n for n, name in enumerate(found.names)}
    assert len(found.groups) > 1
    for group in found.groups:
        for a, b in itertools.combinations(group, 2):
            assert abs(matrix[a][place[b]]) >= 0.8
        # Side by side in the picture.
        places = sorted(place[name] for name in group)
        assert places == list(range(places[0], places[0] + len(group)))
    together = [sorted(group) for group in found.groups]
    assert all(len(set(a) & set(b)) == 0 for a, b in itertools.combinations(together, 2))


# Input


def test_frames_bring_their_names():
    pd = pytest.importorskip("pandas")
    X, y = continuous_table()
    frame = pd.DataFrame(
        X, columns=[f"gene <{j}>" for j in range(6)], index=[f"patient {n}" for n in range(60)]
    )
    labels = pd.Series(np.array(["no", "yes", "who knows"])[y])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = report(IRelief().fit(frame, labels), frame, labels, resamples=4).contents
    assert set(found.features.names) == set(frame.columns)
    assert found.samples.names == list(frame.index)
    assert found.classes == ["no", "who knows", "yes"]
    with pytest.raises(ValueError, match="columns of X"):
        report(IRelief().fit(frame, labels), frame[frame.columns[::-1]], labels)


def test_polars_frames():
    pl = pytest.importorskip("polars")
    X, y = continuous_table()
    frame = pl.DataFrame(X, schema=[f"g{j}" for j in range(6)])
    found = report(ReliefF().fit(frame, y), frame, pl.Series(y), resamples=4).contents
    assert set(found.features.names) == set(frame.columns)
    assert found.samples.names[:2] == ["sample 1", "sample 2"]


@pytest.mark.parametrize("dtype", [np.int8, np.float32, bool])
def test_other_types(dtype):
    X, y = discrete_table()
    X = X.astype(dtype)
    found = report(ReliefF().fit(X, y), X, y, resamples=4).contents
    assert found.features.univariate_ranks == [
        int(FisherScore().fit(X.astype(float), y).ranking_[int(name[1:])]) for name in found.features.names
    ]


def test_lists_and_given_names():
    X, y = continuous_table()
    names, rows = [f"f{j}" for j in range(6)], [f"s{n}" for n in range(60)]
    found = report(
        ReliefF().fit(X, y), X.tolist(), y.tolist(), feature_names=names, sample_names=rows, resamples=0
    ).contents
    assert sorted(found.features.names) == names
    assert found.samples.names == rows


def test_what_cannot_be_reported():
    X, y = continuous_table()
    model = ReliefF().fit(X, y)
    with pytest.raises(NotFittedError):
        report(ReliefF(), X, y)
    with pytest.raises(TypeError, match=r"ReliefF\(\)\.fit"):
        report(ReliefF, X, y)
    for extractor in EXTRACTORS[:1] + EXTRACTORS[3:4]:
        with pytest.raises(TypeError, match="nothing to rank"):
            report(extractor, X, y)
    for classifier in (CLASSIFIERS[0], RandomForestClassifier()):
        with pytest.raises(TypeError, match="EnsembleWeighting"):
            report(classifier, X, y)
    with pytest.raises(TypeError, match="last step"):
        report(make_pipeline(ReliefF()), X, y)
    with pytest.raises(ValueError, match="fitted to 6"):
        report(model, X[:, :5], y)
    with pytest.raises(ValueError, match="a label for each"):
        report(model, X, y[:-1])
    with pytest.raises(ValueError, match="classes in y"):
        report(model, X, y + 1)
    with pytest.raises(ValueError, match="was fitted to 60"):
        report(fitted(IRelief(), X, y), X[:50], y[:50])
    with pytest.raises(ValueError, match="feature_names has 5 names"):
        report(model, X, y, feature_names=list("abcde"))
    with pytest.raises(ValueError, match="sample_names has 1 names"):
        report(model, X, y, sample_names=["a"])
    with pytest.raises(ValueError, match="NaN"):
        report(FisherScore().fit(X, y), np.where(X > 0, X, np.nan), y)


def test_names_stay_as_they_are():
    X, y = continuous_table()
    names = ["</script>", "=1+1", "\u202eevil", "", "a\nb", "{{7*7}}"]
    found = report(ReliefF().fit(X, y), X, y, feature_names=names, resamples=0).contents
    assert sorted(found.features.names) == sorted(names)


# Origin


def test_where_a_report_comes_from():
    X, y = continuous_table()
    model = ReliefF(n_neighbors=np.int64(3)).fit(X, y)
    found = report(model, X, y, resamples=4, random_state=7).contents.origin
    assert found.parameters["n_neighbors"] == "3"
    assert found.parameters["metric"] == "'manhattan'"
    model = fitted(IRelief(), X, y)
    parameters = report(model, X, y, resamples=0).contents.origin.parameters
    assert (parameters["sigma"], float(parameters["sigma_"])) == ("'auto'", model.sigma_)
    assert hashlib.sha256(X.tobytes()).hexdigest() in found.data.values()
    assert {"highrelief", "python", "numpy", "scipy", "scikit-learn", "numba"} <= set(found.versions)
    assert "Resampling took" in found.time
    scope = {"X": X, "y": y}
    exec(found.again.replace("report(estimator", "made = report(estimator"), scope)
    assert scope["made"].contents.origin.data == found.data
    assert scope["made"].contents.origin.again == found.again
    assert [each.address for each in found.references] == [
        "https://doi.org/10.1007/3-540-57868-4_57",
        "https://doi.org/10.1023/A:1025667309714",
    ]


def test_what_the_command_knows_is_taken_over():
    X, y = continuous_table()
    found = contents(
        ReliefF().fit(X, y),
        X,
        y,
        title="T",
        resamples=0,
        notes=["n"],
        warnings=["w"],
        data={"file": "a.csv"},
        time={"started": "now"},
        interactions="They were not asked for.",
        again="highrelief rank a.csv",
    )
    assert found.absent["interactions"] == "They were not asked for."
    assert (found.title, found.notes, found.warnings) == ("T", ["n"], ["w"])
    assert found.origin.data == {"file": "a.csv"}
    assert found.origin.time == {"started": "now"}
    assert found.origin.again == "highrelief rank a.csv"
    assert found.summary[-1] == "The fit gave 1 warning, shown below."


@pytest.mark.parametrize("key", references())
def test_references_can_be_read(key):
    text = as_text(key)
    assert not set("{}\\") & set(text)
    assert key[-4:] in text
    assert address(key) is None or address(key).startswith("https://doi.org/10.")


# The page


@pytest.fixture
def page(monkeypatch):
    """A page that needs no template."""
    stand_in = types.ModuleType("highrelief.inspection.report.page")
    stand_in.ranking_page = lambda contents: f'<!doctype html><title>{contents.title}</title>"é"'
    monkeypatch.setitem(sys.modules, "highrelief.inspection.report.page", stand_in)


def test_a_page_is_saved_whole(page, tmp_path):
    X, y = continuous_table()
    path = tmp_path / "report.html"
    path.write_text("old")
    made = report(ReliefF().fit(X, y), X, y, path=path, title="T", resamples=0)
    assert path.read_bytes().decode("utf-8") == made.html == '<!doctype html><title>T</title>"é"'
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]
    assert made.save(tmp_path / "b.html") == tmp_path / "b.html"


def test_a_page_that_cannot_be_made_leaves_what_was_there(page, tmp_path, monkeypatch):
    X, y = continuous_table()
    made = report(ReliefF().fit(X, y), X, y, resamples=0)
    path = tmp_path / "report.html"
    path.write_text("old")

    def fail(contents):
        raise RuntimeError("no page")

    monkeypatch.setattr(sys.modules["highrelief.inspection.report.page"], "ranking_page", fail)
    with pytest.raises(RuntimeError):
        made.save(path)
    assert [each.read_text() for each in tmp_path.iterdir()] == ["old"]


def test_where_no_page_can_be_written_is_said_first(page, tmp_path):
    told = []
    X, y = continuous_table()
    model = ReliefF().fit(X, y)
    for path, error in ((tmp_path, IsADirectoryError), (tmp_path / "no" / "a.html", FileNotFoundError)):
        with pytest.raises(error, match="path="):
            report(model, X, y, path=path, progress=lambda *step: told.append(step))
    assert not told


def test_a_notebook_shows_the_page_in_a_frame(page):
    X, y = continuous_table()
    made = report(ReliefF().fit(X, y), X, y, title='"><script>', resamples=0)
    shown = made._repr_html_()
    assert shown.startswith('<iframe title="&quot;&gt;&lt;script&gt;" sandbox="allow-scripts ')
    assert "<script>" not in shown
    assert "allow-same-origin" not in shown


def test_without_jinja_a_sentence_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    for name in ("assembling", "page", "comparison_page"):
        monkeypatch.delitem(sys.modules, f"highrelief.inspection.report.{name}", raising=False)
    X, y = continuous_table()
    made = report(ReliefF().fit(X, y), X, y, resamples=0)
    with pytest.raises(ImportError, match=r"needs jinja2, .*: pip install 'highrelief\[report\]'"):
        _ = made.html
    with pytest.raises(ImportError, match=r"highrelief\[report\]"):
        report(ReliefF().fit(X, y), X, y, path=tmp_path / "a.html")


def test_report_is_a_function_of_the_package():
    assert highrelief.report is report
    assert "report" in dir(highrelief)
    assert "References" in report.__doc__


# What a stranger reads


def test_acting_together_takes_more_than_chance():
    """Where the best are half of all, every feature is among them in half of the halves."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 12)), np.arange(60) % 2
    inputs = report_inputs(ReliefF().fit(X, y), X, y, feature_names=None, sample_names=None)
    best = inputs.order[0]
    alone = 13 - inputs.ranks
    frequency = np.full(12, 0.5)
    frequency[best] = 0.7
    spread = RankSpread(frequency, frequency, frequency)
    assert interacting_features(inputs, Weights.of(inputs), alone, spread) == []
    frequency[best] = 0.8
    assert interacting_features(inputs, Weights.of(inputs), alone, spread) == [(f"x{best}", 12)]
    # The third of 12 is not among the best, though it is among the first ten.
    frequency[:] = 0.5
    frequency[inputs.order[3]] = 1.0
    assert interacting_features(inputs, Weights.of(inputs), np.full(12, 12), spread) == []


def test_equals_are_counted_with_the_best():
    X, y = np.repeat(np.arange(40.0)[:, np.newaxis] % 2, 8, axis=1), np.arange(40) % 2
    found = report(ReliefF().fit(X, y), X, y, resamples=0).contents
    assert "The best features are x0, x1, x2, x3, x4 and 3 more." in found.summary[2]


def test_weights_below_0_give_no_margins():
    """FREL's are signed: all samples would look as if they were nearer to others."""
    X, y = continuous_table()
    model = FREL().fit(X, y)
    model.feature_weights_ = -np.abs(model.feature_weights_) - 1.0
    found = report(model, X, y, resamples=0).contents
    assert found.samples is None
    assert found.absent["samples"].startswith("No feature weighs more than 0")
    one = report(ReliefF().fit(X[:, :1], y), X[:, :1], y).contents
    assert one.title == "RELIEF-F: 1 feature ranked"


def test_classes_are_called_classes():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(48, 4)), np.repeat([0, 1], [40, 8])
    told = " ".join(report(ReliefF().fit(X, y), X, y, resamples=0).contents.summary)
    assert "few samples of class 1 (8)" in told
    assert "the classes differ much in size, 8 to 40 samples" in told
    balanced = ReliefF(class_weight="balanced").fit(X, y)
    assert "differ much in size" not in " ".join(report(balanced, X, y, resamples=0).contents.summary)


@pytest.mark.parametrize(
    ("estimator", "begin"),
    [
        (FisherScore(), "The Fisher score ranked"),
        (EnsembleWeighting(FisherScore(), n_estimators=2), "An ensemble of Fisher score ranked"),
        (CrossValidatedSelector(ReliefF(), cv=2), "Cross-validated RELIEF-F ranked"),
    ],
)
def test_the_first_sentence_begins_with_the_method(estimator, begin):
    X, y = continuous_table()
    assert report(estimator.fit(X, y), X, y, resamples=0).contents.summary[0].startswith(begin)


def test_what_is_inside_two_wrappers_is_found():
    """Convergence, suspects and the kind of the weights are those of the method in the middle."""
    X, y = continuous_table()
    model = CrossValidatedSelector(VarianceReduction(IRelief()), cv=2)
    found = report(model.fit(X, y), X, y, resamples=0).contents
    assert found.convergence is not None
    assert found.samples.outlier_probability is not None
    ranks = CrossValidatedSelector(EnsembleWeighting(ReliefF(), n_estimators=2, aggregate="ranks"), cv=2)
    found = report(ranks.fit(X, y), X, y, resamples=0).contents
    assert "positive weight" not in " ".join([*found.summary, *found.features.words])


def test_next_to_nothing_has_no_sign():
    assert two_digits(-0.001) == "0.00"
    assert two_digits(-0.126) == "\N{MINUS SIGN}0.13"
