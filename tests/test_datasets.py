import inspect
import re
from functools import reduce
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from highrelief.datasets import (
    add_irrelevant_features,
    flip_labels,
    make_epistasis,
    make_fermat_spiral,
    make_ringnorm,
    make_twonorm,
    make_waveform,
    make_xor,
)

# Seeds are fixed. Five standard errors leave room for the hundreds of numbers compared.
SE = 5

WIDTHS = {
    make_ringnorm: 20,
    make_twonorm: 20,
    make_waveform: 21,
    make_fermat_spiral: 2,
    make_xor: 2,
    make_epistasis: 2,
}
generators = pytest.mark.parametrize("make", WIDTHS, ids=lambda make: make.__name__)
balanced = pytest.mark.parametrize("make", [make for make in WIDTHS if make is not make_xor])


def expected_mask(make, n_irrelevant):
    mask = np.r_[np.ones(WIDTHS[make], bool), np.zeros(n_irrelevant, bool)]
    if make is make_waveform:
        mask[[0, 20]] = False
    return mask


def assert_normal(X, mean, covariance):
    """Compare every mean, variance and covariance with theory."""
    mean, covariance = np.broadcast_to(mean, X.shape[1]), np.asarray(covariance)
    variance = np.diag(covariance)
    mean_error = np.sqrt(variance / len(X))
    covariance_error = np.sqrt((np.outer(variance, variance) + covariance**2) / len(X))
    assert (np.abs(X.mean(axis=0) - mean) < SE * mean_error).all()
    assert (np.abs(np.cov(X, rowvar=False) - covariance) < SE * covariance_error).all()


# What all generators share.


@generators
def test_types_shapes_and_mask(make):
    X, y, relevant = make(60, n_irrelevant=7, random_state=0)
    assert X.shape == (60, WIDTHS[make] + 7)
    assert X.dtype == (np.int8 if make is make_epistasis else np.float64)
    assert y.shape == (60,)
    assert y.dtype == np.int64
    assert set(y) == set(range(3 if make is make_waveform else 2))
    assert relevant.dtype == np.bool_
    np.testing.assert_array_equal(relevant, expected_mask(make, 7))


@generators
def test_all_but_the_sample_size_is_by_keyword_only(make):
    first, *others = inspect.signature(make).parameters.values()
    assert first.name == "n_samples"
    assert {p.kind for p in others} == {inspect.Parameter.KEYWORD_ONLY}
    assert make(random_state=0)[0].shape == (first.default, WIDTHS[make])


@balanced
@pytest.mark.parametrize("n_samples", [60, 61, 62])
def test_class_sizes_differ_by_at_most_one(make, n_samples):
    _, y, _ = make(n_samples, random_state=0)
    counts = np.bincount(y)
    assert counts.sum() == n_samples
    assert np.ptp(counts) <= 1


@generators
def test_rows_are_in_random_class_order(make):
    _, y, _ = make(2000, random_state=0)
    chance = 1 - np.mean(np.bincount(y) / 2000 @ np.bincount(y) / 2000)
    changes = np.mean(y[1:] != y[:-1])
    assert abs(changes - chance) < SE * np.sqrt(chance * (1 - chance) / 1999)


@generators
def test_the_seed_fixes_everything(make):
    first = make(50, n_irrelevant=3, shuffle_features=True, random_state=7)
    again = make(50, n_irrelevant=3, shuffle_features=True, random_state=7)
    generator = np.random.RandomState(7)
    by_generator = make(50, n_irrelevant=3, shuffle_features=True, random_state=generator)
    advanced = make(50, n_irrelevant=3, shuffle_features=True, random_state=generator)
    for a, b, c in zip(first, again, by_generator, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)
    assert (first[0] != advanced[0]).any()


@generators
def test_shuffling_permutes_columns_and_mask_together(make):
    X, y, relevant = make(50, n_irrelevant=9, random_state=1)
    X_shuffled, y_shuffled, relevant_shuffled = make(
        50, n_irrelevant=9, shuffle_features=True, random_state=1
    )
    np.testing.assert_array_equal(y, y_shuffled)
    assert (relevant != relevant_shuffled).any()
    for mask, mask_shuffled in ((relevant, relevant_shuffled), (~relevant, ~relevant_shuffled)):
        columns = sorted(map(tuple, X[:, mask].T))
        assert columns == sorted(map(tuple, X_shuffled[:, mask_shuffled].T))


