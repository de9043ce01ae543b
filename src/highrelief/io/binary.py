"""Binary files of typed columns or arrays: Parquet, Feather and NPZ."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .._engine.memory import check_room
from .cells import Cells, MissingTokens, TableError, as_text, mask_codes, mask_missing, parsing, quoted_list
from .files import InputFile
from .text import POLARS_ARENA, check_parsing_room, polars_parsing

#: Least bytes per value of a Polars frame: a view of a text, or a number.
_VIEW_BYTES, _NUMBER_BYTES = 16, 8


def read_frame(file: InputFile, kind: str, tokens: MissingTokens) -> Cells:
    """Return the cells of a file of the kind "Parquet" or "Feather" (Arrow IPC)."""
    parquet = kind == "Parquet"
    scan, read = (pl.scan_parquet, pl.read_parquet) if parquet else (pl.scan_ipc, pl.read_ipc)
    # Bytes, not a path: Polars expands patterns in paths, and maps files into memory.
    data = file.read_bytes()
    with polars_parsing(file.name, kind, 2.0 * len(data)):
        lazy = scan(io.BytesIO(data))
        n_rows = lazy.select(pl.len()).collect().item()
        dtypes = lazy.collect_schema().dtypes()
        # As a frame, twice while columns are decoded, and as numbers.
        row_bytes = sum(2 * _NUMBER_BYTES if dtype.is_numeric() else 2 * _VIEW_BYTES for dtype in dtypes)
        needed = float(n_rows) * (row_bytes + _NUMBER_BYTES * len(dtypes)) + len(data)
        check_parsing_room(needed, file.name, POLARS_ARENA)
        frame = read(io.BytesIO(data))
        del data
        return cells_from_frame(frame, tokens)


def cells_from_frame(frame: pl.DataFrame, tokens: MissingTokens) -> Cells:
    """Return the cells of a data frame; true and false are 1 and 0, dates and the like are text."""
    if frame.height == 0 or frame.width == 0:
        raise TableError("The table has no rows.")
    numeric = [dtype.is_numeric() or dtype == pl.Boolean for dtype in frame.dtypes]
    numbers = np.full((frame.height, frame.width), np.nan, dtype=_common_dtype(frame, numeric))
    words: dict[int, list[str | None]] = {}
    for_text = tokens.for_text
    for index, column in enumerate(frame.iter_columns()):
        if numeric[index]:
            numbers[:, index] = column.cast(pl.Float64).fill_null(np.nan).to_numpy()
        else:
            words[index] = mask_missing(_text(column), for_text)
    return Cells(
        list(frame.columns),
        mask_codes(numbers, tokens.declared),
        words,
        read_text=lambda indices: [_text(frame.to_series(index)) for index in indices],
        tokens=tokens,
    )


def _text(column: pl.Series) -> list[str | None]:
    """Return the text of a column; None for a null."""
    if column.dtype.is_float():
        return as_text(column.to_numpy())
    if column.dtype.is_nested() or column.dtype == pl.Boolean:
        return [None if each is None else str(each) for each in column.to_list()]
    # Not Series.str.strip_chars, which takes half a millisecond for a column however short.
    return [None if each is None else each.strip() for each in column.cast(pl.String).to_list()]


def _common_dtype(frame: pl.DataFrame, numeric: list[bool]) -> type[np.floating]:
    types = {dtype for dtype, is_number in zip(frame.dtypes, numeric, strict=True) if is_number}
    small = {pl.Float32, pl.Int8, pl.UInt8, pl.Int16, pl.UInt16, pl.Boolean}
    return np.float32 if types and types <= small else np.float64


# NPZ


def read_npz(file: InputFile, tokens: MissingTokens) -> Cells:
    """Return the cells of an NPZ file: ``X``, and as annotations ``y`` and other arrays of one value per row.

    ``feature_names`` and ``sample_names`` are names of columns and rows, ``target_names`` of the codes in
    ``y``.
    """
    stream = io.BytesIO(file.read_bytes())
    with parsing(file.name, "NPZ without pickles"), np.load(stream, allow_pickle=False) as archive:
        unpacked = sum(member.file_size for member in archive.zip.infolist())
        check_room(unpacked, f"{file.name!r} unpacked", "Leave out arrays that are not needed.")
        arrays = {name: np.asarray(archive[name]) for name in archive.files}
    del stream
    X = arrays.pop("X", None)
    if X is None or X.ndim != 2 or X.dtype.kind not in "biuf":
        found = quoted_list(sorted(arrays)) or "nothing"
        raise TableError(f"{file.name} needs a table of numbers called 'X'; it has {found}.")
    n_rows, n_columns = X.shape
    target_names = arrays.pop("target_names", None)
    if target_names is not None and target_names.ndim != 1:
        raise TableError(f"{file.name} needs 'target_names' of one dimension; it has {target_names.ndim}.")
    names = _names(arrays.pop("feature_names", None), n_columns, file)
    row_names = arrays.pop("sample_names", None)
    if row_names is not None and row_names.shape != (n_rows,):
        raise TableError(f"{file.name} has {row_names.size:,} 'sample_names' for {n_rows:,} rows of 'X'.")
    per_row = {name: each for name, each in arrays.items() if each.shape == (n_rows,)}
    annotations = {name: as_text(each) for name, each in per_row.items()}
    if target_names is not None and "y" in annotations and arrays["y"].dtype.kind in "iu":
        classes = as_text(target_names)
        annotations["y"] = [
            classes[code] if 0 <= code < len(classes) else str(code) for code in arrays["y"].tolist()
        ]
    return Cells(
        names,
        mask_codes(X, tokens.declared),
        annotations=annotations,
        annotation_numbers={name: each for name, each in per_row.items() if each.dtype.kind in "iuf"},
        read_text=lambda indices: [as_text(X[:, index]) for index in indices],
        tokens=tokens,
        row_names=None if row_names is None else [name or "" for name in as_text(row_names)],
    )


def _names(given: NDArray[Any] | None, n_columns: int, file: InputFile) -> list[str]:
    if given is None:
        return [f"f{index}" for index in range(n_columns)]
    if given.shape != (n_columns,):
        raise TableError(f"{file.name} has {given.size:,} 'feature_names' for {n_columns:,} columns of 'X'.")
    return [name or "" for name in as_text(given)]
