"""Every public estimator: cheap parameters, and what the contract promises of it.

To put a new estimator under the contract, add one :class:`Family` to ``FAMILIES``: its class, the promises,
and one variant per set of parameters that runs different code. All tests over the registry then run on it,
and ``BAD_PARAMETERS`` in ``test_errors.py`` asks for values that its own parameters must refuse.
"""

from __future__ import annotations

import inspect
import itertools
import os
import zlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

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


@dataclass(frozen=True)
class Family:
    """A public estimator and its promises."""

    estimator: type
    #: Name of a variant and its parameters; "", which every family has, is the plain one.
    variants: dict[str, dict[str, Any]]
    #: Variants that take long, for where all are to meet all; their own files test what they compute.
    slow: tuple[str, ...] = ()
    #: Weights are ≥ 0.
    nonnegative: bool = True
    #: Weights have Euclidean norm 1, unless all are 0.
    unit_norm: bool = False
    #: Weights have sum 1, unless all are 0.
    unit_sum: bool = False
    #: ``fit`` takes ``sample_weight`` by default; :attr:`Entry.sample_weight` says it of a variant.
    sample_weight: bool = True
    #: Has ``margins``.
    margins: bool = True
    #: What a margin is of the difference of the distances to a miss and to a hit.
    margin_factor: float = 1.0
    #: The largest weight is 1, whatever the margins.
    relative: bool = False
    #: Repeats until it settles: ``max_iter``, ``n_iter_``, ``converged_``, ``history_``.
    iterative: bool = False
    #: Begins with no feature: where none has a positive score by itself, nothing is found.
    from_nothing: bool = False
    #: On well-behaved data it does settle.
    settles: bool = True
    #: Compares samples within a radius only: where classes lie apart, no miss is near.
    within_radius: bool = False
    #: Samples far away count with the opposite sign: classes that lie apart give weights below 0.
    far_counts: bool = False
    #: Looks at each feature alone: whatever differs between the classes weighs more than 0.
    one_by_one: bool = False
    #: Counts samples at levels: takes no sample weights, and among few samples many features are as good.
    by_counts: bool = False
    #: Has no steps whose progress ``verbose`` could show.
    one_step: bool = False
    #: What ``weighted=True`` means.
    own_metric: str = "manhattan"
    #: Keeps, by default, as many features as it finds best, not all that weigh more than 0.
    chooses_number: bool = False
    #: Looks at the features that are kept only: how many that is must be known when it is fitted.
    groups_features: bool = False
    #: Keeps nothing where nothing stands out from chance; all others keep one feature at least.
    may_keep_none: bool = False
    #: What a meta-estimator is wrapped around; parameters that it does not have itself are of this one.
    inside: Any = None

    def __str__(self) -> str:
        return self.estimator.__name__ + ("" if self.inside is None else f"({type(self.inside).__name__})")

    @property
    def method(self) -> type:
        """Who weighs the features."""
        return self.estimator if self.inside is None else type(self.inside)

    @property
    def weighs_samples(self) -> bool:
        """Whether it gives the wrapped weighter a ``sample_weight`` of its own making."""
        return self.estimator is VarianceReduction and has_fit_parameter(self.inside, "sample_weight")

    def default(self, **parameters: Any) -> Any:
        """Return a new estimator with its defaults but for the given parameters."""
        if self.inside is None:
            return self.estimator(**parameters)
        own = inspect.signature(self.estimator).parameters
        inner = {name: value for name, value in parameters.items() if name not in own}
        wrapped = {"estimator": clone(self.inside).set_params(**inner)}
        return self.estimator(**wrapped | {name: parameters[name] for name in parameters.keys() - inner})

    def change(self, estimator: Any, **parameters: Any) -> Any:
        """Set parameters of an estimator of the family, or of what it is wrapped around."""
        own = inspect.signature(self.estimator).parameters
        return estimator.set_params(
            **{name if name in own else f"estimator__{name}": value for name, value in parameters.items()}
        )


#: Variants of SURF and its family.
BY_RADIUS: dict[str, dict[str, Any]] = {"": {}, "extended": {"unpaired": "extend"}}

