"""Freeze what every estimator computes, and compare a later tree with it to the last bit.

``make freeze`` fits every estimator of the registry to every kind of input on 1 and on 3 threads and writes
a record: digests of fitted attributes and of outputs, refusals, and CPU times. ``make freeze-check`` repeats
the fits that a record lists and prints what differs. Both fail where 1 and 3 threads disagree.

A record uses public names only (``highrelief.ReliefF`` and its parameters), so that a check needs neither the
registry nor the modules of the tree that wrote it. Bits depend on the processor and on the versions of the
libraries: compare records of one machine.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import importlib
import inspect
import json
import multiprocessing
import os
import sys
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / ".freeze" / "record.json"
#: Raised when tables or the layout of the record change, which makes older records useless.
FORMAT = 1
N_PROCESSES = 2
THREADS = (1, 3)
#: Rows beside the training data that fitted estimators are applied to.
N_NEW = 7
#: Fitted attributes, and keys of dicts among them, that vary by nature: times and numbers of threads.
VARYING = {"refit_time_", "n_threads", "n_at_a_time"}
#: Rows slower than the record by this factor are printed by ``--timing``.
SLOWER = 1.2
#: Values of an array that a record holds beside the digest, to show how large a difference is.
N_SHOWN = 4

#: Estimators beyond the registry: paths that none of its entries takes.
MORE = {
    "ReliefF": [
        {"n_neighbors": 3, "batch_neighbors": "across"},
        {"n_neighbors": 3, "class_weight": "balanced", "scale": "standard"},
        {"n_neighbors": 3, "scale": None, "weighted": True, "n_features_to_select": 5},
    ],
    "MultiSURF": [{"batch_neighbors": "across"}],
    "IRelief": [{"sigma": 1.0, "batch_neighbors": "across"}, {"sigma": 1.0, "scale": "standard"}],
    "LOGO": [{"sigma": 2.0, "alpha": 0.5, "batch_neighbors": "across"}],
    "RReliefF": [{"n_neighbors": 3, "batch_neighbors": "across"}],
    "ErrorControlledSelector": [
        {
            "estimator": {"class": "highrelief.ReliefF", "parameters": {"n_neighbors": 3}},
            "method": method,
            "level": 0.5,
            "options": options,
        }
        for method, options in (("stability", {"n_pairs": 5}), ("knockoff", None))
    ],
    "EnsembleWeighting": [
        {
            "estimator": {"class": "highrelief.RReliefF", "parameters": {"n_neighbors": 3}},
            "n_estimators": 3,
        }
    ],
}

# Inputs


@dataclass(frozen=True)
class Input:
    """A table, and how it is passed to an estimator."""

    n_samples: int
    n_features: int
    make: Callable[[Any, np.random.Generator], Any] = lambda X, rng: X
    #: Argument of ``fit`` that it is passed with; estimators without it are left out.
    argument: str = ""
    #: Partition of a Dask array.
    by: str = ""
    #: Whether the first features are categorical; estimators without categories are left out.
    categorical: bool = False
    #: Whether distances may be stored.
    stores: bool = True
    #: Parts of the labels of estimators that would take too long on it.
    without: tuple[str, ...] = ()


N_CATEGORICAL = 8


def _genotypes(X: Any, rng: np.random.Generator) -> Any:
    return np.clip(np.round(0.7 * X + 1.0), 0, 2).astype(np.int8)


def _with_missing(X: Any, rng: np.random.Generator) -> Any:
    return np.where(rng.random(X.shape) < 0.06, np.nan, X)


def _missing_genotypes(X: Any, rng: np.random.Generator) -> Any:
    return _with_missing(_genotypes(X, rng).astype(np.float32), rng).astype(np.float32)


def _sparse(X: Any, rng: np.random.Generator) -> Any:
    return scipy.sparse.csr_array(np.where(rng.random(X.shape) < 0.12, np.abs(X), 0.0))


def _with_categories(X: Any, rng: np.random.Generator) -> Any:
    codes = np.clip(np.round(X[:, :N_CATEGORICAL] + 2.0), 0, 4)
    return np.hstack([codes, X[:, N_CATEGORICAL:]])


INPUTS = {
    "float64": Input(150, 60),
    "float32": Input(90, 300, lambda X, rng: X.astype(np.float32)),
    "int8": Input(120, 200, _genotypes),
    "missing": Input(100, 70, _with_missing),
    "missing genotypes": Input(90, 130, _missing_genotypes),
    "CSR": Input(100, 200, _sparse),
    "categories": Input(100, 24, _with_categories, categorical=True),
    "batches": Input(120, 40, argument="batches"),
    "sample weights": Input(110, 40, argument="sample_weight"),
    # Blocks have at least 256 columns or rows.
    "Dask by columns": Input(60, 600, by="columns", without=("step=1)",)),
    "Dask by rows": Input(600, 20, by="rows", without=("step=1)",)),
    # Recomputed instead of stored distances.
    "small memory": Input(150, 60, stores=False),
    # More features than a block of columns has, and more samples than a band.
    "wide": Input(
        *(40, 2100), lambda X, rng: X.astype(np.float32), without=("step=1)", "'knockoff'", "'path'", "CV(")
    ),
    "tall": Input(
        *(2100, 8),
        without=(
            *("LOGO(", "IM4E(", "LHRelief(", "CV(", "IRelief(random_state=0)"),
            *("ErrorControlledSelector(", "CrossValidatedSelector("),
        ),
    ),
}


@functools.cache
def _data(name: str) -> dict[str, Any]:
    """Training data and new rows of an input: three classes, ties, a constant and a duplicate column."""
    given = INPUTS[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    n, d = given.n_samples + N_NEW, given.n_features
    y = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    y[:9] = y[-3:] = 0
    y[:9] = np.arange(9) % 3
    X = rng.normal(size=(n, d))
    informative = np.arange(0, d, max(2, d // 10))
    X[:, informative] += np.outer(y, np.linspace(1.5, 0.2, informative.size))
    # Every third column has few levels, every fifth another unit.
    X[:, 2::3] = np.round(X[:, 2::3])
    X[:, 4::5] *= 100.0
    X[:, d - 1], X[:, d - 2] = X[:, 0], 1.0
    X[11], y[11] = X[10], y[10]
    X[13] = X[12]
    X = given.make(X, rng)
    target = np.round(y + X[:, [0]].toarray().ravel() if scipy.sparse.issparse(X) else y + X[:, 0] * 1.0, 1)
    return {
        "X": X[: given.n_samples],
        "new": X[given.n_samples :],
        "classes": y,
        "continuous": np.nan_to_num(target),
        "batches": rng.choice(3, n, p=[0.5, 0.3, 0.2]),
        "sample_weight": np.where(rng.random(n) < 0.05, 0.0, rng.uniform(0.5, 3.0, n)),
    }


def _digest_of_input(name: str) -> str:
    return _sha256(*(json.dumps(value) for _, value in _flat("", _data(name))))


# Estimators, as a record names them


def _registered() -> Iterator[Any]:
    """All estimators of the registry: the only place that depends on it."""
    import registry

    yield from (entry.make() for entry in registry.ALL_ENTRIES)
    yield from (*registry.CLASSIFIERS, *registry.FOR_NUMBERS, *registry.EXTRACTORS)


def _specifications() -> dict[str, dict[str, Any]]:
    """Class and parameters of every estimator, and whether its target is continuous, by a label."""
    from sklearn.base import is_regressor
    from sklearn.utils import get_tags

    estimators = list(_registered())
    for name, variants in MORE.items():
        estimators += [
            _estimator({"class": f"highrelief.{name}", "parameters": parameters}) for parameters in variants
        ]
    found = {}
    for estimator in estimators:
        drawn = [name for name in estimator.get_params() if name.split("__")[-1] == "random_state"]
        estimator.set_params(
            **{name: 0 for name in drawn if estimator.get_params()[name] is None and "__" not in name}
        )
        specification = _specification(estimator)
        continuous = is_regressor(estimator) or getattr(get_tags(estimator), "continuous_target", False)
        specification["target"] = "continuous" if continuous else "classes"
        found[_label(specification)] = specification
    return found


def _specification(estimator: Any) -> dict[str, Any]:
    """Class and parameters other than the defaults, of what is wrapped too."""
    home = [part for part in type(estimator).__module__.split(".") if not part.startswith("_")]
    home = home[:1] if home[0] == "highrelief" else home
    defaults = inspect.signature(type(estimator)).parameters
    parameters = {
        name: _specification(value) if hasattr(value, "get_params") else value
        for name, value in estimator.get_params(deep=False).items()
        if repr(value) != repr(defaults[name].default)
    }
    return {"class": ".".join([*home, type(estimator).__name__]), "parameters": parameters}


def _estimator(specification: dict[str, Any]) -> Any:
    home, name = specification["class"].rsplit(".", 1)
    parameters = {
        key: _estimator(value) if isinstance(value, dict) and "class" in value else value
        for key, value in specification["parameters"].items()
    }
    return getattr(importlib.import_module(home), name)(**parameters)


def _label(specification: dict[str, Any]) -> str:
    words = [
        f"{name}={_label(value) if isinstance(value, dict) and 'class' in value else repr(value)}"
        for name, value in sorted(specification["parameters"].items())
    ]
    return f"{specification['class'].rsplit('.', 1)[1]}({', '.join(words)})"


def _parameter(estimator: Any, name: str) -> str:
    """Full name of a parameter, its own or of a wrapped estimator; empty if there is none."""
    return min((each for each in estimator.get_params() if each.split("__")[-1] == name), key=len, default="")


# Fits


@dataclass(frozen=True)
class Task:
    """One estimator and one input, to be fitted on each number of threads."""

    label: str
    specification: dict[str, Any]
    input: str
    timed: bool


def _accepts(specification: dict[str, Any], given: Input) -> bool:
    """Whether the input can be passed at all; whether it is refused is for the record."""
    from sklearn.utils.validation import has_fit_parameter

    estimator = _estimator(specification)
    if given.categorical and not _parameter(estimator, "categorical_features"):
        return False
    if given.argument and not has_fit_parameter(estimator, given.argument):
        return False
    return not any(part in _label(specification) for part in given.without)


def _run(task: Task) -> dict[str, dict[str, Any]]:
    """Rows of the record, by number of threads."""
    return {str(n_threads): _row(task, n_threads) for n_threads in THREADS}


def _row(task: Task, n_threads: int) -> dict[str, Any]:
    given, data = INPUTS[task.input], _data(task.input)
    with ExitStack() as stack:
        _configure(stack, given, n_threads)
        X, new = (_as_dask(data[name], given) for name in ("X", "new"))
        target, n = data[task.specification["target"]], given.n_samples
        arguments = {given.argument: data[given.argument][:n]} if given.argument else {}
        try:
            estimator = _prepared(task.specification, given, n_threads)
            seconds, raised = _fit(estimator, X, target[:n], arguments)
        except Exception as error:
            return {"values": {"error": f"{type(error).__name__}: {error}"}, "seconds": None}
        values = {"warnings": raised} if raised else {}
        values |= dict(_fitted(estimator))
        batches = data["batches"] if given.argument == "batches" else None
        for rows, samples, place in (("X", X, slice(n)), ("new", new, slice(n, None))):
            some = None if batches is None else batches[place]
            values |= dict(_outputs(estimator, rows, samples, target[place], some))
        if hasattr(estimator, "partial_fit") and not given.by:
            values |= dict(_stream(task.specification, given, n_threads, X, target[:n]))
        best = seconds
        for _ in range(_n_repetitions(seconds) if task.timed else 0):
            best = min(best, _fit(estimator, X, target[:n], arguments)[0])
        return {"values": {name: values[name] for name in sorted(values)}, "seconds": best}


def _n_repetitions(seconds: float) -> int:
    """How often a fit is repeated for its time: the first may have imported modules and loaded kernels."""
    return 2 if seconds < 0.05 else 1 if seconds < 0.5 else 0


def _configure(stack: ExitStack, given: Input, n_threads: int) -> None:
    import sklearn

    stack.enter_context(warnings.catch_warnings())
    warnings.simplefilter("ignore")
    if not given.stores:
        stack.enter_context(sklearn.config_context(working_memory=0))
    if given.by:
        import dask

        scheduler = "synchronous" if n_threads == 1 else "threads"
        stack.enter_context(
            dask.config.set(
                {"highrelief.partition": given.by, "scheduler": scheduler, "num_workers": n_threads}
            )
        )


def _as_dask(X: Any, given: Input) -> Any:
    if not given.by:
        return X
    import dask.array as da

    return da.from_array(X, chunks=(-1, 256) if given.by == "columns" else (256, -1))


def _prepared(specification: dict[str, Any], given: Input, n_threads: int) -> Any:
    estimator = _estimator(specification)
    changes: dict[str, Any] = {}
    if "n_jobs" in estimator.get_params():
        changes["n_jobs"] = n_threads
    if given.categorical:
        changes[_parameter(estimator, "categorical_features")] = list(range(N_CATEGORICAL))
    if not given.stores and _parameter(estimator, "memory_budget"):
        changes[_parameter(estimator, "memory_budget")] = 0
    return estimator.set_params(**changes)


def _fit(estimator: Any, X: Any, y: Any, arguments: dict[str, Any]) -> tuple[float, list[str]]:
    """Return CPU seconds and the warnings of a fit."""
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        start = time.process_time()
        estimator.fit(X, y, **arguments)
        seconds = time.process_time() - start
    return seconds, sorted({f"{each.category.__name__}: {each.message}" for each in raised})


def _stream(
    specification: dict[str, Any], given: Input, n_threads: int, X: Any, y: Any
) -> Iterator[tuple[str, Any]]:
    estimator = _prepared(specification, given, n_threads)
    try:
        for part in np.array_split(np.arange(len(y)), 3):
            estimator.partial_fit(X[part], y[part])
        yield from (("partial_fit " + name, value) for name, value in _fitted(estimator))
    except Exception as error:
        yield "partial_fit", f"{type(error).__name__}: {error}"


OUTPUTS: dict[str, Callable[..., Any]] = {
    **{
        name: lambda estimator, X, y, batches, name=name: getattr(estimator, name)(X)
        for name in (
            *("transform", "predict", "predict_proba", "decision_function", "hyperplane_distances"),
            *("expected_distances", "assignment_loss"),
        )
    },
    **{
        name: lambda estimator, X, y, batches, name=name: getattr(estimator, name)(
            X, y, **({} if batches is None else {"batches": batches})
        )
        for name in ("margins", "left_out_margins")
    },
    "score": lambda estimator, X, y, batches: estimator.score(X, y),
    "inverse_transform": lambda estimator, X, y, batches: estimator.inverse_transform(estimator.transform(X)),
}


def _outputs(estimator: Any, rows: str, X: Any, y: Any, batches: Any) -> Iterator[tuple[str, Any]]:
    for name, call in OUTPUTS.items():
        if not hasattr(estimator, name):
            continue
        try:
            yield from _flat(f"{name}({rows})", call(estimator, X, y, batches))
        except Exception as error:
            yield f"{name}({rows})", f"{type(error).__name__}: {error}"


# What a record holds of a value


def _fitted(estimator: Any) -> Iterator[tuple[str, Any]]:
    """Public fitted attributes, properties among them, of nested estimators too."""
    for name in dir(estimator):
        if name.endswith("_") and not name.startswith("_") and name not in VARYING:
            try:
                value = getattr(estimator, name)
            except AttributeError:
                continue
            yield from _flat(name, value)
    if hasattr(estimator, "get_support"):
        yield from _flat("get_support()", estimator.get_support())


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Flatten dicts, lists and estimators to pairs of a name and something that JSON holds."""
    if hasattr(value, "dask"):
        yield from _flat(f"{name} of Dask", value.compute())
    elif scipy.sparse.issparse(value):
        cells = value.tocsr().sorted_indices()
        yield from _flat(f"{name} {value.format}", [cells.indptr, cells.indices, cells.data])
    elif isinstance(value, dict):
        for key, each in value.items():
            if key not in VARYING:
                yield from _flat(f"{name}[{key!r}]", each)
    elif isinstance(value, list | tuple) and not all(isinstance(each, int | float | str) for each in value):
        yield f"len({name})", len(value)
        for place, each in enumerate(value):
            yield from _flat(f"{name}[{place}]", each)
    elif hasattr(value, "get_params"):
        yield name, type(value).__name__
        for inner, each in _fitted(value):
            yield f"{name}.{inner}", each
    elif isinstance(value, np.ndarray | list | tuple):
        yield name, _summary(np.asarray(value))
    elif isinstance(value, str | bool | int | float | np.generic | None):
        yield name, f"{type(value).__name__} {value!r}" if isinstance(value, np.generic) else repr(value)
    else:
        yield name, type(value).__name__


