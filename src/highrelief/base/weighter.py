"""The base class of feature weighters: validation, scaling, convergence warnings, margins."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._engine.batches import BatchConstraint
from .._engine.engine import Engine
from .._solvers.fixed_point import FixedPoint, unit_positive_part
from .selector import WeighterTags, WeightSelector
from .training_data import TrainingData
from .validation import ValidationMixin, check_scaled_spans, check_spans, known_codes, plain, warn_user


class FeatureWeighter(ValidationMixin, WeightSelector):
    """Base of the estimators that compute one weight per feature.

    A subclass defines

    - ``fit(self, X, y, sample_weight=None, batches=None)``, decorated with ``with_callbacks``; the last two
      arguments only if the method supports them. It calls ``data = self._check_fit(X, y, …)``, computes one
      weight per feature, with neighbors from ``self._choose_engine(data)`` if it needs them, and ends with
      ``return self._set_weights(weights)``.
    - ``__init__`` with keyword-only parameters, stored as is, if it has parameters of its own; valid values
      are declared in ``_constraints``. :meth:`_check_parameters` is for rules between several parameters.
    - class attributes that differ from the defaults: what input is supported (``_allows_missing``,
      ``_takes_sparse``, ``_refuses_dask``, ``_types``), and properties of the method (``_needs_hits``,
      ``_widest``, ``_own_metric``, ``_order_dependent``).
    - ``margins(self, X, y)``, if the method has margins, from ``self._margin_engine(X, y)``.

    Parameters
    ----------
    n_features_to_select : int, float or None
        None selects every feature of positive weight, at least one; an int is the number of features, a float
        in (0, 1] a fraction of them.
    weighted : bool, "manhattan" or "euclidean"
        Output of ``transform``: with False the selected columns as is; with "manhattan" the selected columns,
        scaled as in ``fit``, times max(weight, 0), with "euclidean" times its square root; True is the metric
        of the method.
    scale : "range", "standard" or None
        Scaling of the features before distances are computed.
    n_jobs : int or None
        Number of threads. Results are bitwise identical for any value.
    verbose : int
        1 shows the progress of long fits.
    """

    # Whether a class of one sample contributes nothing.
    _needs_hits = True
    # Largest range of unscaled features for float64 and for float32; its inverse is the smallest. Sums of
    # fourth powers are finite.
    _widest: tuple[float, float] = (1e70, 1e15)

    def __init__(
        self,
        *,
        n_features_to_select: int | float | None = None,
        weighted: bool | str = False,
        scale: str | None = "range",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.weighted = weighted
        self.scale = scale
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> WeighterTags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._allows_missing
        return tags

    # Fit

    def _check_parameters(self, n_samples: int) -> None:
        super()._check_parameters(n_samples)
        self._check_n_features_to_select()

    def _largest_range(self, dtype: np.dtype[Any]) -> float:
        """Return the largest range of unscaled features."""
        return self._widest[dtype == np.float32]

    def _check_data(self, data: TrainingData) -> None:
        unweighted = data.sample_weight is None or data.sample_weight.max() <= 1.0
        counts = np.bincount(data.codes)
        if self._needs_hits and unweighted and 1 in counts and counts.max() > 1:
            single = [repr(plain(each)) for each in self.classes_[counts == 1]]
            listed = f"{', '.join(single[:3])}{', …' if len(single) > 3 else ''}"
            warn_user(
                f"y has {len(single)} of {counts.size} classes with one sample ({listed}): without a hit,"
                f" {type(self).__name__} uses it only as a miss of other samples.",
                UserWarning,
            )
        if self._needs_hits and counts.max() < 2 and unweighted:
            warn_user(
                f"No class in y has two samples: without hits {type(self).__name__} gives every feature the"
                " weight 0.",
                UserWarning,
            )
        elif data.batch_constraint is not None:
            self._check_batches(data, data.batch_constraint)
        if self._constant.all():
            where = "" if data.batch_constraint is None else " in each batch"
            raise ValueError(
                f"All {self.n_features_in_} features of X are constant{where}: there is nothing to weigh."
            )
        if self.scale is None:
            widest = self._largest_range(data.X.dtype)
            check_spans(data.ranges, widest, 1.0 / widest)

    def _check_batches(self, data: TrainingData, batch_constraint: BatchConstraint) -> None:
        """Raise or warn if the batch constraint leaves no sample with a hit and a miss."""
        misses = batch_constraint.has_misses(data.codes)
        if not misses.any():
            reason = (
                "no batch has two classes; label and batch are confounded"
                if batch_constraint.within
                else "all samples are of one batch"
            )
            raise ValueError(
                f"batch_neighbors={self.batch_neighbors!r} leaves {type(self).__name__} without misses:"
                f" {reason}."
            )
        if not (misses & batch_constraint.has_hits(data.codes, data.sample_weight)).any():
            warn_user(
                f"batch_neighbors={self.batch_neighbors!r} leaves no sample with a hit and a miss:"
                f" {type(self).__name__} gives every feature the weight 0.",
                UserWarning,
            )

    def _set_weights(self, weights: NDArray[np.float64]) -> Self:
        """Set ``feature_weights_``; the weight of a constant feature is 0."""
        self.feature_weights_ = np.where(self._constant, 0.0, weights)
        return self

    def _set_iterations(self, end: FixedPoint, *, complete: bool, advice: str) -> None:
        """Set the attributes of an iteration, and warn if it did not converge.

        ``complete``: all steps of a schedule of fixed length were run, converged or not.
        """
        self.n_iter_ = max(end.n_iter, 1)
        self.history_ = np.array(end.changes)
        self.cycle_length_ = end.cycle_length
        self.converged_ = not end.undefined and (end.converged or complete)
        name = type(self).__name__
        if end.undefined:
            kept = "all weights are 0" if end.n_iter == 0 else "the weights before it are kept"
            reason = (
                f"{name} stopped in iteration {end.n_iter + 1}: no feature has a positive mean margin"
                f" there, so that no weights follow from it; {kept}. {advice}"
            )
        elif end.cycle_length:
            reason = (
                f"{name} did not converge: it runs in a cycle of length {end.cycle_length} (change"
                f" {end.changes[-1]:.2g} per iteration), and the weights are one of its points. {advice}"
            )
        elif end.interrupted:
            reason = f"{name} was stopped by a callback after {end.n_iter} iterations."
        else:
            reason = (
                f"{name} did not converge in max_iter={end.n_iter} iterations; the last changed the"
                f" weights by {end.changes[-1]:.2g}. {advice}"
            )
        if not self.converged_:
            warn_user(reason.rstrip(), ConvergenceWarning)

    def _check_new_samples(
        self, X: ArrayLike, y: ArrayLike, batches: ArrayLike | None = None
    ) -> TrainingData:
        """Validate new samples of which margins are computed."""
        check_is_fitted(self)
        samples = self._validate_samples(X, y, reset=False)
        codes = known_codes(self.classes_, samples.y)
        if np.all(codes == codes[0]):
            raise ValueError(
                f"y has only one class ({plain(samples.y[0])!r}): without misses there is no margin."
            )
        included = np.ones(codes.size, dtype=bool)
        data = TrainingData(
            **vars(samples),
            codes=codes,
            included=included,
            class_weights=self._class_weights,
            batch_constraint=self._batch_constraint(batches, included, samples.X),
        )
        if data.batch_constraint is None:
            encoding, scaling = data.encoding, self._scaling
            columns = scaling if encoding is None else encoding.of_columns(scaling)
            check_scaled_spans(data.ranges, columns, self._largest_range(columns.offset.dtype))
        return data

    def _margin_engine(
        self, X: ArrayLike, y: ArrayLike, batches: ArrayLike | None = None
    ) -> tuple[Engine, NDArray[np.float64]]:
        """Return the engine for new samples, scaled as in ``fit``, and the weights at unit norm."""
        engine = self._choose_engine(self._check_new_samples(X, y, batches))
        w = unit_positive_part(self.feature_weights_)
        return engine, np.zeros(self.n_features_in_) if w is None else w


# Samples that may be mislabeled


#: Outlier probability of I-RELIEF above which a label is suspected: it is more likely wrong than right.
LIKELY = 0.5


def suspects(
    probability: NDArray[np.float64], margins: NDArray[np.float64], codes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the indices of the samples that may be mislabeled, the most probable first.

    Their outlier probability is above 0.5, also after correction for class sizes, and their margin is
    negative. Without the correction most samples of a small class would be suspected, as most neighbors of
    any sample belong to other classes. A sample with NaN is not suspected.
    """
    with np.errstate(invalid="ignore"):
        likely = (probability > LIKELY) & (at_equal_sizes(probability, codes) > LIKELY)
        indices = np.flatnonzero(likely & (margins < 0.0))
    return indices[np.argsort(-probability[indices], kind="stable")]


def at_equal_sizes(probability: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return outlier probabilities corrected as if every sample had as many hits as misses."""
    hits = np.bincount(codes)[codes] - 1.0
    misses = len(codes) - hits - 1.0
    of_misses, of_hits = probability * hits, (1.0 - probability) * misses
    total = of_misses + of_hits
    return np.divide(of_misses, total, out=np.zeros_like(total), where=total > 0.0)
