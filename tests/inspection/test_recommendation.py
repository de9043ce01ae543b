"""How many features to keep."""

import numpy as np
import pytest
from registry import long

from highrelief import (
    FREL,
    IM4E,
    LOGO,
    CrossValidatedSelector,
    ErrorControlledSelector,
    FisherScore,
    GFlip,
    HighRelief,
    IRelief,
    KernelWidthCV,
    MultiSURF,
    RedundancyFilter,
    ReliefF,
    RReliefF,
)
from highrelief._engine.limits import limits
from highrelief.datasets import make_epistasis, make_xor
from highrelief.inspection.recommendation import Resampling, default_resampling, recommend
from highrelief.selection.permutation import PermutationTest

#: Dense and sparse weights, with and without a norm.
METHODS = [ReliefF(), MultiSURF(), IRelief(), LOGO(), FREL(), IM4E(), FisherScore(), RReliefF()]


def found_in(estimator, X, y, **options):
    options = {"n_permutations": 2, **options}
    return recommend(estimator.fit(X, y), X, y, **options)


@long
@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS, ids=lambda each: type(each).__name__)
def test_on_noise_none_is_recommended(method):
    """In nine of ten tables; 40 of them give more than 8 of probability 0.1 in one of 25 cases."""
    random = np.random.default_rng(0)
    any_found = 0
    for seed in range(40):
        X = random.normal(size=(60, 100))
        y = random.normal(size=60) if isinstance(method, RReliefF) else random.permutation(60) % 2
        any_found += found_in(method, X, y, random_state=seed).n_features > 0
    assert any_found <= 8


@pytest.mark.parametrize("method", [IRelief(), LOGO(), IM4E()], ids=lambda each: type(each).__name__)
def test_two_features_that_interact_are_recommended(method):
    X, y, relevant = make_xor(200, n_irrelevant=60, random_state=0)
    found = found_in(method, X, y)
    np.testing.assert_array_equal(found.features, relevant)
    assert (found.n_features, found.level, found.by) == (2, 0.1, "permuted labels")
    assert "familywise error rate 10 %" in found.reason
    assert found.headline == "Keep 2 of 62 features"
    assert np.all((found.adjusted_pvalues <= 0.1) == relevant)
    assert found.n_at_fdr >= 2


def test_genotypes():
    X, y, relevant = make_epistasis(600, n_irrelevant=30, random_state=0)
    found = found_in(IRelief(), X, y)
    np.testing.assert_array_equal(found.features, relevant)


def test_a_continuous_target():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 40))
    found = found_in(RReliefF(), X, 3.0 * X[:, 7] + random.normal(size=200))
    assert np.flatnonzero(found.features).tolist() == [7]
    assert "permuted targets" in found.reason


def test_a_weight_is_recommended_from_the_threshold_on():
    X, y, _ = make_xor(200, n_irrelevant=60, random_state=0)
    model = IRelief().fit(X, y)
    found = recommend(model, X, y, n_permutations=2)
    np.testing.assert_array_equal(found.features, model.feature_weights_ >= found.threshold)


def test_methods_that_control_an_error_rate_decide_themselves():
    X, y, relevant = make_xor(200, n_irrelevant=20, random_state=0)
    model = HighRelief(random_state=0).fit(X, y)
    found = recommend(model, X, y, n_permutations=0)
    np.testing.assert_array_equal(found.features, model.support_)
    assert (found.level, found.by) == (0.1, "HighRelief")
    selector = ErrorControlledSelector(ReliefF(), level=0.05, n_permutations=50, random_state=0).fit(X, y)
    found = recommend(selector, X, y, n_permutations=0)
    np.testing.assert_array_equal(found.features, selector.get_support())
    assert "false discovery rate of 5%" in found.reason.replace(" %", "%")
    chosen = GFlip(random_state=0).fit(X, y)
    found = recommend(chosen, X, y, n_permutations=2)
    np.testing.assert_array_equal(found.features, chosen.feature_weights_ > 0.0)
    assert found.level is None
    assert relevant.sum() == 2


def test_without_permutations_there_is_a_reason():
    X, y, _ = make_xor(60, n_irrelevant=5, random_state=0)
    assert "switched off" in recommend(ReliefF().fit(X, y), X, y, n_permutations=0)
    confounded = recommend(ReliefF().fit(X, y), X, y, n_permutations=2, batches=y)
    assert "confounded" in confounded


def test_wrappers_are_recommended_by_what_is_inside():
    X, y, relevant = make_xor(200, n_irrelevant=30, random_state=0)
    wide = np.column_stack([X, X[:, 0]])
    for model in (KernelWidthCV(IRelief(), cv=2), CrossValidatedSelector(IRelief(), cv=2)):
        np.testing.assert_array_equal(found_in(model, X, y).features, relevant)
    found = found_in(RedundancyFilter(IRelief(), threshold=0.99), wide, y)
    assert not (found.features[0] and found.features[-1])
    assert "redundant" in found.reason or found.n_features <= 2


def test_labels_are_permuted_within_batches(monkeypatch):
    X, y, _ = make_xor(120, n_irrelevant=5, random_state=0)
    batches = np.repeat([0, 1], 60)
    seen = []

    def null(self, places):
        seen.extend(places)
        return np.zeros((len(places), X.shape[1]))

    monkeypatch.setattr(PermutationTest, "null", null)
    recommend(ReliefF().fit(X, y, batches=batches), X, y, n_permutations=3, batches=batches)
    assert len(seen) == 3
    for places in seen:
        np.testing.assert_array_equal(batches[places], batches)


def test_the_seed_matters_and_the_number_of_jobs_does_not():
    X, y, _ = make_xor(100, n_irrelevant=30, random_state=0)
    model = IRelief().fit(X, y)
    first, again, other = (
        recommend(model, X, y, n_permutations=2, random_state=seed, n_jobs=jobs)
        for seed, jobs in ((0, 1), (0, 2), (1, 1))
    )
    np.testing.assert_array_equal(first.adjusted_pvalues, again.adjusted_pvalues)
    assert not np.array_equal(first.adjusted_pvalues, other.adjusted_pvalues)


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [((72, 7129), (20, 5)), ((1600, 1000), (4, 1)), ((20_000, 20_000), (4, 1)), ((100_000, 20), (4, 3))],
)
def test_refits_by_default(shape, wanted):
    """Three fits where there are many samples, more where a fit is little work, or features are few."""
    model = ReliefF()
    found = default_resampling(model, *shape)
    assert found == wanted
    assert Resampling(4, 1).n_fits == 3.0
    with limits(resampling_work=0.0):
        assert default_resampling(model, 72, 7129).n_fits == 3.0
    model.n_iter_ = 1000
    assert default_resampling(model, 72, 7129).n_fits == 3.0


@pytest.mark.parametrize(("shape", "n_halves"), [((72, 7129), 12), ((1600, 1000), 8), ((30, 40), 20)])
def test_a_method_that_decides_itself_is_fitted_to_halves_only(shape, n_halves):
    X, y, _ = make_xor(40, n_irrelevant=6, random_state=0)
    found = default_resampling(HighRelief(random_state=0).fit(X, y), *shape)
    assert found == (n_halves, 0)
    assert found.words == f"{n_halves} halves"
    assert default_resampling(ReliefF(), *shape).words.endswith(("permutation", "permutations"))
