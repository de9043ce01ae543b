"""Sets from OpenML. Its answers are stood in for: what is tested is what we make of them."""

from urllib.error import URLError

import numpy as np
import pytest
from protocol_sets import written_set
from sklearn.utils import Bunch

from highrelief.cli.errors import RunError
from highrelief.cli.reproduce import reproduce
from highrelief.papers import data as data_module
from highrelief.papers.data import SOURCES, FetchError, Sets, Source, fetch


def answer(sizes, n_features, *, names=None, categories=None, seed=0):
    """An answer as scikit-learn gives it: labels are texts, and rows come in no order."""
    random = np.random.default_rng(seed)
    target = random.permutation(np.repeat([f"class {9 - place}" for place in range(len(sizes))], sizes))
    data = random.standard_normal((len(target), n_features))
    names = names or [f"a{place}" for place in range(n_features)]
    return Bunch(data=data, target=target, feature_names=names, categories=categories)


@pytest.fixture
def served(monkeypatch):
    """Answers by OpenML's number; what else is asked for cannot be reached."""
    answers = {}

    def serve(*, data_id, **options):
        assert options == {"as_frame": False, "parser": "liac-arff", "cache": False}
        if data_id not in answers:
            raise URLError("no such host")
        return answers[data_id]

    monkeypatch.setattr(data_module, "fetch_openml", serve)
    return answers


def test_a_fetched_set_is_a_file_of_the_folder(served, tmp_path):
    served[41] = answer((70, 76, 17, 13, 9, 29), 9)
    path = fetch("glass", tmp_path)
    assert path == tmp_path / "openml" / "glass.npz"
    found = Sets(tmp_path).get("glass")
    assert np.array_equal(found.X, served[41].data)
    # Classes are told apart by their sizes: codes stand in the order of the sizes that are published.
    assert np.bincount(found.y).tolist() == [70, 76, 17, 13, 9, 29]
    assert set(found.y[served[41].target == "class 8"]) == {1}
    assert not list(path.parent.glob(".*"))


def test_classes_are_merged_where_the_papers_merge_them(served, tmp_path):
    served[40682] = answer((150, 35, 30), 5)
    fetch("thyroid", tmp_path)
    found = Sets(tmp_path).get("thyroid")
    assert np.bincount(found.y).tolist() == [150, 65]
    assert set(found.y[served[40682].target == "class 9"]) == {0}


def test_nominal_values_are_coded_and_ambiguous_rows_left_out(served, tmp_path, monkeypatch):
    monkeypatch.setitem(SOURCES, "splice", Source(46, 2, (3, 1, 2), codes=(0, 1, 1), letters="AGCT"))
    served[46] = Bunch(
        data=np.array([[0.0, 4], [1, 1], [2, 2], [3, 3], [4, 0], [0, 0], [1, 0], [0, 1]]),
        target=np.array(["N", "N", "EI", "IE", "N", "IE", "N", "N"]),
        feature_names=["p", "q"],
        categories={"p": ["A", "C", "G", "T", "N"], "q": ["A", "G", "T", "C", "D"]},
    )
    fetch("splice", tmp_path)
    found = Sets(tmp_path).get("splice")
    # Rows 0 and 4 have a letter that stands for several bases.
    assert found.X.tolist() == [[3, 2], [2, 4], [4, 3], [1, 1], [3, 1], [1, 2]]
    assert found.y.tolist() == [0, 1, 1, 1, 0, 0]


def test_another_set_is_not_taken(served, tmp_path):
    served[41] = answer((70, 76, 17, 13, 9, 28), 9)
    with pytest.raises(FetchError, match="set 41 is not glass: it has 9 features and classes of 9, 13"):
        fetch("glass", tmp_path)
    served[41] = answer((70, 76, 17, 13, 9, 29), 8)
    with pytest.raises(FetchError, match="it has 8 features"):
        fetch("glass", tmp_path)
    assert "glass" not in Sets(tmp_path)


def test_without_a_network_it_says_so(served, tmp_path):
    with pytest.raises(RunError, match=r"OpenML's set 1460 \(banana\) could not be had: .*no such host"):
        reproduce("lfe-table2", data=None, cache=tmp_path, datasets=["banana"], repeats=1, fetch=True)


def test_what_cannot_be_fetched_does_not_stop_the_rest(served, tmp_path):
    written_set(tmp_path / "data", "thyroid")
    found = reproduce(
        "lfe-table2",
        data=tmp_path / "data",
        cache=tmp_path / "cache",
        datasets=["banana", "thyroid"],
        repeats=1,
        fetch=True,
    )
    assert found.absent == ["banana"]
    assert [cell.dataset for cell in found.outcomes] == ["thyroid"]


def test_a_run_fetches_what_is_neither_at_hand_nor_made(served, tmp_path, monkeypatch):
    monkeypatch.setitem(SOURCES, "thyroid", Source(40682, 5, (40, 12, 10), codes=(0, 1, 1)))
    monkeypatch.setattr("highrelief.papers.lfe_2008.N_TRAIN", {"thyroid": 40})
    served[40682] = answer((40, 12, 10), 5)
    found = reproduce("lfe-table2", data=None, cache=tmp_path, datasets=["thyroid"], repeats=1, fetch=True)
    assert [cell.dataset for cell in found.outcomes] == ["thyroid"]
    served.clear()
    again = reproduce("lfe-table2", data=None, cache=tmp_path, datasets=["thyroid"], repeats=1, fetch=True)
    assert again.outcomes == found.outcomes


def test_the_sizes_are_those_of_the_files(monkeypatch):
    """What the data folder has, as far as there is one, is what OpenML is asked for."""
    import os
    from pathlib import Path

    folder = Path(os.environ.get("HIGHRELIEF_DATA", "../shared/data"))
    sets = Sets(folder)
    at_hand = [name for name in SOURCES if sets.path(name)]
    if not at_hand:
        pytest.skip("no folder of data sets: HIGHRELIEF_DATA says where it is")
    for name in at_hand:
        found, source = sets.get(name), SOURCES[name]
        sizes = np.zeros(max(source.codes or range(len(source.sizes))) + 1, dtype=int)
        np.add.at(sizes, list(source.codes or range(len(source.sizes))), source.sizes)
        assert (found.X.shape[1], np.bincount(found.y).tolist()) == (source.n_features, sizes.tolist()), name