def _summary(values: np.ndarray) -> list[Any]:
    """Type and shape, a digest, the norm, and values from all over the array."""
    kind = f"{values.dtype.str.lstrip('<|=')} {'x'.join(map(str, values.shape))}"
    if values.dtype.kind not in "biuf":
        return [kind, _sha256(repr(values.tolist()))]
    flat = np.ascontiguousarray(values).ravel()
    if flat.dtype.kind == "f":
        # Bits within a NaN have no meaning.
        flat = np.where(np.isnan(flat), flat.dtype.type(np.nan), flat)
    numbers = flat.astype(np.float64)
    shown = numbers[np.linspace(0, flat.size - 1, min(flat.size, N_SHOWN)).astype(int)]
    norm = float(np.linalg.norm(numbers[np.isfinite(numbers)]))
    return [kind, _sha256(flat.tobytes()), norm, *shown.tolist()]


def _sha256(*parts: str | bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode() if isinstance(part, str) else part)
    return digest.hexdigest()


# Records


def _computed(
    specifications: dict[str, dict[str, Any]], pairs: list[tuple[str, str]], *, timed: bool
) -> dict[str, dict[str, Any]]:
    """Rows of estimators and inputs, by label, input and number of threads."""
    tasks = [Task(label, specifications[label], each, timed) for label, each in pairs]
    rows: dict[str, dict[str, Any]] = {}
    start = time.monotonic()
    # Not daemons, in which estimators use one thread only; not forked, as threads may run already.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(N_PROCESSES, context, initializer=_use_this_tree) as pool:
        for done, (task, found) in enumerate(zip(tasks, pool.map(_run, tasks), strict=True), 1):
            rows.setdefault(task.label, {})[task.input] = found
            if done % 100 == 0 or done == len(tasks):
                seconds = time.monotonic() - start
                print(f"{done} of {len(tasks)} estimators x inputs, {seconds:.0f} s", flush=True)
    return rows


