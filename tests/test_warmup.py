"""Lazy imports, compiling ahead, the command."""

import ast
import importlib
import json
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from processes import answer, run, start
from registry import ENTRIES, continuous_table

import highrelief
from highrelief import warmup
from highrelief.catalog import ESTIMATORS

IMPORTED = 'print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))'


@pytest.mark.parametrize(
    "statement", ["import highrelief", "import highrelief; dir(highrelief)", "import highrelief.cli"]
)
def test_importing_the_package_imports_nothing_large(statement):
    imported = run(f"import json, sys; {statement}; {IMPORTED}")
    assert "highrelief" in imported
    large = {"numpy", "scipy", "sklearn", "numba", "llvmlite", "joblib", "rich", "typer"}
    assert not (large | {"polars", "jinja2", "matplotlib"}) & set(imported)


@pytest.mark.slow
def test_every_public_name_can_be_reached():
    code = """
import json
names = {}
exec("from highrelief import *", names)
import highrelief
print(json.dumps([
    sorted(set(names) - {"__builtins__"}) == sorted(highrelief.__all__),
    all(names[name] is getattr(highrelief, name) for name in highrelief.__all__),
    set(highrelief.__all__) | {"datasets", "__version__"} <= set(dir(highrelief)),
    highrelief.datasets.make_xor.__module__,
]))
"""
    assert run(code) == [True, True, True, "highrelief.datasets"]


