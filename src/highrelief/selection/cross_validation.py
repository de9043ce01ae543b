"""Number of features chosen by cross-validation, with one ranking per fold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.neighbors import VALID_METRICS_SPARSE, KNeighborsClassifier
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import has_fit_parameter

from .._engine.parameters import random_generator
from ..base.compilation import clock
from ..base.folds import SAME_SCORE, lowest_accepted, usable_folds
from ..base.meta import CrossValidatedWeighter, weights_of
from ..base.progress import watched, with_callbacks
from ..base.resampling import SEEDS, fit_members, fit_to_all, seeded_clone, unseeded
from ..base.selector import (
    WeighterTags,
    best_features,
    best_first,
    is_fraction,
    metric_factors,
    n_positive,
    n_selected_features,
    weighted_columns,
)
from ..base.training_data import Metadata, Samples, TrainingData, column_ranges, column_scaling
from ..base.validation import as_float, assert_all_finite, ignore_overflow, warn_user
from .knn import NestedKNN

#: Neighbors of the default classifier (3-NN in Li et al. 2015).
N_NEIGHBORS = 3
#: Automatic cuts within a factor of ten.
_STEPS = (10, 15, 20, 30, 50, 70)


class Fold(NamedTuple):
    """Rows of one fold, and the seed of its random numbers."""

    training: NDArray[np.int64]
    test: NDArray[np.int64]
    seed: int


class CrossValidatedSelector(CrossValidatedWeighter):
    r"""Keep as many features as classify best, by a cross-validation that ranks the features in each fold.

    For each fold v the features are weighted on the training samples; for each cut c a classifier is fitted
    to the c features of the largest weights, on the same samples, and scored on the fold. The number of
    features is

    .. math:: c^* = \arg\max_c \; \frac{1}{V} \sum_{v=1}^{V} \mathrm{accuracy}_v(c),

    the smallest of those that score equally well. The best c* features by all samples are kept.

    The scores of the chosen cut, ``cv_scores_``, are those of the best of many and so too high. An honest
    estimate needs a second loop around this one, the two-loop protocol: ``cross_val_score`` of a pipeline
    that begins with this selector.

    Parameters
    ----------
    estimator : estimator
        A weighter, or any estimator of scikit-learn that has ``feature_importances_`` or ``coef_`` after its
        fit. It is cloned, never fitted itself.
    classifier : classifier or None, default=None
        Scored with each cut. None: 3-NN by the Euclidean distance on the kept features, scaled as
        ``estimator`` does (to [0, 1] if it has no scaling) by the training samples and not weighted, whatever
        ``weighted`` is; neighbors as far as the third share its vote. All cuts together cost about as much as
        the largest. Any other classifier is fitted once per cut, to the columns that ``transform`` would
        return.
    cv : int, splitter or list of pairs, default=10
        Number of stratified folds, in the order of the samples; or, as in scikit-learn, an object with a
        method ``split``, or a list of (training samples, test samples). With ``groups`` a number means folds
        that keep groups together.
    cuts : "auto" or array-like, default="auto"
        Numbers of features to try: integers, or floats in (0, 1], shares of all features.
        "auto": 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100 …, up to the number of features whose weight by all
        samples is > 0, and this number.
    rule : {"best", "one-se"}, default="best"
        "one-se" takes the fewest features whose mean score is not more than one standard error (over the
        folds) below the best: a shorter list for a score that may be a little lower. Folds share samples, so
        that the standard error is a rule of thumb.
    n_features_to_select : int, float or None, default=None
        None: as the cross-validation chooses. A number, or a fraction of the features, is selected instead,
        and may be set after ``fit``, when the scores are known.
    weighted : bool, "manhattan" or "euclidean", default=False
        Whether ``transform`` scales the selected columns (as ``estimator`` does) and multiplies them by the
        weights, or their square roots for "euclidean"; True is the metric of ``estimator``. Only around a
        weighter of this package.
    n_jobs : int or None, default=None
        Number of folds computed at a time: by threads where ``estimator`` is of this package, by joblib
        otherwise. Results do not depend on it.
    verbose : int, default=0
        1 shows how many folds are done.
    random_state : int, RandomState or None, default=None
        Seed of ``estimator`` and ``classifier``, where their own ``random_state`` is None. Folds are drawn
        by ``cv`` alone.

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
        1 = best; equal weights have the lowest of their ranks.
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
        if self.classifier is not None and not _classifies(self.classifier):
            raise TypeError(
                f"classifier={self.classifier!r} must be None, or a classifier, such as"
                " KNeighborsClassifier()."
            )
        if not isinstance(self.cuts, str) or self.cuts != "auto":
            checked_cuts(self.cuts, self.n_features_in_)

    def __sklearn_tags__(self) -> WeighterTags:
        tags = super().__sklearn_tags__()
        inputs = get_tags(self.classifier).input_tags if _classifies(self.classifier) else None
        tags.input_tags.sparse &= (
            inputs is not None and inputs.sparse and _metric_takes_sparse(self.classifier)
        )
        tags.input_tags.allow_nan &= inputs is not None and inputs.allow_nan
        tags.categories &= inputs is not None
        return tags

    def _check_categories(self) -> None:
        super()._check_categories()
        chosen = getattr(self._weighter, "categorical_features", None)
        if self.classifier is None and chosen is not None and np.size(chosen):
            raise ValueError(
                f"CrossValidatedSelector(classifier=None) scores by k-NN, which does not support"
                f" categorical_features={chosen!r}. Pass a classifier that does, such as a pipeline that"
                " encodes categories, or a forest."
            )

    def _validate_samples(self, X: Any, y: Any, *, reset: bool, min_samples: int = 2) -> Samples:
        samples = super()._validate_samples(X, y, reset=reset, min_samples=min_samples)
        # The distances of k-NN need all values, whatever the wrapped estimator supports.
        if self.classifier is None:
            X = samples.X
            if sparse.issparse(X):
                raise TypeError(
                    "CrossValidatedSelector(classifier=None) does not support sparse X: it scores by k-NN on"
                    " dense rows. Pass a classifier that supports it, or X.toarray(), if it fits into memory."
                )
            if self._weighter is None:
                X = np.asarray(X, dtype=None if X.dtype.kind in "biuf" else np.float64)
            assert_all_finite(X, input_name="X", estimator_name=type(self).__name__)
            samples = replace(samples, X=X)
        return samples

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how ``fit`` routes metadata; see scikit-learn's user guide.

        Returns
        -------
        routing : MetadataRouter
            To ``fit`` itself, to the fits of ``estimator`` and ``classifier``, and to the splits of ``cv``.
        """
        router = super().get_metadata_routing()
        if _classifies(self.classifier):
            router.add(
                classifier=self.classifier, method_mapping=MethodMapping().add(caller="fit", callee="fit")
            )
        return router

    def _routed_metadata(self, metadata: Metadata) -> dict[str, Metadata]:
        routed = super()._routed_metadata(metadata)
        routing = get_config()["enable_metadata_routing"]
        if not routing and _classifies(self.classifier) and "sample_weight" in metadata:
            accepts = has_fit_parameter(self.classifier, "sample_weight")
            routed["classifier"] = {"sample_weight": metadata["sample_weight"]} if accepts else {}
        return routed

    @with_callbacks
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        batches: ArrayLike | None = None,
    ) -> Self:
        """Weight the features, and choose how many of them to keep.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, if the fit of ``estimator`` takes them: in the fits, as neighbors and in
            the score. All duplicates of a sample are in one fold. A classifier gets weights if its fit takes
            them.
        groups : array-like of shape (n_samples,), default=None
            For ``cv``: samples of the same group (such as those of one patient) are in one fold. Also passed
            to the fit of ``estimator``, if that takes them.
        batches : array-like of shape (n_samples,), default=None
            Passed to the fit of ``estimator``, if that takes them. Folds and k-NN ignore batches.

        Returns
        -------
        self : object
            The fitted selector.
        """
        data = self._check_fit(X, y, sample_weight, groups=groups, batches=batches)
        self._check_classes(data.y)
        random = random_generator("random_state", self.random_state)
        # Drawn first: the weights do not depend on the folds.
        seed = int(random.randint(SEEDS))
        parts = usable_folds(self.cv, data.X, data.codes, data.included, self._fold_groups(data, groups))
        folds = [Fold(*each, seed=int(random.randint(SEEDS))) for each in parts]
        with watched(self, total=len(folds) + 1) as progress:
            start = clock()
            weights = fit_to_all(self, data, seed)
            self.refit_time_ = clock() - start
            self._warn_of_folds(
                len(folds), "to choose a number of features by", "those of weight > 0 are kept"
            )
            self._warn_of_small_class(len(folds), data)
            self.cuts_ = self._cuts(weights)
            score = partial(_fold_scores, self._scoring(), self.cuts_, data)
            ours = self._weighter is not None
            remaining = [] if progress.advance() else folds
            scores = fit_members(score, remaining, progress.advance, ours=ours, n_jobs=self.n_jobs)
        done = [each for each in scores if each is not None]
        self._warn_of_stop(len(done), len(folds), "folds")
        self.cv_scores_ = np.array(done).reshape(len(done), len(self.cuts_))
        self.n_features_ = self._chosen(weights)
        return self._set_weights(weights)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        mask = super()._get_support_mask()
        if self.n_features_to_select is None:
            mask = best_features(self.feature_weights_, self.n_features_)
        return mask

    # Steps of the fit

    def _warn_of_small_class(self, n_folds: int, data: TrainingData) -> None:
        """Warn, as scikit-learn does, if a class has fewer samples than there are folds."""
        n_splits = int(self.cv) if isinstance(self.cv, Integral) else 0
        smallest = int(np.bincount(data.codes).min())
        if n_folds >= n_splits > smallest:
            warn_user(
                f"The smallest class in y has fewer samples ({smallest}) than there are folds"
                f" (cv={n_splits}): not every fold has one of them.",
                UserWarning,
            )

    def _cuts(self, weights: NDArray[np.float64]) -> NDArray[np.int64]:
        if isinstance(self.cuts, str):
            return automatic_cuts(n_positive(weights))
        return checked_cuts(self.cuts, weights.size)

    def _scoring(self) -> _Scoring:
        scale = "range" if self._weighter is None else self._weighter.scale
        return _Scoring(self.estimator, self.classifier, scale, self._metric)

    def _chosen(self, weights: NDArray[np.float64]) -> int:
        """Return the number of features by the rule; without any fold, those of weight > 0."""
        if not len(self.cv_scores_):
            return n_positive(weights)
        return int(self.cuts_[chosen_cut(self.cv_scores_, self.rule)])


class _Scoring(NamedTuple):
    """What ranks the features in a fold, and what scores the cuts."""

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
    def of(cls, data: TrainingData, rows: NDArray[np.int64]) -> Self:
        sample_weight = None if data.sample_weight is None else data.sample_weight[rows]
        return cls(data.X[rows], data.y[rows], data.codes[rows], sample_weight)


def _fold_scores(scoring: _Scoring, cuts: NDArray[np.int64], data: TrainingData, fold: Fold) -> list[float]:
    """Return the accuracy of every cut on the test samples of a fold."""
    training, test = _Part.of(data, fold.training), _Part.of(data, fold.test)
    member = seeded_clone(scoring.estimator, unseeded(scoring.estimator), fold.seed)
    member.fit(training.X, training.y, **data.metadata_for("estimator", fold.training))
    weights = weights_of(member, training.X.shape[1])
    if scoring.classifier is None:
        correct = _correct_by_knn(scoring, cuts, training, test, weights)
    else:
        metadata = data.metadata_for("classifier", fold.training)
        correct = _correct_by_classifier(scoring, cuts, training, test, weights, fold.seed, metadata)
    return [float(np.average(each, weights=test.sample_weight)) for each in correct]


def _correct_by_knn(
    scoring: _Scoring, cuts: NDArray[np.int64], training: _Part, test: _Part, weights: NDArray[np.float64]
) -> Iterator[NDArray[np.bool_]]:
    """Yield, cut by cut, which test samples k-NN puts into their class."""
    neighbors = NestedKNN(
        training.X,
        training.codes,
        max(training.codes.max(), test.codes.max()) + 1,
        n_neighbors=N_NEIGHBORS,
        scale=scoring.scale,
        sample_weight=training.sample_weight,
    )
    for predicted in neighbors.predict(test.X, best_first(weights), cuts.tolist()):
        yield predicted == test.codes


def _correct_by_classifier(
    scoring: _Scoring,
    cuts: NDArray[np.int64],
    training: _Part,
    test: _Part,
    weights: NDArray[np.float64],
    seed: int,
    metadata: Metadata,
) -> Iterator[NDArray[np.bool_]]:
    """Yield, cut by cut, which test samples the classifier puts into their class."""
    order, names = best_first(weights), unseeded(scoring.classifier)
    for cut in cuts:
        features = np.sort(order[:cut])
        X, X_test = training.X[:, features], test.X[:, features]
        if scoring.metric is not False:
            X, X_test = as_float(X), as_float(X_test)
            scaling = column_scaling(X, scoring.scale, training.sample_weight, column_ranges(X))
            factors = metric_factors(weights[features], scoring.metric)
            X, X_test = (weighted_columns(each, scaling, factors) for each in (X, X_test))
        model = seeded_clone(scoring.classifier, names, seed)
        ignore_overflow(model.fit)(X, training.y, **metadata)
        yield ignore_overflow(model.predict)(X_test) == test.y


def chosen_cut(scores: NDArray[np.float64], rule: str | None) -> int:
    """Return the index of the chosen cut, given the scores of (folds, rising cuts)."""
    means = scores.mean(axis=0)
    best = int(np.argmax(means > means.max() - SAME_SCORE))
    least = lowest_accepted(means[best], scores[:, best], rule)
    return int(np.argmax(means > least - SAME_SCORE))


def automatic_cuts(most: int) -> NDArray[np.int64]:
    """Return 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100 … up to ``most``, which is the last."""
    steps = [1, 2, 3, 5, 7]
    scale = 1
    while steps[-1] < most:
        steps += [scale * step for step in _STEPS]
        scale *= 10
    return np.array([step for step in steps if step < most] + [most])


def checked_cuts(cuts: Any, n_features: int) -> NDArray[np.int64]:
    """Return numbers of features, rising and each once, from integers and shares."""
    wrong = ValueError(
        f"cuts={cuts!r} must be 'auto', or a list of integers from 1 to {n_features}, the features of X,"
        " or of shares of them, floats in (0, 1]."
    )
    if isinstance(cuts, str) or not isinstance(cuts, (Sequence, np.ndarray)) or len(cuts) == 0:
        raise wrong
    numbers = []
    for cut in cuts:
        share = is_fraction(cut)
        whole = isinstance(cut, Integral) and not isinstance(cut, (bool, np.bool_))
        if not (share and 0.0 < cut <= 1.0) and not (whole and 1 <= cut <= n_features):
            raise wrong
        numbers.append(n_selected_features(cut, n_features))
    return np.unique(numbers)


def _metric_takes_sparse(classifier: Any) -> bool:
    """Return whether the metric of a k-NN, which its tags ignore, is defined for sparse tables."""
    metric = getattr(classifier, "metric", None)
    if not isinstance(classifier, KNeighborsClassifier) or callable(metric):
        return True
    return bool(metric in VALID_METRICS_SPARSE["brute"])


def _classifies(classifier: Any) -> bool:
    known = all(hasattr(classifier, name) for name in ("fit", "predict", "get_params"))
    return known and not isinstance(classifier, type)
