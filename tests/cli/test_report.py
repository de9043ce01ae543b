"""The pages that the command writes."""

import html
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from command_line import ENVIRONMENT, highrelief, on_a_terminal, refused, rows_of, started, table_text

for needed in ("typer", "rich", "polars", "jinja2"):
    pytest.importorskip(needed, reason="the report needs the extra 'report'")

from highrelief.cli.options import Request  # noqa: E402
from highrelief.cli.rank import assess, rank  # noqa: E402
from highrelief.cli.screen import Listener  # noqa: E402


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(table_text())
    return path


def shown_by(path):
    """What the page draws, and what stands in it."""
    page = path.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="contents">(.*?)</script>', page, flags=re.DOTALL)
    text = re.sub(r"<script.*?</script>|<style.*?</style>", "", page, flags=re.DOTALL)
    return json.loads(found.group(1)), " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


@pytest.mark.slow
def test_rank_writes_a_page_of_its_ranking(table, tmp_path):
    result = highrelief("rank", table, "-t", "class", "-m", "logo", "--out", tmp_path / "out", "--seed", 3)
    assert result.returncode == 0, result.stderr
    path = tmp_path / "out" / "report.html"
    assert result.stderr.splitlines()[-1] == f"Report: {path}"
    shown, text = shown_by(path)
    rows = [line.split("\t") for line in result.stdout.splitlines()[1:]]
    assert shown["features"]["names"] == [row[1] for row in rows]
    assert shown["features"]["weights"] == pytest.approx([float(row[2]) for row in rows], rel=1e-5)
    assert shown["samples"]["names"][:3] == ["s0", "s1", "s2"]
    assert shown["stability"]["n_resamples"] == 20
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["data"]["sha256"]["table.csv"] in text
    assert f"numpy {record['versions']['numpy']}" in text
    assert f"highrelief rank --repeat {tmp_path / 'out' / 'run.json'}" in text
    assert "Local-learning-based feature selection" in text


@pytest.mark.slow
def test_the_same_seed_gives_the_same_page_but_for_the_time(table, tmp_path):
    for name in ("a", "b"):
        assert highrelief("rank", table, "-t", "class", "--out", tmp_path / name).returncode == 0
    (drawn, text), (again, text_again) = (shown_by(tmp_path / name / "report.html") for name in ("a", "b"))
    assert drawn == again
    assert _without_time(text) == _without_time(text_again).replace("/b/run.json", "/a/run.json")


def _without_time(text):
    start, end = text.index("Started"), text.index("To do it again")
    return text[:start] + text[end:]


def test_resampling_can_be_switched_off(table, tmp_path):
    command = ["rank", table, "-t", "class", "-m", "fisher", "--out"]
    assert highrelief(*command, tmp_path / "out", "--resamples", 0).returncode == 0
    shown, text = shown_by(tmp_path / "out" / "report.html")
    assert shown["stability"] is None
    assert shown["features"]["rank_low"] is None
    assert "resampling was switched off" in text
    odd = highrelief(*command, tmp_path / "b", "--resamples", 3)
    assert odd.returncode == 2
    assert "halves come in pairs" in odd.stderr


def test_the_terminal_the_record_the_page_and_select_recommend_the_same(table, tmp_path):
    out = tmp_path / "out"
    command = [table, "-t", "class", "-m", "fisher", "--seed", 2]
    result = highrelief("rank", *command, "--out", out)
    assert result.returncode == 0, result.stderr
    found = json.loads((out / "run.json").read_text())["result"]
    recommended = found["recommendation"]
    assert found["kept"] == recommended["n_features"] == len(recommended["features"])
    assert recommended["level"] == 0.1
    keep = f"Keep {recommended['n_features'] or 'none'} of "
    assert keep in result.stderr
    assert recommended["reason"] in result.stderr
    assert f"Trust: {recommended['trust']}. {recommended['trust_reason']}" in result.stderr
    shown, text = shown_by(out / "report.html")
    assert shown["finding"]["n_features"] == recommended["n_features"]
    assert shown["finding"]["reason"] == recommended["reason"]
    assert recommended["finding"].replace(" %", "\N{NO-BREAK SPACE}%") in text
    kept = [row[1] for row in rows_of(out / "ranking.csv")[1:] if row[3] == "yes"]
    assert kept == recommended["features"]
    without_page = highrelief("rank", *command)
    assert recommended["reason"] in without_page.stderr
    selected = highrelief("select", *command, "--out", tmp_path / "selected.csv")
    assert selected.returncode == 0, selected.stderr
    assert recommended["reason"] in selected.stderr
    written = rows_of(tmp_path / "selected.csv")[0]
    assert sorted(set(written) - {"sample", "class"}) == sorted(recommended["features"])


