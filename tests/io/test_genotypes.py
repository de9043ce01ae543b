"""Genotypes written as text, and the number of minor alleles in them."""

import math

import pytest

pytest.importorskip("polars", reason="tables are read with polars, of the extra 'cli'")

from highrelief.io.genotypes import allele_counts, look_like_genotypes


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["AA", "AA", "AG", "GG"], {"AA": 0, "AG": 1, "GG": 2}),
        (["A/A", "A/A", "A/G", "G/A"], {"A/A": 0, "A/G": 1, "G/A": 1}),
        (["A|G", "G|G", "G|G"], {"A|G": 1, "G|G": 0}),
        (["0/0", "0/0", "0|1", "1/1"], {"0/0": 0, "0|1": 1, "1/1": 2}),
        (["0/1", "1/1", "1/1"], {"0/1": 1, "1/1": 0}),
        (["A G", "A A", "0 0"], {"A G": 1, "A A": 0, "0 0": None}),
        (["aa", "aa", "ag"], {"aa": 0, "ag": 1}),
        (["AA", "AB", "BB"], {"AA": 0, "AB": 1, "BB": 2}),
        (["AA", "GG"], {"AA": 0, "GG": 2}),
        (["A/AT", "A/A", "AT/AT", "A/A"], {"A/AT": 1, "A/A": 0, "AT/AT": 2}),
        (["0/1", "1/2", "0/0", "0/0"], {"0/1": 1, "1/2": 2, "0/0": 0}),
        (["AA", "--", "NN", "AG", "AA"], {"AA": 0, "--": None, "NN": None, "AG": 1}),
        (["0/0", "./.", "./1", "0/1", "0/0"], {"0/0": 0, "./.": None, "./1": None, "0/1": 1}),
        (["A/A", None, "A/C", "."], {"A/A": 0, "A/C": 1, ".": None}),
    ],
    ids=str,
)
def test_counts(words, expected):
    found = allele_counts(words, no_calls=("-", "."))
    assert {word: None if math.isnan(count) else count for word, count in found.items()} == expected


@pytest.mark.parametrize(
    "words",
    [["Bern", "Ulm"], ["A", "G"], ["BC", "AB"], ["yes/no", "no/no"], ["--", "--"], ["A/1", "A/A"],
     ["1/2/2020"], ["A/C", "G/T", "D/I"]],
    ids=str,
)  # fmt: skip
def test_other_text_is_none(words):
    assert allele_counts(words) is None


def test_recognized_by_two_homozygous_ones():
    assert look_like_genotypes(["CC", "CT", "TT"])
    assert look_like_genotypes(["./.", "0/0", "0/1", "1/1"])
    assert not look_like_genotypes(["AC", "DC"])
    assert not look_like_genotypes(["GA", "GG"])
    assert not look_like_genotypes(["Bern", "Ulm"])
