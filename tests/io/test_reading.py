"""The reader of files: what it reads, what it says it did, and what it refuses."""

import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

pl = pytest.importorskip("polars", reason="tables are read with polars, of the extra 'report'")

from highrelief._engine import memory  # noqa: E402
from highrelief.io import reading  # noqa: E402
from highrelief.io.cells import (  # noqa: E402
    MISSING,
    MISSING_NUMBERS,
    Cells,
    TableError,
)
from highrelief.io.genotypes import count_alleles  # noqa: E402
from highrelief.io.imputation import impute  # noqa: E402
from highrelief.io.reading import Source, read_table  # noqa: E402
from highrelief.io.roles import (  # noqa: E402
    InputTable,
    Roles,
    input_table,
)
from highrelief.io.text import Dialect  # noqa: E402


def read(
    path,
    target="class",
    *,
    transpose=False,
    labels=None,
    identifiers=(),
    drop=(),
    groups=None,
    batches=None,
    genotypes=False,
    **dialect,
):
    source = Source(Path(path), Dialect(**dialect), transpose=transpose, labels=labels)
    return read_table(source, Roles(target, identifiers, drop, groups, batches, genotypes=genotypes))


@pytest.fixture
def write(tmp_path):
    def to(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return to


PLAIN = "class,a,b\nx,1,2.5\ny,3,4\nx,5,-6e-1\n"


def check_plain(table):
    np.testing.assert_array_equal(table.X, [[1, 2.5], [3, 4], [5, -0.6]])
    assert table.y.tolist() == ["x", "y", "x"]
    assert table.feature_names == ["a", "b"]


class TestText:
    @pytest.mark.parametrize("separator", [",", "\t", ";", "|", " "])
    def test_finds_the_separator(self, write, separator):
        check_plain(read(write(PLAIN.replace(",", separator))))

    @pytest.mark.parametrize(
        "content",
        [
            PLAIN.replace("\n", "\r\n"),
            PLAIN.replace("\n", "\r"),
            PLAIN.rstrip("\n"),
            "\n\n" + PLAIN.replace("y,", "\ny,") + "\n\n",
            "\ufeff" + PLAIN,
            PLAIN.encode("utf-16"),
            PLAIN.replace(",1,", ", 1 ,"),
            PLAIN.replace("x", '"x"').replace("class", '"class"').replace("2.5", '"2.5"'),
        ],
        ids=["crlf", "cr", "no end", "blank lines", "bom", "utf-16", "spaces", "quotes"],
    )
    def test_reads_the_same_however_it_is_written(self, write, content):
        check_plain(read(write(content)))

    def test_reads_compressed_text(self, write):
        check_plain(read(write(gzip.compress(PLAIN.encode()), "table.csv.gz")))

    def test_reads_a_decimal_comma(self, write):
        table = read(write("class;a;b\nx;1,5;2\ny;2,25;3\nx;-0,5;4\n"))
        np.testing.assert_array_equal(table.X[:, 0], [1.5, 2.25, -0.5])

    def test_a_decimal_comma_leaves_words_alone(self, write):
        table = read(write("class;a\nx, y;1,5\nz;2,25\nx, y;-0,5\n"))
        assert table.y.tolist() == ["x, y", "z", "x, y"]

    def test_a_point_is_in_no_number_with_a_decimal_comma(self, write):
        with pytest.raises(TableError, match=r"'a' has numbers but for 1 of 4 values, such as '1.234'"):
            read(write("class;a\nx;1,5\ny;2,25\nx;1.234\ny;7,5\n"))

    def test_a_few_commas_among_points_are_no_decimal_marks(self, write):
        with pytest.raises(TableError, match="'a' has numbers but for 1 of 4 values, such as '1,234'"):
            read(write("class\ta\nx\t1.5\ny\t2.25\nx\t1,234\ny\t7.5\n"))

    def test_reads_a_quoted_decimal_comma_as_told(self, write):
        content = 'class,a,b\n"x, y","1,5",\nz,"2,25",2\n"x, y","-0,5",3\n'
        table = read(write(content), decimal=",")
        np.testing.assert_array_equal(table.X, [[1.5, np.nan], [2.25, 2], [-0.5, 3]])
        assert table.y.tolist() == ["x, y", "z", "x, y"]

    def test_a_separator_ends_every_row_but_the_header(self, write):
        check_plain(read(write("class,a,b\nx,1,2.5,\ny,3,4,\nx,5,-6e-1,\n")))

    @pytest.mark.parametrize("n_columns", [3, 30])
    def test_missing_values_in_few_and_many_columns(self, write, n_columns):
        rows = [["x", "NA", " -9999.0 "], ["y", "1.5", "2"], ["x", " 2 ", "word"], ["y", "3", "other"]]
        lines = [[*row, *["?", "4"][i % 2] * (n_columns - 3)] for i, row in enumerate(rows)]
        names = ["class", *(f"f{place}" for place in range(1, n_columns))]
        table = read(write("\n".join(map(",".join, [names, *lines]))), missing=("-9999",), drop=["f2"])
        np.testing.assert_array_equal(table.X[:, 0], [np.nan, 1.5, 2, 3])
        np.testing.assert_array_equal(
            table.X[:, 1:], [[value] * (n_columns - 3) for value in [np.nan, 4] * 2]
        )

    @pytest.mark.parametrize("n_beside", [0, 20])
    def test_a_number_that_stands_for_a_missing_value_however_it_is_written(self, write, n_beside):
        beside = ",?" * n_beside
        names = ",".join(["class", "a", "b", *(f"f{place}" for place in range(n_beside))])
        content = f"{names}\nx,-9999.0,NA{beside}\ny,1,2{beside}\nx,3,4{beside}\n"
        table = read(write(content), missing=("-9999",))
        np.testing.assert_array_equal(table.X[:, :2], [[np.nan, np.nan], [1, 2], [3, 4]])

    @pytest.mark.parametrize("byte", ["\x1d", "\x1e", "\x1f"])
    def test_refuses_bytes_that_it_needs_for_itself(self, write, byte):
        with pytest.raises(TableError, match=r"has a control byte, 0x1., in line 3"):
            read(write(PLAIN.replace("y,", f"y{byte},")))

    def test_keeps_what_quotes_protect(self, write):
        table = read(write('class,"a, ""b""\nc",d\n"x, y",1,2\nz,3,4\n"x, y",5,6\n'))
        assert table.feature_names == ['a, "b"\nc', "d"]
        assert table.y.tolist() == ["x, y", "z", "x, y"]

    def test_reads_row_names_without_a_name(self, write):
        table = read(write("class a b\nr1 x 1 2\nr2 y 3 4\nr3 x 5 6\n"))
        assert table.sample_names == ["r1", "r2", "r3"]
        assert table.feature_names == ["a", "b"]

    def test_reads_numbers_to_the_last_bit(self, write):
        rng = np.random.default_rng(0)
        X = np.concatenate([rng.standard_normal((50, 40)), 10.0 ** rng.uniform(-300, 300, (50, 40))])
        lines = [",".join([f"f{j}" for j in range(40)] + ["class"])]
        lines += [",".join([repr(float(v)) for v in row] + ["ab"[i % 2]]) for i, row in enumerate(X)]
        np.testing.assert_array_equal(read(write("\n".join(lines) + "\n")).X, X)

    def test_reads_as_text_what_has_many_holes(self, write):
        names = [f"f{j}" for j in range(30)]
        rows = [["NA" if (i + j) % 7 == 0 else str(i * 30 + j) for j in range(30)] for i in range(20)]
        body = "\n".join(",".join([*row, "ab"[i % 2]]) for i, row in enumerate(rows))
        X = read(write(",".join([*names, "class"]) + "\n" + body)).X
        expected = [[np.nan if v == "NA" else float(v) for v in row] for row in rows]
        np.testing.assert_array_equal(X, expected)

    @pytest.mark.parametrize(
        ("content", "says"),
        [
            (b"", "is empty"),
            (b"\n \n", "is empty"),
            (b"class,a\n", "header and no rows"),
            (b"class,a\nx,1\ny\n", "line 3 has 1 field, the header has 2"),
            (b"class,a\nx,1\ny,2,3\nx,1\n", "line 3 has 3 fields, the header has 2"),
            (b"class,a\nx,1\ny,2\nx", "line 4 has 1 field,.*the file is cut off"),
            (b"class,a\nx,1\0\ny,2\n", "NUL byte in line 2"),
            (b"class,a\nx,1\n\xe9,2\n", "not UTF-8 throughout: byte 0xe9 in line 3; use --encoding"),
            (b'class,a\n"x,1\ny,2\n', "never closed"),
            # Compressed with the time of day, it would have another name in every process of the tests.
            (gzip.compress(PLAIN.encode() * 100, mtime=0)[:-20], "damaged or cut off"),
        ],
    )
    def test_says_what_is_wrong(self, write, content, says):
        with pytest.raises(TableError, match=says) as error:
            read(write(content))
        assert "\n" not in str(error.value)

    def test_takes_the_encoding_it_is_told(self, write):
        table = read(write("class,ä\né,1\nb,2\né,3\n".encode("latin-1")), encoding="latin-1")
        assert (table.feature_names, table.y[0]) == (["ä"], "é")
        with pytest.raises(TableError, match="encoding='klingon'"):
            read(write(PLAIN), encoding="klingon")

    @pytest.mark.slow
    def test_text_that_fills_the_memory_when_it_is_decompressed(self, write, monkeypatch):
        path = write(gzip.compress(b"class,a\n" + bytes(2**28), 1), "table.csv.gz")
        monkeypatch.setattr(memory, "free_memory", lambda: 2.0**27)
        with pytest.raises(TableError, match=r"does not fit into memory: 'table.csv.gz' decompressed"):
            read(path)

    def test_takes_the_separator_it_is_told(self, write):
        check_plain(read(write(PLAIN.replace(",", "^"), "table.odd"), separator="^"))


class TestOtherFiles:
    @pytest.mark.parametrize("kind", ["parquet", "feather"])
    def test_reads_frames(self, tmp_path, kind):
        frame = pl.DataFrame(
            {"id": ["p", "q", "r"], "class": ["x", "y", "x"], "a": [1, None, 3], "b": [True, False, True]}
        )
        path = tmp_path / f"table.{kind}"
        frame.write_parquet(path) if kind == "parquet" else frame.write_ipc(path)
        table = read(path)
        np.testing.assert_array_equal(table.X, [[1, 1], [np.nan, 0], [3, 1]])
        assert table.sample_names == ["p", "q", "r"]

    @pytest.mark.parametrize("kind", ["parquet", "feather", "npz"])
    def test_says_that_a_file_is_damaged(self, write, kind):
        with pytest.raises(TableError, match=f"Cannot read 'table.{kind}' as"):
            read(write(b"PK\x03\x04 nothing of the kind", f"table.{kind}"))

    @pytest.mark.parametrize("kind", ["parquet", "feather"])
    def test_a_name_is_no_pattern(self, tmp_path, kind):
        for name, feature in (("t[1]", "right"), ("t1", "wrong")):
            frame = pl.DataFrame({"class": ["x", "y", "x"], feature: [1.0, 2.0, 3.0]})
            path = tmp_path / f"{name}.{kind}"
            frame.write_parquet(path.open("wb")) if kind == "parquet" else frame.write_ipc(path.open("wb"))
        assert read(tmp_path / f"t[1].{kind}").feature_names == ["right"]

    @pytest.mark.parametrize("kind", ["parquet", "feather"])
    def test_a_panic_of_polars_is_one_sentence(self, tmp_path, kind, monkeypatch, capfd):
        def panic(_):
            os.write(2, b"stack backtrace:")
            raise pl.exceptions.PanicException("range end index 8 out of range")

        frame = pl.DataFrame({"class": ["x", "y", "x"], "a": [1.0, 2.0, 3.0]})
        path = tmp_path / f"t.{kind}"
        frame.write_parquet(path) if kind == "parquet" else frame.write_ipc(path)
        monkeypatch.setattr(pl, "read_parquet" if kind == "parquet" else "read_ipc", panic)
        with pytest.raises(TableError, match=r"Cannot read 't.* range end index 8 out of range"):
            read(path)
        assert capfd.readouterr().err == ""

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.csv"])
    @pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs the address space of a process")
    def test_polars_does_not_abort_without_memory(self, tmp_path, name):
        frame = pl.DataFrame({"class": ["x", "y"] * 1000, "a": np.arange(2000.0), "b": np.ones(2000)})
        write = {".parquet": frame.write_parquet, ".feather": frame.write_ipc, ".csv": frame.write_csv}
        write[Path(name).suffix](tmp_path / name)
        code = (
            "import resource, sys; from pathlib import Path;"
            "from highrelief.io.reading import *; from highrelief.io.roles import Roles;"
            "used = int(Path('/proc/self/statm').read_text().split()[0]) * resource.getpagesize();"
            "resource.setrlimit(resource.RLIMIT_AS, (used + 2**27, used + 2**27));"
            "read_table(Source(Path(sys.argv[1])), Roles('class'))"
        )
        result = subprocess.run(
            [sys.executable, "-c", code, tmp_path / name], capture_output=True, text=True, check=False
        )
        assert result.returncode == 1, result.stderr
        said = result.stderr.splitlines()[-1]
        assert "does not fit into memory: Parsing" in said
        assert "the limit (ulimit -v) leaves" in said
        assert said.endswith("Raise the limit.")

    @pytest.mark.parametrize("kind", ["parquet", "feather"])
    def test_rows_that_no_memory_has_are_counted_first(self, tmp_path, kind, monkeypatch):
        frame = pl.select(pl.repeat("x", 10_000_000).alias("class"), pl.repeat(1.0, 10_000_000).alias("a"))
        path = tmp_path / f"t.{kind}"
        frame.write_parquet(path) if kind == "parquet" else frame.write_ipc(path, compression="zstd")
        monkeypatch.setattr(memory, "free_memory", lambda: 2.0**28)
        with pytest.raises(
            TableError, match=r"does not fit into memory: Parsing t.* would take about 0\.\d+ GiB"
        ):
            read(path)

    def test_keeps_single_precision(self, tmp_path):
        frame = pl.DataFrame(
            {"class": ["x", "y", "x"], "a": [1.0, 2.0, 3.0]}, schema_overrides={"a": pl.Float32}
        )
        frame.write_parquet(tmp_path / "table.parquet")
        assert read(tmp_path / "table.parquet").X.dtype == np.float32

    def test_reads_arrays(self, tmp_path):
        X = np.arange(8, dtype=np.int8).reshape(4, 2)
        np.savez(
            tmp_path / "t.npz",
            X=X,
            y=np.array([0, 1, 1, 0]),
            target_names=np.array(["no", "yes"]),
            who=np.arange(4) // 2,
        )
        table = read(tmp_path / "t.npz", "y", groups="who")
        assert table.X.dtype == np.int8
        np.testing.assert_array_equal(table.X, X)
        assert table.y.tolist() == ["no", "yes", "yes", "no"]
        assert table.groups.tolist() == ["0", "0", "1", "1"]
        assert table.feature_names == ["f0", "f1"]

    def test_never_unpickles(self, tmp_path):
        np.savez(tmp_path / "t.npz", X=np.array([[object()]], dtype=object), y=np.array([0]))
        with pytest.raises(TableError, match="without pickles"):
            read(tmp_path / "t.npz", "y")

    def test_reads_arff(self, write):
        content = (
            "% a comment\n@relation 'r'\n@ATTRIBUTE 'an a' numeric\n@attribute b {u,'v w'}\n"
            "@attribute class {x,y}\n@data\n1.5,u,x\n% another\n?,'v w',y\n3,u,x\n"
        )
        table = read(write(content, "table.arff"))
        np.testing.assert_array_equal(table.X, [[1.5, 0], [np.nan, 1], [3, 0]])
        assert table.feature_names == ["an a", "b"]

    @pytest.mark.parametrize(
        ("content", "says"),
        [
            ("@attribute a numeric\n", "no @data line"),
            ("@data\n1\n", "names no @attribute"),
            ("@attribute a numeric\n@attribute class {x}\n@data\n", "no rows"),
            ("@attribute a numeric\n@attribute class {x}\n@data\n{0 1}\n", "sparse ARFF"),
            (
                "@attribute a numeric\n@attribute class {x}\n@data\n1\n",
                "line 4 has 1 field for 2 attributes",
            ),
            ("@attribute a numeric\n@attribute class {x}\n@data\nq,x\n", "'q' in line 4 is no number"),
            (
                f"@attribute a string\n@attribute class {{x}}\n@data\n{'a' * 200_000},x\n",
                "line 4 cannot be read: field larger",
            ),
        ],
    )
    def test_says_what_is_wrong_with_arff(self, write, content, says):
        with pytest.raises(TableError, match=says):
            read(write(content, "table.arff"))

    def test_reads_anndata(self, tmp_path):
        anndata = pytest.importorskip("anndata", reason="of the extra 'anndata'")
        pandas = pytest.importorskip("pandas")
        data = anndata.AnnData(
            np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=np.float32),
            obs=pandas.DataFrame({"class": ["x", "y", "x"]}, index=["c1", "c2", "c3"]),
            var=pandas.DataFrame(index=["g1", "g2"]),
        )
        data.write_h5ad(tmp_path / "t.h5ad")
        table = read(tmp_path / "t.h5ad")
        assert table.feature_names == ["g1", "g2"]
        assert table.sample_names == ["c1", "c2", "c3"]
        np.testing.assert_array_equal(table.X, data.X)

    def test_says_what_can_be_read(self, write):
        with pytest.raises(TableError, match=r"Unknown file format of 'table.docx'; supported: CSV and TSV"):
            read(write(PLAIN, "table.docx"))
        with pytest.raises(TableError, match="There is no file"):
            read(Path("nowhere.csv"))
        with pytest.raises(TableError, match="is a folder"):
            read(write(PLAIN).parent)


