"""
Data larger than memory
=======================

Pass a Dask array to ``fit``. The data is read block by block, from disk in this example, or computed on the
workers of a cluster if there is a ``distributed.Client``. The weights are those of the same data in memory.
"""

# %%
# A file of 400 × 20,000
# ----------------------
#
# Written in blocks of columns, which suits wide data; it is never in memory as a whole.

import shutil
import tempfile
from pathlib import Path

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

from highrelief import ReliefF

folder = Path(tempfile.mkdtemp())
n, d, width = 400, 20_000, 5_000
y = np.arange(n) % 2
table = np.memmap(folder / "table.f32", dtype=np.float32, mode="w+", shape=(n, d), order="F")
for start in range(0, d, width):
    table[:, start : start + width] = np.random.default_rng(start).normal(size=(n, width))
table[:, 1234] += 1.5 * y
table[:, 17000] += 1.5 * y
table.flush()

X = da.from_array(table, chunks=(n, width))
weighter = ReliefF(n_features_to_select=2).fit(X, y)
print(
    weighter.get_support(indices=True),
    {name: weighter.execution_[name] for name in ("backend", "partition", "n_blocks")},
)

# %%
# The same as in memory
# ---------------------

in_memory = ReliefF().fit(np.asarray(table), y)
apart = np.abs(weighter.feature_weights_ - in_memory.feature_weights_).max()
print(f"largest difference from the weights in memory: {apart:.1e}")

figure, ax = plt.subplots(figsize=(8, 3), layout="constrained")
ax.plot(weighter.feature_weights_, ",", color="gray")
ax.plot([1234, 17000], weighter.feature_weights_[[1234, 17000]], "o", color="crimson", label="real")
for start in range(width, d, width):
    ax.axvline(start, color="black", lw=0.5)
ax.set(xlabel="feature (lines: blocks)", ylabel="weight", title="20,000 weights, 400 samples, four blocks")
ax.legend()
plt.show()

# %%
# ``transform`` stays lazy: two columns of a Dask array, computed only on request.

print(weighter.transform(X))

# %%
# The file is not needed any more.

del table, X
shutil.rmtree(folder)
