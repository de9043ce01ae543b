"""Where to cut a ranking: as many features as classify best, with one ranking for every fold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from numbers import Integral
from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.neighbors import VALID_METRICS_SPARSE, KNeighborsClassifier
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import has_fit_parameter

from .._engine.memory import check_room
from .._engine.parameters import check_choice, check_seed, random_generator
from .._engine.scaling import Scaling, feature_scaling
from ..base.folds import RULES, SAME_SCORE, check_folds, usable_folds, warn_of_fewer_folds
from ..base.meta import MetaTable, SingleFitWeighter, Told, scaling_by, weights_of
from ..base.progress import watched, with_callbacks
from ..base.resampling import SEEDS, run_some, seeded_clone, unseeded
from ..base.selector import (
    WeighterTags,
    best_features,
    falling,
    is_share,
    metric_factors,
    n_features_kept,
    n_positive,
    weighted_columns,
)
from ..base.validation import assert_all_finite, label_codes, precise, ranges_of, unwarned, warn_user

# k-NN on the first few features of a ranking, for many numbers of them at once.


#: Columns that are copied at a time.
_COLUMNS_AT_ONCE = 1024
#: Part of the squared lengths of two rows by which rounding may move the square of their distance.
_ROUNDING = 1e-13
#: Scaled values beyond this, of samples far outside of what was fitted, are cut off: squares stay finite.
_FAR = 1e100


class NestedNeighbors:
    """The k nearest of some samples to others, by the Euclidean distance in more and more features.

    Neighbors that are as far as the k-th share the votes that are left, so that the order of the samples
    does not matter. A class that has as many votes as another wins by its lower code, as in scikit-learn.

    Parameters
    ----------
    X : array of shape (n_fitted, n_features)
        Samples of known classes.
    codes : array of shape (n_fitted,)
        Their classes, 0 … n_classes − 1.
    n_classes : int
        Number of classes, of which some may be missing here.
    n_neighbors : int
        k; all samples if there are fewer.
    scale : "range", "standard" or None
        How the features are scaled, by ``X`` alone.
    sample_weight : array of shape (n_fitted,) or None
        How often each sample counts: two copies are two neighbors.
    """

    def __init__(
        self,
        X: NDArray[Any],
        codes: NDArray[np.int64],
        n_classes: int,
        *,
        n_neighbors: int,
        scale: str | None,
        sample_weight: NDArray[np.float64] | None = None,
    ) -> None:
        self._X, self._codes, self._scale, self._sample_weight = X, codes, scale, sample_weight
        self._members = np.zeros((len(codes), n_classes))
        self._members[np.arange(len(codes)), codes] = 1.0 if sample_weight is None else sample_weight
        self._k = min(float(n_neighbors), self._members.sum())

    def predict(
        self, X: NDArray[Any], order: NDArray[np.int64], cuts: Sequence[int]
    ) -> Iterator[NDArray[np.int64]]:
        """Classes of new samples by the first features in ``order``, one array for each of the rising cuts.

        What the features of one cut contribute to the distances is kept for the next.
        """
        # Squares of distances less the squared lengths of the new samples, which make no neighbor nearer.
        check_room(
            24.0 * len(X) * len(self._X),
            f"The distances of {len(X)} samples to {len(self._X)}",
            "More folds would do, or a classifier that finds neighbors without them.",
        )
        squares = np.zeros((len(X), len(self._X)))
        added, lengths, own_lengths = np.empty_like(squares), np.zeros(len(X)), np.zeros(len(self._X))
        for begin, end in pairwise([0, *cuts]):
            for start in range(begin, end, _COLUMNS_AT_ONCE):
                new, own = self._scaled(X, order[start : min(start + _COLUMNS_AT_ONCE, end)])
                lengths += np.sum(new**2, axis=1)
                own_length = np.sum(own**2, axis=1)
                own_lengths += own_length
                np.matmul(-2.0 * new, own.T, out=added)
                added += own_length
                squares += added
            rounding = _ROUNDING * (lengths + own_lengths.max())
            # Sums of parts of votes that are the same may differ in their last bits.
            yield np.argmax(np.round(self._votes(squares, rounding, added), 9), axis=1)

    def _scaled(
        self, X: NDArray[Any], features: NDArray[np.int64]
    ) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """Some columns of the new and of the own samples, near 0, where distances keep their digits."""
        own = np.asarray(self._X[:, features], dtype=np.float64)
        new = np.asarray(X[:, features], dtype=np.float64)
        # A feature that is the same in all own samples tells none from another; new ones may be far off.
        constant = np.all(own == own[0], axis=0)
        new = np.where(constant, own[0], new)
        scaling = (
            self._unscaled()
            if self._scale is None
            else feature_scaling(own, self._scale, self._sample_weight)
        )
        near = scaling.apply(own)
        with np.errstate(over="ignore"):
            far = np.clip(scaling.apply(new), -_FAR, _FAR)
        middle = near.mean(axis=0)
        return far - middle, near - middle

    def _unscaled(self) -> Scaling:
        """One unit for all features: distances keep their order, and squares stay finite."""
        largest = float(np.max(np.abs(self._X), initial=0.0))
        return Scaling(np.zeros(1), np.array([largest if largest > 0.0 else 1.0]))

    def _votes(
        self, squares: NDArray[np.float64], rounding: NDArray[np.float64], scratch: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """How many of the k nearest are of each class; ``scratch`` is overwritten."""
        n_new, n_own = squares.shape
        if self._sample_weight is not None or self._k == n_own:
            return self._shared_votes(squares, rounding)
        k, n_classes = int(self._k), self._members.shape[1]
        np.copyto(scratch, squares)
        scratch.partition((k - 1, k), axis=1)
        last, following = scratch[:, k - 1], scratch[:, k]
        rows, near = np.nonzero(squares <= last[:, np.newaxis])
        places = rows * n_classes + self._codes[near]
        votes = np.bincount(places, minlength=n_new * n_classes).reshape(n_new, n_classes).astype(np.float64)
        tied = following - last <= rounding
        votes[tied] = self._shared_votes(squares[tied], rounding[tied])
        return votes

    def _shared_votes(
        self, squares: NDArray[np.float64], rounding: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The same where several may be as far as the k-th, and share the votes that are left."""
        beyond = squares - self._last(squares)[:, np.newaxis]
        rounding = rounding[:, np.newaxis]
        votes = (beyond < -rounding).astype(np.float64) @ self._members
        as_far = (np.abs(beyond) <= rounding).astype(np.float64) @ self._members
        left = self._k - votes.sum(axis=1, keepdims=True)
        return votes + left / as_far.sum(axis=1, keepdims=True) * as_far

    def _last(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Where the k-th neighbor is."""
        if self._sample_weight is None:
            k = int(self._k)
            return np.partition(squares, k - 1, axis=1)[:, k - 1]
        order = np.argsort(squares, axis=1)
        counted = np.cumsum(self._sample_weight[order], axis=1)
        # The sum of all may be a little below k.
        place = np.minimum(np.sum(counted < self._k, axis=1), squares.shape[1] - 1)
        return np.take_along_axis(squares, np.take_along_axis(order, place[:, np.newaxis], 1), 1)[:, 0]


#: Neighbors of the classifier that is asked where none is given (3-NN in Li et al. 2015).
N_NEIGHBORS = 3
#: Steps of the automatic cuts within ten times as many features.
_STEPS = (10, 15, 20, 30, 50, 70)


class Fold(NamedTuple):
    """One part of a cross-validation."""

    #: Rows to weigh by, and rows that are left out.
    fitted: NDArray[np.int64]
    left_out: NDArray[np.int64]
    #: Where the random numbers of the fold begin.
    seed: int


class CrossValidatedSelector(SingleFitWeighter):
    r"""Keep as many features as classify best, found by a cross-validation that ranks in every fold anew.

    For each fold v the features are weighed by the other samples alone; for each cut c the c features that
    weigh most there are given to a classifier, which is fitted to the same samples and scored on the fold.
    The number of features is

    .. math:: c^* = \arg\max_c \; \frac{1}{V} \sum_{v=1}^{V} \mathrm{accuracy}_v(c),

    the smallest of those that do equally well. Then all samples are weighed, and the best c* features kept.

    The scores of the chosen cut, ``cv_scores_``, are those of the best of many and so too high. An honest
    estimate needs a second loop around this one, the two-loop protocol: ``cross_val_score`` of a pipeline
    that begins with this selector.

    Parameters
    ----------
    estimator : estimator
        A weighter, or any estimator of scikit-learn that has ``feature_importances_`` or ``coef_`` after its
        fit. It is cloned, never fitted itself.
    classifier : classifier or None, default=None
        Who is asked how good a cut is. None: 3-NN by the Euclidean distance on the kept features, scaled as
        ``estimator`` does (to [0, 1] if it has no scaling) by the samples that are fitted and not weighted,
        whatever ``weighted`` says; neighbors as far as the third share its vote. All cuts together cost
        about as much as the largest. A classifier that is given gets the columns that ``transform`` would
        return, and is fitted anew for each cut.
    cv : int, splitter or list of pairs, default=10
        Number of stratified folds, in the order of the samples; or, as in scikit-learn, an object with a
        method ``split``, or a list of (samples to fit, samples to leave out). With ``groups`` a number means
        folds that keep groups together.
    cuts : "auto" or array-like, default="auto"
        Numbers of features that are tried: whole numbers, or floats in (0, 1], shares of all features.
        "auto": 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100 …, up to the number of features whose weight by all
        samples is > 0, and this number.
    rule : {"best", "one-se"}, default="best"
        "one-se" takes the fewest features whose mean score is not more than one standard error (over the
        folds) below the best: a shorter list for a score that may be a little lower. Folds share samples, so
        that the standard error is a rule of thumb.
    n_features_to_select : int, float or None, default=None
        None: what the cross-validation says. A number, or a share of the features, is kept instead, and may
        be set after ``fit``, when the scores are known.
    weighted : bool, "manhattan" or "euclidean", default=False
        Whether ``transform`` scales the kept columns (as ``estimator`` does) and multiplies them by the
        weights, or their square roots for "euclidean"; True is the metric of ``estimator``. Only around a
        weighter of this package.
    n_jobs : int or None, default=None
        How many folds are worked on at a time: by threads where ``estimator`` is of this package, by joblib
        otherwise. The result does not depend on it.
    verbose : int, default=0
        1 shows how many folds are done.
    random_state : int, RandomState or None, default=None
        Where random numbers begin that ``estimator`` and ``classifier`` leave to chance (their own
        ``random_state`` is None). Folds are drawn by ``cv`` alone.

    Attributes
    ----------
    n_features_ : int
        The number of features that was chosen.
    cuts_ : array of shape (n_cuts,)
        Numbers of features that were tried, rising.
    cv_scores_ : array of shape (n_folds, n_cuts)
        Accuracy in every fold with every cut. Folds whose samples to fit are of one class, or do not vary,
        are left out.
    feature_weights_ : array of shape (n_features,)
        Weights by all samples.
    feature_importances_ : array of shape (n_features,)
        max(weight, 0).
    ranking_ : array of shape (n_features,)
        1 = best; equal weights share the lowest number.
    estimator_ : estimator
        The clone that weighed all samples.
    refit_time_ : float
        Seconds, on the clock, that the fit of ``estimator_`` took.
    classes_ : array of shape (n_classes,)
        The classes.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Sun, Y. (2007). Iterative RELIEF for feature weighting: algorithms, theories, and applications. IEEE
    TPAMI 29(6), 1035-1051.

    Li, Y., Si, J., Zhou, G., Huang, S. and Chen, S. (2015). FREL: a stable feature selection algorithm.
    IEEE TNNLS 26(7), 1388-1402.

    Ambroise, C. and McLachlan, G. (2002). Selection bias in gene extraction on the basis of microarray
    gene-expression data. PNAS 99(10), 6562-6566.

    Examples
    --------
    >>> from highrelief import CrossValidatedSelector, ReliefF
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=20, random_state=0)
    >>> selector = CrossValidatedSelector(ReliefF()).fit(X, y)
    >>> selector.n_features_, selector.get_support(indices=True)
    (2, array([0, 1]))
    """

    n_features_: int

    def __init__(
        self,
        estimator: Any,
        *,
        classifier: Any = None,
        cv: Any = 10,
        cuts: str | ArrayLike = "auto",
        rule: str = "best",
        n_features_to_select: int | float | None = None,
        weighted: bool | str = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            estimator,
            n_features_to_select=n_features_to_select,
            weighted=weighted,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.classifier = classifier
        self.cv = cv
        self.cuts = cuts
        self.rule = rule
        self.random_state = random_state

    def _check_parameters(self, n_samples: int) -> None:
        super()._check_parameters(n_samples)
        check_folds("cv", self.cv)
        check_choice("rule", self.rule, RULES)
        check_seed("random_state", self.random_state)
        if self.classifier is not None and not _classifies(self.classifier):
            raise TypeError(
                f"classifier={self.classifier!r} must be None, or a classifier, such as"
                " KNeighborsClassifier()."
            )
        if not isinstance(self.cuts, str) or self.cuts != "auto":
            checked_cuts(self.cuts, self.n_features_in_)

    def __sklearn_tags__(self) -> WeighterTags:
        tags = super().__sklearn_tags__()
        asked = get_tags(self.classifier).input_tags if _classifies(self.classifier) else None
        tags.input_tags.sparse &= asked is not None and asked.sparse and _metric_takes_sparse(self.classifier)
        tags.input_tags.allow_nan &= asked is not None and asked.allow_nan
        tags.categories &= asked is not None
        return tags

    def _check_categories(self) -> None:
        super()._check_categories()
        chosen = getattr(self._weighter, "categorical_features", None)
        if self.classifier is None and chosen is not None and np.size(chosen):
            raise ValueError(
                "CrossValidatedSelector(classifier=None) asks k-NN, for which the categories that"
                f" categorical_features={chosen!r} names would be numbers. Give a classifier that takes them,"
                " such as a pipeline that encodes them, or a forest."
            )

    def _checked(self, X: Any, y: Any, *, reset: bool, min_samples: int = 2) -> tuple[Any, Any]:
        """As any meta-estimator; but the distances of k-NN need all values, whatever is wrapped."""
        samples, target = super()._checked(X, y, reset=reset, min_samples=min_samples)
        if self.classifier is None:
            if sparse.issparse(samples):
                raise TypeError(
                    "CrossValidatedSelector(classifier=None) asks k-NN on dense rows, but X is sparse. Give a"
                    " classifier that takes sparse tables, or X.toarray(), if it fits into memory."
                )
            if self._weighter is None:
                samples = np.asarray(samples, dtype=None if samples.dtype.kind in "biuf" else np.float64)
            assert_all_finite(samples, input_name="X", estimator_name=type(self).__name__)
        return samples, target

    def get_metadata_routing(self) -> MetadataRouter:
        """Whom ``fit`` tells of what it is told, where metadata is routed; see scikit-learn's user guide.

        Returns
        -------
        routing : MetadataRouter
            What ``fit`` itself takes, the fits of ``estimator`` and ``classifier``, and the splits of ``cv``.
        """
        router = super().get_metadata_routing()
        if _classifies(self.classifier):
            router.add(
                classifier=self.classifier, method_mapping=MethodMapping().add(caller="fit", callee="fit")
            )
        if hasattr(self.cv, "get_n_splits"):
            router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        return router

    def _told(self, given: Told) -> dict[str, Told]:
        told = super()._told(given)
        routed = get_config()["enable_metadata_routing"]
        if not routed and _classifies(self.classifier) and "sample_weight" in given:
            takes = has_fit_parameter(self.classifier, "sample_weight")
            told["classifier"] = {"sample_weight": given["sample_weight"]} if takes else {}
        return told

    @with_callbacks
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        batches: ArrayLike | None = None,
    ) -> Self:
        """Weigh the features, and find how many of them to keep.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each sample counts, if the fit of ``estimator`` takes it: as fitted, as neighbor and in
            the score. All copies of a sample are in one fold. A classifier that is given gets it if its fit
            takes it.
        groups : array-like of shape (n_samples,), default=None
            For ``cv``: samples of the same group (such as those of one patient) are in one fold. Also handed
            on to the fit of ``estimator``, if that takes them.
        batches : array-like of shape (n_samples,), default=None
            Handed on to the fit of ``estimator``, if that takes them. The folds do not go by them, and k-NN
            sees one table.

        Returns
        -------
        self : object
            The fitted selector.
        """
        table = self._check_fit(X, y, sample_weight, groups=groups, batches=batches)
        self._check_classes(table.y)
        random = random_generator("random_state", self.random_state)
        # Drawn first: the weights do not depend on the folds.
        seed = int(random.randint(SEEDS))
        parts = usable_folds(self.cv, table.X, table.codes, table.kept, self._groups_of(table, groups))
        folds = [Fold(*each, seed=int(random.randint(SEEDS))) for each in parts]
        with watched(self, total=len(folds) + 1) as progress:
            weights = self._weigh_all(table, seed)
            self._warn_of_folds(len(folds), table)
            self.cuts_ = self._cuts(weights)
            score = partial(_fold_scores, self._judge(), self.cuts_, table)
            ours = self._weighter is not None
            wanted = [] if progress.advance() else folds
            scores = run_some(score, wanted, progress.advance, ours=ours, n_jobs=self.n_jobs)
        done = [each for each in scores if each is not None]
        if len(done) < len(folds):
            warn_user(
                f"{type(self).__name__} was stopped by a callback after {len(done)} of {len(folds)} folds.",
                UserWarning,
            )
        self.cv_scores_ = np.array(done).reshape(len(done), len(self.cuts_))
        self.n_features_ = self._chosen(weights)
        return self._set_weights(weights)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        """What ``n_features_to_select`` says, or the cross-validation if that is None."""
        mask = super()._get_support_mask()
        if self.n_features_to_select is None:
            mask = best_features(self.feature_weights_, self.n_features_)
        return mask

    # Steps of the fit

    def _groups_of(self, table: MetaTable, groups: ArrayLike | None) -> NDArray[np.int64] | None:
        """Groups that the folds keep together; where metadata is routed, a splitter says whether it does."""
        codes = label_codes("groups", groups, table.kept)
        asks = "splitter" not in table.told or "groups" in table.told["splitter"]
        return codes if asks else None

    def _warn_of_folds(self, n_folds: int, table: MetaTable) -> None:
        """Folds are not what was asked for, or of little use to a class; scikit-learn warns of the latter."""
        asked = int(self.cv) if isinstance(self.cv, Integral) else 0
        smallest = int(np.bincount(table.codes).min())
        if n_folds == 0:
            warn_user(
                "cv gives no fold to choose a number of features by (of two classes and different samples):"
                " those of weight > 0 are kept.",
                UserWarning,
            )
            return
        warn_of_fewer_folds(self.cv, n_folds)
        if n_folds >= asked > smallest:
            warn_user(
                f"The smallest class in y has fewer samples ({smallest}) than there are folds (cv={asked}):"
                " not every fold has one of them.",
                UserWarning,
            )

    def _weigh_all(self, table: MetaTable, seed: int) -> NDArray[np.float64]:
        """Weights by all samples; the clone that found them is kept."""
        names = unseeded(self.estimator)
        self.estimator_ = seeded_clone(self._clone_for_all(), names, seed)
        begin = perf_counter()
        self.estimator_.fit(table.X, table.y, **table.told_to("estimator"))
        self.refit_time_ = perf_counter() - begin
        return weights_of(self.estimator_, self.n_features_in_)

    def _cuts(self, weights: NDArray[np.float64]) -> NDArray[np.int64]:
        if isinstance(self.cuts, str):
            return automatic_cuts(n_positive(weights))
        return checked_cuts(self.cuts, weights.size)

    def _judge(self) -> _Judge:
        scale = "range" if self._weighter is None else self._weighter.scale
        metric = self._own_metric if self.weighted is True else self.weighted
        return _Judge(self.estimator, self.classifier, scale, metric)

    def _chosen(self, weights: NDArray[np.float64]) -> int:
        """The number of features, by the rule; without any fold, those of weight > 0."""
        if not len(self.cv_scores_):
            return n_positive(weights)
        return int(self.cuts_[chosen_cut(self.cv_scores_, self.rule)])


class _Judge(NamedTuple):
    """Who ranks in a fold, and who is asked about the cuts."""

    estimator: Any
    classifier: Any
    #: Of the k-NN and of weighted columns.
    scale: str | None
    #: Of weighted columns, or False.
    metric: str | bool


class _Part(NamedTuple):
    """Samples on one side of a fold."""

    X: Any
    y: NDArray[Any]
    codes: NDArray[np.int64]
    sample_weight: NDArray[np.float64] | None

    @classmethod
    def of(cls, table: MetaTable, rows: NDArray[np.int64]) -> Self:
        sample_weight = None if table.sample_weight is None else table.sample_weight[rows]
        return cls(table.X[rows], table.y[rows], table.codes[rows], sample_weight)


def _fold_scores(judge: _Judge, cuts: NDArray[np.int64], table: MetaTable, fold: Fold) -> list[float]:
    """Weigh by one part of the samples, score every cut on the other."""
    known, new = _Part.of(table, fold.fitted), _Part.of(table, fold.left_out)
    member = seeded_clone(judge.estimator, unseeded(judge.estimator), fold.seed)
    member.fit(known.X, known.y, **table.told_to("estimator", fold.fitted))
    weights = weights_of(member, known.X.shape[1])
    if judge.classifier is None:
        judged = _right_by_neighbors(judge, cuts, known, new, weights)
    else:
        told = table.told_to("classifier", fold.fitted)
        judged = _right(judge, cuts, known, new, weights, fold.seed, told)
    return [float(np.average(right, weights=new.sample_weight)) for right in judged]


def _right_by_neighbors(
    judge: _Judge, cuts: NDArray[np.int64], known: _Part, new: _Part, weights: NDArray[np.float64]
) -> Iterator[NDArray[np.bool_]]:
    """Which of the samples left out k-NN puts into their class, cut by cut."""
    neighbors = NestedNeighbors(
        known.X,
        known.codes,
        max(known.codes.max(), new.codes.max()) + 1,
        n_neighbors=N_NEIGHBORS,
        scale=judge.scale,
        sample_weight=known.sample_weight,
    )
    for told in neighbors.predict(new.X, falling(weights), cuts.tolist()):
        yield told == new.codes


def _right(
    judge: _Judge,
    cuts: NDArray[np.int64],
    known: _Part,
    new: _Part,
    weights: NDArray[np.float64],
    seed: int,
    told: Told,
) -> Iterator[NDArray[np.bool_]]:
    """The same by the classifier that was given, which is fitted once for each cut."""
    order, names = falling(weights), unseeded(judge.classifier)
    for cut in cuts:
        kept = np.sort(order[:cut])
        X, X_new = known.X[:, kept], new.X[:, kept]
        if judge.metric is not False:
            X, X_new = precise(X), precise(X_new)
            scaling = scaling_by(X, judge.scale, known.sample_weight, ranges_of(X))
            factors = metric_factors(weights[kept], judge.metric)
            X, X_new = (weighted_columns(each, scaling, factors) for each in (X, X_new))
        model = seeded_clone(judge.classifier, names, seed)
        unwarned(model.fit)(X, known.y, **told)
        yield unwarned(model.predict)(X_new) == new.y


def chosen_cut(scores: NDArray[np.float64], rule: str) -> int:
    """Place of the cut that is taken, given the scores of (folds, rising cuts)."""
    means = scores.mean(axis=0)
    best = int(np.argmax(means > means.max() - SAME_SCORE))
    least = means[best]
    if rule == "one-se" and len(scores) > 1:
        least -= scores[:, best].std(ddof=1) / np.sqrt(len(scores))
    return int(np.argmax(means > least - SAME_SCORE))


def automatic_cuts(most: int) -> NDArray[np.int64]:
    """1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100 … up to ``most``, which is the last."""
    steps = [1, 2, 3, 5, 7]
    scale = 1
    while steps[-1] < most:
        steps += [scale * step for step in _STEPS]
        scale *= 10
    return np.array([step for step in steps if step < most] + [most])


def checked_cuts(cuts: Any, n_features: int) -> NDArray[np.int64]:
    """Numbers of features, rising and each once, from whole numbers and shares."""
    wrong = ValueError(
        f"cuts={cuts!r} must be 'auto', or a list of whole numbers from 1 to {n_features}, the features of X,"
        " or of shares of them, floats in (0, 1]."
    )
    if isinstance(cuts, str) or not isinstance(cuts, (Sequence, np.ndarray)) or len(cuts) == 0:
        raise wrong
    found = []
    for cut in cuts:
        share = is_share(cut)
        whole = isinstance(cut, Integral) and not isinstance(cut, (bool, np.bool_))
        if not (share and 0.0 < cut <= 1.0) and not (whole and 1 <= cut <= n_features):
            raise wrong
        found.append(n_features_kept(cut, n_features))
    return np.unique(found)


def _metric_takes_sparse(classifier: Any) -> bool:
    """Whether the distance of a k-NN, which its tags do not look at, is defined for sparse tables."""
    metric = getattr(classifier, "metric", None)
    if not isinstance(classifier, KNeighborsClassifier) or callable(metric):
        return True
    return bool(metric in VALID_METRICS_SPARSE["brute"])


def _classifies(classifier: Any) -> bool:
    known = all(hasattr(classifier, name) for name in ("fit", "predict", "get_params"))
    return known and not isinstance(classifier, type)
