"""The papers' data sets: from folders, or made where only a generator is needed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..datasets import make_fermat_spiral, make_ringnorm, make_twonorm, make_waveform
from .examples import lost_hit, lost_miss


def _shifted_digits() -> tuple[NDArray[np.float32], NDArray[np.int16], None]:
    """The handwritten digits that come with scikit-learn, even and odd, somewhere on larger images.

    Each pixel becomes four, and each digit of 16 by 16 is put at a random place of 24 by 24.
    """
    from sklearn.datasets import load_digits  # noqa: PLC0415

    held = load_digits()
    places = np.random.default_rng(0).integers(24 - 16, size=(len(held.target), 2), endpoint=True)
    X = np.zeros((len(held.target), 24, 24), dtype=np.float32)
    for image, small, (top, left) in zip(X, held.images, places, strict=True):
        image[top : top + 16, left : left + 16] = np.kron(small, np.ones((2, 2)))
    return X.reshape(len(X), -1), (held.target % 2).astype(np.int16), None


#: Sets that only need a generator, or come with scikit-learn; sizes as of the files in circulation. Files
#: have precedence.
GENERATED: Mapping[str, Callable[[], Any]] = {
    "ringnorm": lambda: make_ringnorm(7400, random_state=0),
    "twonorm": lambda: make_twonorm(7400, random_state=0),
    "waveform": lambda: make_waveform(5000, n_classes=2, random_state=0),
    "spiral": lambda: make_fermat_spiral(400, random_state=0),
    "lost_hit": lost_hit,
    "lost_miss": lost_miss,
    "shifted_digits": _shifted_digits,
}


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
        with np.load(path, allow_pickle=False) as file:
            held = {key: file[key] for key in file.files}
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        X, y = held.pop("X"), held.pop("y")
        return DataSet(name, X, y, held, digest)


def _made(name: str) -> DataSet:
    X, y, _ = GENERATED[name]()
    return DataSet(name, X, y, digest=hashlib.sha256(X.tobytes() + y.tobytes()).hexdigest())
