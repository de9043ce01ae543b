"""Compile ahead: run every kernel once, so that no later fit waits for a compiler.

Small tables of every kind that leads to other kernels (or to the same ones for other types of numbers) are
fitted by every estimator. ``highrelief warmup`` shows it with a bar, ``python -m highrelief.warmup`` without.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn import clone, config_context
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

import highrelief

from ._engine.layout import Packed
from ._engine.missing import MOST_IN_NETWORK, MissingValues
from ._engine.neighbors import Neighborhood
from ._engine.pair_sums import Coefficients, PositiveMargins, WeightedBlocks, WeightedRows
from ._engine.radius import RadiusNeighborhoods
from ._engine.scaling import MissingMask, Scaling
from ._engine.search import BAND
from ._engine.soft import PairwiseDistances, SoftNeighborhoods
from ._kernels.cache import kernel_folder
from ._kernels.jit import ALL_KERNELS
from .catalog import ESTIMATORS

#: Megabytes of working memory: enough to keep the distances of a small table, and not enough.
_MEGABYTES = (64, 1e-3)


class Step(NamedTuple):
    """A part of the work: one estimator with some parameters, on tables of one type of numbers."""

    estimator: str
    parameters: Mapping[str, Any]
    dtype: str

    def __str__(self) -> str:
        parameters = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{self.estimator}({parameters}) on {self.dtype}"


@dataclass(frozen=True)
class WarmUp:
    """What a warm-up has done."""

    #: Name and argument types of the kernels that had to be compiled.
    compiled: list[str]
    #: Number of kernels that were there already.
    n_found: int
    seconds: float
    #: Where they are kept; None if there is no place for it.
    folder: Path | None

    def __str__(self) -> str:
        if not self.compiled:
            return f"All {self.n_found} kernels were there already, in {self.folder}."
        kept = f"They are kept in {self.folder}." if self._kept else "They could not be kept."
        found = f"; {self.n_found} were there already" if self.n_found else ""
        return f"Compiled {len(self.compiled)} kernels in {self.seconds:.0f} s{found}. {kept}"

    @property
    def _kept(self) -> bool:
        return self.folder is not None and self.folder.is_dir()


def warm_up(report: Callable[[Step, int, int], object] = lambda step, done, total: None) -> WarmUp:
    """Compile every kernel for every type of numbers, unless it is on disk.

    Parameters
    ----------
    report : callable
        Called before each step with the step, the number of steps done and that of all.

    Returns
    -------
    warm_up : WarmUp
        What was compiled, and how long it took.
    """
    begin = time.perf_counter()
    compiled, found = _counts()
    steps = list(_steps())
    for done, step in enumerate(steps):
        report(step, done, len(steps))
        _run(step)
    compiled_after, found_after = _counts()
    return WarmUp(
        sorted(compiled_after - compiled),
        len(found_after - found),
        time.perf_counter() - begin,
        kernel_folder(),
    )


def _counts() -> tuple[set[str], set[str]]:
    """Kernels and signatures that this process has compiled, and that it has loaded."""
    compiled, found = set(), set()
    for kernel in ALL_KERNELS:
        name = f"{kernel.py_func.__module__}.{kernel.py_func.__name__}"
        compiled |= {f"{name}{signature}" for signature in kernel.stats.cache_misses}
        found |= {f"{name}{signature}" for signature in kernel.stats.cache_hits}
    return compiled, found


def _steps() -> Iterator[Step]:
    for dtype in ("float32", "float64", "int8"):
        for name, method in sorted(ESTIMATORS.items()):
            for parameters in method.warm_up:
                yield Step(name, parameters, dtype)


def _run(step: Step) -> None:
    estimator = getattr(highrelief, step.estimator)(**step.parameters, n_jobs=2)
    if step.estimator == "ReliefF" and step.dtype != "int8":
        _use_many_samples(step.dtype)
    takes_gaps = get_tags(estimator).input_tags.allow_nan
    for X, y in _tables(step.dtype):
        gaps = bool(np.isnan(X).any())
        if gaps and not takes_gaps:
            continue
        for megabytes in _MEGABYTES:
            with warnings.catch_warnings(), config_context(working_memory=megabytes):
                warnings.filterwarnings("ignore", module=r"(?!highrelief\._kernels)")
                _use(estimator, X, y)
        if X.dtype.kind == "f" and not gaps and _takes_sparse(estimator):
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", module=r"(?!highrelief\._kernels)")
                _use(estimator, csr_array(X), y)
        if step.estimator == "ReliefF" and X.dtype.kind == "f" and not gaps:
            _use_labelings(estimator, X, y)
        if step.estimator != "IRelief" or X.dtype.kind != "f":
            continue
        if gaps:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                clone(estimator).set_params(memory_budget=1.0).fit(X, y)  # distances are not kept
        else:
            table = Packed(X, y, int(y.max()) + 1, scaling=Scaling.none(X.shape[1], X.dtype))
            _use_blocks(table)
            _use_positive_margins(table)


def _takes_sparse(estimator: Any) -> bool:
    """Whether tables may come without their zeros; what is wrapped around others calls the same kernels."""
    return not hasattr(estimator, "estimator") and get_tags(estimator).input_tags.sparse


def _use(estimator: Any, X: NDArray[Any], y: NDArray[np.int64]) -> None:
    """Call all that runs kernels."""
    if has_fit_parameter(estimator, "sample_weight"):
        estimator.fit(X, y, sample_weight=1.0 + np.arange(y.size) % 3)
    if has_fit_parameter(estimator, "batches") and not issparse(X):
        estimator.fit(X, y, batches=np.arange(y.size) // 3 % 2)
    estimator.fit(X, y)
    if hasattr(estimator, "margins"):
        estimator.margins(X, y)
    if hasattr(estimator, "predict"):
        estimator.predict(X)
    if hasattr(estimator, "partial_fit"):
        estimator.partial_fit(X, y)


def _use_labelings(weighter: Any, X: NDArray[Any], y: NDArray[np.int64]) -> None:
    """What permutations of the labels run."""
    engine = weighter._engine(weighter._check_fit(X, y))
    for among in (Neighborhood(1, weighter.metric), Neighborhood(2, weighter.metric, rank_decay=1.0)):
        for dtype in (np.float32, np.float64):
            engine.relabeled(among).mean_margins(np.stack([y, y[::-1]]), dtype)


def _with_gaps(X: NDArray[Any]) -> NDArray[Any]:
    """A copy with missing values."""
    gaps = X.copy()
    gaps.ravel()[::13] = np.nan
    return gaps


def _use_many_samples(dtype: str) -> None:
    """Call what puts the values of more samples in order than small tables have."""
    n_samples = MOST_IN_NETWORK + 1
    missing_mask, X = MissingMask.extract(
        _with_gaps(np.arange(2.0 * n_samples).reshape(-1, 2).astype(dtype)), 1
    )
    _ = MissingValues(missing_mask, X, Scaling.none(2, X.dtype), np.arange(n_samples)).excess


def _use_blocks(table: Packed) -> None:
    """Call what only larger wide tables lead to."""
    passes = PairwiseDistances(table, memory=2.0**30)
    passes.rows = WeightedBlocks(table)
    near = SoftNeighborhoods(passes, np.ones(table.n_features), sigma=1.0)
    near.mean_margin(pooled=True, outliers=True)
    near.entropies()
    passes.rows.fingerprints()
    pairs = RadiusNeighborhoods(table, memory=2.0**30)
    pairs._rows = WeightedBlocks(table)
    pairs._rows.set_weights(np.ones(table.n_features))
    pairs.margins(pairs.mean(), np.inf)


def _use_positive_margins(table: Packed) -> None:
    """Call what only larger tall tables lead to."""
    passes = PairwiseDistances(table, memory=2.0**30)
    passes.set_weights(np.ones(table.n_features))
    low = np.zeros((table.n_classes, table.n_rows), table.dtype)
    by = Coefficients(passes.per_sigma(1.0), low, np.ones_like(low))
    PositiveMargins(table, WeightedRows(table)).sums(passes.tiles()[0], by)


def _tables(dtype: str) -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
    """Continuous, discrete and mixed tables, tall enough for threads or bands, and wide; some with gaps."""
    random = np.random.default_rng(0)
    shapes = [(150, 6), (12, 300)]
    if dtype == "int8":  # lists of neighbors hold no values: any type will do
        shapes.append((BAND + 4, 5))  # enough features for few ties
    for n_samples, n_features in shapes:
        y = np.arange(n_samples) % 3
        genotypes = random.integers(0, 3, size=(n_samples, n_features))
        genotypes[:, 1] = y  # LFE asks for a direction with a margin
        yield genotypes.astype(dtype), y
        if dtype == "int8":
            continue
        continuous = random.normal(size=(n_samples, n_features))
        continuous[:, 1] += 9 * y
        continuous[:, 0] *= 1e9  # ranges that, not scaled, leave distances to floats
        yield continuous.astype(dtype), y
        mixed = np.where(np.arange(n_features) % 2, genotypes, continuous).astype(dtype)
        yield mixed, y
        yield _with_gaps(mixed), y


if __name__ == "__main__":
    print(warm_up(lambda step, done, total: print(f"{done + 1}/{total}  {step}", flush=True)))
