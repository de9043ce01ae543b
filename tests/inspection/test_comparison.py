"""Several methods side by side, by the two-loop protocol."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from registry import continuous_table
from scipy import stats
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import LeaveOneGroupOut, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from two_loops import Spy, slow_scores

from highrelief import EnsembleWeighting, FisherScore, OnlineIRelief, Relief, ReliefF
from highrelief.datasets import make_xor
from highrelief.inspection.comparison import Accuracy, accuracy_interval, compare
from highrelief.stability import accuracy_tradeoff, nogueira, spearman

pytestmark = pytest.mark.slow

METHODS = {"relieff": ReliefF(n_neighbors=3), "fisher": FisherScore()}
QUICK = {"cv": 3, "inner_cv": 3, "random_state": 0}


def holey_table(n_samples=60, seed=0):
    X, y = continuous_table(n_samples, seed=seed)
    rng = np.random.default_rng(seed)
    X = np.column_stack([X, rng.normal(size=(n_samples, 6))])
    return np.where(rng.uniform(size=X.shape) < 0.05, np.nan, X), y


# Against a loop of its own


def test_equals_a_slow_loop():
    X, y = holey_table()
    outer = StratifiedKFold(4, shuffle=True, random_state=5)
    found = compare(METHODS, X, y, cv=outer, inner_cv=3, cuts=[1, 2, 4, 12])
    assert [method.name for method in found.methods] == ["relieff", "fisher", "all features"]
    judges = {
        "knn": make_pipeline(MinMaxScaler(), KNeighborsClassifier(3)),
        "linear-svm": make_pipeline(StandardScaler(), SVC(kernel="linear", C=1.0)),
    }
    for method in found.methods:
        kept, scores, weights = [], {name: [] for name in judges}, []
        for fitted, left_out in outer.split(X, y):
            imputer = SimpleImputer(strategy="median").fit(X[fitted])
            known, new = imputer.transform(X[fitted]), imputer.transform(X[left_out])
            chosen = np.arange(12)
            if method.name in METHODS:
                folds = list(StratifiedKFold(3).split(known, y[fitted]))
                inner = slow_scores(
                    METHODS[method.name], judges["knn"], known, y[fitted], folds, [1, 2, 4, 12]
                )
                cut = [1, 2, 4, 12][np.argmax(np.round(inner.mean(axis=0), 9))]
                weights.append(clone(METHODS[method.name]).fit(known, y[fitted]).feature_weights_)
                chosen = np.sort(np.argsort(-weights[-1], kind="stable")[:cut])
            kept.append(np.isin(np.arange(12), chosen))
            for name, judge in judges.items():
                model = clone(judge).fit(known[:, chosen], y[fitted])
                scores[name].append(model.score(new[:, chosen], y[left_out]))
        np.testing.assert_array_equal(method.selections, kept)
        np.testing.assert_array_equal(method.n_features, np.sum(kept, axis=1))
        for name in judges:
            np.testing.assert_allclose(method.accuracy[name].folds, scores[name], rtol=1e-12)
            assert method.accuracy[name].mean == pytest.approx(np.mean(scores[name]))
            assert method.accuracy[name].deviation == pytest.approx(np.std(scores[name], ddof=1))
        if method.name in METHODS:
            np.testing.assert_array_equal(method.weights, weights)
            assert method.ranking_stability == spearman(weights)
            assert method.selection_stability == nogueira(np.array(kept))
            for name in judges:
                expected = accuracy_tradeoff(spearman(weights), np.mean(scores[name]))
                assert method.tradeoff[name] == pytest.approx(expected)
            assert (method.seconds > 0.0).all()
    assert len({tuple(method.accuracy["knn"].folds) for method in found.methods}) == 3


def test_the_baseline_has_no_stability_and_no_time():
    found = compare(METHODS, *continuous_table(), **QUICK)
    baseline = found.methods[-1]
    assert (baseline.name, baseline.weights) == ("all features", None)
    assert baseline.selections.all()
    assert np.isnan(
        [baseline.ranking_stability, *baseline.selection_stability, *baseline.tradeoff.values()]
    ).all()
    np.testing.assert_array_equal(baseline.seconds, 0.0)


def test_xor_is_found_by_relieff_and_not_by_fisher():
    X, y, _ = make_xor(300, n_irrelevant=30, random_state=0)
    methods = {"relieff": ReliefF(), "fisher": FisherScore()}
    relieff, fisher, everything = compare(methods, X, y, cv=5, inner_cv=3, random_state=0).methods
    assert relieff.accuracy["knn"].interval[0] > fisher.accuracy["knn"].interval[1]
    assert relieff.accuracy["knn"].mean > everything.accuracy["knn"].mean + 0.2
    # No plane separates XOR, whatever the features.
    assert relieff.accuracy["linear-svm"].interval[0] < 0.6


# Nothing is seen that must not be


def numbered(n_samples):
    X, y = continuous_table(n_samples, n_classes=2)
    X[:, 0] = np.arange(n_samples)
    return X, y


def test_selection_never_sees_the_outer_fold():
    X, y = numbered(60)
    Spy.seen.clear()
    found = compare({"a": Spy(), "b": Spy()}, X, y, cv=5, inner_cv=3, random_state=0)
    n_fits = 2 * (1 + 3)
    assert len(Spy.seen) == 5 * n_fits
    for number, (fitted, left_out) in enumerate(found.folds):
        rows = Spy.seen[number * n_fits : (number + 1) * n_fits]
        assert set.union(*rows) == set(fitted.tolist())
        assert not set(fitted.tolist()) & set(left_out.tolist())
        # Both methods see the same folds.
        assert rows[: n_fits // 2] == rows[n_fits // 2 :]
    assert sorted(np.concatenate([left_out for _, left_out in found.folds])) == list(range(60))


class Filled(FisherScore):
    """A weighter that writes down the tables it is fitted to."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y):
        Filled.seen.append(X.copy())
        return super().fit(X, y)


