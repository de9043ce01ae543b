"""What is wrapped around weighters, and what is done after a fit, with tables that Dask holds."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import dask_cluster
import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import highrelief
from highrelief import (
    DANN,
    FREL,
    IM4E,
    LFE,
    LOGO,
    SURF,
    CrossValidatedSelector,
    EnsembleWeighting,
    ErrorControlledSelector,
    FisherScore,
    GFlip,
    HKNNClassifier,
    IRelief,
    IterativeElimination,
    KernelWidthCV,
    LHRelief,
    Lmba,
    MultiSURF,
    MultiSURFStar,
    OnlineIRelief,
    RedundancyFilter,
    ReliefF,
    RReliefF,
    Simba,
    SURFStar,
    VarianceReduction,
)
from highrelief.datasets import make_xor
from highrelief.inspection.comparison import compare
from highrelief.selection.knockoffs import decide_by_knockoffs

da = pytest.importorskip("dask.array", reason="needs the extra 'dask'")
dask = pytest.importorskip("dask")


@pytest.fixture(autouse=True)
def by_columns():
    with dask.config.set({"highrelief.partition": "columns"}):
        yield


@pytest.fixture(scope="module")
def table():
    X, y, _ = make_xor(90, n_irrelevant=700, random_state=0)
    return X, np.array(["no", "yes"])[y]


@pytest.fixture(scope="module")
def clear():
    """A table with features that are found, where they are not scaled."""
    X, y, _ = make_xor(150, n_irrelevant=20, random_state=0)
    more = np.random.default_rng(0).random((150, 580))
    return np.hstack([X, 0.05 * more]), y


@pytest.fixture(scope="module")
def held(table):
    """The same table in six chunks."""
    return da.from_array(table[0], chunks=(45, 260))


@pytest.fixture(scope="module")
def frame(table):
    """The same table as a data frame."""
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    names = [f"gene{j}" for j in range(table[0].shape[1])]
    return dd.from_pandas(pd.DataFrame(table[0], columns=names), npartitions=3)


@pytest.fixture(scope="module")
def cluster():
    """A cluster of two processes; Dask uses it while its client is the current one."""
    pytest.importorskip("distributed")
    with dask_cluster.cluster(set_as_default=False, memory_limit="2GiB") as client:
        yield client


def _never(block):
    raise AssertionError("a block was looked at")


@pytest.fixture(scope="module")
def untouchable(table):
    """A table none of whose blocks may be looked at."""
    X, _ = table
    return da.from_array(X[:, :30], chunks=(45, 10)).map_blocks(_never, dtype=X.dtype, meta=X[:0, :0])


def same_weights(ours, other):
    scale = np.linalg.norm(other.feature_weights_)
    assert np.linalg.norm(ours.feature_weights_ - other.feature_weights_) <= 1e-10 * scale


def same_subsets(ours, other):
    for rows, expected in zip(ours.estimators_samples_, other.estimators_samples_, strict=True):
        assert np.array_equal(rows, expected)


class TestEnsembles:
    """Members are fits to rows of a table that stays with Dask."""

    @pytest.mark.parametrize(
        ("estimator", "aggregate"),
        [
            (ReliefF(), "weights"),
            (ReliefF(), "ranks"),
            (IRelief(sigma=1.0), "weights"),
            (LOGO(max_iter=3), "weights"),
        ],
    )
    def test_the_answer_is_that_of_the_table_in_memory(self, table, held, estimator, aggregate):
        ensemble = EnsembleWeighting(estimator, n_estimators=3, aggregate=aggregate, random_state=0)
        here, there = clone(ensemble).fit(*table), clone(ensemble).fit(held, table[1])
        same_weights(there, here)
        assert there.member_weights_.shape == here.member_weights_.shape
        same_subsets(there, here)
        assert there.classes_.tolist() == ["no", "yes"]
        assert there.execution_["backend"] == "dask threads"
        assert there.execution_["partition"] == "columns"
        assert there.execution_["n_blocks"] > 1
        assert here.execution_ == {"backend": "threads", "n_at_a_time": 1}

    def test_margins_of_samples_left_out(self, table, held):
        ensemble = EnsembleWeighting(IRelief(sigma=1.0), n_estimators=3, max_samples=0.7, random_state=0)
        here, there = clone(ensemble).fit(*table), clone(ensemble).fit(held, table[1])
        of_fit, again = here.left_out_margins(*table), there.left_out_margins(held, table[1])
        assert np.isnan(of_fit).any()
        assert not np.isnan(of_fit).all()
        np.testing.assert_allclose(again, of_fit, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(there.margins(held, table[1]), here.margins(*table), rtol=1e-9, atol=1e-12)

    def test_weights_classes_and_groups_may_be_held_too(self, table, held):
        X, y = table
        weights, groups = np.arange(90) % 4 + 0.0, np.arange(90) // 3
        ensemble = EnsembleWeighting(ReliefF(), n_estimators=3, random_state=0)
        here = clone(ensemble).fit(X, y, sample_weight=weights, groups=groups)
        lazily = [da.from_array(each, chunks=30) for each in (y, weights, groups)]
        there = clone(ensemble).fit(held, lazily[0], sample_weight=lazily[1], groups=lazily[2])
        same_weights(there, here)
        assert (there.left_out_counts_ == here.left_out_counts_).all()

    @pytest.mark.parametrize("estimator", [ReliefF(), EnsembleWeighting(ReliefF(), n_estimators=2)])
    def test_they_may_be_held_where_the_table_is_not(self, table, estimator):
        X, y = table
        weights = np.arange(90) % 4 + 0.0
        here = clone(estimator).set_params(random_state=0) if "random_state" in vars(estimator) else estimator
        there = clone(here).fit(X, da.from_array(y, chunks=30), sample_weight=da.from_array(weights))
        same_weights(there, clone(here).fit(X, y, sample_weight=weights))

    def test_subsets_of_equal_samples_are_drawn_again(self):
        # All but two samples are the same: most pairs of samples cannot be fitted.
        X = np.zeros((12, 600))
        X[0, :7], X[1, 590] = 1.0, -1.0
        X[5, 3] = -0.0
        y = np.arange(12) % 2
        ensemble = EnsembleWeighting(ReliefF(), n_estimators=5, max_samples=3, random_state=0)
        here, there = clone(ensemble).fit(X, y), clone(ensemble).fit(da.from_array(X, chunks=(6, 300)), y)
        same_subsets(there, here)
        assert all(np.isin([0, 1], each).any() for each in there.estimators_samples_)

    def test_an_ensemble_may_be_inside(self, table, held):
        ensemble = EnsembleWeighting(
            EnsembleWeighting(ReliefF(), n_estimators=2), n_estimators=2, random_state=0
        )
        same_weights(clone(ensemble).fit(held, table[1]), clone(ensemble).fit(*table))

    def test_elimination_takes_columns_of_it(self, table, held):
        turf = IterativeElimination(ReliefF(), n_features_to_select=20, step=0.4)
        here, there = clone(turf).fit(*table), clone(turf).fit(held, table[1])
        same_weights(there, here)
        assert (there.ranking_ == here.ranking_).all()
        np.testing.assert_allclose(there.margins(held, table[1]), here.margins(*table), rtol=1e-9, atol=1e-12)


class TestErrorControl:
    """Features that are real, found where the table lies."""

    def same(self, selector, X, y):
        here = clone(selector).fit(X, y)
        there = clone(selector).fit(da.from_array(X, chunks=(75, 300)), y)
        same_weights(there, here)
        # ReliefF's sums over many labelings are in float32, good to six digits.
        np.testing.assert_allclose(there.statistic_, here.statistic_, rtol=0.0, atol=1e-4)
        assert (there.get_support() == here.get_support()).all()
        return here, there

    @pytest.mark.slow
    @pytest.mark.parametrize("metric", ["manhattan", "euclidean", "sqeuclidean"])
    def test_permutations_all_at_once(self, clear, metric):
        # Where features are found there is a second round.
        weighter = ReliefF(metric=metric, scale=None)
        selector = ErrorControlledSelector(weighter, n_permutations=19, random_state=0)
        here, there = self.same(selector, *clear)
        assert here.n_features_ > 0
        assert there.execution_["permutations"] == here.execution_["permutations"] == "all at once"
        assert there.execution_["n_blocks"] > 1
        np.testing.assert_allclose(there.pvalues_, here.pvalues_, atol=2e-3)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "weighter",
        [IM4E(scale=None, max_iter=2), ReliefF(scale=None, n_anchors=100, random_state=0)],
        ids=str,
    )
    def test_permutations_by_refits(self, clear, weighter):
        selector = ErrorControlledSelector(weighter, n_permutations=9, level=0.3, random_state=0)
        here, there = self.same(selector, *clear)
        assert here.n_features_ > 0
        assert there.execution_["permutations"] == "refits"
        assert (there.pvalues_ == here.pvalues_).all()

    def test_halves_that_agree(self, clear):
        selector = ErrorControlledSelector(
            ReliefF(scale=None), method="stability", options={"n_pairs": 4}, level=0.4, random_state=0
        )
        here, there = self.same(selector, *clear)
        assert (there.selection_probability_ == here.selection_probability_).all()


class TestTransform:
    """Columns are kept without a look at them."""

    @pytest.fixture
    def nothing_computed(self):
        def refuse(*args, **kwargs):
            raise AssertionError("something was computed")

        with dask.config.set(scheduler=refuse):
            yield

    @pytest.mark.parametrize("weighted", [False, "manhattan", "euclidean"])
    @pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
    def test_of_arrays(self, table, held, weighted, dtype, request):
        X, y = (100 * table[0]).astype(dtype), table[1]
        fitted = ReliefF(n_features_to_select=300, weighted=weighted).fit(X, y)
        expected = fitted.transform(X)
        lazily = da.from_array(X, chunks=(45, 260))
        request.getfixturevalue("nothing_computed")
        found = fitted.transform(lazily)
        assert isinstance(found, da.Array)
        assert found.shape == expected.shape
        assert found.dtype == expected.dtype
        assert np.array_equal(found.compute(scheduler="sync"), expected)

    def test_of_data_frames(self, table, frame, request):
        fitted = ReliefF(n_features_to_select=5).fit(frame, table[1])
        assert fitted.feature_names_in_.tolist() == frame.columns.tolist()
        request.getfixturevalue("nothing_computed")
        kept = fitted.transform(frame)
        assert type(kept) is type(frame)
        assert kept.columns.tolist() == fitted.get_feature_names_out().tolist()
        weighed = fitted.set_params(weighted=True).transform(frame)
        assert isinstance(weighed, da.Array)
        same = clone(fitted).fit(*table).transform(table[0])
        np.testing.assert_allclose(weighed.compute(scheduler="sync"), same, rtol=1e-12)
        values = table[0][:, fitted.get_support()]
        assert np.array_equal(kept.compute(scheduler="sync").to_numpy(), values)

    def test_of_extractors(self, table, held, frame, request):
        fitted = LFE(n_components=3).fit(*table)
        expected = fitted.transform(table[0])
        request.getfixturevalue("nothing_computed")
        for X in (held, frame.to_dask_array()):
            found = fitted.transform(X)
            assert isinstance(found, da.Array)
            np.testing.assert_allclose(found.compute(scheduler="sync"), expected, rtol=1e-9, atol=1e-12)

    def test_fit_transform(self, table, held, frame):
        weighter = ReliefF(n_features_to_select=4)
        expected = clone(weighter).fit_transform(*table)
        found = clone(weighter).fit_transform(held, table[1])
        assert isinstance(found, da.Array)
        assert np.array_equal(found.compute(), expected)
        assert np.array_equal(clone(weighter).fit_transform(frame, table[1]).compute(), expected)
        ensemble = EnsembleWeighting(weighter, n_estimators=2, n_features_to_select=4, random_state=0)
        found = ensemble.fit_transform(frame, table[1])
        assert found.columns.tolist() == ensemble.get_feature_names_out().tolist()

    @pytest.mark.parametrize("estimator", [ReliefF(), ReliefF(weighted=True), LFE(n_components=2)])
    def test_other_columns_are_refused(self, table, frame, untouchable, estimator):
        fitted = clone(estimator).fit(frame, table[1])
        with pytest.raises(ValueError, match="feature names"):
            fitted.transform(frame[frame.columns[::-1]])
        with pytest.raises(ValueError, match="702 features"):
            clone(estimator).fit(*table).transform(untouchable)
        with pytest.raises(TypeError, match="gathered on the client"):
            fitted.set_output(transform="pandas").transform(frame)

    def test_as_the_first_step_of_a_pipeline(self, table, held):
        pipeline = make_pipeline(ReliefF(n_features_to_select=3), LogisticRegression())
        here, there = clone(pipeline).fit(*table), clone(pipeline).fit(held, table[1])
        assert np.array_equal(there.predict(held), here.predict(table[0]))


def test_new_samples_are_classified_by_rows(table, held, frame):
    X, y = table
    fitted = IM4E(sigma=0.5).fit(X, y)
    for given in (held, frame.to_dask_array()):
        assert (fitted.predict(given) == fitted.predict(X)).all()
        np.testing.assert_allclose(fitted.predict_proba(given), fitted.predict_proba(X), rtol=1e-12)
    ensemble = EnsembleWeighting(IM4E(sigma=0.5), n_estimators=3, max_samples=0.7, random_state=0)
    here, there = clone(ensemble).fit(X, y), clone(ensemble).fit(held, y)
    assert there.left_out_score(held, y) == here.left_out_score(X, y)
    infinite = da.where(da.arange(X.shape[1], chunks=260) >= 0, np.inf, held)
    with pytest.raises(ValueError, match="infinity"):
        fitted.predict(infinite)


REFUSING = [
    Simba(),
    GFlip(),
    LHRelief(),
    SURF(),
    SURFStar(),
    MultiSURF(),
    MultiSURFStar(),
    RReliefF(),
    FisherScore(),
    FREL(),
    Lmba(),
    DANN(),
    HKNNClassifier(),
    OnlineIRelief(),
    KernelWidthCV(IRelief()),
    KernelWidthCV(LOGO()),
    KernelWidthCV(IM4E()),
    VarianceReduction(ReliefF()),
    CrossValidatedSelector(ReliefF()),
    RedundancyFilter(ReliefF()),
    ReliefF(categorical_features=[0]),
    EnsembleWeighting(ReliefF(categorical_features=[0])),
    EnsembleWeighting(Simba()),
    EnsembleWeighting(EnsembleWeighting(GFlip())),
    EnsembleWeighting(RandomForestClassifier()),
    IterativeElimination(LHRelief()),
    ErrorControlledSelector(SURF()),
    ErrorControlledSelector(ReliefF(), method="knockoff"),
]


class TestRefusals:
    """What does not work where a table lies says so, and does not bring it here."""

    @pytest.mark.parametrize("estimator", REFUSING, ids=str)
    def test_fit(self, untouchable, table, estimator):
        with pytest.raises(TypeError, match=r"does not take Dask arrays or data frames: .*compute"):
            clone(estimator).fit(untouchable, table[1])

    @pytest.mark.parametrize("estimator", [Simba(), GFlip(), LHRelief()], ids=str)
    def test_with_a_reason_of_their_own(self, untouchable, table, estimator):
        with pytest.raises(TypeError) as refusal:
            clone(estimator).fit(untouchable, table[1])
        assert "it works on tables in memory" not in str(refusal.value)

    def test_what_is_asked_after_a_fit(self, untouchable, table):
        X, y = table[0][:, :30], table[1]
        for estimator in (Simba(random_state=0), FisherScore(), OnlineIRelief(random_state=0)):
            with pytest.raises(TypeError, match="does not take Dask"):
                estimator.fit(X, y).inverse_transform(untouchable)
        with pytest.raises(TypeError, match="does not take Dask"):
            Lmba().fit(X, y).margins(untouchable, y)
        with pytest.raises(TypeError, match="does not take Dask"):
            HKNNClassifier().fit(X, y).predict(untouchable)
        with pytest.raises(TypeError, match="does not take Dask"):
            OnlineIRelief().partial_fit(untouchable, y, classes=["no", "yes"])

    @pytest.mark.parametrize(
        "ask",
        [
            lambda X, y: compare({"relieff": ReliefF()}, X, y),
            lambda X, y: highrelief.interactions(ReliefF(), X, y),
            lambda X, y: highrelief.report(ReliefF(), X, y),
            lambda X, y: decide_by_knockoffs(ReliefF(), X, y),
        ],
    )
    def test_functions(self, untouchable, table, ask):
        with pytest.raises(TypeError, match="does not take Dask"):
            ask(untouchable, table[1])

    def test_missing_values_are_told_of(self, table):
        X = table[0].copy()
        X[3, 4] = np.nan
        with pytest.raises(ValueError, match="Dask-backed X must not contain NaN"):
            EnsembleWeighting(ReliefF(), n_estimators=2).fit(da.from_array(X, chunks=(45, 260)), table[1])


@pytest.mark.parametrize(
    ("n_jobs", "more", "expected"),
    [
        (None, {}, 8),
        (-1, {}, 8),
        (3, {}, 3),
        (99, {}, 20),
        # Half of it has room for the table, of 1 GB, and two fits that take 2.5 GB each.
        (None, {"memory": 12e9}, 2),
        (None, {"memory": 0.0}, 8),
        (None, {"memory": 1e9}, 1),
        # Half of it has room for something of all pairs, which take 240 kB, of four fits.
        (None, {"least_memory": 2e6}, 4),
        (None, {"is_distributed": False}, 1),
    ],
)
def test_how_many_fits_are_under_way(n_jobs, more, expected):
    from highrelief._dask.table import n_concurrent_fits

    executor = SimpleNamespace(
        **{"is_distributed": True, "n_workers": 4, "memory": 1e12, "least_memory": 1e12} | more
    )

    class Table:
        nbytes, partition = 10**9, "columns"

        def __init__(self):
            self.executor = executor

        def __len__(self):
            return 100

    assert n_concurrent_fits(Table(), 20, n_jobs) == expected


class TogetherReliefF(ReliefF):
    """A fit that goes on once another one has come as far."""

    together = threading.Barrier(2, timeout=60)

    def fit(self, X, y):
        self.together.wait()
        return super().fit(X, y)


def _noted(block, file, block_info=None):
    with open(file, "a") as lines:
        lines.write(f"{block_info[0]['chunk-location']}\n")
    return block


@pytest.mark.slow
class TestCluster:
    """The same on workers in processes of their own."""

    def test_blocks_are_read_once_for_all_members(self, cluster, table, tmp_path):
        X, y = table
        read = da.from_array(X, chunks=(90, 260)).map_blocks(
            _noted, str(tmp_path / "read"), dtype=X.dtype, meta=X[:0, :0]
        )
        ensemble = EnsembleWeighting(TogetherReliefF(), n_estimators=4, max_samples=0.8, random_state=0)
        # Of the thread alone: members must find the same client.
        with cluster.as_current():
            there = clone(ensemble).fit(read, y)
        assert there.execution_["backend"] == "dask cluster"
        assert there.execution_["n_at_a_time"] == 4
        assert sorted((tmp_path / "read").read_text().splitlines()) == ["(0, 0)", "(0, 1)", "(0, 2)"]
        same_weights(there, EnsembleWeighting(ReliefF(), **_own(ensemble)).fit(X, y))

    def test_permutations(self, cluster, table, held):
        selector = ErrorControlledSelector(ReliefF(), n_permutations=9, level=0.2, random_state=0)
        refitted = ErrorControlledSelector(
            IRelief(sigma=1.0, max_iter=3), n_permutations=4, level=0.3, keep_found=False, random_state=0
        )
        with pytest.warns(ConvergenceWarning):
            here = [clone(each).fit(*table) for each in (selector, refitted)]
        with cluster.as_current(), pytest.warns(ConvergenceWarning):
            there = [clone(each).fit(held, table[1]) for each in (selector, refitted)]
        for ours, other in zip(there, here, strict=True):
            same_weights(ours, other)
            np.testing.assert_allclose(ours.statistic_, other.statistic_, atol=1e-4)
        assert there[0].execution_["permutations"] == "all at once"
        assert there[1].execution_["n_at_a_time"] == 4

    def test_members_on_a_table_in_memory_are_sent_there_by_joblib(self, cluster, table):
        ensemble = EnsembleWeighting(IRelief(sigma=1.0), n_estimators=4, random_state=0)
        before = len(cluster.get_task_stream())
        with joblib.parallel_config("dask", client=cluster):
            there = clone(ensemble).fit(*table)
        assert there.execution_ == {"backend": "joblib", "n_at_a_time": 2}
        assert len(cluster.get_task_stream()) > before
        assert np.array_equal(there.feature_weights_, clone(ensemble).fit(*table).feature_weights_)


def _own(ensemble):
    names = ("n_estimators", "max_samples", "random_state")
    return {name: getattr(ensemble, name) for name in names}
