"""Rankers of the benchmarks: ranks of relevant features, what does not apply, and where others are ahead."""

import sys
from types import ModuleType

import numpy as np
import pytest

from highrelief.datasets import make_xor
from highrelief.papers.rankers import (
    RANKERS,
    Ranker,
    comparison,
    few_levels,
    installed,
    not_installed,
    omissions,
    rank,
)


@pytest.fixture(scope="module")
def table():
    X, y, relevant = make_xor(120, n_irrelevant=4, random_state=0)
    return X, y, np.isin(np.arange(X.shape[1]), relevant)


@pytest.mark.parametrize("name", [name for name, each in RANKERS.items() if not each.package])
def test_every_ranker_of_ours_ranks(name, table):
    X, y, relevant = table
    target = X[:, 0] * X[:, 1] + 0.1 * y if RANKERS[name].continuous_target else y
    outcome = rank(name, X, target, relevant)
    assert outcome["n_features"] == 6
    assert len(outcome["ranks"]) == 2
    assert set(outcome["ranks"]) <= set(range(1, 7))
    assert outcome["seconds"] >= 0.0
    assert ("recommended" in outcome) == RANKERS[name].recommends


def test_relevant_features_come_first_and_are_recommended(table):
    X, y, relevant = table
    outcome = rank("HighRelief", X, y, relevant)
    assert outcome["ranks"] == [1, 2]
    assert (outcome["recommended"], outcome["right"], outcome["found"]) == (2, 2, 2)
    only_first = np.arange(6) == 0
    assert rank("HighRelief", X, y, only_first, relevant)["right"] == 2
    assert rank("HighRelief", X, y, only_first)["right"] == 1


@pytest.fixture
def rival(monkeypatch):
    """A rival whose scores and errors tests choose."""

    class Model:
        scores = ()

        def fit(self, X, y):
            if isinstance(self.scores, Exception):
                raise self.scores
            self.scores_ = np.asarray(self.scores)
            return self

    monkeypatch.setitem(RANKERS, "rival", Ranker(lambda _: Model(), "a_rival", "scores_"))
    monkeypatch.setitem(sys.modules, "a_rival", ModuleType("a_rival"))
    sys.modules["a_rival"].__spec__ = object()
    return Model


def test_ties_have_the_worst_rank(rival, table):
    X, y, relevant = table
    for scores, ranks in (
        ([3, 3, 1, 1, 1, 1], [2, 2]),
        ([3, 2, 2, 1, 1, 1], [1, 3]),
        ([0] * 6, [6, 6]),
        ([np.nan, 1, 0, 0, 0, 0], [1, 6]),
    ):
        rival.scores = scores
        assert rank("rival", X, y, relevant)["ranks"] == ranks


def test_a_rival_that_fails_is_reported(rival, table):
    X, y, relevant = table
    rival.scores = ValueError("too few samples")
    outcome = rank("rival", X, y, relevant)
    assert outcome == {"skipped": "ValueError: too few samples"}
    assert "Not applicable (ValueError: too few samples): rival." in omissions([("rival", outcome)])


def test_a_rival_is_listed_as_installed_or_not(rival):
    assert "rival" in installed()
    del sys.modules["a_rival"]
    assert "rival" not in installed()
    (remark, *_) = omissions([])
    assert remark.startswith("Not installed: ")
    assert "rival" in remark
    assert not_installed(["riv*"]) == "Not installed: rival; use pip install a_rival."
    assert not_installed(["IRelief"]) == ""


def test_what_does_not_apply(table):
    X, y, relevant = table
    assert rank("IRelief", X, X[:, 0], relevant) == {"skipped": "continuous targets"}
    assert rank("RReliefF", X, y, relevant) == {"skipped": "class targets"}
    holes = X.copy()
    holes[0, 0] = np.nan
    assert rank("FisherScore", holes, y, relevant) == {"skipped": "missing values"}
    assert rank("ReliefF", holes, y, relevant)["ranks"] == [1, 2]


def test_columns_of_few_levels():
    X = np.column_stack([np.arange(20) % 3, np.arange(20), np.arange(20) / 7, np.arange(20) % 2 * 0.5])
    assert few_levels(X).tolist() == [0]
    assert few_levels(X[:, 1:]) is None
    assert few_levels(X[:, :1].astype(np.int8)).tolist() == [0]
    X[0, 0] = np.nan
    assert few_levels(X).tolist() == [0]


def test_losses_are_marked_and_listed():
    values = {"HighRelief": {"a": 80.0, "b": 90.0}, "IRelief": {"a": 85.0, "b": 90.0}, "LOGO": {"a": 70.0}}
    table = comparison("Theme", "power, %", values, {"TreeSHAP": {"b": 95.0}, "LOGO": {"a": 60.0}})
    assert table.lines() == [
        ["method", "a", "b"],
        ["HighRelief", "80.0 / -", "90.0 / -"],
        ["IRelief", "85.0 ▲ / -", "90.0 / -"],
        ["LOGO", "70.0 / 60.0", "- / -"],
        ["TreeSHAP", "- / -", "- / 95.0"],
    ]
    assert table.remarks == [
        "a: ahead of HighRelief (80.0): IRelief 85.0.",
        "b: ahead of HighRelief (90.0): TreeSHAP 95.0 (published).",
    ]
    alone = comparison("Theme", "power, %", {"HighRelief": {"a": 80.0}})
    assert alone.remarks == ["No method is ahead of HighRelief."]
    assert alone.lines()[1] == ["HighRelief", "80.0"]
    assert alone.heading == "Theme (power, %)"
    # Nothing is compared with a method that was not run.
    assert comparison("Theme", "power, %", {"IRelief": {"a": 80.0}}).remarks == []
