"""Ensembles of weighters on random subsets of the samples (FREL, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.stats import rankdata
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._dask.collections import is_dask_table
from .._engine.parameters import constraints, one_of
from ..base.meta import wrapped_has
from ..base.progress import with_callbacks
from ..base.resampling import ResampledWeighter, Workers, in_threads
from ..base.selector import best_features
from ..base.training_data import Samples, TrainingData
from ..base.validation import known_codes, label_codes
from ..stability import spearman

#: Weights with a smaller relative difference are equal: sums depend on the position of a column.
_TIED = 1e-12
#: Quantities that are averaged over the members.
AGGREGATES = ("weights", "ranks")


class EnsembleWeighting(ResampledWeighter):
    r"""Mean of the weights, or of the ranks, that a weighter finds on random subsets of the samples.

    Algorithm 2 of FREL around any weighter: for t = 1 … m, draw round(a·n) of the n samples without
    replacement (without regard to classes), fit a clone of ``estimator`` to them, and average (eq. 10):

    .. math:: w_E = \frac{1}{m} \sum_{t=1}^{m} w_{D(r_t)}

    With ``aggregate="ranks"`` the ranks of the features (1 = largest weight, equal weights share the mean of
    their ranks) are averaged instead, and :math:`w_E = d + 1 - \bar R`: between 1 and d, larger = better. The
    units of the members' weights then do not matter. All features have positive weights, so that all are
    selected unless ``n_features_to_select`` is set; only a constant numeric feature has no rank and the
    weight 0. With ``aggregate="weights"`` its weight is the mean of the members: 0 for weighters of this
    package; a linear model without an intercept may use it.

    Subsets of one class, or of equal samples only, are drawn again. A small class may be missing from some
    members.

    Parameters
    ----------
    estimator : estimator
        A weighter, or any estimator of scikit-learn that has ``feature_importances_`` or ``coef_`` after its
        fit: their absolute values are taken, summed over classes. Also a pipeline that ends in one. It is
        cloned, never fitted itself.
    n_estimators : int, default=20
        Number of members, m.
    max_samples : int or float, default=0.9
        Number of samples of a member, or fraction a of all samples, rounded. 1.0: all, in their order.
    aggregate : {"weights", "ranks"}, default="weights"
        What is averaged.
    n_features_to_select : int, float or None, default=None
        None selects every feature of positive weight, at least one; an int is the number of features, a float
        in (0, 1] a fraction of them.
    weighted : bool, "manhattan" or "euclidean", default=False
        Whether ``transform`` scales the selected columns (as ``estimator`` does, by all samples) and
        multiplies them by the weights, or their square roots for "euclidean"; True is the metric of
        ``estimator``. Only around a weighter of this package.
    n_jobs : int or None, default=None
        Number of concurrent fits: in threads if ``estimator`` is of this package, otherwise, and with
        ``joblib.parallel_config("dask")``, by joblib. Results are identical for any value. Idle threads help
        members with an ``n_jobs`` of their own; the number of threads is the largest of these values. A
        Dask-backed X is fitted on its workers: None, or −1, means two fits at a time per worker, as far as
        memory allows.
    verbose : int, default=0
        1 shows the number of fitted members.
    random_state : int, RandomState or None, default=None
        Determines the subsets, and the random numbers of members whose ``random_state`` is None.

    Attributes
    ----------
    feature_weights_ : array of shape (n_features,)
        Mean weights, or d + 1 − mean ranks.
    feature_importances_ : array of shape (n_features,)
        max(weight, 0).
    ranking_ : array of shape (n_features,)
        1 = best; equal weights have the lowest of their ranks.
    estimators_ : list of n_estimators estimators
        The members.
    estimators_samples_ : list of arrays
        Rows of X that each member was fitted to, in rising order.
    member_weights_ : array of shape (n_estimators, n_features)
        Weights of each member.
    stability_ : float
        Mean rank correlation of the members' weights, see :func:`highrelief.stability.spearman`; nan for one
        member. Members share most of their samples: it measures the effect of leaving samples out, not the
        agreement with a new study.
    selections_ : array of shape (n_estimators, n_features)
        Features that each member would select by ``n_features_to_select``, for
        :func:`~highrelief.stability.jaccard` and :func:`~highrelief.stability.nogueira`. Its mean over
        members is how often a feature is selected.
    left_out_counts_ : array of shape (n_samples,)
        Number of members that were not fitted to each sample; 0 for samples of weight 0.
    execution_ : dict
        Which workers fitted the members ("threads", "joblib", "dask cluster" or "dask threads"), and how many
        at a time.
    classes_ : array of shape (n_classes,)
        The classes, if y holds class labels.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Li, Y., Si, J., Zhou, G., Huang, S. and Chen, S. (2015). FREL: a stable feature selection algorithm.
    IEEE TNNLS 26(7), 1388-1402.

    Examples
    --------
    >>> from highrelief import EnsembleWeighting, ReliefF
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(100, n_irrelevant=8, random_state=0)
    >>> ensemble = EnsembleWeighting(ReliefF(), n_features_to_select=2, random_state=0).fit(X, y)
    >>> ensemble.get_support(indices=True)
    array([0, 1])
    >>> ensemble.selections_.mean(axis=0)
    array([1., 1., 0., 0., 0., 0., 0., 0., 0., 0.])
    """

    _refuses_dask = None
    _constraints = constraints(aggregate=one_of(*AGGREGATES))

    def __init__(
        self,
        estimator: Any,
        *,
        n_estimators: int = 20,
        max_samples: int | float = 0.9,
        aggregate: str = "weights",
        n_features_to_select: int | float | None = None,
        weighted: bool | str = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            estimator,
            n_estimators=n_estimators,
            max_samples=max_samples,
            n_features_to_select=n_features_to_select,
            weighted=weighted,
            n_jobs=n_jobs,
            verbose=verbose,
            random_state=random_state,
        )
        self.aggregate = aggregate

    @with_callbacks
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        batches: ArrayLike | None = None,
    ) -> Self:
        """Fit the members and average them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes, or another target of ``estimator``.
        sample_weight : array-like of shape (n_samples,), default=None
            Handed on to the members, if ``estimator`` takes it. Samples of weight 0 are not there; a subset
            is drawn from samples, not from copies.
        groups : array-like of shape (n_samples,), default=None
            Samples of the same group (such as those of one patient) are all in a subset, or none of them:
            whole groups are drawn, as many as come nearest to ``max_samples``, and never all unless all
            samples are wanted. Subsets with less than half of that size cause a warning. Also passed to the
            members, if ``estimator`` takes them.
        batches : array-like of shape (n_samples,), default=None
            Passed to the members, if ``estimator`` takes them.

        Returns
        -------
        self : object
            The fitted ensemble.
        """
        data = self._fit_members(X, y, sample_weight, groups, batches)
        if self.aggregate == "weights":
            return self._set_weights(self.member_weights_.mean(axis=0))
        mean_rank = average_ranks(self.member_weights_).mean(axis=0)
        return self._set_weights(np.where(_constant(data), 0.0, self.n_features_in_ + 1.0 - mean_rank))

    # Results of all members

    @property
    def stability_(self) -> float:
        """Mean rank correlation of the members' weights; nan for one member, or one feature."""
        check_is_fitted(self)
        if len(self.estimators_) == 1:
            return float("nan")
        return spearman(average_ranks(self.member_weights_))

    @property
    def selections_(self) -> NDArray[np.bool_]:
        """What each member would keep by ``n_features_to_select``, (n_estimators, n_features)."""
        check_is_fitted(self)
        return np.stack([best_features(each, self.n_features_to_select) for each in self.member_weights_])

    @available_if(wrapped_has("margins"))
    def margins(self, X: ArrayLike, y: ArrayLike, batches: ArrayLike | None = None) -> NDArray[np.float64]:
        """Mean over the members of the margins that they give to samples among the given ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes.
        batches : array-like of shape (n_samples,), default=None
            Their batches, if the members take them.

        Returns
        -------
        margins : array of shape (n_samples,)
            NaN for a sample whose class no member was fitted to.
        """
        check_is_fitted(self)
        samples = self._validate_samples(X, y, reset=False)
        known_codes(self.classes_, samples.y)
        codes = label_codes("batches", batches, np.ones(samples.n_samples, dtype=bool))

        def seen_by(member: Any) -> NDArray[np.float64]:
            return _known_margins(member, samples.X, samples.y, codes)

        return self._mean_over(seen_by, self.estimators_, samples.X)

    def _mean_over(
        self, seen_by: Callable[[Any], NDArray[np.float64]], members: Sequence[Any], X: Any
    ) -> NDArray[np.float64]:
        ours, n_threads = self._weighter is not None, self._n_threads
        if is_dask_table(X):
            n_threads = Workers.for_fits(X, len(members), ours=ours, n_jobs=self.n_jobs).n_at_a_time
        return _mean_of_known(np.stack(in_threads(seen_by, members, ours=ours, n_threads=n_threads)))

    # Out-of-sample results of members

    @property
    def left_out_counts_(self) -> NDArray[np.int64]:
        """Number of members that were not fitted to each sample; 0 for samples of weight 0."""
        check_is_fitted(self)
        return np.sum([self._left_out(t) for t in range(len(self.estimators_))], axis=0)

    @available_if(wrapped_has("margins"))
    def left_out_margins(
        self, X: ArrayLike, y: ArrayLike, batches: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Margins of the samples of ``fit`` as seen by the members that were fitted without them.

        A sample far below 0 is nearer to another class than to its own, in the metric that was learned from
        others: it is hard, or mislabeled. Each left-out sample has its neighbors among all given samples,
        but for those of its own group.

        Costs about as much as the margins of all samples, once per member; with groups, once per member and
        sample of the largest group left out.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples of ``fit``, in the same order.
        y : array-like of shape (n_samples,)
            Their classes.
        batches : array-like of shape (n_samples,), default=None
            Their batches, if the members take them.

        Returns
        -------
        margins : array of shape (n_samples,)
            Means over the members that did not see the sample; nan if all did, or if its class is in none of
            the others.
        """
        samples = self._samples_of_fit(X, y)
        known_codes(self.classes_, samples.y)
        codes = label_codes("batches", batches, np.ones(samples.n_samples, dtype=bool))

        def seen_by(t: int) -> NDArray[np.float64]:
            margins = np.full(self._n_samples, np.nan)
            for left_out in self._without_common_groups(self._left_out(t)):
                rows = np.union1d(self.estimators_samples_[t], left_out)
                batch_codes = None if codes is None else codes[rows]
                of_rows = _known_margins(self.estimators_[t], samples.X[rows], samples.y[rows], batch_codes)
                margins[left_out] = of_rows[np.searchsorted(rows, left_out)]
            return margins

        return self._mean_over(seen_by, range(len(self.estimators_)), samples.X)

    @available_if(wrapped_has("predict"))
    def left_out_score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Accuracy (R² of a regressor) on the samples of ``fit`` by the members that did not see them.

        The members' probabilities, their votes if they have none, or their predictions of numbers are
        averaged for each sample. Samples that every member saw do not count.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples of ``fit``, in the same order.
        y : array-like of shape (n_samples,)
            Their classes or values.

        Returns
        -------
        score : float
            Like ``oob_score_`` in scikit-learn's ensembles.
        """
        samples = self._samples_of_fit(X, y)
        target, scored = samples.y, self.left_out_counts_ > 0
        if not scored.any():
            raise ValueError("Every member saw every sample: none is left out to evaluate them.")
        if is_classifier(self.estimator):
            known_codes(self.classes_, target)
            votes = self._sums_over_left_out(_votes, samples.X, (self.classes_.size,))
            return float(accuracy_score(target[scored], self.classes_[votes[scored].argmax(axis=1)]))
        sums = self._sums_over_left_out(_predictions, samples.X, target.shape[1:])
        counts = self.left_out_counts_.reshape(-1, *[1] * (target.ndim - 1))
        return float(r2_score(target[scored], sums[scored] / counts[scored]))

    def _sums_over_left_out(
        self, predict: Callable[[Any, NDArray[Any], Any], Any], X: Any, shape: tuple[int, ...]
    ) -> NDArray[np.float64]:
        """Return the sums of predictions for each sample, over the members that were fitted without it."""
        sums = np.zeros((self._n_samples, *shape))
        for t, member in enumerate(self.estimators_):
            rows = np.flatnonzero(self._left_out(t))
            if rows.size:
                sums[rows] += predict(member, X[rows], getattr(self, "classes_", None))
        return sums

    def _samples_of_fit(self, X: ArrayLike, y: ArrayLike) -> Samples:
        check_is_fitted(self)
        samples = self._validate_samples(X, y, reset=False)
        if samples.n_samples != self._n_samples:
            raise ValueError(
                f"X must hold the {self._n_samples} samples of fit, of which members left some out; got"
                f" {samples.n_samples}."
            )
        return samples

    def _left_out(self, t: int) -> NDArray[np.bool_]:
        """Return the mask of the samples of positive weight that member t was not fitted to."""
        left_out = self._counted.copy()
        left_out[self.estimators_samples_[t]] = False
        return left_out

    def _without_common_groups(self, left_out: NDArray[np.bool_]) -> Iterator[NDArray[np.int64]]:
        """Yield parts of the left-out samples in which no two are of the same group."""
        rows = np.flatnonzero(left_out)
        if self._groups is None:
            yield rows
            return
        groups = self._groups[rows]
        while rows.size:
            first = np.zeros(rows.size, dtype=bool)
            first[np.unique(groups, return_index=True)[1]] = True
            yield rows[first]
            rows, groups = rows[~first], groups[~first]


def average_ranks(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ranks in each row, 1 for the largest; weights equal up to rounding have their mean rank."""
    order = np.argsort(-weights, axis=1, kind="stable")
    descending = np.take_along_axis(weights, order, axis=1)
    larger = np.maximum(np.abs(descending[:, 1:]), np.abs(descending[:, :-1]))
    lower = descending[:, :-1] - descending[:, 1:] > _TIED * larger
    levels = np.zeros(weights.shape, dtype=np.int64)
    np.put_along_axis(levels, order, np.pad(lower.cumsum(axis=1), ((0, 0), (1, 0))), axis=1)
    return rankdata(levels, axis=1)


def _constant(data: TrainingData) -> NDArray[np.bool_]:
    """Return the mask of constant features; columns with NaN or of another type count as not constant."""
    X = data.X
    if data.known_ranges is not None:
        return data.ranges.low == data.ranges.high
    if sparse.issparse(X):
        return X.min(axis=0).toarray().ravel() == X.max(axis=0).toarray().ravel()
    same = np.full(X.shape[1], X.dtype.kind in "biuf")
    for row in X:
        # Mostly none is left after two rows.
        if not same.any():
            break
        same &= row == X[0]
    return same


def _votes(member: Any, samples: Any, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return class probabilities, or 1 for the predicted class; 0 for classes unknown to the member."""
    if not hasattr(member, "predict_proba"):
        return (member.predict(samples)[:, np.newaxis] == classes).astype(np.float64)
    votes = np.zeros((samples.shape[0], classes.size))
    votes[:, np.searchsorted(classes, member.classes_)] = member.predict_proba(samples)
    return votes


def _predictions(member: Any, samples: Any, classes: None) -> Any:
    return member.predict(samples)


def _known_margins(
    member: Any, samples: Any, classes: NDArray[Any], batches: NDArray[np.int64] | None
) -> NDArray[np.float64]:
    """Return margins among the samples of classes that the member was fitted to; NaN for the others."""
    known = np.isin(classes, member.classes_)
    margins = np.full(classes.size, np.nan)
    if np.unique(classes[known]).size < 2 and not known.all():
        return margins
    which: Any = slice(None) if known.all() else known
    metadata = {} if batches is None else {"batches": batches[which]}
    margins[which] = member.margins(samples[which], classes[which], **metadata)
    return margins


def _mean_of_known(margins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return means over members; NaN where no member has a margin."""
    known = ~np.isnan(margins)
    times = known.sum(axis=0)
    total = np.where(known, margins, 0.0).sum(axis=0)
    return np.divide(total, times, out=np.full(times.shape, np.nan), where=times > 0)
