"""Disk cache of compiled kernels, shared by all processes of a user.

Numba's own ``cache=True`` writes next to the source, where a reinstallation discards it and a read-only
installation cannot write, and it does not notice changes in called kernels. Here a kernel is stored in

    <user's cache folder>/highrelief/<version>-<digest of all kernel sources and of Numba>/

with one file per signature. The file name is the digest of everything that the machine code depends on. The
file starts with a checksum of its name and payload, so a file that is damaged, or renamed to the name of
another kernel, is ignored and the kernel is compiled again. Files are written to a temporary name and
renamed, and there is no index, so any number of processes can write concurrently.

Loading a kernel executes the content of its file. A file is therefore read only if no other user except the
administrator can have written it: file and folder must neither belong to, nor be writable by, anyone else,
and nobody else may be able to rename a parent folder (the rule of OpenSSH's StrictModes, up to the home
folder).
"""

from __future__ import annotations

import errno
import hashlib
import os
import pickle  # nosec B403: only files that this user wrote
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

# The fingerprint of a kernel: two kernels with equal fingerprints compile to the same machine code.
#
# Numba itself looks at the code of one function only. The machine code also depends on the kernels that are
# called, and on the module-level constants that all of them read, which Numba inlines.

_PACKAGE = __name__.rpartition(".")[0]
_CONSTANT_TYPES = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype)


def fingerprint(function: Any) -> str:
    """Return a digest of a kernel's code, of the package's functions it calls, and of their constants."""
    text = "\n".join(_code_parts(function, set()))
    return hashlib.sha256(text.encode()).hexdigest()


def _code_parts(function: Any, seen: set[int]) -> Iterator[str]:
    function = _python_function(function)
    if id(function) in seen:
        return
    seen.add(id(function))
    yield f"{function.__module__}.{function.__qualname__} {_value(function.__defaults__)}"
    for cell in function.__closure__ or ():
        yield from _value_parts(cell.cell_contents, seen)
    names: set[str] = set()
    yield from _bytecode_parts(function.__code__, names)
    for name in sorted(names):
        if name in function.__globals__:
            value = function.__globals__[name]
            yield f"{name}:"
            yield from _value_parts(value, seen)
            if isinstance(value, ModuleType) and value.__name__.startswith(_PACKAGE):
                for attribute in sorted(names & vars(value).keys()):
                    yield from _value_parts(vars(value)[attribute], seen)


def _value_parts(value: Any, seen: set[int]) -> Iterator[str]:
    if getattr(_python_function(value), "__module__", "").startswith(_PACKAGE):
        yield from _code_parts(value, seen)
    else:
        yield _value(value)


def _python_function(value: Any) -> Any:
    """Return the Python function of a kernel or an intrinsic; None for other values."""
    for attribute in ("py_func", "_defn"):
        value = getattr(value, attribute, value)
    return value if isinstance(value, FunctionType) else None


def _bytecode_parts(code: CodeType, names: set[str]) -> Iterator[str]:
    """Yield instructions and constants without line numbers; add the names that are read to ``names``."""
    names.update(code.co_names)
    yield f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {code.co_freevars}"
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _bytecode_parts(constant, names)
        else:
            yield _value(constant)


def _value(value: Any) -> str:
    """Represent a constant as text that is equal in every process; return "" for other values."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_value, value))})"
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(_value, value)))}}}"
    return f"{type(value).__name__} {value!r}" if isinstance(value, _CONSTANT_TYPES) else ""


try:
    from llvmlite.binding import address_of_symbol
    from numba.core import serialize
    from numba.core.compiler import CompileResult
    from numba.core.runtime import rtsys

    _NUMBA_IS_SUPPORTED = hasattr(CompileResult, "_reduce") and hasattr(CompileResult, "_rebuild")
except ImportError:
    _NUMBA_IS_SUPPORTED = False

#: Kernels of other versions are removed after this many days without use.
RETENTION_DAYS = 90
_DAY = 86400.0
_SUFFIX = ".kernel"
_FOLDER_NAME = re.compile(r"[\w.+]+-[0-9a-f]{24}")
_CHECKSUM_BYTES = hashlib.sha256().digest_size
# Numba settings that affect the machine code, apart from the processor.
_SETTINGS = (
    "OPT",
    "LOOP_VECTORIZE",
    "SLP_VECTORIZE",
    "ENABLE_AVX",
    "USING_SVML",
    "BOUNDSCHECK",
    "DEBUGINFO_DEFAULT",
)


def cache_on_disk(dispatcher: Any) -> Any:
    """Make a kernel load its machine code from the disk cache, and store it there after compilation."""
    if _NUMBA_IS_SUPPORTED and hasattr(dispatcher, "_cache"):
        dispatcher._cache = KernelCache(dispatcher.py_func)
    else:
        _use_numba_cache(dispatcher)
    return dispatcher


def _use_numba_cache(dispatcher: Any) -> None:
    """Enable Numba's own cache, but in a folder that is never stale."""
    settings: Any = config
    folder, configured = kernel_folder(), settings.CACHE_DIR
    if folder is None:
        return
    settings.CACHE_DIR = str(folder)
    try:
        _make_folder(folder)
        dispatcher.enable_caching()
    except (OSError, RuntimeError):  # the folder is not writable, or writable by others
        pass
    finally:
        settings.CACHE_DIR = configured


