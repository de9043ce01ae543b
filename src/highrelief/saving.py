"""``highrelief.save`` and ``highrelief.load``: estimators in files that cannot execute code.

A file is in the format of skops (arrays and JSON), with a second JSON for the version. Loading creates
objects of known types only: those of this package that are listed here, and those of scikit-learn, NumPy and
SciPy that skops trusts. Pickles are neither written nor read.

Compiled code uses row indices, class codes and lengths without checks and expects finite numbers. A fit
guarantees them; a file may contain anything. Therefore ``load`` validates arrays and numbers by the tables
below, class by class; a missing part is not needed.
"""

from __future__ import annotations

import io
import json
import os
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import highrelief

from ._engine.class_distances import ClassDistances
from ._engine.hyperplanes import ClassHyperplanes
from ._engine.scaling import Scaling
from ._kernels.packing import FEATURE_BLOCK, PADDING, ROW_BLOCK
from .base.meta import Decision
from .base.validation import LARGEST_WEIGHT
from .io.files import atomic_write
from .methods.online import Reservoir

# Validation of loaded estimators

#: Array types of the kernels, in native byte order.
_TYPES = {"f": (np.float64, np.float32), "i": (np.int64,), "b": (np.bool_,)}
_HEAVIEST = LARGEST_WEIGHT[0]


@dataclass(frozen=True)
class _Array:
    """Rule for an array: sizes by name (None: any), kind, and bounds of the values."""

    shape: tuple[str | None, ...]
    kind: str = "f"
    least: float = -np.inf
    most: float | str = np.inf
    #: Whether values may be missing (NaN), and whether they may be infinite.
    gaps: bool = False
    infinite: bool = False
    #: Whether any memory layout is allowed, since only NumPy uses the array.
    any_order: bool = False

    def fits(self, value: Any, sizes: Mapping[str, int]) -> bool:
        if type(value) is not np.ndarray or value.dtype not in _TYPES[self.kind]:
            return False
        if value.ndim != len(self.shape) or not (value.flags.c_contiguous or self.any_order):
            return False
        expected = zip(value.shape, self.shape, strict=True)
        if any(name is not None and size != sizes[name] for size, name in expected):
            return False
        known = value[~np.isnan(value)] if self.gaps else value
        # The largest index is one less than the size.
        most = sizes[self.most] - 1 if isinstance(self.most, str) else self.most
        finite = self.infinite or bool(np.isfinite(known).all())
        return finite and bool(np.all((known >= self.least) & (known <= most)))


@dataclass(frozen=True)
class _Number:
    """Rule for a finite number: integer or not, and bounds."""

    whole: bool = False
    least: float = -np.inf
    most: float = np.inf

    def fits(self, value: Any, sizes: Mapping[str, int]) -> bool:
        kinds = (int, np.integer) if self.whole else (int, float, np.integer, np.floating)
        if not isinstance(value, kinds) or isinstance(value, bool):
            return False
        return bool(np.isfinite(value) and self.least <= value <= self.most)


_FEATURES = _Array(("features",))

