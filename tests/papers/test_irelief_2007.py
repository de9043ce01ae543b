"""The experiments of the I-RELIEF paper, on small sets; and a few of their numbers by other ways."""

import json

import numpy as np
import pytest
from protocol_sets import written_set
from registry import THOROUGH
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

from highrelief import IRelief, OnlineIRelief
from highrelief.papers import irelief_2007
from highrelief.papers.data import Sets
from highrelief.papers.experiment import Cell, best_count, folds_of
from highrelief.papers.irelief_2007 import (
    IRELIEF,
    N_IRRELEVANT,
    NOT_RUN,
    RELIEF,
    Figure14,
    Split,
    _found,
    curve_at,
    cuts,
    irelief,
    mislabeled,
    paired_verdict,
    tune,
    weighted_error,
)
from highrelief.papers.results import p_value
from highrelief.papers.runner import find_experiment, plan, run_plan

pytestmark = pytest.mark.slow


def written_genes(folder, name, n_classes):
    """Thirty samples of forty genes, the first few of which tell the classes apart."""
    random = np.random.default_rng(n_classes)
    y = np.arange(30) % n_classes
    X = random.standard_normal((30, 40))
    X[:, :4] += 2.0 * np.eye(n_classes, 4)[y]
    (folder / "group").mkdir(exist_ok=True, parents=True)
    np.savez(folder / "group" / f"{name}.npz", X=X.astype(np.float32), y=y.astype(np.int16))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    data = tmp_path_factory.mktemp("data")
    for seed, name in enumerate(("ringnorm", "waveform", "twonorm")):
        written_set(data, name, seed=seed)
    # More than two classes, of which one has two samples.
    random = np.random.default_rng(5)
    X = random.standard_normal((90, 4)).astype(np.float32)
    y = (X[:, 0] > 0).astype(np.int16) + (X[:, 1] > 1)
    y[:2] = 3
    places = np.arange(90)[np.newaxis]
    np.savez(data / "group" / "yeast.npz", X=X, y=y, train_idx=places[:, :50], test_idx=places[:, 50:])
    written_genes(data, "dlbcl_gems", 2)
    written_genes(data, "srbct", 3)
    return data


def run(name, folder, *, repeats=1, datasets):
    experiment = find_experiment(name)
    outcomes = run_plan(
        plan(experiment, data=folder, cache=folder / "cache", repeats=repeats, datasets=datasets)
    )
    json.dumps(list(outcomes.values()), allow_nan=False)
    return experiment, outcomes


@pytest.fixture(scope="module")
def uci(folder):
    """Two runs on a set of two classes, one run on one of more."""
    if not THOROUGH:
        pytest.skip("takes a minute: make test-long runs it")
    _, outcomes = run("irelief-table2", folder, repeats=2, datasets=("ringnorm",))
    return {**outcomes, **run("irelief-table2", folder, datasets=("yeast",))[1]}


def pictures(experiment, outcomes):
    pytest.importorskip("matplotlib", reason="figures need the extra 'report'")
    (picture,) = experiment.figures(outcomes).values()
    assert all(ax.lines or ax.patches for ax in picture.axes if ax.axison)
    return picture


def test_table_2(uci):
    errors, tests = find_experiment("irelief-table2").results(uci)
    assert errors.row_names == ["ringnorm, 0 %", "ringnorm, 10 %", "yeast, 0 %", "yeast, 10 %"]
    found = {(pair.row, pair.column): pair for pair in errors.pairs}
    runs = [uci[Cell("ringnorm", "10 %", repeat)] for repeat in range(2)]
    pair = found["ringnorm, 10 %", "RELIEF"]
    assert pair.reproduced.mean == pytest.approx(
        100 * np.mean([r["methods"]["RELIEF"]["error"] for r in runs])
    )
    assert (pair.published.mean, pair.published.deviation, pair.published.n) == (34.0, 4.5, 20)
    assert found["ringnorm, 0 %", "KNN (clean)"].published.mean == 39.2
    assert ("ringnorm, 10 %", "KNN (clean)") not in found
    # Simba is for two classes, the other margin for more.
    assert found["ringnorm, 0 %", "Simba"].published is None
    assert ("yeast, 0 %", "Simba") not in found
    assert found["yeast, 0 %", "I-RELIEF-1"].reproduced.mean > 0.0
    first, *_ = tests.pairs
    assert str(first.published) == "0.47"
    # One run is no test.
    assert tests.pairs[-1].reproduced is None
    assert "theirs, on nine sets: 9/9/0" in tests.remarks[0]


