"""Peak memory of a ReliefF fit on many samples, in a process of its own; prints one line of JSON."""

import json
import sys
import tracemalloc

import numpy as np

from highrelief import ReliefF

from .data import continuous_table

N_SAMPLES, N_FEATURES, N_NEIGHBORS = 20_000, 20, 10
MIB = 2.0**20


def process_peak() -> float:
    """Most memory that this process ever held, in MiB; NaN where the system does not tell."""
    try:
        import resource
    except ImportError:
        return float("nan")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / MIB if sys.platform == "darwin" else peak / 1024.0


def measure() -> dict[str, float]:
    X, y = continuous_table(N_SAMPLES, N_FEATURES, np.float32)
    ReliefF(n_neighbors=N_NEIGHBORS, n_jobs=1).fit(X[:100], y[:100])
    before = process_peak()
    ReliefF(n_neighbors=N_NEIGHBORS, n_jobs=1).fit(X, y)
    after = process_peak()
    # Once more, counting: NumPy reports its arrays to tracemalloc. What a kernel allocates inside itself
    # shows in the peak of the process only.
    tracemalloc.start()
    ReliefF(n_neighbors=N_NEIGHBORS, n_jobs=1).fit(X, y)
    arrays = tracemalloc.get_traced_memory()[1]
    return {
        "n_samples": N_SAMPLES,
        "n_features": N_FEATURES,
        "table_mib": X.nbytes / MIB,
        "arrays_peak_mib": arrays / MIB,
        "process_peak_before_mib": before,
        "process_peak_after_mib": after,
        "n_by_n_float32_mib": 4.0 * N_SAMPLES**2 / MIB,
    }


if __name__ == "__main__":
    print(json.dumps(measure()))
