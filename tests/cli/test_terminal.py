"""What a file holds is shown as text: no control sequence, markup or direction override is left in it."""

import json
import re

import numpy as np
import pytest
from command_line import highrelief, on_a_terminal
from processes import ROOT

from highrelief.cli.errors import escaped

#: Clears the screen, sets its title, links, goes back, turns the writing around, is not seen, ends the line.
HOSTILE = "\x1b[2J\x1b]0;x\x07\x9b31m\x08\u202e\u2066\u200b\u2028\u2029\x7f[red][link=http://x]"
#: None of these may come from a name; ESC is what the terminal's own colors begin with.
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def assert_harmless(text, *, on_terminal=False):
    """No forbidden character is there, and of the hostile text all is shown."""
    text = text.replace("\r", "") if on_terminal else text
    assert FORBIDDEN.search(text) is None, ascii(text)
    assert "\x1b[2J" not in text
    assert "\x1b]" not in text
    if not on_terminal:
        assert "\x1b" not in text


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A table of which every string is hostile, in a file and a folder of such names, and its columns."""
    folder = tmp_path_factory.mktemp("hostile") / f"folder {HOSTILE.replace('/', '')}"
    folder.mkdir()
    rng = np.random.default_rng(0)
    X = rng.standard_normal((24, 4))
    names = [f"{HOSTILE}{j}" for j in range(4)]
    path = folder / f"{HOSTILE.replace('/', '')}.npz"
    classes = np.array([f"{'a' if x > 0 else 'b'}{HOSTILE}" for x in X[:, 0]])
    batches = np.array([f"{HOSTILE}{i % 2}" for i in range(24)])
    samples = np.array([f"{HOSTILE}{i}" for i in range(24)])
    target, batch = f"target{HOSTILE.replace('/', '')}", f"batch{HOSTILE.replace('/', '')}"
    arrays = {target: classes, batch: batches}
    np.savez(path, X=X, feature_names=np.array(names), sample_names=samples, **arrays)
    return path, target, batch


def test_escapes():
    assert escaped("a\x1b[31mb\n\u202e\ud800\x9b") == r"a\x1b[31mb\n\u202e\ud800\x9b"
    assert escaped("naïve 基因 [red]") == "naïve 基因 [red]"


@pytest.mark.parametrize(
    "arguments",
    [
        ("rank", "--method", "fisher"),
        ("rank", "--method", "fisher", "--out", "OUT", "--resamples", "4"),
        ("rank", "--method", "relieff", "--batch", "BATCH"),
        ("rank", "--method", "relieff", "--batch", "no\x1b[2Jsuch"),
        ("rank", "--method", "fisher", "--drop", "no\x1b[2Jsuch"),
        ("rank", "--method", "\x1b[2J"),
        ("rank", "--set", "\x1b[2J=1"),
        ("rank", "--set", "scale=\x1b[2J"),
        ("rank", "--debug", "--drop", "no\x1b[2Jsuch\u202e"),
        ("rank", "unexpected\x1b[2J[red]"),
        ("rank", "--no\x1b[2Jsuch"),
        ("rank", "--top", "\x1b[2J"),
        ("select", "--method", "fisher", "--top", "2", "--out", "OUT.csv"),
        ("select", "--method", "fisher", "--top", "2", "--out", "OUT.txt"),
        ("select", "--method", "relieff", "--control", "fdr", "--level", "0.9", "--permutations", "10",
         "--out", "OUT.csv"),
        ("compare", "--methods", "fisher,relieff", "--folds", "2", "--inner-folds", "2"),
        ("compare", "--methods", "fisher,\x1b[2J"),
    ],
    ids=lambda arguments: ascii(" ".join(arguments)),
)  # fmt: skip
def test_nothing_of_a_hostile_table_gets_to_the_terminal(hostile, tmp_path, arguments):
    path, target, batch = hostile
    command, *options = arguments
    out = tmp_path / HOSTILE.replace("/", "")
    replaced = {"BATCH": batch, "OUT": out, "OUT.csv": f"{out}.csv", "OUT.txt": f"{out}.txt"}
    options = [replaced.get(each, each) for each in options]
    result = highrelief(command, path, "--target", target, *options)
    assert "should not have happened" not in result.stderr
    assert_harmless(result.stdout + result.stderr)
    if result.returncode == 0:
        assert r"\x1b" in result.stdout + result.stderr


@pytest.mark.parametrize(
    "arguments", [("rank", "\x1b[2J.csv", "-t", "x"), ("cite", "\x1b[2J"), ("\x1b[2J",), ("--\x1b[2J",),
                  ("reproduce", "\x1b[2J"), ("reproduce", "lhr", "--data", "\x1b[2J")], ids=ascii
)  # fmt: skip
def test_what_is_not_there_is_named_harmlessly(arguments):
    result = highrelief(*arguments)
    assert result.returncode in (1, 2)
    assert_harmless(result.stdout + result.stderr)


@pytest.mark.parametrize("version", ["\x1b[2J", "9" * 1000, {"a": "\u202e"}, None, "1.0; rm -rf ~"])
def test_versions_in_the_record_of_a_stranger(hostile, tmp_path, version):
    path, target, _ = hostile
    assert (
        highrelief(
            "rank", path, "-t", target, "-m", "fisher", "--out", tmp_path / "r", "--no-report"
        ).returncode
        == 0
    )
    record = json.loads((tmp_path / "r" / "run.json").read_text())
    record["versions"]["numpy"] = version
    (tmp_path / "run.json").write_text(json.dumps(record))
    result = highrelief("rank", "--repeat", tmp_path / "run.json")
    assert result.returncode == 0, result.stderr
    assert_harmless(result.stdout + result.stderr)
    (line,) = [line for line in result.stderr.splitlines() if "was made with numpy" in line]
    assert len(line) < 200


@pytest.mark.slow
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_real_terminal(hostile, stream):
    path, target, _ = hostile
    shown = on_a_terminal(stream, 100, "rank", path, "-t", target, "-m", "fisher", patience=0)
    assert_harmless(shown, on_terminal=True)
    assert r"\x1b" in shown
    assert "[red]" in shown or "…" in shown


def test_all_that_is_shown_goes_one_way():
    """Only the terminal makes consoles, and only what ends a run echoes what it has escaped."""
    folder = ROOT / "src" / "highrelief" / "cli"
    for path in folder.rglob("*.py"):
        text = path.read_text()
        assert "Console(" not in text or path.name == "screen.py", path
        assert re.search(r"(?<!\.)\bprint\(", text) is None, path
        echoed = re.findall(r"typer\.echo\((\w+)", text)
        assert set(echoed) <= {"escaped", "__version__", "bibtex"}, path
