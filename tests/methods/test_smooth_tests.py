"""Smooth tests: statistics equal the formula, and deviates are those of noise where there is nothing."""

from math import cos, pi, sqrt

import numpy as np
import pytest
from scipy.stats import chi2_contingency, norm

from highrelief.methods.smooth_tests import (
    DECAY,
    N_FUNCTIONS,
    functions_of,
    residuals,
    smooth_tests,
)


def of_numbers(X, strata=None):
    """Functions of numbers."""
    X = np.asarray(X, dtype=np.float64)
    return functions_of(X, np.empty((0, len(X)), np.int8), np.zeros(X.shape[1], bool), strata)


def of_levels(X, strata=None):
    """Functions of levels 0, 1, …"""
    X = np.asarray(X)
    return functions_of(X, X.T.astype(np.int8), np.ones(X.shape[1], bool), strata)


def deviate(total, weights, products):
    """The deviate of a weighted sum of squares, from the weights and mean products of the functions."""
    mean = sum(weights)
    half_variance = sum(each**2 for each in products)
    width = 2.0 * half_variance / (9.0 * mean**2)
    return ((total / mean) ** (1.0 / 3.0) - 1.0 + width) / sqrt(width)


def slow_functions(x):
    """The functions of a column without equal or missing values, one list per order."""
    n = len(x)
    found = []
    for k in range(1, N_FUNCTIONS + 1):
        f = [cos(k * pi * (sum(other < value for other in x) + 0.5) / n) for value in x]
        mean = sum(f) / n
        size = sqrt(sum((each - mean) ** 2 for each in f) / n)
        found.append([sqrt(DECAY**k) * (each - mean) / size for each in f])
    return found


def slow_tests(X, y):
    """Deviates of pairs for two equally large classes, by loops over the formula."""
    n, p = X.shape
    r = [(1.0 if label else -1.0) / sqrt(n) for label in y]
    functions = [slow_functions(list(X[:, j])) for j in range(p)]
    gram = [
        [[sum(a * b for a, b in zip(f, g, strict=True)) / n for g in each] for f in each]
        for each in functions
    ]
    weights = [[gram[j][k][k] for k in range(N_FUNCTIONS)] for j in range(p)]
    products = [[each for row in gram[j] for each in row] for j in range(p)]
    sums = [sum(sum(a * b for a, b in zip(r, f, strict=True)) ** 2 for f in functions[j]) for j in range(p)]
    conditional, interaction = np.full((p, p), -np.inf), np.full((p, p), -np.inf)
    for j in range(p):
        for i in range(p):
            if i != j:
                T = sum(
                    sum(a * b * c for a, b, c in zip(r, f, g, strict=True)) ** 2
                    for f in functions[i]
                    for g in functions[j]
                )
                of_pair = [a * b for a in weights[i] for b in weights[j]]
                both = [a * b for a in products[i] for b in products[j]]
                interaction[j, i] = deviate(T, of_pair, both)
                conditional[j, i] = deviate(T + sums[j], of_pair + weights[j], both + products[j])
    return conditional, interaction


def slow_pair(X, y, j, i, *, conditional):
    """The deviate of one pair, with the correlations of all its functions, by loops."""
    n = len(X)
    r = [(1.0 if label else -1.0) / sqrt(n) for label in y]
    own, other = slow_functions(list(X[:, j])), slow_functions(list(X[:, i]))
    every = [[a * b for a, b in zip(f, g, strict=True)] for f in own for g in other]
    every = own + every if conditional else every
    every = [[each - sum(f) / n for each in f] for f in every]
    products = [[sum(a * b for a, b in zip(f, g, strict=True)) / n for g in every] for f in every]
    total = sum(sum(a * b for a, b in zip(r, f, strict=True)) ** 2 for f in every)
    mean = sum(products[k][k] for k in range(len(every)))
    half_variance = sum(each**2 for row in products for each in row)
    half_variance -= sum(sum(f[m] ** 2 for f in every) ** 2 for m in range(n)) / n**2
    half_variance = max(half_variance, mean**2 / len(every))
    return deviate(total, [mean], [sqrt(half_variance)])


