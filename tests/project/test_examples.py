"""The gallery: every example runs by itself, draws, and shows what its words say."""

import runpy
import warnings
from pathlib import Path

import numpy as np
import pytest

plt = pytest.importorskip("matplotlib.pyplot", reason="the examples draw")
pytest.importorskip("dask.array", reason="one of the examples is about Dask")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FOUND = sorted(EXAMPLES.rglob("plot_*.py"))


def acting_together(ran):
    assert ran["weighter"].get_support(indices=True).tolist() == [0, 1]
    assert ran["ranks"].min() > 20
    assert ran["display"].table.features[:2].tolist() in ([0, 1], [1, 0])
    assert np.nanmin(ran["display"].table.losses[[0, 1], [1, 0]]) > 0.5


def expression(ran):
    assert {"CD3D", "GNLY", "NKG7", "GZMB", "FCER1G", "TYROBP", "SPON2"} <= set(ran["genes"])
    assert len(ran["genes"]) == ran["selector"].n_features_ < 30
    assert ran["expression"].shape == (85, 765)


def genotypes(ran):
    assert max(ran["worst"]["IRelief"]) <= 20 < min(ran["worst"]["FisherScore"])


def how_many(ran):
    assert ran["relevant"][ran["selector"].get_support()].mean() > 0.5
    assert ran["nothing"]["outside"] > ran["nothing"]["nested"] + 0.1
    three_deviations = 3 * 0.5 / np.sqrt(3 * 80)  # of a coin that is thrown for 80 samples, three times
    assert abs(ran["nothing"]["nested"] - 0.5) < three_deviations
    assert ran["honest"]["nested"] > 0.8


def short_list(ran):
    kept = {name: np.flatnonzero(support) for name, support in ran["kept"].items()}
    assert kept["IRelief, best ten"].tolist() == list(range(10))
    for name in ("LOGO", "RedundancyFilter(IRelief)"):
        assert set(kept[name] // 5) == {0, 1}  # some of both groups, and none of the noise
        assert len(kept[name]) < 10
    assert len(kept["RedundancyFilter(IRelief)"]) == 2


def stability(ran):
    assert ran["at_ten"]["Relief"] < ran["at_ten"]["ensemble of Relief"] < ran["at_ten"]["ReliefF"]


def error_control(ran):
    for control in ("fdr", "fwer"):
        assert ran["found"][control, "labels at random"] == []
        assert {0, 1} <= set(ran["found"][control, "true labels"])
    assert ran["found"]["fwer", "true labels"] == [0, 1]
    assert ran["wrong"] <= 3


def mislabeled(ran):
    assert ran["flipped"].sum() == 20
    assert ran["caught"][39] >= 15


def missing_and_mixed(ran):
    assert ran["patients"].columns[:3].tolist() == ["marker", "smoker", "blood"]
    for weights in ran["weights"][:4]:  # up to a fifth of the cells are missing
        assert weights[:3].min() > weights[3:].max()
    assert ran["complete"][-1] < 10


def batches(ran):
    assert ran["plain"].ranking_[1:4].max() < ran["plain"].ranking_[0]
    assert ran["within"].ranking_[0] == 1


def out_of_core(ran):
    assert ran["weighter"].get_support(indices=True).tolist() == [1234, 17000]
    assert ran["apart"] < 1e-12
    assert not (ran["folder"] / "table.f32").exists()


def stream(ran):
    assert ran["stream"].n_samples_seen_ == 6000
    assert set(np.argsort(-ran["stream"].feature_weights_)[:2]) == {0, 1}
    assert ran["distances"][200][-1] < ran["distances"][50][-1] < ran["distances"][50][0]


def projections(ran):
    assert ran["accuracy"]["PCA"] < ran["accuracy"]["DANN"] < ran["accuracy"]["LFE"]
    assert min(ran["shares"]) > 0.9


def small_classes(ran):
    mean = {names: np.mean(scores) for names, scores in ran["scores"].items()}
    for space in ran["spaces"]:
        assert mean[space, "7-NN"] < mean[space, "1-NN"] < mean[space, "HKNN"]
    assert mean["ReliefF", "HKNN"] > mean["all", "HKNN"]


SHOWS = {
    each.__name__: each
    for each in (
        acting_together,
        expression,
        genotypes,
        how_many,
        short_list,
        stability,
        error_control,
        mislabeled,
        missing_and_mixed,
        batches,
        out_of_core,
        stream,
        projections,
        small_classes,
    )
}


def test_there_is_a_claim_for_every_example():
    assert {path.stem.removeprefix("plot_") for path in FOUND} == set(SHOWS)


@pytest.mark.slow
@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_an_example_shows_what_it_says(path):
    if path.stem == "plot_expression":
        pytest.importorskip("scanpy", reason="the data comes with Scanpy", exc_type=ImportError)
    plt.close("all")
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        ran = runpy.run_path(str(path))
    try:
        assert plt.get_fignums()
        SHOWS[path.stem.removeprefix("plot_")](ran)
    finally:
        plt.close("all")
