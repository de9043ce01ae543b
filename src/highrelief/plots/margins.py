"""Plot of the margins of the samples by class."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._engine.parameters import check_whole
from ..base.meta import fit_inside, innermost
from ..base.weighter import LIKELY, suspects
from ..io.cells import counted
from ..methods.irelief import IRelief
from .drawing import (
    ALARM,
    COLORS,
    INERT,
    MARKERS,
    Display,
    checked_names,
    pyplot,
    quiet_spines,
    shown,
    styled,
    title_of,
)

#: Width of a class on the x axis; classes are 1 apart.
_WIDTH = 0.8
#: Distance in points from a sample to its name, and between names.
_BESIDE, _LINE = 12.0, 11.0
#: Width of a letter as a share of the axis.
_LETTER = 0.012


@dataclass(eq=False, repr=False)
class MarginDisplay(Display):
    """Margins of the samples, sorted within each class; a negative margin is nearer to another class.

    All classes have the same width, so that the points of a class are its quantiles. Create it with
    :meth:`from_estimator`.

    Parameters
    ----------
    margins : array-like of shape (n_samples,)
        The margins; nan is skipped.
    y : array-like of shape (n_samples,)
        Class labels.
    outlier_proba : array-like of shape (n_samples,), default=None
        Outlier probability of each sample. A sample may be mislabeled and is marked if its probability is
        above 0.5, also with classes weighted equally, and its margin is negative. (With many classes or a
        small one, most neighbors of any sample belong to other classes, so that the probability alone is not
        enough.)
    sample_names : array-like of shape (n_samples,), default=None
        Sample names; None: row indices.
    name : str, default=None
        Start of the title.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the plot.
    classes_ : array of shape (n_classes,)
        The classes, from left to right.
    points_ : list of matplotlib PathCollection
        Samples of each class, by increasing margin.
    suspects_ : array of shape (n_suspects,)
        Row indices of the samples that may be mislabeled, the likeliest first, as in
        :func:`highrelief.report`.
    suspect_points_ : matplotlib PathCollection or None
        Their marks.
    texts_ : list of matplotlib Annotation
        Names of the worst samples.

    Examples
    --------
    >>> from highrelief import IRelief
    >>> from highrelief.datasets import flip_labels, make_xor
    >>> from highrelief.plots import MarginDisplay
    >>> X, y, relevant = make_xor(200, n_irrelevant=10, random_state=0)
    >>> y, flipped = flip_labels(y, 0.05, random_state=0)
    >>> display = MarginDisplay.from_estimator(IRelief().fit(X, y), X, y)
    >>> int(flipped[display.suspects_].sum()), int(flipped.sum())
    (9, 10)
    """

    margins: ArrayLike
    y: ArrayLike
    _: KW_ONLY
    outlier_proba: ArrayLike | None = None
    sample_names: ArrayLike | None = None
    name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        sample_names: ArrayLike | None = None,
        n_named: int = 5,
        ax: Any = None,
        scatter_kw: dict[str, Any] | None = None,
        suspect_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the margins of samples, each among all others, under the weights of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted weighter, or a meta-estimator around one, with ``margins``.
        X : array-like of shape (n_samples, n_features)
            The samples of ``fit``, or others.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_names : array-like of shape (n_samples,), default=None
            Sample names; None: the index of a pandas DataFrame, or row indices.
        n_named : int, default=5
            Maximum number of samples with negative margin that are named, suspects first.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: a new figure.
        scatter_kw, suspect_kw : dict, default=None
            Options of matplotlib's ``Axes.scatter``, of all samples and of the marks of suspects.

        Returns
        -------
        display : MarginDisplay
            The display.
        """
        pyplot(cls.__name__)
        name = title_of(estimator)
        inside = innermost(estimator)
        if inside is not estimator or not hasattr(estimator, "margins"):
            raise ValueError(
                f"{name} has no margins: they belong to weighters that compare a sample with its neighbors,"
                " such as ReliefF or IRelief."
            )
        index = getattr(X, "index", None)
        if sample_names is None and index is not None and not callable(index):
            sample_names = index
        display = cls(
            estimator.margins(X, y),
            y,
            outlier_proba=_outlier_proba(estimator, X, y),
            sample_names=sample_names,
            name=name,
        )
        return display.plot(ax, n_named=n_named, scatter_kw=scatter_kw, suspect_kw=suspect_kw)

    def plot(
        self,
        ax: Any = None,
        *,
        n_named: int = 5,
        scatter_kw: dict[str, Any] | None = None,
        suspect_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the samples.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None: a new figure.
        n_named : int, default=5
            Maximum number of samples with negative margin that are named, suspects first.
        scatter_kw, suspect_kw : dict, default=None
            Options of matplotlib's ``Axes.scatter``, of all samples and of the marks of suspects.

        Returns
        -------
        display : MarginDisplay
            The display itself.
        """
        check_whole("n_named", n_named, "an integer >= 0", lambda n: n >= 0)
        margins = np.asarray(self.margins, dtype=np.float64).ravel()
        self.classes_, codes = np.unique(np.asarray(self.y).ravel(), return_inverse=True)
        proba = None if self.outlier_proba is None else np.asarray(self.outlier_proba, dtype=np.float64)
        for what, values in (("y", codes), ("outlier_proba", proba)):
            if values is not None and values.shape != margins.shape:
                raise ValueError(f"{what} has {values.size} values for {margins.size} margins.")
        self._open_axes(ax, width=max(6.4, 1.1 * self.classes_.size))
        self.ax_.axhline(0.0, color=self.ax_.xaxis.label.get_color(), linewidth=1.0)
        across = _places(margins, codes)
        self._draw_classes(margins, codes, across, scatter_kw)
        self.suspects_ = np.empty(0, dtype=np.int64) if proba is None else suspects(proba, margins, codes)
        self._draw_suspects(margins, across, suspect_kw)
        sizes = np.bincount(codes)
        labels = [
            f"{shown(each, 18)}\n{counted(int(size), 'sample')}"
            for each, size in zip(self.classes_, sizes, strict=True)
        ]
        self.ax_.set_xticks(np.arange(sizes.size), labels, **INERT)
        self.ax_.set_xlim(-0.6, sizes.size - 0.4)
        below = int(np.sum(margins < 0.0))
        title = f"{below:,} of {counted(margins.size, 'sample')} nearer to another class"
        self.ax_.set(ylabel="margin", title=self._titled(title))
        quiet_spines(self.ax_)
        self._name_worst(margins, across, n_named)
        return self

    def _draw_classes(
        self,
        margins: NDArray[np.float64],
        codes: NDArray[np.int64],
        across: NDArray[np.float64],
        options: dict[str, Any] | None,
    ) -> None:
        from matplotlib.collections import PathCollection  # noqa: PLC0415

        self.points_ = []
        for code in range(self.classes_.size):
            rows = np.flatnonzero((codes == code) & np.isfinite(margins))
            rows = rows[np.argsort(margins[rows], kind="stable")]
            default = {
                "color": COLORS[code % len(COLORS)],
                "marker": MARKERS[code % len(MARKERS)],
                "s": 18 if margins.size <= 500 else 8,
                "zorder": 2,
            }
            self.points_.append(
                self.ax_.scatter(across[rows], margins[rows], **styled(PathCollection, default, options))
            )

    def _draw_suspects(
        self,
        margins: NDArray[np.float64],
        across: NDArray[np.float64],
        options: dict[str, Any] | None,
    ) -> None:
        from matplotlib.collections import PathCollection  # noqa: PLC0415

        self.suspect_points_ = None
        if not self.suspects_.size:
            return
        default = {
            "marker": "o",
            "s": 90 if margins.size <= 200 else 45,
            "facecolor": "none",
            "edgecolor": ALARM,
            "linewidth": 1.5,
            "zorder": 3,
            "label": f"margin < 0, outlier probability > {LIKELY:g} ({self.suspects_.size:,})",
        }
        self.suspect_points_ = self.ax_.scatter(
            across[self.suspects_], margins[self.suspects_], **styled(PathCollection, default, options)
        )
        # The search for the best location compares with all points.
        self.ax_.legend(loc="best" if margins.size <= 2000 else "upper left")

    def _name_worst(self, margins: NDArray[np.float64], across: NDArray[np.float64], n_named: int) -> None:
        names = checked_names(self.sample_names, margins.size, "sample_names", "samples")
        suspected = np.isin(np.arange(margins.size), self.suspects_)
        order = np.lexsort((margins, ~suspected))
        worst = order[margins[order] < 0.0][:n_named]
        labels = [shown(row if names is None else names[row], 16) for row in worst]
        codes = np.rint(across[worst]).astype(np.int64)
        self._make_room([label for label, code in zip(labels, codes, strict=True) if code == 0])
        shifts = self._shifts(across[worst], margins[worst], codes)
        ink, paper = self.ax_.xaxis.label.get_color(), self.ax_.get_facecolor()
        self.texts_ = [
            self.ax_.annotate(
                label,
                (across[row], margins[row]),
                xytext=tuple(shift),
                textcoords="offset points",
                ha="right",
                va="center",
                fontsize="small",
                bbox={"facecolor": paper, "edgecolor": "none", "alpha": 0.8, "pad": 0.5},
                arrowprops={"arrowstyle": "-", "linewidth": 0.6, "color": ink, "shrinkA": 0, "shrinkB": 3},
                **INERT,
            )
            for label, row, shift in zip(labels, worst, shifts, strict=True)
        ]

    def _make_room(self, labels: list[str]) -> None:
        """Widen the axis for names left of the first class."""
        longest = max(map(len, labels), default=0)
        left, right = self.ax_.get_xlim()
        self.ax_.set_xlim(left - longest * _LETTER * (right - left), right)

    def _shifts(
        self, across: NDArray[np.float64], margins: NDArray[np.float64], codes: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the offsets of the names from their samples in points: stacked left of the class."""
        at = self.ax_.transData.transform(np.column_stack([across, margins]))
        at *= 72.0 / self.figure_.get_dpi()
        shifts = np.zeros_like(at)
        for code in np.unique(codes):
            rows = np.flatnonzero(codes == code)
            shifts[rows, 0] = at[rows, 0].min() - at[rows, 0] - _BESIDE
            last = -np.inf
            for row in rows[np.argsort(at[rows, 1], kind="stable")]:
                last = max(at[row, 1], last + _LINE)
                shifts[row, 1] = last - at[row, 1]
        return shifts


def _places(margins: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the x coordinate of each sample: its quantile within its class."""
    across = np.full(margins.size, np.nan)
    for code in np.unique(codes):
        rows = np.flatnonzero((codes == code) & np.isfinite(margins))
        rows = rows[np.argsort(margins[rows], kind="stable")]
        across[rows] = code + _WIDTH * ((np.arange(rows.size) + 0.5) / max(rows.size, 1) - 0.5)
    return across


def _outlier_proba(estimator: Any, X: ArrayLike, y: ArrayLike) -> NDArray[np.float64] | None:
    """Return I-RELIEF's outlier probability of the given samples; None for other methods.

    It is computed again, since the samples may differ from those of ``fit``.
    """
    inside = fit_inside(estimator)
    if not isinstance(inside, IRelief):
        return None
    engine, _ = inside._margin_engine(X, y)
    neighborhoods = engine.soft_neighborhoods(inside.feature_importances_, inside.sigma_)
    return 1.0 - neighborhoods.inlier
