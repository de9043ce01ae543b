"""Files that are broken in every way, and what must hold of whoever reads them: a table, or one sentence."""

import gzip
import io
import json
import tempfile
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
from command_line import table_text
from hypothesis import strategies as st
from scipy import sparse

try:
    import h5py
except ModuleNotFoundError:  # no wheels for Python 3.15 yet
    h5py = None

from highrelief.cli.errors import RunError, UsageError
from highrelief.cli.options import Request
from highrelief.cli.rank import rank, repeat
from highrelief.io.cells import TableError
from highrelief.io.h5ad import parsed as parsed_h5ad
from highrelief.io.imputation import RULES, impute
from highrelief.io.reading import Source, read_table
from highrelief.io.roles import InputTable, Roles
from highrelief.io.text import Dialect

_TEXT = table_text(12, 3)
_ARFF = (
    "@relation r\n@attribute class {same,other}\n@attribute g0 numeric\n@attribute 'g 1' real\n@data\n"
    + "".join(f"{'same' if i % 2 else 'other'},{i}.5,{-i}\n" for i in range(8))
)


def _frame():
    return pl.DataFrame(
        {
            "sample": [f"s{i}" for i in range(8)],
            "class": ["same", "other"] * 4,
            "g0": [0.5 * i for i in range(8)],
            "g1": pl.Series(range(8), dtype=pl.Int8),
        }
    )


def _in_memory(write):
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def h5ad_bytes(form):
    """An AnnData file of 8 observations: X dense, compressed (gzip), or sparse (csr, csc)."""
    X = np.where(np.arange(24) % 2, 0.0, np.arange(1.0, 25.0)).reshape(8, 3)
    text = h5py.string_dtype()
    stream = io.BytesIO()
    with h5py.File(stream, "w") as root:
        if form in ("csr", "csc"):
            matrix = getattr(sparse, f"{form}_matrix")(X)
            group = root.create_group("X")
            group.attrs.update({"encoding-type": f"{form}_matrix", "shape": np.array(X.shape)})
            for part in ("data", "indices", "indptr"):
                group[part] = getattr(matrix, part)
        else:
            root.create_dataset("X", data=X, compression="gzip" if form == "gzip" else None)
        for name, letter, size in (("obs", "s", 8), ("var", "g", 3)):
            frame = root.create_group(name)
            columns = np.array(["class", "y"] if name == "obs" else [], dtype=object)
            frame.attrs.update({"encoding-type": "dataframe", "_index": "_index"})
            frame.attrs.create("column-order", columns, dtype=text)
            frame.create_dataset("_index", data=[f"{letter}{place}" for place in range(size)], dtype=text)
        column = root.create_group("obs/class")
        column.attrs.update({"encoding-type": "categorical", "ordered": False})
        column["codes"] = np.array([0, 1] * 4, dtype=np.int8)
        column.create_dataset("categories", data=["same", "other"], dtype=text)
        root["obs/y"] = np.arange(8) % 2
    return stream.getvalue()


#: Files that can be read, by the end of their names.
WHOLE = {
    ".csv": _TEXT.encode(),
    ".tsv": _TEXT.replace(",", "\t").encode(),
    ".txt": _TEXT.replace(",", ";").replace(".", ",").encode("utf-16"),
    ".csv.gz": gzip.compress(_TEXT.encode(), mtime=0),
    ".arff": _ARFF.encode(),
    ".npz": _in_memory(
        lambda file: np.savez(
            file,
            X=np.arange(24.0).reshape(8, 3) % 7,
            **{"class": np.array(["same", "other"] * 4), "y": np.arange(8) % 2},
            feature_names=np.array(["a", "b", "c"]),
        )
    ),
    ".parquet": _in_memory(lambda file: _frame().write_parquet(file)),
    ".feather": _in_memory(lambda file: _frame().write_ipc(file)),
}
#: What is put into files, beside bytes at random.
_TOKENS = [
    *(b'"', b'""', b"'", b",", b";", b"\t", b"|", b"\n", b"\r\n", b"\r", b"\0", b"\x1f", b"\x1d", b" ", b"%"),
    *(b"{", b"}", b"@data\n", b"@attribute x numeric\n", b"NaN", b"inf", b"-inf", b"1e999", b"NA", b"?"),
    *(b"-", b"1_000", b"0x10", b"1e-320", b"99999999999999999999", b"class", b"g0"),
    *(b"\xff\xfe", b"\xef\xbb\xbf", b"\xff", b"\x1f\x8b"),
    *(each.encode() for each in ("ä", "\u2212", "\uff11", "\u2028", "\U0001f600")),
]


