"""Comparison of methods: accuracy by nested cross-validation, stability, their trade-off, and time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit
from sklearn.impute import SimpleImputer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import column_or_1d

from .._dask.collections import gathered
from .._engine.cached_property import cached_property
from .._engine.parameters import check_choice, check_number, random_generator
from ..base.folds import check_folds, usable_folds, warn_of_fewer_folds
from ..base.resampling import SEEDS, seeded_clone, unseeded
from ..base.validation import check_array, check_classification_targets, label_codes, plain, refuse_dask
from ..selection.cross_validation import N_NEIGHBORS, CrossValidatedSelector
from ..stability import NogueiraStability, accuracy_tradeoff, nogueira, spearman

__all__ = ["Accuracy", "Comparison", "MethodResult", "compare"]

#: Default classifiers that evaluate the selections (Li et al. 2015).
CLASSIFIERS: dict[str, Any] = {
    "knn": make_pipeline(MinMaxScaler(), KNeighborsClassifier(N_NEIGHBORS)),
    "linear-svm": make_pipeline(StandardScaler(), SVC(kernel="linear", C=1.0)),
}
#: The name of the baseline.
ALL_FEATURES = "all features"

#: Rows to fit, rows left out.
Fold = tuple[NDArray[np.int64], NDArray[np.int64]]
#: Called after each method in each fold with (done, total, name of the method).
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Accuracy:
    """Accuracy of one classifier after one method, in the outer folds."""

    #: (n_folds,) accuracy on the samples left out.
    folds: NDArray[np.float64]
    #: (n_folds,) numbers of samples fitted and left out.
    n_fitted: NDArray[np.int64]
    n_left_out: NDArray[np.int64]
    #: Confidence level of the interval.
    confidence: float = 0.95

    @property
    def mean(self) -> float:
        """Mean over the folds."""
        return float(self.folds.mean())

    @property
    def deviation(self) -> float:
        """Standard deviation over the folds; nan for one fold."""
        return float(self.folds.std(ddof=1)) if self.folds.size > 1 else float("nan")

    @cached_property
    def interval(self) -> tuple[float, float]:
        """Confidence interval of the mean, see :func:`accuracy_interval`."""
        return accuracy_interval(self.folds, self.n_fitted, self.n_left_out, confidence=self.confidence)


@dataclass(frozen=True)
class MethodResult:
    """Results of one method over the outer folds."""

    name: str
    #: Accuracy by classifier.
    accuracy: dict[str, Accuracy]
    #: (n_folds, n_features) weights; None for the baseline.
    weights: NDArray[np.float64] | None
    #: (n_folds, n_features) selected features.
    selections: NDArray[np.bool_]
    #: (n_folds,) wall time of one fit, without compiling; the first of a method may include loading kernels.
    seconds: NDArray[np.float64]

    @property
    def n_features(self) -> NDArray[np.int64]:
        """Number of selected features in each fold."""
        return self.selections.sum(axis=1)

    @cached_property
    def ranking_stability(self) -> float:
        """Mean rank correlation of the weights over the folds; nan for the baseline or a single fold."""
        if self.weights is None or len(self.weights) < 2:
            return float("nan")
        return spearman(self.weights)

    @cached_property
    def selection_stability(self) -> NogueiraStability:
        """Nogueira's stability of the selections; nan for the baseline or a single fold.

        Its interval assumes independent selections; those of folds share most of their samples.
        """
        if len(self.selections) < 2:
            return NogueiraStability(*3 * [float("nan")])
        return nogueira(self.selections)

    @cached_property
    def tradeoff(self) -> dict[str, float]:
        """SAT of Li et al. (2015) by classifier: harmonic mean of ranking stability and mean accuracy."""
        if np.isnan(self.ranking_stability):
            return dict.fromkeys(self.accuracy, float("nan"))
        return {
            name: accuracy_tradeoff(self.ranking_stability, found.mean)
            for name, found in self.accuracy.items()
        }


#: Columns of a comparison as a notebook or the command shows it.
COLUMNS = ("method", "classifier", "accuracy", "interval", "features", "stability", "trade-off", "seconds")


@dataclass(frozen=True, repr=False)
class Comparison:
    """Result of :func:`compare`; a notebook and the interpreter show it as a table."""

    #: In the order of the arguments; the last is the baseline with all features.
    methods: list[MethodResult]
    #: Indices of the fitted samples and of those left out, by fold.
    folds: list[Fold]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield one flat row of plain numbers for each method and classifier.

        None where a value is undefined, such as the stability of all features.
        """
        for method in self.methods:
            selection = method.selection_stability
            for name, accuracy in method.accuracy.items():
                numbers: dict[str, float] = {
                    "accuracy": accuracy.mean,
                    "accuracy_deviation": accuracy.deviation,
                    "accuracy_lower": accuracy.interval[0],
                    "accuracy_upper": accuracy.interval[1],
                    "n_features": float(np.median(method.n_features)),
                    "n_features_least": int(method.n_features.min()),
                    "n_features_most": int(method.n_features.max()),
                    "ranking_stability": method.ranking_stability,
                    "selection_stability": selection.stability,
                    "selection_stability_lower": selection.lower,
                    "selection_stability_upper": selection.upper,
                    "tradeoff": method.tradeoff[name],
                    "seconds": float(np.median(method.seconds)),
                }
                values = {key: None if np.isnan(value) else value for key, value in numbers.items()}
                yield {"method": method.name, "classifier": name, **values}

    def __repr__(self) -> str:
        lines = [COLUMNS, *formatted_rows(self.rows())]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        aligned = (
            [*map(str.ljust, line[:2], widths[:2]), *map(str.rjust, line[2:], widths[2:])] for line in lines
        )
        return "\n".join("  ".join(line).rstrip() for line in aligned)

    def _repr_html_(self) -> str:
        def row(cells: Sequence[str], tag: str) -> str:
            return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"

        body = "".join(row(cells, "td") for cells in formatted_rows(self.rows()))
        return f"<table><thead>{row(COLUMNS, 'th')}</thead><tbody>{body}</tbody></table>"