#: Text of which each is another value, though as numbers some are equal.
DIFFERENT = ["01", "1", "1.0", "+1", "1e0", "10000000000000001", "10000000000000002", "1.1", "1.10"]


class TestTextAsWritten:
    @pytest.mark.parametrize("kind", ["csv", "csv.gz", "tsv", "arff", "parquet", "npz"])
    @pytest.mark.parametrize("place", [0, 5, 40])
    def test_values_written_differently_stay_apart(self, tmp_path, kind, place):
        text = 2 * DIFFERENT
        numbers = [[str(row * 40 + column) for column in range(40)] for row in range(len(text))]
        rows = [[*row[:place], label, *row[place:]] for row, label in zip(numbers, text, strict=True)]
        names = [f"f{column}" for column in range(40)]
        names.insert(place, "who")
        path = tmp_path / f"table.{kind}"
        names, rows = [*names, "class"], [[*row, "xy"[i % 2]] for i, row in enumerate(rows)]
        separator = "\t" if kind == "tsv" else ","
        content = "\n".join(separator.join(row) for row in [names, *rows]) + "\n"
        if kind == "arff":
            types = ["numeric" if name != "class" else "{x,y}" for name in names]
            head = [f"@attribute {name} {each}" for name, each in zip(names, types, strict=True)]
            content = "\n".join(["@relation r", *head, "@data", *(",".join(row) for row in rows)])
        if kind == "parquet":
            pl.DataFrame(rows, schema=names, orient="row").with_columns(
                pl.col([name for name in names if name[0] == "f"]).cast(pl.Int64)
            ).write_parquet(path)
        elif kind == "npz":
            np.savez(
                path, X=np.array(numbers, dtype=float), **{"class": [row[-1] for row in rows], "who": text}
            )
        else:
            path.write_bytes(gzip.compress(content.encode()) if kind == "csv.gz" else content.encode())
        assert read(path, groups="who").groups.tolist() == text
        assert read(path, batches="who").batches.tolist() == text
        if kind != "npz":
            assert read(path, identifiers=["who"]).sample_names == text

    def test_classes(self, write):
        text = 3 * ["01", "1", "+1", "10000000000000001", "10000000000000002"]
        rows = "".join(f" {each} ,{i},{i % 4}\n" for i, each in enumerate(text))
        assert read(write(f"class,a,b\n{rows}")).y.tolist() == text

    @pytest.mark.parametrize("kind", ["parquet", "feather", "npz"])
    @pytest.mark.parametrize(
        ("values", "text"),
        [
            (
                np.array([2**64 - 1, 2**64 - 2], dtype=np.uint64),
                ["18446744073709551615", "18446744073709551614"],
            ),
            (np.array([-(10**17) - 1, -(10**17)]), ["-100000000000000001", "-100000000000000000"]),
            (np.array([0.1 + 0.2, 0.3]), ["0.30000000000000004", "0.3"]),
            (np.array([0.1, 2.0], dtype=np.float32), ["0.1", "2"]),
            (np.array([-0.0, 1.0]), ["0", "1"]),
            (np.array([True, False]), ["True", "False"]),
            (np.array([" a", "a b "]), ["a", "a b"]),
        ],
    )
    def test_columns_of_a_type(self, tmp_path, kind, values, text):
        values, text = np.tile(values, 4), 4 * text
        path = tmp_path / f"table.{kind}"
        if kind == "npz":
            np.savez(path, X=np.arange(16.0).reshape(8, 2), **{"class": values})
        else:
            frame = pl.DataFrame({"a": range(8), "class": values})
            frame.write_parquet(path) if kind == "parquet" else frame.write_ipc(path)
        assert read(path).y.tolist() == text

    @pytest.mark.parametrize("dtype", [pl.Categorical, pl.Enum(["None", "NA", " c"])])
    def test_columns_of_categories(self, tmp_path, dtype):
        column = pl.Series(["None", "NA", " c", None, "None", " c"], dtype=dtype)
        pl.DataFrame({"a": range(6), "class": column}).write_parquet(tmp_path / "t.parquet")
        assert read(tmp_path / "t.parquet").y.tolist() == ["None", "c", "None", "c"]
        every = read(tmp_path / "t.parquet", default_missing=False)
        assert every.y.tolist() == ["None", "NA", "c", "None", "c"]
        assert every.notes == ["1 of 6 rows dropped: 'class' is missing (no value 1)."]

    def test_bytes_are_text(self, tmp_path):
        np.savez(tmp_path / "t.npz", X=np.eye(4), y=np.array([b"a", b"b", b"a", b"\xff"]))
        assert read(tmp_path / "t.npz", "y").y.tolist() == ["a", "b", "a", "\\xff"]

    def test_anndata(self, tmp_path):
        anndata = pytest.importorskip("anndata", reason="of the extra 'anndata'")
        pandas = pytest.importorskip("pandas")
        columns = {
            "class": pandas.Categorical(["nan", None, "01", "1", "nan", "1"]),
            "run": [10**16 + 1, 10**16 + 2, 3, 4, 5, 6],
            "dose": [0.5, 1.0, 0.5, 1.0, np.nan, 2.0],
        }
        obs = pandas.DataFrame(columns, index=list("pqrstu"))
        anndata.AnnData(np.eye(6, 2, dtype=np.float32), obs=obs).write_h5ad(tmp_path / "t.h5ad")
        table = read(tmp_path / "t.h5ad", groups="run", default_missing=False)
        assert table.y.tolist() == ["nan", "01", "1", "nan", "1"]
        assert table.groups.tolist() == ["10000000000000001", "3", "4", "5", "6"]
        # Fractions of more than two values are no classes; here the third stands for a missing one.
        assert read(tmp_path / "t.h5ad", "dose", missing=("2",)).y.tolist() == ["0.5", "1", "0.5", "1"]

    def test_long_numbers_name_samples(self, write):
        rows = "".join(f"1000000000000000{i},{'xy'[i % 2]},{i % 3}\n" for i in range(1, 9))
        table = read(write(f"id,class,a\n{rows}"))
        assert table.sample_names == [f"1000000000000000{i}" for i in range(1, 9)]
        assert table.feature_names == ["a"]

    def test_keys_of_labels(self, write):
        labels = write("key,class\n1,a\n01,b\n2,a\n+2,b\n", "labels.csv")
        path = write("id,a\n01,1\n1,2\n2,3\n+2,4\n")
        table = read(path, labels=labels, identifiers=["id"])
        assert (table.y.tolist(), table.sample_names) == (["b", "a", "a", "b"], ["01", "1", "2", "+2"])

    def test_names_of_features_and_samples_of_a_transposed_table(self, write):
        labels = write("key,class\n01,x\n1,y\n1.0,x\n", "labels.csv")
        path = write("gene,01,1,1.0\n10000000000000001,1,2,3\n10000000000000002,4,5,6\n007,7,8,9\n")
        table = read(path, transpose=True, labels=labels)
        assert table.feature_names == ["10000000000000001", "10000000000000002", "007"]
        assert (table.y.tolist(), table.sample_names) == (["x", "y", "x"], ["01", "1", "1.0"])

    def test_a_feature_of_a_transposed_table_as_groups(self, write):
        labels = write("key,class\ns1,x\ns2,y\ns3,x\n", "labels.csv")
        path = write("gene,s1,s2,s3\nplate,01,1,01\nG,1,2,4\n")
        table = read(path, transpose=True, labels=labels, groups="plate")
        assert (table.groups.tolist(), table.feature_names) == (["01", "1", "01"], ["G"])