def test_figures_of_the_same_runs(uci, folder):
    for name in ("irelief-fig5", "irelief-fig6"):
        experiment = find_experiment(name)
        (table,) = experiment.results(uci)
        assert len(table.row_names) == 4
        assert len(pictures(experiment, uci).axes) == 4
    for name, dataset in (
        ("irelief-fig7", "ringnorm"),
        ("irelief-fig8", "waveform"),
        ("irelief-fig9", "diabetis"),
    ):
        experiment = find_experiment(name)
        assert experiment.datasets == (dataset,)
        of_one = {Cell(dataset, share, 0): uci[Cell("ringnorm", share, 0)] for share in experiment.settings}
        (table,) = experiment.results(of_one)
        assert len(table.row_names) == 6
        assert len(pictures(experiment, of_one).axes) == 6
    again = plan(find_experiment("irelief-fig7"), data=folder, cache=folder / "cache", datasets=("ringnorm",))
    assert again.remaining == []


def test_a_cell_does_what_the_paper_says(uci, folder):
    """One run again, by scikit-learn's classifier and the estimators of the package."""
    cell = Cell("ringnorm", "10 %", 1)
    outcome, data = uci[cell], Sets(folder).get("ringnorm")
    train, test = data.split(1, 400)
    X = np.hstack([data.X, cell.random("irrelevant").standard_normal((len(data.X), 50))])
    low, width = X[train].min(axis=0), np.ptp(X[train], axis=0)
    X_train, X_test = (X[train] - low) / width, (X[test] - low) / width
    y = mislabeled(data.y[train].astype(np.int64), 0.1, cell.random("mislabeled"))
    k = best_count(X_train, y)
    assert outcome["K"] == k
    plain = KNeighborsClassifier(k).fit(X_train, y)
    assert outcome["noisy"] == pytest.approx(1.0 - plain.score(X_test, data.y[test]))
    reproduced = outcome["methods"]["I-RELIEF"]
    w = IRelief(sigma=reproduced["value"], scale=None).fit(X_train, y).feature_weights_
    best = np.argsort(-w)[: reproduced["n_features"]]
    chosen = KNeighborsClassifier(k).fit(X_train[:, best], y)
    assert reproduced["error"] == pytest.approx(1.0 - chosen.score(X_test[:, best], data.y[test]))
    assert reproduced["area"] == pytest.approx(roc_auc_score(np.arange(53) < 3, w))


def wrong_by_number(fitting, validation, w):
    """How many samples 3-NN gets wrong with the 1, 2, … features of largest weight, of which all are > 0."""
    order = np.argsort(-w)[: np.count_nonzero(w > 0)]
    squares = np.cumsum((validation[0][:, np.newaxis, order] - fitting[0][:, order]) ** 2, axis=2)
    nearest = np.argsort(squares, axis=1)[:, :3]
    votes = fitting[1][nearest].sum(axis=1)
    return np.sum((votes >= 2) != validation[1][:, np.newaxis], axis=0)


def test_values_and_numbers_of_features_are_chosen_on_training_samples(folder):
    """The same choice, counted otherwise, fold by fold."""
    split = Split(Cell("ringnorm", "10 %", 1), Sets(folder).get("ringnorm"))
    X, y = split.training
    for method in (IRELIEF, RELIEF):
        wrong, curves = np.zeros(len(method.values)), np.zeros((len(method.values), 53))
        for train, test in folds_of(y):
            fitting, validation = (X[train], y[train]), (X[test], y[test])
            for place, value in enumerate(method.values):
                w = np.maximum(method.weigh(fitting, value), 0.0)
                factors = np.sqrt(w)
                weighted = (fitting[0] * factors, fitting[1]), (validation[0] * factors, validation[1])
                wrong[place] += wrong_by_number(*weighted, w)[-1]
                counts = wrong_by_number(fitting, validation, w)
                curves[place] += np.append(counts, np.repeat(counts[-1], 53 - len(counts)))
        best = int(np.argmin(wrong))
        at = [curves[best, number - 1] for number in cuts(53)]
        assert tune(method, split, 3) == (best, int(np.argmin(at)))


def test_wrong_labels():
    y = np.repeat([0, 1, 4], 40)
    changed = mislabeled(y, 0.1, np.random.RandomState(0))
    assert np.count_nonzero(changed != y) == 12
    assert set(changed) == {0, 1, 4}
    assert np.array_equal(mislabeled(y, 0.0, np.random.RandomState(0)), y)


