"""The blocks of code on the pages: each is run by some test, or says that it is not code."""

import re
import shlex
import tomllib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from command_line import highrelief

from highrelief.papers.runner import papers

ROOT = Path(__file__).resolve().parents[2]
GENERATED = ("_build", "api", "gallery")
DOCS = [
    page
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if page.relative_to(ROOT / "docs").parts[0] not in GENERATED
]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md")),
    *DOCS,
]
#: Languages that are shown and not run, with the reason.
SHOWN = {"text": "it is no code", "r": "R is not installed where the tests run"}


class Block(NamedTuple):
    page: Path
    line: int
    language: str
    text: str


def blocks(page, text=None):
    """Fenced blocks of a page; those of MyST, whose language is in braces, are no code."""
    text = page.read_text(encoding="utf-8") if text is None else text
    for found in re.finditer(r"^( *)```([^\n`]*)\n(.*?)^\1```$", text, flags=re.MULTILINE | re.DOTALL):
        line = text[: found.start()].count("\n") + 1
        if not found[2].startswith("{"):
            yield Block(page, line, found[2].strip(), found[3])


BLOCKS = [block for page in PAGES for block in blocks(page)]


def named(block):
    return f"{block.page.relative_to(ROOT)}:{block.line}"


def is_doctest(block):
    return block.language == "python" and ">>>" in block.text


def commands(block):
    """Lines of a block of commands, without remarks."""
    lines = block.text.replace("\\\n", " ").splitlines()
    return [words for words in (shlex.split(line, comments=True) for line in lines) if words]


COMMANDS = [(block, words) for block in BLOCKS if block.language in ("bash", "") for words in commands(block)]


def told(program):
    """Commands of one program, each once, for a test of each."""
    found = {tuple(words): block for block, words in COMMANDS if words[0] == program}
    return pytest.mark.parametrize(
        "words", [pytest.param(words, id=f"{named(block)}-{words[1]}") for words, block in found.items()]
    )


def option_table(name):
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[name]


def test_blocks_are_seen():
    page = (
        "a\n```python\n>>> 1\n1\n```\n```{toctree}\nx\n```\n```bash\n# only a remark\nmake test  # all\n```\n"
    )
    found = list(blocks(ROOT / "README.md", page))
    assert [(block.language, block.line) for block in found] == [("python", 2), ("bash", 9)]
    assert is_doctest(found[0])
    assert commands(found[1]) == [["make", "test"]]


@pytest.mark.parametrize("block", BLOCKS, ids=named)
def test_every_block_is_run_or_says_why_not(block):
    if is_doctest(block):
        assert block.page in DOCS  # which pytest is told to look through, as the next test says
        assert "+SKIP" not in block.text
    elif block.language == "console":
        assert block.page.name == "tutorial.md"  # tests/project/test_tutorial.py
    elif block.language in ("bash", ""):
        known = {"highrelief", "make", "pip", "python"}
        assert {words[0] for words in commands(block)} <= known, "say ```text if these are no commands"
    else:
        assert block.language == "python" or block.language in SHOWN


def test_pytest_runs_the_examples_of_the_pages():
    options = option_table("tool")["pytest"]["ini_options"]
    assert "docs" in options["testpaths"]
    assert "--doctest-glob=*.md" in options["addopts"]


@pytest.mark.parametrize(
    "page",
    sorted({block.page for block in BLOCKS if block.language == "python" and not is_doctest(block)}),
    ids=lambda page: page.stem,
)
def test_plain_python_runs_and_gives_what_its_remarks_say(page):
    scope = {}
    for block in blocks(page):
        if block.language == "python" and not is_doctest(block):
            exec(compile(block.text, named(block), "exec"), scope)
            for line, said in re.findall(
                r"^(\S.*?)  # ((?:array)?\([\[\]\d, ]+\))$", block.text, flags=re.MULTILINE
            ):
                assert repr(eval(line, scope)) == said


def table(path, target, columns, n_samples=60):
    rng = np.random.default_rng(0)
    values = rng.integers(1, 5, (n_samples, len(columns)))
    classes = np.where(values[:, 0] > 2, "yes", "no")
    rows = [",".join([*map(str, row), label]) for row, label in zip(values, classes, strict=True)]
    path.write_text("\n".join([",".join([*columns, target]), *rows]) + "\n")


@pytest.fixture
def tables(tmp_path):
    """The tables that the pages speak of."""
    columns = [f"g{j}" for j in range(55)]
    table(tmp_path / "genes.csv", "tumor", columns)
    table(tmp_path / "genotypes.csv", "disease", columns)
    table(tmp_path / "leukemia.csv", "class", columns)
    table(tmp_path / "patients.csv", "diagnosis", ["stage", "age", "dose"])
    return tmp_path


def shown_and_run():
    """Commands of the tutorial, which tests/project/test_tutorial.py runs line by line."""
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    return {
        tuple(shlex.split(line)) for line in re.findall(r"^\$ (highrelief .*)$", text, flags=re.MULTILINE)
    }


@pytest.mark.slow
@told("highrelief")
def test_commands_run(words, tables):
    """On small tables; experiments that take hours are only asked whether they exist."""
    if words[1] == "reproduce":
        assert words[2] in {each.name for paper in papers() for each in paper.experiments}
        assert set(words[3::2]) <= {"--data", "--datasets", "--repeats", "--settings"}
        assert words[words.index("--repeats") + 1].isdigit()
    elif words not in shown_and_run():
        done = highrelief(*words[1:], cwd=tables)
        assert done.returncode == 0, done.stderr


@told("make")
def test_targets_exist(words):
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert words[1] in targets


@told("pip")
def test_extras_exist(words):
    extras = option_table("project")["optional-dependencies"]
    assert words[1] == "install"
    for wanted in words[2:]:
        found = re.fullmatch(r"highrelief(?:\[([\w,]+)\])?", wanted)
        assert found
        assert set((found[1] or "test").split(",")) <= set(extras)


@told("python")
def test_modules_exist(words):
    """``python -m`` names a module of the repository; what it takes hours to do is not done here."""
    assert words[1] == "-m"
    path = ROOT.joinpath(*words[2].split("."))
    assert path.with_suffix(".py").exists() or (path / "__main__.py").exists() or words[2] == "pytest"
