"""AnnData's files: what is read, and that no link, length or index is followed unchecked."""

import io

import numpy as np
import pytest
from command_line import highrelief, refused

pytest.importorskip("polars", reason="tables are read with polars, of the extra 'report'")
h5py = pytest.importorskip("h5py", reason="of the extra 'anndata'")

from fuzzing_files import h5ad_bytes  # noqa: E402

from highrelief.io.cells import TableError  # noqa: E402
from highrelief.io.h5ad import parsed  # noqa: E402
from highrelief.io.reading import Source, read_table  # noqa: E402
from highrelief.io.roles import Roles  # noqa: E402


def changed(change, form="csr"):
    """The bytes of a file after a change of its open form."""
    stream = io.BytesIO(h5ad_bytes(form))
    with h5py.File(stream, "r+") as root:
        change(root)
    return stream.getvalue()


def put(path, value, **options):
    """A change that puts other values at a path."""

    def change(root):
        old = root[path]
        attributes = dict(old.attrs)
        del root[path]
        new = root.create_dataset(path, data=value, **options)
        new.attrs.update(attributes)

    return change


def attribute(path, name, value):
    def change(root):
        root[path].attrs[name] = value

    return change


def link(path, to):
    def change(root):
        del root[path]
        root[path] = to

    return change


def virtual(root):
    layout = h5py.VirtualLayout((8, 3), dtype="f8")
    layout[:] = h5py.VirtualSource("/etc/hostname", "X", shape=(8, 3))
    del root["X"]
    root.create_virtual_dataset("X", layout)


def external(root):
    del root["obs/y"]
    root.create_dataset("obs/y", (8,), dtype="i1", external=[("/etc/hostname", 0, 8)])


@pytest.mark.parametrize("form", ["dense", "gzip", "csr", "csc"])
def test_all_forms_are_the_same_table(form):
    cells, dense = parsed(h5ad_bytes(form), "t.h5ad"), parsed(h5ad_bytes("dense"), "t.h5ad")
    np.testing.assert_array_equal(cells.numbers, dense.numbers)
    assert cells.names == ["g0", "g1", "g2"]
    assert cells.annotations["class"] == ["same", "other"] * 4


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (put("X/indices", np.arange(3, 15, dtype=np.int32)), "is not a sparse matrix"),
        (put("X/indices", np.full(12, -40, dtype=np.int32)), "is not a sparse matrix"),
        (put("X/indices", np.full(12, 2**64 - 1, dtype=np.uint64)), "is not a sparse matrix"),
        (put("X/indices", np.zeros(12)), "type float64"),
        (put("X/indices", np.zeros((12, 1), dtype=np.int32)), "shape"),
        (put("X/indices", np.zeros(11, dtype=np.int32)), "shape"),
        (put("X/indptr", np.array([0, 9, 3, 4, 6, 7, 9, 10, 12])), "is not a sparse matrix"),
        (put("X/indptr", np.array([3, 3, 3, 4, 6, 7, 9, 10, 12])), "is not a sparse matrix"),
        (put("X/indptr", np.array([0, 1, 3, 4, 6, 7, 9, 10, 99])), "do not end where"),
        (put("X/indptr", np.array([0, 12])), "shape"),
        (put("X/data", np.arange(2.0)), "shape"),
        (put("X/data", np.array(["a"] * 12, dtype="S1")), "type"),
        (attribute("X", "shape", np.array([8, 3000])), "shape"),
        (attribute("X", "shape", np.array([2**62, 2**62])), "shape"),
        (attribute("X", "shape", "many"), "shape"),
        (attribute("X", "encoding-type", "coo_matrix"), "encoding-type='coo_matrix'"),
        (attribute("obs", "encoding-type", "dict"), "is not a data frame"),
        (attribute("obs", "_index", 3), "no attribute '_index'"),
        (attribute("obs", "_index", "/etc"), "is not the name of a column"),
        (attribute("obs", "column-order", 1.5), "no list of names"),
        (attribute("obs/class", "encoding-type", "awkward-array"), "encoding-type='awkward-array'"),
        (put("obs/class/codes", np.full(8, 2, dtype=np.int8)), "outside of its 2 categories"),
        (put("obs/class/codes", np.full(8, -2, dtype=np.int8)), "outside of its 2 categories"),
        (put("obs/class/codes", np.zeros(7, dtype=np.int8)), "shape"),
        (put("obs/y", np.zeros(8, dtype=[("a", "i4")])), "type"),
        (link("obs", h5py.SoftLink("/var")), "is a link"),
        (link("X", h5py.ExternalLink("/etc/hostname", "/X")), "is a link"),
        (link("obs/y", h5py.ExternalLink("other.h5ad", "/obs/y")), "is a link"),
        (link("X/data", h5py.SoftLink("/obs/y")), "is a link"),
        (lambda root: root.pop("var"), "'/var' is missing"),
        (lambda root: root.pop("X"), "'/X' is missing"),
        (lambda root: root.pop("obs/class/codes"), "'/obs/class/codes' is missing"),
        (virtual, "another file"),
        (external, "another file"),
    ],
)
def test_a_file_that_is_not_followed(change, says):
    with pytest.raises(TableError, match=says) as error:
        parsed(changed(change), "t.h5ad")
    assert "\n" not in str(error.value)


