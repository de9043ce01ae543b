"""Experiments of the LHR paper: a quick look at each, and what is subtle in them."""

import json

import numpy as np
import pytest
from protocol_sets import written_set
from registry import THOROUGH, long

from highrelief import LHRelief
from highrelief.datasets import make_fermat_spiral
from highrelief.papers import lhr_2014
from highrelief.papers.data import DataSet, Sets
from highrelief.papers.experiment import Cell
from highrelief.papers.runner import find_experiment, not_run, plan, run_plan

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def little_choice():
    """Classifiers that have next to nothing to choose, which is what takes the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lhr_2014, "SVM_CHOICES", ((1.0, 1.0),))
        patch.setattr(lhr_2014, "KNN_CHOICES", (1, 3))
        patch.setattr(lhr_2014, "HKNN_CHOICES", ((3, 1.0),))
        yield


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    # 14 samples in all, of 40 genes: as wide as gene sets are.
    written_set(folder, "colon_alon", n_train=8, n_test=6, n_features=40)
    return folder


@pytest.fixture
def samples():
    random = np.random.default_rng(0)
    X = random.standard_normal((40, 7))
    y = (X[:, 0] + 0.5 * random.standard_normal(40) > 0.3).astype(np.int64)
    X[:, 3] = y  # a gene that is the class
    X[:, 4] = np.round(X[:, 4])  # with ties
    X[:, 5] = 2.0  # constant
    X[:, 6] = -X[:, 0]
    return X, y


# Published numbers


def test_published_numbers_are_those_of_the_paper():
    assert lhr_2014.TABLE_1[5000]["I-RELIEF"] == [79.3, 59.8, 55.0, 75.8, 78.0, 69.5]
    assert lhr_2014.TABLE_2[8000]["I-RELIEF"][0] == 0.0
    assert lhr_2014.TABLE_4["LHR-KNN"]["Colon"] == 91.94
    assert lhr_2014.TABLE_5["KNN"]["MIQ"]["Prostate2"] == 89.6
    assert lhr_2014.N_GENES["Leukemia"] == 23
    for table in lhr_2014.TABLE_5.values():
        assert list(table) == list(lhr_2014.TABLE_5["SVM"])
        assert all(list(row) == list(lhr_2014.N_GENES) for row in table.values())


@pytest.mark.parametrize(
    ("classifier", "method", "average"), [("SVM", "IG", 91.9), ("LDA", "LHR", 96.8), ("HKNN", "LOGO", 97.9)]
)
def test_averages_of_table_5_are_as_printed(classifier, method, average):
    assert np.mean(list(lhr_2014.TABLE_5[classifier][method].values())) == pytest.approx(average, abs=0.06)


# Rankings of single genes


def _by_every_cut(x, y, impurity):
    """What the best cut takes off n·impurity, cut by cut."""
    whole = len(y) * impurity(y)
    values = np.unique(x)
    left = [
        sum(len(side) * impurity(side) for side in (y[x <= value], y[x > value])) for value in values[:-1]
    ]
    return whole - min(left, default=whole)


def _entropy(y):
    shares = np.bincount(y) / len(y)
    return -sum(p * np.log2(p) for p in shares if p > 0)


def test_cuts_against_each_cut_by_itself(samples):
    X, y = samples
    gains, ginis = lhr_2014.information_gain(X, y), lhr_2014.gini(X, y)
    for j in range(X.shape[1]):
        assert gains[j] == pytest.approx(_by_every_cut(X[:, j], y, _entropy), abs=1e-9)
        gini = _by_every_cut(X[:, j], y, lambda side: 1.0 - np.sum((np.bincount(side) / len(side)) ** 2))
        assert ginis[j] == pytest.approx(gini, abs=1e-9)
        # The sum of variances of the class numbers on both sides is half of it.
        assert ginis[j] == pytest.approx(2.0 * _by_every_cut(X[:, j], y, np.var), abs=1e-9)
    assert np.argmax(gains) == np.argmax(ginis) == 3
    assert gains[5] == ginis[5] == 0.0
    assert gains[6] == pytest.approx(gains[0])


def test_the_twoing_rule_is_half_of_what_gini_gains(samples):
    X, y = samples
    for j, gained in enumerate(lhr_2014.gini(X, y)):
        best = 0.0
        for value in np.unique(X[:, j])[:-1]:
            left, count_correct = y[X[:, j] <= value], y[X[:, j] > value]
            apart = 2.0 * abs(left.mean() - count_correct.mean())
            best = max(best, len(left) * len(count_correct) / len(y) ** 2 * apart**2 / 4.0)
        assert gained == pytest.approx(2.0 * len(y) * best, abs=1e-9)


def test_t_statistic(samples):
    from scipy.stats import ttest_ind

    X, y = samples
    found, a, b = lhr_2014.t_statistic(X, y), X[y == 1, 0], X[y == 0, 0]
    plainly = (a.mean() - b.mean()) / np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b))
    assert found[0] == pytest.approx(abs(plainly))
    assert found[5] == 0.0
    assert found[3] == np.inf
    p = lhr_2014.t_test(X, y)
    assert (p[3], p[5]) == (0.0, 1.0)
    assert p[0] == pytest.approx(ttest_ind(a, b, equal_var=False).pvalue)


@pytest.mark.parametrize("C", [0.3, 1.0, 20.0])
def test_one_dimensional_svm_against_libsvm(samples, C):
    from sklearn.svm import SVC

    X, y = samples
    X = X[:, np.ptp(X, axis=0) > 0]
    scaled = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    signs = 2.0 * y - 1.0
    for j, found in enumerate(lhr_2014.one_dimensional_svm(X, y, C)):
        model = SVC(kernel="linear", C=C, tol=1e-6).fit(scaled[:, [j]], y)
        w, b = float(model.coef_[0, 0]), float(model.intercept_[0])
        cost = 0.5 * w * w + C * np.maximum(0.0, 1.0 - signs * (w * scaled[:, j] + b)).sum()
        assert -found == pytest.approx(cost, rel=1e-5)


# mRMR


def test_three_states_as_the_paper_says():
    x = np.array([[-3.0], [0.0], [0.0], [0.1], [4.0]])
    low, high = x.mean() - x.std(ddof=1), x.mean() + x.std(ddof=1)
    assert lhr_2014.three_states(x)[:, 0].tolist() == [-1, 0, 0, 0, 1]
    assert low > -3.0
    assert high < 4.0


def test_mutual_information_is_scikit_learns(samples):
    from sklearn.metrics import mutual_info_score

    X, y = samples
    states = lhr_2014.three_states(X)
    found = lhr_2014.States(states)
    for other in (y, states[:, 0]):
        plainly = [mutual_info_score(states[:, j], other) / np.log(2.0) for j in range(X.shape[1])]
        assert found.information(other) == pytest.approx(plainly, abs=1e-7)


@pytest.mark.parametrize("quotient", [False, True])
def test_mrmr_takes_genes_one_by_one(quotient, monkeypatch):
    from sklearn.metrics import mutual_info_score

    monkeypatch.setattr(lhr_2014, "CONFIDENCE", 1.1)
    random = np.random.default_rng(3)
    y = np.arange(60) % 2
    X = random.standard_normal((60, 12)) + np.outer(y, np.linspace(0.0, 2.0, 12))
    states = lhr_2014.three_states(X)

    def information(a, b):
        return mutual_info_score(a, b) / np.log(2.0)

    taken = []
    for _ in range(5):
        scores = {}
        for j in set(range(12)) - set(taken):
            relevance = information(states[:, j], y)
            redundancy = np.mean([information(states[:, j], states[:, i]) for i in taken] or [0.0])
            if not taken:
                scores[j] = relevance
            else:
                scores[j] = relevance / (redundancy + 0.01) if quotient else relevance - redundancy
        taken.append(max(scores, key=scores.get))
    assert lhr_2014.mrmr(X, y, 5, quotient=quotient).tolist() == taken


def test_mrmr_sees_only_what_the_t_test_leaves():
    random = np.random.default_rng(5)
    y = np.arange(50) % 2
    X = random.standard_normal((50, 30))
    X[:, [4, 9, 11]] += 3.0 * y[:, np.newaxis]
    assert np.sum(lhr_2014.t_test(X, y) < 0.01) == 3
    assert sorted(lhr_2014.mrmr(X, y, 3, quotient=True)) == [4, 9, 11]
    assert len(lhr_2014.mrmr(X, y, 6, quotient=False)) == 6


# Classifiers


def test_classifiers_are_those_that_are_named(samples):
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler
    from sklearn.svm import SVC

    X, y = samples[0][:, :3], samples[1]
    choice = lhr_2014.Hyperparameters((10.0, 1.0), 5, (3, 1.0))
    found = lhr_2014.count_correct(X[:30], y[:30], X[30:], y[30:], choice)
    # γ = 1/(features × variance) is what scikit-learn calls "scale".
    for name, model in (("SVM", SVC(C=10.0, gamma="scale")), ("KNN", KNeighborsClassifier(5))):
        plainly = make_pipeline(MinMaxScaler(), model).fit(X[:30], y[:30]).predict(X[30:])
        assert found[name] == np.sum(plainly == y[30:])
    assert set(found) == set(lhr_2014.CLASSIFIERS)
    assert all(0 <= count <= 10 for count in found.values())
    picked = lhr_2014.tune_classifiers(X, y)
    assert picked.svm in lhr_2014.SVM_CHOICES
    assert picked.hknn in lhr_2014.HKNN_CHOICES


# The spiral

N_POINTS = 60


def short_spiral():
    X, y, _ = make_fermat_spiral(N_POINTS, turns=1.0, random_state=0)
    return DataSet("spiral_one_turn", X, y)


@pytest.fixture(scope="module")
def spiral_outcomes(little_choice):
    """A repeat at none and one at 1,000 irrelevant features; fewer points than the paper has."""
    if not THOROUGH:
        pytest.skip("takes a minute: make test-long runs it")
    cells = [Cell("spiral_one_turn", "0", 0), Cell("spiral_one_turn", "1000", 1)]
    return {cell: find_experiment("lhr-table1").run(cell, short_spiral()) for cell in cells}


def test_the_tables_of_the_spiral(spiral_outcomes):
    json.dumps(list(spiral_outcomes.values()), allow_nan=False)
    tables = find_experiment("lhr-table1").results(spiral_outcomes)
    assert len(tables) == 6
    assert [("inside the fold" in table.title) for table in tables] == [False] * 3 + [True] * 3
    assert tables[0].row_names == ["1 turn, 0", "1 turn, 1,000"]
    assert tables[0].column_names == [*lhr_2014.CLASSIFIERS, "Aver."]
    reproduced = {(pair.row, pair.column): pair for pair in tables[0].pairs}
    mean = np.mean([reproduced["1 turn, 0", name].reproduced.mean for name in lhr_2014.CLASSIFIERS])
    assert reproduced["1 turn, 0", "Aver."].reproduced.mean == pytest.approx(mean)
    assert reproduced["1 turn, 0", "Aver."].published.mean == 75.2
    # Without irrelevant features there is nothing to select, and neighbors know their own branch.
    assert reproduced["1 turn, 0", "KNN"].reproduced.mean > 90.0
    assert len(find_experiment("lhr-table2").results(spiral_outcomes)) == 3
    (found,) = find_experiment("lhr-fig1").results(spiral_outcomes)
    both = {pair.column: pair.reproduced.mean for pair in found.pairs if pair.row == "1 turn, 0"}
    assert both["LHR"] == both["I-RELIEF"] == 2.0


def test_a_cell_of_the_spiral_again(spiral_outcomes):
    """Leave-one-out of naive Bayes on LHR's five features, by scikit-learn and the estimator alone."""
    from sklearn.model_selection import LeaveOneOut, cross_val_score
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler

    cell = Cell("spiral_one_turn", "1000", 1)
    X, y, _ = lhr_2014.with_irrelevant_features(cell, short_spiral())
    with pytest.warns(Warning, match="LHR often does not"):
        weights = LHRelief(n_features_to_select=5).fit(X, y).feature_weights_
    kept = X[:, np.argsort(-weights)[:5]]
    scores = cross_val_score(make_pipeline(MinMaxScaler(), GaussianNB()), kept, y, cv=LeaveOneOut())
    assert spiral_outcomes[cell]["one out"]["LHR"]["NB"] == pytest.approx(100.0 * scores.mean())


