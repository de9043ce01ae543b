"""Speed, memory and start-up: against the peers, against the limit of the machine, against the targets.

``python -m benchmarks`` runs it; README.md tells what is measured and how.

The libraries read these variables when they are imported, which is after this file. One thread, unless a
worker is started for more.
"""

import os

#: Set for the workers of contenders that are measured with several threads.
THREADS_VARIABLE = "BENCHMARK_THREADS"

for _name in (
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
):
    os.environ[_name] = os.environ.get(THREADS_VARIABLE, "1")
