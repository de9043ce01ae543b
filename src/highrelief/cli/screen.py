"""What a person sees while a run goes on, and at its end. Plain where nobody looks."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from .._engine.threads import start_helper
from ..base.progress import listening
from ..catalog import as_text
from ..io.cells import counted
from ..io.roles import LabeledTable
from .terminal import Terminal

if TYPE_CHECKING:
    from ..papers.results import Results
    from ..papers.runner import Paper


# Who is told how a run goes.


#: Of more classes than the former, the screen lists the latter.
_MOST_SHOWN, _FEW_SHOWN = 20, 5

#: Told how many steps are done, and the most there can be.
Tell = Callable[[int, int], None]


class Watcher:
    """Told how a run goes; this one keeps it to itself."""

    def note(self, text: str) -> None:
        """Something the user should know."""

    def working(self, what: str) -> AbstractContextManager[Tell]:
        """Entered around what may take long; gives what can be told how far it has come."""
        return nullcontext(lambda done, total: None)

    def table(self, table: LabeledTable) -> None:
        """What was read, and by which rules."""
        if table.measured:
            target = f"a target from {table.y.min():g} to {table.y.max():g}"
        else:
            counts = [f"{name} ({count:,})" for name, count in class_counts(table).items()]
            shown = counts if len(counts) <= _MOST_SHOWN else counts[:_FEW_SHOWN]
            rest = f" and {len(counts) - len(shown):,} more" if len(shown) < len(counts) else ""
            target = f"classes {', '.join(shown)}{rest}"
        self.note(
            f"{counted(len(table.y), 'sample')}, {counted(len(table.feature_names), 'feature')}, {target}"
        )
        for note in table.notes:
            self.note(f"- {note}")


#: Where nobody looks.
NOBODY = Watcher()


def class_counts(table: LabeledTable) -> dict[str, int]:
    """How many samples each class has."""
    classes, counts = np.unique(table.y, return_counts=True)
    return dict(zip(classes.tolist(), counts.tolist(), strict=True))


#: Seconds of work before anything is shown about it.
PATIENCE = 2.0
_BAR = "█"


class Screen(Watcher):
    """The terminal: results go to the standard output, all else beside it."""

    def __init__(self, *, quiet: bool = False) -> None:
        for stream in (sys.stdout, sys.stderr):
            # A letter that the terminal does not have must not end a run.
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        self.out, self.beside = Terminal(), Terminal(stderr=True)
        self._quiet = quiet

    def note(self, text: str) -> None:
        """Tell something about the run."""
        if not self._quiet:
            self.beside.print(text, soft_wrap=True)

    @contextmanager
    def working(self, what: str) -> Iterator[Tell]:
        """Show, after a while, how far the work inside has come and how long the rest will take."""
        if self._quiet or not self.beside.is_terminal:
            yield lambda done, total: None
            return
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TimeElapsedColumn(),
            TextColumn("left:"),
            TimeRemainingColumn(),
        )
        progress = Progress(*columns, console=self.beside, transient=True)
        task = progress.add_task(what, total=None)
        over = threading.Event()
        shown = start_helper(lambda: None if over.wait(PATIENCE) else progress.start())

        def tell(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        try:
            with listening(tell):
                yield tell
        finally:
            over.set()
            shown.end()
            progress.stop()

    def ranking(self, ranks: Sequence[int], names: Sequence[str], weights: Sequence[float]) -> None:
        """Show the best features: a table with bars on a terminal, lines with tabs elsewhere."""
        if not self.out.is_terminal:
            self.out.rows([("rank", "feature", "weight"), *zip(ranks, names, weights, strict=True)])
            return
        table = Table(box=None, pad_edge=False)
        table.add_column("rank", justify="right")
        table.add_column("feature", overflow="ellipsis", no_wrap=True, ratio=1)
        table.add_column("weight", justify="right")
        width = max(8, min(40, self.out.width // 3))
        table.add_column("", width=width, no_wrap=True)
        largest = max((abs(weight) for weight in weights), default=0.0) or 1.0
        for rank, name, weight in zip(ranks, names, weights, strict=True):
            bar = _BAR * round(width * max(weight, 0.0) / largest)
            table.add_row(str(rank), name, f"{weight:.4g}", Text(bar, style="cyan"))
        self.out.print(table)

    def decisions(self, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Show the features that are kept: a table on a terminal, lines with tabs elsewhere."""
        if not self.out.is_terminal:
            self.out.rows([header, *rows])
            return
        table = Table(box=None, pad_edge=False)
        for heading in header:
            table.add_column(heading, justify="left" if heading == "feature" else "right")
        for row in rows:
            table.add_row(*(each if isinstance(each, str) else f"{each:.4g}" for each in row))
        self.out.print(table)

    def comparison(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Show methods side by side: a table on a terminal, lines with tabs elsewhere."""
        if not self.out.is_terminal:
            values = (["" if each is None else each for each in row.values()] for row in rows)
            self.out.rows([list(rows[0]), *values])
            return
        table = Table(box=None, pad_edge=False)
        table.add_column("method")
        table.add_column("classifier")
        for heading in ("accuracy", "interval", "features", "stability", "trade-off", "seconds"):
            table.add_column(heading, justify="right")
        for row in rows:
            table.add_row(
                row["method"],
                row["classifier"],
                _share(row["accuracy"]),
                f"{_share(row['accuracy_lower'])} to {_share(row['accuracy_upper'])}",
                f"{row['n_features']:g} ({row['n_features_least']} to {row['n_features_most']})",
                _share(row["ranking_stability"]),
                _share(row["tradeoff"]),
                f"{row['seconds']:.2g}",
            )
        self.out.print(table)

    def results(self, results: Results) -> None:
        """Show ours beside theirs: a table on a terminal, lines with tabs elsewhere."""
        head, *lines = results.lines()
        title = f"{results.title} ({results.unit}): ours / theirs (standard errors apart)"
        if not self.out.is_terminal:
            self.out.rows([[f"# {title}"], head, *lines])
        else:
            table = Table(box=None, pad_edge=False, title=title)
            for heading in head:
                table.add_column(heading)
            for line in lines:
                table.add_row(*line)
            self.out.print(table)
        for remark in results.remarks:
            self.note(f"- {remark}")

    def papers(self, known: Sequence[Paper]) -> None:
        """List what can be run, and what cannot, paper by paper."""
        width = max(len(name) for paper in known for name in (*_names(paper), *paper.not_run))
        for paper in known:
            self.out.print()
            self.out.print(as_text(paper.key), style="bold", soft_wrap=True)
            for each in paper.experiments:
                self.out.print(f"  {each.name:<{width}}  {each.title}", soft_wrap=True)
            for name, reason in paper.not_run.items():
                self.out.print(f"  {name:<{width}}  cannot be run: {reason}", style="dim", soft_wrap=True)


def _names(paper: Paper) -> list[str]:
    return [each.name for each in paper.experiments]


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