class TestMissingTokens:
    @pytest.mark.parametrize("token", MISSING_NUMBERS)
    def test_an_ordinary_label_that_is_missing_among_numbers(self, write, token):
        table = read(write(f"class,er,a\n{token},{token},1\n+,+,{token}\n{token},{token},3\n+,,4\n"))
        assert table.y.tolist() == [token, "+", token, "+"]
        assert table.levels["er"] == sorted([token, "+"])
        np.testing.assert_array_equal(table.X[:, 1], [1, np.nan, 3, 4])

    def test_among_numbers_and_words_it_is_not_the_slip(self, write):
        with pytest.raises(TableError, match="numbers but for 1 of 5 values, such as 'x' in line 5"):
            read(write("class,a\np,-\nq,1\np,2\nq,x\np,3\n"))

    @pytest.mark.parametrize("token", [each for each in MISSING if each])
    def test_a_default_can_be_taken_away(self, write, token):
        path = write(f"class,a\n{token},1\nx,2\n{token},3\nx,4\ny,5\n")
        assert read(path).y.tolist() == ["x", "x", "y"]
        assert f"({token!r} 2); see --missing-value" in read(path).notes[0]
        every = read(path, default_missing=False)
        assert (every.y.tolist(), every.notes) == ([token, "x", token, "x", "y"], [])

    def test_without_defaults_what_is_declared_and_empty_is_missing(self, write):
        path = write("class,a,b\nx,1,1\ny,NA,2\n,3,3\nx,4,5\nNIL,5,6\n")
        table = read(path, default_missing=False, missing=("NIL", " NA "))
        np.testing.assert_array_equal(table.X[:, 0], [1, np.nan, 4])
        assert table.notes == [
            "2 of 5 rows dropped: 'class' is missing (no value 1, 'NIL' 1); see --missing-value and"
            " --no-default-missing."
        ]
        with pytest.raises(TableError, match="'a' has numbers but for 1 of 5 values, such as 'NA'"):
            read(path, default_missing=False)

    def test_declared_tokens_of_typed_columns(self, tmp_path):
        np.savez(tmp_path / "t.npz", X=np.eye(4), y=np.array([0, 1, -9, 0]))
        assert read(tmp_path / "t.npz", "y", missing=("-9",)).y.tolist() == ["0", "1", "0"]

    def test_of_many_only_the_most_frequent_are_named(self, write):
        rows = "".join(f"{each},{i}\n" for i, each in enumerate([*MISSING, "NA", *"xyxy"]))
        note = read(write(f"class,a\n{rows}")).notes[0]
        assert note.startswith("11 of 15 rows dropped: 'class' is missing ('NA' 2, ")
        assert note.count("' 1") + note.count("value 1") == 4

    def test_the_page_lists_the_tokens(self):
        page = (Path(__file__).parents[2] / "docs" / "tables.md").read_text(encoding="utf-8")
        section = page.split("## Missing values")[1].split("## ")[0]
        for heading, tokens in (("all columns", MISSING[1:]), ("numeric columns", MISSING_NUMBERS)):
            line = next(line for line in section.splitlines() if line.startswith(f"| {heading} |"))
            assert re.findall(r"`([^`]+)`", line) == list(tokens)


