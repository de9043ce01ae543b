"""What each kernel takes to compile: ``python -m benchmarks.compilation ReliefF IRelief``, or ``warmup``.

Fits the estimators, one after the other, to a table of 200 x 100, or warms up, and prints one line of JSON.
The time of a kernel is without that of the kernels that it calls.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numba.core.event import Listener, register


@dataclass
class Kernel:
    """Compilations of a function."""

    #: Types for which machine code was made, and for which LLVM code was made for callers.
    compiled: list[str] = field(default_factory=list)
    linked: list[str] = field(default_factory=list)
    seconds: float = 0.0
    #: Seconds within LLVM.
    llvm: float = 0.0


class Observer(Listener):
    """Divide CPU time among the kernels that are compiled."""

    def __init__(self) -> None:
        self.kernels: dict[str, Kernel] = {}
        self._stack: list[Kernel] = []
        self._last = 0.0
        self._depth = 0

    def _account(self) -> None:
        now = time.thread_time()
        if self._stack:
            self._stack[-1].seconds += now - self._last
            if self._depth:
                self._stack[-1].llvm += now - self._last
        self._last = now

    def on_start(self, event: Any) -> None:
        """Begin with a kernel, or with a call of LLVM."""
        self._account()
        if event.kind == "numba:llvm_lock":
            self._depth += 1
            return
        function = event.data["dispatcher"].py_func
        name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        kernel = self.kernels.setdefault(name, Kernel())
        # Python calls the first one; the others are compiled on the way.
        (kernel.linked if self._stack else kernel.compiled).append(str(event.data["args"]))
        self._stack.append(kernel)

    def on_end(self, event: Any) -> None:
        """End with a kernel, or with a call of LLVM."""
        self._account()
        if event.kind == "numba:llvm_lock":
            self._depth -= 1
        else:
            self._stack.pop()


def main(names: list[str]) -> None:
    """Fit or warm up, and print what it took."""
    observer = Observer()
    register("numba:compile", observer)
    register("numba:llvm_lock", observer)
    if names == ["warmup"]:
        from highrelief.warmup import warm_up

        warm_up()
    else:
        import highrelief

        X, y = np.random.default_rng(0).random((200, 100)), np.arange(200) % 2
        for name in names:
            getattr(highrelief, name)(n_jobs=1).fit(X, y)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    kernels = {name: asdict(kernel) for name, kernel in observer.kernels.items()}
    memory = max(each.ru_maxrss for each in used) / 1024
    print(
        json.dumps(
            {"cpu": sum(each.ru_utime + each.ru_stime for each in used), "memory": memory, "kernels": kernels}
        )
    )


if __name__ == "__main__":
    main(sys.argv[1:])
