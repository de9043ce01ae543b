"""Cached properties without a lock."""

from __future__ import annotations

import functools
import sys
from typing import Any, TypeVar, overload

Value = TypeVar("Value")

if sys.version_info >= (3, 12):
    cached_property = functools.cached_property
else:

    class cached_property(functools.cached_property[Value]):  # noqa: N801
        """:class:`functools.cached_property` as of Python 3.12.

        Earlier versions take a lock that all instances of a class share. A child that is forked while another
        thread holds that lock waits for it forever. Here threads may compute a value twice; all of them get
        the value that was stored first.
        """

        @overload
        def __get__(self, instance: None, owner: type[Any] | None = None) -> cached_property[Value]: ...

        @overload
        def __get__(self, instance: object, owner: type[Any] | None = None) -> Value: ...

        def __get__(
            self, instance: object | None, owner: type[Any] | None = None
        ) -> cached_property[Value] | Value:
            """Return the cached value, and compute it on first access."""
            if instance is None:
                return self
            assert self.attrname is not None
            values = instance.__dict__
            if self.attrname in values:  # stored by another thread since
                return values[self.attrname]
            return values.setdefault(self.attrname, self.func(instance))