class TestManyColumnsAndClasses:
    @pytest.mark.parametrize("words", [True, False])
    def test_columns_of_words_take_time_in_proportion(self, words):
        def seconds(n_columns):
            column = ["red", "green", "blue", "red"]
            cells = Cells(
                ["class", *(f"f{place}" for place in range(1, n_columns))],
                np.full((4, n_columns), np.nan),
                {0: ["x", "y", "x", "y"], **dict.fromkeys(range(1, n_columns - 1), column)},
                read_text=lambda places: [["x", "y", "x", "y"] for _ in places],
            )
            begin = time.process_time()
            table = input_table(cells, Roles("class", text_as_categories=words))
            taken = time.process_time() - begin
            assert len(table.feature_names) == (n_columns - 1 if words else 1)
            return taken

        seconds(100)
        # 16 times where it is in proportion, 256 times where it grows with the square.
        assert seconds(32_000) < 64 * min(seconds(2_000) for _ in range(3))

    def test_words_and_numbers_side_by_side(self, write):
        n_columns = 300
        names = ",".join(["class", *(f"f{place}" for place in range(n_columns))])
        rows = [[f"w{(i + j) % 3}" if j % 2 else str(i * j) for j in range(n_columns)] for i in range(6)]
        body = "".join(f"{'xy'[i % 2]},{','.join(row)}\n" for i, row in enumerate(rows))
        table = read_table(Source(write(f"{names}\n{body}")), Roles("class", text_as_categories=True))
        assert table.X.shape == (6, n_columns)
        np.testing.assert_array_equal(table.X[:, 2], [0, 2, 4, 6, 8, 10])
        np.testing.assert_array_equal(table.X[:, 3], [0, 1, 2, 0, 1, 2])

    @pytest.mark.parametrize(("n_classes", "n_rows"), [(100_000, 200_000), (1001, 5000), (30, 59)])
    def test_too_many_classes(self, write, n_classes, n_rows):
        rows = "".join(f"c{i % n_classes},{i},{i % 7}\n" for i in range(n_rows))
        says = (
            f"'class' has {n_classes:,} classes in {n_rows:,} rows; at most 1,000 are allowed, with 2 samples"
        )
        with pytest.raises(TableError, match=says):
            read(write(f"class,a,b\n{rows}"))

    @pytest.mark.parametrize(("n_classes", "n_rows"), [(1000, 2000), (30, 60), (20, 21), (2, 3)])
    def test_many_classes(self, write, n_classes, n_rows):
        rows = "".join(f"c{i % n_classes},{i},{i % 7}\n" for i in range(n_rows))
        assert len(set(read(write(f"class,a,b\n{rows}")).y)) == n_classes

    def test_only_some_pairs_of_words_are_noted(self, write):
        names = ",".join(f"f{place}" for place in range(30))
        rows = [",".join(f"{letter}{place}" for place in range(30)) for letter in "abab"]
        table = read(
            write(f"class,{names}\n" + "".join(f"{'xy'[i % 2]},{row}\n" for i, row in enumerate(rows)))
        )
        assert len(table.notes) == 21
        assert table.notes[-1].endswith("counts as 0 in 'f20', 'f21', 'f22', 'f23', 'f24' and 5 more.")

    @pytest.mark.parametrize("separator", [",", "\t"])
    @pytest.mark.parametrize("quote", ["", '"'])
    def test_a_header_longer_than_what_is_looked_at(self, write, force, separator, quote):
        force(sniffed_bytes=64)
        names = [f"{quote}a name with blanks {place}{quote}" for place in range(40)]
        rows = [[*map(str, range(i, i + 40)), "xy"[i % 2]] for i in range(4)]
        path = write("\n".join(separator.join(row) for row in [[*names, "class"], *rows]) + "\n")
        table = read(path)
        assert table.feature_names[0] == "a name with blanks 0"
        assert table.X.shape == (4, 40)