def test_features_without_weight_are_not_chosen():
    random = np.random.default_rng(0)
    X = random.standard_normal((40, 5))
    y = (X[:, 0] > 0).astype(np.int64)
    fitting, validation = (X[:30], y[:30]), (X[30:], y[30:])
    w = np.array([0.0, 2.0, 0.0, 1.0, -1.0])
    found = curve_at(range(1, 6), w, np.arange(5), fitting, validation, 3)
    plain = [
        1.0 - KNeighborsClassifier(3).fit(X[:30][:, chosen], y[:30]).score(X[30:][:, chosen], y[30:])
        for chosen in ([1], [1, 3])
    ]
    assert found == pytest.approx([plain[0], *[plain[1]] * 4])
    # Equal weights: by lot.
    equal = curve_at([1], np.ones(5), np.array([4, 3, 2, 0, 1]), fitting, validation, 3)
    only = KNeighborsClassifier(3).fit(X[:30, [3]], y[:30]).score(X[30:, [3]], y[30:])
    assert equal == pytest.approx([1.0 - only])
    factors = np.sqrt(np.maximum(w, 0.0))
    model = KNeighborsClassifier(3).fit(X[:30] * factors, y[:30])
    assert weighted_error(w, fitting, validation, 3) == pytest.approx(
        1.0 - model.score(X[30:] * factors, y[30:])
    )


def test_original_features_found_at_each_number_of_irrelevant_ones():
    relevant = np.arange(3 + N_IRRELEVANT) < 3
    w = np.zeros(len(relevant))
    w[[0, 10, 1]] = 1.0, 0.9, 0.8
    found = _found(w, relevant)
    assert found[:2] == pytest.approx([1 / 3, 2 / 3], abs=1e-5)
    # The rest is tied with the last original feature: a straight line.
    assert found[1:] == pytest.approx(np.linspace(2 / 3, 1.0, N_IRRELEVANT), abs=1e-5)


def test_t_test():
    reproduced, rival = [1.0, 2.0, 3.0, 4.0], [2.0, 3.5, 3.5, 5.5]
    difference = np.subtract(reproduced, rival)
    t = difference.mean() / (difference.std(ddof=1) / 2.0)
    assert t == pytest.approx(-4.7, abs=0.05)
    assert p_value(reproduced, rival) == pytest.approx(0.0182, abs=1e-4)
    assert (paired_verdict(reproduced, rival), paired_verdict(rival, reproduced)) == (1, -1)
    assert paired_verdict([1.0, 2.0], [2.0, 1.0]) == 0
    assert p_value([1.0], [2.0]) is None
    assert p_value(reproduced, reproduced) == 1.0


def test_numbers_are_those_of_the_paper():
    """Lines of Table 2, as the paper has them, and the last row."""
    lines = {
        ("ringnorm", "10 %"): "44.2(1.1)	28.1(1.5)	34.0(4.5)	0.00",
        ("thyroid", "0 %"): "24.1(3.8)	5.8(3.2)	8.7(4.3)	0.02",
        ("yeast", "10 %"): "66.2(1.4)	45.5(1.7)	49.0(1.9)	0.00",
    }
    for key, line in lines.items():
        *errors, p = irelief_2007.TABLE_2[key]
        assert "\t".join([*(f"{mean}({deviation})" for mean, deviation in errors), f"{p:.2f}"]) == line
    # The text counts nine wins at the level 0.03; rounded p-values agree.
    wins = sum(
        row.p <= irelief_2007.SIGNIFICANT and row.irelief < row.relief
        for row in irelief_2007.TABLE_2.values()
    )
    assert (wins, len(irelief_2007.TABLE_2) - wins, 0) == irelief_2007.WINS_TIES_LOSSES
    assert irelief_2007.PUBLISHED["srbct", "RELIEF", 5] == 17.0
    assert {f"irelief-fig{number}" for number in range(1, 5)} < set(NOT_RUN)


def test_widths_and_starts(folder):
    experiment, outcomes = run("irelief-fig11", folder, repeats=2, datasets=("waveform",))
    (table,) = experiment.results(outcomes)
    found = {(pair.row, pair.column): pair.reproduced.mean for pair in table.pairs}
    assert found["sigma = 5", "converged, %"] == 100.0
    assert found["sigma = 5", "iterations"] < found["sigma = 0.2", "iterations"]
    assert len(pictures(experiment, outcomes).axes) == 2
    split = Split(Cell("waveform", "", 0), Sets(folder).get("waveform"))
    model = IRelief(sigma=0.5, scale=None).fit(*split.training)
    outcome = outcomes[Cell("waveform", "", 0)]
    assert outcome["changes"]["0.5"] == pytest.approx(model.history_, rel=1e-3)
    assert outcome["ends_apart"] < 1e-3
    experiment, outcomes = run("irelief-fig10", folder, datasets=("twonorm", "waveform"))
    (table,) = experiment.results(outcomes)
    found = {(pair.row, pair.column): pair.reproduced.mean for pair in table.pairs}
    assert found["twonorm", "sigma = 1"] == pytest.approx(100.0, abs=0.01)
    assert found["waveform", "sigma = 5"] > 90.0
    assert len(pictures(experiment, outcomes).axes) == 2


