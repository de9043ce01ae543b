"""The heaviest tail that an r-concave distribution of a given mean can have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Where the offset a of the extremal distributions is looked for.
_OFFSETS = (1e-9, 1e9)
_BISECTIONS = 60
#: Points between two lengths of the support at which the tail is tried before the best place is narrowed
#: down.
_TRIED = 8
_NARROWINGS = 30
_GOLDEN = 0.5 * (5.0**0.5 - 1.0)


def concave_tails(mean: float, n_steps: int, r: float) -> NDArray[np.float64]:
    r"""Largest P(X ≥ t/n) of any r-concave X on {0, 1/n, …, 1} with a mean of at most ``mean``, for all t.

    A distribution f on the points 0, 1, …, n is r-concave, r < 0, if its support has no gaps and f^r is
    convex there. The larger r, the faster its tails fall; r → −∞ leaves it unimodal. The tail beyond t >
    2·mean is heaviest where f^r is as little convex as can be, that is linear, up to the last point of the
    support, whose probability is what the mean asks for:

    .. math:: f(i) = c (a + i)^{1/r}, \; i \le k, \qquad 0 \le f(k + 1) \le c (a + k + 1)^{1/r}.

    With k + 1 − E X = c Σ (k + 1 − i)(a + i)^{1/r} the last point drops out, and what remains is to be
    maximised over a single number, since the k that belong to it follow from a.

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
        Probabilities; 1 where t ≤ 2·mean·n, about which nothing is said.

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
        """P(X ≥ t) at each place (rows), for t = 0, …, n."""
        points = np.arange(self.lengths[-1] + 1)
        last = np.floor(places)[:, np.newaxis]
        f = _shape(np.interp(places, self.lengths, self.log_offsets), points, self.power)
        f[points > last] = 0.0
        scale = (last[:, 0] + 1 - self.mean) / ((last + 1 - points) * f).sum(axis=1)
        below = np.cumsum(f, axis=1) - f
        return np.asarray(1.0 - scale[:, np.newaxis] * below)

    def tails(self, places: NDArray[np.float64], points: NDArray[np.int64]) -> NDArray[np.float64]:
        """P(X ≥ t) at a place for each t."""
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
    """(a + i)^power over a^power."""
    return np.asarray((1.0 + points / np.exp(log_a)[:, np.newaxis]) ** power)


def _narrowed(
    walk: _Walk, points: NDArray[np.int64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The largest tails between two places, by golden sections."""
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
