"""``highrelief.save`` and ``highrelief.load``: fitted or unfitted estimators in files that run nothing.

A file is one of skops (numbers as arrays, the rest as JSON), with a second JSON that says who wrote it. To
load it builds objects of known types only: those of this package that are listed here, and those of
scikit-learn, NumPy and SciPy that skops knows. A pickle is neither written nor read.
"""

from __future__ import annotations

import io
import json
import os
import warnings
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import highrelief

from .bases.saved_parts import misfits
from .core.whole_files import written_whole

#: Goes up when what is in a file changes so that an older version would read it wrongly.
FORMAT = 1
_ABOUT = "highrelief.json"
#: More of it is not read.
_ABOUT_BYTES = 1000
#: What fitted estimators are made of, beside themselves.
_PARTS = (
    "core.class_distances.ClassDistances",
    "core.class_hyperplanes.ClassHyperplanes",
    "core.reservoir.Reservoir",
    "core.scaling.Scaling",
    "bases.decisions.Decision",
)
#: Of scikit-learn, and not known to skops, though nothing but numbers and flags: what folds are cut by.
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
#: And what searches score by; older scorers hold what metadata they ask for, which is names and flags.
_SCORERS = (
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.utils._metadata_requests.MetadataRequest",
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
)


def save(estimator: Any, path: str | os.PathLike[str]) -> Path:
    """Write an estimator into a file that :func:`load` reads, whole or not at all.

    Any estimator of this package, fitted or not, and scikit-learn's pipelines and searches with ours inside.
    A stream (``OnlineIRelief``) goes on after loading to the same bits.

    Parameters
    ----------
    estimator : estimator
        What to keep.
    path : str or path
        The file; what is there is written over. Its usual ending is ``.skops``.

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
    with written_whole(target) as part:
        part.write_bytes(buffer.getbuffer())
    return target


def load(path: str | os.PathLike[str], *, trusted: Iterable[str | type] = ()) -> Any:
    """Return the estimator that :func:`save` wrote into a file.

    The types that a file names are looked at before anything is built, and none but known ones are. That its
    parts fit together is looked at too; whether its weights are right is not.

    Parameters
    ----------
    path : str or path
        The file.
    trusted : iterable of str or type, default=()
        Further types that may be built, as the error names them: of packages that you know, in files of which
        you know who made them. To build one may run code of its package.

    Returns
    -------
    estimator : estimator
        As it was saved; weights and predictions have the same bits.
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


def _skops(who: str) -> Any:
    """Return skops.io; one sentence where it is not installed."""
    try:
        import skops.io  # noqa: PLC0415
    except ModuleNotFoundError as error:
        missing = str(error.name).split(".")[0]
        raise ImportError(
            f"highrelief.{who} needs {missing}, which is not installed: pip install 'highrelief[save]'"
            " installs it."
        ) from error
    return skops.io


def _known() -> list[str]:
    """Names of the types that may be built, beside those that skops knows."""
    ours = [f"{home}.{name}" for name, home in highrelief._HOMES.items()]
    folds = [f"sklearn.model_selection._split.{name}" for name in _SPLITTERS]
    return [*(f"highrelief.{name}" for name in (*ours, *_PARTS)), *folds, *_SCORERS]


def _names(trusted: Iterable[str | type]) -> list[str]:
    if isinstance(trusted, (str, type, bool)):
        raise TypeError(f"trusted={trusted!r} must be a list of names of types.")
    return [each if isinstance(each, str) else f"{each.__module__}.{each.__qualname__}" for each in trusted]


def _unknown(skops: Any, content: bytes, more: Iterable[str]) -> list[str]:
    """Types that a file names and nobody knows, in order."""
    return sorted({*skops.get_untrusted_types(data=content)} - {*_known(), *more})


def _check_origin(name: str, content: bytes) -> None:
    """Refuse what :func:`save` has not written, or in a way to come; say it if another version has."""
    from packaging.version import Version  # noqa: PLC0415 (comes with skops)

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive, archive.open(_ABOUT) as file:
            about = json.loads(file.read(_ABOUT_BYTES))
        # As a version is written: it goes into a command that the user is told to run.
        made_by, way = Version(about["version"]), about["format"]
        if type(way) is not int:
            raise TypeError(f"format={way!r} is no whole number")
    except Exception as error:  # whatever is wrong with it
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
            " its weights are as they were, what is computed from them may differ. Fit anew to be sure.",
            UserWarning,
            stacklevel=3,
        )
