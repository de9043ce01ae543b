"""A kernel width chosen by cross-validation: in every fold one warm path, from the middle outwards."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from ..core.cached_property import cached_property
from ..core.parameters import check_choice, check_count, check_number
from ..core.rows import LocalRows
from ..core.solvers import euclidean_norm
from ..core.sparse_margins import SparseMargins
from .balance import label_codes
from .folds import RULES, SAME_SCORE, check_folds, has_misses, told_of, usable_folds, warn_of_fewer_folds
from .input import Table, warn_user
from .neighbor_rule import NeighborRule, checked_scorer
from .progress import watched, with_callbacks
from .soft import AVERAGED_STEPS, RepeatedWeighter, WithDistances

#: Widths that are tried where the user gives none, as multiples of the one that ``sigma="auto"`` finds.
FACTORS: NDArray[np.float64] = np.ldexp(1.0, np.arange(2, -3, -1))


@dataclass(frozen=True)
class Part:
    """Some samples of a table, and the member that is fitted to them with one width after the other."""

    member: Any
    table: Table
    rows: LocalRows

    @cached_property
    def margins(self) -> SparseMargins:
        """Margins for few features; sums of one fit bound those of the next."""
        return self.rows.sparse_margins()


class CrossValidatedWidth(RepeatedWeighter):
    r"""Base of the weighters that choose σ by how well their weights classify samples left out.

    The width is held at σ‖w‖₂, so that σ is that of weights of norm 1, whatever norm the method gives them.

    A subclass says in :meth:`_first` where the iteration begins, and in :meth:`_run` how it goes on.
    """

    sigmas: Any
    cv: Any
    scoring: Any
    rule: str
    warm_steps: int | None
    sigmas_: NDArray[np.float64]
    scores_: NDArray[np.float64]
    best_index_: Any

    #: The weighter whose ``sigma="auto"`` says around which width to look.
    _plain: ClassVar[type[Any]]
    _held: float

    _refuses_dask: str | None = "its widths are judged by k-NN on tables in memory."

    # How the method runs with a width that is held

    def _width(self, rows: WithDistances, w: NDArray[np.float64]) -> float:
        return self._held * (euclidean_norm(w) or 1.0)

    @property
    def _averages(self) -> bool:
        return self.averaging is not False

    @property
    def _parameter_free(self) -> bool:
        return False  # the width is what is looked for

    def _check_perplexity(self) -> None:
        check_number("perplexity", self.perplexity, above=0.0, at_most=1.0)

    def _first(self) -> NDArray[np.float64]:
        """Weights to begin with."""
        raise NotImplementedError

    def _run(self, part: Part, w: NDArray[np.float64]) -> None:
        """Fit this member to its part, from weights w on."""
        raise NotImplementedError

    # Fit

    @with_callbacks
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        batches: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Choose σ, and λ if there is one, in a cross-validation, and weigh the features with it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples. Where values are missing (NaN), differences are what they are expected to be.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each sample counts: weight s means s copies, in one fold, also in the score.
        batches : array-like of shape (n_samples,), default=None
            The batch of each sample, a name or a number. Features are scaled in each batch by itself, and
            neighbours are where ``batch_neighbors`` says. The rule that is scored takes the samples as one
            table, and the folds do not go by batches.
        groups : array-like of shape (n_samples,), default=None
            Samples of the same group (such as those of one patient) are in one fold.

        Returns
        -------
        self : object
            The fitted weighter.
        """
        return self._cross_validate(self._check_fit(X, y, sample_weight, batches), groups)

    def _check_parameters(self, n_samples: int) -> None:
        super()._check_parameters(n_samples)
        if self.sigmas is not None:
            checked_grid("sigmas", self.sigmas)
        check_folds("cv", self.cv)
        checked_scorer(self.scoring)
        check_choice("rule", self.rule, RULES)
        if self.warm_steps is not None:
            check_count("warm_steps", self.warm_steps, at_least=0)

    def _forget(self) -> None:
        super()._forget()
        for name in ("sigmas_", "scores_", "best_index_"):
            self.__dict__.pop(name, None)

    def _cross_validate(self, table: Table, groups: ArrayLike | None) -> Self:
        """Score all values in all folds, and fit all samples with the best."""
        codes = label_codes("groups", groups, table.kept)
        codes = codes if self._splits_by_groups(groups) else None
        folds = [
            fold
            for fold in usable_folds(self.cv, table.X, table.codes, table.kept, codes)
            if has_misses(table, fold[0])
        ]
        first = self._first()
        with watched(self, total=len(folds) + 1) as progress:
            self._set_grid(table)
            scores = []
            for fold in folds:
                scores.append(self._scores_of(table, *fold, first))
                if progress.advance():
                    warn_user(
                        f"{type(self).__name__} was stopped by a callback after {len(scores)} of {len(folds)}"
                        " folds.",
                        UserWarning,
                    )
                    break
            self.scores_ = np.stack(scores, axis=-1) if scores else np.empty((*self._shape, 0))
            self.best_index_ = self._chosen()
            self._warn_of_folds(len(folds))
            self._fit_all(table, first)
        return self

    def _set_grid(self, table: Table) -> None:
        """The values that are tried, each kind from large to small."""
        if self.sigmas is None:
            self.sigmas_ = self._width_by_rule(table) * FACTORS
        else:
            self.sigmas_ = checked_grid("sigmas", self.sigmas)

    @property
    def _shape(self) -> tuple[int, ...]:
        """Number of values of each kind."""
        return (self.sigmas_.size,)

    def _width_by_rule(self, table: Table) -> float:
        """The width that ``sigma="auto"`` ends with, for weights of norm 1."""
        own = self.get_params(deep=False)
        shared = self._plain().get_params(deep=False).keys() & own.keys()
        left_to_it = {"averaging", "max_iter", "tol", "init", "verbose", "cv"}
        plain = self._plain(**{name: own[name] for name in shared - left_to_it})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the fit with the chosen width is told of
            plain.fit(*told_of(table, self.classes_))
        norm = euclidean_norm(plain.feature_weights_)
        width = plain.sigma_ / norm if norm > 0.0 else np.nan
        return width if 0.0 < width < np.inf else 1.0

    def _part(self, table: Table, which: NDArray[np.int64] | slice = slice(None)) -> Part:
        """Some of the samples, scaled by themselves, and a member to be fitted to them."""
        member = type(self)(**{**self.get_params(deep=False), "verbose": 0})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the whole fit is told of, if it happens there
            part = member._check_fit(*told_of(table, self.classes_, which))
            return Part(member, part, member._rows(part))

    def _scores_of(
        self,
        table: Table,
        fitted: NDArray[np.int64],
        left_out: NDArray[np.int64],
        first: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Scores of one fold, for all values."""
        scorer = checked_scorer(self.scoring)
        part = self._part(table, fitted)
        X, y = table.observed[left_out], self.classes_[table.codes[left_out]]
        copies = None if table.copies is None else table.copies[left_out]
        scores = np.empty(self._shape)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for place in self._walk(part, first):
                scores[place] = scorer(self._rule(part), X, y, copies)
        return scores

    def _rule(self, part: Part) -> Any:
        """The classifier that is scored: k-NN under the weights of a member."""
        member, table = part.member, part.table
        return NeighborRule(
            table.observed,
            table.codes,
            member.classes_,
            table.copies,
            member._scaling,
            member.feature_weights_,
        )

    def _walk(self, part: Part, first: NDArray[np.float64]) -> Iterator[Any]:
        """Fit the member with one width after the other, from the middle on; yield their places."""
        ends: dict[int, NDArray[np.float64]] = {}
        for place, before in outwards(self.sigmas_.size):
            part.member._held = float(self.sigmas_[place])
            ends[place] = self._next(part, first, ends.get(before))
            yield place

    def _next(
        self, part: Part, first: NDArray[np.float64], before: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Fit the member of a part, from weights of another value if there are any; return where it ends."""
        member = part.member
        cold = before is None or self.warm_steps == 0
        w = first if cold or before is None else before
        member.max_iter = self.max_iter if cold else self._warm_most
        member._run(part, w)
        return member.feature_weights_ if member.feature_weights_.any() else w

    @property
    def _warm_most(self) -> int | None:
        """Most iterations from the weights of another value."""
        if self.warm_steps is not None:
            return int(self.warm_steps)
        return -(-(self.max_iter or AVERAGED_STEPS) // 2) if self._averages else self.max_iter

    def _chosen(self) -> Any:
        """Place of the chosen width."""
        return nearest_to_middle(self._good())

    def _good(self) -> NDArray[np.bool_]:
        """Which of the values are good enough by the rule; without any fold all are."""
        if not self.scores_.shape[-1]:
            return np.ones(self._shape, dtype=bool)
        means = self.scores_.mean(axis=-1)
        means = np.where(np.isnan(means), -np.inf, means)
        least = means.max()
        of_best = self.scores_[np.unravel_index(int(np.argmax(means)), means.shape)]
        if self.rule == "one-se" and of_best.size > 1:
            least -= of_best.std(ddof=1) / np.sqrt(of_best.size)
        return means >= least - SAME_SCORE

    def _fit_all(self, table: Table, first: NDArray[np.float64]) -> None:
        """Fit all samples with the chosen values, from the first weights on, and be what comes out."""
        part = self._part(table)
        self._hold_chosen(part.member)
        # Samples of weight 0 count among those that the user gave.
        part.member._run(Part(part.member, table, part.rows), first)
        parameters = self.get_params(deep=False)
        for name, value in vars(part.member).items():
            if name not in parameters:
                setattr(self, name, value)

    def _hold_chosen(self, member: Any) -> None:
        member._held = float(self.sigmas_[np.atleast_1d(self.best_index_)[0]])

    def _warn_of_folds(self, n_folds: int) -> None:
        if n_folds == 0:
            warn_user(
                "cv gives no fold to choose by (of two classes and different samples): the middle of what was"
                " to be tried is taken.",
                UserWarning,
            )
        else:
            warn_of_fewer_folds(self.cv, n_folds)

    # Who is told of groups

    def get_metadata_routing(self) -> MetadataRouter:
        """Whom ``fit`` tells of what it is told, where metadata is routed; see scikit-learn's user guide.

        Returns
        -------
        routing : MetadataRouter
            What ``fit`` itself takes, and the splits of ``cv``.
        """
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        if hasattr(self.cv, "get_n_splits"):
            router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        return router

    def _splits_by_groups(self, groups: ArrayLike | None) -> bool:
        """Whether the folds keep groups together; where metadata is routed, a splitter says so."""
        routed = get_config()["enable_metadata_routing"] and hasattr(self.cv, "get_n_splits")
        if groups is None or not routed:
            return groups is not None
        return "groups" in process_routing(self, "fit", groups=groups).splitter.split


def outwards(n_values: int) -> Iterator[tuple[int, int]]:
    """Places from the middle to either end, and the place before each; −1 before the middle."""
    middle = n_values // 2
    yield middle, -1
    yield from ((place, place + 1) for place in range(middle - 1, -1, -1))
    yield from ((place, place - 1) for place in range(middle + 1, n_values))


def nearest_to_middle(good: NDArray[np.bool_]) -> int:
    """Place of the value that is nearest to the middle; of two as near the first."""
    places = np.flatnonzero(good)
    return int(places[np.argmin(np.abs(places - good.size // 2))])


def checked_grid(name: str, values: Any, at_most: float | None = None) -> NDArray[np.float64]:
    """Numbers > 0, each once and from large to small."""
    try:
        grid = np.asarray(values)
    except ValueError:
        grid = np.empty(0)
    wanted = "numbers > 0" if at_most is None else f"numbers > 0 and <= {at_most:g}"
    good = grid.ndim == 1 and grid.size > 0 and grid.dtype.kind in "iuf"
    if good:
        numbers = grid.astype(np.float64)
        good = bool(np.all(np.isfinite(numbers) & (numbers > 0.0)))
        good = good and (at_most is None or bool(np.all(numbers <= at_most)))
    if not good:
        raise ValueError(f"{name}={values!r} must be None, or a list of {wanted}.")
    return np.unique(numbers)[::-1].copy()