def test_a_size_that_no_memory_has():
    def change(root):
        del root["X"]
        root.create_dataset("X", (8, 2**50), dtype="f8", chunks=(8, 1))
        del root["var/_index"]
        root.create_dataset("var/_index", (2**50,), dtype="i1", chunks=(1000,))

    with pytest.raises(MemoryError, match=r"'/var/_index' of 't.h5ad' would take"):
        parsed(changed(change), "t.h5ad")


def test_what_anndata_writes_is_read(tmp_path):
    anndata = pytest.importorskip("anndata")
    pandas = pytest.importorskip("pandas")
    obs = pandas.DataFrame(
        {
            "class": pandas.Categorical(["u", "v", None, "u"]),
            "count": pandas.array([1, None, 3, 4], dtype="Int64"),
            "flag": [True, False, True, True],
            "length": [0.1, 2.0, np.nan, 4.0],
        },
        index=list("pqrs"),
    )
    X = np.array([[0, 1], [2, 0], [0, 0], [3, 4]], dtype=np.float32)
    var = pandas.DataFrame(index=["g", "g"])
    with pytest.warns(UserWarning, match="not unique"):
        anndata.AnnData(X, obs=obs, var=var).write_h5ad(tmp_path / "t.h5ad")
    cells = parsed((tmp_path / "t.h5ad").read_bytes(), "t.h5ad")
    np.testing.assert_array_equal(cells.numbers, X)
    assert cells.annotations["class"] == ["u", "v", None, "u"]
    assert cells.annotations["count"] == ["1", None, "3", "4"]
    assert cells.annotations["flag"] == ["True", "False", "True", "True"]
    np.testing.assert_array_equal(cells.annotation_numbers["length"], obs["length"])
    table = read_table(Source(tmp_path / "t.h5ad"), Roles("class"))
    assert table.feature_names == ["g", "g (2)"]
    assert table.sample_names == ["p", "q", "s"]


@pytest.mark.parametrize("missing", [False, True])
def test_an_index_of_nullable_strings(tmp_path, missing):
    anndata = pytest.importorskip("anndata")
    if not hasattr(anndata.settings, "allow_write_nullable_strings"):
        pytest.skip("this version of anndata does not write such strings")
    pandas = pytest.importorskip("pandas")
    index = pandas.Index(["p", "q", "r", pandas.NA if missing else "s"], dtype="string")
    obs = pandas.DataFrame(
        {"class": pandas.Categorical(pandas.array(["u", "v", None, "u"], dtype="string"))}, index=index
    )
    data = anndata.AnnData(np.arange(8.0).reshape(4, 2), obs=obs, var=pandas.DataFrame(index=["g", "h"]))
    with anndata.settings.override(allow_write_nullable_strings=True):
        data.write_h5ad(tmp_path / "t.h5ad")
    with h5py.File(tmp_path / "t.h5ad") as root:
        assert root["obs/_index"].attrs["encoding-type"] == "nullable-string-array"
    if missing:
        with pytest.raises(TableError, match="'/obs/_index' has missing names"):
            parsed((tmp_path / "t.h5ad").read_bytes(), "t.h5ad")
    else:
        cells = parsed((tmp_path / "t.h5ad").read_bytes(), "t.h5ad")
        assert cells.row_names == list("pqrs")
        assert cells.annotations["class"] == ["u", "v", None, "u"]


def test_attributes_that_are_stored_as_bytes():
    def change(root):
        def encode(_, element):
            for name, value in element.attrs.items():
                if isinstance(value, str):
                    element.attrs[name] = np.bytes_(value)
            if "column-order" in element.attrs:
                names = [each.encode() for each in element.attrs["column-order"]]
                element.attrs["column-order"] = np.array(names, dtype="S9")

        root.visititems(encode)

    cells, text = parsed(changed(change), "t.h5ad"), parsed(h5ad_bytes("csr"), "t.h5ad")
    np.testing.assert_array_equal(cells.numbers, text.numbers)
    assert (cells.names, cells.row_names, cells.annotations) == (text.names, text.row_names, text.annotations)


def test_the_command_says_one_sentence(tmp_path):
    path = tmp_path / "t.h5ad"
    path.write_bytes(changed(put("X/indices", np.full(12, 100_000, dtype=np.int32))))
    refused(highrelief("rank", path, "--target", "class"), 1, "is not a sparse matrix")


@pytest.mark.parametrize(
    ("library", "says"),
    [
        ("import os; os.abort()", "it is damaged, and HDF5 crashed or did not end"),
        (
            "import os; os.kill(os.getpid(), 9)",
            "does not fit into memory: the process that reads it was killed",
        ),
        ("raise ImportError", "h5py cannot be imported, or there is not enough memory to"),
    ],
)
def test_a_library_that_crashes_is_one_sentence(tmp_path, monkeypatch, library, says):
    path = tmp_path / "t.h5ad"
    path.write_bytes(h5ad_bytes("dense"))
    (tmp_path / "h5py.py").write_text(library)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(TableError, match=says):
        read_table(Source(path), Roles("class"))
