"""What an attempt leads to, as a value that laws compare."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from polycontext.base import PolycontextError
from polycontext.polynomial import ContextInput, ContextSession
from polycontext.window import Turn


def outcome(
    attempt: Callable[..., object],
    *arguments: object,
    refusals: tuple[type[Exception], ...] = (PolycontextError,),
) -> Any:
    """Return the result of `attempt`, or the type of the error that it raises."""
    try:
        return attempt(*arguments)
    except refusals as error:
        return type(error)


def refusal_of(attempt: Callable[..., object], *arguments: object) -> type[PolycontextError] | None:
    """Return the type of the error that `attempt` raises, or None if it succeeds."""
    found = outcome(attempt, *arguments)
    return found if isinstance(found, type) else None


def add_turns(session: ContextSession, inputs: Iterable[ContextInput]) -> None:
    """Add the turns among the inputs that the session accepts."""
    for each in inputs:
        with suppress(PolycontextError):
            if isinstance(each.payload, Turn):
                session.add(each.payload, each.resource_class)