def test_noise_recommends_none_and_select_says_what_to_try(tmp_path):
    random = np.random.default_rng(0)
    labels, values = random.permutation(60) % 2, random.normal(size=(60, 30)).round(3).astype(str)
    rows = [",".join(["ab"[label], *row]) for label, row in zip(labels, values, strict=True)]
    lines = [",".join(["class", *(f"x{each}" for each in range(30))]), *rows]
    (tmp_path / "noise.csv").write_text("\n".join(lines) + "\n")
    result = highrelief(
        "select", tmp_path / "noise.csv", "-t", "class", "-m", "relieff", "--out", tmp_path / "s.csv"
    )
    assert result.returncode == 0, result.stderr
    assert "Keep none of 30 features" in result.stderr
    assert "use --top N, or --control fdr" in result.stderr
    assert rows_of(tmp_path / "s.csv")[0] == ["class"]


def test_without_resampling_nothing_is_recommended(table, tmp_path):
    command = ["rank", table, "-t", "class", "-m", "fisher", "--resamples", 0]
    result = highrelief(*command)
    assert "resampling is switched off" in result.stderr
    highrelief(*command, "--out", tmp_path / "out")
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["result"]["recommendation"]["n_features"] is None


def test_a_run_is_repeated_with_as_many_halves(table, tmp_path):
    first = ["rank", table, "-t", "class", "-m", "fisher", "--seed", 5, "--resamples", 6]
    assert highrelief(*first, "--out", tmp_path / "a").returncode == 0
    shown, text = shown_by(tmp_path / "a" / "report.html")
    again = re.search(r"highrelief (rank --repeat \S+)", text).group(1).split()
    assert highrelief(*again, "--out", tmp_path / "b").returncode == 0
    assert shown_by(tmp_path / "b" / "report.html")[0] == shown
    assert highrelief(*again, "--out", tmp_path / "c", "--resamples", 8).returncode == 0
    assert shown_by(tmp_path / "c" / "report.html")[0]["stability"]["n_resamples"] == 8


@pytest.mark.parametrize("resamples", [3, -4, "6"])
def test_a_record_of_halves_that_cannot_be(table, tmp_path, resamples):
    record = {"command": "rank", "data": {"sha256": {}}}
    record["request"] = {"data": str(table), "target": "class", "resamples": resamples}
    (tmp_path / "run.json").write_text(json.dumps(record))
    refused(highrelief("rank", "--repeat", tmp_path / "run.json"), 1, "is no record of a run")


def test_no_page_where_none_is_wanted(table, tmp_path):
    out = tmp_path / "out"
    command = ["rank", table, "-t", "class", "-m", "fisher", "--out", out]
    assert highrelief(*command, "--resamples", 4).returncode == 0
    assert (out / "report.html").exists()
    result = highrelief(*command, "--no-report", "--force")
    assert "Report" not in result.stderr
    # That of an earlier run would show another ranking.
    assert sorted(each.name for each in out.iterdir()) == ["ranking.csv", "run.json"]


@pytest.mark.slow
def test_resampling_shows_how_long_it_will_take(tmp_path):
    (tmp_path / "t.csv").write_text(table_text(100, 30))
    settings = [f"--set={each}" for each in ("max_iter=30", "tol=0", "sigma=0.5")]
    ranked = ["rank", tmp_path / "t.csv", "-t", "class", "-m", "irelief", *settings, "--out", tmp_path / "o"]
    shown = on_a_terminal("stderr", 100, *ranked, patience=0.0)
    assert "halves and" in shown
    assert "left:" in shown


def test_notes_how_long_resampling_will_take(tmp_path):
    class Notes(Listener):
        def __init__(self):
            self.texts = []

        def note(self, text):
            self.texts.append(text)

    (tmp_path / "t.csv").write_text(table_text(40, 5))
    ranking = rank(Request(str(tmp_path / "t.csv"), "class", "relieff"))
    for seconds, expected in ((0.1, []), (1.0, ["40 s"]), (7.0, ["5 min"]), (1000.0, ["12 h"])):
        listener = Notes()
        assess(replace(ranking, seconds={"fitting": seconds}), listener=listener)
        assert [text.split("about ")[1].rstrip(".") for text in listener.texts] == expected
    assert "for stability and the number of features to keep: fits to 20 halves and " in listener.texts[0]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals as on POSIX")