FAMILIES = [
    Family(
        Relief,
        {
            "": {},
            "euclidean": {"metric": "euclidean"},
            "sqeuclidean": {"metric": "sqeuclidean"},
            "anchors": {"n_anchors": 3, "random_state": 0},
        },
        nonnegative=False,
    ),
    Family(
        ReliefF,
        {
            "": {"n_neighbors": 3},
            "rank": {"n_neighbors": 4, "neighbor_weights": "rank", "rank_decay": 2.0},
            "euclidean": {"n_neighbors": 3, "metric": "euclidean"},
            "sqeuclidean": {"n_neighbors": 3, "metric": "sqeuclidean"},
            "anchors": {"n_neighbors": 3, "n_anchors": 3, "random_state": 0},
            "max error": {"n_neighbors": 3, "n_anchors": 3, "max_error": 0.1, "random_state": 0},
        },
        nonnegative=False,
    ),
    Family(SURF, BY_RADIUS, nonnegative=False, margins=False, within_radius=True),
    Family(SURFStar, BY_RADIUS, nonnegative=False, margins=False, within_radius=True, far_counts=True),
    Family(MultiSURF, BY_RADIUS, nonnegative=False, margins=False, within_radius=True),
    Family(MultiSURFStar, BY_RADIUS, nonnegative=False, margins=False, within_radius=True, far_counts=True),
    Family(
        IRelief,
        {
            "": {"sigma": 1.0},
            "prior": {"sigma": 1.0, "margin": "prior"},
            "no outliers": {"sigma": 1.0, "outliers": False},
            "auto": {},
        },
        unit_norm=True,
        iterative=True,
    ),
    Family(
        IM4E,
        {
            "": {"sigma": 0.25},
            "exact": {"sigma": 0.25, "w_step": "exact"},
            "log": {"sigma": 0.25, "loss": "log"},
            "sparse": {"sigma": 0.25, "sparsity": 0.1},
            # It fits 14 widths in every fold: few folds, and few digits.
            "path": {"sigma": "path", "cv": 2, "tol": 1e-3},
            "auto": {},
        },
        slow=("path",),
        unit_sum=True,
        iterative=True,
    ),
    # Wide widths, few folds: each is fitted in every fold, in hundreds of tests.
    Family(
        KernelWidthCV,
        {
            "": {"sigmas": [2.0, 1.0], "cv": 2, "averaging": False},
            "averaged": {"sigmas": [2.0, 1.0], "cv": 2},
        },
        unit_norm=True,
        iterative=True,
        inside=IRelief(),
    ),
    Family(
        KernelWidthCV,
        {
            "": {"sigmas": [2.0, 1.0], "cv": 2, "averaging": False},
            "averaged": {"sigmas": [1.0, 0.5], "cv": 2},
        },
        unit_sum=True,
        iterative=True,
        inside=IM4E(),
    ),
    Family(
        OnlineIRelief,
        {
            "": {"sigma": 1.0, "shuffle": False},
            "prior": {"sigma": 1.0, "margin": "prior", "n_epochs": 2, "random_state": 0},
            "no outliers": {"sigma": 1.0, "outliers": False, "random_state": 0},
            "auto": {"random_state": 0},
        },
        unit_norm=True,
        sample_weight=False,
    ),
    Family(
        FREL,
        {
            "": {"alpha": 1e-3},
            "square": {"loss": "square", "alpha": 1e-3},
            "hinge l1": {"loss": "hinge", "penalty": "l1", "alpha": 1e-3, "n_epochs": 2},
            "exact": {"solver": "exact", "alpha": 1e-2},
            "exact log l1": {"solver": "exact", "penalty": "l1", "alpha": 0.02},
            "exact square": {"solver": "exact", "loss": "square", "alpha": 1e-2},
            "exact square-exp": {"solver": "exact", "loss": "square-exp", "alpha": 1e-2},
            "exact hinge": {"solver": "exact", "loss": "hinge", "alpha": 1e-2},
            "exact hinge l1": {"solver": "exact", "loss": "hinge", "penalty": "l1", "alpha": 1e-2},
            "exact positive": {"solver": "exact", "alpha": 1e-2, "positive": True},
            "exact log l1 positive": {"solver": "exact", "penalty": "l1", "alpha": 0.02, "positive": True},
            "exact hinge positive": {"solver": "exact", "loss": "hinge", "alpha": 1e-2, "positive": True},
        },
        nonnegative=False,
        sample_weight=False,
    ),
    Family(Lmba, {"": {"n_neighbors": 3}}, nonnegative=False, sample_weight=False),
    Family(
        LOGO,
        {
            "": {"sigma": 3.0, "alpha": 0.5},
            "averaged": {"sigma": 1.0, "alpha": 0.5, "averaging": True},
            "auto": {},
        },
        iterative=True,
    ),
    Family(
        KernelWidthCV,
        {
            "": {"sigmas": [4.0, 2.0], "alphas": [0.02], "cv": 2, "averaging": False},
            "averaged": {"sigmas": [2.0], "alphas": [0.05, 0.02], "cv": 2},
        },
        unit_norm=True,
        iterative=True,
        inside=LOGO(),
    ),
    Family(
        Simba,
        {
            "": {"shuffle": False},
            "restarts": {"n_restarts": 3, "n_epochs": 2, "random_state": 0},
            "sigmoid": {"utility": "sigmoid", "n_restarts": 2, "random_state": 0},
        },
        sample_weight=False,
        margin_factor=0.5,
        relative=True,
        own_metric="euclidean",
    ),
    Family(
        GFlip,
        {
            "": {"random_state": 0},
            "in order": {"shuffle": False},
            "restarts": {"n_restarts": 3, "random_state": 0},
            "zero-one": {"utility": "zero-one", "random_state": 0},
            "sigmoid": {"utility": "sigmoid", "random_state": 0},
        },
        margin_factor=0.5,
        from_nothing=True,
        own_metric="euclidean",
    ),
    Family(
        LHRelief,
        {"": {"n_neighbors": 3}, "one": {"n_neighbors": 1}, "penalty": {"n_neighbors": 4, "alpha": 0.1}},
        unit_norm=True,
        iterative=True,
        settles=False,
    ),
    Family(FisherScore, {"": {}}, margins=False, one_by_one=True, one_step=True),
    Family(
        HighRelief,
        {"": {"random_state": 0}, "bounded": {"max_work": 1e4, "level": 0.5, "random_state": 0}},
        sample_weight=False,
        margins=False,
        by_counts=True,
        chooses_number=True,
        may_keep_none=True,
    ),
    Family(
        PairScan,
        {
            "": {"n_bins": (2, 3)},
            "one number of bins": {"n_bins": 4},
            "permutations": {"n_bins": 3, "n_permutations": 3, "random_state": 0},
        },
        sample_weight=False,
        margins=False,
        by_counts=True,
        chooses_number=True,
    ),
    Family(
        EnsembleWeighting,
        {
            "": {"n_estimators": 4, "random_state": 0},
            "whole": {"n_estimators": 1, "max_samples": 1.0},
        },
        nonnegative=False,
        inside=ReliefF(n_neighbors=3),
    ),
    Family(
        EnsembleWeighting,
        {
            "": {"n_estimators": 3, "random_state": 0},
            "ranks": {"n_estimators": 4, "aggregate": "ranks", "random_state": 0},
        },
        margins=False,
        one_by_one=True,
        inside=FisherScore(),
    ),
    Family(
        VarianceReduction,
        {"": {}},
        nonnegative=False,
        sample_weight=False,
        inside=Lmba(n_neighbors=3),
    ),
    Family(
        VarianceReduction,
        {"": {}},
        nonnegative=False,
        sample_weight=False,
        inside=ReliefF(n_neighbors=3),
    ),
    Family(
        IterativeElimination,
        {"": {}, "one by one": {"step": 1}},
        nonnegative=False,
        inside=ReliefF(n_neighbors=3),
    ),
    Family(IterativeElimination, {"": {"step": 0.5}}, margins=False, one_by_one=True, inside=FisherScore()),
    Family(
        CrossValidatedSelector,
        {
            "": {"cv": 3},
            "one-se": {"cv": 3, "rule": "one-se", "cuts": [0.2, 0.5, 1.0]},
            "given": {
                "cv": 2,
                "classifier": KNeighborsClassifier(2, metric="chebyshev", algorithm="kd_tree"),
            },
        },
        nonnegative=False,
        chooses_number=True,
        inside=ReliefF(n_neighbors=3),
    ),
    Family(
        RedundancyFilter,
        {
            "": {},
            "ranks": {"similarity": "spearman", "linkage": "average"},
            "chains": {"linkage": "single", "threshold": 0.95},
        },
        nonnegative=False,
        groups_features=True,
        inside=ReliefF(n_neighbors=3),
    ),
    Family(
        ErrorControlledSelector,
        {
            "": {"n_permutations": 9, "level": 0.5, "random_state": 0},
            "fwer": {"n_permutations": 9, "control": "fwer", "level": 0.5, "random_state": 0},
            "margins": {"n_permutations": 4, "level": 0.5, "statistic": "margins", "random_state": 0},
        },
        nonnegative=False,
        chooses_number=True,
        may_keep_none=True,
        inside=ReliefF(n_neighbors=3),
    ),
]

