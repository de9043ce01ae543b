"""The one way to a terminal: text is shown as text, whatever file it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text


def escaped(text: object) -> str:
    """Return a text on one line, with escapes for characters that are not printable.

    These are control characters, line ends, direction overrides, characters of no width, lone surrogates.
    """
    line = str(text)
    if line.isprintable():
        return line
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in line)


class Terminal(Console):
    """A console that neither runs control sequences nor reads markup in what it shows."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Escape every string, also where its width is measured."""
        return super().render_str(escaped(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Escape every text that was made elsewhere."""
        if isinstance(renderable, Text) and not renderable.plain.isprintable():
            renderable = renderable.copy()
            renderable.plain = escaped(renderable.plain)
        return super().render(renderable, options)

    def rows(self, rows: Iterable[Sequence[object]]) -> None:
        """Write lines of fields with tabs between them, for programs."""
        self.file.write("".join("\t".join(map(escaped, row)) + "\n" for row in rows))
