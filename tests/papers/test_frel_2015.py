"""Experiments of the FREL paper: a quick look at each, and what their numbers mean."""

import json

import numpy as np
import pytest
from protocol_sets import written_set
from registry import THOROUGH
from scipy.stats import spearmanr
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from highrelief import FREL, EnsembleWeighting, Lmba, Relief, ReliefF, VarianceReduction
from highrelief.papers import frel_2015
from highrelief.papers.data import Sets
from highrelief.papers.experiment import Cell
from highrelief.papers.runner import find_experiment, plan, run_plan
from highrelief.stability import stability_score

pytestmark = pytest.mark.slow

FIGURES = ("frel-fig1", "frel-fig2", "frel-fig3", "frel-fig4", "frel-fig5")


@pytest.fixture(scope="module")
def looks(tmp_path_factory):
    if not THOROUGH:
        pytest.skip("takes a minute: make test-long runs it")
    """Two repeats of every figure on a small set, with fewer subsets and folds; folder, and outcomes."""
    data = tmp_path_factory.mktemp("data")
    written_set(data, "tox_171", n_train=24, n_test=10, n_features=20)
    found = {}
    with pytest.MonkeyPatch.context() as fewer:
        fewer.setattr(frel_2015, "N_SUBSETS", 3)
        fewer.setattr(frel_2015, "MEMBERS", (1, 20))
        fewer.setattr(frel_2015, "N_FOLDS", 3)
        for name in FIGURES:
            planned = plan(
                find_experiment(name), data=data, cache=data / "cache", repeats=2, datasets=["tox_171"]
            )
            # The trade-off is made of cells that others have.
            assert bool(planned.remaining) == (name != "frel-fig5")
            found[name] = run_plan(planned)
    return data, found


def test_numbers_of_the_protocol_are_the_papers():
    assert (frel_2015.N_SUBSETS, frel_2015.SHARE_OF_SUBSET, frel_2015.N_FOLDS) == (10, 0.9, 10)
    assert (frel_2015.N_MEMBERS, frel_2015.SHARE_OF_MEMBER, frel_2015.N_SELECTED) == (20, 0.9, 50)


def test_sets_that_are_not_at_hand_are_named(tmp_path):
    written_set(tmp_path, "tox_171")
    planned = plan(find_experiment("frel-fig1"), data=tmp_path, cache=tmp_path / "cache", repeats=1)
    assert planned.missing == ["smk_can_187", "leukemia_golub", "prostate_singh"]
    # In a folder that has it, it is run.
    written_set(tmp_path, "smk_can_187")
    again = plan(find_experiment("frel-fig1"), data=tmp_path, cache=tmp_path / "cache", repeats=1)
    assert {cell.dataset for cell in again.remaining} == {"tox_171", "smk_can_187"}


def test_every_figure_gives_numbers(looks):
    for name, outcomes in looks[1].items():
        tables = find_experiment(name).results(outcomes)
        assert len(tables) == {"frel-fig1": 3, "frel-fig3": 1, "frel-fig4": 1}.get(name, 2)
        for table in tables:
            assert all(
                pair.published is None and -100.0 <= pair.reproduced.mean <= 100.0 for pair in table.pairs
            )
            assert {pair.reproduced.n for pair in table.pairs} == {2}
        assert find_experiment(name).results({}) is not None
        json.dumps(list(outcomes.values()), allow_nan=False)


def test_the_tables_are_in_the_papers_order(looks):
    literal, again, against = find_experiment("frel-fig1").results(looks[1]["frel-fig1"])
    seven = ["En-Relief", "En-ReliefF", "En-Fisher", "En-Log+L2", "En-Log+L1", "En-Square+L2", "VR-Lmba"]
    assert literal.row_names[:7] == again.row_names[:7] == seven
    assert literal.column_names == ["tox_171"]
    assert against.column_names == ["m = 1", "m = 20"]
    (bars,) = find_experiment("frel-fig3").results(looks[1]["frel-fig3"])
    assert bars.column_names == ["1NN", "3NN", "linear SVM", "polynomial SVM"]
    assert bars.row_names[:2] == ["tox_171: Lmba", "tox_171: Relief"]


