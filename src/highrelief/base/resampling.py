"""Clones of an estimator, each fitted to a random subset of the samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from .._dask.collections import is_dask_table
from .._engine.memory import check_room
from .._engine.parameters import (
    check_count,
    check_number,
    checked_thread_count,
    constraints,
    count,
    random_generator,
)
from .._engine.threads import Exclusive, one_blas_thread, run_all
from .meta import MetaWeighter, SingleFitWeighter, weights_of
from .progress import watched
from .selector import is_fraction
from .training_data import TrainingData
from .validation import label_codes, warn_user

# Clones of an estimator, fitted some at a time.


#: Seeds of members are below this.
SEEDS = 2**31 - 1
Result = TypeVar("Result")


class Workers(NamedTuple):
    """Who fits members, and how many of them at a time."""

    #: "threads", "joblib", "dask cluster" or "dask threads", for the user to see.
    backend: str
    n_at_a_time: int
    #: How the table is worked on, where Dask holds it.
    of_table: Mapping[str, Any] = MappingProxyType({})

    @classmethod
    def for_fits(cls, X: Any, n_fits: int, *, ours: bool, n_jobs: int | None) -> Workers:
        """The workers for so many fits to the rows of X; ``ours``: of this package.

        Where joblib was told to send its work away (to Dask), so is this; otherwise ours run in threads. A
        table that Dask holds stays where it is: threads here drive fits that are done there.
        """
        if is_dask_table(X):
            from .._dask.table import n_concurrent_fits  # noqa: PLC0415

            return cls(X.executor.backend, n_concurrent_fits(X, n_fits, n_jobs), X.execution())
        n_threads = checked_thread_count(n_jobs)
        if _sends_away():
            return cls("joblib", min(n_fits, max(1, effective_n_jobs(n_jobs))))
        n_at_a_time = min(n_fits, n_threads)
        return cls("threads" if ours or n_threads == 1 else "joblib", n_at_a_time)

    def waiting(self) -> AbstractContextManager[None]:
        """A context to wait in for fits: within a task of Dask's, whose thread they may need."""
        if not self.of_table:
            return nullcontext()
        from .._dask.scheduler import seceded  # noqa: PLC0415

        return seceded()

    @property
    def execution(self) -> dict[str, Any]:
        """What was chosen, for the user to see."""
        return {"backend": self.backend, "n_at_a_time": self.n_at_a_time, **self.of_table}


def _sends_away() -> bool:
    """Whether joblib was told to work elsewhere, and this is not already there."""
    backend = get_active_backend()[0]
    return type(backend).__name__ == "DaskDistributedBackend" and not backend.nesting_level


def run_some(
    fit: Callable[[Any], Result],
    arguments: Sequence[Any],
    advance: Callable[[], bool],
    *,
    ours: bool,
    n_jobs: int | None,
    X: Any = None,
    workers: Workers | None = None,
) -> list[Result | None]:
    """Fit members, some at a time; None in the place of those that a callback did not want.

    ``advance`` says that one is done, and hears whether that is enough. Members of this package run in
    threads, ``ours``; others in workers of joblib. ``X``: what they are fitted to parts of, if it may be a
    table that Dask holds; ``workers``: who fits them, if that is known.
    """
    workers = workers or Workers.for_fits(X, len(arguments), ours=ours, n_jobs=n_jobs)
    if workers.backend == "joblib":
        return _by_joblib(fit, arguments, advance, n_jobs)
    lock, stopped = Exclusive(), False

    def tell() -> None:
        nonlocal stopped
        stopped = advance() or stopped

    def fit_one(argument: Any) -> Result | None:
        if stopped:
            return None
        fitted = fit(argument)
        lock.run(tell)
        return fitted

    with workers.waiting():
        return in_threads(fit_one, arguments, ours=ours, n_threads=workers.n_at_a_time)


