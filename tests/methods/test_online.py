"""What users of OnlineIRelief rely on beyond the contract."""

import pickle

import numpy as np
import oracles
import pytest
from sklearn.exceptions import ConvergenceWarning

from highrelief import OnlineIRelief
from highrelief._engine.scaling import feature_scaling
from highrelief.datasets import make_waveform, make_xor
from highrelief.methods.online import Reservoir


@pytest.fixture(scope="module")
def waves():
    X, y, _ = make_waveform(60, n_irrelevant=5, random_state=0)
    return X, y


@pytest.mark.parametrize("margin", ["nearest", "prior"])
@pytest.mark.parametrize("outliers", [True, False])
@pytest.mark.parametrize("step_decay", [0.3, 1.0])
def test_equals_the_oracle(waves, margin, outliers, step_decay):
    X, y = waves
    expected = oracles.online_irelief(
        oracles.scale_range(X), y, 0.7, step_decay, range(60), 2, margin, outliers
    )
    ours = OnlineIRelief(
        sigma=0.7, step_decay=step_decay, n_epochs=2, shuffle=False, margin=margin, outliers=outliers
    ).fit(X, y)
    np.testing.assert_allclose(ours.feature_weights_, expected, atol=1e-11)
    assert ours.n_samples_seen_ == 120
    assert len(ours.history_) == ours.n_iter_ == 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_references_in_columns_give_the_same(force, dtype):
    X, y, _ = make_waveform(300, n_irrelevant=4, random_state=1)
    X = X.astype(dtype)
    weights = []
    for fewest in (1, 10**9):
        force(min_column_references=fewest)
        stream = OnlineIRelief(buffer_size=130, random_state=0)
        for start in range(0, 300, 60):
            stream.partial_fit(X[start : start + 60], y[start : start + 60])
        weights.append(stream.feature_weights_)
    assert np.any(weights[0] == 0.0)
    np.testing.assert_allclose(*weights, atol=1e-12)


class TestStream:
    @pytest.mark.parametrize("sigma", [0.7, "auto"])
    def test_one_batch_is_a_pass_in_order(self, waves, sigma):
        X, y = waves
        table = OnlineIRelief(sigma=sigma, shuffle=False).fit(X, y)
        stream = OnlineIRelief(sigma=sigma).partial_fit(X, y)
        np.testing.assert_allclose(stream.feature_weights_, table.feature_weights_, atol=1e-13)
        assert stream.sigma_ == pytest.approx(table.sigma_, rel=1e-12)

    def test_batches_equal_the_oracle(self, waves):
        """Each sample meets its batch and all before, scaled by what has been seen so far."""
        X, y = waves
        nu, w, t = np.zeros(26), np.full(26, 1 / 26), 0
        stream = OnlineIRelief(sigma=0.7)
        for end in (20, 40, 60):
            stream.partial_fit(X[end - 20 : end], y[end - 20 : end])
            S = oracles.scale_range(X[:end])
            for n in range(end - 20, end):
                t += 1
                pi = oracles.online_pi(S[n], y[n], S, y[:end], w, 0.7, "nearest", True, self_index=n)
                nu = (1 - 1 / t) * nu + pi / t
                if nu.max() > 0.0:
                    w = np.maximum(nu, 0.0) / np.linalg.norm(np.maximum(nu, 0.0))
        np.testing.assert_allclose(stream.feature_weights_, w, atol=1e-11)

    def test_a_bounded_buffer_keeps_memory_bounded(self):
        X, y, relevant = make_xor(2000, n_irrelevant=10, random_state=0)
        stream = OnlineIRelief(buffer_size=60, random_state=0)
        sizes = set()
        for start in range(0, 2000, 100):
            stream.partial_fit(X[start : start + 100], y[start : start + 100])
            sizes.add(len(pickle.dumps(stream)))
        assert max(sizes) < 1.01 * min(sizes)
        assert stream.n_samples_seen_ == 2000
        assert np.all(stream.ranking_[relevant] <= 2)

    def test_samples_one_by_one(self):
        X, y, relevant = make_xor(300, n_irrelevant=5, random_state=1)
        stream = OnlineIRelief(random_state=0)
        for n in range(300):
            stream.partial_fit(X[n : n + 1], y[n : n + 1])
        assert np.all(stream.ranking_[relevant] <= 2)

    def test_classes_may_come_later(self, waves):
        X, y = waves
        order = np.argsort(y, kind="stable")
        names = np.array(["c", "a", "b"])[y]
        stream = OnlineIRelief(sigma=0.7)
        for start in range(0, 60, 15):
            rows = order[start : start + 15]
            stream.partial_fit(X[rows], names[rows])
        np.testing.assert_array_equal(stream.classes_, ["a", "b", "c"])
        declared = OnlineIRelief(sigma=0.7)
        for start in range(0, 60, 15):
            rows = order[start : start + 15]
            declared.partial_fit(X[rows], names[rows], classes=["a", "b", "c"])
        np.testing.assert_array_equal(declared.feature_weights_, stream.feature_weights_)

    def test_one_class_so_far_has_no_weights_yet(self, waves):
        X, _ = waves
        stream = OnlineIRelief(sigma=0.7).partial_fit(X[:5], np.zeros(5, int))
        np.testing.assert_array_equal(stream.feature_weights_, 0.0)

    def test_goes_on_from_a_table(self, waves):
        X, y = waves
        fitted = OnlineIRelief(sigma=0.7, random_state=0).fit(X, y)
        before = fitted.feature_weights_.copy()
        fitted.partial_fit(X[:10], y[:10])
        assert fitted.n_samples_seen_ == 70
        assert 0.0 < np.linalg.norm(fitted.feature_weights_ - before) < 0.3

    def test_survives_pickling_in_the_middle(self, waves):
        X, y = waves
        whole = OnlineIRelief(buffer_size=10, random_state=3)
        halfway = OnlineIRelief(buffer_size=10, random_state=3)
        for stream in (whole, halfway):
            stream.partial_fit(X[:30], y[:30])
        halfway = pickle.loads(pickle.dumps(halfway))
        for stream in (whole, halfway):
            stream.partial_fit(X[30:], y[30:])
        np.testing.assert_array_equal(whole.feature_weights_, halfway.feature_weights_)


