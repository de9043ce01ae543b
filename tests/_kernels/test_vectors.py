"""The explicit vector code: the same bits at every width, and what it makes of a machine."""

import os
import subprocess
import sys

import numpy as np
import pytest
from registry import THOROUGH
from vector_sums import PRECISIONS, checksum_of_whole_numbers, checksums, draw, products_of, sums_of

from highrelief._kernels import distances, simd, vectors

pytestmark = pytest.mark.slow

AVX2 = "+sse2,+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+avx,+avx2,+bmi,+bmi2,+fma,+f16c,+lzcnt,+movbe"
SSE2 = "+sse,+sse2"

# What the kernels make of random numbers: one number for each precision, for weights, for whole numbers.
CHECKSUMS = """
import vector_sums
print(*vector_sums.checksums())
"""


def checksums_under(**variables):
    """What a process finds; what it compiles is kept beside the kernels of this machine, as its own."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_CPU")}
    path = os.pathsep.join(p for p in sys.path if p)
    environment = {**inherited, "PYTHONPATH": path, **variables}
    done = subprocess.run(
        [sys.executable, "-c", CHECKSUMS], env=environment, capture_output=True, text=True, check=True
    )
    return [int(word) for word in done.stdout.split()]


# Not the width of this machine, with which all other tests run.
WIDTHS = [each for each in ("512", "256", "128", "off") if each != str(8 * simd.target_vector_bytes())]


@pytest.mark.parametrize("setting", WIDTHS if THOROUGH else WIDTHS[-1:])
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
@pytest.mark.skipif(not THOROUGH, reason="compiles for a minute: make test-long runs it")
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
