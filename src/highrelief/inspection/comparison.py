"""Several methods side by side: accuracy by nested cross-validation, stability, their trade-off, time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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

#: What the selections are judged by, if nothing else is given: the classifiers of Li et al. (2015).
CLASSIFIERS: dict[str, Any] = {
    "knn": make_pipeline(MinMaxScaler(), KNeighborsClassifier(N_NEIGHBORS)),
    "linear-svm": make_pipeline(StandardScaler(), SVC(kernel="linear", C=1.0)),
}
#: The name of the baseline.
ALL_FEATURES = "all features"

#: Rows to fit, rows left out.
Fold = tuple[NDArray[np.int64], NDArray[np.int64]]
#: Told after each method in each fold: how many of them are done, of how many, and which came last.
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Accuracy:
    """Accuracy of one classifier after one method, in the outer folds."""

    #: (n_folds,) share of the samples left out that are classified correctly.
    folds: NDArray[np.float64]
    #: (n_folds,) numbers of samples that were fitted, and that were left out.
    n_fitted: NDArray[np.int64]
    n_left_out: NDArray[np.int64]
    #: Of the interval.
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
        """Ends of a confidence interval of the mean, see ``accuracy_interval``."""
        return accuracy_interval(self.folds, self.n_fitted, self.n_left_out, confidence=self.confidence)


@dataclass(frozen=True)
class MethodResult:
    """What one method did in the outer folds."""

    name: str
    #: By name of the classifier.
    accuracy: dict[str, Accuracy]
    #: (n_folds, n_features) weights; None for the baseline.
    weights: NDArray[np.float64] | None
    #: (n_folds, n_features) which features were kept.
    selections: NDArray[np.bool_]
    #: (n_folds,) seconds on the clock to weigh the fitted samples of the fold once; the first of a method may
    #: hold the time to load or compile its kernels.
    seconds: NDArray[np.float64]

    @property
    def n_features(self) -> NDArray[np.int64]:
        """Number of features kept in each fold."""
        return self.selections.sum(axis=1)

    @cached_property
    def ranking_stability(self) -> float:
        """Mean rank correlation of the weights of the folds; nan for the baseline, or for one fold."""
        if self.weights is None or len(self.weights) < 2:
            return float("nan")
        return spearman(self.weights)

    @cached_property
    def selection_stability(self) -> NogueiraStability:
        """Nogueira's measure of the selections; nan where there was no choice, or for one fold.

        Its interval is that of independent selections; those of folds share most of their samples.
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


@dataclass(frozen=True)
class Comparison:
    """What :func:`compare` found."""

    #: In the order they were given; the last is the baseline that keeps all features.
    methods: list[MethodResult]
    #: Rows to select and fit by, and rows that were left out, fold by fold.
    folds: list[Fold]

    def rows(self) -> Iterator[dict[str, Any]]:
        """One flat row of plain numbers for each method and classifier, for tables and JSON.

        None where there is nothing to tell, such as the stability of all features.
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
                told = {key: None if np.isnan(value) else value for key, value in numbers.items()}
                yield {"method": method.name, "classifier": name, **told}


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
    """Compare methods by the two-loop protocol: what is left out of a fold takes no part in the selection.

    In every outer fold, the same for all methods, missing values become the median of the feature, each
    method weighs the features, a :class:`~highrelief.CrossValidatedSelector` chooses how many to keep, and
    the classifiers are fitted to the kept features: all by the samples that are fitted in the fold. Then the
    others are classified. The number of features is chosen by k-NN, once for all classifiers, so that a
    method has one selection in a fold. (The inner folds share the medians; that touches the choice of a
    number, not the samples left out.)

    Parameters
    ----------
    methods : mapping of str to estimator
        Weighters, or other estimators with ``feature_importances_`` or ``coef_``, by name. Cloned, not
        changed.
    X : array-like of shape (n_samples, n_features)
        The samples; nan where a value is missing.
    y : array-like of shape (n_samples,)
        Their classes.
    groups : array-like of shape (n_samples,), default=None
        Samples of the same group are never on both sides of a fold, outer or inner.
    batches : array-like of shape (n_samples,), default=None
        Batches, for the fits of the methods, which must all take them; the classifiers see one table.
    cv, inner_cv : int, splitter or list of pairs, default=10 and 5
        The outer folds, and those that choose the number of features. A number means stratified folds, the
        outer ones shuffled by ``random_state``. Pairs name rows of X, and are for the outer folds only.
    cuts : "auto" or array-like, default="auto"
        Numbers of features that are tried, see :class:`~highrelief.CrossValidatedSelector`.
    classifiers : sequence of str or mapping of str to classifier, default=("knn", "linear-svm")
        "knn": 3-NN on features scaled to [0, 1]; "linear-svm": a linear support vector machine, C = 1, on
        standardized features; both scaled by what is fitted. Or classifiers by name.
    confidence : float, default=0.95
        Of the intervals of the accuracy.
    n_jobs : int or None, default=None
        Threads. Methods run one after another, so that their times can be compared.
    random_state : int, RandomState or None, default=None
        How the samples are shuffled, and what random numbers methods and classifiers draw that leave them to
        chance.
    progress : callable, default=None
        Called with (done, total, name of the method) after each method in each fold.

    Returns
    -------
    comparison : Comparison
        Results by method; the last is the baseline, all features.

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
    judges = _judges(classifiers)
    X, y = _checked(X, y)
    everyone = np.ones(len(y), dtype=bool)
    together, measured = label_codes("groups", groups, everyone), label_codes("batches", batches, everyone)
    random = random_generator("random_state", random_state)
    folds = _outer_folds(cv, X, y, together, random)
    _check_inner(inner_cv)

    trials: dict[str, list[_Trial]] = {name: [] for name in (*methods, ALL_FEATURES)}
    for fold in folds:
        part = _Part.of(X, y, together, measured, fold, int(random.randint(SEEDS)))
        for name, done in trials.items():
            if name == ALL_FEATURES:
                choice = _Choice(None, np.ones(X.shape[1], dtype=bool), 0.0)
            else:
                selector = CrossValidatedSelector(
                    methods[name], cv=inner_cv, cuts=cuts, n_jobs=n_jobs, random_state=part.seed
                )
                choice = _choice(name, selector, part)
            done.append(_Trial(choice, {judge: _score(each, part, choice) for judge, each in judges.items()}))
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
    r"""Confidence interval of an accuracy from the scores of J folds, which share the samples they fit.

    Nadeau and Bengio (2003) correct the variance of the mean for what the folds have in common,

    .. math:: \Bigl( \frac{1}{J} + \frac{n_\mathrm{left out}}{n_\mathrm{fitted}} \Bigr) S^2,

    and take Student's t with J − 1 degrees of freedom; made for random splits, it is a rule of thumb for
    folds, for which no unbiased variance exists. It has the length 0 where all folds score the same, such as
    1, which no finite number of samples can show: the interval is widened, where necessary, to hold that of
    Wilson (1927) for a share of as many samples as were left out, once each.

    Parameters
    ----------
    scores : array of shape (n_folds,)
        Accuracies.
    n_fitted, n_left_out : array of shape (n_folds,)
        Numbers of samples.
    confidence : float, default=0.95
        Of the interval.

    Returns
    -------
    lower, upper : float
        Within [0, 1].

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
    # Each sample is left out at most once in J folds; repeated folds are of the same samples again.
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
    """Confidence interval of the difference of two accuracies in the same folds.

    That of Nadeau and Bengio (2003), see :func:`accuracy_interval`, for what one scores above the other fold
    by fold: what makes a fold easy or hard for both takes no part in it.

    Parameters
    ----------
    differences : array of shape (n_folds,)
        Accuracy of one minus accuracy of the other.
    n_fitted, n_left_out : array of shape (n_folds,)
        Numbers of samples.
    confidence : float, default=0.95
        Of the interval.

    Returns
    -------
    lower, upper : float
        nan where nothing can be told: for one fold, or if the difference is the same in all, which says
        nothing about how it varies.

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
    # Equal up to what rounding leaves of differences of shares.
    if len(differences) > 1 and np.ptp(differences) > 1e-12:
        half = _half_width(differences, n_fitted, n_left_out, confidence)
    return mean - half, mean + half


