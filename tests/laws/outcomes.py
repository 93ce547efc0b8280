"""What an attempt leads to, as a value that laws compare."""

from collections.abc import Callable
from typing import Any

from polycontext.base import PolycontextError


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
