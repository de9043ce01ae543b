"""The oracles against the reference outputs, and against properties they must have."""

import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import (
    class_priors,
    difference,
    distances,
    fisher,
    hknn_distances,
    hknn_ridge_distance,
    hknn_shared_distance,
    im4e,
    im4e_entropies,
    im4e_probabilities,
    im4e_simplex_minimizer,
    irelief,
    irelief_auto,
    irelief_auto_path,
    irelief_nu,
    irelief_step,
    mean_entropy,
    neighbor_shares,
    online_irelief,
    online_irelief_path,
    online_pi,
    relief,
    relief_rows,
    relieff,
    relieff_rows,
    scale_range,
    sigma_for_perplexity,
    soft_margin_rows,
)

# They change when an oracle does, not with the package.
pytestmark = pytest.mark.slow

METRICS = ["manhattan", "euclidean", "sqeuclidean"]
MARGINS = ["nearest", "prior"]
SETS = ["binary", "three", "wide"]


def golden_folder():
    """The folder `golden` beside the data folder, which HIGHRELIEF_DATA names."""
    root = Path(__file__).resolve().parents[2]
    data = Path(os.environ.get("HIGHRELIEF_DATA", root.parent / "shared" / "data"))
    return data.parent / "golden"


@pytest.fixture(params=SETS)
def golden(request):
    path = golden_folder() / f"{request.param}.npz"
    if not path.is_file():
        pytest.skip(
            f"reference outputs not found: {request.param}.npz should lie in the folder 'golden' "
            "beside the data folder (environment variable HIGHRELIEF_DATA)"
        )
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


def smooth_data(n=24, d=4, n_classes=3, seed=0):
    """Continuous data without ties, every class with at least n // n_classes samples."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, d))
    X[:, 0] += 1.5 * y
    return scale_range(X), y


def tied_data(n=30, d=4, n_classes=3, levels=4, seed=0):
    """Data of a few levels: many ties and duplicates, some split by the rounding of 1/3."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    X = rng.integers(levels, size=(n, d)).astype(float)
    X[:, 0] = np.minimum(X[:, 0], y + 1)
    return scale_range(X), y


def copies_of(n, seed=1):
    """Whole sample weights, 0 included."""
    return np.random.default_rng(seed).integers(0, 4, size=n)


def assert_same(actual, desired):
    assert_allclose(actual, desired, rtol=1e-10, atol=1e-12)


# --- reference outputs --------------------------------------------------------------------------


def test_golden_relief(golden):
    assert_allclose(relief(golden["X"], golden["y"]), golden["relief"], rtol=0, atol=1e-13)


@pytest.mark.parametrize("k", [1, 5])
def test_golden_relieff(golden, k):
    result = relieff(golden["X"], golden["y"], k)
    assert_allclose(result, golden[f"relieff_k{k}"], rtol=0, atol=1e-13)


@pytest.mark.parametrize("margin", MARGINS)
@pytest.mark.parametrize("sigma", [0.5, 2.0])
def test_golden_irelief(golden, margin, sigma):
    iterates = irelief(golden["X"], golden["y"], sigma, margin, n_iter=3)
    for t in [1, 3]:
        name = f"irelief_{margin}_s{sigma}_T{t}"
        assert_allclose(iterates[t - 1], golden[name], rtol=0, atol=1e-12)


def test_golden_online(golden):
    result = online_irelief(golden["X"], golden["y"], sigma=1.0, a=1.0, n_epochs=2)
    assert_allclose(result, golden["online_s1_a1_2epochs_in_order"], rtol=0, atol=1e-12)


def test_golden_fisher(golden):
    result = fisher(golden["X"], golden["y"])
    assert_allclose(result, golden["fisher"], rtol=1e-11, atol=1e-13)


def test_golden_hknn(golden):
    result = hknn_distances(golden["query"], golden["X"], golden["y"], 4, 1.0)
    assert_allclose(result, golden["hknn_k4_l1_distances"], rtol=1e-12)