#: Rules for estimators.
_ESTIMATOR: dict[str, _Array | _Number] = {
    "n_features_in_": _Number(whole=True, least=1),
    "feature_weights_": _FEATURES,
    "_w": _FEATURES,
    "_nu": _FEATURES,
    "_ranked": _FEATURES,
    "_constant": _Array(("features",), "b"),
    "_class_counts": _Array(("classes",), "i", least=0, most=2.0**62),
    "_class_weights": _Array(("classes",), least=0),
    "components_": _Array((None, "features"), any_order=True),
    "member_weights_": _Array((None, "features"), any_order=True),
    "eliminated_in_": _Array(("features",), "i", least=0),
    "labels_": _Array(("features",), "i", least=-1, most="features"),
    "representatives_": _Array((None,), "i", least=0, most="features"),
    "sigma_": _Number(least=0),
    "n_samples_seen_": _Number(whole=True, least=0, most=2.0**62),
    "_renewal": _Number(whole=True, least=0, most=2.0**62),
}
#: Rules for their parts; ``rows`` is the length of the first array.
_SCALING: dict[str, _Array | _Number] = {
    "offset": _FEATURES,
    "divisor": _Array(("features",), least=np.nextafter(0.0, 1.0)),
    "unit": _Array(("features",), least=np.nextafter(0.0, 1.0)),
}
_DECISION: dict[str, _Array | _Number] = {
    "support": _Array(("features",), "b"),
    "statistic": _Array(("features",), gaps=True, infinite=True),
}
_HYPERPLANES: dict[str, _Array | _Number] = {
    "_rows": _Array(("rows", "features")),
    "_starts": _Array(("borders",), "i", least=0, most="borders of rows"),
    "_sample_weight": _Array(("rows",), least=1.0 / _HEAVIEST, most=_HEAVIEST),
    "_squares": _Array(("rows",), least=0.0),
    "_center": _FEATURES,
    "_ignored": _Array((None,), "i", least=0, most="features"),
    "_exponent": _Number(whole=True, least=-2200, most=2200),
    "n_classes": _Number(whole=True, least=1),
}
_DISTANCES: dict[str, _Array | _Number] = {
    "_given": _Array(("rows", "features"), gaps=True, any_order=True),
    "_position": _Array(("layout",), "i", least=PADDING, most="rows"),
    "_codes": _Array(("layout",), "i", least=0, most="classes"),
    "_sample_weight": _Array(("layout",), least=0.0, most=_HEAVIEST),
    "_w": _Array(("columns",), least=0.0),
    "_sigma": _Number(least=0.0),
    "n_classes": _Number(whole=True, least=1),
}
_RESERVOIR: dict[str, _Array | _Number] = {
    "rows": _Array(("rows", "features")),
    "codes": _Array(("rows",), "i", least=0, most="classes"),
    "low": _FEATURES,
    "high": _FEATURES,
    # NaN for values far outside the first batch, which is detected later.
    "mean": _Array(("features",), gaps=True, infinite=True),
    "squares": _Array(("features",), least=0.0, gaps=True, infinite=True),
    "n_seen": _Number(whole=True, least=0, most=2.0**62),
}


def misfits(value: Any) -> Iterator[str]:
    """Yield the names of the estimators of this package, nested in a value, that violate the rules."""
    waiting, seen = [value], set()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, (list, tuple)) or (isinstance(each, np.ndarray) and each.dtype == object):
            waiting += list(each)
        elif isinstance(each, (np.random.RandomState, np.random.Generator)):
            if not _draws(each):
                yield type(each).__name__
        elif hasattr(each, "get_params") and hasattr(each, "__dict__"):
            waiting += vars(each).values()
            if type(each).__module__.startswith("highrelief.") and not _fits(vars(each)):
                yield type(each).__name__


def _fits(parts: dict[str, Any]) -> bool:
    """Return whether the attributes of an estimator and its parts satisfy the rules."""
    inner = [name for name in ("_scaling", "_references", "_reservoir", "_decision") if name in parts]
    known = {name: parts[name] for name in _ESTIMATOR if parts.get(name) is not None}
    if not inner and not known:
        return True
    if "n_features_in_" not in known:
        return False
    sizes = {"features": known["n_features_in_"], "classes": np.size(parts.get("classes_", ()))}
    return _match(known, _ESTIMATOR, sizes) and all(
        parts[name] is None or _CHECKS[name](parts[name], parts, sizes) for name in inner
    )


def _match(parts: Mapping[str, Any], rules: Mapping[str, _Array | _Number], sizes: Mapping[str, int]) -> bool:
    """Return whether the parts satisfy the rules; parts without a rule are ignored."""
    return all(rule.fits(parts[name], sizes) for name, rule in rules.items() if name in parts)


def _is_whole(
    value: Any, kind: type, rules: Mapping[str, _Array | _Number], sizes: Mapping[str, int]
) -> bool:
    """Return whether an object is of a class and has all parts of the rules."""
    return type(value) is kind and rules.keys() <= vars(value).keys() and _match(vars(value), rules, sizes)


def _scales(scaling: Any, parts: dict[str, Any], sizes: Mapping[str, int]) -> bool:
    rules = {name: rule for name, rule in _SCALING.items() if getattr(scaling, name, None) is not None}
    return {"offset", "divisor"} <= rules.keys() and _is_whole(scaling, Scaling, rules, sizes)


def _decides(decision: Any, parts: dict[str, Any], sizes: Mapping[str, int]) -> bool:
    return _is_whole(decision, Decision, _DECISION, sizes)


