"""G-flip: a set of features that grows and shrinks by one at a time while the margins grow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from .._engine.memory import check_room
from .._engine.parameters import constraints, count, one_of, random_generator
from .._engine.threads import n_pieces, run_all
from .._kernels import gflip
from .._kernels.packing import PADDING, class_layout
from ..base.euclidean import EuclideanWeighter
from ..base.progress import Progress, watched, with_callbacks
from ..base.training_data import TrainingData
from ..base.validation import warn_user

# A set of features, and the score of its margins


#: Utilities and their codes in the kernel.
UTILITIES = {"linear": gflip.LINEAR, "sigmoid": gflip.SIGMOID, "zero-one": gflip.ZERO_ONE}
#: Largest number of bits of a sum of squared differences; two floats hold 106.
_BITS = 104
#: Relative changes of a score, and relative margins, below this are rounding error of X.
_TIED = 1e-12


class ClassedColumns:
    """Features as rows of one array, samples sorted by class, every class padded to whole blocks.

    Parameters
    ----------
    X : (n_samples, n_features) float64
        The samples, scaled.
    codes : (n_samples,) int64
        Their classes.
    sample_weight : (n_samples,) float64 or None
        Sample weights; None: all are 1.
    """

    def __init__(
        self, X: NDArray[np.float64], codes: NDArray[np.int64], sample_weight: NDArray[np.float64] | None
    ) -> None:
        position, sorted_codes = class_layout(codes, int(codes.max()) + 1)
        borders = np.concatenate([[0], np.cumsum(np.bincount(sorted_codes))])
        self.n_samples = len(X)
        self.real = position != PADDING
        # Padding rows repeat the first sample, and are ignored.
        order = np.where(self.real, position, 0)
        self.values, self.least_steps = _whole_steps(np.ascontiguousarray(X[order].T))
        self.starts, self.ends = borders[sorted_codes], borders[sorted_codes + 1]
        self.sample_weight = np.where(self.real, 1.0 if sample_weight is None else sample_weight[order], 0.0)

    @property
    def n_rows(self) -> int:
        """Number of samples, padding included."""
        return self.real.size

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.values)

    @property
    def in_parts(self) -> bool:
        """Whether sample weights are below 1: several samples may then form one neighbor."""
        return bool(self.sample_weight[self.real].min() < 1.0)

    @property
    def has_hits(self) -> bool:
        """Whether any sample has a hit, or a weight above 1."""
        return bool(np.bincount(self.starts, self.real).max() > 1.0 or self.sample_weight.max() > 1.0)

    @property
    def work_per_sweep(self) -> float:
        """Cost of a sweep, in pairs of samples of weight 1 or more."""
        return (0.5 if not self.in_parts else 5.0) * self.n_samples**2 * self.n_features

    def check_memory(self, n_sets: int) -> None:
        """Raise MemoryError if the distances of all pairs, for every set, do not fit into memory."""
        n = float(self.n_rows)
        needed = n_sets * 8.0 * n * n * (2.0 if self.in_parts else 1.0)
        check_room(
            needed,
            f"The distances of all pairs of {self.n_samples} samples, {n_sets} at a time,",
            "Use fewer samples or n_jobs=1.",
        )


def _whole_steps(columns: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Shift each column to 0, in place, and round it to multiples of a step.

    Return also the number of steps in the smallest range.

    The step is a power of 2, such that the sums of squared differences of all columns, in multiples of its
    square, have at most ``_BITS`` bits: with ranges of 1 it is 2⁻⁴⁷ for 500 columns, 2⁻⁴² for a million.
    """
    columns -= columns.min(axis=1)[:, np.newaxis]
    spans = columns.max(axis=1)
    size = int(np.ceil(np.log2(spans @ spans)))
    exponent = (_BITS - size) // 2
    np.ldexp(columns, exponent, out=columns)
    np.rint(columns, out=columns)
    return np.ldexp(columns, -exponent, out=columns), float(np.ldexp(spans.min(), exponent))


