"""A user's object as the subject of laws.

It is imported by name, created if it is a class, and classified by its methods.
"""

import inspect
import sys
from collections.abc import Callable, Sequence
from functools import reduce
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

from attrs import field, frozen
from hypothesis import strategies as st

from polycontext.agents import AgentMachine, Form, Recollection
from polycontext.base import InvalidDataError, similar
from polycontext.polynomial import ContextMachine, ContextSession
from polycontext.pressure import ContextProjector, Summariser
from polycontext.window import ContextWindow

from .agent_strategies import agent_sessions
from .law_inputs import Strategies, focused_anywhere
from .strategies import Move, conversations


@frozen
class Kind:
    """A kind of object that laws are about: a predicate, and strategies for laws' parameters."""

    name: str
    fits: Callable[[Any], bool]
    strategies: Callable[[Any], Strategies]


@frozen
class Subject:
    """A user's object, its kinds, and the strategies for the laws' parameters."""

    name: str
    value: Any = field(repr=False)
    kinds: tuple[str, ...]
    bound: Strategies = field(repr=False)


def load_subject(name: str) -> Subject:
    """Return the subject that ``module:object`` names.

    A class or factory without parameters is called. Modules in the working directory are found too.

    Raises:
        InvalidDataError: it cannot be imported or created, or no law is about it.
    """
    module, _, path = name.partition(":")
    if not (module and path):
        raise InvalidDataError(
            f"subject {name!r}",
            "no module and object",
            "module:object, such as my_agent.summaries:Summariser",
        )
    return subject_of(_found(name), name)


def subject_of(value: Any, name: str = "") -> Subject:
    """Return `value`, or what it creates when called, as a subject of laws.

    Raises:
        InvalidDataError: it cannot be created, or no law is about it.
    """
    name = name or getattr(value, "__qualname__", type(value).__qualname__)
    made = _made(value, name)
    fitting = [kind for kind in KINDS if kind.fits(made)]
    if not fitting:
        legal = "; ".join(kind.name for kind in KINDS)
        raise InvalidDataError(
            f"subject {name!r}",
            f"{type(made).__qualname__} is nothing that laws are about",
            f"one of: {legal}",
        )
    bound = {
        parameter: strategy
        for kind in fitting
        for parameter, strategy in kind.strategies(made).items()
    }
    return Subject(name, made, tuple(kind.name for kind in fitting), bound)


def _found(name: str) -> Any:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    what, (module, _, path) = f"subject {name!r}", name.partition(":")
    try:
        value: Any = import_module(module)
    except Exception as error:  # importing a module can raise anything
        problem = f"cannot be imported: {type(error).__name__}: {error}"
        raise InvalidDataError(
            what, problem, "a module that imports, by its dotted name"
        ) from error
    try:
        return attrgetter(path)(value)
    except AttributeError as error:
        raise InvalidDataError(
            what, f"no {error.name!r} there", _near(str(error.name), error.obj)
        ) from error


def _near(attribute: str, value: Any) -> str:
    """Return names similar to `attribute`, or else the names defined in `value`."""
    names = [each for each in dir(value) if not each.startswith("_")]
    near = similar(attribute, names)
    own = [
        each
        for each in names
        if getattr(getattr(value, each), "__module__", None) == getattr(value, "__name__", None)
    ]
    return ", ".join(near or own or names) or "nothing; it is empty"


def _made(value: Any, name: str) -> Any:
    """Return `value`, or the result of calling it if it is a class or takes no arguments."""
    is_maker = inspect.isclass(value) or (inspect.isroutine(value) and _takes(value))
    if not is_maker or _is_form(value):
        return value
    try:
        return value()
    except Exception as error:  # a constructor can raise anything
        raise InvalidDataError(
            f"subject {name!r}",
            f"cannot be made: {type(error).__name__}: {error}",
            "a class or factory without parameters, or an instance",
        ) from error


def _is_form(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Form)


def _takes(function: Callable[..., Any], *arguments: object) -> bool:
    """Return whether `function` can be called with these positional arguments."""
    try:
        inspect.signature(function).bind(*arguments)
    except (TypeError, ValueError):
        return False
    return True


def _has(value: Any, method: str, *arguments: object) -> bool:
    function = getattr(value, method, None)
    return callable(function) and _takes(function, *arguments)


def _summarises(value: Any) -> bool:
    """Return whether `value` is a function that writes summaries, by the name of its allowance."""
    return inspect.isroutine(value) and {"turns", "max_tokens"} <= {
        *inspect.signature(value).parameters
    }


# --- strategies -----------------------------------------------------------


def _fixed(parameter: str) -> Callable[[Any], Strategies]:
    return lambda value: {parameter: st.just(value)}


def _continued(window: ContextWindow) -> Strategies:
    """Draw the window, also with a generated conversation after its turns."""

    def after(moves: Sequence[Move]) -> ContextWindow:
        return reduce(lambda grown, move: grown.append(*move), moves, window)

    windows = st.just(window)
    if not window.open_calls:
        windows |= conversations(max_atoms=6).map(after)
    return {"window": windows.flatmap(focused_anywhere)}


def _lived(machine: AgentMachine) -> Strategies:
    """Draw what an agent's machine has: its nodes, the forms of its answers, and sessions."""
    kind, region = type(machine), machine.regions["node"]
    sessions = agent_sessions(kind)
    return {
        "node": st.sampled_from([*region.nodes.values()]),
        "form": st.sampled_from([*region.forms().values()]),
        "agent_session": sessions,
        "now": sessions.map(lambda session: Recollection(session).now),
    }


KINDS: Final = (
    Kind(
        "a machine (ContextMachine)",
        lambda value: isinstance(value, ContextMachine),
        lambda value: {"machine": st.just(type(value))},
    ),
    Kind(
        "an agent's machine (AgentMachine)", lambda value: isinstance(value, AgentMachine), _lived
    ),
    Kind("an answer of a node (Form)", _is_form, _fixed("form")),
    Kind("a window (ContextWindow)", lambda value: isinstance(value, ContextWindow), _continued),
    Kind(
        "a counter (count(text))",
        lambda v: _has(v, "count", "text") and not isinstance(v, Sequence),
        _fixed("counter"),
    ),
    Kind(
        "a classifier (called with role, content, metadata)",
        lambda v: callable(v) and _takes(v, "user", "text", {}) and not _summarises(v),
        _fixed("classifier"),
    ),
    Kind(
        "a summariser (summarise(turns, max_tokens, *, counter, query))",
        lambda v: isinstance(v, Summariser) or _summarises(v),
        lambda v: {"summariser": st.just(ContextProjector(v).summariser if _summarises(v) else v)},
    ),
    Kind(
        "a projector (compress(window, target))",
        lambda v: (
            _has(v, "compress", None, 0.5) and not isinstance(v, ContextSession | ContextMachine)
        ),
        _fixed("projector"),
    ),
)
"""The kinds of objects that laws are about, in the order of the rooms."""
