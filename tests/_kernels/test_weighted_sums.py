"""Sums of minima under weights; `test_vectors.py` asks for the same bits at every width of the vectors."""

import numpy as np
import pytest
from vector_sums import PRECISIONS, draw, weighted_sums

from highrelief._kernels import distances


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_weights_stand_beside_their_columns(dtype):
    A, B, w = draw(8, 112, dtype), draw(12, 112, dtype, 1), draw(1, 112, dtype, 3)[0]
    minima = np.minimum(A[:, None, 16:], B[None, :, 16:]).astype(float)
    expected = minima @ w[16:].astype(float)
    np.testing.assert_allclose(weighted_sums(A, B, w), expected, rtol=distances.relative_error(dtype))


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_equal_rows_have_the_sum_of_each(dtype):
    A, w = draw(8, 112, dtype), draw(1, 112, dtype, 3)[0]
    A[4:] = A[:4]
    T = weighted_sums(A, A, w)
    np.testing.assert_array_equal(T[np.arange(4), np.arange(4, 8)], T.diagonal()[:4])


def test_no_weight_hides_a_column_exactly():
    A, B, w = draw(8, 112, np.float32), draw(12, 112, np.float32, 1), draw(1, 112, np.float32, 3)[0]
    w[50:] = 0.0
    before = weighted_sums(A, B, w)
    A[:, 50:] = 1e6
    np.testing.assert_array_equal(weighted_sums(A, B, w), before)