def test_golden_has_no_case_left_out(golden):
    families = ("relief", "irelief_", "online_", "fisher")
    names = {name for name in golden if name.startswith(families)}
    tested = {"relief", "relieff_k1", "relieff_k5", "fisher", "online_s1_a1_2epochs_in_order"}
    tested |= {
        f"irelief_{margin}_s{sigma}_T{t}" for margin in MARGINS for sigma in [0.5, 2.0] for t in [1, 3]
    }
    assert names == tested


# --- scaling, distances -------------------------------------------------------------------------


def test_scale_range():
    X = np.array([[1.0, 5.0, 2.0], [3.0, 5.0, -2.0], [2.0, 5.0, 0.0]])
    assert_array_equal(scale_range(X), [[0, 0, 1], [1, 0, 0], [0.5, 0, 0.5]])


def test_distances():
    X = np.array([[0.0, 0.0], [3.0, 4.0]])
    w = [2.0, 0.5]
    expected = {"manhattan": (7, 8), "euclidean": (5, np.sqrt(26)), "sqeuclidean": (25, 26)}
    for metric, (plain, weighted) in expected.items():
        assert_array_equal(distances(X, metric=metric), [[0, plain], [plain, 0]])
        assert_allclose(distances(X, w, metric)[0, 1], weighted)


# --- shares of neighbors -----------------------------------------------------------------------


def shares_by_all_orders(d, k, rank_decay=None):
    """Mean over every order of the candidates of the plain rule: sort, take the first k.

    The sort is stable, so the mean is over all ways to break the ties.
    """
    m = len(d)
    ranks = np.arange(1, min(k, m) + 1)
    rank_weights = np.exp(-((ranks / (rank_decay or np.inf)) ** 2))
    rank_weights = rank_weights / rank_weights.sum()
    total = np.zeros(m)
    orders = list(itertools.permutations(range(m)))
    for order in orders:
        nearest = sorted(order, key=lambda i: d[i])[:k]
        for rank_weight, i in zip(rank_weights, nearest, strict=True):
            total[i] += rank_weight
    return total / len(orders)


@pytest.mark.parametrize("rank_decay", [None, 1.5, 20.0])
@pytest.mark.parametrize("k", range(1, 9))
def test_shares_are_the_mean_over_all_ways_to_break_ties(k, rank_decay):
    for digits in ("3122215", "0000122", "7654321", "1111111"):
        d = np.array([float(digit) for digit in digits])
        result = neighbor_shares(d, np.ones(7), k, rank_decay)
        assert_same(result, shares_by_all_orders(d, k, rank_decay))


@pytest.mark.parametrize("rank_decay", [None, 2.0])
@pytest.mark.parametrize("k", [1, 2, 4, 7, 20])
def test_shares_of_weights_are_those_of_copies(k, rank_decay):
    d = np.array([0.3, 0.1, 0.2, 0.2, 0.4, 0.0])
    weights = np.array([2, 0, 3, 1, 4, 2])
    result = neighbor_shares(d, weights, k, rank_decay)
    owner = np.repeat(np.arange(6), weights)
    of_copies = neighbor_shares(d[owner], np.ones(len(owner)), k, rank_decay)
    assert_same(result, [of_copies[owner == i].sum() for i in range(6)])
    assert_allclose(result.sum(), 1.0)


def test_shares_of_fractional_weights_uniform():
    rng = np.random.default_rng(3)
    d = rng.integers(6, size=12) / 5
    weights = rng.integers(1, 5, size=12).astype(float)
    # Only the ratio of k to the weights counts.
    assert_same(neighbor_shares(d, weights / 4, 2), neighbor_shares(d, weights, 8))
    assert_same(neighbor_shares([1.0, 2.0, 3.0], [0.5, 0.25, 9.0], 1), [0.5, 0.25, 0.25])


def test_shares_of_fractional_weights_ranked():
    # By hand: rank 1 holds the first candidate and half of the second, rank 2 the rest.
    g1, g2 = np.exp(-((1 / 3) ** 2)), np.exp(-((2 / 3) ** 2))
    result = neighbor_shares([1.0, 2.0, 3.0], [0.75, 0.5, 5.0], 2, rank_decay=3.0)
    parts = np.array([0.75 * g1, 0.25 * g1 + 0.25 * g2, 0.75 * g2])
    assert_same(result, parts / (g1 + g2))
    # Fewer than k: normalized over the weight there is.
    result = neighbor_shares([1.0, 2.0], [1.0, 0.5], 4, rank_decay=3.0)
    assert_same(result, np.array([g1, 0.5 * g2]) / (g1 + 0.5 * g2))


