"""Call a path of a session: find it, look at what it is given, do it.

What is wrong with a call is said before anything is done: which path, which argument, what would be legal.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from inspect import Parameter
from typing import TYPE_CHECKING, Any
from warnings import warn

from polycontext.linearity import InvalidDataError
from polycontext.linearity.effects import Effect, Steps
from polycontext.polynomial.errors import UnknownPathError

from .options import check_arguments
from .paths import ContextPath, found, renamed

if TYPE_CHECKING:
    from .context_session import ContextSession

_TAKEN = ("self", "system_only")
"""What no value of a template can be called: `build_prompt` has these names for itself."""


def invoked(session: "ContextSession", path: str, arguments: Sequence[Any], options: Mapping[str, Any]) -> Steps[Any]:
    """Do what `ContextSession.invoke` says."""
    _tell_of_former(path)
    return _done(session, path, arguments, options)


def _done(session: "ContextSession", path: str, arguments: Sequence[Any], options: Mapping[str, Any]) -> Steps[Any]:
    does = checked(found(path), arguments, options).does
    result = yield Effect(partial(does, session, *arguments, **options), partial(_awaited, does, session, *arguments, **options))
    return result


async def _awaited(does: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Return what a path gives: what writes is awaited, what reads is there at once."""
    awaited = getattr(does, "awaited", None)
    return does(*arguments, **options) if awaited is None else await awaited(*arguments, **options)


def _tell_of_former(path: object) -> None:
    """Warn whoever called with a former path; one that leads nowhere is an error soon."""
    if isinstance(path, str) and renamed(path) is not None:
        with suppress(UnknownPathError):
            warn(f"{path!r} is deprecated; legal: {found(path).name!r}", DeprecationWarning, stacklevel=5)


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
