"""Kernels compiled anew give the bits of those found on disk.

`tests/_kernels/test_linking.py` has small ones.
"""

from processes import run

# Plain variants, in the order of the registry or against it, so that kernels meet in another order.
FITS = """
import json, warnings
import numpy as np
from registry import ENTRIES, continuous_table

warnings.simplefilter("ignore")
X, y = continuous_table(150, n_classes=2)
names = {"ReliefF", "IRelief", "OnlineIRelief", "LOGO", "IM4E", "FREL"}
bits = {}
for entry in ENTRIES[::%d]:
    if entry.plain and str(entry) in names:
        more = {"max_iter": 3} if entry.family.iterative else {}
        model = entry.make(**more).fit(X.astype(np.float32), y)
        bits[str(entry)] = model.feature_weights_.tobytes().hex()
print(json.dumps(bits))
"""


def test_compiled_or_found_on_disk_kernels_give_the_same_bits(tmp_path):
    compiled = run(FITS % 1, HIGHRELIEF_CACHE_DIR=tmp_path)
    assert len(compiled) == 6
    assert run(FITS % -1, HIGHRELIEF_CACHE_DIR=tmp_path) == compiled