@pytest.mark.parametrize("k", [1, 3, 6, 30])
def test_rank_rule_with_slow_decay_is_the_uniform_rule(k):
    rng = np.random.default_rng(4)
    for weights in (np.ones(15), rng.uniform(0.1, 2.0, size=15)):
        d = rng.integers(5, size=15) / 3
        ranked = neighbor_shares(d, weights, k, rank_decay=1e9)
        assert_same(ranked, neighbor_shares(d, weights, k))


def test_ties_are_relative_to_the_distance():
    d = np.array([1.0, 1.0 + 1e-13, 1.0 + 1e-9])
    for rank_decay in (None, 20.0):
        assert_same(neighbor_shares(d, np.ones(3), 1, rank_decay), [0.5, 0.5, 0.0])
        assert_same(neighbor_shares(1e-6 * d, np.ones(3), 1, rank_decay), [0.5, 0.5, 0.0])
        assert_same(neighbor_shares(d, np.ones(3), 1, rank_decay, tol=1e-6), np.ones(3) / 3)


def test_shares_without_candidates():
    assert_array_equal(neighbor_shares([1.0, 2.0], [0.0, 0.0], 3), [0, 0])


# --- Relief, ReliefF ----------------------------------------------------------------------------


@pytest.mark.parametrize("metric", METRICS)
def test_relief_by_hand_without_ties(metric):
    X, y = smooth_data(n_classes=3)
    D = distances(X, metric=metric)
    z = np.zeros(X.shape[1])
    for n in range(len(X)):
        others = [i for i in range(len(X)) if i != n]
        hit = min((i for i in others if y[i] == y[n]), key=lambda i: D[n, i])
        miss = min((i for i in others if y[i] != y[n]), key=lambda i: D[n, i])
        z += difference(X[n], X[miss], metric) - difference(X[n], X[hit], metric)
    assert_same(relief(X, y, metric), z / len(X))


def test_relief_is_relieff_with_one_neighbor_for_two_classes():
    X, y = tied_data(n_classes=2)
    assert_same(relief(X, y), relieff(X, y, 1))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("rank_decay", [None, 2.0])
def test_relieff_weights_are_copies(metric, rank_decay):
    for X, y in (tied_data(), smooth_data()):
        s = copies_of(len(X))
        result = relieff(X, y, 4, metric, rank_decay, s=s)
        assert_same(result, relieff(np.repeat(X, s, 0), np.repeat(y, s), 4, metric, rank_decay))
        rows = relieff_rows(X, y, 4, metric, rank_decay, s=s)
        of_copies = relieff_rows(np.repeat(X, s, 0), np.repeat(y, s), 4, metric, rank_decay)
        assert_same(np.repeat(rows, s, 0), of_copies)


@pytest.mark.parametrize("metric", METRICS)
def test_relief_weights_are_copies(metric):
    for X, y in (tied_data(), smooth_data()):
        s = copies_of(len(X))
        result = relief(X, y, metric, s=s)
        assert_same(result, relief(np.repeat(X, s, 0), np.repeat(y, s), metric))


def test_rows_of_weight_zero_are_ignored():
    X, y = smooth_data()
    s = np.where(np.arange(len(X)) % 5 == 0, 0.0, 1.3)
    keep = s > 0
    kept = (X[keep], y[keep])
    assert_same(relief(X, y, s=s), relief(*kept, s=s[keep]))
    assert_same(relieff(X, y, 3, s=s), relieff(*kept, 3, s=s[keep]))
    w = np.arange(1.0, 5.0)
    assert_same(irelief_nu(X, y, w, 0.5, s=s), irelief_nu(*kept, w, 0.5, s=s[keep]))
    assert_same(mean_entropy(X, None, 0.5, s), mean_entropy(X[keep], None, 0.5, s[keep]))
    assert_same(fisher(X, y, s), fisher(*kept, s[keep]))


