"""Reports of tables with missing values, categories, and targets that are numbers."""

import dataclasses
import json

import numpy as np
import pytest

from highrelief import EnsembleWeighting, FisherScore, ReliefF, RReliefF, report
from highrelief.inspection.report.features import univariate_ranks
from highrelief.inspection.report.inputs import describe_tertiles, report_inputs, tertiles
from highrelief.inspection.report.report import report_contents as contents
from highrelief.selection.redundancy import pairwise_pearson, pearson


def mixed_table(seed=0, n_samples=80):
    """Two categories that act together, numbers, and holes in all of them."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [rng.integers(0, 4, n_samples), rng.integers(1, 3, n_samples), rng.normal(size=(n_samples, 4))]
    )
    y = ((X[:, 0] >= 2) ^ (X[:, 1] == 2)).astype(int)
    X[rng.random(X.shape) < 0.06] = np.nan
    return X, y


def plain_inputs(estimator, X, y):
    return report_inputs(estimator.fit(X, y), X, y, feature_names=None, sample_names=None)


class TestMissing:
    def test_is_told_feature_by_feature(self):
        X, y = mixed_table()
        estimator = ReliefF().fit(X, y)
        found = report(estimator, X, y, resamples=4).contents
        order = np.argsort(estimator.ranking_, kind="stable")
        assert found.features.missing == np.isnan(X).mean(axis=0)[order].tolist()
        share = f"{100 * np.isnan(X).mean():.0f} %"
        assert found.summary[1].startswith(f"{share} of the values are missing, in 6 features, at most ")
        assert ("Missing values", share) in found.facts
        assert found.stability is not None
        json.dumps(dataclasses.asdict(found), allow_nan=False)

    def test_is_not_told_where_nothing_is(self):
        X, y = mixed_table()
        found = report(ReliefF().fit(np.nan_to_num(X), y), np.nan_to_num(X), y, resamples=0).contents
        assert found.features.missing is None
        assert not any("missing" in sentence for sentence in found.summary)

    def test_is_refused_where_the_method_does_not_take_it(self):
        X, y = mixed_table()
        with pytest.raises(ValueError, match="contains NaN"):
            report(FisherScore().fit(np.nan_to_num(X), y), X, y)

    def test_boxes_are_those_of_what_is_there(self):
        X, y = mixed_table()
        X[y == 1, 5] = np.nan
        found = report(ReliefF().fit(X, y), X, y, resamples=0).contents
        by_name = {each.feature: each for each in found.distributions}
        for place, name in ((2, "x2"), (3, "x3")):
            for c in (0, 1):
                expected = np.nanquantile(X[y == c, place], [0, 0.25, 0.5, 0.75, 1])
                np.testing.assert_allclose(by_name[name].boxes[c], expected)
                assert not np.isnan(by_name[name].points[c]).any()
        assert by_name["x5"].boxes[1] == []

    def test_correlations_are_of_the_samples_that_have_both(self):
        X, _ = mixed_table()
        X[:, 2] = np.nan
        X[:3, 2] = [1.0, 2.0, 4.0]
        X[:5, 3] = np.nan
        found = pairwise_pearson(X)
        both = ~np.isnan(X[:, 4]) & ~np.isnan(X[:, 5])
        assert found[4, 5] == pytest.approx(np.corrcoef(X[both, 4], X[both, 5])[0, 1])
        assert np.isnan(found[2, 3])
        full = np.nan_to_num(X)
        np.testing.assert_allclose(pairwise_pearson(full), pearson(full))


class TestCategories:
    def test_are_shown_by_their_shares(self):
        X, y = mixed_table()
        estimator = ReliefF(categorical_features=[0, 1]).fit(X, y)
        found = contents(
            estimator,
            X,
            y,
            resamples=4,
            feature_names=["town", "grade", "a", "b", "c", "d"],
            value_labels={"town": ["Bern", "Graz", "Linz", "Ulm"]},
        )
        assert set(found.features.names[:2]) == {"town", "grade"}
        shown = {each.feature: each for each in found.distributions}
        assert shown["town"].levels == ["Bern", "Graz", "Linz", "Ulm"]
        assert shown["grade"].levels == ["1", "2"]
        known = X[(y == 0) & ~np.isnan(X[:, 0]), 0]
        np.testing.assert_allclose(shown["town"].shares[0], [(known == code).mean() for code in range(4)])
        assert shown["a"].levels == []
        assert sorted(found.correlations.names) == ["a", "b", "c", "d"]
        assert "2 categories among the best have no correlations and are left out here." in (
            found.correlations.words
        )
        assert found.stability is not None, found.absent

    def test_many_values_are_taken_together(self):
        X, y = mixed_table()
        X[:, 0] = np.arange(len(X)) % 20
        found = report(ReliefF(categorical_features=[0]).fit(X, y), X, y, resamples=0).contents
        [shown] = [each for each in found.distributions if each.feature == "x0"]
        assert len(shown.levels) == 8
        assert shown.levels[-1] == "13 others"
        np.testing.assert_allclose(np.sum(shown.shares, axis=1), 1.0)

    def test_categories_only(self):
        X, y = mixed_table()
        found = report(ReliefF(categorical_features=[0, 1]).fit(X[:, :2], y), X[:, :2], y, resamples=0)
        assert found.contents.absent["correlations"].startswith("Categories have no correlations")

    def test_two_words_that_count_as_numbers_are_shown_as_words(self):
        X, y = mixed_table()
        X[:, 1] -= 1.0
        words = {"x1": ["no", "yes"]}
        found = contents(ReliefF().fit(X, y), X, y, resamples=0, value_labels=words)
        [shown] = [each for each in found.distributions if each.feature == "x1"]
        assert (shown.feature, shown.levels) == ("x1", ["no", "yes"])
        assert "x1" in found.correlations.names
        # A median stands for what is missing, between the two.
        filled = np.where(np.isnan(X), 0.5, X)
        found = contents(FisherScore().fit(filled, y), filled, y, resamples=0, value_labels=words)
        assert not any("yes" in each.levels for each in found.distributions)

    def test_frames_say_which_they_are(self):
        pd = pytest.importorskip("pandas")
        X, y = mixed_table()
        towns = np.array(["Bern", "Graz", "Linz", "Ulm"], dtype=object)
        town = [None if np.isnan(code) else towns[int(code)] for code in X[:, 0]]
        frame = pd.DataFrame({"town": town, "stage": X[:, 1], "a": X[:, 2], "b": X[:, 3]})
        estimator = ReliefF(categorical_features="from_dtype").fit(frame, y)
        coded = ReliefF(categorical_features=[0]).fit(X[:, :4], y)
        found, expected = (
            report(each, table, y, resamples=4).contents
            for each, table in ((estimator, frame), (coded, X[:, :4]))
        )
        assert found.features.weights == pytest.approx(expected.features.weights)
        assert found.features.rank_high == expected.features.rank_high
        [shown] = [each for each in found.distributions if each.feature == "town"]
        assert (shown.feature, shown.levels) == ("town", towns.tolist())
        assert found.samples.margins == pytest.approx(expected.samples.margins)

    @pytest.mark.slow
    def test_inside_another_estimator(self):
        X, y = mixed_table()
        estimator = EnsembleWeighting(ReliefF(categorical_features=[0, 1]), n_estimators=3, random_state=0)
        found = report(estimator.fit(X, y), X, y, resamples=4).contents
        assert sum(bool(each.levels) for each in found.distributions) == 2
        assert found.stability is not None, found.absent


class TestAlone:
    def test_is_the_fisher_score_where_nothing_is_missing(self):
        X, y = mixed_table()
        X[:, :2] = np.nan_to_num(X[:, :2])
        X = X[~np.isnan(X).any(axis=1)]
        y = y[: len(X)]
        expected = FisherScore().fit(X, y).ranking_
        assert univariate_ranks(plain_inputs(ReliefF(), X, y)).tolist() == expected.tolist()
        # A category of two values scores as the numbers 0 and 1 do.
        two = plain_inputs(ReliefF(categorical_features=[1]), X, y)
        if np.unique(X[:, 1]).size == 2:
            assert univariate_ranks(two).tolist() == expected.tolist()

    def test_what_is_missing_takes_no_part(self):
        rng = np.random.default_rng(1)
        X, y = rng.normal(size=(60, 4)), np.arange(60) % 2
        X[:, 0] += 3.0 * y
        X[:, 1] += 1.0 * y
        X[::3, 0] = np.nan
        ranks = univariate_ranks(plain_inputs(ReliefF(), X, y))
        scores = []
        for place in range(4):
            known = ~np.isnan(X[:, place])
            scores.append(FisherScore().fit(X[known][:, [place]], y[known]).feature_weights_[0])
        assert ranks.tolist() == (np.argsort(np.argsort(-np.array(scores))) + 1).tolist()

    def test_the_order_of_the_numbers_of_a_category_does_not_matter(self):
        X, y = mixed_table(n_samples=200)
        y = (np.nan_to_num(X[:, 0]) % 2).astype(int)
        found = univariate_ranks(plain_inputs(ReliefF(categorical_features=[0, 1]), X, y))
        other = X.copy()
        other[:, 0] = np.array([3.0, 1.0, 0.0, 2.0, np.nan])[np.nan_to_num(X[:, 0], nan=4.0).astype(int)]
        again = univariate_ranks(plain_inputs(ReliefF(categorical_features=[0, 1]), other, y))
        assert found.tolist() == again.tolist()
        assert found[0] == 1

    def test_a_target_that_is_a_number(self):
        rng = np.random.default_rng(2)
        X = rng.normal(size=(90, 5))
        y = X[:, 3] - 0.5 * X[:, 1] + 0.1 * rng.normal(size=90)
        expected = [np.corrcoef(X[:, place], y)[0, 1] ** 2 for place in range(5)]
        ranks = univariate_ranks(plain_inputs(RReliefF(), X, y))
        assert ranks.tolist() == (np.argsort(np.argsort(-np.array(expected))) + 1).tolist()


class TestNumericTarget:
    @pytest.fixture
    def table(self):
        rng = np.random.default_rng(0)
        X = rng.uniform(size=(150, 8))
        return X, np.cos(6 * X[:, 0]) * np.sin(6 * X[:, 1])

    def test_has_words_of_its_own(self, table):
        X, y = table
        found = report(RReliefF().fit(X, y), X, y, resamples=6).contents
        assert "relation to the target, a number between" in found.summary[0]
        assert not any("class" in sentence for sentence in found.summary)
        assert found.facts[1][0] == "Target"
        assert set(found.features.names[:2]) == {"x0", "x1"}
        assert found.features.univariate_score == "the squared correlation with the target"
        assert found.samples is None
        assert found.absent["samples"].startswith("The target is a number")
        assert "class by class" not in " ".join(found.stability.words)
        assert found.stability.selection.value is not None
        assert found.classes == ["lower", "middle", "upper"]
        assert found.class_sizes == [50, 50, 50]
        expected = np.quantile(X[y <= np.sort(y)[49], 0], 0.5)
        [shown] = [each for each in found.distributions if each.feature == "x0"]
        assert shown.boxes[0][2] == pytest.approx(expected)
        json.dumps(dataclasses.asdict(found), allow_nan=False)

    def test_the_page_speaks_of_thirds(self, table):
        pytest.importorskip("jinja2")
        X, y = table
        page = report(RReliefF().fit(X, y), X, y, resamples=0).html
        assert "Best features, third by third" in page
        assert describe_tertiles(y) in page
        assert "alike within a class" not in page

    def test_few_different_targets(self, table):
        X, _ = table
        y = np.where(X[:, 0] > 0.5, 1.0, 0.0)
        found = report(RReliefF().fit(X, y), X, y, resamples=4).contents
        assert sum(found.class_sizes) == len(y)
        json.dumps(dataclasses.asdict(found), allow_nan=False)

    def test_too_few_samples_to_be_halved(self, table):
        X, y = table
        found = report(RReliefF(n_neighbors=2).fit(X[:6], y[:6]), X[:6], y[:6]).contents
        assert found.stability is None
        assert "few samples, so that" in " ".join(found.summary)


def test_thirds_hold_equal_targets_together():
    assert tertiles(np.arange(9.0)).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert tertiles(np.array([1.0, 1.0, 1.0, 1.0, 2.0])).tolist() == [0, 0, 0, 0, 2]
