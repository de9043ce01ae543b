"""Plot of the stability of the best features under resampling."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..base.meta import innermost
from ..selection.ensemble import EnsembleWeighting
from ..selection.halves import agreement_by_size, checked_halves, fits_to_halves
from ..stability import checked_sizes, stability_by_size
from .drawing import COLORS, Display, pyplot, quiet_spines, styled


@dataclass(eq=False, repr=False)
class StabilityDisplay(Display):
    """Nogueira's stability of the best k features against k, with its interval (1 = identical, 0 = chance).

    Create it with :meth:`from_estimator` or :meth:`from_weights`.

    Parameters
    ----------
    sizes : array-like of shape (n_sizes,)
        Numbers k of best features, increasing.
    stability : array-like of shape (n_sizes,)
        Stability for each k; nan is skipped.
    lower, upper : array-like of shape (n_sizes,)
        Bounds of the interval.
    n_resamples : int, default=None
        Number of fits that were compared, for the title.
    halves : bool, default=False
        Whether each was fitted to half of the samples, for the title.
    name : str, default=None
        Start of the title.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the plot.
    line_ : matplotlib Line2D
        The stability.
    fill_between_ : matplotlib PolyCollection
        The interval.
    chance_ : matplotlib Line2D
        Stability 0, that of features drawn at random.

    See Also
    --------
    highrelief.stability.stability_by_size : The numbers.

    Examples
    --------
    >>> from highrelief import ReliefF
    >>> from highrelief.datasets import make_xor
    >>> from highrelief.plots import StabilityDisplay
    >>> X, y, relevant = make_xor(200, n_irrelevant=10, random_state=0)
    >>> display = StabilityDisplay.from_estimator(ReliefF(), X, y, sizes=[1, 2, 5], random_state=0)
    >>> display.stability.round(2)
    array([0.24, 1.  , 0.21])
    """

    sizes: ArrayLike
    stability: ArrayLike
    lower: ArrayLike
    upper: ArrayLike
    _: KW_ONLY
    n_resamples: int | None = None
    halves: bool = False
    name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        n_resamples: int = 20,
        sizes: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
        ax: Any = None,
        line_kw: dict[str, Any] | None = None,
        fill_between_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Fit clones of an estimator to halves of the samples and draw how much they agree.

        As in :func:`highrelief.report`, the samples are repeatedly split in two halves, stratified by class,
        and the two disjoint halves are compared. The interval is that of the agreement of two new tables of
        half the size.

        Parameters
        ----------
        estimator : estimator
            A weighter, or any estimator with ``feature_importances_`` or ``coef_`` after its fit; also a
            pipeline that ends in one. It is cloned. Without X and y: a fitted
            :class:`~highrelief.EnsembleWeighting`, whose members are compared.
        X : array-like of shape (n_samples, n_features), default=None
            The samples.
        y : array-like of shape (n_samples,), default=None
            Class labels.
        n_resamples : int, default=20
            Number of halves (even).
        sizes : array-like of shape (n_sizes,), default=None
            Numbers of best features; None: 1, 2, 5, 10, 20, 50, …
        groups : array-like of shape (n_samples,), default=None
            Group labels: samples of a group stay in one half; halves are then not stratified by class.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights.
        n_jobs : int or None, default=None
            Number of parallel fits; does not change the result.
        verbose : int, default=0
            1 shows the number of finished fits.
        random_state : int, RandomState or None, default=None
            Seed of the halves.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: a new figure.
        line_kw, fill_between_kw : dict, default=None
            Options of matplotlib's ``Axes.plot`` and ``Axes.fill_between``.

        Returns
        -------
        display : StabilityDisplay
            The display.
        """
        pyplot(cls.__name__)
        look: dict[str, Any] = {"ax": ax, "line_kw": line_kw, "fill_between_kw": fill_between_kw}
        name = type(innermost(estimator)).__name__
        if X is None:
            members = _members(estimator)
            return cls.from_weights(members.member_weights_, sizes=sizes, name=name, **look)
        fits = fits_to_halves(
            estimator,
            X,
            y,
            resamples=checked_halves("n_resamples", n_resamples),
            random_state=random_state,
            n_jobs=n_jobs,
            groups=groups,
            sample_weight=sample_weight,
            verbose=verbose,
        )
        checked = checked_sizes(sizes, fits.scores.shape[1])
        curve = np.array(agreement_by_size(fits, checked.tolist())).T
        return cls(checked, *curve, n_resamples=n_resamples, halves=True, name=name).plot(**look)

    @classmethod
    def from_weights(
        cls,
        weights: ArrayLike,
        *,
        sizes: ArrayLike | None = None,
        name: str | None = None,
        ax: Any = None,
        line_kw: dict[str, Any] | None = None,
        fill_between_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the agreement of the given weights of several fits, over all pairs.

        The interval is that of :func:`~highrelief.stability.nogueira` for independent fits; fits to
        overlapping subsets agree on noise too.

        Parameters
        ----------
        weights : array-like of shape (n_fits, n_features)
            Weights, larger = better, one row for each fit.
        sizes : array-like of shape (n_sizes,), default=None
            Numbers of best features; None: 1, 2, 5, 10, 20, 50, …
        name : str, default=None
            Start of the title.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: a new figure.
        line_kw, fill_between_kw : dict, default=None
            Options of matplotlib's ``Axes.plot`` and ``Axes.fill_between``.

        Returns
        -------
        display : StabilityDisplay
            The display.
        """
        pyplot(cls.__name__)
        display = cls(*stability_by_size(weights, sizes), n_resamples=len(np.asarray(weights)), name=name)
        return display.plot(ax, line_kw=line_kw, fill_between_kw=fill_between_kw)

    def plot(
        self,
        ax: Any = None,
        *,
        line_kw: dict[str, Any] | None = None,
        fill_between_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None: a new figure.
        line_kw, fill_between_kw : dict, default=None
            Options of matplotlib's ``Axes.plot`` and ``Axes.fill_between``.

        Returns
        -------
        display : StabilityDisplay
            The display itself.
        """
        sizes, stability, lower, upper = (
            np.asarray(each, dtype=np.float64).ravel()
            for each in (self.sizes, self.stability, self.lower, self.upper)
        )
        known = np.isfinite(stability)
        if not known.any():
            raise ValueError(
                "There is no stability to draw: at each of the sizes some fit gives the last feature that is"
                " kept the same weight as the next. Other sizes may help."
            )
        self._open_axes(ax)
        from matplotlib.collections import PolyCollection  # noqa: PLC0415
        from matplotlib.lines import Line2D  # noqa: PLC0415

        default = {"color": COLORS[0], "marker": "o", "markersize": 4, "label": "stability"}
        self.line_ = self.ax_.plot(sizes[known], stability[known], **styled(Line2D, default, line_kw))[0]
        band = {"color": self.line_.get_color(), "alpha": 0.2, "linewidth": 0, "label": "95% interval"}
        band = styled(PolyCollection, band, fill_between_kw)
        self.fill_between_ = self.ax_.fill_between(sizes[known], lower[known], upper[known], **band)
        ink = self.ax_.xaxis.label.get_color()
        self.chance_ = self.ax_.axhline(0.0, color=ink, linestyle="--", linewidth=1.0, label="chance")
        self._finish(sizes[known], float(np.nanmin(lower)))
        return self

    def _finish(self, sizes: Any, least: float) -> None:
        from matplotlib.ticker import MaxNLocator, StrMethodFormatter  # noqa: PLC0415

        axis = self.ax_.xaxis
        if sizes.max() >= 50 * sizes.min():
            self.ax_.set_xscale("log")
            axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        else:
            axis.set_major_locator(MaxNLocator(integer=True))
        fits = "" if self.n_resamples is None else f"{self.n_resamples:,} fits"
        if fits and self.halves:
            fits += " to halves of the samples"
        self.ax_.set(
            xlabel="number of best features",
            ylabel="stability (Nogueira)",
            title=": ".join(each for each in (self.name, fits) if each),
            ylim=(min(-0.05, 1.1 * least), 1.05),
        )
        quiet_spines(self.ax_)
        self.ax_.legend()


def _members(estimator: Any) -> Any:
    """Return the fitted ensemble whose members are compared."""
    inside = innermost(estimator)
    if not isinstance(inside, EnsembleWeighting):
        raise ValueError(
            f"Without X and y there is nothing to fit {type(inside).__name__} to: hand over both, or a fitted"
            " EnsembleWeighting, whose members are compared."
        )
    check_is_fitted(inside)
    return inside