@pytest.mark.parametrize("seed", range(3))
def test_order_of_rows_and_columns_does_not_matter_with_ties(seed):
    X, y = tied_data(seed=seed)
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    s = rng.uniform(0.2, 3.0, size=len(X))
    moved, labels, weights = X[rows][:, columns], y[rows], s[rows]
    for metric in METRICS:
        assert_same(relief(moved, labels, metric), relief(X, y, metric)[columns])
        for rank_decay in (None, 3.0):
            result = relieff(moved, labels, 5, metric, rank_decay, weights)
            assert_same(result, relieff(X, y, 5, metric, rank_decay, s)[columns])


@pytest.mark.parametrize("data", [tied_data, smooth_data])
def test_relieff_with_slow_rank_decay_is_uniform(data):
    X, y = data()
    assert_same(relieff(X, y, 5, rank_decay=1e9), relieff(X, y, 5))


def test_relieff_with_more_neighbors_than_samples():
    X, y = smooth_data(n=21)
    largest = np.bincount(y).max()
    everyone = relieff(X, y, largest)
    assert_same(relieff(X, y, 10 * largest), everyone)
    # All neighbors of a class: means over the whole classes.
    priors = class_priors(y)
    z = np.zeros(X.shape[1])
    for n in range(len(X)):
        other_hits = (y == y[n]) & (np.arange(len(X)) != n)
        z -= np.abs(X[other_hits] - X[n]).mean(axis=0)
        for c in set(y) - {y[n]}:
            z += priors[c] / (1 - priors[y[n]]) * np.abs(X[y == c] - X[n]).mean(axis=0)
    assert_same(everyone, z / len(X))


def test_anchors():
    X, y = smooth_data()
    s = np.random.default_rng(5).uniform(0.5, 2.0, size=len(X))
    rows = relieff_rows(X, y, 3, s=s)
    anchors = [4, 0, 11]
    expected = np.average(rows[anchors], axis=0, weights=s[anchors])
    assert_same(relieff(X, y, 3, s=s, anchors=anchors), expected)
    assert_same(relief(X, y, anchors=anchors), relief_rows(X, y)[anchors].mean(axis=0))
    assert_same(relief(X, y, anchors=range(len(X))), relief(X, y))


def test_sample_alone_in_its_class():
    X, y = smooth_data(n_classes=2)
    y = y.copy()
    y[7] = 5
    for rows in (relief_rows(X, y), relieff_rows(X, y, 3)):
        assert_array_equal(rows[7], 0)
        assert np.all(np.any(rows[np.arange(len(X)) != 7] != 0, axis=1))
    Z, gamma = soft_margin_rows(X, y, np.ones(4), 0.5)
    assert_array_equal(Z[7], 0)
    assert gamma[7] == 0
    # With weight 2 it is its own hit at distance 0.
    s = np.ones(len(X))
    s[7] = 2
    nearest_miss = np.abs(X[np.argmin(np.where(y == 5, np.inf, distances(X)[7]))] - X[7])
    assert_same(relief_rows(X, y, s=s)[7], nearest_miss)


# --- I-RELIEF -----------------------------------------------------------------------------------


@pytest.mark.parametrize("margin", MARGINS)
@pytest.mark.parametrize("outliers", [True, False])
def test_irelief_weights_are_copies(margin, outliers):
    for X, y in (tied_data(), smooth_data()):
        s = copies_of(len(X))
        repeated = (np.repeat(X, s, 0), np.repeat(y, s))
        result = irelief(X, y, 0.3, margin, outliers, n_iter=3, s=s)
        of_copies = irelief(*repeated, 0.3, margin, outliers, n_iter=3)
        assert_same(result, of_copies)
        Z, gamma = soft_margin_rows(X, y, result[-1], 0.3, margin, s)
        Z_copies, gamma_copies = soft_margin_rows(*repeated, result[-1], 0.3, margin)
        assert_same(np.repeat(Z, s, 0), Z_copies)
        assert_same(np.repeat(gamma, s), gamma_copies)