@pytest.mark.parametrize("seed", [0, None])
def test_global_random_state_is_neither_read_nor_advanced(seed):
    def run():
        drawn = [make(30, n_irrelevant=2, shuffle_features=True, random_state=seed)[0]
                 for make in WIDTHS]  # fmt: skip
        drawn.append(add_irrelevant_features(np.zeros((30, 1)), 2, random_state=seed)[0])
        drawn.append(flip_labels(np.arange(1000) % 2, 0.5, random_state=seed)[1])
        return drawn

    kept = np.random.get_state()  # noqa: NPY002
    try:
        np.random.seed(5)  # noqa: NPY002
        before = np.random.get_state()  # noqa: NPY002
        first = run()
        after = np.random.get_state()  # noqa: NPY002
        np.testing.assert_array_equal(before[1], after[1])
        assert before[2:] == after[2:]
        second = run()
    finally:
        np.random.set_state(kept)  # noqa: NPY002
    for a, b in zip(first, second, strict=True):
        assert np.array_equal(a, b) == (seed is not None)


@pytest.mark.parametrize("make", [make_ringnorm, make_twonorm, make_waveform, make_fermat_spiral])
def test_irrelevant_features_are_standard_normal_in_every_class(make):
    X, y, _ = make(30_000, n_irrelevant=6, random_state=2)
    for code in np.unique(y):
        assert_normal(X[y == code, -6:], 0, np.eye(6))
        assert stats.kstest(X[y == code, -1], "norm").pvalue > 1e-3


@generators
def test_no_irrelevant_feature_hangs_together_with_another(make):
    X, _, relevant = make(20_000, n_irrelevant=4, random_state=3)
    correlations = np.corrcoef(X, rowvar=False)[~relevant]
    correlations = correlations[correlations < 1 - 1e-9]
    assert np.abs(correlations).max() < SE / np.sqrt(len(X))


# Each problem against its theory.


@pytest.mark.parametrize(("n_features", "mean"), [(20, None), (5, None), (20, 0.1), (3, -1.5)])
def test_ringnorm_means_and_covariances(n_features, mean):
    X, y, _ = make_ringnorm(40_000, n_features=n_features, mean=mean, random_state=0)
    expected = 2 / np.sqrt(n_features) if mean is None else mean
    assert_normal(X[y == 0], 0, 4 * np.eye(n_features))
    assert_normal(X[y == 1], expected, np.eye(n_features))


@pytest.mark.parametrize("n_features", [20, 4])
def test_twonorm_means_and_covariances(n_features):
    X, y, _ = make_twonorm(40_000, n_features=n_features, random_state=0)
    assert_normal(X[y == 0], 2 / np.sqrt(n_features), np.eye(n_features))
    assert_normal(X[y == 1], -2 / np.sqrt(n_features), np.eye(n_features))


@pytest.mark.parametrize("n_features", [20, 4])
def test_twonorm_best_rule_errs_on_two_percent(n_features):
    X, y, _ = make_twonorm(50_000, n_features=n_features, random_state=1)
    error = np.mean((X.sum(axis=1) < 0) != y)
    expected = stats.norm.cdf(-2)
    assert abs(error - expected) < SE * np.sqrt(expected * (1 - expected) / len(y))


def waves():
    h1 = {i: max(6 - abs(i - 11), 0) for i in range(-10, 40)}
    return [[h1[i + shift] for i in range(1, 22)] for shift in (0, -4, 4)]


def test_waveform_means_and_covariances():
    X, y, relevant = make_waveform(60_000, random_state=0)
    h1, h2, h3 = map(np.array, waves())
    for code, (first, second) in enumerate([(h1, h2), (h1, h3), (h2, h3)]):
        difference = first - second
        covariance = np.eye(21) + np.outer(difference, difference) / 12
        assert_normal(X[y == code], (first + second) / 2, covariance)
        # u is uniform, not normal: the residuals along the difference show it.
        u = (X[y == code] - second) @ difference / (difference @ difference)
        noise = 1 / np.sqrt(difference @ difference)
        assert abs(np.mean((u - 0.5) ** 4) - (1 / 80 + noise**2 / 2 + 3 * noise**4)) < 1e-3
    np.testing.assert_array_equal(relevant, h1 + h2 + h3 > 0)


