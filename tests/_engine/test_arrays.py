"""Memory that is used again: by no two arrays at a time, and not without end."""

import numpy as np
import pytest

from highrelief import ReliefF
from highrelief._engine import arrays as arrays_module
from highrelief._engine.arrays import cached_bytes, empty


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch, force):
    monkeypatch.setattr(arrays_module, "_free", {})
    force(min_cached_bytes=0)


def _address(array):
    return array.__array_interface__["data"][0]


def test_memory_of_an_array_that_is_gone_is_used_again():
    first = empty((1000, 64), np.float64)
    where = _address(first)
    del first
    assert cached_bytes() >= 1000 * 64 * 8
    assert _address(empty((1000, 64), np.float64)) == where


def test_arrays_begin_where_cache_lines_do():
    for size in (1, 1000, 12345):
        array = empty((size,), np.float32)
        assert _address(array) % 64 == 0
        assert array.shape == (size,)
        assert array.flags.c_contiguous
        assert array.flags.writeable


def test_a_view_keeps_the_memory_from_others():
    view = empty((1000,), np.float64)[10:20]
    view[:] = 7.0
    others = [empty((1000,), np.float64) for _ in range(3)]
    for other in others:
        other[:] = 1.0
    np.testing.assert_array_equal(view, np.full(10, 7.0))


def test_two_arrays_never_share_memory():
    gone = empty((1000,), np.float64)
    del gone
    a, b = empty((1000,), np.float64), empty((1000,), np.float64)
    assert not np.shares_memory(a, b)


def test_little_is_not_put_into_much_memory():
    large = empty((100_000,), np.float64)
    where = _address(large)
    del large
    assert abs(_address(empty((10,), np.float64)) - where) > 64
    assert cached_bytes() >= 800_000


def test_nothing_is_kept_of_small_arrays(force):
    force(min_cached_bytes=8000)
    small, large = empty((999,), np.float64), empty((1000,), np.float64)
    assert _address(small) % 64 == 0
    del small
    assert cached_bytes() == 0
    del large
    assert cached_bytes() == 8064


def test_no_more_is_kept_than_allowed_and_the_longest_unused_goes_first(force):
    force(max_cached_bytes=2_500)
    arrays = [empty((1000 + n,), np.uint8) for n in range(3)]
    sizes = [1000 + n + 64 for n in range(3)]
    while arrays:
        del arrays[0]
    assert cached_bytes() == sizes[1] + sizes[2]
    large = empty((3000,), np.uint8)
    del large
    assert cached_bytes() == 0


def test_a_fit_uses_the_memory_of_the_last_and_the_answer_is_the_same():
    X = np.random.default_rng(0).normal(size=(70, 300))
    y = np.arange(70) % 2
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    first = ReliefF(n_neighbors=3).fit(X, y).feature_weights_
    assert cached_bytes() > 0
    for memory in arrays_module._free.values():
        memory[:] = 0xFF  # NaN, wherever something is not written to
    np.testing.assert_array_equal(ReliefF(n_neighbors=3).fit(X, y).feature_weights_, first)
