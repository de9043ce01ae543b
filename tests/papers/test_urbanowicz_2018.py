"""The archive of Urbanowicz et al.: files that exist, themes, and power."""

import json

import numpy as np
import pytest

from highrelief.datasets import make_xor
from highrelief.papers.data import Sets
from highrelief.papers.experiment import Cell
from highrelief.papers.runner import find_experiment, plan, run_plan
from highrelief.papers.urbanowicz_2018 import power, power_curve, theme_of

EXPERIMENT = find_experiment("rebate-power")


def written(folder, name, *, continuous=False):
    """Write a table with an XOR of the features 0 and 1."""
    X, y, relevant = make_xor(80, n_irrelevant=2, random_state=len(name))
    y = X[:, 0] * X[:, 1] if continuous else y
    (folder / "rebate").mkdir(exist_ok=True)
    mask = np.isin(np.arange(4), relevant)
    np.savez(folder / "rebate" / f"{name}.npz", X=X, y=y, relevant=mask, feature_names=list("abcd"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    for name in ("XOR_xor_2_s_80_xor_EDM-1_01", "XOR_xor_2_s_80_xor_EDM-1_02", "6_bit_multiplexer_01"):
        written(folder, name)
    written(folder, "CE_Threshold_s_80_01", continuous=True)
    np.savez(folder / "rebate" / "notes.npz", X=np.zeros((2, 1)), y=np.zeros(2))
    return folder


@pytest.fixture(scope="module")
def outcomes(folder):
    methods = ["HighRelief", "ReliefF-cat", "FisherScore", "RReliefF"]
    return run_plan(plan(EXPERIMENT, data=folder, cache=folder / "cache", settings=methods), n_jobs=1)


def test_files_of_the_folder_are_the_cells(folder, tmp_path):
    names = EXPERIMENT.find_datasets(Sets(folder))
    assert names[0] == "6_bit_multiplexer_01"
    assert len(names) == 4
    one = plan(EXPERIMENT, data=folder, cache=tmp_path, repeats=1, settings=["HighRelief"])
    assert [cell.name for cell in one.remaining] == [
        "6_bit_multiplexer_01/HighRelief/1",
        "CE_Threshold_s_80_01/HighRelief/1",
        "XOR_xor_2_s_80_xor_EDM-1_01/HighRelief/1",
    ]
    some = plan(EXPERIMENT, data=folder, cache=tmp_path, datasets=["XOR*"], settings=["*SURF"])
    assert {(cell.repeat, cell.setting) for cell in some.remaining} == {(1, "MultiSURF"), (2, "MultiSURF")}
    with pytest.raises(ValueError, match="has no set 'none'; it has 6_bit_multiplexer_01"):
        plan(EXPERIMENT, data=folder, cache=tmp_path, datasets=["none"])
    with pytest.raises(ValueError, match="no cells with the settings none; use patterns"):
        plan(EXPERIMENT, data=folder, cache=tmp_path, settings=["none"])
    assert plan(EXPERIMENT, data=tmp_path, cache=tmp_path).missing == ["rebate/<scenario>_<replicate>"]


@pytest.mark.parametrize(
    ("scenario", "theme"),
    [
        ("core2wayEpistasis_s_200_her_0.05_maf_0.2_EDM-1", ("Pairs", "n = 200")),
        ("XOR_xor_5_s_1600_xor_EDM-1", ("Higher orders", "XOR of 5")),
        ("epi_order_s_1600_her_0.2_maf_0.2_EDM-2", ("Higher orders", "3-way")),
        ("2wayEpiHeterogeneity_s_1600_h_0.4MAF_0.2_r_75_EDM-2", ("Heterogeneity", "75 %")),
        ("135_bit_multiplexer", ("Multiplexers", "135 bits")),
        ("2wayEpi_NA_s_1600_her_0.4_maf_0.2_NA_0.001_EDM-2", ("Missing values", "share 0.001")),
        (
            "2wayEpi_ImbalancedData_s_1600_her_0.4_maf_0.2_imb_0.9_EDM-2",
            ("Imbalance", "larger class 0.9"),
        ),
        ("mainEff_s_1600_her_0.05_maf_0.2_EDM-1", ("Main effects", "heritability 0.05")),
        ("mainEff_additive_4_s_1600_h_0.4MAF_0.2_r_50_EDM-2", ("Additive", "4 main effects, 50 %")),
        ("2wayEpi_additive_s_1600_h_0.4MAF_0.2_r_50_EDM-2", ("Additive", "two pairs, 50 %")),
        ("9Class", ("Classes", "9 classes")),
        ("2wayEpiFeatures_a_10000_s_1600_her_0.4_maf_EDM-2", ("Features", "10000 features")),
        ("CA_s_1600_her_0.4_maf_0.2_EDM-2", ("Attributes", "continuous")),
        ("MA_s_1600_her_0.4_maf_0.2_EDM-2", ("Attributes", "mixed")),
        (
            "2wayEpi_contEndpoint_s_1600_her_0.4_maf_0.2_sd_0.8_EDM-2",
            ("Continuous endpoints", "deviation 0.8"),
        ),
        ("CE_Threshold_s_1600_her_0.4_maf_0.2_EDM-2", ("Continuous endpoints", "threshold")),
        ("something_new", ("Others", "something_new")),
    ],
)
def test_themes(scenario, theme):
    assert theme_of(scenario) == theme


def test_scenarios_are_sorted_by_value(tmp_path):
    for name in (
        "a_s_1600_NA_0.1_x_01",
        "a_s_200_NA_0.5_x_01",
        "a_s_200_NA_0.05_x_02",
        "a_s_200_NA_0.05_x_01",
    ):
        written(tmp_path, name)
    assert EXPERIMENT.find_datasets(Sets(tmp_path)) == [
        "a_s_200_NA_0.05_x_01",
        "a_s_200_NA_0.05_x_02",
        "a_s_200_NA_0.5_x_01",
        "a_s_1600_NA_0.1_x_01",
    ]


def test_power_needs_all_relevant_features():
    runs = [{"ranks": [1, 2], "n_features": 20}, {"ranks": [1, 4], "n_features": 20}]
    assert power(runs) == 50.0
    curve = power_curve(runs)
    assert (curve[9 - 1], curve[10 - 1], curve[19 - 1], curve[20 - 1]) == (0.0, 50.0, 50.0, 100.0)


def test_tables_show_powers_losses_and_what_does_not_apply(outcomes):
    overall, themes, *by_theme = EXPERIMENT.results(outcomes)
    rows = {line[0]: dict(zip(overall.lines()[0], line, strict=True)) for line in overall.lines()}
    assert (rows["HighRelief"]["scenarios"], rows["RReliefF"]["scenarios"]) == ("2", "1")
    assert rows["HighRelief"]["precision"] != ""
    assert rows["FisherScore"]["precision"] == ""
    assert "4 tables, 3 scenarios." in overall.remarks
    assert "Not applicable (continuous targets): HighRelief, ReliefF-cat, FisherScore." in overall.remarks
    assert [table.title for table in by_theme] == ["Higher orders", "Multiplexers", "Continuous endpoints"]
    assert themes.row_names == [table.title for table in by_theme]
    assert by_theme[0].column_names == ["XOR of 2"]
    runs = [
        run
        for cell, run in outcomes.items()
        if cell.dataset.startswith("XOR") and cell.setting == "HighRelief"
    ]
    assert by_theme[0].pairs[0].reproduced.mean == power(runs)
    json.dumps(list(outcomes.values()), allow_nan=False)


def test_a_better_method_is_named(outcomes):
    worse = {
        cell: {**run, "ranks": [3, 4]} if cell.setting == "HighRelief" and "ranks" in run else run
        for cell, run in outcomes.items()
    }
    overall, themes, orders, *_ = EXPERIMENT.results(worse)
    ahead = next(each for each in overall.remarks if each.startswith("Ahead of HighRelief on the same"))
    assert "ReliefF-cat (+" in ahead
    assert themes.remarks[0].startswith("HighRelief is behind on Higher orders by ")
    assert orders.remarks[0].startswith("XOR of 2: ahead of HighRelief (0.0): ReliefF-cat ")


def test_every_feature_of_a_multiplexer_matters(folder):
    outcome = EXPERIMENT.run(
        Cell("6_bit_multiplexer_01", "HighRelief", 1), Sets(folder).get("6_bit_multiplexer_01")
    )
    assert outcome["right"] == outcome["recommended"]


def test_figure(outcomes):
    pytest.importorskip("matplotlib", reason="figures need the extra 'report'")
    figure = EXPERIMENT.figures(outcomes)["rebate-power"]
    assert [ax.get_title() for ax in figure.axes[:3]] == [
        "Higher orders",
        "Multiplexers",
        "Continuous endpoints",
    ]
    assert EXPERIMENT.figures({}) == {}