def test_the_spiral_is_hidden_where_ties_do_not_find_it():
    data = short_spiral()
    places = []
    for repeat in range(3):
        X, y, relevant = lhr_2014.with_irrelevant_features(Cell("spiral_one_turn", "1000", repeat), data)
        assert X.shape == (N_POINTS, 1002)
        assert len(relevant) == 2
        # The points of the file, with their classes, in some order.
        found = {
            (*sorted(row), label) for row, label in zip(X[:, relevant].tolist(), y.tolist(), strict=True)
        }
        held = zip(data.X.tolist(), data.y.tolist(), strict=True)
        assert found == {(*sorted(row), label) for row, label in held}
        # N(0, 1), and nothing to do with the classes.
        others = np.delete(X, relevant, axis=1)
        assert np.std(others) == pytest.approx(1.0, abs=0.02)
        assert abs(others[y == 1].mean() - others[y == 0].mean()) < 0.03
        places += relevant.tolist()
    assert len(set(places)) > 2
    assert min(places) > 1


def test_the_spiral_has_two_and_a_half_turns_or_one():
    far = {name: np.hypot(*Sets(None).get(name).X.T).max() ** 2 / (2.0 * np.pi) for name in lhr_2014.TURNS}
    assert far == pytest.approx({"spiral": 2.5, "spiral_one_turn": 1.0}, rel=0.02)
    assert [len(Sets(None).get(name).y) for name in lhr_2014.TURNS] == [400, 400]


