"""Ctrl-C while a kernel is compiled."""

import signal
import threading

import numpy as np
import pytest

from highrelief._kernels.jit import ALL_KERNELS, deferred_interrupts, kernel, without_interruption

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
