"""One page that needs nothing else: templates, style, scripts, libraries and data become a single text.

Whatever the data holds is inert in it. Words go through Jinja2's escaping, data stands as JSON in an element
that no browser runs, and the content-security policy names the sum of every script and style: nothing else is
run or fetched.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from .comparison import ComparisonContents, percent
from .contents import Contents, FeatureTable

try:
    from jinja2 import Environment, PackageLoader, StrictUndefined
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"A report needs {error.name}, which is not installed: pip install 'highrelief[report]' installs it.",
        name=error.name,
    ) from error

#: Libraries of every page, and what pages have in common.
_LIBRARIES = ("vendor/echarts.min.js", "vendor/tabulator.min.js")
#: What a copy of a library must bring along, and of what is inside of it.
_LICENSES = {
    "vendor/echarts.min.js": ("NOTICE.echarts", "LICENSE.echarts", "LICENSE.zrender", "LICENSE.d3"),
    "vendor/tabulator.min.js": ("LICENSE.tabulator",),
}
_COMMON = ("scripts/common.js", "scripts/charts.js")
_STYLE = ("vendor/tabulator_simple.min.css", "style/page.css", "style/table.css", "style/comparison.css")
#: Applies where the reader prefers it, never on paper; a button may overrule it.
_DARK = "style/dark.css"

#: Tools for developers would fetch these.
_SOURCE_MAP = re.compile(r"(//# sourceMappingURL=.*|/\*# sourceMappingURL=.*?\*/)")
#: What ends a script or style before its end, or keeps it from ending.
_ENDS = re.compile(r"</(script|style)|<!--|<script", re.IGNORECASE)

#: Between a number and its sign.
_PER_CENT = re.compile(r"(?<=\d) %")
_MINUS = "\N{MINUS SIGN}"
_ESCAPES = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}


@dataclass(frozen=True)
class Inline:
    """The text of an element that the page runs or applies, and its sum as the policy names it."""

    name: str
    text: str

    @property
    def source(self) -> str:
        """The text's sum, as a content-security policy writes it."""
        return f"'sha256-{base64.b64encode(hashlib.sha256(self.text.encode()).digest()).decode()}'"