class KernelCache:
    """Disk cache for the signatures of one kernel; replaces Numba's own cache object."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        self._enabled = True

    @property
    def cache_path(self) -> str | None:
        """Folder of the cache, for Numba's statistics."""
        folder = kernel_folder()
        return None if folder is None else str(folder)

    def enable(self) -> None:
        """Enable the disk cache."""
        self._enabled = True

    def disable(self) -> None:
        """Disable the disk cache: compile in memory."""
        self._enabled = False

    def flush(self) -> None:
        """Remove this kernel's files."""
        folder = kernel_folder()
        if folder is not None:
            _remove(folder.glob(f"{self._name}-*{_SUFFIX}"))

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Load the compiled code of a signature; return None if it is not cached or the file is invalid."""
        try:
            path = self._path(signature, target.codegen())
            if path is None or (payload := _read(path)) is None:
                return None
            symbols, parts = pickle.loads(payload)  # nosec B301: written by this user, checked in _read
            _ensure_symbols(target, symbols)
            compiled = CompileResult._rebuild(target, *parts)
        except Exception:  # whatever the error, the kernel can be compiled
            return None
        _touch(path.parent)
        return compiled

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Store compiled code for other processes; warn if that fails."""
        # Code with dynamic globals contains addresses of this process.
        if not self._enabled or compiled.library.has_dynamic_globals:
            return
        try:
            path = self._path(signature, compiled.codegen)
            if path is None:
                raise OSError(errno.ENOENT, "there is no cache folder")
            _write(path, serialize.dumps((_external_symbols(compiled), compiled._reduce())))
            _remove_unused(path.parent.parent)
        except Exception as error:  # the kernel itself was compiled
            _warn_once(getattr(error, "strerror", None) or repr(error))

    def _path(self, signature: Any, codegen: Any) -> Path | None:
        folder = kernel_folder()
        if folder is None or not self._enabled:
            return None
        settings = [(name, repr(getattr(config, name, None))) for name in _SETTINGS]
        # Triple, name and features of the processor; NUMBA_CPU_NAME and NUMBA_CPU_FEATURES override them.
        processor = codegen.magic_tuple()
        key = repr((signature, processor, settings, VECTORS, fingerprint(self._function)))
        return folder / f"{self._name}-{hashlib.sha256(key.encode()).hexdigest()[:32]}{_SUFFIX}"


def _external_symbols(compiled: Any) -> list[str]:
    """List the symbols that compiled code imports from the process."""
    module = compiled.library._final_module
    declared = [each.name for each in (*module.functions, *module.global_variables) if each.is_declaration]
    return [name for name in declared if not name.startswith("llvm.")]


def _ensure_symbols(target: Any, symbols: list[str]) -> None:
    """Make sure that this process provides the symbols that compiled code imports.

    That is Numba's runtime and little else. Numba itself initializes its whole compiler before it runs
    anything, which takes four times as long as loading the kernels of a fit.
    """
    rtsys.initialize(target)
    if not all(address_of_symbol(name) for name in symbols):
        target.refresh()


@cache
def kernel_folder() -> Path | None:
    """Return the folder for kernels of the present sources; None if there is no place for it."""
    root, sources = cache_root(), sorted(Path(__file__).parent.glob("*.py"))
    if root is None or not sources:  # without sources there is nothing to fingerprint
        return None
    version = getattr(sys.modules[__name__.partition(".")[0]], "__version__", "unknown")
    versions = (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__, np.__version__)
    digest = hashlib.sha256(repr((version, versions)).encode())
    for path in sources:
        digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    # Resolved: the folders that are checked must be those that are used.
    return Path(os.path.realpath(root)) / f"{version}-{digest.hexdigest()[:24]}"


