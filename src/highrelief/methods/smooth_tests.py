"""Smooth tests of pairs of numbers against classes, by smooth functions of their ranks.

A number x becomes the functions cos(k·π·u), k = 1, …, 6, of its relative rank u, with the weights 0.9^k;
levels become one function each, with weights that make the sum of squares that of Pearson. Within each
stratum functions have the mean 0, and so have the residuals r of the class. If a feature is independent of
the class, alone or together with a partner, r is uncorrelated with the functions f and with their products
(Neyman 1937). Statistics:

    interaction   T_ij = Σ_kl w_k w_l (Σ_n r_n f_k(x_ni) f_l(x_nj))²
    conditional   S_j + T_ij, of feature j given i, with S_j = Σ_k w_k (Σ_n r_n f_k(x_nj))²

summed over the dimensions of r, one less than there are classes. These weighted sums of χ² variables become
normal deviates by their means and variances. A few smooth functions see less than counts in many cells would,
and need fewer samples for what they see.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from .._engine.categories import MISSING
from .._engine.threads import even_ranges, one_blas_thread, run_all

#: Functions of a number, and the weight of each relative to the one before.
N_FUNCTIONS = 6
DECAY = 0.9
#: Functions of a block of features, whose pairs are tested at once; blocks that a thread takes at a time.
_BLOCK = 768
_BLOCKS_PER_TASK = 4
#: Pairs whose functions are correlated at a time.
_PAIRS_AT_ONCE = 64
#: Progress reports of the tests of all pairs.
MOST_STEPS = 16
#: Smallest share of variance of a function, or of a residual, that is not taken for rounding.
_LEAST = 1e-9


class Functions(NamedTuple):
    """Features as functions with mean 0 and, with weight w, mean square w; 0 where a value is missing."""

    #: (n_functions, n_features of the block, n_samples), by block; the features of a block have equally many.
    values: list[NDArray[np.float32]]
    #: Features of each block.
    features: list[NDArray[np.int64]]
    #: (n_features,) mean, and half the variance, of the weighted sum of squares of normal deviates.
    mean: NDArray[np.float64]
    half_variance: NDArray[np.float64]


class SmoothTests(NamedTuple):
    """Deviates, nearly normal for noise; 0, and a partner -1, where none is above 0."""

    #: (n_features,) largest of the feature given a partner, and this partner.
    conditional: NDArray[np.float64]
    partner: NDArray[np.int64]
    #: (n_features,) largest of the interaction with a partner, and this partner.
    interaction: NDArray[np.float64]
    interaction_partner: NDArray[np.int64]


class _Unscaled(NamedTuple):
    """Functions before they are standardized."""

    #: (n_functions, n_features, n_samples).
    values: NDArray[np.float32]
    #: (n_features, n_samples) where no value is missing.
    is_known: NDArray[np.bool_]
    #: (n_functions, 1 or n_features, 1).
    weights: NDArray[np.float64]


# Functions


def functions_of(
    X: NDArray[Any],
    codes: NDArray[np.int8],
    is_level: NDArray[np.bool_],
    strata: NDArray[np.int64] | None = None,
) -> Functions:
    """Return the functions of features.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Numbers, NaN where one is missing; not used where features are levels.
    codes : array of shape (number of features that are levels, n_samples)
        Levels 0, 1, …, -1 where one is missing.
    is_level : array of shape (n_features,)
        Which features are levels.
    strata : array of shape (n_samples,), default=None
        Strata 0, 1, … of the samples, within which functions have the mean 0.

    Returns
    -------
    functions : Functions
        Functions of all features.
    """
    n_features = len(is_level)
    strata = _all_in_one(strata, len(X))
    place = np.cumsum(is_level) - 1
    n_functions = np.full(n_features, N_FUNCTIONS)
    n_functions[is_level] = codes.max(axis=1, initial=0) + 1
    found = Functions([], [], np.zeros(n_features), np.zeros(n_features))
    for kind in np.unique(np.column_stack([is_level, n_functions]), axis=0):
        alike = np.flatnonzero((is_level == kind[0]) & (n_functions == kind[1]))
        for start, end in even_ranges(alike.size, -(-alike.size * int(kind[1]) // _BLOCK)):
            block = alike[start:end]
            of_block = _of_levels(codes[place[block]], int(kind[1])) if kind[0] else _of_numbers(X[:, block])
            values = _standardized(*of_block, strata)
            products = (values.transpose(1, 0, 2) @ values.transpose(1, 2, 0)).astype(np.float64) / len(X)
            found.mean[block] = np.trace(products, axis1=1, axis2=2)
            found.half_variance[block] = (products**2).sum(axis=(1, 2))
            found.values.append(values)
            found.features.append(block)
    return found


def _of_numbers(X: NDArray[Any]) -> _Unscaled:
    columns = X.T.astype(np.float64)
    is_known = ~np.isnan(columns)
    n_known = is_known.sum(axis=1, keepdims=True).clip(1)
    angles = np.pi * (rankdata(np.where(is_known, columns, np.inf), axis=1) - 0.5) / n_known
    values = np.empty((N_FUNCTIONS, *angles.shape), np.float32)
    values[0] = np.cos(angles.astype(np.float32))
    before: Any = 1.0
    for k in range(1, N_FUNCTIONS):
        # cos((k + 1)·a) = 2·cos(a)·cos(k·a) - cos((k - 1)·a)
        values[k] = 2.0 * values[0] * values[k - 1] - before
        before = values[k - 1]
    weights = np.power(DECAY, np.arange(1.0, N_FUNCTIONS + 1.0))
    return _Unscaled(values, is_known, weights[:, np.newaxis, np.newaxis])


def _of_levels(codes: NDArray[np.int8], n_levels: int) -> _Unscaled:
    is_known = codes != MISSING
    members = (codes == np.arange(n_levels)[:, np.newaxis, np.newaxis]).astype(np.float32)
    n_known = is_known.sum(axis=1, keepdims=True).clip(1)
    return _Unscaled(members, is_known, 1.0 - members.sum(axis=2, keepdims=True) / n_known)


def _standardized(
    values: NDArray[np.float32],
    is_known: NDArray[np.bool_],
    weights: NDArray[np.float64],
    strata: NDArray[np.int64],
) -> NDArray[np.float32]:
    """Return functions with mean 0 in each stratum and the weights as mean squares."""
    values *= is_known
    members = _members(strata)
    means = (values @ members) / (is_known @ members).clip(1.0)
    values -= (means @ members.T) * is_known
    square = (values**2).mean(axis=2, keepdims=True)
    scale = np.sqrt(np.where(square > _LEAST, weights / np.maximum(square, _LEAST), 0.0))
    values *= scale.astype(np.float32)
    return values


def _members(strata: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return which samples are in which strata, (n_samples, n_strata)."""
    return (np.arange(int(strata.max()) + 1) == strata[:, np.newaxis]).astype(np.float32)


