"""Claims that need many seeds; run with `make test-long`."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from highrelief import IRelief, OnlineIRelief, ReliefF
from highrelief.datasets import add_irrelevant_features, flip_labels, make_epistasis, make_xor


def share_found(weighter, make, seeds):
    """Share of seeds in which the relevant features take the first ranks."""
    found = 0
    for seed in seeds:
        X, y, relevant = make(seed)
        found += np.all(weighter.fit(X, y).ranking_[relevant] <= relevant.sum())
    return found / len(seeds)


def test_xor_among_noise():
    """Two features that act only together, among 200: found for all of 100 seeds."""
    seeds = range(100)
    assert share_found(IRelief(), lambda s: make_xor(400, n_irrelevant=200, random_state=s), seeds) == 1.0


def test_three_way_interaction():
    """All three of a parity, at 1,000 samples and 50 noise features."""
    share = share_found(
        IRelief(), lambda s: make_xor(1000, order=3, n_irrelevant=50, random_state=s), range(20)
    )
    assert share >= 0.95


def test_epistasis():
    share = share_found(
        IRelief(),
        lambda s: make_epistasis(800, heritability=0.2, n_irrelevant=100, random_state=s),
        range(30),
    )
    assert share >= 0.95


@pytest.mark.parametrize("weighter", [ReliefF(), IRelief(), OnlineIRelief(random_state=0)])
def test_label_noise_costs_little(weighter):
    def noisy(seed):
        X, y, relevant = make_xor(400, n_irrelevant=50, random_state=seed)
        return X, flip_labels(y, 0.1, random_state=seed)[0], relevant

    assert share_found(weighter, noisy, range(30)) >= 0.9


def test_original_features_before_added_noise(data_folder):
    """Area under the ROC curve of telling original from added features (the measure of Sun 2007, Fig. 6).

    The paper's claim: I-RELIEF is no worse than RELIEF-F on any of its sets, and better over all of them.
    """
    differences = {}
    for name in ["ringnorm", "twonorm", "waveform", "thyroid", "heart", "diabetis"]:
        data = np.load(data_folder / "ida" / f"{name}.npz")
        pairs = []
        for split in range(10):
            rows = data["train_idx"][split]
            X, original = add_irrelevant_features(data["X"][rows].astype(float), 50, random_state=split)
            fitted = [weighter.fit(X, data["y"][rows]) for weighter in (IRelief(), ReliefF())]
            pairs.append([roc_auc_score(original, each.feature_weights_) for each in fitted])
        ours, rival = np.array(pairs).T
        differences[name] = ours - rival
    standard_errors = {name: d.std(ddof=1) / np.sqrt(d.size) for name, d in differences.items()}
    print({name: (round(d.mean(), 3), round(standard_errors[name], 3)) for name, d in differences.items()})
    for name, d in differences.items():
        assert d.mean() > -2.0 * standard_errors[name] - 1e-12, name
    assert np.mean([d.mean() for d in differences.values()]) > 0.0
