"""Effects: what a piece of work asks for from outside, so that one generator serves callers that wait and callers that await.

A function of steps yields what it cannot do by itself (write a command, have words written, wait) and is sent what came of it. `drive` and
`adrive` are the two drivers.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from typing import Any, NamedTuple, TypeVar, cast

R = TypeVar("R")


class Effect(NamedTuple):
    """Say how one thing is done by a caller that waits, and by one that awaits."""

    do: Callable[[], Any]
    ado: Callable[[], Awaitable[Any]]


Steps = Generator[Effect, Any, R]
"""Work that yields effects, is sent what they return or thrown what they raise, and returns what it came to."""


def in_thread(function: Callable[..., Any], *args: Any) -> Effect:
    """Return the effect of a call that takes long: who awaits it has it done in a thread."""
    return Effect(partial(function, *args), partial(asyncio.to_thread, function, *args))


def drive(steps: Steps[R]) -> R:
    """Do the work, and wait for each effect."""
    resume: Callable[[], Effect] = partial(next, steps)
    try:
        while True:
            effect = resume()
            try:
                resume = partial(steps.send, effect.do())
            except BaseException as error:  # noqa: BLE001 - it is the work that knows what to do about it
                resume = partial(steps.throw, error)
    except StopIteration as done:
        return cast("R", done.value)
    finally:
        del resume  # it may hold an error, whose traceback holds this frame


async def adrive(steps: Steps[R]) -> R:
    """Do the work, and await each effect."""
    resume: Callable[[], Effect] = partial(next, steps)
    try:
        while True:
            effect = resume()
            try:
                resume = partial(steps.send, await effect.ado())
            except BaseException as error:  # noqa: BLE001 - as above
                resume = partial(steps.throw, error)
    except StopIteration as done:
        return cast("R", done.value)
    finally:
        del resume  # as above
