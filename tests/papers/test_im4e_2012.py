"""The experiments of the I-M4E paper (Bei and Hong 2012), on sets that take seconds."""

import json

import numpy as np
import pytest
from protocol_sets import written_set
from registry import long
from sklearn.feature_selection import RFE
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from highrelief import IM4E, Relief, ReliefF, Simba
from highrelief.papers import im4e_2012
from highrelief.papers.data import DataSet, Sets
from highrelief.papers.experiment import Cell
from highrelief.papers.im4e_2012 import (
    MARGIN_LEARNERS,
    RIVALS,
    Fold,
    Halving,
    expected_distance,
    halved,
    nearest,
    standardized,
    verdict,
)
from highrelief.papers.runner import find_experiment, plan, run_plan

pytestmark = pytest.mark.slow


def quickly(name, data, *, repeats, datasets):
    return run_plan(
        plan(find_experiment(name), data=data, cache=data / "cache", repeats=repeats, datasets=datasets)
    )


# The illustration


def test_quality_warns_of_margins_that_hang_on_one_sample(tmp_path):
    outcomes = quickly("im4e-fig1", tmp_path, repeats=1, datasets=("lost_hit", "lost_miss"))
    hit = outcomes[Cell("lost_hit", "", 0)]["losses"]
    miss = outcomes[Cell("lost_miss", "", 0)]["losses"]
    # As Tables 1 and 2 have it: the margin alone prefers the one, the total loss the other, and rightly so.
    for reproduced, published in (
        (hit, im4e_2012.PUBLISHED["lost_hit"]),
        (miss, im4e_2012.PUBLISHED["lost_miss"]),
    ):
        for column in ("L", "Q", "T", "L after", "T after"):
            place = im4e_2012.COLUMNS.index(column)
            order = published["w(1,2)"][place] < published["w(2,3)"][place]
            assert (reproduced["w(1,2)"][column] < reproduced["w(2,3)"][column]) == order, column
    # Only the entropy of the class that loses a sample changes.
    assert hit["w(2,3)"]["E_miss"] == hit["w(2,3)"]["E_miss after"] == pytest.approx(hit["w(1,2)"]["E_miss"])
    assert miss["w(2,3)"]["E_hit"] == miss["w(2,3)"]["E_hit after"] == pytest.approx(miss["w(1,2)"]["E_hit"])
    first, second = find_experiment("im4e-fig1").results(outcomes)
    assert "total loss w(1,2)" in first.remarks[0]
    assert "total loss w(2,3)" in second.remarks[0]


@pytest.mark.filterwarnings("ignore:IM4E did not converge")
def test_the_losses_are_those_of_the_estimator():
    X, y = Sets(None).get("lost_hit").X, Sets(None).get("lost_hit").y
    w = np.array([0.5, 0.5, 0.0])
    model = IM4E(sigma=1.0, init=w, max_iter=1, scale=None).fit(X, y)
    hits = misses = 0.0
    for n in range(len(y)):
        first = [n, *(i for i in range(len(y)) if i != n)]
        found = im4e_2012.losses(X[first], y[first], w)
        hits, misses = hits + found["E_hit"], misses + found["E_miss"]
    assert model.hit_entropy_[0] == pytest.approx(hits)
    assert model.miss_entropy_[0] == pytest.approx(misses)


# Table 5


@pytest.fixture(scope="module")
def table_5(tmp_path_factory):
    data = tmp_path_factory.mktemp("data")
    written_set(data, "ecoli", n_train=24, n_test=16)
    written_set(data, "parkinsons", n_train=24, n_test=16, seed=1)
    return quickly("im4e-table5", data, repeats=2, datasets=("ecoli", "parkinsons")), Sets(data)


