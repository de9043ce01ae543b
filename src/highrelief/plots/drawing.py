"""Base classes of the displays, and their axes, colors and labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

#: Okabe and Ito's colors, distinguishable in all common kinds of color vision: blue, orange, green, purple,
#: sky blue, and a gray that is visible on black and on white.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#8C8C8C")
#: Markers, so that classes do not differ by color alone.
MARKERS = ("o", "s", "^", "D", "v", "P", "*")
#: Highlight color: their vermilion.
ALARM = "#D55E00"
#: Options of text from data: neither mathematics nor TeX is parsed.
INERT = {"parse_math": False, "usetex": False}
#: Maximum length of an axis label.
LONGEST_NAME = 28


def pyplot(caller: str) -> Any:
    """Return matplotlib's pyplot; raise with a remedy if it is not installed."""
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415
    except ModuleNotFoundError as error:
        # A dependency of matplotlib may be missing instead.
        missing = str(error.name).split(".")[0]
        raise ImportError(
            f"{caller} needs {missing}, which is not installed: pip install 'highrelief[report]' installs it."
        ) from error
    return plt


def axes_or_new(caller: str, ax: Any, *, width: float | None = None, height: float | None = None) -> Any:
    """Return the given axes, or those of a new figure of the given size in inches."""
    plt = pyplot(caller)
    if ax is not None:
        return ax
    default = plt.rcParams["figure.figsize"]
    # The default layout would cut off long names.
    return plt.subplots(figsize=(width or default[0], height or default[1]), layout="constrained")[1]


def styled(kind: Any, default: dict[str, Any], options: dict[str, Any] | None) -> dict[str, Any]:
    """Return the default keyword arguments of an artist, overridden by options, aliases ("lw") resolved."""
    from matplotlib.cbook import normalize_kwargs  # noqa: PLC0415

    return {**default, **normalize_kwargs(options or {}, kind)}


def shown(name: Any, longest: int = LONGEST_NAME) -> str:
    """Return a name as an axis label: in one line, with an ellipsis in the middle if it is long."""
    text = " ".join("".join(c if c.isprintable() else " " for c in str(name)).split())
    if len(text) <= longest:
        return text
    end = longest // 3
    return f"{text[: longest - end - 1]}…{text[len(text) - end :]}"


def checked_names(labels: ArrayLike | None, n_names: int, parameter: str, of: str) -> list[str] | None:
    """Return the given names as strings, after checking their number."""
    if labels is None:
        return None
    names = [str(each) for each in np.asarray(labels, dtype=object).ravel()]
    if len(names) != n_names:
        raise ValueError(
            f"{parameter} holds {len(names):,} names; one for each of the {n_names:,} {of} is needed."
        )
    return names


def feature_labels(
    feature_names: ArrayLike | None, n_features: int, places: Sequence[int] | NDArray[np.int64]
) -> list[str]:
    """Return the axis labels of some features; x0, x1, … without names."""
    names = checked_names(feature_names, n_features, "feature_names", "features")
    return [shown(f"x{place}" if names is None else names[place]) for place in places]


def title_of(fitted: Any) -> str:
    """Return the title of a fitted estimator."""
    check_is_fitted(fitted)
    return type(fitted).__name__


def quiet_spines(ax: Any) -> None:
    """Hide the upper and the right spine."""
    ax.spines[["top", "right"]].set_visible(False)


class Display:
    """Base of the displays: axes and titles."""

    name: str | None

    def _open_axes(self, ax: Any, *, width: float | None = None, height: float | None = None) -> None:
        self.ax_ = axes_or_new(type(self).__name__, ax, width=width, height=height)
        self.figure_ = self.ax_.figure

    def _titled(self, text: str) -> str:
        return f"{self.name}: {text}" if self.name else text
