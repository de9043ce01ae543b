"""Fits of tables on disk, and how much memory they take."""

from processes import run

#: What a child measures: how much anonymous memory a fit takes beyond what the process had before.
MEASURED = """
import json, warnings
import dask, dask.array as da, numpy as np
import highrelief
from peak_memory import anonymous_peak_of

warnings.simplefilter("ignore")


def measured(weighter, X):
    taken = anonymous_peak_of(lambda: weighter.fit(X, np.arange(len(X)) % 2))
    print(json.dumps({
        "taken": taken,
        "best": weighter.ranking_.argmin().item(),
        "partition": weighter.execution_["partition"],
    }))


dask.config.set(num_workers=2)
# Kernels, and what Dask and the readers load, are not what is measured.
small = np.random.default_rng(0).normal(size=(60, 40)).astype("float32")
for each in ("columns", "rows"):
    with dask.config.set({"highrelief.partition": each}):
        highrelief.ESTIMATOR.fit(da.from_array(small, chunks=(20, 20)), np.arange(60) % 2)
"""


def fitted(estimator, opened, **more):
    return run(
        MEASURED.replace("ESTIMATOR", estimator) + f"\n{opened}\nmeasured(highrelief.{estimator}, X)",
        **more,
    )
