"""Images of the LFE paper: a quick look, and what a run does."""

import json

import numpy as np
import pytest
from protocol_sets import written_set
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from highrelief import LFE
from highrelief.papers import lfe_2008
from highrelief.papers.data import Sets
from highrelief.papers.experiment import Cell
from highrelief.papers.runner import find_experiment, plan, run_plan


@pytest.fixture(scope="module")
def look(tmp_path_factory):
    """Two runs on 64 pixels of 40 training samples: more pixels than samples, as faces have."""
    data = tmp_path_factory.mktemp("data")
    written_set(data, "faces", n_train=40, n_test=30, n_features=64)
    with pytest.MonkeyPatch.context() as fewer:
        fewer.setattr(lfe_2008, "COSTS", (1.0,))
        fewer.setattr(lfe_2008, "WIDTHS", (1.0,))
        planned = plan(
            find_experiment("lfe-fig4"), data=data, cache=data / "cache", repeats=2, datasets=["faces"]
        )
        return data, run_plan(planned)


def test_a_folder_with_the_faces_is_put_beside_the_paper(look):
    _, outcomes = look
    nearest, svm, times = find_experiment("lfe-fig4").results(outcomes)
    # Section 5.2: "With 20 features, the classification errors (STDs) of LFE, NCA, DANN, and PCA are ..."
    published = {pair.column: (pair.published.mean, pair.published.deviation) for pair in nearest.pairs[:4]}
    assert published == {"LFE": (8.0, 1.0), "NCA": (11.8, 1.8), "DANN": (11.4, 0.7), "PCA": (13.5, 1.3)}
    assert all(pair.reproduced.n == 2 for pair in nearest.pairs[:4] if pair.column != "NCA")
    # What stands in for them was not run, and nothing was published of it.
    assert all((pair.reproduced, pair.published) == (None, None) for pair in nearest.pairs[4:])
    fifty = {pair.column: pair.published for pair in svm.pairs if "50" in pair.column and pair.row == "faces"}
    assert fifty["LFE, 50 components"].mean == 4.1
    assert fifty["NCA, 50 components"] is None
    assert times.pairs[0].reproduced.mean > 0.0
    json.dumps(list(outcomes.values()), allow_nan=False)


def test_pictures(look):
    pytest.importorskip("matplotlib", reason="figures need the extra 'report'")
    data, outcomes = look
    assert find_experiment("lfe-fig4").figures(outcomes)["lfe-fig4"].axes
    assert find_experiment("lfe-fig4").figures({}) == {}
    some = run_plan(plan(find_experiment("lfe-fig1"), data=data, cache=data / "cache", datasets=["faces"]))
    (picture,) = find_experiment("lfe-fig1").figures(some).values()
    shown = [ax.images[0].get_array().shape for ax in picture.axes if ax.images]
    assert shown == [(8, 8)] * 12
    (table,) = find_experiment("lfe-fig1").results(some)
    assert [pair.reproduced.mean for pair in table.pairs[:2]] == [70.0, 64.0]
    assert lfe_2008._as_image(range(5100)).shape == (85, 60)
    assert lfe_2008._as_image(range(6)).shape == (1, 6)


def test_a_run_again_without_the_rotation(look):
    """Errors by scikit-learn on the pixels themselves: working in the samples' space changes nothing."""
    data, outcomes = look
    cell, held = Cell("faces", "", 1), Sets(data).get("faces")
    outcome = outcomes[cell]
    train, test = held.split(1, 500)
    low, high = held.X[train].min(), held.X[train].max()
    X_train, new = ((held.X[rows].astype(float) - low) / (high - low) for rows in (train, test))
    assert lfe_2008.image_split_of(cell, held).X_train.shape == (40, 40)

    def wrong(classifier, project):
        return 1.0 - classifier.fit(project(X_train), held.y[train]).score(project(new), held.y[test])

    nearest = KNeighborsClassifier(outcome["chosen"]["K"])
    assert outcome["curves"]["PCA"][19] == pytest.approx(wrong(nearest, PCA(20).fit(X_train).transform))
    lfe = LFE(n_neighbors=outcome["chosen"]["M"], scale=None).fit(X_train, held.y[train])
    for t in (1, 5, 10):
        error = wrong(nearest, lambda X, t=t: X @ lfe.components_[:t].T)
        assert outcome["curves"]["LFE"][t - 1] == pytest.approx(error)
    projected = X_train @ lfe.components_[:20].T
    svm = SVC(C=1.0, gamma=1.0 / projected.var(axis=0).sum())
    assert outcome["svm"]["20"]["LFE"] == pytest.approx(wrong(svm, lambda X: X @ lfe.components_[:20].T))


def test_nca_works_on_principal_components():
    random = np.random.default_rng(0)
    X, y = random.standard_normal((40, 6)), np.arange(40) % 2
    principal = PCA().fit(X).components_.T
    A = lfe_2008.nca_directions(2, (X, y), principal)
    assert A.shape == (6, 2)
    # Within the span of what it was given.
    few = principal[:, :3]
    B = lfe_2008.nca_directions(2, (X, y), few)
    assert few @ (few.T @ B) == pytest.approx(B)


def test_what_stands_in_for_faces_needs_no_folder():
    made, small = Sets(None).get("shifted_digits"), load_digits()
    assert made.X.shape == (1797, 576)
    # No digit is cut off, and they lie at different places.
    assert made.X.sum(axis=1) == pytest.approx(4.0 * small.data.sum(axis=1))
    assert np.array_equal(made.y, small.target % 2)
    centers = made.X.reshape(-1, 24, 24).sum(axis=2).argmax(axis=1)
    assert np.ptp(centers) > 8