@long
def test_table_5_beside_the_paper(table_5):
    outcomes, _ = table_5
    (table,) = find_experiment("im4e-table5").results(outcomes)
    assert table.row_names == ["EC", "PARK"]
    assert table.column_names[:13] == [*im4e_2012.METHODS[:-1], "LOGO, eq. 10"]
    pairs = {(pair.row, pair.column): pair for pair in table.pairs}
    for name in ("ADT", "BN", "RBF"):
        assert pairs["EC", name].reproduced is None
        assert pairs["EC", name].published is not None
    for name in ("CART", "SVM1", "LOGO, eq. 10"):
        assert pairs["EC", name].published is None
    folds = [outcomes[Cell("parkinsons", "", repeat)]["accuracy"] for repeat in (0, 1)]
    assert pairs["PARK", "I-M4E"].reproduced.mean == pytest.approx(np.mean([each["I-M4E"] for each in folds]))
    kernels = [np.mean([each[name] for each in folds]) for name in ("SVM1", "SVM2", "SVM3", "SVMP", "SVMR")]
    assert pairs["PARK", "SMO"].reproduced.mean == pytest.approx(max(kernels))
    assert "on 2 sets, by at least 2 of 100 folds: IB1 " in table.remarks[0]
    assert table.remarks[1].startswith("Theirs, by 100 folds: ADT 1/1/9, BN 0/2/9, ")
    assert table.remarks[1].endswith("LOGO 2/4/5.")
    json.dumps(list(outcomes.values()), allow_nan=False)


@long
def test_a_fold_again_by_other_means(table_5):
    outcomes, sets = table_5
    found, data = outcomes[Cell("ecoli", "", 1)], sets.get("ecoli")
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    train, test = list(folds.split(data.X, data.y))[1]
    X, y = data.X.astype(float), data.y
    scaled, inside = StandardScaler().fit(X[train]), MinMaxScaler().fit(X[train])

    def right(model, scaler=inside):
        return 100.0 * model.fit(scaler.transform(X[train]), y[train]).score(
            scaler.transform(X[test]), y[test]
        )

    accuracy, chosen = found["accuracy"], found["chosen"]
    assert accuracy["I-M4E"] == right(IM4E(sigma=chosen["I-M4E"][0], max_iter=20, scale=None), scaled)
    assert accuracy["IB1"] == right(KNeighborsClassifier(1))
    assert accuracy["IB3"] == right(KNeighborsClassifier(3))
    assert accuracy["NBC"] == right(GaussianNB())
    assert accuracy["SVM1"] == right(SVC(C=1.0, kernel="linear"))
    assert accuracy["SVM3"] == right(SVC(C=1.0, kernel="poly", degree=3, gamma=1.0, coef0=0.0))
    assert accuracy["SVMR"] == right(SVC(C=1.0, kernel="rbf", gamma=0.01))
    k = int(chosen["RFF"][0])
    weights = ReliefF(n_neighbors=k, scale="standard").fit(X[train], y[train]).feature_weights_.clip(0)
    neighbors = KNeighborsClassifier(k, metric="manhattan")
    neighbors.fit(scaled.transform(X[train]) * weights, y[train])
    assert accuracy["RFF"] == 100.0 * neighbors.score(scaled.transform(X[test]) * weights, y[test])
    simba = Simba(scale="standard", weighted=True, random_state=0).fit(X[train], y[train])
    neighbors = KNeighborsClassifier(1).fit(simba.transform(X[train]), y[train])
    assert accuracy["SIM"] == 100.0 * neighbors.score(simba.transform(X[test]), y[test])


@pytest.mark.filterwarnings("ignore:IM4E did not converge")
@long
def test_the_width_is_the_best_of_internal_cross_validation(table_5):
    outcomes, sets = table_5
    data = sets.get("parkinsons")
    fold = Fold(data.X, data.y, 0)
    right = dict.fromkeys(MARGIN_LEARNERS["I-M4E"].settings, 0)
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(fold.X_train, fold.y):
        for sigma in right:
            model = IM4E(sigma=sigma, max_iter=20, scale=None).fit(fold.X_train[train], fold.y[train])
            right[sigma] += np.sum(model.predict(fold.X_train[test]) == fold.y[test])
    assert outcomes[Cell("parkinsons", "", 0)]["chosen"]["I-M4E"][0] == max(right, key=right.get)
    assert next(iter(right)) == 1.0
    assert min(right) == pytest.approx(2.0**-13)


def test_which_samples_of_the_uci_sets():
    X = np.arange(20.0)[:, np.newaxis]
    y = np.array([0] * 4 + [1] * 7 + [2] * 6 + [3] * 3)
    kept, classes = im4e_2012.two_classes(DataSet("ecoli", X, y))
    assert np.array_equal(kept[:, 0], np.arange(4.0, 17.0))
    assert np.array_equal(classes, [0] * 7 + [1] * 6)
    kept, classes = im4e_2012.two_classes(DataSet("glass", X, y))
    assert np.array_equal(classes, [0] * 17 + [1] * 3)
    kept, _ = im4e_2012.two_classes(DataSet("hayes_roth", np.zeros((160, 4)), np.arange(160) % 3))
    assert kept.shape == (88, 4)