def test_irelief_by_hand():
    # Misses of sample 0 at 1 and 2, its hit at 3; every formula written out for w = 1.
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 1, 0])
    Z, gamma = soft_margin_rows(X, y, np.ones(1), 0.7)
    f = {d: np.exp(-d / 0.7) for d in (1, 2, 3)}
    assert_allclose(Z[0, 0], (f[1] * 1 + f[2] * 2) / (f[1] + f[2]) - 3)
    assert_allclose(gamma[0], 1 - (f[1] + f[2]) / (f[1] + f[2] + f[3]))


@pytest.mark.parametrize("margin", MARGINS)
def test_narrow_kernel_is_relief(margin):
    # Eq. 14: without outliers and ties, sigma -> 0 gives the nearest neighbors.
    X, y = smooth_data()
    nu = irelief_nu(X, y, np.ones(4), 1e-9, margin, outliers=False)
    assert_same(nu, relief(X, y) if margin == "nearest" else relieff(X, y, 1))


def test_wide_kernel_is_relieff_with_all_neighbors():
    # Eq. 13: sigma -> infinity gives equal weights.
    X, y = smooth_data()
    nu = irelief_nu(X, y, np.ones(4), 1e12, "prior", outliers=False)
    assert_same(nu, relieff(X, y, len(X)))
    gamma = soft_margin_rows(X, y, np.ones(4), 1e12)[1]
    assert_same(gamma, [((y == y[n]).sum() - 1) / (len(y) - 1) for n in range(len(y))])


def test_margins_agree_for_two_classes():
    X, y = smooth_data(n_classes=2)
    assert_same(irelief(X, y, 0.2, "prior", n_iter=3), irelief(X, y, 0.2, "nearest", n_iter=3))


def test_iterates_are_steps():
    X, y = smooth_data()
    iterates = irelief(X, y, 0.4, n_iter=3)
    assert len(iterates) == 3
    w = np.full(4, 0.25)
    for iterate in iterates:
        w = irelief_step(X, y, w, 0.4)
        assert_array_equal(iterate, w)
        assert_allclose(np.sum(w**2), 1.0)
    assert_array_equal(irelief(X, y, 0.4, n_iter=2, w0=iterates[0])[-1], iterates[2])


def test_no_positive_component():
    # Each hit is far, each miss is near.
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0, 1, 0, 1])
    assert irelief_step(X, y, np.ones(1), 0.5) is None
    (w,) = irelief(X, y, 0.5, n_iter=5)
    assert_array_equal(w, [0])
    assert_array_equal(online_irelief(X, y, 0.5), [1])


# --- I-M4E ----------------------------------------------------------------------------------------


def test_im4e_by_hand():
    # Sample 0 has hits at 1 and 3 and a miss at 2, under w = 1.
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 0])
    alpha, beta = im4e_probabilities(X, y, np.ones(1), 0.7)
    p = np.exp(-1 / 0.7) / (np.exp(-1 / 0.7) + np.exp(-3 / 0.7))
    assert_allclose(alpha[0], [0, p, 0, 1 - p])
    assert_allclose(beta[0], [0, 0, 1, 0])
    assert_allclose(im4e_entropies(alpha)[0], -p * np.log(p) - (1 - p) * np.log(1 - p))
    assert_array_equal(im4e_entropies(beta), [0, 0, 0, 0])
    assert_array_equal(alpha[2], 0)  # alone in its class


def test_im4e_weights_are_copies():
    for X, y in (tied_data(), smooth_data()):
        s = copies_of(len(X))
        of_weights = im4e(X, y, 0.3, 3, s=s)
        of_copies = im4e(np.repeat(X, s, 0), np.repeat(y, s), 0.3, 3)
        for weighted, copied in zip(of_weights, of_copies, strict=True):
            for a, b in zip(weighted, copied, strict=True):
                assert_same(a, b)


def test_im4e_weights_are_those_of_irelief_without_outliers():
    X, y = smooth_data()
    w = np.array([0.1, 0.2, 0.3, 0.4])
    nu = irelief_nu(X, y, w, 0.3, outliers=False)
    assert_same(im4e(X, y, 0.3, 1, w0=w)[0][0], np.maximum(nu, 0) / np.maximum(nu, 0).sum())