class TestRoles:
    def test_names_that_are_spelled_alike(self, write):
        with pytest.raises(TableError, match=r"no column 'Class' .the target.; did you mean 'class'"):
            read(write(PLAIN), "Class")

    def test_rows_without_a_class_are_left_out_and_counted(self, write):
        table = read(write(PLAIN + "NA,7,8\n,9,10\n"))
        check_plain(table)
        assert table.notes == [
            "2 of 5 rows dropped: 'class' is missing ('NA' 1, no value 1); see --missing-value and"
            " --no-default-missing."
        ]

    @pytest.mark.parametrize(
        ("content", "says"),
        [
            ("class,a\nx,1\nx,2\n", "is 'x' in every row; two classes are needed"),
            ("class,a\nx,1\ny,2\nz,3\n", "different in every row: it names samples"),
            ("class,a\nNA,1\nNA,2\n", "missing in every row"),
            ("class,a\n1.5,1\n2.5,2\n3.5,3\n1.5,4\n", "looks like a measurement"),
            ("class,a\nx,u\ny,v\nx,w\ny,u\n", "no column of numbers beside the target"),
            ("class,a\nx,1\ny,inf\nx,3\n", "infinite value, or one too large, in line 3"),
            ("class,a\nx,1\ny,1e999\nx,3\n", "infinite value, or one too large, in line 3"),
            ("class,a\nx,1\ny,12,5\n", "line 3 has 3 fields"),
            ("class,a\nx,1\ny,2\nx,3x\ny,4\n", "numbers but for 1 of 4 values, such as '3x' in line 4"),
        ],
    )
    def test_refuses(self, write, content, says):
        with pytest.raises(TableError, match=says) as error:
            read(write(content))
        assert "\n" not in str(error.value)

    def test_a_slip_can_be_called_missing(self, write):
        table = read(write("class,a,b\nx,1,-9\ny,2,7\nx,3x,8\ny,4,9\n"), missing=("3x", "-9"))
        np.testing.assert_array_equal(table.X, [[1, np.nan], [2, 7], [np.nan, 8], [4, 9]])

    def test_identifiers_are_no_features(self, write):
        table = read(write("id,who,class,a\n1,p,x,5\n2,q,y,6\n3,r,x,7\n"))
        assert table.feature_names == ["a"]
        assert table.sample_names == ["1", "2", "3"]
        assert table.notes == ["Names of the samples, not features: 'id', 'who'."]

    def test_whole_numbers_that_differ_are_features_unless_they_say_otherwise(self, write):
        assert read(write("age,class,a\n1,x,5\n2,y,6\n3,x,7\n")).feature_names == ["age", "a"]
        told = read(write("age,class,a\n1,x,5\n2,y,6\n3,x,7\n"), identifiers=["age"])
        assert (told.feature_names, told.sample_names) == (["a"], ["1", "2", "3"])

    def test_two_words_are_numbers_and_more_are_left_out(self, write):
        table = read(write("class,sex,town,a\nx,m,A,1\ny,f,B,2\nx,,C,3\ny,f,A,4\n"))
        np.testing.assert_array_equal(table.X, [[1, 1], [0, 2], [np.nan, 3], [0, 4]])
        assert table.notes == [
            "'sex': 'f' counts as 0 and 'm' as 1.",
            "Left out, neither numbers nor one of two words: 'town'.",
        ]

    def test_columns_can_be_left_out(self, write):
        table = read(write(PLAIN), drop=["a"])
        assert (table.feature_names, table.notes) == (["b"], ["Left out as requested: 'a'."])
        with pytest.raises(TableError, match="named by --drop or --id, and is the target"):
            read(write(PLAIN), drop=["class"])
        with pytest.raises(TableError, match=r"no column 'q' .named by --drop"):
            read(write(PLAIN), drop=["q"])

    def test_names_that_occur_again_are_numbered(self, write):
        table = read(write("class,a,a (2),a,a\nx,1,2,3,4\ny,5,6,7,8\nx,1,1,1,1\n"))
        assert table.feature_names == ["a", "a (2)", "a (3)", "a (4)"]
        assert "numbered: 'a'" in table.notes[0]

    def test_groups(self, write):
        table = read(write("class,who,a\nx,p,1\ny,p,2\nx,q,3\n,q,4\n"), groups="who")
        assert table.groups.tolist() == ["p", "p", "q"]
        assert table.feature_names == ["a"]
        with pytest.raises(TableError, match=r"--groups: in 1 of 3 rows, 'who' is missing .no value 1."):
            read(write("class,who,a\nx,p,1\ny,,2\nx,q,3\n"), groups="who")

    def test_what_is_beside_the_table_and_not_used_is_named(self, tmp_path):
        np.savez(tmp_path / "t.npz", X=np.eye(4), y=np.array([0, 1, 1, 0]), who=np.arange(4))
        assert read(tmp_path / "t.npz", "y").notes == ["Beside the table, and not used: 'who'."]

    def test_a_column_of_lists_is_left_out(self, tmp_path):
        frame = pl.DataFrame({"class": ["x", "y", "x"], "a": [1, 2, 3], "b": [[1], [2, 3], [1]]})
        frame.write_parquet(tmp_path / "t.parquet")
        table = read(tmp_path / "t.parquet", drop=["b"])
        assert table.feature_names == ["a"]