def cache_root() -> Path | None:
    """Return the folder for kernels of all versions.

    ``highrelief`` in HIGHRELIEF_CACHE_DIR, in Numba's cache folder if the user has set one, or in the
    platform's cache folder. None if the home folder is unknown.
    """
    home = Path(os.path.expanduser("~"))
    if sys.platform == "win32":
        default = os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local"
    elif sys.platform == "darwin":
        default = home / "Library" / "Caches"
    else:
        default = os.environ.get("XDG_CACHE_HOME") or home / ".cache"
    configured = os.environ.get("HIGHRELIEF_CACHE_DIR") or getattr(config, "CACHE_DIR", "")
    root = Path(configured).absolute() if configured else Path(default)
    return root / "highrelief" if root.is_absolute() else None


def _read(path: Path) -> bytes | None:
    """Return the payload of a file; None if it is missing, damaged, or may have been written by others."""
    try:
        if not _is_trusted(os.lstat(path.parent)) or _unsafe_parent(path.parent) is not None:
            return None
        with open(path, "rb", opener=_open_no_link) as file:
            if not _is_trusted(os.fstat(file.fileno())):
                return None
            content = file.read()
    except OSError:
        return None
    checksum, payload = content[:_CHECKSUM_BYTES], content[_CHECKSUM_BYTES:]
    return payload if _checksum(path, payload) == checksum else None


def _write(path: Path, payload: bytes) -> None:
    """Write a file atomically."""
    _make_folder(path.parent)
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}")
    try:
        with open(temporary, "xb", opener=_open_for_owner) as file:
            file.write(_checksum(path, payload) + payload)
        temporary.replace(path)
    except PermissionError:
        _remove([temporary])
        if _read(path) != payload:  # Windows does not replace a file that another process has open
            raise
    except BaseException:
        _remove([temporary])
        raise


def _checksum(path: Path, payload: bytes) -> bytes:
    """Return the digest of a file's name and payload."""
    digest = hashlib.sha256(path.name.encode() + b"\0")
    digest.update(payload)
    return digest.digest()


def _make_folder(folder: Path) -> None:
    """Create a folder that others cannot write to; raise OSError if it exists and they can."""
    for each in (*reversed(folder.parents), folder):
        if not each.exists():
            each.mkdir(mode=0o755, exist_ok=True)
    unsafe = folder if not _is_trusted(os.lstat(folder)) else _unsafe_parent(folder)
    if unsafe is not None:
        raise OSError(errno.EPERM, f"others can write to {unsafe}")


def _is_trusted(status: os.stat_result) -> bool:
    """Whether only this user and the administrator can write there; True on systems without such modes."""
    if not hasattr(os, "geteuid"):
        return True
    return status.st_uid in (os.geteuid(), 0) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@cache
def _unsafe_parent(folder: Path) -> Path | None:
    """Return the nearest parent in which others can rename or replace entries; None if all are safe.

    Folders above the home folder are not checked: replacing the home folder already gives full control.
    """
    home = Path(os.path.realpath(os.path.expanduser("~")))
    for parent in folder.parents:
        status = os.lstat(parent)
        # In a folder with the sticky bit, such as /tmp, only owners can rename their entries.
        sticky = status.st_mode & stat.S_ISVTX and status.st_uid in (os.geteuid(), 0)
        if not (_is_trusted(status) or sticky or _is_private_group(status)):
            return parent
        if parent == home:
            break
    return None


def _is_private_group(status: os.stat_result) -> bool:
    """Whether the group that can write has this user as its only member: umask is then often 002."""
    import grp  # noqa: PLC0415 (not on Windows, and rarely needed)
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
def _touch(folder: Path) -> None:
    with suppress(OSError):  # the folder may be read-only
        if time.time() - folder.stat().st_mtime > _DAY:
            os.utime(folder)


@cache
def _remove_unused(root: Path) -> None:
    """Remove the kernels of versions that have not been used for a long time, and nothing else."""
    for entry in os.scandir(root):
        with suppress(OSError):  # removed by another process, or not empty
            unused = time.time() - entry.stat(follow_symlinks=False).st_mtime
            is_kernel_folder = _FOLDER_NAME.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
            if is_kernel_folder and unused > RETENTION_DAYS * _DAY:
                _remove(Path(entry.path).glob(f"*{_SUFFIX}*"))
                os.rmdir(entry.path)


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        with suppress(OSError):
            path.unlink()


@cache
def _warn_once(reason: str) -> None:
    warnings.warn(
        f"Cannot cache compiled kernels in {cache_root()} ({reason}): every process compiles them again."
        " Set HIGHRELIEF_CACHE_DIR to a folder that only you can write to.",
        UserWarning,
        stacklevel=2,
    )
