"""Paths: call a session by name, with checked arguments (docs/paths.md).

Paths are for callers that have names instead of code: agents, configurations, lines of a protocol.
A call is checked before it does anything; an error names the path, the argument and what is legal.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from inspect import Parameter, Signature, formatannotation, getdoc, signature
from re import sub
from typing import Any, TypeVar, Unpack, get_type_hints
from warnings import warn

from attrs import frozen

from polycontext.base import InvalidDataError, is_whole, require, similar
from polycontext.base.effects import Effect, Steps, call, procedure
from polycontext.linearity import LinearityStats, ResourceClass
from polycontext.pressure import pressure_of
from polycontext.window import ContextWindow, Store, Turn

from ..errors import UnknownPathError
from ..inputs import ContextOutput, Promotion, class_of
from .commands import WriteOptions
from .plugins import PromptMaker
from .writer import Session

B = TypeVar("B")

ROOT = "self.context"

_TAKEN = ("self", "system_only")
"""Names that template values cannot have: `build_prompt` uses them itself."""

# --- the functions ---------------------------------------------------------------


def _focus(session: Session) -> Turn | None:
    """Return the turn in focus, which is the newest one, or None."""
    return session.window.extract()


def _map(session: Session, function: Callable[[ContextWindow], B]) -> Store[B]:
    """Return the result of `function` on the window at every position; computed on access."""
    require("function", function, callable(function), "a function of a ContextWindow")
    return session.window.extend(function)


def _seek(session: Session, position: int) -> ContextWindow:
    """Return the window focused on `position`; the session's own window does not change."""
    legal = "a whole number, 0 to the number of turns"
    require("position", position, is_whole(position), legal)
    return session.window.seek(position)


def _history(session: Session) -> tuple[Turn, ...]:
    """Return every turn of the window, in order; `session.log()` also has the evicted ones."""
    return session.window.all_turns()


def _check(session: Session) -> float:
    """Return the pressure: tokens used / max tokens."""
    return pressure_of(session.window)


@procedure
def _compress(
    session: Session,
    target: float | None = None,
    *,
    query: str | None = None,
    **when: Unpack[WriteOptions],
) -> Steps[ContextOutput]:
    """Compress to a target pressure, by default at most 40 % of the free budget."""
    output: ContextOutput = yield call(session, "compress", target, query=query, **when)
    return output


def _threshold(session: Session) -> float:
    """Return the pressure above which the window is pressured now."""
    return session.policy.mark(session.window)


@procedure
def _tag(
    session: Session,
    resource_id: str,
    resource_class: ResourceClass | str,
    *,
    rationale: str = "",
    **when: Unpack[WriteOptions],
) -> Steps[ContextOutput]:
    """Set the class of a turn; the same class changes nothing, and a lower one is refused."""
    output = session.output
    wanted = Promotion(resource_id, class_of(resource_class), rationale)
    if session.window.linearity.get(resource_id) is not wanted.resource_class:
        output = yield call(
            session, "promote", resource_id, resource_class, rationale=rationale, **when
        )
    return output


@procedure
def _promote(
    session: Session,
    resource_id: str,
    resource_class: ResourceClass | str,
    *,
    rationale: str = "",
    **when: Unpack[WriteOptions],
) -> Steps[ContextOutput]:
    """Raise the class of a turn; the same class or a lower one is refused."""
    output: ContextOutput = yield call(
        session, "promote", resource_id, resource_class, rationale=rationale, **when
    )
    return output


def _stats(session: Session) -> LinearityStats:
    """Return how many resources each class has, and how many were promoted and dropped."""
    return session.window.linearity.stats()


def _prompt(told: str, *, system_only: bool) -> Callable[..., str]:
    """Return the function of a path that builds a prompt, with `told` as its docstring."""

    def build(
        session: Any,
        /,
        agent_type: str = "default",
        eigenvectors: Mapping[str, float] | None = None,
        constraints: Sequence[str] = (),
        *,
        task: str | None = None,
        prompts: "PromptMaker | None" = None,
        **values: str | float,
    ) -> str:
        text: str = session.build_prompt(
            agent_type,
            eigenvectors,
            constraints,
            task=task,
            system_only=system_only,
            prompts=prompts,
            **values,
        )
        return text

    build.__doc__ = told
    return build


