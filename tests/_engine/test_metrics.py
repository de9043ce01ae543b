"""Metrics: the one place that knows how differences of features add up to a distance."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import highrelief
from highrelief._engine.metrics import METRICS

PACKAGE = Path(highrelief.__file__).parent
SCIPY = {"manhattan": "cityblock"}


@pytest.mark.parametrize("name", METRICS)
def test_distances_are_those_of_scipy(name):
    X, metric = np.random.default_rng(0).normal(size=(7, 5)), METRICS[name]
    differences = np.abs(X[:, None] - X)
    sums = (differences**2 if metric.squares else differences).sum(axis=2)
    expected = cdist(X, X, SCIPY.get(name, name))
    np.testing.assert_allclose(metric.from_sums(sums), expected, rtol=1e-14)
    np.testing.assert_allclose(metric.to_sums(expected), sums, rtol=1e-14)


@pytest.mark.parametrize("name", METRICS)
def test_tolerance_of_sums_is_that_of_distances(name):
    metric = METRICS[name]
    sums = metric.to_sums(np.array([1.0, 1.0 + 1e-6]))
    assert sums[1] / sums[0] - 1.0 == pytest.approx(metric.tolerance_of_sums(1e-6), rel=1e-5)


@pytest.mark.parametrize("name", METRICS)
def test_margins_scale_as_the_terms_that_they_are_means_of(name):
    metric, factors = METRICS[name], np.array([0.5, 3.0])
    differences = np.array([2.0, 7.0])
    terms, scaled = differences, differences * factors
    if metric.squares_margins:
        terms, scaled = terms**2, scaled**2
    np.testing.assert_allclose(terms * metric.margin_factors(factors), scaled)


def test_no_other_module_of_the_engine_tells_metrics_apart_by_name():
    by_name = re.compile(r"""metric\s*[!=]=|["']\w*(?:euclidean|manhattan)["']|nearest\.EUCLIDEAN""")
    for folder in ("_engine", "_dask", "_solvers"):
        for path in (PACKAGE / folder).glob("*.py"):
            # The default of a neighborhood is a name.
            text = path.read_text().replace('metric: str = "manhattan"', "")
            assert path.name == "metrics.py" or not by_name.search(text), path
