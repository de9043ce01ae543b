"""Recommendations of HighRelief keep to their level: a part of docs/error_control_high_relief.py."""

import importlib
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def measured():
    """What made the numbers of the page."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DOCS))
        yield importlib.import_module("error_control_high_relief")


@pytest.mark.parametrize(
    "name", ["normal", "genotypes", "skewed values and rare counts", "twenty samples", "batches, confounded"]
)
def test_noise_is_recommended_no_more_often_than_the_level(measured, name):
    counts = measured.counts_of(measured.NULL[name], "HighRelief", 60)
    assert measured.Rate.of([row[1] for row in counts]).low <= measured.LEVEL


@pytest.mark.parametrize("name", ["5 shifts of 1 s.d.", "XOR of 2 numbers", "parity of 3 bits"])
def test_what_matters_is_recommended_and_little_else(measured, name):
    counts = measured.counts_of(measured.SIGNAL[name], "HighRelief", 30)
    assert measured.Rate.of([row[1] for row in counts]).low <= measured.LEVEL
    assert sum(row[2] for row in counts) / len(counts) > 0.6


def test_t_tests_do_not_find_pairs(measured):
    counts = measured.counts_of(measured.SIGNAL["XOR of 2 numbers"], "t-tests, BH", 30)
    assert sum(row[2] for row in counts) / len(counts) < 0.1


def test_the_page_has_the_stored_tables(measured):
    text = measured.PAGE.read_text(encoding="utf-8")
    for table in measured.TABLES.values():
        assert "\n".join(table()) in text