def _use_this_tree() -> None:
    """Import package, registry and benchmarks of the tree that this file is in, whatever is installed."""
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "helpers"), str(ROOT)]
    os.environ.pop("HIGHRELIEF_ONLY_PLAIN_VARIANTS", None)


def _environment() -> dict[str, Any]:
    from benchmarks import machine

    return machine.environment()


def write(path: Path, only: str) -> int:
    """Write the record of this tree."""
    specifications = {label: each for label, each in _specifications().items() if only in label}
    pairs = [
        (label, name)
        for label, specification in specifications.items()
        for name, given in INPUTS.items()
        if _accepts(specification, given)
    ]
    record = {
        "format": FORMAT,
        "environment": _environment(),
        "inputs": {name: _digest_of_input(name) for name in INPUTS},
        "estimators": specifications,
        "rows": _computed(specifications, pairs, timed=True),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=0, sort_keys=True) + "\n")
    found = [row["values"] for _, row in _rows(record["rows"])]
    refused = sum("error" in values for values in found)
    print(f"Wrote {path}: {len(found)} rows, {refused} of them refused inputs.")
    return _report_threads(record["rows"])


def check(path: Path, only: str, *, timing: bool) -> int:
    """Compare this tree with a record."""
    if not path.exists():
        print(f"record={str(path)!r} does not exist: run make freeze first, or set FREEZE to a record.")
        return 2
    record = json.loads(path.read_text())
    inputs = {name: _digest_of_input(name) for name in INPUTS}
    if record["format"] != FORMAT or any(inputs.get(name) != each for name, each in record["inputs"].items()):
        print(
            f"{path} was written by another tests/freeze.py: copy this one to the old tree and freeze again."
        )
        return 2
    for name, now in _environment().items():
        if now != (was := record["environment"].get(name)):
            print(f"{name}: {was} in the record, {now} now")
    specifications = record["estimators"]
    pairs = [(label, name) for label, inputs in record["rows"].items() for name in inputs if only in label]
    now = _computed(specifications, pairs, timed=timing)
    failed = _report_differences({label: record["rows"][label] for label in now}, now)
    failed |= _report_threads(now)
    if timing:
        _report_times(dict(_rows(record["rows"])), dict(_rows(now)))
    _report_unknown(record["rows"], only)
    return failed