def test_missing_values_become_the_median_of_what_is_fitted():
    X, y = continuous_table(40, n_classes=2)
    X[::3, 1] = np.nan
    X[1::4, 2] = np.nan
    Filled.seen.clear()
    found = compare({"filled": Filled()}, X, y, cv=4, inner_cv=2, random_state=0)
    for number, (fitted, _) in enumerate(found.folds):
        whole = Filled.seen[3 * number]
        medians = np.nanmedian(X[fitted], axis=0)
        np.testing.assert_allclose(whole, np.where(np.isnan(X[fitted]), medians, X[fitted]), rtol=1e-15)
    assert len({each[:, 1].tobytes() for each in Filled.seen[::3]}) == 4


def test_a_feature_that_is_missing_in_all_that_is_fitted():
    X, y = continuous_table(40, n_classes=2)
    folds = [(np.arange(20), np.arange(20, 40)), (np.arange(20, 40), np.arange(20))]
    X[:20, 3] = np.nan
    relieff = compare({"relieff": ReliefF()}, X, y, cv=folds, inner_cv=3).methods[0]
    assert relieff.weights[0, 3] == 0.0
    assert relieff.weights[1, 3] != 0.0


def test_groups_are_on_one_side_of_every_fold():
    X, y = numbered(60)
    groups = np.repeat(np.arange(15), 4)
    Spy.seen.clear()
    found = compare({"spy": Spy()}, X, y, groups=groups, cv=3, inner_cv=2, random_state=0)
    for fitted, left_out in found.folds:
        assert not set(groups[fitted]) & set(groups[left_out])
    for rows in Spy.seen:
        assert len(rows) == 4 * len(set(groups[sorted(rows)]))
    by_group = compare(METHODS, X, y, groups=groups % 4, cv=LeaveOneGroupOut(), inner_cv=LeaveOneGroupOut())
    assert len(by_group.folds) == 4


def test_noise_is_classified_by_chance():
    rng = np.random.default_rng(0)
    found = []
    for seed in range(8):
        X, y = rng.normal(size=(40, 1000)), np.arange(40) % 2
        fisher = compare(
            {"fisher": FisherScore()}, X, y, cv=5, inner_cv=3, classifiers=["knn"], random_state=seed
        ).methods[0]
        found.append(fisher.accuracy["knn"].mean)
    # 320 samples; three standard errors of as many independent ones are 0.084.
    assert abs(np.mean(found) - 0.5) < 0.084


