"""Broken files and records: a table, or one sentence; see ``tests/long/test_fuzz.py``."""

import pytest
from command_line import highrelief, refused
from fuzzing_files import (
    WHOLE,
    broken_files,
    broken_records,
    dialects,
    roles,
    rules,
    run_or_sentence,
    table_or_sentence,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from highrelief.table import Roles
from highrelief.table.delimited import Dialect

few = settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("ending", WHOLE)
def test_what_is_whole_is_read(ending):
    table = table_or_sentence(ending, WHOLE[ending], Roles("class"), Dialect())
    assert table is not None
    assert sorted(set(table.y)) == ["other", "same"]


@settings(few, max_examples=200)
@given(broken_files(), roles, dialects, st.booleans(), rules)
def test_a_table_or_one_sentence(file, roles, dialect, transpose, rule):
    table_or_sentence(*file, roles, dialect, transpose=transpose, rule=rule)


@settings(few, max_examples=40)
@given(broken_records())
def test_a_run_or_one_sentence(text):
    run_or_sentence(text)


@pytest.mark.parametrize("ending", [".npz", ".parquet"])
def test_the_command_says_one_sentence_of_a_broken_file(ending, tmp_path):
    path = tmp_path / f"table{ending}"
    path.write_bytes(WHOLE[ending][: len(WHOLE[ending]) // 2])
    refused(highrelief("rank", path, "--target", "class"), 1, path.name)