# --- the paths -------------------------------------------------------------------


@frozen
class ContextPath:
    """A named operation of a session, with its signature.

    >>> print(PATHS[2])
    self.context.window.seek(position: int) -> ContextWindow
    """

    name: str
    does: Callable[..., Any]
    """The function: takes the session, then the arguments of the path."""

    @property
    def signature(self) -> Signature:
        """Return the parameters and the return type of the path."""
        whole = signature(self.does)
        given = [*whole.parameters.values()][1:]
        return whole.replace(parameters=[named for each in given for named in _expand(each)])

    @property
    def summary(self) -> str:
        """Return one sentence that describes the path."""
        return getdoc(self.does) or ""

    def __str__(self) -> str:
        whole = self.signature
        given = whole.parameters.values()
        plain = [each.replace(annotation=_Plain(each.annotation)) for each in given]
        return f"{self.name}{Signature(plain, return_annotation=_Plain(whole.return_annotation))}"


def _expand(parameter: Parameter) -> list[Parameter]:
    """Return the write options as parameters of their own, and any other parameter unchanged."""
    if parameter.annotation != Unpack[WriteOptions]:
        return [parameter]
    return [
        Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in get_type_hints(WriteOptions).items()
    ]


class _Plain:
    """An annotation printed as its reader would write it, with names without modules."""

    def __init__(self, annotation: Any) -> None:
        is_text = isinstance(annotation, str)
        plain = annotation if is_text else sub(r"~|\b(?:\w+\.)+", "", formatannotation(annotation))
        self._text: str = plain

    def __repr__(self) -> str:
        return self._text


_DOES: Mapping[str, Callable[..., Any]] = {
    "window.focus": _focus,
    "window.map": _map,
    "window.seek": _seek,
    "window.history": _history,
    "pressure.check": _check,
    "pressure.compress": _compress,
    "pressure.threshold": _threshold,
    "linearity.tag": _tag,
    "linearity.promote": _promote,
    "linearity.stats": _stats,
    "prompt.system": _prompt(
        "Return the system prompt of an agent, without the conversation.", system_only=True
    ),
    "prompt.render": _prompt(
        (
            "Return the one text that a model completes: "
            "system prompt, the view as a transcript, the task."
        ),
        system_only=False,
    ),
}
PATHS = tuple(ContextPath(f"{ROOT}.{name}", does) for name, does in _DOES.items())
"""Every path that does something, by namespace."""

NAMESPACES = tuple(dict.fromkeys([ROOT, *(path.name.rpartition(".")[0] for path in PATHS)]))
"""Paths that list those below them."""

ALIASES: Mapping[str, str] = {
    "self.stream.focus": f"{ROOT}.window.focus",
    "self.stream.map": f"{ROOT}.window.map",
    "self.stream.seek": f"{ROOT}.window.seek",
    "self.stream.project": f"{ROOT}.pressure.compress",
    "self.stream.linearity": f"{ROOT}.linearity",
    "self.stream.pressure": f"{ROOT}.pressure",
}
"""Deprecated paths and namespaces, with all paths below them, and their replacements."""

_BY_NAME = {path.name: path for path in PATHS}


def paths(under: str = ROOT) -> tuple[ContextPath, ...]:
    """Return the paths at or below a path, each with its signature and function.

    Raises:
        UnknownPathError: there is nothing at `under`.

    >>> for path in paths("self.context.linearity"):
    ...     print(path.name, "->", path.signature.return_annotation.__name__)
    self.context.linearity.tag -> ContextOutput
    self.context.linearity.promote -> ContextOutput
    self.context.linearity.stats -> LinearityStats
    """
    name = find_path(under).name
    return tuple(path for path in PATHS if f"{path.name}.".startswith(f"{name}."))