def test_waveform_of_two_classes():
    X3, y3, _ = make_waveform(30_000, random_state=0)
    X2, y2, _ = make_waveform(30_000, n_classes=2, random_state=0)
    np.testing.assert_array_equal(X2, X3)
    np.testing.assert_array_equal(y2, y3 == 0)
    assert np.bincount(y2).tolist() == [20_000, 10_000]


def test_waveform_features_that_tell_nothing_alone():
    X, y, relevant = make_waveform(30_000, n_classes=2, random_state=1)
    same = [stats.ks_2samp(X[y == 0, j], X[y == 1, j]).pvalue > 1e-3 for j in range(21)]
    # Number 10 of 1, ..., 21 is relevant through the others only.
    assert np.flatnonzero(same).tolist() == [0, 9, 20]
    assert np.flatnonzero(~relevant).tolist() == [0, 20]


@pytest.mark.parametrize("turns", [2.5, 1, 0.3])
def test_spiral_lies_on_its_branches(turns):
    X, y, _ = make_fermat_spiral(3000, turns=turns, random_state=0)
    theta = (X**2).sum(axis=1)
    r = np.where(y == 0, 1, -1) * np.sqrt(theta)
    curve = np.column_stack([r * np.cos(theta), r * np.sin(theta)])
    np.testing.assert_allclose(X, curve, atol=1e-12)
    assert theta.min() > 0
    assert theta.max() <= 2 * np.pi * turns * (1 + 1e-12)
    for code in (0, 1):
        uniform = stats.uniform(0, 2 * np.pi * turns)
        assert stats.kstest(theta[y == code], uniform.cdf).pvalue > 1e-3


def test_spiral_noise_has_the_given_standard_deviation():
    X, y, _ = make_fermat_spiral(40_000, noise=1.5, random_state=0)
    squares = (X**2).sum(axis=1)
    error = squares.std() / np.sqrt(len(squares))
    assert abs(squares.mean() - (2.5 * np.pi + 2 * 1.5**2)) < SE * error
    assert len(np.unique(y)) == 2


@pytest.mark.parametrize("kind", ["continuous", "binary"])
@pytest.mark.parametrize("order", [2, 3, 4])
def test_xor_only_all_features_together_tell_the_class(kind, order):
    X, y, _ = make_xor(20_000, order=order, kind=kind, n_irrelevant=2, random_state=0)
    signs = np.sign(X) if kind == "continuous" else 2 * X - 1
    code = 2 * y - 1
    full = signs[:, :order].prod(axis=1)
    ones = np.count_nonzero(X[:, :order] == 1, axis=1)
    np.testing.assert_array_equal(y, full > 0 if kind == "continuous" else ones % 2)
    limit = SE / np.sqrt(len(y))
    assert abs(code.mean()) < limit
    for size in range(1, order + 2):
        for subset in combinations(range(order + 2), size):
            if subset == tuple(range(order)):
                continue
            # The products over all subsets fix the joint distribution of the signs.
            assert abs(np.mean(signs[:, subset].prod(axis=1) * code)) < limit
    if kind == "continuous":
        sizes = np.abs(X) - 0.5
        assert np.abs(sizes.T @ code / len(y)).max() < limit * np.sqrt(1 / 12)


def test_xor_features_have_the_same_distribution():
    X, _, _ = make_xor(20_000, n_irrelevant=3, random_state=1)
    for column in X.T:
        assert stats.kstest(column, stats.uniform(-1, 2).cdf).pvalue > 1e-3
    X, _, _ = make_xor(20_000, kind="binary", n_irrelevant=3, random_state=1)
    assert set(np.unique(X)) == {0.0, 1.0}
    assert np.abs(X.mean(axis=0) - 0.5).max() < SE * 0.5 / np.sqrt(len(X))


def hardy_weinberg(maf):
    return np.array([(1 - maf) ** 2, 2 * maf * (1 - maf), maf**2])


def genotype_counts(X, loci):
    table = np.zeros((3,) * len(loci))
    np.add.at(table, tuple(X[:, j] for j in loci), 1)
    return table


