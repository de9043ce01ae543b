"""How a method came to rest, in numbers and in words."""

from __future__ import annotations

from typing import Any

from ..bases.meta import fit_inside
from ..plots.convergence import ran_its_schedule, weight_tolerance
from .contents import Convergence
from .sentences import counted, number

_CHANGE = "Change of the weights (Euclidean norm)"
#: Why a method has nothing to show, by its class.
_PASSES = ("FREL", "Lmba", "Simba")


def convergence(estimator: Any) -> Convergence | str:
    """The course of an iteration; or why there is none, in a sentence."""
    inside = fit_inside(estimator)
    name = type(inside).__name__
    if getattr(inside, "history_", None) is None:
        return _why_not(inside)
    steps = [float(change) for change in inside.history_]
    cycle = int(getattr(inside, "cycle_length_", 0))
    converged = bool(getattr(inside, "converged_", False))
    if name == "GFlip":
        return Convergence(
            steps, "Features taken in or out, in each sweep", None, converged, 0, _of_flips(steps, converged)
        )
    if name == "OnlineIRelief":
        told = [
            f"{counted(len(steps), 'pass', 'passes')} over the samples; the last changed the weights by"
            f" {number(steps[-1])}. There is no bound to wait for: it ends when all passes are made."
        ]
        return Convergence(steps, f"{_CHANGE} in each pass", None, converged, 0, told, scheduled=True)
    scheduled = ran_its_schedule(inside)
    told = _words(inside, steps, converged, cycle, scheduled=scheduled)
    meaning = f"{_CHANGE} in each iteration"
    tolerance = weight_tolerance(inside)
    return Convergence(steps, meaning, tolerance, converged, cycle, told, scheduled=scheduled)


def _why_not(inside: Any) -> str:
    name = type(inside).__name__
    if hasattr(inside, "estimators_"):
        ends = [bool(each.converged_) for each in inside.estimators_ if hasattr(each, "converged_")]
        settled = f"; {sum(ends):,} of {len(ends):,} came to rest" if ends else ""
        return (
            f"The result is the mean of {counted(len(inside.estimators_), 'fit')}, each by itself{settled}."
        )
    if getattr(inside, "solver", None) == "exact":
        return f"{name} solved its problem exactly: there are no steps to show."
    if name in _PASSES:
        return f"{name} goes through the samples a fixed number of times: there is nothing to come to rest."
    if name == "OnlineIRelief":
        return "The samples came as a stream: there is nothing to come to rest."
    return f"{name} does not iterate."


def _of_flips(steps: list[float], converged: bool) -> list[str]:
    sweeps = counted(len(steps), "sweep")
    if converged:
        return [
            f"It came to rest after {sweeps}: in the last, no feature was taken in or out, so that no single"
            " change improves the set. Other orders of the features may lead to other sets."
        ]
    return [
        f"It did not come to rest in {sweeps}: the last still took {counted(int(steps[-1]), 'feature')} in or"
        " out. A larger max_iter would help."
    ]


def _words(inside: Any, steps: list[float], converged: bool, cycle: int, *, scheduled: bool) -> list[str]:
    iterations = counted(len(steps), "iteration")
    if not steps:
        return [
            "It stopped in the first iteration: no feature had a positive mean margin, so that no weights"
            " follow. By this method, nothing tells the classes apart."
        ]
    last = f"the last changed the weights by {number(steps[-1])}"
    if cycle:
        return [
            f"It did not come to rest: the weights come back after {cycle} iterations, and so on for ever."
            f" The weights shown are one of {cycle} points that it goes round; features that weigh much in"
            f" this one may weigh little in the next. {_advice(inside)}"
        ]
    if not converged:
        return [f"It did not come to rest in {iterations}; {last}. {_advice(inside)}"]
    if scheduled:
        return [f"{iterations}, the weights averaged over them, are the whole method; {last}."]
    return [f"It came to rest after {iterations}; {last}."]


def _advice(inside: Any) -> str:
    """What may help."""
    if not hasattr(inside, "sigma"):
        return "Fewer iterations (max_iter=2) are often better than more, or another method such as I-RELIEF."
    if getattr(inside, "_averages", False):
        return "A larger max_iter or a larger sigma may help."
    return 'averaging=True, which settles between the points, a larger sigma or sigma="auto" may help.'