def formatted_rows(rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    """Yield the cells of :data:`COLUMNS` for the rows of a comparison; empty where a value is undefined."""

    def share(value: float | None) -> str:
        return "" if value is None else f"{value:.3f}"

    for row in rows:
        yield (
            row["method"],
            row["classifier"],
            share(row["accuracy"]),
            f"{share(row['accuracy_lower'])} to {share(row['accuracy_upper'])}",
            f"{row['n_features']:g} ({row['n_features_least']} to {row['n_features_most']})",
            share(row["ranking_stability"]),
            share(row["tradeoff"]),
            f"{row['seconds']:.2g}",
        )


def compare(
    methods: Mapping[str, Any],
    X: ArrayLike,
    y: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    batches: ArrayLike | None = None,
    cv: Any = 10,
    inner_cv: Any = 5,
    cuts: str | ArrayLike = "auto",
    classifiers: Sequence[str] | Mapping[str, Any] = ("knn", "linear-svm"),
    confidence: float = 0.95,
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare methods by nested cross-validation.

    The outer folds are the same for all methods. On the training samples of each, missing values are replaced
    by the median of the feature, each method weighs the features, a
    :class:`~highrelief.CrossValidatedSelector` chooses how many to select, and the classifiers are fitted to
    the selected features; then the samples left out are classified. The number of features is chosen by k-NN,
    once for all classifiers, so that a method has one selection per fold. (The inner folds share the medians,
    which affects the chosen number only.)

    Parameters
    ----------
    methods : mapping of str to estimator
        Weighters, or other estimators with ``feature_importances_`` or ``coef_``, by name. They are cloned.
    X : array-like of shape (n_samples, n_features)
        The samples, with NaN for missing values.
    y : array-like of shape (n_samples,)
        Class labels.
    groups : array-like of shape (n_samples,), default=None
        Group labels: samples of a group stay on one side of every fold, outer and inner.
    batches : array-like of shape (n_samples,), default=None
        Batch labels for the fits of the methods, which must all support them; classifiers ignore them.
    cv, inner_cv : int, splitter or list of pairs, default=10 and 5
        The outer folds, and the inner ones that choose the number of features. An int means stratified folds,
        the outer ones shuffled by ``random_state``. Pairs of row indices are allowed for the outer folds
        only.
    cuts : "auto" or array-like, default="auto"
        Candidate numbers of features, see :class:`~highrelief.CrossValidatedSelector`.
    classifiers : sequence of str or mapping of str to classifier, default=("knn", "linear-svm")
        "knn": 3-NN on features scaled to [0, 1]; "linear-svm": a linear support vector machine, C = 1, on
        standardized features; both scaled by the training samples. Or classifiers by name.
    confidence : float, default=0.95
        Confidence level of the intervals of the accuracy.
    n_jobs : int or None, default=None
        Number of threads. Methods run one after another, so that their times can be compared.
    random_state : int, RandomState or None, default=None
        Seed of the outer folds, and of methods and classifiers whose ``random_state`` is None.
    progress : callable, default=None
        Called after each method in each fold with (done, total, name of the method).

    Returns
    -------
    comparison : Comparison
        Results by method; the last is the baseline with all features.

    References
    ----------
    Ambroise, C. and McLachlan, G. (2002). Selection bias in gene extraction on the basis of microarray
    gene-expression data. PNAS 99(10), 6562-6566.

    Li, Y., Si, J., Zhou, G., Huang, S. and Chen, S. (2015). FREL: a stable feature selection algorithm.
    IEEE TNNLS 26(7), 1388-1402.

    Examples
    --------
    >>> from highrelief import FisherScore, ReliefF
    >>> from highrelief.inspection.comparison import compare
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=20, random_state=0)
    >>> methods = {"relieff": ReliefF(), "fisher": FisherScore()}
    >>> found = compare(methods, X, y, cv=3, inner_cv=3, classifiers=["knn"], random_state=0)
    >>> for row in found.rows():
    ...     print(f"{row['method']:12} {row['accuracy']:.2f} {row['n_features']:.0f}")
    relieff      0.95 2
    fisher       0.57 7
    all features 0.63 22
    """
    refuse_dask(X, "compare")
    check_number("confidence", confidence, above=0.0, below=1.0)
    _check_methods(methods)
    evaluators = _named_classifiers(classifiers)
    X, y = _checked(X, y)
    all_samples = np.ones(len(y), dtype=bool)
    group_codes, batch_codes = (
        label_codes("groups", groups, all_samples),
        label_codes("batches", batches, all_samples),
    )
    random = random_generator("random_state", random_state)
    folds = _outer_folds(cv, X, y, group_codes, random)
    _check_inner(inner_cv)

    trials: dict[str, list[_Trial]] = {name: [] for name in (*methods, ALL_FEATURES)}
    for fold in folds:
        outer_fold = _OuterFold.of(X, y, group_codes, batch_codes, fold, int(random.randint(SEEDS)))
        for name, done in trials.items():
            if name == ALL_FEATURES:
                choice = _Choice(None, np.ones(X.shape[1], dtype=bool), 0.0)
            else:
                selector = CrossValidatedSelector(
                    methods[name], cv=inner_cv, cuts=cuts, n_jobs=n_jobs, random_state=outer_fold.seed
                )
                choice = _choice(name, selector, outer_fold)
            done.append(
                _Trial(
                    choice,
                    {classifier: _score(each, outer_fold, choice) for classifier, each in evaluators.items()},
                )
            )
            if progress is not None:
                progress(sum(map(len, trials.values())), len(folds) * len(trials), name)
    return Comparison([_result(name, done, folds, confidence) for name, done in trials.items()], folds)


def accuracy_interval(
    scores: NDArray[np.float64],
    n_fitted: NDArray[np.int64],
    n_left_out: NDArray[np.int64],
    *,
    confidence: float = 0.95,
) -> tuple[float, float]:
    r"""Return a confidence interval of an accuracy from the scores of J folds.

    Nadeau and Bengio (2003) correct the variance of the mean for the overlap of the training samples,

    .. math:: \Bigl( \frac{1}{J} + \frac{n_\mathrm{left out}}{n_\mathrm{fitted}} \Bigr) S^2,

    and use Student's t with J − 1 degrees of freedom. It was derived for random splits and is a rule of thumb
    for folds, for which no unbiased variance exists. It has length 0 if all folds have the same score, such
    as 1. Therefore it is widened, where necessary, to include Wilson's interval (1927) for as many samples as
    were left out, counted once each.

    Parameters
    ----------
    scores : array of shape (n_folds,)
        Accuracies.
    n_fitted, n_left_out : array of shape (n_folds,)
        Numbers of samples.
    confidence : float, default=0.95
        Confidence level.

    Returns
    -------
    lower, upper : float
        Bounds within [0, 1].

    References
    ----------
    Nadeau, C. and Bengio, Y. (2003). Inference for the generalization error. Machine Learning 52, 239-281.

    Examples
    --------
    >>> import numpy as np
    >>> from highrelief.inspection.comparison import accuracy_interval
    >>> low, high = accuracy_interval(np.ones(5), np.full(5, 40), np.full(5, 10))
    >>> round(low, 3), high
    (0.929, 1.0)
    """
    mean = float(np.mean(scores))
    # Repeated folds leave the same samples out again.
    n_tested = min(float(np.sum(n_left_out)), float(np.max(n_fitted + n_left_out)))
    z = float(ndtri(0.5 + 0.5 * confidence))
    middle = (mean + z**2 / (2.0 * n_tested)) / (1.0 + z**2 / n_tested)
    spread = mean * (1.0 - mean) / n_tested + z**2 / (4.0 * n_tested**2)
    wilson = z * float(np.sqrt(spread)) / (1.0 + z**2 / n_tested)
    corrected = 0.0 if len(scores) < 2 else _half_width(scores, n_fitted, n_left_out, confidence)
    lower = min(middle - wilson, mean - corrected)
    return max(lower, 0.0), min(max(middle + wilson, mean + corrected), 1.0)


def difference_interval(
    differences: NDArray[np.float64],
    n_fitted: NDArray[np.int64],
    n_left_out: NDArray[np.int64],
    *,
    confidence: float = 0.95,
) -> tuple[float, float]:
    """Return a confidence interval of the difference of two accuracies in the same folds.

    The interval of Nadeau and Bengio (2003), see :func:`accuracy_interval`, for the differences paired by
    fold.

    Parameters
    ----------
    differences : array of shape (n_folds,)
        Accuracy of one minus accuracy of the other.
    n_fitted, n_left_out : array of shape (n_folds,)
        Numbers of samples.
    confidence : float, default=0.95
        Confidence level.

    Returns
    -------
    lower, upper : float
        nan for a single fold, or if the difference is the same in all folds.

    References
    ----------
    Nadeau, C. and Bengio, Y. (2003). Inference for the generalization error. Machine Learning 52, 239-281.

    Examples
    --------
    >>> import numpy as np
    >>> from highrelief.inspection.comparison import difference_interval
    >>> low, high = difference_interval(np.array([0.1, 0.2, 0.3]), np.full(3, 40), np.full(3, 20))
    >>> round(low, 3), round(high, 3)
    (-0.193, 0.593)
    """
    mean = float(np.mean(differences))
    half = float("nan")
    # Differences of shares are equal up to rounding.
    if len(differences) > 1 and np.ptp(differences) > 1e-12:
        half = _half_width(differences, n_fitted, n_left_out, confidence)
    return mean - half, mean + half


def _half_width(
    values: NDArray[np.float64], n_fitted: NDArray[np.int64], n_left_out: NDArray[np.int64], confidence: float
) -> float:
    """Return half the width of the interval of Nadeau and Bengio (2003)."""
    shared = float(np.mean(n_left_out) / np.mean(n_fitted))
    t = float(stdtrit(len(values) - 1, 0.5 + 0.5 * confidence))
    return t * float(np.sqrt((1.0 / len(values) + shared) * np.var(values, ddof=1)))


# One fold


@dataclass(frozen=True)
class _OuterFold:
    """Samples of an outer fold, imputed by the medians of the training samples."""

    X: NDArray[Any]
    y: NDArray[Any]
    groups: NDArray[np.int64] | None
    batches: NDArray[np.int64] | None
    X_new: NDArray[Any]
    y_new: NDArray[Any]
    seed: int

    @classmethod
    def of(
        cls,
        X: NDArray[Any],
        y: NDArray[Any],
        groups: NDArray[np.int64] | None,
        batches: NDArray[np.int64] | None,
        fold: Fold,
        seed: int,
    ) -> Self:
        fitted, left_out = fold
        X_fitted, X_left_out = X[fitted], X[left_out]
        if np.isnan(X).any():
            imputer = SimpleImputer(strategy="median", keep_empty_features=True).fit(X_fitted)
            X_fitted, X_left_out = imputer.transform(X_fitted), imputer.transform(X_left_out)
        fitted_groups, fitted_batches = (None if each is None else each[fitted] for each in (groups, batches))
        return cls(X_fitted, y[fitted], fitted_groups, fitted_batches, X_left_out, y[left_out], seed)


class _Choice(NamedTuple):
    """Weights and selection of a method in a fold."""

    weights: NDArray[np.float64] | None
    support: NDArray[np.bool_]
    seconds: float


class _Trial(NamedTuple):
    """Selection of a method in a fold, and the accuracies of the classifiers."""

    choice: _Choice
    scores: dict[str, float]


def _choice(name: str, selector: CrossValidatedSelector, fold: _OuterFold) -> _Choice:
    """Fit a selector to the training samples of a fold."""
    try:
        selector.fit(fold.X, fold.y, groups=fold.groups, batches=fold.batches)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name}: {error}") from error
    return _Choice(selector.feature_weights_, selector.get_support(), selector.refit_time_)


def _score(classifier: Any, fold: _OuterFold, choice: _Choice) -> float:
    """Return the accuracy of a classifier on the samples left out."""
    model = seeded_clone(classifier, unseeded(classifier), fold.seed)
    model.fit(fold.X[:, choice.support], fold.y)
    return float(np.mean(model.predict(fold.X_new[:, choice.support]) == fold.y_new))


def _result(name: str, trials: list[_Trial], folds: list[Fold], confidence: float) -> MethodResult:
    n_fitted, n_left_out = np.array([[len(rows) for rows in fold] for fold in folds]).T
    accuracy = {
        classifier: Accuracy(
            np.array([each.scores[classifier] for each in trials]), n_fitted, n_left_out, confidence
        )
        for classifier in trials[0].scores
    }
    weights = [each.choice.weights for each in trials if each.choice.weights is not None]
    return MethodResult(
        name,
        accuracy,
        np.stack(weights) if weights else None,
        np.stack([each.choice.support for each in trials]),
        np.array([each.choice.seconds for each in trials]),
    )


# Input


def _checked(X: ArrayLike, y: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    y = gathered(y)
    samples = check_array(X, dtype="numeric", ensure_all_finite="allow-nan", ensure_min_samples=2)
    classes = column_or_1d(y)
    check_consistent_length(samples, classes)
    check_classification_targets(classes)
    if np.unique(classes).size < 2:
        raise ValueError(f"y has only one class ({plain(classes[0])!r}); there is nothing to compare by.")
    return samples, classes


def _outer_folds(
    cv: Any,
    X: NDArray[Any],
    y: NDArray[Any],
    groups: NDArray[np.int64] | None,
    random: np.random.RandomState,
) -> list[Fold]:
    check_folds("cv", cv)
    codes = np.unique(y, return_inverse=True)[1]
    folds = list(usable_folds(cv, X, codes, np.ones(len(y), dtype=bool), groups, random))
    if not folds:
        raise ValueError(
            "cv gives no fold to compare by: the samples to fit would be of one class, or all the same"
            + ("." if groups is None else f", or there are too few groups ({np.unique(groups).size}).")
        )
    warn_of_fewer_folds(cv, len(folds))
    return folds


def _check_inner(cv: Any) -> None:
    check_folds("inner_cv", cv)
    if isinstance(cv, list):
        raise TypeError("inner_cv must be a number or a splitter: rows of X are others in every outer fold.")


def _check_methods(methods: Any) -> None:
    if not isinstance(methods, Mapping) or not methods:
        raise TypeError(f"methods={methods!r} must be a mapping of names to weighters.")
    if ALL_FEATURES in methods:
        raise ValueError(f"{ALL_FEATURES!r} is the name of the baseline; give the method another.")


def _named_classifiers(classifiers: Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    """Return the classifiers by name."""
    if isinstance(classifiers, Mapping):
        named = dict(classifiers)
    else:
        names = [classifiers] if isinstance(classifiers, str) else list(classifiers)
        for name in names:
            check_choice("classifiers", name, tuple(CLASSIFIERS))
        named = {name: CLASSIFIERS[name] for name in names}
    if not named:
        raise ValueError("classifiers is empty; use at least one.")
    return named
