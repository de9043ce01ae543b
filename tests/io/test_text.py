"""Texts that a spreadsheet would run are inert in our CSV files, stay different, and are read back."""

import csv
import re

import pytest
from command_line import highrelief, rows_of, table_text
from hypothesis import given
from hypothesis import strategies as st

from highrelief.cli.output import csv_text
from highrelief.io import text as text_module
from highrelief.io.reading import Source, read_table
from highrelief.io.roles import Roles
from highrelief.io.text import escape_formulas, unescape_formulas

texts = st.text(st.sampled_from("'=+-@,;\t\r\n\uff1d\uff0b\uff0d\uff20a1. "), max_size=8)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("=1", "'=1"),
        ("-", "-"),
        ("'-", "''-"),
        ("'=1", "''=1"),
        ("\uff1dcmd()", "'\uff1dcmd()"),
        ("\t=1", "'\t'=1"),
        ("\n=1", "'\n'=1"),
        ("\rx", "'\rx"),
        ("a;=1", "a;'=1"),
        ("a\t@x", "a\t'@x"),
        ("a\n+x", "a\n'+x"),
        ("a,-x,=y", "a,'-x,'=y"),
        ("-1", "-1"),
        ("'-1", "''-1"),
        ("a;-1", "a;-1"),
        ("a-b", "a-b"),
        ("'quoted'", "'quoted'"),
    ],
)
def test_what_would_start_a_formula(text, written):
    assert escape_formulas(text) == written
    assert unescape_formulas(written) == text


@pytest.mark.parametrize("text", ["=1", "'-1", "a;=1", "\t"])
def test_what_we_would_not_write_is_not_changed(text):
    assert unescape_formulas(text) is None


@given(texts)
def test_every_text_is_read_back(text):
    assert unescape_formulas(escape_formulas(text)) == text


@given(texts, st.sampled_from(",\t"), st.sampled_from(",;\t"))
def test_no_field_starts_a_formula_however_the_file_is_cut(text, separator, taken):
    written = csv_text(["name"], [[text]], separator=separator)
    for field in re.split(f"[{taken}\n\r]", written):
        harmless = re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)|[+-]", field.strip('"'))
        assert harmless or not field.lstrip('"').startswith(tuple("=+-@\uff1d\uff0b\uff0d\uff20")), written


@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_names_and_classes_that_select_writes_are_read_as_they_were(tmp_path, ending):
    names = ["=1", "'=1", '"a;=b"', "@x", "\uff0by", "plain"]
    path = tmp_path / "table.csv"
    path.write_text(table_text(names=names).replace("same", "=same"), encoding="utf-8")
    arguments = ("-t", "class", "-m", "fisher")
    first = highrelief("rank", path, *arguments)
    for name in ("once", "twice"):
        out = tmp_path / f"{name}{ending}"
        result = highrelief("select", path, *arguments, "--top", "6", "--out", out)
        assert result.returncode == 0, result.stderr
        path = out
    assert highrelief("rank", path, *arguments).stdout == first.stdout
    rows = (
        rows_of(path) if ending == ".csv" else list(csv.reader(path.open(encoding="utf-8"), delimiter="\t"))
    )
    assert {"'=1", "''=1", "a;'=b", "'@x", "'\uff0by", "plain"} <= set(rows[0])
    assert {row[1] for row in rows[1:]} == {"'=same", "other"}


def test_tables_of_others_keep_their_apostrophes(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(table_text(names=["'=1", "=1", "c", "d", "e", "f"]))
    shown = highrelief("rank", path, "-t", "class", "-m", "fisher").stdout
    assert {"'=1", "=1"} <= {line.split("\t")[1] for line in shown.splitlines()}


def test_apostrophes_that_are_removed_are_noted(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(table_text(names=["'=a", "b", "c", "d", "e", "f"]))
    result = highrelief("rank", path, "-t", "class", "-m", "fisher")
    assert "=a" in {line.split("\t")[1] for line in result.stdout.splitlines()}
    assert "Without the apostrophe that keeps a spreadsheet from running a formula: '=a'." in result.stderr
    path.write_text(path.read_text().replace("'=a", "a"))
    assert "apostrophe" not in highrelief("rank", path, "-t", "class", "-m", "fisher").stderr


def test_notes_of_transposed_tables_and_of_labels_are_shown(tmp_path):
    (tmp_path / "t.csv").write_text("gene,r1,r2,r3,r4\n'=a,1,2,3,4\nb,4,2,1,3\n")
    (tmp_path / "lab.csv").write_text("id,class\nr1,'=u\nr2,v\nr3,v\nr4,'=u\n")
    options = ("--transpose", "--labels", tmp_path / "lab.csv", "-t", "class", "-m", "fisher")
    shown = highrelief("rank", tmp_path / "t.csv", *options).stderr
    assert "formula: '=a'." in shown
    assert "formula: '=u'." in shown


def test_a_class_that_is_no_formula_stays_beside_an_inert_name(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("'=a,b,class\n1,2,-inf\n2,1,1\n3,5,2\n4,4,-inf\n5,3,1\n6,0,2\n")
    table = read_table(Source(path), Roles("class"))
    assert table.feature_names == ["=a", "b"]
    assert table.y.tolist() == ["-inf", "1", "2"] * 2


def test_texts_without_a_sign_are_not_searched_for_formulas(monkeypatch):
    searched = []
    monkeypatch.setattr(
        text_module, "unescape_formulas", lambda text: searched.append(text) or unescape_formulas(text)
    )
    assert text_module.escaped_texts(["word", "a_b", "it's", "'=x"]) == {"'=x": "=x"}
    assert searched == ["'=x"]
