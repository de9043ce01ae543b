"""Files of arrays: NPZ, and AnnData's h5ad."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cells import Cells, MissingTokens, without, written
from .errors import TableError, listed


def read_npz(path: Path, tokens: MissingTokens) -> Cells:
    """The cells of an NPZ file: ``X``, and beside it ``y``, names and other arrays of one value per row.

    ``feature_names`` and ``sample_names`` name columns and rows, ``target_names`` what the numbers in ``y``
    stand for.
    """
    try:
        # Opened here: NumPy leaves what it cannot read open.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = {name: np.asarray(file[name]) for name in file.files}
    except (OSError, ValueError, TypeError, RuntimeError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise TableError(f"{path.name} cannot be read as NPZ without pickles: {error}.") from error
    X = arrays.pop("X", None)
    if X is None or X.ndim != 2 or X.dtype.kind not in "biuf":
        raise TableError(
            f"{path.name} needs a table of numbers called 'X'; it has {listed(sorted(arrays)) or 'nothing'}."
        )
    n_rows, n_columns = X.shape
    meanings = arrays.pop("target_names", None)
    names = _names(arrays.pop("feature_names", None), n_columns, path)
    row_names = arrays.pop("sample_names", None)
    if row_names is not None and row_names.shape != (n_rows,):
        raise TableError(f"{path.name} has {row_names.size:,} 'sample_names' for {n_rows:,} rows of 'X'.")
    beside = {name: each for name, each in arrays.items() if each.shape == (n_rows,)}
    aside = {name: written(each) for name, each in beside.items()}
    if meanings is not None and "y" in aside and arrays["y"].dtype.kind in "iu":
        aside["y"] = [
            str(meanings[code]) if 0 <= code < len(meanings) else str(code) for code in arrays["y"].tolist()
        ]
    return Cells(
        names,
        without(X, tokens.declared),
        aside=aside,
        aside_numbers={name: each for name, each in beside.items() if each.dtype.kind in "iuf"},
        text_at=lambda places: [written(X[:, place]) for place in places],
        tokens=tokens,
        row_names=None if row_names is None else [str(name) for name in row_names],
    )


def read_h5ad(path: Path, tokens: MissingTokens) -> Cells:
    """The cells of an AnnData file: its variables, and beside them what it says of its observations."""
    try:
        import anndata  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise TableError(
            f"{path.name} needs anndata: pip install 'highrelief[anndata]' installs it."
        ) from error
    try:
        data = anndata.read_h5ad(path)
    except (OSError, ValueError, KeyError) as error:
        raise TableError(f"{path.name} cannot be read as h5ad: {error}.") from error
    X: Any = data.X
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    aside = {
        str(name): written(np.asarray(data.obs[name]), np.asarray(data.obs[name].isna()))
        for name in data.obs.columns
    }
    return Cells(
        [str(name) for name in data.var_names],
        without(X, tokens.declared),
        aside=aside,
        row_names=[str(name) for name in data.obs_names],
        tokens=tokens,
    )


def _names(given: NDArray[Any] | None, n_columns: int, path: Path) -> list[str]:
    if given is None:
        return [f"f{place}" for place in range(n_columns)]
    if given.shape != (n_columns,):
        raise TableError(f"{path.name} has {given.size:,} 'feature_names' for {n_columns:,} columns of 'X'.")
    return [str(name) for name in given]
