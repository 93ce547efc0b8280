"""Instances with one fault each, and the law that must reject it.

A law that no instance can fail is useless. The modules of `tests.laws.broken` provide a broken
instance for every law that ships, and `test_laws.py` passes only if that law objects:

    breaks(policies.nothing_happens_before_its_permission, "a machine that lets the assistant
        begin", lambda law: law(Early, ...))
"""

from collections.abc import Callable
from typing import Any, TypeVar

from attrs import frozen

F = TypeVar("F", bound=Callable[..., None])


@frozen
class Instance:
    """Hold a law and one call of it."""

    law: Callable[..., None]
    what: str
    call: Callable[[Any], object]

    @property
    def room(self) -> str:
        """Return the room whose law it is."""
        return self.law.__module__.split(".")[1]


BROKEN: list[Instance] = []
"""Instances that a law must reject."""
SOUND: list[Instance] = []
"""Instances that a law must accept: like broken ones, but without their fault."""


def breaks(law: F, what: str, *calls: Callable[[F], object]) -> None:
    """Say that `law` rejects each of `calls`; they are made in the test, not here."""
    BROKEN.extend(Instance(law, what, call) for call in calls)


def obeys(law: F, what: str, *calls: Callable[[F], object]) -> None:
    """Say that `law` accepts each of `calls`."""
    SOUND.extend(Instance(law, what, call) for call in calls)
