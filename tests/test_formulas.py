"""Texts that a spreadsheet would run are inert in our CSV files, stay different, and are read back."""

import csv
import re

import pytest
from command_line import highrelief, rows_of, table_text
from hypothesis import given
from hypothesis import strategies as st

from highrelief.cli.output import csv_text
from highrelief.io.formulas import inert, read_back

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
    assert inert(text) == written
    assert read_back(written) == text


@pytest.mark.parametrize("text", ["=1", "'-1", "a;=1", "\t"])
def test_what_we_would_not_write_is_not_changed(text):
    assert read_back(text) is None


@given(texts)
def test_every_text_is_read_back(text):
    assert read_back(inert(text)) == text


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
