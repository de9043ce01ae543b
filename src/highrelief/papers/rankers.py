"""Feature rankers that the benchmarks compare: of this package, and of others if they are installed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest, mutual_info_classif
from sklearn.utils.multiclass import type_of_target

from ..methods.fisher import FisherScore
from ..methods.high_relief import HighRelief
from ..methods.irelief import IRelief
from ..methods.logo import LOGO
from ..methods.pair_scan import MOST_LEVELS, PairScan
from ..methods.relief import ReliefF
from ..methods.rrelieff import RReliefF
from ..methods.surf import MultiSURF, MultiSURFStar
from ..selection.elimination import IterativeElimination
from .experiment import Array, Outcome, fit_quietly
from .results import Estimate, Pair, Results, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Indices of the columns to be treated as categories; None: there are none.
Categories = NDArray[np.int64] | None


class Ranker(NamedTuple):
    """A method of the comparison."""

    #: Returns an estimator, given the columns that may be treated as categories.
    make: Callable[[Categories], Any]
    #: Module of another package that it needs, and name of that package if it is another.
    package: str = ""
    #: Attribute with the result: ``ranking_``, 1 = best, or scores, largest = best.
    attribute: str = "ranking_"
    #: Whether ``support_`` is a recommended set.
    recommends: bool = False
    allows_missing: bool = True
    continuous_target: bool = False
    distribution: str = ""


class _MRMR:
    """mRMR of the package mrmr_selection, as an estimator; features beyond the first 50 are not ranked."""

    def fit(self, X: Array, y: Array) -> Self:
        pandas = import_module("pandas")
        n_features = X.shape[1]
        n_ranked = min(n_features, 50)
        best = import_module("mrmr").mrmr_classif(
            X=pandas.DataFrame(X), y=pandas.Series(y), K=n_ranked, n_jobs=1, show_progress=False
        )
        self.ranking_ = np.full(n_features, n_ranked + 1)
        self.ranking_[best] = np.arange(1, len(best) + 1)
        return self


def _boruta(_: Categories) -> Any:
    forest = RandomForestClassifier(max_depth=5, n_jobs=1, random_state=0)
    return import_module("boruta").BorutaPy(forest, n_estimators="auto", random_state=0)


#: By name: first HighRelief, which the others are compared with. "-cat": whole numbers of few values are
#: categories, as they are in skrebate; "TuRF": IterativeElimination.
RANKERS: Mapping[str, Ranker] = {
    "HighRelief": Ranker(lambda _: HighRelief(random_state=0), recommends=True),
    "IRelief": Ranker(lambda _: IRelief()),
    "ReliefF": Ranker(lambda _: ReliefF()),
    "ReliefF-cat": Ranker(lambda categories: ReliefF(categorical_features=categories)),
    "TuRF-ReliefF": Ranker(lambda _: IterativeElimination(ReliefF())),
    "TuRF-ReliefF-cat": Ranker(
        lambda categories: IterativeElimination(ReliefF(categorical_features=categories))
    ),
    "MultiSURF": Ranker(lambda _: MultiSURF()),
    "MultiSURF-cat": Ranker(lambda categories: MultiSURF(categorical_features=categories)),
    "MultiSURFStar": Ranker(lambda _: MultiSURFStar()),
    "PairScan": Ranker(lambda _: PairScan()),
    "LOGO": Ranker(lambda _: LOGO()),
    "FisherScore": Ranker(lambda _: FisherScore(), allows_missing=False),
    "RReliefF": Ranker(lambda _: RReliefF(), continuous_target=True),
    "RReliefF-cat": Ranker(
        lambda categories: RReliefF(categorical_features=categories), continuous_target=True
    ),
    "Random forest": Ranker(
        lambda _: RandomForestClassifier(500, n_jobs=1, random_state=0), attribute="feature_importances_"
    ),
    "Mutual information": Ranker(
        lambda categories: SelectKBest(
            partial(
                mutual_info_classif,
                discrete_features=False if categories is None else categories,
                random_state=0,
            ),
            k="all",
        ),
        attribute="scores_",
        allows_missing=False,
    ),
    "mRMR": Ranker(lambda _: _MRMR(), "mrmr", allows_missing=False, distribution="mrmr_selection"),
    "LightGBM": Ranker(
        lambda _: import_module("lightgbm").LGBMClassifier(
            importance_type="gain", n_jobs=1, random_state=0, verbose=-1
        ),
        "lightgbm",
        "feature_importances_",
    ),
    "XGBoost": Ranker(
        lambda _: import_module("xgboost").XGBClassifier(importance_type="gain", n_jobs=1, random_state=0),
        "xgboost",
        "feature_importances_",
    ),
    # Columns of at most ten distinct values are discrete in skrebate and in fast-select.
    "skrebate ReliefF": Ranker(
        lambda _: import_module("skrebate").ReliefF(n_neighbors=100, n_jobs=1),
        "skrebate",
        "feature_importances_",
    ),
    "skrebate MultiSURF": Ranker(
        lambda _: import_module("skrebate").MultiSURF(n_jobs=1), "skrebate", "feature_importances_"
    ),
    "fast-select MultiSURF": Ranker(
        lambda _: import_module("fast_select").MultiSURF(n_features_to_select=1, backend="cpu", n_jobs=1),
        "fast_select",
        "feature_importances_",
        allows_missing=False,
        distribution="fast-select",
    ),
    "Boruta": Ranker(_boruta, "boruta", recommends=True, allows_missing=False),
}

#: Which all others are compared with.
REFERENCE = "HighRelief"


def installed() -> list[str]:
    """Return the names of the rankers whose packages are installed."""
    return [name for name, each in RANKERS.items() if not each.package or find_spec(each.package)]


def not_installed(patterns: Sequence[str] = ("*",)) -> str:
    """Return a sentence on the rankers of matching names whose packages are missing, or an empty text."""
    missing = RANKERS.keys() - installed()
    names = [
        name for name in RANKERS if name in missing and any(fnmatchcase(name, each) for each in patterns)
    ]
    if not names:
        return ""
    packages = dict.fromkeys(RANKERS[name].distribution or RANKERS[name].package for name in names)
    return f"Not installed: {', '.join(names)}; use pip install {' '.join(packages)}."


def few_levels(X: Array) -> Categories:
    """Return the columns of whole numbers with at most ten distinct values, NaN apart."""

    def has_few(column: Array) -> bool:
        values = np.unique(column[~np.isnan(column)])
        return len(values) <= MOST_LEVELS and bool(np.all(values == np.rint(values)))

    found = np.flatnonzero([has_few(column) for column in X.T])
    return found if len(found) else None


def rank(name: str, X: Array, y: Array, relevant: Array, right: Array | None = None) -> Outcome:
    """Rank the features and return the ranks of the relevant ones, or why the method does not apply.

    Tied features all have the worst of their ranks. The features of ``right``, those of ``relevant`` by
    default, count as right where the method recommends a set.
    """
    ranker = RANKERS[name]
    is_continuous = type_of_target(y) == "continuous"
    if is_continuous != ranker.continuous_target:
        return {"skipped": f"{'continuous' if is_continuous else 'class'} targets"}
    if not ranker.allows_missing and np.isnan(X).any():
        return {"skipped": "missing values"}
    categories = few_levels(X)
    begin = time.process_time()
    try:
        model = fit_quietly(ranker.make(categories), X, y)
    except (AttributeError, ImportError, RuntimeError, TypeError, ValueError) as error:
        if not ranker.package:
            raise
        return {"skipped": f"{type(error).__name__}: {error}"}
    seconds = time.process_time() - begin
    values = np.asarray(getattr(model, ranker.attribute), dtype=np.float64)
    order = values if ranker.attribute == "ranking_" else -np.nan_to_num(values, nan=-np.inf)
    ranks = np.searchsorted(np.sort(order), order[relevant], side="right")
    outcome: Outcome = {
        "ranks": sorted(ranks.tolist()),
        "n_features": X.shape[1],
        "seconds": round(seconds, 4),
    }
    if ranker.recommends:
        support = np.asarray(model.support_, dtype=bool)
        outcome["recommended"] = int(support.sum())
        outcome["right"] = int((support & (relevant if right is None else right)).sum())
        outcome["found"] = int((support & relevant).sum())
    return outcome


# Tables that show where another method is ahead


def comparison(
    title: str,
    unit: str,
    values: Mapping[str, Mapping[str, float]],
    published: Mapping[str, Mapping[str, float]] | None = None,
) -> Results:
    """Return a table with methods as rows; ▲ marks those ahead of HighRelief, which the remarks list.

    ``values`` and ``published`` are by method and column.
    """
    published = published or {}
    base = values.get(REFERENCE, {})
    columns = list(dict.fromkeys(column for row in values.values() for column in row))
    pairs: list[Pair] = []
    ahead: dict[str, list[str]] = {column: [] for column in columns}
    for name in dict.fromkeys([*(each for each in RANKERS if each in values), *published]):
        for column in columns:
            ours = values.get(name, {}).get(column)
            theirs = published.get(name, {}).get(column)
            least = base.get(column, np.inf)
            is_ahead = ours is not None and _exceeds(ours, least)
            if is_ahead:
                ahead[column].append(f"{name} {ours:.1f}")
            if theirs is not None and _exceeds(theirs, least):
                ahead[column].append(f"{name} {theirs:.1f} (published)")
            text = f"{ours:.1f} ▲" if is_ahead else None
            pairs.append(
                Pair(
                    name,
                    column,
                    None if ours is None else Estimate(ours, text=text),
                    None if theirs is None else Estimate(theirs),
                )
            )
    remarks = [
        f"{column}: ahead of {REFERENCE} ({base[column]:.1f}): {', '.join(names)}."
        for column, names in ahead.items()
        if names
    ]
    if base and not remarks:
        remarks = [f"No method is ahead of {REFERENCE}."]
    return Results(title, "method", unit, pairs, remarks)


def _exceeds(value: float, other: float) -> bool:
    # Means of the same numbers may differ in the last digit.
    return value > other + 1e-9


def omissions(runs: Iterable[tuple[str, Outcome]]) -> list[str]:
    """Return remarks on rankers that are not installed, and on those that do not apply, by reason."""
    skipped: dict[str, list[str]] = {}
    for name, outcome in runs:
        if "skipped" in outcome:
            skipped.setdefault(outcome["skipped"], []).append(name)
    return [each for each in [not_installed()] if each] + [
        f"Not applicable ({reason}): {', '.join(dict.fromkeys(names))}." for reason, names in skipped.items()
    ]


#: Values by method, each with those of the horizontal axis.
Curves = Mapping[str, tuple[Sequence[float] | Array, Sequence[float] | Array]]


def draw_methods(curves: Mapping[str, Curves], **labels: str) -> Figure:
    """Return a figure with a panel per title, a line per method and one legend; ``labels`` as in Axes.set."""
    figure, axes = panels(len(curves), columns=4, sharey=True)
    lines = {}
    for ax, (title, of_panel) in zip(axes, curves.items(), strict=True):
        for name, (x, y) in of_panel.items():
            place = list(RANKERS).index(name)
            style = ("-", "--", ":")[place // 10]
            (lines[name],) = ax.plot(x, y, style, color=f"C{place % 10}", label=name)
        ax.set(title=title, xscale="log", **labels)
    figure.legend(lines.values(), lines, loc="outside lower center", ncols=4, fontsize="small")
    return figure
