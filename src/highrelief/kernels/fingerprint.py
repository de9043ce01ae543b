"""What a compiled kernel was made from, as text: two kernels with the same text compile to the same code.

Numba itself looks at the code of one function only. A kernel is also made of the kernels it calls and of
the module-level numbers that all of them read, which Numba writes into the machine code as constants.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

_PACKAGE = __name__.rpartition(".")[0]
_NUMBERS = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype)


def fingerprint(function: Any) -> str:
    """Digest of a kernel's code, of everything of ours that it calls, and of the constants in them."""
    text = "\n".join(_ingredients(function, set()))
    return hashlib.sha256(text.encode()).hexdigest()


def _ingredients(function: Any, seen: set[int]) -> Iterator[str]:
    function = _python_function(function)
    if id(function) in seen:
        return
    seen.add(id(function))
    yield f"{function.__module__}.{function.__qualname__} {_value(function.__defaults__)}"
    for cell in function.__closure__ or ():
        yield from _part(cell.cell_contents, seen)
    names: set[str] = set()
    yield from _code(function.__code__, names)
    for name in sorted(names):
        if name in function.__globals__:
            value = function.__globals__[name]
            yield f"{name}:"
            yield from _part(value, seen)
            if isinstance(value, ModuleType) and value.__name__.startswith(_PACKAGE):
                for attribute in sorted(names & vars(value).keys()):
                    yield from _part(vars(value)[attribute], seen)


def _part(value: Any, seen: set[int]) -> Iterator[str]:
    if getattr(_python_function(value), "__module__", "").startswith(_PACKAGE):
        yield from _ingredients(value, seen)
    else:
        yield _value(value)


def _python_function(value: Any) -> Any:
    """The function behind a kernel or an intrinsic; None if there is none."""
    for attribute in ("py_func", "_defn"):
        value = getattr(value, attribute, value)
    return value if isinstance(value, FunctionType) else None


def _code(code: CodeType, names: set[str]) -> Iterator[str]:
    """Instructions and constants, without the places in the source; collects the names that are read."""
    names.update(code.co_names)
    yield f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {code.co_freevars}"
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant, names)
        else:
            yield _value(constant)


def _value(value: Any) -> str:
    """A constant as text that is the same in every process; "" for what is no constant."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_value, value))})"
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(_value, value)))}}}"
    return f"{type(value).__name__} {value!r}" if isinstance(value, _NUMBERS) else ""
