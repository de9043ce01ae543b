"""Files that know the types of their columns: Parquet and Feather."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import polars as pl

from .._engine.memory import check_room
from .cells import Cells, MissingTokens, TableError, masked, parsing, without, written
from .files import InputFile

#: Bytes of a value of the frame that Polars reads, at least: a view of a text, or a number.
_VIEW_BYTES, _NUMBER_BYTES = 16, 8
#: Bytes of addresses that a thread of Polars reserves, measured with 1 to 32 threads; few of them are filled.
_ARENA = 2.0**27


def read_parquet(file: InputFile, tokens: MissingTokens) -> Cells:
    """The cells of a Parquet file."""
    return _read(file, "Parquet", pl.scan_parquet, pl.read_parquet, tokens)


def read_feather(file: InputFile, tokens: MissingTokens) -> Cells:
    """The cells of a Feather (Arrow IPC) file."""
    return _read(file, "Feather", pl.scan_ipc, pl.read_ipc, tokens)


def _read(
    file: InputFile,
    kind: str,
    scan: Callable[[io.BytesIO], pl.LazyFrame],
    read: Callable[[io.BytesIO], pl.DataFrame],
    tokens: MissingTokens,
) -> Cells:
    # Bytes, not a path: Polars expands patterns in paths, and maps files into memory.
    data = file.read_bytes()
    with polars_parsing(file.name, kind, 2.0 * len(data)):
        lazy = scan(io.BytesIO(data))
        n_rows = lazy.select(pl.len()).collect().item()
        dtypes = lazy.collect_schema().dtypes()
        # Once as a frame, once more while columns are decoded, and as numbers.
        row_bytes = sum(2 * _NUMBER_BYTES if dtype.is_numeric() else 2 * _VIEW_BYTES for dtype in dtypes)
        needed = float(n_rows) * (row_bytes + _NUMBER_BYTES * len(dtypes)) + len(data)
        _check_room(needed, file.name, _ARENA)
        frame = read(io.BytesIO(data))
        del data
        return cells_of(frame, tokens)


@contextmanager
def polars_parsing(name: str, kind: str, needed: float) -> Iterator[None]:
    """Parse bytes from a file with Polars, which panics over some and aborts without memory.

    Raises
    ------
    MemoryError
        ``needed`` bytes are not free.
    TableError
        Polars cannot read the file.
    """
    _check_room(needed, name, _ARENA * (3 + min(pl.thread_pool_size(), 5)))
    with _silent_panics(), parsing(name, kind):
        yield


def _check_room(needed: float, name: str, addresses: float) -> None:
    check_room(needed, f"Parsing {name}", "Use fewer rows or columns.", addresses=addresses)


@contextmanager
def _silent_panics() -> Iterator[None]:
    """Discard the backtrace that Rust writes to standard error; the exception has the message."""
    try:
        kept = os.dup(2)
    except OSError:  # closed before the start
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def cells_of(frame: pl.DataFrame, tokens: MissingTokens) -> Cells:
    """The cells of a data frame; true and false are 1 and 0, dates and the like are words."""
    if frame.height == 0 or frame.width == 0:
        raise TableError("The table has no rows.")
    numeric = [dtype.is_numeric() or dtype == pl.Boolean for dtype in frame.dtypes]
    numbers = np.full((frame.height, frame.width), np.nan, dtype=_common_dtype(frame, numeric))
    words: dict[int, list[str | None]] = {}
    of_labels = tokens.of_labels
    for place, column in enumerate(frame.iter_columns()):
        if numeric[place]:
            numbers[:, place] = column.cast(pl.Float64).fill_null(np.nan).to_numpy()
        else:
            words[place] = masked(_text(column), of_labels)
    return Cells(
        list(frame.columns),
        without(numbers, tokens.declared),
        words,
        text_at=lambda places: [_text(frame.to_series(place)) for place in places],
        tokens=tokens,
    )


def _text(column: pl.Series) -> list[str | None]:
    """A column as text; None for a null."""
    if column.dtype.is_float():
        return written(column.to_numpy())
    if column.dtype.is_nested() or column.dtype == pl.Boolean:
        return [None if each is None else str(each) for each in column.to_list()]
    # Not Series.str.strip_chars, which takes half a millisecond for a column however short.
    return [None if each is None else each.strip() for each in column.cast(pl.String).to_list()]


def _common_dtype(frame: pl.DataFrame, numeric: list[bool]) -> type[np.floating]:
    types = {dtype for dtype, is_number in zip(frame.dtypes, numeric, strict=True) if is_number}
    small = {pl.Float32, pl.Int8, pl.UInt8, pl.Int16, pl.UInt16, pl.Boolean}
    return np.float32 if types and types <= small else np.float64
