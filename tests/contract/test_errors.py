"""What cannot be used is refused, and the message names it."""

import inspect
import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from registry import (
    CLASSIFIERS,
    EXTRACTORS,
    FAMILIES,
    FOR_NUMBERS,
    continuous_table,
    in_turn,
    over_entries,
    over_families,
    over_registry,
)
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import get_tags

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
    HighRelief,
    HighReliefRegressor,
    HKNNClassifier,
    IRelief,
    IterativeElimination,
    KernelWidthCV,
    LHRelief,
    Lmba,
    MultiSURF,
    MultiSURFStar,
    OnlineIRelief,
    PairScan,
    RedundancyFilter,
    Relief,
    ReliefF,
    RReliefF,
    Simba,
    SURFStar,
    VarianceReduction,
)

N_SAMPLES, N_FEATURES = 60, 6

takes_sample_weight = over_entries(lambda entry: entry.plain and entry.sample_weight)
has_margins = over_entries(lambda entry: entry.plain and entry.family.margins)


def raises_naming(*words, error=ValueError):
    """Expect an error whose message has all the words, in this order."""
    return pytest.raises(error, match="(?s)" + ".*".join(re.escape(word) for word in words))


# Constructor parameters

COUNT = [0, -3, 2.5, "many", True, None]
OPTIONAL_COUNT = [0, -3, 2.5, "many", True]
POSITIVE = [0.0, -1.5, np.nan, np.inf, "wide", None, True, 1j]
SHARE = [*POSITIVE, 1.5]
FLAG = ["yes", 1, None]


def choice(*wrong):
    return ["unknown", 7, 0.5, *wrong]


SHARED = {
    "n_features_to_select": [0, -1, N_FEATURES + 1, 0.0, 1.5, -0.5, np.nan, np.inf, "all", True, [1]],
    "weighted": choice(None, 1, 0, "Manhattan"),
    "scale": choice(True, False, "Range", "none"),
    "n_jobs": [0, 1.5, "two", [1]],
    "verbose": ["loud", -1],
}
SOFT = {
    "sigma": [0.0, 0, -1.5, np.nan, np.inf, "wide", None, True, 1j, [1.0]],
    "perplexity": SHARE,
}
CLASS_MARGINS = {"margin": choice(None, True, "Nearest"), "outliers": FLAG}


def unless_none(parameters):
    """The same, where None leaves the choice to the method."""
    return {name: [each for each in values if each is not None] for name, values in parameters.items()}


FREE_SOFT = {"sigma": SOFT["sigma"], **unless_none({"perplexity": SHARE})}
RANDOM = {"random_state": ["seed", 1.5, -1]}
NEAREST = {
    "n_anchors": [*OPTIONAL_COUNT, N_SAMPLES + 1],
    "max_error": [-0.1, np.nan, np.inf, "small", True],
    "confidence": [0.0, 1.0, 95, -0.5, np.nan, None, "high"],
    "metric": choice(None, "cosine"),
    **RANDOM,
}

CATEGORICAL = ["all", True, [-1], [0.5], ["no such name"]]
REPEATED = {
    "averaging": ["yes", 1, 0.5],
    "max_iter": OPTIONAL_COUNT,
    "tol": [-1e-3, np.nan, np.inf, "small", None, True],
    "init": ["ones", 3.0, None, True],
    "memory_budget": [-1, np.nan, "1 GB", True],
    **RANDOM,
}

EXTRACTION = {
    "n_components": [*OPTIONAL_COUNT, N_FEATURES + 1],
    "scale": SHARED["scale"],
    "n_jobs": SHARED["n_jobs"],
}
FROM_A_START = {
    **RANDOM,
    "utility": choice(None, True, "Linear", "log"),
    "beta": [value for value in POSITIVE if value is not None],
    "n_restarts": COUNT,
    "shuffle": FLAG,
}

