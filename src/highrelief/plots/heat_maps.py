"""Heat maps: interactions of features, and a learned metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._engine.parameters import check_count
from ..base.meta import innermost
from ..base.selector import WeightSelector, best_first
from ..inspection.interactions import InteractionTable, interactions
from ..io.cells import counted
from .drawing import INERT, Display, checked_names, feature_labels, pyplot, shown, styled

#: Maximum number of characters side by side below a matrix.
_WIDEST = 50
#: Maximum number of features with a number in each cell.
_MOST_NUMBERS = 14
#: Opacity of a loss within noise.
_FAINT = 0.25
#: Maximum number of features with axis labels.
_MOST_NAMES = 40


class MatrixDisplay(Display):
    """Base of the displays of a square matrix, with a diverging color scale."""

    def _draw_matrix(
        self, matrix: Any, default: dict[str, Any], options: dict[str, Any] | None, *, colorbar: bool
    ) -> None:
        from matplotlib.image import AxesImage  # noqa: PLC0415

        # Blue and red are distinguishable in all common kinds of color vision; 0 is white.
        style = styled(AxesImage, {"cmap": "RdBu_r", "interpolation": "nearest", **default}, options)
        if "norm" in style:
            del style["vmin"], style["vmax"]
        self.image_ = self.ax_.imshow(matrix, **style)
        self.colorbar_ = None
        if colorbar:
            # As high as the matrix, in any layout.
            beside = self.ax_.inset_axes((1.03, 0.0, 0.04, 1.0))
            self.colorbar_ = self.figure_.colorbar(self.image_, cax=beside)

    def _label_ticks(self, labels: list[str]) -> None:
        places = np.arange(len(labels))
        self.ax_.set_yticks(places, labels, **INERT)
        rotation = 90 if sum(map(len, labels)) + len(labels) > _WIDEST else 0
        self.ax_.set_xticks(places, labels, rotation=rotation, **INERT)


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


@dataclass(eq=False, repr=False)
class MetricDisplay(MatrixDisplay):
    """Heat map of the matrix W of a metric, with a color scale centered at 0.

    As in Fig. 3 of Sun and Wu (2008): an irrelevant feature has a row and a column near 0; entries off the
    diagonal are contributions of pairs of features. Create it with :meth:`from_estimator`.

    Parameters
    ----------
    metric : array-like of shape (n_shown, n_shown)
        The matrix.
    features : array-like of shape (n_shown,), default=None
        Column indices of its features; None: 0, 1, …
    feature_names : array-like of shape (n_features,), default=None
        Names of all features of X; None: x0, x1, …
    n_features_in : int, default=None
        Number of features of X; None: that of the matrix.
    name : str, default=None
        Start of the title.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the plot.
    image_ : matplotlib AxesImage
        The matrix.
    colorbar_ : matplotlib Colorbar
        The color scale.

    References
    ----------
    Sun, Y. and Wu, D. (2008). A RELIEF based feature extraction algorithm. SIAM International Conference on
    Data Mining.

    Examples
    --------
    >>> from highrelief import LFE
    >>> from highrelief.datasets import make_xor
    >>> from highrelief.plots import MetricDisplay
    >>> X, y, relevant = make_xor(200, n_irrelevant=4, random_state=0)
    >>> display = MetricDisplay.from_estimator(LFE(n_neighbors=5).fit(X, y))
    >>> display.image_.get_array().shape
    (6, 6)
    """

    metric: ArrayLike
    _: KW_ONLY
    features: ArrayLike | None = None
    feature_names: ArrayLike | None = None
    n_features_in: int | None = None
    name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature_names: ArrayLike | None = None,
        n_features: int = 30,
        ax: Any = None,
        image_kw: dict[str, Any] | None = None,
        colorbar: bool = True,
    ) -> Self:
        """Draw the metric of a fitted extractor.

        Parameters
        ----------
        estimator : estimator
            A fitted :class:`~highrelief.LFE` or :class:`~highrelief.DANN`, or another estimator that projects
            samples on ``components_`` A: W = AᵀA is the metric of the projected samples.
        feature_names : array-like of shape (n_features_in,), default=None
            Feature names; None: those of the fit, or x0, x1, …
        n_features : int, default=30
            Maximum number of features: those with the largest diagonal entries, in the order of the columns.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: a new figure.
        image_kw : dict, default=None
            Options of matplotlib's ``Axes.imshow``.
        colorbar : bool, default=True
            Whether to draw the color scale.

        Returns
        -------
        display : MetricDisplay
            The display.
        """
        pyplot(cls.__name__)
        check_count("n_features", n_features)
        inside = innermost(estimator)
        check_is_fitted(inside)
        name = type(inside).__name__
        if isinstance(inside, WeightSelector):
            raise ValueError(
                f"{name} weighs every feature by itself and learns no matrix: FeatureWeightsDisplay shows its"
                " weights."
            )
        components = np.asarray(getattr(inside, "components_", np.empty(0)))
        if components.ndim != 2 or components.shape[1] != inside.n_features_in_:
            raise ValueError(f"{name} has no components_ to make a metric of; LFE has.")
        # Not all of W, which takes 3.2 GB for 20,000 features.
        diagonal = np.einsum("ij,ij->j", components, components)
        features = np.sort(best_first(diagonal, n_features))
        some = components[:, features]
        if feature_names is None:
            feature_names = getattr(inside, "feature_names_in_", None)
        display = cls(
            some.T @ some,
            features=features,
            feature_names=feature_names,
            n_features_in=inside.n_features_in_,
            name=name,
        )
        return display.plot(ax, image_kw=image_kw, colorbar=colorbar)

    def plot(self, ax: Any = None, *, image_kw: dict[str, Any] | None = None, colorbar: bool = True) -> Self:
        """Draw the matrix.

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
        display : MetricDisplay
            The display itself.
        """
        W = np.asarray(self.metric, dtype=np.float64)
        if W.ndim != 2 or W.shape[0] != W.shape[1] or not W.size:
            raise ValueError(f"metric has the shape {W.shape}; a square matrix is needed.")
        n_shown = len(W)
        features = np.arange(n_shown) if self.features is None else np.asarray(self.features)
        n_features = n_shown if self.n_features_in is None else self.n_features_in
        side = min(max(5.0, 0.2 * n_shown + 2.0), 10.0)
        self._open_axes(ax, width=side + 1.0, height=side)
        largest = float(np.abs(W).max()) or 1.0
        self._draw_matrix(W, {"vmin": -largest, "vmax": largest}, image_kw, colorbar=colorbar)
        labels = feature_labels(self.feature_names, n_features, features)
        if n_shown <= _MOST_NAMES:
            self._label_ticks(labels)
        elif n_shown < n_features:
            # Indices among the features shown would be mistaken for column indices.
            self.ax_.set(xticks=[], yticks=[])
        some = f"{n_shown:,} of {counted(n_features, 'feature')}"
        title = some if n_shown < n_features else counted(n_features, "feature")
        self.ax_.set(title=self._titled(f"metric W, {title}"))
        return self