# Intervals


def test_interval_of_nadeau_and_bengio():
    scores = np.array([0.6, 0.7, 0.9, 0.5, 0.8])
    lower, upper = accuracy_interval(scores, np.full(5, 400), np.full(5, 100))
    half = stats.t(4).ppf(0.975) * np.sqrt((1 / 5 + 1 / 4) * scores.var(ddof=1))
    np.testing.assert_allclose([lower, upper], [0.7 - half, 0.7 + half])
    narrow = accuracy_interval(scores, np.full(5, 400), np.full(5, 100), confidence=0.5)
    assert lower < narrow[0] < 0.7 < narrow[1] < upper


def test_interval_of_folds_that_agree_is_that_of_their_samples():
    expected = stats.binomtest(50, 50).proportion_ci(method="wilson")
    np.testing.assert_allclose(accuracy_interval(np.ones(5), np.full(5, 40), np.full(5, 10)), tuple(expected))
    one = stats.binomtest(7, 10).proportion_ci(method="wilson")
    np.testing.assert_allclose(accuracy_interval(np.array([0.7]), np.array([40]), np.array([10])), tuple(one))
    # Ten times the same 50 samples are 50 samples.
    np.testing.assert_allclose(
        accuracy_interval(np.ones(50), np.full(50, 40), np.full(50, 10)), tuple(expected)
    )


def test_interval_within_0_and_1():
    lower, upper = accuracy_interval(np.array([0.0, 1.0]), np.array([10, 10]), np.array([10, 10]))
    assert (lower, upper) == (0.0, 1.0)
    assert np.isnan(Accuracy(np.array([0.5]), np.array([10]), np.array([10])).deviation)


# How it is used


def test_rows_are_plain_and_progress_is_told():
    told = []
    found = compare(METHODS, *continuous_table(), **QUICK, progress=lambda *each: told.append(each))
    names = ["relieff", "fisher", "all features"]
    assert told == [(n + 1, 9, names[n % 3]) for n in range(9)]
    rows = list(found.rows())
    assert [(row["method"], row["classifier"]) for row in rows] == [
        (method, judge) for method in names for judge in ("knn", "linear-svm")
    ]
    again = json.loads(json.dumps(rows, allow_nan=False))
    assert again[-1]["ranking_stability"] is again[-1]["tradeoff"] is None
    assert again[0]["accuracy"] == found.methods[0].accuracy["knn"].mean
    assert rows[0]["accuracy_lower"] < rows[0]["accuracy"] < rows[0]["accuracy_upper"]
    assert rows[0]["n_features_least"] <= rows[0]["n_features"] <= rows[0]["n_features_most"]


def test_displays_itself():
    X, y = holey_table()
    found = compare({"a<b": FisherScore()}, X, y, classifiers=["knn"], **QUICK)
    header, first, baseline = repr(found).splitlines()
    assert header.split() == [
        "method", "classifier", "accuracy", "interval", "features", "stability", "trade-off", "seconds"
    ]  # fmt: skip
    row = next(found.rows())
    assert first.split()[:3] == ["a<b", "knn", f"{row['accuracy']:.3f}"]
    assert baseline.startswith("all features")
    page = found._repr_html_()
    assert "<td>a&lt;b</td><td>knn</td>" in page
    assert page.count("<tr>") == 3


def test_the_seed_decides_and_threads_do_not():
    X, y = continuous_table()
    methods = {"online": OnlineIRelief(), "ensemble": EnsembleWeighting(ReliefF(), n_estimators=3)}
    found = [
        compare(methods, X, y, **{**QUICK, "random_state": s}, n_jobs=j) for s, j in [(0, 1), (0, 2), (1, 1)]
    ]
    for first, second, third in zip(*(each.methods[:2] for each in found), strict=True):
        np.testing.assert_array_equal(first.weights, second.weights)
        np.testing.assert_array_equal(first.accuracy["knn"].folds, second.accuracy["knn"].folds)
        assert not np.array_equal(first.weights, third.weights)


