"""Files of arrays: NPZ."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._engine.memory import check_room
from .cells import Cells, MissingTokens, TableError, listed, parsing, without, written
from .files import InputFile


def read_npz(file: InputFile, tokens: MissingTokens) -> Cells:
    """The cells of an NPZ file: ``X``, and beside it ``y``, names and other arrays of one value per row.

    ``feature_names`` and ``sample_names`` name columns and rows, ``target_names`` what the numbers in ``y``
    stand for.
    """
    stream = io.BytesIO(file.read_bytes())
    with parsing(file.name, "NPZ without pickles"), np.load(stream, allow_pickle=False) as archive:
        unpacked = sum(member.file_size for member in archive.zip.infolist())
        check_room(unpacked, f"{file.name!r} unpacked", "Leave out arrays that are not needed.")
        arrays = {name: np.asarray(archive[name]) for name in archive.files}
    del stream
    X = arrays.pop("X", None)
    if X is None or X.ndim != 2 or X.dtype.kind not in "biuf":
        raise TableError(
            f"{file.name} needs a table of numbers called 'X'; it has {listed(sorted(arrays)) or 'nothing'}."
        )
    n_rows, n_columns = X.shape
    meanings = arrays.pop("target_names", None)
    if meanings is not None and meanings.ndim != 1:
        raise TableError(f"{file.name} needs 'target_names' of one dimension; it has {meanings.ndim}.")
    names = _names(arrays.pop("feature_names", None), n_columns, file)
    row_names = arrays.pop("sample_names", None)
    if row_names is not None and row_names.shape != (n_rows,):
        raise TableError(f"{file.name} has {row_names.size:,} 'sample_names' for {n_rows:,} rows of 'X'.")
    beside = {name: each for name, each in arrays.items() if each.shape == (n_rows,)}
    aside = {name: written(each) for name, each in beside.items()}
    if meanings is not None and "y" in aside and arrays["y"].dtype.kind in "iu":
        classes = written(meanings)
        aside["y"] = [
            classes[code] if 0 <= code < len(classes) else str(code) for code in arrays["y"].tolist()
        ]
    return Cells(
        names,
        without(X, tokens.declared),
        aside=aside,
        aside_numbers={name: each for name, each in beside.items() if each.dtype.kind in "iuf"},
        text_at=lambda places: [written(X[:, place]) for place in places],
        tokens=tokens,
        row_names=None if row_names is None else [name or "" for name in written(row_names)],
    )


def _names(given: NDArray[Any] | None, n_columns: int, file: InputFile) -> list[str]:
    if given is None:
        return [f"f{place}" for place in range(n_columns)]
    if given.shape != (n_columns,):
        raise TableError(f"{file.name} has {given.size:,} 'feature_names' for {n_columns:,} columns of 'X'.")
    return [name or "" for name in written(given)]