def test_what_is_said_of_lambda_is_what_was_measured(looks):
    for table in find_experiment("frel-fig2").results(looks[1]["frel-fig2"]):
        reproduced = {(pair.row, pair.column): pair.reproduced.mean for pair in table.pairs}
        changes = [
            reproduced[f"tox_171: {row}", "λ = 10"] - reproduced[f"tox_171: {row}", "λ = 0.001"]
            for row in ("Log+L2", "En-Log+L2, re-ranked")
        ]
        assert table.remarks[-1].endswith(f"Log+L2 {changes[0]:+.1f}, En-Log+L2 {changes[1]:+.1f}.")


def test_every_figure_is_drawn(looks):
    pytest.importorskip("matplotlib", reason="figures need the extra 'report'")
    for name, outcomes in looks[1].items():
        pictures = find_experiment(name).figures(outcomes)
        assert all(picture.axes for picture in pictures.values())
        assert len(pictures) == (2 if name == "frel-fig1" else 1)
        assert find_experiment(name).figures({}) == {}


# What is measured


def test_parameters_are_those_of_the_paper():
    """Section IV-C."""
    for name, loss, penalty, alpha in (
        ("Log+L2", "log", "l2", 1.0),
        ("Log+L1", "log", "l1", 0.01),
        ("Square+L2", "square", "l2", 0.1),
    ):
        member = frel_2015.PLAIN[name]
        assert (member.loss, member.penalty, member.alpha, member.solver) == (loss, penalty, alpha, "sgd")
        ensemble = frel_2015.method(f"En-{name}")
        assert isinstance(ensemble, EnsembleWeighting)
        assert (ensemble.n_estimators, ensemble.max_samples, ensemble.aggregate) == (20, 0.9, "weights")
        assert ensemble.estimator is member
    assert frel_2015.method("En-ReliefF").estimator.n_neighbors == 10
    assert isinstance(frel_2015.method("VR-Lmba"), VarianceReduction)
    assert isinstance(frel_2015.method("VR-Lmba").estimator, Lmba)
    assert isinstance(frel_2015.method("Relief"), Relief)


def test_equation_22_literally():
    random = np.random.default_rng(0)
    ranks = np.array([random.permutation(7) + 1.0 for _ in range(4)])
    d, pairs = 7, [(a, b) for a in range(4) for b in range(a)]
    by_hand = [1 - 6 * np.sum((ranks[a] - ranks[b]) ** 2) / (d * (d**2 - 1)) for a, b in pairs]
    assert frel_2015.literal_stability(ranks) == pytest.approx(np.mean(by_hand))
    # On ranks without ties it is the rank correlation; on averaged ranks it is not.
    assert frel_2015.literal_stability(ranks) == pytest.approx(
        np.mean([spearmanr(ranks[a], ranks[b]).statistic for a, b in pairs])
    )


def test_random_rankings_score_high_literally():
    """1 − 1/m, whatever the ensembles rank: why averaged ranks are ranked again."""
    random = np.random.default_rng(0)
    mean = [np.mean([random.permutation(2000) + 1.0 for _ in range(20)], axis=0) for _ in range(10)]
    found = frel_2015._agreement(np.array(mean))
    assert found["literal"] == pytest.approx(0.95, abs=0.01)
    assert found["re-ranked"] == pytest.approx(0.0, abs=0.02)


def test_stability_is_that_of_the_library(looks):
    data, found = looks
    held, cell = Sets(data).get("tox_171"), Cell("tox_171", "stability of En-ReliefF", 1)
    outcome = found["frel-fig1"][cell]
    ranked = EnsembleWeighting(ReliefF(n_neighbors=10), n_estimators=20, aggregate="ranks")
    seed = frel_2015.seed_of(cell)
    assert outcome["20"]["re-ranked"] == pytest.approx(
        stability_score(ranked, held.X, held.y, n_subsets=3, random_state=seed), abs=1e-12
    )
    plain = Cell("tox_171", "stability of VR-Lmba", 1)
    assert found["frel-fig1"][plain]["literal"] == pytest.approx(
        stability_score(VarianceReduction(Lmba()), held.X, held.y, n_subsets=3, random_state=seed), abs=1e-12
    )
    # All methods see the same subsets, each repeat has its own.
    assert frel_2015.seed_of(plain) == seed
    assert frel_2015.seed_of(Cell("tox_171", "", 0)) != seed


