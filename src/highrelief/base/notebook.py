"""The HTML view of a fitted weighter in a notebook: its best features, beside scikit-learn's view.

Plain HTML without scripts or links. The table gives the numbers of its bars as text, and inherits the colors
of the page, light or dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from html import escape
from typing import Any

#: Longest displayed name, in characters; the tooltip has the whole name.
_LONGEST_NAME = 28
# Two classes and one element: notebooks style tables by one class and two elements.
_STYLE = """<style>
.highrelief-view {display: flex; flex-wrap: wrap; gap: 0 2em; align-items: flex-start;}
.highrelief-view > div {flex: none; max-width: 100%;}
.highrelief-view table.highrelief-best {border: none; border-collapse: collapse; margin: 0.5em 0;
 color: inherit; background: none; font-size: 0.9em; line-height: 1.3;}
.highrelief-view table.highrelief-best caption {caption-side: top; text-align: left; color: inherit;
 font-weight: bold; padding: 0 0 0.3em; white-space: nowrap;}
.highrelief-view table.highrelief-best tr {background: none; border: none;}
.highrelief-view table.highrelief-best :is(th, td) {border: none; background: none;
 padding: 0.1em 0.6em 0.1em 0; text-align: left; vertical-align: middle; white-space: nowrap;
 font-weight: normal; color: inherit;}
.highrelief-view table.highrelief-best .highrelief-number {text-align: right;
 font-variant-numeric: tabular-nums;}
.highrelief-view table.highrelief-best thead th {font-size: 0.85em; opacity: 0.75;}
.highrelief-view .highrelief-bar {display: block; box-sizing: border-box; height: 0.8em; min-width: 1px;
 background: #2b87c8; border: 1px solid #2b87c8;}
.highrelief-view .highrelief-dropped .highrelief-bar {background: none;}
.highrelief-view .highrelief-words {position: absolute; width: 1px; height: 1px; overflow: hidden;
 clip-path: inset(50%);}
</style>"""


#: Whether scikit-learn lists the fitted attributes of an estimator, and computes all properties for that.
_listing: ContextVar[bool] = ContextVar("listing", default=False)


class FittedViewMixin:
    """Makes the views of an estimator cheap, and independent of parameters set after the fit."""

    # Properties that are too expensive to compute for a view.
    _large_properties: Sequence[str] = ()

    def __dir__(self) -> list[str]:
        """Return the names of the available attributes; that of scikit-learn 1.9 computes every property."""
        hidden = self._large_properties if _listing.get() else ()
        return [name for name in object.__dir__(self) if name not in hidden and self._is_available(name)]

    def _is_available(self, name: str) -> bool:
        of_class = getattr(type(self), name, None)
        if isinstance(of_class, property) and (name.startswith("_") or name in self._large_properties):
            return True
        try:
            return hasattr(self, name)
        except (TypeError, ValueError):
            # A property that checks a parameter, which is invalid now.
            return True

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        """Return scikit-learn's list of fitted attributes; an empty one if a parameter is invalid now."""
        token = _listing.set(True)
        try:
            return super()._get_fitted_attr_html(doc_link)  # type: ignore[misc]
        except (TypeError, ValueError):
            return {}
        finally:
            _listing.reset(token)


def beside(view: str, features: str) -> str:
    """Return HTML with the table of features beside scikit-learn's view of an estimator."""
    return f'{_STYLE}<div class="highrelief-view"><div>{view}</div>{features}</div>'


def best_features_table(
    names: Sequence[str],
    weights: Sequence[float],
    kept: Sequence[bool] | None,
    *,
    n_features: int,
    n_kept: int | None,
) -> str:
    """Return an HTML table of the best features with a bar in each row.

    Parameters
    ----------
    names, weights, kept : sequence of str, of float, of bool
        Of the features to show, the best first; ``kept``: whether they are selected, None if unknown.
    n_features, n_kept : int
        Number of features, and of selected ones.

    Returns
    -------
    table : str
        HTML, names escaped.
    """
    longest = max([abs(weight) for weight in weights if abs(weight) < float("inf")], default=0.0)
    rows = "".join(
        _row(name, weight, longest, kept is None or kept[i])
        for i, (name, weight) in enumerate(zip(names, weights, strict=True))
    )
    some = f"Best {len(names):,} of " if len(names) < n_features else ""
    all_of_them = f"{n_features:,} feature{'s' if n_features > 1 else ''}"
    how_many = "" if n_kept is None else f", {n_kept:,} kept"
    return (
        f'<table class="highrelief-best"><caption>{some}{all_of_them}{how_many}</caption><thead><tr>'
        '<th scope="col">feature</th><th scope="col" class="highrelief-number">weight</th>'
        '<th scope="col" aria-hidden="true"></th>'
        f"</tr></thead><tbody>{rows}</tbody></table>"
    )


def _row(name: str, weight: float, longest: float, kept: bool) -> str:
    fraction = weight / longest if longest > 0.0 and weight > 0.0 else 0.0
    short = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
    number = f"{weight:,.1f}" if 1000.0 <= abs(weight) < 1e9 else f"{weight:#.3g}"
    dropped = "" if kept else ' class="highrelief-dropped" title="not kept"'
    words = "" if kept else '<span class="highrelief-words">, not kept</span>'
    bar = f'<span class="highrelief-bar" style="width: {8.0 * fraction:.2f}em"></span>'
    return (
        f'<tr{dropped}><th scope="row" title="{escape(name)}"><bdi>{escape(short)}</bdi>{words}</th>'
        f'<td class="highrelief-number">{number}</td><td aria-hidden="true">{bar}</td></tr>'
    )