def test_online_against_batch(folder):
    experiment, outcomes = run("irelief-fig12", folder, repeats=2, datasets=("ringnorm",))
    (table,) = experiment.results(outcomes)
    found = {(pair.row, pair.column): pair.reproduced.mean for pair in table.pairs}
    assert found["ringnorm, after 600 samples", "a = 1"] < found["ringnorm, after 60 samples", "a = 1"]
    pictures(experiment, outcomes)
    figure_13, (one, *_) = find_experiment("irelief-fig13"), outcomes.items()
    (table,) = figure_13.results(dict([one]))
    assert len(table.row_names) == 3
    pictures(figure_13, dict([one]))


def test_watched_weights_are_those_of_the_estimator(folder):
    cell = Cell("ringnorm", "", 0)
    samples = Split(cell, Sets(folder).get("ringnorm")).training
    way = irelief_2007.path(samples, 0.5, cell)
    options = {"sigma": irelief_2007.SIGMA, "step_decay": 0.5, "scale": None}
    for passes in (1, irelief_2007.N_PASSES):
        model = OnlineIRelief(**options, n_epochs=passes, random_state=cell.random("order")).fit(*samples)
        assert np.array_equal(way[3 * passes - 1], model.feature_weights_)
    assert list(irelief_2007._seen(60)[:4]) == [20, 40, 60, 80]
    assert len(irelief_2007._seen(50)) == len(way)
    assert list(irelief_2007._seen(50)[:4]) == [20, 40, 50, 70]


def test_microarrays_by_leave_one_out(folder):
    experiment = find_experiment("irelief-fig14")
    planned = plan(experiment, data=folder, cache=folder, datasets=("srbct", "dlbcl_gems"))
    assert len(planned.remaining) == 20
    # Every sample is left out once.
    y = Sets(folder).get("srbct").y
    assert sorted(np.concatenate([irelief_2007.batch_of(y, name) for name in experiment.settings])) == list(
        range(30)
    )
    outcomes = {
        cell: experiment.run(cell, Sets(folder).get(cell.dataset))
        for cell in (Cell("srbct", "batch 3", 0), Cell("dlbcl_gems", "batch 3", 0))
    }
    json.dumps(list(outcomes.values()), allow_nan=False)
    (table,) = experiment.results(outcomes)
    assert table.row_names == [
        "srbct, RELIEF",
        "srbct, I-RELIEF-1",
        "srbct, I-RELIEF-2",
        "dlbcl_gems, RELIEF",
        "dlbcl_gems, I-RELIEF-2",
    ]
    assert len(pictures(experiment, outcomes).axes) == 2
    # One batch again, by scikit-learn's classifier.
    data, cell = Sets(folder).get("srbct"), Cell("srbct", "batch 3", 0)
    outcome, y = outcomes[cell], data.y
    batch = np.argsort(y, kind="stable")[2::10]
    wrong = 0
    for place in batch:
        others = np.delete(np.arange(30), place)
        low, width = data.X[others].min(axis=0), np.ptp(data.X[others], axis=0)
        X = (data.X.astype(np.float64) - low) / width
        w = irelief((X[others], y[others]), outcome["chosen"]["I-RELIEF-2"])
        best = np.argsort(-w)[:5]
        model = KNeighborsClassifier(outcome["chosen"]["K"]).fit(X[others][:, best], y[others])
        wrong += int(model.predict(X[[place]][:, best])[0] != y[place])
    assert outcome["wrong"]["I-RELIEF-2"][irelief_2007.GENES.index(5)] == wrong


def test_samples_left_out_have_no_part_in_what_is_chosen(folder):
    """Whatever the values of those left out are, the same K, width and number of neighbors are chosen."""
    data, cell = Sets(folder).get("dlbcl_gems"), Cell("dlbcl_gems", "batch 1", 0)
    before = Figure14().run(cell, data)["chosen"]
    data.X[irelief_2007.batch_of(data.y, cell.setting)] = 100.0
    assert Figure14().run(cell, data)["chosen"] == before


def test_folds_with_a_class_of_few_samples():
    y = np.array([0] * 40 + [1] * 30 + [2] * 2)
    folds = folds_of(y)
    assert len(folds) == 10
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(72))
