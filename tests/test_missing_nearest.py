"""Missing values in the methods of the nearest neighbours: as the oracle has it, and what must not change."""

import numpy as np
import pytest
from oracles import missing_1994 as oracle
from test_missing import incomplete_table

from highrelief import FREL, Relief, ReliefF

METRICS = ["manhattan", "euclidean", "sqeuclidean"]


class TestOracle:
    @pytest.mark.parametrize("counted", [False, True])
    @pytest.mark.parametrize("metric", METRICS)
    @pytest.mark.parametrize(("dtype", "close"), [(np.float64, 1e-12), (np.float32, 2e-6)])
    def test_weights(self, dtype, close, metric, counted):
        X, y, copies = incomplete_table(dtype, counted)
        tol = 1e-6 if dtype == np.float32 else 1e-12
        given = {"sample_weight": copies} if counted else {}
        found = ReliefF(n_neighbors=4, metric=metric).fit(X, y, **given).feature_weights_
        np.testing.assert_allclose(found, oracle.relieff(X, y, 4, metric, s=copies, tol=tol), atol=close)
        found = Relief(metric=metric).fit(X, y, **given).feature_weights_
        expected = oracle.relieff(X, y, 1, metric, s=copies, pooled=True, tol=tol)
        np.testing.assert_allclose(found, expected, atol=close)
