"""Heat map of the interactions of features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..base.meta import innermost
from ..inspection.interactions import InteractionTable, interactions
from ..io.cells import counted
from .drawing import MatrixDisplay, checked_names, pyplot, shown

#: Maximum number of features with a number in each cell.
_MOST_NUMBERS = 14
#: Opacity of a loss within noise.
_FAINT = 0.25


@dataclass(eq=False, repr=False)
class InteractionDisplay(MatrixDisplay):
    """Heat map of the share of each feature's weight (row) lost when another (column) is left out.

    Red: the weight is lost, the two interact. Blue: the weight grows, the two are redundant. Losses within
    noise are faint; features whose own weight is within noise have dashes. Create it with
    :meth:`from_estimator`.

    Parameters
    ----------
    table : InteractionTable
        The result of :func:`highrelief.interactions`.
    feature_names : array-like of shape (m,), default=None
        Feature names; None: those of the table.
    name : str, default=None
        Start of the title.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the plot.
    image_ : matplotlib AxesImage
        The losses, from -1 to 1.
    texts_ : list of matplotlib Text
        The numbers in the cells; empty for many features.
    colorbar_ : matplotlib Colorbar
        The color scale.

    See Also
    --------
    highrelief.interactions : The numbers and their meaning.

    Examples
    --------
    >>> from highrelief import ReliefF
    >>> from highrelief.datasets import make_xor
    >>> from highrelief.plots import InteractionDisplay
    >>> X, y, relevant = make_xor(200, n_irrelevant=10, random_state=0)
    >>> display = InteractionDisplay.from_estimator(ReliefF().fit(X, y), X, y, n_features=5, random_state=0)
    >>> display.image_.get_array().shape
    (5, 5)
    """

    table: InteractionTable
    _: KW_ONLY
    feature_names: ArrayLike | None = None
    name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        features: Sequence[int] | Sequence[str] | None = None,
        n_features: int = 12,
        n_resamples: int | None = 20,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        batches: ArrayLike | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        feature_names: ArrayLike | None = None,
        ax: Any = None,
        image_kw: dict[str, Any] | None = None,
        colorbar: bool = True,
    ) -> Self:
        """Measure the interactions of the best features and draw them.

        Parameters
        ----------
        estimator, X, y, features, n_features, n_resamples
            As in :func:`highrelief.interactions`.
        sample_weight, groups, batches, n_jobs, random_state
            As in :func:`highrelief.interactions`.
        feature_names : array-like of shape (n_features_in,), default=None
            Names of all features of X; None: its columns, the names of the fit, or x0, x1, …
        ax : matplotlib Axes, default=None
            Axes to draw on; None: a new figure.
        image_kw : dict, default=None
            Options of matplotlib's ``Axes.imshow``.
        colorbar : bool, default=True
            Whether to draw the color scale.

        Returns
        -------
        display : InteractionDisplay
            The display.
        """
        pyplot(cls.__name__)
        names = checked_names(feature_names, int(np.shape(X)[1]), "feature_names", "features")
        table = interactions(
            estimator,
            X,
            y,
            features=features,
            n_features=n_features,
            n_resamples=n_resamples,
            sample_weight=sample_weight,
            groups=groups,
            batches=batches,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        of_table = None if names is None else [names[j] for j in table.features]
        display = cls(table, feature_names=of_table, name=type(innermost(estimator)).__name__)
        return display.plot(ax, image_kw=image_kw, colorbar=colorbar)

    def plot(self, ax: Any = None, *, image_kw: dict[str, Any] | None = None, colorbar: bool = True) -> Self:
        """Draw the losses.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None: a new figure.
        image_kw : dict, default=None
            Options of matplotlib's ``Axes.imshow``.
        colorbar : bool, default=True
            Whether to draw the color scale.

        Returns
        -------
        display : InteractionDisplay
            The display itself.
        """
        # The loss of a weight within noise is meaningless.
        losses = np.where(self.table.weighs[:, np.newaxis], self.table.losses, np.nan)
        clear = self.table.clear
        n_shown = self.table.features.size
        names = checked_names(self.feature_names, n_shown, "feature_names", "features of the table")
        labels = [shown(each) for each in (self.table.names if names is None else names)]
        side = min(max(5.0, 0.4 * n_shown + 2.0), 10.0)
        self._open_axes(ax, width=side + 1.0, height=side)
        alpha = np.ones(losses.shape) if clear is None else np.where(clear, 1.0, _FAINT)
        scale = {"vmin": -1.0, "vmax": 1.0, "alpha": alpha}
        self._draw_matrix(np.ma.masked_invalid(losses), scale, image_kw, colorbar=colorbar)
        if self.colorbar_ is not None:
            self.colorbar_.solids.set(alpha=1.0)
            self.colorbar_.set_label("part of the weight that disappears")
        self.texts_ = self._write_numbers(losses, clear) if n_shown <= _MOST_NUMBERS else []
        self._label_ticks(labels)
        title = f"weights without one of {counted(n_shown, 'feature')}"
        self.ax_.set(xlabel="left out", ylabel="weight of", title=self._titled(title))
        return self

    def _write_numbers(self, losses: Any, clear: Any) -> list[Any]:
        """Write per cent into the cells, bold if beyond noise, and dashes for weights within noise."""
        texts = []
        for row, column in zip(*np.nonzero(np.isnan(losses) & ~np.eye(len(losses), dtype=bool)), strict=True):
            texts.append(self.ax_.text(column, row, "\N{EN DASH}", ha="center", va="center", alpha=0.3))
        for row, column in zip(*np.nonzero(np.isfinite(losses)), strict=True):
            loss = losses[row, column]
            is_clear = clear is not None and bool(clear[row, column])
            strong = abs(loss) > 0.6 and (clear is None or is_clear)
            texts.append(
                self.ax_.text(
                    column,
                    row,
                    _percent(loss),
                    ha="center",
                    va="center",
                    fontsize="x-small",
                    color="white" if strong else "black",
                    weight="bold" if is_clear else "normal",
                    alpha=1.0 if clear is None or is_clear else 0.5,
                )
            )
        return texts


def _percent(loss: float) -> str:
    """Format a loss in per cent; large gains of small weights are truncated."""
    text = f"{100.0 * loss:.0f}" if loss > -9.995 else "<-999"
    return ("0" if text == "-0" else text).replace("-", "\N{MINUS SIGN}")
