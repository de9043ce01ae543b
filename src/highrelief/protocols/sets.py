"""The papers' data sets: from folders, or made where only a generator is needed."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from .made import GENERATED


class NoSuchSetError(LookupError):
    """A data set that is not at hand."""


class BadSetError(ValueError):
    """A file that is not of the form of a data set."""


@dataclass(frozen=True)
class DataSet:
    """Samples and their classes."""

    name: str
    #: (n_samples, n_features), as the source has them.
    X: NDArray[Any]
    #: (n_samples,), numbers from 0 on.
    y: NDArray[Any]
    #: What else the file holds: splits, names.
    more: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    #: SHA-256 of the file.
    digest: str = ""

    def split(self, repeat: int, n_train: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Places of the samples for training and for testing: one of the partitions that the file has.

        Where it has none, or no more, a random one with n_train samples for training.
        """
        train, test = self.more.get("train_idx"), self.more.get("test_idx")
        if train is not None and test is not None and train.ndim == 2 and repeat < len(train):
            return train[repeat], test[repeat]
        order = np.random.default_rng([20070601, repeat]).permutation(len(self.y))
        return order[:n_train], order[n_train:]


class Sets:
    """The sets of folders of the form ``<group>/<name>.npz``, the first that has it; or made."""

    def __init__(self, *folders: Path | None) -> None:
        self.folders = tuple(folder for folder in folders if folder is not None)

    def path(self, name: str) -> Path | None:
        """The file of a set; None if there is none."""
        found = (path for folder in self.folders for path in sorted(folder.glob(f"*/{name}.npz")))
        return next(found, None)

    def __contains__(self, name: str) -> bool:
        return name in GENERATED or self.path(name) is not None

    def is_made(self, name: str) -> bool:
        """Whether a set comes from its generator, since no folder has it."""
        return name in GENERATED and self.path(name) is None

    def get(self, name: str) -> DataSet:
        """A set by its name."""
        path = self.path(name)
        if path is None and name in GENERATED:
            return _made(name)
        if path is None:
            where = " or ".join(str(folder) for folder in self.folders)
            reason = f"not in {where}" if where else "no data folder was given"
            raise NoSuchSetError(f"The set {name} is not at hand: {reason}.")
        data = path.read_bytes()
        held = _read(path, data)
        X, y = held.pop("X"), held.pop("y")
        return DataSet(name, X, y, held, hashlib.sha256(data).hexdigest())


def _read(path: Path, data: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of a file, if they are of the form that a data folder has."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            held = {key: file[key] for key in file.files}
        X, y = held["X"], held["y"]
    except (AttributeError, BadZipFile, EOFError, KeyError, ValueError) as error:
        raise BadSetError(f"{path} is no file with the arrays X and y.") from error
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise BadSetError(f"{path} has X of shape {X.shape} and y of shape {y.shape}, not (n, d) and (n,).")
    return held


def _made(name: str) -> DataSet:
    X, y, _ = GENERATED[name]()
    return DataSet(name, X, y, digest=hashlib.sha256(X.tobytes() + y.tobytes()).hexdigest())