CLASS_WEIGHT = {
    "class_weight": ["even", True, 2.0, [1, 1, 1], {0: 1.0, 1: 2.0}, {0: 1, 1: 0, 2: 1}, {0: 1, 1: "2", 2: 1}]
}
BATCHES = {**CLASS_WEIGHT, "batch_neighbors": choice(None, True, "between")}
IM4E_ITSELF = {
    "w_step": choice(None, "Exact", True),
    "alpha": [0.0, -1.5, np.nan, np.inf, "N", True],
    "loss": choice(None, "hinge", True),
    "sparsity": [-0.1, 1.0, 2, np.nan, "l1", None, True],
}
FOLDS = [1, 0, True, 2.5, "five", None, [0, 1]]
BAD_GRIDS = ["auto", 3.0, [], [0.0], [1.0, -1.0], [np.nan], [np.inf], ["a"], [True], [[1.0]], [[1.0], 2.0]]
WIDTH_CV = {
    "sigmas": BAD_GRIDS,
    "alphas": [*BAD_GRIDS, [1.5], [0.1, 2.0]],
    "cv": FOLDS,
    "scoring": ["best", 3, True, Relief],
    "rule": choice(True, "1-se"),
    "warm_steps": [-1, 2.5, "few", True],
}
BAD_PARAMETERS = {
    Relief: {**SHARED, **NEAREST, **BATCHES},
    ReliefF: {
        **SHARED,
        **NEAREST,
        **BATCHES,
        "n_neighbors": COUNT,
        "neighbor_weights": choice(None, True, "distance"),
        "rank_decay": POSITIVE,
        "categorical_features": CATEGORICAL,
    },
    **{
        each: {
            **SHARED,
            **BATCHES,
            "unpaired": choice(None, True, "both"),
            "categorical_features": CATEGORICAL,
        }
        for each in (SURF, SURFStar, MultiSURF, MultiSURFStar)
    },
    RReliefF: {
        **SHARED,
        **{name: values for name, values in NEAREST.items() if name not in ("max_error", "confidence")},
        "n_neighbors": COUNT,
        "neighbor_weights": choice(None, True, "distance"),
        "rank_decay": POSITIVE,
        "categorical_features": CATEGORICAL,
        "batch_neighbors": BATCHES["batch_neighbors"],
    },
    IRelief: {**SHARED, **FREE_SOFT, **unless_none(CLASS_MARGINS), **REPEATED, **BATCHES},
    IM4E: {
        **SHARED,
        "batch_neighbors": BATCHES["batch_neighbors"],
        **FREE_SOFT,
        **REPEATED,
        **IM4E_ITSELF,
        "cv": FOLDS,
    },
    KernelWidthCV: {
        **{name: values for name, values in SHARED.items() if name != "scale"},
        **WIDTH_CV,
        "estimator": ["irelief", IRelief, None, 3, ReliefF()],
    },
    OnlineIRelief: {
        **SHARED,
        **SOFT,
        **CLASS_MARGINS,
        **RANDOM,
        "step_decay": SHARE,
        "n_epochs": COUNT,
        "shuffle": FLAG,
        "buffer_size": OPTIONAL_COUNT,
    },
    FREL: {
        **SHARED,
        **BATCHES,
        "loss": choice(None, True, "Log", "squared"),
        "penalty": choice(None, True, "L2", "elasticnet"),
        "alpha": [-1.5, np.nan, np.inf, "wide", None, True, 1j],
        "positive": [*FLAG, True],  # by default the solver is Algorithm 1, which has no constraint
        "solver": choice(None, True, "SGD", "lbfgs"),
        "n_epochs": COUNT,
    },
    Lmba: {**SHARED, "n_neighbors": COUNT, "n_epochs": COUNT},
    LOGO: {
        **SHARED,
        **FREE_SOFT,
        **REPEATED,
        **BATCHES,
        "alpha": [0.0, -1.5, np.nan, np.inf, "small", None, True],
    },
    Simba: {**SHARED, **FROM_A_START, "n_epochs": COUNT},
    GFlip: {**SHARED, **FROM_A_START, "max_iter": COUNT},
    LHRelief: {
        **SHARED,
        **CLASS_WEIGHT,
        "n_neighbors": COUNT,
        "alpha": [-1.5, np.nan, np.inf, "small", None, True, 1j],
        "max_iter": COUNT,
        "tol": REPEATED["tol"],
    },
    FisherScore: {**SHARED, **CLASS_WEIGHT},
    **{
        each: {
            **SHARED,
            **RANDOM,
            "level": [0.0, 1.0, -0.1, np.nan, "small", None, True],
            "max_work": [0.0, -1.0, np.nan, "all", True],
            "categorical_features": CATEGORICAL,
        }
        for each in (HighRelief, HighReliefRegressor)
    },
    PairScan: {
        **SHARED,
        **RANDOM,
        "n_bins": [1, 101, 2.5, "many", True, None, (), (3, 1), [4, 2.5]],
        "n_pairs": [-1, 2.5, "all", True, None],
        "n_permutations": [-1, 2.5, "many", True, None],
        "categorical_features": CATEGORICAL,
    },
    HKNNClassifier: {
        "n_neighbors": COUNT,
        "alpha": [-1.5, np.nan, np.inf, "wide", None, True, 1j],
        "scale": SHARED["scale"],
        "n_jobs": SHARED["n_jobs"],
    },
    LFE: {
        **EXTRACTION,
        "n_neighbors": COUNT,
        "metric": choice(None, "Euclidean", "sqeuclidean"),
        "solver": choice(None, True, "Dual", "full"),
    },
    DANN: {**EXTRACTION, "n_neighbors": [*OPTIONAL_COUNT, 1]},
    VarianceReduction: {
        **{name: values for name, values in SHARED.items() if name != "scale"},
        "estimator": ["relieff", ReliefF, None, 3, OnlineIRelief(), FREL()],
        "n_neighbors": OPTIONAL_COUNT,
    },
    IterativeElimination: {
        **{name: values for name, values in SHARED.items() if name != "scale"},
        "estimator": ["relieff", ReliefF, None, 3],
        "step": [0, -1, 0.0, 1.0, 1.5, np.nan, "half", True, None],
    },
    RedundancyFilter: {
        **{name: values for name, values in SHARED.items() if name != "scale"},
        "estimator": ["relieff", ReliefF, None, 3],
        "threshold": SHARE,
        "similarity": choice(None, "Pearson", "kendall"),
        "linkage": choice(None, "ward", "Complete"),
    },
    EnsembleWeighting: {
        **{name: values for name, values in SHARED.items() if name != "scale"},
        **RANDOM,
        "estimator": ["relieff", ReliefF, None, 3],
        "n_estimators": COUNT,
        "max_samples": [0, 1, N_SAMPLES + 1, 0.0, 0.01, 1.5, np.nan, "many", True, None],
        "aggregate": choice(None, True, "rank"),
    },
    CrossValidatedSelector: {
        **{name: values for name, values in SHARED.items() if name != "scale"},
        **RANDOM,
        "estimator": ["relieff", ReliefF, None, 3],
        "classifier": ["knn", KNeighborsClassifier, 3, True, Relief()],
        "cv": FOLDS,
        "cuts": [
            "few",
            3,
            None,
            [],
            [0],
            [N_FEATURES + 1],
            [0.0],
            [1.5],
            [-1],
            [True],
            ["a"],
            [[1]],
            [np.nan],
        ],
        "rule": choice(None, True, "1-se"),
    },
    ErrorControlledSelector: {
        **{name: values for name, values in SHARED.items() if name != "scale"},
        **RANDOM,
        "estimator": ["relieff", ReliefF, 3],
        "method": choice(None, True, "permutations"),
        "control": choice(None, True, "fdp"),
        "level": [0, 0.0, 1, 1.0, -0.1, 2, np.nan, "10%", True, None],
        "n_permutations": COUNT,
        "statistic": choice(None, True, "weight"),
        "keep_found": FLAG,
        "options": [3, "n_pairs", ["n_pairs"], {"n_pairs": 10}],
    },
}
#: What meta-estimators are wrapped around.
INSIDE = {family.estimator: family.inside for family in FAMILIES if family.inside is not None}
PUBLIC = {family.estimator for family in FAMILIES} | {
    type(each) for each in (*EXTRACTORS, *CLASSIFIERS, *FOR_NUMBERS)
}


