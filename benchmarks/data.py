"""The tables that the contenders are measured on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

N_INFORMATIVE = 20
#: Rows made at a time where a second table would not fit.
_ROWS_AT_ONCE = 64


class Shape(NamedTuple):
    """What a table is like, whatever its precision."""

    n_samples: int
    n_features: int
    #: "continuous", "genotypes", "unit", "cheap", "words" or "cells".
    kind: str = "continuous"

    @property
    def label(self) -> str:
        size = f"{self.n_samples} x {self.n_features}"
        return f"{self.kind} {size}" if self.kind in ("genotypes", "words", "cells") else size

    @property
    def elements(self) -> float:
        """Differences of two values that a method takes which looks at all ordered pairs of samples."""
        return float(self.n_samples) ** 2 * self.n_features

    def smaller(self) -> Shape:
        """A table of the same kind to warm up on."""
        return self._replace(n_samples=min(self.n_samples, 64), n_features=min(self.n_features, 40))


def make(shape: Shape, dtype: DTypeLike) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The table of this shape: the same values in every precision that can hold them."""
    makers = {
        "continuous": continuous_table,
        "genotypes": genotype_table,
        "unit": unit_table,
        "cheap": cheap_table,
        "words": words_table,
        "cells": cells_table,
    }
    return makers[shape.kind](shape.n_samples, shape.n_features, dtype)


def continuous_table(
    n_samples: int, n_features: int, dtype: DTypeLike, seed: int = 0
) -> tuple[NDArray[np.floating], NDArray[np.int64]]:
    """Two classes of equal size, independent normal features; in 20 of them class 1 is shifted by 0.8.

    The values are those of float32 in either precision, so that everyone weighs the same table.
    """
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_samples) % 2)
    X = rng.standard_normal((n_samples, n_features))
    X[:, :N_INFORMATIVE] += 0.8 * y[:, np.newaxis]
    return X.astype(np.float32).astype(dtype), y


def genotype_table(
    n_samples: int, n_features: int, dtype: DTypeLike, seed: int = 0
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Counts 0, 1, 2 of an allele in Hardy-Weinberg proportions; in 20 features its frequency differs."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_samples) % 2)
    frequency = np.tile(rng.uniform(0.1, 0.5, n_features), (n_samples, 1))
    frequency[:, :N_INFORMATIVE] += 0.15 * (y[:, np.newaxis] - 0.5)
    return rng.binomial(2, np.clip(frequency, 0.02, 0.98)).astype(dtype), y


def unit_table(
    n_samples: int, n_features: int, dtype: DTypeLike, seed: int = 0
) -> tuple[NDArray[np.floating], NDArray[np.int64]]:
    """Uniform values; every column reaches from 0 to 1, so that scaling by the range leaves it alone."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_samples, n_features), dtype=np.float32)
    X[0], X[1] = 0.0, 1.0
    return X.astype(dtype), np.arange(n_samples) % 2


def cheap_table(
    n_samples: int, n_features: int, dtype: DTypeLike, seed: int = 0
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """A table for sizes at which making it must cost neither minutes nor a second table in memory.

    int8: 0, 1, 2 alike often; float32: uniform. In 20 features class 1 has larger values.
    """
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % 2
    X = np.empty((n_samples, n_features), dtype)
    for start in range(0, n_samples, _ROWS_AT_ONCE):
        rows = X[start : start + _ROWS_AT_ONCE]
        if X.dtype == np.int8:
            rows[:] = rng.integers(0, 3, rows.shape, dtype=np.int8)
        else:
            rng.random(out=rows, dtype=X.dtype.type)
    shifted = X[y == 1, :N_INFORMATIVE]
    X[y == 1, :N_INFORMATIVE] = np.maximum(shifted, 1) if X.dtype == np.int8 else np.sqrt(shifted)
    return X, y


def words_table(
    n_samples: int, n_features: int, dtype: DTypeLike, seed: int = 0
) -> tuple[NDArray[np.floating], NDArray[np.int64]]:
    """Frequencies, as of words in texts: of 50 one is not 0; in 20 features more of them are in class 1."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % 2
    X = np.zeros((n_samples, n_features), dtype)
    for row, label in zip(X, y, strict=True):
        there = rng.random(n_features) < 0.02
        there[:N_INFORMATIVE] |= (rng.random(N_INFORMATIVE) < 0.3)[:n_features] & bool(label)
        row[there] = rng.exponential(size=np.count_nonzero(there)).astype(np.float32)
    return X, y


def cells_table(
    n_samples: int, n_features: int, dtype: DTypeLike, seed: int = 0
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Logarithms of counts, as of genes in single cells: of 20 about one is not 0; 20 features differ."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % 2
    rate = rng.gamma(0.08, size=n_features)
    X = np.zeros((n_samples, n_features), dtype)
    for row, label in zip(X, y, strict=True):
        rates = rate.copy()
        rates[:N_INFORMATIVE] += 0.5 * label
        row[:] = np.log1p(rng.poisson(rates)).astype(np.float32)
    return X, y
