"""The papers' data sets from OpenML, through scikit-learn, written as files of the data folder's form."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_openml

from ..core.whole_files import written_whole


class FetchError(RuntimeError):
    """A set that could not be had, and why."""


@dataclass(frozen=True)
class Source:
    """Where a set is, and what it must look like to be the papers' set."""

    #: OpenML's number of the set.
    number: int
    n_features: int
    #: Samples of each class, in the order of the classes' codes. They tell which label is which class.
    sizes: tuple[int, ...]
    #: The code that each class gets, where classes are merged.
    codes: tuple[int, ...] | None = None
    #: Values of a nominal feature in the order of their codes from 1 on; rows with others are left out.
    letters: str | None = None


#: By the papers' names; class sizes as UCI states them.
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
    # Donors, acceptors and the rest; rows with ambiguous bases are left out.
    "splice": Source(46, 60, (1648, 762, 765), codes=(0, 1, 1), letters="AGCT"),
    "thyroid": Source(40682, 5, (150, 35, 30), codes=(0, 1, 1)),
    "vertebral_column_2c": Source(1524, 6, (210, 100)),
    "wine_quality_red": Source(40691, 11, (10, 53, 681, 638, 199, 18)),
    "wine_quality_white": Source(40498, 11, (20, 163, 1457, 2198, 880, 175, 5)),
    "yeast": Source(181, 8, (463, 429, 244, 163, 51, 44, 35, 30, 20, 5)),
}


def fetch(name: str, folder: Path) -> Path:
    """Get a set and write ``<folder>/openml/<name>.npz``; returns the path."""
    source = SOURCES[name]
    try:
        with warnings.catch_warnings():
            # It says of every attempt that it failed; the last is told below.
            warnings.filterwarnings("ignore", message="A network error", category=UserWarning)
            # This reader needs no pandas, and gives nominal values as codes.
            found = fetch_openml(data_id=source.number, as_frame=False, parser="liac-arff", cache=False)
    except (HTTPException, OSError, ValueError) as error:
        raise FetchError(f"OpenML's set {source.number} ({name}) could not be had: {error}") from error
    X, labels = np.asarray(found.data, dtype=np.float64), np.asarray(found.target)
    if source.letters is not None:
        X, labels = _coded(X, labels, found.feature_names, found.categories, source.letters)
    y = _classes(name, X, labels, source)
    path = folder / "openml" / f"{name}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    names = np.array([str(each) for each in found.feature_names])
    with written_whole(path) as partial, partial.open("wb") as file:
        np.savez_compressed(file, X=X, y=y, feature_names=names)
    return path


def _coded(
    X: NDArray[np.float64],
    labels: NDArray[Any],
    names: Sequence[str],
    categories: Mapping[str, Sequence[str]],
    letters: str,
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Nominal values in a stated order, from 1 on; rows with other values are left out."""
    coded = np.zeros_like(X)
    for column, name in enumerate(names):
        code = [letters.find(str(value).strip()) + 1 for value in categories[name]]
        coded[:, column] = np.array(code)[X[:, column].astype(np.int64)]
    whole = (coded > 0).all(axis=1)
    return coded[whole], labels[whole]


def _classes(name: str, X: NDArray[np.float64], labels: NDArray[Any], source: Source) -> NDArray[np.int16]:
    """Codes of the classes, told apart by their sizes; of equal sizes in the order of their labels."""
    known, places, sizes = np.unique(labels.astype(str), return_inverse=True, return_counts=True)
    if X.shape[1] != source.n_features or sorted(sizes) != sorted(source.sizes):
        raise FetchError(
            f"OpenML's set {source.number} is not {name}: it has {X.shape[1]} features and classes of"
            f" {', '.join(map(str, sorted(sizes)))} samples."
        )
    wanted = np.argsort(source.sizes, kind="stable")
    code = np.empty(len(known), dtype=np.int16)
    code[np.argsort(sizes, kind="stable")] = wanted
    if source.codes is not None:
        code = np.array(source.codes, dtype=np.int16)[code]
    return code[places.ravel()]
