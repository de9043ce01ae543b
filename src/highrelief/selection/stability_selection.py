r"""Stability selection: features that are among the best in nearly every half of the samples.

Of B pairs of halves that share no sample, each half is weighted by itself and names its q best features. What
is kept is named by a share of at least τ of all 2B halves. How large τ must be follows from how many features
can be expected to get that far by chance.

What is null here: a feature that the weighter names with a probability of at most q/p in a half drawn afresh,
no more often than a feature drawn by lot. That is a statement about the weighter at half the number of
samples, not "no association": a weak feature that is named too seldom counts as null too, and a useless one
that is correlated with a strong one, and so is named often, does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._engine.parameters import check_choice, check_count, check_number, random_generator
from ..base.meta import CONTROLS, Decision, ranked_by, weights_of
from ..base.resampling import SEEDS
from ..base.validation import warn_user
from .halves import HalfFits, Pair, PairedFits, fits_to_halves, members

# The heaviest tail of an r-concave distribution of a given mean


#: Range in which the offset a of the extremal distributions is searched.
_OFFSETS = (1e-9, 1e9)
_BISECTIONS = 60
#: Points between two lengths of the support at which the tail is tried before the best place is narrowed
#: down.
_TRIED = 8
_NARROWINGS = 30
_GOLDEN = 0.5 * (5.0**0.5 - 1.0)


def concave_tails(mean: float, n_steps: int, r: float) -> NDArray[np.float64]:
    r"""Return the largest P(X ≥ t/n) of r-concave X on {0, 1/n, …, 1} with a mean of at most ``mean``.

    A distribution f on the points 0, 1, …, n is r-concave, r < 0, if its support has no gaps and f^r is
    convex there. The larger r, the faster its tails fall; r → −∞ leaves it unimodal. The tail beyond t >
    2·mean is heaviest where f^r is as little convex as can be, that is linear, up to the last point of the
    support, whose probability follows from the mean:

    .. math:: f(i) = c (a + i)^{1/r}, \; i \le k, \qquad 0 \le f(k + 1) \le c (a + k + 1)^{1/r}.

    With k + 1 − E X = c Σ (k + 1 − i)(a + i)^{1/r} the last point drops out, and what remains is to be
    maximized over a single number, since the k that belong to it follow from a.

    Parameters
    ----------
    mean : float
        Largest mean, in (0, 1).
    n_steps : int
        n.
    r : float
        Below 0.

    Returns
    -------
    tails : array of shape (n_steps + 1,)
        Probabilities; 1 where t ≤ 2·mean·n, for which there is no bound.

    References
    ----------
    Shah, R. D. and Samworth, R. J. (2013). Variable selection with error control: another look at stability
    selection. Journal of the Royal Statistical Society B 75, 55-80: Section 3.4 and Appendix.
    """
    tails = np.ones(n_steps + 1)
    shortest = int(np.floor(2.0 * mean * n_steps)) + 1
    if shortest > n_steps:
        return tails
    walk = _Walk.of(shortest, n_steps, mean * n_steps, 1.0 / r)
    points = np.arange(shortest, n_steps + 1)
    places = np.linspace(shortest, n_steps, (n_steps - shortest) * _TRIED + 1)
    tried = walk.all_tails(places)[:, points]
    # A support that ends before t has no tail there.
    tried[places[:, np.newaxis] < points - 1] = 0.0
    best = tried.argmax(axis=0)
    low, high = places[np.maximum(best - 1, 0)], places[np.minimum(best + 1, places.size - 1)]
    tails[points] = np.maximum(tried.max(axis=0), _narrowed(walk, points, low, high))
    return np.minimum.accumulate(np.clip(tails, 0.0, 1.0))


@dataclass(frozen=True)
class _Walk:
    """The extremal distributions, along a walk from the shortest support to the longest.

    A place on it is a number: its whole part is k, and a lies between the two at which f(k + 1) is 0 and as
    large as can be.
    """

    mean: float
    power: float
    #: Lengths of the support, and log a with which f is of one piece on it.
    lengths: NDArray[np.int64]
    log_offsets: NDArray[np.float64]

    @classmethod
    def of(cls, shortest: int, longest: int, mean: float, power: float) -> _Walk:
        lengths = np.arange(shortest, longest + 1)
        return cls(mean, power, lengths, _log_offsets(lengths, mean, power))

    def all_tails(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return P(X ≥ t) at each point (rows), for t = 0, …, n."""
        points = np.arange(self.lengths[-1] + 1)
        last = np.floor(places)[:, np.newaxis]
        f = _shape(np.interp(places, self.lengths, self.log_offsets), points, self.power)
        f[points > last] = 0.0
        scale = (last[:, 0] + 1 - self.mean) / ((last + 1 - points) * f).sum(axis=1)
        below = np.cumsum(f, axis=1) - f
        return np.asarray(1.0 - scale[:, np.newaxis] * below)

    def tails(self, places: NDArray[np.float64], points: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return P(X ≥ t) at a point for each t."""
        return self.all_tails(places)[np.arange(points.size), points]


def _log_offsets(lengths: NDArray[np.int64], mean: float, power: float) -> NDArray[np.float64]:
    """Log of the a with which (a + i)^power on 0, …, k has this mean, for each k: the mean rises with a."""
    points = np.arange(lengths[-1] + 1)
    inside = points <= lengths[:, np.newaxis]
    low, high = (np.full(lengths.size, np.log(each)) for each in _OFFSETS)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        f = _shape(middle, points, power) * inside
        above = f @ points > mean * f.sum(axis=1)
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.asarray(0.5 * (low + high))


def _shape(log_a: NDArray[np.float64], points: NDArray[np.int64], power: float) -> NDArray[np.float64]:
    """Return (a + i)^power over a^power."""
    return np.asarray((1.0 + points / np.exp(log_a)[:, np.newaxis]) ** power)


def _narrowed(
    walk: _Walk, points: NDArray[np.int64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the largest tails between two points, by golden section search."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = walk.tails(left, points), walk.tails(right, points)
    for _ in range(_NARROWINGS):
        to_left = at_left >= at_right
        low, high = np.where(to_left, low, left), np.where(to_left, right, high)
        new = np.where(to_left, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
        at_new = walk.tails(new, points)
        left, right = np.where(to_left, new, right), np.where(to_left, left, new)
        at_left, at_right = np.where(to_left, at_new, at_right), np.where(to_left, at_left, at_new)
    return np.maximum(at_left, at_right)


__all__ = ["Decision", "decide_by_stability"]

#: Assumptions about the selection probabilities of null features.
ASSUMPTIONS = ("r-concave", "unimodal", None)
#: Default number of pairs of halves.
N_PAIRS = 50
#: The most that τ may be with a q that was not asked for: the upper end of what Meinshausen and Bühlmann
#: (2010) recommend. A larger q finds more features if many are real, and asks for more agreement.
LARGEST_SHARE = 0.9


def decide_by_stability(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike | None,
    *,
    control: str = "fwer",
    level: float = 0.1,
    n_pairs: int = N_PAIRS,
    n_best: int | None = None,
    assumption: str | None = "r-concave",
    n_jobs: int | None = None,
    verbose: int = 0,
    random_state: Any = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    batches: ArrayLike | None = None,
) -> Decision:
    r"""Keep the features that most halves of the samples name, with a bound on how many null ones are kept.

    With V the number of null features that are kept:

    - ``control="fwer"``: E V ≤ ``level``, and so P(V > 0) ≤ ``level``. A theorem if ``assumption`` is None;
      with the other two as far as these are true.
    - ``control="fdr"``: the most features with (bound of E V)/(number kept) ≤ ``level``. An estimate of the
      false discovery rate from above, with no theorem behind it.

    Halves have ⌊n/2⌋ samples of each class, what is odd is left out by lot: given the classes, two halves are
    independent and of one distribution, as the theory requires. Groups are kept together, and halved without
    regard to classes; so are the samples where y holds numbers. A sample and its duplicates are in one half.

    Parameters
    ----------
    estimator : estimator
        What weighs the features; it is cloned. Only weights > 0 can be among the best; equal ones are drawn
        by lot.
    X, y
        As in the fit of a meta-estimator.
    control : {"fwer", "fdr"}, default="fwer"
        What is bounded.
    level : float, default=0.1
        By how much, in (0, 1).
    n_pairs : int, default=50
        B, at least 2.
    n_best : int or None, default=None
        q, how many features a half names. None: as many as can be with a τ of at most 0.9 (a number that
        follows from the number of features, never from the data) for E V ≤ ``level``, at least 1. It is the
        same for both controls: "fdr" keeps all that "fwer" does.
    assumption : {"r-concave", "unimodal", None}, default="r-concave"
        On the distributions of the shares of halves, and of pairs, that name a null feature. "r-concave":
        with r = −1/4 and r = −1/2. The less is assumed, the larger τ.
    n_jobs : int or None, default=None
        How many fits at a time; the result is the same.
    verbose : int, default=0
        1 shows progress.
    random_state : int, RandomState or None, default=None
        Which halves are drawn.
    sample_weight, groups, batches
        As in the fit of a meta-estimator.

    Returns
    -------
    decision : Decision
        ``selection_probability`` is the share of the halves that name a feature, ``threshold`` is τ;
        ``qvalues``, for ``control="fdr"``, the smallest level at which a feature would be kept.

    References
    ----------
    Shah, R. D. and Samworth, R. J. (2013). Variable selection with error control: another look at stability
    selection. Journal of the Royal Statistical Society B 75, 55-80.

    Meinshausen, N. and Bühlmann, P. (2010). Stability selection. Journal of the Royal Statistical Society B
    72, 417-473.
    """
    check_choice("control", control, CONTROLS)
    check_number("level", level, above=0.0, below=1.0)
    check_count("n_pairs", n_pairs, at_least=2)
    check_choice("assumption", assumption, ASSUMPTIONS)
    random = random_generator("random_state", random_state)
    seed, seed_of_lots = random.randint(SEEDS, size=2)
    fits = fits_to_halves(
        estimator,
        X,
        y,
        resamples=2 * int(n_pairs),
        random_state=int(seed),
        n_jobs=n_jobs,
        groups=groups,
        sample_weight=sample_weight,
        batches=batches,
        verbose=verbose,
        kind=_PairFits,
    )
    if fits.n_unsettled:
        warn_user(
            f"The fits to {fits.n_unsettled} of {len(fits.scores)} halves did not converge.", UserWarning
        )
    n_features = fits.scores.shape[1]
    bound = expected_false(n_features, n_pairs, assumption)
    q = _checked_size(n_best, n_features, bound, level)
    counts = named(fits.scores, q, np.random.RandomState(seed_of_lots)).sum(axis=0)
    return decided(counts, bound(q), control, level)


def decided(counts: NDArray[np.int64], bounds: NDArray[np.float64], control: str, level: float) -> Decision:
    """Select at the smallest selection probability that respects the level.

    Parameters
    ----------
    counts : array of shape (n_features,)
        How many of the 2B halves name each feature.
    bounds : array of shape (n_pairs,)
        Of :func:`expected_false`, for the q in use.
    control, level
        As in :func:`decide_by_stability`.

    Returns
    -------
    decision : Decision
        What is kept.
    """
    n_pairs = bounds.size
    shares = counts / (2 * n_pairs)
    least = np.arange(n_pairs + 1, 2 * n_pairs + 1)
    n_selected = (counts >= least[:, np.newaxis]).sum(axis=1)
    rates, qvalues = bounds, None
    if control == "fdr":
        rates = np.divide(bounds, n_selected, out=np.full(n_pairs, np.inf), where=n_selected > 0)
        best = np.minimum.accumulate(np.concatenate([np.full(n_pairs + 1, 1.0), rates]))
        qvalues = best[counts]
    reached = np.flatnonzero(rates <= level)
    threshold = least[reached[0]] / (2 * n_pairs) if reached.size else np.inf
    return Decision(shares >= threshold, shares, None, qvalues, shares, float(threshold))


# Bounds of the number of selected null features


def expected_false(
    n_features: int, n_pairs: int, assumption: str | None
) -> Callable[[int], NDArray[np.float64]]:
    r"""Bounds of E V as a function of q, for τ = 1/2 + 1/2B, 1/2 + 2/2B, …, 1.

    With θ = q/p, of which :math:`L_\theta`, the null features, are named with a probability of at most θ:

    - nothing assumed (Theorem 1): θ q/(2τ − 1);
    - unimodal (Theorem 2): C(τ, B) θ q;
    - r-concave (eq. 8): p min{D(θ², 2τ − 1, B, −1/2), D(θ, τ, 2B, −1/4)}, D the heaviest tail
      (:func:`.concave_tails`): of the share of pairs whose halves both name a feature, and of halves that do.

    Parameters
    ----------
    n_features, n_pairs : int
        p and B.
    assumption : {"r-concave", "unimodal", None}
        As in :func:`decide_by_stability`.

    Returns
    -------
    bounds : function of q
        Returns an array of shape (n_pairs,).
    """
    p, tau = n_features, 0.5 + np.arange(1, n_pairs + 1) / (2 * n_pairs)

    def plain(q: int) -> NDArray[np.float64]:
        return np.asarray(np.minimum(q * q / p / (2 * tau - 1), p))

    def unimodal(q: int) -> NDArray[np.float64]:
        theta, half_step = q / p, 1 / (2 * n_pairs)
        known = tau > min(0.5 + theta**2, 0.5 + half_step + 0.75 * theta**2)
        if theta > 1 / np.sqrt(3):
            return plain(q)
        middle = 2 * np.maximum(2 * tau - 1 - half_step, half_step)
        constant = np.where(tau <= 0.75, 1 / middle, 4 * (1 - tau + half_step) / (1 + 2 * half_step))
        return np.where(known, np.minimum(constant * theta * q, plain(q)), plain(q))

    def concave(q: int) -> NDArray[np.float64]:
        return np.array(_concave_bounds(p, q, n_pairs))

    return {"r-concave": concave, "unimodal": unimodal, None: plain}[assumption]


@lru_cache(maxsize=1000)
def _concave_bounds(p: int, q: int, n_pairs: int) -> tuple[float, ...]:
    """Return cached bounds: they do not depend on data, and take as long as small fits."""
    if q >= p:
        return (float(p),) * n_pairs
    of_pairs = concave_tails((q / p) ** 2, n_pairs, -1 / 2)[1:]
    of_halves = concave_tails(q / p, 2 * n_pairs, -1 / 4)[n_pairs + 1 :]
    return tuple((p * np.minimum(of_pairs, of_halves)).tolist())


def _checked_size(
    n_best: int | None, n_features: int, bound: Callable[[int], NDArray[np.float64]], level: float
) -> int:
    """Return the number of features selected in a half, small enough that some τ respects the level."""
    possible = bool(bound(1)[-1] <= level)
    if n_best is not None:
        check_count("n_best", n_best, at_most=n_features, of="features of X")
        if possible and bound(int(n_best))[-1] > level:
            most = _largest(n_features, lambda q: bool(bound(q)[-1] <= level))
            raise ValueError(
                f"n_best={n_best!r} of {n_features} features are so many that even those which all halves"
                f" name could be there by chance, at level={level!r}; use at most {most}."
            )
    if not possible:
        warn_user(
            f"With {n_features} feature(s), even one that all halves name could be there by chance: stability"
            f" cannot keep any at level={level!r}.",
            UserWarning,
        )
    if n_best is not None:
        return int(n_best)
    return usual_size(n_features, bound, level)


def usual_size(n_features: int, bound: Callable[[int], NDArray[np.float64]], level: float) -> int:
    """Return the largest q with which a τ of at most 0.9 respects the level; at least 1.

    Parameters
    ----------
    n_features : int
        Number of features.
    bound : function of q
        Of :func:`expected_false`.
    level : float
        What E V must be at most.

    Returns
    -------
    q : int
        How many features a half names.
    """

    def suits(q: int) -> bool:
        bounds = bound(q)
        return bool(np.any(bounds[: max(round(2 * bounds.size * LARGEST_SHARE) - bounds.size, 1)] <= level))

    return max(_largest(n_features, suits), 1)


def _largest(n_features: int, suits: Callable[[int], bool]) -> int:
    """Return the largest suitable q below n_features by bisection; 0 if none is suitable."""
    low, high = 0, n_features
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if suits(middle) else (low, middle)
    return low


# Selection in a half


def named(scores: NDArray[np.float64], q: int, random: np.random.RandomState) -> NDArray[np.bool_]:
    """Return the mask of the q best of each row, ties broken at random; never those at −inf."""
    shares = members(HalfFits(scores, 0), q)
    chosen = shares == 1.0
    for row in np.flatnonzero(np.any((shares > 0.0) & ~chosen, axis=1)):
        equals = np.flatnonzero((shares[row] > 0.0) & ~chosen[row])
        chosen[row, random.permutation(equals)[: q - np.count_nonzero(chosen[row])]] = True
    return chosen & (scores > -np.inf)


def _scores(fitted: Any, n_features: int) -> NDArray[np.float64]:
    """Return the values by which a fitted estimator ranks features; −inf for weights that are not > 0."""
    weights = weights_of(fitted, n_features)
    return np.where(weights > 0.0, ranked_by(fitted, weights), -np.inf)


class _PairFits(PairedFits):
    """Fits to disjoint pairs of halves."""

    _member_values = staticmethod(_scores)

    def _pair(
        self, random: np.random.RandomState, codes: NDArray[np.int64], groups: NDArray[np.int64] | None
    ) -> Pair:
        return equal_halves(random, codes if groups is None else groups, groups is not None)


def equal_halves(random: np.random.RandomState, codes: NDArray[np.int64], together: bool) -> Pair:
    """Return two halves with ⌊n_c/2⌋ samples of each class c, or ⌊G/2⌋ of G groups, kept ``together``."""
    side = np.full(codes.size, -1)
    if together:
        order = random.permutation(int(codes.max()) + 1)
        half = order.size // 2
        of_group = np.full(order.size, -1)
        of_group[order[:half]], of_group[order[half : 2 * half]] = 0, 1
        side = of_group[codes]
    else:
        for c in range(int(codes.max()) + 1):
            of_class = random.permutation(np.flatnonzero(codes == c))
            half = of_class.size // 2
            side[of_class[:half]], side[of_class[half : 2 * half]] = 0, 1
    return np.flatnonzero(side == 0), np.flatnonzero(side == 1)
