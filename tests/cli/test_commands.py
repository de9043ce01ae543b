"""The command as a stranger runs it: real files, real processes, and all that can go wrong with them."""

import errno
import gzip
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
from unittest import mock

import numpy as np
import pytest
from command_line import (
    ENVIRONMENT,
    as_a_process,
    highrelief,
    on_a_terminal,
    refused,
    rows_of,
    started,
    table_text,
)
from registry import THOROUGH, long

typer = pytest.importorskip("typer", reason="the command needs the extra 'report'")
pytest.importorskip("rich", reason="the command needs the extra 'report'")
pl = pytest.importorskip("polars", reason="the command needs the extra 'report'")

from highrelief.cli import errors  # noqa: E402


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(table_text())
    return path


class TestRank:
    @pytest.mark.slow
    def test_writes_the_ranking_of_the_estimator(self, table, tmp_path):
        """As a process, whose imports must not warn where it is to be quiet."""
        out = tmp_path / "out"
        result = as_a_process("rank", table, "--target", "class", "--quiet", "--out", out, "--top", 3)
        assert (result.returncode, result.stderr) == (0, "")
        from highrelief import HighRelief
        from highrelief.io.reading import Source, read_table
        from highrelief.io.roles import Roles

        read = read_table(Source(table), Roles("class"))
        weights = HighRelief(random_state=0).fit(read.X, read.y).feature_weights_
        header, *rows = rows_of(tmp_path / "out" / "ranking.csv")
        assert header == ["rank", "feature", "weight", "kept"]
        assert {row[1]: float(row[2]) for row in rows} == dict(zip(read.feature_names, weights, strict=True))
        assert [float(row[2]) for row in rows] == sorted(weights, reverse=True)
        shown = result.stdout.splitlines()
        assert shown[0] == "rank\tfeature\tweight"
        assert [line.split("\t")[1] for line in shown[1:]] == [row[1] for row in rows[:3]]

    def test_says_what_it_did_with_the_columns(self, table):
        result = highrelief("rank", table, "--target", "class")
        assert "40 samples, 6 features, classes other (" in result.stderr
        assert "Names of the samples, not features: 'sample'." in result.stderr

    @pytest.mark.parametrize("method", ["irelief", "relieff", "simba", "online-irelief", "irelief-cv"])
    def test_a_record_gives_the_same_bytes(self, table, tmp_path, method):
        from highrelief.catalog import METHODS

        assert method in METHODS
        first = highrelief(
            "rank", table, "-t", "class", "-m", method, "--seed", 7, "--out", tmp_path / "a", "--no-report"
        )
        assert first.returncode == 0, first.stderr
        again = highrelief(
            "rank",
            "--repeat",
            tmp_path / "a" / "run.json",
            "--out",
            tmp_path / "b",
            "--jobs",
            2,
            "--no-report",
        )
        assert again.returncode == 0, again.stderr
        assert (tmp_path / "a" / "ranking.csv").read_bytes() == (tmp_path / "b" / "ranking.csv").read_bytes()
        record = json.loads((tmp_path / "b" / "run.json").read_text())
        assert record["request"]["seed"] == 7
        assert record["request"]["method"] == method

    def test_a_record_says_everything(self, table, tmp_path):
        highrelief(
            "rank",
            table,
            "-t",
            "class",
            "-m",
            "relieff",
            "--set",
            "n_neighbors=3",
            "--out",
            tmp_path / "a",
            "--no-report",
        )
        record = json.loads((tmp_path / "a" / "run.json").read_text())
        assert record["parameters"]["n_neighbors"] == 3
        assert len(record["data"]["sha256"]["table.csv"]) == 64
        assert record["data"]["samples"] == 40
        assert set(record["versions"]) >= {"python", "numpy", "scikit-learn", "numba"}
        assert set(record["time"]) == {"started", "reading", "fitting", "resampling"}

    @pytest.mark.slow
    def test_settings_of_a_cross_validated_method_reach_search_and_estimator(self, table, tmp_path):
        settings = ["--set", "cv=3", "--set", "alphas=[0.2]", "--set", "max_iter=10"]
        result = highrelief(
            *(
                "rank",
                table,
                "-t",
                "class",
                "-m",
                "logo-cv",
                *settings,
                "--out",
                tmp_path / "a",
                "--no-report",
            )
        )
        assert result.returncode == 0, result.stderr
        record = json.loads((tmp_path / "a" / "run.json").read_text())
        assert (record["parameters"]["cv"], record["parameters"]["estimator__max_iter"]) == (3, 10)
        assert record["result"]["n_iter"] <= 10
        assert record["result"]["sigma"] > 0.0

    def test_a_record_of_other_data_is_refused(self, table, tmp_path):
        highrelief("rank", table, "-t", "class", "--out", tmp_path / "a", "--no-report")
        table.write_text(table_text(seed=1))
        refused(highrelief("rank", "--repeat", tmp_path / "a" / "run.json"), 1, "SHA-256 differs")

    @pytest.mark.slow
    def test_a_record_that_moved_with_its_data(self, table, tmp_path):
        highrelief("rank", table.name, "-t", "class", "--out", "a", "--no-report", cwd=tmp_path)
        (tmp_path / "elsewhere").mkdir()
        for each in (table, tmp_path / "a" / "run.json"):
            each.rename(tmp_path / "elsewhere" / each.name)
        result = highrelief("rank", "--repeat", tmp_path / "elsewhere" / "run.json")
        assert result.returncode == 0, result.stderr

    @pytest.mark.slow
    def test_genes_as_rows(self, tmp_path):
        lines = [line.split(",") for line in table_text().splitlines()]
        genes = [["gene", *(row[0] for row in lines[1:])]]
        genes += [[lines[0][j], *(row[j] for row in lines[1:])] for j in range(2, len(lines[0]))]
        (tmp_path / "genes.tsv").write_text("\n".join("\t".join(row) for row in genes))
        (tmp_path / "labels.csv").write_text("\n".join(",".join(row[:2]) for row in lines))
        (tmp_path / "table.csv").write_text(table_text())
        turned = highrelief(
            "rank", tmp_path / "genes.tsv", "-t", "class", "--transpose", "--labels", tmp_path / "labels.csv"
        )
        assert turned.returncode == 0, turned.stderr
        assert turned.stdout == highrelief("rank", tmp_path / "table.csv", "-t", "class").stdout

    def test_missing_values_have_a_rule(self, tmp_path):
        text = table_text().replace("\ns3,", "\ns3x,", 1).splitlines()
        fields = text[5].split(",")
        fields[3] = "NA"
        text[5] = ",".join(fields)
        (tmp_path / "t.csv").write_text("\n".join(text))
        result = highrelief("rank", tmp_path / "t.csv", "-t", "class", "-m", "fisher")
        assert "1 missing value in 1 feature: the median of the feature stands in." in result.stderr
        result = highrelief("rank", tmp_path / "t.csv", "-t", "class", "--missing", "error")
        refused(result, 1, "1 value is missing, the first in 'g1' of sample 5; use another rule")

    def test_classes_are_recorded_and_repeated_as_written(self, tmp_path):
        rows = "".join(f"{['01', '1', 'NA', '-'][i % 4]},{i},{i * 7 % 5}\n" for i in range(24))
        (tmp_path / "t.csv").write_text(f"class,f,g\n{rows}")
        how = ["-t", "class", "-m", "relieff", "--no-report"]
        first = highrelief("rank", tmp_path / "t.csv", *how, "--out", tmp_path / "a")
        assert (
            "classes - (6), 01 (6), 1 (6)\n- 6 of 24 rows dropped: 'class' is missing ('NA' 6);"
            in first.stderr
        )
        how += ["--no-default-missing", "--missing-value", "-"]
        second = highrelief("rank", tmp_path / "t.csv", *how, "--out", tmp_path / "b")
        assert (
            "classes 01 (6), 1 (6), NA (6)\n- 6 of 24 rows dropped: 'class' is missing ('-' 6);"
            in second.stderr
        )
        record = json.loads((tmp_path / "b" / "run.json").read_text())
        assert record["data"]["classes"] == {"01": 6, "1": 6, "NA": 6}
        assert record["request"]["missing_values"] == ["-"]
        assert record["request"]["default_missing"] is False
        again = highrelief("rank", "--repeat", tmp_path / "b" / "run.json")
        assert (again.stdout, "NA (6)" in again.stderr) == (second.stdout, True)

    def test_of_many_classes_the_screen_lists_some(self, tmp_path):
        rows = "".join(f"c{i % 30:02},{i},{i * 7 % 5}\n" for i in range(90))
        (tmp_path / "t.csv").write_text(f"class,f,g\n{rows}")
        result = highrelief("rank", tmp_path / "t.csv", "-t", "class", "-m", "fisher")
        assert "classes c00 (3), c01 (3), c02 (3), c03 (3), c04 (3) and 25 more\n" in result.stderr

    @pytest.mark.slow
    @pytest.mark.parametrize("width", [40, 120] if THOROUGH else [40])
    def test_a_terminal_gets_a_table_that_fits(self, table, width):
        shown = on_a_terminal("stdout", width, "rank", table, "-t", "class")
        lines = re.sub(r"\x1b\[[0-9;]*m|\r", "", shown).splitlines()
        assert "feature" in lines[0]
        assert "█" in shown
        assert max(map(len, lines)) <= width

    @pytest.mark.slow
    def test_long_work_shows_how_long_it_will_take(self, tmp_path):
        (tmp_path / "t.csv").write_text(table_text(300, 100))
        settings = [f"--set={each}" for each in ("max_iter=100", "tol=0", "sigma=0.5")]
        ranked = ["rank", tmp_path / "t.csv", "-t", "class", "-m", "irelief", *settings]
        shown = on_a_terminal("stderr", 100, *ranked, patience=0.0)
        assert "Weighing 100 features" in shown
        assert "left:" in shown

    @pytest.mark.slow
    def test_short_work_shows_no_bar(self, table):
        assert "left:" not in on_a_terminal("stderr", 100, "rank", table, "-t", "class", "-m", "fisher")

    def test_a_record_is_not_mixed_with_options(self, table, tmp_path):
        highrelief("rank", table, "-t", "class", "-m", "fisher", "--out", tmp_path / "a", "--no-report")
        again = ["rank", "--repeat", tmp_path / "a" / "run.json"]
        refused(highrelief(*again, "--method", "logo", "--id", "g1"), 2, "leave out --method, --id")
        assert highrelief(*again, "--jobs", 1, "--top", 1, "-q").returncode == 0

    def test_a_record_of_other_versions_says_so(self, table, tmp_path):
        highrelief("rank", table, "-t", "class", "-m", "fisher", "--out", tmp_path / "a", "--no-report")
        path = tmp_path / "a" / "run.json"
        record = json.loads(path.read_text())
        assert "was made with" not in highrelief("rank", "--repeat", path).stderr
        record["highrelief"], record["versions"]["numpy"] = "0.0.0", "1.0"
        path.write_text(json.dumps(record))
        assert "was made with highrelief 0.0.0 (here " in highrelief("rank", "--repeat", path).stderr

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            ({"command": "compare"}, "is the record of 'compare'; only a ranking can be repeated"),
            ({"request": {"data": 5, "target": "class"}}, "is no record of a run"),
            ({"request": {"data": "a", "target": "class", "settings": "abc"}}, "is no record of a run"),
            (
                {"request": {"data": "a", "target": "class", "settings": {"sigma": 10**4000}}},
                "was changed: settings cannot be",
            ),
            (
                {"request": {"data": "a", "target": "class", "settings": {"widths": [1, -(2**63)]}}},
                "was changed: settings cannot be",
            ),
            (
                {"request": {"data": "a", "target": "class", "max_redundancy": 10**400}},
                "was changed: max_redundancy cannot be",
            ),
        ],
        ids=["compare", "data", "settings", "sigma", "widths", "redundancy"],
    )
    def test_a_record_that_was_changed(self, table, tmp_path, change, says):
        record = {
            "command": "rank",
            "request": {"data": str(table), "target": "class"},
            "data": {"sha256": {}},
        }
        (tmp_path / "run.json").write_text(json.dumps(record | change))
        refused(highrelief("rank", "--repeat", tmp_path / "run.json"), 1, says)

    @pytest.mark.slow
    def test_a_reader_that_leaves_early(self, table, tmp_path):
        reading, writing = os.pipe()
        os.close(reading)
        command = [sys.executable, "-m", "highrelief", "rank", table, "-t", "class", "-m", "fisher"]
        result = subprocess.run(
            [*command, "--quiet", "--out", tmp_path / "out"],
            stdout=writing, stderr=subprocess.PIPE, env=ENVIRONMENT, check=False,
        )  # fmt: skip
        os.close(writing)
        assert (result.returncode, result.stderr) == (0, b"")
        assert len(rows_of(tmp_path / "out" / "ranking.csv")) == 7
        assert (tmp_path / "out" / "report.html").exists()

    @pytest.mark.slow
    def test_letters_that_the_terminal_does_not_have(self, tmp_path):
        (tmp_path / "table.csv").write_text(table_text(n_features=2, names=["größe", "b"]), encoding="utf-8")
        command = [sys.executable, "-m", "highrelief", "rank", "table.csv", "-t", "class", "-m", "fisher"]
        result = subprocess.run(
            command, capture_output=True, cwd=tmp_path, check=False,
            env={**ENVIRONMENT, "PYTHONIOENCODING": "ascii"},
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        assert rb"gr\xf6\xdfe" in result.stdout


class TestInput:
    def test_the_standard_input(self, table, monkeypatch):
        named = highrelief("rank", table, "-t", "class", "-m", "fisher")
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(table.read_bytes())))
        piped = highrelief("rank", "-", "-t", "class", "-m", "fisher")
        assert piped.returncode == 0, piped.stderr
        assert piped.stdout == named.stdout

    def test_the_standard_input_of_a_binary_format(self, table, monkeypatch, tmp_path):
        pl.read_csv(table).write_parquet(tmp_path / "t.parquet")
        named = highrelief("rank", table, "-t", "class", "-m", "fisher")
        content = (tmp_path / "t.parquet").read_bytes()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert highrelief("rank", "-", "-t", "class", "-m", "fisher").stdout == named.stdout

    def test_the_standard_input_is_read_once(self, tmp_path):
        result = highrelief("rank", "-", "-t", "class", "--labels", "-")
        refused(result, 2, "DATA and --labels cannot both be -")

    @pytest.mark.parametrize("kind", ["parquet", "ipc"])
    def test_a_wrong_ending(self, table, tmp_path, kind):
        wrong = tmp_path / "wrong.csv"
        getattr(pl.read_csv(table), f"write_{kind}")(wrong)
        result = highrelief("rank", wrong, "-t", "class", "-m", "fisher")
        assert result.returncode == 0, result.stderr
        format_name = {"parquet": "Parquet", "ipc": "Feather"}[kind]
        assert f"Read as {format_name}, which wrong.csv is by its content." in result.stderr
        assert result.stdout == highrelief("rank", table, "-t", "class", "-m", "fisher").stdout

    def test_a_forgotten_transpose(self, tmp_path):
        rng = np.random.default_rng(0)
        samples = [f"s{i}" for i in range(8)]
        lines = ["\t".join(["gene", *samples])]
        lines += ["\t".join([f"gene{j}", *map(str, rng.normal(size=8).round(3))]) for j in range(60)]
        genes, labels = tmp_path / "genes.tsv", tmp_path / "labels.csv"
        genes.write_text("\n".join(lines) + "\n")
        rows = [f"{name},{'ab'[i % 2]}" for i, name in enumerate(samples)]
        labels.write_text("\n".join(["sample,class", *rows]) + "\n")
        result = highrelief("rank", genes, "-t", "class", "--labels", labels)
        refused(result, 1, "The samples of labels.csv are columns of genes.tsv, not rows: use --transpose.")
        refused(highrelief("rank", genes, "-t", "class"), 1, "if these are features, use --transpose and")
        refused(highrelief("rank", genes, "-t", "gene7"), 1, "'gene7' is a row of genes.tsv, not a column")
        turned = highrelief("rank", genes, "-t", "class", "--labels", labels, "--transpose", "-m", "fisher")
        assert turned.returncode == 0, turned.stderr


