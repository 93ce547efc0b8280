"""Call a path of a session: find it, look at what it is given, do it.

What is wrong with a call is said before anything is done: which path, which argument, what would be legal.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from inspect import Parameter
from typing import Any, Literal, TypeVar, overload
from warnings import warn

from attrs import frozen

from polycontext.linearity import InvalidDataError, LinearityStats
from polycontext.polynomial.errors import UnknownPathError
from polycontext.polynomial.inputs import ContextOutput
from polycontext.polynomial.session.options import check_arguments
from polycontext.polynomial.session.paths import ContextPath, found, renamed
from polycontext.polynomial.session.twins import Awaiting, awaited
from polycontext.window import ContextWindow, Store, Turn

B = TypeVar("B")

Number = Literal["self.context.pressure.check", "self.context.pressure.threshold"]
Write = Literal["self.context.pressure.compress", "self.context.linearity.tag", "self.context.linearity.promote"]
Prompt = Literal["self.context.prompt.system", "self.context.prompt.render"]
Space = Literal["self.context", "self.context.window", "self.context.pressure", "self.context.linearity", "self.context.prompt"]


_TAKEN = ("self", "system_only")
"""What no value of a template can be called: `build_prompt` has these names for itself."""


@frozen
class Invoke:
    """Do what stands at a path of a session, and return what it gives (docs/paths.md).

    Raises:
        UnknownPathError: nothing stands there; names paths like it.
        InvalidDataError: an argument is missing, unknown, given twice or one too many; names it.
        InvalidOptionError: an argument cannot be what it has to be; names it and what is legal.
        Whatever the session raises for what it is asked.

    Warns:
        DeprecationWarning: the path is a former one; names where it stands today.

    >>> from polycontext.polynomial import ContextSession
    >>> session = ContextSession(max_tokens=100)
    >>> _ = session.add_user_turn("Paint the house.")
    >>> session.invoke("self.context.window.focus").text
    'Paint the house.'
    """

    session: Any

    @overload
    def __call__(self, path: Literal["self.context.window.focus"], /) -> Turn | None: ...
    @overload
    def __call__(self, path: Literal["self.context.window.map"], /, function: Callable[[ContextWindow], B]) -> Store[B]: ...
    @overload
    def __call__(self, path: Literal["self.context.window.seek"], /, position: int) -> ContextWindow: ...
    @overload
    def __call__(self, path: Literal["self.context.window.history"], /) -> tuple[Turn, ...]: ...
    @overload
    def __call__(self, path: Literal["self.context.linearity.stats"], /) -> LinearityStats: ...
    @overload
    def __call__(self, path: Number, /) -> float: ...
    @overload
    def __call__(self, path: Write, /, *arguments: Any, **options: Any) -> ContextOutput: ...
    @overload
    def __call__(self, path: Prompt, /, *arguments: Any, **options: Any) -> str: ...
    @overload
    def __call__(self, path: Space, /) -> tuple[ContextPath, ...]: ...
    @overload
    def __call__(self, path: str, /, *arguments: Any, **options: Any) -> Any: ...
    def __call__(self, path: str, /, *arguments: Any, **options: Any) -> Any:
        """Do it."""
        _tell_of_former(path)
        return checked(found(path), arguments, options).does(self.session, *arguments, **options)


@frozen
class AsyncInvoke:
    """Do what `Invoke` does, without blocking where it waits for a summariser or a store."""

    session: Any

    @overload
    def __call__(self, path: Literal["self.context.window.focus"], /) -> Coroutine[Any, Any, Turn | None]: ...
    @overload
    def __call__(
        self, path: Literal["self.context.window.map"], /, function: Callable[[ContextWindow], B]
    ) -> Coroutine[Any, Any, Store[B]]: ...
    @overload
    def __call__(self, path: Literal["self.context.window.seek"], /, position: int) -> Coroutine[Any, Any, ContextWindow]: ...
    @overload
    def __call__(self, path: Literal["self.context.window.history"], /) -> Coroutine[Any, Any, tuple[Turn, ...]]: ...
    @overload
    def __call__(self, path: Literal["self.context.linearity.stats"], /) -> Coroutine[Any, Any, LinearityStats]: ...
    @overload
    def __call__(self, path: Number, /) -> Coroutine[Any, Any, float]: ...
    @overload
    def __call__(self, path: Write, /, *arguments: Any, **options: Any) -> Coroutine[Any, Any, ContextOutput]: ...
    @overload
    def __call__(self, path: Prompt, /, *arguments: Any, **options: Any) -> Coroutine[Any, Any, str]: ...
    @overload
    def __call__(self, path: Space, /) -> Coroutine[Any, Any, tuple[ContextPath, ...]]: ...
    @overload
    def __call__(self, path: str, /, *arguments: Any, **options: Any) -> Coroutine[Any, Any, Any]: ...
    def __call__(self, path: str, /, *arguments: Any, **options: Any) -> Coroutine[Any, Any, Any]:
        """Return what does it once it is awaited."""
        # Not in the coroutine: who calls is to be seen, and not the loop that runs it.
        _tell_of_former(path)
        return self._done(path, arguments, options)

    async def _done(self, path: str, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
        return await awaited(checked(found(path), arguments, options).does(Awaiting(self.session), *arguments, **options))


def _tell_of_former(path: object) -> None:
    """Warn whoever called with a former path; one that leads nowhere is an error soon."""
    if isinstance(path, str) and renamed(path) is not None:
        with suppress(UnknownPathError):
            warn(f"{path!r} is deprecated; legal: {found(path).name!r}", DeprecationWarning, stacklevel=3)


def checked(path: ContextPath, arguments: Sequence[Any], options: Mapping[str, Any]) -> ContextPath:
    """Return `path` if it takes what it is given.

    Raises:
        InvalidDataError: an argument is missing, unknown, given twice or one too many.
        InvalidOptionError: an argument cannot be what it has to be.
    """
    named = {name: each for name, each in path.signature.parameters.items() if each.kind is not Parameter.VAR_KEYWORD}
    in_order = [name for name, each in named.items() if each.kind is Parameter.POSITIONAL_OR_KEYWORD]
    for value in arguments[len(in_order) :]:
        raise InvalidDataError(path.name, f"one argument too many, {value!r:.100}", str(path))
    given = dict(zip(in_order, arguments, strict=False))
    for name in options:
        if name in given:
            raise _misfit(path, name, "is given twice")
        if name not in named and (len(named) == len(path.signature.parameters) or name in _TAKEN):
            meant = "".join(f", did you mean {near!r}?" for near in get_close_matches(name, named, 1))
            raise _misfit(path, name, f"is no argument of it{meant}")
    given |= options
    for name, each in named.items():
        if name in given:
            check_arguments(**{name: given[name]})
        elif each.default is Parameter.empty:
            raise _misfit(path, name, "is missing")
    return path


def _misfit(path: ContextPath, argument: str, problem: str) -> InvalidDataError:
    return InvalidDataError(f"{path.name}, {argument}", problem, str(path))
