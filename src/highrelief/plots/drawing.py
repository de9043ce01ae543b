"""What the pictures share: where to draw, in what colors, and names that are shown as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

#: Okabe and Ito's colors, which are told apart in all common kinds of color vision: blue, orange, green,
#: purple, sky blue, and a gray that is seen on black and on white.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#8C8C8C")
#: So that no two classes are told apart by color alone.
MARKERS = ("o", "s", "^", "D", "v", "P", "*")
#: What is to be noticed: their vermilion.
ALARM = "#D55E00"
#: For a text that comes from data: neither mathematics nor TeX is read into it.
INERT = {"parse_math": False, "usetex": False}
#: Most characters of a name beside an axis.
LONGEST_NAME = 28


def pyplot(who: str) -> Any:
    """Return matplotlib's pyplot; one sentence where it is not installed."""
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415
    except ModuleNotFoundError as error:
        # Something that matplotlib itself needs may be what is missing.
        missing = str(error.name).split(".")[0]
        raise ImportError(
            f"{who} needs {missing}, which is not installed: pip install 'highrelief[report]' installs it."
        ) from error
    return plt


def axes_or_new(who: str, ax: Any, *, width: float | None = None, height: float | None = None) -> Any:
    """Return the axes to draw on: those given, or the only ones of a new figure of so many inches."""
    plt = pyplot(who)
    if ax is not None:
        return ax
    usual = plt.rcParams["figure.figsize"]
    # By itself a figure leaves no room for long names.
    return plt.subplots(figsize=(width or usual[0], height or usual[1]), layout="constrained")[1]


def styled(kind: Any, usual: dict[str, Any], given: dict[str, Any] | None) -> dict[str, Any]:
    """Keyword arguments of an artist: the usual ones, and those given instead, aliases ("lw") resolved."""
    from matplotlib.cbook import normalize_kwargs  # noqa: PLC0415

    return {**usual, **normalize_kwargs(given or {}, kind)}


def shown(name: Any, longest: int = LONGEST_NAME) -> str:
    """A name as it stands beside an axis: in one line, and with an ellipsis in the middle if it is long."""
    text = " ".join("".join(c if c.isprintable() else " " for c in str(name)).split())
    if len(text) <= longest:
        return text
    end = longest // 3
    return f"{text[: longest - end - 1]}…{text[len(text) - end :]}"


def checked_names(given: ArrayLike | None, n_names: int, parameter: str, of: str) -> list[str] | None:
    """Names as the user gave them, one for each."""
    if given is None:
        return None
    names = [str(each) for each in np.asarray(given, dtype=object).ravel()]
    if len(names) != n_names:
        raise ValueError(
            f"{parameter} holds {len(names):,} names; one for each of the {n_names:,} {of} is needed."
        )
    return names


def feature_labels(
    given: ArrayLike | None, n_features: int, places: Sequence[int] | NDArray[np.int64]
) -> list[str]:
    """Names of some features as they stand beside an axis; x0, x1, … where they have none."""
    names = checked_names(given, n_features, "feature_names", "features")
    return [shown(f"x{place}" if names is None else names[place]) for place in places]


def title_of(fitted: Any) -> str:
    """What an estimator is called in a title."""
    check_is_fitted(fitted)
    return type(fitted).__name__


def quiet_spines(ax: Any) -> None:
    """Take away the upper and the right line of the frame."""
    ax.spines[["top", "right"]].set_visible(False)


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """A number and what it counts, "1 sample" or "7,129 samples"."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
