"""The command on real tables: missing values, words, targets that are numbers."""

import json

import numpy as np
import pytest
from command_line import highrelief, refused, rows_of

for needed in ("typer", "rich", "polars"):
    pytest.importorskip(needed, reason="the command needs the extra 'report'")

from highrelief import ReliefF, RReliefF  # noqa: E402
from highrelief.base.selector import takes_categories, takes_continuous_target, takes_missing  # noqa: E402
from highrelief.catalog import METHODS, methods_with  # noqa: E402
from highrelief.cli.compare import compare_methods  # noqa: E402
from highrelief.cli.errors import UsageError  # noqa: E402
from highrelief.cli.options import Request  # noqa: E402
from highrelief.cli.rank import rank, repeat  # noqa: E402
from highrelief.cli.request import create_weighter, default_method  # noqa: E402
from highrelief.cli.select import write_selection  # noqa: E402
from highrelief.io.cells import TableError  # noqa: E402

TOWNS = ("Bern", "Graz", "Linz", "Ulm")


def table_of_patients(n_samples=60, seed=0):
    """Town and stage tell the diagnosis together; the score is a number; some of all is missing."""
    rng = np.random.default_rng(seed)
    town, stage = rng.integers(0, 4, n_samples), rng.integers(1, 5, n_samples)
    ill = np.where((town >= 2) ^ (stage % 2 == 0), "ill", "well")
    numbers = rng.normal(size=(n_samples, 3)).round(3)
    score = (2.0 * numbers[:, 0] + 0.1 * rng.normal(size=n_samples)).round(4)
    lines = ["who,diagnosis,score,town,sex,stage,age,weight,height"]
    for i in range(n_samples):
        fields = [TOWNS[town[i]], "fm"[i % 2], str(stage[i]), *map(str, numbers[i])]
        fields = ["NA" if rng.random() < 0.05 else field for field in fields]
        lines.append(",".join([f"p{i}", ill[i], str(score[i]), *fields]))
    return "\n".join(lines) + "\n"


@pytest.fixture
def patients(tmp_path):
    path = tmp_path / "patients.csv"
    path.write_text(table_of_patients())
    return path


def asked(path, target="diagnosis", **given):
    return Request(str(path), target, **{"drop": ("score",), "method": "relieff"} | given)


class TestMissing:
    def test_stays_missing_where_the_method_takes_it(self, patients):
        found = rank(asked(patients))
        assert np.isnan(found.table.X).any()
        assert found.request.missing == "keep"
        assert found.table.notes[-1].endswith(
            "are not imputed: differences to them are replaced by their expectation."
        )
        expected = ReliefF(random_state=0, categorical_features=[0, 1]).fit(found.table.X, found.table.y)
        np.testing.assert_array_equal(found.estimator.feature_weights_, expected.feature_weights_)

    def test_gets_a_median_where_it_does_not(self, patients):
        found = rank(asked(patients, method="fisher", drop_text=True))
        assert not np.isnan(found.table.X).any()
        assert found.request.missing == "median"
        assert found.table.notes[-1].endswith("the median of the feature stands in.")

    def test_a_record_keeps_what_was_done(self, patients, tmp_path):
        for rule in ("auto", "median", "drop-samples"):
            first = rank(asked(patients, missing=rule))
            first.write(tmp_path / rule, force=False)
            again = repeat(tmp_path / rule / "run.json")
            assert again.csv() == first.csv()
            assert again.request == first.request
        assert json.loads((tmp_path / "auto" / "run.json").read_text())["request"]["missing"] == "keep"

    def test_a_record_of_an_earlier_version_can_be_repeated(self, patients, tmp_path):
        first = rank(asked(patients, method="fisher", drop_text=True))
        first.write(tmp_path / "out", force=False)
        record = json.loads((tmp_path / "out" / "run.json").read_text())
        # What earlier versions did not know.
        del record["request"]["categorical"]
        assert record["request"]["missing"] == "median"
        (tmp_path / "out" / "run.json").write_text(json.dumps(record))
        assert repeat(tmp_path / "out" / "run.json").csv() == first.csv()

    def test_cannot_be_kept_by_every_method(self, patients):
        with pytest.raises(
            UsageError, match=r"--missing keep: fisher needs all values; use --method .*relieff"
        ):
            rank(asked(patients, method="fisher", missing="keep"))

    def test_a_comparison_takes_medians_and_says_so(self, patients):
        with pytest.raises(TableError, match=r"'town' contains text, and a comparison needs .* --drop-text"):
            compare_methods(asked(patients), ["fisher", "relieff"])
        request = asked(patients, drop_text=True)
        found = compare_methods(request, ["fisher", "relieff"], folds=2, inner_folds=2)
        assert found.table.notes[-1].endswith(
            "in each fold the medians of the samples that are fitted stand in."
        )
        assert "town" not in found.table.feature_names
        assert found.table.categorical == []


