"""exp(x) for x ≤ 0 that vectorises: the libm call costs as much as 160 features of a distance."""

import numpy as np
from numba import typeof, types
from numba.extending import overload

from .jit import float32_from_bits, float64_from_bits

# Below these, exactly 0: products with tiny numbers would be denormal and slow the sums tenfold.
_LOWEST32 = np.float32(-60.0)
_LOWEST64 = -600.0
_LOG2_E = 1.4426950408889634


def decay(x):
    """exp(x) for x ≤ 0, in the precision of x; 0 below −60 (float32) and −600 (float64).

    x = k·ln 2 + r with integer k and |r| ≤ ln(2)/2; exp(r) is its Taylor series to the last digit; ln 2 is
    split in two so that k·ln 2 is exact where it is subtracted.
    """
    return _decay(typeof(x))(x)


@overload(decay, jit_options={"fastmath": {"contract"}, "error_model": "numpy"})
def _decay(x):
    if x == types.float32:

        def decay32(x):
            y = x if x > _LOWEST32 else _LOWEST32
            k = np.floor(y * np.float32(_LOG2_E) + np.float32(0.5))
            r = y - k * np.float32(0.693359375)
            r = r - k * np.float32(-2.12194440e-4)
            p = np.float32(1 / 5040)
            p = p * r + np.float32(1 / 720)
            p = p * r + np.float32(1 / 120)
            p = p * r + np.float32(1 / 24)
            p = p * r + np.float32(1 / 6)
            p = p * r + np.float32(0.5)
            p = p * r + np.float32(1.0)
            p = p * r + np.float32(1.0)
            p = p * float32_from_bits(np.int32((np.int32(k) + np.int32(127)) << np.int32(23)))
            return p if x > _LOWEST32 else np.float32(0.0)

        return decay32

    def decay64(x):
        y = x if x > _LOWEST64 else _LOWEST64
        k = np.floor(y * _LOG2_E + 0.5)
        r = y - k * 6.93147180369123816490e-01
        r = r - k * 1.90821492927058770002e-10
        p = 1 / 6227020800
        p = p * r + 1 / 479001600
        p = p * r + 1 / 39916800
        p = p * r + 1 / 3628800
        p = p * r + 1 / 362880
        p = p * r + 1 / 40320
        p = p * r + 1 / 5040
        p = p * r + 1 / 720
        p = p * r + 1 / 120
        p = p * r + 1 / 24
        p = p * r + 1 / 6
        p = p * r + 0.5
        p = p * r + 1.0
        p = p * r + 1.0
        p = p * float64_from_bits((np.int64(k) + np.int64(1023)) << np.int64(52))
        return p if x > _LOWEST64 else 0.0

    return decay64