@pytest.mark.parametrize(
    ("order", "maf", "heritability", "prevalence"),
    [(2, 0.3, 0.2, 0.5), (2, (0.4, 0.25), 0.1, 0.2), (3, (0.3, 0.5, 0.35), 0.1, 0.6)],
)
def test_epistasis_is_pure_strict_and_as_strong_as_asked(order, maf, heritability, prevalence):
    n = 200_000
    X, y, _ = make_epistasis(
        2 * n, order=order, maf=maf, heritability=heritability, prevalence=prevalence,
        random_state=0,
    )  # fmt: skip
    loci = [hardy_weinberg(m) for m in np.broadcast_to(maf, order)]
    for size in range(1, order + 1):
        for subset in combinations(range(order), size):
            p = reduce(np.multiply.outer, [loci[j] for j in subset])
            cases, controls = (genotype_counts(X[y == code], subset) / n for code in (1, 0))
            population = prevalence * cases + (1 - prevalence) * controls
            penetrance = prevalence * cases / population
            explained = np.sum(p * (penetrance - prevalence) ** 2)
            explained /= prevalence * (1 - prevalence)
            if size == order:
                # The error of the estimate is about 2 sqrt(heritability / n) at prevalence 0.5.
                assert abs(explained - heritability) < 10 * np.sqrt(heritability / (2 * n))
                assert (np.abs(population - p) < SE * np.sqrt(p / n)).all()
            else:
                spread = prevalence * (1 - prevalence) * np.sqrt(2 / (n * p))
                assert (np.abs(penetrance - prevalence) < SE * spread).all()
                for frequencies in (cases, controls):
                    error = np.sqrt(p * (1 - p) / n)
                    assert (np.abs(frequencies - p) < SE * error).all()


def test_epistasis_irrelevant_loci():
    X, y, _ = make_epistasis(100_000, n_irrelevant=20, irrelevant_maf=(0.1, 0.2), random_state=0)
    noise = X[:, 2:]
    maf = noise.mean(axis=0) / 2
    assert 0.1 - 0.005 < maf.min() < maf.max() < 0.2 + 0.005
    error = np.sqrt(2 * maf * (1 - maf) * 4 / len(X))
    difference = noise[y == 0].mean(axis=0) - noise[y == 1].mean(axis=0)
    assert (np.abs(difference) < SE * error).all()
    for column, m in zip(noise.T, maf, strict=True):
        p = hardy_weinberg(m)
        observed = np.bincount(column, minlength=3) / len(X)
        assert (np.abs(observed - p) < SE * np.sqrt(p * (1 - p) / len(X))).all()


def test_epistasis_irrelevant_frequencies_are_uniform():
    X, _, _ = make_epistasis(1000, n_irrelevant=1500, random_state=0)
    maf = X[:, 2:].mean(axis=0) / 2
    assert stats.kstest(maf, stats.uniform(0.05, 0.45).cdf).pvalue > 1e-3


def test_epistasis_seeds_draw_different_tables():
    shares = []
    for seed in (0, 1):
        X, y, _ = make_epistasis(20_000, random_state=seed)
        shares.append(genotype_counts(X[y == 1], (0, 1)) / genotype_counts(X, (0, 1)))
    assert np.abs(shares[0] - shares[1]).max() > 0.2


@pytest.mark.slow
def test_epistasis_of_high_order():
    X, y, relevant = make_epistasis(100, order=6, heritability=0.02, random_state=0)
    assert X.shape == (100, 6)
    assert relevant.all()
    assert set(np.unique(X)) == {0, 1, 2}
    assert y.sum() == 50


@pytest.mark.parametrize(("order", "maf", "prevalence"), [(2, 0.1, 0.5), (3, 0.2, 0.05)])
def test_epistasis_error_names_a_heritability_that_works(order, maf, prevalence):
    arguments = {"order": order, "maf": maf, "prevalence": prevalence, "random_state": 3}
    with pytest.raises(ValueError, match=r"heritability=0\.9 is not reached") as caught:
        make_epistasis(50, heritability=0.9, **arguments)
    reachable = float(re.search(r"heritability=(\S+) works", str(caught.value)).group(1))
    assert 0 < reachable < 0.9
    make_epistasis(50, heritability=reachable, **arguments)
    with pytest.raises(ValueError, match="is not reached"):
        make_epistasis(50, heritability=reachable * 1.02, **arguments)


# The transformations.