def test_features_without_a_weight_are_not_kept():
    X, y, _ = make_fermat_spiral(120, turns=1.0, n_irrelevant=60, random_state=0)
    assert sorted(lhr_2014.best_features("LOGO", X, y, 5)) == [0, 1]
    assert len(lhr_2014.best_features("I-RELIEF", X, y, 5)) == 5


# Genes


@pytest.fixture(scope="module")
def gene_outcomes(data, little_choice):
    planned = plan(
        find_experiment("lhr-table5"), data=data, cache=data / "cache", datasets=("gcm", "colon_alon")
    )
    assert planned.missing == ["gcm"]
    return run_plan(planned)


@long
def test_the_tables_of_gene_sets(gene_outcomes, data):
    json.dumps(list(gene_outcomes.values()), allow_nan=False)
    tables = find_experiment("lhr-table5").results(gene_outcomes)
    assert len(tables) == 10
    assert tables[0].column_names == ["colon_alon"]
    assert tables[0].row_names == list(lhr_2014.TABLE_5["SVM"])
    by_place = {(pair.row, pair.column): pair for pair in tables[0].pairs}
    assert by_place["SumM", "colon_alon"].reproduced is None
    assert by_place["SumV", "colon_alon"].reproduced == by_place["Gini", "colon_alon"].reproduced
    assert by_place["LHR", "colon_alon"].published.mean == 87.1
    # Table 4 and the figure have cells of the same: nothing is left to do for them.
    for name in ("lhr-table4", "lhr-fig2"):
        again = plan(find_experiment(name), data=data, cache=data / "cache", datasets=("colon_alon",))
        assert again.remaining == []
    first, _ = find_experiment("lhr-table4").results(gene_outcomes)
    reproduced = {(pair.row, pair.column): pair.reproduced for pair in first.pairs}
    assert reproduced["LHR-SVM", "colon_alon"] == by_place["LHR", "colon_alon"].reproduced
    assert reproduced["BMSF-SVM", "colon_alon"] is None
    for table in find_experiment("lhr-fig2").results(gene_outcomes):
        assert all(pair.reproduced is None or 0.0 <= pair.reproduced.mean <= 100.0 for pair in table.pairs)


