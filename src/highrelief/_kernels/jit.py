"""Compilation of kernels: decorators, linking, deferred interrupts, and small intrinsics."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types

from .cache import cache_on_disk
from .intrinsics import COMPILED, intrinsic

# Linking: callers link the unoptimized code of a kernel, so that LLVM optimizes it only once.
#
# Numba links a callee after it has been optimized, and optimizes it again in the caller. Where sums may be
# reordered, this can change the last digits, so that a kernel called directly disagrees with its copies in
# callers. Numba also exports these copies, and a process uses the first one that is loaded, which depends on
# whether callers are compiled or read from disk. Here all copies are compiled alike and none is exported.

try:
    from llvmlite.binding import Linkage
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler
except ImportError:
    KernelCompiler: Any = None  # an unknown version of Numba uses its own compiler
else:

    class KernelLibrary(JITCodeLibrary):
        """Machine code of a kernel, and the module that its callers link."""

        def _optimize_final_module(self) -> None:
            self._shared_module = self._final_module.clone()
            _relink(self._shared_module, Linkage.external, "linkonce_odr")  # as in Numba
            super()._optimize_final_module()
            _relink(self._final_module, Linkage.linkonce_odr, "internal")

    class _KernelCompiler(Compiler):
        """Numba's compiler with :class:`KernelLibrary` as its library."""

        def define_pipelines(self) -> Any:
            """Set the library before Numba creates one."""
            if self.state.library is None:
                name = self.state.func_id.func_qualname
                self.state.library = KernelLibrary(self.state.targetctx.codegen(), name)
                self.state.library.enable_object_caching()
            return super().define_pipelines()

    KernelCompiler = _KernelCompiler


def _relink(module: Any, old: Any, new: str) -> None:
    for function in module.functions:
        if not function.is_declaration and function.linkage == old:
            function.linkage = new


# Ctrl-C during compilation.
#
# LLVM calls back into Python after compiling a kernel. A KeyboardInterrupt raised in that callback is printed
# and lost, and the fit would continue. It is therefore deferred until the kernel is compiled.


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Defer SIGINT until the end of the block."""
    handler = signal.getsignal(signal.SIGINT)
    # Only the main thread receives SIGINT and may set its handler.
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    pending: list[tuple[int, Any]] = []
    signal.signal(signal.SIGINT, lambda number, frame: pending.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if pending:
            handler(*pending[-1])


def without_interruption(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that interrupts are deferred until it returns."""

    @wraps(function)
    def wrapper(*arguments: Any, **keywords: Any) -> Any:
        with deferred_interrupts():
            return function(*arguments, **keywords)

    return wrapper


#: All kernels in the order of their definition.
ALL_KERNELS: list[Any] = []


def _kernel_decorator(**arithmetic: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function; kernels that take functions cannot be cached."""
    compile_lazily = njit(
        nogil=True, boundscheck=False, error_model="numpy", pipeline_class=KernelCompiler, **arithmetic
    )

    def decorate(function: Callable[..., Any]) -> Any:
        if not COMPILED:
            # Compiled code neither warns nor raises on division by 0 or overflow.
            return np.errstate(all="ignore")(function)
        # Later processes load the cached code: hundredths of a second instead of seconds.
        dispatcher = cache_on_disk(compile_lazily(function))
        dispatcher.compile = without_interruption(dispatcher.compile)
        ALL_KERNELS.append(dispatcher)
        return dispatcher

    return decorate


#: Strict IEEE arithmetic.
kernel = _kernel_decorator()

#: Multiplications and additions may be fused; the order of additions is preserved.
fused_kernel = _kernel_decorator(fastmath={"contract", "nsz"})

#: Sums may be reordered, so that they vectorize. NaN and infinity are respected.
summing_kernel = _kernel_decorator(fastmath={"contract", "nsz", "reassoc"})


@intrinsic
def wide_vectors(typing_context):
    """Let LLVM use 512-bit vectors in the calling kernel if the machine has them.

    LLVM's tuning stops at 256 bits on several machines, which costs a fifth of the speed. The kernel is not
    inlined into its callers, so that the setting applies to it alone.
    """

    def emit(context, builder, signature, arguments):
        attributes = builder.function.attributes
        # llvmlite rejects string attributes in `add`, although LLVM accepts them.
        set.add(attributes, '"prefer-vector-width"="512"')
        attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), emit


@intrinsic
def never_nan(typing_context):
    """Promise LLVM that the calling kernel sees no NaN, so that minima of rows vectorize.

    Set as an attribute of the function: the flags of Numba's ``fastmath`` do not reach the vectorizer.
    """

    def emit(context, builder, signature, arguments):
        attributes = builder.function.attributes
        set.add(attributes, '"no-nans-fp-math"="true"')
        set.add(attributes, '"no-signed-zeros-fp-math"="true"')
        return context.get_dummy_value()

    return types.void(), emit


@intrinsic
def float32_from_bits(typing_context, bits):
    """Reinterpret an int32 as a float32."""

    def emit(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), emit


@intrinsic
def float64_from_bits(typing_context, bits):
    """Reinterpret an int64 as a float64."""

    def emit(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), emit


@intrinsic
def bits_from_float32(typing_context, value):
    """Reinterpret a float32 as an int32."""

    def emit(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(32))

    return types.int32(types.float32), emit