class TestSelect:
    @pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "feather", "npz"])
    def test_writes_the_best_columns_as_they_are(self, table, tmp_path, kind):
        out = tmp_path / f"kept.{kind}"
        result = highrelief("select", table, "-t", "class", "--top", 2, "--out", out)
        assert result.returncode == 0, result.stderr
        from highrelief.io.reading import Source, read_table
        from highrelief.io.roles import Roles

        whole = read_table(Source(table), Roles("class"))
        kept = read_table(Source(out), Roles("y" if kind == "npz" else "class"))
        assert sorted(kept.feature_names) == ["g0", "g1"]
        np.testing.assert_array_equal(
            kept.X, whole.X[:, [whole.feature_names.index(n) for n in kept.feature_names]]
        )
        assert kept.y.tolist() == whole.y.tolist()
        assert kept.sample_names == whole.sample_names

    def test_a_negative_class_is_no_formula(self, tmp_path):
        text = table_text().replace(",same,", ",-1,").replace(",other,", ",1,")
        (tmp_path / "table.csv").write_text(text)
        small = tmp_path / "small.csv"
        result = highrelief(
            "select", tmp_path / "table.csv", "-t", "class", "-m", "fisher", "--top", 1, "--out", small
        )
        assert result.returncode == 0, result.stderr
        assert {row[1] for row in rows_of(small)[1:]} == {"-1", "1"}

    @pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "npz"])
    def test_writes_the_labels_that_it_read(self, tmp_path, kind):
        labels = ["01", "1", "+1", "-", "+", "None", "10000000000000001", "10000000000000002"]
        rows = "".join(f"0{i},{labels[i % 8]},{i},{i * 7 % 5}\n" for i in range(32))
        (tmp_path / "t.csv").write_text(f"id,class,f,g\n{rows}")
        out = tmp_path / f"out.{kind}"
        result = highrelief(
            "select",
            tmp_path / "t.csv",
            "-t",
            "class",
            "-m",
            "fisher",
            "--top",
            1,
            "--id",
            "id",
            "--out",
            out,
        )
        assert result.returncode == 0, result.stderr
        from highrelief.io.reading import Source, read_table
        from highrelief.io.roles import Roles

        again = read_table(Source(out), Roles("y" if kind == "npz" else "class"))
        assert again.y.tolist() == 4 * labels
        assert again.sample_names == [f"0{i}" for i in range(32)]

    def test_needs_a_kind_of_file_that_it_can_write(self, table, tmp_path):
        result = highrelief("select", table, "-t", "class", "--top", 2, "--out", tmp_path / "kept.xls")
        refused(result, 2, "--out must end in one of .csv")

    def test_cannot_keep_more_than_there_are(self, table, tmp_path):
        result = highrelief("select", table, "-t", "class", "--top", 7, "--out", tmp_path / "kept.csv", "-q")
        refused(result, 2, "--top 7 is more than the 6 features")
        assert not (tmp_path / "kept.csv").exists()


