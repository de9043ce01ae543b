"""The command ``highrelief``. Thin: what a command does is imported when it runs."""

from __future__ import annotations

import sys
from typing import Any


def main() -> None:
    """Run the command."""
    try:
        command = _command()
    except ModuleNotFoundError as error:
        sys.exit(
            f"The command needs {error.name}, which is not installed: pip install 'highrelief[report]'"
            " installs it."
        )
    command()


def _command() -> Any:
    import rich  # noqa: F401, PLC0415  typer does without, the commands do not
    import typer  # noqa: PLC0415

    command = typer.Typer(
        help="Which features matter, when they act only together.",
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )

    def show_version(wanted: bool) -> None:
        if wanted:
            from . import __version__  # noqa: PLC0415

            typer.echo(__version__)
            raise typer.Exit

    @command.callback()
    def common(
        version: bool = typer.Option(
            False, "--version", help="Say the version.", callback=show_version, is_eager=True
        ),
    ) -> None:
        pass

    command.command()(warmup)
    return command


def warmup() -> None:
    """Compile all kernels now, so that no later fit has to wait for it."""
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    console = Console()
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("scikit-learn and Numba")
        from .warmup import warm_up  # noqa: PLC0415

        result = warm_up(
            lambda step, done, total: progress.update(
                task, description=str(step), completed=done, total=total
            )
        )
    console.print(str(result), highlight=False, soft_wrap=True)
