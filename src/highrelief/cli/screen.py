"""Output of the command: results on the standard output, notes and progress on standard error."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from .errors import escaped

if TYPE_CHECKING:
    from ..io.roles import InputTable
    from ..papers.results import Results
    from ..papers.runner import Paper


#: Of more classes than the former, the screen lists the latter.
_MOST_SHOWN, _FEW_SHOWN = 20, 5
_BAR = "█"

#: Receives the number of finished steps, and the total number.
ReportProgress = Callable[[int, int], None]


class Listener:
    """Receives notes and progress of a run; this one ignores them."""

    def note(self, text: str) -> None:
        """Receive a note for the user."""

    def step(self, description: str) -> AbstractContextManager[ReportProgress]:
        """Return a context for a long computation; it yields a function that receives the progress."""
        return nullcontext(lambda done, total: None)

    def table(self, table: InputTable) -> None:
        """Note the size and target of a table, and the notes on how it was read."""
        if table.continuous_target:
            target = f"a target from {table.y.min():g} to {table.y.max():g}"
        else:
            counts = [f"{name} ({count:,})" for name, count in table.class_counts.items()]
            listed = counts if len(counts) <= _MOST_SHOWN else counts[:_FEW_SHOWN]
            rest = f" and {len(counts) - len(listed):,} more" if len(listed) < len(counts) else ""
            target = f"classes {', '.join(listed)}{rest}"
        from ..io.cells import counted  # noqa: PLC0415

        self.note(
            f"{counted(len(table.y), 'sample')}, {counted(len(table.feature_names), 'feature')}, {target}"
        )
        for note in table.notes:
            self.note(f"- {note}")


#: The default listener.
SILENT = Listener()


class Terminal(Console):
    """A console that shows any text as text: without control sequences and markup."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Escape strings, also where their width is measured."""
        return super().render_str(escaped(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Escape texts that were created elsewhere."""
        if isinstance(renderable, Text) and not renderable.plain.isprintable():
            renderable = renderable.copy()
            renderable.plain = escaped(renderable.plain)
        return super().render(renderable, options)

    def table(
        self,
        header: Sequence[str],
        rows: Iterable[Sequence[str]],
        *,
        right: Collection[str] = (),
        title: str | None = None,
    ) -> None:
        """Show a table without lines; columns of the headings in ``right`` are aligned to the right."""
        table = Table(box=None, pad_edge=False, title=title)
        for heading in header:
            table.add_column(heading, justify="right" if heading in right else "left")
        for row in rows:
            table.add_row(*row)
        self.print(table)

    def rows(self, rows: Iterable[Sequence[object]]) -> None:
        """Write lines of tab-separated fields, for programs."""
        self.file.write("".join("\t".join(map(escaped, row)) + "\n" for row in rows))


class Screen(Listener):
    """Shows results, notes and progress: tables and bars on a terminal, tab-separated text elsewhere."""

    def __init__(self, *, quiet: bool = False) -> None:
        for stream in (sys.stdout, sys.stderr):
            # A character that the encoding lacks must not end a run.
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        self.out, self.err = Terminal(), Terminal(stderr=True)
        self._quiet = quiet
        self._noted_compilation = False

    def note(self, text: str) -> None:
        """Show a note."""
        if not self._quiet:
            self.err.print(text, soft_wrap=True)

    @contextmanager
    def step(self, description: str) -> Iterator[ReportProgress]:
        """Show a progress bar with the time left, if the computation takes long."""
        from ..base.compilation import MESSAGE, observing_compilation  # noqa: PLC0415

        if self._quiet or not self.err.is_terminal:

            def note_once(compiling: bool) -> None:
                if compiling and not self._noted_compilation:
                    self._noted_compilation = True
                    self.note(f"- {MESSAGE}")

            with observing_compilation(note_once):
                yield lambda done, total: None
            return
        from rich.progress import (  # noqa: PLC0415
            BarColumn,
            Progress,
            SpinnerColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        from .._engine.limits import limits  # noqa: PLC0415
        from .._engine.threads import start_helper  # noqa: PLC0415
        from ..base.progress import listening  # noqa: PLC0415

        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[steps]}", markup=False),
            TimeElapsedColumn(),
            TextColumn("left:"),
            TimeRemainingColumn(),
        )
        progress = Progress(*columns, console=self.err, transient=True)
        task = progress.add_task(description, total=None, steps="")
        finished = threading.Event()
        starter = start_helper(lambda: None if finished.wait(limits.progress_delay) else progress.start())

        def report(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total, steps=f"{done:,} of {total:,}")

        def describe(compiling: bool) -> None:
            suffix = " (compiling for this machine, once)" if compiling else ""
            progress.update(task, description=f"{description}{suffix}")

        try:
            with listening(report), observing_compilation(describe):
                yield report
        finally:
            finished.set()
            starter.end()
            progress.stop()

    def ranking(self, ranks: Sequence[int], names: Sequence[str], weights: Sequence[float]) -> None:
        """Show the best features, with bars on a terminal."""
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

    def selection(self, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Show the selected features."""
        if not self.out.is_terminal:
            self.out.rows([header, *rows])
            return
        cells = ([each if isinstance(each, str) else f"{each:.4g}" for each in row] for row in rows)
        self.out.table(header, cells, right=set(header) - {"feature"})

    def comparison(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Show the results of methods."""
        if not self.out.is_terminal:
            values = (["" if each is None else each for each in row.values()] for row in rows)
            self.out.rows([list(rows[0]), *values])
            return
        from ..inspection.comparison import COLUMNS, formatted_rows  # noqa: PLC0415

        self.out.table(COLUMNS, formatted_rows(rows), right=COLUMNS[2:])

    def results(self, results: Results) -> None:
        """Show reproduced and published results side by side."""
        head, *lines = results.lines()
        if self.out.is_terminal:
            self.out.table(head, lines, title=results.heading)
        else:
            self.out.rows([[f"# {results.heading}"], head, *lines])
        for remark in results.remarks:
            self.note(f"- {remark}")

    def papers(self, known: Sequence[Paper]) -> None:
        """List the experiments of each paper, and those that cannot be run."""
        from ..catalog import as_text  # noqa: PLC0415

        names = [[*(each.name for each in paper.experiments), *paper.not_run] for paper in known]
        width = max(len(name) for of_paper in names for name in of_paper)
        for paper in known:
            self.out.print()
            self.out.print(as_text(paper.key), style="bold", soft_wrap=True)
            for each in paper.experiments:
                self.out.print(f"  {each.name:<{width}}  {each.title}", soft_wrap=True)
            for name, reason in paper.not_run.items():
                self.out.print(f"  {name:<{width}}  cannot be run: {reason}", style="dim", soft_wrap=True)
