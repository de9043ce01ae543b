"""Arrays between unmapped pages: a read beside one is seen, and estimators make none."""

import json
import signal
import sys

import pytest
from processes import ROOT, answer, start
from registry import THOROUGH

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pages are mapped as on Linux")

READ = """
import guarded_memory, json, numpy as np
from highrelief._kernels.jit import kernel

@kernel
def read(x, i):
    return x[np.uint64(i)]

@kernel
def read_own(n, i):
    return np.ones(n)[np.uint64(i)]

print(json.dumps([read(np.ones(3, np.int8), 2), read_own(3, 0)]), flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("array", ["read(np.ones(3, np.int8), {})", "read_own(3, {})"])
@pytest.mark.parametrize(("side", "place"), [("end", 3), ("begin", -1)])
def test_a_read_beside_an_array_ends_the_process(array, side, place):
    process = start(READ + array.format(place), HIGHRELIEF_GUARD=side)
    printed, _ = process.communicate(timeout=600)
    # What is inside was read before.
    assert json.loads(printed) == [1, 1.0]
    assert process.returncode == -signal.SIGSEGV


FIT = """
import guarded_memory, json, warnings
warnings.simplefilter("ignore")
import numpy as np
from fuzzing import ESTIMATORS, Case, answer_or_clear_error
case = Case(13, ("normal", "ties", "holes"), n_classes=3, sample_weight="very different")
names = ("ReliefF", "SURF", "HKNNClassifier()", "FisherScore")
print(json.dumps([answer_or_clear_error(ESTIMATORS[name], case) for name in names]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("side", ["end", *THOROUGH * ["begin"]])
def test_some_estimators_stay_inside_of_their_arrays(side):
    found = answer(start(FIT, path=ROOT / "src", HIGHRELIEF_GUARD=side))
    assert found[:2] == ["fitted", "fitted"]
    assert all("missing" in each or "NaN" in each for each in found[2:])
