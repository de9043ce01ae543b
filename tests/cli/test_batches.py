"""Batches and groups on the command line."""

import json

import numpy as np
import pytest
from command_line import highrelief, refused, rows_of

from highrelief import ReliefF

pytest.importorskip("typer", reason="the command needs the extra 'report'")
pytest.importorskip("rich", reason="the command needs the extra 'report'")
pytest.importorskip("polars", reason="the command needs the extra 'report'")


def samples():
    """Days with nine tenths of one class each; g3 tells classes apart, g4 the days; two samples a patient."""
    rng = np.random.default_rng(0)
    day = np.arange(120) % 2
    y = np.where(rng.uniform(size=120) < 0.9, day, 1 - day)
    X = rng.normal(size=(120, 6)).round(4)
    X[:, 3] += 1.5 * y
    X[:, 4] += 6.0 * day
    return X, y, day


@pytest.fixture
def table(tmp_path):
    X, y, day = samples()
    lines = ["class,day,who," + ",".join(f"g{j}" for j in range(6))]
    for n, row in enumerate(X.tolist()):
        lines.append(f"{'ab'[y[n]]},{('mon', 'tue')[day[n]]},p{n // 2}," + ",".join(map(str, row)))
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize("where", [[], ["--batch-neighbors", "across"]], ids=["within", "across"])
def test_rank_with_batches(table, tmp_path, where):
    out = tmp_path / "out"
    arguments = ["-t", "class", "-m", "relieff", "--batch", "day", *where, "--resamples", 4]
    result = highrelief("rank", table, *arguments, "--groups", "who", "--out", out)
    assert result.returncode == 0, result.stderr
    assert "Batches, no feature: 'day', with 2 different values." in result.stdout + result.stderr
    assert "Groups, no feature: 'who', with" in result.stdout + result.stderr
    X, y, day = samples()
    expected = ReliefF(batch_neighbors=where[-1] if where else "within").fit(X, y, batches=day)
    found = {row[1]: float(row[2]) for row in rows_of(out / "ranking.csv")[1:]}
    assert found == dict(zip([f"g{j}" for j in range(6)], expected.feature_weights_.tolist(), strict=True))
    kept = json.loads((out / "run.json").read_text())["request"]
    assert (kept["batch"], kept["groups"]) == ("day", "who")
    again = highrelief("rank", "--repeat", out / "run.json", "--out", tmp_path / "again")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again" / "ranking.csv").read_bytes() == (out / "ranking.csv").read_bytes()
    refused(highrelief("rank", "--repeat", out / "run.json", "--batch", "day"), 2, "leave out --batch")


def test_select_with_batches(table, tmp_path):
    arguments = ["select", table, "-t", "class", "--drop", "who", "-m", "relieff", "--top", 1]
    plain = highrelief(*arguments, "--drop", "day", "--out", tmp_path / "plain.csv")
    within = highrelief(*arguments, "--batch", "day", "--out", tmp_path / "within.csv")
    assert plain.returncode == within.returncode == 0, plain.stderr + within.stderr
    assert rows_of(tmp_path / "plain.csv")[0] == ["class", "g4"]
    assert rows_of(tmp_path / "within.csv")[0] == ["class", "g3"]


def test_compare_with_batches(table, tmp_path):
    out = tmp_path / "out"
    arguments = ["compare", table, "-t", "class", "--methods", "relieff", "--folds", 3, "--inner-folds", 3]
    result = highrelief(*arguments, "--batch", "day", "--groups", "who", "--out", out, "--no-report")
    assert result.returncode == 0, result.stderr
    assert json.loads((out / "run.json").read_text())["request"]["batch"] == "day"
    from highrelief.inspection.comparison import compare

    X, y, day = samples()
    rows = list(
        compare(
            {"relieff": ReliefF()},
            X,
            np.array(["a", "b"])[y],
            groups=np.arange(120) // 2,
            batches=day,
            cv=3,
            inner_cv=3,
            random_state=0,
        ).rows()
    )
    header, *found = rows_of(out / "comparison.csv")
    place = header.index("n_features")
    assert [row[place] for row in found] == [str(row["n_features"]) for row in rows]
    refused(highrelief(*arguments[:4], "--methods", "fisher", "--batch", "day"), 2, "fisher takes no batches")


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--batch-neighbors", "across"], 2, ["needs --batch COLUMN"]),
        (["--batch", "day", "--batch-neighbors", "between"], 2, ["within or across", "between"]),
        (["--batch", "dai"], 1, ["named by --batch", "did you mean 'day'"]),
        (["--batch", "class"], 1, ["no batch has two classes"]),
        (["--batch", "day", "--drop", "day"], 1, ["is the target, the groups or the batches"]),
        (["--batch", "day", "--method", "fisher"], 2, ["fisher takes no batches"]),
        (["--groups", "who"], 2, ["--groups is for report.html"]),
    ],
    ids=["no column", "between", "unknown", "the classes", "dropped", "fisher", "no report"],
)
def test_what_cannot_be(table, options, code, words):
    refused(highrelief("rank", table, "-t", "class", "-q", "-m", "relieff", *options), code, *words)