#: Classifiers that weigh no features: scikit-learn's checks run over them.
CLASSIFIERS = [HKNNClassifier(), HKNNClassifier(n_neighbors=3, alpha=0.01, scale="range")]
#: Weighters for targets that are numbers: scikit-learn's checks, and those of their own files, run over them.
FOR_NUMBERS = [
    RReliefF(),
    RReliefF(n_neighbors=3, neighbor_weights="uniform", metric="euclidean"),
    HighReliefRegressor(random_state=0),
]
#: Every public extractor, with parameters that run different code. One neighbor: some of scikit-learn's
#: checks are on noise, in which LFE finds no direction, and says so, when it looks at more. Many for DANN:
#: others are on classes far apart, and few neighbors are of one class.
EXTRACTORS = [
    LFE(),
    LFE(metric="manhattan", solver="dual"),
    LFE(n_components=1, solver="arpack"),
    DANN(),
    DANN(n_components=1, n_neighbors=25),
]


@dataclass(frozen=True)
class Entry:
    """One variant of a family."""

    family: Family
    variant: str
    parameters: dict[str, Any] = field(hash=False)

    def __str__(self) -> str:
        return f"{self.family}{' ' if self.variant else ''}{self.variant}"

    def make(self, **changes: Any) -> Any:
        """Return a new estimator, with parameters that differ from the variant's."""
        return self.family.default(**{**self.parameters, **changes})

    def unseeded(self) -> Any:
        """Return a new estimator that draws fresh random numbers."""
        changes = {"random_state": None} if "random_state" in self.make().get_params() else {}
        return self.make(**changes)

    @property
    def plain(self) -> bool:
        """Whether this is the plain variant of its family."""
        return self.variant == ""

    @property
    def slow(self) -> bool:
        """Whether it is left to the thorough tests."""
        return self.variant in self.family.slow and not THOROUGH

    @property
    def draws_samples(self) -> bool:
        """Whether a few rows are drawn by their place."""
        return self.resamples or self.parameters.get("n_anchors") is not None

    @property
    def resamples(self) -> bool:
        """Whether members see some of the samples only, and are scaled by these."""
        return "n_estimators" in self.parameters and self.parameters.get("max_samples") != 1.0

    @property
    def signed(self) -> bool:
        """Whether a feature by which all samples are nearer to other classes weighs less than 0.

        A square loss asks the distance to misses for a size, whatever that to hits.
        """
        square = self.family.method is Lmba or self.parameters.get("loss") in ("square", "square-exp")
        return not self.family.nonnegative and not square and not self.parameters.get("positive", False)

    @property
    def any_is_better_than_none(self) -> bool:
        """Whether a set of features has a positive score, whatever the margins."""
        return self.family.from_nothing and self.parameters.get("utility") == "sigmoid"

    @cached_property
    def sample_weight(self) -> bool:
        """Whether ``fit`` takes ``sample_weight``: a solver that goes through the rows in order cannot."""
        return has_fit_parameter(self.make(), "sample_weight")

    @property
    def cuts_folds(self) -> bool:
        """Whether something is chosen by a cross-validation, whose folds go by the place of the rows."""
        return self.family.estimator is KernelWidthCV or self.parameters.get("sigma") == "path"

    @property
    def order_dependent(self) -> bool:
        """Whether the order of the rows matters by nature, as the tags say."""
        return get_tags(self.make()).order_dependent

    @property
    def feature_order_dependent(self) -> bool:
        """Whether the order of the columns matters by nature, as the tags say."""
        return get_tags(self.make()).feature_order_dependent