def _half_width(
    values: NDArray[np.float64], n_fitted: NDArray[np.int64], n_left_out: NDArray[np.int64], confidence: float
) -> float:
    """How far the interval of Nadeau and Bengio reaches to either side of the mean."""
    shared = float(np.mean(n_left_out) / np.mean(n_fitted))
    t = float(stdtrit(len(values) - 1, 0.5 + 0.5 * confidence))
    return t * float(np.sqrt((1.0 / len(values) + shared) * np.var(values, ddof=1)))


# One fold


@dataclass(frozen=True)
class _Part:
    """An outer fold, missing values filled in by what is fitted in it."""

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
        known, new = X[fitted], X[left_out]
        if np.isnan(X).any():
            imputer = SimpleImputer(strategy="median", keep_empty_features=True).fit(known)
            known, new = imputer.transform(known), imputer.transform(new)
        of_groups, of_batches = (None if each is None else each[fitted] for each in (groups, batches))
        return cls(known, y[fitted], of_groups, of_batches, new, y[left_out], seed)


class _Choice(NamedTuple):
    """What a method says in a fold."""

    weights: NDArray[np.float64] | None
    support: NDArray[np.bool_]
    seconds: float


class _Trial(NamedTuple):
    """A method in a fold, and how the classifiers did after it."""

    choice: _Choice
    scores: dict[str, float]


def _choice(name: str, selector: CrossValidatedSelector, part: _Part) -> _Choice:
    """Weigh, and choose a number of features, by what is fitted in a fold."""
    try:
        selector.fit(part.X, part.y, groups=part.groups, batches=part.batches)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name}: {error}") from error
    return _Choice(selector.feature_weights_, selector.get_support(), selector.refit_time_)


def _score(classifier: Any, part: _Part, choice: _Choice) -> float:
    """Accuracy on the samples left out by the features that were chosen without them."""
    model = seeded_clone(classifier, unseeded(classifier), part.seed)
    model.fit(part.X[:, choice.support], part.y)
    return float(np.mean(model.predict(part.X_new[:, choice.support]) == part.y_new))


def _result(name: str, trials: list[_Trial], folds: list[Fold], confidence: float) -> MethodResult:
    n_fitted, n_left_out = np.array([[len(rows) for rows in fold] for fold in folds]).T
    accuracy = {
        judge: Accuracy(np.array([each.scores[judge] for each in trials]), n_fitted, n_left_out, confidence)
        for judge in trials[0].scores
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


def _judges(classifiers: Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    """Classifiers by name."""
    if isinstance(classifiers, Mapping):
        judges = dict(classifiers)
    else:
        names = [classifiers] if isinstance(classifiers, str) else list(classifiers)
        for name in names:
            check_choice("classifiers", name, tuple(CLASSIFIERS))
        judges = {name: CLASSIFIERS[name] for name in names}
    if not judges:
        raise ValueError("classifiers is empty; use at least one.")
    return judges
