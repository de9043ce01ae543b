"""Files that know the types of their columns: Parquet and Feather."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from .cells import MISSING, Cells, without
from .errors import TableError


def read_parquet(path: Path, missing: tuple[str, ...] = ()) -> Cells:
    """The cells of a Parquet file."""
    try:
        return cells_of(pl.read_parquet(path), missing)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _unreadable(path, "Parquet", error) from error


def read_feather(path: Path, missing: tuple[str, ...] = ()) -> Cells:
    """The cells of a Feather (Arrow IPC) file."""
    try:
        return cells_of(pl.read_ipc(path), missing)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _unreadable(path, "Feather", error) from error


def _unreadable(path: Path, kind: str, error: Exception) -> TableError:
    return TableError(f"{path.name} cannot be read as {kind}: {' '.join(str(error).split())[:200]}.")


def cells_of(frame: pl.DataFrame, missing: tuple[str, ...] = ()) -> Cells:
    """The cells of a data frame; true and false are 1 and 0, dates and the like are words."""
    if frame.height == 0 or frame.width == 0:
        raise TableError("The table has no rows.")
    numeric = [dtype.is_numeric() or dtype == pl.Boolean for dtype in frame.dtypes]
    numbers = np.full((frame.height, frame.width), np.nan, dtype=_common_dtype(frame, numeric))
    words: dict[int, list[str | None]] = {}
    unknown = {*MISSING, *missing}
    for place, column in enumerate(frame.iter_columns()):
        if numeric[place]:
            numbers[:, place] = column.cast(pl.Float64).fill_null(np.nan).to_numpy()
        else:
            fields = _as_written(column)
            words[place] = [None if field is None or field.strip() in unknown else field for field in fields]
    return Cells(list(frame.columns), without(numbers, missing), words)


def _as_written(column: pl.Series) -> list[str | None]:
    if column.dtype.is_nested():
        return [None if each is None else str(each) for each in column.to_list()]
    return column.cast(pl.String).to_list()


def _common_dtype(frame: pl.DataFrame, numeric: list[bool]) -> type[np.floating]:
    types = {dtype for dtype, is_number in zip(frame.dtypes, numeric, strict=True) if is_number}
    small = {pl.Float32, pl.Int8, pl.UInt8, pl.Int16, pl.UInt16, pl.Boolean}
    return np.float32 if types and types <= small else np.float64
