"""Which column is what: the target, names of the samples, features. Nothing is left out without a word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cells import Cells
from .errors import TableError, listed, shown, unknown_column

#: What the columns are called that number the samples, in small letters.
_NUMBERINGS = {"", "id", "index", "sample", "sample_id", "sampleid", "patient", "patient_id", "unnamed: 0"}
#: More distinct numbers than this in a target are a measurement rather than classes.
_MOST_NUMBERED_CLASSES = 20


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


@dataclass(frozen=True)
class LabelledTable:
    """Samples and their classes, and what was done to get them."""

    #: (n_samples, n_features); NaN where a value is missing.
    X: NDArray[Any]
    #: (n_samples,) classes as they are written.
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


def labelled(cells: Cells, roles: Roles) -> LabelledTable:
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

    def table(self) -> LabelledTable:
        roles = self._roles
        classes = self._told(roles.target, "the target")
        groups = None if roles.groups is None else self._told(roles.groups, "named by --groups")
        batches = None if roles.batches is None else self._told(roles.batches, "named by --batch")
        told = (roles.target, roles.groups, roles.batches)
        set_apart = {self._place[name] for name in told if name in self._place}
        dropped = [self._column(name, "named by --drop") for name in roles.drop]
        naming = [self._column(name, "named by --id") for name in roles.identifiers]
        for place in {*dropped, *naming} & set_apart:
            raise TableError(
                f"{shown(self._names[place])} is named by --drop or --id, and is the target, the groups or"
                " the batches."
            )
        rows = np.array([each is not None for each in classes])
        if not rows.all():
            self._note(f"{_counted(~rows, 'row')} left out: no {shown(roles.target)} there.")
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
        y = _checked_classes(np.array([each for each in classes if each is not None]), roles.target)
        X, features = self._features([place for place in rest if place not in numbering], rows)
        return LabelledTable(
            X,
            y,
            [self._names[place] for place in features],
            self._sample_names([*naming, *numbering], rows),
            None if groups is None else self._levels("groups", roles.groups, groups, rows),
            self._notes,
            None if batches is None else self._levels("batches", roles.batches, batches, rows),
        )

    def _note(self, text: str) -> None:
        self._notes.append(text)

    def _listed(self, places: Sequence[int]) -> str:
        return listed([self._names[place] for place in places])

    def _unique_names(self) -> list[str]:
        """Names, those that occur again with a number."""
        counts = Counter(self._cells.names)
        if len(counts) == len(self._cells.names):
            return self._cells.names
        taken, seen, unique = set(counts), Counter[str](), []
        for name in self._cells.names:
            seen[name] += 1
            new = name
            while seen[name] > 1 and new in taken:
                new = f"{name} ({seen[name]})"
                seen[name] += new in taken
            taken.add(new)
            unique.append(new)
        again = [name for name, count in counts.items() if count > 1]
        self._note(f"{len(again):,} names occur more than once and were numbered: {listed(again)}.")
        return unique

    def _column(self, name: str, what: str) -> int:
        if name not in self._place:
            raise unknown_column(name, [*self._cells.aside, *self._names], what)
        return self._place[name]

    def _told(self, name: str, what: str) -> list[str | None]:
        """A column that is no feature, as it is written."""
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
        return self._cells.in_words(self._column(name, what))

    def _levels(
        self, what: str, name: str | None, levels: list[str | None], rows: NDArray[np.bool_]
    ) -> NDArray[Any]:
        kept = [level for level, row in zip(levels, rows, strict=True) if row]
        if None in kept:
            raise TableError(f"The column of {what}, {shown(name)}, has a missing value.")
        return np.array(kept)

    def _numbers_samples(self, place: int) -> bool:
        """Whether a column names or counts the samples: all values differ; they are words, or it says so."""
        says_so = self._names[place].strip().lower() in _NUMBERINGS
        words = self._cells.words.get(place)
        if words is not None:
            return names_rows(words) and (says_so or not self._slips(place))
        if not says_so:
            return False
        values = self._cells.numbers[:, place]
        return bool(np.all(values == np.round(values)) and np.unique(values).size == values.size)

    def _features(self, places: list[int], rows: NDArray[np.bool_]) -> tuple[NDArray[Any], list[int]]:
        """The numbers of the features; a column of two words becomes 0 and 1, of more is left out."""
        coded: dict[int, NDArray[Any]] = {}
        meanings: dict[tuple[str, str], list[int]] = {}
        left_out = set()
        for place in [place for place in places if place in self._cells.words]:
            self._check_slips(place)
            words = self._cells.words[place]
            two = sorted({word for word in words if word is not None})
            if len(two) == 2:
                coded[place] = np.array([np.nan if word is None else two.index(word) for word in words])
                meanings.setdefault((two[0], two[1]), []).append(place)
            else:
                left_out.add(place)
        for (zero, one), coding in meanings.items():
            self._note(f"{self._listed(coding)}: {shown(zero)} counts as 0 and {shown(one)} as 1.")
        if left_out:
            self._note(f"Left out, neither numbers nor one of two words: {self._listed(sorted(left_out))}.")
        kept = [place for place in places if place not in left_out]
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
        for column, place in enumerate(kept):
            if place in coded:
                X[:, column] = coded[place]
        X = X if rows.all() else X[rows]
        self._check_finite(X, kept, np.flatnonzero(rows))
        return X, kept

    def _slips(self, place: int) -> list[int]:
        """Rows of the words in a column that has more numbers than words."""
        is_number = ~np.isnan(self._cells.numbers[:, place])
        words = self._cells.words[place]
        wordy = [row for row, word in enumerate(words) if word is not None and not is_number[row]]
        return wordy if len(wordy) < is_number.sum() else []

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


def _checked_classes(y: NDArray[Any], target: str) -> NDArray[Any]:
    """Raise if the target does not tell classes apart."""
    if y.size == 0:
        raise TableError(f"The target {shown(target)} is missing in every row.")
    distinct = np.unique(y)
    if distinct.size == 1:
        raise TableError(f"The target {shown(target)} is {shown(y[0])} in every row; two classes are needed.")
    if distinct.size == y.size:
        raise TableError(
            f"The target {shown(target)} is different in every row: it names samples, not classes."
        )
    if _is_measurement(distinct):
        raise TableError(
            f"The target {shown(target)} has {distinct.size:,} different numbers: it looks like a"
            " measurement, and classes are needed."
        )
    return y


def _is_measurement(distinct: NDArray[Any]) -> bool:
    try:
        values = distinct.astype(np.float64)
    except ValueError:
        return False
    return bool(
        distinct.size > _MOST_NUMBERED_CLASSES or (distinct.size > 2 and np.any(values != np.round(values)))
    )


def _counted(which: NDArray[np.bool_], what: str) -> str:
    count = int(which.sum())
    return f"{count:,} of {which.size:,} {what}{'s' if which.size != 1 else ''}"
