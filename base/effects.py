"""Effects: blocking and async methods made from one generator.

A generator of steps yields an `Effect` for everything that waits (a write, a summary, a lock) and
is sent its result. `drive` runs it and blocks; `adrive` runs it and awaits. `procedure` and `twin`
make both methods of a class from one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable
from functools import partial, wraps
from inspect import isawaitable, iscoroutinefunction, signature
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar, cast, get_args

from .calls import with_usage
from .errors import InvalidOptionError

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


class Effect(NamedTuple):
    """One operation in two forms: a blocking call, and a call that returns an awaitable."""

    do: Callable[[], Any]
    ado: Callable[[], Awaitable[Any]]


Steps = Generator[Effect, Any, R]
"""A generator that yields effects, receives their results or exceptions, and returns a result."""


def in_thread(function: Callable[..., Any], *args: Any) -> Effect:
    """Return the effect of a slow call, which `adrive` runs in a thread."""
    return Effect(partial(function, *args), partial(asyncio.to_thread, function, *args))


def running(what: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Effect:
    """Return the effect of calling a function of the user's that may be async.

    What it returns is awaited, or run to its end. `adrive` calls one that is not async in a thread.

    Raises:
        InvalidOptionError: it is async, and `drive` runs it where an event loop runs. `what` names
            the function.
    """

    def run() -> Any:
        result = function(*args, **kwargs)
        if not isawaitable(result):
            return result
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(_awaited(result))
        if isinstance(result, Coroutine):
            result.close()
        legal = "asend() or arun() where an event loop runs, or a function that is not async"
        raise InvalidOptionError(what, function, legal)

    async def arun() -> Any:
        if iscoroutinefunction(function):
            return await function(*args, **kwargs)
        result = await asyncio.to_thread(function, *args, **kwargs)
        return await result if isawaitable(result) else result

    return Effect(run, arun)


async def _awaited(result: Awaitable[Any]) -> Any:
    return await result


def together(pieces: Iterable[Steps[R]]) -> Effect:
    """Return the effect of several pieces of work: in sequence, or concurrently under `adrive`.

    If one fails, the others are cancelled, or do not begin.
    """
    work = list(pieces)

    async def concurrently() -> list[R]:
        tasks = [asyncio.ensure_future(adrive(each)) for each in work]
        try:
            return await asyncio.gather(*tasks)
        except Exception:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise

    return Effect(lambda: [drive(each) for each in work], concurrently)


def within(
    manager: Callable[[], Any], amanager: Callable[[], Any], work: Callable[[Any], Steps[R]]
) -> Effect:
    """Return the effect of `work` inside the context manager of `manager` or `amanager`.

    `drive` enters the blocking manager that `manager` returns; `adrive` enters the async one that
    `amanager` returns.
    """

    def do() -> R:
        with manager() as entered:
            return drive(work(entered))

    async def ado() -> R:
        async with amanager() as entered:
            return await adrive(work(entered))

    return Effect(do, ado)


def drive(steps: Steps[R]) -> R:
    """Run `steps` and block on each effect."""
    result, failure = cast("Any", None), cast("BaseException | None", None)
    try:
        effect = next(steps)
        while True:
            try:
                result = effect.do()
            except BaseException as error:  # noqa: BLE001 - the steps decide how to handle it
                failure = error
            effect = steps.send(result) if failure is None else steps.throw(failure)
            failure = None
    except StopIteration as done:
        return cast("R", done.value)
    finally:
        del failure  # its traceback holds this frame


async def adrive(steps: Steps[R]) -> R:
    """Run `steps` and await each effect."""
    result, failure = cast("Any", None), cast("BaseException | None", None)
    try:
        effect = next(steps)
        while True:
            try:
                result = await effect.ado()
            except BaseException as error:  # noqa: BLE001 - as above
                failure = error
            effect = steps.send(result) if failure is None else steps.throw(failure)
            failure = None
    except StopIteration as done:
        return cast("R", done.value)
    finally:
        del failure  # as above


def procedure(make: Callable[Concatenate[S, P], Steps[R]]) -> Callable[Concatenate[S, P], R]:
    """Return the blocking method of a function that returns steps; `twin` returns the async one.

    Raises:
        TypeError: on a call that does not fit; the message says how it is called.
    """
    whole, begin = signature(make), with_usage(make)
    owner, _, name = make.__qualname__.rpartition(".")
    awaits = f"{owner}.a{name}"

    @wraps(make)
    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return drive(begin(self, *args, **kwargs))

    @wraps(make)
    def awaited(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        # Called here and not in the coroutine, so that warnings point at the caller.
        try:
            coroutine: Any = adrive(begin(self, *args, **kwargs))
        except Exception as error:  # noqa: BLE001 - raised when it is awaited, as any other
            return _raising(error)
        coroutine.__qualname__ = awaits  # a warning that it was not awaited names it
        return coroutine

    gives = get_args(whole.return_annotation)
    vars(method).update(
        awaited=awaited,
        __signature__=whole.replace(return_annotation=gives[-1]) if gives else whole,
    )
    return cast("Callable[Concatenate[S, P], R]", method)


async def _raising(error: Exception) -> Any:
    raise error


def twin(
    method: Callable[Concatenate[S, P], R],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, R]]:
    """Return the async twin of a method.

    The twin of a verb or procedure awaits its effects; the twin of any other method runs it in a
    thread.
    """

    async def threaded(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return await asyncio.to_thread(getattr(self, method.__name__), *args, **kwargs)

    twin_of = wraps(method)(getattr(method, "awaited", threaded))
    owner, dot, name = method.__qualname__.rpartition(".")
    twin_of.__name__, twin_of.__qualname__ = f"a{name}", f"{owner}{dot}a{name}"
    twin_of.__doc__ = f"Do what `{name}` does without blocking the event loop."
    vars(twin_of)["twin_of"] = method
    return cast("Callable[Concatenate[S, P], Coroutine[Any, Any, R]]", twin_of)


def is_async(function: Callable[..., Any]) -> bool:
    """Return whether calls of `function` are awaited.

    This is true for coroutine functions and for methods that `twin` created.
    """
    return iscoroutinefunction(function) or hasattr(function, "twin_of")


def call(subject: object, name: str, /, *args: Any, **kwargs: Any) -> Effect:
    """Return the effect that calls a method of `subject` by name; `adrive` calls its async twin."""
    awaited = f"_a{name[1:]}" if name.startswith("_") else f"a{name}"
    return Effect(
        partial(getattr(subject, name), *args, **kwargs),
        partial(getattr(subject, awaited), *args, **kwargs),
    )