def assemble(template: str, data: object, scripts: Sequence[str], **values: object) -> str:
    """A whole page as HTML.

    Parameters
    ----------
    template : str
        Name of a template that extends ``base.html.j2``.
    data : object
        What the scripts show, of plain values and dataclasses of such.
    scripts : sequence of str
        Names of the page's own scripts, which run after the common ones.
    **values : object
        What the template shows.

    Returns
    -------
    str
        The page, which can be written as UTF-8 whatever the names are.
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
    # Names that were no UTF-8 hold halves of characters, which cannot be written; HTML has no NUL.
    return page.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def policy(scripts: Sequence[Inline], style: Sequence[Inline]) -> str:
    """The content-security policy that allows these and nothing else."""
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
    """Data as JSON that cannot end the element it stands in; nan and infinity are refused, being no JSON."""
    text = json.dumps(data, default=vars, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_ESCAPES)


@cache
def _inline(name: str) -> Inline:
    """A file of the package as the text of an element."""
    licenses = "".join(f"/*\n{_text(f'vendor/{each}').strip()}\n*/\n" for each in _LICENSES.get(name, ()))
    text = licenses + _SOURCE_MAP.sub("", _text(name))
    if _ENDS.search(text):
        raise ValueError(f"{name} holds what would end the element that it stands in.")
    return Inline(name, text)


def _text(name: str) -> str:
    """A file of the package."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    """What reads the templates."""
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
    """A number in four figures, with a true minus sign; a dash where there is none."""
    if value is None:
        return "\N{EN DASH}"
    text = f"{value:.4g}" if abs(value) < 10_000 else f"{value:,.0f}"
    return text.replace("e-0", "e-").replace("-", _MINUS)


def count(value: float) -> str:
    """A whole number, or the nearest one, with thousands set apart."""
    return f"{value:,.0f}".replace("-", _MINUS)


def signed(value: float) -> str:
    """A difference, with its sign; what rounds to 0 has none."""
    text = f"{value:+z.1f}".replace("-", _MINUS)
    return "0.0" if text == "+0.0" else text


def two_digits(value: float | None) -> str:
    """A measure to a hundredth; what rounds to 0 has no sign, and a dash stands for none."""
    return "\N{EN DASH}" if value is None else f"{value:z.2f}".replace("-", _MINUS)


def share(value: float) -> str:
    """A share in per cent; a little is not nothing."""
    return "<1 %" if 0.0 < value < 0.005 else f"{100.0 * value:.0f} %"


def unbroken(words: str) -> str:
    """A sentence in which no line ends between a number and its per cent sign."""
    return _PER_CENT.sub("\N{NO-BREAK SPACE}%", words)


def shortly(name: str, length: int = 80) -> str:
    """A name where it is spoken, or stands among others: not too long."""
    named = label(name)
    return named if len(named) <= length else f"{named[: length - 1]}…"


def label(name: str) -> str:
    """A name, or words for none."""
    return name if name.strip() else "(no name)"


def web_address(address: str | None) -> str | None:
    """An address that a reader may follow; None for anything else."""
    return address if address is not None and address.startswith(("https://", "http://")) else None


_FILTERS: Mapping[str, Any] = {
    each.__name__: each
    for each in (figure, count, signed, two_digits, share, unbroken, shortly, label, web_address)
}


# The page of a ranking.


#: Rows that stand in the page itself: for paper, for readers without scripts, and for screen readers.
N_PLAIN = 50
#: Features whose rank intervals are drawn, at most; those of weight 0 only to fill up a short list.
N_INTERVALS, N_FEWEST = 25, 10
#: Features that a page carries: with these it has about 10 MB, and searching and sorting stay quick.
N_CARRIED = 100_000


def ranking_page(contents: Contents) -> str:
    """A report as one HTML document that opens without a network.

    Parameters
    ----------
    contents : Contents
        What is to be shown.

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
        n_carried=min(N_CARRIED, n_features),
        n_plain=min(N_PLAIN, n_features),
        n_intervals=_n_intervals(contents.features),
    )


def _drawn(contents: Contents) -> dict[str, object]:
    """What the scripts draw; sentences stand in the page already."""
    return {
        "classes": contents.classes,
        "class_sizes": contents.class_sizes,
        "features": _best(contents.features, N_CARRIED),
        "n_features": len(contents.features.names),
        "n_kept": sum(contents.features.kept),
        "convergence": contents.convergence,
        "stability": contents.stability,
        "samples": contents.samples,
        "distributions": contents.distributions,
        "correlations": contents.correlations,
        "interactions": contents.interactions,
        "n_intervals": _n_intervals(contents.features),
    }


def _n_intervals(features: FeatureTable) -> int:
    weighing = sum(weight > 0.0 for weight in features.weights[:N_INTERVALS])
    return min(max(weighing, N_FEWEST), len(features.names))


def _best(features: FeatureTable, number: int) -> FeatureTable:
    """The best so many features, without words."""
    low, high, frequency, missing = (
        None if each is None else each[:number]
        for each in (features.rank_low, features.rank_high, features.frequency, features.missing)
    )
    return FeatureTable(
        features.names[:number],
        features.ranks[:number],
        features.weights[:number],
        features.kept[:number],
        features.ranks_alone[:number],
        low,
        high,
        frequency,
        [],
        missing,
        features.alone,
    )


# The page of a comparison.


def comparison_page(contents: ComparisonContents) -> str:
    """A comparison as one HTML document that opens without a network.

    Parameters
    ----------
    contents : ComparisonContents
        What is to be shown.

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
    """The accuracies of a classifier, for those who do not see the chart."""
    return ", ".join(
        f"{each.name} {percent(each.judgments[place].accuracy.value)}" for each in contents.methods
    )
