"""Plot of the convergence of an iteration."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ..base.meta import fit_inside, innermost
from ..base.soft import RepeatedWeighter
from ..io.cells import counted
from ..methods.gflip import GFlip
from ..methods.im4e import IM4E
from ..methods.online import OnlineIRelief
from .drawing import ALARM, COLORS, Display, pyplot, quiet_spines, styled


@dataclass(eq=False, repr=False)
class ConvergenceDisplay(Display):
    """One point for each step of an iteration.

    Create it with :meth:`from_estimator`.

    Parameters
    ----------
    history : array-like of shape (n_steps,)
        A number ≥ 0 for each step.
    meaning : str, default="change of the weights"
        Meaning of the numbers.
    step_name : str, default="iteration"
        Name of a step.
    tolerance : float or None, default=None
        Stopping tolerance, drawn as a line; None: no line.
    log : bool, default=True
        Whether the axis is logarithmic; steps without any change are then drawn as triangles at the lower
        edge. Otherwise the numbers are counts.
    converged : bool or None, default=None
        Whether the iteration converged, for the title; None: unknown.
    complete : bool, default=False
        Whether the number of steps was fixed in advance.
    cycle_length : int, default=0
        Length of the cycle at the end of the iteration; 0 if there is none.
    name : str, default=None
        Start of the title.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the plot.
    line_ : matplotlib Line2D
        The steps.
    zeros_ : matplotlib Line2D or None
        Steps without change on a logarithmic axis.
    tolerance_line_ : matplotlib Line2D or None
        The tolerance.
    cycle_ : matplotlib artist or None
        The last round of a cycle.

    Examples
    --------
    >>> from highrelief import IRelief
    >>> from highrelief.datasets import make_xor
    >>> from highrelief.plots import ConvergenceDisplay
    >>> X, y, relevant = make_xor(200, n_irrelevant=10, random_state=0)
    >>> display = ConvergenceDisplay.from_estimator(IRelief(sigma=5.0).fit(X, y))
    >>> display.ax_.get_title()
    'IRelief: converged after 5 iterations'
    """

    history: ArrayLike
    _: KW_ONLY
    meaning: str = "change of the weights"
    step_name: str = "iteration"
    tolerance: float | None = None
    log: bool = True
    converged: bool | None = None
    complete: bool = False
    cycle_length: int = 0
    name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        ax: Any = None,
        line_kw: dict[str, Any] | None = None,
        tolerance_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the steps of a fitted estimator that iterates.

        Parameters
        ----------
        estimator : estimator
            A fitted weighter with ``history_``: I-RELIEF, LOGO, I-M4E and LHR with the Euclidean norm of the
            change of their weights, G-flip with its flips in every sweep. Of a pipeline its last step; of a
            meta-estimator with one fit that fit.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: a new figure.
        line_kw, tolerance_kw : dict, default=None
            Options of matplotlib's ``Axes.plot`` and ``Axes.axhline``.

        Returns
        -------
        display : ConvergenceDisplay
            The display.
        """
        pyplot(cls.__name__)
        inside = _with_history(estimator)
        name = type(inside).__name__
        if isinstance(inside, GFlip):
            words: dict[str, Any] = {"meaning": "flips", "step_name": "sweep", "log": False}
        else:
            words = {
                "meaning": "change of the weights (Euclidean norm)",
                "step_name": "pass" if isinstance(inside, OnlineIRelief) else "iteration",
                "tolerance": weight_tolerance(inside),
            }
        display = cls(
            inside.history_,
            converged=inside.converged_,
            complete=ran_its_schedule(inside),
            cycle_length=getattr(inside, "cycle_length_", 0),
            name=name,
            **words,
        )
        return display.plot(ax, line_kw=line_kw, tolerance_kw=tolerance_kw)

    def plot(
        self,
        ax: Any = None,
        *,
        line_kw: dict[str, Any] | None = None,
        tolerance_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the steps.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None: a new figure.
        line_kw, tolerance_kw : dict, default=None
            Options of matplotlib's ``Axes.plot`` and ``Axes.axhline``.

        Returns
        -------
        display : ConvergenceDisplay
            The display itself.
        """
        history = np.asarray(self.history, dtype=np.float64).ravel()
        if history.size == 0:
            raise ValueError(
                f"{self.name or 'The iteration'} stopped in its first step: there is no history to draw."
            )
        self._open_axes(ax)
        steps = np.arange(1, history.size + 1)
        self._draw_steps(steps, history, line_kw)
        self.tolerance_line_ = self._drawn_tolerance(tolerance_kw)
        self.cycle_ = None
        if self.cycle_length:
            last = history.size + 0.5
            label = f"one round of the cycle, length {self.cycle_length}"
            begin = max(0.5, last - self.cycle_length)
            self.cycle_ = self.ax_.axvspan(begin, last, color=ALARM, alpha=0.2, linewidth=0, label=label)
        self._finish(history.size)
        return self

    def _draw_steps(
        self, steps: NDArray[np.int64], history: NDArray[np.float64], options: dict[str, Any] | None
    ) -> None:
        from matplotlib.lines import Line2D  # noqa: PLC0415

        default = {"color": COLORS[0], "marker": "o", "markersize": 4 if steps.size <= 60 else 0}
        style = styled(Line2D, default, options)
        zero = history <= 0.0
        self.zeros_ = None
        if not self.log or zero.all():
            self.line_ = self.ax_.plot(steps, history, **style)[0]
            self.ax_.set_ylim(bottom=-0.04 * max(float(history.max()), 1.0))
            return
        self.ax_.set_yscale("log")
        self.line_ = self.ax_.plot(steps, np.where(zero, np.nan, history), **style)[0]
        if zero.any():
            least = min([history[~zero].min()] + [self.tolerance] * bool(self.tolerance))
            floor = np.full(int(zero.sum()), least / 10.0)
            color = self.line_.get_color()
            self.zeros_ = self.ax_.plot(
                steps[zero], floor, linestyle="none", marker="v", color=color, label="no change at all"
            )[0]

    def _drawn_tolerance(self, options: dict[str, Any] | None) -> Any:
        if not self.tolerance:
            return None
        from matplotlib.lines import Line2D  # noqa: PLC0415

        ink = self.ax_.xaxis.label.get_color()
        default = {
            "color": ink,
            "linestyle": "--",
            "linewidth": 1.0,
            "label": f"tolerance, {self.tolerance:g}",
        }
        return self.ax_.axhline(self.tolerance, **styled(Line2D, default, options))

    def _finish(self, n_steps: int) -> None:
        from matplotlib.ticker import MaxNLocator  # noqa: PLC0415

        number = counted(n_steps, self.step_name, "passes" if self.step_name == "pass" else None)
        if self.cycle_length:
            end = f"runs in a cycle of length {self.cycle_length}, {number}"
        elif self.complete:
            end = f"all {number} run" if n_steps > 1 else f"{number} run"
        elif self.converged is None:
            end = number
        else:
            end = f"converged after {number}" if self.converged else f"did not converge in {number}"
        title = f"{self.name}: {end}" if self.name else end[0].upper() + end[1:]
        self.ax_.set(xlabel=self.step_name, ylabel=self.meaning, title=title, xlim=(0.5, n_steps + 0.5))
        self.ax_.xaxis.set_major_locator(MaxNLocator(integer=True))
        if not self.log:
            self.ax_.yaxis.set_major_locator(MaxNLocator(integer=True))
        quiet_spines(self.ax_)
        if self.ax_.get_legend_handles_labels()[1]:
            self.ax_.legend()


def ran_its_schedule(fitted: Any) -> bool:
    """Return whether a method ran all steps of a fixed schedule: averaged steps, or passes over a stream."""
    if isinstance(fitted, RepeatedWeighter):
        return fitted._ran_its_schedule
    return isinstance(fitted, OnlineIRelief) and fitted.converged_


def weight_tolerance(fitted: Any) -> float | None:
    """Return the change of the weights at which the iteration stops; None for other criteria.

    I-M4E stops by its cost, G-flip after a sweep without a flip, and a fixed schedule after its last step.
    """
    if isinstance(fitted, (IM4E, GFlip, OnlineIRelief)) or ran_its_schedule(fitted):
        return None
    return float(fitted.tol)


def _with_history(estimator: Any) -> Any:
    """Return the fitted weighter with a history: the estimator, or the one inside."""
    outside = innermost(estimator)
    check_is_fitted(outside)
    inside = fit_inside(outside)
    if hasattr(inside, "history_"):
        return inside
    if hasattr(inside, "estimators_"):
        raise ValueError(
            f"{type(inside).__name__} fits several members: hand one of its estimators_ to"
            " ConvergenceDisplay.from_estimator."
        )
    raise ValueError(
        f"{type(inside).__name__} has no history_: it does not iterate, or keeps no record of its steps, and"
        " there is no convergence to draw."
    )