@pytest.mark.parametrize("estimator", sorted(PUBLIC, key=str), ids=lambda estimator: estimator.__name__)
def test_every_parameter_has_values_to_refuse(estimator):
    assert set(BAD_PARAMETERS[estimator]) == set(inspect.signature(estimator).parameters)


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        pytest.param(estimator, name, id=f"{estimator.__name__}-{name}")
        for estimator, parameters in BAD_PARAMETERS.items()
        for name in parameters
    ],
)
def test_bad_parameters(estimator, name):
    X, y = continuous_table(N_SAMPLES)
    inside = {"estimator": INSIDE[estimator]} if estimator in INSIDE else {}
    for value in BAD_PARAMETERS[estimator][name]:
        weighter = estimator(**{**inside, name: value})
        with raises_naming(name, repr(value), error=(ValueError, TypeError)):
            weighter.fit(X, y)


@pytest.mark.parametrize(
    ("init", "words"),
    [
        (np.ones(N_FEATURES - 1), ["(5,)"]),
        (np.ones((N_FEATURES, 1)), ["(6, 1)"]),
        (np.ones((1, N_FEATURES)), ["(1, 6)"]),
        (np.r_[-1.0, np.ones(N_FEATURES - 1)], ["-1"]),
        (np.zeros(N_FEATURES), ["0"]),
        (np.r_[np.nan, np.ones(N_FEATURES - 1)], ["NaN"]),
        (np.r_[np.inf, np.ones(N_FEATURES - 1)], ["inf"]),
        ([], ["0"]),
        (["a"] * N_FEATURES, ["a"]),
    ],
    ids=["short", "column", "row", "negative", "all zero", "NaN", "infinite", "empty", "words"],
)
def test_bad_first_weights(init, words):
    X, y = continuous_table(N_SAMPLES)
    with raises_naming("init", *words):
        IRelief(init=init).fit(X, y)