def _report_unknown(rows: dict[str, Any], only: str) -> None:
    """Print estimators of the registry that the record lacks; a registry that moved does not end a check."""
    try:
        unknown = [label for label in _specifications() if only in label and label not in rows]
    except (ImportError, AttributeError) as error:
        print(f"New estimators are not listed, as the registry cannot be read: {error}")
        return
    if unknown:
        print(f"Not in the record, and not compared: {'; '.join(unknown)}")


def _rows(rows: dict[str, dict[str, Any]]) -> Iterator[tuple[tuple[str, str, str], dict[str, Any]]]:
    for label, inputs in rows.items():
        for name, by_threads in inputs.items():
            for n_threads, row in by_threads.items():
                yield (label, name, n_threads), row


# Reports


def _report_differences(before: dict[str, dict[str, Any]], after: dict[str, dict[str, Any]]) -> int:
    """Print rows that differ, and how many there are by estimator and by input."""
    n_rows, by_estimator, by_input = 0, Counter[str](), Counter[str]()
    for label, inputs in after.items():
        for name, now in inputs.items():
            was = before[label][name]
            changes = {each: _differences(was[each]["values"], now[each]["values"]) for each in now}
            n_rows += len(now)
            # The same change on any number of threads is shown once.
            shown: dict[str, list[str]] = {}
            for n_threads, lines in changes.items():
                if lines:
                    shown.setdefault("\n".join(lines), []).append(n_threads)
                    by_estimator[label] += 1
                    by_input[name] += 1
            for text, threads in shown.items():
                print(f"{label} | {name} | threads: {', '.join(threads)}\n{text}")
    n_changed = by_estimator.total()
    print(f"{n_changed} of {n_rows} rows differ from the record.")
    for counts in (by_estimator, by_input) if n_changed else ():
        print("  " + "\n  ".join(f"{count:4d} {name}" for name, count in counts.most_common()))
    return int(n_changed > 0)


