"""What users of OnlineIRelief rely on beyond the contract."""

import pickle

import numpy as np
import oracles
import pytest
from sklearn.exceptions import ConvergenceWarning

from highrelief import OnlineIRelief
from highrelief.datasets import make_waveform, make_xor
from highrelief.methods import online


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
def test_references_in_columns_give_the_same(monkeypatch, dtype):
    X, y, _ = make_waveform(300, n_irrelevant=4, random_state=1)
    X = X.astype(dtype)
    weights = []
    for fewest in (1, 10**9):
        monkeypatch.setattr(online, "FEWEST_COLUMNS", fewest)
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
