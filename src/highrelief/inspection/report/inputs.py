"""Inputs of a report: a fitted estimator and its data, validated, and their provenance."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from ... import __version__
from ..._engine.cached_property import cached_property
from ..._engine.categories import MISSING, level_codes
from ..._engine.memory import check_room
from ...base.categorical import categorical_mask
from ...base.meta import fit_inside
from ...base.selector import WeightSelector, categories_parameter, takes_continuous_target, takes_missing
from ...base.validation import check_array, check_classification_targets, plain
from ...catalog import address, as_text, references
from .contents import Origin, Reference
from .wording import number, reference_keys

# Categorical features

#: Names of the levels 0, 1, … of features, by column index.
Levels = dict[int, list[str]]


def categorical_places(estimator: Any, X: Any) -> list[int]:
    """Return the column indices of the estimator's categorical features."""
    parameter = categories_parameter(estimator)
    categories = estimator.get_params(deep=True)[parameter] if parameter else None
    if categories is None:
        return []
    table = X if hasattr(X, "columns") else np.asarray(X)
    return np.flatnonzero(categorical_mask(categories, table, getattr(table, "columns", None))).tolist()


def encode_categories(X: Any, places: Sequence[int]) -> tuple[Any, Levels]:
    """Return X with level codes (NaN where missing) in the given columns, and the names of the levels."""
    if not places:
        return X, {}
    columns = [_column(X, place) for place in range(np.shape(X)[1])]
    levels: Levels = {}
    for place in places:
        columns[place], levels[place] = _codes(columns[place])
    precision = X.dtype if getattr(getattr(X, "dtype", None), "kind", "") == "f" else np.float64
    return np.column_stack([np.asarray(each, dtype=precision) for each in columns]), levels


def labeled_levels(
    X: NDArray[Any], names: Sequence[str], value_labels: Mapping[str, Sequence[str]], levels: Levels
) -> Levels:
    """Return level names with labels in place of numbers, also for numeric columns that have labels.

    ``value_labels``: the labels of the values 0, 1, … by feature name.
    """
    found = dict(levels)
    for place, name in enumerate(names):
        if name not in value_labels:
            continue
        if place in levels:
            found[place] = [value_labels[name][int(float(number))] for number in levels[place]]
        # A column imputed by its median may have values between the codes.
        elif np.isin(X[~np.isnan(X[:, place]), place], np.arange(len(value_labels[name]))).all():
            found[place] = list(value_labels[name])
    return found


def _column(X: Any, place: int) -> NDArray[Any]:
    if not hasattr(X, "columns"):
        return np.asarray(X)[:, place]
    values = X.iloc[:, place] if hasattr(X, "iloc") else X[X.columns[place]]
    return np.asarray(values.to_numpy())


def _codes(values: NDArray[Any]) -> tuple[NDArray[np.float64], list[str]]:
    codes = level_codes(values)
    known, first = np.unique(codes, return_index=True)
    names = [_level_name(values[row]) for row in first[known != MISSING]]
    return np.where(codes == MISSING, np.nan, codes), names


def _level_name(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, (int, float, np.number)) else str(value)


# Tertiles of a continuous target, shown where other reports show classes

#: Names of the tertiles.
TERTILES = ("lower", "middle", "upper")


