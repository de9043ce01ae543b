"""The command ``highrelief``."""

from __future__ import annotations

import contextlib
import sys

#: Bytes of address space that the imports of a command reserve, measured on two cores with 1.1 GiB; with
#: less, OpenBLAS retries an allocation forever while SciPy is imported.
_FEWEST_ADDRESSES = 5 * 2**28


def main() -> None:
    """Run the command."""
    _check_address_space()
    try:
        from .commands import app  # noqa: PLC0415
    except ModuleNotFoundError as error:
        sys.exit(
            f"The command needs {error.name}, which is not installed: pip install 'highrelief[cli]'"
            " installs it."
        )
    except KeyboardInterrupt:
        sys.exit(130)
    app(prog_name="highrelief")


def _check_address_space() -> None:
    """Exit if the limit on the address space is too low for the libraries to be imported."""
    with contextlib.suppress(ImportError, AttributeError):
        import resource  # noqa: PLC0415  not on Windows

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY and limit < _FEWEST_ADDRESSES:
            sys.exit(
                f"highrelief: the address space is limited to {limit // 1024} kB (ulimit -v), and at least"
                f" {_FEWEST_ADDRESSES // 1024} kB are needed: raise the limit, to {2**21} kB for example."
            )