def test_other_classifiers_and_names_of_classes():
    X, y = continuous_table()
    named = np.array(["x", "y", "z"])[y]
    judges = {"bayes": GaussianNB(), "most": DummyClassifier()}
    found = compare(METHODS, X, named, **QUICK, classifiers=judges)
    share = [np.mean(named[rows] == "x") for _, rows in found.folds]
    np.testing.assert_allclose(found.methods[0].accuracy["most"].folds, share)
    assert found.methods[0].accuracy["bayes"].mean > np.mean(share)


def test_nothing_of_the_callers_is_changed():
    X, y = holey_table()
    before, relieff = X.copy(), ReliefF(n_neighbors=3)
    compare({"relieff": relieff}, X, y, **QUICK)
    np.testing.assert_array_equal(X, before)
    assert not hasattr(relieff, "feature_weights_")


def test_data_frames_and_whole_numbers():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, size=(40, 5)).astype(np.int8), np.arange(40) % 2
    found = [
        compare(METHODS, each, y, **QUICK).methods[0] for each in (X, pandas.DataFrame(X), X.astype(float))
    ]
    for each in found[1:]:
        np.testing.assert_allclose(each.weights, found[0].weights, atol=1e-12)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"methods": {}}, TypeError, "methods={} must be a mapping"),
        ({"methods": [ReliefF()]}, TypeError, "must be a mapping"),
        ({"methods": {"all features": ReliefF()}}, ValueError, "name of the baseline"),
        ({"methods": {"broken": Relief(metric="cosine")}}, ValueError, "broken: metric='cosine'"),
        ({"methods": {"word": "relieff"}}, TypeError, "word: estimator='relieff'"),
        ({"classifiers": ["svm"]}, ValueError, "classifiers='svm'"),
        ({"classifiers": []}, ValueError, "classifiers is empty"),
        ({"cv": 1}, ValueError, "cv=1"),
        ({"cv": "many"}, TypeError, "cv='many'"),
        ({"cv": []}, ValueError, "cv gives no fold"),
        ({"groups": np.zeros(60)}, ValueError, "too few groups (1)"),
        ({"X": np.ones((60, 2))}, ValueError, "all the same"),
        ({"inner_cv": 1}, ValueError, "inner_cv=1"),
        ({"inner_cv": [([0], [1])]}, TypeError, "inner_cv must be a number or a splitter"),
        ({"cuts": [99]}, ValueError, "cuts=[99]"),
        ({"confidence": 95}, ValueError, "confidence=95"),
        ({"random_state": "seed"}, TypeError, "random_state='seed'"),
        ({"groups": [1, 2]}, ValueError, "groups must name the group of each of the 60 samples"),
        ({"y": np.zeros(60)}, ValueError, "y has only one class (0.0)"),
        ({"y": np.arange(60.0) + 0.5}, ValueError, "continuous"),
        ({"y": np.arange(5)}, ValueError, "inconsistent numbers of samples"),
        ({"X": [["a", "b"]] * 60}, ValueError, "a"),
        ({"X": np.full((60, 2), np.inf)}, ValueError, "infinity"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_what_cannot_be_compared(changes, error, words):
    X, y = continuous_table(60)
    arguments = {"methods": METHODS, "X": X, "y": y, **QUICK, **changes}
    with pytest.raises(error, match=re.escape(words)):
        compare(**arguments)


def test_classes_smaller_than_the_number_of_folds():
    X, y = continuous_table(12, n_classes=2)
    y[:] = np.arange(12) % 4
    with pytest.warns(UserWarning, match="cv=10 folds are not possible here: 3 are used"):
        found = compare(METHODS, X, y)
    assert len(found.folds) == 3


def test_no_extra_is_needed():
    code = (
        "import sys\n"
        "class Missing:\n"
        "    names = ('typer', 'rich', 'jinja2', 'matplotlib', 'polars', 'pandas', 'pyarrow')\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name in self.names:\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "from highrelief.inspection.comparison import compare\n"
        "from highrelief import FisherScore\n"
        "X = [[n % 7, n % 3, n % 2] for n in range(42)]\n"
        "found = compare({'fisher': FisherScore()}, X, [n % 2 for n in range(42)], cv=2, inner_cv=2)\n"
        "print(found.methods[0].accuracy['knn'].mean)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == 1.0
