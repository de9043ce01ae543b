"""Online I-RELIEF: one sample after another, from an array or from a stream."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from .._engine.limits import limits
from .._engine.parameters import check_flag, constraints, count, number, optional, random_generator
from .._engine.scaling import ColumnRanges, Scaling
from .._engine.soft import width_among
from .._engine.threads import n_pieces
from .._kernels.online import learn_samples
from .._solvers.fixed_point import euclidean_norm
from ..base.progress import watched, with_callbacks
from ..base.soft import ClassMargins
from ..base.validation import check_spans, plain, warn_user

# Reservoir sampling


class Reservoir:
    """A bounded, uniform sample of a stream, and sums over all of it.

    Parameters
    ----------
    n_features : int
        Number of features.
    dtype : dtype
        Type of the samples.
    size : int or None
        Largest number of stored samples; None: all.

    Stored arrays are never changed, so that a shallow copy is a snapshot.
    """

    def __init__(self, n_features: int, dtype: np.dtype, size: int | None) -> None:
        self.rows = np.empty((0, n_features), dtype=dtype)
        self.codes = np.empty(0, dtype=np.int64)
        self.size = size
        self.n_seen = 0
        #: Scaling by the first batch, in whose units moments are computed.
        self.first = Scaling.none(n_features, dtype)
        #: Minima, maxima, means and sums of squared deviations of the features over the whole stream.
        self.low = np.full(n_features, np.inf, dtype=dtype)
        self.high = np.full(n_features, -np.inf, dtype=dtype)
        self.mean = np.zeros(n_features)
        self.squares = np.zeros(n_features)

    def add(
        self,
        X: NDArray[np.floating],
        codes: NDArray[np.int64],
        generator: np.random.RandomState,
    ) -> NDArray[np.int64]:
        """Add a batch; return the index of each of its samples in the reservoir, or −1.

        Beyond ``size`` rows, the t-th sample of the stream replaces a random one with probability
        size/t, so that all samples seen so far are kept with the same probability (Vitter's algorithm R).
        """
        self.count(X)
        n_kept = len(self.rows)
        room = len(X) if self.size is None else min(len(X), self.size - n_kept)
        late = np.arange(room, len(X))
        # The same draws as for one sample after another.
        drawn = generator.randint(0, self.n_seen - len(X) + 1 + late) if late.size else late
        # The last sample of the batch that replaces each stored one.
        taken_by = np.full(n_kept + room, -1, dtype=np.int64)
        taken_by[n_kept:] = np.arange(room)
        enters = drawn < n_kept + room
        taken_by[drawn[enters]] = late[enters]
        changed = np.flatnonzero(taken_by >= 0)
        places = np.full(len(X), -1, dtype=np.int64)
        places[taken_by[changed]] = changed
        if changed.size:
            # New arrays: snapshots keep the old ones.
            self.rows = np.concatenate([self.rows, X[:room]])
            self.codes = np.concatenate([self.codes, codes[:room]])
            self.rows[changed], self.codes[changed] = X[taken_by[changed]], codes[taken_by[changed]]
        return places

    def count(self, X: NDArray[np.floating]) -> None:
        """Update ranges and moments by a batch, without storing its samples."""
        if self.n_seen == 0:
            self.first = Scaling.to_range(X.min(axis=0), X.max(axis=0))
        self.low = np.minimum(self.low, X.min(axis=0))
        self.high = np.maximum(self.high, X.max(axis=0))
        # They overflow for values far from the first batch, which :meth:`scaling` checks.
        with np.errstate(over="ignore", invalid="ignore"):
            self._join_moments(self.first.apply(X))
        self.n_seen += len(X)

    def _join_moments(self, inside: NDArray[np.floating]) -> None:
        """Merge the moments of the stream and of a batch (Chan, Golub and LeVeque 1983)."""
        n_new = len(inside)
        batch_mean = inside.mean(axis=0, dtype=np.float64)
        shift = batch_mean - self.mean
        total = self.n_seen + n_new
        deviations = inside - batch_mean
        deviations *= deviations
        squares = self.squares + deviations.sum(axis=0)
        self.squares = squares + shift**2 * (self.n_seen * n_new / total)
        self.mean = self.mean + shift * (n_new / total)

    @property
    def ranges(self) -> ColumnRanges:
        """Ranges of the features over the whole stream."""
        return ColumnRanges(self.low, self.high, self.mean, finite=True)

    def scaling(self, scale: str | None) -> Scaling:
        """Return the scaling of the features by the whole stream."""
        if scale is None:
            return Scaling.none(self.low.size, self.low.dtype)
        if scale == "range":
            return Scaling.to_range(self.low, self.high)
        if not np.isfinite(self.squares).all():
            raise ValueError(
                "The samples are so far from those of the first batch that their squares, in units of these,"
                ' leave the range of floating point; use scale="range".'
            )
        return self.first.standardized(self.mean, np.sqrt(self.squares / self.n_seen))


# An automatic σ is recomputed when the number of samples seen has grown by this factor.
RENEWAL = 4
# Number of anchors for an automatic σ.
WIDTH_ANCHORS = 256


# Attributes between two batches, and the state of the random generator.
_State = tuple[dict[str, Any], Any]


class OnlineIRelief(ClassMargins):
    r"""I-RELIEF by stochastic approximation: every sample moves the weights a little.

    The t-th sample x, of class y, meets the others under the current weights:

    .. math::

        \pi^{(t)} &= \gamma \bigl( \textstyle\sum_{i \in M} \alpha_i |x - x_i|
                     - \sum_{i \in H} \beta_i |x - x_i| \bigr) \\
        \nu^{(t)} &= (1 - \eta) \nu^{(t-1)} + \eta \pi^{(t)}, \qquad \eta = \min(1, 1/(a t)) \\
        w^{(t)} &= (\nu^{(t)})^+ / \|(\nu^{(t)})^+\|_2

    α, β and γ as in :class:`IRelief`. It converges to what the batch algorithm converges to, whatever a
    (Theorem 4), and is near after one pass. The result depends on the order of the samples.

    ``fit`` takes a table, and every sample meets all others. ``partial_fit`` takes a stream, batch by batch,
    in the order it comes: a batch first joins the samples kept so far (of which ``buffer_size`` may limit the
    number), and then each of its samples meets all that are kept.

    Parameters
    ----------
    sigma : "auto" or float, default="auto"
        Kernel width σ, in the units of Σ_j w_j|x_j| with ‖w‖₂ = 1. "auto" finds the σ at which the entropy of
        softmax(−d/σ) over all other samples is on average log(``perplexity``·(N − 1)), measured at 256 of
        them if there are more. It does so at the beginning of each pass and when the number of samples seen
        has grown fourfold; σ is 1 as long as fewer than three samples are known.
    step_decay : float, default=1.0
        a in the step size 1/(a·t), in (0, 1].
    n_epochs : int, default=1
        Passes over X in ``fit``.
    shuffle : bool, default=True
        Whether ``fit`` visits the samples in random order, a new one in every pass.
    margin : {"nearest", "prior"}, default="nearest"
        Misses of all classes together (eq. 21), or class by class, weighted by P(c)/(1 − P(y)) (eq. 20).
    outliers : bool, default=True
        Whether likely outliers count less (γ); False sets γ = 1.
    perplexity : float, default=0.5
        Effective number of neighbors, as a fraction of all samples, for ``sigma="auto"``.
    buffer_size : int or None, default=None
        Most samples of a stream to keep for others to meet, at least 3: a random sample of all that has
        passed. None keeps everything.
    n_features_to_select : int, float or None, default=None
        None selects every feature of positive weight, at least one; an int is the number of features, a float
        in (0, 1] a fraction of them.
    weighted : bool, "manhattan" or "euclidean", default=False
        Whether ``transform`` scales the selected columns and multiplies them by the weights, or their square
        roots for "euclidean"; True is "manhattan".
    scale : {"range", "standard", None}, default="range"
        Scaling of the features. In a stream: by what has been seen so far.
    n_jobs : int or None, default=None
        Threads, for finding σ; the samples are visited one by one.
    verbose : int, default=0
        1 shows the progress of long fits.
    random_state : int, RandomState or None, default=None
        For the order of the samples, and for what a stream keeps.

    Attributes
    ----------
    feature_weights_ : array of shape (n_features,)
        ≥ 0, Euclidean norm 1; all 0 as long as no feature had a positive margin.
    feature_importances_ : array of shape (n_features,)
        The same.
    ranking_ : array of shape (n_features,)
        1 = best; equal weights have the lowest of their ranks.
    sigma_ : float
        The kernel width, the last one found if "auto".
    n_samples_seen_ : int
        Steps taken: visits of samples.
    n_iter_ : int
        Passes over X.
    history_ : array of shape (n_iter,)
        ‖w − w_before‖₂ of every pass.
    converged_ : bool
        Whether all passes were made and some feature had a positive margin: there is no other end to
        wait for.
    classes_ : array of shape (n_classes,)
        The classes.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Sun, Y. (2007). Iterative RELIEF for feature weighting: algorithms, theories, and applications. IEEE
    TPAMI 29(6), section 5 and Fig. 3.

    Examples
    --------
    >>> from highrelief import OnlineIRelief
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(400, n_irrelevant=20, random_state=0)
    >>> OnlineIRelief(n_features_to_select=2, random_state=0).fit(X, y).get_support(indices=True)
    array([0, 1])
    >>> stream = OnlineIRelief(n_features_to_select=2, buffer_size=100, random_state=0)
    >>> for start in range(0, 400, 50):
    ...     _ = stream.partial_fit(X[start:start + 50], y[start:start + 50])
    >>> stream.get_support(indices=True)
    array([0, 1])
    """

    _order_dependent = True
    _constraints = constraints(
        step_decay=number(above=0.0, at_most=1.0),
        n_epochs=count(),
        shuffle=check_flag,
        buffer_size=optional(count(at_least=3)),
    )
    _reservoir: Reservoir
    perplexity: float
    _generator: np.random.RandomState

    def __init__(
        self,
        *,
        sigma: str | float = "auto",
        step_decay: float = 1.0,
        n_epochs: int = 1,
        shuffle: bool = True,
        margin: str = "nearest",
        outliers: bool = True,
        perplexity: float = 0.5,
        buffer_size: int | None = None,
        n_features_to_select: int | float | None = None,
        weighted: bool | str = False,
        scale: str | None = "range",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_features_to_select=n_features_to_select,
            weighted=weighted,
            scale=scale,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.sigma = sigma
        self.step_decay = step_decay
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.margin = margin
        self.outliers = outliers
        self.perplexity = perplexity
        self.buffer_size = buffer_size
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Compute the feature weights by visiting the samples of X (Sun 2007, Fig. 3).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes.

        Returns
        -------
        self : object
            The fitted weighter. X is not stored: a later ``partial_fit`` continues from the weights.
        """
        data = self._check_fit(X, y)
        self._begin(data.X)
        self._reservoir.count(data.X)
        self._declared = False
        self._class_counts = np.bincount(data.codes, minlength=self.classes_.size)
        scaled = self._scaled(data.X)
        here = np.arange(len(scaled))
        changes = []
        with watched(self, total=self.n_epochs * n_pieces(scaled.size * len(scaled))) as progress:
            for _ in range(self.n_epochs):
                before = self._w.copy()
                order = self._generator.permutation(here) if self.shuffle else here
                self._renewal = 0
                seen = self.n_samples_seen_
                self._learn(scaled, data.codes, here, order, scaled, data.codes, progress.advance)
                changes.append(euclidean_norm(self._w - before))
                if self.n_samples_seen_ < seen + len(here):
                    break
        self.n_iter_, self.history_ = len(changes), np.array(changes)
        self.converged_ = bool(np.any(self._nu > 0.0)) and self.n_samples_seen_ == len(here) * self.n_epochs
        if not np.any(self._nu > 0.0):
            warn_user(
                "OnlineIRelief found no feature with a positive mean margin: all weights are 0. A larger"
                ' sigma, or sigma="auto", may help.',
                ConvergenceWarning,
            )
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Continue with the next samples of a stream, in their order.

        A batch counts as a whole or not at all: after an error, or Ctrl-C, the weighter is as it was before
        this batch. Saved after any batch (``highrelief.save``) and loaded elsewhere, it goes on to the same
        bits.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The next samples.
        y : array-like of shape (n_samples,)
            Their classes.
        classes : array-like, default=None
            All classes that can come, in the first call. Without it classes may be added at any time.

        Returns
        -------
        self : object
            The weighter.
        """
        before = self._state()
        try:
            self._learn_batch(X, y, classes)
        except BaseException:  # Ctrl-C too
            self._restore(before)
            raise
        return self

    def _learn_batch(self, X: Any, y: ArrayLike, classes: ArrayLike | None) -> None:
        """Add a batch to the reservoir, and learn from it."""
        first = not hasattr(self, "_reservoir")
        samples = self._validate_samples(X, y, reset=first, min_samples=1)
        if first:
            self._check_parameters(samples.n_samples)
        known = self._known_classes(samples.y, classes, first)
        if first:
            self._begin(samples.X)
            self._declared = classes is not None
            self.classes_, self._class_counts = known, np.zeros(known.size, dtype=np.int64)
        codes = self._codes(samples.y, known)
        X = samples.X.astype(self._reservoir.rows.dtype, copy=False)
        places = self._reservoir.add(X, codes, self._generator)
        self._scaling = self._reservoir.scaling(self.scale)
        if self.scale is None:
            check_spans(self._reservoir.ranges, self._largest_range(X.dtype))
        self._constant = self._reservoir.low == self._reservoir.high
        references = self._scaled(self._reservoir.rows)
        batch = self._scaled(X)
        self._learn(batch, codes, places, np.arange(len(X)), references, self._reservoir.codes)

    def _state(self) -> _State:
        """Return a snapshot of what a batch changes: attributes, and the state of the random generator."""
        attributes = dict(vars(self))
        if "_reservoir" in attributes:
            attributes |= {name: copy(attributes[name]) for name in ("_reservoir", "_nu", "_w")}
        source = attributes.get("_generator", self.random_state)
        return attributes, source.get_state() if isinstance(source, np.random.RandomState) else None

    def _restore(self, before: _State) -> None:
        """Restore a snapshot."""
        attributes, position = before
        self.__dict__.clear()
        self.__dict__.update(attributes)
        if position is not None:
            getattr(self, "_generator", self.random_state).set_state(position)

    def _begin(self, X: NDArray[np.floating]) -> None:
        """Initialize (1): ν = 0 and w = 1/I; with an automatic width, w = 1/√I of unit norm."""
        n_features = X.shape[1]
        scale = math.sqrt(n_features) if self._automatic else n_features
        self._w = np.full(n_features, 1.0 / scale)
        self._nu = np.zeros(n_features)
        self.n_samples_seen_ = 0
        self._renewal = 0
        self.sigma_ = 1.0 if self._automatic else float(self.sigma)
        self._reservoir = Reservoir(n_features, X.dtype, self.buffer_size)
        self._generator = random_generator("random_state", self.random_state)

    def _scaled(self, X: NDArray[np.floating]) -> NDArray[np.floating]:
        dtype = self._reservoir.rows.dtype
        return np.ascontiguousarray(self._scaling.apply(X), dtype=dtype)

    def _known_classes(self, y: NDArray[Any], classes: ArrayLike | None, first: bool) -> NDArray[Any]:
        """Return the classes after a batch; new ones are added unless the classes were declared."""
        declared = None if classes is None else np.unique(np.asarray(classes))
        if first:
            known = np.unique(y) if declared is None else declared
        else:
            known = self.classes_
            if declared is not None and not np.array_equal(declared, known):
                raise ValueError(f"classes={classes!r} is not the same as in the first call: {known}.")
        if _is_text(y) != _is_text(known):
            raise TypeError(f"y has classes like {plain(y[0])!r}, which cannot be compared with {known}.")
        new = np.setdiff1d(y, known)
        if new.size and (declared is not None if first else self._declared):
            raise ValueError(
                f"y has the class {plain(new[0])!r}, which is not among the declared ones: {known}."
            )
        return np.union1d(known, new) if new.size else known

    def _codes(self, y: NDArray[Any], known: NDArray[Any]) -> NDArray[np.int64]:
        """Return the class codes of a batch; update codes and counts to the known classes."""
        moved = np.searchsorted(known, self.classes_)
        counts = np.zeros(known.size, dtype=np.int64)
        counts[moved] = self._class_counts
        codes = np.searchsorted(known, y)
        self.classes_ = known
        self._reservoir.codes = moved[self._reservoir.codes]
        self._class_counts = counts + np.bincount(codes, minlength=known.size)
        return codes

    def _learn(
        self,
        X: NDArray[np.floating],
        codes: NDArray[np.int64],
        places: NDArray[np.int64],
        visits: NDArray[np.int64],
        references: NDArray[np.floating],
        reference_codes: NDArray[np.int64],
        report: Callable[[], bool] = lambda: False,
    ) -> None:
        """Run steps (2) to (9), in stretches of constant σ."""
        priors = self._class_counts / self._class_counts.sum()
        members, bounds = _by_class(reference_codes, self.classes_.size)
        in_columns = (
            references.shape[1] <= limits.max_column_features
            and len(references) >= limits.min_column_references * self.classes_.size
            and references.nbytes <= limits.max_column_bytes
        )
        given = np.ascontiguousarray(references[members].T) if in_columns else references
        piece = -(-len(visits) // n_pieces(len(visits) * references.size))
        done = 0
        while done < len(visits):
            if self._automatic and self.n_samples_seen_ >= self._renewal and len(references) > 2:
                self.sigma_ = width_among(
                    references, self._w, self.perplexity, n_anchors=WIDTH_ANCHORS, n_threads=self._n_threads
                )
                self._renewal = max(1, RENEWAL * self.n_samples_seen_)
            left = self._renewal - self.n_samples_seen_ if self._automatic else len(visits)
            stretch = visits[done : min(done + max(1, left), (done // piece + 1) * piece)]
            learn_samples(
                X,
                codes,
                places,
                stretch,
                given,
                in_columns,
                members,
                bounds,
                priors,
                self.sigma_,
                self.margin == "nearest",
                self.outliers,
                float(self.step_decay),
                self.n_samples_seen_,
                self._nu,
                self._w,
            )
            done += len(stretch)
            self.n_samples_seen_ += len(stretch)
            if (done % piece == 0 or done == len(visits)) and report():
                warn_user("A callback stopped OnlineIRelief before the end of a pass.", ConvergenceWarning)
                break
        found = np.any(self._nu > 0.0)
        self._set_weights(self._w if found else np.zeros_like(self._w))


def _by_class(codes: NDArray[np.int64], n_classes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the indices of the samples sorted by class, and the bounds of the classes."""
    counts = np.bincount(codes, minlength=n_classes)
    return np.argsort(codes, kind="stable"), np.concatenate([[0], np.cumsum(counts)])


def _is_text(values: NDArray[Any]) -> bool:
    return values.dtype.kind in "OSU" and isinstance(values[0], str)
