"""``highrelief select --control``: the features that are real, at a stated error rate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...bases.decisions import CONTROLS
from ...error_control import METHODS, ErrorControlledSelector
from .errors import UsageError
from .files import check_free, csv_text, write_text
from .rank import Ranking, rank
from .request import Request
from .select import write_features
from .watching import NOBODY, Watcher

#: What may be known of every feature, and what its column is called.
_EVIDENCE = {
    "statistic_": "statistic",
    "pvalues_": "p",
    "qvalues_": "q",
    "selection_probability_": "selected_in",
}
_CALLED = {"fdr": "false discovery rate", "fwer": "family-wise error rate"}


@dataclass(frozen=True)
class Control:
    """What is to be controlled, and how."""

    control: str
    level: float = 0.1
    by: str = "permutation"
    n_permutations: int = 200

    def __post_init__(self) -> None:
        for option, value, known in (("control", self.control, CONTROLS), ("by", self.by, METHODS)):
            if value not in known:
                raise UsageError(f"--{option} is one of {', '.join(known)}, and not {value!r}.")
        if not 0.0 < self.level < 1.0:
            raise UsageError(f"--level must be above 0 and below 1, and {self.level:g} is not.")

    def around(self, weighter: Any, *, seed: int, n_jobs: int | None) -> ErrorControlledSelector:
        """The selector around a method."""
        return ErrorControlledSelector(
            weighter,
            method=self.by,
            control=self.control,
            level=self.level,
            n_permutations=self.n_permutations,
            n_jobs=n_jobs,
            random_state=seed,
        )


@dataclass(frozen=True)
class Decided:
    """A table of which some features were found to be real."""

    control: Control
    ranking: Ranking

    @property
    def selector(self) -> ErrorControlledSelector:
        """What decided; there may be a filter around it."""
        fitted = self.ranking.estimator
        inside: ErrorControlledSelector = fitted.estimator_ if self._filtered else fitted
        return inside

    @property
    def _filtered(self) -> bool:
        return self.ranking.request.max_redundancy is not None

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Which were, and are not left out because another says the same."""
        real = self.selector.get_support()
        return real & self.ranking.estimator.get_support() if self._filtered else real

    @property
    def n_kept(self) -> int:
        """How many are kept."""
        return int(self.kept.sum())

    def header(self) -> list[str]:
        """What is known of the features."""
        known = [name for each, name in _EVIDENCE.items() if hasattr(self.selector, each)]
        return ["rank", "feature", "weight", *known, "kept"]

    def rows(self, *, kept_only: bool) -> list[list[Any]]:
        """The same of every feature, those kept first, and those of large weights."""
        selector, names = self.selector, self.ranking.table.feature_names
        known = [getattr(selector, each) for each in _EVIDENCE if hasattr(selector, each)]
        kept = self.kept
        order = [*(j for j in self.ranking.order if kept[j]), *(j for j in self.ranking.order if not kept[j])]
        return [
            [
                int(selector.ranking_[j]),
                names[j],
                float(selector.feature_weights_[j]),
                *(float(each[j]) for each in known),
                "yes" if kept[j] else "no",
            ]
            for j in order
            if kept[j] or not kept_only
        ]

    def sentence(self) -> str:
        """How many are kept, and at what error rate."""
        rate = f"{_CALLED[self.control.control]} of {self.control.level:g}, by {self.control.by}"
        n_features = len(self.ranking.table.feature_names)
        if self.n_kept == 0:
            return f"None of the {n_features:,} features is found to be real at a {rate}."
        n_real = int(self.selector.get_support().sum())
        are = "feature is" if n_real == 1 else "features are"
        found = f"{n_real:,} of {n_features:,} {are} kept at a {rate}."
        if not self._filtered:
            return found
        return f"{found[:-1]}; {self.n_kept:,} of them say something of their own, and are written."

    def write(self, path: Path, *, force: bool) -> Path:
        """Write the table with what is kept, and what is known of all features beside it."""
        names, kept = self.ranking.table.feature_names, self.kept
        write_features(
            self.ranking,
            {name for name, is_kept in zip(names, kept, strict=True) if is_kept},
            path,
            force=force,
        )
        beside = evidence_file(path)
        write_text(beside, csv_text(self.header(), self.rows(kept_only=False)), force=force)
        return beside


def evidence_file(path: Path) -> Path:
    """Where it is written what is known of all features, beside the table with those kept."""
    return path.with_name(f"{path.stem}.features.csv")


def check_evidence(path: Path, *, force: bool) -> None:
    """Raise if it cannot be written there, before anything is computed."""
    check_free(evidence_file(path), force=force)


def decided(
    request: Request, control: Control, *, n_jobs: int | None = None, watcher: Watcher = NOBODY
) -> Decided:
    """Read the table, weigh its features, decide which are real."""
    ranking = rank(
        request,
        n_jobs=n_jobs,
        around=lambda weighter: control.around(weighter, seed=request.seed, n_jobs=n_jobs),
        watcher=watcher,
    )
    return Decided(control, ranking)
