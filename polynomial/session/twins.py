"""Make the twin of a session's method for tasks, whose name has an a before it, from the method itself."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial, wraps
from inspect import isawaitable, isfunction
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
Twin = Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]


def awaiting(method: Callable[Concatenate[Any, P], R], *, reads: bool = False) -> Twin[P, R]:
    """Return the twin of a method that writes one command, whose write it awaits; where `reads`, the command is made in a thread."""

    async def twin(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
        made = partial(getattr(Awaiting(self), method.__name__), *args, **kwargs)
        return await awaited(await asyncio.to_thread(made) if reads else made())

    return _named(twin, method)


def threaded(method: Callable[Concatenate[Any, P], R]) -> Twin[P, R]:
    """Return the twin of a method that does all of its work in a thread."""

    async def twin(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
        return await asyncio.to_thread(getattr(self, method.__name__), *args, **kwargs)

    return _named(twin, method)


def _named(twin: Twin[P, R], method: Callable[..., Any]) -> Twin[P, R]:
    """Return `twin` with the signature of `method`, and a name and a docstring of its own."""
    made, name = wraps(method)(twin), method.__name__
    made.__name__, made.__doc__ = f"a{name}", f"Do what `{name}` does without blocking the event loop."
    return made


async def awaited(written: Any) -> Any:
    """Return what was written, once it is, or what is there without a write."""
    found = written() if isinstance(written, partial) else written
    return await found if isawaitable(found) else found


class Awaiting:
    """Be a session all of whose writes are awaited."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def __getattr__(self, name: str) -> Any:
        # Begun by the task: what a thread has begun, and nobody awaits, would be lost.
        if name == "_write":
            return partial(partial, self._session._awrite)  # noqa: SLF001 - what is written with is a session's own
        found = getattr(type(self._session), name, None)
        if isfunction(found):
            return partial(found, self)
        value = getattr(self._session, name)
        return Awaiting(value) if name == "_parent" and value is not None else value