@st.composite
def broken_files(draw):
    """The end of a name, and bytes: at random, of tokens, or of a file of which parts were changed."""
    ending = draw(st.sampled_from(sorted(WHOLE)))
    how = draw(st.sampled_from(["changed", "changed", "changed", "tokens", "bytes"]))
    if how == "bytes":
        return ending, draw(st.binary(max_size=200))
    if how == "tokens":
        words = [*_TOKENS, b"0", b"1.5", b"same", b"other", b"\n", b",", b",", b"\n"]
        header = draw(st.sampled_from([b"", b"class,g0\n"]))
        return ending, header + b"".join(draw(st.lists(st.sampled_from(words), max_size=40)))
    data = WHOLE[ending]
    compressed = ending.endswith(".gz") and draw(st.booleans())
    data = gzip.decompress(data) if compressed else data
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.sampled_from([0, 1, 2, 8, 50, len(data)])))
        twice = st.just(2 * data[start:end])
        new = st.one_of(st.sampled_from(_TOKENS), st.binary(max_size=8), st.just(b""), twice)
        data = data[:start] + draw(new) + data[end:]
    return ending, gzip.compress(data, mtime=0) if compressed else data


_H5AD_VALUES = [
    *(
        np.full(8, 9, dtype=np.int8),
        np.full(12, -1),
        np.arange(12),
        np.arange(9),
        np.zeros((8, 3)),
        np.zeros(0),
    ),
    *(
        np.full(12, 2**31, dtype=np.uint64),
        np.array(["a"] * 8, dtype="S1"),
        np.float64(1.0),
        np.zeros((1, 1, 1)),
    ),
    *(np.full(12, 2**62), np.zeros(8, dtype=[("a", "i4")]), np.array([True] * 8), np.full(12, np.inf)),
]
_H5AD_PATHS = [
    *("X", "X/data", "X/indices", "X/indptr", "obs", "obs/_index", "obs/class", "obs/class/codes"),
    *("obs/class/categories", "obs/y", "var", "var/_index"),
]


@st.composite
def broken_h5ad(draw):
    """An AnnData file that HDF5 can read, of which elements, attributes or links were changed."""
    stream = io.BytesIO(h5ad_bytes(draw(st.sampled_from(["csr", "csc", "dense", "gzip"]))))
    values = st.sampled_from(_H5AD_VALUES)
    with h5py.File(stream, "r+") as root:
        for _ in range(draw(st.integers(1, 3))):
            path = draw(st.sampled_from([path for path in _H5AD_PATHS if path in root] or [""]))
            how = draw(st.sampled_from(["values", "values", "attribute", "link", "move", "delete"]))
            if path == "" or (how == "attribute" and not root[path].attrs):
                continue
            if how == "attribute":
                name = draw(st.sampled_from(sorted(root[path].attrs)))
                new = draw(
                    st.sampled_from(["csr_matrix", "categorical", "nullable-integer", "y", "/X", 3, 2**62])
                )
                root[path].attrs[name] = draw(st.sampled_from([new, [new] * 2, np.array([8, 3])]))
                continue
            old = root[draw(st.sampled_from([each for each in ("obs", "var", path) if each in root]))]
            del root[path]
            if how == "values":
                root[path] = draw(values)
            elif how == "link":
                to = draw(st.sampled_from(["/obs", "/X", path, "/nowhere"]))
                root[path] = draw(st.sampled_from([h5py.SoftLink(to), h5py.ExternalLink("other.h5ad", to)]))
                break
            elif how == "move":
                root[path] = old
    return stream.getvalue()