#: Set where all are to meet all, as `make test-long` does.
THOROUGH = bool(os.environ.get("HIGHRELIEF_THOROUGH"))
#: For tests that take half a minute or more, beside quicker ones of the same kind.
long = pytest.mark.skipif(not THOROUGH, reason="takes a minute: make test-long runs it")
#: Set where one variant of each family is enough: what other versions of the libraries would break.
ONLY_PLAIN = bool(os.environ.get("HIGHRELIEF_ONLY_PLAIN_VARIANTS"))

ALL_ENTRIES = [
    Entry(family, variant, parameters)
    for family in FAMILIES
    for variant, parameters in family.variants.items()
]
ENTRIES = [entry for entry in ALL_ENTRIES if entry.plain or not (ONLY_PLAIN or entry.slow)]

over_extractors = pytest.mark.parametrize("extractor", EXTRACTORS, ids=str)

#: Of the variants that are not plain, a test meets one in so many.
SHARE = 1 if THOROUGH else 16
#: Fewer entries than this are all met.
FEW = 12


@dataclass(frozen=True)
class Over:
    """Parametrize a test over entries: plain ones of every estimator, and variants in turn.

    Of an estimator that is wrapped around several weighters, a test meets one. Another test meets other
    variants and another wrapped weighter. Every property is tried on every estimator, and many on every
    variant; with ``HIGHRELIEF_THOROUGH`` all on all.
    """

    entries: list[Entry]

    def __call__(self, test: Any) -> Any:
        """Decorate the test."""
        return pytest.mark.parametrize("entry", self.met_by(test), ids=str)(test)

    def met_by(self, test: Any) -> list[Entry]:
        """Entries that a test meets, by its name."""
        if len(self.entries) <= FEW:
            return self.entries
        first = zlib.crc32(test.__name__.encode())
        return [
            entry
            for place, entry in enumerate(self.entries)
            if (self._in_turn(entry, first) if entry.plain else (first + place) % SHARE == 0)
        ]

    def _in_turn(self, entry: Entry, turn: int) -> bool:
        """Whether a plain entry is the one of its estimator whose turn it is."""
        estimator = entry.family.estimator
        siblings = [each for each in self.entries if each.plain and each.family.estimator is estimator]
        return THOROUGH or siblings[turn % len(siblings)] is entry


