"""A program of a user who checks types: `make package-check` runs it, and mypy --strict over it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

import highrelief
from highrelief import EnsembleWeighting, IRelief, OnlineIRelief, ReliefF
from highrelief.datasets import make_xor
from highrelief.stability import nogueira, spearman


def best(X: NDArray[np.float64], y: NDArray[np.int64], n_features: int) -> list[int]:
    """Return the best features, in order."""
    weighter: IRelief = IRelief(n_features_to_select=n_features).fit(X, y)
    ranking: NDArray[np.int64] = weighter.ranking_
    return [int(feature) for feature in np.argsort(ranking, kind="stable")[:n_features]]


def main() -> None:
    """Use a little of everything."""
    X, y, relevant = make_xor(200, n_irrelevant=8, random_state=0)
    assert sorted(best(X, y, 2)) == [0, 1] == np.flatnonzero(relevant).tolist()[:2]
    ensemble = EnsembleWeighting(ReliefF(), n_estimators=3, random_state=0).fit(X, y)
    rankings = np.array([member.ranking_ for member in ensemble.estimators_])
    agreement: float = spearman(rankings)
    assert -1.0 <= agreement <= 1.0
    assert nogueira(rankings <= 2).stability <= 1.0
    stream = OnlineIRelief(random_state=0).partial_fit(X[:100], y[:100], classes=[0, 1])
    kept: NDArray[np.float64] = stream.partial_fit(X[100:], y[100:]).transform(X)
    assert kept.shape[0] == len(X)
    version: str = highrelief.__version__
    assert version
    try:
        with TemporaryDirectory() as folder:
            path: Path = highrelief.save(stream, Path(folder) / "stream.skops")
            assert np.array_equal(highrelief.load(path).feature_weights_, stream.feature_weights_)
    except ImportError as error:
        if "highrelief[save]" not in str(error):
            raise


if __name__ == "__main__":
    main()
