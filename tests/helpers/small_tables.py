"""Tables that several test modules use: random, incomplete, mixed, wide, on disk, as a stream.

And the limits under which a small one is searched as a large one is.
"""

import numpy as np
from hypothesis import strategies as st

from highrelief._engine.engine import LocalEngine
from highrelief._engine.layout import Packed
from highrelief._engine.scaling import Scaling

PRECISIONS = (np.float32, np.float64)
#: Limits under which the search for nearest neighbors takes one order of the work, whatever the shape.
SEARCH_ORDERS = {
    "all": {"few_anchors": 0.0, "wide_search_ratio": 0.0},
    "rows": {"few_anchors": np.inf, "band": 64},
    "bands": {"few_anchors": 0.0, "wide_search_ratio": np.inf, "band": 1},  # of one tile each
}


def packed_table(X, y, copies=None, n_threads=1):
    unscaled = Scaling.none(X.shape[1], X.dtype)
    return Packed(X, y, int(y.max()) + 1, scaling=unscaled, sample_weight=copies, n_threads=n_threads)


def local_rows(X, y, copies=None, n_threads=1, memory=2.0**30):
    return LocalEngine(packed_table(X, y, copies, n_threads), memory)


def draw_table(seed, n, d, n_classes, kind="continuous", dtype=np.float64):
    rng = np.random.default_rng(seed)
    if kind == "continuous":
        X = rng.random((n, d))
    elif kind == "thirds":  # ties that range scaling splits by rounding
        X = rng.integers(0, 4, (n, d)) / 3.0
    else:
        X = rng.integers(0, 3, (n, d)) / 2.0
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    return X.astype(dtype), y


tables = st.builds(
    draw_table,
    seed=st.integers(0, 10**6),
    n=st.integers(5, 80),
    d=st.integers(1, 20),
    n_classes=st.integers(2, 4),
    kind=st.sampled_from(["continuous", "thirds", "genotypes"]),
)


def incomplete_table(dtype, counted, seed=0):
    """Numbers with gaps, a column of few levels, a complete one and one without any value."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(70, 6))
    X[:, 4] = random.integers(0, 3, 70)
    X[random.random(X.shape) < 0.2] = np.nan
    X[:, 3] = np.nan
    X[:, 5] = random.normal(size=70)
    copies = random.integers(1, 4, 70).astype(float) if counted else None
    return X.astype(dtype), random.integers(0, 3, 70), copies


CATEGORICAL = [1, 3, 4, 6]


def mixed_table(seed=0, gaps=0.15, n=60):
    """Numbers and codes of 5, 2, 3 and 1 levels; one class lacks all values of a categorical feature."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 7))
    y = random.integers(0, 3, n)
    for j, n_levels in zip(CATEGORICAL, (5, 2, 3, 1), strict=True):
        X[:, j] = random.integers(0, n_levels, n)
    X[:, 3] = np.where(random.random(n) < 0.7, y == 1, X[:, 3])
    if gaps:
        X[random.random(X.shape) < gaps] = np.nan
        X[y == 2, 4] = np.nan
    return X, y


def wide_table(n_samples=24, n_features=60, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_samples) % n_classes)
    X = rng.normal(size=(n_samples, n_features))
    X[:, :3] += 2.0 * y[:, np.newaxis]
    return X, y


def tall_map(path, dtype="float32", shape=(600, 20)):
    """A table on disk whose first feature tells the classes, and these."""
    rng = np.random.default_rng(1)
    X = np.memmap(path, dtype, "w+", shape=shape)
    for start in range(0, shape[0], 1000):
        part = X[start : start + 1000]
        part[:] = rng.integers(0, 100, part.shape)
    y = np.arange(shape[0]) % 2
    X[:, 0] = 40 * y + rng.integers(0, 30, shape[0])
    X.flush()
    return np.memmap(path, dtype, "r", shape=shape), y


N_FEATURES = 20


def batch(number, n_rows=500):
    """Rows of a stream: two features that act together, one that is shifted by the class, noise."""
    rng = np.random.default_rng([3, number])
    y = rng.integers(0, 2, n_rows)
    X = rng.uniform(-1.0, 1.0, (n_rows, N_FEATURES))
    sign = rng.choice([-1.0, 1.0], n_rows)
    X[:, 0], X[:, 1] = (
        sign * rng.uniform(0.3, 1.0, n_rows),
        sign * (2 * y - 1) * rng.uniform(0.3, 1.0, n_rows),
    )
    X[:, 2] += 0.5 * (2 * y - 1)
    return X, y
