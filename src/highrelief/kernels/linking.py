"""How a kernel gets into the kernels that call it: as it was written, so that LLVM optimises it once.

Numba links a callee after it has been optimised, and optimises it again there. Where sums may be reordered
that can change the last digits: a kernel called on its own and its copies in callers do not agree. Numba
also exports these copies, and a process runs the first of them that it meets: those that it has just
compiled, or others where callers come from disk. Here all copies are made alike, and none is exported.
"""

from typing import Any

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