def tertiles(target: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the tertile (0, 1, 2) of each sample; equal targets share one, so that one may be empty."""
    below, above = _bounds(target)
    return (target > below).astype(np.int64) + (target > above)


def describe_tertiles(target: NDArray[np.float64]) -> str:
    """Describe the bounds of the tertiles in a sentence."""
    below, above = (number(each) for each in _bounds(target))
    return (
        "Lower, middle and upper are the thirds of the samples by their target: up to"
        f" {below}, above that and up to {above}, and above."
    )


def _bounds(target: NDArray[np.float64]) -> tuple[float, float]:
    below, above = np.quantile(target, [1.0 / 3.0, 2.0 / 3.0], method="lower")
    return float(below), float(above)


@dataclass(frozen=True)
class ReportInputs:
    """A fitted estimator, the samples it was fitted to, and the names of features, samples and classes."""

    estimator: Any
    #: X as passed by the user: the estimator may check its column names.
    table: Any
    #: X as a numeric array, NaN where a value is missing.
    X: NDArray[Any]
    y: NDArray[Any]
    #: Index of each sample's class in ``classes``.
    codes: NDArray[np.int64]
    classes: list[str]
    feature_names: list[str]
    sample_names: list[str]
    #: Whether the samples have numbers instead of names.
    numbered: bool
    #: Batch and group labels of the samples, or None.
    batches: ArrayLike | None = None
    groups: ArrayLike | None = None
    #: Whether the target is continuous; ``classes`` are then its tertiles.
    continuous_target: bool = False
    #: Column indices of the categorical features; ``X`` has their level codes.
    categorical: frozenset[int] = frozenset()
    #: Level names of the features that have some, by column index.
    levels: Levels = field(default_factory=dict)

    @cached_property
    def missing(self) -> NDArray[np.float64] | None:
        """Share of missing values of each feature; None if no value is missing."""
        if self.X.dtype.kind != "f":
            return None
        share = np.isnan(self.X).mean(axis=0)
        return share if share.any() else None

    @property
    def unfitted(self) -> Any:
        """An estimator that can be fitted to rows of ``X`` and gives the same weights."""
        # Redundancy groups do not change the weights: leave them out of refits.
        estimator = self.estimator.estimator if hasattr(self.estimator, "groups_") else self.estimator
        if not self.categorical:
            return estimator
        parameter = categories_parameter(estimator)
        return clone(estimator).set_params(**{parameter: sorted(self.categorical)})

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """Ranks of the features, 1 = best; equal weights share the lowest."""
        return self.estimator.ranking_

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Column indices by rank; equal ranks in the order of the table."""
        return np.argsort(self.ranks, kind="stable")

    @property
    def class_sizes(self) -> NDArray[np.int64]:
        """Number of samples of each class."""
        return np.bincount(self.codes, minlength=len(self.classes))


def report_inputs(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    feature_names: Sequence[str] | None,
    sample_names: Sequence[str] | None,
    batches: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    value_labels: Mapping[str, Sequence[str]] | None = None,
) -> ReportInputs:
    """Validate the arguments of a report; raise with a remedy where it cannot be made.

    ``value_labels``: the labels of the values 0, 1, … of X, by feature name.
    """
    _check_estimator(estimator)
    X = _dense(X)
    places = categorical_places(estimator, X)
    encoded, levels = encode_categories(X, places)
    # scikit-learn first sums all values, which may overflow.
    with np.errstate(invalid="ignore"):
        values = check_array(
            encoded,
            dtype="numeric",
            input_name="X",
            estimator="report",
            ensure_all_finite="allow-nan" if takes_missing(estimator) else True,
        )
    labels = column_or_1d(y)
    if len(labels) != len(values):
        raise ValueError(
            f"X has {len(values):,} samples and y {len(labels):,}; report needs a label for each."
        )
    continuous_target = takes_continuous_target(estimator)
    if continuous_target:
        labels = check_array(labels, ensure_2d=False, dtype=np.float64, input_name="y", estimator="report")
        classes, codes = np.array(TERTILES), tertiles(labels)
    else:
        check_classification_targets(labels)
        classes, codes = np.unique(labels, return_inverse=True)
    _check_same_data(estimator, X, values, None if continuous_target else classes)
    given_names = [] if sample_names is None else [str(name) for name in sample_names]
    rows = given_names or _row_names(X) or [f"sample {n}" for n in range(1, len(values) + 1)]
    columns = _column_names(estimator, X) if feature_names is None else [str(each) for each in feature_names]
    _check_length("sample_names", rows, len(values), "samples")
    _check_length("feature_names", columns, values.shape[1], "features")
    numbered = not given_names and not _row_names(X)
    class_names = [str(plain(each)) for each in classes]
    return ReportInputs(
        estimator,
        X,
        values,
        labels,
        codes,
        class_names,
        columns,
        rows,
        numbered,
        batches=batches,
        groups=groups,
        continuous_target=continuous_target,
        categorical=frozenset(places),
        levels=labeled_levels(values, columns, value_labels or {}, levels),
    )


def _dense(X: Any) -> Any:
    """Return a sparse matrix as an array, and any other X as is."""
    if not issparse(X):
        return X
    check_room(8.0 * np.prod(X.shape), "X as a dense table", "Use some of the samples or features.")
    return X.toarray()


def _check_estimator(estimator: Any) -> None:
    kind = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
    if isinstance(estimator, type):
        raise TypeError(f"report needs a fitted estimator, and not the class: {kind}().fit(X, y).")
    if isinstance(estimator, WeightSelector):
        check_is_fitted(estimator)
        if not np.isfinite(estimator.feature_weights_).all():
            raise ValueError(
                f"{kind} has weights that are no finite numbers, which cannot be shown. Values of X may be"
                " too large to be compared as they are; features in other units would help."
            )
        return
    if hasattr(estimator, "steps") or hasattr(estimator, "best_estimator_"):
        raise TypeError(
            f"report takes the weighter itself, and not the {kind} around it: pass its last step or its"
            " best_estimator_, with X as that one was given it."
        )
    if hasattr(estimator, "transform") and type(estimator).__module__.startswith("highrelief."):
        raise TypeError(
            f"{kind} makes new directions out of the features and has no weight for each, so that there is"
            " nothing to rank. A weighter such as IRelief or ReliefF has."
        )
    raise TypeError(
        f"{kind} has no feature_weights_ to report. report takes a fitted weighter of highrelief, such as"
        f" IRelief; EnsembleWeighting is one around any estimator that has feature_importances_ or coef_."
    )


def _check_same_data(estimator: Any, X: Any, values: NDArray[Any], classes: NDArray[Any] | None) -> None:
    """Raise if X and y cannot be the samples that the estimator was fitted to."""
    kind = type(estimator).__name__
    if values.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {values.shape[1]:,} features, but {kind} was fitted to {estimator.n_features_in_:,}:"
            " report needs the X and y of its fit."
        )
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and hasattr(X, "columns") and list(X.columns) != list(names):
        raise ValueError(f"The columns of X are not those, in their order, that {kind} was fitted to.")
    fitted_classes = getattr(estimator, "classes_", None) if classes is not None else ()
    if fitted_classes is None:
        raise TypeError(f"{kind} was not fitted to classes; a report is about samples of different classes.")
    if list(fitted_classes) != list(() if classes is None else classes):
        raise ValueError(
            f"The classes in y are not those that {kind} was fitted to: report needs the X and y of its fit."
        )
    probability = getattr(estimator, "outlier_proba_", None)
    n_fitted = len(probability) if probability is not None else getattr(estimator, "_n_samples", len(values))
    if n_fitted != len(values):
        raise ValueError(
            f"X has {len(values):,} samples, but {kind} was fitted to {n_fitted:,}: report needs the X and y"
            " of its fit."
        )


