"""Which features act together, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..base.meta import innermost
from ..inspection.interactions import InteractionTable, interactions
from .drawing import INERT, axes_or_new, checked_names, counted, pyplot, shown, styled

#: Most characters side by side below the matrix.
_WIDEST = 50
#: Most features with a number in each cell.
_MOST_NUMBERS = 14
#: How much of the color is left of a loss within noise.
_FAINT = 0.25


class InteractionDisplay:
    """How much of each feature's weight (row) disappears when another (column) is left out.

    Red: it disappears, the two act together. Blue: it grows, the two say the same. What is within noise is
    faint; features whose own weight is have dashes. Use :meth:`from_estimator` to make one.

    Parameters
    ----------
    table : InteractionTable
        What :func:`highrelief.interactions` returns.
    feature_names : array-like of shape (m,), default=None
        Names of the features of the table; None: those that it has.
    name : str, default=None
        What the title begins with.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it is drawn.
    image_ : matplotlib AxesImage
        The losses, from -1 to 1.
    texts_ : list of matplotlib Text
        The numbers in the cells; none if there are many.
    colorbar_ : matplotlib Colorbar
        The scale.

    See Also
    --------
    highrelief.interactions : The numbers, and what they mean.

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

    def __init__(
        self, table: InteractionTable, *, feature_names: ArrayLike | None = None, name: str | None = None
    ) -> None:
        self.table = table
        self.feature_names = feature_names
        self.name = name

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
        """Fit clones with and without each of the best features, and draw what becomes of the weights.

        Parameters
        ----------
        estimator, X, y, features, n_features, n_resamples
            As :func:`highrelief.interactions` has them.
        sample_weight, groups, batches, n_jobs, random_state
            The same.
        feature_names : array-like of shape (n_features_in,), default=None
            Names of all features of X; None: its columns, those of the fit, or x0, x1, …
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        image_kw : dict, default=None
            For matplotlib's ``Axes.imshow``.
        colorbar : bool, default=True
            Whether the scale is drawn.

        Returns
        -------
        display : InteractionDisplay
            What was drawn.
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
            Where to draw; None: a new figure.
        image_kw : dict, default=None
            For matplotlib's ``Axes.imshow``.
        colorbar : bool, default=True
            Whether the scale is drawn.

        Returns
        -------
        display : InteractionDisplay
            Itself.
        """
        # Of next to nothing, any part is noise.
        losses = np.where(self.table.weighs[:, np.newaxis], self.table.losses, np.nan)
        clear = self.table.clear
        n_shown = self.table.features.size
        given = checked_names(self.feature_names, n_shown, "feature_names", "features of the table")
        labels = [shown(each) for each in (self.table.names if given is None else given)]
        side = min(max(5.0, 0.4 * n_shown + 2.0), 10.0)
        self.ax_ = axes_or_new(type(self).__name__, ax, width=side + 1.0, height=side)
        self.figure_ = self.ax_.figure
        self._draw_image(losses, clear, image_kw)
        self.texts_ = self._write_numbers(losses, clear) if n_shown <= _MOST_NUMBERS else []
        self.colorbar_ = None
        if colorbar:
            # As high as the matrix, in any layout.
            beside = self.ax_.inset_axes((1.03, 0.0, 0.04, 1.0))
            self.colorbar_ = self.figure_.colorbar(self.image_, cax=beside)
            self.colorbar_.solids.set(alpha=1.0)
            self.colorbar_.set_label("part of the weight that disappears")
        places = np.arange(n_shown)
        self.ax_.set_yticks(places, labels, **INERT)
        upright = 90 if sum(map(len, labels)) + n_shown > _WIDEST else 0
        self.ax_.set_xticks(places, labels, rotation=upright, **INERT)
        title = f"weights without one of {counted(n_shown, 'feature')}"
        self.ax_.set(
            xlabel="left out", ylabel="weight of", title=f"{self.name}: {title}" if self.name else title
        )
        return self

    def _draw_image(self, losses: Any, clear: Any, given: dict[str, Any] | None) -> None:
        from matplotlib.image import AxesImage  # noqa: PLC0415

        alpha = np.ones(losses.shape) if clear is None else np.where(clear, 1.0, _FAINT)
        # Blue and red are told apart in all common kinds of color vision; 0 is white.
        usual = {"cmap": "RdBu_r", "vmin": -1.0, "vmax": 1.0, "interpolation": "nearest", "alpha": alpha}
        style = styled(AxesImage, usual, given)
        if "norm" in style:
            del style["vmin"], style["vmax"]
        self.image_ = self.ax_.imshow(np.ma.masked_invalid(losses), **style)

    def _write_numbers(self, losses: Any, clear: Any) -> list[Any]:
        """Per cent in the cells, bold where it is more than noise; a dash where there is no weight."""
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
    """A part of a weight in a cell; large gains, of small weights, are not told apart."""
    text = f"{100.0 * loss:.0f}" if loss > -9.995 else "<-999"
    return ("0" if text == "-0" else text).replace("-", "\N{MINUS SIGN}")