@long
def test_genes_are_selected_without_the_sample_that_is_left_out(gene_outcomes, data):
    """One cell again: the best gene by |t|, anew for every sample, judged by naive Bayes."""
    from sklearn.naive_bayes import GaussianNB

    held = Sets(data).get("colon_alon")
    X, y = held.X.astype(np.float64), held.y.astype(np.int64)
    n_right = 0
    for each in range(len(y)):
        others = np.arange(len(y)) != each
        best = np.argsort(-lhr_2014.t_statistic(X[others], y[others]))[: lhr_2014.N_GENES["Colon"]]
        n_right += GaussianNB().fit(X[others][:, best], y[others]).predict(X[[each]][:, best])[0] == y[each]
    outcome = gene_outcomes[Cell("colon_alon", "t-stat", 0)]
    assert outcome["inside"]["NB"] == n_right
    assert outcome["n_samples"] == 14
    assert outcome["n_genes"] == 18


def test_a_share_knows_its_deviation():
    found = lhr_2014.share(75.0, 48)
    assert found.error == pytest.approx(100.0 * np.sqrt(0.75 * 0.25 / 48))
    assert str(found) == "75.0"


def test_prostate1_is_the_training_samples():
    X, y = np.arange(12.0).reshape(6, 2), np.array([0, 1, 0, 1, 0, 1], dtype=np.int16)
    more = {"train_idx": np.array([1, 2, 5]), "test_idx": np.array([0, 3, 4])}
    kept, classes = lhr_2014.samples_of(DataSet("prostate_singh", X, y, more))
    assert np.array_equal(kept, X[[1, 2, 5]])
    assert classes.tolist() == [1, 0, 1]
    # Other sets are used whole, whatever they were divided into.
    assert len(lhr_2014.samples_of(DataSet("leukemia_golub", X, y, more))[1]) == 6


@long
def test_figures_are_drawn(spiral_outcomes, gene_outcomes):
    pytest.importorskip("matplotlib", reason="figures need the extra 'report'")
    (first,) = find_experiment("lhr-fig1").figures(spiral_outcomes).values()
    assert [ax.get_title() for ax in first.axes] == ["(a) 1 turn", "(b) ten-fold", "(c) leave-one-out"]
    assert sum(len(line.get_xdata()) for line in first.axes[0].lines) == N_POINTS
    (second,) = find_experiment("lhr-fig2").figures(gene_outcomes).values()
    assert [ax.get_title() for ax in second.axes] == ["colon_alon"]


def test_every_table_and_figure_is_run_or_named():
    shown = {f"lhr-table{i}" for i in range(1, 6)} | {"lhr-fig1", "lhr-fig2"}
    run = {name for name in shown if name not in not_run()}
    assert {find_experiment(name).name for name in run} == run
    assert shown - run == {"lhr-table3"}
