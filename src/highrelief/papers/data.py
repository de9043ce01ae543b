"""Data sets of the papers: read from folders, generated, or fetched from OpenML."""

from __future__ import annotations

import hashlib
import io
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_openml, load_digits

from ..datasets import make_fermat_spiral, make_ringnorm, make_twonorm, make_waveform
from ..io.files import atomic_write

# Generated sets


#: X, y, and the indices of the target and of the sample that it loses.
Example = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]


def lost_hit() -> Example:
    """Return a target whose hits are equally near in features 1, 2, while in 2, 3 one is much nearer.

    Misses have the same distances in both.
    """
    hits = [
        (1.3, 0.1, 0.1),
        (-1.8, 0.2, 2.8),
        (1.5, 0.5, -2.5),
        (-1.2, -0.8, 2.2),
        (0.9, -1.1, -1.9),
        (-0.6, 1.4, 1.6),
    ]
    misses = [
        (3.5, 0.3, 3.5),
        (-3.2, 0.8, 3.2),
        (3.0, -1.2, -3.0),
        (2.6, 1.6, -2.6),
        (-2.3, -1.7, 2.3),
        (1.7, 2.1, 1.7),
        (-1.4, -2.4, -1.4),
    ]
    return _around_target(hits, misses, lost=1)


def lost_miss() -> Example:
    """Return a target whose misses are equally near in features 1, 2, while in 2, 3 one is much nearer.

    Hits have the same distances in both.
    """
    hits = [
        (1.9, 0.1, 1.9),
        (-1.7, 0.4, 1.7),
        (1.4, -0.6, -1.4),
        (-1.1, -0.8, -1.1),
        (0.8, 1.2, 0.8),
        (-0.5, 1.6, -0.5),
    ]
    misses = [
        (2.7, 0.3, 1.5),
        (-2.6, 0.4, 3.0),
        (2.3, -0.8, -2.6),
        (-1.9, -1.2, 2.2),
        (1.6, 1.3, -2.1),
        (-1.3, 1.7, 1.7),
        (1.0, -2.1, -1.3),
    ]
    return _around_target(hits, misses, lost=7)


def _around_target(
    hits: list[tuple[float, float, float]], misses: list[tuple[float, float, float]], *, lost: int
) -> Example:
    X = np.array([(0.0, 0.0, 0.0), *hits, *misses])
    y = np.array([0] * (1 + len(hits)) + [1] * len(misses))
    return X, y, np.array([0, lost])


def shifted_digits() -> tuple[NDArray[np.float32], NDArray[np.int16], None]:
    """Return scikit-learn's digits, even against odd, at random positions of larger images.

    Each pixel becomes four, and each 16 × 16 digit is placed on 24 × 24 pixels.
    """
    digits = load_digits()
    places = np.random.default_rng(0).integers(24 - 16, size=(len(digits.target), 2), endpoint=True)
    X = np.zeros((len(digits.target), 24, 24), dtype=np.float32)
    for image, small, (top, left) in zip(X, digits.images, places, strict=True):
        image[top : top + 16, left : left + 16] = np.kron(small, np.ones((2, 2)))
    return X.reshape(len(X), -1), (digits.target % 2).astype(np.int16), None


#: Problems of Passemiers et al. (2024) and their numbers of relevant features, which come first.
PROBLEMS: Mapping[str, int] = {"RING": 2, "XOR": 2, "RING+XOR": 4, "RING+XOR+SUM": 6}
#: Thresholds of the parts, which give about as many samples to either class.
_THRESHOLDS: Mapping[str, tuple[float, ...]] = {
    "RING": (0.1151,),
    "RING+XOR": (0.0704, 0.0337),
    "RING+XOR+SUM": (0.0479, 0.0598, 1.4074),
}


def nonlinear_problem(
    name: str, n_samples: int, n_features: int, seed: Sequence[int] = (0,)
) -> tuple[NDArray[np.float64], NDArray[np.int64], None]:
    """Return samples of a problem of Passemiers et al. (2024), uniform on [0, 1], and their classes."""
    random = np.random.default_rng(seed)
    X = random.random((n_samples, n_features))
    centered = X - 0.5
    if name == "XOR":
        return X, (-centered[:, 0] * centered[:, 1] >= 0.0).astype(np.int64), None
    ring, *others = _THRESHOLDS[name]
    positive = np.abs(np.hypot(centered[:, 0], centered[:, 1]) - 0.35) <= ring
    if others:
        positive |= -centered[:, 2] * centered[:, 3] >= others[0]
    if len(others) > 1:
        positive |= X[:, 4] + X[:, 5] + random.normal(0.0, 0.2, n_samples) >= others[1]
    return X, positive.astype(np.int64), None


