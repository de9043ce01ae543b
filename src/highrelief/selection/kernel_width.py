"""A kernel width chosen by cross-validation: in every fold one warm path, from the middle outwards."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from .._engine.cached_property import cached_property
from .._engine.engine import LocalRows
from .._engine.parameters import check_choice, check_count, check_number
from .._engine.scaling import Scaling
from .._engine.soft import ActiveSetMargins, MarginColumns
from .._solvers.fixed_point import euclidean_norm
from ..base.folds import (
    RULES,
    SAME_SCORE,
    check_folds,
    has_misses,
    told_of,
    usable_folds,
    warn_of_fewer_folds,
)
from ..base.progress import watched, with_callbacks
from ..base.soft import AVERAGED_STEPS, RepeatedWeighter, WithDistances
from ..base.validation import Table, label_codes, warn_user
from ..methods.im4e import IM4E
from ..methods.irelief import IRelief
from ..methods.logo import LOGO

# k-NN in the learned metric: what weights are judged by on samples left out.


#: Neighbors that vote.
N_NEIGHBORS = 5
#: Distances that differ by less, relatively, are equal: scaling splits true ties by rounding.
_TIED = 1e-9
#: From a classifier, samples, their classes and how often they count, to a number that is to be large.
Scorer = Callable[[Any, NDArray[Any], NDArray[Any], NDArray[np.float64] | None], float]


class NeighborRule(ClassifierMixin, BaseEstimator):
    """The class of most of the five fitted samples that are nearest by Σ_j w_j|x_j − x'_j|.

    Neighbors as far as the fifth share its vote; of classes with as many votes the smaller wins. Copies of a
    sample are neighbors of their own. What is missing stands at the mean of the fitted samples.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The fitted samples, not scaled.
    codes : array of shape (n_samples,)
        Their places among ``classes``.
    classes : array of shape (n_classes,)
        The classes.
    sample_weight : array of shape (n_samples,) or None
        How often each sample counts.
    scaling : Scaling
        Of the features.
    weights : array of shape (n_features,)
        Of the features, ≥ 0.
    """

    def __init__(
        self,
        X: NDArray[Any],
        codes: NDArray[np.int64],
        classes: NDArray[Any],
        sample_weight: NDArray[np.float64] | None,
        scaling: Scaling,
        weights: NDArray[np.float64],
    ) -> None:
        self.X, self.codes, self.classes, self.sample_weight = X, codes, classes, sample_weight
        self.scaling, self.weights = scaling, weights
        self.classes_, self.feature_weights_ = classes, weights
        self._active = np.flatnonzero(weights > 0.0)
        fitted = self._weighted(X)
        self._means = _known_means(fitted, sample_weight)
        self._fitted = np.where(np.isnan(fitted), self._means, fitted)
        self._members = np.zeros((codes.size, classes.size))
        self._members[np.arange(codes.size), codes] = 1.0 if sample_weight is None else sample_weight

    def _weighted(self, X: NDArray[Any]) -> NDArray[np.float64]:
        scaled = self.scaling.of(self._active).apply(X[:, self._active])
        return np.asarray(scaled, dtype=np.float64) * self.weights[self._active]

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Shares of the votes, (n_samples, n_classes)."""
        rows = self._weighted(np.asarray(X))
        distances = cdist(np.where(np.isnan(rows), self._means, rows), self._fitted, "cityblock")
        counts = self._members.sum(axis=1)
        k = min(float(N_NEIGHBORS), counts.sum())
        order = np.argsort(distances, axis=1)
        last = np.argmax(np.cumsum(counts[order], axis=1) >= k, axis=1)
        farthest = np.take_along_axis(distances, order[np.arange(len(rows)), last][:, np.newaxis], axis=1)
        nearer = distances < farthest * (1.0 - _TIED)
        as_far = ~nearer & (distances <= farthest * (1.0 + _TIED))
        left = k - nearer @ counts
        votes = nearer @ self._members + (left / (as_far @ counts))[:, np.newaxis] * (as_far @ self._members)
        return votes / k

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Class with the most votes."""
        votes = self.predict_proba(X)
        most = votes.max(axis=1, keepdims=True)
        return self.classes_[np.argmax(votes >= most * (1.0 - _TIED), axis=1)]


def _known_means(X: NDArray[np.float64], sample_weight: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Means of the known values of columns, each sample counted as its copies; 0 where none is known."""
    counts = ~np.isnan(X) * (1.0 if sample_weight is None else sample_weight[:, np.newaxis])
    sums = np.sum(np.where(np.isnan(X), 0.0, X) * counts, axis=0)
    return np.asarray(sums / np.maximum(counts.sum(axis=0), np.finfo(np.float64).tiny))


def accuracy(
    rule: Any, X: NDArray[Any], y: NDArray[Any], sample_weight: NDArray[np.float64] | None = None
) -> float:
    """Share of the samples, or of their copies, that are put into their class.

    Of several classes that are equally likely each is right by its share: names of classes decide nothing.
    """
    shares = rule.predict_proba(X)
    likely = shares >= shares.max(axis=1, keepdims=True) * (1.0 - _TIED)
    right = (likely & (rule.classes_ == y[:, np.newaxis])).any(axis=1) / likely.sum(axis=1)
    return float(np.average(right, weights=sample_weight))