def in_threads(
    function: Callable[[Any], Result], arguments: Sequence[Any], *, ours: bool, n_threads: int
) -> list[Result]:
    """Call a function for each member, in threads where the members are ours.

    Our kernels release the interpreter lock. A member that asks for threads itself is helped by those of
    them that are idle.
    """
    if not ours:
        return [function(each) for each in arguments]
    config = get_config()

    def call(argument: Any) -> Result:
        with config_context(**config), one_blas_thread():
            return function(argument)

    return run_all(call, [(each,) for each in arguments], n_threads)


def _by_joblib(
    fit: Callable[[Any], Result], arguments: Sequence[Any], advance: Callable[[], bool], n_jobs: int | None
) -> list[Result | None]:
    """Fit the members by workers of joblib; None in the place of those after the one that a callback ends at.

    Members that are under way when a callback asks for an end are finished and left out: which ones they are
    would be up to chance.
    """
    stopped = False
    # Large arguments that all have in common are sent once to each worker by joblib's backend of Dask.
    whole = fit if isinstance(fit, partial) else partial(fit)

    def tasks() -> Iterator[Any]:
        for argument in arguments:
            if stopped:
                return
            yield delayed(whole.func)(*whole.args, argument, **whole.keywords)

    # Backends of others (Dask, Ray) may only know lists: all reports then come at the end.
    one_by_one = getattr(get_active_backend()[0], "supports_return_generator", False)
    workers = Parallel(n_jobs=n_jobs, return_as="generator" if one_by_one else "list")
    fitted: list[Result | None] = []
    for each in workers(tasks()):
        # Taken to the end: joblib warns of results that nobody takes.
        if not stopped:
            fitted.append(each)
            stopped = advance()
    return fitted + [None] * (len(arguments) - len(fitted))


def unseeded(estimator: Any) -> list[str]:
    """Names of the parameters, also of what is inside, that leave random numbers to chance."""
    return [
        name
        for name, value in sorted(estimator.get_params(deep=True).items())
        if value is None and name.rpartition("__")[2] == "random_state"
    ]


def seeded_clone(estimator: Any, names: list[str], seed: int) -> Any:
    """A clone in which the parameters of these names follow from the seed."""
    member = clone(estimator)
    random = np.random.RandomState(seed)
    return member.set_params(**{name: int(random.randint(SEEDS)) for name in names})


def fit_to_all(meta: SingleFitWeighter, data: TrainingData, seed: int) -> NDArray[np.float64]:
    """Store a clone fitted to all samples as ``estimator_``, and return its weights."""
    meta.estimator_ = seeded_clone(meta._clone_for_all(), unseeded(meta.estimator), seed)
    meta.estimator_.fit(data.X, data.y, **data.metadata_for("estimator"))
    return weights_of(meta.estimator_, meta.n_features_in_)


# Random subsets of the samples, without replacement, groups kept together.


#: Draws after which it is given up to find a subset that suits.
MOST_DRAWS = 100
Drawn = TypeVar("Drawn")


