"""How every kernel is compiled."""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types

from .cache import keep_compiled
from .interruption import without_interruption
from .intrinsics import COMPILED, intrinsic
from .linking import KernelCompiler

#: Every kernel, in the order of their definition.
ALL_KERNELS: list[Any] = []


def _compiled(**arithmetic: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorator that compiles a function; no kernel takes a function or a class, which could not be kept."""
    compile_lazily = njit(
        nogil=True, boundscheck=False, error_model="numpy", pipeline_class=KernelCompiler, **arithmetic
    )

    def decorate(function: Callable[..., Any]) -> Any:
        if not COMPILED:
            # Compiled code neither warns nor raises where a number is divided by 0 or overflows.
            return np.errstate(all="ignore")(function)
        # A later process loads what was compiled before: hundredths of a second instead of seconds.
        dispatcher = keep_compiled(compile_lazily(function))
        dispatcher.compile = without_interruption(dispatcher.compile)
        ALL_KERNELS.append(dispatcher)
        return dispatcher

    return decorate


#: Arithmetic as it is written.
kernel = _compiled()

#: Multiplications and additions may fuse; the order of the additions stays as it is written.
fused_kernel = _compiled(fastmath={"contract", "nsz"})

#: Sums may be reordered, so that they vectorise. NaN and infinity keep their meaning.
summing_kernel = _compiled(fastmath={"contract", "nsz", "reassoc"})


@intrinsic
def wide_vectors(typing_context):
    """Let LLVM use 512-bit vectors in the calling kernel, where the machine has them.

    LLVM's own tuning stops at 256 bit on several machines, which costs a fifth of the speed. The kernel
    is kept out of its callers so that the choice stays its own.
    """

    def emit(context, builder, signature, arguments):
        attributes = builder.function.attributes
        # llvmlite refuses string attributes in `add`, although LLVM reads them.
        set.add(attributes, '"prefer-vector-width"="512"')
        attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), emit


@intrinsic
def never_nan(typing_context):
    """Tell LLVM that no number in the calling kernel is NaN: the least of a row is then found by vectors.

    As an attribute of the kernel: what Numba's ``fastmath`` marks is lost on the way to the vectoriser.
    """

    def emit(context, builder, signature, arguments):
        attributes = builder.function.attributes
        set.add(attributes, '"no-nans-fp-math"="true"')
        set.add(attributes, '"no-signed-zeros-fp-math"="true"')
        return context.get_dummy_value()

    return types.void(), emit


@intrinsic
def float32_from_bits(typing_context, bits):
    """Read an int32 as the float32 with the same bits."""

    def emit(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), emit


@intrinsic
def float64_from_bits(typing_context, bits):
    """Read an int64 as the float64 with the same bits."""

    def emit(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), emit


@intrinsic
def bits_from_float32(typing_context, value):
    """Read a float32 as the int32 with the same bits."""

    def emit(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(32))

    return types.int32(types.float32), emit
