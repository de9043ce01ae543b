"""How much columns say the same: correlations of numbers, Cramér's V of categories."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .threads import one_blas_thread

#: What similarity may be, of numbers.
SIMILARITIES = ("pearson", "spearman")
#: Similarities are exact to so many digits: rounding must not tell apart what is the same.
DIGITS = 12
#: A variance below this part of the mean square is rounding.
_ROUNDING = 1e-12


def similarities(
    values: NDArray[np.float64],
    kind: str = "pearson",
    *,
    categorical: NDArray[np.bool_] | None = None,
    copies: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """How much each two columns say the same, from 0 to 1.

    |r| of two numbers, Cramér's V of two categories, each by the samples that have both; 0 for a number and a
    category, for a constant column, and for columns that are never known together.

    Parameters
    ----------
    values : (n_samples, n_columns) float64
        Numbers; those of categories are names. NaN where a value is missing.
    kind : {"pearson", "spearman"}
        Spearman's correlation is Pearson's of the ranks, which are those among all known values of a column.
    categorical : (n_columns,) bool or None
        Which columns are categories.
    copies : (n_samples,) float64 or None
        How often each sample counts.

    Returns
    -------
    matrix : (n_columns, n_columns) float64
        Symmetric; 1 on the diagonal.
    """
    n_columns = values.shape[1]
    is_category = np.zeros(n_columns, dtype=bool) if categorical is None else categorical
    if is_category.any():
        matrix = np.zeros((n_columns, n_columns))
        matrix[np.ix_(is_category, is_category)] = cramers_v(values[:, is_category], copies)
        matrix[np.ix_(~is_category, ~is_category)] = _correlations(values[:, ~is_category], kind, copies)
    else:
        matrix = _correlations(values, kind, copies)
    np.abs(matrix, out=matrix)
    np.nan_to_num(matrix, copy=False)
    np.round(matrix, DIGITS, out=matrix)
    np.fill_diagonal(matrix, 1.0)
    return matrix


def _correlations(
    values: NDArray[np.float64], kind: str, copies: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    if kind == "spearman":
        values = midranks(values, copies)
    return pairwise_pearson(values, copies) if np.isnan(values).any() else pearson(values, copies)


def pearson(values: NDArray[np.float64], copies: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Pearson's correlations of columns; nan for those that are constant."""
    if not values.shape[1]:
        return np.empty((0, 0))
    scaled, varies = _in_units_of_the_range(values)
    scaled -= np.average(scaled, axis=0, weights=copies)
    if copies is not None:
        scaled *= np.sqrt(copies)[:, np.newaxis]
    unit = scaled / np.where(varies, np.linalg.norm(scaled, axis=0), np.nan)
    with one_blas_thread():
        matrix = unit.T @ unit
    np.clip(matrix, -1.0, 1.0, out=matrix)
    np.fill_diagonal(matrix, np.where(varies, 1.0, np.nan))
    return matrix


def pairwise_pearson(
    values: NDArray[np.float64], copies: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Pearson's correlations of columns, each by the samples that have both; nan where they do not vary."""
    known = ~np.isnan(values)
    scaled, varies = _in_units_of_the_range(values)
    weights = np.ones(len(values)) if copies is None else copies
    counts = np.maximum((known * weights[:, np.newaxis]).sum(axis=0), 1.0)
    # Near 0, where the differences of sums keep their digits.
    scaled -= np.nansum(scaled * weights[:, np.newaxis], axis=0) / counts
    scaled[~known] = 0.0
    there = known * weights[:, np.newaxis]
    with one_blas_thread():
        n_both = known.T.astype(np.float64) @ there
        sums = scaled.T @ there
        squares = (scaled**2).T @ there
        products = scaled.T @ (scaled * weights[:, np.newaxis])
    n_both = np.where(n_both > 0.0, n_both, np.nan)
    # Of the column of the row, by the samples that have that of the column too.
    spread = squares - sums**2 / n_both
    spread = np.where(spread > _ROUNDING * np.maximum(squares, spread), spread, np.nan)
    matrix = (products - sums * sums.T / n_both) / np.sqrt(spread * spread.T)
    np.clip(matrix, -1.0, 1.0, out=matrix)
    np.fill_diagonal(matrix, np.where(varies, 1.0, np.nan))
    return matrix


def _in_units_of_the_range(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Columns from 0 to 1, and which of them vary: no square overflows, and none is lost."""
    known = ~np.isnan(values)
    low = np.where(known, values, np.inf).min(axis=0)
    high = np.where(known, values, -np.inf).max(axis=0)
    varies = low < high
    low, high = np.where(varies, low, 0.0), np.where(varies, high, 0.0)
    # Halved first where a range may not be a number; half of the smallest is 0.
    unit = np.where(np.maximum(high, -low) > 1e300, 0.5, 1.0)
    inside = np.where(varies, high * unit - low * unit, 1.0)
    return np.where(varies, (values * unit - low * unit) / inside, values * 0.0), varies


def midranks(values: NDArray[np.float64], copies: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Ranks of the known values of each column, equals share their mean; a sample counts as its copies."""
    weights = np.ones(len(values)) if copies is None else copies
    ranks = np.full(values.shape, np.nan)
    for j, column in enumerate(values.T):
        known = ~np.isnan(column)
        _, places = np.unique(column[known], return_inverse=True)
        counts = np.bincount(places, weights=weights[known])
        ranks[known, j] = (np.cumsum(counts) - 0.5 * counts)[places]
    return ranks


def cramers_v(values: NDArray[np.float64], copies: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    r"""Cramér's V of columns of categories, by the samples that have both; 0 where one has one level.

    .. math:: V^2 = \frac{1}{\min(L_i, L_j) - 1} \Bigl( \sum_{ab} \frac{N_{ab}^2}{N_{a\cdot} N_{\cdot b}}
              - 1 \Bigr)

    with the levels that the two columns have where both are known: 1 if they are the same but for names.
    """
    known = ~np.isnan(values)
    blocks, starts = [], [0]
    for j, column in enumerate(values.T):
        levels = np.unique(column[known[:, j]])
        # A column without any value has a level that no sample is of.
        blocks.append(column[:, np.newaxis] == (levels if levels.size else [np.inf]))
        starts.append(starts[-1] + blocks[-1].shape[1])
    of_level = np.hstack(blocks).astype(np.float64)
    first, owner = np.array(starts[:-1]), np.repeat(np.arange(values.shape[1]), np.diff(starts))
    weights = np.ones(len(values)) if copies is None else copies
    with one_blas_thread():
        together = of_level.T @ (of_level * weights[:, np.newaxis])
        # (levels, columns): samples of a level that have a value of the other column.
        margins = of_level.T @ (known * weights[:, np.newaxis])
    expected = margins[:, owner] * margins[:, owner].T
    parts = np.divide(together**2, expected, out=np.zeros_like(together), where=expected > 0.0)
    sums = np.add.reduceat(np.add.reduceat(parts, first, axis=0), first, axis=1)
    n_levels = np.add.reduceat(margins > 0.0, first, axis=0, dtype=np.int64)
    fewest = np.minimum(n_levels, n_levels.T) - 1
    squared = np.divide(sums - 1.0, fewest, out=np.zeros_like(sums), where=fewest > 0)
    return np.sqrt(np.clip(squared, 0.0, 1.0))