#: Generators by set, with the sample sizes of the published files. Files take precedence.
GENERATED: Mapping[str, Callable[[], Any]] = {
    "ringnorm": lambda: make_ringnorm(7400, random_state=0),
    "twonorm": lambda: make_twonorm(7400, random_state=0),
    "waveform": lambda: make_waveform(5000, n_classes=2, random_state=0),
    "spiral": lambda: make_fermat_spiral(400, random_state=0),
    "spiral_one_turn": lambda: make_fermat_spiral(400, turns=1.0, random_state=0),
    "lost_hit": lost_hit,
    "lost_miss": lost_miss,
    "shifted_digits": shifted_digits,
    **{name: partial(nonlinear_problem, name, 1000, 8) for name in PROBLEMS},
}


class NoSuchSetError(LookupError):
    """A data set that is not available."""


class BadSetError(ValueError):
    """A file without the arrays of a data set."""


@dataclass(frozen=True)
class DataSet:
    """Samples and class codes."""

    name: str
    #: (n_samples, n_features), unscaled.
    X: NDArray[Any]
    #: (n_samples,) class codes 0, 1, …
    y: NDArray[Any]
    #: Further arrays of the file: splits, names.
    extras: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    #: SHA-256 of the file.
    digest: str = ""

    def split(self, repeat: int, n_train: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the indices of training and test samples: a partition of the file.

        If the file has fewer partitions, a random one with n_train training samples.
        """
        train, test = self.extras.get("train_idx"), self.extras.get("test_idx")
        if train is not None and test is not None and train.ndim == 2 and repeat < len(train):
            return train[repeat], test[repeat]
        order = np.random.default_rng([20070601, repeat]).permutation(len(self.y))
        return order[:n_train], order[n_train:]


class Sets:
    """Data sets in folders, as ``<group>/<name>.npz``, or generated; the first folder takes precedence."""

    def __init__(self, *folders: Path | None) -> None:
        self.folders = tuple(folder for folder in folders if folder is not None)

    def path(self, name: str) -> Path | None:
        """Return the file of a set; None if there is none."""
        found = (path for folder in self.folders for path in sorted(folder.glob(f"*/{name}.npz")))
        return next(found, None)

    def names(self, group: str) -> list[str]:
        """Return the names of the sets of a group in the folders."""
        return sorted({path.stem for folder in self.folders for path in folder.glob(f"{group}/*.npz")})

    def __contains__(self, name: str) -> bool:
        return name in GENERATED or self.path(name) is not None

    def is_generated(self, name: str) -> bool:
        """Return whether a set is generated because no folder has it."""
        return name in GENERATED and self.path(name) is None

    def get(self, name: str) -> DataSet:
        """Return a set by name."""
        path = self.path(name)
        if path is None and name in GENERATED:
            return _generate(name)
        if path is None:
            where = " or ".join(str(folder) for folder in self.folders)
            reason = f"not in {where}" if where else "no data folder was given"
            raise NoSuchSetError(f"The set {name} is not at hand: {reason}.")
        data = path.read_bytes()
        arrays = _read(path, data)
        X, y = arrays.pop("X"), arrays.pop("y")
        return DataSet(name, X, y, arrays, hashlib.sha256(data).hexdigest())


def _read(path: Path, data: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file after checking X and y."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
        X, y = arrays["X"], arrays["y"]
    except (AttributeError, BadZipFile, EOFError, KeyError, ValueError) as error:
        raise BadSetError(f"{path} is no file with the arrays X and y.") from error
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise BadSetError(f"{path} has X of shape {X.shape} and y of shape {y.shape}, not (n, d) and (n,).")
    return arrays


def _generate(name: str) -> DataSet:
    X, y, _ = GENERATED[name]()
    return DataSet(name, X, y, digest=hashlib.sha256(X.tobytes() + y.tobytes()).hexdigest())


# Sets from OpenML


class FetchError(RuntimeError):
    """A set that could not be fetched."""


@dataclass(frozen=True)
class Source:
    """OpenML's number of a set, and the shape that identifies it."""

    #: OpenML's number of the set.
    number: int
    n_features: int
    #: Class sizes in the order of the codes; they identify the classes.
    sizes: tuple[int, ...]
    #: New codes of the classes, where classes are merged.
    codes: tuple[int, ...] | None = None
    #: Values of nominal features in the order of their codes 1, 2, …; rows with other values are dropped.
    letters: str | None = None


#: By the papers' names; class sizes according to UCI.
SOURCES: dict[str, Source] = {
    "banana": Source(1460, 2, (2924, 2376)),
    "diabetis": Source(37, 8, (500, 268)),
    "ecoli": Source(39, 7, (143, 77, 52, 35, 20, 5, 2, 2)),
    "glass": Source(41, 9, (70, 76, 17, 13, 9, 29)),
    "haberman": Source(43, 3, (225, 81)),
    "hayes_roth": Source(329, 4, (65, 64, 31)),
    "heart": Source(53, 13, (150, 120)),
    "heart_statlog": Source(53, 13, (150, 120)),
    "ionosphere": Source(59, 34, (126, 225)),
    "leukemia_golub": Source(1104, 7129, (47, 25)),
    "lymphography": Source(10, 18, (2, 81, 61, 4)),
    "parkinsons": Source(1488, 22, (48, 147)),
    "segmentation": Source(36, 19, (330,) * 7),
    # Donors, acceptors and the rest; rows with ambiguous bases are dropped.
    "splice": Source(46, 60, (1648, 762, 765), codes=(0, 1, 1), letters="AGCT"),
    "thyroid": Source(40682, 5, (150, 35, 30), codes=(0, 1, 1)),
    "vertebral_column_2c": Source(1524, 6, (210, 100)),
    "wine_quality_red": Source(40691, 11, (10, 53, 681, 638, 199, 18)),
    "wine_quality_white": Source(40498, 11, (20, 163, 1457, 2198, 880, 175, 5)),
    "yeast": Source(181, 8, (463, 429, 244, 163, 51, 44, 35, 30, 20, 5)),
}


def fetch(name: str, folder: Path) -> Path:
    """Fetch a set from OpenML, write ``<folder>/openml/<name>.npz`` and return its path."""
    source = SOURCES[name]
    try:
        with warnings.catch_warnings():
            # scikit-learn warns of every failed attempt; the last one is raised below.
            warnings.filterwarnings("ignore", message="A network error", category=UserWarning)
            # This parser needs no pandas and returns codes of nominal values.
            found = fetch_openml(data_id=source.number, as_frame=False, parser="liac-arff", cache=False)
    except (HTTPException, OSError, ValueError) as error:
        raise FetchError(f"OpenML's set {source.number} ({name}) could not be had: {error}") from error
    X, labels = np.asarray(found.data, dtype=np.float64), np.asarray(found.target)
    if source.letters is not None:
        X, labels = _encode_nominal(X, labels, found.feature_names, found.categories, source.letters)
    y = _classes(name, X, labels, source)
    path = folder / "openml" / f"{name}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    names = np.array([str(each) for each in found.feature_names])
    with atomic_write(path) as partial, partial.open("wb") as file:
        np.savez_compressed(file, X=X, y=y, feature_names=names)
    return path


def _encode_nominal(
    X: NDArray[np.float64],
    labels: NDArray[Any],
    names: Sequence[str],
    categories: Mapping[str, Sequence[str]],
    letters: str,
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Encode nominal values as 1, 2, … in the given order; drop rows with other values."""
    coded = np.zeros_like(X)
    for column, name in enumerate(names):
        code = [letters.find(str(value).strip()) + 1 for value in categories[name]]
        coded[:, column] = np.array(code)[X[:, column].astype(np.int64)]
    whole = (coded > 0).all(axis=1)
    return coded[whole], labels[whole]


def _classes(name: str, X: NDArray[np.float64], labels: NDArray[Any], source: Source) -> NDArray[np.int16]:
    """Return class codes, identified by class sizes; equal sizes in the order of the labels."""
    known, places, sizes = np.unique(labels.astype(str), return_inverse=True, return_counts=True)
    if X.shape[1] != source.n_features or sorted(sizes) != sorted(source.sizes):
        raise FetchError(
            f"OpenML's set {source.number} is not {name}: it has {X.shape[1]} features and classes of"
            f" {', '.join(map(str, sorted(sizes)))} samples."
        )
    code_order = np.argsort(source.sizes, kind="stable")
    code = np.empty(len(known), dtype=np.int16)
    code[np.argsort(sizes, kind="stable")] = code_order
    if source.codes is not None:
        code = np.array(source.codes, dtype=np.int16)[code]
    return code[places.ravel()]
