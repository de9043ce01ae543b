"""Artificial data with known relevant features, and ways to make data harder.

Every generator takes `n_irrelevant`, the number of irrelevant columns (N(0, 1) unless the
generator says otherwise) to put after its own, `shuffle_features`, whether to permute all columns
in the end, and `random_state`: an int, a `numpy.random.RandomState`, or None for fresh entropy
(numpy's global state is never used). It returns `X`, float64 of shape (n_samples, own columns +
n_irrelevant); `y`, int64 class codes 0, 1, ... in random row order, class sizes differing by at
most one unless the generator says otherwise; and `relevant`, a boolean mask over the columns.

References
----------
- L. Breiman (1996). Bias, variance and arcing classifiers. TR 460, Statistics, UC Berkeley.
- L. Breiman et al. (1984). Classification and Regression Trees. Wadsworth.
- R. J. Urbanowicz et al. (2012). GAMETES: a fast, direct algorithm for generating pure, strict,
  epistatic models with random architectures. BioData Mining 5:16.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from numbers import Integral, Real
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

RandomSource = int | np.random.RandomState | None
Floats = NDArray[np.float64]
Labelled = tuple[Floats, NDArray[np.int64], NDArray[np.bool_]]
Genotyped = tuple[NDArray[np.int8], NDArray[np.int64], NDArray[np.bool_]]


def make_ringnorm(
    n_samples: int = 400, *, n_features: int = 20, mean: float | None = None,
    n_irrelevant: int = 0, shuffle_features: bool = False, random_state: RandomSource = None,
) -> Labelled:  # fmt: skip
    """Draw ringnorm (Breiman, 1996): class 0 is N(0, 4 I), class 1 is N((a, ..., a), I).

    Parameters
    ----------
    n_samples, n_features : int
    mean : float, default=None
        The mean a; None means 2 / sqrt(n_features). With 20 features that is the value of the
        benchmark files in circulation, while the report printed 1 / sqrt(20).
    n_irrelevant, shuffle_features, random_state : see the module, also for the values returned

    Examples
    --------
    >>> from highrelief.datasets import make_ringnorm
    >>> X, y, relevant = make_ringnorm(300, n_irrelevant=5, random_state=0)
    >>> X.shape, int(relevant.sum())
    ((300, 25), 20)
    """
    _require("n_features", n_features, 1, kind=Integral)
    shift = 2 / math.sqrt(n_features) if mean is None else mean
    _require("mean", shift, -math.inf)
    y, rng = _draw_classes(n_samples, 2, n_irrelevant, random_state)
    X = rng.standard_normal((n_samples, n_features + n_irrelevant))
    X[y == 0, :n_features] *= 2
    X[y == 1, :n_features] += shift
    return _arrange(X, y, slice(n_features), shuffle_features, rng)


def make_twonorm(
    n_samples: int = 400, *, n_features: int = 20,
    n_irrelevant: int = 0, shuffle_features: bool = False, random_state: RandomSource = None,
) -> Labelled:  # fmt: skip
    """Draw twonorm (Breiman, 1996): class 0 is N((a, ..., a), I), class 1 is N((-a, ..., -a), I).

    With a = 2 / sqrt(n_features) the best rule, the sign of the row sum, errs on Phi(-2) = 2.3 %.

    Parameters
    ----------
    n_samples, n_features : int
    n_irrelevant, shuffle_features, random_state : see the module, also for the values returned

    Examples
    --------
    >>> from highrelief.datasets import make_twonorm
    >>> X, y, relevant = make_twonorm(300, random_state=0)
    >>> bool(X[y == 0].mean() > 0 > X[y == 1].mean())
    True
    """
    _require("n_features", n_features, 1, kind=Integral)
    y, rng = _draw_classes(n_samples, 2, n_irrelevant, random_state)
    X = rng.standard_normal((n_samples, n_features + n_irrelevant))
    X[:, :n_features] += (1 - 2 * y[:, None]) * (2 / math.sqrt(n_features))
    return _arrange(X, y, slice(n_features), shuffle_features, rng)


def make_waveform(
    n_samples: int = 400, *, n_classes: int = 3,
    n_irrelevant: int = 0, shuffle_features: bool = False, random_state: RandomSource = None,
) -> Labelled:  # fmt: skip
    """Draw noisy mixtures of two out of three triangular waves (Breiman et al., 1984).

    With h1(i) = max(6 - abs(i - 11), 0), h2(i) = h1(i - 4), h3(i) = h1(i + 4) for i = 1, ..., 21
    and one u per row, uniform on [0, 1], a row is u h1 + (1 - u) h2 in class 0, u h1 + (1 - u) h3
    in class 1 and u h2 + (1 - u) h3 in class 2, plus N(0, 1) noise in each of the 21 features.

    Features i = 1 and i = 21 are marked irrelevant: all three waves are 0 there. With 2 classes
    feature i = 10 tells nothing alone (h3 is halfway between h1 and h2), only with the others.

    Parameters
    ----------
    n_samples : int
    n_classes : {3, 2}
        2 means class (h1, h2), a third of the rows, as y = 1 against the rest as y = 0, like the
        two-class benchmark files (1647 against 3353 rows).
    n_irrelevant, shuffle_features, random_state : see the module, also for the values returned

    Examples
    --------
    >>> from highrelief.datasets import make_waveform
    >>> X, y, relevant = make_waveform(300, random_state=0)
    >>> X.shape, int(relevant.sum())
    ((300, 21), 19)
    """
    _require("n_classes", n_classes, 2, 3, kind=Integral)
    wave, rng = _draw_classes(n_samples, 3, n_irrelevant, random_state)
    h1, h2, h3 = (np.maximum(6 - np.abs(np.arange(1, 22) - peak), 0) for peak in (11, 15, 7))
    u = rng.uniform(size=(n_samples, 1))
    X = rng.standard_normal((n_samples, 21 + n_irrelevant))
    X[:, :21] += u * np.array([h1, h1, h2])[wave] + (1 - u) * np.array([h2, h3, h3])[wave]
    y = wave if n_classes == 3 else (wave == 0).astype(np.int64)
    return _arrange(X, y, np.flatnonzero(h1 + h2 + h3), shuffle_features, rng)


def make_fermat_spiral(
    n_samples: int = 400, *, turns: float = 2.5, noise: float = 0.0,
    n_irrelevant: int = 0, shuffle_features: bool = False, random_state: RandomSource = None,
) -> Labelled:  # fmt: skip
    """Draw points of Fermat's spiral: (r cos(theta), r sin(theta)), theta in (0, 2 pi turns].

    theta is uniform; r is sqrt(theta) in class 0 and -sqrt(theta) in class 1.

    Parameters
    ----------
    n_samples : int
    turns, noise : float
        noise is the standard deviation of normal noise added to both coordinates.
    n_irrelevant, shuffle_features, random_state : see the module, also for the values returned

    Examples
    --------
    >>> from highrelief.datasets import make_fermat_spiral
    >>> X, y, relevant = make_fermat_spiral(n_irrelevant=3, random_state=0)
    >>> X.shape, relevant.tolist()
    ((400, 5), [True, True, False, False, False])
    """
    _require("turns", turns, 0, ends="(]")
    _require("noise", noise, 0)
    y, rng = _draw_classes(n_samples, 2, n_irrelevant, random_state)
    theta = 2 * np.pi * turns * (1 - rng.uniform(size=n_samples))
    r = (1 - 2 * y) * np.sqrt(theta)
    X = rng.standard_normal((n_samples, 2 + n_irrelevant))
    X[:, :2] = noise * X[:, :2] + np.column_stack([r * np.cos(theta), r * np.sin(theta)])
    return _arrange(X, y, slice(2), shuffle_features, rng)


def make_xor(
    n_samples: int = 400, *, order: int = 2, kind: str = "continuous",
    n_irrelevant: int = 0, shuffle_features: bool = False, random_state: RandomSource = None,
) -> Labelled:  # fmt: skip
    """Draw parity data: y depends on all relevant features together and on no proper subset.

    Irrelevant features have the distribution of the relevant ones, so that no column can be told
    from another without y. The class sizes are random.

    Parameters
    ----------
    n_samples, order : int
        order, the number of relevant features, is at least 2.
    kind : {"continuous", "binary"}
        "continuous": features uniform on [-1, 1], y = 1 where the product of the relevant signs
        is positive. "binary": features are fair 0/1 coins, y = 1 where the relevant sum is odd.
    n_irrelevant, shuffle_features, random_state : see the module, also for the values returned

    Examples
    --------
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(100, kind="binary", n_irrelevant=8, random_state=0)
    >>> bool((y == (X[:, 0] != X[:, 1])).all())
    True
    """
    _require("order", order, 2, kind=Integral)
    if kind not in ("continuous", "binary"):
        raise ValueError(f"kind must be 'continuous' or 'binary', got {kind!r}")
    _, rng = _draw_classes(n_samples, 1, n_irrelevant, random_state)
    X = rng.uniform(-1, 1, size=(n_samples, order + n_irrelevant))
    if kind == "binary":
        X = (X > 0).astype(np.float64)
        y = X[:, :order].sum(axis=1) % 2
    else:
        y = np.sign(X[:, :order]).prod(axis=1) > 0
    return _arrange(X, y.astype(np.int64), slice(order), shuffle_features, rng)


def make_epistasis(
    n_samples: int = 1000, *, order: int = 2, maf: float | Sequence[float] = 0.3,
    heritability: float = 0.2, prevalence: float = 0.5, n_irrelevant: int = 0,
    irrelevant_maf: tuple[float, float] = (0.05, 0.5), shuffle_features: bool = False,
    random_state: RandomSource = None,
) -> Genotyped:  # fmt: skip
    """Draw cases and controls by a pure, strict interaction of loci (Urbanowicz et al., 2012).

    A person with genotypes g at the relevant loci is a case with probability f(g) = K + s t(g),
    where K is the prevalence. The random table t obeys sum_a p_j(a) t(..., a, ...) = 0 along
    every locus j, with p_j = ((1 - m)^2, 2 m (1 - m), m^2), the Hardy-Weinberg probabilities of
    0, 1, 2 minor alleles of frequency m. Hence any proper subset of the loci has penetrance K
    throughout. s sets the heritability Var(f) / (K (1 - K)). Cases (y = 1), half of the rows of
    the int8 array X, follow P(g) f(g) / K; controls (y = 0) follow P(g) (1 - f(g)) / (1 - K).

    Parameters
    ----------
    n_samples, order : int
        order, the number of relevant loci, is at most 6.
    maf : float or one float per relevant locus
        Minor allele frequency, above 0 and at most 0.5.
    heritability, prevalence : float
        Between 0 and 1. If none of 10 000 random tables has this heritability with all f(g) in
        [0, 1], a ValueError tells which heritability the same seed can reach.
    irrelevant_maf : (float, float)
        Irrelevant loci, in Hardy-Weinberg equilibrium, have frequencies uniform on this range.
    n_irrelevant, shuffle_features, random_state : see the module, also for the values returned

    Examples
    --------
    >>> from highrelief.datasets import make_epistasis
    >>> X, y, relevant = make_epistasis(200, n_irrelevant=98, random_state=0)
    >>> X.shape, X.dtype.name, int(y.sum())
    ((200, 100), 'int8', 100)
    """
    _require("order", order, 2, 6, kind=Integral)
    _require("heritability", heritability, 0, 1, ends="()")
    _require("prevalence", prevalence, 0, 1, ends="()")
    _require("irrelevant_maf[0]", irrelevant_maf[0], 0, 0.5, ends="(]")
    _require("irrelevant_maf[1]", irrelevant_maf[1], irrelevant_maf[0], 0.5)
    mafs = list(maf) if isinstance(maf, Sequence | np.ndarray) else [maf] * order
    if len(mafs) != order:
        raise ValueError(f"maf must be one number or order={order} numbers, got {maf!r}")
    for m in mafs:
        _require("maf", m, 0, 0.5, ends="(]")
    y, rng = _draw_classes(n_samples, 2, n_irrelevant, random_state)
    loci = [np.array([(1 - m) ** 2, 2 * m * (1 - m), m**2]) for m in mafs]
    penetrance = _draw_penetrance(loci, heritability, prevalence, rng)
    X = np.empty((n_samples, order + n_irrelevant), dtype=np.int8)
    for code, chance in enumerate((1 - penetrance, penetrance)):
        p = reduce(np.multiply.outer, loci) * chance
        cells = rng.choice(p.size, size=np.sum(y == code), p=p.ravel() / p.sum())
        X[y == code, :order] = np.transpose(np.unravel_index(cells, p.shape))
    X[:, order:] = rng.binomial(2, rng.uniform(*irrelevant_maf, n_irrelevant), X[:, order:].shape)
    return _arrange(X, y, slice(order), shuffle_features, rng)


def add_irrelevant_features(
    X: ArrayLike, n_irrelevant: int, *, random_state: RandomSource = None
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Append independent N(0, 1) columns to X as given.

    Published experiments standardise X first: do that, or scale all columns afterwards.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    n_irrelevant : int
    random_state : int, RandomState or None

    Returns
    -------
    X_new : ndarray of shape (n_samples, n_features + n_irrelevant)
        A copy; float32 stays float32, every other type becomes float64.
    relevant : ndarray of bool
        True for the columns of X.

    Examples
    --------
    >>> from highrelief.datasets import add_irrelevant_features
    >>> X_new, relevant = add_irrelevant_features([[1, 2], [3, 4]], 3, random_state=0)
    >>> X_new.shape, relevant.tolist()
    ((2, 5), [True, True, False, False, False])
    """
    _require("n_irrelevant", n_irrelevant, 0, kind=Integral)
    given = np.asarray(X)
    if given.ndim != 2:
        raise ValueError(f"X must be a dense array with 2 dimensions, got {given.ndim}")
    dtype = np.float32 if given.dtype == np.float32 else np.float64
    noise = _random_numbers(random_state).standard_normal((len(given), n_irrelevant))
    X_new = np.hstack([given.astype(dtype), noise.astype(dtype)])
    return X_new, np.arange(X_new.shape[1]) < given.shape[1]


