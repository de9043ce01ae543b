"""Genotypes written as letters or allele numbers (AG, A/G, 0|1), counted as minor alleles."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .roles import InputTable

#: Two alleles with a separator (A/G, 0|1, A G, AT/A), or two letters of nucleotides, insertions, deletions.
_SEPARATED = re.compile(r"([A-Za-z]+|[0-9]{1,2}|[.*?-])\s*[/| ]\s*([A-Za-z]+|[0-9]{1,2}|[.*?-])")
_PAIR = re.compile(r"([ABCGTNDIabcgtndi-])([ABCGTNDIabcgtndi-])")
#: Alleles of no-calls; 0 is one beside letters, as in PLINK.
_NO_CALL = {".", "-", "?", "N"}
_LETTERS = re.compile("[ACGTDI]+|B")
#: Most alleles of a site.
_MAX_ALLELES = 4
#: Genotypes of so many alleles, in either order, and no-calls.
_MAX_GENOTYPES = 20


def allele_counts(words: Iterable[str | None], no_calls: Collection[str] = ()) -> dict[str, float] | None:
    """Return the number of minor alleles of each genotype in a column; None if a value is not a genotype.

    Every allele but the most frequent one is minor; of equally frequent ones, all but the first in the
    alphabet. A no-call (``./.``, ``--``, ``NN``, ``0 0`` beside letters, or one of ``no_calls``) is NaN.
    """
    counts = Counter(word for word in words if word is not None)
    pairs = {word: _alleles(word, no_calls) for word in counts}
    alleles: Counter[str] = Counter()
    for word, count in counts.items():
        found = pairs[word]
        if found is None:
            return None
        alleles.update({each: count * found.count(each) for each in set(found)})
    letters = any(_LETTERS.fullmatch(each) for each in alleles)
    missing = _NO_CALL | ({"0"} if letters else set())
    known = {each: count for each, count in alleles.items() if each not in missing}
    if not known or len(known) > _MAX_ALLELES:
        return None
    if not all(_LETTERS.fullmatch(each) if letters else each.isdecimal() for each in known):
        return None
    if "B" in known and not set(known) <= {"A", "B"}:  # the coding of microarrays
        return None
    major = min(known, key=lambda each: (-known[each], each))
    return {
        word: float("nan")
        if set(found) & missing or not found
        else float(sum(each != major for each in found))
        for word, found in pairs.items()
        if found is not None
    }


def _alleles(word: str, no_calls: Collection[str]) -> tuple[str, ...] | None:
    """Return the two alleles of a genotype, none of a no-call; None if the word is not a genotype."""
    if word in no_calls:
        return ()
    match = _SEPARATED.fullmatch(word) or _PAIR.fullmatch(word)
    return None if match is None else (match[1].upper(), match[2].upper())


def are_genotypes(words: Iterable[str | None], no_calls: Collection[str] = ()) -> bool:
    """Return whether all values are genotypes of one sample, at sites of any alleles, or missing."""
    found = [_alleles(word, no_calls) for word in {*words} if word is not None]
    alleles = {each for pair in found if pair is not None for each in pair} - _NO_CALL
    return (
        None not in found
        and bool(alleles)
        and all(_LETTERS.fullmatch(each) or each.isdecimal() for each in alleles)
    )


def look_like_genotypes(levels: Collection[str]) -> bool:
    """Return whether the distinct values of a column are genotypes, among them two homozygous ones."""
    counts = allele_counts(levels) if len(levels) <= _MAX_GENOTYPES else None
    return counts is not None and {0.0, 2.0} <= set(counts.values())


def count_alleles(table: InputTable) -> InputTable:
    """Return the table with the number of minor alleles in place of genotypes."""
    genotypes = table.genotypes
    if not genotypes:
        return table
    X = table.X.copy()
    for column, name in enumerate(table.feature_names):
        if name in genotypes:
            # NaN, a missing value, stands for itself.
            counts = np.array([genotypes[name][level] for level in table.levels[name]])
            codes = X[:, column]
            known = ~np.isnan(codes)
            X[known, column] = counts[codes[known].astype(np.int64)]
    return replace(
        table,
        X=X,
        levels={name: levels for name, levels in table.levels.items() if name not in genotypes},
        genotypes={},
    )