class FeatureSet:
    """A set of features, empty at first, and the distances of all pairs on them.

    Parameters
    ----------
    columns : ClassedColumns
        The scaled features.
    utility : str
        Function of the margins that is summed over the samples.
    beta : float
        β of the sigmoid.
    """

    def __init__(self, columns: ClassedColumns, utility: str, beta: float) -> None:
        n = columns.n_rows
        self._columns = columns
        self._utility = (UTILITIES[utility], beta, _TIED)
        self._high, self._low = (np.empty(gflip.n_stored_pairs(n)) for _ in range(2))
        gflip.initialize(columns.real, self._high, self._low)
        self._matrix = np.empty((n, n) if columns.in_parts else (0, 0))
        self._nearest = np.empty((2, n))
        self._score = np.zeros(1)
        self.members = np.zeros(columns.n_features, dtype=np.bool_)

    @classmethod
    def of_all(cls, columns: ClassedColumns) -> Self:
        """Return the set of all features, without a score."""
        features = cls(columns, "linear", np.nan)
        for column in columns.values:
            gflip.flip(column, True, features._high, features._low)
        return features

    def margins(self) -> NDArray[np.float64]:
        """Return ½(‖x − NM‖ − ‖x − NH‖) of every row; 0 without a hit or a miss."""
        columns = self._columns
        nothing = np.zeros(columns.n_rows)
        gflip.score_after_flip(
            nothing,
            True,
            self._high,
            self._low,
            columns.starts,
            columns.ends,
            columns.sample_weight,
            self._matrix,
            *self._utility,
            *self._nearest,
        )
        known = np.isfinite(self._nearest).all(axis=0)
        hits, misses = np.where(known, self._nearest, 0.0)
        return 0.5 * (misses - hits)

    @property
    def has_hits(self) -> bool:
        """Whether any sample has a margin."""
        return self._columns.has_hits

    @property
    def score(self) -> float:
        """Sum of the utilities of all margins; 0 without members."""
        return float(self._score[0])

    def sweep(self, order: NDArray[np.int64]) -> int:
        """Flip the features, in this order, that increase the score; return the number of flips."""
        columns = self._columns
        return gflip.sweep(
            columns.values,
            order,
            columns.starts,
            columns.ends,
            columns.sample_weight,
            self._matrix,
            *self._utility,
            self._high,
            self._low,
            self.members,
            self._score,
            self._nearest,
        )

    def losses(self, n_pieces: int = 1) -> NDArray[np.float64]:
        """Return the decrease of the score when a member is removed; 0 for the others.

        ``n_pieces``: number of kernel calls, between which an interrupt is handled.
        """
        columns = self._columns
        losses = np.zeros(columns.n_features)
        for piece in np.array_split(np.flatnonzero(self.members), n_pieces):
            gflip.score_losses(
                columns.values,
                piece,
                columns.starts,
                columns.ends,
                columns.sample_weight,
                self._matrix,
                *self._utility,
                self._high,
                self._low,
                self.members,
                self._score,
                self._nearest,
                losses,
            )
        return losses


#: A feature whose range has fewer steps of the rounding than this causes a warning.
_FEW_STEPS = 1e6


@dataclass
class _Run:
    """One run from the empty set."""

    features: FeatureSet
    generator: np.random.RandomState
    #: Number of flips of every sweep, and the score after it.
    flips: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    #: Whether the last sweep was complete and flipped no feature.
    settled: bool = False