def test_published_numbers():
    """Lines of the paper's tables."""
    lymphography = "82.70 81.49 75.65 81.19 84.09 83.37 84.54 77.60 65.69 79.81 85.75 85.26 84.94"
    assert list(im4e_2012.TABLE_5["lymphography"].values()) == [float(each) for each in lymphography.split()]
    assert im4e_2012.TABLE_5["wine_quality_white"]["LOGO"] == 53.99
    prostate = "89.83 88.16 85.84 86.59 86.97 87.39 91.51 92.16 92.30 83.01 69.86 88.13"
    assert list(im4e_2012.TABLE_3["prostate_singh"].values()) == [float(each) for each in prostate.split()]
    assert im4e_2012.TABLE_4["myeloma_tian"]["I-M4E"] == 97.38
    assert im4e_2012.STANDINGS_3["SVMR"] == "0/1/4"
    assert im4e_2012.STANDINGS_5["GFP"] == "0/1/10"


# Who wins


def test_a_win_takes_significance_and_half_a_per_cent():
    random = np.random.default_rng(0)
    base = 80.0 + 5.0 * random.standard_normal(100)
    noise = 0.5 * random.standard_normal(100)
    noise -= noise.mean()
    assert verdict(base + 0.6 + noise, base) == "win"
    assert verdict(base, base + 0.6 + noise) == "loss"
    assert verdict(base + 0.4 + noise, base) == "tie"  # p is tiny, the difference too small
    assert verdict(base + 0.6 + 10.0 * noise, base) == "tie"  # p = 0.23
    assert verdict(base + 1.0, base) == "win"
    assert verdict(base, base) == "tie"
    assert verdict([90.0], [80.0]) == "tie"


# Rules and scaling


