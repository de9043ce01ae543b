"""Kernel widths chosen by cross-validation, along one path of warm-started fits per fold."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._engine.engine import Engine
from .._engine.parameters import constraints, count, one_of, optional
from .._solvers.fixed_point import euclidean_norm
from ..base.folds import RULES, SAME_SCORE, has_misses, lowest_accepted, usable_folds
from ..base.meta import CrossValidatedWeighter, weights_of, wrapped_has
from ..base.progress import watched, with_callbacks
from ..base.selector import WeighterTags, check_columns
from ..base.soft import AVERAGED_STEPS, LEARNED_PERPLEXITY, GridPoint, RepeatedWeighter
from ..base.training_data import Samples, TrainingData
from ..base.validation import FLOAT_TYPES, is_dask_backed, validate_data
from ..methods.logo import LOGO
from .knn import LearnedMetricKNN, accuracy

#: Default widths, as multiples of the automatic one.
FACTORS: NDArray[np.float64] = np.ldexp(1.0, np.arange(2, -3, -1))
#: Default penalties of LOGO, as shares of the smallest that leaves no feature.
SHARES: NDArray[np.float64] = np.array([0.5, 0.2, 0.1])


class KernelWidthCV(CrossValidatedWeighter):
    r"""Kernel width of I-RELIEF, LOGO or I-M4E, chosen by cross-validation.

    In each fold, one model is fitted to the training samples with one width σ after another, from the middle
    of the grid to the wide and to the narrow end. Each fit starts at the weights of the previous one, and
    the distances of a fold are prepared once. The chosen width is then used with all samples, from the
    initial weights on.

    At weights w the kernel is exp(−d/(σ‖w‖₂)): σ is the width at weights of norm 1, whatever norm the method
    gives them. With a wide σ and plain iterations (``averaging=False``) there is one fixed point: a path then
    ends where separate fits do, and the final fit where ``IRelief(sigma=sigma_)`` does. With a narrow σ there
    may be several fixed points, or cycles, and a path finds those that follow from the middle of the grid.

    For :class:`LOGO`, every width is combined with every penalty, from large to small; a fit starts at the
    weights of the previous width, or, with the first width, of the larger penalty. Solutions are scaled to
    norm 1, so that λ does not change what σ means.

    Parameters
    ----------
    estimator : IRelief, LOGO or IM4E
        What is fitted. It is cloned, never fitted itself. Its ``sigma`` is replaced, and the ``alpha`` of a
        LOGO; ``averaging=None`` averages steps, so that no cycle is scored; ``perplexity=None`` is 0.5.
        ``max_iter`` is the limit of fits that start at ``init``.
    sigmas : array-like or None, default=None
        Widths σ to try. None: 4, 2, 1, ½ and ¼ times the width that ``sigma="auto"`` yields with all samples
        and the ``perplexity`` of ``estimator``.
    alphas : array-like or None, default=None
        Penalties to try, only for LOGO: shares in (0, 1] of the smallest λ that leaves no feature, in every
        step. None: 0.5, 0.2 and 0.1. Shares mean the same in a fold as with all samples; λ, the penalty of a
        sum over samples, does not.
    cv : int, splitter or list of pairs, default=5
        Number of stratified folds, in the order of the samples; or, as in scikit-learn, an object with a
        method ``split``, or a list of (training samples, test samples). With ``groups`` a number means folds
        that keep groups together. Folds with one class to train on are skipped.
    scoring : str, callable or None, default=None
        Score of the samples left out, larger is better. None: accuracy of 5-NN among the training samples,
        in the learned metric; of the I-M4E classifier if ``estimator`` is an IM4E. Otherwise a scorer of
        scikit-learn, by name ("balanced_accuracy") or as a callable, applied to the same classifier.
    rule : {"one-se", "best"} or None, default=None
        Without a penalty, "one-se" chooses, among the widths whose mean score is at most one standard error
        (over the folds) below the best, the one nearest to the middle of the grid, by default the automatic
        width. With a penalty, "one-se" chooses the largest penalty that is that good with any width, and
        so fewer features. "best" requires the best mean score; ties go to the largest penalty, and then to
        the width nearest to the middle. None: "best" with a penalty, "one-se" without.
    warm_steps : int or None, default=None
        Maximum number of iterations of all fits of a fold but the first. None: half as many as the first,
        or, with ``averaging=False``, as many. 0: every fit starts at the initial weights instead.
    n_features_to_select : int, float or None, default=None
        None selects every feature of positive weight, at least one; an int is the number of features, a float
        in (0, 1] a fraction of them.
    weighted : bool, "manhattan" or "euclidean", default=False
        Whether ``transform`` scales the selected columns and multiplies them by the weights, or their square
        roots for "euclidean"; True is "manhattan".
    n_jobs : int or None, default=None
        Number of threads of a fit, where ``estimator`` sets none. Results are bitwise identical for any
        value.
    verbose : int, default=0
        1 shows the progress of long fits.

    Attributes
    ----------
    sigmas_ : array of shape (n_sigmas,)
        Widths that were tried, from wide to narrow.
    alphas_ : array of shape (n_alphas,)
        Shares that were tried, from large to small; only for LOGO.
    scores_ : array of shape (n_sigmas, n_folds), or (n_sigmas, n_alphas, n_folds) for LOGO
        Score of every value in every fold.
    best_index_ : int, or tuple of two ints for LOGO
        Index of the chosen width in ``sigmas_``, and of the chosen share in ``alphas_``.
    sigma_ : float
        The chosen width, in the units of the distances under ``feature_weights_``.
    alpha_share_ : float
        The chosen share; only for LOGO.
    estimator_ : estimator
        The clone fitted to all samples with the chosen values: ``n_iter_``, ``converged_``, ``history_`` and
        what else ``estimator`` stores, such as ``outlier_proba_`` of I-RELIEF or ``alpha_`` of LOGO. Its
        parameter ``sigma`` remains "auto".
    feature_weights_ : array of shape (n_features,)
        Weights of ``estimator_``; those of LOGO have norm 1.
    feature_importances_ : array of shape (n_features,)
        The same.
    ranking_ : array of shape (n_features,)
        1 = best; equal weights have the lowest of their ranks.
    classes_ : array of shape (n_classes,)
        The classes.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Breiman, L., Friedman, J., Olshen, R. and Stone, C. (1984). Classification and Regression Trees.
    Wadsworth. (The one-standard-error rule.)

    Examples
    --------
    >>> from highrelief import IM4E, LOGO, IRelief, KernelWidthCV
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=20, random_state=0)
    >>> search = KernelWidthCV(IRelief(), n_features_to_select=2).fit(X, y)
    >>> search.get_support(indices=True), search.scores_.shape
    (array([0, 1]), (5, 5))
    >>> KernelWidthCV(LOGO()).fit(X, y).scores_.shape
    (5, 3, 5)
    >>> bool(KernelWidthCV(IM4E()).fit(X[:150], y[:150]).score(X[150:], y[150:]) > 0.8)
    True
    """

    _refuses_dask = "its widths are scored by k-NN on tables in memory."
    _constraints = constraints(rule=one_of(None, *RULES), warm_steps=optional(count(at_least=0)))

    sigmas_: NDArray[np.float64]
    alphas_: NDArray[np.float64]
    best_index_: int | tuple[int, int]

    def __init__(
        self,
        estimator: Any,
        *,
        sigmas: ArrayLike | None = None,
        alphas: ArrayLike | None = None,
        cv: Any = 5,
        scoring: Any = None,
        rule: str | None = None,
        warm_steps: int | None = None,
        n_features_to_select: int | float | None = None,
        weighted: bool | str = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator,
            n_features_to_select=n_features_to_select,
            weighted=weighted,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.sigmas = sigmas
        self.alphas = alphas
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.warm_steps = warm_steps

    # Validation

    def __sklearn_tags__(self) -> WeighterTags:
        tags = super().__sklearn_tags__()
        wrapped = get_tags(self.estimator)
        tags.estimator_type, tags.classifier_tags = wrapped.estimator_type, wrapped.classifier_tags
        tags.input_tags.sparse = False
        return tags

    @property
    def _penalized(self) -> bool:
        return isinstance(self.estimator, LOGO)

    def _validate_samples(self, X: Any, y: Any, *, reset: bool, min_samples: int = 2) -> Samples:
        if sparse.issparse(X):
            raise TypeError(
                "KernelWidthCV does not support sparse X: widths are scored by k-NN on dense rows. Use"
                " X.toarray(), if it fits into memory, or GridSearchCV."
            )
        return super()._validate_samples(X, y, reset=reset, min_samples=min_samples)

    def _check_parameters(self, n_samples: int) -> None:
        super()._check_parameters(n_samples)
        if not isinstance(self.estimator, RepeatedWeighter):
            raise TypeError(
                f"estimator={self.estimator!r} has no kernel width to choose; use IRelief(), LOGO() or"
                " IM4E()."
            )
        if self.alphas is not None and not self._penalized:
            raise ValueError(
                f"alphas={self.alphas!r} needs a LOGO: {type(self.estimator).__name__} has no penalty to"
                " choose. Use alphas=None."
            )
        checked_grid("sigmas", self.sigmas)
        checked_grid("alphas", self.alphas, at_most=1.0)
        checked_scorer(self.scoring)

    def _reset(self) -> None:
        super()._reset()
        for name in ("sigmas_", "alphas_", "scores_", "best_index_", "alpha_share_"):
            self.__dict__.pop(name, None)

    # Fit

    @with_callbacks
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        batches: ArrayLike | None = None,
    ) -> Self:
        """Choose σ, and for LOGO λ, by cross-validation, and fit all samples with it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples. NaN is allowed: a difference to a missing value is replaced by its expectation; 5-NN
            replaces it by the mean of the training samples.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights, in the fits and in the score: weight s means s duplicates, all in one fold.
        groups : array-like of shape (n_samples,), default=None
            Samples of the same group (such as those of one patient) are in one fold.
        batches : array-like of shape (n_samples,), default=None
            Batch of each sample, for the fits; see ``batch_neighbors`` of ``estimator``. Folds and 5-NN
            ignore batches.

        Returns
        -------
        self : object
            The fitted search.
        """
        checked = self._check_fit(X, y, sample_weight, groups=groups, batches=batches)
        self._check_classes(checked.y)
        self._n_samples = checked.included.size
        model, inputs = self._model(), checked.metadata_for("estimator")
        data = model._check_fit(checked.X, checked.y, inputs.get("sample_weight"), inputs.get("batches"))
        # Results per sample have an entry for each sample of X, also for those of weight 0.
        data = replace(data, included=checked.included)
        initial = model._first_weights()
        folds = [
            fold
            for fold in usable_folds(
                self.cv, data.X, data.codes, data.included, self._fold_groups(checked, groups)
            )
            if has_misses(data, fold[0])
        ]
        with watched(self, total=len(folds) + 1) as progress:
            self._set_grid(data)
            scores = []
            for training, test in folds:
                scores.append(self._fold_scores(data, training, test, initial))
                if progress.advance():
                    break
            self._warn_of_folds(len(folds), "to choose by", "the middle of what was to be tried is taken")
            self._warn_of_stop(len(scores), len(folds), "folds")
            self._choose(np.stack(scores, axis=-1) if scores else np.empty((*self._shape, 0)))
            _Search(model, data, model._choose_engine(data)).run(*self._chosen, initial)
        self.estimator_, self.sigma_ = model, model.sigma_
        return self._set_weights(weights_of(model, self.n_features_in_))

    def _model(self) -> RepeatedWeighter:
        """Return a clone whose width, and penalty, the search sets."""
        model = self._clone_for_all().set_params(sigma="auto", verbose=0)
        if model.perplexity is None:
            model.set_params(perplexity=LEARNED_PERPLEXITY)
        return model.set_params(alpha="auto") if self._penalized else model

    # The grid

    def _set_grid(self, data: TrainingData) -> None:
        """Store the values to try, from large to small."""
        sigmas, alphas = checked_grid("sigmas", self.sigmas), checked_grid("alphas", self.alphas)
        self.sigmas_ = self._automatic_width(data) * FACTORS if sigmas is None else sigmas
        if self._penalized:
            self.alphas_ = SHARES.copy() if alphas is None else alphas

    def _automatic_width(self, data: TrainingData) -> float:
        """Return the width that ``sigma="auto"`` yields with all samples, at weights of norm 1."""
        defaults = type(self.estimator)().get_params()
        schedule = {name: defaults[name] for name in ("averaging", "max_iter", "tol", "init")}
        model = self._model().set_params(**schedule)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the final fit warns of what matters
            model.fit(**data.fit_arguments())
        norm = euclidean_norm(model.feature_weights_)
        width = model.sigma_ / norm if norm > 0.0 else np.nan
        return width if 0.0 < width < np.inf else 1.0

    @property
    def _shares(self) -> list[float | None]:
        """Shares to try; one None where there is no penalty."""
        return self.alphas_.tolist() if self._penalized else [None]

    @property
    def _shape(self) -> tuple[int, int]:
        return self.sigmas_.size, len(self._shares)

    # Scores

    def _fold_scores(
        self,
        data: TrainingData,
        training: NDArray[np.int64],
        test: NDArray[np.int64],
        initial: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return the scores of all values in one fold, (n_sigmas, n_alphas or 1)."""
        scorer = checked_scorer(self.scoring)
        X, y = data.observed[test], data.y[test]
        sample_weight = None if data.sample_weight is None else data.sample_weight[test]
        scores = np.empty(self._shape)
        model = self._model()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the final fit warns of what matters
            part = model._check_fit(**data.fit_arguments(training))
            search = _Search(model, part, model._choose_engine(part))
            for place in self._path(search, initial):
                scores[place] = scorer(search.classifier(), X, y, sample_weight)
        return scores

    def _path(self, search: _Search, initial: NDArray[np.float64]) -> Iterator[tuple[int, int]]:
        """Fit all values, from the middle width and the largest penalty on; yield their indices."""
        ends: dict[tuple[int, int], NDArray[np.float64]] = {}
        for row, previous in outwards(self.sigmas_.size):
            for column, share in enumerate(self._shares):
                start = ends.get((previous, column), ends.get((row, column - 1)))
                if start is None or self.warm_steps == 0:
                    w, search.model.max_iter = initial, self.estimator.max_iter
                else:
                    w, search.model.max_iter = start, self._warm_iterations(search.model)
                weights = search.run(float(self.sigmas_[row]), share, w)
                ends[row, column] = weights if weights.any() else w
                yield row, column

    def _warm_iterations(self, model: RepeatedWeighter) -> int | None:
        """Return the limit of fits that start at the weights of another value."""
        if self.warm_steps is not None:
            return int(self.warm_steps)
        max_iter = self.estimator.max_iter
        return -(-(max_iter or AVERAGED_STEPS) // 2) if model._averages else max_iter

    # The choice

    def _choose(self, scores: NDArray[np.float64]) -> None:
        """Store the scores, (n_sigmas, n_alphas or 1, n_folds), and what they choose."""
        n_sigmas, n_alphas, n_folds = scores.shape
        if n_folds:
            accepted = self._accepted(scores)
            column = int(np.argmax(accepted.any(axis=0)))
            row = nearest_to_middle(accepted[:, column])
        else:
            row, column = n_sigmas // 2, n_alphas // 2
        if self._penalized:
            self.scores_, self.best_index_ = scores, (row, column)
            self.alpha_share_ = float(self.alphas_[column])
        else:
            self.scores_, self.best_index_ = scores[:, 0], row

    def _accepted(self, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which values have a mean score that the rule accepts, (n_sigmas, n_alphas or 1)."""
        rule = self.rule or ("best" if self._penalized else "one-se")
        means = scores.mean(axis=-1)
        means = np.where(np.isnan(means), -np.inf, means)
        of_best = scores[np.unravel_index(int(np.argmax(means)), means.shape)]
        return means >= lowest_accepted(means.max(), of_best, rule) - SAME_SCORE

    @property
    def _chosen(self) -> tuple[float, float | None]:
        """The chosen width, and share."""
        row = np.atleast_1d(self.best_index_)[0]
        return float(self.sigmas_[row]), self.alpha_share_ if self._penalized else None

    # The classifier, if ``estimator`` is one

    @available_if(wrapped_has("predict"))
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict classes with ``estimator_``, if it is a classifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        classes : array of shape (n_samples,)
            One of ``classes_`` for every sample.
        """
        return np.asarray(self._delegate("predict", X))

    @available_if(wrapped_has("predict_proba"))
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Scores between 0 and 1 of the classes, by ``estimator_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        scores : array of shape (n_samples, n_classes)
            Rows sum to 1.
        """
        return np.asarray(self._delegate("predict_proba", X))

    @available_if(wrapped_has("decision_function"))
    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Decision values of the classes, by ``estimator_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        decision : array of shape (n_samples, n_classes), or (n_samples,) for two classes
            As ``estimator_`` defines them.
        """
        return np.asarray(self._delegate("decision_function", X))

    @available_if(wrapped_has("score"))
    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy of ``estimator_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        score : float
            Accuracy.
        """
        return float(self._delegate("score", X, y, sample_weight))

    def _delegate(self, method: str, X: Any, *arguments: Any) -> Any:
        """Call a method of ``estimator_``, which was fitted without the names of the features."""
        check_is_fitted(self)
        if is_dask_backed(X):
            check_columns(self, X)
            X = X.to_dask_array() if hasattr(X, "to_dask_array") else X
        else:
            X = validate_data(self, X, dtype=FLOAT_TYPES, ensure_all_finite="allow-nan", reset=False)
        return getattr(self.estimator_, method)(X, *arguments)


class _Search(NamedTuple):
    """A model, and the samples to which it is fitted with one value after another."""

    model: Any
    data: TrainingData
    engine: Engine

    def run(self, sigma: float, share: float | None, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Fit the model from weights w on, and return its weights."""
        point = GridPoint(lambda w: sigma * (euclidean_norm(w) or 1.0), share)
        self.model._learn(self.data, self.engine, w, point)
        return np.asarray(self.model.feature_weights_)

    def classifier(self) -> Any:
        """Return what is scored: the model, if it is a classifier, or k-NN under its weights."""
        model, data = self.model, self.data
        if is_classifier(model):
            return model
        return LearnedMetricKNN(
            data.observed,
            data.codes,
            model.classes_,
            data.sample_weight,
            model._scaling,
            model.feature_weights_,
        )


def outwards(n_values: int) -> Iterator[tuple[int, int]]:
    """Yield indices from the middle to either end, and the index before each; −1 before the middle."""
    middle = n_values // 2
    yield middle, -1
    yield from ((place, place + 1) for place in range(middle - 1, -1, -1))
    yield from ((place, place - 1) for place in range(middle + 1, n_values))


def nearest_to_middle(accepted: NDArray[np.bool_]) -> int:
    """Return the index of the accepted value nearest to the middle; of two as near, the first."""
    places = np.flatnonzero(accepted)
    return int(places[np.argmin(np.abs(places - accepted.size // 2))])


def checked_grid(name: str, values: Any, at_most: float | None = None) -> NDArray[np.float64] | None:
    """Return numbers > 0, each once and from large to small; None for None."""
    if values is None:
        return None
    try:
        grid = np.asarray(values)
    except ValueError:
        grid = np.empty(0)
    valid = grid.ndim == 1 and grid.size > 0 and grid.dtype.kind in "iuf"
    if valid:
        grid = np.unique(grid.astype(np.float64))[::-1].copy()
        valid = bool(np.all(np.isfinite(grid) & (grid > 0.0) & (grid <= (at_most or np.inf))))
    if not valid:
        limit = "" if at_most is None else f" and <= {at_most:g}"
        raise ValueError(f"{name}={values!r} must be None, or a list of numbers > 0{limit}.")
    return grid


# The score

#: From a classifier, samples, their classes and their weights to a score.
Scorer = Callable[[Any, NDArray[Any], NDArray[Any], NDArray[np.float64] | None], float]


def checked_scorer(scoring: Any) -> Scorer:
    """Return the scorer of ``scoring``: None for accuracy, a name of scikit-learn's, or a callable."""
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
        classifier: Any, X: NDArray[Any], y: NDArray[Any], sample_weight: NDArray[np.float64] | None
    ) -> float:
        more = {"sample_weight": sample_weight} if weighs and sample_weight is not None else {}
        return float(scorer(classifier, X, y, **more))

    return score