def _report_threads(rows: dict[str, dict[str, Any]]) -> int:
    """Print rows whose values depend on the number of threads."""
    first, n_changed = str(THREADS[0]), 0
    for label, inputs in rows.items():
        for name, by_threads in inputs.items():
            for n_threads, row in by_threads.items():
                lines = _differences(by_threads[first]["values"], row["values"], first, n_threads)
                if lines:
                    n_changed += 1
                    print(f"{label} | {name} | {n_threads} threads differ from {first}")
                    print("\n".join(lines))
    print(f"{n_changed} rows depend on the number of threads.")
    return int(n_changed > 0)


def _report_times(before: dict[Any, Any], after: dict[Any, Any]) -> None:
    """Print rows that take longer than in the record."""
    for key, row in after.items():
        was, now = before[key]["seconds"], row["seconds"]
        if was and now and now > SLOWER * was:
            change = f"{now / was:5.2f} times the CPU time, {1e3 * was:.1f} to {1e3 * now:.1f} ms"
            print(f"{change}: {' | '.join(key)}")
    sums = [sum(rows[key]["seconds"] or 0.0 for key in after) for rows in (before, after)]
    print(f"CPU time of all rows: {sums[0]:.1f} s in the record, {sums[1]:.1f} s now.")


def _differences(
    before: dict[str, Any], after: dict[str, Any], old: str = "record", new: str = "now"
) -> list[str]:
    """Lines about values that differ."""
    lines = []
    for name in sorted(before.keys() | after.keys()):
        was, now = (
            json.loads(json.dumps(values[name])) if name in values else "absent" for values in (before, after)
        )
        # As text, since NaN differs from itself.
        if json.dumps(was) != json.dumps(now):
            lines.append(f"  {name}{_size_of_change(was, now)}")
            lines += [f"    {word:6s} {_shown(value)}" for word, value in ((old, was), (new, now))]
    return lines


