"""How an iteration came to rest, or did not."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ..base.meta import fit_inside, innermost
from ..base.soft import RepeatedWeighter
from ..methods.gflip import GFlip
from ..methods.im4e import IM4E
from ..methods.online import OnlineIRelief
from .drawing import ALARM, COLORS, axes_or_new, counted, pyplot, quiet_spines, styled


class ConvergenceDisplay:
    """One point for each step of an iteration.

    Use :meth:`from_estimator` to make one.

    Parameters
    ----------
    history : array-like of shape (n_steps,)
        A number ≥ 0 for each step.
    meaning : str, default="change of the weights"
        What the numbers are.
    step_name : str, default="iteration"
        What a step is called.
    tolerance : float or None, default=None
        Below which the iteration ends; None: no line.
    log : bool, default=True
        Whether the axis is logarithmic; a step without any change is then drawn at the lower edge, as a
        triangle. Otherwise the numbers are counts.
    converged : bool or None, default=None
        Whether it came to rest; None: nothing is said about it.
    complete : bool, default=False
        Whether it was to run for as many steps as it did, at rest or not.
    cycle_length : int, default=0
        Number of points the iteration went round in at its end; 0 if it did not.
    name : str, default=None
        What the title begins with.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it is drawn.
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

    def __init__(
        self,
        history: ArrayLike,
        *,
        meaning: str = "change of the weights",
        step_name: str = "iteration",
        tolerance: float | None = None,
        log: bool = True,
        converged: bool | None = None,
        complete: bool = False,
        cycle_length: int = 0,
        name: str | None = None,
    ) -> None:
        self.history = history
        self.meaning = meaning
        self.step_name = step_name
        self.tolerance = tolerance
        self.log = log
        self.converged = converged
        self.complete = complete
        self.cycle_length = cycle_length
        self.name = name

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
            Where to draw; None: a new figure.
        line_kw, tolerance_kw : dict, default=None
            For matplotlib's ``Axes.plot`` and ``Axes.axhline``.

        Returns
        -------
        display : ConvergenceDisplay
            What was drawn.
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
            Where to draw; None: a new figure.
        line_kw, tolerance_kw : dict, default=None
            For matplotlib's ``Axes.plot`` and ``Axes.axhline``.

        Returns
        -------
        display : ConvergenceDisplay
            Itself.
        """
        history = np.asarray(self.history, dtype=np.float64).ravel()
        if history.size == 0:
            raise ValueError(
                f"{self.name or 'The iteration'} stopped in its first step: there is no history to draw."
            )
        self.ax_ = axes_or_new(type(self).__name__, ax)
        self.figure_ = self.ax_.figure
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
        self, steps: NDArray[np.int64], history: NDArray[np.float64], given: dict[str, Any] | None
    ) -> None:
        from matplotlib.lines import Line2D  # noqa: PLC0415

        usual = {"color": COLORS[0], "marker": "o", "markersize": 4 if steps.size <= 60 else 0}
        style = styled(Line2D, usual, given)
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

    def _drawn_tolerance(self, given: dict[str, Any] | None) -> Any:
        if not self.tolerance:
            return None
        from matplotlib.lines import Line2D  # noqa: PLC0415

        ink = self.ax_.xaxis.label.get_color()
        usual = {"color": ink, "linestyle": "--", "linewidth": 1.0, "label": f"tolerance, {self.tolerance:g}"}
        return self.ax_.axhline(self.tolerance, **styled(Line2D, usual, given))

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
    """Whether all steps were made that belong to the method: averaged ones, or the passes over a stream."""
    if isinstance(fitted, RepeatedWeighter):
        return fitted._ran_its_schedule
    return isinstance(fitted, OnlineIRelief) and fitted.converged_


def weight_tolerance(fitted: Any) -> float | None:
    """The change of the weights at which the iteration stops; None where it ends by something else.

    I-M4E waits for its cost, G-flip for a sweep without a flip; a fixed number of steps waits for nothing.
    """
    if isinstance(fitted, (IM4E, GFlip, OnlineIRelief)) or ran_its_schedule(fitted):
        return None
    return float(fitted.tol)


def _with_history(estimator: Any) -> Any:
    """The fitted weighter that iterated: itself, or what is inside."""
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
