"""What the page of a comparison says, against numbers made by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from comparison_contents import NAMES, small_comparison, small_origin

from highrelief.inspection.comparison import Comparison, difference_interval
from highrelief.inspection.report.comparison import comparison_contents, is_apart
from highrelief.inspection.report.contents import Estimate

#: 97.5 % quantile of Student's t with 3 degrees of freedom, from a printed table.
T3 = 3.182446


@pytest.fixture(scope="module")
def contents():
    return comparison_contents(small_comparison(), small_origin(), feature_names=NAMES)


def judged(contents, name, classifier="knn"):
    found = next(each for each in contents.methods if each.name == name)
    return next(each for each in found.classifier_results if each.classifier == classifier)


def test_differences_are_taken_fold_by_fold(contents):
    # 0.4, 0.4, 0.4, 0.5: variance 0.0025; the correction is 1/4 + 10/30.
    half = T3 * math.sqrt((1 / 4 + 1 / 3) * 0.0025)
    gain = judged(contents, "irelief").gain
    assert gain.value == pytest.approx(0.425)
    assert gain.lower == pytest.approx(0.425 - half, rel=1e-6)
    assert gain.upper == pytest.approx(0.425 + half, rel=1e-6)
    assert judged(contents, "irelief").behind == Estimate(0.0, None, None)
    # 0.1, -0.1, 0.1, 0.1: chance gives as much.
    assert judged(contents, "fisher").behind.value == pytest.approx(0.05)
    assert not is_apart(judged(contents, "fisher").behind)
    assert is_apart(judged(contents, "other").behind)


def test_a_difference_that_is_the_same_in_all_folds_tells_nothing_of_chance():
    low, high = difference_interval(np.array([0.1, 0.3 - 0.2, 0.7 - 0.6]), np.full(3, 20), np.full(3, 10))
    assert np.isnan([low, high]).all()
    assert np.isnan(difference_interval(np.array([0.1]), np.array([20]), np.array([10]))).all()


def test_numbers_are_those_of_the_comparison(contents):
    irelief, fisher, _, baseline = contents.methods
    assert irelief.words == "I-RELIEF: margins under the weights they make; nothing to tune"
    assert irelief.n_features == Estimate(2.0, 1.0, 2.0)
    assert irelief.ranking_stability == 1.0
    # Two rankings one way, two the other: of six pairs two agree fully, four are opposite.
    assert fisher.ranking_stability == pytest.approx((2 - 4) / 6)
    assert irelief.seconds == pytest.approx(0.25)
    assert irelief.classifier_results[0].folds == [1.0, 0.9, 1.0, 1.0]
    assert irelief.classifier_results[0].accuracy.value == pytest.approx(0.975)
    assert irelief.classifier_results[0].tradeoff == pytest.approx(2 * 0.975 / 1.975)
    assert fisher.selection_stability.upper <= 1.0
    assert (baseline.is_baseline, baseline.seconds, baseline.ranking_stability) == (True, None, None)
    assert baseline.classifier_results[0].tradeoff is None
    assert baseline.selection_stability == Estimate(None, None, None)
    assert contents.facts[0] == ("Samples", "40")


def test_words_tell_what_chance_may_have_given(contents):
    knn, svm = contents.summary[1:3]
    assert knn.startswith("With knn, irelief is the most accurate: 97.5 % (95 % interval ")
    assert "Less accurate by more than chance gives: other (by 50.0 points)." in knn
    assert "For fisher the difference is within what chance gives." in knn
    assert knn.endswith(
        "all features reach 55.0 %; irelief and fisher are above that by more than chance gives."
    )
    assert svm.startswith("With linear-svm, fisher is the most accurate: 82.5 %")
    assert "For irelief and other the difference is within what chance gives." in svm
    assert svm.endswith("all features reach 82.5 %; no difference from that is beyond what chance gives.")
    assert (
        "that of fisher most: between folds the ranks correlate by 1.00 and \N{MINUS SIGN}0.33"
        in contents.summary[3]
    )
    assert contents.summary[4] == ("The fewest features are kept by fisher: 1 in every fold.")


def test_features_that_most_methods_keep_come_first(contents):
    chosen = contents.chosen
    assert chosen.methods == ["irelief", "fisher", "other"]
    # All three keep alpha in half of the folds or more; beta is kept by two, gamma and delta by one each.
    assert chosen.features == ["alpha", "beta", "gamma", "delta"]
    assert chosen.shares == [[1.0, 0.5, 1.0], [0.75, 0.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.5, 0.0]]
    assert chosen.ranks[0] == [1.0, 2.5, 1.0]
    # "other" has no weight for delta in most folds.
    assert chosen.ranks[3] == [4.0, 2.5, None]
    assert chosen.words == [
        "4 features are kept in at least half of the folds by one method or more, 1 by all 3."
    ]


def test_names_must_fit():
    with pytest.raises(ValueError, match="feature_names has 1 names; the comparison is of 4 features"):
        comparison_contents(small_comparison(), small_origin(), feature_names=["a"])
    unnamed = comparison_contents(small_comparison(), small_origin())
    assert unnamed.chosen.features[0] == "x0"


def test_one_method_is_not_called_the_best():
    small = small_comparison()
    alone = comparison_contents(
        Comparison([small.methods[0], small.methods[-1]], small.folds), small_origin()
    )
    assert alone.summary[0].startswith("One method chose among 4 features: irelief. In each of 4 folds")
    assert alone.summary[1].startswith("With knn, irelief reaches 97.5 % (95 % interval ")
    assert len(alone.summary) == 3
    assert alone.chosen.words == ["2 features are kept in at least half of the folds."]


def test_equals_are_not_set_against_each_other():
    """The same method twice, by two names: none is more stable, or keeps fewer."""
    whole = small_comparison()
    twin = replace(whole.methods[0], name="twin")
    found = comparison_contents(
        Comparison([whole.methods[0], twin, whole.methods[-1]], whole.folds), small_origin()
    )
    told = " ".join(found.summary)
    assert "irelief and twin are equally accurate" in told
    assert "The rankings of irelief and twin depend equally on which samples are drawn" in told
    assert "All methods keep equally many features: 2 on median, 1 to 2 over the folds." in told
    assert found.chosen.words[0].endswith("2 by both.")
