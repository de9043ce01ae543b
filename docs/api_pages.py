"""Write the reference: a page per public name, their table of contents, and a page of the commands.

Public are ``highrelief.__all__``, the other names of ``dir(highrelief)``, and ``__all__`` of the public
modules. Commands and options are those of the Typer application. Nothing is listed here, so that nothing can
be forgotten.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, get_args

import typer
from sklearn.base import MetaEstimatorMixin, TransformerMixin
from sklearn.feature_selection import SelectorMixin

import highrelief
from highrelief.cli.commands import app

#: Modules that are used by their own names, with what they are for.
MODULES = {
    "highrelief.inspection.report.report": "What the functions return",
    "highrelief.inspection.interactions": "What the functions return",
    "highrelief.selection.stability_selection": "Which features are real",
    "highrelief.selection.knockoffs": "Which features are real",
    "highrelief.inspection.comparison": "Methods side by side",
    "highrelief.stability": "Stability",
    "highrelief.plots": "Pictures",
    "highrelief.datasets": "Data sets",
}


class Entry(NamedTuple):
    """A public name: where it is imported from, what it is, and the heading that it stands under."""

    module: str
    name: str
    value: Any
    group: str

    @property
    def page(self) -> str:
        """Name of its page, without the ending."""
        return f"{self.module}.{self.name}"


def kind(value: Any) -> str:
    """The heading for a name of the package itself."""
    if not inspect.isclass(value):
        return "Functions"
    if not issubclass(value, SelectorMixin):
        return "Feature extraction" if issubclass(value, TransformerMixin) else "Classification"
    return "Around any weighter" if issubclass(value, MetaEstimatorMixin) else "Feature weighters"


def entries() -> list[Entry]:
    """Every public name, in the order of the headings."""
    own = {name: getattr(highrelief, name) for name in dir(highrelief) if not name.startswith("_")}
    named = [
        Entry("highrelief", name, value, kind(value))
        for name, value in own.items()
        if not isinstance(value, ModuleType)
    ]
    order = (
        "Feature weighters",
        "Around any weighter",
        "Feature extraction",
        "Classification",
        "Functions",
    )
    named.sort(key=lambda entry: (order.index(entry.group), entry.name.lower()))
    for path, heading in MODULES.items():
        module = import_module(path)
        named += [
            Entry(path, name, getattr(module, name), heading)
            for name in sorted(module.__all__, key=str.lower)
            if name not in own
        ]
    return named


def members(value: type) -> Iterator[str]:
    """Public methods and properties of a class that this package describes, in the order of their names."""
    for name in sorted(dir(value)):
        homes = [each for each in value.__mro__ if name in vars(each)]
        if name.startswith("_") or not homes or not homes[0].__module__.startswith("highrelief."):
            continue
        held = vars(homes[0])[name]
        wanted = inspect.isfunction(held) or isinstance(held, property | classmethod | staticmethod)
        if wanted or hasattr(held, "fn") or isinstance(held, cached_property):
            yield name


def fields(value: type) -> list[str]:
    """Fields of what a function returns: a data class or a named tuple."""
    return list(getattr(value, "__dataclass_fields__", getattr(value, "_fields", ())))


def borrowed(value: type) -> Iterator[str]:
    """Public methods that scikit-learn describes."""
    ours = set(members(value))
    for name in sorted(dir(value)):
        if not name.startswith("_") and name not in ours and callable(getattr(value, name, None)):
            yield name


def summary(value: Any) -> str:
    """First sentence of the docstring, in one line."""
    first = (inspect.getdoc(value) or "").split("\n\n")[0]
    return re.sub(r"\s+", " ", re.sub(r":\w+:`~?([^`]*)`", r"``\1``", first)).strip()


def page(entry: Entry) -> str:
    """The page of one name, in reStructuredText."""
    lines = [entry.name, "=" * len(entry.name), "", f".. currentmodule:: {entry.module}", ""]
    if not inspect.isclass(entry.value):
        lines += [f".. autofunction:: {entry.name}", ""]
    else:
        made_here = fields(entry.value)
        lines += [f".. autoclass:: {entry.name}{'()' if made_here else ''}", ""]
        for name in [*made_here, *members(entry.value)]:
            held = inspect.getattr_static(entry.value, name, None)
            if isinstance(held, cached_property):  # autodoc takes it for a function
                lines += [f"   .. attribute:: {name}", "", f"      {summary(held)}", ""]
                continue
            method = inspect.isroutine(held) or hasattr(held, "fn")
            kind = "method" if method else "property" if isinstance(held, property) else "attribute"
            lines += [f"   .. auto{kind}:: {name}", ""]
        others = [f"``{name}``" for name in borrowed(entry.value)]
        if others and hasattr(entry.value, "get_params"):
            lines += [f"As in every estimator of scikit-learn: {', '.join(others)}.", ""]
    lines += [f".. minigallery:: {entry.page}", "   :add-heading: Examples that use it", ""]
    return "\n".join(lines)


def contents(named: list[Entry]) -> str:
    """The table of contents, in reStructuredText."""
    lines = [
        "API",
        "===",
        "",
        "Every public name. Everything else in the package may change without notice. The :doc:`command"
        " reference <command>` describes the commands.",
        "",
        ".. toctree::",
        "   :hidden:",
        "",
        "   Commands <command>",
        "",
    ]
    for heading in dict.fromkeys(entry.group for entry in named):
        group = [entry for entry in named if entry.group == heading]
        homes = ", ".join(f"``{module}``" for module in dict.fromkeys(entry.module for entry in group))
        lines += [heading, "-" * len(heading), "", f"In {homes}.", ""]
        lines += [".. list-table::", "   :widths: 30 70", ""]
        for entry in group:
            lines += [f"   * - :doc:`{entry.name} <{entry.page}>`", f"     - {summary(entry.value)}"]
        lines += ["", ".. toctree::", "   :hidden:", ""]
        lines += [f"   {entry.name} <{entry.page}>" for entry in group]
        lines.append("")
    return "\n".join(lines)


def command_reference() -> str:
    """The page of the commands and their options, in reStructuredText."""
    program = typer.main.get_command(app)
    lines = [
        "Command reference",
        "=================",
        "",
        "``pip install 'highrelief[report]'`` installs the command. ``highrelief COMMAND --help`` prints the"
        " same text.",
        "",
    ]
    for name, command in program.commands.items():
        if not command.hidden:
            lines += _command_section(f"highrelief {name}", command)
    return "\n".join(lines)


def _command_section(title: str, command: Any) -> list[str]:
    lines = [title, "-" * len(title), "", *_plain(command.help), ""]
    lines += [".. code-block:: text", "", f"   {_usage(title, command)}", "", f".. program:: {title}", ""]
    panels: dict[str, list[str]] = {}
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            lines += [f"``{_argument(parameter)}``: {' '.join(_plain(parameter.help))}", ""]
        elif not parameter.hidden:
            panel = panels.setdefault(parameter.rich_help_panel or "Options", [])
            panel += [f".. option:: {_signature(parameter)}", ""]
            panel += [f"   {line}" for line in [*_option_help(parameter), ""]]
    for heading, options in panels.items():
        lines += [f"**{heading}**", "", *options]
    return lines


def _argument(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name).upper()


def _usage(title: str, command: Any) -> str:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    shown = [_argument(each) if each.required else f"[{_argument(each)}]" for each in arguments]
    return " ".join([title, *shown, "[OPTIONS]"])


def _plain(text: str | None) -> list[str]:
    """Help as lines of reStructuredText; paragraphs with a command become blocks of code."""
    lines: list[str] = []
    for part in re.split(r"\n\s*\n", inspect.cleandoc(re.sub(r"[\b\f]", "", text or ""))):
        if re.search(r"^(\s+|\$ |highrelief )\S", part, flags=re.MULTILINE):
            lines += [".. code-block:: text", "", *(f"   {line.strip()}" for line in part.splitlines()), ""]
        else:
            escaped = re.sub(r"([*|\\])|_\b", r"\\\g<0>", part)
            lines += [*re.sub(r"`+([^`]*)`+", r"``\1``", escaped).splitlines(), ""]
    return lines[:-1]


def _signature(parameter: Any) -> str:
    value = "" if parameter.is_flag else f" <{parameter.metavar or parameter.name.replace('_', '-')}>"
    return ", ".join(f"{name}{value}" for name in [*parameter.opts, *parameter.secondary_opts])


def _option_help(parameter: Any) -> list[str]:
    lines = _plain(parameter.help)
    choices = _choices(parameter)
    if choices:
        lines += ["One of " + ", ".join(f"``{each}``" for each in choices) + "."]
    if (
        parameter.default not in (None, False, "")
        and not callable(parameter.default)
        and not parameter.is_flag
    ):
        lines.append(f"Default: ``{parameter.default}``.")
    return lines


def _choices(parameter: Any) -> list[str]:
    """Values of an option that is an enumeration or a ``Literal``, for old and new versions of typer."""
    annotation = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    listed = getattr(getattr(parameter, "type", None), "choices", None) or get_args(annotation)
    if inspect.isclass(annotation) and issubclass(annotation, Enum):
        listed = list(annotation)
    return [str(getattr(each, "value", each)) for each in listed if isinstance(each, str | Enum)]


def write_pages(folder: Path) -> None:
    """Write all pages into a folder, except those that have not changed: Sphinx reads new files."""
    named = entries()
    wanted = {f"{entry.page}.rst": page(entry) for entry in named} | {"index.rst": contents(named)}
    wanted["command.rst"] = command_reference()
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.rst"):
        if old.name not in wanted:
            old.unlink()
    for name, text in wanted.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
