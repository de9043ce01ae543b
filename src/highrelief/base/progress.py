"""How far a fit has come, for those who watch.

scikit-learn 1.9 has callbacks; older versions get a line on the terminal.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from .._engine.limits import limits

Method = TypeVar("Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin, ProgressBar, with_callbacks
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method: Method) -> Method:
        """Return the method as it is."""
        return method

    ProgressBar = None


class _Line:
    """A line that says how much is done and how long the rest will take."""

    def __init__(self, name: str, total: int) -> None:
        self._name, self._total, self._done = name, total, 0
        self._begin = time.monotonic()
        self._shown = False

    def advance(self) -> None:
        self._done += 1
        elapsed = time.monotonic() - self._begin
        if elapsed < limits.progress_delay:
            return
        left = elapsed / self._done * (self._total - self._done)
        text = f"{self._name}: {self._done} of at most {self._total}, {left:.0f} s left"
        sys.stderr.write(f"\r{text:<60}")
        sys.stderr.flush()
        self._shown = True

    def close(self) -> None:
        if self._shown:
            sys.stderr.write("\n")


#: Called with the steps done and the most there can be, by the outermost fit.
_watcher: ContextVar[Callable[[int, int], None] | None] = ContextVar("watcher", default=None)


@contextmanager
def watching(watcher: Callable[[int, int], None]) -> Iterator[None]:
    """Have the fits inside tell how many steps are done, and the most there can be."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


@contextmanager
def terminal_line(name: str) -> Iterator[Callable[[int, int], None]]:
    """Give a watcher that shows a line on the terminal, once the work takes long."""
    lines: list[_Line] = []

    def tell(done: int, total: int) -> None:
        if not lines:
            lines.append(_Line(name, total))
        lines[0].advance()

    try:
        yield tell
    finally:
        for line in lines:
            line.close()


class Progress:
    """Tells callbacks, or a line on the terminal, about each step of a fit.

    Parameters
    ----------
    estimator : estimator
        Whose fit it is.
    total : int
        The most steps there can be.
    """

    def __init__(self, estimator: Any, total: int) -> None:
        self._estimator = estimator
        self._total = self._left = total
        self._watcher = _watcher.get()
        self._context: Any = None
        self._line: _Line | None = None
        # Its own callbacks, or those of an estimator around it. Without any a context would be idle.
        called = getattr(estimator, "_skl_callbacks", None) or hasattr(estimator, "_parent_callback_ctx")
        if called and hasattr(estimator, "_init_callback_context"):
            self._context = estimator._init_callback_context(max_subtasks=total)
            self._context.call_on_fit_task_begin(estimator=estimator)
        if estimator.verbose and not getattr(estimator, "_skl_callbacks", None):
            self._line = _Line(type(estimator).__name__, total)

    def advance(self) -> bool:
        """Say that a step is done; True if a callback asks for an end."""
        if self._line is not None:
            self._line.advance()
        self._left -= 1
        if self._watcher is not None:
            self._watcher(self._total - self._left, max(self._total, self._total - self._left))
        # Callbacks do not take more steps than were announced.
        if self._context is None or self._left < 0:
            return False
        step = self._context.subcontext(task_name="iteration")
        step.call_on_fit_task_begin(estimator=self._estimator)
        return bool(step.call_on_fit_task_end(estimator=self._estimator))

    def finish(self) -> None:
        """Say that the fit is done."""
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator)

    def close(self) -> None:
        """Leave the terminal as it should be, whether the fit is done or not."""
        if self._line is not None:
            self._line.close()


@contextmanager
def watched(estimator: Any, total: int) -> Iterator[Progress]:
    """Report the steps of a fit, from its begin to its end."""
    bar = (
        estimator.verbose
        and ProgressBar is not None
        and not getattr(estimator, "_skl_callbacks", None)
        # Inside another estimator the bar would have to be set up there.
        and not hasattr(estimator, "_parent_callback_ctx")
        and importlib.util.find_spec("rich") is not None
    )
    if bar:
        estimator.set_callbacks(ProgressBar())
    try:
        progress = Progress(estimator, total)
        # A fit inside this one is part of one of its steps.
        token = _watcher.set(None)
        try:
            yield progress
            progress.finish()
        finally:
            _watcher.reset(token)
            progress.close()
    finally:
        if bar:
            # `with_callbacks` takes the bar down after fit from a list of its own.
            estimator.set_callbacks()
