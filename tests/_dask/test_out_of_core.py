"""Tables on disk that are larger than the memory a fit may take: Zarr, HDF5 and Parquet through Dask."""

from pathlib import Path

import numpy as np
import pytest
from out_of_core import fitted
from registry import THOROUGH, long

from highrelief import ReliefF

pytest.importorskip("dask.array", reason="needs the extra 'dask'")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="anonymous memory is read from /proc"),
]

WEIGHTERS = ["ReliefF(n_neighbors=5)", "IRelief(sigma=20.0, max_iter=2, tol=0.0)"]


def wide_blocks(n_blocks, n_samples=400, width=2500):
    """Blocks of columns of a table that no test holds as a whole, and its classes; column 7 tells them."""
    y = np.arange(n_samples) % 2
    for place in range(n_blocks):
        block = np.random.default_rng(place).standard_normal((n_samples, width), dtype=np.float32)
        if place == 0:
            block[:, 7] += 6 * y
        yield block


@pytest.mark.parametrize("estimator", WEIGHTERS if THOROUGH else WEIGHTERS[:1])
def test_a_wide_zarr(estimator, tmp_path):
    zarr = pytest.importorskip("zarr")
    # What Zarr's own threads take, up to 60 MB, does not grow with the table.
    n_blocks, n, width = 110, 400, 2500
    # Random numbers cannot be compressed, and to try takes most of the time.
    uncompressed = {"codecs": [zarr.codecs.BytesCodec()]} if zarr.__version__ >= "3" else {"compressor": None}
    table = zarr.open(
        str(tmp_path / "X.zarr"),
        mode="w",
        shape=(n, n_blocks * width),
        chunks=(n, width),
        dtype="float32",
        **uncompressed,
    )
    for place, block in enumerate(wide_blocks(n_blocks)):
        table[:, place * width : (place + 1) * width] = block
    found = fitted(estimator, f"X = da.from_zarr({str(tmp_path / 'X.zarr')!r})")
    assert found["partition"] == "columns"
    assert found["best"] == 7
    assert found["taken"] < n * n_blocks * width * 4 / 4


@long
@pytest.mark.parametrize("estimator", WEIGHTERS[:1])
def test_a_wide_hdf5(estimator, tmp_path):
    h5py = pytest.importorskip("h5py")
    n_blocks, n, width = 100, 400, 2500
    with h5py.File(tmp_path / "X.h5", "w") as file:
        table = file.create_dataset("X", (n, n_blocks * width), dtype="float32", chunks=(n, width))
        for place, block in enumerate(wide_blocks(n_blocks)):
            table[:, place * width : (place + 1) * width] = block
    found = fitted(
        estimator,
        f"import h5py\nX = da.from_array(h5py.File({str(tmp_path / 'X.h5')!r})['X'], chunks=({n}, {width}))",
    )
    assert found["best"] == 7
    assert found["taken"] < n * n_blocks * width * 4 / 4


@long
def test_a_tall_hdf5(tmp_path):
    """By pairs of blocks of rows. Few anchors, so that there are few pairs: tests/long has them all."""
    h5py = pytest.importorskip("h5py")
    n_blocks, rows, width = 64, 300, 4000
    with h5py.File(tmp_path / "X.h5", "w") as file:
        table = file.create_dataset("X", (n_blocks * rows, width), dtype="float32", chunks=(rows, width))
        for place in range(n_blocks):
            block = np.random.default_rng(place).random((rows, width), dtype=np.float32)
            block[:, 7] = np.arange(rows) % 2
            table[place * rows : (place + 1) * rows] = block
    found = fitted(
        "ReliefF(n_neighbors=5, n_anchors=4, random_state=0)",
        f"import h5py\nX = da.from_array(h5py.File({str(tmp_path / 'X.h5')!r})['X'], chunks=({rows}, -1))",
    )
    assert found["partition"] == "rows"
    assert found["best"] == 7
    assert found["taken"] < n_blocks * rows * width * 4 / 4


def test_parquet_files_are_a_data_frame(tmp_path):
    dd = pytest.importorskip("dask.dataframe", reason="needs the extra 'dask'")
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    X = np.random.default_rng(0).normal(size=(120, 5))
    y = (X[:, 1] * X[:, 3] > 0).astype(int)
    frame = pandas.DataFrame(X, columns=list("abcde"))
    for place in range(3):
        frame[40 * place : 40 * (place + 1)].to_parquet(tmp_path / f"part.{place}.parquet")
    lazy = dd.read_parquet(tmp_path)
    ours = ReliefF(n_features_to_select=2).fit(lazy, y)
    assert ours.get_feature_names_out().tolist() == ["b", "d"]
    np.testing.assert_allclose(ours.feature_weights_, ReliefF().fit(X, y).feature_weights_, atol=1e-12)
