"""Compilation of kernels: for Python or for callers, and Ctrl-C meanwhile."""

import gc
import signal
import threading

import numpy as np
import pytest

from highrelief._kernels.intrinsics import empty, maximum, minimum, zeros
from highrelief._kernels.jit import (
    ALL_KERNELS,
    deferred_interrupts,
    kernel,
    without_collection,
    without_interruption,
)

pytestmark = pytest.mark.usefixtures("usual_handler")


def test_an_interruption_waits_for_the_end():
    done = []

    @without_interruption
    def work():
        signal.raise_signal(signal.SIGINT)
        with deferred_interrupts():
            signal.raise_signal(signal.SIGINT)
        done.append(1)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == [1]


def test_an_error_comes_through():
    with pytest.raises(ValueError, match="its own"), deferred_interrupts():
        raise ValueError("its own")


def test_who_ignores_interruptions_goes_on_doing_so():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with deferred_interrupts():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_other_threads_compile_too():
    seen = []

    def work():
        with deferred_interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]


def test_a_kernel_that_is_interrupted_while_it_is_compiled_is_ready_afterwards():
    from numba.core import event

    class Interrupting(event.Listener):
        def on_start(self, event):
            signal.raise_signal(signal.SIGINT)

        def on_end(self, event):
            pass

    @kernel
    def twice(values):
        for i in range(values.size):
            values[i] *= 2.0

    ALL_KERNELS.remove(twice)
    twice._cache.disable()  # so that it is compiled, and not loaded
    values = np.ones(3)
    with event.install_listener("numba:compile", Interrupting()), pytest.raises(KeyboardInterrupt):
        twice(values)
    assert twice.signatures
    np.testing.assert_array_equal(values, 1.0)
    twice(values)
    np.testing.assert_array_equal(values, 2.0)


def in_memory(function):
    """Return a kernel that is neither cached nor listed."""
    made = kernel(function)
    ALL_KERNELS.remove(made)
    made._cache.disable()
    return made


class TestCallees:
    def test_a_callee_is_compiled_for_its_caller_alone(self):
        inner = in_memory(lambda x, flag: 2.0 * x if flag else x)

        @in_memory
        def outer(x):
            return inner(x, True) + inner(x, False)

        assert outer(1.5) == 4.5
        assert inner.signatures == []
        assert len(inner.callee.overloads) == 1, "a literal has the type of its value"

    def test_a_callee_may_also_be_called_from_python(self):
        inner = in_memory(lambda x: x + 1)

        @in_memory
        def outer(x):
            return inner(x) * 2

        assert (inner(1), outer(1), inner(1.5), outer(1.5)) == (2, 4, 2.5, 5.0)
        assert len(inner.signatures) == len(inner.callee.overloads) == 2

    def test_a_callee_that_allocates(self):
        inner = in_memory(lambda n: np.arange(2 * n)[:n])

        @in_memory
        def outer(n):
            total = 0
            for value in inner(n):
                total += value
            return total

        assert outer(5) == 10


def test_garbage_is_collected_after_a_compilation():
    assert gc.isenabled()
    assert without_collection(gc.isenabled)() is False
    assert gc.isenabled()
    with pytest.raises(ValueError, match="its own"):
        without_collection(int)("its own")
    assert gc.isenabled()
    gc.disable()
    try:
        without_collection(len)("")
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize("shape", [3, (2, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.bool_])
def test_arrays_of_kernels(shape, dtype):
    prototype = np.ones(1, dtype)
    made = in_memory(lambda shape, prototype: empty(shape, prototype.dtype))(shape, prototype)
    cleared = in_memory(lambda shape, prototype: zeros(shape, prototype.dtype))(shape, prototype)
    assert (made.shape, made.dtype) == (cleared.shape, cleared.dtype) == (np.zeros(shape).shape, dtype)
    np.testing.assert_array_equal(cleared, 0)


@pytest.mark.parametrize(
    ("a", "b"), [(1, 2), (2, 1), (1.5, 2), (np.float32(2.5), 2.0), (np.nan, 1.0), (1.0, np.nan), (-1, 1)]
)
def test_minima_and_maxima_are_those_of_python(a, b):
    found = in_memory(lambda a, b: (minimum(a, b), maximum(a, b)))(a, b)
    np.testing.assert_array_equal(found, (min(a, b), max(a, b)))