def checked_scorer(scoring: Any) -> Scorer:
    """What ``scoring`` says: None for accuracy, a name that scikit-learn knows, or a callable."""
    if scoring is None:
        return accuracy
    if isinstance(scoring, str) and scoring in get_scorer_names():
        scorer = get_scorer(scoring)
    elif callable(scoring) and not isinstance(scoring, type):
        scorer = scoring
    else:
        raise ValueError(
            f"scoring={scoring!r} must be None, the name of one of scikit-learn's scores, such as 'accuracy'"
            " or 'neg_log_loss', or a callable of a classifier, samples and their classes."
        )
    weighs = "sample_weight" in inspect.signature(scorer).parameters

    def score(
        rule: Any, X: NDArray[Any], y: NDArray[Any], sample_weight: NDArray[np.float64] | None
    ) -> float:
        more = {"sample_weight": sample_weight} if weighs and sample_weight is not None else {}
        return float(scorer(rule, X, y, **more))

    return score


#: Widths that are tried where the user gives none, as multiples of the one that ``sigma="auto"`` finds.
FACTORS: NDArray[np.float64] = np.ldexp(1.0, np.arange(2, -3, -1))


@dataclass(frozen=True)
class Part:
    """Some samples of a table, and the member that is fitted to them with one width after the other."""

    member: Any
    table: Table
    rows: LocalRows

    @cached_property
    def margins(self) -> ActiveSetMargins:
        """Margins for few features; sums of one fit bound those of the next."""
        return self.rows.active_set_margins()