class TestGenesAsRows:
    GENES = "gene,s1,s2,s3,s4\nG1,1,2,3,4\nG2,5,6,7,8\n"

    def test_finds_the_labels_by_the_names_of_the_samples(self, write):
        labels = write("class\tsample\tbatch\nx\ts4\tp\ny\ts1\tq\nx\ts2\tp\ny\tother\tq\n", "labels.tsv")
        table = read(write(self.GENES), transpose=True, labels=labels, groups="batch")
        np.testing.assert_array_equal(table.X, [[1, 5], [2, 6], [4, 8]])
        assert table.y.tolist() == ["y", "x", "x"]
        assert table.groups.tolist() == ["q", "p", "p"]
        assert table.sample_names == ["s1", "s2", "s4"]
        assert table.feature_names == ["G1", "G2"]
        assert table.notes == [
            "1 sample of labels.tsv is not in table.csv.",
            "1 of 4 rows dropped: 'class' is missing (no value 1).",
            "Groups, no feature: 'batch', with 2 different values.",
        ]

    def test_labels_for_samples_as_rows(self, write):
        labels = write("sample,class\nr2,y\nr1,x\nr3,x\n", "labels.csv")
        table = read(write("who,a\nr1,1\nr2,2\nr3,3\n"), labels=labels)
        assert table.y.tolist() == ["x", "y", "x"]
        assert table.feature_names == ["a"]

    def test_labels_need_sample_names(self, write):
        labels = write("sample,class\nr2,y\nr1,x\nr3,x\n", "labels.csv")
        with pytest.raises(
            TableError, match=r"no column 'whi' .named by --id, in table.csv.; did you mean 'who'"
        ):
            read(write("who,a\nr1,1\nr2,2\nr3,3\n"), labels=labels, identifiers=["whi"])
        with pytest.raises(TableError, match=r"no column of unique names .*; use --id"):
            read(write("who,a\nr1,1\nr1,2\nr1,3\n"), labels=labels)

    @pytest.mark.parametrize(
        ("labels", "says"),
        [
            ("sample,class\nz1,x\nz2,y\n", "names no sample of table.csv, which are 's1', 's2', 's3', 's4'"),
            ("sample,class\ns1,x\ns1,y\n", "occurs twice in column 'sample'"),
            (
                "sample,klass\ns1,x\ns2,y\n",
                "no column 'class' .the target, in labels.csv.; did you mean 'klass'",
            ),
        ],
    )
    def test_refuses(self, write, labels, says):
        with pytest.raises(TableError, match=says):
            read(write(self.GENES), transpose=True, labels=write(labels, "labels.csv"))

    def test_words_beside_the_names_are_left_out_aloud(self, write):
        labels = write("sample,class\ns1,x\ns2,y\ns3,x\n", "labels.csv")
        table = read(
            write("gene,where,s1,s2,s3\nG1,chr1,1,2,3\nG2,chr2,5,6,7\n"), transpose=True, labels=labels
        )
        assert table.notes == ["Left out, words beside the names of the features: 'where'."]

    def test_genotypes_written_as_text(self, write):
        labels = write("sample,class\ns1,x\ns2,y\ns3,x\ns4,y\ns5,y\n", "labels.csv")
        path = write("snp,at,s1,s2,s3,s4,s5\nrs1,7,AA,AG,GG,--,AA\nrs2,9,CC,CT,,TT,CC\n")
        table = read(path, transpose=True, labels=labels, genotypes=True)
        assert table.feature_names == ["rs1", "rs2"]
        assert table.sample_names == ["s1", "s2", "s3", "s4", "s5"]
        alleles = [[0, 0], [1, 1], [2, np.nan], [np.nan, 2], [0, 0]]
        np.testing.assert_array_equal(count_alleles(table).X, alleles)
        assert table.notes[0] == "Left out, columns without genotypes beside the names of the features: 'at'."
        # A column of alleles does not turn a table of counts into one of text.
        counts = write("snp,alleles,s1,s2,s3\nrs1,A/G,0,1,2\nrs2,C/T,2,1,0\n", "counts.csv")
        np.testing.assert_array_equal(read(counts, transpose=True, labels=labels).X, [[0, 2], [1, 1], [2, 0]])

    def test_other_text_is_refused(self, write):
        labels = write("sample,class\ns1,x\ns2,y\n", "labels.csv")
        for words in ("low,high", "protein kinase,zinc finger"):
            with pytest.raises(TableError, match=r"no column of numbers or genotypes .*samples as rows"):
                read(write(f"gene,s1,s2\nG1,{words}\n"), transpose=True, labels=labels)


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_digest_for_every_file(write):
    table, labels = TestGenesAsRows.GENES, "sample,class\ns1,x\ns2,y\ns3,x\n"
    read_from = read(write(table), transpose=True, labels=write(labels, "labels.csv"))
    assert read_from.digest == {"table.csv": sha256(table), "labels.csv": sha256(labels)}


