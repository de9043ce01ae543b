"""Provenance of a result: parameters, data digests, versions and references."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ... import __version__
from ...base.meta import fit_inside
from ...catalog import REFERENCES, address, as_text
from .contents import Origin, Reference
from .inputs import ReportInputs
from .wording import cited

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "polars")


def about_software() -> dict[str, Any]:
    """Return the versions of the software and the machine."""
    machine = platform.uname()
    return {
        "highrelief": __version__,
        "versions": {"python": platform.python_version(), **dict(_installed())},
        # platform.platform() would start a process.
        "machine": {"system": f"{machine.system} {machine.release}", "processor": machine.machine},
    }


def _installed() -> Iterator[tuple[str, str]]:
    for name in _PACKAGES:
        try:
            yield name, version(name)
        except PackageNotFoundError:  # Polars is optional
            continue


def plain(value: Any) -> Any:
    """Convert a value to JSON types; other types to their ``repr``."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


def origin(estimator: Any, *, data: Mapping[str, str], time: Mapping[str, str], again: str | None) -> Origin:
    """Return the provenance of a fitted estimator."""
    software = about_software()
    return Origin(
        {name: repr(value) for name, value in [*_parameters(estimator), *_chosen(estimator)]},
        dict(data),
        {
            "highrelief": software["highrelief"],
            **software["versions"],
            "system": software["machine"]["system"],
        },
        dict(time),
        again,
        [Reference(as_text(key), REFERENCES[key], address(key)) for key in cited(estimator)],
    )


def _parameters(estimator: Any) -> list[tuple[str, Any]]:
    """Return names and values, NumPy scalars as Python numbers."""
    known = sorted(estimator.get_params(deep=True).items())
    return [(name, value.item() if isinstance(value, np.generic) else value) for name, value in known]


def _chosen(estimator: Any) -> Iterator[tuple[str, Any]]:
    """Yield the values that the fit chose for automatic parameters."""
    inside = fit_inside(estimator)
    for name in ("sigma_", "alpha_"):
        if hasattr(inside, name):
            yield name, float(getattr(inside, name))


def about_values(X: NDArray[Any], y: NDArray[Any]) -> dict[str, str]:
    """Return the size of data in memory and digests of its values."""
    labels = "\n".join(str(label) for label in y.tolist())
    return {
        "samples": f"{X.shape[0]:,}",
        "features": f"{X.shape[1]:,}",
        f"SHA-256 of the values of X ({X.dtype}, row by row)": hashlib.sha256(
            np.ascontiguousarray(X).data  # the bytes of the values, whatever the order in memory
        ).hexdigest(),
        "SHA-256 of the labels y (one in a line)": hashlib.sha256(labels.encode()).hexdigest(),
    }


def python_again(inputs: ReportInputs, *, resamples: int, random_state: Any) -> str:
    """Return Python code that reproduces a report from the same X, y, batches and groups."""
    estimator = inputs.estimator
    parameters = dict(_parameters(estimator))
    again = clone(estimator).set_params(
        **{name: value for name, value in parameters.items() if isinstance(value, (bool, int, float, str))}
    )
    inside = [estimator, *parameters.values()]
    class_names = {type(each).__name__ for each in inside if type(each).__module__.startswith("highrelief.")}
    batches_argument = "" if inputs.batches is None else ", batches=batches"
    groups_argument = "" if inputs.groups is None else ", groups=groups"
    return (
        f"from highrelief import {', '.join(sorted(class_names))}, report\n\n"
        f"estimator = {again!r}\n"
        f"report(estimator.fit(X, y{batches_argument}), X, y{batches_argument}{groups_argument},"
        f" resamples={resamples}, random_state={random_state!r})"
    )
