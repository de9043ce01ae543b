"""This package. Every method on ``n_jobs`` threads, otherwise as it comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray

Call = Callable[[], NDArray[Any]]

NAME = "highrelief"
INSTALL = "pip install --editable ."
VENV = None
DTYPES = ("float32", "float64")
MOST_ELEMENTS = None
# In float32, distances that differ by less than a millionth count as ties and share their weight. Each
# such pair at the k-th place moves a weight by at most 1/(2 k n), 1e-3 for n = 100 and k = 10, where the
# largest weight is 0.05.
TOLERANCE = 2e-2
DIFFERS = ""


def version() -> str:
    import highrelief

    return highrelief.__version__


def relief(X: NDArray[Any], y: NDArray[np.integer], n_jobs: int = 1) -> Call:
    from highrelief import Relief

    return lambda: Relief(n_jobs=n_jobs).fit(X, y).feature_weights_


def relieff(X: NDArray[Any], y: NDArray[np.integer], n_neighbors: int, n_jobs: int = 1) -> Call:
    from highrelief import ReliefF

    return lambda: ReliefF(n_neighbors=n_neighbors, n_jobs=n_jobs).fit(X, y).feature_weights_


def _labelings(y: NDArray[np.integer], n_permutations: int) -> NDArray[np.int64]:
    codes = np.unique(y, return_inverse=True)[1]
    random = np.random.RandomState(0)
    return np.stack([random.permutation(codes) for _ in range(n_permutations)])


def permutations(X: NDArray[Any], y: NDArray[np.integer], n_permutations: int, n_jobs: int = 1) -> Call:
    """Weights by permuted labels, all at once; those of the first are compared."""
    from highrelief import ReliefF

    labels = _labelings(y, n_permutations)

    def call() -> NDArray[Any]:
        weighter = ReliefF(n_jobs=n_jobs)
        rows = weighter._choose_engine(weighter._check_fit(X, y)).relabeled(weighter._neighborhood())
        return rows.mean_margins(labels, np.float32)[0]

    return call


def permuted_fits(X: NDArray[Any], y: NDArray[np.integer], n_permutations: int, n_jobs: int = 1) -> Call:
    """The same by a fit to each."""
    from highrelief import ReliefF

    labels = _labelings(y, n_permutations)

    def call() -> NDArray[Any]:
        weights = [ReliefF(n_jobs=n_jobs).fit(X, each).feature_weights_ for each in labels]
        return weights[0]

    return call


def relieff_incomplete(
    X: NDArray[Any], y: NDArray[np.integer], n_neighbors: int, share: float, n_jobs: int = 1
) -> Call:
    return relieff(_incomplete(X, share), y, n_neighbors, n_jobs)


def irelief_incomplete(
    X: NDArray[Any], y: NDArray[np.integer], sigma: float, max_iter: int, share: float, n_jobs: int = 1
) -> Call:
    return irelief(_incomplete(X, share), y, sigma, max_iter, n_jobs)


def surf_incomplete(
    X: NDArray[Any], y: NDArray[np.integer], method: str, share: float, n_jobs: int = 1
) -> Call:
    return surf(_incomplete(X, share), y, method, n_jobs)


def _incomplete(X: NDArray[Any], share: float) -> NDArray[Any]:
    return np.where(np.random.default_rng(1).random(X.shape) < share, X.dtype.type(np.nan), X)


def surf(X: NDArray[Any], y: NDArray[np.integer], method: str, n_jobs: int = 1) -> Call:
    import highrelief

    return lambda: getattr(highrelief, method)(n_jobs=n_jobs).fit(X, y).feature_weights_


def relieff_sparse(X: NDArray[Any], y: NDArray[np.integer], n_neighbors: int, n_jobs: int = 1) -> Call:
    from scipy.sparse import csr_array

    return relieff(csr_array(X), y, n_neighbors, n_jobs)


def relieff_dask(X: NDArray[Any], y: NDArray[np.integer], n_neighbors: int, by: str, n_jobs: int = 1) -> Call:
    """By blocks of columns or of rows, on one thread of Dask: four blocks where they are not too small."""
    import dask
    import dask.array as da

    n, d = X.shape
    blocks = da.from_array(X, chunks=(-1, max(256, d // 4)) if by == "columns" else (max(256, n // 4), -1))
    fit = relieff(blocks, y, n_neighbors, n_jobs)

    def call() -> NDArray[Any]:
        with dask.config.set({"highrelief.partition": by, "scheduler": "synchronous", "num_workers": 1}):
            return fit()

    return call


def irelief_sparse(
    X: NDArray[Any], y: NDArray[np.integer], sigma: float, max_iter: int, n_jobs: int = 1
) -> Call:
    from scipy.sparse import csr_array

    return irelief(csr_array(X), y, sigma, max_iter, n_jobs)


def irelief(X: NDArray[Any], y: NDArray[np.integer], sigma: float, max_iter: int, n_jobs: int = 1) -> Call:
    return _irelief(X, y, sigma, max_iter, n_jobs, distances="stored")


def irelief_recomputed(
    X: NDArray[Any], y: NDArray[np.integer], sigma: float, max_iter: int, n_jobs: int = 1
) -> Call:
    return _irelief(X, y, sigma, max_iter, n_jobs, distances="recomputed")


def _irelief(
    X: NDArray[Any], y: NDArray[np.integer], sigma: float, max_iter: int, n_jobs: int, distances: str
) -> Call:
    from highrelief import IRelief

    memory = 0 if distances == "recomputed" else 2048
    # tol=0: all steps are made, converged or not.
    settings = {"sigma": sigma, "max_iter": max_iter, "tol": 0, "n_jobs": n_jobs}
    own_budget = "memory_budget" in IRelief().get_params()
    if own_budget:
        settings["memory_budget"] = memory * 2**20

    def fit() -> NDArray[np.floating]:
        with sklearn.config_context(working_memory=memory):
            fitted = IRelief(**settings).fit(X, y)
        if fitted.execution_["distances"] != distances:
            raise RuntimeError(f"asked for {distances} distances, got {fitted.execution_['distances']}")
        return fitted.feature_weights_

    return fit


def logo(
    X: NDArray[Any], y: NDArray[np.integer], sigma: float, alpha: float, max_iter: int, n_jobs: int = 1
) -> Call:
    from highrelief import LOGO

    settings = {"sigma": sigma, "alpha": alpha, "max_iter": max_iter, "tol": 0, "n_jobs": n_jobs}
    return lambda: LOGO(**settings).fit(X, y).feature_weights_


def im4e(X: NDArray[Any], y: NDArray[np.integer], sigma: float, max_iter: int, n_jobs: int = 1) -> Call:
    from highrelief import IM4E

    # tol=0: all steps are made, converged or not.
    return lambda: IM4E(sigma=sigma, max_iter=max_iter, tol=0.0, n_jobs=n_jobs).fit(X, y).feature_weights_


def lhr(
    X: NDArray[Any], y: NDArray[np.integer], n_neighbors: int, alpha: float, max_iter: int, n_jobs: int = 1
) -> Call:
    from highrelief import LHRelief

    settings = {"n_neighbors": n_neighbors, "alpha": alpha, "max_iter": max_iter, "tol": 0, "n_jobs": n_jobs}
    return lambda: LHRelief(**settings).fit(X, y).feature_weights_


def online_irelief(X: NDArray[Any], y: NDArray[np.integer], sigma: float, n_jobs: int = 1) -> Call:
    from highrelief import OnlineIRelief

    return lambda: OnlineIRelief(sigma=sigma, random_state=0, n_jobs=n_jobs).fit(X, y).feature_weights_


def frel(
    X: NDArray[Any],
    y: NDArray[np.integer],
    loss: str,
    penalty: str,
    alpha: float,
    solver: str = "exact",
    n_jobs: int = 1,
) -> Call:
    from highrelief import FREL

    settings = {"loss": loss, "penalty": penalty, "alpha": alpha, "solver": solver, "n_jobs": n_jobs}
    return lambda: FREL(**settings).fit(X, y).feature_weights_


def hknn(X: NDArray[Any], y: NDArray[np.integer], n_neighbors: int, alpha: float, n_jobs: int = 1) -> Call:
    from highrelief import HKNNClassifier

    half = len(X) // 2
    model = HKNNClassifier(n_neighbors=n_neighbors, alpha=alpha, n_jobs=n_jobs).fit(X[:half], y[:half])
    return lambda: model.hyperplane_distances(X[half:])


def lmba(X: NDArray[Any], y: NDArray[np.integer], n_jobs: int = 1) -> Call:
    from highrelief import Lmba

    return lambda: Lmba(n_jobs=n_jobs).fit(X, y).feature_weights_


def lfe(
    X: NDArray[Any], y: NDArray[np.integer], n_components: int, n_neighbors: int, n_jobs: int = 1
) -> Call:
    from highrelief import LFE

    settings = {"n_components": n_components, "n_neighbors": n_neighbors, "n_jobs": n_jobs}
    return lambda: (LFE(**settings).fit(X, y).components_ ** 2).sum(axis=0)


def dann(X: NDArray[Any], y: NDArray[np.integer], n_components: int, n_jobs: int = 1) -> Call:
    from highrelief import DANN

    return lambda: (DANN(n_components=n_components, n_jobs=n_jobs).fit(X, y).components_ ** 2).sum(axis=0)


def simba(X: NDArray[Any], y: NDArray[np.integer], n_jobs: int = 1) -> Call:
    from highrelief import Simba

    return lambda: Simba(shuffle=False, n_jobs=n_jobs).fit(X, y).feature_weights_


def gflip(X: NDArray[Any], y: NDArray[np.integer], n_jobs: int = 1) -> Call:
    from highrelief import GFlip

    return lambda: GFlip(shuffle=False, n_jobs=n_jobs).fit(X, y).feature_weights_


def fisher_score(X: NDArray[Any], y: NDArray[np.integer]) -> Call:
    from highrelief import FisherScore

    return lambda: FisherScore().fit(X, y).feature_weights_


def any_of(
    X: NDArray[Any],
    y: NDArray[np.integer],
    name: str,
    parameters: dict[str, Any] | None = None,
    n_jobs: int = 1,
    inside: str | None = None,
) -> Call:
    import highrelief

    wrapped = [] if inside is None else [getattr(highrelief, inside)()]
    weighter = getattr(highrelief, name)(*wrapped, n_jobs=n_jobs, **parameters or {})
    return lambda: weighter.fit(X, y).feature_weights_


def ensemble(
    X: NDArray[Any],
    y: NDArray[np.integer],
    member: str,
    parameters: dict[str, Any],
    n_estimators: int,
    n_jobs: int = 1,
) -> Call:
    import highrelief

    weighter = getattr(highrelief, member)(**parameters)
    ensemble = highrelief.EnsembleWeighting(
        weighter, n_estimators=n_estimators, random_state=0, n_jobs=n_jobs
    )
    return lambda: ensemble.fit(X, y).feature_weights_


def distances(X: NDArray[np.floating], y: NDArray[np.integer]) -> Call:
    from ..passes import distance_pass

    return distance_pass(X)


def grid_distances(X: NDArray[np.floating], y: NDArray[np.integer]) -> Call:
    from ..passes import grid_pass

    return grid_pass(X)
