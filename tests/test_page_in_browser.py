"""The page of a ranking, in a real browser: what a reader does with it, and what names must not do."""

import csv
import io
import re
from functools import cache

import pytest
from browser import broken_rules
from page_checks import (
    assert_charts_are_drawn,
    assert_fits,
    assert_headings_have_no_gaps,
    assert_inert,
    contrast,
    focus_order,
)
from report_contents import EVIL, bare_contents, evil_contents, full_contents

from highrelief.reports.page import ranking_page

PHONE = {"viewport": {"width": 375, "height": 812}, "has_touch": True, "is_mobile": True}
TINY = {"viewport": {"width": 320, "height": 568}, "has_touch": True, "is_mobile": True}
DESK = {"viewport": {"width": 1280, "height": 900}}

CONTENTS = {
    "full": full_contents,
    "bare": bare_contents,
    "evil": evil_contents,
    "large": lambda: full_contents(20_000),
}


@cache
def contents_of(kind):
    return CONTENTS[kind]()


@pytest.fixture(scope="session")
def page_file(tmp_path_factory):
    """Path of the page of some contents; each is made once in a process."""
    folder = tmp_path_factory.mktemp("pages")

    def path(kind):
        made = folder / f"{kind}.html"
        if not made.exists():
            made.write_text(ranking_page(contents_of(kind)), encoding="utf-8")
        return made

    return path


@pytest.fixture
def reader(visit, page_file):
    """Open the page of some contents and wait until its table stands."""

    def opened(kind="full", **options):
        page = visit(page_file(kind), **{**DESK, **options})
        if options.get("scripts", True):
            page.wait_for_selector("#ranking-table .tabulator-row")
        return page

    return opened
