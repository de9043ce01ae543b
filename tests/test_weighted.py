"""Sums of minima under weights; `test_vectors.py` asks for the same bits at every width of the vectors."""

import zlib

import numpy as np
import pytest
from numba import njit

from highrelief._kernels import distances, packing, vectors
from highrelief._kernels.jit import wide_vectors

PRECISIONS = (np.float32, np.float64)


@njit
def weighted_sums_of(A, B, w, T):
    wide_vectors()
    for i in range(0, A.shape[0], 4):
        for j in range(0, B.shape[0], 4):
            vectors.add_weighted_minimum_sums(A, i, B, j, 16, A.shape[1], w, T, i, j)


def draw(n, d, dtype, seed=0):
    X = packing.aligned_zeros((n, d), dtype)
    X[:] = np.random.default_rng(seed).random((n, d))
    return X


def sums(A, B, w):
    T = np.zeros((A.shape[0], B.shape[0]))
    weighted_sums_of(A, B, w, T)
    return T


def checksum():
    found = 0
    for dtype in PRECISIONS:
        A, B, w = draw(8, 112, dtype), draw(12, 112, dtype, 1), draw(1, 112, dtype, 3)[0]
        found = zlib.crc32(sums(A, B, w).tobytes(), found)
    return found


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_weights_stand_beside_their_columns(dtype):
    A, B, w = draw(8, 112, dtype), draw(12, 112, dtype, 1), draw(1, 112, dtype, 3)[0]
    minima = np.minimum(A[:, None, 16:], B[None, :, 16:]).astype(float)
    expected = minima @ w[16:].astype(float)
    np.testing.assert_allclose(sums(A, B, w), expected, rtol=distances.relative_error(dtype))


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_equal_rows_have_the_sum_of_each(dtype):
    A, w = draw(8, 112, dtype), draw(1, 112, dtype, 3)[0]
    A[4:] = A[:4]
    T = sums(A, A, w)
    np.testing.assert_array_equal(T[np.arange(4), np.arange(4, 8)], T.diagonal()[:4])


def test_no_weight_hides_a_column_exactly():
    A, B, w = draw(8, 112, np.float32), draw(12, 112, np.float32, 1), draw(1, 112, np.float32, 3)[0]
    w[50:] = 0.0
    before = sums(A, B, w)
    A[:, 50:] = 1e6
    np.testing.assert_array_equal(sums(A, B, w), before)
