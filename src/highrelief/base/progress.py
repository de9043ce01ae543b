"""Progress of a fit: callbacks of scikit-learn 1.9, a line on the terminal, or a progress listener."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from .._engine.limits import limits
from .compilation import clock

Method = TypeVar("Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin, ProgressBar, with_callbacks
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands for the mixin of scikit-learn 1.9."""

    def with_callbacks(method: Method) -> Method:
        """Return the method."""
        return method

    ProgressBar = None


class _Line:
    """A line on the terminal with the steps done and the remaining time."""

    def __init__(self, name: str, total: int) -> None:
        self._name, self._total, self._done = name, total, 0
        self._begin = clock()
        self._shown = False

    def advance(self) -> None:
        self._done += 1
        elapsed = clock() - self._begin
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


#: Called by the outermost fit with the number of steps done and the largest possible number.
_listener: ContextVar[Callable[[int, int], None] | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Callable[[int, int], None]) -> Iterator[None]:
    """Have the fits inside call a listener with the steps done and the largest possible number."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def terminal_line(name: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a listener that shows a line on the terminal once the fit takes long."""
    lines: list[_Line] = []

    def listener(done: int, total: int) -> None:
        if not lines:
            lines.append(_Line(name, total))
        lines[0].advance()

    try:
        yield listener
    finally:
        for line in lines:
            line.close()


class Progress:
    """Reports each step of a fit to callbacks, a listener, or a line on the terminal.

    Parameters
    ----------
    estimator : estimator
        The estimator that is fitted.
    total : int
        The largest possible number of steps.
    """

    def __init__(self, estimator: Any, total: int) -> None:
        self._estimator = estimator
        self._total = self._left = total
        self._listener = _listener.get()
        self._context: Any = None
        self._line: _Line | None = None
        # Its own callbacks, or those of an estimator around it.
        has_callbacks = getattr(estimator, "_skl_callbacks", None) or hasattr(
            estimator, "_parent_callback_ctx"
        )
        if has_callbacks and hasattr(estimator, "_init_callback_context"):
            self._context = estimator._init_callback_context(max_subtasks=total)
            self._context.call_on_fit_task_begin(estimator=estimator)
        if estimator.verbose and not getattr(estimator, "_skl_callbacks", None):
            self._line = _Line(type(estimator).__name__, total)

    def advance(self) -> bool:
        """Report that a step is done; return whether a callback stops the fit."""
        if self._line is not None:
            self._line.advance()
        self._left -= 1
        if self._listener is not None:
            self._listener(self._total - self._left, max(self._total, self._total - self._left))
        # Callbacks accept no more steps than were announced.
        if self._context is None or self._left < 0:
            return False
        step = self._context.subcontext(task_name="iteration")
        step.call_on_fit_task_begin(estimator=self._estimator)
        return bool(step.call_on_fit_task_end(estimator=self._estimator))

    def finish(self) -> None:
        """Report that the fit is done."""
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator)

    def close(self) -> None:
        """End the line on the terminal, whether the fit is done or not."""
        if self._line is not None:
            self._line.close()


@contextmanager
def watched(estimator: Any, total: int) -> Iterator[Progress]:
    """Yield the :class:`Progress` of a fit."""
    bar = (
        estimator.verbose
        and ProgressBar is not None
        and not getattr(estimator, "_skl_callbacks", None)
        # A fit inside another estimator is reported by that.
        and not hasattr(estimator, "_parent_callback_ctx")
        and importlib.util.find_spec("rich") is not None
    )
    if bar:
        estimator.set_callbacks(ProgressBar())
    try:
        progress = Progress(estimator, total)
        # Fits inside this one are not reported to the listener.
        token = _listener.set(None)
        try:
            yield progress
            progress.finish()
        finally:
            _listener.reset(token)
            progress.close()
    finally:
        if bar:
            # `with_callbacks` removes the bar after the fit from its own list.
            estimator.set_callbacks()