class TestFormula:
    @pytest.mark.parametrize("kind", ["independent", "correlated"])
    def test_numbers_equal_the_slow_formula(self, kind):
        random = np.random.default_rng(0)
        X, y = random.normal(size=(30, 5)), np.arange(30) % 2
        X[:, 1] += 0.8 * y
        if kind == "correlated":
            X[:, 2:] += 2.0 * random.normal(size=(30, 1))
        found = smooth_tests(of_numbers(X), y, 2)
        conditional, interaction = slow_tests(X, y)
        for z, partner, slow, is_conditional in (
            (found.conditional, found.partner, conditional, True),
            (found.interaction, found.interaction_partner, interaction, False),
        ):
            assert (partner >= 0).any()
            for j in range(5):
                if slow[j].max() <= 0.0:
                    assert (z[j], partner[j]) == (0.0, -1)
                    continue
                assert partner[j] == slow[j].argmax()
                expected = slow_pair(X, y, j, partner[j], conditional=is_conditional)
                assert z[j] == pytest.approx(max(expected, 0.0), abs=1e-4)

    def test_the_sum_of_levels_is_that_of_pearson(self):
        random = np.random.default_rng(1)
        X, y = random.integers(0, 4, (90, 1)), np.arange(90) % 3
        functions = of_levels(X)
        assert functions.mean[0] == pytest.approx(3.0)
        assert functions.half_variance[0] == pytest.approx(3.0)
        left = residuals(y, 3, None)
        counts = np.array([[np.sum((X[:, 0] == a) & (y == c)) for c in range(3)] for a in range(4)])
        sums = ((functions.values[0].astype(float) @ left) ** 2).sum()
        assert sums == pytest.approx(chi2_contingency(counts, correction=False).statistic, rel=1e-5)

    def test_a_pair_of_levels_has_the_degrees_of_freedom_of_an_interaction(self):
        random = np.random.default_rng(2)
        X = np.column_stack([random.integers(0, 3, 400), random.integers(0, 4, 400)])
        functions = of_levels(X)
        assert functions.mean.prod() == pytest.approx(2 * 3, rel=1e-5)

    def test_residuals_are_orthonormal_and_add_up_to_0_within_strata(self):
        random = np.random.default_rng(3)
        y, strata = random.integers(0, 4, 80), random.integers(0, 3, 80)
        left = residuals(y, 4, strata)
        np.testing.assert_allclose(left.T @ left, np.eye(3), atol=1e-12)
        for stratum in range(3):
            np.testing.assert_allclose(left[strata == stratum].sum(axis=0), 0.0, atol=1e-12)


class TestInvariances:
    def table(self):
        random = np.random.default_rng(4)
        X = random.normal(size=(60, 150))
        return X, (X[:, 0] * X[:, 1] > 0.0).astype(np.int64)

    def test_results_depend_on_ranks_only(self):
        X, y = self.table()
        one, other = smooth_tests(of_numbers(X), y, 2), smooth_tests(of_numbers(np.exp(3.0 * X) + 5.0), y, 2)
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)

    def test_threads_do_not_change_a_bit(self):
        X, y = self.table()
        one, three = (smooth_tests(of_numbers(X), y, 2, n_threads=n) for n in (1, 3))
        for a, b in zip(one, three, strict=True):
            np.testing.assert_array_equal(a, b)

    def test_mirrored_columns_and_renamed_classes_change_nothing(self):
        X, y = self.table()
        one, other = smooth_tests(of_numbers(X), y, 2), smooth_tests(of_numbers(-X), 1 - y, 2)
        np.testing.assert_allclose(one.conditional, other.conditional, atol=1e-4)
        np.testing.assert_array_equal(one.partner[:2], other.partner[:2])

    def test_the_order_of_the_features_changes_nothing(self):
        """More features than are tested at once."""
        X, y = self.table()
        X = np.column_stack([X, np.random.default_rng(11).normal(size=X.shape)])
        order = np.random.default_rng(12).permutation(300)
        one, other = smooth_tests(of_numbers(X), y, 2), smooth_tests(of_numbers(X[:, order]), y, 2)
        np.testing.assert_allclose(one.conditional[order], other.conditional, atol=1e-4)
        np.testing.assert_array_equal(one.partner[order], np.append(order, -1)[other.partner])

    def test_a_missing_value_counts_neither_way(self):
        X, y = self.table()
        X, y = np.vstack([X, np.full((40, 150), np.nan)]), np.append(y, np.arange(40) % 2)
        for values in of_numbers(X).values:
            assert (values[:, :, 60:] == 0.0).all()
            np.testing.assert_allclose(values.sum(axis=2), 0.0, atol=1e-3)