def test_a_table_of_many_columns_is_read_as_a_whole(write):
    X = np.arange(6 * 3000).reshape(6, 3000)
    text = io.StringIO()
    np.savetxt(text, X, delimiter=",", fmt="%d")
    header = ",".join(f"g{j}" for j in range(3000))
    body = "\n".join(f"{line},{'ab'[i % 2]}" for i, line in enumerate(text.getvalue().split()))
    np.testing.assert_array_equal(read(write(f"{header},class\n{body}\n")).X, X)


def test_a_target_that_occurs_twice_is_refused_unless_one_is_dropped(write):
    path = write("class,a,class\nx,1,x\ny,2,y\nx,3,x\n")
    with pytest.raises(
        TableError, match=r"2 columns 'class' .the target., which must be one; --drop 'class .2.'"
    ):
        read(path)
    assert read(path, drop=["class (2)"]).feature_names == ["a"]


def test_one_note_for_all_columns_of_the_same_two_words(write):
    table = read(write("class,a,b,c\nx,no,no,up\ny,yes,no,down\nx,no,yes,up\n"))
    assert table.notes == [
        "'a', 'b': 'no' counts as 0 and 'yes' as 1.",
        "'c': 'down' counts as 0 and 'up' as 1.",
    ]
    np.testing.assert_array_equal(table.X, [[0, 0, 1], [1, 0, 0], [0, 1, 1]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_medians_are_those_of_numpy(dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9, 40)).astype(dtype)
    X[rng.random(X.shape) < 0.25] = np.nan
    X[4:] = np.nan_to_num(X[4:])
    table = InputTable(X, np.array(["x", "y", "x"] * 3), [f"f{place}" for place in range(40)], None)
    expected = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    np.testing.assert_array_equal(impute(table, "median").X, expected)


def test_genes_that_are_named_by_numbers(write):
    labels = write("sample,class\ns1,x\ns2,y\ns3,x\n", "labels.csv")
    table = read(write("entrez,s1,s2,s3\n7157,1,2,3\n672,4,5,6\n"), transpose=True, labels=labels)
    assert table.feature_names == ["7157", "672"]
    np.testing.assert_array_equal(table.X, [[1, 4], [2, 5], [3, 6]])


def test_the_digest_of_two_files_of_one_name(write, tmp_path):
    (tmp_path / "b").mkdir()
    labels = write("sample,class\ns1,x\ns2,y\ns3,x\n", "b/table.csv")
    table = read(write(TestGenesAsRows.GENES), transpose=True, labels=labels)
    assert set(table.digest) == {"table.csv", "table.csv (labels)"}


def test_the_digest_is_of_the_bytes_that_were_parsed(write, monkeypatch):
    path = write(PLAIN)

    def replaced(cells, roles):
        path.write_text(PLAIN.replace("2.5", "9"))
        return input_table(cells, roles)

    input_table = reading.input_table
    monkeypatch.setattr(reading, "input_table", replaced)
    table = read(path)
    check_plain(table)
    assert table.digest == {"table.csv": sha256(PLAIN)}


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"sample_names": np.array(["a"])}, "has 1 'sample_names' for 4 rows"),
        ({"feature_names": np.array(["a"])}, "has 1 'feature_names' for 2 columns"),
        ({"target_names": np.array("a")}, "'target_names' of one dimension; it has 0"),
    ],
)
def test_names_that_do_not_fit_an_npz(tmp_path, arrays, says):
    np.savez(tmp_path / "t.npz", X=np.eye(4)[:, :2], y=np.array([0, 1, 0, 1]), **arrays)
    with pytest.raises(TableError, match=says):
        read(tmp_path / "t.npz", "y")


