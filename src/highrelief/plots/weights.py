"""Bar plot of the weights of the best features."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._engine.parameters import check_count
from ..base.meta import innermost, weights_of
from ..base.selector import WeightSelector, best_first
from ..io.cells import counted
from ..selection.ensemble import EnsembleWeighting, average_ranks
from .drawing import (
    COLORS,
    INERT,
    Display,
    feature_labels,
    pyplot,
    quiet_spines,
    styled,
    title_of,
)

#: Height of a bar with its gap, and of the margins, in inches.
_BAR, _FRAME = 0.24, 1.1


@dataclass(eq=False, repr=False)
class FeatureWeightsDisplay(Display):
    """Bar plot of the best features, best on top; bars of features not kept are hollow.

    Create it with :meth:`from_estimator`.

    Parameters
    ----------
    weights : array-like of shape (n_features,)
        The weights.
    feature_names : array-like of shape (n_features,), default=None
        Feature names; None: x0, x1, …
    kept : array-like of shape (n_features,), default=None
        Mask of the kept (selected) features; None: not shown.
    spread : array-like of shape (n_features,), default=None
        Half length of the error bars.
    ranked_by : array-like of shape (n_features,), default=None
        Scores that order the features, largest first; None: the weights.
    weight_name : str, default="weight"
        Label of the axis.
    name : str, default=None
        Start of the title.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the plot.
    features_ : array of shape (n_shown,)
        Column indices of the features shown, best first.
    bars_ : matplotlib BarContainer
        Their bars.
    errorbar_ : matplotlib ErrorbarContainer or None
        Their error bars.

    Examples
    --------
    >>> from highrelief import ReliefF
    >>> from highrelief.datasets import make_xor
    >>> from highrelief.plots import FeatureWeightsDisplay
    >>> X, y, relevant = make_xor(200, n_irrelevant=10, random_state=0)
    >>> display = FeatureWeightsDisplay.from_estimator(ReliefF(n_features_to_select=2).fit(X, y))
    >>> display.features_[:2], [tick.get_text() for tick in display.ax_.get_yticklabels()][:2]
    (array([0, 1]), ['x0', 'x1'])
    """

    weights: ArrayLike
    _: KW_ONLY
    feature_names: ArrayLike | None = None
    kept: ArrayLike | None = None
    spread: ArrayLike | None = None
    ranked_by: ArrayLike | None = None
    weight_name: str = "weight"
    name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature_names: ArrayLike | None = None,
        n_features: int = 20,
        ax: Any = None,
        bar_kw: dict[str, Any] | None = None,
        errorbar_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the weights of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted weighter, or any fitted estimator with ``feature_importances_`` or ``coef_`` (absolute
            values, summed over classes). For an :class:`~highrelief.EnsembleWeighting` of several members,
            error bars show their standard deviation; if it averages ranks, mean ranks are shown, 1 = best.
        feature_names : array-like of shape (n_features,), default=None
            Feature names; None: those of the fit, or x0, x1, …
        n_features : int, default=20
            Maximum number of bars.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: a new figure.
        bar_kw, errorbar_kw : dict, default=None
            Options of matplotlib's ``Axes.barh`` and ``Axes.errorbar``.

        Returns
        -------
        display : FeatureWeightsDisplay
            The display.
        """
        pyplot(cls.__name__)
        name = title_of(estimator)
        inside = innermost(estimator)
        weights = weights_of(inside, inside.n_features_in_)
        if feature_names is None:
            feature_names = getattr(inside, "feature_names_in_", None)
        display = cls(weights, feature_names=feature_names, name=name)
        if isinstance(inside, WeightSelector):
            display.kept, display.ranked_by = inside.get_support(), inside._ranked_by
        if isinstance(inside, EnsembleWeighting):
            display.weights, display.spread, display.weight_name = _of_members(inside)
        return display.plot(ax, n_features=n_features, bar_kw=bar_kw, errorbar_kw=errorbar_kw)

    def plot(
        self,
        ax: Any = None,
        *,
        n_features: int = 20,
        bar_kw: dict[str, Any] | None = None,
        errorbar_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None: a new figure, as high as its bars need.
        n_features : int, default=20
            Maximum number of bars.
        bar_kw, errorbar_kw : dict, default=None
            Options of matplotlib's ``Axes.barh`` and ``Axes.errorbar``.

        Returns
        -------
        display : FeatureWeightsDisplay
            The display itself.
        """
        check_count("n_features", n_features)
        weights = _one_each("weights", self.weights, None)
        order = weights if self.ranked_by is None else _one_each("ranked_by", self.ranked_by, weights.size)
        self.features_ = best_first(order, n_features)
        heights = np.arange(self.features_.size)
        self._open_axes(ax, height=_BAR * heights.size + _FRAME)
        ax = self.ax_
        self._draw_bars(heights, weights, bar_kw)
        self.errorbar_ = self._errorbar(heights, weights, errorbar_kw)
        labels = feature_labels(self.feature_names, weights.size, self.features_)
        ax.set_yticks(heights, labels, **INERT)
        ax.set_ylim(heights.size - 0.4, -0.6)
        ax.axvline(0.0, color=ax.spines["left"].get_edgecolor(), linewidth=0.8)
        quiet_spines(ax)
        if self.features_.size < weights.size:
            title = f"best {self.features_.size:,} of {counted(weights.size, 'feature')}"
        else:
            title = counted(weights.size, "feature")
        ax.set(xlabel=self.weight_name, title=f"{self.name}: {title}" if self.name else title.capitalize())
        return self

    def _draw_bars(
        self, heights: NDArray[np.int64], weights: NDArray[np.float64], options: dict[str, Any] | None
    ) -> None:
        from matplotlib.patches import Patch, Rectangle  # noqa: PLC0415

        style = styled(Rectangle, {"color": COLORS[0], "height": 0.72}, options)
        self.bars_ = self.ax_.barh(heights, weights[self.features_], **style)
        if self.kept is None:
            return
        kept = _one_each("kept", self.kept, weights.size).astype(bool)
        for bar, is_kept in zip(self.bars_, kept[self.features_], strict=True):
            if not is_kept:
                bar.set(facecolor="none", edgecolor=bar.get_facecolor())
        among = kept[self.features_]
        if among.any() and not among.all():
            color = self.bars_[int(np.argmax(among))].get_facecolor()
            words = {"kept": {"facecolor": color}, "not kept": {"facecolor": "none", "edgecolor": color}}
            handles = [Patch(label=word, **look) for word, look in words.items()]
            self.ax_.legend(handles=handles)

    def _errorbar(
        self, heights: NDArray[np.int64], weights: NDArray[np.float64], options: dict[str, Any] | None
    ) -> Any:
        if self.spread is None:
            return None
        from matplotlib.lines import Line2D  # noqa: PLC0415

        spread = _one_each("spread", self.spread, weights.size)[self.features_]
        ink = self.ax_.xaxis.label.get_color()
        default = {"fmt": "none", "ecolor": ink, "elinewidth": 1.0, "capsize": 2.5}
        return self.ax_.errorbar(
            weights[self.features_], heights, xerr=spread, **styled(Line2D, default, options)
        )


def _of_members(
    ensemble: EnsembleWeighting,
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, str]:
    """Return mean and standard deviation of the members of an ensemble, and the axis label."""
    members, mean, what = ensemble.member_weights_, ensemble.feature_weights_, "mean weight"
    if ensemble.aggregate == "ranks":
        # Show ranks instead of d + 1 - rank, which would be thousands for every bar.
        members, mean = average_ranks(members), mean.size + 1.0 - mean
        what = "mean rank (1 = best)"
    if len(members) == 1:
        return mean, None, what
    return mean, members.std(axis=0, ddof=1), f"{what} of {len(members)} members, and standard deviation"


def _one_each(parameter: str, values: ArrayLike, n_features: int | None) -> NDArray[Any]:
    """Return values as an array after checking that there is one for each feature."""
    array = np.asarray(values)
    if array.ndim != 1 or array.size == 0 or (n_features is not None and array.size != n_features):
        expected = "features" if n_features is None else f"{n_features} features"
        raise ValueError(
            f"{parameter} has the shape {array.shape}; one value for each of the {expected} is needed."
        )
    return array
