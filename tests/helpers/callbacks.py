"""A callback of scikit-learn 1.9 and newer that records what it is told."""

import importlib.util

import pytest

needs_callbacks = pytest.mark.skipif(
    importlib.util.find_spec("sklearn.callback") is None, reason="this scikit-learn has no callbacks"
)


class Recorder:
    """Callback that writes down what it is told, and asks for an end after some iterations."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.events = []

    def setup(self, estimator, context):
        self.events.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(f"begin {context.task_name} {context.task_id}")

    def on_fit_task_end(self, estimator, context):
        self.events.append(f"end {context.task_name} {context.task_id}")
        return context.task_name == "iteration" and context.task_id + 1 == self.stop_after

    def teardown(self, estimator, context):
        self.events.append("teardown")


def recorded(n_iterations):
    steps = [f"{what} iteration {t}" for t in range(n_iterations) for what in ("begin", "end")]
    return ["setup", "begin fit 0", *steps, "end fit 0", "teardown"]