def _refers(references: Any, parts: dict[str, Any], sizes: Mapping[str, int]) -> bool:
    """Return whether the reference samples of predictions satisfy the rules."""
    if getattr(references, "n_classes", None) != sizes["classes"]:
        return False
    if type(references) is ClassHyperplanes:
        n = len(references._rows)
        sizes = {**sizes, "rows": n, "borders of rows": n + 1, "borders": sizes["classes"] + 1}
        return (
            _is_whole(references, ClassHyperplanes, _HYPERPLANES, sizes)
            and references._rows.dtype == references._center.dtype
            and bool(np.all(np.diff(references._starts) > 0))
            and (references._starts[0], references._starts[-1]) == (0, n)
            and _scales(references._scaling, parts, sizes)
        )
    d, layout = int(np.count_nonzero(parts["feature_weights_"] > 0.0)), np.size(references._position)
    columns = -(-max(d, 1) // FEATURE_BLOCK) * FEATURE_BLOCK
    sizes = {**sizes, "rows": len(references._given), "features": d, "layout": layout, "columns": columns}
    return (
        layout % ROW_BLOCK == 0
        and sizes["rows"] > 0
        and _is_whole(references, ClassDistances, _DISTANCES, sizes)
        and bool(np.all(np.diff(references._codes) >= 0))
        and bool(np.all((references._sample_weight > 0.0) == (references._position != PADDING)))
        and _scales(references._scaling, parts, sizes)
    )


def _streams(reservoir: Any, parts: dict[str, Any], sizes: Mapping[str, int]) -> bool:
    """Return whether the reservoir of a stream satisfies the rules."""
    sizes = {**sizes, "rows": len(reservoir.rows)}
    size = getattr(reservoir, "size", None)
    return (
        _is_whole(reservoir, Reservoir, _RESERVOIR, sizes)
        and (size is None or _Number(whole=True, least=max(1, sizes["rows"])).fits(size, sizes))
        and bool(np.all(np.isfinite(reservoir.mean) | ~np.isfinite(reservoir.squares)))
        and _scales(reservoir.first, parts, sizes)
        and parts.keys() >= {"_w", "_nu", "_class_counts"}
    )


def _draws(generator: Any) -> bool:
    """Return whether the position of a random generator is valid, which NumPy does not check."""
    bits = (
        generator._bit_generator if isinstance(generator, np.random.RandomState) else generator.bit_generator
    )
    state = bits.state
    inner = state["state"] if isinstance(state["state"], dict) else {}
    return 0 <= inner.get("pos", 0) <= 624 and 0 <= state.get("buffer_pos", 0) <= 4


_CHECKS = {"_scaling": _scales, "_references": _refers, "_reservoir": _streams, "_decision": _decides}


# Saving and loading

#: Increased when an older version would misread a file.
FORMAT = 1
_ABOUT = "highrelief.json"
#: Maximum size of the version record.
_ABOUT_BYTES = 1000
#: Classes of the parts of fitted estimators.
_PARTS = (
    "_engine.class_distances.ClassDistances",
    "_engine.hyperplanes.ClassHyperplanes",
    "methods.online.Reservoir",
    "_engine.scaling.Scaling",
    "base.meta.Decision",
)
#: Splitters of scikit-learn, which have only numbers and flags but are unknown to skops.
_SPLITTERS = (
    "GroupKFold",
    "KFold",
    "LeaveOneGroupOut",
    "LeaveOneOut",
    "RepeatedKFold",
    "RepeatedStratifiedKFold",
    "ShuffleSplit",
    "StratifiedGroupKFold",
    "StratifiedKFold",
    "StratifiedShuffleSplit",
)
#: Scorers of searches; older ones have metadata requests, which are names and flags.
_SCORERS = (
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.utils._metadata_requests.MetadataRequest",
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
)


def save(estimator: Any, path: str | os.PathLike[str]) -> Path:
    """Write an estimator atomically to a file that :func:`load` reads.

    Supported are all estimators of this package, fitted or not, and pipelines and searches of scikit-learn
    around them. A stream (``OnlineIRelief``) continues after loading with bitwise identical results.

    Parameters
    ----------
    estimator : estimator
        The estimator.
    path : str or path
        The file, overwritten if it exists. By convention the extension is ``.skops``.

    Returns
    -------
    path : Path
        The file.

    Examples
    --------
    >>> import tempfile, highrelief
    >>> from highrelief.datasets import make_xor
    >>> X, y, _ = make_xor(100, n_irrelevant=3, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = highrelief.save(highrelief.ReliefF().fit(X, y), f"{folder}/xor.skops")
    ...     highrelief.load(path).get_support(indices=True)
    array([0, 1])
    """
    skops = _skops("save")
    if not hasattr(estimator, "get_params") or isinstance(estimator, type):
        raise TypeError(f"save needs an estimator, not {estimator!r:.80}.")
    target = Path(path)
    try:
        content = skops.dumps(estimator)
    except skops.exceptions.UnsupportedTypeException as error:
        raise TypeError(f"{type(estimator).__name__} cannot be saved: {error}") from error
    unknown = _unknown(skops, content, ())
    if unknown:
        warnings.warn(
            f"{target.name} holds types that load does not know, and will refuse unless you name them as"
            f" trusted: {', '.join(unknown)}.",
            UserWarning,
            stacklevel=2,
        )
    buffer = io.BytesIO(content)
    with zipfile.ZipFile(buffer, "a") as archive:
        about = {"format": FORMAT, "version": highrelief.__version__}
        archive.writestr(_ABOUT, json.dumps(about))
    with atomic_write(target) as part:
        part.write_bytes(buffer.getbuffer())
    return target


def load(path: str | os.PathLike[str], *, trusted: Iterable[str | type] = ()) -> Any:
    """Return the estimator that :func:`save` wrote into a file.

    The types named in the file are checked before any object is created. The consistency of its parts is
    validated, but not the values of the weights.

    Parameters
    ----------
    path : str or path
        The file.
    trusted : iterable of str or type, default=()
        Further types to trust, as named in the error. Creating them may run code of their packages: trust
        only packages and files of known origin.

    Returns
    -------
    estimator : estimator
        The saved estimator; weights and predictions are bitwise identical.
    """
    skops = _skops("load")
    source = Path(path)
    content = source.read_bytes()
    _check_origin(source.name, content)
    more = _names(trusted)
    try:
        unknown = _unknown(skops, content, more)
    except Exception as error:
        raise ValueError(f"{source.name} is damaged: {error}") from error
    if unknown:
        raise ValueError(
            f"{source.name} holds types that load does not know, and nothing of it was built:"
            f" {', '.join(unknown)}. If you know who made it, trusted={unknown} loads it."
        )
    try:
        estimator = skops.loads(content, trusted=[*_known(), *more])
        wrong = sorted(set(misfits(estimator)))
    except Exception as error:
        raise ValueError(f"{source.name} is damaged: {error}") from error
    if not hasattr(estimator, "get_params"):
        raise ValueError(f"{source.name} holds no estimator, but a {type(estimator).__name__}.")
    if wrong:
        raise ValueError(f"{source.name} is damaged: parts of {', '.join(wrong)} do not fit together.")
    return estimator


def _skops(caller: str) -> Any:
    """Return skops.io; raise with a remedy if it is not installed."""
    try:
        import skops.io  # noqa: PLC0415
    except ModuleNotFoundError as error:
        missing = str(error.name).split(".")[0]
        raise ImportError(
            f"highrelief.{caller} needs {missing}, which is not installed: pip install 'highrelief[save]'"
            " installs it."
        ) from error
    return skops.io


def _known() -> list[str]:
    """Return the names of trusted types, besides those of skops."""
    own_types = [f"{home}.{name}" for name, home in highrelief._HOMES.items()]
    folds = [f"sklearn.model_selection._split.{name}" for name in _SPLITTERS]
    return [*(f"highrelief.{name}" for name in (*own_types, *_PARTS)), *folds, *_SCORERS]


def _names(trusted: Iterable[str | type]) -> list[str]:
    if isinstance(trusted, (str, type, bool)):
        raise TypeError(f"trusted={trusted!r} must be a list of names of types.")
    return [each if isinstance(each, str) else f"{each.__module__}.{each.__qualname__}" for each in trusted]


def _unknown(skops: Any, content: bytes, more: Iterable[str]) -> list[str]:
    """Return the sorted names of untrusted types in a file."""
    return sorted({*skops.get_untrusted_types(data=content)} - {*_known(), *more})


def _check_origin(name: str, content: bytes) -> None:
    """Raise unless :func:`save` wrote the file in a known format; warn about other versions."""
    from packaging.version import Version  # noqa: PLC0415 (comes with skops)

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive, archive.open(_ABOUT) as file:
            about = json.loads(file.read(_ABOUT_BYTES))
        # Parse the version: it becomes part of a command in the message.
        made_by, way = Version(about["version"]), about["format"]
        if type(way) is not int:
            raise TypeError(f"format={way!r} is not an integer")
    except Exception as error:
        raise ValueError(f"{name} was not written by highrelief.save, and is not read.") from error
    here = Version(highrelief.__version__)
    if way > FORMAT:
        raise ValueError(
            f"{name} was written by highrelief {made_by} in a newer way than this version, {here}, can read:"
            f" pip install 'highrelief>={made_by}'."
        )
    if made_by != here:
        age = "newer" if made_by > here else "older"
        warnings.warn(
            f"{name} was written by highrelief {made_by}, which is {age} than this version, {here}:"
            " its weights are as they were, what is computed from them may differ. Fit again to be sure.",
            UserWarning,
            stacklevel=3,
        )
