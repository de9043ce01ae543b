"""Sums and products by the explicit vector code, and checksums of their bits."""

import zlib

import numpy as np
from numba import njit

from highrelief._kernels import distances, nearest, packing, vectors
from highrelief._kernels.jit import wide_vectors

PRECISIONS = (np.float32, np.float64)


@njit
def sums_of(A, B, unit, T):
    wide_vectors()
    for i in range(0, A.shape[0], 4):
        for j in range(0, B.shape[0], 4):
            vectors.add_minimum_sums(A, i, B, j, 0, A.shape[1], unit[0], T, i, j)


@njit
def products_of(X, unit, S, out):
    wide_vectors()
    for i in range(0, S.shape[0], 4):
        for j in range(0, S.shape[1], 4):
            vectors.add_minimum_products(X, i, j, 16, 16 + out.shape[0], unit[0], S, i, j, out)


def draw(n, d, dtype, seed=0):
    X = packing.aligned_zeros((n, d), dtype)
    X[:] = np.random.default_rng(seed).random((n, d))
    return X


def checksums():
    found = []
    for dtype in PRECISIONS:
        A, B = draw(8, 112, dtype), draw(12, 112, dtype, 1)
        T = np.zeros((3, 8, 12))
        sums_of(A, B, np.ones(1, dtype), T[0])
        out = np.zeros(80, dtype)
        products_of(B, np.ones(1, dtype), draw(8, 12, dtype, 2), out)
        margins = np.zeros((2, 75))
        for square in (False, True):
            others, unit = np.arange(1, 12), np.ones(1, dtype)
            nearest.add_group(B, 0, 33, 75, others, others.size, 0.3, square, unit, margins[int(square)])
        found.append(zlib.crc32(T.tobytes() + out.tobytes() + margins.tobytes()))
    return [*found, checksum_of_weighted(), checksum_of_whole_numbers()]


def checksum_of_whole_numbers():
    rng = np.random.default_rng(0)
    G = packing.aligned_zeros((68, 96), np.int16)
    G[:] = rng.integers(-(2**15), 2**15, G.shape)
    P = packing.aligned_zeros((68, 24), np.uint64)
    P[:] = rng.integers(0, 2**63, P.shape, dtype=np.uint64)
    sums = G.sum(axis=1, dtype=np.int64).astype(np.uint32)
    D = np.zeros((68, 128), np.uint32)
    distances.fill_tiles(G, sums, P, 8, 3, 0, 0, 68, 68, 0, 4, False, D, D)
    return zlib.crc32(D.tobytes())


@njit
def weighted_sums_of(A, B, w, T):
    wide_vectors()
    for i in range(0, A.shape[0], 4):
        for j in range(0, B.shape[0], 4):
            vectors.add_weighted_minimum_sums(A, i, B, j, 16, A.shape[1], w, T, i, j)


def weighted_sums(A, B, w):
    T = np.zeros((A.shape[0], B.shape[0]))
    weighted_sums_of(A, B, w, T)
    return T


def checksum_of_weighted():
    found = 0
    for dtype in PRECISIONS:
        A, B, w = draw(8, 112, dtype), draw(12, 112, dtype, 1), draw(1, 112, dtype, 3)[0]
        found = zlib.crc32(weighted_sums(A, B, w).tobytes(), found)
    return found
