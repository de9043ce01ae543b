"""Small sets in the form of the data folder of the papers' experiments."""

import numpy as np


def written_set(folder, name, *, n_train=60, n_test=50, n_features=3, seed=0, n_splits=4):
    """A small set in the form of the data folder: two classes that the first two features tell apart."""
    random = np.random.default_rng(seed)
    n = n_train + n_test
    X = random.standard_normal((n, n_features)).astype(np.float32)
    y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(np.int16)
    orders = np.array([random.permutation(n) for _ in range(n_splits)])
    (folder / "group").mkdir(parents=True, exist_ok=True)
    np.savez(
        folder / "group" / f"{name}.npz",
        X=X,
        y=y,
        train_idx=orders[:, :n_train],
        test_idx=orders[:, n_train:],
    )