def over_entries(wanted: Any) -> Over:
    """Parametrize over the entries that ``wanted`` holds for."""
    return Over([entry for entry in ENTRIES if wanted(entry)])


over_registry = over_entries(lambda entry: True)
#: For what the base class does, whatever the variant.
over_families = over_entries(lambda entry: entry.plain)


def in_turn(over: Over | pytest.MarkDecorator, **others: Any) -> Any:
    """Parametrize over what ``over`` names and over lists of other values, or tables of them by their names.

    Each estimator meets one combination of the others, in turn, and each combination some of the estimators:
    what they share is tried in every way, and everyone is tried. With ``HIGHRELIEF_THOROUGH``, all meet all.
    """
    columns = [
        list(values.items()) if isinstance(values, dict) else [(_told(value), value) for value in values]
        for values in others.values()
    ]
    all_others = list(itertools.product(*columns))

    def decorate(test: Any) -> Any:
        named, each = ("entry", over.met_by(test)) if isinstance(over, Over) else over.args
        each = list(each)
        turns = range(max(len(each), len(all_others)))
        met = [(each[turn % len(each)], all_others[turn % len(all_others)]) for turn in turns]
        parameters = []
        for one, combination in itertools.product(each, all_others) if THOROUGH else met:
            names, values = zip(*combination, strict=True)
            parameters.append(pytest.param(one, *values, id="-".join([str(one), *names])))
        return pytest.mark.parametrize((named, *others), parameters)(test)

    return decorate


