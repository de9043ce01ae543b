"""Nothing from the data becomes more than text in a page, and a page runs and fetches nothing but itself."""

import base64
import hashlib
import json
import re
from importlib.resources import files

import pytest

pytest.importorskip("jinja2")

from documents import Document, data_of
from report_contents import EVIL, bare_contents, evil_contents, full_contents

from highrelief.inspection.report import page as page_module
from highrelief.inspection.report.page import Inline, as_json, policy, ranking_page

REPORTS = files("highrelief.inspection.report")
KINDS = pytest.mark.parametrize("make", [full_contents, bare_contents, evil_contents])

NASTY = [
    *EVIL,
    "{a|x}",
    "${1}",
    "\r\n\t",
    "]]>",
    "<![CDATA[",
    "\\",
    "\N{DNA DOUBLE HELIX}",
]


def source(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def policy_of(document):
    ((found, _),) = document.all("meta", **{"http-equiv": "Content-Security-Policy"})
    return dict(each.strip().split(" ", 1) for each in found["content"].split(";"))


@KINDS
def test_the_policy_names_what_stands_in_the_page_and_nothing_else(make):
    document = Document(ranking_page(make()))
    scripts = [text for found, text in document.all("script") if "type" not in found]
    rules = policy_of(document)
    assert len(scripts) == len(list(REPORTS.joinpath("vendor").glob("*.js"))) + 5
    assert rules == {
        "default-src": "'none'",
        "script-src": " ".join(map(source, scripts)),
        "style-src": " ".join(source(text) for _, text in document.all("style")),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


@KINDS
def test_the_policy_comes_before_anything_it_rules(make):
    elements = Document(ranking_page(make())).elements
    assert [each[0] for each in elements[:4]] == ["html", "head", "meta", "meta"]
    assert elements[2][1] == {"charset": "utf-8"}
    assert elements[3][1]["http-equiv"] == "Content-Security-Policy"


@KINDS
def test_nothing_is_run_or_styled_in_attributes(make):
    for _, found, _ in Document(ranking_page(make())).elements:
        assert [each for each in found if each.startswith("on") or each in ("style", "src", "srcdoc")] == []


@KINDS
def test_nothing_is_fetched_and_only_citations_lead_out(make):
    contents = make()
    document = Document(ranking_page(contents))
    cited = {each.address for each in contents.origin.references}
    for tag, found, _ in document.elements:
        address = found.get("href", "#")
        if not address.startswith("#"):
            assert (tag, address) == ("link", "data:,") or (tag == "a" and address in cited), address
    outward = [found for found, _ in document.all("a") if found["href"].startswith("http")]
    assert all(found["rel"] == "noopener noreferrer" for found in outward)
    assert len(outward) == sum(each.startswith("http") for each in cited if each)
    assert "sourceMappingURL" not in ranking_page(contents)


#: Addresses that stand in a page and are never fetched: names of XML's vocabularies, and the libraries'
#: licenses, which stand in it as comments.
NEVER_FETCHED = {
    "http://www.apache.org/licenses/",
    "http://www.apache.org/licenses/LICENSE-2.0",
    "http://www.w3.org/1999/xlink",
    "http://www.w3.org/2000/svg",
    "http://www.w3.org/2000/xmlns/",
    "http://www.w3.org/XML/1998/namespace",
    "https://github.com/d3/d3",
    "https://github.com/ecomfe/zrender/blob/master/LICENSE",
    "https://www.apache.org/",
}


def test_every_address_in_the_page_is_known():
    contents = full_contents()
    cited = {each.address for each in contents.origin.references if each.address}
    found = set(re.findall(r"(?:https?|wss?|ftp)://[\w./%~?=&:#-]+", ranking_page(contents), re.IGNORECASE))
    assert found == NEVER_FETCHED | cited


def test_evil_names_make_no_elements():
    """The page of evil names has the elements of the page of the same size with tame names."""
    evil = evil_contents()
    tags = {each[0] for each in Document(ranking_page(full_contents())).elements}
    assert {each[0] for each in Document(ranking_page(evil)).elements} <= tags


def test_evil_names_come_out_as_they_went_in():
    evil = evil_contents()
    page = ranking_page(evil)
    found = data_of(page)
    assert found["features"]["names"] == list(EVIL)
    assert found["classes"] == evil.classes
    assert found["samples"]["names"] == evil.samples.names
    rows = [text for _, text in Document(page).all("span", **{"class": "clamped"})]
    assert rows[: len(EVIL)] == [each.replace("\0", "") or "(no name)" for each in EVIL]


@pytest.mark.parametrize("name", NASTY)
def test_data_cannot_end_its_element(name):
    text = as_json({"name": name, name: [name]})
    assert not re.search("[<>&\u2028\u2029]", text)
    ((_, inside),) = Document(f'<script type="application/json">{text}</script>').all("script")
    assert inside == text
    assert json.loads(inside) == {"name": name, name: [name]}


def test_a_script_that_would_end_its_element_is_refused(monkeypatch, tmp_path):
    (tmp_path / "bad.js").write_text("const words = '</SCRIPT><script>';")
    (tmp_path / "comment.js").write_text("const words = '<!-- ';")
    monkeypatch.setattr(page_module, "files", lambda _: tmp_path)
    for name in ("bad.js", "comment.js"):
        with pytest.raises(ValueError, match="would end the element"):
            page_module._inline(name)


def test_the_policy_changes_with_every_script():
    one, other = (policy([Inline("a.js", text)], []) for text in ("1", "2"))
    assert one != other


def test_libraries_are_as_published():
    rows = re.findall(
        r"^\| (\S+) \|.*\| ([0-9a-f]{64}) \|$", REPORTS.joinpath("vendor/README.md").read_text(), re.M
    )
    assert len(rows) == 3
    for name, expected in rows:
        assert hashlib.sha256(REPORTS.joinpath("vendor", name).read_bytes()).hexdigest() == expected, name


def test_the_page_holds_the_licenses_of_what_it_holds():
    page = ranking_page(full_contents())
    vendor = REPORTS.joinpath("vendor")
    licenses = [*vendor.glob("LICENSE.*"), *vendor.glob("NOTICE.*")]
    assert len(licenses) == 5
    for each in licenses:
        text = each.read_text(encoding="utf-8").strip()
        assert "*/" not in text
        assert f"/*\n{text}\n*/\n" in page, each.name
    mentioned = vendor.joinpath("README.md").read_text()
    assert all(each.name in mentioned for each in licenses)


def test_our_scripts_make_no_html():
    for script in REPORTS.joinpath("scripts").iterdir():
        text = script.read_text()
        assert text.startswith("'use strict';"), script.name
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(", text
        )
        assert "formatter: '" not in text, "a formatter is a function: templates are filled with names"


def lightness(color):
    parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [each / 12.92 if each <= 0.03928 else ((each + 0.055) / 1.055) ** 2.4 for each in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    dark, light = sorted((lightness(one), lightness(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("name", ["page.css", "dark.css"])
def test_colors_are_told_from_the_paper(name):
    text = REPORTS.joinpath("style", name).read_text()
    colors = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", text))
    for each in ("ink", "soft", "accent"):
        for behind in ("paper", "raised", "accent-wash"):
            assert contrast(colors[each], colors[behind]) >= 4.5, (each, behind)
    assert contrast(colors["warm"], colors["paper"]) >= 4.5
    for each in ("faint", *(f"class-{place}" for place in range(8))):
        assert contrast(colors[each], colors["paper"]) >= 3.0, each


def test_dark_and_light_name_the_same_colors():
    light, dark = (
        re.findall(r"--([\w-]+): #", REPORTS.joinpath("style", name).read_text())
        for name in ("page.css", "dark.css")
    )
    assert light == dark
