"""Set-up for all tests."""

import os
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest
from browser import launched, visited
from hypothesis import settings

from highrelief._engine.limits import limits

pytest.register_assert_rewrite("page_checks")

# No examples to run: this file, helpers, and what `make coverage-kernels` and `make memory-check` run.
collect_ignore = ["conftest.py", "helpers", "_kernels/kernels_as_python.py", "_kernels/memory_checks.py"]

ROOT = Path(__file__).resolve().parent.parent
# The same examples in every run, so that a change fails for what it changes; others where there is time.
settings.register_profile("quick", derandomize=True)
if not os.environ.get("HIGHRELIEF_THOROUGH"):
    settings.load_profile("quick")
# Pictures are drawn in memory, where there is a screen too.
os.environ.setdefault("MPLBACKEND", "Agg")
# What a shell starts in the background ignores interruptions, and so does all that is started from there:
# tests that interrupt a command would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_ignore_collect(collection_path, config):
    """Where only slow tests are wanted, do not import files that mark none."""
    if config.option.markexpr != "slow" or not collection_path.is_file():
        return None
    return "mark.slow" not in collection_path.read_text(encoding="utf-8", errors="replace") or None


#: Pages and docstrings, relative to the root, whose examples take a second or more.
SLOW_EXAMPLES = {
    *(f"docs/{name}.md" for name in ("interactions", "margins", "plots", "recipes", "report", "stability")),
    *(f"docs/{name}.md" for name in ("start", "weighted_neighbors")),
    *(f"docs/methods/{name}.md" for name in ("dann", "hknn", "kernel-width-cv")),
    "src/highrelief/inspection/interactions.py::highrelief.inspection.interactions.interactions",
    "src/highrelief/inspection/report/report.py::highrelief.inspection.report.report.report",
    "src/highrelief/selection/kernel_width.py::highrelief.selection.kernel_width.KernelWidthCV",
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark slow examples, and begin with what compiles every kernel, so that others find them on disk."""
    for item in items:
        if {item.nodeid, item.nodeid.partition("::")[0]} & SLOW_EXAMPLES:
            item.add_marker("slow")
    items.sort(key=lambda item: item.path.name != "test_warmup.py")


def _data_folder() -> Path:
    return Path(os.environ.get("HIGHRELIEF_DATA", ROOT.parent / "shared" / "data"))


@pytest.fixture(scope="session")
def data_folder():
    """Folder of real data sets beside the repository."""
    folder = _data_folder()
    if not folder.is_dir():
        pytest.skip(f"no data sets in {folder}; set HIGHRELIEF_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def golden_folder():
    """Folder of reference outputs beside the data sets."""
    folder = _data_folder().parent / "golden"
    if not folder.is_dir():
        pytest.skip(f"no reference outputs in {folder}; set HIGHRELIEF_DATA to the data folder beside them")
    return folder


@pytest.fixture
def force():
    """Change limits of the package until the end of the test: ``force(band=64)``."""
    with ExitStack() as stack:
        yield lambda **values: stack.enter_context(limits(**values))


@pytest.fixture
def usual_handler():
    """Ctrl-C raises ``KeyboardInterrupt``, as where nobody else listens to it, and does so after the test."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def chromium():
    """A browser; each test opens windows of its own in it."""
    with launched() as browser:
        yield browser


@pytest.fixture
def visit(chromium):
    """Open a page; when the test is over, it fails if the page complained of anything."""
    visits = []

    def opened(path, **options):
        visits.append(visited(chromium, path, **options))
        return visits[-1].page

    yield opened
    for each in visits:
        each.close()
