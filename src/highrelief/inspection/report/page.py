"""Self-contained HTML pages of rankings and comparisons.

Templates, styles, scripts, libraries and data are inlined into one document. Data cannot execute: text is
escaped by Jinja2, data is JSON in an element that browsers do not run, and the content-security policy lists
the hash of every script and style, so that nothing else is run or fetched.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from ..._engine.limits import limits
from .comparison import ComparisonContents, percent
from .contents import Contents, FeatureTable
from .wording import MINUS, two_digits

try:
    from jinja2 import Environment, PackageLoader, StrictUndefined
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"A report needs {error.name}, which is not installed: pip install 'highrelief[report]' installs it.",
        name=error.name,
    ) from error

#: Libraries of every page.
_LIBRARIES = ("vendor/echarts.min.js", "vendor/tabulator.min.js")
#: Licenses to include with each library and its dependencies.
_LICENSES = {
    "vendor/echarts.min.js": ("NOTICE.echarts", "LICENSE.echarts", "LICENSE.zrender", "LICENSE.d3"),
    "vendor/tabulator.min.js": ("LICENSE.tabulator",),
}
_COMMON = ("scripts/common.js", "scripts/charts.js")
_STYLE = ("vendor/tabulator_simple.min.css", "style/page.css", "style/table.css", "style/comparison.css")
#: Applies if the reader prefers dark mode, never in print; a button overrides it.
_DARK = "style/dark.css"

#: Developer tools would fetch source maps.
_SOURCE_MAP = re.compile(r"(//# sourceMappingURL=.*|/\*# sourceMappingURL=.*?\*/)")
#: Text that would close the element early or keep it open.
_ENDS = re.compile(r"</(script|style)|<!--|<script", re.IGNORECASE)

#: The space between a number and its per cent sign.
_PER_CENT = re.compile(r"(?<=\d) %")
_ESCAPES = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}


@dataclass(frozen=True)
class Inline:
    """A script or style element and its hash for the content-security policy."""

    name: str
    text: str

    @property
    def source(self) -> str:
        """The hash of the text in the syntax of a content-security policy."""
        return f"'sha256-{base64.b64encode(hashlib.sha256(self.text.encode()).digest()).decode()}'"


def assemble(template: str, data: object, scripts: Sequence[str], **values: object) -> str:
    """Render a page as HTML.

    Parameters
    ----------
    template : str
        Name of a template that extends ``base.html.j2``.
    data : object
        Data for the scripts, of plain values and dataclasses.
    scripts : sequence of str
        Names of the page's own scripts, run after the common ones.
    **values : object
        Variables of the template.

    Returns
    -------
    str
        The page, encodable as UTF-8 for any names.
    """
    environment = _environment()
    run = [_inline(name) for name in (*_LIBRARIES, *_COMMON, *(f"scripts/{each}" for each in scripts))]
    style = [_inline(name) for name in _STYLE]
    dark = _inline(_DARK)
    page = environment.get_template(template).render(
        policy=policy(run, [*style, dark]),
        scripts=run,
        style=style,
        dark=dark,
        data=as_json(data),
        **values,
    )
    # Names decoded from invalid UTF-8 may have lone surrogates; HTML does not allow NUL.
    return page.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def policy(scripts: Sequence[Inline], style: Sequence[Inline]) -> str:
    """Return the content-security policy that allows only these elements."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(each.source for each in scripts)}",
            f"style-src {' '.join(each.source for each in style)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def as_json(data: object) -> str:
    """Serialize data as JSON that cannot close its element; NaN and infinity raise."""
    text = json.dumps(data, default=vars, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_ESCAPES)


@cache
def _inline(name: str) -> Inline:
    """Return a file of the package as an inline element."""
    licenses = "".join(f"/*\n{_text(f'vendor/{each}').strip()}\n*/\n" for each in _LICENSES.get(name, ()))
    text = licenses + _SOURCE_MAP.sub("", _text(name))
    if _ENDS.search(text):
        raise ValueError(f"{name} holds what would end the element that it stands in.")
    return Inline(name, text)


