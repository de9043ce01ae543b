"""The problems of Passemiers et al.: classes, folds, and numbers beside the published ones."""

import numpy as np
import pytest

from highrelief.papers import passemiers_2024
from highrelief.papers.data import PROBLEMS, Sets, nonlinear_problem
from highrelief.papers.experiment import Cell
from highrelief.papers.passemiers_2024 import AVERAGED, PUBLISHED, design_of, setting_of
from highrelief.papers.runner import find_experiment, plan, run_plan

EXPERIMENT = find_experiment("passemiers-recovery")


@pytest.mark.parametrize("name", PROBLEMS)
def test_classes_follow_the_formulas(name):
    X, y, _ = nonlinear_problem(name, 4000, 8)
    assert (X.min() >= 0.0, X.max() <= 1.0) == (True, True)
    # The thresholds balance the classes.
    assert y.mean() == pytest.approx(0.5, abs=0.06)
    ring = abs(np.sqrt((X[:, 0] - 0.5) ** 2 + (X[:, 1] - 0.5) ** 2) - 0.35)
    if name == "RING":
        assert np.array_equal(y, ring <= 0.1151)
    elif name == "XOR":
        assert np.array_equal(y, (X[:, 0] - 0.5) * (0.5 - X[:, 1]) >= 0)
    elif name == "RING+XOR":
        assert np.array_equal(y, (ring <= 0.0704) | ((X[:, 2] - 0.5) * (0.5 - X[:, 3]) >= 0.0337))
    else:
        certain = (ring <= 0.0479) | ((X[:, 2] - 0.5) * (0.5 - X[:, 3]) >= 0.0598)
        assert y[certain].all()
        total = X[:, 4] + X[:, 5]
        assert y[total > 1.9].mean() > 0.9
        assert y[~certain & (total < 0.9)].mean() < 0.05


def test_designs_with_fewer_features_than_relevant_are_left_out(tmp_path):
    cells = plan(EXPERIMENT, data=None, cache=tmp_path, settings=["HighRelief*"]).remaining
    least = {
        problem: min(design_of(c.setting)[2] for c in cells if c.dataset == problem) for problem in PROBLEMS
    }
    assert least == PROBLEMS
    assert len(cells) == 6 * 3 * (12 + 12 + 11 + 10)
    assert design_of(setting_of("Random forest", 250, 16)) == ("Random forest", 250, 16)


def test_a_cell_ranks_on_five_of_six_folds(monkeypatch):
    seen = []
    monkeypatch.setattr(passemiers_2024, "rank", lambda *given: seen.append(given) or {})
    for repeat in (0, 1, 5, 6):
        EXPERIMENT.run(Cell("RING+XOR", "IRelief n=250 m=8", repeat), Sets().get("RING+XOR"))
    (_, first, _, relevant), (_, second, *_), (_, last, *_), (_, fresh, *_) = seen
    assert relevant.tolist() == [True] * 4 + [False] * 4
    assert first.shape == (208, 8)
    # Folds of one table, without shuffling; then another table.
    assert np.array_equal(first[:166], last[42:208])
    assert np.array_equal(first[42:], second[42:])
    assert not np.isin(fresh[:, 0], first[:, 0]).any()


@pytest.fixture
def outcomes(monkeypatch, tmp_path):
    monkeypatch.setattr(passemiers_2024, "AVERAGED", (8, 16))
    settings = ["HighRelief n=250 m=8", "*Relief n=250 m=16", "FisherScore n=250 m=8"]
    return run_plan(
        plan(EXPERIMENT, data=None, cache=tmp_path, repeats=1, datasets=["XOR"], settings=settings), n_jobs=1
    )


def test_numbers_beside_the_published_ones(outcomes):
    by_problem, by_number = EXPERIMENT.results(outcomes)
    assert by_problem.title == "n = 250, mean over m = 8, 16"
    rows = {line[0]: line[1:] for line in by_problem.lines()}
    assert rows["method"] == ["XOR"]
    assert rows["LassoNet"] == ["- / 71.4"]
    # Methods that lack a number of features are not averaged.
    assert not {"IRelief", "FisherScore"} & set(rows)
    ranks = [run["ranks"] for cell, run in outcomes.items() if cell.setting.startswith("HighRelief")]
    assert by_problem.pairs[0].reproduced.mean == 100.0 * np.mean(np.array(ranks) <= 2)
    assert by_number.row_names == ["HighRelief", "FisherScore"]
    pytest.importorskip("matplotlib", reason="figures need the extra 'report'")
    figure = EXPERIMENT.figures(outcomes)["passemiers-recovery"]
    assert figure.axes[0].get_title() == "XOR, n = 250"
    assert EXPERIMENT.figures({}) == {}


def test_published_numbers_need_all_numbers_of_features(outcomes, monkeypatch):
    monkeypatch.setattr(passemiers_2024, "AVERAGED", AVERAGED)
    table = EXPERIMENT.results(outcomes)[0]
    assert not table.has_published
    # Means that the paper's text and figures lead to.
    means = {n: {name: np.mean(row) for name, row in rows.items()} for n, rows in PUBLISHED.items()}
    assert means[1000]["Random forest"] == pytest.approx(84.7, abs=0.05)
    assert means[1000]["LassoNet"] == pytest.approx(60.2, abs=0.05)
    assert means[250]["Random forest"] == pytest.approx(56.6, abs=0.05)