class TestCompare:
    def test_judges_methods_on_samples_they_have_not_seen(self, tmp_path):
        (tmp_path / "t.csv").write_text(table_text(90, 12))
        out = tmp_path / "out"
        arguments = [
            "compare",
            tmp_path / "t.csv",
            "-t",
            "class",
            "--methods",
            "relieff,fisher",
            "--folds",
            3,
        ]
        result = highrelief(*arguments, "--inner-folds", 3, "--out", out)
        assert result.returncode == 0, result.stderr
        from sklearn.preprocessing import LabelEncoder

        from highrelief import FisherScore, ReliefF
        from highrelief.inspection.comparison import compare
        from highrelief.io.reading import Source, read_table
        from highrelief.io.roles import Roles

        read = read_table(Source(tmp_path / "t.csv"), Roles("class"))
        methods = {"relieff": ReliefF(random_state=0), "fisher": FisherScore()}
        y = LabelEncoder().fit_transform(read.y)
        expected = list(compare(methods, read.X, y, cv=3, inner_cv=3, random_state=0).rows())
        header, *rows = rows_of(out / "comparison.csv")
        assert header == list(expected[0])
        for row, line in zip(rows, expected, strict=True):
            found = dict(zip(header, row, strict=True))
            assert found["method"] == line["method"]
            for name in ("accuracy", "n_features", "ranking_stability", "tradeoff"):
                assert found[name] == ("" if line[name] is None else str(line[name]))
        assert result.stdout.splitlines()[0].split("\t") == header
        assert json.loads((out / "run.json").read_text())["request"]["folds"] == 3

    def test_groups_stay_together(self, tmp_path):
        lines = table_text(60, 4).splitlines()
        lines = [f"{line},{'who' if i == 0 else f'p{i // 3}'}" for i, line in enumerate(lines)]
        (tmp_path / "t.csv").write_text("\n".join(lines))
        arguments = ["compare", tmp_path / "t.csv", "-t", "class", "--methods", "fisher", "--folds", 3]
        result = highrelief(*arguments, "--groups", "who")
        assert result.returncode == 0, result.stderr
        assert "fisher\tknn" in result.stdout
        refused(
            highrelief(*arguments, "--groups", "whom", "-q"), 1, "named by --groups", "did you mean 'who'"
        )

    def test_needs_methods_that_differ(self, table):
        arguments = ["compare", table, "-t", "class", "-q", "--methods"]
        refused(highrelief(*arguments, "fisher,fisher"), 2, "names one twice")
        refused(highrelief(*arguments, "fisher,nothing"), 2, "There is no method 'nothing'")


