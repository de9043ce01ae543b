"""The pages that the command writes."""

import html
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from command_line import ENVIRONMENT, highrelief, on_a_terminal, refused, table_text

for needed in ("typer", "rich", "polars", "jinja2"):
    pytest.importorskip(needed, reason="the report needs the extra 'report'")


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


def test_no_page_where_none_is_wanted(table, tmp_path):
    out = tmp_path / "out"
    command = ["rank", table, "-t", "class", "-m", "fisher", "--out", out]
    assert highrelief(*command, "--resamples", 4).returncode == 0
    assert (out / "report.html").exists()
    result = highrelief(*command, "--no-report", "--force")
    assert "Report" not in result.stderr
    # That of an earlier run would show another ranking.
    assert sorted(each.name for each in out.iterdir()) == ["ranking.csv", "run.json"]


def test_resampling_shows_how_long_it_will_take(tmp_path):
    (tmp_path / "t.csv").write_text(table_text(1000, 300))
    settings = [f"--set={each}" for each in ("max_iter=30", "tol=0", "sigma=0.5")]
    shown = on_a_terminal(
        "stderr", 100, "rank", tmp_path / "t.csv", "-t", "class", *settings, "--out", tmp_path / "o"
    )
    assert "Ranking 20 halves" in shown
    assert "left:" in shown


@pytest.mark.skipif(os.name != "posix", reason="signals as on POSIX")
def test_who_stops_the_resampling_keeps_the_ranking(tmp_path):
    path = tmp_path / "large.csv"
    path.write_text(table_text(600, 500))
    command = [sys.executable, "-m", "highrelief", "rank", path, "-t", "class", "--out", tmp_path / "out"]
    process = subprocess.Popen(
        [*map(str, command), "--resamples", "100000", "-m", "relieff"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )
    while "Written" not in process.stderr.readline():
        pass
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=100)
    assert process.returncode == 130
    assert errors.splitlines()[-1] == "highrelief: stopped; no file is half-written."
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == ["ranking.csv", "run.json"]


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
    refused(result, 1, "pip install 'highrelief[report]'", "--no-report")
    assert not (tmp_path / "out").exists()
