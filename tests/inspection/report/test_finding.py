"""The finding of a report: which features stand out, how many to keep, how far to trust it."""

from types import SimpleNamespace

import numpy as np

from highrelief import HighRelief, IRelief, ReliefF, report
from highrelief.datasets import make_epistasis, make_xor
from highrelief.inspection.report.finding import until_gap


def test_a_pair_of_genotypes_is_named_and_shown():
    X, y, _ = make_epistasis(500, n_irrelevant=10, heritability=0.3, random_state=0)
    found = report(IRelief().fit(X, y), X, y, resamples=4, interactions=False).contents
    assert set(found.finding.headline.split(" stand out")[0].split(" and ")) == {"x0", "x1"}
    assert found.finding.keep == "Keep 2 of 12 features"
    assert (found.finding.n_features, found.stability.n_best) == (2, 2)
    (picture,) = found.pair_pictures
    assert {picture.first, picture.second} == {"x0", "x1"}
    assert np.sum(picture.counts) == 500
    assert np.shape(picture.counts) == (2, 3, 3)
    # Three values each: bars, not boxes.
    assert all(each.levels for each in found.distributions)
    assert found.finding.answers[0].recommended
    assert found.finding.answers[0].n_features == 2


def test_features_that_matter_only_in_combination():
    X, y, _ = make_xor(200, n_irrelevant=20, random_state=0)
    found = report(HighRelief(random_state=0).fit(X, y), X, y, resamples=4).contents
    assert found.finding.headline == "x1 and x0 stand out, and matter only in combination."
    assert "neither is associated with the class" in " ".join(found.finding.sentences)
    assert found.finding.trust in ("high", "moderate")
    assert "x0 and x1" in found.absent["interactions"]
    assert len(found.pair_pictures[0].points) == 2


def test_noise_and_no_resampling():
    random = np.random.default_rng(1)
    X, y = random.normal(size=(60, 50)), np.arange(60) % 2
    model = ReliefF().fit(X, y)
    noise = report(model, X, y, resamples=4).contents
    assert noise.finding.headline == "No feature stands out from chance."
    assert (noise.finding.keep, noise.finding.trust) == ("Keep none of 50 features", "low")
    assert not any(noise.features.kept)
    unknown = report(model, X, y, resamples=0).contents.finding
    assert (unknown.n_features, unknown.trust) == (None, "unknown")
    assert "switched off" in unknown.reason


def test_names_what_follows_closely_before_a_gap():
    """LOGO of a spiral: two weights are far above all others, of which one is beyond chance."""
    weights = SimpleNamespace(values=np.array([0.75, 0.66, 0.01, 0.009, 0.0085, 0.008, 0.0075, 0.007]))
    assert until_gap(weights, [1, 2, 3, 4]) == [1]
    assert until_gap(weights, [2, 3, 4, 5, 6, 7]) == []
    assert until_gap(SimpleNamespace(values=np.array([1.0, 0.9, -0.1])), [0, 1, 2]) == [0, 1]
    assert until_gap(SimpleNamespace(values=np.array([0.0, 0.0, 0.0])), [0, 1, 2]) == []
