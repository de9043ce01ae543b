"""A tall table on disk that is several times larger than the anonymous memory a fit takes; minutes."""

import numpy as np
import pytest
from out_of_core import fitted


def fitted_to_tall_table(tmp_path, n_blocks, rows, width):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "X.h5", "w") as file:
        table = file.create_dataset("X", (n_blocks * rows, width), dtype="float32", chunks=(rows, width))
        for place in range(n_blocks):
            block = np.random.default_rng(place).normal(size=(rows, width))
            block[:, 7] += 6 * (np.arange(rows) % 2)
            table[place * rows : (place + 1) * rows] = block
    found = fitted(
        "ReliefF(n_neighbors=5)",
        f"import h5py\nX = da.from_array(h5py.File({str(tmp_path / 'X.h5')!r})['X'], chunks=({rows}, -1))",
        timeout=3600.0,
    )
    return found | {"table": n_blocks * rows * width * 4}


def test_a_tall_table_takes_a_third_of_its_size(tmp_path):
    """24,000 samples: all distances would take 2.3 GB. Two tasks hold two blocks each, and copies of them."""
    found = fitted_to_tall_table(tmp_path, n_blocks=80, rows=300, width=6000)
    assert found["partition"] == "rows"
    assert found["best"] == 7
    assert found["taken"] < found["table"] / 3


def test_tall_parquet_files_take_half_of_their_size(tmp_path):
    """160 files of 1.6 MB, each of which a data frame is made of first."""
    pytest.importorskip("dask.dataframe", reason="needs the extra 'dask'")
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    n_blocks, rows, width = 160, 500, 800
    names = [f"x{place}" for place in range(width)]
    for place in range(n_blocks):
        block = np.random.default_rng(place).random((rows, width), dtype=np.float32)
        block[:, 7] = np.arange(rows) % 2
        pandas.DataFrame(block, columns=names).to_parquet(tmp_path / f"part.{place:03}.parquet")
    found = fitted(
        "ReliefF(n_neighbors=5, n_anchors=4, random_state=0)",
        f"import dask.dataframe as dd\nX = dd.read_parquet({str(tmp_path)!r})",
    )
    assert found["partition"] == "rows"
    assert found["best"] == 7
    assert found["taken"] < n_blocks * rows * width * 4 / 2
