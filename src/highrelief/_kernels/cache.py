"""Compiled kernels on disk: once per machine, never stale.

Numba's own ``cache=True`` writes beside the source, where a new installation loses it and a read-only one
has no room, and it does not see that a called kernel has changed. Here a kernel is kept in

    <user's cache folder>/highrelief/<version>-<digest of all kernels' sources, and of Numba>/

in one file per signature. The file's name is the digest of all that the machine code depends on; its first
bytes are the digest of that name and of the rest, so that a file that is damaged, or was renamed to the name
of another kernel, is compiled anew. Files are written apart and renamed, and no index relates them: any
number of processes may write at once.

To load a kernel runs what is in its file. It is read only if nobody but this user and the administrator can
have put it there: neither the file nor its folder belongs to, or can be written by, anybody else, and nobody
else can rename a folder on the way to it (the rule of OpenSSH's StrictModes, up to the home folder).
"""

from __future__ import annotations

import errno
import hashlib
import os
import pickle  # nosec B403: of files that this user wrote
import re
import stat
import sys
import time
import uuid
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import config

from .simd import SETTING as VECTORS

# What a compiled kernel was made from, as text: two kernels with the same text compile to the same code.
#
# Numba itself looks at the code of one function only. A kernel is also made of the kernels it calls and of
# the module-level numbers that all of them read, which Numba writes into the machine code as constants.


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


try:
    from llvmlite.binding import address_of_symbol
    from numba.core import serialize
    from numba.core.compiler import CompileResult
    from numba.core.runtime import rtsys

    _NUMBA_IS_KNOWN = hasattr(CompileResult, "_reduce") and hasattr(CompileResult, "_rebuild")
except ImportError:
    _NUMBA_IS_KNOWN = False

#: Kernels of other versions go when nobody has used them for so long.
KEPT_DAYS = 90
_DAY = 86400.0
_SUFFIX = ".kernel"
_FOLDER_NAME = re.compile(r"[\w.+]+-[0-9a-f]{24}")
_CHECKSUM_BYTES = hashlib.sha256().digest_size
# Settings of Numba that change the machine code, beside the processor.
_SETTINGS = (
    "OPT",
    "LOOP_VECTORIZE",
    "SLP_VECTORIZE",
    "ENABLE_AVX",
    "USING_SVML",
    "BOUNDSCHECK",
    "DEBUGINFO_DEFAULT",
)


def keep_compiled(dispatcher: Any) -> Any:
    """Let a kernel be loaded from disk where it was compiled before, and kept there otherwise."""
    if _NUMBA_IS_KNOWN and hasattr(dispatcher, "_cache"):
        dispatcher._cache = KernelCache(dispatcher.py_func)
    else:
        _use_cache_of_numba(dispatcher)
    return dispatcher


def _use_cache_of_numba(dispatcher: Any) -> None:
    """Have Numba keep a kernel in its own way, but in our folder, where it is never stale."""
    settings: Any = config
    folder, chosen = kernel_folder(), settings.CACHE_DIR
    if folder is None:
        return
    settings.CACHE_DIR = str(folder)
    try:
        _make_folder(folder)
        dispatcher.enable_caching()
    except (OSError, RuntimeError):  # it cannot write there, or others can
        pass
    finally:
        settings.CACHE_DIR = chosen