class GFlip(EuclideanWeighter):
    r"""G-flip: a set of features that no single flip improves.

    .. math:: \max_F \sum_n u(\theta_F(x_n)), \\
              \theta_F(x) = \tfrac12 (\|x - \mathrm{NM}\|_F - \|x - \mathrm{NH}\|_F), \quad
              \|z\|_F = \sqrt{\textstyle\sum_{i \in F} z_i^2}

    NH is the nearest sample of the same class and NM the nearest of all others, on the features in F. It
    begins with the empty set, whose score is 0 for any utility. Each sweep tries every feature, in random
    order: it is flipped, into the set or out of it, if the score grows. It ends with a sweep without a flip.
    A sample without another of its class does not count in the score.

    To grow means by more than a relative 1e-12 of the distances that the score is made of: range scaling
    moves a score by as much as that. So neither the order of the samples nor the place of a sum's rounding
    decides. The order of the features does: other orders lead to other sets.

    Parameters
    ----------
    utility : {"linear", "zero-one", "sigmoid"}, default="linear"
        u(θ): θ; 1 if θ > 0 and 0 otherwise, which counts what a nearest-neighbor classifier gets right; or
        1/(1 + exp(−βθ)).
    beta : float or None, default=None
        β of the sigmoid; None is 1 over the mean size of the margins with all features.
    max_iter : int, default=100
        The most sweeps.
    n_restarts : int, default=1
        Number of runs, in other orders, of which the one with the largest score is kept; with
        ``shuffle=False`` there is one.
    shuffle : bool, default=True
        Whether features are tried in random order, a new one in each sweep, or by their index.
    n_features_to_select : int, float or None, default=None
        None keeps the members, at least one feature; an int that many, a float in (0, 1] that share, in the
        order of ``ranking_``.
    weighted : bool, "manhattan" or "euclidean", default=False
        Whether ``transform`` scales the selected columns, and multiplies those that are not in the set by 0;
        True is "euclidean", the metric of the method.
    scale : {"range", "standard", None}, default="range"
        Scaling of the features.
    n_jobs : int or None, default=None
        Threads, for the runs. The result is the same, bit for bit, for any number.
    verbose : int, default=0
        1 shows the progress of long fits.
    random_state : int, RandomState or None, default=None
        For the random orders.

    Attributes
    ----------
    feature_weights_ : array of shape (n_features,)
        1 for members, 0 for others.
    feature_importances_ : array of shape (n_features,)
        The same.
    ranking_ : array of shape (n_features,)
        Members by ``score_losses_``, 1 = the largest; equal ones share the lowest number, and so do all that
        are no members.
    score_ : float
        Sum of the utilities, weighted by ``sample_weight``.
    score_losses_ : array of shape (n_features,)
        What the score loses when the member alone is dropped; 0 for others.
    scores_ : array of shape (n_iter,)
        The score after every sweep.
    history_ : array of shape (n_iter,)
        Number of flips of every sweep.
    n_iter_ : int
        Sweeps made.
    converged_ : bool
        Whether the last of them flipped nothing.
    beta_ : float
        β of the sigmoid; NaN for other utilities.
    classes_ : array of shape (n_classes,)
        The classes.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes ----- Needs 8 bytes for each pair of samples (n² of them), 16 where samples count in parts, for
    every run at a time; raises a MemoryError where these are not free. Everything is computed in float64, of
    scaled values that are rounded to about 1e-14 of the widest range first: sums of squares over any set of
    features are then exact, and features can come and go without leaving a rounding behind. With
    ``scale=None`` a range below about 1e-9 of the widest keeps few digits, and causes a warning.

    References
    ----------
    Gilad-Bachrach, R., Navot, A. and Tishby, N. (2004). Margin based feature selection - theory and
    algorithms. Proceedings of the 21st International Conference on Machine Learning, 43-50.

    Examples
    --------
    >>> from highrelief import GFlip
    >>> GFlip(shuffle=False).fit([[0, 3], [1, 1], [4, 2], [5, 2]], [0, 0, 1, 1]).feature_weights_
    array([1., 0.])
    """

    _constraints = constraints(utility=one_of(*UTILITIES), max_iter=count())
    _feature_order_dependent = True
    # Single precision would change the sign of small differences.
    _types = (np.float64,)

    _refuses_dask = "each flip depends on those before."

    def __init__(
        self,
        *,
        utility: str = "linear",
        beta: float | None = None,
        max_iter: int = 100,
        n_restarts: int = 1,
        shuffle: bool = True,
        n_features_to_select: int | float | None = None,
        weighted: bool | str = False,
        scale: str | None = "range",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            utility=utility,
            beta=beta,
            n_restarts=n_restarts,
            shuffle=shuffle,
            n_features_to_select=n_features_to_select,
            weighted=weighted,
            scale=scale,
            n_jobs=n_jobs,
            verbose=verbose,
            random_state=random_state,
        )
        self.max_iter = max_iter

    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the set.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights: weight s means s duplicates, which are hits of each other.

        Returns
        -------
        self : object
            The fitted weighter.
        """
        data = self._check_fit(X, y, sample_weight)
        varies = np.flatnonzero(~self._constant)
        columns = self._columns(data, varies)
        n_runs = self.n_restarts if self.shuffle else 1
        at_once = min(n_runs, self._n_threads)
        columns.check_memory(at_once + (n_runs > at_once))  # the best so far stays
        self.beta_ = self._slope(lambda: FeatureSet.of_all(columns).margins(), columns.sample_weight)
        # A seed for every run: runs do not depend on the number of sweeps of others.
        seeds = random_generator("random_state", self.random_state).randint(2**31 - 1, size=n_runs)
        best: _Run | None = None
        pieces = n_pieces(columns.work_per_sweep)
        with watched(self, total=self.max_iter * pieces * -(-n_runs // at_once)) as progress:
            for start in range(0, n_runs, at_once):
                runs = [self._begin(columns, seed) for seed in seeds[start : start + at_once]]
                stopped = self._climb(runs, progress, pieces)
                for run in runs:
                    if best is None or run.features.score > best.features.score:
                        best = run
                if stopped:
                    break
        assert best is not None
        return self._set_found(best, varies, pieces, stopped)

    def _columns(self, data: TrainingData, varies: NDArray[np.int64]) -> ClassedColumns:
        scaled = self._scaled(data.X, varies).astype(np.float64, copy=False)
        columns = ClassedColumns(scaled, data.codes, data.sample_weight)
        if self.scale is None and columns.least_steps < _FEW_STEPS:
            warn_user(
                "With scale=None the ranges of the features of X differ so much that GFlip, which rounds"
                " all of them alike, leaves the smallest few digits or none. Use scale='range'.",
                UserWarning,
            )
        return columns

    def _begin(self, columns: ClassedColumns, seed: int) -> _Run:
        return _Run(FeatureSet(columns, self.utility, self.beta_), np.random.RandomState(seed))

    def _climb(self, runs: list[_Run], progress: Progress, pieces: int) -> bool:
        """Sweep until no feature is flipped; return whether a callback stopped the fit."""
        for _ in range(self.max_iter):
            moving = [run for run in runs if not run.settled]
            if not moving:
                break
            orders = [np.array_split(self._order(run), pieces) for run in moving]
            for run in moving:
                run.flips.append(0)
            for piece in range(pieces):
                parts = [(run, order[piece]) for run, order in zip(moving, orders, strict=True)]
                run_all(_visit, parts, self._n_threads)
                stopped = progress.advance()
                if stopped:
                    break
            for run in moving:
                run.scores.append(run.features.score)
                run.settled = run.flips[-1] == 0 and piece == pieces - 1
            if stopped:
                return True
        return False

    def _order(self, run: _Run) -> NDArray[np.int64]:
        here = np.arange(run.features.members.size)
        return run.generator.permutation(here) if self.shuffle else here

    def _set_found(self, run: _Run, varies: NDArray[np.int64], pieces: int, stopped: bool) -> Self:
        weights, losses = np.zeros(self.n_features_in_), np.zeros(self.n_features_in_)
        weights[varies] = run.features.members
        losses[varies] = run.features.losses(pieces)
        self.score_, self.score_losses_ = run.features.score, losses
        self.scores_, self.history_ = np.array(run.scores), np.array(run.flips)
        self.n_iter_, self.converged_ = len(run.flips), run.settled
        if stopped:
            warn_user(f"GFlip was stopped by a callback after {self.n_iter_} sweeps.", ConvergenceWarning)
        elif not self.converged_:
            warn_user(
                f"GFlip did not converge in max_iter={self.max_iter} sweeps: the last made {run.flips[-1]}"
                " flips.",
                ConvergenceWarning,
            )
        elif not weights.any() and run.features.has_hits:
            warn_user(
                "GFlip found no feature that makes the score grow by itself, and the set stays empty: all"
                " weights are 0. Features that act only together are not found this way; Simba, which"
                " begins with all of them, may help.",
                ConvergenceWarning,
            )
        return self._set_weights(weights)

    @property
    def _ranked_by(self) -> NDArray[np.float64]:
        return np.where(self.feature_weights_ > 0.0, self.score_losses_, -np.inf)


def _visit(run: _Run, order: NDArray[np.int64]) -> None:
    run.flips[-1] += run.features.sweep(order)
