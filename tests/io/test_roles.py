"""Tables with words, missing values and targets of numbers: what the reader makes of them."""

from pathlib import Path

import numpy as np
import pytest

pl = pytest.importorskip("polars", reason="tables are read with polars, of the extra 'report'")

from highrelief.io.cells import (  # noqa: E402
    ContinuousTargetError,
    NoNumbersError,
    TableError,
)
from highrelief.io.imputation import impute, missing_mask  # noqa: E402
from highrelief.io.reading import Source, read_table  # noqa: E402
from highrelief.io.roles import InputTable, Roles  # noqa: E402
from highrelief.io.text import Dialect  # noqa: E402

MIXED = "class,sex,town,stage,a\nx,m,Ulm,1,1\ny,f,Bern,2,2\nx,,Graz,1,3\ny,f,,NA,4\nx,m,Ulm,2,5\n"


def read(path, target="class", *, missing=(), **roles):
    return read_table(Source(Path(path), Dialect(missing=missing)), Roles(target, **roles))


@pytest.fixture
def write(tmp_path):
    def to(content, name="table.csv"):
        path = tmp_path / name
        path.write_text(content)
        return path

    return to


class TestWords:
    def test_words_are_categories_where_they_may_be(self, write):
        table = read(write(MIXED), text_as_categories=True)
        assert table.feature_names == ["sex", "town", "stage", "a"]
        assert table.levels == {"sex": ["f", "m"], "town": ["Bern", "Graz", "Ulm"]}
        assert table.categorical == [0, 1]
        nan = np.nan
        expected = [[1, 2, 1, 1], [0, 0, 2, 2], [nan, 1, 1, 3], [0, nan, nan, 4], [1, 2, 2, 5]]
        np.testing.assert_array_equal(table.X, expected)
        assert table.notes == ["Categories, of which two values are equal or differ by 1: 'sex', 'town'."]

    def test_otherwise_two_words_are_numbers_and_more_are_left_out(self, write):
        table = read(write(MIXED))
        assert (table.feature_names, table.categorical) == (["sex", "stage", "a"], [])
        assert (table.levels, table.dropped_columns) == ({"sex": ["f", "m"]}, ("town",))

    def test_numbers_are_categories_only_if_told(self, write):
        table = read(write(MIXED), text_as_categories=True, categorical=["stage"])
        assert table.categorical == [0, 1, 2]
        # As they are: two values are equal or not.
        np.testing.assert_array_equal(table.X[:, 2], [1, 2, 1, np.nan, 2])
        assert "stage" not in table.levels

    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    def test_categories_are_text_as_written(self, write, tmp_path, kind):
        long = ["10000000000000001", "10000000000000002"]
        if kind == "csv":
            path = write(f"class,zip,id17,a\nx,01,{long[0]},1\ny,1,{long[1]},2\nx,,{long[0]},3\ny,-9,NA,4\n")
        else:
            columns = {"class": list("xyxy"), "zip": ["01", "1", None, "-9"]}
            numbers = {"id17": [*map(int, [*long, long[0]]), None], "a": [1, 2, 3, 4]}
            path = tmp_path / "t.parquet"
            pl.DataFrame({**columns, **numbers}).write_parquet(path)
        table = read(path, text_as_categories=True, categorical=["zip", "id17"], missing=("-9",))
        assert table.levels == {"zip": ["01", "1"], "id17": long}
        nan = np.nan
        np.testing.assert_array_equal(table.X[:, :2], [[0, 0], [1, 1], [nan, 0], [nan, nan]])

    def test_numbers_and_words_in_a_column_that_is_told(self, write):
        text = "class,grade,a\nx,1,1\ny,2,2\nx,2,3\ny,none given,4\nx,1,5\n"
        with pytest.raises(TableError, match="has numbers but for 1 of 5 values"):
            read(write(text), text_as_categories=True)
        table = read(write(text), text_as_categories=True, categorical=["grade"])
        assert table.levels == {"grade": ["1", "2", "none given"]}
        np.testing.assert_array_equal(table.X[:, 0], [0, 1, 1, 2, 0])

    @pytest.mark.parametrize(
        ("name", "says"), [("staeg", "did you mean 'stage'"), ("class", "'class' is named by --categorical")]
    )
    def test_what_is_no_feature_is_no_category(self, write, name, says):
        with pytest.raises(TableError, match=says):
            read(write(MIXED), text_as_categories=True, categorical=[name])

    def test_one_word_throughout_is_a_constant(self, write):
        table = read(write("class,town,a\nx,Ulm,1\ny,Ulm,2\nx,Ulm,3\n"), text_as_categories=True)
        np.testing.assert_array_equal(table.X[:, 0], [0, 0, 0])
        assert table.levels == {"town": ["Ulm"]}

    def test_words_that_all_differ_still_name_the_samples(self, write):
        table = read(write("who,class,a\np,x,1\nq,y,2\nr,x,3\n"), text_as_categories=True)
        assert (table.feature_names, table.sample_names) == (["a"], ["p", "q", "r"])

    def test_words_only(self, write):
        path = write("class,town\nx,Ulm\ny,Bern\nx,Graz\ny,Ulm\n")
        with pytest.raises(NoNumbersError, match="only words: 'town'"):
            read(path)
        np.testing.assert_array_equal(read(path, text_as_categories=True).X, [[2], [0], [1], [2]])

    def test_words_of_other_files(self, write, tmp_path):
        frame = pl.DataFrame(
            {"class": ["x", "y", "x"], "town": ["Ulm", None, "Ulm"], "a": [1.0, 2.0, None]},
            schema_overrides={"town": pl.Categorical},
        )
        frame.write_parquet(tmp_path / "t.parquet")
        arff = "@relation r\n@attribute class {x,y}\n@attribute town {Ulm,Bern}\n@attribute a real\n@data\n"
        (tmp_path / "t.arff").write_text(arff + "x,Ulm,1\ny,?,2\nx,Ulm,?\n")
        for name in ("t.parquet", "t.arff"):
            table = read(tmp_path / name, text_as_categories=True)
            np.testing.assert_array_equal(table.X, [[0, 1], [np.nan, 2], [0, np.nan]])
            assert (table.categorical, table.levels) == ([0], {"town": ["Ulm"]})


