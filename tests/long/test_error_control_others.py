"""Stability selection and knockoffs keep to their levels, and find what t-tests cannot; `make test-long`."""

import importlib.util
from pathlib import Path

import pytest

from highrelief import ReliefF

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "error_control_others.py"


@pytest.fixture(scope="module")
def experiments():
    """What made the numbers of the page."""
    spec = importlib.util.spec_from_file_location("error_control_others", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def within(found, level):
    mean, error = found
    return mean <= level + 2.6 * error


@pytest.mark.parametrize("design", ["independent", "AR 0.5", "AR 0.9", "blocks"])
@pytest.mark.parametrize("n_true", [0, 4])
def test_stability_keeps_to_its_level(experiments, design, n_true):
    found = experiments.stability(experiments.problem(design, 120, 60, n_true), 60, ReliefF())
    assert found["n_null"] >= (60 if n_true == 0 and design == "independent" else 20)
    assert within(found["expected_false"], 0.1)
    assert within(found["fwer"], 0.1)
    assert within(found["fdr"], 0.1)


@pytest.mark.parametrize("design", ["independent", "AR 0.5", "AR 0.9", "blocks"])
@pytest.mark.parametrize("n_true", [0, 15])
def test_knockoffs_keep_to_their_level(experiments, design, n_true):
    found = experiments.knockoffs(experiments.problem(design, 300, 100, n_true), 60, experiments.WEIGHTER)
    assert within(found["fdr"], 0.2)


def test_knockoffs_of_few_values_keep_to_their_level(experiments):
    """Lots among equals made it 0.22 here, and up to 0.42 where real features are neighbors."""
    problem = experiments.problem(experiments.GENOTYPES, 300, 60, 15)
    found = experiments.knockoffs(problem, 60, experiments.WEIGHTER)
    assert within(found["fdr"], 0.2)


def test_stability_finds_interactions(experiments):
    found = experiments.stability(experiments.parity(240, 60), 30, ReliefF())
    assert found["power_fwer"][0] > 0.8
    assert found["power_t"][0] < 0.1


def test_knockoffs_find_interactions(experiments):
    found = experiments.knockoffs(experiments.pairs(600, 60, 5), 30, experiments.WEIGHTER)
    assert found["power"][0] > 0.4
    assert found["power_t"][0] < 0.1