class TestFinds:
    def test_the_pair_is_its_own_partner(self):
        random = np.random.default_rng(5)
        X = random.uniform(size=(150, 60))
        ring = np.abs(np.hypot(X[:, 3] - 0.5, X[:, 8] - 0.5) - 0.35) <= 0.1151
        found = smooth_tests(of_numbers(X), ring.astype(np.int64), 2)
        assert set(np.argsort(-found.conditional)[:2]) == {3, 8}
        assert found.partner[[3, 8]].tolist() == [8, 3]
        assert found.interaction_partner[[3, 8]].tolist() == [8, 3]

    def test_a_number_and_a_level(self):
        random = np.random.default_rng(6)
        X = np.column_stack([random.normal(size=(200, 10)), random.integers(0, 3, (200, 10))])
        y = ((X[:, 0] > 0.0) ^ (X[:, 15] == 1)).astype(np.int64)
        is_level = np.arange(20) >= 10
        functions = functions_of(X, X[:, is_level].T.astype(np.int8), is_level)
        found = smooth_tests(functions, y, 2)
        assert found.partner[[0, 15]].tolist() == [15, 0]
        assert set(np.argsort(-found.interaction)[:2]) == {0, 15}

    def test_nothing_between_strata(self):
        """Both the class and the features differ between strata, and nothing else does."""
        random = np.random.default_rng(7)
        strata = np.repeat([0, 1], 150)
        X = random.normal(size=(300, 30)) + 4.0 * strata[:, np.newaxis]
        y = (random.uniform(size=300) < np.where(strata, 0.9, 0.1)).astype(np.int64)
        found = smooth_tests(of_numbers(X, strata), y, 2, strata=strata)
        assert found.conditional.max() < 4.5
        assert smooth_tests(of_numbers(X), y, 2).conditional.min() > 4.5


class TestNoise:
    @pytest.mark.parametrize("kind", ["even", "rare class", "half zeros", "three classes"])
    def test_deviates_are_normal(self, kind):
        """Of 45,000 pairs as many are beyond 3 standard deviations as there should be, up to a factor."""
        random = np.random.default_rng(8)
        X = random.normal(size=(300, 300))
        if kind == "half zeros":
            X = np.where(X < 0.0, 0.0, X)
        y = random.integers(0, 3 if kind == "three classes" else 2, 300)
        if kind == "rare class":
            y = (random.uniform(size=300) < 0.1).astype(np.int64)
        found = smooth_tests(of_numbers(X), y, int(y.max()) + 1)
        # The largest of 299 deviates; its median if they are independent.
        expected = norm.isf(1.0 - 0.5 ** (1.0 / 299.0))
        assert np.median(found.interaction) == pytest.approx(expected, abs=0.35)

    def test_correlated_pairs_are_no_more_extreme_than_others(self):
        """Products of the functions of equal features are few functions, of which many are large at once."""
        random = np.random.default_rng(13)
        largest = []
        for _ in range(100):
            X = random.normal(size=(150, 1)) + 0.3 * random.normal(size=(150, 2))
            largest.append(smooth_tests(of_numbers(X), np.arange(150) % 2, 2).interaction[0])
        # Deviates, 0 instead of negative ones.
        assert np.mean(np.square(largest)) < 0.9
        assert max(largest) < 4.0

    def test_noise_stays_noise_beside_a_strong_feature_of_a_rare_class(self):
        random = np.random.default_rng(9)
        X = random.normal(size=(400, 200))
        y = (X[:, 0] > 1.3).astype(np.int64)
        found = smooth_tests(of_numbers(X), y, 2)
        assert found.conditional[0] > 6.0
        # 199 partners of one feature, and the largest deviates of 199 features.
        assert found.interaction[1:].max() < 5.5

    def test_one_class_and_constant_features_have_no_deviates(self):
        X = np.random.default_rng(10).normal(size=(20, 3))
        one = smooth_tests(of_numbers(X), np.zeros(20, np.int64), 2)
        assert not one.conditional.any()
        X[:, 1] = 2.0
        found = smooth_tests(of_numbers(X), np.arange(20) % 2, 2)
        assert found.interaction[1] == 0.0
        assert 1 not in found.interaction_partner
