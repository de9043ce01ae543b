"""Error rates are what they are said to be: a part of docs/error_control.py, with fewer seeds."""

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
MEASURED = runpy.run_path(str(DOCS / "error_control.py"))
CHOSEN = [
    each for each in MEASURED["EXPERIMENTS"] if each.weighter == "ReliefF" and each.part in ("null", "real")
]


@pytest.mark.parametrize("experiment", CHOSEN, ids=lambda each: each.name)
def test_the_realized_error_is_at_most_the_nominal_one(experiment):
    found = MEASURED["run"](experiment, 60)
    rate = MEASURED["error_of"](found, experiment.control)
    assert rate.low <= MEASURED["LEVEL"], rate


def test_interactions_are_found_where_t_tests_find_nothing():
    experiment = next(each for each in CHOSEN if each.problem.__name__ == "xor")
    found = MEASURED["run"](experiment, 30)
    assert MEASURED["power_of"](found["counts"]) > 0.8
    assert MEASURED["power_of"](found["t_tests"]) < 0.1


def test_one_round_is_wrong_beside_many_real_features():
    rounds = [
        each
        for each in MEASURED["EXPERIMENTS"]
        if each.part == "round" and each.weighter == "ReliefF" and each.problem.__name__ == "many"
    ]
    rates = {each.keep_found: MEASURED["error_of"](MEASURED["run"](each, 40), "fdr") for each in rounds}
    assert rates[False].mean > rates[True].mean
    assert rates[True].low <= MEASURED["LEVEL"]