@pytest.mark.parametrize("name", BAD_PARAMETERS[OnlineIRelief])
def test_bad_parameters_of_a_stream(name):
    X, y = continuous_table(N_SAMPLES)
    value = BAD_PARAMETERS[OnlineIRelief][name][0]
    with raises_naming(name, repr(value), error=(ValueError, TypeError)):
        OnlineIRelief(**{name: value}).partial_fit(X, y)


def test_anchors_are_counted_without_samples_of_weight_0():
    X, y = continuous_table(N_SAMPLES)
    s = np.arange(N_SAMPLES) >= 10
    Relief(n_anchors=50).fit(X, y, sample_weight=s)
    with raises_naming("n_anchors=51", "50 samples"):
        Relief(n_anchors=51).fit(X, y, sample_weight=s)


@over_registry
def test_parameters_are_judged_in_fit_only(entry):
    """scikit-learn's rule: what is wrong may be put right before ``fit``."""
    weighter = entry.make(scale="unknown", weighted=7, n_features_to_select=-1)
    entry.family.change(weighter, scale="range", weighted=False, n_features_to_select=2)
    assert weighter.fit(*continuous_table()).get_support().sum() == 2


# Samples


def bad_tables():
    X, y = continuous_table(N_SAMPLES)
    nan, inf, mixed = X.copy(), X.copy(), X.astype(object)
    nan[3, 2], inf[3, 2], mixed[3, 2] = np.nan, np.inf, "red"
    words = np.full(X.shape, "red")
    return {
        "one class": (X, np.full(N_SAMPLES, 4), ["only one class", "4"]),
        "one class of words": (X, ["sick"] * N_SAMPLES, ["only one class", "sick"]),
        "one sample": (X[:1], y[:1], ["1 sample", "minimum of 2"]),
        "no sample": (X[:0], y[:0], ["0 sample"]),
        "no feature": (X[:, :0], y, ["0 feature"]),
        "NaN": (nan, y, ["X contains NaN"]),
        "infinite": (inf, y, ["X contains infinity"]),
        "minus infinite": (-inf, y, ["X contains infinity"]),
        "NaN in float32": (nan.astype(np.float32), y, ["X contains NaN"]),
        "words": (words, y, ["red"]),
        "a word": (mixed, y, ["red"]),
        "words in a list": (words.tolist(), y, ["red"]),
        "complex": (X + 1j, y, ["Complex data not supported"]),
        "1-D": (X[:, 0], y, ["Expected 2D array, got 1D array"]),
        "3-D": (X.reshape(N_SAMPLES, 3, 2), y, ["dim 3"]),
        "no classes": (X, None, ["requires y to be passed, but the target y is None"]),
        "continuous classes": (X, X[:, 0], ["continuous"]),
        "NaN among the classes": (X, np.r_[np.nan, y[1:]], ["y contains NaN"]),
        "infinite class": (X, np.r_[np.inf, y[1:]], ["y contains infinity"]),
        "2-D classes": (X, np.column_stack([y, y]), ["y", "1d", "(60, 2)"]),
        "too few classes": (X, y[:-1], ["inconsistent numbers of samples: [60, 59]"]),
        "too many classes": (X, np.r_[y, 0], ["inconsistent numbers of samples: [60, 61]"]),
        "constant features": (np.ones((N_SAMPLES, N_FEATURES)), y, ["All 6 features", "constant"]),
        "one constant feature": (np.full((N_SAMPLES, 1), 0.1), y, ["constant"]),
    }


