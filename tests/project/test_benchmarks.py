"""The benchmarks, as far as they need no rivals: kernel, storage, comparison, page."""

import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from registry import long

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import __main__ as command  # noqa: E402
from benchmarks import (  # noqa: E402
    compare,
    data,
    high_relief,
    limit,
    machine,
    memory,
    page,
    parts,
    passes,
    peers,
    results,
)
from benchmarks.race import Arena, Entrant  # noqa: E402
from benchmarks.results import Agreement, Figure, Part, Run, Target  # noqa: E402


@pytest.fixture
def run():
    """Two contenders on one case, one target reached, one missed."""
    figures = [
        Figure("10 x 10", "ours", "CPU time", "s", 1.0, [1.0, 1.01, 1.02, 1.03]),
        Figure("10 x 10", "theirs", "CPU time", "s", 8.0, [8.0, 8.01, 8.1, 9.0]),
        Figure("10 x 10", "ours", "peak memory", "MiB", 12.0),
    ]
    targets = [
        Target("times as fast", "at least", 9.0, 8.0),
        Target("peak", "at most", 20.0, 12.0, "MiB"),
    ]
    agreements = [Agreement("10 x 10", "theirs", "ours", 1.0, 1e-9, True)]
    part = Part(
        "relieff",
        "A race",
        "ours",
        "2026-01-01",
        0.5,
        "abc",
        4.0,
        figures,
        agreements,
        targets,
        ["They were tuned."],
    )
    return Run({"processor": "abacus", "contenders": {"theirs": "1.0"}}, {"relieff": part})


def assert_gives_the_distances(kernel, dtype, n, d):
    X = np.random.default_rng(n).random((n, d)).astype(dtype)
    expected = np.abs(X[:, np.newaxis].astype(float) - X).sum(axis=2)
    table = limit.Layout(X)
    for variant in kernel.variants("distances"):
        D = limit.aligned_zeros((n, n), dtype)
        kernel.distances(table, D, variant, features=512)
        # Cancellation in a + b − 2 min(a, b): the error is that of sums of d values up to 1.
        np.testing.assert_allclose(D, expected, rtol=0, atol=4 * d * np.finfo(dtype).eps)


def assert_gives_the_second_pass(kernel, dtype):
    n, d = 131, 600
    rng = np.random.default_rng(0)
    X, S = rng.random((n, d)).astype(dtype), rng.random((n, n)).astype(dtype)
    table = limit.Layout(X)
    i, j = np.triu_indices(n, 1)
    above = table.X[:n, :d].astype(float)
    expected = S[i, j].astype(float) @ np.minimum(above[i], above[j])
    for variant in kernel.variants("weighted_minima"):
        found = kernel.weighted_minima(table, S, variant, features=512)
        np.testing.assert_allclose(found, expected, rtol=64 * 64 * np.finfo(dtype).eps)


@long
def test_limit_kernel_gives_distances_and_the_second_pass():
    """One test: to compile the kernel takes half a minute, in each process of pytest that needs it."""
    if shutil.which("g++") is None:
        pytest.skip("no g++")
    kernel = limit.Limit("native")
    for dtype in (np.float32, np.float64):
        for n, d in ((3, 1), (64, 16), (131, 77), (150, 600)):
            assert_gives_the_distances(kernel, dtype, n, d)
        assert_gives_the_second_pass(kernel, dtype)


