"""The explicit vector code: the same bits at every width, and what it makes of a machine."""

import os
import subprocess
import sys
import zlib

import numpy as np
import pytest
import test_weighted
from numba import njit

from highrelief._kernels import distances, nearest, packing, simd, vectors
from highrelief._kernels.jit import wide_vectors

pytestmark = pytest.mark.slow

PRECISIONS = (np.float32, np.float64)
AVX2 = "+sse2,+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+avx,+avx2,+bmi,+bmi2,+fma,+f16c,+lzcnt,+movbe"
SSE2 = "+sse,+sse2"

# What the kernels make of random numbers: one number for each precision, for weights, for whole numbers.
CHECKSUMS = """
import test_vectors
print(*test_vectors.checksums())
"""


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
    return [*found, test_weighted.checksum(), checksum_of_whole_numbers()]


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


def checksums_under(**variables):
    """What a process finds; what it compiles is kept beside the kernels of this machine, as its own."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_CPU")}
    path = os.pathsep.join(p for p in sys.path if p)
    environment = {**inherited, "PYTHONPATH": path, **variables}
    done = subprocess.run(
        [sys.executable, "-c", CHECKSUMS], env=environment, capture_output=True, text=True, check=True
    )
    return [int(word) for word in done.stdout.split()]


@pytest.mark.parametrize("setting", ["512", "256", "128", "off"])
def test_every_width_gives_the_same_bits(setting):
    assert checksums_under(HIGHRELIEF_VECTORS=setting) == checksums()


def test_what_numba_may_not_use_is_not_used():
    """An instruction that LLVM was told not to make ends the process."""
    found = checksums_under(NUMBA_ENABLE_AVX="0")
    # Products need multiply-add for the same bits.
    assert found[-1] == checksum_of_whole_numbers()


@pytest.mark.skipif(not os.uname().machine.startswith("x86"), reason="the names of x86's features")
def test_a_target_with_half_the_registers_gives_the_same_bits():
    found = checksums_under(NUMBA_CPU_NAME="haswell", NUMBA_CPU_FEATURES=AVX2)
    assert found == checksums()


@pytest.mark.skipif(not os.uname().machine.startswith("x86"), reason="the names of x86's features")
def test_a_target_without_multiply_add():
    """Sums of minima are the same there; products are rounded twice."""
    plain = checksums_under(NUMBA_CPU_NAME="generic", HIGHRELIEF_VECTORS="off")
    assert checksums_under(NUMBA_CPU_NAME="generic") == plain


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("d", [16, 112, 1024])
def test_sums_run_by_lanes(dtype, d):
    """The order that the docstring states, written out."""
    A, B = draw(4, d, dtype), draw(8, d, dtype, 1)
    lanes = vectors.LANE_BYTES // A.itemsize
    T = np.full((4, 8), 0.5)
    sums_of(A, B, np.ones(1, dtype), T)
    assert T.dtype == np.float64
    by_lane = np.minimum(A[:, None], B[None]).reshape(4, 8, -1, lanes)
    sums = by_lane[:, :, 0]
    for step in range(1, by_lane.shape[2]):
        sums = sums + by_lane[:, :, step]
    while sums.shape[2] > 1:
        half = sums.shape[2] // 2
        sums = sums[:, :, :half] + sums[:, :, half:]
    assert sums.dtype == dtype
    np.testing.assert_array_equal(T, 0.5 + sums[:, :, 0].astype(float))


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_products_equal_the_formula(dtype):
    X, S = draw(12, 112, dtype), draw(8, 12, dtype, 1)
    out = np.full(80, 3.0, dtype)
    products_of(X, np.ones(1, dtype), S, out)
    minima = np.minimum(X[:8, None], X[None]).astype(float)[:, :, 16:96]
    exact = 3.0 + np.einsum("ij,ijk->k", S.astype(float), minima)
    np.testing.assert_allclose(out, exact, rtol=32 * np.finfo(dtype).eps)


@pytest.mark.parametrize(
    ("features", "known", "expected"),
    [
        (["+sse2"], True, 16),
        (["+sse2", "+avx"], True, 32),
        (["+avx", "+avx2", "+avx512f"], True, 64),
        # A CPU that is named without its features: Numba reports those of the host.
        (["+avx", "+avx2", "+avx512f"], False, 32),
        (["-avx512f", "+avx"], True, 32),
        ([], True, 16),
    ],
)
def test_the_machine_decides_on_the_width(monkeypatch, features, known, expected):
    from numba.core import config

    monkeypatch.setattr(simd, "SETTING", "auto")
    monkeypatch.setattr(config, "CPU_FEATURES", ",".join(features) if known else None)
    assert simd.vector_bytes("another", features) == expected
    monkeypatch.setattr(simd, "SETTING", "256")
    assert simd.vector_bytes("another", features) == 32


def test_an_unknown_setting_is_named():
    with pytest.raises(subprocess.CalledProcessError) as caught:
        checksums_under(HIGHRELIEF_VECTORS="1024")
    assert "HIGHRELIEF_VECTORS='1024' must be one of" in caught.value.stderr


def test_the_bound_on_the_error_is_no_wider_than_it_was():
    """Sums of 512 features in four float32 or two float64 chains, before."""
    assert distances.relative_error(np.float32) < (512 / 4 + 8) * 2.0**-24
    assert distances.relative_error(np.float64) < (512 / 2 + 8) * 2.0**-53