@pytest.mark.parametrize(
    ("given", "becomes"),
    [("float32", "float32"), ("float64", "float64"), ("int64", "float64"), ("int8", "float64")],
)
def test_added_features(given, becomes):
    X = np.random.RandomState(0).randint(0, 9, size=(20_000, 3)).astype(given)
    copy = X.copy()
    X_new, relevant = add_irrelevant_features(X, 5, random_state=0)
    assert X_new.dtype == becomes
    assert relevant.tolist() == [True] * 3 + [False] * 5
    np.testing.assert_array_equal(X_new[:, :3], copy)
    assert_normal(X_new[:, 3:].astype(np.float64), 0, np.eye(5))
    X_new[:] = -1
    np.testing.assert_array_equal(X, copy)


def test_adding_no_features_gives_a_copy():
    X = np.arange(6.0).reshape(3, 2)
    X_new, relevant = add_irrelevant_features(X, 0)
    np.testing.assert_array_equal(X_new, X)
    assert not np.shares_memory(X_new, X)
    assert relevant.tolist() == [True, True]


def test_added_features_by_seed():
    X = np.zeros((10, 1))
    first, again, other = (add_irrelevant_features(X, 2, random_state=s)[0] for s in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first[:, 1:] != other[:, 1:]).all()


LABELS = {
    "int": np.arange(101) % 3,
    "int8": (np.arange(101) % 2 * 2 - 1).astype(np.int8),
    "str": np.array(["no", "yes", "perhaps"])[np.arange(101) % 3],
    "object": np.array(["no", "yes"], dtype=object)[np.arange(101) % 2],
    "bool": np.arange(101) % 2 == 0,
    "float": (np.arange(101) % 4) / 2,
}


@pytest.mark.parametrize("fraction", [0, 0.001, 0.075, 0.5, 1])
@pytest.mark.parametrize("labels", LABELS)
def test_flipping_changes_exactly_the_given_fraction(labels, fraction):
    y = LABELS[labels]
    copy = y.copy()
    y_noisy, flipped = flip_labels(y, fraction, random_state=0)
    assert flipped.dtype == np.bool_
    assert flipped.sum() == round(fraction * len(y))
    np.testing.assert_array_equal(y_noisy != y, flipped)
    assert y_noisy.dtype == y.dtype
    assert set(y_noisy) <= set(y)
    np.testing.assert_array_equal(y, copy)


def test_flipped_samples_and_new_classes_are_uniform():
    y = np.repeat([0, 1, 2, 3], 5000)
    y_noisy, flipped = flip_labels(y, 0.3, random_state=0)
    assert stats.kstest(np.flatnonzero(flipped), stats.uniform(0, len(y)).cdf).pvalue > 1e-3
    for code in range(4):
        counts = np.bincount(y_noisy[flipped & (y == code)], minlength=4)
        assert counts[code] == 0
        assert stats.chisquare(np.delete(counts, code)).pvalue > 1e-3


def test_flipping_by_seed_and_from_a_list():
    y = ["a", "b"] * 50
    first, again, other = (flip_labels(y, 0.5, random_state=s)[0] for s in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_flipping_nothing_needs_no_second_class():
    y_noisy, flipped = flip_labels([1, 1, 1], 0)
    assert y_noisy.tolist() == [1, 1, 1]
    assert not flipped.any()


# What is refused, and how.


@generators
@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"n_samples": 0}, ValueError, r"n_samples=0 must be at least \d\."),
        ({"n_samples": 10.5}, TypeError, r"n_samples=10\.5 must be an integer"),
        ({"n_irrelevant": -1}, ValueError, "n_irrelevant=-1 must be at least 0"),
        ({"n_irrelevant": True}, TypeError, "n_irrelevant=True must be an integer"),
        ({"shuffle_features": "no"}, TypeError, "shuffle_features='no' must be True or False"),
        ({"random_state": "x"}, TypeError, "random_state='x' must be None, an integer"),
        ({"random_state": -1}, ValueError, "random_state=-1 must be None, an integer"),
    ],
)
def test_refusals_of_every_generator(make, wrong, error, message):
    with pytest.raises(error, match=message):
        make(**wrong)