def flip_labels(
    y: ArrayLike, fraction: float, *, random_state: RandomSource = None
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Give exactly round(fraction * n_samples) samples another class of y, drawn uniformly.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels of any type that can be sorted.
    fraction : float
        From 0 to 1. Above 0 it needs at least two classes in y.
    random_state : int, RandomState or None

    Returns
    -------
    y_noisy, flipped : ndarray of shape (n_samples,)
        The labels, with the type of y, and a boolean mask of the changed ones.

    Examples
    --------
    >>> from highrelief.datasets import flip_labels
    >>> y_noisy, flipped = flip_labels(["a", "b", "a", "b"], 0.5, random_state=0)
    >>> int(flipped.sum())
    2
    """
    _require("fraction", fraction, 0, 1)
    y_noisy = np.array(y)
    if y_noisy.ndim != 1:
        raise ValueError(f"y must have 1 dimension, got {y_noisy.ndim}")
    classes, codes = np.unique(y_noisy, return_inverse=True)
    n_classes = len(classes)
    if fraction > 0 and n_classes < 2:
        raise ValueError(f"fraction={fraction!r} needs 2 classes in y or more, got {n_classes}")
    rng = _random_numbers(random_state)
    rows = rng.permutation(len(y_noisy))[: round(fraction * len(y_noisy))]
    if len(rows):
        steps = rng.randint(1, n_classes, size=len(rows))
        y_noisy[rows] = classes[(codes[rows] + steps) % n_classes]
    return y_noisy, np.isin(np.arange(len(y_noisy)), rows)


def _draw_penetrance(
    loci: list[Floats], heritability: float, prevalence: float, rng: np.random.RandomState
) -> Floats:
    joint = reduce(np.multiply.outer, loci)
    t = rng.standard_normal((10_000, *joint.shape))
    # Projections along different loci commute, so each keeps the zero sums of the others. Not
    # weighting them by p keeps the cells of rare genotypes as small as the rest, so that far more
    # tables fit into [0, 1].
    for locus, p in enumerate(loci, start=1):
        along = np.moveaxis(t, locus, -1)
        along -= (along @ p)[..., None] * p / (p @ p)
    t = t.reshape(len(t), -1)
    t /= np.sqrt(t**2 @ joint.ravel())[:, None]
    limit = np.minimum(prevalence / -t.min(axis=1), (1 - prevalence) / t.max(axis=1))
    variance = prevalence * (1 - prevalence)
    reachable = limit**2 / variance
    if reachable.max() < heritability:
        # Rounded down, so that the same call with the value of the message works.
        unit = 10.0 ** (math.floor(math.log10(reachable.max())) - 2)
        raise ValueError(
            f"heritability={heritability!r} is out of reach of {len(t)} random penetrance tables; "
            f"with this maf, order={len(loci)}, prevalence={prevalence!r} and random_state, "
            f"heritability={math.floor(reachable.max() / unit) * unit:.3g} works"
        )
    table: Floats = t[np.argmax(reachable >= heritability)].reshape(joint.shape)
    return np.clip(prevalence + math.sqrt(heritability * variance) * table, 0, 1)


def _draw_classes(
    n_samples: int, n_classes: int, n_irrelevant: int, random_state: RandomSource
) -> tuple[NDArray[np.int64], np.random.RandomState]:
    _require("n_samples", n_samples, n_classes, kind=Integral)
    _require("n_irrelevant", n_irrelevant, 0, kind=Integral)
    rng = _random_numbers(random_state)
    return rng.permutation(np.arange(n_samples, dtype=np.int64) % n_classes), rng


def _arrange(
    X: NDArray[Any], y: NDArray[np.int64], columns: slice | NDArray[np.intp],
    shuffle_features: bool, rng: np.random.RandomState,
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.bool_]]:  # fmt: skip
    relevant = np.zeros(X.shape[1], dtype=np.bool_)
    relevant[columns] = True
    if shuffle_features:
        places = rng.permutation(X.shape[1])
        X, relevant = np.take(X, places, axis=1), relevant[places]
    return X, y, relevant


def _random_numbers(random_state: RandomSource) -> np.random.RandomState:
    # check_random_state(None) would be numpy's global generator.
    fresh = np.random.RandomState() if random_state is None else random_state
    return cast(np.random.RandomState, check_random_state(fresh))


def _require(
    name: str, value: Any, low: float, high: float = math.inf, kind: Any = Real, ends: str = "[]"
) -> None:
    inside = isinstance(value, kind) and math.isfinite(value) and low <= value <= high
    if not inside or (ends[0] == "(" and value == low) or (ends[1] == ")" and value == high):
        noun = "an integer" if kind is Integral else "a finite number"
        limits = f"{ends[0]}{low}, {high}{ends[1]}"
        raise ValueError(f"{name} must be {noun} in {limits}, got {value!r}")
