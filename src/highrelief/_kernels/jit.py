"""Compilation of kernels: decorators, linking, deferred interrupts, and small intrinsics."""

import gc
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

# A kernel that Python calls becomes machine code. For kernels that call it, it becomes LLVM code, which they
# link and optimize as a part of themselves.
#
# Numba itself turns every callee into machine code and wraps it for Python, which takes half of the time. It
# links a callee after it has been optimized, and optimizes it again in the caller. Where sums may be
# reordered, this can change the last digits, so that a kernel called directly disagrees with its copies in
# callers. Numba also exports these copies, and a process uses the first one that is loaded, which depends on
# whether callers are compiled or read from disk. Here all copies are compiled alike and none is exported.

try:
    from llvmlite.binding import Linkage, parse_assembly
    from numba.core import codegen
    from numba.core.compiler import Compiler
    from numba.core.compiler_machinery import PassManager
except ImportError:
    KernelCompiler: Any = None  # an unknown version of Numba uses its own compiler
    CalleeCompiler: Any = None
else:
    #: Passes of Numba for what kernels do not contain: generators and closures, context managers, array
    #: expressions, functions to be inlined, types that depend on values. They take a tenth of the time.
    _UNUSED_PASSES = {
        "WithLifting",
        "InlineClosureLikes",
        "RewriteSemanticConstants",
        "DeadBranchPrune",
        "RewriteDynamicRaises",
        "MakeFunctionToJitFunction",
        "FindLiterallyCalls",
        "LiteralUnroll",
        "LiteralPropagationSubPipelinePass",
        "InlineInlinables",
        "InlineOverloads",
        "NopythonRewrites",
        "DumpParforDiagnostics",
    }

    class _Library(codegen.JITCodeLibrary):
        """Numba's library, without passes over functions that are only declared."""

        def _optimize_functions(self, ll_module: Any) -> None:
            if not hasattr(codegen, "create_pass_builder"):  # before Numba 0.62
                super()._optimize_functions(ll_module)
                return
            ll_module.data_layout = self._codegen._data_layout
            manager, builder = self._codegen._function_pass_manager()
            for function in ll_module.functions:
                if not function.is_declaration:
                    manager.run(function, builder)

    class KernelLibrary(_Library):
        """Machine code of a kernel."""

        def _optimize_final_module(self) -> None:
            super()._optimize_final_module()
            _relink(self._final_module, Linkage.linkonce_odr, "internal")

        def _get_module_for_linking(self) -> Any:
            """Return the names of the machine code, for the disk cache: nothing links it."""
            if self._shared_module is None:
                self._ensure_finalized()
                defined = [
                    each.name for each in self.get_defined_functions() if each.linkage == Linkage.external
                ]
                text = "\n".join(f'define void @"{name}"() {{ ret void }}' for name in defined)
                self._shared_module = parse_assembly(text)
            return self._shared_module

    class CalleeLibrary(_Library):
        """LLVM code of a kernel and of the kernels that it calls, to be linked."""

        def finalize(self) -> None:
            """Link callees; neither optimize nor emit machine code."""
            for library in dict.fromkeys(self._linking_libraries):
                self._final_module.link_in(library._get_module_for_linking(), preserve=True)
            _relink(self._final_module, Linkage.external, "linkonce_odr")  # as in Numba
            self._shared_module = self._final_module
            self._finalized = True

    class _KernelCompiler(Compiler):
        """Numba's compiler with :class:`KernelLibrary` as its library."""

        _library: Any = KernelLibrary

        def define_pipelines(self) -> Any:
            """Set the library before Numba creates one, and leave out passes."""
            if self.state.library is None:
                name = self.state.func_id.func_qualname
                self.state.library = self._library(self.state.targetctx.codegen(), name)
                self.state.library.enable_object_caching()
            (complete,) = super().define_pipelines()
            manager = PassManager(complete.pipeline_name)
            for compiler_pass, description in complete.passes:
                if compiler_pass.__name__ not in _UNUSED_PASSES:
                    manager.add_pass(compiler_pass, description)
            manager.finalize()
            return [manager]

        def _compile_core(self) -> Any:
            compiled = super()._compile_core()
            # Numba's representation of the kernel takes more memory than its code.
            compiled.fndesc.typemap = compiled.fndesc.calltypes = None
            return compiled._replace(type_annotation="", metadata={})

    class _CalleeCompiler(_KernelCompiler):
        """Compiler of kernels for the kernels that call them."""

        _library = CalleeLibrary

        def define_pipelines(self) -> Any:
            """Stop at LLVM code."""
            self.state.flags.no_compile = True
            return super().define_pipelines()

        def _compile_core(self) -> Any:
            compiled = super()._compile_core()
            key = object()  # in place of a function for Python
            self.state.targetctx.insert_user_function(key, compiled.fndesc, [compiled.library])
            return compiled._replace(entry_point=key)

    KernelCompiler, CalleeCompiler = _KernelCompiler, _CalleeCompiler


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


def without_collection(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that garbage is collected after it returns: a tenth of the time of a compilation."""

    @wraps(function)
    def wrapper(*arguments: Any, **keywords: Any) -> Any:
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return function(*arguments, **keywords)
        finally:
            if was_enabled:
                gc.enable()

    return wrapper


#: All kernels in the order of their definition.
ALL_KERNELS: list[Any] = []


def _kernel_decorator(**arithmetic: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function; kernels that take functions cannot be cached."""
    options: dict[str, Any] = {"nogil": True, "boundscheck": False, "error_model": "numpy", **arithmetic}
    options["no_cfunc_wrapper"] = True
    compile_kernel = njit(pipeline_class=KernelCompiler, **options)
    options["no_cpython_wrapper"] = True
    compile_callee = njit(pipeline_class=CalleeCompiler, **options)

    def decorate(function: Callable[..., Any]) -> Any:
        if not COMPILED:
            # Compiled code neither warns nor raises on division by 0 or overflow.
            return np.errstate(all="ignore")(function)
        # Later processes load the cached code: hundredths of a second instead of seconds.
        dispatcher = cache_on_disk(compile_kernel(function))
        dispatcher.compile = without_collection(without_interruption(dispatcher.compile))
        if CalleeCompiler is not None:
            _compile_for_callers(dispatcher, compile_callee(function))
        ALL_KERNELS.append(dispatcher)
        return dispatcher

    return decorate


def _compile_for_callers(dispatcher: Any, callee: Any) -> None:
    """Let kernels that call ``dispatcher`` link ``callee``."""

    def add_overload(compiled: Any) -> None:
        callee.overloads[tuple(compiled.signature.args)] = compiled

    # For Numba, a literal argument has a type of its own. LLVM propagates constants into what it inlines, and
    # one compilation per type is enough; functions that are kept out of line would lose them.
    names = callee.py_func.__code__.co_names
    out_of_line = any(name == "wide_vectors" or name.endswith("_intrinsic") for name in names)

    def get_call_template(kinds: Any, keywords: Any) -> Any:
        kinds = kinds if out_of_line else [types.unliteral(kind) for kind in kinds]
        return callee.get_call_template(kinds, keywords)

    callee.add_overload = add_overload
    dispatcher.get_call_template, dispatcher.get_overload = get_call_template, callee.get_overload
    dispatcher.callee = callee


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
