"""The papers' data sets, from a folder."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


class NoSuchSetError(LookupError):
    """A data set that is not at hand."""


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

    def split(self, repeat: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Places of the samples for training and for testing, in one of the partitions that the file has."""
        train, test = self.more["train_idx"], self.more["test_idx"]
        return train[repeat % len(train)], test[repeat % len(test)]


class Sets:
    """The sets of a folder of the form ``<group>/<name>.npz``."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def path(self, name: str) -> Path | None:
        """The file of a set; None if there is none."""
        if self.folder is None:
            return None
        return next(iter(sorted(self.folder.glob(f"*/{name}.npz"))), None)

    def __contains__(self, name: str) -> bool:
        return self.path(name) is not None

    def get(self, name: str) -> DataSet:
        """A set by its name."""
        path = self.path(name)
        if path is None:
            where = "no data folder was given" if self.folder is None else f"not in {self.folder}"
            raise NoSuchSetError(f"The set {name} is not at hand: {where}.")
        with np.load(path, allow_pickle=False) as file:
            held = {key: file[key] for key in file.files}
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        X, y = held.pop("X"), held.pop("y")
        return DataSet(name, X, y, held, digest)
