"""Long streams: memory stays as it is, and what is saved after a batch goes on elsewhere to the same bits."""

import json
import pickle
import sys

import joblib
import numpy as np
import pytest
from processes import run
from registry import in_turn
from small_tables import batch

from highrelief import IRelief, OnlineIRelief
from highrelief.methods import online


def learned(n_batches, **parameters):
    stream = OnlineIRelief(buffer_size=40, random_state=0, **parameters)
    for number in range(n_batches):
        stream.partial_fit(*batch(number))
    return stream


def everything(stream):
    """All that a batch may change, as bytes."""
    return pickle.dumps({name: value for name, value in vars(stream).items() if name != "random_state"})


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the anonymous memory of a process")
def test_memory_stays_as_it_is():
    """200,000 rows of 50 features are 80 MB."""
    before, after = run(
        """
import json
import numpy as np
from highrelief import OnlineIRelief
from peak_memory import anonymous

stream, seen = OnlineIRelief(buffer_size=50, random_state=0), []
for number in range(100):
    rng = np.random.default_rng(number)
    X = rng.normal(size=(2000, 50))
    stream.partial_fit(X, (X[:, 0] * X[:, 1] > 0.0).astype(int))
    seen.append(anonymous() / 1e6)
print(json.dumps([max(seen[:20]), max(seen[20:])]))
"""
    )
    assert after < before + 4.0


@pytest.mark.slow
def test_near_the_batch_answer():
    stream = OnlineIRelief(buffer_size=500, random_state=0)
    for number in range(40):
        stream.partial_fit(*batch(number, 1000))
    table = IRelief(margin="nearest", outliers=True, perplexity=0.5).fit(*batch(10**6, 2000))
    assert np.linalg.norm(stream.feature_weights_ - table.feature_weights_) < 0.05


@pytest.mark.slow
@in_turn(
    pytest.mark.parametrize("save", ["pickle", "joblib"]),
    parameters=[{}, {"sigma": 0.3, "scale": "standard", "margin": "prior"}],
)
def test_another_process_goes_on_to_the_same_bits(tmp_path, save, parameters):
    path = tmp_path / "stream"
    halfway = learned(3, **parameters)
    if save == "pickle":
        path.write_bytes(pickle.dumps(halfway))
    else:
        joblib.dump(halfway, path)
    code = f"""
import json, pickle
from pathlib import Path
import joblib
from small_tables import batch
path = Path({str(path)!r})
stream = pickle.loads(path.read_bytes()) if {save!r} == "pickle" else joblib.load(path)
for number in range(3, 7):
    stream.partial_fit(*batch(number))
print(json.dumps([stream.feature_weights_.tobytes().hex(), stream.sigma_, stream.n_samples_seen_]))
"""
    whole = learned(7, **parameters)
    expected = [whole.feature_weights_.tobytes().hex(), whole.sigma_, whole.n_samples_seen_]
    assert run(code) == json.loads(json.dumps(expected))


class BrokenSourceError(Exception):
    pass


def test_resumed_from_the_last_save_after_the_source_broke(tmp_path):
    """Saved after each batch; the source of the fifth fails."""
    path = tmp_path / "stream.pkl"

    def source(first, last):
        for number in range(first, 6):
            if number == last:
                raise BrokenSourceError
            yield number, batch(number)

    stream = OnlineIRelief(buffer_size=40, random_state=0)

    def learn(stream, first, last):
        for number, (X, y) in source(first, last):
            stream.partial_fit(X, y)
            path.write_bytes(pickle.dumps((number, stream)))

    with pytest.raises(BrokenSourceError):
        learn(stream, 0, 4)
    done, resumed = pickle.loads(path.read_bytes())
    assert done == 3
    learn(resumed, done + 1, None)
    np.testing.assert_array_equal(resumed.feature_weights_, learned(6).feature_weights_)


@pytest.mark.parametrize("reason", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("n_before", [0, 2])
def test_a_batch_that_is_interrupted_never_was(monkeypatch, reason, n_before):
    """In the middle of its samples; the batch is then given once more."""
    # σ is found anew after 1, 4, 16, … samples, so that a batch is learned from in several stretches.
    stream, before = learned(n_before), everything(learned(n_before))
    calls = []

    def interrupted(*arguments):
        calls.append(len(arguments[3]))
        if len(calls) == (1 if n_before else 3):
            learn_samples(*arguments)
            raise reason
        learn_samples(*arguments)

    learn_samples = online.learn_samples
    monkeypatch.setattr(online, "learn_samples", interrupted)
    with pytest.raises(reason):
        stream.partial_fit(*batch(n_before))
    assert sum(calls) > 0
    monkeypatch.undo()
    assert hasattr(stream, "feature_weights_") == (n_before > 0)
    assert everything(stream) == before
    for number in range(n_before, 4):
        stream.partial_fit(*batch(number))
    np.testing.assert_array_equal(stream.feature_weights_, learned(4).feature_weights_)


def test_an_interrupted_first_batch_leaves_the_given_generator_where_it_was(monkeypatch):
    generator = np.random.RandomState(5)

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(online, "learn_samples", interrupted)
    with pytest.raises(KeyboardInterrupt):
        OnlineIRelief(buffer_size=3, random_state=generator).partial_fit(*batch(0))
    assert generator.randint(10**9) == np.random.RandomState(5).randint(10**9)


def test_a_refused_batch_changes_nothing():
    stream = learned(2)
    before = everything(stream)
    X, y = batch(2)
    X[7, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        stream.partial_fit(X, y)
    assert everything(stream) == before


@pytest.mark.parametrize("sizes", [(1.0, 1e300), (1e-300, 1.0)])
def test_a_batch_far_out_of_the_first(sizes):
    """Ranges of everything are numbers, squares of deviations in units of the first batch are not."""
    first, later = ((X * size, y) for (X, y), size in zip((batch(0), batch(1)), sizes, strict=True))
    found = OnlineIRelief(sigma=1.0).partial_fit(*first).partial_fit(*later)
    assert np.isfinite(found.feature_weights_).all()
    np.testing.assert_allclose(np.linalg.norm(found.feature_weights_), 1.0)
    standard = OnlineIRelief(sigma=1.0, scale="standard").partial_fit(*first)
    with pytest.raises(ValueError, match=r'so far from those of the first batch .* use scale="range"'):
        standard.partial_fit(*later)
    assert standard.n_samples_seen_ == len(first[1])


def test_a_batch_that_cannot_be_squared_as_it_is():
    X, y = batch(0)
    weighter = OnlineIRelief(sigma=1.0, scale=None).partial_fit(X, y)
    with pytest.raises(ValueError, match=r'features of X span .* use scale="range"'):
        weighter.partial_fit(X * 1e200, y)
