"""What every weighter tells about its features, and what its errors tell about other methods."""

import sys

import numpy as np
import pytest
from scipy import sparse

from highrelief import (
    SURF,
    ErrorControlledSelector,
    FisherScore,
    HighRelief,
    IRelief,
    IterativeElimination,
    PairScan,
    RedundancyFilter,
    ReliefF,
    RReliefF,
    report,
)
from highrelief.base.selector import alternatives, takes_categories, takes_missing, takes_sparse
from highrelief.datasets import make_xor

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def xor():
    X, y, _ = make_xor(120, n_irrelevant=6, random_state=0)
    return pd.DataFrame(X, columns=[f"g{j}" for j in range(8)]), y


class TestToFrame:
    @pytest.mark.parametrize(
        ("model", "columns"),
        [
            (ReliefF(n_features_to_select=2), []),
            (
                HighRelief(random_state=0),
                ["pvalue", "adjusted_pvalue", "qvalue", "found_by", "partner", "local_weight"],
            ),
            (
                PairScan(n_permutations=9, random_state=0),
                ["pvalue", "adjusted_pvalue", "partner", "single", "interaction", "interaction_partner"],
            ),
            (
                ErrorControlledSelector(n_permutations=20, random_state=0),
                ["pvalue", "qvalue", "statistic"],
            ),
            (IterativeElimination(ReliefF()), ["eliminated_in"]),
            (RedundancyFilter(ReliefF()), ["group", "similarity"]),
        ],
        ids=lambda each: type(each).__name__,
    )
    def test_has_a_row_per_feature_best_first(self, xor, model, columns):
        X, y = xor
        frame = model.fit(X, y).to_frame()
        assert frame.columns.tolist() == ["feature", "weight", "rank", "support", *columns]
        assert frame["rank"].is_monotonic_increasing
        in_order = frame.set_index("feature").loc[X.columns]
        np.testing.assert_array_equal(in_order["weight"], model.feature_weights_)
        np.testing.assert_array_equal(in_order["rank"], model.ranking_)
        np.testing.assert_array_equal(in_order["support"], model.get_support())

    def test_names_partners(self, xor):
        X, y = xor
        frame = HighRelief(random_state=0).fit(X, y).to_frame().set_index("feature")
        assert frame.loc["g0", "partner"] == "g1"
        assert frame.loc["g1", "partner"] == "g0"
        assert frame["partner"].isna().sum() == 6

    def test_without_pandas_says_what_to_install(self, xor, monkeypatch):
        model = ReliefF().fit(*xor)
        monkeypatch.setitem(sys.modules, "pandas", None)
        with pytest.raises(ImportError, match=r"to_frame needs pandas, .*: pip install pandas"):
            model.to_frame()


class TestErrorsNameOtherMethods:
    def test_about_sparse_input(self, xor):
        X, y = sparse.csr_array(xor[0].to_numpy()), xor[1]
        with pytest.raises(
            TypeError, match=r"^SURF does not support sparse X; use X.toarray\(\), or .*ReliefF"
        ):
            SURF().fit(X, y)
        with pytest.raises(TypeError, match=r"^RReliefF does not support sparse X; use X.toarray\(\)\.$"):
            RReliefF().fit(X, y + 0.5)

    def test_about_missing_values(self, xor):
        X = xor[0].to_numpy().copy()
        X[0, 0] = np.nan
        message = r"^Input X contains NaN. FisherScore does not support .*SimpleImputer, or use .*ReliefF"
        with pytest.raises(ValueError, match=message) as error:
            FisherScore().fit(X, xor[1])
        assert "HistGradientBoosting" not in str(error.value)
        assert "RReliefF" not in str(error.value)

    def test_about_text(self, xor):
        X = xor[0].assign(town=["Bern", "Ulm", "Graz"] * 40)
        message = (
            r"^Column 'town' of X contains text .*, which IRelief does not .*HighRelief.* with categorical"
        )
        with pytest.raises(ValueError, match=message):
            IRelief().fit(X, xor[1])
        with pytest.raises(ValueError, match=r"^Column 1 of X contains text"):
            IRelief().fit(np.array([[1.0, "a"], [2.0, "b"], [3.0, "c"]], dtype=object), [0, 1, 0])

    @pytest.mark.parametrize("model", [IRelief(), ReliefF(), FisherScore(), HighRelief()], ids=str)
    def test_about_a_continuous_target(self, xor, model):
        y = np.linspace(0.0, 1.0, 120)
        with pytest.raises(ValueError, match=r"^Unknown label type: continuous\. .*; use RReliefF.* for a"):
            model.fit(xor[0], y)

    def test_from_the_tags_of_the_methods(self):
        assert "PairScan" in alternatives(takes_categories, continuous_target=False)
        assert alternatives(takes_missing, continuous_target=True).startswith("RReliefF")
        assert alternatives(takes_sparse, continuous_target=True) == ""


class TestManyFeatures:
    """By default all features of positive weight are kept, which on a wide table are thousands."""

    @pytest.fixture(scope="class")
    def noise(self):
        rng = np.random.default_rng(0)
        return rng.normal(size=(30, 400)), np.arange(30) % 2

    def test_kept_by_default_warn(self, noise):
        model = ReliefF().fit(*noise)
        n_kept = int((model.feature_weights_ > 0.0).sum())
        message = f"transform keeps all {n_kept} of 400 features that have a positive weight"
        with pytest.warns(UserWarning, match=message):
            assert model.transform(noise[0]).shape == (30, n_kept)

    @pytest.mark.parametrize(
        "model",
        [ReliefF(n_features_to_select=200), ReliefF(weighted=True), HighRelief(random_state=0)],
        ids=str,
    )
    def test_kept_on_purpose_do_not(self, noise, model, recwarn):
        model.fit(*noise).transform(noise[0])
        assert not [each for each in recwarn.list if "transform keeps" in str(each.message)]


class TestClassesOfOneSample:
    def test_warn(self, xor):
        y = xor[1].copy()
        y[0] = 7
        with pytest.warns(UserWarning, match=r"y has 1 of 3 classes with one sample \(7\): without a hit"):
            ReliefF().fit(xor[0], y)

    def test_matter_only_where_hits_do(self, xor, recwarn):
        y = xor[1].copy()
        y[0] = 7
        FisherScore().fit(xor[0], y)
        assert not recwarn.list


def test_error_control_has_a_default_weighter(xor):
    found = ErrorControlledSelector(method="stability", random_state=0).fit(*xor)
    named = ErrorControlledSelector(ReliefF(), method="stability", random_state=0).fit(*xor)
    assert found.get_support(indices=True).tolist() == [0, 1]
    np.testing.assert_array_equal(found.feature_weights_, named.feature_weights_)
    assert isinstance(found.estimator_, ReliefF)
    assert str(found) == "ErrorControlledSelector(method='stability', random_state=0)"


def test_a_report_takes_what_the_estimator_takes(xor):
    pytest.importorskip("jinja2", reason="the report needs the extra 'cli'")
    X, y = sparse.csr_matrix(np.maximum(xor[0].to_numpy(), 0.0)), xor[1]
    model = ReliefF().fit(X, y)
    options = {"resamples": 0, "interactions": False}
    assert "<html" in report(model, X, y, **options).html