class TestUsage:
    def test_help_is_quick_to_import(self):
        result = as_a_process("rank", "--help")
        assert result.returncode == 0
        assert "--transpose" in result.stdout

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["--method", "reliefff"], "There is no method 'reliefff'; did you mean relieff?"),
            (["--set", "q=1"], "high-relief has no parameter 'q'; it has level"),
            (["-m", "irelief", "--set", "q=1"], "irelief has no parameter 'q'; it has sigma"),
            (["--set", "sigma"], "--set needs name=value, and got 'sigma'"),
            (["-m", "irelief", "--set", "sigma=-1"], "sigma=-1"),
            (["--missing", "maybe"], "--missing is one of auto, keep, median"),
            (["--transpose"], "--transpose needs --labels FILE"),
            (["--sep", ""], "--sep cannot be ''"),
            (["--decimal", "x"], "--decimal is a point or a comma"),
            (["--repeat", "run.json"], "--repeat takes everything from the record"),
        ],
    )
    def test_wrong_usage_ends_with_2(self, table, arguments, says):
        refused(highrelief("rank", table, "-t", "class", "-q", *arguments), 2, says)

    def test_needs_a_table(self):
        refused(highrelief("rank"), 2, "DATA and --target COLUMN are needed")

    @pytest.mark.parametrize(
        ("command", "panels"),
        [
            ("rank", ["Input", "Method", "Output", "Missing values", "Text files", "Run"]),
            ("select", ["Input", "Selection", "Method", "Output"]),
            ("compare", ["Input", "Method", "Output"]),
        ],
    )
    def test_help_has_panels_and_examples(self, command, panels):
        shown = highrelief(command, "--help").stdout
        titles = re.findall(r"^╭─ ([\w ]+) ─", shown, re.MULTILINE)
        assert titles[:2] == ["Arguments", "Options"]
        assert set(titles) >= set(panels)
        assert f"highrelief {command} genes.csv --target tumor" in shown.replace("\n", " ")
        assert re.search(r"--target +-t +COLUMN ", shown)
        assert "TEXT" not in shown
        # All options but --help have a panel.
        assert re.search(r"─ Options ─+╮\n│ --help .*\n╰", shown)

    def test_cites_the_software(self):
        from highrelief import __version__

        shown = highrelief("cite").stdout
        assert shown.startswith("@software{highrelief,")
        assert f"version = {{{__version__}}}" in shown
        assert shown in highrelief("cite", "all").stdout

    def test_cites(self):
        from highrelief.catalog import METHODS

        result = highrelief("cite", "all")
        assert result.returncode == 0
        assert result.stdout.count("@") >= 10
        for method in METHODS.values():
            for key in method.references:
                assert f"{{{key}," in result.stdout
        assert "sun2010" in highrelief("cite", "logo").stdout
        refused(highrelief("cite", "nothing"), 2, "There is no method 'nothing'")

    def test_turf_is_elimination_with_relieff(self, table):
        from highrelief import IterativeElimination, ReliefF
        from highrelief.io.reading import Source, read_table
        from highrelief.io.roles import Roles

        result = highrelief("rank", table, "-t", "class", "-m", "turf", "--set", "n_neighbors=3")
        assert result.returncode == 0, result.stderr
        read = read_table(Source(table), Roles("class"))
        model = IterativeElimination(ReliefF(n_neighbors=3, random_state=0)).fit(read.X, read.y)
        best = np.argsort(model.ranking_, kind="stable")
        expected = [[read.feature_names[j], repr(float(model.feature_weights_[j]))] for j in best]
        assert [line.split("\t")[1:] for line in result.stdout.splitlines()[1:]] == expected
        assert "moore2007" in highrelief("cite", "turf").stdout

    def test_lists_methods(self):
        assert "LOGO" in highrelief("methods").stdout

    def test_completes(self):
        result = subprocess.run(
            [sys.executable, "-m", "highrelief", "--show-completion", "bash"],
            capture_output=True,
            text=True,
            check=False,
            env={**ENVIRONMENT, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
        )
        assert result.returncode == 0, result.stderr
        assert "complete" in result.stdout
        assert " highrelief" in result.stdout

    @pytest.mark.slow
    def test_debug_shows_where(self, table):
        result = as_a_process("rank", table, "-t", "nothing", "--debug")
        assert "Traceback" in result.stderr


class TestBadInput:
    """One test for each way in which a file, a disk or a person can spoil a run."""

    def check(self, tmp_path, content, *says, name="bad.csv", arguments=()):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        out = tmp_path / "out"
        refused(highrelief("rank", path, "-t", "class", "--out", out, "-q", *arguments), 1, *says)
        assert sorted(each.name for each in tmp_path.iterdir()) == [name]

    def test_no_file(self, tmp_path):
        refused(highrelief("rank", tmp_path / "none.csv", "-t", "class"), 1, "There is no file")

    @pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
    def test_a_file_that_may_not_be_read(self, table, tmp_path):
        closed = tmp_path / "closed.csv"
        closed.write_text(table.read_text())
        closed.chmod(0)
        refused(highrelief("rank", closed, "-t", "class"), 1, "Cannot read", "permission denied")
        result = highrelief("rank", table, "-t", "class", "--labels", closed)
        refused(result, 1, "Cannot read", "permission denied")
        refused(highrelief("rank", "--repeat", closed), 1, "closed.csv", "Permission denied")

    def test_a_folder(self, tmp_path):
        refused(highrelief("rank", tmp_path, "-t", "class"), 1, "is a folder")

    def test_an_unreadable_file(self, tmp_path):
        self.check(tmp_path, os.urandom(2000), "Cannot read 'bad.parquet' as Parquet", name="bad.parquet")

    def test_a_wrong_column(self, tmp_path):
        self.check(tmp_path, table_text().replace("class", "klass", 1), "did you mean 'klass'?")

    def test_one_class(self, tmp_path):
        text = table_text().replace(",same,", ",other,")
        self.check(tmp_path, text, "'other' in every row; two classes are needed")

    def test_constant_features(self, tmp_path):
        self.check(tmp_path, "class,a,b\nx,1,2\ny,1,2\nx,1,2\ny,1,2\n", "All 2 features of X are constant")

    def test_nul_bytes(self, tmp_path):
        self.check(tmp_path, "class,a\nx,1\0\ny,2\n", "NUL byte in line 2")

    @pytest.mark.parametrize(
        "encoding",
        ["rot13", "hex", "punycode", "idna", "undefined", "unicode_escape", "klingon", "a\0b", "", "é"],
    )
    def test_what_is_no_encoding(self, encoding, tmp_path):
        (tmp_path / "table.csv").write_text(table_text())
        result = highrelief("rank", tmp_path / "table.csv", "--target", "class", "--encoding", encoding)
        refused(result, 2, f"--encoding={encoding!r} is invalid: use the name of a character set")

    def test_mixed_encodings(self, tmp_path):
        content = "class,ä\nx,1\n".encode() + "é,2\n".encode("latin-1")
        self.check(tmp_path, content, "not UTF-8 throughout: byte 0xe9 in line 3")

    def test_a_file_cut_in_the_middle(self, tmp_path):
        text = table_text()
        self.check(tmp_path, text[: len(text) * 2 // 3].rsplit(",", 1)[0], "the file is cut off")

    def test_a_compressed_file_cut_in_the_middle(self, tmp_path):
        self.check(
            tmp_path, gzip.compress(table_text().encode())[:900], "damaged or cut off", name="bad.csv.gz"
        )

    def test_a_target_that_is_missing(self, tmp_path):
        self.check(tmp_path, "class,a\n,1\n,2\n", "missing in every row")

    def test_a_target_that_is_different_in_every_row(self, tmp_path):
        self.check(tmp_path, "class,a\nu,1\nv,2\nw,3\n", "names samples, not classes")

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "command", [["rank"], ["compare"], ["select", "--top", 1, "--out", "selected.csv"]]
    )
    def test_a_target_of_too_many_classes(self, tmp_path, command):
        rows = "".join(f"c{i // 3},{i},{i % 7}\n" for i in range(30_000))
        (tmp_path / "t.csv").write_text(f"class,f,g\n{rows}")
        name, *options = command
        result = highrelief(name, "t.csv", "-t", "class", *options, cwd=tmp_path)
        refused(result, 1, "'class' has 10,000 classes in 30,000 rows; at most 1,000 are allowed")

    @long
    @pytest.mark.slow
    def test_ten_to_the_six_columns(self, tmp_path):
        rng = np.random.default_rng(0)
        n = 10**6
        lines = ["class," + ",".join(map(str, range(n)))]
        digits = np.full((6, 2 * n), ord(","), dtype=np.uint8)
        digits[:, 1::2] = ord("0") + rng.integers(0, 10, (6, n))
        lines += [f"{'xy'[i % 2]}{digits[i].tobytes().decode()}" for i in range(6)]
        path = tmp_path / "wide.csv"
        path.write_text("\n".join(lines))
        result = highrelief("rank", path, "-t", "class", "-m", "relieff", "--top", 1)
        assert result.returncode == 0, result.stderr
        assert "6 samples, 1,000,000 features" in result.stderr

    @pytest.mark.slow
    def test_names_that_are_code(self, tmp_path):
        names = [
            "<script>alert(1)</script>",
            '"=HYPERLINK(""http://x"",""y"")"',
            '"two\nlines"',
            "n" * 10_000,
            "@a",
            "+b",
        ]
        path = tmp_path / "names.csv"
        path.write_text(table_text(names=names))
        result = highrelief("rank", path, "-t", "class", "--out", tmp_path / "out")
        assert result.returncode == 0, result.stderr
        found = {row[1] for row in rows_of(tmp_path / "out" / "ranking.csv")[1:]}
        assert found == {
            "<script>alert(1)</script>",
            '\'=HYPERLINK("http://x","y")',
            "two\nlines",
            "n" * 10_000,
            "'@a",
            "'+b",
        }
        assert len(result.stdout.splitlines()) == 7
        assert r"two\nlines" in result.stdout

    def test_names_that_occur_twice(self, tmp_path):
        path = tmp_path / "twice.csv"
        path.write_text(table_text(names=["a", "b", "a", "c", "a", "d"]))
        result = highrelief("rank", path, "-t", "class")
        assert result.returncode == 0
        assert "1 name occurs more than once; the repeated columns were numbered: 'a'." in result.stderr
        assert {line.split("\t")[1] for line in result.stdout.splitlines()[1:]} == {
            "a", "b", "a (2)", "c", "a (3)", "d",
        }  # fmt: skip

    @pytest.mark.slow
    def test_a_full_disk(self, table, tmp_path, monkeypatch):
        def full(*arguments, **options):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(pathlib.Path, "write_text", full)
        result = highrelief("rank", table, "-t", "class", "--out", tmp_path / "out", "-q")
        assert result.returncode == 1
        assert result.stderr.strip() == f"highrelief: The disk is full: {tmp_path / 'out'} was not written."
        assert sorted(each.name for each in tmp_path.iterdir()) == ["table.csv"]

    @pytest.mark.skipif(sys.platform == "win32", reason="no such limit")
    @pytest.mark.parametrize("ending", [".parquet", ".feather", ".csv", ".npz"])
    def test_a_selection_that_the_disk_has_no_room_for(self, tmp_path, ending):
        table = tmp_path / "table.csv"
        table.write_text(table_text(400, 40))
        out = tmp_path / f"out{ending}"
        # Python ignores the signal that a file beyond the limit sends.
        resource = pytest.importorskip("resource")
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
        try:
            result = highrelief(
                "select", table, "-t", "class", "-m", "fisher", "--top", 40, "--out", out, "-q"
            )
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        refused(result, 1, f"{out} cannot be written: ")
        assert sorted(each.name for each in tmp_path.iterdir()) == ["table.csv"]

    @pytest.mark.parametrize(
        "setting",
        [
            "-" * 5000 + "1",
            "-" * 100_000 + "1",
            "1e400",
            "9**9**9",
            "(" * 3000,
            "{{}}",
            "9" * 5000,
            "\0",
            "1" + "+1" * 4000,
        ],
        ids=lambda setting: setting[:9],
    )
    def test_odd_settings(self, table, setting):
        result = highrelief("rank", table, "-t", "class", "-m", "irelief", "-q", "--set", f"sigma={setting}")
        refused(result, 2, "sigma")

    @pytest.mark.parametrize("force", [False, True])
    @pytest.mark.parametrize(
        "name",
        ["file", "file/x", "dangling", "dangling/x", "loop/x", "n" * 300, "n" * 300 + "/x"],
        ids=lambda name: name[:12],
    )
    def test_places_that_cannot_be_written(self, table, tmp_path, name, force):
        (tmp_path / "file").write_text("mine")
        (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
        (tmp_path / "loop").symlink_to(tmp_path / "loop")
        options = ["-t", "class", "-m", "fisher", "-q", *(["--force"] if force else [])]
        refused(highrelief("rank", table, *options, "--out", tmp_path / name), 1, name)
        assert (tmp_path / "file").read_text() == "mine"
        assert not (tmp_path / "nowhere").exists()

    @pytest.mark.parametrize("name", ["n" * 250, "\udcff", "a\nb"], ids=lambda name: ascii(name)[:8])
    def test_places_of_odd_names(self, tmp_path, name):
        table = tmp_path / f"{name}.csv"
        table.write_text(table_text())
        first = highrelief(
            "rank", table, "-t", "class", "-m", "fisher", "--out", tmp_path / name, "--no-report"
        )
        assert first.returncode == 0, first.stderr
        again = highrelief("rank", "--repeat", tmp_path / name / "run.json")
        assert again.stdout == first.stdout

    @pytest.mark.slow
    def test_a_folder_that_exists(self, table, tmp_path):
        out = tmp_path / "out"
        out.mkdir()
        (out / "mine.txt").write_text("keep")
        refused(highrelief("rank", table, "-t", "class", "--out", out), 1, "exists already; --force")
        result = highrelief("rank", table, "-t", "class", "-m", "irelief", "--out", out, "--force")
        assert result.returncode == 0, result.stderr
        assert sorted(each.name for each in out.iterdir()) == [
            "interactions.csv",
            "mine.txt",
            "ranking.csv",
            "report.html",
            "run.json",
        ]
        assert sorted(each.name for each in tmp_path.iterdir()) == ["out", "table.csv"]

    def test_the_demo_leaves_the_folder_of_another_run_alone(self, tmp_path):
        (tmp_path / "ranking.csv").write_text("mine")
        result = highrelief("demo", "--out", tmp_path)
        assert result.returncode == 1
        assert "exists already" in result.stderr
        assert [each.name for each in tmp_path.iterdir()] == ["ranking.csv"]

    def test_a_pipe(self, tmp_path):
        os.mkfifo(tmp_path / "table.csv")
        refused(highrelief("rank", tmp_path / "table.csv", "-t", "class"), 1, "is a pipe or a device")

    @pytest.mark.slow
    def test_a_standard_output_that_is_full(self, table):
        command = [sys.executable, "-m", "highrelief", "rank", table, "-t", "class", "-m", "fisher", "-q"]
        with open("/dev/full", "w") as full:
            result = subprocess.run(
                command, stdout=full, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, check=False
            )
        assert result.returncode == 1
        assert result.stderr == (
            "highrelief: what is shown cannot be written or read: No space left on device.\n"
        )

    @pytest.mark.skipif(sys.platform == "win32", reason="no such limit")
    @pytest.mark.parametrize("limit", [500_000, 900_000])
    def test_a_limit_of_addresses_that_the_imports_exceed(self, table, limit):
        code = f"""
import resource
resource.setrlimit(resource.RLIMIT_AS, ({limit} * 1024, resource.RLIM_INFINITY))
from highrelief.cli import main
main()
"""
        result = subprocess.run(
            [sys.executable, "-c", code, "rank", str(table), "-t", "class"],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env=ENVIRONMENT,
        )
        refused(result, 1, f"the address space is limited to {limit} kB (ulimit -v), and at least 1310720 kB")

    @pytest.mark.parametrize(
        ("error", "says"),
        [
            (OSError("Could not load libllvmlite.so"), "(OSError: Could not load libllvmlite.so)"),
            (
                OSError(28, "No space left on device"),
                "what is shown cannot be written or read: No space left",
            ),
            (OSError(5, "Input/output error", "/data/t"), "/data/t cannot be written or read: Input/output"),
        ],
    )
    def test_only_errors_of_output_name_it(self, capsys, error, says):
        with (
            pytest.raises(typer.Exit),
            mock.patch.object(errors, "_discard_output"),
            errors.exit_on_error(debug=False),
        ):
            raise error
        shown = capsys.readouterr().err
        assert says in shown
        assert ("what is shown" in shown) == ("what is shown" in says)

    def test_a_file_where_a_folder_is_to_be(self, table, tmp_path):
        result = highrelief("rank", table, "-t", "class", "--out", table / "out")
        refused(result, 1, "table.csv is a file")

    def test_one_is_not_many(self, tmp_path):
        path = tmp_path / "table.csv"
        path.write_text("a,class\n" + "1,x\n2,y\n3,x\n" * 4)
        options = ("-t", "class", "-m", "fisher", "--top", 1)
        result = highrelief("select", path, *options, "--out", tmp_path / "kept.csv")
        assert "12 samples, 1 feature, classes" in result.stderr
        assert "12 samples and 1 feature\n" in result.stderr

    def test_a_number_that_is_too_large_for_a_float(self, table):
        result = highrelief("rank", table, "-t", "class", "-m", "irelief", "-q", "--set", f"sigma={10**400}")
        refused(result, 2, "sigma=1000", "must be a finite number > 0")

    @pytest.mark.parametrize("there", [False, True])
    def test_a_folder_that_may_be_written_to_and_not_read(self, table, tmp_path, monkeypatch, there):
        if there:
            (tmp_path / "out").mkdir()
        opened = os.open

        def refusing(path, flags, *arguments, **options):
            if os.path.isdir(path) and flags == os.O_RDONLY:
                raise PermissionError(13, "Permission denied", str(path))
            return opened(path, flags, *arguments, **options)

        monkeypatch.setattr(os, "open", refusing)
        options = ("-t", "class", "-m", "fisher", "--no-report", "--force")
        result = highrelief("rank", table, *options, "--out", tmp_path / "out")
        assert result.returncode == 0, result.stderr
        assert (tmp_path / "out" / "ranking.csv").exists()
        result = highrelief("select", table, "-t", "class", "--top", 2, "--out", tmp_path / "kept.csv")
        assert result.returncode == 0, result.stderr
        assert (tmp_path / "kept.csv").exists()

    @pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
    def test_a_folder_that_may_not_be_written_to(self, table, tmp_path):
        tmp_path.chmod(0o500)
        result = highrelief("rank", table, "-t", "class", "--out", tmp_path / "out")
        tmp_path.chmod(0o700)
        refused(result, 1, "may not be written to")

    def test_a_file_that_exists(self, table, tmp_path):
        out = tmp_path / "kept.csv"
        out.write_text("mine")
        refused(highrelief("select", table, "-t", "class", "--top", 1, "--out", out), 1, "exists already")
        assert out.read_text() == "mine"

    @pytest.mark.slow
    def test_an_interruption(self, tmp_path):
        path = tmp_path / "large.csv"
        path.write_text(table_text(600, 500))
        endless = [f"--set={setting}" for setting in ("max_iter=1000000", "tol=0", "sigma=0.5")]
        options = ("-t", "class", "-m", "irelief", "--out", tmp_path / "out", *endless)
        with started("rank", path, *options) as process:
            assert "600 samples" in process.stderr.readline()
            time.sleep(1.0)
            process.send_signal(signal.SIGINT)
            shown, errors = process.communicate(timeout=100)
        assert (process.returncode, shown) == (130, "")
        assert errors.splitlines()[-1] == "highrelief: stopped; no file is half-written."
        assert sorted(each.name for each in tmp_path.iterdir()) == ["large.csv"]


class TestReproduce:
    def test_lists_what_there_is(self):
        result = highrelief("reproduce")
        assert result.returncode == 0, result.stderr
        assert re.search(r"^  lfe-table2 +Test errors of k-NN", result.stdout, re.MULTILINE)
        assert "lfe-fig4" in result.stdout
        assert "cannot be run: it lists the sizes of the sets" in result.stdout

    @pytest.mark.slow
    def test_ours_beside_theirs(self, tmp_path):
        from protocol_sets import written_set

        written_set(tmp_path / "data", "thyroid")
        command = ["reproduce", "lfe-table2", "--data", tmp_path / "data", "--cache", tmp_path / "cache"]
        command += ["--datasets", "banana,thyroid"]
        first = highrelief(*command, "--repeats", 2, "--out", tmp_path / "out")
        assert first.returncode == 0, first.stderr
        assert "2 cells, 0 of them done; the rest will take about" in first.stderr
        assert "Not at hand: banana" in first.stderr
        title, head, row, *tests = first.stdout.splitlines()
        assert title == "# Table 2 (test error, %): ours / theirs (standard errors apart)"
        assert head == "set\tKNN\tRELIEF\tDANN\tNCA\tLFE"
        assert re.fullmatch(r"thyroid(\t[\d.]+\([\d.]+\) / [\d.]+\([\d.]+\) \([+-][\d.]+\)){5}", row)
        assert tests[1] == "set\tLFE against RELIEF\tLFE against NCA"
        assert re.fullmatch(r"thyroid\t[\d.< ]+[+-] / 0.001\+\t[\d.< ]+[+-] / 0.36\+", tests[2])
        page = (tmp_path / "out" / "results.md").read_text()
        assert "| thyroid |" in page
        assert "Not at hand: banana" in page
        record = json.loads((tmp_path / "out" / "results.json").read_text())
        assert (record["experiment"], record["cells"]) == ("lfe-table2", 2)
        again = highrelief("reproduce", "lfe-fig2", *command[2:], "--repeats", 2, "--out", tmp_path / "two")
        assert "2 cells, 2 of them done" in again.stderr
        assert (tmp_path / "two" / "lfe-fig2.png").read_bytes().startswith(b"\x89PNG")

    def test_wrong_usage(self, tmp_path):
        refused(highrelief("reproduce", "lfe-table9", "-q"), 2, "There is no experiment 'lfe-table9'")
        refused(highrelief("reproduce", "lfe-table1", "-q"), 2, "cannot be run: it lists the sizes")
        absent = highrelief("reproduce", "lfe-table2", "--datasets", "banana,splice", "-q")
        refused(absent, 2, "None of its sets is at hand (banana, splice); use --data FOLDER, or --fetch")
        refused(
            highrelief("reproduce", "lfe-table2", "--datasets", "iris", "-q"), 2, "has no set 'iris'; it has"
        )
        nowhere = tmp_path / "nowhere"
        refused(highrelief("reproduce", "lfe-table2", "--data", nowhere, "-q"), 2, f"no folder {nowhere}")
        (tmp_path / "group").mkdir()
        np.savez(tmp_path / "group" / "banana.npz", X=np.zeros((3, 2)), y=np.zeros(4))
        wrong = highrelief("reproduce", "lfe-table2", "--data", tmp_path, "--datasets", "banana", "-q")
        refused(wrong, 1, "banana.npz has X of shape (3, 2) and y of shape (4,)")

    @pytest.mark.slow
    @pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")
    def test_an_interruption_ends_it_soon_and_keeps_what_is_done(self, tmp_path):
        from protocol_sets import written_set

        for name in ("twonorm", "waveform"):
            written_set(tmp_path, name, n_train=200)
        command = ["reproduce", "lfe-table2", "--data", tmp_path, "--cache", tmp_path]
        command += ["--datasets", "twonorm,waveform"]
        kept = tmp_path / "lfe-uci.jsonl"
        with started(*command, "--jobs", 2, stdout=subprocess.DEVNULL, start_new_session=True) as run:
            until = time.monotonic() + 120.0
            while not kept.exists() and time.monotonic() < until:
                time.sleep(0.1)
            os.killpg(run.pid, signal.SIGINT)
            said = run.communicate(timeout=60)[1]
        assert run.returncode == 130, said
        assert "What is done is kept: the same command goes on from here." in said
        assert "Traceback" not in said
        n_kept = kept.read_text().count('"dataset"')
        again = highrelief(*command, "--repeats", 1)
        assert re.search(rf"2 cells, {min(n_kept, 2)} of them done", again.stderr)
