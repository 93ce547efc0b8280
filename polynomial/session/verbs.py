"""Verbs: decorators that make both methods of a session, sync and async, from one function.

A `verb` returns a command to write; a `procedure` returns steps that yield what they need. Each
makes the blocking method, and `twin` makes the async one, whose name starts with an a. Both keep
the parameters. The verbs of one subject are methods of a part of the session.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from functools import partial, wraps
from inspect import Signature, signature
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    TypeVar,
    Unpack,
    cast,
    get_type_hints,
    overload,
)

from polycontext.base.effects import Effect, call

from .. import session as subjects
from ..inputs import ContextOutput
from .commands import AddOptions, Command, WriteOptions

if TYPE_CHECKING:
    from .context_session import ContextSession
    from .export import Archive
    from .history import History

P = ParamSpec("P")
S = TypeVar("S")
Session = TypeVar("Session", bound="ContextSession")


WHEN = frozenset(WriteOptions.__annotations__)
_OPTIONS = {Unpack[each]: frozenset(get_type_hints(each)) for each in (WriteOptions, AddOptions)}


def verb(
    make: Callable[Concatenate[S, P], Command | None],
) -> Callable[Concatenate[S, P], ContextOutput]:
    """Return the method that writes the command that `make` returns; None writes nothing.

    Raises:
        TypeError: on a call with an unknown keyword argument.
    """
    return cast("Callable[Concatenate[S, P], ContextOutput]", _verb(make, reads=False))


def reading_verb(
    make: Callable[Concatenate[S, P], Command | None],
) -> Callable[Concatenate[S, P], ContextOutput]:
    """Return the method of a command that is built from stored data.

    Its async twin builds the command in a thread.
    """
    return cast("Callable[Concatenate[S, P], ContextOutput]", _verb(make, reads=True))


class ClassTwin(Generic[P]):
    """The async twin of a class method that creates an object: it runs in a thread."""

    def __init__(self, method: Callable[Concatenate[Any, P], object]) -> None:
        self._name = getattr(method, "__name__", "")
        self.__doc__ = f"Do what `{self._name}` does without blocking the event loop."

    def __get__(self, instance: object, owner: type[S]) -> Callable[P, Coroutine[Any, Any, S]]:
        return partial(asyncio.to_thread, getattr(owner, self._name))


def write(session: object, command: Command, **when: Any) -> Effect:
    """Return the effect that writes a command to a session."""
    return call(session, "_write", command, **when)


def _verb(make: Callable[..., Any], *, reads: bool) -> Any:
    whole = signature(make)
    known = _named(whole)

    @wraps(make)
    def method(self: Any, /, *args: Any, **kwargs: Any) -> ContextOutput:
        when, made = _when(make, known, kwargs), make(self, *args, **kwargs)
        output: ContextOutput = self.output if made is None else self._write(made, **when)
        return output

    @wraps(make)
    async def awaited(self: Any, /, *args: Any, **kwargs: Any) -> ContextOutput:
        when = _when(make, known, kwargs)
        made = (
            await asyncio.to_thread(make, self, *args, **kwargs)
            if reads
            else make(self, *args, **kwargs)
        )
        output: ContextOutput = self.output if made is None else await self._awrite(made, **when)
        return output

    vars(method).update(
        awaited=awaited, __signature__=whole.replace(return_annotation=ContextOutput)
    )
    return method


def _named(whole: Signature) -> frozenset[str]:
    """Return the parameter names of a verb, including those of its options."""
    return frozenset(
        name
        for each in whole.parameters.values()
        for name in _OPTIONS.get(each.annotation, (each.name,))
    )


def _when(
    make: Callable[..., Any], known: frozenset[str], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the write options in `given`.

    Raises:
        TypeError: a name is not a parameter.
    """
    for name in given:
        if name not in known:
            raise TypeError(f"{make.__qualname__}() got an unexpected keyword argument {name!r}")
    return {name: given[name] for name in given if name in WHEN}


# --- parts of a session ---------------------------------------------------------------


class SessionPart:
    """The methods for one subject of a session.

    A part refers to its session, but the session does not refer to it.
    """

    def __init__(self, session: "ContextSession") -> None:
        self._session = session

    @property
    def output(self) -> ContextOutput:
        """Return the output of the session."""
        return self._session.output

    def _write(self, command: Any, **when: Any) -> ContextOutput:
        return self._session._write(command, **when)

    async def _awrite(self, command: Any, **when: Any) -> ContextOutput:
        return await self._session._awrite(command, **when)


class HistoryPart:
    """The `history` attribute: the history of a session, or the archive of a session class."""

    @overload
    def __get__(self, session: None, owner: type[Session]) -> "Archive[Session]": ...
    @overload
    def __get__(self, session: "ContextSession", owner: type) -> "History": ...
    def __get__(self, session: Any, owner: Any) -> Any:
        """Return the history or the archive, loaded on first access."""
        return (
            subjects.export.Archive(owner) if session is None else subjects.history.History(session)
        )
