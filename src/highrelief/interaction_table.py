"""Which features act together: how much of the weight of each disappears when another is left out."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit
from sklearn.utils.validation import _num_samples

from .bases.abilities import takes_measurements
from .bases.balance import label_codes
from .bases.checks import check_structure
from .bases.cluster_input import refuse_held
from .bases.input import warn_user
from .bases.members import SEEDS, run_some
from .bases.meta import innermost
from .bases.refits import Refits, Told, best_features, feature_names, places_of
from .core.parameters import check_count, random_generator
from .halves import checked_halves, halves, why_not

__all__ = ["InteractionTable", "Pair", "interactions"]

#: Probability that noise alone makes any of the pairs stand out.
_LEVEL = 0.05
#: Least part of a weight that counts: without any one of the others, neighbours are a little nearer.
_LEAST = 0.1
#: Time for half of the samples, of that for all: a quarter where it grows with their square, and some more.
_OF_HALF = 0.3
#: Fewest halves that a standard error is told from.
_FEWEST = 4


class Pair(NamedTuple):
    """Two features, by their places in the table, and what becomes of each without the other."""

    first: int
    second: int
    #: Part of the first one's weight that disappears without the second, and the other way round.
    loss_of_first: float
    loss_of_second: float
    #: Whether it is more than noise; None if noise was not measured.
    first_is_clear: bool | None
    second_is_clear: bool | None


@dataclass(frozen=True)
class InteractionTable:
    """How much of each feature's weight disappears when another is left out: what ``interactions`` finds."""

    #: (m,) places of the features in the table, the best first.
    features: NDArray[np.int64]
    names: list[str]
    #: (m,) weights in the fit to these features.
    weights: NDArray[np.float64]
    #: (m, m) weight of the feature of the row in the fit without that of the column, in the same units; nan
    #: on the diagonal.
    weights_without: NDArray[np.float64]
    #: (m, m) standard errors of ``losses``, and of ``weights`` (m,); None if noise was not measured.
    noise: NDArray[np.float64] | None = None
    weight_noise: NDArray[np.float64] | None = None
    #: Halves of the samples by which it was.
    n_resamples: int = 0

    @property
    def losses(self) -> NDArray[np.float64]:
        """(m, m) part of the row's weight that disappears without the column: 1 all, 0 nothing, < 0 it grows.

        nan on the diagonal, and in the rows of features that do not weigh more than 0 here.
        """
        own = np.where(self.weights > 0.0, self.weights, np.nan)[:, np.newaxis]
        return 1.0 - self.weights_without / own

    @property
    def weighs(self) -> NDArray[np.bool_]:
        """(m,) which features weigh more than 0 here, beyond noise if that was measured."""
        if self.weight_noise is None:
            return self.weights > 0.0
        bound = stdtrit(self.n_resamples - 1, 1.0 - _LEVEL / self.weights.size)
        return self.weights > bound * self.weight_noise

    @property
    def clear(self) -> NDArray[np.bool_] | None:
        """(m, m) which losses are more than noise, at 95 % for all of them together; None if not measured.

        And at least a tenth, of features whose own weight is more than noise.
        """
        if self.noise is None:
            return None
        m, df = self.weights.size, self.n_resamples - 1
        bound = stdtrit(df, 1.0 - 0.5 * _LEVEL / max(m * (m - 1), 1)) * self.noise
        with np.errstate(invalid="ignore"):
            return (np.abs(self.losses) > np.maximum(bound, _LEAST)) & self.weighs[:, np.newaxis]

    def pairs(self) -> list[Pair]:
        """Every two features once: those beyond noise first, the largest loss first.

        Returns
        -------
        pairs : list of Pair
            The better feature of each is the first.
        """
        losses, clear = self.losses, self.clear
        found = []
        for i in range(self.features.size):
            for j in range(i + 1, self.features.size):
                of_pair = (None, None) if clear is None else (bool(clear[i, j]), bool(clear[j, i]))
                places = int(self.features[i]), int(self.features[j])
                found.append(Pair(*places, float(losses[i, j]), float(losses[j, i]), *of_pair))
        return sorted(found, key=_strength, reverse=True)