def _check_length(name: str, names: list[str], n_expected: int, of: str) -> None:
    if len(names) != n_expected:
        raise ValueError(f"{name} has {len(names):,} names for the {n_expected:,} {of} of X.")


def _column_names(estimator: Any, X: Any) -> list[str]:
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        names = getattr(X, "columns", None)
    if names is None:
        return [f"x{j}" for j in range(estimator.n_features_in_)]
    return [str(name) for name in names]


def _row_names(X: Any) -> list[str]:
    """Return the index of a pandas frame as names; empty for a RangeIndex."""
    index = getattr(X, "index", None)
    if index is None or callable(index) or type(index).__name__ == "RangeIndex":
        return []
    return [str(name) for name in index]


# Provenance: parameters, data digests, versions and references

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


def json_value(value: Any) -> Any:
    """Convert a value to JSON types; other types to their ``repr``."""
    value = plain(value)
    if isinstance(value, Mapping):
        return {str(name): json_value(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(each) for each in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


def origin(estimator: Any, *, data: Mapping[str, str], time: Mapping[str, str], again: str | None) -> Origin:
    """Return the provenance of a fitted estimator."""
    return Origin(
        {name: repr(value) for name, value in [*_parameters(estimator), *_chosen(estimator)]},
        dict(data),
        software_versions(),
        dict(time),
        again,
        cite(reference_keys(estimator)),
    )


def software_versions() -> dict[str, str]:
    """Return the versions of the software by name, for a report."""
    software = about_software()
    system = {"system": software["machine"]["system"]}
    return {"highrelief": software["highrelief"], **software["versions"], **system}


def cite(keys: Iterable[str]) -> list[Reference]:
    """Return the references of some keys, without repetition."""
    return [Reference(as_text(key), references()[key], address(key)) for key in dict.fromkeys(keys)]


def _parameters(estimator: Any) -> list[tuple[str, Any]]:
    """Return names and values, NumPy scalars as Python numbers."""
    return [(name, plain(value)) for name, value in sorted(estimator.get_params(deep=True).items())]


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


def python_again(inputs: ReportInputs, *, resamples: int | str | None, random_state: Any) -> str:
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
        f" resamples={resamples!r}, random_state={random_state!r})"
    )