def test_what_is_no_npz(tmp_path):
    with (tmp_path / "t.npz").open("wb") as file:
        np.save(file, np.eye(3))
    with pytest.raises(TableError, match=r"Cannot read 't.npz' as NPZ"):
        read(tmp_path / "t.npz", "y")
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as file:
        file.writestr("X", "hello")
    with pytest.raises(TableError, match="needs a table of numbers called 'X'"):
        read(tmp_path / "t.npz", "y")


@pytest.mark.parametrize(
    "header",
    [b"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3", b"{" * 50, b"", b"{'descr': 3}"],
)
def test_an_npz_with_a_header_that_does_not_end(tmp_path, header):
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as file:
        length = len(header).to_bytes(2, "little")
        file.writestr("X.npy", b"\x93NUMPY\x01\x00" + length + header + bytes(48))
    with pytest.raises(TableError, match=r"Cannot read 't.npz' as NPZ without pickles") as error:
        read(tmp_path / "t.npz", "y")
    assert "\n" not in str(error.value)


def test_a_feature_of_the_name_of_the_target_beside_it_stays(tmp_path):
    X = np.arange(12.0).reshape(4, 3)
    np.savez(tmp_path / "t.npz", X=X, y=np.array([0, 1, 0, 1]), feature_names=np.array(["x", "y", "z"]))
    table = read(tmp_path / "t.npz", "y")
    assert table.feature_names == ["x", "y (2)", "z"]
    np.testing.assert_array_equal(table.X, X)
    assert table.y.tolist() == ["0", "1", "0", "1"]
    assert table.notes == ["Feature 'y' is called 'y (2)': 'y' beside it is no feature."]
    assert read(tmp_path / "t.npz", "y", drop=["y"]).feature_names == ["x", "z"]


def test_a_target_in_the_table_and_in_the_labels_is_ambiguous(write):
    labels = write("sample,class\nr2,y\nr1,x\nr3,x\n", "labels.csv")
    path = write("who,class,a\nr1,5,1\nr2,6,2\nr3,7,3\n")
    with pytest.raises(
        TableError, match=r"'class' is a column of both table.csv and labels.csv: --drop 'class'"
    ):
        read(path, labels=labels)
    table = read(path, labels=labels, drop=["class"])
    assert (table.feature_names, table.y.tolist()) == (["a"], ["x", "y", "x"])


@pytest.mark.parametrize("drop", [(), ("y",)])
def test_a_target_beside_the_table_and_in_the_labels_is_ambiguous(write, tmp_path, drop):
    names = ["a", "y"] if drop else ["a", "b"]
    rows = {"X": np.eye(3, 2), "y": np.array([0, 1, 0]), "sample_names": np.array(["r1", "r2", "r3"])}
    np.savez(tmp_path / "t.npz", feature_names=np.array(names), **rows)
    labels = write("id,y\nr1,u\nr2,v\nr3,v\n", "lab.csv")
    with pytest.raises(TableError, match=r"'y' is beside the table in t.npz and a column of lab.csv: rename"):
        read(tmp_path / "t.npz", "y", labels=labels, drop=drop)


@pytest.mark.parametrize("header", ["id,y,y", "id,id,y"])
def test_a_column_that_the_labels_have_twice_is_refused(write, header):
    labels = write(f"{header}\nr1,r1,u\nr2,r2,v\nr3,r3,u\n", "lab.csv")
    path = write("who,a\nr1,1\nr2,2\nr3,3\n")
    with pytest.raises(TableError, match=r"lab.csv has 2 columns '(y|id)', which must be one"):
        read(path, "y", labels=labels)


def test_other_columns_may_be_in_the_labels_twice(write):
    labels = write("id,y,z,z\nr1,u,1,2\nr2,v,1,2\nr3,u,1,2\n", "lab.csv")
    assert read(write("who,a\nr1,1\nr2,2\nr3,3\n"), "y", labels=labels).y.tolist() == ["u", "v", "u"]


def test_text_of_an_npz_is_without_blanks_and_decoded(tmp_path):
    arrays = {
        "feature_names": [b"x", b" z "],
        "target_names": [b"no", b" yes "],
        "sample_names": [b"p", b"q"],
    }
    np.savez(tmp_path / "t.npz", X=np.eye(2), y=np.array([0, 1]), **arrays)
    table = reading._read_cells(reading.InputFile(tmp_path / "t.npz"), Dialect())
    assert table.names == ["x", "z"]
    assert table.row_names == ["p", "q"]
    assert table.annotations["y"] == ["no", "yes"]
