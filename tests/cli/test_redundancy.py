"""``--max-redundancy`` and ``--interactions``: what is kept, shown and written."""

import csv
import json

import numpy as np
import pytest
from command_line import highrelief, refused

from highrelief import RedundancyFilter, ReliefF, interactions
from highrelief.datasets import make_xor

for needed in ("typer", "rich", "polars", "jinja2"):
    pytest.importorskip(needed, reason="the report needs the extra 'report'")

X, y, _ = make_xor(150, n_irrelevant=6, random_state=0)
X = np.column_stack([X, -X[:, 0]])
NAMES = [f"g{place}" for place in range(9)]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "table.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["class", *NAMES])
        writer.writerows([f"c{label}", *row] for label, row in zip(y, X.tolist(), strict=True))
    return path


@pytest.fixture(scope="module")
def out(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "out"
    result = highrelief(
        "rank",
        table,
        "-t",
        "class",
        "-m",
        "relieff",
        "--max-redundancy",
        0.9,
        "--out",
        folder,
        "--resamples",
        4,
    )
    assert result.returncode == 0, result.stderr
    return folder


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_ranking_has_groups(out):
    fitted = RedundancyFilter(ReliefF(), threshold=0.9).fit(X, y)
    for row in rows_of(out / "ranking.csv"):
        place = NAMES.index(row["feature"])
        assert row["kept"] == ("yes" if fitted.get_support()[place] else "no")
        label = fitted.labels_[place]
        assert row["group"] == ("" if label < 0 else str(label + 1))
        if label >= 0:
            assert float(row["similarity"]) == fitted.similarity_[place]
    result = json.loads((out / "run.json").read_text())["result"]
    assert result["groups"] == [{"representative": "g0", "others": {"g8": 1.0}}]
    assert result["looked_at"] == int((fitted.labels_ >= 0).sum())


def test_interactions_are_written(out):
    expected = interactions(ReliefF().fit(X, y), X, y, n_resamples=4, random_state=0)
    rows = rows_of(out / "interactions.csv")
    m = expected.features.size
    assert len(rows) == m * (m - 1)
    place = {NAMES[j]: i for i, j in enumerate(expected.features)}
    for row in rows:
        i, j = place[row["feature"]], place[row["without"]]
        assert float(row["weight_without"]) == expected.weights_without[i, j]
        if row["loss"]:
            assert float(row["loss"]) == expected.losses[i, j]
            assert float(row["noise"]) == expected.noise[i, j]
        assert row["beyond_noise"] == ("yes" if expected.clear[i, j] else "no")
    kept = json.loads((out / "run.json").read_text())["result"]["interactions"]
    assert kept["features"] == [NAMES[j] for j in expected.features]
    assert kept["halves"] == 4


def test_a_run_is_repeated_without_interactions(out, tmp_path):
    again = highrelief(
        "rank",
        "--repeat",
        out / "run.json",
        "--no-interactions",
        "--out",
        tmp_path / "again",
        "--resamples",
        0,
    )
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again" / "ranking.csv").read_bytes() == (out / "ranking.csv").read_bytes()
    assert not (tmp_path / "again" / "interactions.csv").exists()
    record = json.loads((tmp_path / "again" / "run.json").read_text())
    assert "switched off" in record["result"]["interactions"]


def test_interactions_without_a_report(table, tmp_path):
    asked = ("-m", "relieff", "--interactions", "--no-report", "--resamples", 0, "--out", tmp_path / "out")
    assert highrelief("rank", table, "-t", "class", *asked).returncode == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "interactions.csv",
        "ranking.csv",
        "run.json",
    ]
    assert {row["beyond_noise"] for row in rows_of(tmp_path / "out" / "interactions.csv")} == {""}


def test_select_keeps_so_many_that_differ(table, tmp_path):
    path = tmp_path / "kept.csv"
    asked = ("--max-redundancy", 0.9, "--top", 3, "--out", path)
    result = highrelief("select", table, "-t", "class", "-m", "relieff", *asked)
    assert result.returncode == 0, result.stderr
    kept = RedundancyFilter(ReliefF(), threshold=0.9, n_features_to_select=3).fit(X, y).get_support()
    with path.open(newline="") as file:
        assert next(csv.reader(file)) == [
            "class",
            *(name for name, each in zip(NAMES, kept, strict=True) if each),
        ]


def test_what_cannot_be_asked_for(table):
    for wrong in (0, 1.5, "much"):
        result = highrelief("rank", table, "-t", "class", "--max-redundancy", wrong)
        assert result.returncode == 2
        assert "--max-redundancy" in result.stderr
    refused(highrelief("rank", table, "-t", "class", "--interactions"), 2, "--interactions", "--out FOLDER")
