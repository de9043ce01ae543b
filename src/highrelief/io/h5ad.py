"""AnnData's h5ad, read with h5py: X, obs and var, and nothing else in the file.

HDF5 follows links to other files, and SciPy the indices of a sparse matrix: both are checked before. A
damaged file can still crash the HDF5 library or make it hang, so it runs in a separate process.
Encodings: https://anndata.readthedocs.io/en/stable/fileformat-prose.html
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import math
import signal
import subprocess  # nosec B404
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._engine.memory import check_room
from .cells import Cells, MissingTokens, TableError, as_text, decode, mask_codes, parsing, quoted, quoted_list
from .files import InputFile

_FORMATS = {"csr_matrix": sparse.csr_matrix, "csc_matrix": sparse.csc_matrix}
#: Limit of the processor time in seconds: for any file, and per byte; far more than an intact file takes.
_PATIENCE, _PATIENCE_PER_BYTE = 10.0, 1e-6


def read_h5ad(file: InputFile, tokens: MissingTokens) -> Cells:
    """Return the cells of an AnnData file: variables as columns, columns of obs as annotations."""
    if importlib.util.find_spec("h5py") is None:
        raise TableError(f"{file.name} needs h5py: pip install 'highrelief[anndata]' installs it.")
    code = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import main; main(sys.argv[1])"
    with subprocess.Popen(  # nosec B603  our own code, no shell
        [sys.executable, "-c", code, file.name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        try:
            with contextlib.suppress(BrokenPipeError), process.stdin:
                process.stdin.write(file.read_bytes())
            return _received(process, file.name, tokens)
        finally:
            process.kill()


def main(name: str) -> None:
    """Read a file of this name from standard input, and write its cells to standard output."""
    data = sys.stdin.buffer.read()
    _limit_processor_time(_PATIENCE + _PATIENCE_PER_BYTE * len(data))
    numbers: list[NDArray[Any]] = []
    try:
        cells = parsed(data, name)
        head: dict[str, Any] = {
            "names": cells.names,
            "row_names": cells.row_names,
            "annotations": cells.annotations,
        }
        numbers = [cells.numbers, *cells.annotation_numbers.values()]
        head["annotation_numbers"] = list(cells.annotation_numbers)
        head["arrays"] = [(each.dtype.str, each.shape) for each in numbers]
    except TableError as error:
        head = {"error": str(error)}
    except MemoryError as error:
        head = {"memory": str(error)}
    sys.stdout.buffer.write(json.dumps(head).encode() + b"\n")
    for each in numbers:
        sys.stdout.buffer.write(_bytes_of(np.ascontiguousarray(each)))
    sys.stdout.buffer.flush()


def _bytes_of(array: NDArray[Any]) -> memoryview:
    """Return the memory of a contiguous array."""
    return array.reshape(-1).view(np.uint8).data


def _limit_processor_time(seconds: float) -> None:
    """Have the system end this process after so much processor time, where it supports that."""
    with contextlib.suppress(ImportError):
        import resource  # noqa: PLC0415  not on Windows

        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        wanted = math.ceil(seconds)
        limit = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, most))


def _received(process: subprocess.Popen[bytes], name: str, tokens: MissingTokens) -> Cells:
    """Return the cells that ``main`` wrote."""
    stream = process.stdout
    assert stream is not None
    line = stream.readline()
    if not line.endswith(b"\n"):
        raise _failure(process.wait(), name)
    head = json.loads(line)
    if "error" in head:
        raise TableError(head["error"])
    if "memory" in head:
        raise MemoryError(head["memory"])
    arrays = [np.empty(shape, dtype) for dtype, shape in head.pop("arrays")]
    for each in arrays:
        # A BufferedReader reads until the array is full or the process ended.
        if stream.readinto(_bytes_of(each)) != each.nbytes:  # type: ignore[attr-defined]
            raise _failure(process.wait(), name)
    numbers, *columns = arrays
    annotations = dict(zip(head.pop("annotation_numbers"), columns, strict=True))
    return Cells(
        numbers=mask_codes(numbers, tokens.declared), annotation_numbers=annotations, tokens=tokens, **head
    )


def _failure(code: int, name: str) -> Exception:
    """Return the error of a process that ended too early, by its exit code."""
    if code == -getattr(signal, "SIGKILL", 9):
        return MemoryError(
            "the process that reads it was killed, as systems do when memory runs out. Use fewer observations"
            " or variables."
        )
    if code == 1:  # Python's own, for an exception
        reason = "h5py cannot be imported, or there is not enough memory to"
    else:
        reason = "it is damaged, and HDF5 crashed or did not end"
    return TableError(f"Cannot read {quoted(name)} as h5ad: {reason}.")


def parsed(data: bytes, name: str) -> Cells:
    """Parse an AnnData file in this process."""
    import h5py  # noqa: PLC0415

    with parsing(name, "h5ad"), h5py.File(io.BytesIO(data), "r") as root:
        return _H5ad(h5py, root, name).cells()


class _H5ad:
    """An open file; raises a TableError for unexpected content."""

    def __init__(self, h5py: Any, root: Any, name: str) -> None:
        self._h5py, self._root, self._name = h5py, root, name

    def cells(self) -> Cells:
        obs, var = (self._frame(self._member(self._root, name)) for name in ("obs", "var"))
        samples, features = self._index(obs), self._index(var)
        X = self._matrix((len(samples), len(features)))
        annotations: dict[str, list[str | None]] = {}
        numbers: dict[str, NDArray[Any]] = {}
        for name in self._strings(obs, "column-order"):
            annotations[name], values = self._column(obs, name, len(samples))
            if values is not None:
                numbers[name] = values
        return Cells(features, X, annotations=annotations, annotation_numbers=numbers, row_names=samples)

    def _error(self, where: str, what: str) -> TableError:
        return TableError(f"Cannot read {quoted(self._name)} as h5ad: {quoted(where)} {what}.")

    def _unknown(self, element: Any, encoding: str) -> TableError:
        return self._error(element.name, f"has encoding-type={quoted(encoding)}, which is not supported")

    def _member(self, group: Any, name: str) -> Any:
        """Return a group or dataset inside a group, by hard links only."""
        for part in name.split("/"):
            where = f"{group.name.rstrip('/')}/{part}"
            if part in ("", ".") or not isinstance(group, self._h5py.Group):
                raise self._error(where, "is not the name of a column")
            link = group.get(part, getlink=True)
            if link is None:
                raise self._error(
                    where, f"is missing; {quoted(group.name)} has {quoted_list(list(group)[:100])}"
                )
            if not isinstance(link, self._h5py.HardLink):
                raise self._error(where, "is a link to somewhere else, which is not followed")
            group = group[part]
        return group

    def _values(
        self, dataset: Any, shape: tuple[int, ...] | None = None, kinds: str = "biuf"
    ) -> NDArray[Any]:
        """Return the values of a dataset of this file, of the dtype kinds allowed; "O" allows text."""
        if not isinstance(dataset, self._h5py.Dataset):
            raise self._error(dataset.name, "is a group, and an array is needed")
        where = dataset.name
        if dataset.is_virtual or dataset.external:
            raise self._error(where, "keeps its values in another file, which is not read")
        is_text = self._h5py.check_string_dtype(dataset.dtype) is not None
        if not (is_text and "O" in kinds) and dataset.dtype.kind not in kinds.replace("O", ""):
            raise self._error(where, f"has values of type {dataset.dtype}, which is not read")
        if shape is not None and dataset.shape != shape:
            raise self._error(where, f"has shape {dataset.shape}, and {shape} is needed")
        if dataset.shape is None:
            raise self._error(where, "has no values")
        size = float(math.prod(dataset.shape)) * dataset.dtype.itemsize
        check_room(size, f"{where!r} of {self._name!r}", "Use fewer observations or variables.")
        if is_text:
            return np.asarray(dataset.asstr()[()], dtype=object)
        values = np.asarray(dataset[()])
        if values.dtype.kind == "b":
            return values.view(np.uint8) != 0  # HDF5 has no bool: any byte may be there
        return values.astype(values.dtype.newbyteorder("="), copy=False)

    def _attribute(self, element: Any, name: str) -> Any:
        """Return an attribute, bytes decoded; None if it is missing."""
        found = np.asarray(element.attrs.get(name)).tolist()
        if isinstance(found, list):
            return [decode(each) if isinstance(each, bytes) else each for each in found]
        return decode(found) if isinstance(found, bytes) else found

    def _strings(self, group: Any, name: str) -> list[str]:
        """Return an attribute that is a list of strings."""
        found = self._attribute(group, name) if name in group.attrs else []
        if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
            raise self._error(group.name, f"has no list of names as its attribute {name!r}")
        return found

    def _encoding(self, element: Any) -> str:
        return str(self._attribute(element, "encoding-type") or "")

    def _frame(self, element: Any) -> Any:
        if self._encoding(element) != "dataframe" or not isinstance(element, self._h5py.Group):
            raise self._error(
                element.name,
                "is not a data frame as anndata 0.7 and later write it; write it again with a recent one",
            )
        return element

    def _index(self, frame: Any) -> list[str]:
        name = self._attribute(frame, "_index")
        if not isinstance(name, str):
            raise self._error(frame.name, "has no attribute '_index' with the name of its index")
        element = self._member(frame, name)
        nullable = self._encoding(element) == "nullable-string-array"
        values = self._values(self._member(element, "values") if nullable else element, kinds="biufO")
        if values.ndim != 1:
            raise self._error(f"{frame.name}/{name}", f"has {values.ndim} dimensions, and names have 1")
        if nullable and self._values(self._member(element, "mask"), values.shape, "b").any():
            raise self._error(element.name, "has missing names; every row and column needs one")
        return [str(each) for each in values.tolist()]

    def _column(self, frame: Any, name: str, n_rows: int) -> tuple[list[str | None], NDArray[Any] | None]:
        """Return the text of a column, and its numbers if it is numeric."""
        element, shape = self._member(frame, name), (n_rows,)
        encoding = self._encoding(element)
        if isinstance(element, self._h5py.Dataset):
            if "__categories" in frame and name in self._member(frame, "__categories"):  # anndata 0.7
                categories = self._member(frame, f"__categories/{name}")
                return self._categorical(element, categories, shape), None
            values = self._values(element, shape, "biufO")
            return as_text(values), values if values.dtype.kind in "iuf" else None
        if encoding == "categorical":
            codes, categories = (self._member(element, each) for each in ("codes", "categories"))
            return self._categorical(codes, categories, shape), None
        if encoding in ("nullable-integer", "nullable-boolean", "nullable-string-array"):
            values = self._values(self._member(element, "values"), shape, "biufO")
            mask = self._values(self._member(element, "mask"), shape, "b")
            texts = [None if gone else text for text, gone in zip(as_text(values), mask, strict=True)]
            is_number = values.dtype.kind in "iuf"
            return texts, np.where(mask, np.nan, values.astype(np.float64)) if is_number else None
        raise self._unknown(element, encoding)

    def _categorical(self, codes: Any, categories: Any, shape: tuple[int, ...]) -> list[str | None]:
        if self._encoding(categories) == "nullable-string-array":  # no category is missing
            categories = self._member(categories, "values")
        levels, texts = self._values(codes, shape, "iu"), as_text(self._values(categories, kinds="biufO"))
        if levels.size and (int(levels.min()) < -1 or int(levels.max()) >= len(texts)):
            raise self._error(codes.name, f"has codes outside of its {len(texts):,} categories")
        return [None if level == -1 else texts[level] for level in levels.tolist()]

    def _matrix(self, shape: tuple[int, int]) -> NDArray[Any]:
        element = self._member(self._root, "X")
        if isinstance(element, self._h5py.Dataset):
            return self._values(element, shape)
        encoding = self._encoding(element)
        if encoding not in _FORMATS:
            raise self._unknown(element, encoding)
        stated = np.asarray(element.attrs.get("shape", ()))
        if stated.tolist() != list(shape):
            raise self._error(element.name, f"has shape {stated.tolist()}, and {list(shape)} is needed")
        n_pointers = shape[0 if encoding == "csr_matrix" else 1] + 1
        indptr = self._values(self._member(element, "indptr"), (n_pointers,), "iu")
        indices = self._values(self._member(element, "indices"), kinds="iu")
        data = self._values(self._member(element, "data"), indices.shape)
        if indices.ndim != 1 or int(indptr[-1]) != indices.size:
            raise self._error(element.name, "has 'indices' that do not end where 'indptr' does")
        size = float(math.prod(shape)) * data.dtype.itemsize
        check_room(size, f"{element.name!r} of {self._name!r}", "Use fewer observations or variables.")
        try:
            matrix = _FORMATS[encoding]((data, indices, indptr), shape=shape)
            # SciPy's toarray() writes wherever the indices say.
            matrix.check_format(full_check=True)
        except ValueError as error:
            raise self._error(element.name, f"is not a sparse matrix: {error}") from error
        dense: NDArray[Any] = matrix.toarray()
        return dense