def draw_subset(
    random: np.random.RandomState, n_samples: int, size: int, groups: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Places of ``size`` samples, in rising order.

    With ``groups`` (a number from 0 on for each sample) whole groups are taken in random order, as many as
    come nearest to ``size``: at least one, and not all unless all samples are wanted.
    """
    if groups is None:
        return np.sort(random.permutation(n_samples)[:size])
    sizes = np.bincount(groups)
    order = random.permutation(sizes.size)
    drawn = np.cumsum(sizes[order])
    if size < n_samples:
        drawn = drawn[:-1]
    n_drawn = int(np.argmin(np.abs(drawn - size))) + 1
    return np.flatnonzero(np.isin(groups, order[:n_drawn]))


def draw_suitable(draw: Callable[[], Drawn], suits: Callable[[Drawn], bool]) -> Drawn | None:
    """Return the first subset, or pair of subsets, that suits; None if none of ``MOST_DRAWS`` does."""
    for _ in range(MOST_DRAWS):
        drawn = draw()
        if suits(drawn):
            return drawn
    return None


#: Share of the samples asked for below which a subset is worth a warning.
_FEW = 0.5
#: How often the weights of a member are kept: in it, as it ranks by them, and beside those of the others.
_N_KEPT = 3


class Draw(NamedTuple):
    """What chance decides of a member."""

    #: Places of its samples in the table.
    samples: NDArray[np.int64]
    #: Where its own random numbers begin.
    seed: int


class ResampledWeighter(MetaWeighter):
    """Base of the meta-estimators that fit members to random subsets of the samples.

    Parameters
    ----------
    estimator : estimator
        What is wrapped.
    n_estimators : int
        Number of members.
    max_samples : int or float
        Samples of a member: that many, or that share, rounded.
    n_features_to_select, weighted, n_jobs, verbose
        As in the meta-estimators.
    random_state : int, RandomState or None
        What subsets are drawn, and what random numbers members draw whose ``random_state`` is None.

    Attributes
    ----------
    estimators_ : list
        The members.
    estimators_samples_ : list of arrays
        Rows of X that each member was fitted to.
    member_weights_ : array of shape (n_estimators, n_features)
        Their weights.
    execution_ : dict
        Who fitted them, and how many at a time.
    """

    # What users call the size of a subset.
    _size_name = "max_samples"
    _constraints = constraints(n_estimators=count())
    # What is asked of a fitted member: something for each of so many features.
    _ask: Callable[[Any, int], NDArray[Any]] = staticmethod(weights_of)

    def __init__(
        self,
        estimator: Any,
        *,
        n_estimators: int = 20,
        max_samples: int | float = 0.9,
        n_features_to_select: int | float | None = None,
        weighted: bool | str = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            estimator,
            n_features_to_select=n_features_to_select,
            weighted=weighted,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.random_state = random_state

    def _check_parameters(self, n_samples: int) -> None:
        super()._check_parameters(n_samples)
        if is_fraction(self.max_samples):
            check_number("max_samples", self.max_samples, above=0.0, at_most=1.0)
            if self._subset_size(n_samples) < 2:
                raise ValueError(
                    f"{self._size_name}={self.max_samples!r} of {n_samples} samples are fewer than 2; use"
                    " a larger share."
                )
        else:
            check_count("max_samples", self.max_samples, at_least=2, at_most=n_samples, of="samples of X")

    def _subset_size(self, n_samples: int) -> int:
        """Number of samples of a member; the integer closest to a·n for a share a."""
        return round(self.max_samples * n_samples) if is_fraction(self.max_samples) else int(self.max_samples)

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        batches: ArrayLike | None = None,
    ) -> Self:
        """Fit the members, and leave it at that; scikit-learn reads from it what can be requested."""
        self._fit_members(X, y, sample_weight, groups, batches)
        return self

    def _fit_members(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
        batches: ArrayLike | None = None,
    ) -> TrainingData:
        """Draw the subsets, fit a clone to each, store clones, subsets and weights."""
        data = self._check_fit(X, y, sample_weight, groups=groups, batches=batches)
        codes = label_codes("groups", groups, data.included)
        draws = self._draws(data, codes)
        with watched(self, total=len(draws)) as progress:
            fit = partial(_fit_member, self.estimator, unseeded(self.estimator), self._ask, data)
            how: dict[str, Any] = {"ours": self._weighter is not None, "n_jobs": self.n_jobs}
            workers = Workers.for_fits(data.X, len(draws), **how)
            _check_room(data, draws, workers.n_at_a_time)
            self.execution_ = workers.execution
            fitted = run_some(fit, draws, progress.advance, workers=workers, **how)
        done = [(draw.samples, *each) for draw, each in zip(draws, fitted, strict=True) if each is not None]
        self._warn_of_stop(len(done), len(draws), "members")
        rows = np.flatnonzero(data.included)
        self.estimators_samples_ = [rows[samples] for samples, _, _ in done]
        self.estimators_ = [member for _, member, _ in done]
        self.member_weights_ = np.stack([weights for _, _, weights in done])
        self._n_samples, self._counted, self._groups = data.included.size, data.included, None
        if codes is not None:
            self._groups = np.full(data.included.size, -1)
            self._groups[rows] = codes
        return data

    def _draws(self, data: TrainingData, groups: NDArray[np.int64] | None) -> list[Draw]:
        """Draw the members one after another: more of them leave the first ones as they are."""
        random = random_generator("random_state", self.random_state)
        size = self._subset_size(data.n_samples)
        if groups is not None and groups.max() == 0 and size < data.n_samples:
            raise ValueError(
                f"All samples are of one group, which is kept together:"
                f" {self._size_name}={self.max_samples!r} of them cannot be drawn."
            )
        suits = suiting(data)
        draws = []
        for seed in random.randint(SEEDS, size=self.n_estimators):
            of_member = np.random.RandomState(seed)
            samples = draw_suitable(partial(draw_subset, of_member, data.n_samples, size, groups), suits)
            if samples is None:
                raise ValueError(
                    f"None of {MOST_DRAWS} subsets of about {size} of {data.n_samples} samples, drawn at"
                    f" random, holds two classes and two different samples. A larger"
                    f" {self._size_name} (now {self.max_samples!r}) would help."
                )
            draws.append(Draw(samples, int(of_member.randint(SEEDS))))
        self._warn_of_small(draws, size)
        return draws

    def _warn_of_small(self, draws: list[Draw], size: int) -> None:
        """Groups of very different sizes leave no choice between far too many samples and far too few."""
        sizes = np.array([draw.samples.size for draw in draws])
        small = sizes < _FEW * size
        if small.any():
            warn_user(
                f"Groups are kept together, and theirs are so different in size that {small.sum()} of"
                f" {sizes.size} subsets hold far fewer than the {size} samples that"
                f" {self._size_name}={self.max_samples!r} asks for: the smallest holds {sizes.min()}.",
                UserWarning,
            )


def _fit_member(
    estimator: Any, names: list[str], ask: Callable[[Any, int], NDArray[Any]], data: TrainingData, draw: Draw
) -> tuple[Any, NDArray[Any]]:
    """A clone fitted to a subset, and its weights, or what else is asked of it."""
    member = seeded_clone(estimator, names, draw.seed)
    some = slice(None) if draw.samples.size == data.n_samples else draw.samples
    y = None if data.y is None else data.y[some]
    member.fit(data.X[some], y, **data.metadata_for("estimator", some))
    return member, ask(member, data.X.shape[1])


def suiting(data: TrainingData) -> Callable[[NDArray[np.int64]], bool]:
    """Whether a subset holds two classes, and features that vary, as far as the table does."""
    several_classes = bool(np.any(data.codes != data.codes[0]))
    varies = data.ranges is not None and bool(np.any(data.ranges.low != data.ranges.high))
    # One look by the workers tells which rows are equal.
    rows = data.X.row_hashes if varies and is_dask_table(data.X) else data.X

    def suits(samples: NDArray[np.int64]) -> bool:
        codes = data.codes[samples]
        if several_classes and np.all(codes == codes[0]):
            return False
        if varies and not data.ranges.finite:
            X = data.X[samples]
            return bool(np.any(np.fmin.reduce(X) < np.fmax.reduce(X)))
        # Ends at the first sample that differs.
        return not varies or any(_differ(rows, n, samples[0]) for n in samples[1:])

    return suits


def _differ(X: Any, n: int, m: int) -> bool:
    """Whether two rows differ."""
    if sparse.issparse(X):
        return bool((X[[n]] != X[[m]]).nnz)
    return bool((X[n] != X[m]).any())


def _check_room(data: TrainingData, draws: Sequence[Draw], n_at_a_time: int) -> None:
    """Raise if there is no room for the samples of the members, or for what they find."""
    n_features = data.X.shape[1]
    check_room(
        8.0 * _N_KEPT * len(draws) * n_features,
        f"The weights of {len(draws)} members for {n_features} features",
        "Fewer members or features would do.",
    )
    if isinstance(data.X, np.ndarray):
        n_samples = max(draw.samples.size for draw in draws)
        check_room(
            # Those that were drawn, and a scaled copy of them.
            2.0 * n_at_a_time * n_samples * n_features * data.X.itemsize,
            f"The {n_samples} samples of each of {n_at_a_time} members at a time",
            "n_jobs=1 needs least.",
        )
