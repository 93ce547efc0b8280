"""Call a path of a session: find it, look at what it is given, do it.

What is wrong with a call is said before anything is done: which path, which argument, what would be legal.
"""

from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from inspect import Parameter
from typing import Any
from warnings import warn

from polycontext.linearity import InvalidDataError
from polycontext.polynomial.errors import UnknownPathError
from polycontext.polynomial.session.options import check_arguments
from polycontext.polynomial.session.paths import ContextPath, found, renamed
from polycontext.polynomial.session.twins import Awaiting, awaited

_TAKEN = ("self", "system_only")
"""What no value of a template can be called: `build_prompt` has these names for itself."""


def invoked(session: Any, path: str, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Do what `ContextSession.invoke` says."""
    _tell_of_former(path)
    return checked(found(path), arguments, options).does(session, *arguments, **options)


def ainvoked(session: Any, path: str, arguments: Sequence[Any], options: Mapping[str, Any]) -> Coroutine[Any, Any, Any]:
    """Return what does it without blocking, once it is awaited."""
    # Not in the coroutine: who calls is to be seen, and not the loop that runs it.
    _tell_of_former(path)
    return _done(session, path, arguments, options)


async def _done(session: Any, path: str, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    return await awaited(checked(found(path), arguments, options).does(Awaiting(session), *arguments, **options))


def _tell_of_former(path: object) -> None:
    """Warn whoever called with a former path; one that leads nowhere is an error soon."""
    if isinstance(path, str) and renamed(path) is not None:
        with suppress(UnknownPathError):
            warn(f"{path!r} is deprecated; legal: {found(path).name!r}", DeprecationWarning, stacklevel=4)


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
