"""TuRF: weigh, drop the worst features, weigh again without them."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._engine.parameters import check_count, check_number
from ..base.meta import CategoricalSingleFitWeighter, ranked_by, weights_of
from ..base.progress import watched, with_callbacks
from ..base.selector import best_first, categories_parameter, n_positive, n_selected_features
from ..base.training_data import Samples, TrainingData

#: Weights that differ by less, relatively, differ by rounding.
_TIED = 1e-9
#: Weights of this size, relative to the largest, are 0 but for rounding.
_ROUNDING = 1e-13


class IterativeElimination(CategoricalSingleFitWeighter):
    r"""TuRF: drop the features of lowest weight, recompute the weights of the others, and repeat.

    Many irrelevant features make distances random. Without the worst of them distances depend on the others,
    whose weights become clearer (Moore and White 2007).

    In round t the wrapped estimator is fitted to the remaining features, :math:`F_t`, and of those the
    :math:`\max(1, \lfloor \mathtt{step} \cdot |F_t| \rfloor)` of lowest weight are dropped, constant ones
    first. Features of equal weight are dropped together, unless too few would remain: then those in the lower
    columns remain. The last round computes the weights of those that remain. A feature is ranked before all
    that were dropped in earlier rounds, and within its round as by the wrapped weighter.

    Parameters
    ----------
    estimator : estimator
        Any weighter, or any estimator of scikit-learn with ``feature_importances_`` or ``coef_``. Its
        ``categorical_features``, if it has any, name features of the whole data, in any form; in every round
        its parameter is set to those that remain.
    step : float or int, default=0.2
        Fraction of the remaining features, in (0, 1), that is dropped in a round, at least one feature; or
        their number.
    n_features_to_select : int, float or None, default=None
        Number of features that remain, or their fraction, in (0, 1]. None: features of positive weight are
        not dropped, and rounds end when all that remain have positive weights, or one remains.
    weighted : bool, "manhattan" or "euclidean", default=False
        Whether ``transform`` scales the selected columns and multiplies them by max(weight, 0), or its square
        root for "euclidean"; True is the metric of the wrapped weighter.
    n_jobs : int or None, default=None
        Threads of the wrapped weighter, unless it has its own ``n_jobs``.
    verbose : int, default=0
        1 shows the progress of long fits.

    Attributes
    ----------
    estimator_ : estimator
        The clone of the last round, fitted to the features that remained.
    eliminated_in_ : array of shape (n_features,)
        Round in which each feature was dropped, from 1 on; 0 for those that remained.
    n_iter_ : int
        Number of rounds.
    feature_weights_ : array of shape (n_features,)
        Weights in the last round. For a dropped feature the weight in its round, limited to the lowest weight
        of the features that were dropped later or remained. 0 for a constant feature.
    feature_importances_ : array of shape (n_features,)
        max(weight, 0).
    ranking_ : array of shape (n_features,)
        1 = best, by the order of dropping; features of equal weight in one round have the lowest of their
        ranks.
    classes_ : array of shape (n_classes,)
        The classes, if y holds class labels.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Moore, J. and White, B. (2007). Tuning ReliefF for genome-wide genetic analysis. EvoBIO, LNCS 4447.

    Examples
    --------
    >>> from highrelief import IterativeElimination, MultiSURF
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=100, random_state=0)
    >>> turf = IterativeElimination(MultiSURF(), n_features_to_select=2).fit(X, y)
    >>> turf.get_support(indices=True)
    array([0, 1])
    """

    _refuses_dask = None

    def __init__(
        self,
        estimator: Any,
        *,
        step: float | int = 0.2,
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
        self.step = step

    def _check_parameters(self, n_samples: int) -> None:
        super()._check_parameters(n_samples)
        if isinstance(self.step, Integral) and not isinstance(self.step, (bool, np.bool_)):
            check_count("step", self.step)
        else:
            check_number("step", self.step, above=0.0, below=1.0)

    def _validate_samples(self, X: Any, y: Any, *, reset: bool, min_samples: int = 2) -> Samples:
        parameter = categories_parameter(self.estimator)
        if self._weighter is None and parameter:
            _refuse_indices(self.estimator, self.estimator.get_params()[parameter])
        return super()._validate_samples(X, y, reset=reset, min_samples=min_samples)

    @with_callbacks
    def fit(
        self,
        X: ArrayLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        batches: ArrayLike | None = None,
    ) -> Self:
        """Weight and drop features until few enough remain.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,), default=None
            Their classes, or another target of the wrapped estimator.
        sample_weight : array-like of shape (n_samples,), default=None
            Passed to every fit of the wrapped estimator.
        groups : array-like of shape (n_samples,), default=None
            The same, if it takes them.
        batches : array-like of shape (n_samples,), default=None
            The same, if it takes them.

        Returns
        -------
        self : object
            The fitted meta-estimator.
        """
        data = self._check_fit(X, y, sample_weight, groups=groups, batches=batches)
        remaining = np.arange(self.n_features_in_)
        self.eliminated_in_ = np.zeros(remaining.size, dtype=np.int64)
        weights, levels = np.empty(remaining.size), np.empty(remaining.size)
        # Constant features have the weight 0 in weighters of this package.
        known = data.known_ranges
        constant = np.zeros(remaining.size, dtype=bool) if known is None else known.low == known.high
        self.n_iter_ = 0
        with watched(self, total=self._most_rounds(remaining.size)) as progress:
            while True:
                self.estimator_ = self._fitted_to(data, remaining)
                self.n_iter_ += 1
                weights[remaining] = _without_rounding(weights_of(self.estimator_, remaining.size))
                levels[remaining] = np.where(
                    constant[remaining], -1.0, _levels(self.estimator_, weights[remaining])
                )
                leaving = self._leaving(weights[remaining], levels[remaining])
                stopped = progress.advance()
                if leaving.size == 0 or stopped:
                    break
                self.eliminated_in_[remaining[leaving]] = self.n_iter_
                remaining = np.delete(remaining, leaving)
        # Features that remain come after those of the last round.
        rounds = np.where(
            self.eliminated_in_ > 0, self.eliminated_in_, self.eliminated_in_.max(initial=0) + 1
        )
        order = np.lexsort((levels, rounds))
        self._ranked = _ranked(order, levels, self.eliminated_in_)
        # No weight exceeds that of a feature that was dropped later, or remained.
        weights[order] = np.minimum.accumulate(weights[order][::-1])[::-1]
        return self._set_weights(np.where(constant, 0.0, weights))

    def _fitted_to(self, data: TrainingData, features: NDArray[np.int64]) -> Any:
        """Return the wrapped estimator, fitted to some of the features."""
        member = self._clone_for_features(features)
        metadata = data.metadata_for("estimator")
        whole = features.size == self.n_features_in_
        X = data.X if whole else data.X[:, features]
        return member.fit(X, **metadata) if data.y is None else member.fit(X, data.y, **metadata)

    def _leaving(self, weights: NDArray[np.float64], levels: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the indices, among the remaining features, of those to drop after a round."""
        n_left = weights.size
        if self.n_features_to_select is None:
            n_stay = n_positive(weights)
        else:
            n_stay = n_selected_features(self.n_features_to_select, self.n_features_in_)
        if n_left <= n_stay:
            return np.empty(0, dtype=np.int64)
        order = best_first(levels)
        highest = levels[order[max(n_left - self._n_dropped(n_left), 0)]]
        n_leaving = min(int(np.count_nonzero(levels <= highest)), n_left - n_stay)
        return order[n_left - n_leaving :]

    def _n_dropped(self, n_left: int) -> int:
        if isinstance(self.step, Integral):
            return int(self.step)
        return max(1, int(self.step * n_left + 1e-9))

    def _most_rounds(self, n_left: int) -> int:
        wanted = 1
        if self.n_features_to_select is not None:
            wanted = n_selected_features(self.n_features_to_select, n_left)
        n_rounds = 1
        while n_left > wanted:
            n_left -= self._n_dropped(n_left)
            n_rounds += 1
        return n_rounds

    @property
    def _ranked_by(self) -> NDArray[np.float64]:
        return self._ranked

    def _columns_of_fit(self, X: Any) -> Any:
        return X[:, self.eliminated_in_ == 0]