@pytest.mark.parametrize(
    ("function", "wrong", "message"),
    [
        (make_ringnorm, {"n_features": 0}, "n_features=0 must be at least 1"),
        (make_ringnorm, {"mean": np.nan}, "mean=nan must be a finite number"),
        (make_ringnorm, {"n_samples": 1}, "n_samples=1 must be at least 2"),
        (make_twonorm, {"n_features": 0}, "n_features=0 must be at least 1"),
        (make_waveform, {"n_samples": 2}, "n_samples=2 must be at least 3"),
        (make_waveform, {"n_classes": 1}, "n_classes=1 must be at least 2"),
        (make_waveform, {"n_classes": 4}, "n_classes=4 .* use at most 3"),
        (make_fermat_spiral, {"turns": 0}, "turns=0 must be a finite number > 0"),
        (make_fermat_spiral, {"noise": -0.1}, r"noise=-0\.1 must be a finite number >= 0"),
        (make_xor, {"order": 1}, "order=1 must be at least 2"),
        (make_xor, {"kind": "ternary"}, "kind='ternary' .* one of 'continuous', 'binary'"),
        (make_epistasis, {"order": 1}, "order=1 must be at least 2"),
        (make_epistasis, {"order": 7}, "order=7 .* use at most 6"),
        (make_epistasis, {"maf": 0.6}, r"maf=0\.6 must be .* > 0 and <= 0\.5"),
        (make_epistasis, {"maf": (0.3, 0)}, r"maf=0 must be .* > 0 and <= 0\.5"),
        (make_epistasis, {"maf": (0.3,) * 3}, r"maf=\(0\.3, .*\) must be one number, or order=2 numbers"),
        (make_epistasis, {"heritability": 0}, "heritability=0 must be .* > 0"),
        (make_epistasis, {"heritability": 1.5}, r"heritability=1\.5 must be .* > 0 and < 1"),
        (make_epistasis, {"prevalence": 1}, "prevalence=1 must be .* > 0 and < 1"),
        (make_epistasis, {"prevalence": np.nan}, "prevalence=nan must be a finite number"),
        (make_epistasis, {"irrelevant_maf": 0.3}, r"irrelevant_maf=0\.3 must be two numbers"),
        (make_epistasis, {"irrelevant_maf": (0, 0.5)}, r"irrelevant_maf\[0\]=0 must be .* > 0"),
        (make_epistasis, {"irrelevant_maf": (0.3, 0.2)}, r"irrelevant_maf\[1\]=0\.2 must be .* >= 0\.3"),
        (add_irrelevant_features, {"X": [1, 2], "n_irrelevant": 1}, "X must .* 2 dimensions, but has 1"),
        (add_irrelevant_features, {"X": [[1]], "n_irrelevant": -1}, "n_irrelevant=-1 must be at least 0"),
        (flip_labels, {"y": [0, 1], "fraction": 1.1}, r"fraction=1\.1 must be .* >= 0 and <= 1"),
        (flip_labels, {"y": [0, 1], "fraction": -0.1}, r"fraction=-0\.1 must be .* >= 0 and <= 1"),
        (flip_labels, {"y": [0, 1], "fraction": np.nan}, "fraction=nan must be a finite number"),
        (flip_labels, {"y": [0, 0], "fraction": 0.1}, r"fraction=0\.1 needs 2 classes .* has 1"),
        (flip_labels, {"y": [[0, 1]], "fraction": 0.1}, "y must have 1 dimension, but has 2"),
    ],
)
def test_refusals(function, wrong, message):
    with pytest.raises(ValueError, match=message):
        function(**wrong)


@pytest.mark.parametrize(
    ("function", "wrong", "message"),
    [
        (make_ringnorm, {"mean": "a"}, "mean='a' must be a number"),
        (make_twonorm, {"n_features": 2.0}, r"n_features=2\.0 must be an integer"),
        (make_epistasis, {"heritability": "a"}, "heritability='a' must be a number"),
        (make_epistasis, {"maf": (0.3, "a")}, "maf='a' must be a number"),
        (add_irrelevant_features, {"X": [[1]], "n_irrelevant": 1.0}, r"n_irrelevant=1\.0 must be an integer"),
        (flip_labels, {"y": [0, 1], "fraction": "a"}, "fraction='a' must be a number"),
    ],
)
def test_refusals_of_the_wrong_type(function, wrong, message):
    with pytest.raises(TypeError, match=message):
        function(**wrong)
