"""The command ``highrelief``. Thin: what a command does is imported when it runs."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command."""
    try:
        from .commands import app  # noqa: PLC0415
    except ModuleNotFoundError as error:
        sys.exit(
            f"The command needs {error.name}, which is not installed: pip install 'highrelief[report]'"
            " installs it."
        )
    except KeyboardInterrupt:
        sys.exit(130)
    app(prog_name="highrelief")
