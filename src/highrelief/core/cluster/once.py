"""Properties that take a round of work to make, for objects that several threads ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

from ..threads import Exclusive

Made = TypeVar("Made")


class once(Generic[Made]):  # noqa: N801
    """A property that is made when it is first asked for, by one thread, while others who ask wait.

    As :class:`functools.cached_property`, which lets all threads make it or, before Python 3.12, has those
    who ask *other* objects wait, too.
    """

    def __init__(self, make: Callable[[Any], Made]) -> None:
        self._make, self.__doc__ = make, make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> once[Made]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Made: ...

    def __get__(self, instance: Any, owner: type) -> once[Made] | Made:
        """What was made; found in the object itself from then on."""
        if instance is None:
            return self
        kept = instance.__dict__

        def make() -> Made:
            if self._name not in kept:
                kept[self._name] = self._make(instance)
            return kept[self._name]

        return kept.setdefault("_one_at_a_time", Exclusive()).run(make)