def test_missing_values_become_the_mean_and_constants_stay():
    X_train = np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 5.0]])
    scaled, X_test = standardized(X_train, np.array([[np.nan, 5.0], [5.0, 6.0]]))
    assert np.array_equal(scaled, [[-1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    assert np.array_equal(X_test, [[0.0, 0.0], [3.0, 1.0]])
    scaled, _ = standardized(np.full((3, 1), np.nan), np.ones((1, 1)))
    assert np.array_equal(scaled, np.zeros((3, 1)))


def test_without_weights_the_largest_class_is_left():
    X, y = np.arange(6.0).reshape(3, 2), np.array([1, 1, 0])
    for rule in (nearest(X, y, np.zeros(2)), expected_distance(X, y, np.zeros(2), 1.0)):
        assert np.array_equal(rule(X), [1, 1, 1])


@pytest.mark.filterwarnings("ignore:IM4E did not converge")
def test_the_rule_under_other_weights():
    random = np.random.default_rng(0)
    X, y = random.standard_normal((30, 4)), np.arange(30) % 2
    model = IM4E(sigma=1.0, scale=None, max_iter=3, tol=0.0).fit(X, y)
    X_test = random.standard_normal((20, 4))
    rule = expected_distance(X, y, model.feature_weights_, 1.0)
    assert np.array_equal(rule(X_test), model.predict(X_test))


# Genes


@pytest.fixture(scope="module")
def genes(tmp_path_factory):
    data = tmp_path_factory.mktemp("data")
    written_set(data, "colon_alon", n_train=18, n_test=12, n_features=60)
    return data


@long
def test_tables_3_and_4_beside_the_paper(genes):
    for name, methods in (("im4e-table3", im4e_2012.METHODS_3), ("im4e-table4", im4e_2012.METHODS_4)):
        outcomes = quickly(name, genes, repeats=1, datasets=("colon_alon",))
        inside, on_all = find_experiment(name).results(outcomes)
        assert inside.title.endswith("in the training folds")
        assert on_all.title.endswith("those of the test too")
        assert inside.column_names[: len(methods)] == list(methods)
        pairs = {pair.column: pair for pair in inside.pairs}
        (found,) = outcomes.values()
        assert pairs["I-M4E"].reproduced.mean == found[im4e_2012.IN_FOLDS]["accuracy"]["I-M4E"]
        json.dumps(found, allow_nan=False)
    sizes = [
        n
        for _, n in quickly("im4e-table3", genes, repeats=1, datasets=("colon_alon",))[
            Cell("colon_alon", "", 0)
        ][im4e_2012.IN_FOLDS]["chosen"].values()
    ]
    assert set(sizes) <= {60, 30}


def test_halving_by_a_linear_machine_is_svm_rfe():
    random = np.random.default_rng(0)
    X = random.standard_normal((40, 200))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    levels = [kept for kept, _ in Halving(RIVALS["SVM"], 0.0).halving_steps(X, y)]
    assert [kept.size for kept in levels] == [200, 100, 50, 25] == halved(200)
    kept = np.arange(200)
    for level in levels[1:]:
        eliminating = RFE(SVC(C=1.0, kernel="linear"), n_features_to_select=level.size, step=level.size)
        kept = kept[eliminating.fit(MinMaxScaler().fit_transform(X[:, kept]), y).support_]
        assert np.array_equal(kept, level)


def test_weights_below_0_still_rank():
    random = np.random.default_rng(7)
    X, y = random.standard_normal((40, 200)), np.arange(40) % 2
    for name, setting, model in (
        ("RLF", 0.0, Relief(metric="sqeuclidean", scale=None)),
        ("RFF", 3, ReliefF(n_neighbors=3, scale=None)),
    ):
        weights = model.fit(X, y).feature_weights_
        # Of pure noise more than half weighs less than 0; which of that goes must not depend on its place.
        assert np.sum(weights > 0.0) < 100
        _, (kept, _), *_ = Halving(MARGIN_LEARNERS[name], setting).halving_steps(-X[:, ::-1], y)
        assert np.array_equal(np.sort(199 - kept), np.sort(np.argsort(-weights)[:100]))


def test_features_ranked_by_other_samples():
    random = np.random.default_rng(0)
    X, y = random.standard_normal((40, 60)), np.arange(40) % 2
    learner = MARGIN_LEARNERS["RLF"]
    by_all = [kept for kept, _ in Halving(learner, 0.0).halving_steps(X, y)]
    given = [kept for kept, _ in Halving(learner, 0.0, ranked_by=(X, y)).halving_steps(X[:20], y[:20])]
    by_half = [kept for kept, _ in Halving(learner, 0.0).halving_steps(X[:20], y[:20])]
    assert all(np.array_equal(a, b) for a, b in zip(by_all, given, strict=True))
    assert not np.array_equal(by_half[-1], given[-1])


def test_chi_square_of_intervals():
    y = np.repeat([0, 1], 20)
    random = np.random.default_rng(0)
    apart, noise, constant = np.arange(40.0), random.standard_normal(40), np.ones(40)
    banded = np.concatenate([np.arange(10.0), 30.0 + np.arange(10.0), 10.0 + np.arange(20.0)])
    found = im4e_2012.chi_squares(np.column_stack([apart, noise, constant, banded, -apart]), y)
    # Classes that intervals tell apart without an error: chi-square is the number of samples.
    assert found == pytest.approx([40.0, 0.0, 0.0, 40.0, 40.0])
    assert np.array_equal(im4e_2012.best_features(np.column_stack([noise, apart, banded]), y, 2), [1, 2])
    assert np.array_equal(im4e_2012.best_features(np.column_stack([constant, noise, apart]), y, 2), [0, 2])


def test_the_cut_is_where_entropy_falls_most():
    def bits(part):
        share = part.mean()
        return 0.0 if share in (0.0, 1.0) else -share * np.log2(share) - (1 - share) * np.log2(1 - share)

    random = np.random.default_rng(1)
    accepted = 0
    for shift in (0.0, 1.0, 2.0) * 5:
        ones = random.integers(0, 2, 25).astype(float)
        values = np.round(random.standard_normal(25) + shift * ones, 1)
        order = np.argsort(values, kind="stable")
        values, ones = values[order], ones[order]
        after = {
            cut: (cut * bits(ones[:cut]) + (25 - cut) * bits(ones[cut:])) / 25
            for cut in range(1, 25)
            if values[cut - 1] < values[cut]
        }
        best = min(after, key=after.get)
        parts = ones, ones[:best], ones[best:]
        k = [np.unique(part).size for part in parts]
        delta = np.log2(3.0 ** k[0] - 2.0) - (
            k[0] * bits(ones) - k[1] * bits(parts[1]) - k[2] * bits(parts[2])
        )
        place, pays = im4e_2012.best_cuts(values[:, np.newaxis], ones[:, np.newaxis])
        assert after[int(place[0])] == pytest.approx(after[best])
        assert pays[0] == (bits(ones) - after[best] > (np.log2(24.0) + delta) / 25)
        accepted += pays[0]
    assert 0 < accepted < 15