def _size_of_change(was: Any, now: Any) -> str:
    """How far the norm and the shown values are apart, relative to the norm."""
    if not (
        isinstance(was, list) and isinstance(now, list) and len(was) == len(now) > 2 and was[0] == now[0]
    ):
        return ""
    if not isinstance(was[2], float):
        return ""
    apart = np.abs(np.subtract(was[2:], now[2:], dtype=np.float64)) / max(was[2], 1e-300)
    if not np.any(apart > 0.0):
        return " (equal in what the record shows)"
    return f" (relative to the norm: norm by {apart[0]:.1e}, values by up to {np.nanmax(apart[1:]):.1e})"


def _shown(value: Any) -> str:
    if not isinstance(value, list):
        return str(value)
    if len(value) < 3 or not isinstance(value[2], float):
        return " | ".join(map(str, value))
    kind, digest, norm, *values = value
    return f"{kind} {digest[:12]} norm {norm:.9g} values {' '.join(f'{each:.9g}' for each in values)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("command", choices=("write", "check"))
    parser.add_argument("--record", type=Path, default=RECORD, help="file of the record (default: .freeze)")
    parser.add_argument("--only", default="", help="estimators whose label contains this text")
    parser.add_argument("--timing", action="store_true", help="check: print rows slower by 20 %% or more")
    chosen = parser.parse_args()
    _use_this_tree()
    if chosen.command == "write":
        return write(chosen.record, chosen.only)
    return check(chosen.record, chosen.only, timing=chosen.timing)


if __name__ == "__main__":
    sys.exit(main())