class KernelCache:
    """What Numba asks when it needs a signature of one kernel, in place of its own cache."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        self._enabled = True

    @property
    def cache_path(self) -> str | None:
        """The folder, for Numba's statistics."""
        folder = kernel_folder()
        return None if folder is None else str(folder)

    def enable(self) -> None:
        """Use the disk."""
        self._enabled = True

    def disable(self) -> None:
        """Compile in memory."""
        self._enabled = False

    def flush(self) -> None:
        """Remove this kernel's files."""
        folder = kernel_folder()
        if folder is not None:
            _remove(folder.glob(f"{self._name}-*{_SUFFIX}"))

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Compiled code for a signature; None if it is not there, or not as it was written."""
        try:
            path = self._path(signature, target.codegen())
            if path is None or (payload := _read(path)) is None:
                return None
            needs, parts = pickle.loads(payload)  # nosec B301: written by this user, as _read has seen
            _prepare(target, needs)
            compiled = CompileResult._rebuild(target, *parts)
        except Exception:  # whatever it is: the kernel can be compiled
            return None
        _mark_used(path.parent)
        return compiled

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep compiled code for other processes; where that fails, warn and go on."""
        # Addresses of this process are written into code with dynamic globals.
        if not self._enabled or compiled.library.has_dynamic_globals:
            return
        try:
            path = self._path(signature, compiled.codegen)
            if path is None:
                raise OSError(errno.ENOENT, "no folder for caches is known")
            _write(path, serialize.dumps((_needs(compiled), compiled._reduce())))
            _forget_unused(path.parent.parent)
        except Exception as error:  # the kernel itself is there
            _warn_once(getattr(error, "strerror", None) or repr(error))

    def _path(self, signature: Any, codegen: Any) -> Path | None:
        folder = kernel_folder()
        if folder is None or not self._enabled:
            return None
        settings = [(name, repr(getattr(config, name, None))) for name in _SETTINGS]
        # Triple, name and features of the processor, as NUMBA_CPU_NAME and NUMBA_CPU_FEATURES have it.
        processor = codegen.magic_tuple()
        key = repr((signature, processor, settings, VECTORS, fingerprint(self._function)))
        return folder / f"{self._name}-{hashlib.sha256(key.encode()).hexdigest()[:32]}{_SUFFIX}"


def _needs(compiled: Any) -> list[str]:
    """Names that compiled code takes from the process it runs in."""
    module = compiled.library._final_module
    outside = [each.name for each in (*module.functions, *module.global_variables) if each.is_declaration]
    return [name for name in outside if not name.startswith("llvm.")]


def _prepare(target: Any, needs: list[str]) -> None:
    """Have in this process what compiled code takes from it.

    That is Numba's runtime and little else. Numba itself loads all that it knows to compile before it runs
    anything, which takes four times as long as all the rest of loading the kernels of a fit.
    """
    rtsys.initialize(target)
    if not all(address_of_symbol(name) for name in needs):
        target.refresh()


@cache
def kernel_folder() -> Path | None:
    """Folder for kernels of this state of the sources; None if there is no place for it."""
    root, sources = cache_root(), sorted(Path(__file__).parent.glob("*.py"))
    if root is None or not sources:  # without sources nothing tells one state from another
        return None
    version = getattr(sys.modules[__name__.partition(".")[0]], "__version__", "unknown")
    made_by = (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__, np.__version__)
    digest = hashlib.sha256(repr((version, made_by)).encode())
    for path in sources:
        digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    # Without links: the folders that are checked are those that are used.
    return Path(os.path.realpath(root)) / f"{version}-{digest.hexdigest()[:24]}"


def cache_root() -> Path | None:
    """Folder for kernels of all versions.

    ``highrelief`` in HIGHRELIEF_CACHE_DIR, in Numba's cache folder if the user has set one, or in the place
    that the system has for caches. None if the system does not know who the user is.
    """
    home = Path(os.path.expanduser("~"))
    if sys.platform == "win32":
        usual = os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local"
    elif sys.platform == "darwin":
        usual = home / "Library" / "Caches"
    else:
        usual = os.environ.get("XDG_CACHE_HOME") or home / ".cache"
    chosen = os.environ.get("HIGHRELIEF_CACHE_DIR") or getattr(config, "CACHE_DIR", "")
    root = Path(chosen).absolute() if chosen else Path(usual)
    return root / "highrelief" if root.is_absolute() else None


def _read(path: Path) -> bytes | None:
    """What was written; None if it is not there, damaged, or others can have written it."""
    try:
        if not _is_ours(os.lstat(path.parent)) or _unsafe_parent(path.parent) is not None:
            return None
        with open(path, "rb", opener=_open_no_link) as file:
            if not _is_ours(os.fstat(file.fileno())):
                return None
            content = file.read()
    except OSError:
        return None
    checksum, payload = content[:_CHECKSUM_BYTES], content[_CHECKSUM_BYTES:]
    return payload if _checksum(path, payload) == checksum else None