def test_random_orders_differ_and_depend_on_the_seed_only(waves):
    X, y = waves
    a, b, c = (OnlineIRelief(sigma=0.7, random_state=s).fit(X, y).feature_weights_ for s in (0, 0, 1))
    np.testing.assert_array_equal(a, b)
    assert np.any(a != c)


def test_no_positive_margin_gives_zeros_and_says_so():
    X = np.array([[0.0], [1.0], [0.0], [1.0]])
    with pytest.warns(ConvergenceWarning, match="no feature with a positive mean margin"):
        fitted = OnlineIRelief(sigma=0.1).fit(X, [0, 0, 1, 1])
    np.testing.assert_array_equal(fitted.feature_weights_, [0.0])


class TestReservoir:
    def test_keeps_everything_without_a_size(self):
        reservoir = Reservoir(2, np.dtype(np.float64), None)
        X = np.arange(20.0).reshape(10, 2)
        generator = np.random.RandomState(0)
        first = reservoir.add(X[:4], np.zeros(4, int), generator)
        second = reservoir.add(X[4:], np.ones(6, int), generator)
        np.testing.assert_array_equal(reservoir.rows, X)
        np.testing.assert_array_equal(np.concatenate([first, second]), np.arange(10))
        np.testing.assert_array_equal(reservoir.codes, [0] * 4 + [1] * 6)

    @pytest.mark.slow
    def test_every_sample_has_the_same_chance(self):
        counts = np.zeros(40)
        for seed in range(600):
            reservoir = Reservoir(1, np.dtype(np.float64), 8)
            generator = np.random.RandomState(seed)
            for start in range(0, 40, 7):
                batch = np.arange(start, min(start + 7, 40), dtype=float)[:, None]
                places = reservoir.add(batch, np.zeros(len(batch), int), generator)
                kept = places >= 0
                np.testing.assert_array_equal(reservoir.rows[places[kept]], batch[kept])
                assert len(np.unique(places[kept])) == kept.sum()
            assert len(reservoir.rows) == 8
            counts[reservoir.rows[:, 0].astype(int)] += 1
        expected = 600 * 8 / 40
        assert np.all(np.abs(counts - expected) < 5 * np.sqrt(expected))

    def test_draws_as_one_sample_after_another_would(self):
        """Vitter's algorithm R as it is written, from the same random numbers."""
        X = np.arange(90.0)[:, None]
        reservoir, generator = Reservoir(1, X.dtype, 8), np.random.RandomState(4)
        one_by_one, kept = np.random.RandomState(4), []
        for start, end in ((0, 5), (5, 6), (6, 40), (40, 90)):
            before = reservoir.rows, reservoir.rows.copy()
            places = reservoir.add(X[start:end], np.arange(start, end), generator)
            np.testing.assert_array_equal(*before)
            for t in range(start, end):
                place = len(kept) if t < 8 else one_by_one.randint(t + 1)
                if place < 8:
                    kept[place : place + 1] = [t]
            np.testing.assert_array_equal(reservoir.rows[:, 0], kept)
            np.testing.assert_array_equal(reservoir.codes, kept)
            expected = [kept.index(t) if t in kept else -1 for t in range(start, end)]
            np.testing.assert_array_equal(places, expected)
        assert generator.randint(10**9) == one_by_one.randint(10**9)

    @pytest.mark.parametrize("scale", ["range", "standard", None])
    def test_scaling_is_that_of_all_that_was_seen(self, scale):
        X = np.random.default_rng(0).normal(3.0, 2.0, (50, 3))
        X[:, 1] = 7.0
        reservoir = Reservoir(3, X.dtype, 5)
        for start in range(0, 50, 8):
            batch = X[start : start + 8]
            reservoir.add(batch, np.zeros(len(batch), int), np.random.RandomState(0))
        ours, expected = reservoir.scaling(scale).apply(X), feature_scaling(X, scale, None).apply(X)
        np.testing.assert_allclose(ours, expected, atol=1e-13)
