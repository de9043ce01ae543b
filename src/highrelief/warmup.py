"""Compile all kernels ahead, so that no later fit waits for the compiler.

Every estimator is fitted to small tables of each kind and dtype that runs other kernels.
``highrelief warmup`` shows a progress bar, ``python -m highrelief.warmup`` does not.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from ._engine.limits import limits
from ._engine.missing import MissingValues
from ._engine.neighbors import Neighborhood
from ._engine.pair_sums import Coefficients, PositiveMargins, WeightedBlocks, WeightedRows
from ._engine.radius import RadiusNeighborhoods
from ._engine.scaling import MissingMask, Scaling
from ._engine.soft import LocalPairwiseDistances, SoftNeighborhoods, inverse_width
from ._kernels.cache import kernel_folder
from ._kernels.jit import ALL_KERNELS
from .base.categorical import IntegerLevelsWarning
from .base.compilation import observing_compilation
from .catalog import ESTIMATORS

#: Working memory in MB: with and without room for the distances of a small table.
_MEGABYTES = (64, 1e-3)


#: Rows of a band while kernels are compiled.
_BAND = 256


class Step(NamedTuple):
    """Fits of one estimator with some parameters to tables of one dtype."""

    estimator: str
    parameters: Mapping[str, Any]
    dtype: str

    def __str__(self) -> str:
        parameters = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{self.estimator}({parameters}) on {self.dtype}"


@dataclass(frozen=True)
class WarmUp:
    """Result of a warm-up."""

    #: Names and argument types of the kernels that were compiled.
    compiled: list[str]
    #: Number of kernels found in the cache.
    n_found: int
    seconds: float
    #: Cache folder; None if there is none.
    folder: Path | None

    def __str__(self) -> str:
        if not self.compiled:
            return f"All {self.n_found} kernels were there already, in {self.folder}."
        is_kept = self.folder is not None and self.folder.is_dir()
        kept = f"They are kept in {self.folder}." if is_kept else "They could not be kept."
        found = f"; {self.n_found} were there already" if self.n_found else ""
        return f"Compiled {len(self.compiled)} kernels in {self.seconds:.0f} s{found}. {kept}"


def warm_up(report: Callable[[Step, int, int], object] = lambda step, done, total: None) -> WarmUp:
    """Compile every kernel for every dtype, unless it is in the cache.

    Parameters
    ----------
    report : callable
        Called before each step with the step, the number of finished steps and their total number.

    Returns
    -------
    warm_up : WarmUp
        The compiled kernels, and the time.
    """
    begin = time.perf_counter()
    compiled, found = _counts()
    steps = list(_steps())
    # Small bands: tables of several bands are then small, too.
    with limits(band=_BAND), observing_compilation(lambda compiling: None):  # ``report`` tells the user
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
    """Return the kernels with signatures that this process has compiled, and those it has loaded."""
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
    allows_missing = get_tags(estimator).input_tags.allow_nan
    for X, y in _tables(step.dtype):
        missing = bool(np.isnan(X).any())
        if missing and not allows_missing:
            continue
        for megabytes in _MEGABYTES:
            with config_context(working_memory=megabytes):
                _use(estimator, X, y)
        # Wrappers run the kernels of the estimators inside.
        takes_sparse = not hasattr(estimator, "estimator") and get_tags(estimator).input_tags.sparse
        if X.dtype.kind == "f" and not missing and takes_sparse:
            _use(estimator, csr_array(X), y)
        if step.estimator == "ReliefF" and X.dtype.kind == "f" and not missing:
            _use_labelings(estimator, X, y)
        if step.estimator != "IRelief" or X.dtype.kind != "f":
            continue
        if missing:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                clone(estimator).set_params(memory_budget=1.0).fit(X, y)  # without stored distances
        else:
            table = Packed(X, y, int(y.max()) + 1, scaling=Scaling.none(X.shape[1], X.dtype))
            _use_blocks(table)
            _use_positive_margins(table)


def _use(estimator: Any, X: NDArray[Any], y: NDArray[np.int64]) -> None:
    """Call the methods of an estimator that run kernels; only warnings of kernels are shown."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"(?!highrelief\._kernels)")
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
    """Run the kernels of permuted labels."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IntegerLevelsWarning)
        engine = weighter._choose_engine(weighter._check_fit(X, y))
    for among in (Neighborhood(1, weighter.metric), Neighborhood(2, weighter.metric, rank_decay=1.0)):
        for dtype in (np.float32, np.float64):
            engine.relabeled(among).mean_margins(np.stack([y, y[::-1]]), dtype)


def _with_missing(X: NDArray[Any]) -> NDArray[Any]:
    """Return a copy with missing values."""
    incomplete = X.copy()
    incomplete.ravel()[::13] = np.nan
    return incomplete


def _use_many_samples(dtype: str) -> None:
    """Run the kernel that sorts the values of more samples than small tables have."""
    n_samples = limits.max_network_samples + 1
    missing_mask, X = MissingMask.extract(
        _with_missing(np.arange(2.0 * n_samples).reshape(-1, 2).astype(dtype)), 1
    )
    _ = MissingValues(missing_mask, X, Scaling.none(2, X.dtype), np.arange(n_samples)).excess


def _use_blocks(table: Packed) -> None:
    """Call what only larger wide tables lead to."""
    passes = LocalPairwiseDistances(table, 2.0**30, WeightedBlocks(table))
    near = SoftNeighborhoods(passes.under(np.ones(table.n_features)), sigma=1.0)
    near.mean_margin(pooled=True, outliers=True)
    near.entropies()
    passes.rows.fingerprints()
    pairs = RadiusNeighborhoods(table, memory=2.0**30)
    pairs._rows = WeightedBlocks(table)
    pairs.margins(pairs.mean(), np.inf)


def _use_positive_margins(table: Packed) -> None:
    """Call what only larger tall tables lead to."""
    passes = LocalPairwiseDistances.of(table, memory=2.0**30)
    low = np.zeros((table.n_classes, table.n_rows), table.dtype)
    by = Coefficients(inverse_width(1.0, table.dtype), low, np.ones_like(low))
    PositiveMargins(table, WeightedRows(table)).sums(passes.under(np.ones(table.n_features)).tiles(), by)


def _tables(dtype: str) -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
    """Yield continuous, discrete and mixed tables, tall (for threads or bands) and wide; some incomplete."""
    random = np.random.default_rng(0)
    shapes = [(150, 6), (12, 300)]
    if dtype == "int8":  # lists of neighbors do not depend on the dtype
        shapes.append((limits.band + 4, 5))  # enough features for few ties
    for n_samples, n_features in shapes:
        y = np.arange(n_samples) % 3
        genotypes = random.integers(0, 3, size=(n_samples, n_features))
        genotypes[:, 1] = y  # LFE needs a direction with a margin
        yield genotypes.astype(dtype), y
        if dtype == "int8":
            continue
        continuous = random.normal(size=(n_samples, n_features))
        continuous[:, 1] += 9 * y
        continuous[:, 0] *= 1e9  # unscaled ranges that are not quantized
        yield continuous.astype(dtype), y
        mixed = np.where(np.arange(n_features) % 2, genotypes, continuous).astype(dtype)
        yield mixed, y
        yield _with_missing(mixed), y


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``python -m highrelief.warmup``: print each step, then the result."""
    argparse.ArgumentParser(
        prog="python -m highrelief.warmup",
        description="Compile all kernels ahead, so that no later fit waits for the compiler.",
    ).parse_args(arguments)
    print(warm_up(lambda step, done, total: print(f"{done + 1}/{total}  {step}", flush=True)))


if __name__ == "__main__":
    main()
