"""Synthetic data with known relevant features, irrelevant features and label noise.

The generators ``make_...`` return X, y and a mask of the relevant columns. Their irrelevant columns come last
unless ``shuffle_features`` is set, and NumPy's global random state is neither read nor changed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._engine.parameters import check_choice, check_count, check_flag, check_number, random_generator

__all__ = [
    "add_irrelevant_features",
    "flip_labels",
    "make_epistasis",
    "make_fermat_spiral",
    "make_ringnorm",
    "make_twonorm",
    "make_waveform",
    "make_xor",
]

RandomSource = int | np.random.RandomState | None
Floats = NDArray[np.float64]
Labeled = tuple[Floats, NDArray[np.int64], NDArray[np.bool_]]
Genotyped = tuple[NDArray[np.int8], NDArray[np.int64], NDArray[np.bool_]]


def make_ringnorm(
    n_samples: int = 400,
    *,
    n_features: int = 20,
    mean: float | None = None,
    n_irrelevant: int = 0,
    shuffle_features: bool = False,
    random_state: RandomSource = None,
) -> Labeled:
    r"""Draw ringnorm: a wide normal cloud with a narrow one inside it.

    .. math::
        x \mid y = 0 \sim N(0, 4 I), \qquad x \mid y = 1 \sim N((a, \dots, a), I)

    Parameters
    ----------
    n_samples : int, default=400
        Number of rows; at least 2.
    n_features : int, default=20
        Number of relevant columns; at least 1.
    mean : float or None, default=None
        The mean a of class 1 in every relevant column; None means 2 / sqrt(n_features). With 20 features
        that is the value of the benchmark files in circulation, while the report printed 1 / sqrt(20).
    n_irrelevant : int, default=0
        Number of irrelevant columns, independent N(0, 1), to put after the n_features columns of the problem.
    shuffle_features : bool, default=False
        Whether to permute all columns, and ``relevant`` with them, in the end.
    random_state : int, RandomState or None, default=None
        Seed or source of the random numbers; None draws fresh ones. The same int gives the same data.

    Returns
    -------
    X : float64 array of shape (n_samples, n_features + n_irrelevant)
        The samples.
    y : int64 array of shape (n_samples,)
        0 for the wide class around the origin, 1 for the narrow one; in random order, class sizes equal or
        one apart.
    relevant : bool array of shape (n_features + n_irrelevant,)
        True for the columns of the problem, False for the irrelevant ones.

    References
    ----------
    Breiman, L. (1996). Bias, variance, and arcing classifiers. Technical Report 460, Statistics
    Department, University of California, Berkeley.

    Examples
    --------
    >>> from highrelief.datasets import make_ringnorm
    >>> X, y, relevant = make_ringnorm(300, n_irrelevant=5, random_state=0)
    >>> X.shape, int(relevant.sum())
    ((300, 25), 20)
    >>> bool(X[y == 0][:, relevant].std() > X[y == 1][:, relevant].std())
    True
    """
    check_count("n_features", n_features)
    shift = 2 / math.sqrt(n_features) if mean is None else mean
    check_number("mean", shift)
    y, rng = _draw_classes(n_samples, 2, n_irrelevant, shuffle_features, random_state)
    X = rng.standard_normal((n_samples, n_features + n_irrelevant))
    X[y == 0, :n_features] *= 2
    X[y == 1, :n_features] += shift
    return _arrange(X, y, slice(n_features), shuffle_features, rng)


def make_twonorm(
    n_samples: int = 400,
    *,
    n_features: int = 20,
    n_irrelevant: int = 0,
    shuffle_features: bool = False,
    random_state: RandomSource = None,
) -> Labeled:
    r"""Draw twonorm: two normal clouds of the same shape.

    .. math::
        x \mid y = 0 \sim N((a, \dots, a), I), \qquad x \mid y = 1 \sim N((-a, \dots, -a), I),
        \qquad a = 2 / \sqrt{n_\text{features}}

    The best rule, the sign of the sum of the relevant columns, errs on Φ(−2) = 2.3 % of the samples, with any
    n_features.

    Parameters
    ----------
    n_samples : int, default=400
        Number of rows; at least 2.
    n_features : int, default=20
        Number of relevant columns; at least 1.
    n_irrelevant : int, default=0
        Number of irrelevant columns, independent N(0, 1), to put after the n_features columns of the problem.
    shuffle_features : bool, default=False
        Whether to permute all columns, and ``relevant`` with them, in the end.
    random_state : int, RandomState or None, default=None
        Seed or source of the random numbers; None draws fresh ones. The same int gives the same data.

    Returns
    -------
    X : float64 array of shape (n_samples, n_features + n_irrelevant)
        The samples.
    y : int64 array of shape (n_samples,)
        0 for the class with mean a, 1 for the one with mean −a; in random order, class sizes equal or one
        apart.
    relevant : bool array of shape (n_features + n_irrelevant,)
        True for the columns of the problem, False for the irrelevant ones.

    References
    ----------
    Breiman, L. (1996). Bias, variance, and arcing classifiers. Technical Report 460, Statistics
    Department, University of California, Berkeley.

    Examples
    --------
    >>> from highrelief.datasets import make_twonorm
    >>> X, y, relevant = make_twonorm(300, random_state=0)
    >>> X.shape
    (300, 20)
    >>> bool(X[y == 0].mean() > 0 > X[y == 1].mean())
    True
    """
    check_count("n_features", n_features)
    y, rng = _draw_classes(n_samples, 2, n_irrelevant, shuffle_features, random_state)
    X = rng.standard_normal((n_samples, n_features + n_irrelevant))
    X[:, :n_features] += (1 - 2 * y[:, None]) * (2 / math.sqrt(n_features))
    return _arrange(X, y, slice(n_features), shuffle_features, rng)


def make_waveform(
    n_samples: int = 400,
    *,
    n_classes: int = 3,
    n_irrelevant: int = 0,
    shuffle_features: bool = False,
    random_state: RandomSource = None,
) -> Labeled:
    r"""Draw noisy mixtures of two out of three triangular waves.

    With the waves, for i = 1, ..., 21,

    .. math::
        h_1(i) = \max(6 - |i - 11|, 0), \qquad h_2(i) = h_1(i - 4), \qquad h_3(i) = h_1(i + 4)

    one u per row, uniform on [0, 1], and ε_i from N(0, 1), column i of a row is

    .. math::
        x_i = u\, h_a(i) + (1 - u)\, h_b(i) + \varepsilon_i

    where (a, b) is (1, 2) in class 0, (1, 3) in class 1 and (2, 3) in class 2.

    Columns i = 1 and i = 21 are marked irrelevant: all three waves are 0 there. With 2 classes column
    i = 10 is informative only in combination with others (h3 is halfway between h1 and h2).

    Parameters
    ----------
    n_samples : int, default=400
        Number of rows; at least 3.
    n_classes : {3, 2}, default=3
        Number of classes. 2 means class (1, 2), a third of the rows, as y = 1 against the rest as y = 0,
        like the two-class benchmark files (1647 against 3353 rows).
    n_irrelevant : int, default=0
        Number of irrelevant columns, independent N(0, 1), to put after the 21 columns of the problem.
    shuffle_features : bool, default=False
        Whether to permute all columns, and ``relevant`` with them, in the end.
    random_state : int, RandomState or None, default=None
        Seed or source of the random numbers; None draws fresh ones. The same int gives the same data.

    Returns
    -------
    X : float64 array of shape (n_samples, 21 + n_irrelevant)
        The samples.
    y : int64 array of shape (n_samples,)
        Class codes from 0 to n_classes - 1, in random order. The sizes of the three classes differ by at
        most one.
    relevant : bool array of shape (21 + n_irrelevant,)
        True for the 19 columns in which a wave is not 0.

    References
    ----------
    Breiman, L., Friedman, J., Olshen, R. and Stone, C. (1984). Classification and Regression Trees.
    Wadsworth.

    Examples
    --------
    >>> from highrelief.datasets import make_waveform
    >>> X, y, relevant = make_waveform(300, random_state=0)
    >>> X.shape, int(relevant.sum())
    ((300, 21), 19)
    >>> [int((y == code).sum()) for code in (0, 1, 2)]
    [100, 100, 100]
    """
    check_count("n_classes", n_classes, at_least=2, at_most=3, of="classes of waves")
    wave, rng = _draw_classes(n_samples, 3, n_irrelevant, shuffle_features, random_state)
    h1, h2, h3 = (np.maximum(6 - np.abs(np.arange(1, 22) - peak), 0) for peak in (11, 15, 7))
    u = rng.uniform(size=(n_samples, 1))
    X = rng.standard_normal((n_samples, 21 + n_irrelevant))
    X[:, :21] += u * np.array([h1, h1, h2])[wave] + (1 - u) * np.array([h2, h3, h3])[wave]
    y = wave if n_classes == 3 else (wave == 0).astype(np.int64)
    return _arrange(X, y, np.flatnonzero(h1 + h2 + h3), shuffle_features, rng)


def make_fermat_spiral(
    n_samples: int = 400,
    *,
    turns: float = 2.5,
    noise: float = 0.0,
    n_irrelevant: int = 0,
    shuffle_features: bool = False,
    random_state: RandomSource = None,
) -> Labeled:
    r"""Draw points of the two branches of Fermat's spiral.

    .. math::
        x = (r \cos\theta, r \sin\theta) + \varepsilon, \qquad r = \pm\sqrt\theta

    with r positive in class 0 and negative in class 1, θ uniform on (0, 2π turns] and ε from N(0, noise² I).

    Parameters
    ----------
    n_samples : int, default=400
        Number of rows; at least 2.
    turns : float, default=2.5
        How often each branch goes round the origin; above 0.
    noise : float, default=0.0
        Standard deviation of the normal noise ε in both coordinates; at least 0.
    n_irrelevant : int, default=0
        Number of irrelevant columns, independent N(0, 1), to put after the two coordinates of the problem.
    shuffle_features : bool, default=False
        Whether to permute all columns, and ``relevant`` with them, in the end.
    random_state : int, RandomState or None, default=None
        Seed or source of the random numbers; None draws fresh ones. The same int gives the same data.

    Returns
    -------
    X : float64 array of shape (n_samples, 2 + n_irrelevant)
        The samples: the two coordinates, then the irrelevant columns.
    y : int64 array of shape (n_samples,)
        0 and 1 for the two branches, in random order, class sizes equal or one apart.
    relevant : bool array of shape (2 + n_irrelevant,)
        True for the two coordinates, False for the irrelevant columns.

    References
    ----------
    Cai, H., Ruan, P., Ng, M. and Akutsu, T. (2014). Feature weight estimation for gene selection: a local
    hyperlinear learning approach. BMC Bioinformatics 15:70.

    Examples
    --------
    >>> from highrelief.datasets import make_fermat_spiral
    >>> X, y, relevant = make_fermat_spiral(n_irrelevant=3, random_state=0)
    >>> X.shape, relevant.tolist()
    ((400, 5), [True, True, False, False, False])
    """
    check_number("turns", turns, above=0)
    check_number("noise", noise, at_least=0)
    y, rng = _draw_classes(n_samples, 2, n_irrelevant, shuffle_features, random_state)
    theta = 2 * np.pi * turns * (1 - rng.uniform(size=n_samples))
    r = (1 - 2 * y) * np.sqrt(theta)
    X = rng.standard_normal((n_samples, 2 + n_irrelevant))
    X[:, :2] = noise * X[:, :2] + np.column_stack([r * np.cos(theta), r * np.sin(theta)])
    return _arrange(X, y, slice(2), shuffle_features, rng)


def make_xor(
    n_samples: int = 400,
    *,
    order: int = 2,
    kind: str = "continuous",
    n_irrelevant: int = 0,
    shuffle_features: bool = False,
    random_state: RandomSource = None,
) -> Labeled:
    r"""Draw parity data: the relevant features determine the class, no proper subset is informative.

    .. math::
        y = \Big[\prod_{j \le \text{order}} \operatorname{sign}(x_j) > 0\Big] \text{ (continuous)}, \qquad
        y = \sum_{j \le \text{order}} x_j \bmod 2 \text{ (binary)}

    Irrelevant features have the distribution of the relevant ones.

    Parameters
    ----------
    n_samples : int, default=400
        Number of rows; at least 1.
    order : int, default=2
        Number of relevant columns; at least 2.
    kind : {"continuous", "binary"}, default="continuous"
        Distribution of every column: "continuous" is uniform on [-1, 1], "binary" a fair coin, 0 or 1.
    n_irrelevant : int, default=0
        Number of irrelevant columns, distributed according to ``kind``, to put after the relevant ones.
    shuffle_features : bool, default=False
        Whether to permute all columns, and ``relevant`` with them, in the end.
    random_state : int, RandomState or None, default=None
        Seed or source of the random numbers; None draws fresh ones. The same int gives the same data.

    Returns
    -------
    X : float64 array of shape (n_samples, order + n_irrelevant)
        The samples.
    y : int64 array of shape (n_samples,)
        The parity, 0 or 1. The rows are independent, so the class sizes are random.
    relevant : bool array of shape (order + n_irrelevant,)
        True for the columns that make up the parity.

    References
    ----------
    Robnik-Šikonja, M. and Kononenko, I. (2003). Theoretical and empirical analysis of ReliefF and RReliefF.
    Machine Learning 53, 23-69.

    Examples
    --------
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(100, kind="binary", n_irrelevant=8, random_state=0)
    >>> X.shape, int(relevant.sum())
    ((100, 10), 2)
    >>> bool((y == (X[:, 0] != X[:, 1])).all())
    True
    """
    check_count("order", order, at_least=2)
    check_choice("kind", kind, ("continuous", "binary"))
    _, rng = _draw_classes(n_samples, 1, n_irrelevant, shuffle_features, random_state)
    X = rng.uniform(-1, 1, size=(n_samples, order + n_irrelevant))
    if kind == "binary":
        X = (X > 0).astype(np.float64)
        y = X[:, :order].sum(axis=1) % 2
    else:
        y = np.sign(X[:, :order]).prod(axis=1) > 0
    return _arrange(X, y.astype(np.int64), slice(order), shuffle_features, rng)


def make_epistasis(
    n_samples: int = 1000,
    *,
    order: int = 2,
    maf: float | Sequence[float] = 0.3,
    heritability: float = 0.2,
    prevalence: float = 0.5,
    n_irrelevant: int = 0,
    irrelevant_maf: tuple[float, float] = (0.05, 0.5),
    shuffle_features: bool = False,
    random_state: RandomSource = None,
) -> Genotyped:
    r"""Draw cases and controls by a pure, strict interaction of loci.

    A person with genotypes g at the relevant loci is a case with probability

    .. math::
        f(g) = K + s\, t(g), \qquad \sum_{a=0}^{2} p_j(a)\, t(\dots, a, \dots) = 0 \text{ along every } j,
        \qquad p_j = ((1 - m_j)^2, 2 m_j (1 - m_j), m_j^2)

    where K is the prevalence, t a random table and p_j(a) the Hardy-Weinberg probability of a minor alleles
    of frequency m_j. The zero sums make any proper subset of the loci have penetrance K throughout; s sets
    the heritability Var(f) / (K (1 − K)). Cases follow P(g) f(g) / K and controls P(g) (1 − f(g)) / (1 − K),
    with P the product of the p_j.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows; at least 2.
    order : int, default=2
        Number of relevant loci, from 2 to 6.
    maf : float or sequence of order floats, default=0.3
        Minor allele frequency m of the relevant loci, one for all or one for each; above 0, at most 0.5.
    heritability : float, default=0.2
        Share of the variance of the disease that the genotypes explain; above 0 and below 1. If none of
        10 000 random tables has this heritability with all f(g) in [0, 1], a ValueError states which
        heritability the same seed reaches.
    prevalence : float, default=0.5
        Share K of cases in the population; above 0 and below 1. In the sample it is always one half.
    n_irrelevant : int, default=0
        Number of irrelevant loci, independent and in Hardy-Weinberg equilibrium, to put after the relevant.
    irrelevant_maf : pair of floats, default=(0.05, 0.5)
        Range of the minor allele frequencies of the irrelevant loci, which are uniform on it; above 0 and at
        most 0.5.
    shuffle_features : bool, default=False
        Whether to permute all columns, and ``relevant`` with them, in the end.
    random_state : int, RandomState or None, default=None
        Seed or source of the random numbers; None draws fresh ones. The same int gives the same data.

    Returns
    -------
    X : int8 array of shape (n_samples, order + n_irrelevant)
        The genotypes: the number of minor alleles, 0, 1 or 2.
    y : int64 array of shape (n_samples,)
        1 for cases and 0 for controls, in random order, as many cases as controls or one control more.
    relevant : bool array of shape (order + n_irrelevant,)
        True for the interacting loci.

    References
    ----------
    Urbanowicz, R., Kiralis, J., Sinnott-Armstrong, N., Heberling, T., Fisher, J. and Moore, J. (2012).
    GAMETES: a fast, direct algorithm for generating pure, strict, epistatic models with random
    architectures. BioData Mining 5, 16.

    Examples
    --------
    >>> from highrelief.datasets import make_epistasis
    >>> X, y, relevant = make_epistasis(200, n_irrelevant=98, random_state=0)
    >>> X.shape, X.dtype.name, int(y.sum())
    ((200, 100), 'int8', 100)
    """
    check_count("order", order, at_least=2, at_most=6, of="loci of the largest table")
    _check_probability("heritability", heritability)
    _check_probability("prevalence", prevalence)
    if np.shape(irrelevant_maf) != (2,):
        raise ValueError(f"irrelevant_maf={irrelevant_maf!r} must be two numbers, the ends of a range.")
    check_number("irrelevant_maf[0]", irrelevant_maf[0], above=0, at_most=0.5)
    check_number("irrelevant_maf[1]", irrelevant_maf[1], at_least=irrelevant_maf[0], at_most=0.5)
    mafs = list(maf) if isinstance(maf, Sequence | np.ndarray) else [maf] * order
    if len(mafs) != order:
        raise ValueError(f"maf={maf!r} must be one number, or order={order} numbers.")
    for m in mafs:
        check_number("maf", m, above=0, at_most=0.5)
    y, rng = _draw_classes(n_samples, 2, n_irrelevant, shuffle_features, random_state)
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
    r"""Append independent N(0, 1) columns to X as given.

    .. math::
        X_\text{new} = [X, Z], \qquad z_{ij} \sim N(0, 1)

    Published experiments standardize X first: do that, or scale all columns afterwards.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The samples, dense. They are copied, not changed.
    n_irrelevant : int
        Number of columns to append; 0 gives a copy of X.
    random_state : int, RandomState or None, default=None
        Seed or source of the random numbers; None draws fresh ones. The same int gives the same data.

    Returns
    -------
    X_new : array of shape (n_samples, n_features + n_irrelevant)
        The columns of X, then the new ones; float32 stays float32, every other type becomes float64.
    relevant : bool array of shape (n_features + n_irrelevant,)
        True for the columns of X, False for the new ones.

    References
    ----------
    Sun, Y. (2007). Iterative RELIEF for feature weighting: algorithms, theories, and applications. IEEE
    TPAMI 29(6), 1035-1051.

    Examples
    --------
    >>> from highrelief.datasets import add_irrelevant_features
    >>> X_new, relevant = add_irrelevant_features([[1, 2], [3, 4]], 3, random_state=0)
    >>> X_new.shape, relevant.tolist()
    ((2, 5), [True, True, False, False, False])
    """
    check_count("n_irrelevant", n_irrelevant, at_least=0)
    original = np.asarray(X)
    if original.ndim != 2:
        raise ValueError(f"X must be a dense array with 2 dimensions, but has {original.ndim}.")
    dtype = np.float32 if original.dtype == np.float32 else np.float64
    rng = random_generator("random_state", random_state)
    noise = rng.standard_normal((len(original), n_irrelevant))
    X_new = np.hstack([original.astype(dtype), noise.astype(dtype)])
    return X_new, np.arange(X_new.shape[1]) < original.shape[1]


def flip_labels(
    y: ArrayLike, fraction: float, *, random_state: RandomSource = None
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    r"""Give a fraction of the samples a wrong class.

    Exactly round(fraction · n_samples) samples, drawn without replacement, change from their class c to one
    of the others,

    .. math::
        P(\tilde y = c' \mid y = c, \text{changed}) = 1 / (C - 1) \quad \text{for every } c' \ne c

    with C the number of classes in y.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels of any type that can be sorted. They are copied, not changed.
    fraction : float
        Share of the labels to change, from 0 to 1. Above 0 it needs at least two classes in y.
    random_state : int, RandomState or None, default=None
        Seed or source of the random numbers; None draws fresh ones. The same int gives the same labels.

    Returns
    -------
    y_noisy : array of shape (n_samples,)
        The labels after the change, with the type of y.
    flipped : bool array of shape (n_samples,)
        True for the samples whose label was changed.

    References
    ----------
    Frénay, B. and Verleysen, M. (2014). Classification in the presence of label noise: a survey. IEEE
    Transactions on Neural Networks and Learning Systems 25(5), 845-869.

    Examples
    --------
    >>> from highrelief.datasets import flip_labels
    >>> y_noisy, flipped = flip_labels(["a", "b", "a", "b"], 0.5, random_state=0)
    >>> int(flipped.sum())
    2
    """
    check_number("fraction", fraction, at_least=0, at_most=1)
    y_noisy = np.array(y)
    if y_noisy.ndim != 1:
        raise ValueError(f"y must have 1 dimension, but has {y_noisy.ndim}.")
    classes, codes = np.unique(y_noisy, return_inverse=True)
    n_classes = len(classes)
    if fraction > 0 and n_classes < 2:
        raise ValueError(f"fraction={fraction!r} needs 2 classes or more in y, which has {n_classes}; use 0.")
    rng = random_generator("random_state", random_state)
    rows = rng.permutation(len(y_noisy))[: round(fraction * len(y_noisy))]
    if len(rows):
        steps = rng.randint(1, n_classes, size=len(rows))
        y_noisy[rows] = classes[(codes[rows] + steps) % n_classes]
    return y_noisy, np.isin(np.arange(len(y_noisy)), rows)


def _draw_penetrance(
    loci: list[Floats], heritability: float, prevalence: float, rng: np.random.RandomState
) -> Floats:
    """Penetrance of every genotype, from the first random table that reaches the heritability."""
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
            f"heritability={heritability!r} is not reached by {len(t)} random penetrance tables; "
            f"with this maf, order={len(loci)}, prevalence={prevalence!r} and random_state, "
            f"heritability={math.floor(reachable.max() / unit) * unit:.3g} works."
        )
    table: Floats = t[np.argmax(reachable >= heritability)].reshape(joint.shape)
    return np.clip(prevalence + math.sqrt(heritability * variance) * table, 0, 1)


def _draw_classes(
    n_samples: int, n_classes: int, n_irrelevant: int, shuffle_features: bool, random_state: RandomSource
) -> tuple[NDArray[np.int64], np.random.RandomState]:
    """Check the shared parameters; return class codes in random order and the random generator."""
    check_count("n_samples", n_samples, at_least=n_classes)
    check_count("n_irrelevant", n_irrelevant, at_least=0)
    check_flag("shuffle_features", shuffle_features)
    rng = random_generator("random_state", random_state)
    return rng.permutation(np.arange(n_samples, dtype=np.int64) % n_classes), rng


def _arrange(
    X: NDArray[Any],
    y: NDArray[np.int64],
    columns: slice | NDArray[np.intp],
    shuffle_features: bool,
    rng: np.random.RandomState,
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.bool_]]:
    """Mark the relevant columns, and permute all columns if requested."""
    relevant = np.zeros(X.shape[1], dtype=np.bool_)
    relevant[columns] = True
    if shuffle_features:
        places = rng.permutation(X.shape[1])
        X, relevant = np.take(X, places, axis=1), relevant[places]
    return X, y, relevant


def _check_probability(name: str, value: Any) -> None:
    """Raise unless ``value`` is a number in the open interval (0, 1)."""
    check_number(name, value, above=0)
    if value >= 1:
        raise ValueError(f"{name}={value!r} must be a finite number > 0 and < 1.")