BAD_TABLES = bad_tables()


def takes_gaps(entry):
    """Whether values may be missing."""
    return get_tags(entry.make()).input_tags.allow_nan


@over_families
def test_bad_tables(entry):
    for kind, (X, y, words) in BAD_TABLES.items():
        if kind.startswith("NaN") and words[0].startswith("X") and takes_gaps(entry):
            assert np.all(np.isfinite(entry.make().fit(X, y).feature_weights_)), kind
            continue
        with raises_naming(*words):
            entry.make().fit(X, y)


@in_turn(over_families, layout=["csr", "csc", "coo"], kind=["matrix", "array"])
def test_sparse_tables(entry, layout, kind):
    X, y = continuous_table()
    sparse = getattr(scipy.sparse, f"{layout}_{kind}")(X)
    estimator = entry.make()
    if get_tags(estimator).input_tags.sparse:
        dense = entry.make().fit(X, y).feature_weights_
        np.testing.assert_allclose(estimator.fit(sparse, y).feature_weights_, dense, rtol=1e-9, atol=1e-12)
        return
    with pytest.raises(
        TypeError, match=r"Sparse data was passed.*dense data is required|not support sparse X"
    ):
        estimator.fit(sparse, y)


@over_families
def test_fit_without_classes(entry):
    X, _ = continuous_table()
    with pytest.raises((TypeError, ValueError), match=r"\by\b"):
        entry.make().fit(X)


# Weights of samples

BAD_SAMPLE_WEIGHTS = {
    "negative": (np.r_[-2.5, np.ones(N_SAMPLES - 1)], ["-2.5"]),
    "too few": (np.ones(N_SAMPLES - 1), ["59"]),
    "too many": (np.ones(N_SAMPLES + 1), ["61"]),
    "2-D": (np.ones((N_SAMPLES, 1)), ["dimension", "2"]),
    "NaN": (np.r_[np.nan, np.ones(N_SAMPLES - 1)], ["NaN"]),
    "infinite": (np.r_[np.inf, np.ones(N_SAMPLES - 1)], ["infinity"]),
    "all zero": (np.zeros(N_SAMPLES), ["zero"]),
    "all zero but one": (np.r_[1.0, np.zeros(N_SAMPLES - 1)], ["zero", "1"]),
    "one negative number for all": (-1.0, ["-1"]),
}


@takes_sample_weight
def test_bad_sample_weights(entry):
    X, y = continuous_table(N_SAMPLES)
    for sample_weight, words in BAD_SAMPLE_WEIGHTS.values():
        with pytest.raises(ValueError, match="sample_weight") as caught:
            entry.make().fit(X, y, sample_weight=sample_weight)
        for word in words:
            assert word in str(caught.value)


@takes_sample_weight
def test_one_class_left_by_sample_weight(entry):
    X, y = continuous_table()
    with raises_naming("only one class", "2"):
        entry.make().fit(X, y, sample_weight=y == 2)


@takes_sample_weight
def test_constant_features_left_by_sample_weight(entry):
    X, y = np.zeros((10, 2)), np.arange(10) % 2
    X[0] = 1.0, 2.0
    with raises_naming("constant"):
        entry.make().fit(X, y, sample_weight=np.arange(10) > 0)


@over_entries(lambda entry: not entry.sample_weight)
def test_no_sample_weight(entry):
    X, y = continuous_table()
    with raises_naming("sample_weight", error=TypeError):
        entry.make().fit(X, y, sample_weight=np.ones(len(X)))


# Before fit

