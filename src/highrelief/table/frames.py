"""Files that know the types of their columns: Parquet and Feather."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from .cells import Cells, MissingTokens, masked, without, written
from .errors import TableError


def read_parquet(path: Path, tokens: MissingTokens) -> Cells:
    """The cells of a Parquet file."""
    try:
        return cells_of(pl.read_parquet(path), tokens)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _unreadable(path, "Parquet", error) from error


def read_feather(path: Path, tokens: MissingTokens) -> Cells:
    """The cells of a Feather (Arrow IPC) file."""
    try:
        return cells_of(pl.read_ipc(path), tokens)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _unreadable(path, "Feather", error) from error


def _unreadable(path: Path, kind: str, error: Exception) -> TableError:
    return TableError(f"{path.name} cannot be read as {kind}: {' '.join(str(error).split())[:200]}.")


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
