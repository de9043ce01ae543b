"""As many tables, files and records as one has time for; ``HIGHRELIEF_FUZZ`` says how many of each."""

import faulthandler
import os

import pytest
from fuzzing import ESTIMATORS, answer_or_clear_error, cases
from fuzzing_files import (
    broken_files,
    broken_h5ad,
    broken_records,
    dialects,
    h5ad_or_sentence,
    roles,
    rules,
    run_or_sentence,
    table_or_sentence,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

N_EXAMPLES = int(os.environ.get("HIGHRELIEF_FUZZ", "300"))
#: Seconds after which something hangs.
PATIENCE = 1200

many = settings(max_examples=N_EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(autouse=True)
def _ended_if_it_hangs():
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ESTIMATORS)
@many
@given(cases(most_samples=40))
def test_an_answer_or_a_clear_error(name, case):
    answer_or_clear_error(ESTIMATORS[name], case)


@settings(many, max_examples=50 * N_EXAMPLES)
@given(broken_files(), roles, dialects, st.sampled_from([False, False, False, True]), rules)
def test_a_table_or_one_sentence(file, roles, dialect, transpose, rule):
    table_or_sentence(*file, roles, dialect, transpose=transpose, rule=rule)


@settings(many, max_examples=10 * N_EXAMPLES)
@given(st.data())
def test_an_h5ad_whose_parts_do_not_fit(data):
    pytest.importorskip("h5py", reason="no wheels for Python 3.15 yet")
    h5ad_or_sentence(data.draw(broken_h5ad()))


@settings(many, max_examples=10 * N_EXAMPLES)
@given(broken_records())
def test_a_run_or_one_sentence(text):
    run_or_sentence(text)