def _text(name: str) -> str:
    """Read a file of the package."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    """Return the template environment."""
    environment = Environment(
        loader=PackageLoader(__package__, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(_FILTERS)
    return environment


def figure(value: float | None) -> str:
    """Format a number to four digits; None as a dash."""
    if value is None:
        return "\N{EN DASH}"
    text = f"{value:.4g}" if abs(value) < 10_000 else f"{value:,.0f}"
    return text.replace("e-0", "e-").replace("-", MINUS)


def count(value: float) -> str:
    """Format a number rounded to an integer, with thousands separators."""
    return f"{value:,.0f}".replace("-", MINUS)


def signed(value: float) -> str:
    """Format a difference with its sign; one that rounds to 0 has none."""
    text = f"{value:+z.1f}".replace("-", MINUS)
    return "0.0" if text == "+0.0" else text


def share(value: float) -> str:
    """Format a share in per cent; small positive shares are not rounded to 0."""
    return "<1 %" if 0.0 < value < 0.005 else f"{100.0 * value:.0f} %"


def unbroken(words: str) -> str:
    """Put no-break spaces between numbers and per cent signs."""
    return _PER_CENT.sub("\N{NO-BREAK SPACE}%", words)


def shortly(name: str, length: int = 80) -> str:
    """Truncate a name with an ellipsis."""
    named = label(name)
    return named if len(named) <= length else f"{named[: length - 1]}…"


def label(name: str) -> str:
    """Return a name, or a placeholder for an empty one."""
    return name if name.strip() else "(no name)"


def web_address(address: str | None) -> str | None:
    """Return an http(s) address; None for anything else."""
    return address if address is not None and address.startswith(("https://", "http://")) else None


_FILTERS: Mapping[str, Any] = {
    each.__name__: each
    for each in (figure, count, signed, two_digits, share, unbroken, shortly, label, web_address)
}


# The page of a ranking

#: Rows of the static table: for print, for readers without scripts, and for screen readers.
N_PLAIN = 50
#: Maximum and minimum number of features whose rank intervals are drawn.
N_INTERVALS, N_FEWEST = 25, 10
#: Minimum and maximum number of features in the picture of the finding.
N_FINDING = (15, 60)


def ranking_page(contents: Contents) -> str:
    """Render a report as one self-contained HTML document.

    Parameters
    ----------
    contents : Contents
        Contents of the page.

    Returns
    -------
    str
        The document.
    """
    n_features = len(contents.features.names)
    return assemble(
        "ranking.html.j2",
        _drawn(contents),
        ("ranking_table.js", "weights.js", "ranking.js"),
        contents=contents,
        n_carried=min(limits.page_features, n_features),
        n_plain=min(N_PLAIN, n_features),
        n_intervals=_n_intervals(contents.features),
        n_finding=_n_finding(contents),
    )


def _drawn(contents: Contents) -> dict[str, object]:
    """Return the data that the scripts draw."""
    return {
        "classes": contents.classes,
        "class_sizes": contents.class_sizes,
        "features": _first(contents.features, limits.page_features),
        "n_features": len(contents.features.names),
        "n_kept": sum(contents.features.kept),
        "convergence": contents.convergence,
        "stability": contents.stability,
        "samples": contents.samples,
        "distributions": contents.distributions,
        "correlations": contents.correlations,
        "interactions": contents.interactions,
        "finding": None if contents.finding is None else replace(contents.finding, answers=[]),
        "n_finding": _n_finding(contents),
        "pair_pictures": contents.pair_pictures,
        "sample_map": contents.sample_map,
        "continuous_target": bool(contents.tertiles),
        "n_intervals": _n_intervals(contents.features),
    }


def _n_finding(contents: Contents) -> int:
    """Return the number of features in the picture of the finding: the recommended ones and some more."""
    number = 0 if contents.finding is None else contents.finding.n_features or 0
    return min(max(N_FINDING[0], number + 8), N_FINDING[1], len(contents.features.names))


def _n_intervals(features: FeatureTable) -> int:
    weighing = sum(weight > 0.0 for weight in features.weights[:N_INTERVALS])
    return min(max(weighing, N_FEWEST), len(features.names))


def _first(features: FeatureTable, number: int) -> FeatureTable:
    """Return the first features of the table, without sentences."""
    columns: dict[str, Any] = {
        name: each[:number] for name, each in vars(features).items() if isinstance(each, list)
    }
    return replace(features, **{**columns, "words": []})


# The page of a comparison


def comparison_page(contents: ComparisonContents) -> str:
    """Render a comparison as one self-contained HTML document.

    Parameters
    ----------
    contents : ComparisonContents
        Contents of the page.

    Returns
    -------
    str
        The document.

    Raises
    ------
    ModuleNotFoundError
        If Jinja2 is not installed.
    """
    return assemble(
        "comparison.html.j2",
        {"classifiers": contents.classifiers, "methods": contents.methods, "n_folds": contents.n_folds},
        ("comparison.js",),
        contents=contents,
        spoken=[_spoken(contents, place) for place in range(len(contents.classifiers))],
    )


def _spoken(contents: ComparisonContents, place: int) -> str:
    """Return the accuracies of a classifier as text, for screen readers."""
    return ", ".join(
        f"{each.name} {percent(each.classifier_results[place].accuracy.value)}" for each in contents.methods
    )
