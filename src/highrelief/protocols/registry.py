"""The experiments by name, and what cannot be run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module

from .experiment import Experiment

#: Papers, each a file whose ``EXPERIMENTS`` are run and whose ``NOT_RUN`` says what is not, and why.
PAPERS = ("irelief_2007", "lfe_2008", "im4e_2012", "lhr_2014", "frel_2015")


@dataclass(frozen=True)
class Paper:
    """A paper's published tables and figures."""

    #: Its key among the citations.
    key: str
    experiments: tuple[Experiment, ...]
    #: What cannot be run, and why.
    not_run: Mapping[str, str]


def papers() -> list[Paper]:
    """All papers."""
    modules = [import_module(f"{__package__}.{name}") for name in PAPERS]
    return [Paper(each.EXPERIMENTS[0].paper, each.EXPERIMENTS, each.NOT_RUN) for each in modules]


def experiments() -> dict[str, Experiment]:
    """All experiments by name, in the order of the papers."""
    return {each.name: each for paper in papers() for each in paper.experiments}


def not_run() -> dict[str, str]:
    """Published tables and figures that cannot be run, and why."""
    return {name: reason for paper in papers() for name, reason in paper.not_run.items()}


def named(name: str) -> Experiment:
    """An experiment by its name."""
    known = experiments()
    if name in known:
        return known[name]
    if name in not_run():
        raise LookupError(f"{name} cannot be run: {not_run()[name]}")
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}."
    raise LookupError(f"There is no experiment {name!r}; {hint}")
