"""What SECURITY.md says: nothing is unpickled, evaluated, or fetched, unless asked."""

import ast
from pathlib import Path

import numpy as np
import pytest
from processes import ROOT, run
from registry import continuous_table

SOURCES = sorted((ROOT / "src" / "highrelief").rglob("*.py"))
#: Modules that run what they read, start programs, or talk to others; and who may use them.
SOME = {
    "pickle": {"_kernels/cache.py"},  # of this user's own files
    "http": {"papers/data.py"},  # names of exceptions
    "ctypes": {"_engine/memory.py"},  # asks Windows how much memory there is
    "subprocess": {"io/h5ad.py"},  # runs our own reader, since damaged files crash the HDF5 library
}
NOBODY = {"cloudpickle", "dill", "marshal", "shelve", "code", "runpy"}
NOBODY |= {"socket", "urllib", "requests", "ftplib", "smtplib", "ssl", "webbrowser"}
CALLS = {"eval", "exec", "compile", "__import__", "joblib.load", "pd.read_pickle"}

#: Tells of every attempt, and stops it; unpickling is for the cache of kernels alone.
WATCHED = """
import json, sys

seen = []

def watch(event, arguments):
    talks = event.split(".")[0] in ("socket", "urllib", "http") and event != "socket.__new__"
    unpickles = event == "pickle.find_class"
    if unpickles:
        frame = sys._getframe()
        # Numba copies what it compiles by pickles in memory, which no file gets into.
        ours = ("highrelief/_kernels/cache.py", "numba/core/serialize.py")
        while frame is not None and not frame.f_code.co_filename.endswith(ours):
            frame = frame.f_back
        unpickles = frame is None
    if talks or unpickles or event in ("subprocess.Popen", "os.system"):
        seen.append([event, repr(arguments)[:200]])
        raise RuntimeError(f"{event} is forbidden here")

sys.addaudithook(watch)

def command(*arguments):
    sys.argv = ["highrelief", *arguments]
    try:
        from highrelief.cli import main
        main()
    except SystemExit as end:
        if end.code not in (0, None):
            raise RuntimeError(f"{arguments} ended with {end.code}")
"""


def name_of(path: Path) -> str:
    return path.relative_to(ROOT / "src" / "highrelief").as_posix()


def dangers(path):
    """Lines of a source that could run what they read, start programs, or talk to others."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            modules = [node.module]
        for module in modules:
            top = module.split(".")[0]
            if top in NOBODY or name_of(path) not in SOME.get(top, {name_of(path)}):
                yield f"{name_of(path)}:{node.lineno} imports {module}"
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            given = {word.arg: ast.unparse(word.value) for word in node.keywords}
            arrays = called in ("np.load", "numpy.load") and given.get("allow_pickle") != "False"
            if called in CALLS or arrays:
                yield f"{name_of(path)}:{node.lineno} calls {called}"


@pytest.mark.slow
def test_sources_use_nothing_dangerous():
    assert len(SOURCES) > 100
    assert [danger for path in SOURCES for danger in dangers(path)] == []


def test_dangers_are_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(f"{__name__}.name_of", lambda path: path.name)
    path = tmp_path / "module.py"
    path.write_text(
        "import pickle, numpy as np\nfrom urllib.request import urlopen\n"
        "eval('1')\njoblib.load(3)\nnp.load(x)\nnp.load(x, allow_pickle=True)\n"
        "np.load(x, allow_pickle=False)\n"
    )
    assert [each.partition(":")[2].split()[0] for each in dangers(path)] == ["1", "2", "3", "4", "5", "6"]


@pytest.mark.slow
def test_the_command_neither_unpickles_nor_talks_to_anybody(tmp_path):
    X, y = continuous_table(40, n_classes=2)
    lines = ["a,b,c,d,e,f,kind"] + [
        ",".join(map(repr, row)) + f",{'yes' if label else 'no'}"
        for row, label in zip(X.tolist(), y.tolist(), strict=True)
    ]
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    np.savez(tmp_path / "table.npz", X=X, y=y)
    seen = run(
        WATCHED
        + f"""
import os
os.chdir({str(tmp_path)!r})
command("methods")
command("cite", "irelief")
command("rank", "table.csv", "--target", "kind", "--method", "relieff", "--out", "ranked", "--resamples", "4")
command("rank", "--repeat", "ranked/run.json", "--out", "again")
command("rank", "table.npz", "--target", "y", "--method", "fisher", "--no-report", "--out", "arrays")
command("select", "table.csv", "--target", "kind", "--top", "2", "--method", "fisher", "--out", "small.csv")
command("compare", "table.csv", "--target", "kind", "--methods", "relieff,fisher", "--folds", "2",
    "--inner-folds", "2", "--no-report", "--out", "compared")
import highrelief
for name in highrelief.__all__:
    getattr(highrelief, name)
print(json.dumps(seen))
"""
    )
    assert seen == []
    assert (tmp_path / "ranked" / "report.html").exists()
    assert (tmp_path / "small.csv").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attempt", "event"),
    [
        ("from highrelief.papers.data import fetch; fetch('ecoli', Path('nowhere'))", "urllib.Request"),
        ("import joblib, pickle; pickle.loads(pickle.dumps(joblib.Parallel))", "pickle.find_class"),
    ],
)
def test_who_watches_sees(attempt, event):
    code = f"""
from pathlib import Path
try:
    {attempt}
except Exception:
    pass
print(json.dumps([each[0] for each in seen]))
"""
    assert event in run(WATCHED + code)


@pytest.mark.slow
def test_an_array_of_objects_in_a_table_is_refused(tmp_path):
    np.savez(tmp_path / "table.npz", X=np.array([[1, "a"], [2, "b"]], dtype=object), y=np.array([0, 1]))
    said = run(
        WATCHED
        + f"""
from pathlib import Path
import io, contextlib
words = io.StringIO()
with contextlib.redirect_stderr(words):
    try:
        command("rank", {str(tmp_path / "table.npz")!r}, "--target", "y", "--out", {str(tmp_path / "out")!r})
    except RuntimeError as error:
        print(error, file=words)
print(json.dumps([seen, words.getvalue()]))
"""
    )
    assert said[0] == []
    assert "without pickles" in " ".join(said[1].split())
    assert "ended with 1" in said[1]


def test_security_md_names_what_is_there():
    text = (ROOT / "SECURITY.md").read_text()
    for name in (
        "tests/project/test_security.py",
        "tests/test_saving.py",
        "tests/_kernels/test_cache.py",
        "tests/inspection/report/test_page_safety.py",
    ):
        assert f"`{name}`" in text
        assert (ROOT / name).exists()
    assert "`_kernels/cache.py`" in text