def test_im4e_simplex_minimizer_by_hand():
    # (v / 2 lambda - theta)^+: (0.9, 0.5, -1) sums to 1 at theta = 0.2.
    assert_allclose(im4e_simplex_minimizer(np.array([1.8, 1.0, -2.0]), 1.0), [0.7, 0.3, 0.0], atol=1e-12)


# --- automatic sigma ----------------------------------------------------------------------------


def test_entropy_of_copies():
    for X, _ in (tied_data(), smooth_data()):
        s = copies_of(len(X))
        repeated = np.repeat(X, s, 0)
        w = np.arange(1.0, 5.0)
        assert_same(mean_entropy(X, w, 0.3, s), mean_entropy(repeated, w, 0.3))
        assert_same(sigma_for_perplexity(X, w, 0.5, s), sigma_for_perplexity(repeated, w, 0.5))


def test_entropy_ends():
    X, _ = smooth_data()
    assert_allclose(mean_entropy(X, None, 1e-9), 0.0, atol=1e-12)
    assert_allclose(mean_entropy(X, None, 1e9), np.log(len(X) - 1))


def test_sigma_solves_for_the_perplexity():
    X, _ = smooth_data()
    w = np.array([0.5, 0.1, 0.0, 2.0])
    for share, effective in ((0.5, 11.5), (0.2, 4.6), (0.01, 2.0)):
        sigma = sigma_for_perplexity(X, w, share)
        assert_allclose(np.exp(mean_entropy(X, w, sigma)), effective, rtol=1e-12)
        assert_allclose(sigma_for_perplexity(X, 100 * w, share), 100 * sigma, rtol=1e-11)


def test_sigma_without_a_solution():
    X, _ = smooth_data()
    with pytest.raises(ValueError, match="no sigma"):
        sigma_for_perplexity(X, None, share=1.0)
    with pytest.raises(ValueError, match="no sigma"):
        sigma_for_perplexity(X[:3], None)
    with pytest.raises(ValueError, match="distances are 0"):
        sigma_for_perplexity(X, np.zeros(4))


@pytest.mark.parametrize("margin", MARGINS)
def test_averaged_iteration_is_the_mean_of_the_images(margin):
    X, y = smooth_data()
    path = irelief_auto_path(X, y, n_iter=4, margin=margin)
    images, w = [], np.full(4, 0.5)
    for average, _ in path:
        sigma = sigma_for_perplexity(X, w)
        images.append(irelief_step(X, y, w, sigma, margin))
        w = np.mean(images, axis=0)
        assert_same(average, w)
    assert_same(irelief_auto(X, y, n_iter=4, margin=margin), w / np.linalg.norm(w))


def test_averaged_iteration_weights_are_copies():
    X, y = smooth_data()
    s = copies_of(len(X))
    result = irelief_auto(X, y, n_iter=3, s=s)
    assert_same(result, irelief_auto(np.repeat(X, s, 0), np.repeat(y, s), n_iter=3))


# --- online I-RELIEF ----------------------------------------------------------------------------


@pytest.mark.parametrize("margin", MARGINS)
@pytest.mark.parametrize("outliers", [True, False])
def test_mean_of_pi_is_nu(margin, outliers):
    X, y = smooth_data()
    w = np.array([0.5, 0.1, 0.0, 2.0])
    pis = [online_pi(X[n], y[n], X, y, w, 0.4, margin, outliers, self_index=n) for n in range(len(X))]
    assert_same(np.mean(pis, axis=0), irelief_nu(X, y, w, 0.4, margin, outliers))


@pytest.mark.parametrize("margin", MARGINS)
def test_pi_with_references_apart(margin):
    X, y = smooth_data()
    w = np.array([0.5, 0.1, 0.3, 2.0])
    n = 5
    others = np.arange(len(X)) != n
    priors = class_priors(y)
    apart = online_pi(X[n], y[n], X[others], y[others], w, 0.4, margin, priors=priors)
    assert_same(apart, online_pi(X[n], y[n], X, y, w, 0.4, margin, self_index=n))
    as_array = np.array([priors[c] for c in sorted(priors)])
    same = online_pi(X[n], y[n], X[others], y[others], w, 0.4, margin, priors=as_array)
    assert_array_equal(same, apart)
    # Without a miss, and without a hit, among the references.
    for some in (others & (y == y[n]), y != y[n]):
        assert_array_equal(online_pi(X[n], y[n], X[some], y[some], w, 0.4, margin), 0)


