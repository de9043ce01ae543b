"""The tables of the pages are what is measured."""

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
TABLES = runpy.run_path(str(DOCS / "figures.py"))["TABLES"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:Only:UserWarning")
@pytest.mark.parametrize("name", TABLES)
def test_the_pages_say_what_was_measured(name):
    try:
        measured = TABLES[name]()
    except FileNotFoundError as missing:
        pytest.skip(f"no data: {missing}; set HIGHRELIEF_DATA to their folder")
    header = measured.splitlines()[0]
    texts = [page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md")]
    copies = [text for text in texts if header in text]
    assert copies
    assert all(measured in text for text in copies)