def find_path(name: str) -> ContextPath:
    """Return the path with that name, which may be deprecated.

    A namespace, with or without ``.*``, returns the path that lists those below it.

    Raises:
        UnknownPathError: there is no such path. The message names similar ones and the legal ones.
        InvalidOptionError: `name` is not a string.
    """
    require("path", name, isinstance(name, str), f"a text, such as '{PATHS[0].name}'")
    today = current_path(name) or name
    if today in _BY_NAME:
        return _BY_NAME[today]
    if (namespace := today.removesuffix(".*")) in NAMESPACES:
        return ContextPath(namespace, _lister(namespace))
    raise _unknown_path(name, today)


def current_path(name: str) -> str | None:
    """Return the replacement of a deprecated path, even if it does not exist, or None.

    >>> current_path("self.stream.pressure.check"), current_path("self.stream.check")
    ('self.context.pressure.check', None)
    """
    for old, now in ALIASES.items():
        if f"{name}.".startswith(f"{old}."):
            return now + name[len(old) :]
    return None


def _lister(namespace: str) -> Callable[[Any], tuple[ContextPath, ...]]:
    def list_paths(_: object) -> tuple[ContextPath, ...]:
        """Return the paths below."""
        return paths(namespace)

    return list_paths


def _unknown_path(name: str, today: str) -> UnknownPathError:
    looked_for = _short(name.casefold())
    today_of = {path: path for path in (*_BY_NAME, *NAMESPACES)} | dict(ALIASES)
    known = {_short(path): now for path, now in today_of.items()}
    last = f".{looked_for.rpartition('.')[2]}"
    like = [each for each in known if each.endswith(last)] + [*similar(looked_for, known)]
    near = tuple(dict.fromkeys(known[each] for each in like))
    space = today.casefold().rpartition(".")[0]
    legal = NAMESPACES
    if space in NAMESPACES[1:]:
        legal = tuple(path for path in _BY_NAME if path.startswith(f"{space}."))
    return UnknownPathError("path", name, legal, near)


def _short(name: str) -> str:
    """Return a path without the common prefix, which would make any two look alike."""
    return name.removeprefix(f"{ROOT}.").removeprefix("self.stream.")


# --- calling one ------------------------------------------------------------------


def invoke(
    session: Session, path: str, arguments: Sequence[Any], options: Mapping[str, Any]
) -> Steps[Any]:
    """Call a path; see `ContextSession.invoke`."""
    _warn_of_former(path)
    return _call(session, path, arguments, options)


def _call(
    session: Session, path: str, arguments: Sequence[Any], options: Mapping[str, Any]
) -> Steps[Any]:
    does = check_call(find_path(path), arguments, options).does
    result = yield Effect(
        partial(does, session, *arguments, **options),
        partial(_call_async, does, session, *arguments, **options),
    )
    return result


async def _call_async(does: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Return the result of a path: writes are awaited, reads return at once."""
    awaited = getattr(does, "awaited", None)
    return does(*arguments, **options) if awaited is None else await awaited(*arguments, **options)


def _warn_of_former(path: object) -> None:
    """Warn the caller of a deprecated path, unless it leads nowhere, which raises later."""
    if isinstance(path, str) and current_path(path) is not None:
        with suppress(UnknownPathError):
            legal = find_path(path).name
            warn(f"{path!r} is deprecated. Use {legal!r}.", DeprecationWarning, stacklevel=6)


def check_call(
    path: ContextPath, arguments: Sequence[Any], options: Mapping[str, Any]
) -> ContextPath:
    """Return `path` if it accepts the arguments.

    Raises:
        InvalidDataError: an argument is missing, unknown, given twice or superfluous.
    """
    problem = next(
        (f"{name!r} is not one of its arguments" for name in _TAKEN if name in options), None
    )
    try:
        path.signature.bind(*arguments, **options)
    except TypeError as error:
        problem = str(error)
    if problem is not None:
        raise InvalidDataError(path.name, problem, str(path))
    return path