def test_who_stops_the_resampling_keeps_the_ranking(tmp_path):
    path = tmp_path / "large.csv"
    path.write_text(table_text(600, 500))
    command = ["rank", path, "-t", "class", "--out", tmp_path / "out"]
    with started(*command, "--resamples", 100000, "-m", "relieff") as process:
        while "Written" not in process.stderr.readline():
            pass
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=100)
    assert process.returncode == 130
    assert errors.splitlines()[-1] == "highrelief: stopped; no file is half-written."
    written = {each.name for each in (tmp_path / "out").iterdir()}
    assert {"ranking.csv", "run.json"} <= written <= {"ranking.csv", "run.json", "interactions.csv"}


def test_compare_writes_a_page(tmp_path):
    (tmp_path / "t.csv").write_text(table_text(60, 5))
    out = tmp_path / "out"
    arguments = ["compare", tmp_path / "t.csv", "-t", "class", "--methods", "relieff,fisher", "--folds", 3]
    result = highrelief(*arguments, "--inner-folds", 2, "--out", out)
    assert result.returncode == 0, result.stderr
    assert result.stderr.splitlines()[-1] == f"Report: {out / 'report.html'}"
    _, text = shown_by(out / "report.html")
    assert "relieff" in text
    assert highrelief(*arguments, "--out", out, "--force", "--no-report").returncode == 0
    assert not (out / "report.html").exists()


@pytest.mark.slow
def test_the_page_tells_how_to_compare_again(tmp_path):
    folder = tmp_path / "an odd 'folder' $HOME"
    folder.mkdir()
    lines = [line.split(",") for line in table_text(36, 4).splitlines()]
    lines = [[*line, "group" if place == 0 else str(place // 3)] for place, line in enumerate(lines)]
    lines[5][3] = "no value"
    text = "\n".join("\t".join(line).replace(".", ",") for line in lines) + "\n"
    (folder / "-a;b.csv").write_text(text.replace("g0", "größe"), encoding="latin-1")
    how = ["--id", "sample", "--sep", "\t", "--decimal", ",", "--encoding", "latin-1", "--groups", "group"]
    how += ["--missing-value", "no value", "--drop", "g3", "--seed", 7, "--methods", "relieff,fisher"]
    how += ["--folds", 3, "--inner-folds", 2, "--no-default-missing", "-t", "class", "--out"]
    result = highrelief("compare", *how, "first one", "--", "-a;b.csv", cwd=folder)
    assert result.returncode == 0, result.stderr
    page = (folder / "first one" / "report.html").read_text(encoding="utf-8")
    again = html.unescape(re.search(r'<pre id="again"[^>]*>(.*?)</pre>', page, flags=re.DOTALL).group(1))
    assert "\t" not in again
    command = f'highrelief() {{ "$PYTHON" -m highrelief "$@"; }}\n{again} --no-report --out second'
    environment = {**ENVIRONMENT, "PYTHON": sys.executable}
    subprocess.run(["sh", "-c", command], check=True, capture_output=True, cwd=folder, env=environment)
    first, second = (rows_of(folder / name / "comparison.csv") for name in ("first one", "second"))
    assert len(first) == 7
    # All but the times, which are last.
    assert [row[:-1] for row in first] == [row[:-1] for row in second]
    assert first[0][-1] == "seconds"


@pytest.mark.slow
def test_a_closed_output_does_not_keep_the_page_from_being_written(table, tmp_path):
    command = [sys.executable, "-m", "highrelief", "rank", table, "-t", "class", "-m", "fisher", "--out"]
    result = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *map(str, command), str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr.splitlines()[-1] == f"Report: {tmp_path / 'out' / 'report.html'}"


@pytest.mark.slow
def test_where_there_is_no_memory_for_the_page(table, tmp_path):
    code = """
import highrelief.inspection.report.report as report_module
def contents(*arguments, **options):
    raise MemoryError
report_module.report_contents = contents
from highrelief.cli import main
main()
"""
    out = tmp_path / "out"
    arguments = ["rank", str(table), "-t", "class", "-m", "fisher", "-q", "--out", str(out)]
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, env=ENVIRONMENT
    )
    assert result.returncode == 1
    assert "not enough memory for the report" in result.stderr
    assert "Traceback" not in result.stderr
    assert sorted(each.name for each in out.iterdir()) == ["ranking.csv", "run.json"]


@pytest.mark.slow
def test_without_jinja_it_is_said_before_the_work(table, tmp_path):
    code = """
import sys
sys.modules["jinja2"] = None
from highrelief.cli import main
main()
"""
    arguments = ["rank", str(table), "-t", "class", "-m", "fisher", "-q", "--out", str(tmp_path / "out")]
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
    )
    refused(result, 1, "pip install 'highrelief[cli]'", "--no-report")
    assert not (tmp_path / "out").exists()