roles = st.builds(
    Roles,
    target=st.sampled_from([*["class"] * 8, "g0", "y", ""]),
    continuous_target=st.sampled_from([False, False, False, True]),
    text_as_categories=st.booleans(),
    identifiers=st.sampled_from([*[()] * 5, ("sample",)]),
    drop=st.sampled_from([*[()] * 5, ("g1",)]),
    groups=st.sampled_from([*[None] * 5, "sample", "g1"]),
    categorical=st.sampled_from([*[()] * 5, ("g0",)]),
)
dialects = st.builds(
    Dialect,
    separator=st.sampled_from([*[None] * 12, ",", "\t", ";", "::"]),
    decimal=st.sampled_from([None, None, ",", "."]),
    encoding=st.sampled_from([*[None] * 12, "latin-1", "utf-16", "utf-7", "idna", "no such", "rot13", "hex"]),
    missing=st.sampled_from([(), (), ("-9999",), ("same",), ("1e999",)]),
    default_missing=st.booleans(),
)


def assert_one_sentence(error):
    """An error of ours, which can be shown on a line."""
    text = str(error)
    assert len(text.split()) >= 3, repr(text)
    assert "\n" not in text, repr(text)


def table_or_sentence(ending, data, roles, dialect, *, transpose=False, rule="keep"):
    """Read a file; returns the table, or None after one sentence."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table{ending}"
        path.write_bytes(data)
        labels = path if transpose else None
        try:
            table = impute(read_table(Source(path, dialect, transpose, labels), roles), rule)
        except TableError as error:
            assert_one_sentence(error)
            return None
    assert isinstance(table, InputTable)
    assert table.X.shape == (len(table.y), len(table.feature_names))
    assert table.X.shape[1] > 0
    assert not np.isinf(table.X).any()
    assert len(set(table.feature_names)) == len(table.feature_names)
    return table


def h5ad_or_sentence(data):
    """Parse an AnnData file that HDF5 itself can read; returns its cells, or None after one sentence."""
    try:
        cells = parsed_h5ad(data, "table.h5ad")
    except TableError as error:
        assert_one_sentence(error)
        return None
    except MemoryError as error:
        assert "would take about" in str(error)  # noqa: PT017
        return None
    assert cells.numbers.shape == (len(cells.row_names), len(cells.names))
    assert all(len(column) == cells.n_rows for column in cells.annotations.values())
    assert all(column.shape == (cells.n_rows,) for column in cells.annotation_numbers.values())
    return cells


rules = st.sampled_from(RULES)


# Records of runs


@cache
def the_record():
    """The record of a run that can be repeated."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_text(_TEXT)
        request = Request(str(path), "class", method="relieff", settings={"n_neighbors": 3}, resamples=0)
        return json.loads(json.dumps(rank(request).record()))


_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.sampled_from([2**70, -1e400, float("nan"), 0.5, "", "x", "class", "relieff", "irelief", "g0", "keep"]),
    st.sampled_from(
        [10**400, "\0", "table\0.csv", "\ud800", "\udcff.csv", "\x1b[2J", "x" * 5000, "~/x", "/dev/null"]
    ),
)
_names = st.sampled_from(["class", "n_neighbors", "sigma", "x"])
_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=2),
    max_leaves=4,
)
#: Parts of a record that are read.
_READ = ("request", "data", "command", "versions", "highrelief")


def places(value, path=()):
    """Paths of everything inside a value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def changed(value, path, new):
    """The value with something else at a path; ``new`` of None takes away."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    if len(path) == 1 and new is None:
        del copy[path[0]]
    else:
        copy[path[0]] = changed(copy[path[0]], path[1:], new)
    return copy


@st.composite
def broken_records(draw):
    """Text of a record of which values were changed, or bytes."""
    record = the_record()
    if draw(st.integers(0, 4)):
        for _ in range(draw(st.integers(1, 3))):
            among = [path for path in places(record) if not path or path[0] in _READ]
            record = changed(record, draw(st.sampled_from(among)), draw(_values))
            if not isinstance(record, dict):
                break
        return json.dumps(record).encode()
    text = json.dumps(record).encode()
    start = draw(st.integers(0, len(text)))
    new = st.one_of(st.sampled_from([*_TOKENS, b"[" * 100_000, b"9" * 5000]), st.binary(max_size=6))
    return text[:start] + draw(new) + text[start + draw(st.integers(0, 5)) :]


def run_or_sentence(text, *, catch=True):
    """Repeat a run by a record; returns the ranking, or None after one sentence."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "table.csv").write_text(_TEXT)
        path = Path(folder) / "run.json"
        path.write_bytes(text)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                return repeat(path)
        except (TableError, UsageError, RunError) as error:
            assert_one_sentence(error)
            if not catch:
                raise
            return None
