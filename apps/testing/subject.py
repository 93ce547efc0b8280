"""A user's own object as the subject of laws: found by name, made if it is a class, and told by its shape."""

import inspect
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from attrs import field, frozen
from hypothesis import strategies as st

from polycontext.linearity import InvalidDataError, LinearityMap
from polycontext.polynomial import ContextSession, PolyAgent
from polycontext.pressure import Summariser
from polycontext.window import ContextWindow, StoreComonad

from .law_inputs import Strategies, focused_anywhere
from .law_strategies import ledgers
from .strategies import Move, conversations


@frozen
class Kind:
    """Name what an object can be to the laws: how to tell, and what laws are then given in its place."""

    name: str
    fits: Callable[[Any], bool]
    strategies: Callable[[Any], Strategies]


@frozen
class Subject:
    """Hold a user's object, what it is to the laws, and what they draw in its place."""

    name: str
    value: Any = field(repr=False)
    kinds: tuple[str, ...]
    bound: Strategies = field(repr=False)


def load_subject(name: str) -> Subject:
    """Return the object that ``module:object`` names.

    A class or factory without parameters is called for it.

    Modules are looked for in the working directory as well.

    Raises:
        InvalidDataError: it cannot be imported or made, or is nothing that laws are about.
    """
    module, _, path = name.partition(":")
    if not (module and path):
        raise InvalidDataError(
            f"subject {name!r}",
            "no module and object",
            "module:object, such as my_agent.summaries:Summariser",
        )
    return subject_of(_found(name, module, path), name)


def subject_of(value: Any, name: str = "") -> Subject:
    """Return `value`, or what it makes, as a subject of laws.

    Raises:
        InvalidDataError: it cannot be made, or is nothing that laws are about.
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


def _found(name: str, module: str, path: str) -> Any:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        value: Any = import_module(module)
    except Exception as error:  # whatever a user's module raises while it is imported
        raise InvalidDataError(
            f"subject {name!r}",
            f"cannot be imported: {type(error).__name__}: {error}",
            "a module that imports",
        ) from error
    for attribute in path.split("."):
        if not hasattr(value, attribute):
            raise InvalidDataError(
                f"subject {name!r}", f"no {attribute!r} there", _near(attribute, value)
            )
        value = getattr(value, attribute)
    return value


def _near(attribute: str, value: Any) -> str:
    """Return the names there that look like `attribute`, or else those that are defined there."""
    names = [each for each in dir(value) if not each.startswith("_")]
    near = get_close_matches(attribute, names)
    own = [
        each
        for each in names
        if getattr(getattr(value, each), "__module__", None) == getattr(value, "__name__", None)
    ]
    return ", ".join(near or own or names) or "nothing; it is empty"


def _made(value: Any, name: str) -> Any:
    """Return `value`, or what it returns where it is a class or takes nothing."""
    if not (inspect.isclass(value) or (inspect.isroutine(value) and _takes(value))):
        return value
    try:
        return value()
    except Exception as error:  # whatever a user's class raises while it is made
        raise InvalidDataError(
            f"subject {name!r}",
            f"cannot be made: {type(error).__name__}: {error}",
            "a class or factory without parameters, or an instance",
        ) from error


def _takes(function: Callable[..., Any], *arguments: object) -> bool:
    """Tell whether `function` can be called with these positional arguments."""
    try:
        inspect.signature(function).bind(*arguments)
    except (TypeError, ValueError):
        return False
    return True


def _has(value: Any, method: str, *arguments: object) -> bool:
    function = getattr(value, method, None)
    return callable(function) and _takes(function, *arguments)


# --- what is drawn --------------------------------------------------------


def _fixed(parameter: str) -> Callable[[Any], Strategies]:
    return lambda value: {parameter: st.just(value)}


def _refocused(store: StoreComonad[Any]) -> Strategies:
    """Draw the store as it is, and focused elsewhere as far as it can be."""

    def at(position: int) -> StoreComonad[Any]:
        try:
            return store.seek(position)
        except Exception:  # noqa: BLE001 - a store that cannot be moved is still a subject; the laws of seek will say so
            return store

    return {"store": st.just(store) | st.integers(0, store.last).map(at)}


def _continued(window: ContextWindow) -> Strategies:
    """Draw the window with a generated conversation behind its turns."""

    def after(moves: Sequence[Move]) -> ContextWindow:
        return reduce(lambda grown, move: grown.append(*move), moves, window)

    windows = st.just(window)
    if not window.open_calls:
        windows |= conversations(max_atoms=6).map(after)
    focused = windows.flatmap(focused_anywhere)
    return {"window": focused, "store": focused}


KINDS: Final = (
    Kind("a store (StoreComonad)", lambda value: isinstance(value, StoreComonad), _refocused),
    Kind("a window (ContextWindow)", lambda value: isinstance(value, ContextWindow), _continued),
    Kind(
        "a ledger (LinearityMap)",
        lambda value: isinstance(value, LinearityMap),
        lambda value: {"ledger": st.just(value) | ledgers(value)},
    ),
    Kind(
        "a counter (count(text))",
        lambda v: _has(v, "count", "text") and not isinstance(v, Sequence | StoreComonad),
        _fixed("counter"),
    ),
    Kind(
        "a classifier (called with role, content, metadata)",
        lambda v: callable(v) and _takes(v, "user", "text", {}),
        _fixed("classifier"),
    ),
    Kind(
        "a summariser (summarise(turns, max_tokens, *, counter, query))",
        lambda v: isinstance(v, Summariser),
        _fixed("summariser"),
    ),
    Kind(
        "a projector (compress(window, target))",
        lambda v: _has(v, "compress", None, 0.5) and not isinstance(v, ContextSession),
        _fixed("projector"),
    ),
    Kind("an agent (PolyAgent)", lambda value: isinstance(value, PolyAgent), _fixed("agent")),
)
"""What laws are about, in the order of the rooms."""
