"""Arrays between two pages that nobody may touch: a plugin of pytest, for `make memory-check`.

``HIGHRELIEF_GUARD=end pytest -p guarded_memory`` has every array end where an unmapped page begins, ``begin``
has it begin where one ends: a kernel that reads or writes beside an array ends its process, and xdist names
the test. Both are for arrays of NumPy (its allocator, NEP 49) and for those that kernels make themselves
(Numba's). New memory is full of 0xFF, which no result may depend on; freed memory is unmapped at once.

It has to come before the package, and is for one thread: NumPy has an allocator for each.
"""

import atexit
import ctypes
import mmap
import os

import numpy as np
from llvmlite import binding
from numba.core.runtime import _nrt_python, rtsys

#: Places in the table of NumPy's C interface, which do not change.
_SET_HANDLER = 304
_PAGE = mmap.PAGESIZE
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *3 * [ctypes.c_int], ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

_SIZE, _POINTER = ctypes.c_size_t, ctypes.c_void_p
_Malloc = ctypes.CFUNCTYPE(_POINTER, _POINTER, _SIZE)
_Calloc = ctypes.CFUNCTYPE(_POINTER, _POINTER, _SIZE, _SIZE)
_Realloc = ctypes.CFUNCTYPE(_POINTER, _POINTER, _POINTER, _SIZE)
_Free = ctypes.CFUNCTYPE(None, _POINTER, _POINTER, _SIZE)
_Destroy = ctypes.CFUNCTYPE(None, _POINTER, _SIZE, _POINTER)
_NewInfo = ctypes.CFUNCTYPE(_POINTER, _SIZE, ctypes.c_uint32)


class _Handler(ctypes.Structure):
    """NumPy's PyDataMem_Handler."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", _POINTER),
        ("malloc", _Malloc),
        ("calloc", _Calloc),
        ("realloc", _Realloc),
        ("free", _Free),
    )


class _Info(ctypes.Structure):
    """The beginning of Numba's NRT_MemInfo."""

    _fields_ = (
        ("references", _SIZE),
        ("destroy", _POINTER),
        ("destroy_info", _POINTER),
        ("data", _POINTER),
        ("size", _SIZE),
    )


#: Where the pages of live arrays begin, and how long they are, by the address of the data.
_live: dict[int, tuple[int, int, int]] = {}


def _allocate(size: int, at_end: bool, fill: int) -> int:
    n_bytes = -(-max(size, 1) // _PAGE) * _PAGE
    base = _libc.mmap(None, n_bytes + 2 * _PAGE, mmap.PROT_READ | mmap.PROT_WRITE, 0x22, -1, 0)
    if base in (None, ctypes.c_void_p(-1).value):
        return 0
    _libc.mprotect(base, _PAGE, 0)
    _libc.mprotect(base + _PAGE + n_bytes, _PAGE, 0)
    place = base + _PAGE + (n_bytes - size if at_end else 0)
    if fill:
        ctypes.memset(place, fill, size)
    _live[place] = (base, n_bytes + 2 * _PAGE, size)
    return place


def _release(place: int | None) -> None:
    base, length, _ = _live.pop(place, (0, 0, 0))
    if base:
        _libc.munmap(base, length)


def install(side: str) -> None:
    """Guard all arrays that are made from now on; ``side``: where they touch an unmapped page."""
    if side not in ("begin", "end"):
        raise ValueError(f"HIGHRELIEF_GUARD={side!r} must be 'begin' or 'end'.")
    at_end = side == "end"

    def malloc(_, size):
        return _allocate(size, at_end, 0xFF)

    def calloc(_, n, size):
        return _allocate(n * size, at_end, 0)

    def realloc(_, place, size):
        new = _allocate(size, at_end, 0xFF)
        if place:
            ctypes.memmove(new, place, min(size, _live[place][2]))
            _release(place)
        return new

    def free(_, place, size):
        _release(place)

    handler = _Handler(b"guarded", 1, None, _Malloc(malloc), _Calloc(calloc), _Realloc(realloc), _Free(free))
    _in_numpy(handler)
    kept = [handler, *_in_numba(at_end)]
    _in_layouts()

    def stop():
        # What is left is freed when Python has gone: by a function that does nothing with its argument.
        handler.free = ctypes.cast(_libc.ffs, _Free)
        kept.clear()
        _keep.append(handler)

    atexit.register(stop)
    _keep.extend(kept)


_keep: list[object] = []


def _in_numpy(handler: _Handler) -> None:
    new_capsule = ctypes.pythonapi.PyCapsule_New
    new_capsule.restype = ctypes.py_object
    new_capsule.argtypes = [_POINTER, ctypes.c_char_p, _POINTER]
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype = _POINTER
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(get_pointer(np._core._multiarray_umath._ARRAY_API, None), ctypes.POINTER(_POINTER))
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[_SET_HANDLER])
    set_handler(new_capsule(ctypes.addressof(handler), b"mem_handler", None))


def _in_numba(at_end: bool) -> list[object]:
    """Have kernels ask here for their arrays; returns what must live as long."""
    rtsys.initialize(_target_context())
    new_info = ctypes.CFUNCTYPE(_POINTER, _SIZE, _POINTER)(_nrt_python.c_helpers["MemInfo_alloc_dtor"])

    @_Destroy
    def destroy(place, size, _):
        _release(place)

    @_NewInfo
    def alloc_aligned(size, alignment):
        address = new_info(1, ctypes.cast(destroy, _POINTER))
        info = _Info.from_address(address)
        info.data, info.size = _allocate(size, at_end, 0xFF), size
        return address

    binding.add_symbol("NRT_MemInfo_alloc_aligned", ctypes.cast(alloc_aligned, _POINTER).value)
    return [destroy, alloc_aligned, new_info]


def _target_context():
    from numba.core.registry import cpu_target

    return cpu_target.target_context


def _in_layouts() -> None:
    """Have aligned arrays end where they end: they leave room behind otherwise."""
    from highrelief._kernels import packing

    packing._aligned = lambda make, shape, dtype: make(shape, dtype)


if os.environ.get("HIGHRELIEF_GUARD"):
    install(os.environ["HIGHRELIEF_GUARD"])
