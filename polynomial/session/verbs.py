"""Verbs: one typed function for each thing that a session is asked to do, from which both of its methods are made.

A `verb` returns a command to write, a `procedure` steps that yield what they need. Out of it the
method that waits is made; `twin` is the one for tasks, whose name has an a before it. Both keep the
parameters. The verbs of a subject stand in a part of the session, by its name.
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

from polycontext.linearity.effects import Effect, call

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
    """Return the method that writes the command that `make` returns.

    Where that is None there is nothing to write.

    Raises:
        TypeError: when called, for a name that is none of its parameters.
    """
    return cast("Callable[Concatenate[S, P], ContextOutput]", _verb(make, reads=False))


def reading_verb(
    make: Callable[Concatenate[S, P], Command | None],
) -> Callable[Concatenate[S, P], ContextOutput]:
    """Return the method of a command that is made out of what is stored: its twin makes it in a thread."""
    return cast("Callable[Concatenate[S, P], ContextOutput]", _verb(make, reads=True))


class ClassTwin(Generic[P]):
    """Be the twin of a method of the class that makes one of its objects: it does all of its work in a thread."""

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
    """Return the names that a verb takes, those of its options among them."""
    return frozenset(
        name
        for each in whole.parameters.values()
        for name in _OPTIONS.get(each.annotation, (each.name,))
    )


def _when(
    make: Callable[..., Any], known: frozenset[str], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what of `given` is said of a write.

    Raise `TypeError` for a name that means nothing.
    """
    for name in given:
        if name not in known:
            raise TypeError(f"{make.__qualname__}() got an unexpected keyword argument {name!r}")
    return {name: given[name] for name in given if name in WHEN}


# --- parts of a session: small objects that it hands out ------------------------------


class SessionPart:
    """Do what concerns one subject of a session.

    It holds nothing but the session, which does not hold it.
    """

    def __init__(self, session: "ContextSession") -> None:
        self._session = session

    @property
    def output(self) -> ContextOutput:
        """Return what readers consume of the session."""
        return self._session.output

    def _write(self, command: Any, **when: Any) -> ContextOutput:
        return self._session._write(command, **when)

    async def _awrite(self, command: Any, **when: Any) -> ContextOutput:
        return await self._session._awrite(command, **when)


class HistoryPart:
    """Hand out the history of a session.

    Where a class of sessions is asked, the archive of what is kept of any of them.
    """

    @overload
    def __get__(self, session: None, owner: type[Session]) -> "Archive[Session]": ...
    @overload
    def __get__(self, session: "ContextSession", owner: type) -> "History": ...
    def __get__(self, session: Any, owner: Any) -> Any:
        """Return either, loaded when it is first asked for."""
        return (
            subjects.export.Archive(owner) if session is None else subjects.history.History(session)
        )
