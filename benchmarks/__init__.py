"""Speed against the peers, memory, and how reliable the demo is. Run ``python -m benchmarks``.

One thread everywhere: the libraries read these variables when they are imported, which is after this file.
"""

import os

for _name in (
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
):
    os.environ[_name] = "1"