class TestNumericTarget:
    def test_is_read_with_all_its_digits(self, write, tmp_path):
        y = np.random.default_rng(0).normal(size=6)
        X = np.arange(12.0).reshape(6, 2)
        rows = [f"{float(value)!r},{a},{b}" for value, (a, b) in zip(y, X, strict=True)]
        text = read(write("y,a,b\n" + "\n".join(rows) + "\n"), "y", continuous_target=True)
        np.savez(tmp_path / "t.npz", X=X, y=y)
        for table in (text, read(tmp_path / "t.npz", "y", continuous_target=True)):
            np.testing.assert_array_equal(table.y, y)
            np.testing.assert_array_equal(table.X, X)
            assert table.continuous_target

    def test_rows_without_one_are_left_out(self, write):
        table = read(write("y,a\n1.5,1\nNA,2\n2,3\n"), "y", continuous_target=True)
        assert (table.y.tolist(), table.X.tolist()) == ([1.5, 2.0], [[1.0], [3.0]])
        assert table.notes == [
            "1 of 3 rows dropped: 'y' is missing ('NA' 1); see --missing-value and --no-default-missing."
        ]

    @pytest.mark.parametrize("token", ["-", "None", "-9.0"])
    def test_what_is_missing_among_numbers(self, write, tmp_path, token):
        table = read(write(f"y,a\n1.5,1\n{token},2\n2,3\n"), "y", continuous_target=True, missing=("-9",))
        assert table.y.tolist() == [1.5, 2.0]
        assert f"({token!r} 1)" in table.notes[0]
        np.savez(tmp_path / "t.npz", X=np.eye(3), y=np.array([1.5, -9.0, 2.0]))
        assert read(tmp_path / "t.npz", "y", continuous_target=True, missing=("-9",)).y.tolist() == [1.5, 2.0]

    def test_whole_numbers_and_two_of_them_will_do(self, write):
        assert read(write("y,a\n0,1\n1,2\n0,3\n"), "y", continuous_target=True).y.dtype == np.float64

    def test_from_a_second_file(self, write):
        labels = write("sample,y\ns1,0.1234567890123456\ns3,3\ns2,-1\n", "labels.csv")
        source = Source(write("id,a\ns1,1\ns2,2\ns3,4\n"), labels=labels)
        table = read_table(source, Roles("y", continuous_target=True))
        assert table.y.tolist() == [0.1234567890123456, -1.0, 3.0]

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("y,a\n1,1\nhigh,2\n3,3\n", "'high' in line 3, and this method needs a target of numbers"),
            ("y,a\n1,1\n1,2\n1,3\n", "'y' is 1 in every row"),
            ("y,a\nNA,1\n,2\n", "missing in every row"),
            ("y,a\n1,1\n1e999,2\n2,3\n", "infinite, or too large, in line 3"),
        ],
    )
    def test_what_is_none(self, write, text, says):
        with pytest.raises(TableError, match=says):
            read(write(text), "y", continuous_target=True)

    def test_where_classes_are_needed(self, write):
        for values in (("0.5", "1.5", "2.5"), tuple(f"{each / 2}" for each in range(30))):
            rows = "\n".join(f"{value},{place}" for place, value in enumerate(values))
            with pytest.raises(ContinuousTargetError, match="a measurement, and classes are needed"):
                read(write(f"y,a\n{rows}\n"), "y")


class TestMissing:
    def table(self, X, **given):
        X = np.array(X, dtype=float)
        return InputTable(X, np.array(["x", "y"] * len(X))[: len(X)], ["a", "b", "c"], None, **given)

    def test_kept_values_stay_and_empty_features_go(self):
        nan = np.nan
        table = impute(self.table([[1, nan, nan], [nan, nan, 2], [3, nan, 4]]), "keep")
        np.testing.assert_array_equal(table.X, [[1, nan], [nan, 2], [3, 4]])
        assert table.feature_names == ["a", "c"]
        assert missing_mask(table).sum() == 2

    def test_the_most_frequent_stands_in_for_a_category(self):
        nan = np.nan
        X = [[2, 1, 0], [2, 2, 0], [0, 9, 1], [nan, nan, 1], [0, 1, nan]]
        table = impute(self.table(X, categories=frozenset("ac")), "median")
        # Of equals the first; the median of 2, 2, 0, 0 would be 1, which is no value of it.
        np.testing.assert_array_equal(table.X[3:], [[0, 1.5, 1], [0, 1, 0]])
        assert table.notes[-1].endswith(
            "the median of the feature stands in, of categories the most frequent one."
        )

    def test_samples_left_out_of_a_target_of_numbers(self):
        X = np.array([[1.0, 2.0], [np.nan, 1.0], [3.0, 3.0]])
        table = InputTable(X, np.array([0.5, 1.5, 0.5]), ["a", "b"], None)
        with pytest.raises(TableError, match="not two different targets left"):
            impute(table, "drop-samples")