def test_limit_kernel_asks_for_a_compiler(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(limit.NoCompilerError, match=r"apt-get install g\+\+"):
        limit.compiler()


def test_the_distance_pass_gives_the_distances():
    X, _ = data.make(data.Shape(70, 33, "unit"), np.float64)
    exact = np.abs(X[:, np.newaxis] - X).sum(axis=2)
    D = np.array(passes.distance_pass(X)())
    np.fill_diagonal(D, 0.0)
    np.testing.assert_allclose(D, exact, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(np.array(passes.grid_pass(X)()), exact, atol=33 / 65534)


METHODS = (
    "relieff",
    "irelief",
    "logo",
    "per_anchor",
    "frel",
    "lfe",
    "hknn",
    "per_query",
    "gflip",
    "distances",
    "ensemble",
)


def test_every_part_and_every_peer_keeps_the_contract():
    for name in parts.NAMES:
        module = parts.load(name)
        assert module.TITLE, name
        assert callable(module.run), name
    for name in (*peers.NAMES, "highrelief", "limit"):
        module = peers.load(name)
        assert callable(module.version), name
        assert module.INSTALL, name
        assert set(module.DTYPES) <= {"float32", "float64"}, name
        assert any(callable(getattr(module, m, None)) for m in METHODS), name
        assert module.VENV is None or (ROOT / f"benchmarks/requirements/{module.VENV}.txt").exists(), name


@pytest.mark.parametrize("kind", ["continuous", "genotypes", "unit", "cheap"])
def test_tables_hold_the_same_values_in_every_precision(kind):
    shape = data.Shape(50, 30, kind)
    (single, y), (double, _) = (data.make(shape, dtype) for dtype in (np.float32, np.float64))
    assert single.shape == (50, 30)
    assert np.bincount(y).tolist() == [25, 25]
    if kind != "cheap":
        np.testing.assert_array_equal(single, double)


@pytest.mark.slow
def test_contenders_race_in_processes_of_their_own():
    """The package against I-RELIEF in NumPy: same weights, times and memory written down."""
    part = Part("irelief", "")
    settings = {"sigma": 0.5, "max_iter": 3}
    entrants = [Entrant(peer, "irelief", "float64", settings) for peer in ("highrelief", "numpy_irelief")]
    with Arena(seconds=0.1, limit=300.0) as arena:
        finished = arena.race(part, "small", data.Shape(60, 20), entrants, reference=0, most_rounds=3)
    assert [each.label for each in finished] == ["highrelief float64", "NumPy per anchor float64"]
    assert all(min(each.cpu) > 0.0 and len(each.cpu) == 3 for each in finished)
    (agreement,) = part.agreements
    assert agreement.same
    assert agreement.difference < 1e-12
    assert part.value("small", "highrelief float64") == min(finished[0].cpu)


def test_a_contender_that_disagrees_is_named(monkeypatch):
    """A different width of the kernel is a different answer."""
    part = Part("irelief", "")
    entrants = [
        Entrant("numpy_irelief", "irelief", "float64", {"sigma": sigma, "max_iter": 3}, suffix=f"{sigma}")
        for sigma in (0.5, 5.0)
    ]
    with Arena(seconds=0.1, limit=60.0) as arena:
        arena.race(part, "small", data.Shape(60, 20), entrants, reference=0, most_rounds=1)
    assert [each.same for each in part.agreements] == [False]


def test_a_peer_that_is_not_installed_sits_out(capsys, monkeypatch):
    monkeypatch.setenv("WEKA_JAR", "/no/such/weka.jar")
    part = Part("relieff", "")
    with Arena(seconds=0.1, limit=60.0) as arena:
        entrant = Entrant("weka", "relieff", "float64", {"n_neighbors": 3})
        assert arena.race(part, "small", data.Shape(60, 20), [entrant]) == []
    assert "apt-get install weka" in capsys.readouterr().out
    assert part.figures == []


def test_a_run_is_stored_and_read(run, tmp_path):
    results.save(run, tmp_path / "run.json")
    assert results.load(tmp_path / "run.json") == run
    json.loads((tmp_path / "run.json").read_text())


def test_a_run_of_another_format_is_refused(tmp_path):
    (tmp_path / "old.json").write_text("{}")
    with pytest.raises(SystemExit, match="format"):
        results.load(tmp_path / "old.json")


def test_compare_tells_changes_from_noise(run, tmp_path):
    results.save(run, tmp_path / "old.json")
    ours, theirs, peak = run.parts["relieff"].figures
    ours.value, ours.rounds = 2.0, [2.0, 2.01, 2.02]
    theirs.value, theirs.rounds = 7.6, [7.6, 7.7, 7.8]
    peak.value = 6.0
    run.environment["processor"] = "slide rule"
    results.save(run, tmp_path / "new.json")
    report = compare.compare(tmp_path / "old.json", tmp_path / "new.json")
    verdicts = [line.split("%")[-1].strip() for line in report.splitlines() if line.startswith("10 x 10")]
    assert verdicts == ["worse", "", "better"]
    assert "processor: abacus → slide rule" in report
    assert "1 better, 1 worse, 1 within noise" in report


def test_compare_knows_that_noisy_rounds_say_little():
    before, after = (
        Run({}, {"p": Part("p", "", figures=[Figure("c", "x", "CPU time", "s", value, rounds)])})
        for value, rounds in ((1.0, [1.0, 1.5, 1.6, 2.0]), (1.3, [1.3, 1.31, 1.32, 1.33]))
    )
    ((*_, noise, verdict),) = compare.changes(before, after, smallest=0.1)
    assert (noise, verdict) == ("38%", "")


def test_the_page_shows_wins_and_losses(run, tmp_path):
    results.save(run, tmp_path / "results.json")
    page.write_page(tmp_path / "results.json", tmp_path / "performance.md")
    assert "(performance_tables.md)" in (tmp_path / "performance.md").read_text()
    text = (tmp_path / "performance_tables.md").read_text()
    assert "1 reached, 1 missed." in text
    assert "| times as fast | at least 9.00 times | 8.00 times | MISSED |" in text
    assert "| peak | at most 20.0 MiB | 12.0 MiB | reached |" in text
    assert "| theirs | 8.00 |" in text
    assert "They were tuned." in text
    assert "abacus" in text


def test_the_page_says_where_parts_come_from_several_runs(run):
    assert "several runs" not in page.markdown(run, "results.json", None, "performance.md")
    run.parts["limit"] = Part("limit", "Later", commit="def", seconds=4.0)
    assert "several runs" in page.markdown(run, "results.json", None, "performance.md")


def test_the_summary_has_a_chart_and_about_ten_lines(tmp_path):
    """On the stored run, every sentence finds the targets it is about."""
    stored = ROOT / "benchmarks" / "results.json"
    page.write_page(stored, tmp_path / "performance.md")
    text = (tmp_path / "performance.md").read_text()
    assert text.count("\n- **") == len(page._FINDINGS) == 10
    assert text.index("performance.svg") < text.index("- **")
    assert "|" not in text
    for name in ("performance.md", "performance_tables.md"):
        assert (tmp_path / name).read_text() == (ROOT / "docs" / name).read_text(), (
            "run: make performance-page"
        )


def test_the_command_line_runs_by_default():
    options = command.arguments(["--parts", "limit", "big", "--quick"])
    assert options.do is command.run_parts
    assert options.parts == ["limit", "big"]
    assert command.arguments([]).parts == list(parts.NAMES)
    assert command.arguments(["compare", "a.json", "b.json"]).new == Path("b.json")


def test_only_a_whole_run_replaces_the_stored_one():
    assert command._complete(command.arguments([]))
    assert not command._complete(command.arguments(["--quick"]))
    assert not command._complete(command.arguments(["--peers", "skrebate"]))
    assert not command._complete(command.arguments(["--parts", "limit"]))


@pytest.mark.slow
def test_peak_memory_is_seen():
    before = memory.settle()
    held = np.ones(2**24)  # 128 MiB
    assert 120.0 < memory.peak() - before < 160.0
    del held


def test_haswell_has_no_wide_vectors():
    try:
        features = machine.haswell_variables()["NUMBA_CPU_FEATURES"].split(",")
    except LookupError:
        pytest.skip("no AVX2")
    assert "+avx2" in features
    assert not [each for each in features if each.startswith("+avx512")]


def test_the_page_of_high_relief_has_the_stored_tables():
    text = high_relief.PAGE.read_text(encoding="utf-8")
    for table in high_relief.TABLES.values():
        assert "\n".join(table()) in text


def test_every_target_of_high_relief_has_a_source():
    for each in high_relief.targets():
        part = re.fullmatch(r"`(\w+)`", each.source)
        page = re.fullmatch(r"\[\w+\]\((.+)\)", each.source)
        assert part[1] in high_relief.PARTS if part else (high_relief.PAGE.parent / page[1]).exists()