class TestWords:
    def test_are_categories_where_the_method_takes_them(self, patients):
        found = rank(asked(patients, categorical=("stage",)))
        assert found.table.categorical == [0, 1, 2]
        assert found.estimator.categorical_features == [0, 1, 2]
        best = [found.table.feature_names[j] for j in found.order[:2]]
        assert set(best) == {"town", "stage"}
        assert any(note.startswith("Categories, ") for note in found.table.notes)

    def test_are_an_error_otherwise_that_names_the_options(self, patients):
        with pytest.raises(TableError, match="'town' contains text, which fisher does not support") as error:
            rank(asked(patients, method="fisher"))
        for option in ("--method relieff, ", " high-relief, ", "--genotypes ", "--drop-text "):
            assert option in str(error.value)
        assert "rrelieff" not in str(error.value)
        found = rank(asked(patients, method="fisher", drop_text=True))
        assert "town" not in found.table.feature_names
        assert "Left out, neither numbers nor one of two words: 'town'." in found.table.notes

    def test_tables_of_words_only(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text("class,a,b\n" + "x,p,u\ny,q,v\nx,p,w\ny,r,u\nx,p,v\ny,q,w\n")
        found = rank(Request(str(path), "class", "relieff", {"n_neighbors": 1}))
        assert found.table.feature_names[found.order[0]] == "a"
        with pytest.raises(TableError, match=r"only words.*; use --method .*relieff.* for categorical"):
            rank(Request(str(path), "class", "fisher"))

    def test_numbers_can_be_called_categories_only_for_methods_that_take_some(self, patients):
        with pytest.raises(
            UsageError, match=r"--categorical: fisher takes numbers only; use --method .*relieff"
        ):
            rank(asked(patients, method="fisher", categorical=("stage",)))
        with pytest.raises(UsageError, match="use --categorical COLUMN"):
            rank(asked(patients, settings={"categorical_features": [0]}))

    def test_come_back_in_a_selection(self, patients, tmp_path):
        pl = pytest.importorskip("polars")
        found = rank(asked(patients, categorical=("stage",)))
        original = {row[0]: row for row in rows_of(patients)[1:]}
        write_selection(found, 2, tmp_path / "best.csv", force=False)
        header, *rows = rows_of(tmp_path / "best.csv")
        assert header == ["who", "diagnosis", "town", "stage"]
        for sample, diagnosis, town, stage in rows:
            of_sample = [each.replace("NA", "") for each in original[sample]]
            assert [diagnosis, town, stage] == [of_sample[1], of_sample[3], of_sample[5]]
        write_selection(found, 2, tmp_path / "best.parquet", force=False)
        frame = pl.read_parquet(tmp_path / "best.parquet")
        assert frame["town"].to_list() == [row[2] or None for row in rows]
        with pytest.raises(UsageError, match=r"NPZ holds numbers only, and 'town' has words"):
            write_selection(found, 2, tmp_path / "best.npz", force=False)

    def test_a_selection_is_ranked_as_before(self, patients, tmp_path):
        found = rank(asked(patients))
        n_features = len(found.table.feature_names)
        write_selection(found, n_features, tmp_path / "all.csv", force=False)
        again = rank(asked(tmp_path / "all.csv", drop=()))
        assert again.csv() == found.csv()


class TestNumericTarget:
    def test_is_ranked_by_a_method_for_numbers(self, patients):
        found = rank(asked(patients, "score", method="rrelieff", drop=("diagnosis",)))
        assert found.table.continuous_target
        assert found.table.feature_names[found.order[0]] == "age"
        filled = found.table
        expected = RReliefF(random_state=0).fit(filled.X, filled.y).feature_weights_
        if not filled.categorical:
            np.testing.assert_array_equal(found.estimator.feature_weights_, expected)
        about = found.record()["data"]
        assert about["target"] == {"least": filled.y.min(), "most": filled.y.max()}
        assert "classes" not in about

    def test_other_methods_say_which_takes_it(self, patients):
        with pytest.raises(
            TableError,
            match=r"looks like a measurement.*; use --method rrelieff or high-relief-regressor for a",
        ):
            rank(asked(patients, "score", drop=()))

    def test_a_comparison_needs_classes(self, patients):
        with pytest.raises(
            UsageError, match="rrelieff needs a continuous target, and a comparison needs classes"
        ):
            compare_methods(asked(patients), ["relieff", "rrelieff"])
        with pytest.raises(TableError, match="classes are needed to compare by"):
            compare_methods(asked(patients, "score", drop=()), ["relieff"])


class TestDefaultMethod:
    def test_is_high_relief_for_classes(self, patients, tmp_path):
        found = rank(asked(patients, method="auto"))
        assert found.request.method == "high-relief"
        assert found.table.categorical == [0, 1]
        assert np.isnan(found.table.X).any()
        found.write(tmp_path / "out", force=False)
        assert json.loads((tmp_path / "out" / "run.json").read_text())["request"]["method"] == "high-relief"
        assert repeat(tmp_path / "out" / "run.json").csv() == found.csv()

    def test_is_high_relief_regressor_for_a_continuous_target(self, patients):
        options = ("-t", "score", "--drop", "diagnosis", "--resamples", 0)
        shown = highrelief("rank", patients, *options)
        assert shown.returncode == 0, shown.stderr
        assert "Method: high-relief-regressor, the default for a continuous target." in shown.stderr
        assert shown.stdout == highrelief("rank", patients, *options, "-m", "high-relief-regressor").stdout

    def test_of_a_selection_at_an_error_rate_permutes_quickly(self, patients, tmp_path):
        options = ("--drop", "score", "--permutations", 20, "--out", tmp_path / "kept.csv")
        result = highrelief("select", patients, "-t", "diagnosis", "--control", "fdr", *options)
        assert result.returncode == 0, result.stderr
        assert "Method: relieff, the default for class labels." in result.stderr
        assert default_method(continuous_target=True, controlled=True) == "rrelieff"

    def test_a_target_that_is_neither_is_refused(self, patients):
        refused(highrelief("rank", patients, "-t", "who"), 1, "'who' is different in every row")


class TestGenotypes:
    """Two of five sites tell the class together, written as letters."""

    @pytest.fixture
    def sites(self, tmp_path):
        rng = np.random.default_rng(0)
        counts = rng.integers(0, 3, (120, 5))
        y = np.where((counts[:, 1] > 0) ^ (counts[:, 3] > 0), "case", "control")
        words = np.array([["AA", "AG", "GG"], ["C/C", "C/T", "T/T"], ["0|0", "0|1", "1|1"]])
        rows = [[y[i], *(words[j % 3][counts[i, j]] for j in range(5)), str(i % 7)] for i in range(120)]
        rows[0][1], rows[1][2], rows[2][3] = "--", "NA", "./."
        header = ["class", "rs0", "rs1", "rs2", "rs3", "rs4", "age"]
        path = tmp_path / "sites.csv"
        path.write_text("\n".join(",".join(row) for row in [header, *rows]) + "\n")
        return path, counts

    def test_are_counted_as_minor_alleles(self, sites):
        path, counts = sites
        found = rank(Request(str(path), "class", "irelief", genotypes=True))
        X = found.table.X
        assert (np.isnan(X[0, 0]), np.isnan(X[1, 1]), np.isnan(X[2, 2])) == (True, True, True)
        assert np.isnan(X).sum() == 3
        for j in range(5):
            known = ~np.isnan(X[:, j])
            minor = counts[known, j] if counts[known, j].sum() <= known.sum() else 2 - counts[known, j]
            np.testing.assert_array_equal(X[known, j], minor)
        assert {found.table.feature_names[j] for j in found.order[:2]} == {"rs1", "rs3"}
        assert found.table.categorical == []
        assert "Genotypes, counted as minor alleles (0, 1, 2): 'rs0', 'rs1'" in found.table.notes[0]

    def test_without_the_option_are_categories_and_a_note_names_it(self, sites):
        found = rank(Request(str(sites[0]), "class"))
        assert found.table.categorical == [0, 1, 2, 3, 4]
        assert {found.table.feature_names[j] for j in found.order[:2]} == {"rs1", "rs3"}
        assert found.table.notes[0].endswith("look like genotypes: --genotypes counts their minor alleles.")

    def test_are_selected_and_repeated_as_written(self, sites, tmp_path):
        path = sites[0]
        out = tmp_path / "out.csv"
        result = highrelief(
            "select", path, "-t", "class", "--genotypes", "-m", "relieff", "--top", 6, "--out", out
        )
        assert result.returncode == 0, result.stderr
        header, *rows = rows_of(out)
        assert header == rows_of(path)[0]
        assert rows[3:] == rows_of(path)[4:]
        found = rank(Request(str(path), "class", "relieff", genotypes=True))
        found.write(tmp_path / "run", force=False)
        assert repeat(tmp_path / "run" / "run.json").csv() == found.csv()

    def test_a_table_without_any_is_an_error(self, patients):
        result = highrelief("rank", patients, "-t", "diagnosis", "--genotypes", "--drop", "score")
        refused(result, 1, "--genotypes: no column has genotypes written as text, such as AG")


def test_abilities_are_asked_of_the_estimators():
    assert methods_with(takes_continuous_target) == ["rrelieff", "high-relief-regressor"]
    for ability in (takes_missing, takes_categories):
        names = methods_with(ability)
        assert "relieff" in names
        assert "fisher" not in names
        assert set(names) <= set(METHODS)
    assert takes_categories(create_weighter("relieff", {}, seed=0, n_jobs=None))


def test_the_options_reach_the_run(patients, tmp_path):
    """All in one process, as a stranger types it."""
    pytest.importorskip("jinja2", reason="the report needs the extra 'report'")
    command = ["rank", patients, "-t", "diagnosis", "-m", "relieff", "--drop", "score"]
    result = highrelief(*command, "--categorical", "stage", "--out", tmp_path / "out", "--resamples", 4)
    assert result.returncode == 0, result.stderr
    assert "'town', 'sex', 'stage'" in result.stderr
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["request"]["categorical"] == ["stage"]
    assert record["parameters"]["categorical_features"] == [0, 1, 2]
    page = (tmp_path / "out" / "report.html").read_text()
    assert '"levels":["Bern","Graz","Linz","Ulm"]' in page
    words = highrelief("rank", patients, "-t", "diagnosis", "-m", "rrelieff")
    refused(words, 1, "in line 2", "needs a target of numbers")
    shown = highrelief("rank", patients, "-t", "score", "-m", "rrelieff", "--drop", "diagnosis")
    assert "features, a target from -" in shown.stderr
