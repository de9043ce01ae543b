"""Categorical features: as the oracle has it, in all forms that they are given, and what must not change."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from oracles import missing_1994 as oracle
from small_tables import CATEGORICAL, SEARCH_ORDERS, mixed_table

from highrelief import SURF, HighRelief, IterativeElimination, PairScan, ReliefF, RReliefF
from highrelief._engine.categories import level_codes, level_codes_of_columns
from highrelief.base.categorical import IntegerLevelsWarning

METRICS = ["manhattan", "euclidean", "sqeuclidean"]


class TestOracle:
    @pytest.mark.parametrize("gaps", [0.0, 0.15])
    @pytest.mark.parametrize("counted", [False, True])
    @pytest.mark.parametrize("metric", METRICS)
    @pytest.mark.parametrize(("dtype", "close"), [(np.float64, 1e-12), (np.float32, 2e-6)])
    def test_weights(self, dtype, close, metric, counted, gaps):
        X, y = mixed_table(gaps=gaps)
        X = X.astype(dtype)
        copies = np.random.default_rng(1).integers(1, 4, len(y)).astype(float) if counted else None
        tol = 1e-6 if dtype == np.float32 else 1e-12
        model = ReliefF(n_neighbors=4, metric=metric, categorical_features=CATEGORICAL)
        model.fit(X, y, sample_weight=copies)
        expected = oracle.relieff(X, y, 4, metric, s=copies, categorical=CATEGORICAL, tol=tol)
        np.testing.assert_allclose(model.feature_weights_, expected, atol=close)
        assert model.n_features_in_ == model.ranking_.size == 7

    @pytest.mark.parametrize("way", SEARCH_ORDERS)
    def test_every_way_to_find_neighbors(self, way, force):
        X, y = mixed_table()
        copies = np.where(np.arange(60) % 5, 1.0, 3.0)
        expected = oracle.relieff(X, y, 4, s=copies, categorical=CATEGORICAL)
        force(**SEARCH_ORDERS[way], anchors_at_once=8)
        for n_jobs in (1, 2):
            model = ReliefF(n_neighbors=4, categorical_features=CATEGORICAL, n_jobs=n_jobs)
            model.fit(X, y, sample_weight=copies)
            np.testing.assert_allclose(model.feature_weights_, expected, atol=1e-12)

    def test_all_categorical(self):
        """One-byte columns on bit planes."""
        random = np.random.default_rng(0)
        X = random.integers(0, 4, (50, 30)).astype(float)
        X[random.random(X.shape) < 0.1] = np.nan
        y = random.integers(0, 2, 50)
        found = ReliefF(n_neighbors=3, categorical_features=np.ones(30, bool)).fit(X, y)
        np.testing.assert_allclose(
            found.feature_weights_, oracle.relieff(X, y, 3, categorical=range(30)), atol=1e-12
        )
        assert found.execution_["distances"] == "bit planes"

    def test_all_categorical_keep_their_digits(self):
        """Bytes of categories: shares of levels have more digits than float32, and ties depend on them."""
        X, y = mixed_table()
        X = X[:, [4]]
        found = ReliefF(n_neighbors=3, categorical_features=[0]).fit(X, y)
        np.testing.assert_allclose(
            found.feature_weights_, oracle.relieff(X, y, 3, categorical=[0]), atol=1e-14
        )

    def test_a_category_without_values_weighs_nothing(self):
        X, y = mixed_table(gaps=0.0)
        without = ReliefF(categorical_features=CATEGORICAL).fit(X, y).feature_weights_
        beside = np.column_stack([X, np.full(len(X), np.nan)])
        found = ReliefF(categorical_features=[*CATEGORICAL, 7]).fit(beside, y).feature_weights_
        np.testing.assert_allclose(found, [*without, 0.0], atol=1e-15)

    @pytest.mark.parametrize("metric", METRICS)
    def test_anchors_and_margins(self, metric):
        X, y = mixed_table(n=120)
        model = ReliefF(
            n_neighbors=4, metric=metric, categorical_features=CATEGORICAL, n_anchors=100, random_state=0
        )
        model.fit(X, y)
        scaled = X.copy()
        numeric = [0, 2, 5]
        scaled[:, numeric] = oracle.scale_observed(X[:, numeric])
        D, E = oracle.expected_distances(scaled, metric, categorical=CATEGORICAL, classes=y)
        rows = oracle.relieff_rows(D, E, y, 4)
        order = np.random.RandomState(0).choice(120, 100, replace=False)
        np.testing.assert_allclose(model.feature_weights_, rows[order].mean(axis=0), atol=1e-12)
        half = np.diff(model.weight_intervals_, axis=1)[:, 0] / 2.0
        spread = rows[order].std(axis=0, ddof=1) * np.sqrt((1 - 100 / 120) / 100)
        np.testing.assert_allclose(half[:6] / spread[:6], half[0] / spread[0], rtol=1e-9)
        w = model.feature_importances_ / np.linalg.norm(model.feature_importances_)
        np.testing.assert_allclose(model.margins(X, y), rows @ w, atol=1e-12)


class TestInput:
    def frame(self, n=60):
        X, y = mixed_table(n=n)
        names = np.array(["red", "green", "blue", "gray", "pink"], dtype=object)
        data = pd.DataFrame({f"f{j}": X[:, j] for j in range(7)})
        for j in CATEGORICAL:
            values = X[:, j]
            text = names[np.nan_to_num(values).astype(int)]
            data[f"f{j}"] = np.where(np.isnan(values), None, text)
        return X, y, data

    def test_all_forms_agree(self):
        X, y, data = self.frame()
        expected = ReliefF(categorical_features=CATEGORICAL).fit(X, y).feature_weights_
        mask = np.isin(np.arange(7), CATEGORICAL)
        names = [f"f{j}" for j in CATEGORICAL]
        as_category, nullable = data.copy(), data.copy()
        for name in names:
            as_category[name] = as_category[name].astype("category")
            nullable[name] = nullable[name].astype("string")
        for j in (0, 2, 5):
            nullable[f"f{j}"] = nullable[f"f{j}"].astype("Float64")
        columns = {name: data[name].astype(object).where(data[name].notna(), None) for name in data}
        in_polars = pl.DataFrame({name: values.tolist() for name, values in columns.items()})
        enum = in_polars.with_columns(pl.col(names).cast(pl.Categorical))
        for table, chosen in (
            (X, mask),
            (X.tolist(), CATEGORICAL),
            (data, names),
            (data, "from_dtype"),
            (data.to_numpy(), CATEGORICAL),
            (as_category, "from_dtype"),
            (nullable, "from_dtype"),
            (in_polars, "from_dtype"),
            (in_polars, names),
            (enum, "from_dtype"),
        ):
            found = ReliefF(categorical_features=chosen).fit(table, y)
            np.testing.assert_allclose(found.feature_weights_, expected, atol=1e-14)

    def test_transform_keeps_columns_as_they_are(self):
        _, y, data = self.frame()
        model = ReliefF(categorical_features="from_dtype", n_features_to_select=4).fit(data, y)
        kept = model.get_support()
        assert model._is_categorical[kept].any()
        out = model.set_output(transform="pandas").transform(data)
        pd.testing.assert_frame_equal(out, data.loc[:, kept])
        assert list(model.get_feature_names_out()) == list(data.columns[kept])
        bare = ReliefF(categorical_features="from_dtype", n_features_to_select=4).fit(data, y).transform(data)
        assert bare.shape == (60, 4)
        assert np.sum(bare == "red") == np.sum(data.loc[:, kept].to_numpy() == "red") > 0

    def test_weighted_has_no_meaning_for_categories(self):
        X, y = mixed_table()
        model = ReliefF(categorical_features=CATEGORICAL, weighted=True, n_features_to_select=7).fit(X, y)
        with pytest.raises(ValueError, match="4 of them are categorical"):
            model.transform(X)
        numbers = ReliefF(categorical_features=[], weighted=True).fit(X, y)
        assert numbers.transform(X).shape[0] == 60

    @pytest.mark.parametrize(
        ("chosen", "message"),
        [
            ("all", "must be None, 'auto', 'from_dtype'"),
            (True, "must be None, 'auto', 'from_dtype'"),
            ([0.5], "must be None, 'auto', 'from_dtype'"),
            ([[0]], "must be None, 'auto', 'from_dtype'"),
            ([7], "the features 0 to 6"),
            ([-1], "the features 0 to 6"),
            (["f1"], "the columns of X have none"),
            ([True, False], "has 2 entries, but X has 7"),
            ("from_dtype", "needs a DataFrame"),
        ],
    )
    def test_bad_choices(self, chosen, message):
        with pytest.raises(ValueError, match=message):
            ReliefF(categorical_features=chosen).fit(*mixed_table())

    def test_text_that_is_not_declared(self):
        _, y, data = self.frame()
        with pytest.raises(
            ValueError, match=r"Column 'f1' of X holds text.*categorical_features='from_dtype'"
        ):
            ReliefF().fit(data, y)
        with pytest.raises(ValueError, match="Column 'f3' of X holds text"):
            ReliefF(categorical_features=["f1"]).fit(data, y)
        with pytest.raises(ValueError, match="Column 1 of X holds text"):
            ReliefF().fit(data.to_numpy(), y)
        with pytest.raises(ValueError, match="'f9', which X does not have"):
            ReliefF(categorical_features=["f9"]).fit(data, y)
        with pytest.raises(ValueError, match="infinity"):
            ReliefF(categorical_features="from_dtype").fit(data.assign(f0=np.inf), y)
        with pytest.raises(ValueError, match="inconsistent"):
            ReliefF(categorical_features="from_dtype").fit(data, y[1:])

    def test_samples_of_weight_zero_leave(self):
        X, y = mixed_table()
        kept = np.arange(60) % 3 > 0
        X[~kept, 1] += 10
        some = ReliefF(categorical_features=CATEGORICAL).fit(X, y, sample_weight=kept.astype(float))
        alone = ReliefF(categorical_features=CATEGORICAL).fit(X[kept], y[kept])
        np.testing.assert_allclose(some.feature_weights_, alone.feature_weights_, atol=1e-14)


class TestProperties:
    def test_names_of_levels_and_order_of_rows_do_not_matter(self):
        X, y = mixed_table()
        expected = ReliefF(categorical_features=CATEGORICAL).fit(X, y).feature_weights_
        renamed = X.copy()
        renamed[:, 1] = 100.0 - 7.0 * X[:, 1]
        renamed[:, 3] = 1.0 - X[:, 3]
        order = np.random.default_rng(0).permutation(60)
        for table, classes in ((renamed, y), (X[order], y[order]), (X, 2 - y)):
            found = ReliefF(categorical_features=CATEGORICAL).fit(table, classes).feature_weights_
            np.testing.assert_allclose(found, expected, atol=1e-13)

    def test_two_levels_are_numbers(self):
        X, y = mixed_table(gaps=0.0)
        X[:, 5] = X[:, 0] > 0
        for scale in ("range", None):
            numeric = ReliefF(scale=scale).fit(X[:, [0, 3, 5]], y).feature_weights_
            found = ReliefF(scale=scale, categorical_features=[1, 2]).fit(X[:, [0, 3, 5]], y)
            np.testing.assert_array_equal(found.feature_weights_, numeric)

    @pytest.mark.parametrize("metric", METRICS)
    def test_counts_as_much_as_one_numeric_column(self, metric):
        """Among ten numeric columns: a categorical one of three levels is three points of equal distances."""
        random = np.random.default_rng(2)
        X = random.normal(size=(80, 11))
        y = random.integers(0, 2, 80)
        levels = random.integers(0, 3, 80)
        X[:, 4] = levels
        found = ReliefF(metric=metric, categorical_features=[4]).fit(X, y).feature_weights_
        scaled = oracle.scale_observed(X)
        scaled[:, 4] = 0.0
        apart = (levels[:, np.newaxis] != levels).astype(float)
        D, E = oracle.expected_distances(scaled, "manhattan" if metric == "manhattan" else "sqeuclidean")
        D = D + apart
        D = np.sqrt(D) if metric == "euclidean" else D
        if metric == "euclidean":
            E = np.sqrt(E)
        E[:, :, 4] = apart
        np.testing.assert_allclose(found, oracle.relieff_rows(D, E, y, 10).mean(axis=0), atol=1e-12)

    def test_standard_scaling_leaves_categories_alone(self):
        X, y = mixed_table(gaps=0.0)
        model = ReliefF(scale="standard", categorical_features=CATEGORICAL).fit(X, y)
        numeric = [0, 2, 5]
        scaled = X.copy()
        scaled[:, numeric] = (X[:, numeric] - X[:, numeric].mean(axis=0)) / X[:, numeric].std(axis=0)
        D, E = oracle.expected_distances(scaled, "manhattan", categorical=CATEGORICAL, classes=y)
        expected = oracle.relieff_rows(D, E, y, 10).mean(axis=0)
        np.testing.assert_allclose(model.feature_weights_, expected, atol=1e-12)


class TestAuto:
    """Columns that are categorical by their values."""

    def table(self, dtype=np.float64):
        random = np.random.default_rng(0)
        columns = {
            "genotype": random.integers(0, 3, 60),
            "ten": np.arange(60) % 10 - 4,
            "eleven": np.arange(60) % 11,
            "far apart": 1000 * (np.arange(60) % 4),
            "two": np.where(np.arange(60) % 2, 0.25, 7.5),
            "halves": np.arange(60) % 5 / 2,
            "number": random.normal(size=60),
        }
        X = np.column_stack(list(columns.values())).astype(dtype)
        return pd.DataFrame(X, columns=list(columns)), np.arange(60) // 30

    expected = np.array([True, True, False, True, True, False, False])

    def test_levels_are_few_whole_numbers_or_two_values(self):
        X, y = self.table()
        gaps = X.mask(np.random.default_rng(1).uniform(size=X.shape) < 0.1)
        for table in (X, gaps, X.to_numpy(), gaps.to_numpy(np.float32), X.to_numpy().tolist()):
            found = ReliefF(categorical_features="auto").fit(table, y)
            by_mask = ReliefF(categorical_features=self.expected).fit(table, y)
            np.testing.assert_array_equal(found.feature_weights_, by_mask.feature_weights_)
            np.testing.assert_array_equal(found._is_categorical, self.expected)

    def test_text_and_nullable_columns(self):
        X, y = self.table()
        X["word"] = np.array(["a", "b", "c"], dtype=object)[np.arange(60) % 3]
        X["ten"] = X["ten"].astype("Int64").mask(np.arange(60) % 7 == 0)
        found = ReliefF(categorical_features="auto").fit(X, y)
        np.testing.assert_array_equal(found._is_categorical, [*self.expected, True])

    @pytest.mark.parametrize("dtype", [np.int8, np.uint8, bool, np.int64])
    def test_integers_of_all_types(self, dtype):
        X = (np.arange(120).reshape(60, 2) % [3, 11]).astype(dtype)
        found = ReliefF(categorical_features="auto").fit(X, np.arange(60) % 2)
        assert found._is_categorical.tolist() == [True, dtype is bool]

    def test_many_columns(self):
        X = np.random.default_rng(2).integers(0, 3, (40, 600)).astype(np.int8)
        X[:, 300] = np.arange(40)
        found = ReliefF(categorical_features="auto").fit(X, np.arange(40) % 2)
        assert np.flatnonzero(~found._is_categorical).tolist() == [300]

    def test_the_rule_is_that_of_the_scans(self):
        X, y = self.table()
        by_rule = HighRelief(random_state=0).fit(X, y)
        by_auto = HighRelief(categorical_features="auto", random_state=0).fit(X, y)
        np.testing.assert_array_equal(by_rule.local_weight_, by_auto.local_weight_)
        np.testing.assert_array_equal(by_auto._is_categorical, self.expected)

    def test_new_samples_have_the_levels_of_the_fit(self):
        X, y = self.table()
        model = ReliefF(categorical_features="auto").fit(X, y)
        model.margins(X[:5].assign(genotype=[0, 1, 2, 1, 0]), y[[0, 0, 0, 40, 40]])
        np.testing.assert_array_equal(model._is_categorical, self.expected)

    def test_elimination_decides_once(self):
        X, y = self.table()
        auto, mask = (
            IterativeElimination(ReliefF(categorical_features=each), n_features_to_select=2).fit(X, y)
            for each in ("auto", self.expected)
        )
        np.testing.assert_array_equal(auto.feature_weights_, mask.feature_weights_)

    def test_codes_of_many_columns_are_those_of_single_ones(self):
        random = np.random.default_rng(3)
        X = random.integers(-3, 9, (40, 600)).astype(np.float64) / 2.0
        X[random.uniform(size=X.shape) < 0.1] = np.nan
        features = np.flatnonzero(random.uniform(size=600) < 0.9)
        codes = level_codes_of_columns(X, features)
        for code, j in zip(codes, features, strict=True):
            np.testing.assert_array_equal(code, level_codes(X[:, j]))

    def test_no_categories_are_as_none(self):
        X, y = self.table()
        numbers = X[["number", "halves"]].to_numpy()
        weights = [
            ReliefF(categorical_features=each).fit(numbers, y).feature_weights_ for each in (None, "auto", [])
        ]
        np.testing.assert_array_equal(weights[0], weights[1])
        np.testing.assert_array_equal(weights[0], weights[2])


@pytest.mark.filterwarnings("default:All features of X are integers")
class TestWarning:
    """Genotypes that are taken as numbers."""

    def genotypes(self, n_samples=100, n_features=20):
        random = np.random.default_rng(0)
        return random.integers(0, 3, (n_samples, n_features)), random.integers(0, 2, n_samples)

    def warned(self, estimator, X, y):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            estimator.fit(X, y)
        return [each for each in caught if each.category is IntegerLevelsWarning]

    @pytest.mark.parametrize("method", [ReliefF, SURF, RReliefF])
    @pytest.mark.parametrize("dtype", [np.int8, np.float64])
    def test_names_the_parameter_once(self, method, dtype):
        X, y = self.genotypes()
        (found,) = self.warned(method(), X.astype(dtype), y)
        assert "categorical_features='auto'" in str(found.message)
        assert found.filename == __file__

    @pytest.mark.parametrize("chosen", ["auto", [], [0]])
    def test_a_choice_is_no_reason(self, chosen):
        assert not self.warned(ReliefF(categorical_features=chosen), *self.genotypes())

    @pytest.mark.parametrize("method", [HighRelief, PairScan])
    def test_scans_count_levels(self, method):
        assert not self.warned(method(), *self.genotypes(n_features=5))

    def test_not_beside_numbers_of_binary_features_or_of_few_samples(self):
        X, y = self.genotypes()
        for table in (np.column_stack([X, np.arange(100)]), np.column_stack([X, X * 0.3]), X > 0):
            assert not self.warned(ReliefF(), table, y)
        assert not self.warned(ReliefF(), X[:20], np.arange(20) % 2)

    def test_says_the_same_in_every_round(self):
        """So that Python shows it once."""
        X, y = self.genotypes()
        found = self.warned(IterativeElimination(ReliefF(), n_features_to_select=2), X, y)
        assert len({str(each.message) for each in found}) == 1