def test_smaller_ensembles_are_the_first_members(looks):
    held = Sets(looks[0]).get("tox_171")
    two, five = (frel_2015.on_subsets(frel_2015.method("En-Fisher", n_members=m), held, 0) for m in (2, 5))
    assert frel_2015.stabilities(two)["2"] == frel_2015.stabilities(five)["2"]
    assert list(frel_2015.stabilities(five)) == ["1", "2", "5"]


def test_lambda_is_the_one_of_the_cell(looks):
    data, found = looks
    held, cell = Sets(data).get("tox_171"), Cell("tox_171", "λ = 0.01, minimized", 0)
    expected = stability_score(
        FREL(alpha=0.01, solver="exact"), held.X, held.y, n_subsets=3, random_state=frel_2015.seed_of(cell)
    )
    assert found["frel-fig2"][cell]["Log+L2"]["re-ranked"] == pytest.approx(expected, abs=1e-12)


def test_accuracy_by_scikit_learn(looks, monkeypatch):
    """One cell again: folds, the best features of the training folds, and classifiers of scikit-learn."""
    monkeypatch.setattr(frel_2015, "N_SELECTED", 5)
    monkeypatch.setattr(frel_2015, "N_FOLDS", 4)
    data, _ = looks
    held = Sets(data).get("tox_171")
    found = frel_2015.accuracies(ReliefF(n_neighbors=10), held, 3)
    right = {name: [] for name in frel_2015.CLASSIFIERS}
    for train, test in StratifiedKFold(4, shuffle=True, random_state=3).split(held.X, held.y):
        best = np.argsort(-ReliefF(n_neighbors=10).fit(held.X[train], held.y[train]).feature_weights_)[:5]
        scaling = MinMaxScaler().fit(held.X[train][:, best].astype(float))
        known, new = (scaling.transform(held.X[rows][:, best].astype(float)) for rows in (train, test))
        for name, classifier in {
            "1NN": KNeighborsClassifier(1),
            "3NN": KNeighborsClassifier(3),
            "linear SVM": SVC(kernel="linear"),
            "polynomial SVM": SVC(kernel="poly"),
        }.items():
            right[name].append(classifier.fit(known, held.y[train]).score(new, held.y[test]))
    assert found == pytest.approx({name: np.mean(values) for name, values in right.items()})


def test_ranking_never_sees_the_test_fold():
    class Spy(ReliefF):
        def fit(self, X, y, sample_weight=None):
            assert not (np.asarray(X)[:, 0] > 100).any()
            return super().fit(X, y, sample_weight)

    random = np.random.default_rng(0)
    known, new = random.standard_normal((20, 60)), random.standard_normal((6, 60)) + 1000
    y = np.arange(20) % 2
    kept = frel_2015.best_only(Spy(n_neighbors=3), (known, y, new, y[:6]))
    assert kept[0].shape == (20, 50)
    assert kept[0].min() == 0.0
    assert kept[0].max() == 1.0
    assert kept[2].min() > 1.0


def test_trade_off_is_the_harmonic_mean(looks):
    assert frel_2015.trade_off(0.5, 1.0) == pytest.approx(2 / 3)
    assert frel_2015.trade_off(-0.1, 0.1) == 0.0
    outcomes = looks[1]["frel-fig5"]
    _, table = find_experiment("frel-fig5").results(outcomes)
    pair = next(each for each in table.pairs if (each.row, each.column) == ("tox_171: En-Fisher", "3NN"))
    stable = [outcomes[Cell("tox_171", "stability of En-Fisher", r)]["20"]["re-ranked"] for r in (0, 1)]
    right = [outcomes[Cell("tox_171", "accuracy of En-Fisher", r)]["3NN"] for r in (0, 1)]
    expected = [200 * s * a / (s + a) for s, a in zip(stable, right, strict=True)]
    assert pair.reproduced.mean == pytest.approx(np.mean(expected))