def test_online_steps():
    X, y = smooth_data()
    order = [3, 1, 4, 15, 9, 2]
    path = online_irelief_path(X, y, 0.5, a=1.0, order=order, n_epochs=2)
    assert len(path) == 12
    # a = 1: nu is the running mean of pi (text after eq. 29).
    w, pis = np.full(4, 0.25), []
    for n, (after, nu) in zip(order * 2, path, strict=True):
        pis.append(online_pi(X[n], y[n], X, y, w, 0.5, self_index=n))
        assert_same(nu, np.mean(pis, axis=0))
        w = after
    assert_array_equal(online_irelief(X, y, 0.5, order=order, n_epochs=2), w)
    # a = 1/2: steps 1 and 2 have eta = 1.
    path = online_irelief_path(X, y, 0.5, a=0.5, order=order)
    second = online_pi(X[1], y[1], X, y, path[0][0], 0.5, self_index=1)
    assert_same(path[1][1], second)
    third = online_pi(X[4], y[4], X, y, path[1][0], 0.5, self_index=4)
    assert_same(path[2][1], second / 3 + third * 2 / 3)


def test_online_reaches_the_batch_solution():
    # Theorem 4.
    X, y = smooth_data(n_classes=2)
    batch = irelief(X, y, 1.0, n_iter=30)[-1]
    assert_allclose(irelief_step(X, y, batch, 1.0), batch, atol=1e-9)
    assert_allclose(online_irelief(X, y, 1.0, n_epochs=40), batch, atol=5e-3)


# --- Fisher score -------------------------------------------------------------------------------


def test_fisher():
    X = np.array([[0.0, 1.0, 0.1], [2.0, 1.0, 0.1], [3.0, 1.0, 0.3], [5.0, 1.0, 0.3]])
    y = np.array([0, 0, 1, 1])
    # Means 1 and 4 around 2.5, variances 1 and 1; a constant feature; one constant per class.
    assert_array_equal(fisher(X, y), [2.25, 0.0, np.inf])


def test_fisher_weights_are_copies():
    for X, y in (tied_data(), smooth_data()):
        s = copies_of(len(X))
        assert_same(fisher(X, y, s), fisher(np.repeat(X, s, 0), np.repeat(y, s)))
        assert_same(fisher(X, y, 0.37 * s), fisher(X, y, s))


# --- HKNN ----------------------------------------------------------------------------------------


def test_hknn_by_hand():
    """Two neighbors at (-1, 0) and (1, 0): V'V has the eigenvalue 2, of x = (3, 2) the part 3 is shrunk."""
    neighbors, x = np.array([[-1.0, 0.0], [1.0, 0.0]]), np.array([3.0, 2.0])
    assert_allclose(hknn_ridge_distance(x, neighbors, 0), 2.0)
    assert_allclose(hknn_ridge_distance(x, neighbors, 1.0), np.hypot(3.0 / 3.0, 2.0))
    assert_allclose(hknn_ridge_distance(x, neighbors, 1e12), np.hypot(3.0, 2.0))


def test_hknn_shares_are_columns_that_are_there_several_times():
    rng = np.random.default_rng(0)
    neighbors, x, u = rng.normal(size=(4, 6)), rng.normal(size=6), np.array([1, 3, 2, 1])
    repeated = hknn_ridge_distance(x, np.repeat(neighbors, u, axis=0), 0.3)
    assert_same(hknn_shared_distance(x, neighbors, u.astype(float), 0.3), repeated)


def test_hknn_weights_are_copies():
    X, y = smooth_data()
    s = copies_of(len(X))
    Q = np.random.default_rng(5).uniform(size=(6, X.shape[1]))
    of_copies = hknn_distances(Q, np.repeat(X, s, 0), np.repeat(y, s), 4, 0.5)
    assert_same(hknn_distances(Q, X, y, 4, 0.5, s), of_copies)
