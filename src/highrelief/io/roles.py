"""Roles of columns: target, sample names, groups, batches, features. Notes list whatever is left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cells import (
    Cells,
    ContinuousTargetError,
    NoNumbersError,
    TableError,
    as_text,
    count_tokens,
    counted,
    mask_codes,
    mask_missing,
    quoted,
    quoted_list,
    unknown_column,
)
from .genotypes import allele_counts, look_like_genotypes

# The target

#: A target of more distinct numbers than this is continuous.
_MAX_NUMERIC_CLASSES = 20
#: Most classes; fewest samples per class on average if there are more than ``_MANY_CLASSES``.
_MAX_CLASSES, _MIN_SAMPLES_PER_CLASS, _MANY_CLASSES = 1000, 2, 20


def class_labels(y: Sequence[str], target: str) -> NDArray[Any]:
    """Return the class labels as an array; raise if the target cannot be one of classes."""
    if not y:
        raise TableError(f"The target {quoted(target)} is missing in every row.")
    distinct = set(y)
    if len(distinct) == 1:
        raise TableError(
            f"The target {quoted(target)} is {quoted(y[0])} in every row; two classes are needed."
        )
    numbers = _numbers(distinct)
    fractions = numbers is not None and bool(np.any(numbers != np.round(numbers)))
    continuous_target = numbers is not None and (
        len(distinct) > _MAX_NUMERIC_CLASSES or (len(distinct) > 2 and fractions)
    )
    if len(distinct) == len(y) and not (continuous_target and fractions):
        raise TableError(
            f"The target {quoted(target)} is different in every row: it names samples, not classes."
        )
    if continuous_target:
        raise ContinuousTargetError(
            f"The target {quoted(target)} has {len(distinct):,} different numbers: it looks like a"
            " measurement, and classes are needed."
        )
    few = len(distinct) > _MANY_CLASSES and len(y) < _MIN_SAMPLES_PER_CLASS * len(distinct)
    if few or len(distinct) > _MAX_CLASSES:
        raise TableError(
            f"The target {quoted(target)} has {len(distinct):,} classes in {len(y):,} rows; at most"
            f" {_MAX_CLASSES:,} are allowed, with {_MIN_SAMPLES_PER_CLASS} samples each on average."
        )
    return np.array(y)


def _is_continuous(y: Sequence[str], target: str) -> bool:
    """Return whether a target looks like a measurement; raise if it is neither that nor one of classes."""
    try:
        class_labels(y, target)
    except ContinuousTargetError:
        return True
    return False


def _numbers(texts: Collection[str]) -> NDArray[np.float64] | None:
    """Return the texts as numbers; None if one is not a number."""
    try:
        numbers = np.array([float(text) for text in texts])
    except ValueError:
        return None
    return None if np.isnan(numbers).any() else numbers


def continuous_values(
    numbers: NDArray[Any], text: Sequence[str | None], row_names: Sequence[str], target: str
) -> NDArray[np.float64]:
    """Return a continuous target, NaN where it is missing; raise if it is constant or not numeric.

    ``numbers`` are the values that were read as numbers, ``text`` is parsed where they are NaN.
    """
    y = np.array(numbers, dtype=np.float64)
    for row in np.flatnonzero(np.isnan(y)).tolist():
        try:
            y[row] = np.nan if text[row] is None else float(text[row] or "")
        except ValueError as error:
            raise TableError(
                f"The target {quoted(target)} is {quoted(text[row])} in {row_names[row]}, and this method"
                " needs a target of numbers; use --missing-value if it stands for a missing value."
            ) from error
    known = y[~np.isnan(y)]
    if known.size == 0:
        raise TableError(f"The target {quoted(target)} is missing in every row.")
    if np.isinf(known).any():
        row = int(np.argmax(np.isinf(y)))
        raise TableError(f"The target {quoted(target)} is infinite, or too large, in {row_names[row]}.")
    if np.all(known == known[0]):
        raise TableError(
            f"The target {quoted(target)} is {known[0]:.15g} in every row; samples must differ in it."
        )
    return y


# Roles and the table

#: Names of columns that number the samples, in lower case.
_ID_NAMES = {"", "id", "index", "sample", "sample_id", "sampleid", "patient", "patient_id", "unnamed: 0"}

#: Binary codings that notes describe one by one.
_MAX_CODINGS = 20


@dataclass(frozen=True)
class Roles:
    """Roles of columns as set by the user."""

    target: str
    #: Columns that name the samples; the first gives the sample names.
    identifiers: Sequence[str] = ()
    #: Columns to leave out.
    drop: Sequence[str] = ()
    #: Column of group labels, or None.
    groups: str | None = None
    #: Column of batch labels, or None.
    batches: str | None = None
    #: Whether the target is continuous; None: detected.
    continuous_target: bool | None = False
    #: Whether text columns are categorical features.
    text_as_categories: bool = False
    #: Numeric columns that are categorical features.
    categorical: Sequence[str] = ()
    #: Whether genotypes written as text are counted as minor alleles.
    genotypes: bool = False


@dataclass(frozen=True)
class InputTable:
    """Samples with their labels, and notes on how they were read."""

    #: (n_samples, n_features); NaN where a value is missing. Text is encoded by the indices of ``levels``.
    X: NDArray[Any]
    #: (n_samples,) class labels as text; float64 for a continuous target.
    y: NDArray[Any]
    feature_names: list[str]
    #: (n_samples,), or None.
    sample_names: list[str] | None
    #: (n_samples,) group labels, or None.
    groups: NDArray[Any] | None = None
    #: Notes for the user: rows and columns left out, names changed.
    notes: list[str] = field(default_factory=list)
    #: (n_samples,) batch labels, or None.
    batches: NDArray[Any] | None = None
    #: The texts encoded as 0, 1, …, by feature name.
    levels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: Names of the categorical features.
    categories: frozenset[str] = frozenset()
    #: Text columns that were left out.
    dropped_columns: tuple[str, ...] = ()
    #: The columns that identify the samples, by name; the first has ``sample_names``.
    identifiers: Mapping[str, list[str]] = field(default_factory=dict)
    #: Number of minor alleles of each level, by the names of the features that are genotypes.
    genotypes: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    #: SHA-256 of the files, by name.
    digest: Mapping[str, str] = field(default_factory=dict)

    @property
    def continuous_target(self) -> bool:
        """Whether the target is continuous."""
        return self.y.dtype.kind == "f"

    @property
    def class_counts(self) -> dict[str, int]:
        """Number of samples of each class."""
        classes, counts = np.unique(self.y, return_counts=True)
        return dict(zip(classes.tolist(), counts.tolist(), strict=True))

    @property
    def categorical(self) -> list[int]:
        """Column indices of the categorical features."""
        return [index for index, name in enumerate(self.feature_names) if name in self.categories]


def input_table(cells: Cells, roles: Roles) -> InputTable:
    """Assign the roles to the columns; raise a TableError where they do not fit."""
    return _TableBuilder(cells, roles).table()


class _TableBuilder:
    """Assigns roles column by column, and notes what it leaves out."""

    def __init__(self, cells: Cells, roles: Roles) -> None:
        self._cells = cells
        self._roles = roles
        self._notes = list(cells.notes)
        self._names = self._unique_names()
        self._index = {name: index for index, name in enumerate(self._names)}
        self._number_tokens = cells.tokens.for_numbers
        # All columns at once: one by one they are far apart in memory.
        known = ~np.isnan(np.take(cells.numbers, list(cells.text_columns), axis=1))
        self._n_numbers = dict(zip(cells.text_columns, known.sum(axis=0).tolist(), strict=True))
        self._level_names: dict[str, list[str]] = {}
        self._categories: frozenset[str] = frozenset()
        self._dropped_columns: list[str] = []
        self._genotypes: dict[str, dict[str, float]] = {}

    def table(self) -> InputTable:
        roles = self._roles
        text = self._role_text(roles.target, "the target")
        groups = None if roles.groups is None else self._role_text(roles.groups, "named by --groups")
        batches = None if roles.batches is None else self._role_text(roles.batches, "named by --batch")
        role_columns = (roles.target, roles.groups, roles.batches)
        set_apart = {
            self._index[name]
            for name in role_columns
            if name in self._index and name not in self._cells.annotations
        }
        dropped = [self._column(name, "named by --drop") for name in roles.drop]
        id_columns = [self._column(name, "named by --id") for name in roles.identifiers]
        for index in {*dropped, *id_columns} & set_apart:
            raise TableError(
                f"{quoted(self._names[index])} is named by --drop or --id, and is the target, the groups or"
                " the batches."
            )
        classes = mask_missing(text, self._cells.tokens.for_text)
        continuous = roles.continuous_target
        if continuous is None:
            continuous = _is_continuous([each for each in classes if each is not None], roles.target)
        target_values = self._continuous_target(text) if continuous else None
        rows = (
            np.array([each is not None for each in classes])
            if target_values is None
            else ~np.isnan(target_values)
        )
        if not rows.all():
            self._note(f"{_counted(~rows, 'row')} dropped: {self._missing(roles.target, text, ~rows)}.")
        unused = [name for name in self._cells.annotations if name not in role_columns]
        if unused:
            self._note(f"Beside the table, and not used: {quoted_list(unused)}.")
        if dropped:
            self._note(f"Left out as requested: {quoted_list(list(roles.drop))}.")
        set_apart |= {*dropped, *id_columns}
        rest = [index for index in range(len(self._names)) if index not in set_apart]
        detected_ids = {index: None for index in rest if self._is_sample_id(index)}
        if detected_ids:
            self._note(f"Names of the samples, not features: {self._listed(list(detected_ids))}.")
        if target_values is None:
            y = class_labels([each for each in classes if each is not None], roles.target)
        else:
            y = target_values[rows]
        identifiers = {
            self._names[index]: self._kept_names(self._cells.labels(index), rows)
            for index in dict.fromkeys([*id_columns, *detected_ids])
        }
        row_names = self._cells.row_names
        sample_names = None if row_names is None else self._kept_names(row_names, rows)
        if identifiers:
            sample_names = next(iter(identifiers.values()))
        X, features = self._features([index for index in rest if index not in detected_ids], rows)
        return InputTable(
            X,
            y,
            [self._names[index] for index in features],
            sample_names,
            None if groups is None else self._levels("groups", roles.groups, groups, rows),
            notes=self._notes,
            batches=None if batches is None else self._levels("batches", roles.batches, batches, rows),
            levels=self._level_names,
            categories=self._categories,
            dropped_columns=tuple(self._dropped_columns),
            identifiers=identifiers,
            genotypes=self._genotypes,
        )

    def _continuous_target(self, text: list[str | None]) -> NDArray[np.float64]:
        """Return the continuous target, NaN where it is missing."""
        target, tokens = self._roles.target, self._cells.tokens
        numbers = self._cells.annotation_numbers.get(target)
        words = mask_missing(text, tokens.for_numbers)
        if numbers is None and target not in self._cells.annotations:
            index = self._index[target]
            numbers = self._cells.numbers[:, index]
            if index not in self._cells.text_columns:  # -9999.0 is missing with --missing-value -9999, too
                words = [None] * len(words)
        return continuous_values(
            np.full(len(words), np.nan) if numbers is None else mask_codes(numbers, tokens.declared),
            words,
            [self._cells.row_name(row) for row in range(len(words))],
            target,
        )

    def _missing(self, name: str | None, text: Sequence[str | None], gone: NDArray[np.bool_]) -> str:
        """Return that a column is missing in some rows, with the tokens found there, for a message."""
        there = [text[row] for row in np.flatnonzero(gone).tolist()]
        options = "; see --missing-value and --no-default-missing" if any(there) else ""
        return f"{quoted(name)} is missing ({count_tokens(there)}){options}"

    def _note(self, text: str) -> None:
        self._notes.append(text)

    def _listed(self, indices: Sequence[int]) -> str:
        return quoted_list([self._names[index] for index in indices])

    def _unique_names(self) -> list[str]:
        """Return unique names: repeated ones get a number."""
        roles = self._roles
        # A column with the name of an annotation that has a role is a feature, unless it is dropped.
        role_columns = {roles.target, roles.groups, roles.batches}
        annotated = [
            name for name in self._cells.annotations if name in role_columns and name not in roles.drop
        ]
        counts = Counter([*self._cells.names, *annotated])
        if len(counts) == counts.total():
            return self._cells.names
        taken, seen, unique = set(counts), Counter[str](annotated), []
        for name in self._cells.names:
            seen[name] += 1
            new = name
            while seen[name] > 1 and new in taken:
                new = f"{name} ({seen[name]})"
                seen[name] += new in taken
            taken.add(new)
            unique.append(new)
            if name in annotated:
                self._note(
                    f"Feature {quoted(name)} is called {quoted(new)}: {quoted(name)} beside it is no feature."
                )
        again = [name for name, count in counts.items() if count > 1 and name not in annotated]
        if again:
            occur = counted(len(again), "name occurs", "names occur")
            self._note(f"{occur} more than once; the repeated columns were numbered: {quoted_list(again)}.")
        return unique

    def _column(self, name: str, what: str) -> int:
        if name not in self._index:
            raise unknown_column(name, [*self._cells.annotations, *self._names], what)
        return self._index[name]

    def _role_text(self, name: str, what: str) -> list[str | None]:
        """Return the raw text of a column that is not a feature."""
        if name in self._cells.annotations:
            return self._cells.annotations[name]
        again = [
            new
            for old, new in zip(self._cells.names, self._names, strict=True)
            if old == name != new and new not in self._roles.drop
        ]
        if again:
            raise TableError(
                f"The table has {len(again) + 1} columns {quoted(name)} ({what}), which must be one; --drop"
                f" {quoted(again[0])} leaves another out."
            )
        return self._cells.text([self._column(name, what)])[0]

    def _levels(
        self, what: str, name: str | None, text: list[str | None], rows: NDArray[np.bool_]
    ) -> NDArray[Any]:
        levels = mask_missing(text, self._cells.tokens.for_text)
        gone = rows & [level is None for level in levels]
        if gone.any():
            raise TableError(
                f"--{'batch' if what == 'batches' else what}: in {_counted(gone, 'row')},"
                f" {self._missing(name, text, gone)}. It needs a value in every row."
            )
        kept = [level for level, row in zip(levels, rows, strict=True) if row]
        different = counted(len(set(kept)), "different value")
        self._note(f"{what.capitalize()}, no feature: {quoted(name)}, with {different}.")
        return np.array(kept)

    def _is_sample_id(self, index: int) -> bool:
        """Return whether a column identifies the samples: unique values that are text, or named as an ID."""
        is_id_name = self._names[index].strip().lower() in _ID_NAMES
        words = self._cells.text_columns.get(index)
        if words is not None:
            return is_unique_key(words) and (is_id_name or not self._stray_text(index))
        return is_id_name and self._cells.is_numbering(index)

    def _features(self, indices: list[int], rows: NDArray[np.bool_]) -> tuple[NDArray[Any], list[int]]:
        """Return the features; text is encoded as 0, 1, …, more than two values only as categories."""
        features = set(indices)
        declared = {self._declared(name, features) for name in self._roles.categorical}
        texts = self._categories_as_text(sorted(declared))
        # X is about to be copied: release the text of the file.
        self._cells.read_text = None
        coded: dict[int, NDArray[Any]] = {}
        dropped_columns = set()
        look_alike = []
        for index in [index for index in indices if index in self._cells.text_columns or index in texts]:
            if index not in declared:
                self._check_stray_text(index)
            words = texts[index] if index in texts else self._cells.text_columns[index]
            levels = sorted({word for word in words if word is not None})
            counts = None
            if self._roles.genotypes and index not in declared:
                counts = allele_counts(words, self._number_tokens)
            if counts is not None:
                self._genotypes[self._names[index]] = counts
            elif index not in declared and look_like_genotypes(levels):
                look_alike.append(index)
            if self._roles.text_as_categories or index in declared or len(levels) == 2 or counts is not None:
                code = {word: float(number) for number, word in enumerate(levels)}
                coded[index] = np.array([np.nan if word is None else code[word] for word in words])
                self._level_names[self._names[index]] = levels
            else:
                dropped_columns.add(index)
        self._note_genotypes(look_alike)
        self._note_codings(coded, declared, sorted(dropped_columns))
        kept = [index for index in indices if index not in dropped_columns]
        if not kept and dropped_columns:
            raise NoNumbersError(
                f"The table has no column of numbers beside the target, only words: {self._listed(indices)};"
                " check --sep and --decimal."
            )
        if not kept:
            raise TableError(
                "The table has no column of numbers beside the target; --sep and --decimal set how text"
                " is parsed."
            )
        X = (
            np.take(self._cells.numbers, kept, axis=1)
            if len(kept) < len(self._names)
            else self._cells.numbers
        )
        if coded:
            X[:, [column for column, index in enumerate(kept) if index in coded]] = np.transpose(
                [coded[index] for index in kept if index in coded]
            )
        X = X if rows.all() else X[rows]
        self._check_finite(X, kept, np.flatnonzero(rows))
        return X, kept

    def _note_genotypes(self, look_alike: Sequence[int]) -> None:
        """Note the columns whose minor alleles are counted, or could be; raise if --genotypes finds none."""
        if self._genotypes:
            self._note(
                f"Genotypes, counted as minor alleles (0, 1, 2): {quoted_list(list(self._genotypes))}."
            )
        elif self._roles.genotypes:
            raise TableError(
                "--genotypes: no column has genotypes written as text, such as AG, A/G or 0|1; columns of the"
                " numbers 0, 1 and 2 need no option."
            )
        elif look_alike:
            are = "looks like genotypes" if len(look_alike) == 1 else "look like genotypes"
            self._note(f"{self._listed(look_alike)} {are}: --genotypes counts their minor alleles.")

    def _categories_as_text(self, indices: Sequence[int]) -> dict[int, list[str | None]]:
        """Return the text of categorical numeric columns if it differs from the numbers (01, 20 digits)."""
        numeric = [index for index in indices if index not in self._cells.text_columns]
        texts = {}
        for index, text in zip(numeric, self._cells.text(numeric), strict=True):
            numbers = self._cells.numbers[:, index]
            plain = as_text(numbers) if numbers.dtype.kind == "f" else text
            as_written = [None if other is None else each for each, other in zip(text, plain, strict=True)]
            if as_written != plain:
                texts[index] = as_written
        return texts

    def _declared(self, name: str, indices: Collection[int]) -> int:
        """Return the index of a feature that the user declares categorical."""
        index = self._column(name, "named by --categorical")
        if index not in indices:
            raise TableError(f"{quoted(name)} is named by --categorical, and is no feature.")
        return index

    def _note_codings(self, coded: Iterable[int], declared: set[int], dropped_columns: list[int]) -> None:
        """Note how text columns are encoded, which columns are categorical and which are left out."""
        categories = {*coded, *declared} if self._roles.text_as_categories else declared
        categories = {index for index in categories if self._names[index] not in self._genotypes}
        self._categories = frozenset(self._names[index] for index in categories)
        self._dropped_columns = [self._names[index] for index in dropped_columns]
        meanings: dict[tuple[str, ...], list[int]] = {}
        for index in coded:
            if index not in categories and self._names[index] not in self._genotypes:
                meanings.setdefault(tuple(self._level_names[self._names[index]]), []).append(index)
        for (zero, one), coding in list(meanings.items())[:_MAX_CODINGS]:
            self._note(f"{self._listed(coding)}: {quoted(zero)} counts as 0 and {quoted(one)} as 1.")
        others = sorted(index for coding in list(meanings.values())[_MAX_CODINGS:] for index in coding)
        if others:
            self._note(f"The first of two words in the alphabet counts as 0 in {self._listed(others)}.")
        if categories:
            names = self._listed(sorted(categories))
            self._note(f"Categories, of which two values are equal or differ by 1: {names}.")
        if dropped_columns:
            self._note(f"Left out, neither numbers nor one of two words: {self._listed(dropped_columns)}.")

    def _stray_text(self, index: int) -> list[int]:
        """Return the rows of text values in a column that has more numbers than text."""
        if not self._n_numbers[index]:
            return []
        is_number = ~np.isnan(self._cells.numbers[:, index])
        words = self._cells.text_columns[index]
        stray = [
            row
            for row, word in enumerate(words)
            if not is_number[row] and word is not None and word not in self._number_tokens
        ]
        return stray if len(stray) < self._n_numbers[index] else []

    def _check_stray_text(self, index: int) -> None:
        """Raise if a column is numeric but for a few values."""
        words, stray = self._cells.text_columns[index], self._stray_text(index)
        if stray:
            raise TableError(
                f"Column {quoted(self._names[index])} has numbers but for {len(stray)} of {len(words)}"
                f" values, such as {quoted(words[stray[0]])} in {self._cells.row_name(stray[0])};"
                " use --missing-value if it stands for a missing value, or --drop to leave the column out."
            )

    def _check_finite(self, X: NDArray[Any], indices: Sequence[int], rows: NDArray[np.int64]) -> None:
        if X.dtype.kind == "f" and np.isinf(X).any():
            row, column = np.argwhere(np.isinf(X))[0]
            raise TableError(
                f"Column {quoted(self._names[indices[column]])} has an infinite value, or one too large, in"
                f" {self._cells.row_name(rows[row])}."
            )

    @staticmethod
    def _kept_names(names: Sequence[str | None], rows: NDArray[np.bool_]) -> list[str]:
        return [name or "" for name, row in zip(names, rows, strict=True) if row]


def is_unique_key(words: Sequence[str | None]) -> bool:
    """Return whether text values identify the rows: none is missing, all differ."""
    return len(words) > 2 and None not in words and len(set(words)) == len(words)


def _counted(which: NDArray[np.bool_], what: str) -> str:
    return f"{int(which.sum()):,} of {counted(which.size, what)}"
