"""The estimators against reference outputs made elsewhere from the same readings of the formulas."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from highrelief import (
    FREL,
    IM4E,
    LOGO,
    FisherScore,
    GFlip,
    HKNNClassifier,
    IRelief,
    LHRelief,
    Lmba,
    OnlineIRelief,
    Relief,
    ReliefF,
    Simba,
    VarianceReduction,
)


def _irelief(sigma, n_iter, margin):
    return IRelief(sigma=sigma, margin=margin, max_iter=n_iter, tol=0.0, scale=None)


CASES = {
    "relief": Relief(scale=None),
    "relieff_k1": ReliefF(n_neighbors=1, scale=None),
    "relieff_k5": ReliefF(n_neighbors=5, scale=None),
    **{
        f"irelief_{margin}_s{sigma}_T{n_iter}": _irelief(sigma, n_iter, margin)
        for margin in ("nearest", "prior")
        for sigma in (0.5, 2.0)
        for n_iter in (1, 3)
    },
    "online_s1_a1_2epochs_in_order": OnlineIRelief(sigma=1.0, n_epochs=2, shuffle=False, scale=None),
    **{f"im4e_s0.25_T{n_iter}": IM4E(sigma=0.25, max_iter=n_iter, tol=0.0, scale=None) for n_iter in (1, 5)},
    "fisher": FisherScore(scale=None),
    **{
        f"frel_sgd_{loss}_{penalty}_{alpha}": FREL(loss=loss, penalty=penalty, alpha=alpha, scale=None)
        for loss in ("log", "square")
        for penalty, alpha in (("l2", 1.0), ("l1", 0.01))
    },
    **{
        f"lhr_k5_l0.001_T{n_iter}": LHRelief(n_neighbors=5, alpha=1e-3, max_iter=n_iter, tol=0.0, scale=None)
        for n_iter in (1, 2)
    },
    "lmba_k5": Lmba(n_neighbors=5, scale=None),
    "vr_lmba_k5": VarianceReduction(Lmba(n_neighbors=5, scale=None)),
    **{
        f"logo_s2_l0.5_T{n_iter}": LOGO(sigma=2.0, alpha=0.5, max_iter=n_iter, tol=0.0, scale=None)
        for n_iter in (1, 2)
    },
    "simba_in_order_1epoch": Simba(shuffle=False, scale=None),
}
#: References that a general optimizer found.
APPROXIMATE = ("logo",)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", ["binary", "three", "wide"])
def test_equals_the_reference(golden_folder, name, case):
    reference = np.load(golden_folder / f"{name}.npz")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a fixed number of iterations
        weights = CASES[case].fit(reference["X"], reference["y"]).feature_weights_
    tolerance = 1e-6 if case.startswith(APPROXIMATE) else 1e-10
    np.testing.assert_allclose(weights, reference[case], rtol=tolerance, atol=1e-2 * tolerance)


@pytest.mark.parametrize(
    ("loss", "penalty", "alpha"), [("log", "l2", 0.5), ("log", "l1", 0.01), ("square", "l2", 0.5)]
)
@pytest.mark.parametrize("name", ["binary", "three", "wide"])
def test_minimizers_equal_the_reference_as_far_as_it_is_exact(golden_folder, name, loss, penalty, alpha):
    """The reference comes from L-BFGS-B."""
    reference = np.load(golden_folder / f"{name}.npz")
    frel = FREL(loss=loss, penalty=penalty, alpha=alpha, solver="exact", scale=None)
    weights = frel.fit(reference["X"], reference["y"]).feature_weights_
    expected = reference[f"frel_exact_{loss}_{penalty}_{alpha}"]
    np.testing.assert_allclose(weights, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["binary", "three", "wide"])
def test_weights_of_samples_equal_the_reference(golden_folder, name):
    reference = np.load(golden_folder / f"{name}.npz")
    meta = VarianceReduction(Lmba(n_neighbors=5, scale=None)).fit(reference["X"], reference["y"])
    np.testing.assert_allclose(meta.sample_weights_, reference["vr_sample_weights_k5"], rtol=1e-10)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["binary", "three", "wide"])
def test_expected_distances_of_new_samples(golden_folder, name):
    reference = np.load(golden_folder / f"{name}.npz")
    model = CASES["im4e_s0.25_T5"].fit(reference["X"], reference["y"])
    expected = reference["im4e_s0.25_T5_psi"]
    np.testing.assert_allclose(model.expected_distances(reference["query"]), expected, rtol=1e-10)
    np.testing.assert_array_equal(model.predict(reference["query"]), model.classes_[expected.argmin(axis=1)])


@pytest.mark.parametrize("name", ["binary", "three", "wide"])
def test_hyperplane_distances_of_new_samples(golden_folder, name):
    reference = np.load(golden_folder / f"{name}.npz")
    model = HKNNClassifier(n_neighbors=4, alpha=1.0).fit(reference["X"], reference["y"])
    expected = reference["hknn_k4_l1_distances"]
    np.testing.assert_allclose(model.hyperplane_distances(reference["query"]), expected, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(reference["query"]), model.classes_[expected.argmin(axis=1)])


def test_the_set_and_its_score_equal_the_reference(golden_folder):
    reference = np.load(golden_folder / "binary.npz")
    model = GFlip(shuffle=False, scale=None).fit(reference["X"], reference["y"])
    np.testing.assert_array_equal(model.feature_weights_, reference["gflip_in_order"])
    assert model.score_ == pytest.approx(float(reference["gflip_score"]), rel=1e-12)
