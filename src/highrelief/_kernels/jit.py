"""How every kernel is compiled."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types

from .cache import keep_compiled
from .intrinsics import COMPILED, intrinsic

# How a kernel gets into the kernels that call it: as it was written, so that LLVM optimizes it once.
#
# Numba links a callee after it has been optimized, and optimizes it again there. Where sums may be
# reordered that can change the last digits: a kernel called on its own and its copies in callers do not
# agree. Numba also exports these copies, and a process runs the first of them that it meets: those that it
# has just compiled, or others where callers come from disk. Here all copies are made alike, and none is
# exported.


try:
    from llvmlite.binding import Linkage
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler
except ImportError:
    KernelCompiler: Any = None  # a Numba of another make compiles in its own way
else:

    class KernelLibrary(JITCodeLibrary):
        """The machine code of a kernel, and what its callers link."""

        def _optimize_final_module(self) -> None:
            self._shared_module = self._final_module.clone()
            _relink(self._shared_module, Linkage.external, "linkonce_odr")  # as Numba does it
            super()._optimize_final_module()
            _relink(self._final_module, Linkage.linkonce_odr, "internal")

    class _KernelCompiler(Compiler):
        """Numba's compiler, with a library of our own."""

        def define_pipelines(self) -> Any:
            """Put the library in its place, where Numba would make one."""
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


# Ctrl-C while a kernel is compiled.
#
# LLVM calls Python back when it is done with a kernel, and an interruption that is raised in there is
# printed and lost: the fit would go on as if nothing had happened. It waits until the kernel is ready
# instead.


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Let an interruption wait for the end of the block."""
    usual = signal.getsignal(signal.SIGINT)
    # Only the main thread is interrupted, or may say what happens then.
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield
        return
    waiting: list[tuple[int, Any]] = []
    signal.signal(signal.SIGINT, lambda number, frame: waiting.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        if waiting:
            usual(*waiting[-1])


def without_interruption(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, at whose end interruptions wait."""

    @wraps(function)
    def held(*arguments: Any, **named: Any) -> Any:
        with deferred_interrupts():
            return function(*arguments, **named)

    return held


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

#: Sums may be reordered, so that they vectorize. NaN and infinity keep their meaning.
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

    As an attribute of the kernel: what Numba's ``fastmath`` marks is lost on the way to the vectorizer.
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