ASKED = {
    "transform": lambda weighter, X, y: weighter.transform(X),
    "inverse_transform": lambda weighter, X, y: weighter.inverse_transform(X),
    "get_support": lambda weighter, X, y: weighter.get_support(),
    "get_feature_names_out": lambda weighter, X, y: weighter.get_feature_names_out(),
    "feature_importances_": lambda weighter, X, y: weighter.feature_importances_,
    "margins": lambda weighter, X, y: weighter.margins(X, y),
}


def refuses_all(entry, weighter, X, y):
    """Whatever an unfitted weighter is asked, it says that it is not fitted."""
    for name, ask in ASKED.items():
        if name != "margins" or entry.family.margins:
            with raises_naming(entry.family.estimator.__name__, "not fitted", error=NotFittedError):
                ask(weighter, X, y)


@over_families
def test_before_fit(entry):
    for weighted in (False, True):
        refuses_all(entry, entry.make(weighted=weighted), *continuous_table())


@over_families
def test_a_fit_that_failed_is_no_fit(entry):
    X, y = continuous_table()
    weighter = entry.make()
    with raises_naming("only one class"):
        weighter.fit(X, np.zeros(len(X)))
    refuses_all(entry, weighter, X, y)


# After fit


@in_turn(over_families, weighted=[False, True])
def test_transform_of_something_else(entry, weighted):
    X, y = continuous_table()
    weighter = entry.make(weighted=weighted, n_features_to_select=2).fit(X, y)
    name = entry.family.estimator.__name__
    with raises_naming("X has 5 features", f"{name} is expecting 6 features"):
        weighter.transform(X[:, :-1])
    with raises_naming("Expected 2D array, got 1D array"):
        weighter.transform(X[0])
    X[1, 1] = np.nan
    if takes_gaps(entry):
        kept = weighter.get_support()
        np.testing.assert_array_equal(np.isnan(weighter.transform(X)), np.isnan(X[:, kept]))
        return
    with raises_naming("X contains NaN"):
        weighter.transform(X)


@in_turn(over_families, weighted=[False, "manhattan", "euclidean"], n_kept=[1, 2])
def test_inverse_transform_of_something_else(entry, weighted, n_kept):
    X, y = continuous_table()
    weighter = entry.make(weighted=weighted, n_features_to_select=n_kept).fit(X, y)
    for n_columns in {1, 2, 3, N_FEATURES} - {n_kept}:
        with raises_naming("X has a different shape"):
            weighter.inverse_transform(X[:, :n_columns])


@in_turn(over_families, weighted=[False, True])
def test_transform_of_other_names(entry, weighted):
    pandas = pytest.importorskip("pandas")
    X, y = continuous_table()
    weighter = entry.make(weighted=weighted).fit(pandas.DataFrame(X, columns=list("abcdef")), y)
    with raises_naming("feature names should match", "z"):
        weighter.transform(pandas.DataFrame(X, columns=list("abcdez")))


@has_margins
def test_margins_of_unknown_classes(entry):
    X, y = continuous_table()
    weighter = entry.make().fit(X, y)
    for unknown in (7, -7, 1000):
        with raises_naming("[0 1 2]"):
            weighter.margins(X, np.r_[unknown, y[1:]])
    with raises_naming("[0 1 2]"):
        weighter.margins(X, np.array(["a", "b", "c"])[y])
    named = entry.make().fit(X, np.array(["a", "b", "c"])[y])
    for unknown in ("0", "bb", "z"):
        with raises_naming("['a' 'b' 'c']"):
            named.margins(X, np.r_[[unknown], np.array(["a", "b", "c"])[y[1:]]])


@has_margins
def test_the_unknown_class_is_named(entry):
    X, y = continuous_table()
    weighter = entry.make().fit(X, y)
    with raises_naming("777"):
        weighter.margins(X, np.r_[777, y[1:]])


@has_margins
def test_margins_of_bad_tables(entry):
    X, y = continuous_table()
    weighter = entry.make().fit(X, y)
    with raises_naming("only one class", "1"):
        weighter.margins(X, np.ones(len(X), dtype=int))
    with raises_naming("X has 5 features"):
        weighter.margins(X[:, 1:], y)
    with raises_naming("inconsistent numbers of samples"):
        weighter.margins(X, y[1:])
    with raises_naming("y"):
        weighter.margins(X, None)
    gaps = np.where(X > 0.0, X, np.nan)
    if takes_gaps(entry):
        assert np.all(np.isfinite(weighter.margins(gaps, y)))
        return
    with raises_naming("X contains NaN"):
        weighter.margins(gaps, y)


