"""Broken files and records: a table, or one sentence; see ``tests/long/test_fuzz.py``."""

import itertools
import json
import random

import pytest
from command_line import highrelief, refused
from fuzzing_files import (
    WHOLE,
    broken_files,
    broken_h5ad,
    broken_records,
    dialects,
    h5ad_bytes,
    h5ad_or_sentence,
    roles,
    rules,
    run_or_sentence,
    table_or_sentence,
    the_record,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from registry import THOROUGH

from highrelief.cli.errors import UsageError
from highrelief.io.cells import TableError
from highrelief.io.roles import Roles
from highrelief.io.text import Dialect

few = settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("ending", WHOLE)
def test_what_is_whole_is_read(ending):
    table = table_or_sentence(ending, WHOLE[ending], Roles("class"), Dialect())
    assert table is not None
    assert sorted(set(table.y)) == ["other", "same"]


@settings(few, max_examples=200 if THOROUGH else 80)
@given(broken_files(), roles, dialects, st.sampled_from([False, False, False, True]), rules)
def test_a_table_or_one_sentence(file, roles, dialect, transpose, rule):
    table_or_sentence(*file, roles, dialect, transpose=transpose, rule=rule)


@settings(few, max_examples=100 if THOROUGH else 40)
@given(st.data())
def test_an_h5ad_whose_parts_do_not_fit(data):
    pytest.importorskip("h5py", reason="no wheels for Python 3.15 yet")
    h5ad_or_sentence(data.draw(broken_h5ad()))


@pytest.mark.parametrize("seed", range(6))
def test_an_h5ad_with_other_bytes(seed):
    """HDF5 itself may crash over them, in a process of its own."""
    pytest.importorskip("h5py", reason="no wheels for Python 3.15 yet")
    rng = random.Random(seed)
    data = bytearray(h5ad_bytes(rng.choice(["csr", "csc", "dense", "gzip"])))
    for _ in range(rng.choice([1, 2, 8])):
        start = rng.randrange(len(data))
        data[start : start + rng.choice([1, 8])] = rng.randbytes(rng.choice([0, 1, 8]))
    table_or_sentence(".h5ad", bytes(data), Roles("class"), Dialect())


@settings(few, max_examples=40)
@given(broken_records())
def test_a_run_or_one_sentence(text):
    run_or_sentence(text)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("labels", []),
        ("transpose", 1),
        ("default_missing", 0),
        ("drop", "g0"),
        ("drop", [1]),
        ("seed", True),
        ("separator", 3),
        ("encoding", {}),
        ("settings", []),
        ("max_redundancy", True),
        ("interactions", "yes"),
        ("target", None),
    ],
)
def test_a_record_with_another_type(name, value):
    record = the_record()
    text = json.dumps({**record, "request": {**record["request"], name: value}})
    with pytest.raises(TableError, match=rf"is no record of a run\. .* {name} cannot be"):
        run_or_sentence(text.encode(), catch=False)


ODD_TEXTS = ["\0", "\ud800", "x\0.csv", "\udcff.csv", "x" * 5000, "/dev/null", "\x1b[2J"]
TEXTS = [
    "data",
    "target",
    "method",
    "labels",
    "separator",
    "decimal",
    "encoding",
    "batch",
    "groups",
    "missing",
]


# Of all pairs one in three: every option meets two texts or three, and every text three options or four.
@pytest.mark.parametrize(
    ("name", "value"), list(itertools.product(TEXTS, ODD_TEXTS))[:: 1 if THOROUGH else 3], ids=ascii
)
def test_a_record_with_an_odd_text(name, value, tmp_path):
    record = the_record()
    record = {**record, "request": {**record["request"], name: value}}
    (tmp_path / "run.json").write_text(json.dumps(record))
    (tmp_path / "table.csv").write_bytes(WHOLE[".csv"])
    result = highrelief(
        "rank", "--repeat", tmp_path / "run.json", "--out", tmp_path / "out", "-q", "--no-report"
    )
    if result.returncode:
        refused(result, result.returncode)
        assert "should not have happened" not in result.stderr


@pytest.mark.parametrize(
    "settings",
    [
        {"n_neighbors": -(10**400)},
        {"n_neighbors": "\ud800"},
        {"\0": 1},
        {"n_neighbors": [[[]]]},
        {"scale": {}},
        {"n_jobs": "\0"},
        {"random_state": 10**30},
    ],
    ids=lambda each: ascii(each)[:40],
)
def test_a_record_with_odd_settings(settings, tmp_path):
    record = the_record()
    record = {**record, "request": {**record["request"], "settings": settings}}
    with pytest.raises((TableError, UsageError)):
        run_or_sentence(json.dumps(record).encode(), catch=False)


@pytest.mark.parametrize("text", [b"[" * 100_000, b"9" * 5000, b"\xff", b"", b"null", b"[]", b'"rank"'])
def test_what_is_no_record(text):
    with pytest.raises(TableError, match="is no record of a run"):
        run_or_sentence(text, catch=False)


def test_a_record_that_was_not_changed():
    assert run_or_sentence(json.dumps(the_record()).encode()) is not None


def test_a_name_that_no_file_can_have():
    record = the_record()
    record = {**record, "request": {**record["request"], "data": "x" * 5000}}
    with pytest.raises(TableError, match="There can be no file"):
        run_or_sentence(json.dumps(record).encode(), catch=False)


@pytest.mark.parametrize("ending", [".npz", ".parquet"])
def test_the_command_says_one_sentence_of_a_broken_file(ending, tmp_path):
    path = tmp_path / f"table{ending}"
    path.write_bytes(WHOLE[ending][: len(WHOLE[ending]) // 2])
    refused(highrelief("rank", path, "--target", "class"), 1, path.name)