def _refuse_indices(estimator: Any, chosen: Any) -> None:
    """Raise ValueError if an estimator of another package has indices of categories, which change."""
    if chosen is not None and not isinstance(chosen, str):
        raise ValueError(
            f"{type(estimator).__name__} cannot receive which features are categorical once others have left:"
            " IterativeElimination cuts categorical_features of weighters of highrelief only. Put the"
            " pipeline around it."
        )


def _without_rounding(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights with 0 for those that are 0 up to rounding, which must not decide the order."""
    size = np.abs(weights)
    return np.where(size <= _ROUNDING * size.max(), 0.0, weights)


def _levels(fitted: Any, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return integers from 0 on that rank features as a fitted estimator does, with ties up to rounding."""
    values = ranked_by(fitted, weights)
    order = np.argsort(values, kind="stable")
    rising = values[order]
    levels = np.zeros(values.size)
    levels[order[1:]] = np.cumsum(~np.isclose(rising[1:], rising[:-1], rtol=_TIED, atol=0.0))
    return levels


def _ranked(
    order: NDArray[np.int64], levels: NDArray[np.float64], eliminated_in: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return a number for every feature, larger for those dropped later; equal for ties in a round."""
    same = (np.diff(levels[order]) == 0.0) & (np.diff(eliminated_in[order]) == 0)
    numbers = np.empty(levels.size)
    numbers[order] = np.cumsum(np.concatenate([[0.0], ~same]))
    return numbers