def pairwise(*lists: pytest.MarkDecorator) -> Any:
    """Parametrize over combinations in which any two values of different lists meet (all-pairs testing).

    With ``HIGHRELIEF_THOROUGH``, over all combinations.
    """
    combinations = list(itertools.product(*(list(enumerate(each.args[1])) for each in lists)))
    if not THOROUGH:
        combinations = _all_pairs(combinations)
    names = [name for each in lists for name in _names(each)]
    parameters = []
    for combination in combinations:
        values, told = [], []
        for each, (place, value) in zip(lists, combination, strict=True):
            several = value if len(_names(each)) > 1 else (value,)
            ids = each.kwargs.get("ids", _told)
            values += several
            told.append("-".join(map(ids, several)) if callable(ids) else ids[place])
        parameters.append(pytest.param(*values, id="-".join(told)))
    return pytest.mark.parametrize(names, parameters)


def _names(mark: pytest.MarkDecorator) -> list[str]:
    names = mark.args[0]
    return names.replace(",", " ").split() if isinstance(names, str) else list(names)


def _all_pairs(combinations: list[Any]) -> list[Any]:
    """Return combinations in which all pairs occur that occur in any: always the one with most new ones."""

    def pairs(combination: Any) -> set[Any]:
        places = [(column, place) for column, (place, _) in enumerate(combination)]
        return set(itertools.combinations(places, 2))

    missing = set().union(*map(pairs, combinations))
    chosen = []
    while missing:
        best = max(combinations, key=lambda each: len(pairs(each) & missing))
        missing -= pairs(best)
        chosen.append(best)
    return chosen


def _told(value: Any) -> str:
    return getattr(value, "__name__", None) or str(value)


# Small tables to try them on.

SHIFTS = np.array([2.0, 1.5, 0.0, 0.7, 0.0, 0.3])


def continuous_table(n_samples: int = 60, *, n_classes: int = 3, seed: int = 0) -> tuple[Any, Any]:
    """Six features in different units, some with a main effect; classes of different sizes; no ties."""
    rng = np.random.default_rng(seed)
    share = np.arange(n_classes, 0, -1)
    y = rng.choice(n_classes, n_samples, p=share / share.sum())
    y[: 2 * n_classes] = np.tile(np.arange(n_classes), 2)
    X = rng.normal(size=(n_samples, 6)) + np.outer(y, SHIFTS)
    return X * [1.0, 10.0, 0.1, 1.0, 100.0, 3.0] + [0.0, -5.0, 0.3, 1.0, 0.0, 50.0], y


def discrete_table(n_samples: int = 60, *, n_classes: int = 3, seed: int = 0) -> tuple[Any, Any]:
    """Five features of 0, 1 and 2, the first two related to the class: ties and duplicates everywhere."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_samples) % n_classes)
    X = rng.integers(0, 3, size=(n_samples, 5))
    informed = rng.uniform(size=(n_samples, 2)) < [0.8, 0.5]
    X[:, :2] = np.where(informed, y[:, np.newaxis] % 3, X[:, :2])
    return X.astype(np.float64), y


def rounded_table(n_samples: int = 60, *, n_classes: int = 3, seed: int = 0) -> tuple[Any, Any]:
    """Whole numbers of ranges 3, 7, 3, 7 and 3: scaling to [0, 1] splits true ties by rounding."""
    X, y = discrete_table(n_samples, n_classes=n_classes, seed=seed)
    rng = np.random.default_rng(seed)
    X[:, 2:] = rng.integers(0, 4, size=(n_samples, 3))
    X[:, [1, 3]] += rng.integers(0, 5, size=(n_samples, 2))
    X[0], X[1] = 0.0, [3.0, 7.0, 3.0, 7.0, 3.0]
    return X, y