def _strength(pair: Pair) -> tuple[bool, float]:
    sides = ((pair.loss_of_first, pair.first_is_clear), (pair.loss_of_second, pair.second_is_clear))
    is_clear = any(clear for _, clear in sides)
    counted = [abs(loss) for loss, clear in sides if np.isfinite(loss) and (bool(clear) or not is_clear)]
    return is_clear, max(counted, default=-1.0)


class TooLongError(RuntimeError):
    """More time would be needed than there is."""


def interactions(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    features: Sequence[int] | Sequence[str] | None = None,
    n_features: int = 12,
    n_resamples: int | None = 20,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    batches: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> InteractionTable:
    r"""How much of each feature's weight disappears when another one is left out: which act together.

    The estimator is fitted to the best m features only, then m times without one of them:

    .. math:: \mathrm{loss}_{fg} = 1 - w_f^{(-g)} / w_f

    Near 1, f says nothing without g: they act together, as the two features of an exclusive or. Near 0, f
    does not need g. Below 0, f weighs more without g: they say the same, and share the credit. Methods whose
    weights have a norm of 1 divide it among fewer without g; their :math:`w^{(-g)}` is multiplied by the norm
    of w without g first, so that 0 still means that nothing changes.

    Noise: the same is done with halves of the samples, two at a time that share none. A statistic of half the
    samples, drawn without replacement, spreads around that of all about as that of all around the truth: the
    standard deviation over the halves is the standard error of the loss. Losses are clear of noise if they
    are beyond Student's t at 95 % for all pairs together (Bonferroni), if they are at least a tenth (without
    any one of the others, neighbours are a little nearer, and many samples show it), and if the weight of f
    itself is beyond noise (of next to nothing, any part is noise).

    A clear loss says that the weight of f depends on g *in this method, among these features*. That the two
    act together on the target follows if the weight without g is about 0; which of three that act together
    does what, it does not tell. The features were chosen by the same samples: those there by chance are
    within noise, but a pair of which one is not among the best m is not seen at all.

    Parameters
    ----------
    estimator : estimator
        A weighter, a meta-estimator around one, or any estimator with ``feature_importances_`` or ``coef_``.
        Fitted to X, its ranking says which features are the best; otherwise a clone is fitted first. It is
        not changed.
    X : {array-like, sparse matrix} or frame of shape (n_samples, n_features)
        The samples.
    y : array-like of shape (n_samples,)
        Their classes, or what else the estimator is to be told.
    features : sequence of int or of str, default=None
        Places or names of the features to look at, at least two; None: the best.
    n_features : int, default=12
        m: how many of the best, at least 2; constant ones are left out. The others among them stand for the
        rest of the table: with very few features, neighbours are near by these alone.
    n_resamples : int, default=20
        Number of halves, an even one; 0 or None: noise is not measured.
    sample_weight : array-like of shape (n_samples,), default=None
        Given to every fit, if not None.
    groups : array-like of shape (n_samples,), default=None
        Samples of the same group are in one half.
    batches : array-like of shape (n_samples,), default=None
        Given to every fit, if not None.
    n_jobs : int or None, default=None
        How many halves at a time; does not change the result.
    random_state : int, RandomState or None, default=None
        Which halves are drawn, and where random numbers of the fits begin, the same in all fits to the same
        samples.

    Returns
    -------
    table : InteractionTable
        ``losses``, ``noise`` and ``clear`` of shape (m, m), ``features``, ``names`` and ``weights`` of shape
        (m,), and ``pairs()``.

    See Also
    --------
    highrelief.plots.InteractionDisplay : The picture.

    Notes
    -----
    (m + 1)·(1 + ``n_resamples``) fits to m features: for 12 of them, tables so small that all together seldom
    take longer than the first fit to all features.

    Examples
    --------
    >>> from highrelief import ReliefF, interactions
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(300, n_irrelevant=50, random_state=0)
    >>> table = interactions(ReliefF().fit(X, y), X, y, random_state=0)
    >>> strongest = table.pairs()[0]
    >>> sorted(strongest[:2]), strongest.first_is_clear
    ([0, 1], True)
    """
    return interactions_within(
        None,
        estimator,
        X,
        y,
        features=features,
        n_features=n_features,
        n_resamples=n_resamples,
        sample_weight=sample_weight,
        groups=groups,
        batches=batches,
        n_jobs=n_jobs,
        random_state=random_state,
    )


def interactions_within(
    seconds: float | None,
    estimator: Any,
    X: Any,
    y: Any,
    *,
    features: Sequence[int] | Sequence[str] | None,
    n_features: int,
    n_resamples: int | None,
    sample_weight: ArrayLike | None,
    groups: ArrayLike | None,
    batches: ArrayLike | None,
    n_jobs: int | None,
    random_state: Any,
) -> InteractionTable:
    """The same as :func:`interactions`, in about so many seconds of work.

    Raises :class:`TooLongError` if the fits to all samples would take longer, and does not measure the noise
    if that would.
    """
    refuse_held(X, "interactions")
    check_structure(X)
    check_count("n_features", n_features, at_least=2)
    resamples = checked_halves("n_resamples", n_resamples, or_none=True)
    random = random_generator("random_state", random_state)
    seeds = random.randint(SEEDS, size=resamples // 2 + 1)
    told = Told(X, y, sample_weight, batches)
    names = feature_names(estimator, X)
    if features is None:
        best = best_features(estimator, told, n_features)
    else:
        best = places_of(features, names, int(np.shape(X)[1]))
    refits = Refits.among(best, estimator, told)
    rows, seed = np.arange(_num_samples(X)), int(seeds[-1])
    begin = time.process_time()
    with _unwarned():
        if seconds is not None:
            refits.weights(rows, np.arange(best.size), seed)
            if (time.process_time() - begin) * (best.size + 1) > seconds:
                raise TooLongError
            begin = time.process_time()
        weights, without = refits.table(rows, seed)
    labels = [f"x{j}" if names is None else str(names[j]) for j in best]
    table = InteractionTable(best, labels, weights, without)
    too_long = seconds is not None and (time.process_time() - begin) * _OF_HALF * resamples > seconds
    if not resamples or too_long:
        return table
    codes = _codes(estimator, y)
    reason = why_not(np.bincount(codes) if codes.any() else np.full(2, rows.size // 2), best.size)
    if reason is not None:
        warn_user(reason.replace("Stability", "Noise"), UserWarning)
        return table
    of_groups = label_codes("groups", groups, np.ones(rows.size, dtype=bool))
    pairs = [halves(np.random.RandomState(each), codes, of_groups) for each in seeds[:-1]]
    parts = [half for pair in pairs for half in pair]
    with _unwarned():
        found = run_some(
            lambda half: refits.table_or_none(half, seed),
            parts,
            lambda: False,
            ours=refits.ours,
            n_jobs=n_jobs,
        )
    return _with_noise(table, [each for each in found if each is not None])


@contextmanager
def _unwarned() -> Iterator[None]:
    """Refits say nothing: whether each of them settles is not what is asked."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _with_noise(
    table: InteractionTable, of_halves: list[tuple[NDArray[np.float64], NDArray[np.float64]]]
) -> InteractionTable:
    if len(of_halves) < _FEWEST:
        warn_user(
            "The method cannot be fitted to most halves of the samples: noise is not known.", UserWarning
        )
        return table
    own = np.where(table.weights > 0.0, table.weights, np.nan)[:, np.newaxis]
    # Of the differences, in units of the weights of all samples: no half divides by next to nothing.
    differences = np.stack([weights[:, np.newaxis] - without for weights, without in of_halves])
    noise = differences.std(axis=0, ddof=1) / own
    weight_noise = np.stack([weights for weights, _ in of_halves]).std(axis=0, ddof=1)
    return replace(table, noise=noise, weight_noise=weight_noise, n_resamples=len(of_halves))


def _codes(estimator: Any, y: Any) -> NDArray[np.int64]:
    """Places of the classes; all 0 where y does not hold classes."""
    labels = np.asarray(y)
    if takes_measurements(innermost(estimator)):
        return np.zeros(len(labels), dtype=np.int64)
    return np.unique(labels, return_inverse=True)[1]