def test_type_checkers_see_every_public_name():
    tree = ast.parse(Path(highrelief.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    homes = {each.asname: node.module for node in block.body for each in node.names}
    for name, home in {**highrelief._HOMES, **highrelief._FUNCTIONS}.items():
        assert homes[name] == home, "its line under TYPE_CHECKING is missing"


def test_the_table_of_names_is_that_of_the_public_ones():
    assert sorted(highrelief._HOMES) == sorted(highrelief.__all__)
    for name, home in highrelief._HOMES.items():
        assert getattr(importlib.import_module(f"highrelief.{home}"), name).__module__ == f"highrelief.{home}"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'highrelief' has no attribute 'Relieff'"):
        _ = highrelief.Relieff
    with pytest.raises(ImportError, match="Relieff"):
        exec("from highrelief import Relieff", {})


@pytest.mark.slow
def test_a_pickle_opens_where_nothing_is_imported_yet(tmp_path):
    X, y = continuous_table()
    model = highrelief.ReliefF(n_neighbors=3).fit(X, y)
    (tmp_path / "model").write_bytes(pickle.dumps(model))
    code = f"""
import json, pathlib, pickle
model = pickle.loads(pathlib.Path({str(tmp_path / "model")!r}).read_bytes())
print(json.dumps(model.feature_weights_.tolist()))
"""
    np.testing.assert_array_equal(run(code), model.feature_weights_)


# Compiling ahead

SIGNATURES = """
def report():
    from highrelief._kernels.jit import ALL_KERNELS
    used, compiled = [], []
    for kernel in ALL_KERNELS:
        name = f"{kernel.__module__}.{kernel.__name__}"
        used += [f"{name}{signature}" for signature in kernel.overloads]
        compiled += [f"{name}{signature}" for signature in kernel.stats.cache_misses]
    return {"used": used, "compiled": compiled}
"""

# By the command, whose steps are watched.
WARM_UP = """
import io, json
from contextlib import redirect_stdout
from highrelief import warmup
from highrelief.cli.commands import app

steps, warm_up = [], warmup.warm_up

def watched(report):
    def told(step, done, total):
        steps.append([str(step), done, total])
        report(step, done, total)

    return warm_up(told)

warmup.warm_up = watched
with redirect_stdout(io.StringIO()) as shown:
    app(["warmup"], standalone_mode=False)
print(json.dumps({**report(), "steps": steps, "said": shown.getvalue()}))
"""

# Every variant in the registry, and the ways in which a table may lie in memory.
FITS = """
import itertools, json, warnings
import highrelief
import numpy as np
from highrelief._engine.limits import limits
from registry import CLASSIFIERS, ENTRIES, EXTRACTORS, THOROUGH, continuous_table, discrete_table
from sklearn import config_context
from sklearn.utils.validation import has_fit_parameter

def frozen(X):
    X.setflags(write=False)
    return X

warnings.simplefilter("ignore")
tables = [
    table(n_samples)
    for table in (continuous_table, discrete_table)
    for n_samples in (30, 150)
]
rng = np.random.default_rng(0)
tables.append((rng.normal(size=(12, 300)), np.arange(12) % 2))
tables.append((rng.integers(0, 3, size=(12, 300)).astype(float), np.arange(12) % 2))
layouts = [np.ascontiguousarray, np.asfortranarray, frozen, lambda X: np.repeat(X, 2, axis=0)[::2]]
tall = rng.normal(size=(2200, 3)), np.arange(2200) % 2  # more than one band of rows
for dtype in (np.float32, np.float64):
    for metric in ("manhattan", "euclidean"):
        highrelief.ReliefF(metric=metric, n_jobs=2).fit(tall[0].astype(dtype), tall[1])
    # Ranges that leave distances to floats.
    X, y = tables[-2]
    highrelief.ReliefF(scale=None).fit((X * 10.0 ** (9 * (np.arange(300) == 0))).astype(dtype), y)
    for n_samples in (40, 300):
        X, y = rng.normal(size=(n_samples, 5)).astype(dtype), np.arange(n_samples) % 2
        X[rng.random(X.shape) < 0.1] = np.nan
        for model in (
            highrelief.Relief(n_jobs=2),
            highrelief.ReliefF(metric="sqeuclidean"),
            highrelief.ReliefF(categorical_features=[1]),
            highrelief.ReliefF(n_anchors=5, random_state=0),
            highrelief.FREL(loss="square"),
        ):
            model.fit(X, y).margins(X, y)
        for model in (highrelief.MultiSURF(n_jobs=2), highrelief.RReliefF(n_jobs=2)):
            for chosen in (None, [1], range(5)):
                model.set_params(categorical_features=chosen)
                model.fit(X, y, 1.0 + np.arange(n_samples) % 2, np.arange(n_samples) // 3 % 2)
# Columns in pieces, as in tables of 100,000 and more.
X, y = rng.normal(size=(30, 300)), np.arange(30) % 2
with limits(piece_bytes=2.0**13):
    for dtype in (np.float32, np.float64):
        for model in (
            highrelief.FREL(),
            highrelief.FREL(solver="exact", loss="square"),
            highrelief.LHRelief(max_iter=2),
            highrelief.IRelief(max_iter=2),
            highrelief.ReliefF(),
        ):
            model.fit(X.astype(dtype), y).margins(X.astype(dtype), y)
        highrelief.MultiSURF().fit(X.astype(dtype), y)
def ways():
    for X, y in tables:
        whole = [np.int8, np.int64, np.uint8] if np.array_equal(X, np.round(X)) else []
        for dtype in [np.float32, np.float64, *whole]:
            for layout in layouts if dtype in (np.float32, np.int8) else layouts[:1]:
                for n_jobs, megabytes in ((1, 64), (2, 1e-3)) if layout is layouts[0] else ((2, 64),):
                    yield X.astype(dtype), y, layout, n_jobs, megabytes

each_has = 1 if THOROUGH else 23  # of the ways one in so many, in turn
for turn, entry in enumerate(ENTRIES):
    more = {"max_iter": 2} if entry.family.iterative else {}
    for X, y, layout, n_jobs, megabytes in list(ways())[turn % each_has :: each_has]:
        with config_context(working_memory=megabytes):
            model = entry.make(n_jobs=n_jobs, **more).fit(layout(X.copy()), y)
            if entry.family.margins:
                model.margins(X, y)
            if entry.sample_weight:
                model.fit(X, y, sample_weight=1.0 + np.arange(y.size) % 2)
            if entry.family.inside is None and has_fit_parameter(model, "batches"):
                model.fit(X, y, batches=np.arange(y.size) // 3 % 2)
            if hasattr(model, "partial_fit"):
                model.partial_fit(X, y)
queries_has = 1 if THOROUGH else 5
for turn, classifier in enumerate(CLASSIFIERS):
    met = list(itertools.product(tables, (np.float32, np.float64, np.int8), layouts))
    for (X, y), dtype, layout in met[turn % queries_has :: queries_has]:
        classifier.fit(layout(X.astype(dtype)), y, sample_weight=1.0 + np.arange(y.size) % 2)
        for queries in (X.astype(dtype), X):
            classifier.fit(layout(X.astype(dtype)), y).predict(layout(queries))
for extractor in EXTRACTORS:
    for X, y in tables:
        for dtype in (np.float32, np.float64):
            extractor.fit(X.astype(dtype), y, sample_weight=1.0 + np.arange(y.size) % 2)
            extractor.set_params(n_jobs=2).fit(X.astype(dtype), y)
import dask.array as da
X, y = rng.normal(size=(400, 5)), np.arange(400) % 2
with da.core.config.set({"highrelief.partition": "rows"}):
    for dtype in (np.float32, np.float64, np.int8):
        held = da.from_array(np.round(2.0 * X).astype(dtype), chunks=(200, 5))
        for model in (
            highrelief.ReliefF(),
            highrelief.Relief(metric="euclidean", n_anchors=9, random_state=0),
            highrelief.IRelief(max_iter=2),
            highrelief.IM4E(max_iter=2),
            highrelief.LOGO(max_iter=2),
            highrelief.FREL(solver="exact", loss="square"),
            highrelief.LFE(),
        ):
            model.fit(held, y, sample_weight=1.0 + np.arange(400) % 2)
print(json.dumps(report()))
"""


def assert_steps_are_reported(steps):
    assert [done for _, done, _ in steps] == list(range(len(steps)))
    assert {total for *_, total in steps} == {len(steps)}
    with_kernels_of_others = {name for name, method in ESTIMATORS.items() if not method.warm_up}
    wrappers = {entry.family.estimator.__name__ for entry in ENTRIES if entry.family.inside is not None}
    assert with_kernels_of_others == wrappers | {"HighRelief", "HighReliefRegressor"}
    for name in set(highrelief.__all__) - with_kernels_of_others:
        assert any(text.startswith(f"{name}(") for text, *_ in steps)


@pytest.mark.slow
def test_a_warm_up_reports_its_steps_and_no_fit_compiles_after_it():
    """Not by luck: the warm-up itself uses every kernel, for every signature, that a fit can need.

    One test: a warm-up takes half a minute, and processes of pytest share no fixture.
    """
    pytest.importorskip("typer", reason="the command needs the extra 'report'")
    warmed_up = run(SIGNATURES + WARM_UP)
    assert_steps_are_reported(warmed_up["steps"])
    n_compiled, n_used = len(warmed_up["compiled"]), len(warmed_up["used"])
    all_there = f"All {n_used} kernels were there already"
    done = rf"Compiled {n_compiled} kernels in \d+ s" if n_compiled else all_there
    assert re.search(done, " ".join(warmed_up["said"].split()))
    fits = run(SIGNATURES + FITS)
    assert fits["compiled"] == []
    assert fits["used"] != []
    assert set(fits["used"]) <= set(warmed_up["used"])


def test_what_a_warm_up_says(tmp_path):
    compiled = ["kernel(int64)"]
    assert "could not be kept" in str(warmup.WarmUp(compiled, 0, 1.0, None))
    assert "could not be kept" in str(warmup.WarmUp(compiled, 0, 1.0, tmp_path / "missing"))
    assert str(warmup.WarmUp(compiled, 3, 1.4, tmp_path)) == (
        f"Compiled 1 kernels in 1 s; 3 were there already. They are kept in {tmp_path}."
    )


def test_the_help_of_the_module_compiles_nothing(monkeypatch, capsys):
    monkeypatch.setattr(warmup, "warm_up", None)
    with pytest.raises(SystemExit) as end:
        warmup.main(["--help"])
    assert not end.value.code
    assert capsys.readouterr().out.startswith("usage: python -m highrelief.warmup")


# The command


def command(*arguments, code="from highrelief.cli import main; main()"):
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, timeout=600
    )


class TestCommand:
    @pytest.fixture(autouse=True)
    def _installed(self):
        pytest.importorskip("typer", reason="the command needs the extra 'report'")
        pytest.importorskip("rich", reason="the command needs the extra 'report'")

    def test_help_imports_nothing_large(self):
        code = f"""
import json, sys
from highrelief.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code
{IMPORTED}
"""
        result = command("--help", code=code)
        assert result.returncode == 0, result.stderr
        assert "warmup" in result.stdout
        large = {"numpy", "numba", "sklearn", "polars", "jinja2", "matplotlib"}
        assert not large & set(json.loads(result.stdout.splitlines()[-1]))

    def test_version(self):
        assert command("--version").stdout.strip() == highrelief.__version__

    def test_wrong_usage_ends_with_2(self):
        result = command("no-such-command")
        assert result.returncode == 2
        assert "no-such-command" in result.stderr


def test_without_its_extra_the_command_says_what_to_install():
    code = """
import sys
sys.modules["typer"] = None
from highrelief.cli import main
main()
"""
    result = command("warmup", code=code)
    assert result.returncode == 1
    assert "pip install 'highrelief[cli]'" in result.stderr
    assert len(result.stderr.splitlines()) == 1


WITHOUT_COMPILER = """
import json, warnings
import numpy as np
from registry import ENTRIES, CLASSIFIERS, EXTRACTORS, FOR_NUMBERS, THOROUGH
from highrelief.catalog import ESTIMATORS
warnings.simplefilter("ignore")
warnings.simplefilter("error", RuntimeWarning)
y = np.arange(10) % 2
X = np.random.default_rng(0).normal(size=(10, 3)) + np.outer(y, [1.0, 0.0, 0.5])
steps = lambda entry: {"max_iter": 2} if entry.family.iterative else {}
has_kernels = lambda entry: THOROUGH or ESTIMATORS[entry.family.estimator.__name__].warm_up
made = {str(entry): entry.make(**steps(entry)) for entry in ENTRIES if entry.plain and has_kernels(entry)}
made |= {str(each): each for each in (*CLASSIFIERS, *EXTRACTORS, *FOR_NUMBERS)}
found = {}
for name, estimator in made.items():
    fitted = estimator.fit(X, y)
    asked = ("feature_weights_", "components_", "hyperplane_distances")
    what = [each for each in asked if hasattr(fitted, each)][0]
    value = getattr(fitted, what)
    found[name] = np.abs(value(X) if callable(value) else value).tolist()
print(json.dumps(found))
"""


@pytest.mark.slow
def test_without_the_compiler():
    """NUMBA_DISABLE_JIT runs kernels as Python, slowly, to the same numbers."""
    in_python = start(WITHOUT_COMPILER, NUMBA_DISABLE_JIT=1)
    expected, found = run(WITHOUT_COMPILER), answer(in_python)
    assert found.keys() == expected.keys() != set()
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=0.0, atol=1e-9 * np.max(values), err_msg=name)
