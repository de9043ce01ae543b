"""Which column is what: the target, names of the samples, features. Nothing is left out without a word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cells import (
    Cells,
    MeasurementError,
    TableError,
    WordsError,
    counted,
    counted_tokens,
    listed,
    masked,
    shown,
    unknown_column,
    without,
    written,
)

# What the target is: classes, or numbers.


#: More distinct numbers than this in a target are a measurement rather than classes.
_MOST_NUMBERED_CLASSES = 20
#: Most classes, and fewest samples of each on average where there are more classes than ``_SOME_CLASSES``.
_MOST_CLASSES, _FEWEST_SAMPLES, _SOME_CLASSES = 1000, 2, 20


def checked_classes(y: Sequence[str], target: str) -> NDArray[Any]:
    """The classes as an array; raises if the target does not tell classes apart."""
    if not y:
        raise TableError(f"The target {shown(target)} is missing in every row.")
    distinct = set(y)
    if len(distinct) == 1:
        raise TableError(f"The target {shown(target)} is {shown(y[0])} in every row; two classes are needed.")
    numbers = _numbers(distinct)
    fractions = numbers is not None and bool(np.any(numbers != np.round(numbers)))
    measured = numbers is not None and (
        len(distinct) > _MOST_NUMBERED_CLASSES or (len(distinct) > 2 and fractions)
    )
    if len(distinct) == len(y) and not (measured and fractions):
        raise TableError(
            f"The target {shown(target)} is different in every row: it names samples, not classes."
        )
    if measured:
        raise MeasurementError(
            f"The target {shown(target)} has {len(distinct):,} different numbers: it looks like a"
            " measurement, and classes are needed."
        )
    few = len(distinct) > _SOME_CLASSES and len(y) < _FEWEST_SAMPLES * len(distinct)
    if few or len(distinct) > _MOST_CLASSES:
        raise TableError(
            f"The target {shown(target)} has {len(distinct):,} classes in {len(y):,} rows; at most"
            f" {_MOST_CLASSES:,} are allowed, with {_FEWEST_SAMPLES} samples each on average."
        )
    return np.array(y)


def _numbers(texts: Collection[str]) -> NDArray[np.float64] | None:
    """The numbers that all texts are; None if one is none."""
    try:
        numbers = np.array([float(text) for text in texts])
    except ValueError:
        return None
    return None if np.isnan(numbers).any() else numbers


def checked_numbers(
    numbers: NDArray[Any], words: Sequence[str | None], places: Sequence[str], target: str
) -> NDArray[np.float64]:
    """The target as numbers, NaN where it is missing; raises if it does not tell samples apart.

    ``numbers``: as far as they were read as such; ``words``: as they are written; ``places``: of the rows,
    for messages.
    """
    y = np.array(numbers, dtype=np.float64)
    for row in np.flatnonzero(np.isnan(y)).tolist():
        y[row] = _number_of(words[row], places[row], target)
    known = y[~np.isnan(y)]
    if known.size == 0:
        raise TableError(f"The target {shown(target)} is missing in every row.")
    if np.isinf(known).any():
        row = int(np.argmax(np.isinf(y)))
        raise TableError(f"The target {shown(target)} is infinite, or too large, in {places[row]}.")
    if np.all(known == known[0]):
        raise TableError(
            f"The target {shown(target)} is {known[0]:.15g} in every row; samples must differ in it."
        )
    return y


def _number_of(word: str | None, place: str, target: str) -> float:
    try:
        return np.nan if word is None else float(word)
    except ValueError as error:
        raise TableError(
            f"The target {shown(target)} is {shown(word)} in {place}, and this method needs a target of"
            " numbers; --missing-value says that it stands for a missing one."
        ) from error


#: What the columns are called that number the samples, in small letters.
_NUMBERINGS = {"", "id", "index", "sample", "sample_id", "sampleid", "patient", "patient_id", "unnamed: 0"}

#: Pairs of words of which a note gives the codes; more are counted.
_MOST_MEANINGS = 20


@dataclass(frozen=True)
class Roles:
    """What the user says about the columns."""

    target: str
    #: Columns that name the samples; the first of them is kept as their names.
    identifiers: Sequence[str] = ()
    #: Columns to leave out.
    drop: Sequence[str] = ()
    #: Column that says which samples belong together, or None.
    groups: str | None = None
    #: Column that says which samples were measured together, or None.
    batches: str | None = None
    #: Whether the target is a number rather than a class.
    measured: bool = False
    #: Whether columns of words are features, each word a category.
    words: bool = False
    #: Columns of numbers that are categories all the same.
    categorical: Sequence[str] = ()


@dataclass(frozen=True)
class LabeledTable:
    """Samples and their classes, and what was done to get them."""

    #: (n_samples, n_features); NaN where a value is missing. In place of words their numbers in ``levels``.
    X: NDArray[Any]
    #: (n_samples,) classes as they are written; float64 if the target is a number.
    y: NDArray[Any]
    feature_names: list[str]
    #: (n_samples,), or None.
    sample_names: list[str] | None
    #: (n_samples,) which samples belong together, or None.
    groups: NDArray[Any] | None = None
    #: What the user should know: rows and columns left out, names changed.
    notes: list[str] = field(default_factory=list)
    #: (n_samples,) which samples were measured together, or None.
    batches: NDArray[Any] | None = None
    #: The words that 0, 1, … stand for, by the names of the features.
    levels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: Names of the features whose values are equal or not, and no more.
    categories: frozenset[str] = frozenset()
    #: Columns of words that were left out.
    left_out: tuple[str, ...] = ()
    #: SHA-256 of the files it was read from, by their names.
    digest: Mapping[str, str] = field(default_factory=dict)

    @property
    def measured(self) -> bool:
        """Whether the target is a number."""
        return self.y.dtype.kind == "f"

    @property
    def categorical(self) -> list[int]:
        """Places of the features whose values are categories."""
        return [place for place, name in enumerate(self.feature_names) if name in self.categories]


def labeled(cells: Cells, roles: Roles) -> LabeledTable:
    """The samples with their classes, given what the columns are."""
    return _Judge(cells, roles).table()


class _Judge:
    """Decides column by column, and writes down what it decided."""

    def __init__(self, cells: Cells, roles: Roles) -> None:
        self._cells = cells
        self._roles = roles
        self._notes = list(cells.notes)
        self._names = self._unique_names()
        self._place = {name: place for place, name in enumerate(self._names)}
        self._no_numbers = cells.tokens.of_numbers
        # All columns at once: one by one they are far apart in memory.
        known = ~np.isnan(np.take(cells.numbers, list(cells.words), axis=1))
        self._n_numbers = dict(zip(cells.words, known.sum(axis=0).tolist(), strict=True))
        self._words_of: dict[str, list[str]] = {}
        self._categories: frozenset[str] = frozenset()
        self._left_out: list[str] = []

    def table(self) -> LabeledTable:
        roles = self._roles
        text = self._told(roles.target, "the target")
        groups = None if roles.groups is None else self._told(roles.groups, "named by --groups")
        batches = None if roles.batches is None else self._told(roles.batches, "named by --batch")
        told = (roles.target, roles.groups, roles.batches)
        set_apart = {
            self._place[name] for name in told if name in self._place and name not in self._cells.aside
        }
        dropped = [self._column(name, "named by --drop") for name in roles.drop]
        naming = [self._column(name, "named by --id") for name in roles.identifiers]
        for place in {*dropped, *naming} & set_apart:
            raise TableError(
                f"{shown(self._names[place])} is named by --drop or --id, and is the target, the groups or"
                " the batches."
            )
        measures = self._measures(text) if roles.measured else None
        classes = masked(text, self._cells.tokens.of_labels)
        rows = np.array([each is not None for each in classes]) if measures is None else ~np.isnan(measures)
        if not rows.all():
            self._note(f"{_counted(~rows, 'row')} dropped: {self._missing(roles.target, text, ~rows)}.")
        unused = [name for name in self._cells.aside if name not in told]
        if unused:
            self._note(f"Beside the table, and not used: {listed(unused)}.")
        if dropped:
            self._note(f"Left out as told: {listed(list(roles.drop))}.")
        set_apart |= {*dropped, *naming}
        rest = [place for place in range(len(self._names)) if place not in set_apart]
        numbering = {place: None for place in rest if self._numbers_samples(place)}
        if numbering:
            self._note(f"Names of the samples, not features: {self._listed(list(numbering))}.")
        if measures is None:
            y = checked_classes([each for each in classes if each is not None], roles.target)
        else:
            y = measures[rows]
        sample_names = self._sample_names([*naming, *numbering], rows)
        X, features = self._features([place for place in rest if place not in numbering], rows)
        return LabeledTable(
            X,
            y,
            [self._names[place] for place in features],
            sample_names,
            None if groups is None else self._levels("groups", roles.groups, groups, rows),
            notes=self._notes,
            batches=None if batches is None else self._levels("batches", roles.batches, batches, rows),
            levels=self._words_of,
            categories=self._categories,
            left_out=tuple(self._left_out),
        )

    def _measures(self, text: list[str | None]) -> NDArray[np.float64]:
        """The target as numbers, NaN where it is missing."""
        target, tokens = self._roles.target, self._cells.tokens
        numbers = self._cells.aside_numbers.get(target)
        words = masked(text, tokens.of_numbers)
        if numbers is None and target not in self._cells.aside:
            place = self._place[target]
            numbers = self._cells.numbers[:, place]
            if place not in self._cells.words:  # -9999.0 is missing with --missing-value -9999, too
                words = [None] * len(words)
        return checked_numbers(
            np.full(len(words), np.nan) if numbers is None else without(numbers, tokens.declared),
            words,
            [self._cells.place_of_row(row) for row in range(len(words))],
            target,
        )

    def _missing(self, name: str | None, text: Sequence[str | None], gone: NDArray[np.bool_]) -> str:
        """That a column is missing in some rows, and by which tokens, for a message."""
        there = [text[row] for row in np.flatnonzero(gone).tolist()]
        options = "; see --missing-value and --no-default-missing" if any(there) else ""
        return f"{shown(name)} is missing ({counted_tokens(there)}){options}"

    def _note(self, text: str) -> None:
        self._notes.append(text)

    def _listed(self, places: Sequence[int]) -> str:
        return listed([self._names[place] for place in places])

    def _unique_names(self) -> list[str]:
        """Names, those that occur again with a number."""
        roles = self._roles
        # A column of the name of the target beside the table is a feature, unless it is dropped.
        told = {roles.target, roles.groups, roles.batches}
        beside = [name for name in self._cells.aside if name in told and name not in roles.drop]
        counts = Counter([*self._cells.names, *beside])
        if len(counts) == counts.total():
            return self._cells.names
        taken, seen, unique = set(counts), Counter[str](beside), []
        for name in self._cells.names:
            seen[name] += 1
            new = name
            while seen[name] > 1 and new in taken:
                new = f"{name} ({seen[name]})"
                seen[name] += new in taken
            taken.add(new)
            unique.append(new)
            if name in beside:
                self._note(
                    f"Feature {shown(name)} is called {shown(new)}: {shown(name)} beside it is no feature."
                )
        again = [name for name, count in counts.items() if count > 1 and name not in beside]
        if again:
            occur = counted(len(again), "name occurs", "names occur")
            self._note(f"{occur} more than once; the repeated columns were numbered: {listed(again)}.")
        return unique

    def _column(self, name: str, what: str) -> int:
        if name not in self._place:
            raise unknown_column(name, [*self._cells.aside, *self._names], what)
        return self._place[name]

    def _told(self, name: str, what: str) -> list[str | None]:
        """A column that is no feature, as it is written, also where it is missing."""
        if name in self._cells.aside:
            return self._cells.aside[name]
        again = [
            new
            for old, new in zip(self._cells.names, self._names, strict=True)
            if old == name != new and new not in self._roles.drop
        ]
        if again:
            raise TableError(
                f"The table has {len(again) + 1} columns {shown(name)} ({what}), which must be one; --drop"
                f" {shown(again[0])} leaves another out."
            )
        return self._cells.text([self._column(name, what)])[0]

    def _levels(
        self, what: str, name: str | None, text: list[str | None], rows: NDArray[np.bool_]
    ) -> NDArray[Any]:
        levels = masked(text, self._cells.tokens.of_labels)
        gone = rows & [level is None for level in levels]
        if gone.any():
            raise TableError(
                f"--{'batch' if what == 'batches' else what}: in {_counted(gone, 'row')},"
                f" {self._missing(name, text, gone)}. It needs a value in every row."
            )
        kept = [level for level, row in zip(levels, rows, strict=True) if row]
        different = counted(len(set(kept)), "different value")
        self._note(f"{what.capitalize()}, no feature: {shown(name)}, with {different}.")
        return np.array(kept)

    def _numbers_samples(self, place: int) -> bool:
        """Whether a column names or counts the samples: all values differ; they are words, or it says so."""
        says_so = self._names[place].strip().lower() in _NUMBERINGS
        words = self._cells.words.get(place)
        if words is not None:
            return names_rows(words) and (says_so or not self._slips(place))
        return says_so and self._cells.counts_rows(place)

    def _features(self, places: list[int], rows: NDArray[np.bool_]) -> tuple[NDArray[Any], list[int]]:
        """The numbers of the features; words become 0, 1, …, more than two only if they may be categories."""
        features = set(places)
        declared = {self._declared(name, features) for name in self._roles.categorical}
        texts = self._categories_as_text(sorted(declared))
        # X is about to be copied: the text of the file need not stay in memory beside it.
        self._cells.text_at = None
        coded: dict[int, NDArray[Any]] = {}
        left_out = set()
        for place in [place for place in places if place in self._cells.words or place in texts]:
            if place not in declared:
                self._check_slips(place)
            words = texts[place] if place in texts else self._cells.words[place]
            levels = sorted({word for word in words if word is not None})
            if self._roles.words or place in declared or len(levels) == 2:
                code = {word: float(number) for number, word in enumerate(levels)}
                coded[place] = np.array([np.nan if word is None else code[word] for word in words])
                self._words_of[self._names[place]] = levels
            else:
                left_out.add(place)
        self._note_words(coded, declared, sorted(left_out))
        kept = [place for place in places if place not in left_out]
        if not kept and left_out:
            raise WordsError(
                f"The table has no column of numbers beside the target, only words: {self._listed(places)};"
                " --sep and --decimal say how a text is written."
            )
        if not kept:
            raise TableError(
                "The table has no column of numbers beside the target; --sep and --decimal say how a text is"
                " written."
            )
        X = (
            np.take(self._cells.numbers, kept, axis=1)
            if len(kept) < len(self._names)
            else self._cells.numbers
        )
        if coded:
            X[:, [column for column, place in enumerate(kept) if place in coded]] = np.transpose(
                [coded[place] for place in kept if place in coded]
            )
        X = X if rows.all() else X[rows]
        self._check_finite(X, kept, np.flatnonzero(rows))
        return X, kept

    def _categories_as_text(self, places: Sequence[int]) -> dict[int, list[str | None]]:
        """Columns of numbers that are categories and are not written as numbers are: 01, or 20 digits."""
        numeric = [place for place in places if place not in self._cells.words]
        texts = {}
        for place, text in zip(numeric, self._cells.text(numeric), strict=True):
            numbers = self._cells.numbers[:, place]
            plain = written(numbers) if numbers.dtype.kind == "f" else text
            as_written = [None if other is None else each for each, other in zip(text, plain, strict=True)]
            if as_written != plain:
                texts[place] = as_written
        return texts

    def _declared(self, name: str, places: Collection[int]) -> int:
        """The place of a feature that the user calls categorical."""
        place = self._column(name, "named by --categorical")
        if place not in places:
            raise TableError(f"{shown(name)} is named by --categorical, and is no feature.")
        return place

    def _note_words(self, coded: Iterable[int], declared: set[int], left_out: list[int]) -> None:
        """Say what became of columns of words, and of those that were called categorical."""
        categories = {*coded, *declared} if self._roles.words else declared
        self._categories = frozenset(self._names[place] for place in categories)
        self._left_out = [self._names[place] for place in left_out]
        meanings: dict[tuple[str, ...], list[int]] = {}
        for place in coded:
            if place not in categories:
                meanings.setdefault(tuple(self._words_of[self._names[place]]), []).append(place)
        for (zero, one), coding in list(meanings.items())[:_MOST_MEANINGS]:
            self._note(f"{self._listed(coding)}: {shown(zero)} counts as 0 and {shown(one)} as 1.")
        others = sorted(place for coding in list(meanings.values())[_MOST_MEANINGS:] for place in coding)
        if others:
            self._note(f"The first of two words in the alphabet counts as 0 in {self._listed(others)}.")
        if categories:
            names = self._listed(sorted(categories))
            self._note(f"Categories, of which two values are equal or differ by 1: {names}.")
        if left_out:
            self._note(f"Left out, neither numbers nor one of two words: {self._listed(left_out)}.")

    def _slips(self, place: int) -> list[int]:
        """Rows of the words in a column that has more numbers than words."""
        if not self._n_numbers[place]:
            return []
        is_number = ~np.isnan(self._cells.numbers[:, place])
        words = self._cells.words[place]
        wordy = [
            row
            for row, word in enumerate(words)
            if not is_number[row] and word is not None and word not in self._no_numbers
        ]
        return wordy if len(wordy) < self._n_numbers[place] else []

    def _check_slips(self, place: int) -> None:
        """Raise if a column is of numbers but for a few fields."""
        words, wordy = self._cells.words[place], self._slips(place)
        if wordy:
            raise TableError(
                f"Column {shown(self._names[place])} has numbers but for {len(wordy)} of {len(words)} values,"
                f" such as {shown(words[wordy[0]])} in {self._cells.place_of_row(wordy[0])}; --missing-value"
                " says that it is none, --drop leaves the column out."
            )

    def _check_finite(self, X: NDArray[Any], places: Sequence[int], rows: NDArray[np.int64]) -> None:
        if X.dtype.kind == "f" and np.isinf(X).any():
            row, column = np.argwhere(np.isinf(X))[0]
            raise TableError(
                f"Column {shown(self._names[places[column]])} has an infinite value, or one too large, in"
                f" {self._cells.place_of_row(rows[row])}."
            )

    def _sample_names(self, naming: Sequence[int], rows: NDArray[np.bool_]) -> list[str] | None:
        names = self._cells.in_words(naming[0]) if naming else self._cells.row_names
        return None if names is None else [name or "" for name, row in zip(names, rows, strict=True) if row]


def names_rows(words: Sequence[str | None]) -> bool:
    """Whether words name the rows: all are there, and all differ."""
    return len(words) > 2 and None not in words and len(set(words)) == len(words)


def _counted(which: NDArray[np.bool_], what: str) -> str:
    return f"{int(which.sum()):,} of {counted(which.size, what)}"