def _write(path: Path, payload: bytes) -> None:
    """Make a file that is there as a whole or not at all."""
    _make_folder(path.parent)
    apart = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}")
    try:
        with open(apart, "xb", opener=_open_for_owner) as file:
            file.write(_checksum(path, payload) + payload)
        apart.replace(path)
    except PermissionError:
        _remove([apart])
        if _read(path) != payload:  # Windows does not replace what another process has open
            raise
    except BaseException:
        _remove([apart])
        raise


def _checksum(path: Path, payload: bytes) -> bytes:
    """Digest of a file's name and of its payload."""
    digest = hashlib.sha256(path.name.encode() + b"\0")
    digest.update(payload)
    return digest.digest()


def _make_folder(folder: Path) -> None:
    """Make a folder that others cannot write to; an error if it is there and they can."""
    for each in (*reversed(folder.parents), folder):
        if not each.exists():
            each.mkdir(mode=0o755, exist_ok=True)
    unsafe = folder if not _is_ours(os.lstat(folder)) else _unsafe_parent(folder)
    if unsafe is not None:
        raise OSError(errno.EPERM, f"others can write to {unsafe}")


def _is_ours(status: os.stat_result) -> bool:
    """Whether only this user and the administrator can write there; where systems know no such bits, yes."""
    if not hasattr(os, "geteuid"):
        return True
    return status.st_uid in (os.geteuid(), 0) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@cache
def _unsafe_parent(folder: Path) -> Path | None:
    """The first folder above in which others can rename or replace what is on the way; None if there is none.

    Above the home folder nothing is checked: who can replace it can do all that the user can.
    """
    home = Path(os.path.realpath(os.path.expanduser("~")))
    for parent in folder.parents:
        status = os.lstat(parent)
        # In a folder with the sticky bit, as /tmp, only their owners rename what is theirs.
        sticky = status.st_mode & stat.S_ISVTX and status.st_uid in (os.geteuid(), 0)
        if not (_is_ours(status) or sticky or _is_of_private_group(status)):
            return parent
        if parent == home:
            break
    return None


def _is_of_private_group(status: os.stat_result) -> bool:
    """Whether the group that can write is the user's own, of no one else: with it umask is often 002."""
    import grp  # noqa: PLC0415 (not on Windows, and seldom needed)
    import pwd  # noqa: PLC0415

    if status.st_uid != os.geteuid() or status.st_mode & stat.S_IWOTH or status.st_gid == 0:
        return False
    try:
        user, group = pwd.getpwuid(status.st_uid), grp.getgrgid(status.st_gid)
    except KeyError:
        return False
    return (user.pw_name, user.pw_gid) == (group.gr_name, group.gr_gid) and {*group.gr_mem} <= {user.pw_name}


def _open_no_link(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0))


def _open_for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o644)


@cache
def _mark_used(folder: Path) -> None:
    with suppress(OSError):  # a folder may be there to be read only
        if time.time() - folder.stat().st_mtime > _DAY:
            os.utime(folder)


@cache
def _forget_unused(root: Path) -> None:
    """Remove the kernels of versions that nobody has used for long, and nothing else."""
    for entry in os.scandir(root):
        with suppress(OSError):  # another process is at it, or the folder holds something that is not ours
            unused = time.time() - entry.stat(follow_symlinks=False).st_mtime
            ours = _FOLDER_NAME.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
            if ours and unused > KEPT_DAYS * _DAY:
                _remove(Path(entry.path).glob(f"*{_SUFFIX}*"))
                os.rmdir(entry.path)


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        with suppress(OSError):
            path.unlink()


@cache
def _warn_once(reason: str) -> None:
    warnings.warn(
        f"highrelief cannot keep its compiled kernels in {cache_root()} ({reason}): every process compiles"
        " them anew. Set HIGHRELIEF_CACHE_DIR to a folder that you, and nobody else, can write to.",
        UserWarning,
        stacklevel=2,
    )
