"""Tables on disk: a fit of a memory map takes less memory than the table would."""

import sys

import numpy as np
import pytest
from processes import run
from registry import THOROUGH, in_turn, long
from sklearn.base import clone
from small_tables import tall_map

from highrelief import FREL, FisherScore, IRelief, Relief, ReliefF
from highrelief._engine import memory

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.skipif(
        sys.platform != "linux", reason="only Linux tells how much memory of a process no file holds"
    ),
]

#: Wide tables of 360 MB,
SHAPES = {"float32": (300, 300_000), "float64": (300, 150_000), "int8": (1200, 300_000)}
#: and what may be taken for any of them, in MB.
ALLOWED = 90.0
#: All that are worked on as they are in each type; others become float64 as a whole.
MODELS = {"int8": ["ReliefF()"]}
FLOAT_MODELS = ["ReliefF()", "IRelief(max_iter=1)", *THOROUGH * ["Relief()", "FisherScore()"]]

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
LAYOUTS = [("float32", "F")] + THOROUGH * [("int8", "C"), ("float32", "C"), ("float64", "F")]


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "order"), LAYOUTS)
def test_a_wide_table_is_fitted_in_a_quarter_of_the_memory_it_would_take(tmp_path, dtype, order):
    """All models one after another: the most that any of them takes, with what is left from those before."""
    shape, path = SHAPES[dtype], tmp_path / "table"
    write(path, dtype, shape, order)
    models = MODELS.get(dtype, FLOAT_MODELS)
    most, size, ranks = run(
        FITS.format(models=", ".join(models), dtype=dtype, order=order, shape=shape, path=str(path))
    )
    path.unlink()
    assert size >= 4 * ALLOWED
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


# Tall tables


@pytest.fixture
def no_room(monkeypatch):
    """As where there is next to no memory."""
    pytest.importorskip("dask.array", reason="needs the extra 'dask'")
    monkeypatch.setattr(memory, "free_memory", lambda: 1000.0)


@pytest.mark.slow
@in_turn(
    pytest.mark.parametrize(
        "model", [Relief(), ReliefF(), IRelief(max_iter=2, sigma=5.0), FREL(solver="exact")]
    ),
    dtype=["float32", "float64", "int8"],
)
def test_a_tall_table_without_room_for_a_copy_is_read_in_blocks(tmp_path, model, dtype, no_room):
    on_disk, y = tall_map(tmp_path / "table", dtype)
    expected = clone(model).fit(np.array(on_disk), y)
    ours = model.fit(on_disk, y)
    assert "n_blocks" not in expected.execution_
    assert ours.execution_["backend"] == "dask threads"
    assert ours.execution_["n_blocks"] > 1
    tolerance = 1e-5 if dtype == "float32" else 1e-10
    np.testing.assert_allclose(ours.feature_weights_, expected.feature_weights_, rtol=0.0, atol=tolerance)
    np.testing.assert_allclose(ours.margins(on_disk, y), expected.margins(np.array(on_disk), y), atol=1e-4)


def test_others_copy_it(tmp_path, no_room):
    on_disk, y = tall_map(tmp_path / "table")
    expected = FisherScore().fit(np.array(on_disk), y).feature_weights_
    np.testing.assert_array_equal(FisherScore().fit(on_disk, y).feature_weights_, expected)


def test_without_dask_it_is_said_what_would_read_it(tmp_path, monkeypatch, force, no_room):
    on_disk, y = tall_map(tmp_path / "table")
    force(unchecked_bytes=0.0)
    monkeypatch.setitem(sys.modules, "dask.array", None)
    with pytest.raises(MemoryError, match=r"A copy of X would take .* pip install 'highrelief\[dask\]'"):
        ReliefF().fit(on_disk, y)


TALL_FITS = """
import json, warnings
import dask, numpy as np
from highrelief import ReliefF
from highrelief._engine import memory
from peak_memory import anonymous_peak_of
from small_tables import tall_map

warnings.simplefilter("ignore")  # one iteration is too few to converge
dask.config.set(num_workers=2)
memory.free_memory = lambda: 1e8
small = tall_map({path!r} + ".small", shape=(40_000, 50))
model = ReliefF(n_anchors=8, random_state=0)
model.fit(small[0][:300], small[1][:300]), model.fit(small[0], small[1])  # compile, and load Dask
X, y = tall_map({path!r}, shape=(40_000, 2000))
taken = anonymous_peak_of(lambda: model.fit(X, y))
print(json.dumps([taken / X.nbytes, model.execution_["partition"], model.ranking_.argmin().item()]))
"""


@pytest.mark.slow
@long
def test_a_tall_table_takes_a_third_of_its_size(tmp_path):
    """320 MB, of which the copy that is made where there is room takes half. Few anchors make few pairs."""
    pytest.importorskip("dask.array", reason="needs the extra 'dask'")
    share, partition, best = run(TALL_FITS.format(path=str(tmp_path / "table")))
    assert (partition, best) == ("rows", 0)
    assert share < 1 / 3
