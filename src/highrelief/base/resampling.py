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

# Concurrent fits of members


#: Upper limit of the seeds of members.
SEEDS = 2**31 - 1
Result = TypeVar("Result")


class Workers(NamedTuple):
    """The workers that fit members, and how many fits run at a time."""

    #: "threads", "joblib", "dask cluster" or "dask threads"; shown to users.
    backend: str
    n_at_a_time: int
    #: For a Dask-backed X, how it is computed on; shown to users.
    dask_execution: Mapping[str, Any] = MappingProxyType({})

    @classmethod
    def for_fits(cls, X: Any, n_fits: int, *, ours: bool, n_jobs: int | None) -> Workers:
        """Return the workers for a number of fits to rows of X; ``ours``: of a weighter of this package.

        Where joblib's Dask backend is active, joblib sends the fits there; otherwise weighters of this
        package are fitted in threads. Fits to a Dask-backed X run on the workers, driven by local threads.
        """
        if is_dask_table(X):
            from .._dask.table import n_concurrent_fits  # noqa: PLC0415

            return cls(X.executor.backend, n_concurrent_fits(X, n_fits, n_jobs), X.execution())
        n_threads = checked_thread_count(n_jobs)
        if _joblib_uses_dask():
            return cls("joblib", min(n_fits, max(1, effective_n_jobs(n_jobs))))
        n_at_a_time = min(n_fits, n_threads)
        return cls("threads" if ours or n_threads == 1 else "joblib", n_at_a_time)

    def waiting(self) -> AbstractContextManager[None]:
        """Return a context for waiting: within a Dask task it frees the thread, which the fits may need."""
        if not self.dask_execution:
            return nullcontext()
        from .._dask.scheduler import seceded  # noqa: PLC0415

        return seceded()

    @property
    def execution(self) -> dict[str, Any]:
        """The choice, as shown to users in ``execution_``."""
        return {"backend": self.backend, "n_at_a_time": self.n_at_a_time, **self.dask_execution}


def _joblib_uses_dask() -> bool:
    """Return whether joblib's Dask backend is active, outside of its own tasks."""
    backend = get_active_backend()[0]
    return type(backend).__name__ == "DaskDistributedBackend" and not backend.nesting_level


def fit_members(
    fit: Callable[[Any], Result],
    arguments: Sequence[Any],
    advance: Callable[[], bool],
    *,
    ours: bool,
    n_jobs: int | None,
    X: Any = None,
    workers: Workers | None = None,
) -> list[Result | None]:
    """Call ``fit`` with each argument, some at a time; None for those after a callback stopped the fit.

    ``advance`` is called after each and returns whether to stop. ``ours``: the members are weighters of this
    package, which run in threads; others run in joblib's workers. ``X``: the samples, if they may be
    Dask-backed; ``workers``: if they were chosen before.
    """
    workers = workers or Workers.for_fits(X, len(arguments), ours=ours, n_jobs=n_jobs)
    if workers.backend == "joblib":
        return _by_joblib(fit, arguments, advance, n_jobs)
    lock, stopped = Exclusive(), False

    def report() -> None:
        nonlocal stopped
        stopped = advance() or stopped

    def fit_one(argument: Any) -> Result | None:
        if stopped:
            return None
        fitted = fit(argument)
        lock.run(report)
        return fitted

    with workers.waiting():
        return in_threads(fit_one, arguments, ours=ours, n_threads=workers.n_at_a_time)


