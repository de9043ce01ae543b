"""The command that runs the papers' experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .endings import told, unread
from .options import Debug, Force, Jobs, Quiet


def reproduce(
    table: Annotated[
        str | None, typer.Argument(help="A table or figure; without one, they are listed.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Folder of the papers' data sets.")] = None,
    repeats: Annotated[int | None, typer.Option(min=1, help="Fewer than the paper has, for a look.")] = None,
    datasets: Annotated[str | None, typer.Option(help="Names with commas; all if none is said.")] = None,
    fetch: Annotated[
        bool,
        typer.Option("--fetch", help="Get sets that are not at hand from OpenML, if it has them."),
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for the tables and figures.")] = None,
    cache: Annotated[Path, typer.Option(help="Where finished parts are kept, to go on later.")] = Path(
        ".highrelief-reproduced"
    ),
    jobs: Jobs = -1,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Run an experiment of one of the papers; ours beside theirs."""
    with told(debug):
        from ..protocols.registry import papers  # noqa: PLC0415
        from .runs.files import check_free  # noqa: PLC0415
        from .runs.reproduce import far_apart, reproduced  # noqa: PLC0415
        from .runs.screen import Screen  # noqa: PLC0415

        screen = Screen(quiet=quiet)
        if table is None:
            screen.papers(papers())
            return
        if out is not None:
            check_free(out, force=force)
        names = None if datasets is None else [name.strip() for name in datasets.split(",") if name.strip()]
        found = reproduced(
            table,
            data=data,
            cache=cache,
            datasets=names,
            repeats=repeats,
            n_jobs=jobs,
            fetch=fetch,
            watcher=screen,
        )
        written = [] if out is None else found.write(out, force=force)
        with unread():
            for each in found.results:
                screen.results(each)
        far = far_apart(found.results)
        for line in far:
            screen.note(f"Far: {line}")
        for reason in found.experiment.reasons if far else ():
            screen.note(f"Likely reason: {reason}")
        if out is not None:
            screen.note(f"Written: {', '.join(str(out / name) for name in written)}")


def cite(
    method: Annotated[str, typer.Argument(help="A method, or `all`.", show_default=False)],
    debug: Debug = False,
) -> None:
    """Print the references of a method, as BibTeX."""
    with told(debug):
        from ..citations import REFERENCES, bibtex  # noqa: PLC0415
        from .runs.methods import cited  # noqa: PLC0415

        typer.echo(bibtex(list(REFERENCES) if method == "all" else cited(method)))