class CrossValidatedWidth(RepeatedWeighter):
    r"""Base of the weighters that choose σ by how well their weights classify samples left out.

    The width is held at σ‖w‖₂, so that σ is that of weights of norm 1, whatever norm the method gives them.

    A subclass says in :meth:`_first` where the iteration begins, and in :meth:`_run` how it goes on.
    """

    sigmas: Any
    cv: Any
    scoring: Any
    rule: str
    warm_steps: int | None
    sigmas_: NDArray[np.float64]
    scores_: NDArray[np.float64]
    best_index_: Any

    #: The weighter whose ``sigma="auto"`` says around which width to look.
    _plain: ClassVar[type[Any]]
    _held: float

    _refuses_dask: str | None = "its widths are judged by k-NN on tables in memory."

    # How the method runs with a width that is held

    def _width(self, rows: WithDistances, w: NDArray[np.float64]) -> float:
        return self._held * (euclidean_norm(w) or 1.0)

    @property
    def _averages(self) -> bool:
        return self.averaging is not False

    @property
    def _parameter_free(self) -> bool:
        return False  # the width is what is looked for

    def _check_perplexity(self) -> None:
        check_number("perplexity", self.perplexity, above=0.0, at_most=1.0)

    def _first(self) -> NDArray[np.float64]:
        """Weights to begin with."""
        raise NotImplementedError

    def _run(self, part: Part, w: NDArray[np.float64]) -> None:
        """Fit this member to its part, from weights w on."""
        raise NotImplementedError

    # Fit

    @with_callbacks
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        batches: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Choose σ, and λ if there is one, in a cross-validation, and weigh the features with it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples. Where values are missing (NaN), differences are what they are expected to be.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each sample counts: weight s means s copies, in one fold, also in the score.
        batches : array-like of shape (n_samples,), default=None
            The batch of each sample, a name or a number. Features are scaled in each batch by itself, and
            neighbors are where ``batch_neighbors`` says. The rule that is scored takes the samples as one
            table, and the folds do not go by batches.
        groups : array-like of shape (n_samples,), default=None
            Samples of the same group (such as those of one patient) are in one fold.

        Returns
        -------
        self : object
            The fitted weighter.
        """
        return self._cross_validate(self._check_fit(X, y, sample_weight, batches), groups)

    def _check_parameters(self, n_samples: int) -> None:
        super()._check_parameters(n_samples)
        if self.sigmas is not None:
            checked_grid("sigmas", self.sigmas)
        check_folds("cv", self.cv)
        checked_scorer(self.scoring)
        check_choice("rule", self.rule, RULES)
        if self.warm_steps is not None:
            check_count("warm_steps", self.warm_steps, at_least=0)

    def _forget(self) -> None:
        super()._forget()
        for name in ("sigmas_", "scores_", "best_index_"):
            self.__dict__.pop(name, None)

    def _cross_validate(self, table: Table, groups: ArrayLike | None) -> Self:
        """Score all values in all folds, and fit all samples with the best."""
        codes = label_codes("groups", groups, table.kept)
        codes = codes if self._splits_by_groups(groups) else None
        folds = [
            fold
            for fold in usable_folds(self.cv, table.X, table.codes, table.kept, codes)
            if has_misses(table, fold[0])
        ]
        first = self._first()
        with watched(self, total=len(folds) + 1) as progress:
            self._set_grid(table)
            scores = []
            for fold in folds:
                scores.append(self._scores_of(table, *fold, first))
                if progress.advance():
                    warn_user(
                        f"{type(self).__name__} was stopped by a callback after {len(scores)} of {len(folds)}"
                        " folds.",
                        UserWarning,
                    )
                    break
            self.scores_ = np.stack(scores, axis=-1) if scores else np.empty((*self._shape, 0))
            self.best_index_ = self._chosen()
            self._warn_of_folds(len(folds))
            self._fit_all(table, first)
        return self

    def _set_grid(self, table: Table) -> None:
        """The values that are tried, each kind from large to small."""
        if self.sigmas is None:
            self.sigmas_ = self._width_by_rule(table) * FACTORS
        else:
            self.sigmas_ = checked_grid("sigmas", self.sigmas)

    @property
    def _shape(self) -> tuple[int, ...]:
        """Number of values of each kind."""
        return (self.sigmas_.size,)

    def _width_by_rule(self, table: Table) -> float:
        """The width that ``sigma="auto"`` ends with, for weights of norm 1."""
        own = self.get_params(deep=False)
        shared = self._plain().get_params(deep=False).keys() & own.keys()
        left_to_it = {"averaging", "max_iter", "tol", "init", "verbose", "cv"}
        plain = self._plain(**{name: own[name] for name in shared - left_to_it})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the fit with the chosen width is told of
            plain.fit(*told_of(table, self.classes_))
        norm = euclidean_norm(plain.feature_weights_)
        width = plain.sigma_ / norm if norm > 0.0 else np.nan
        return width if 0.0 < width < np.inf else 1.0

    def _part(self, table: Table, which: NDArray[np.int64] | slice = slice(None)) -> Part:
        """Some of the samples, scaled by themselves, and a member to be fitted to them."""
        member = type(self)(**{**self.get_params(deep=False), "verbose": 0})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the whole fit is told of, if it happens there
            part = member._check_fit(*told_of(table, self.classes_, which))
            return Part(member, part, member._rows(part))

    def _scores_of(
        self,
        table: Table,
        fitted: NDArray[np.int64],
        left_out: NDArray[np.int64],
        first: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Scores of one fold, for all values."""
        scorer = checked_scorer(self.scoring)
        part = self._part(table, fitted)
        X, y = table.observed[left_out], self.classes_[table.codes[left_out]]
        sample_weight = None if table.sample_weight is None else table.sample_weight[left_out]
        scores = np.empty(self._shape)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for place in self._walk(part, first):
                scores[place] = scorer(self._rule(part), X, y, sample_weight)
        return scores

    def _rule(self, part: Part) -> Any:
        """The classifier that is scored: k-NN under the weights of a member."""
        member, table = part.member, part.table
        return NeighborRule(
            table.observed,
            table.codes,
            member.classes_,
            table.sample_weight,
            member._scaling,
            member.feature_weights_,
        )

    def _walk(self, part: Part, first: NDArray[np.float64]) -> Iterator[Any]:
        """Fit the member with one width after the other, from the middle on; yield their places."""
        ends: dict[int, NDArray[np.float64]] = {}
        for place, before in outwards(self.sigmas_.size):
            part.member._held = float(self.sigmas_[place])
            ends[place] = self._next(part, first, ends.get(before))
            yield place

    def _next(
        self, part: Part, first: NDArray[np.float64], before: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Fit the member of a part, from weights of another value if there are any; return where it ends."""
        member = part.member
        cold = before is None or self.warm_steps == 0
        w = first if cold or before is None else before
        member.max_iter = self.max_iter if cold else self._warm_most
        member._run(part, w)
        return member.feature_weights_ if member.feature_weights_.any() else w

    @property
    def _warm_most(self) -> int | None:
        """Most iterations from the weights of another value."""
        if self.warm_steps is not None:
            return int(self.warm_steps)
        return -(-(self.max_iter or AVERAGED_STEPS) // 2) if self._averages else self.max_iter

    def _chosen(self) -> Any:
        """Place of the chosen width."""
        return nearest_to_middle(self._good())

    def _good(self) -> NDArray[np.bool_]:
        """Which of the values are good enough by the rule; without any fold all are."""
        if not self.scores_.shape[-1]:
            return np.ones(self._shape, dtype=bool)
        means = self.scores_.mean(axis=-1)
        means = np.where(np.isnan(means), -np.inf, means)
        least = means.max()
        of_best = self.scores_[np.unravel_index(int(np.argmax(means)), means.shape)]
        if self.rule == "one-se" and of_best.size > 1:
            least -= of_best.std(ddof=1) / np.sqrt(of_best.size)
        return means >= least - SAME_SCORE

    def _fit_all(self, table: Table, first: NDArray[np.float64]) -> None:
        """Fit all samples with the chosen values, from the first weights on, and be what comes out."""
        part = self._part(table)
        self._hold_chosen(part.member)
        # Samples of weight 0 count among those that the user gave.
        part.member._run(Part(part.member, table, part.rows), first)
        parameters = self.get_params(deep=False)
        for name, value in vars(part.member).items():
            if name not in parameters:
                setattr(self, name, value)

    def _hold_chosen(self, member: Any) -> None:
        member._held = float(self.sigmas_[np.atleast_1d(self.best_index_)[0]])

    def _warn_of_folds(self, n_folds: int) -> None:
        if n_folds == 0:
            warn_user(
                "cv gives no fold to choose by (of two classes and different samples): the middle of what was"
                " to be tried is taken.",
                UserWarning,
            )
        else:
            warn_of_fewer_folds(self.cv, n_folds)

    # Who is told of groups

    def get_metadata_routing(self) -> MetadataRouter:
        """Whom ``fit`` tells of what it is told, where metadata is routed; see scikit-learn's user guide.

        Returns
        -------
        routing : MetadataRouter
            What ``fit`` itself takes, and the splits of ``cv``.
        """
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        if hasattr(self.cv, "get_n_splits"):
            router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        return router

    def _splits_by_groups(self, groups: ArrayLike | None) -> bool:
        """Whether the folds keep groups together; where metadata is routed, a splitter says so."""
        routed = get_config()["enable_metadata_routing"] and hasattr(self.cv, "get_n_splits")
        if groups is None or not routed:
            return groups is not None
        return "groups" in process_routing(self, "fit", groups=groups).splitter.split


def outwards(n_values: int) -> Iterator[tuple[int, int]]:
    """Places from the middle to either end, and the place before each; −1 before the middle."""
    middle = n_values // 2
    yield middle, -1
    yield from ((place, place + 1) for place in range(middle - 1, -1, -1))
    yield from ((place, place - 1) for place in range(middle + 1, n_values))


def nearest_to_middle(good: NDArray[np.bool_]) -> int:
    """Place of the value that is nearest to the middle; of two as near the first."""
    places = np.flatnonzero(good)
    return int(places[np.argmin(np.abs(places - good.size // 2))])


def checked_grid(name: str, values: Any, at_most: float | None = None) -> NDArray[np.float64]:
    """Numbers > 0, each once and from large to small."""
    try:
        grid = np.asarray(values)
    except ValueError:
        grid = np.empty(0)
    wanted = "numbers > 0" if at_most is None else f"numbers > 0 and <= {at_most:g}"
    good = grid.ndim == 1 and grid.size > 0 and grid.dtype.kind in "iuf"
    if good:
        numbers = grid.astype(np.float64)
        good = bool(np.all(np.isfinite(numbers) & (numbers > 0.0)))
        good = good and (at_most is None or bool(np.all(numbers <= at_most)))
    if not good:
        raise ValueError(f"{name}={values!r} must be None, or a list of {wanted}.")
    return np.unique(numbers)[::-1].copy()


# I-RELIEF with a kernel width chosen by cross-validation.


class IReliefCV(CrossValidatedWidth, IRelief):
    r"""I-RELIEF whose kernel width is the one under which samples left out are classified best.

    For each fold the features are weighed by the other samples, with one width σ after the other, from the
    middle to the wide and to the narrow end; every fit begins at the weights of the one before, and the
    distances of the fold are laid out once.
    The width with the best mean score is then used with all samples, from the first weights on: as
    :class:`IRelief` does, with the kernel exp(−d/(σ‖w‖₂)) in every step.

    Where I-RELIEF has one fixed point (a wide σ) and the iteration is plain, a path that is started warm ends
    where separate fits do, and with all samples where ``IRelief(sigma=sigma_)`` does. With a narrow σ there
    may be several, or cycles, and the path finds what follows from the middle.

    Parameters
    ----------
    sigmas : array-like or None, default=None
        Widths σ that are tried, for weights of norm 1: at weights w the kernel is exp(−d/(σ‖w‖₂)). None: 4,
        2, 1, ½ and ¼ times the width that ``IRelief(sigma="auto")`` finds with all samples and the
        ``perplexity``.
    margin : {"nearest", "prior"}, default="nearest"
        For more than two classes: misses of all classes together (I-RELIEF-2, eq. 21), or class by class,
        weighted by P(c)/(1 − P(y)) (I-RELIEF-1, eq. 20).
    outliers : bool, default=True
        Whether likely outliers count less (γ); False sets γ = 1.
    averaging : bool or None, default=None
        Whether w is the mean of the images of all steps so far, so that no cycle is the answer. None: True.
        False is the plain iteration, which is over when w stands still, or in a cycle, and then says so.
    perplexity : float, default=0.5
        Effective number of neighbors, as a share of all samples, of the width that ``sigmas=None`` begins
        with.
    max_iter : int or None, default=None
        Most iterations of a fit that begins by itself. None: 10 averaged ones, which are then the whole
        method, or 100 plain ones.
    tol : float, default=1e-5
        The iteration ends when ‖w − w_before‖₂ is smaller.
    init : {"uniform", "random"} or array of shape (n_features,), default="uniform"
        Weights to begin with, in every fold and with all samples.
    cv : int, splitter or list of pairs, default=5
        Number of stratified folds, in the order of the samples; or, as in scikit-learn, an object with a
        method ``split``, or a list of (samples to fit, samples to leave out). With ``groups`` a number means
        folds that keep groups together. Folds that leave one class are skipped.
    scoring : str, callable or None, default=None
        What is to be large on the samples left out. None: the share of them that 5-NN among the fitted
        samples, in the learned metric, puts into their class. A name that scikit-learn knows, such as
        "balanced_accuracy", or a callable of a classifier, samples and their classes, is asked about the same
        rule.
    rule : {"one-se", "best"}, default="one-se"
        "one-se": of the widths whose mean score is not more than one standard error (over the folds) below
        the best, the one nearest to the middle of those that are tried, which by default is the automatic
        width: another one is taken only if the folds speak for it. "best": the best, of equally good ones
        the nearest to the middle.
    warm_steps : int or None, default=None
        Most iterations with every value but the first of a fold, which begin at the weights of the value
        before. None: half as many as with the first, averaged ones, or, with ``averaging=False``, as many. 0:
        each value begins by itself, as with the first.
    memory_budget : float or None, default=None
        Bytes that may be spent on keeping the distances of all pairs from one pass to the next; beyond, they
        are computed in each. Twice as many, up to 200 MB, also keep what the pairs weigh, by which features
        are left out whose margin is certain to stay negative. None: half of the memory that is free. The
        result is the same, bit for bit.
        Beside them a fit holds one scaled copy of X, or, if X has at least 10 times more features than
        samples and the distances are kept, a block of its columns; and as much again for the features with
        missing values.
    class_weight : None, "balanced" or dict, default=None
        How much the samples of each class count in the mean, and the class in P(c): a weight > 0 for each;
        "balanced" is N/(C·n_c) for the n_c samples of a class, so that all C classes count the same.
    batch_neighbors : {"within", "across"}, default="within"
        Where ``fit`` is told of ``batches``: whether hits and misses are looked for in the batch of a sample
        only, or in the other batches only.
    n_features_to_select : int, float or None, default=None
        None keeps every feature with weight > 0, at least one; an int that many; a float in (0, 1] that
        share.
    weighted : bool, "manhattan" or "euclidean", default=False
        Whether ``transform`` scales and multiplies the kept columns by the weights, or their square roots
        for "euclidean"; True is "manhattan".
    scale : {"range", "standard", None}, default="range"
        How features are made comparable first; "range" maps to [0, 1].
    n_jobs : int or None, default=None
        Threads. The result is the same, bit for bit, for any number.
    verbose : int, default=0
        1 shows progress on long work.
    random_state : int, RandomState or None, default=None
        For ``init="random"``.

    Attributes
    ----------
    sigmas_ : array of shape (n_sigmas,)
        Widths that were tried, from wide to narrow.
    scores_ : array of shape (n_sigmas, n_folds)
        What every width scored in every fold.
    best_index_ : int
        Place of the chosen width in ``sigmas_``.
    feature_weights_ : array of shape (n_features,)
        ≥ 0, Euclidean norm 1; all 0 if no feature had a positive margin.
    feature_importances_ : array of shape (n_features,)
        The same.
    ranking_ : array of shape (n_features,)
        1 = best; equal weights share the lowest number.
    outlier_proba_ : array of shape (n_samples,)
        1 − γ_n at the final weights: how likely the sample is mislabeled. NaN for samples of weight 0.
    sigma_ : float
        The width that was chosen.
    n_iter_ : int
        Iterations run with all samples.
    converged_ : bool
        Whether the weights stood still, or all averaged steps of ``max_iter=None`` were run.
    history_ : array of shape (n_iter,)
        ‖w − w_before‖₂ in every iteration; empty if the first had no answer.
    cycle_length_ : int
        Number of points the iteration went round in, 0 if it did not.
    classes_ : array of shape (n_classes,)
        The classes.
    execution_ : dict
        How it was computed: threads, precision, whether distances were stored or computed again.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Sun, Y. (2007). Iterative RELIEF for feature weighting: algorithms, theories, and applications. IEEE
    TPAMI 29(6), 1035-1051.

    Examples
    --------
    >>> from highrelief import IReliefCV
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=20, random_state=0)
    >>> model = IReliefCV(n_features_to_select=2).fit(X, y)
    >>> model.get_support(indices=True)
    array([0, 1])
    >>> model.scores_.shape
    (5, 5)
    """

    _plain: ClassVar[type[IRelief]] = IRelief
    _takes_sparse = False
    _margin_may_follow = False

    def __init__(
        self,
        *,
        sigmas: ArrayLike | None = None,
        margin: str = "nearest",
        outliers: bool = True,
        averaging: bool | None = None,
        perplexity: float = 0.5,
        max_iter: int | None = None,
        tol: float = 1e-5,
        init: str | ArrayLike = "uniform",
        cv: Any = 5,
        scoring: Any = None,
        rule: str = "one-se",
        warm_steps: int | None = None,
        memory_budget: float | None = None,
        class_weight: Any = None,
        batch_neighbors: str = "within",
        n_features_to_select: int | float | None = None,
        weighted: bool | str = False,
        scale: str | None = "range",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            margin=margin,
            outliers=outliers,
            averaging=averaging,
            perplexity=perplexity,
            max_iter=max_iter,
            tol=tol,
            init=init,
            memory_budget=memory_budget,
            class_weight=class_weight,
            batch_neighbors=batch_neighbors,
            n_features_to_select=n_features_to_select,
            weighted=weighted,
            scale=scale,
            n_jobs=n_jobs,
            verbose=verbose,
            random_state=random_state,
        )
        self.sigmas = sigmas
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.warm_steps = warm_steps

    def _first(self) -> NDArray[np.float64]:
        return self._first_weights(uniform=1.0 / self.n_features_in_, norm=2)

    def _run(self, part: Part, w: NDArray[np.float64]) -> None:
        self._learn(part.table, part.rows, w)


# LOGO with kernel width and penalty chosen by cross-validation.


#: Penalties that are tried where the user gives none, as shares of the smallest that leaves no feature.
SHARES: NDArray[np.float64] = np.array([0.5, 0.2, 0.1])


class LOGOCV(CrossValidatedWidth, LOGO):
    r"""LOGO whose kernel width and penalty are those under which samples left out are classified best.

    For each fold the features are weighed by the other samples, with one width σ after the other, from the
    middle to the wide and to the narrow end, and with each with one penalty after the other, from large to
    small; every fit begins at the weights of the width before, or, with the first, of the larger penalty.
    What is chosen is then used with all samples, from the first weights on. As with ``LOGO(sigma="auto")``,
    solutions are brought to norm 1, so that λ does not change what σ means.

    The inner problem has one solution, however it is begun; the fixed point around it need not be the only
    one, and the path finds what follows from the middle.

    Parameters
    ----------
    sigmas : array-like or None, default=None
        Widths σ that are tried, for weights of norm 1: at weights w the kernel is exp(−d/(σ‖w‖₂)). None: 4,
        2, 1, ½ and ¼ times the width that ``LOGO(sigma="auto")`` finds with all samples and ``perplexity``.
    alphas : array-like or None, default=None
        Penalties that are tried, as shares in (0, 1] of the smallest λ that leaves no feature, in every step.
        None: 0.5, 0.2 and 0.1. Shares mean the same in a fold as with all samples; λ itself, of a sum over
        samples, would not.
    rule : {"best", "one-se"}, default="best"
        "one-se" takes the largest penalty that, with some width, has a mean score of not more than one
        standard error (over the folds) below the best: fewer features for a score that may be a little
        lower. Folds share samples, so that the standard error is a rule of thumb. Of widths that are good
        enough with the same penalty, the nearest to the middle is taken.
    averaging : bool or None, default=None
        Whether w is the mean of the images of all steps so far, so that no cycle is the answer. None: True.
        False is the plain iteration, which is over when w stands still, or in a cycle, and then says so.
    perplexity : float, default=0.5
        Effective number of neighbors, as a share of all samples, of the width that ``sigmas=None`` begins
        with.
    max_iter : int or None, default=None
        Most iterations of a fit that begins by itself. None: 10 averaged ones, which are then the whole
        method, or 50 plain ones.
    tol : float, default=1e-4
        The iteration ends when ‖w − w_before‖₂ is smaller.
    init : {"uniform", "random"} or array of shape (n_features,), default="uniform"
        Weights to begin with, in every fold and with all samples.
    cv : int, splitter or list of pairs, default=5
        Number of stratified folds, in the order of the samples; or, as in scikit-learn, an object with a
        method ``split``, or a list of (samples to fit, samples to leave out). With ``groups`` a number means
        folds that keep groups together. Folds that leave one class are skipped.
    scoring : str, callable or None, default=None
        What is to be large on the samples left out. None: the share of them that 5-NN among the fitted
        samples, in the learned metric, puts into their class. A name that scikit-learn knows, such as
        "balanced_accuracy", or a callable of a classifier, samples and their classes, is asked about the same
        rule.
    warm_steps : int or None, default=None
        Most iterations with every value but the first of a fold, which begin at the weights of the value
        before. None: half as many as with the first, averaged ones, or, with ``averaging=False``, as many. 0:
        each value begins by itself, as with the first.
    memory_budget : float or None, default=None
        Bytes that may be spent on distances and coefficients of all pairs. Beyond, they are computed in each
        pass, over all features. None: half of the memory that is free.
    class_weight : None, "balanced" or dict, default=None
        How much the samples of each class count in the sum: a weight > 0 for each class;
        "balanced" is N/(C·n_c) for the n_c samples of a class, so that all C classes count the same.
    batch_neighbors : {"within", "across"}, default="within"
        Where ``fit`` is told of ``batches``: whether hits and misses are looked for in the batch of a sample
        only, or in the other batches only.
    n_features_to_select : int, float or None, default=None
        None keeps every feature with weight > 0, at least one; an int that many; a float in (0, 1] that
        share.
    weighted : bool, "manhattan" or "euclidean", default=False
        Whether ``transform`` scales and multiplies the kept columns by the weights, or their square roots
        for "euclidean"; True is "manhattan".
    scale : {"range", "standard", None}, default="range"
        How features are made comparable first; "range" maps to [0, 1].
    n_jobs : int or None, default=None
        Threads. The result is the same, bit for bit, for any number.
    verbose : int, default=0
        1 shows progress on long work.
    random_state : int, RandomState or None, default=None
        For ``init="random"``.

    Attributes
    ----------
    sigmas_ : array of shape (n_sigmas,)
        Widths that were tried, from wide to narrow.
    alphas_ : array of shape (n_alphas,)
        Shares of the largest penalty that were tried, from large to small.
    scores_ : array of shape (n_sigmas, n_alphas, n_folds)
        What every pair scored in every fold.
    best_index_ : tuple of two ints
        Places of what was chosen in ``sigmas_`` and ``alphas_``.
    alpha_share_ : float
        The share that was chosen.
    feature_weights_ : array of shape (n_features,)
        ≥ 0, most of them 0, Euclidean norm 1.
    feature_importances_ : array of shape (n_features,)
        The same.
    ranking_ : array of shape (n_features,)
        1 = best; equal weights share the lowest number.
    sigma_ : float
        The width that was chosen.
    alpha_ : float
        The penalty λ of the last step with all samples, whose share of the largest is ``alpha_share_``;
        NaN if the first step had no answer.
    kkt_residual_ : float
        Largest violation of the conditions of a minimum in the last step, relative to the larger of λ and
        the largest derivative at w = 0; NaN if the first step had no answer.
    n_iter_ : int
        Iterations run with all samples.
    converged_ : bool
        Whether the weights stood still, or all averaged steps of ``max_iter=None`` were run.
    history_ : array of shape (n_iter,)
        ‖w − w_before‖₂ in every iteration; empty if the first had no answer.
    cycle_length_ : int
        Number of points the iteration went round in, 0 if it did not.
    classes_ : array of shape (n_classes,)
        The classes.
    execution_ : dict
        How it was computed: threads, precision, whether distances were stored; ``features_summed`` is the
        number of features over which each pass over the pairs had to go.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Sun, Y., Todorovic, S. and Goodison, S. (2010). Local-learning-based feature selection for
    high-dimensional data analysis. IEEE TPAMI 32(9), 1610-1626.

    Examples
    --------
    >>> from highrelief import LOGOCV
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=20, random_state=0)
    >>> model = LOGOCV(n_features_to_select=2).fit(X, y)
    >>> model.get_support(indices=True)
    array([0, 1])
    >>> model.scores_.shape
    (5, 3, 5)
    """

    _plain: ClassVar[type[LOGO]] = LOGO

    def __init__(
        self,
        *,
        sigmas: ArrayLike | None = None,
        alphas: ArrayLike | None = None,
        rule: str = "best",
        averaging: bool | None = None,
        perplexity: float = 0.5,
        max_iter: int | None = None,
        tol: float = 1e-4,
        init: str | ArrayLike = "uniform",
        cv: Any = 5,
        scoring: Any = None,
        warm_steps: int | None = None,
        memory_budget: float | None = None,
        class_weight: Any = None,
        batch_neighbors: str = "within",
        n_features_to_select: int | float | None = None,
        weighted: bool | str = False,
        scale: str | None = "range",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            averaging=averaging,
            perplexity=perplexity,
            max_iter=max_iter,
            tol=tol,
            init=init,
            memory_budget=memory_budget,
            class_weight=class_weight,
            batch_neighbors=batch_neighbors,
            n_features_to_select=n_features_to_select,
            weighted=weighted,
            scale=scale,
            n_jobs=n_jobs,
            verbose=verbose,
            random_state=random_state,
        )
        self.sigmas = sigmas
        self.alphas = alphas
        self.rule = rule
        self.cv = cv
        self.scoring = scoring
        self.warm_steps = warm_steps

    def _check_parameters(self, n_samples: int) -> None:
        super()._check_parameters(n_samples)
        if self.alphas is not None:
            checked_grid("alphas", self.alphas, at_most=1.0)

    def _forget(self) -> None:
        super()._forget()
        for name in ("alphas_", "alpha_share_"):
            self.__dict__.pop(name, None)

    def _first(self) -> NDArray[np.float64]:
        return self._first_weights(uniform=1.0, norm=2)

    def _run(self, part: Part, w: NDArray[np.float64]) -> None:
        self._learn(part.rows, part.margins, w)

    def _penalty(self, near: MarginColumns, solution: NDArray[np.float64]) -> float:
        """λ as a share of the smallest that leaves no feature."""
        return self.alpha_share_ * near.largest_sum(0.5 * near.sample_weight, np.flatnonzero(solution))

    def _set_grid(self, table: Table) -> None:
        super()._set_grid(table)
        self.alphas_ = SHARES.copy() if self.alphas is None else checked_grid("alphas", self.alphas)

    @property
    def _shape(self) -> tuple[int, ...]:
        return self.sigmas_.size, self.alphas_.size

    def _walk(self, part: Part, first: NDArray[np.float64]) -> Iterator[Any]:
        """Fit the member with one pair after the other, from the middle width and the largest penalty on."""
        ends: dict[tuple[int, int], NDArray[np.float64]] = {}
        for row, before in outwards(self.sigmas_.size):
            for place, share in enumerate(self.alphas_):
                part.member._held, part.member.alpha_share_ = float(self.sigmas_[row]), float(share)
                larger = ends.get((row, place - 1))
                ends[row, place] = self._next(part, first, ends.get((before, place), larger))
                yield row, place

    def _chosen(self) -> Any:
        """Places of the chosen width and of the chosen penalty, the largest that is good enough."""
        if not self.scores_.shape[-1]:
            return self.sigmas_.size // 2, self.alphas_.size // 2
        good = self._good()
        place = int(np.argmax(good.any(axis=0)))
        return nearest_to_middle(good[:, place]), place

    def _hold_chosen(self, member: Any) -> None:
        super()._hold_chosen(member)
        member.alpha_share_ = float(self.alphas_[self.best_index_[1]])


# I-M4E with a kernel width chosen by cross-validation.


class IM4ECV(CrossValidatedWidth, IM4E):
    r"""I-M4E whose kernel width is the one with which it classifies samples left out best.

    For each fold the features are weighed by the other samples, with one width σ after the other, from the
    middle to the wide and to the narrow end; every fit begins at the weights of the one before, and the
    distances of the fold are laid out once.
    The width with the best mean score is then used with all samples, from the first weights on.

    ``IM4E(sigma="path")`` is the paper's way: fourteen widths that do not know the data, plain iterations,
    and σ for weights of sum 1. Here the widths are around the automatic one, for weights of norm 1, and steps
    are averaged, so that no cycle is the answer.

    Parameters
    ----------
    sigmas : array-like or None, default=None
        Widths σ that are tried, for weights of norm 1: at weights w the kernel is exp(−d/(σ‖w‖₂)). None: 4,
        2, 1, ½ and ¼ times the width that ``IM4E(sigma="auto")`` finds with all samples and ``perplexity``.
    w_step : {"paper", "exact"}, default="paper"
        How weights follow from v: by eq. (9), or as the exact minimizer of C on the simplex, which is the
        projection of v on it, (v − θ)⁺ with θ such that the sum is 1.
    alpha : float or None, default=None
        λ; None is the number of samples (the sum of their weights). By eq. (9) it only shifts the cost. In
        the exact step a large λ makes weights alike, a small one leaves few of them.
    loss : {"linear", "log"}, default="linear"
        "linear" is the paper's. "log" is ours, after its outlook: the sum of margin and quality of a sample,
        m_n = ρ_n − σ(E_miss − E_hit), enters as σ·log(1 + exp(−m_n/σ)). That leaves eqs. (5) and (6) as
        they are, is −σ·log of the probability γ_n that the sample is nearer to its class than to others
        (Sun 2007, eq. 10), and multiplies the sample's part of v by 1 − γ_n: samples well inside their class
        count little.
    sparsity : float, default=0.0
        In [0, 1); ours, after the paper's outlook on L1. A penalty μ‖w‖₁ beside λ‖w‖₂² subtracts μ/2λ from v
        before its positive part is taken; μ = ``sparsity`` times the smallest μ at which no feature is left,
        the largest component of 2λv. The simplex cannot see it: not with ``w_step="exact"``.
    averaging : bool or None, default=None
        Whether w is the mean of the images of all steps so far, so that no cycle is the answer. None: True.
        False is the plain iteration, which is over when w stands still, or in a cycle, and then says so.
    perplexity : float, default=0.5
        Effective number of neighbors, as a share of all samples, of the width that ``sigmas=None`` begins
        with.
    max_iter : int or None, default=None
        Most iterations of a fit that begins by itself. None: 10 averaged ones, which are then the whole
        method, or 100 plain ones.
    tol : float, default=1e-6
        The iteration ends when C changes by less, or, in float32, by no more than rounding does; never if 0.
    init : {"uniform", "random"} or array of shape (n_features,), default="uniform"
        Weights to begin with, in every fold and with all samples.
    cv : int, splitter or list of pairs, default=5
        Number of stratified folds, in the order of the samples; or, as in scikit-learn, an object with a
        method ``split``, or a list of (samples to fit, samples to leave out). With ``groups`` a number means
        folds that keep groups together. Folds that leave one class are skipped.
    scoring : str, callable or None, default=None
        What is to be large on the samples left out. None: the share of them that it classifies
        right. A name that scikit-learn knows, such as "neg_log_loss", or a callable of a classifier, samples
        and their classes.
    rule : {"one-se", "best"}, default="one-se"
        "one-se": of the widths whose mean score is not more than one standard error (over the folds) below
        the best, the one nearest to the middle of those that are tried, which by default is the automatic
        width: another one is taken only if the folds speak for it. "best": the best, of equally good ones
        the nearest to the middle.
    warm_steps : int or None, default=None
        Most iterations with every value but the first of a fold, which begin at the weights of the value
        before. None: half as many as with the first, averaged ones, or, with ``averaging=False``, as many. 0:
        each value begins by itself, as with the first.
    memory_budget : float or None, default=None
        Bytes that may be spent on keeping the distances of all pairs from one pass to the next; beyond, they
        are computed in each. None: half of the memory that is free. The result is the same, bit for bit.
    batch_neighbors : {"within", "across"}, default="within"
        Where ``fit`` is told of ``batches``: whether hits and misses are looked for in the batch of a sample
        only, or in the other batches only.
    n_features_to_select : int, float or None, default=None
        None keeps every feature with weight > 0, at least one; an int that many; a float in (0, 1] that
        share.
    weighted : bool, "manhattan" or "euclidean", default=False
        Whether ``transform`` scales and multiplies the kept columns by the weights, or their square roots
        for "euclidean"; True is "manhattan".
    scale : {"range", "standard", None}, default="range"
        How features are made comparable first; "range" maps to [0, 1]. The paper has "standard".
    n_jobs : int or None, default=None
        Threads. The result is the same, bit for bit, for any number.
    verbose : int, default=0
        1 shows progress on long work.
    random_state : int, RandomState or None, default=None
        For ``init="random"``.

    Attributes
    ----------
    sigmas_ : array of shape (n_sigmas,)
        Widths that were tried, from wide to narrow.
    scores_ : array of shape (n_sigmas, n_folds)
        What every width scored in every fold.
    best_index_ : int
        Place of the chosen width in ``sigmas_``.
    feature_weights_ : array of shape (n_features,)
        ≥ 0, sum 1; all 0 if no feature had a positive margin.
    feature_importances_ : array of shape (n_features,)
        The same.
    ranking_ : array of shape (n_features,)
        1 = best; equal weights share the lowest number.
    cost_ : array of shape (n_iter,)
        C after every iteration with all samples.
    hit_entropy_, miss_entropy_ : array of shape (n_iter,)
        Σ_n E_hit and Σ_n E_miss in every iteration, in nats.
    sigma_ : float
        The width that was chosen; in the units of Σ_j w_j|x_j| with Σw = 1, that of ``sigmas_`` times ‖w‖₂.
    n_iter_ : int
        Iterations run with all samples.
    converged_ : bool
        Whether C stood still, or all averaged steps of ``max_iter=None`` were run.
    history_ : array of shape (n_iter,)
        ‖w − w_before‖₂ in every iteration; empty if the first had no answer.
    cycle_length_ : int
        Number of points the iteration went round in, 0 if it did not.
    classes_ : array of shape (n_classes,)
        The classes.
    execution_ : dict
        How it was computed: threads, precision, whether distances were stored or computed again.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Bei, Y. and Hong, P. (2015). Maximizing margin quality and quantity. IEEE International Workshop on
    Machine Learning for Signal Processing.

    Examples
    --------
    >>> from highrelief import IM4ECV
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(300, n_irrelevant=20, random_state=0)
    >>> model = IM4ECV(n_features_to_select=2).fit(X[:200], y[:200])
    >>> model.get_support(indices=True)
    array([0, 1])
    >>> bool(model.score(X[200:], y[200:]) > 0.9)
    True
    """

    _plain: ClassVar[type[IM4E]] = IM4E

    def __init__(
        self,
        *,
        sigmas: ArrayLike | None = None,
        w_step: str = "paper",
        alpha: float | None = None,
        loss: str = "linear",
        sparsity: float = 0.0,
        averaging: bool | None = None,
        perplexity: float = 0.5,
        max_iter: int | None = None,
        tol: float = 1e-6,
        init: str | ArrayLike = "uniform",
        cv: Any = 5,
        scoring: Any = None,
        rule: str = "one-se",
        warm_steps: int | None = None,
        memory_budget: float | None = None,
        batch_neighbors: str = "within",
        n_features_to_select: int | float | None = None,
        weighted: bool | str = False,
        scale: str | None = "range",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            w_step=w_step,
            alpha=alpha,
            loss=loss,
            sparsity=sparsity,
            averaging=averaging,
            perplexity=perplexity,
            max_iter=max_iter,
            tol=tol,
            init=init,
            cv=cv,
            memory_budget=memory_budget,
            batch_neighbors=batch_neighbors,
            n_features_to_select=n_features_to_select,
            weighted=weighted,
            scale=scale,
            n_jobs=n_jobs,
            verbose=verbose,
            random_state=random_state,
        )
        self.sigmas = sigmas
        self.scoring = scoring
        self.rule = rule
        self.warm_steps = warm_steps

    def _first(self) -> NDArray[np.float64]:
        return self._first_weights(uniform=1.0, norm=1)

    def _run(self, part: Part, w: NDArray[np.float64]) -> None:
        self._learn(part.table, part.rows, w)

    def _rule(self, part: Part) -> Any:
        """The member is a classifier itself."""
        return part.member