def _all_in_one(strata: NDArray[np.int64] | None, n_samples: int) -> NDArray[np.int64]:
    return np.zeros(n_samples, np.int64) if strata is None else strata


def residuals(y: NDArray[np.int64], n_classes: int, strata: NDArray[np.int64] | None) -> NDArray[np.float64]:
    """Return the residuals of the classes within strata as orthonormal columns, at most n_classes - 1."""
    strata = _all_in_one(strata, y.size)
    members = np.eye(n_classes)[y]
    sums = np.zeros((int(strata.max()) + 1, n_classes))
    np.add.at(sums, strata, members)
    left = members - (sums / sums.sum(axis=1, keepdims=True).clip(1.0))[strata]
    variances, directions = np.linalg.eigh(left.T @ left)
    some = variances > _LEAST * y.size
    return left @ (directions[:, some] / np.sqrt(variances[some]))


# Tests


def smooth_tests(
    functions: Functions,
    y: NDArray[np.int64],
    n_classes: int,
    *,
    strata: NDArray[np.int64] | None = None,
    n_threads: int = 1,
    advance: Callable[[], object] = lambda: None,
) -> SmoothTests:
    """Test all pairs of features.

    Parameters
    ----------
    functions : Functions
        The features.
    y : array of shape (n_samples,)
        Classes 0, 1, …
    n_classes : int
        Number of classes.
    strata : array of shape (n_samples,), default=None
        Strata 0, 1, … of the samples, within which features are tested.
    n_threads : int, default=1
        Number of threads; the result is the same for any.
    advance : callable
        Called at most ``MOST_STEPS`` times.

    Returns
    -------
    tests : SmoothTests
        Deviates and partners.
    """
    tests = _Tests(functions, y, n_classes, strata)
    n_features = functions.mean.size
    z, partners = np.zeros((2, n_features)), np.full((2, n_features), -1)
    tasks = _tasks(len(functions.values))
    for start, end in even_ranges(len(tasks), MOST_STEPS):
        for found in run_all(tests.of_blocks, tasks[start:end], n_threads):
            for features, others, largest, at in found:
                better = largest > z[:, features]
                z[:, features] = np.where(better, largest, z[:, features])
                partners[:, features] = np.where(better, others[at], partners[:, features])
        advance()
    for kind in (0, 1):
        features = np.flatnonzero(partners[kind] >= 0)
        ranges = even_ranges(features.size, -(-features.size // _PAIRS_AT_ONCE))
        best = [
            (features[start:end], partners[kind, features[start:end]], kind == 0) for start, end in ranges
        ]
        if features.size:
            z[kind, features] = np.maximum(np.concatenate(run_all(tests.of_pairs, best, n_threads)), 0.0)
    return SmoothTests(z[0], partners[0], z[1], partners[1])


def _tasks(n_blocks: int) -> list[tuple[int, int, int]]:
    """Return ranges of blocks to be paired with a block: (block, first, end)."""
    return [
        (block, first, min(first + _BLOCKS_PER_TASK, n_blocks))
        for block in range(n_blocks)
        for first in range(block, n_blocks, _BLOCKS_PER_TASK)
    ]


class _Tests:
    """Tests of features against residuals."""

    def __init__(
        self,
        functions: Functions,
        y: NDArray[np.int64],
        n_classes: int,
        strata: NDArray[np.int64] | None,
    ) -> None:
        self.features = functions.features
        self.mean, self.half_variance = functions.mean, functions.half_variance
        self.members = _members(_all_in_one(strata, y.size))
        self.residuals = residuals(y, n_classes, strata).T.astype(np.float32)
        # Of a sum over the dimensions of the residuals.
        self.n_dimensions = len(self.residuals)
        # Where classes differ in size, samples of the smaller one have larger residuals, and the sum over
        # samples of r·f has the mean square of f over them, in proportion to r².
        self.squares = (self.residuals**2).sum(axis=0) / np.float32(max(self.n_dimensions, 1))
        self.values = []
        self.sums = np.zeros(functions.mean.size)
        #: (n_features, 2) block of each feature, and its place there.
        self.places = np.zeros((functions.mean.size, 2), np.int64)
        for block, (features, values) in enumerate(zip(functions.features, functions.values, strict=True)):
            variances = values**2 @ self.squares
            ratio = (values**2).mean(axis=2) / np.maximum(variances, np.float32(_LEAST))
            self.values.append(values * np.sqrt(ratio)[:, :, np.newaxis])
            self.sums[features] = ((self.values[-1] @ self.residuals.T) ** 2).sum(axis=(0, 2))
            self.places[features] = np.column_stack([np.full(features.size, block), np.arange(features.size)])

    def of_blocks(self, block: int, first: int, end: int) -> list[tuple[Any, Any, Any, Any]]:
        """Test the pairs of a block with some others.

        For each side of each pair of blocks: its features, those of the other side, the largest conditional
        and interaction deviates, (2, n_features), and the places of the partners in the other side.
        """
        found = []
        for other in range(first, end):
            T = self._interactions(block, other)
            rows, columns = self.features[block], self.features[other]
            mean = self.mean[rows][:, np.newaxis] * self.mean[columns]
            half_variance = self.half_variance[rows][:, np.newaxis] * self.half_variance[columns]
            of_pairs = self._deviates(T, mean, half_variance)
            of_rows, of_columns = (
                self._deviates(
                    T + self.sums[each], mean + self.mean[each], half_variance + self.half_variance[each]
                )
                for each in (rows[:, np.newaxis], columns)
            )
            both = np.stack([of_rows, of_pairs]), np.stack([of_columns, of_pairs]).transpose(0, 2, 1)
            for features, others, z in ((rows, columns, both[0]), (columns, rows, both[1])):
                if block == other:
                    # No feature is its own partner.
                    z[:, np.arange(features.size), np.arange(features.size)] = -np.inf
                at = z.argmax(axis=2)
                found.append((features, others, np.take_along_axis(z, at[:, :, np.newaxis], 2)[:, :, 0], at))
        return found

    def of_pairs(
        self, features: NDArray[np.int64], partners: NDArray[np.int64], conditional: bool
    ) -> NDArray[np.float64]:
        """Return the deviates of some pairs, with the correlations of all their functions.

        Products of the functions of two features are uncorrelated if the features are independent, as the
        search assumes. Otherwise their sum of squares varies more, and fewer large ones are chance.
        """
        z = np.zeros(features.size)
        kinds = np.column_stack([self.places[features, 0], self.places[partners, 0]])
        for kind in np.unique(kinds, axis=0):
            some = np.flatnonzero((kinds == kind).all(axis=1))
            own = self.values[kind[0]][:, self.places[features[some], 1]].transpose(1, 0, 2)
            other = self.values[kind[1]][:, self.places[partners[some], 1]].transpose(1, 0, 2)
            functions = (own[:, :, np.newaxis] * other[:, np.newaxis]).reshape(some.size, -1, own.shape[2])
            functions = np.concatenate([own, functions], axis=1) if conditional else functions
            with one_blas_thread():
                functions -= (functions @ (self.members / self.members.sum(axis=0))) @ self.members.T
                sums = (functions @ self.residuals.T) ** 2
                products = (functions * self.squares) @ functions.transpose(0, 2, 1)
            mean = np.trace(products, axis1=1, axis2=2).astype(np.float64)
            # A square of a residual does not vary with the label as a product of two does.
            own_products = ((functions**2).sum(axis=1) * self.squares) ** 2
            half_variance = (products**2).sum(axis=(1, 2)).astype(np.float64) - own_products.sum(axis=1)
            half_variance = np.maximum(half_variance, mean**2 / functions.shape[1])
            z[some] = self._deviates(sums.sum(axis=(1, 2)).astype(np.float64), mean, half_variance)
        return z

    def _interactions(self, block: int, other: int) -> NDArray[np.float64]:
        """Return the sums of squares of the products of two blocks, (n_features, n_features)."""
        A, B = self.values[block], self.values[other]
        n_samples = A.shape[2]
        sums = np.zeros((A.shape[1], B.shape[1]), np.float32)
        for residual in self.residuals:
            with one_blas_thread():
                products = A.reshape(-1, n_samples) @ (B * residual).reshape(-1, n_samples).T
            np.multiply(products, products, out=products)
            sums += products.reshape(*A.shape[:2], *B.shape[:2]).sum(axis=0).sum(axis=1)
        return sums.astype(np.float64)

    def _deviates(
        self, sums: NDArray[np.float64], mean: NDArray[np.float64], half_variance: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return normal deviates of weighted sums of χ² variables; 0 where there is nothing to sum up.

        A χ² variable of the same mean and variance (Satterthwaite 1946) becomes normal as by Wilson and
        Hilferty (1931).
        """
        mean, half_variance = self.n_dimensions * mean, self.n_dimensions * half_variance
        some = mean > 0.0
        ratio = np.divide(sums, mean, out=np.zeros_like(sums), where=some)
        width = np.divide(2.0 * half_variance, 9.0 * mean**2, out=np.ones_like(mean), where=some)
        return np.where(some, (np.cbrt(ratio) - 1.0 + width) / np.sqrt(width), 0.0)
