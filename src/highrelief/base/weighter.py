"""What every feature weighter does before and after its method: input, scaling, iterations, margins."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._engine.batches import BatchConstraint
from .._engine.engine import Engine
from .._solvers.fixed_point import FixedPoint, unit_positive_part
from .selector import WeighterTags, WeightSelector
from .validation import ClassTableMixin, Table, check_scaled_spans, check_spans, known_codes, plain, warn_user


class FeatureWeighter(ClassTableMixin, WeightSelector):
    """Base of all weighters: checks and scales the input, gives every feature a weight.

    A subclass implements ``fit``: it asks :meth:`_check_fit` for the checked table (or
    :meth:`_rows` for the rows, scaled), computes one weight per feature and ends with
    :meth:`_set_weights`.

    Parameters
    ----------
    n_features_to_select : int, float or None
        None keeps every feature with weight > 0, at least one; an int that many; a float in (0, 1] that
        share.
    weighted : bool, "manhattan" or "euclidean"
        What ``transform`` returns: False the kept columns as they are; "manhattan" the kept columns scaled
        as in ``fit`` times max(weight, 0), "euclidean" times its square root; True the metric of the method.
    scale : "range", "standard" or None
        How features are made comparable before distances are taken.
    n_jobs : int or None
        Threads. The result is the same, bit for bit, for any number.
    verbose : int
        1 shows progress on long work.
    """

    # A class of one sample says nothing.
    _needs_hits = True
    # Features that are not scaled may span so much, in float64 and in float32, or the inverse of it: squares
    # of squares, and their sums, are numbers.
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
        WeightSelector._check_parameters(self, n_samples)

    def _judge(self, table: Table) -> None:
        once = table.sample_weight is None or table.sample_weight.max() <= 1.0
        if self._needs_hits and np.bincount(table.codes).max() < 2 and once:
            warn_user(
                f"No class in y has two samples: without hits {type(self).__name__} gives every feature the"
                " weight 0.",
                UserWarning,
            )
        elif table.batch_constraint is not None:
            self._check_batches(table, table.batch_constraint)
        if self._constant.all():
            where = "" if table.batch_constraint is None else " in each batch"
            raise ValueError(
                f"All {self.n_features_in_} features of X are constant{where}: there is nothing to weigh."
            )
        if self.scale is None:
            widest = self._widest[table.X.dtype == np.float32]
            check_spans(table.ranges, widest, 1.0 / widest)

    def _check_batches(self, table: Table, batch_constraint: BatchConstraint) -> None:
        """Raise or warn if no sample has neighbors to be compared with."""
        misses = batch_constraint.has_misses(table.codes)
        if not misses.any():
            reason = (
                "no batch has two classes, so that nothing tells a feature of the class from one of the batch"
                if batch_constraint.within
                else "all samples are of one batch"
            )
            raise ValueError(
                f"batch_neighbors={self.batch_neighbors!r} leaves {type(self).__name__} without misses:"
                f" {reason}."
            )
        if not (misses & batch_constraint.has_hits(table.codes, table.sample_weight)).any():
            warn_user(
                f"batch_neighbors={self.batch_neighbors!r} leaves no sample with a hit and a miss:"
                f" {type(self).__name__} gives every feature the weight 0.",
                UserWarning,
            )

    def _set_weights(self, weights: NDArray[np.float64]) -> Self:
        """Store the weights, and what follows from them. A constant feature weighs 0."""
        self.feature_weights_ = np.where(self._constant, 0.0, weights)
        return self

    def _set_iterations(self, end: FixedPoint, *, complete: bool, advice: str) -> None:
        """Store how an iteration ended, and warn if not as it should.

        ``complete``: the iteration was to run for as many steps as it did, converged or not.
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

    def _margin_table(self, X: ArrayLike, y: ArrayLike, batches: ArrayLike | None = None) -> Table:
        """Judge new samples whose margins are asked for."""
        check_is_fitted(self)
        X, y, ranges, missing_mask, *encoded = self._checked(X, y, reset=False, min_samples=2)
        codes = known_codes(self.classes_, y)
        if np.all(codes == codes[0]):
            raise ValueError(f"y has only one class ({plain(y[0])!r}): without misses there is no margin.")
        kept = np.ones(codes.size, dtype=bool)
        batch_constraint = self._batch_constraint(batches, kept, X)
        table = Table(
            X, codes, None, kept, ranges, missing_mask, self._class_weights, batch_constraint, *encoded
        )
        if batch_constraint is None:
            scaling = self._scaling if table.encoding is None else table.encoding.of_columns(self._scaling)
            check_scaled_spans(ranges, scaling, self._widest[scaling.offset.dtype == np.float32])
        return table

    def _margin_rows(
        self, X: ArrayLike, y: ArrayLike, batches: ArrayLike | None = None
    ) -> tuple[Engine, NDArray[np.float64]]:
        """Rows of new samples, scaled as in ``fit``, and the weights as a metric of unit norm."""
        rows = self._rows(self._margin_table(X, y, batches))
        w = unit_positive_part(self.feature_weights_)
        return rows, np.zeros(self.n_features_in_) if w is None else w


# Which samples look as if their label were wrong, by I-RELIEF's probability and by their margins.


#: I-RELIEF's probability above which a label is suspected: more likely wrong than right.
LIKELY = 0.5


def suspects(
    probability: NDArray[np.float64], margins: NDArray[np.float64], codes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Places of the samples that may be mislabeled, the likeliest first.

    Their probability is above 0.5, also if all classes counted as equally large, and their margin is below 0:
    the probability alone suspects most of a small class, or of any where classes are many, since most
    neighbors of any sample are of others. What is not known, nan, is not suspected.
    """
    with np.errstate(invalid="ignore"):
        likely = (probability > LIKELY) & (at_equal_sizes(probability, codes) > LIKELY)
        places = np.flatnonzero(likely & (margins < 0.0))
    return places[np.argsort(-probability[places], kind="stable")]


def at_equal_sizes(probability: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """I-RELIEF's probability as if a sample had as many hits as misses.

    In a wide neighborhood the share of other classes is their share of all samples: all samples of a small
    class would be suspects.
    """
    hits = np.bincount(codes)[codes] - 1.0
    misses = len(codes) - hits - 1.0
    of_misses, of_hits = probability * hits, (1.0 - probability) * misses
    total = of_misses + of_hits
    return np.divide(of_misses, total, out=np.zeros_like(total), where=total > 0.0)