def in_threads(
    function: Callable[[Any], Result], arguments: Sequence[Any], *, ours: bool, n_threads: int
) -> list[Result]:
    """Call a function for each argument; in threads if members are weighters of this package, ``ours``.

    Their kernels release the interpreter lock. Idle threads help members that use several.
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
    """Fit the members in joblib's workers; None for those after the one at which a callback stopped the fit.

    Members that are being fitted at that moment are dropped: which ones they are depends on timing.
    """
    stopped = False
    # joblib's Dask backend sends large common arguments once to each worker.
    bound = fit if isinstance(fit, partial) else partial(fit)

    def tasks() -> Iterator[Any]:
        for argument in arguments:
            if stopped:
                return
            yield delayed(bound.func)(*bound.args, argument, **bound.keywords)

    # Some backends (Dask, Ray) only return lists: progress is then reported at the end.
    one_by_one = getattr(get_active_backend()[0], "supports_return_generator", False)
    workers = Parallel(n_jobs=n_jobs, return_as="generator" if one_by_one else "list")
    fitted: list[Result | None] = []
    for each in workers(tasks()):
        # Consumed to the end: joblib warns of results that are not.
        if not stopped:
            fitted.append(each)
            stopped = advance()
    return fitted + [None] * (len(arguments) - len(fitted))


def unseeded(estimator: Any) -> list[str]:
    """Return the names of the nested ``random_state`` parameters that are None."""
    return [
        name
        for name, value in sorted(estimator.get_params(deep=True).items())
        if value is None and name.rpartition("__")[2] == "random_state"
    ]


def seeded_clone(estimator: Any, names: list[str], seed: int) -> Any:
    """Return a clone whose parameters of these names are set from the seed."""
    member = clone(estimator)
    random = np.random.RandomState(seed)
    return member.set_params(**{name: int(random.randint(SEEDS)) for name in names})


def fit_to_all(meta: SingleFitWeighter, data: TrainingData, seed: int) -> NDArray[np.float64]:
    """Set ``estimator_`` to a clone fitted to all samples, and return its weights."""
    meta.estimator_ = seeded_clone(meta._clone_for_all(), unseeded(meta._wrapped), seed)
    meta.estimator_.fit(data.X, data.y, **data.metadata_for("estimator"))
    return weights_of(meta.estimator_, meta.n_features_in_)


# Random subsets of the samples


#: Number of draws after which the search for a suitable subset ends.
MOST_DRAWS = 100
Drawn = TypeVar("Drawn")


def draw_subset(
    random: np.random.RandomState, n_samples: int, size: int, groups: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Return the indices of ``size`` samples drawn without replacement, sorted.

    With ``groups`` (codes 0, 1, …) whole groups are drawn in random order, as many as come nearest to
    ``size``: at least one, and not all of them if ``size`` is less than all samples.
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


def draw_suitable(draw: Callable[[], Drawn], is_suitable: Callable[[Drawn], bool]) -> Drawn | None:
    """Return the first suitable subset, or pair of subsets; None if none of ``MOST_DRAWS`` is."""
    for _ in range(MOST_DRAWS):
        drawn = draw()
        if is_suitable(drawn):
            return drawn
    return None


#: Subsets with less than this fraction of the intended size cause a warning.
_SMALL = 0.5
#: Copies of the weights of a member: its own, those by which it ranks, and in ``member_weights_``.
_N_COPIES = 3


class Draw(NamedTuple):
    """The random choices of a member."""

    #: Indices of its samples.
    samples: NDArray[np.int64]
    #: Seed of its random numbers.
    seed: int


class ResampledWeighter(MetaWeighter):
    """Base of the meta-estimators that fit members to random subsets of the samples.

    Parameters
    ----------
    estimator : estimator
        The wrapped estimator.
    n_estimators : int
        Number of members.
    max_samples : int or float
        Number of samples of a member, or fraction of all samples, rounded.
    n_features_to_select, weighted, n_jobs, verbose
        As in the meta-estimators.
    random_state : int, RandomState or None
        Determines the subsets, and the random numbers of members whose ``random_state`` is None.

    Attributes
    ----------
    estimators_ : list
        The members.
    estimators_samples_ : list of arrays
        Rows of X that each member was fitted to.
    member_weights_ : array of shape (n_estimators, n_features)
        Their weights.
    execution_ : dict
        Which workers fitted the members, and how many at a time.
    """

    # Name of the subset size in messages.
    _size_name = "max_samples"
    _constraints = constraints(n_estimators=count())
    # Returns the values of ``member_weights_`` of a fitted member, given the number of features.
    _member_values: Callable[[Any, int], NDArray[Any]] = staticmethod(weights_of)

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
        """Return the number of samples of a member; the integer closest to a·n for a fraction a."""
        return round(self.max_samples * n_samples) if is_fraction(self.max_samples) else int(self.max_samples)

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        batches: ArrayLike | None = None,
    ) -> Self:
        """Fit the members; scikit-learn reads the metadata that can be requested from the signature."""
        self._fit_members(X, y, sample_weight, groups, batches)
        return self

    def _fit_members(
        self,
        X: ArrayLike,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
        batches: ArrayLike | None = None,
    ) -> TrainingData:
        """Draw the subsets, fit a clone to each, and set clones, subsets and weights."""
        data = self._check_fit(X, y, sample_weight, groups=groups, batches=batches)
        codes = label_codes("groups", groups, data.included)
        draws = self._draws(data, codes)
        with watched(self, total=len(draws)) as progress:
            fit = partial(_fit_member, self._wrapped, unseeded(self._wrapped), self._member_values, data)
            settings: dict[str, Any] = {"ours": self._weighter is not None, "n_jobs": self.n_jobs}
            workers = Workers.for_fits(data.X, len(draws), **settings)
            _check_room(data, draws, workers.n_at_a_time)
            self.execution_ = workers.execution
            fitted = fit_members(fit, draws, progress.advance, workers=workers, **settings)
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
        """Draw members one after another, so that the first ones do not depend on their number."""
        random = random_generator("random_state", self.random_state)
        size = self._subset_size(data.n_samples)
        if groups is not None and groups.max() == 0 and size < data.n_samples:
            raise ValueError(
                f"All samples are of one group, which is kept together:"
                f" {self._size_name}={self.max_samples!r} of them cannot be drawn."
            )
        is_suitable = subset_check(data)
        draws = []
        for seed in random.randint(SEEDS, size=self.n_estimators):
            of_member = np.random.RandomState(seed)
            samples = draw_suitable(
                partial(draw_subset, of_member, data.n_samples, size, groups), is_suitable
            )
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
        """Warn if groups are so different in size that subsets are much smaller than intended."""
        sizes = np.array([draw.samples.size for draw in draws])
        small = sizes < _SMALL * size
        if small.any():
            warn_user(
                f"Groups are kept together, and theirs are so different in size that {small.sum()} of"
                f" {sizes.size} subsets have far fewer than the {size} samples of"
                f" {self._size_name}={self.max_samples!r}: the smallest has {sizes.min()}.",
                UserWarning,
            )


def _fit_member(
    estimator: Any,
    names: list[str],
    values: Callable[[Any, int], NDArray[Any]],
    data: TrainingData,
    draw: Draw,
) -> tuple[Any, NDArray[Any]]:
    """Return a clone fitted to a subset, and its values."""
    member = seeded_clone(estimator, names, draw.seed)
    rows = slice(None) if draw.samples.size == data.n_samples else draw.samples
    y = None if data.y is None else data.y[rows]
    member.fit(data.X[rows], y, **data.metadata_for("estimator", rows))
    return member, values(member, data.X.shape[1])


def subset_check(data: TrainingData) -> Callable[[NDArray[np.int64]], bool]:
    """Return a check whether a subset has two classes and a varying feature, provided that all samples do."""
    several_classes = bool(np.any(data.codes != data.codes[0]))
    varies = data.known_ranges is not None and bool(np.any(data.ranges.low != data.ranges.high))
    # Dask's workers compute hashes of the rows, in one pass.
    rows = data.X.row_hashes if varies and is_dask_table(data.X) else data.X

    def is_suitable(samples: NDArray[np.int64]) -> bool:
        codes = data.codes[samples]
        if several_classes and np.all(codes == codes[0]):
            return False
        if varies and not data.ranges.finite:
            X = data.X[samples]
            return bool(np.any(np.fmin.reduce(X) < np.fmax.reduce(X)))
        # Stops at the first sample that differs.
        return not varies or any(_differ(rows, n, samples[0]) for n in samples[1:])

    return is_suitable


def _differ(X: Any, n: int, m: int) -> bool:
    """Return whether two rows differ."""
    if sparse.issparse(X):
        return bool((X[[n]] != X[[m]]).nnz)
    return bool((X[n] != X[m]).any())


def _check_room(data: TrainingData, draws: Sequence[Draw], n_at_a_time: int) -> None:
    """Raise MemoryError if the samples of the members, or their weights, do not fit into memory."""
    n_features = data.X.shape[1]
    check_room(
        8.0 * _N_COPIES * len(draws) * n_features,
        f"The weights of {len(draws)} members for {n_features} features",
        "Use fewer members or features.",
    )
    if isinstance(data.X, np.ndarray):
        n_samples = max(draw.samples.size for draw in draws)
        check_room(
            # The drawn samples, and a scaled copy.
            2.0 * n_at_a_time * n_samples * n_features * data.X.itemsize,
            f"The {n_samples} samples of each of {n_at_a_time} members at a time",
            "n_jobs=1 needs least.",
        )
