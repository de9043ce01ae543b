"""Tables on disk: a fit of a memory map takes less memory than the table would."""

import sys

import numpy as np
import pytest
from processes import run
from registry import THOROUGH

from highrelief import IRelief, Relief, ReliefF

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux tells how much memory of a process no file holds"
)

#: Tables of 240 MB,
SHAPES = {"float32": (300, 200_000), "float64": (300, 100_000), "int8": (800, 300_000)}
#: and what may be taken for any of them, in MB.
ALLOWED = 120.0
#: All that are worked on as they are in each type; others become float64 as a whole.
MODELS = {"int8": ["ReliefF()"]}
FLOAT_MODELS = ["Relief()", "ReliefF()", "IRelief(max_iter=1)", "FisherScore()"]

FITS = """
import json, warnings
import numpy as np
from highrelief import FisherScore, IRelief, Relief, ReliefF
from peak_memory import anonymous_peak_of

warnings.simplefilter("ignore")  # one iteration is too few to converge
models = [{models}]
small = np.random.default_rng(0).integers(0, 3, (40, 50)).astype({dtype!r})
for model in models:
    model.fit(small, np.arange(40) % 2)  # compile
X = np.memmap({path!r}, {dtype!r}, "r", shape={shape}, order={order!r})
y = np.arange(len(X)) % 2
taken = anonymous_peak_of(lambda: [model.fit(X, y) for model in models])
ranks = [sorted(model.ranking_[:2].tolist()) for model in models]
print(json.dumps([taken / 1e6, X.nbytes / 1e6, ranks]))
"""


def write(path, dtype, shape, order):
    """A table of whole numbers in which the first two features tell the class."""
    X = np.memmap(path, dtype, "w+", shape=shape, order=order)
    rng = np.random.default_rng(0)
    for start in range(0, shape[1], 20_000):
        part = X[:, start : start + 20_000]
        part[:] = rng.integers(0, 100, part.shape, np.int8)
    X[:, :2] = 40 * (np.arange(shape[0]) % 2)[:, np.newaxis] + rng.integers(0, 30, (shape[0], 2))
    X.flush()


#: Each way to read a table: floats that lie by columns, or by rows, and whole numbers.
LAYOUTS = [("float32", "F"), ("int8", "C")] + THOROUGH * [("float32", "C"), ("float64", "F")]


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "order"), LAYOUTS)
def test_a_wide_table_is_fitted_in_half_of_the_memory_it_would_take(tmp_path, dtype, order):
    """All models one after another: the most that any of them takes, with what is left from those before."""
    shape, path = SHAPES[dtype], tmp_path / "table"
    write(path, dtype, shape, order)
    models = MODELS.get(dtype, FLOAT_MODELS)
    most, size, ranks = run(
        FITS.format(models=", ".join(models), dtype=dtype, order=order, shape=shape, path=str(path))
    )
    path.unlink()
    assert size >= 2 * ALLOWED
    assert most < ALLOWED, most
    assert ranks == [[1, 2]] * len(models)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
@pytest.mark.parametrize("model", [Relief(), ReliefF(), IRelief()])
def test_the_answer_is_that_of_the_array(tmp_path, model, dtype, order):
    rng = np.random.default_rng(1)
    X = np.asarray(rng.integers(0, 100, (60, 300)), dtype=dtype, order=order)
    y = np.arange(60) % 2
    X[:, 0] = 40 * y + rng.integers(0, 30, 60)
    on_disk = np.memmap(tmp_path / "table", dtype, "w+", shape=X.shape, order=order)
    on_disk[:] = X
    on_disk.flush()
    read_only = np.memmap(tmp_path / "table", dtype, "r", shape=X.shape, order=order)
    expected = model.fit(X, y).feature_weights_
    np.testing.assert_array_equal(model.fit(read_only, y).feature_weights_, expected)