# Streams


def test_a_stream_with_an_undeclared_class():
    X, y = continuous_table()
    stream = OnlineIRelief(random_state=0).partial_fit(X, y, classes=[0, 1, 2])
    before = stream.feature_weights_.copy()
    with raises_naming("7", "[0 1 2]"):
        stream.partial_fit(X, np.r_[7, y[1:]])
    # The bad batch has left nothing behind.
    np.testing.assert_array_equal(stream.classes_, [0, 1, 2])
    np.testing.assert_array_equal(stream.feature_weights_, before)
    untouched = OnlineIRelief(random_state=0).partial_fit(X, y, classes=[0, 1, 2])
    np.testing.assert_array_equal(
        stream.partial_fit(X, y).feature_weights_, untouched.partial_fit(X, y).feature_weights_
    )


def test_a_stream_with_an_undeclared_class_in_its_first_batch():
    X, y = continuous_table()
    stream = OnlineIRelief(random_state=0)
    with raises_naming("2", "[0 1]"):
        stream.partial_fit(X, y, classes=[0, 1])
    with raises_naming("not fitted", error=NotFittedError):
        stream.transform(X)
    stream.partial_fit(X, y, classes=[0, 1, 2])
    np.testing.assert_array_equal(stream.classes_, [0, 1, 2])


def test_a_stream_without_declared_classes_takes_new_ones():
    X, y = continuous_table()
    stream = OnlineIRelief(random_state=0).partial_fit(X[y < 2], y[y < 2])
    np.testing.assert_array_equal(stream.partial_fit(X, y).classes_, [0, 1, 2])


def test_a_stream_whose_classes_change():
    """scikit-learn's rule for ``classes`` in later calls."""
    X, y = continuous_table(n_classes=2)
    stream = OnlineIRelief(random_state=0).partial_fit(X, y, classes=[0, 1])
    stream.partial_fit(X, y, classes=[0, 1])
    with raises_naming("classes"):
        stream.partial_fit(X, y, classes=[0, 1, 2])


def test_a_stream_of_numbers_and_words():
    X, y = continuous_table(n_classes=2)
    stream = OnlineIRelief(random_state=0).partial_fit(X, y)
    with pytest.raises((ValueError, TypeError)):
        stream.partial_fit(X, np.array(["a", "b"])[y])
    np.testing.assert_array_equal(stream.classes_, [0, 1])


def test_bad_batches_of_a_stream():
    X, y = continuous_table()
    stream = OnlineIRelief(random_state=0).partial_fit(X, y)
    with raises_naming("X has 5 features", "OnlineIRelief is expecting 6 features"):
        stream.partial_fit(X[:, 1:], y)
    with raises_naming("X contains NaN"):
        stream.partial_fit(np.where(X > 0.0, X, np.nan), y)
    with raises_naming("continuous"):
        stream.partial_fit(X, X[:, 0])
    with raises_naming("y", error=(TypeError, ValueError)):
        stream.partial_fit(X, None)
    with raises_naming("inconsistent numbers of samples"):
        stream.partial_fit(X, y[1:])


@over_families
def test_names_that_occur_twice(entry):
    X, y = continuous_table(20, n_classes=2)
    twice = pd.DataFrame(X, columns=list("abcdea"))
    with pytest.raises(ValueError, match=r"^X has the column name 'a' more than once, .* X\.to_numpy\(\)\.$"):
        entry.make().fit(twice, y)
    fitted = entry.make().fit(X, y)
    with pytest.raises(ValueError, match=r"^X has the column name 'a' more than once"):
        fitted.transform(twice)


@over_families
def test_structured_outcomes(entry):
    X, y = continuous_table(20, n_classes=2)
    outcome = np.array(list(zip(y > 0, np.arange(20.0), strict=True)), [("event", bool), ("time", float)])
    for each in (outcome, outcome.view(np.recarray)):
        with pytest.raises(ValueError, match=r"structured array \(fields: event, time\) .* y\['time'\]\.$"):
            entry.make().fit(X, each)
    with pytest.raises(ValueError, match="structured array"):
        entry.make().fit(outcome, y)
