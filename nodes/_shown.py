"""Values as a counterexample shows them: what is in a window, which function it was, and no more than can be read."""

from collections.abc import Iterable, Mapping, Sequence, Set
from enum import Enum
from typing import Any

from polycontext.linearity import LinearityMap
from polycontext.polynomial import PolyAgent
from polycontext.pressure import View
from polycontext.window import ContextWindow, Store, ToolCall, Turn

LONGEST = 2_000
"""Characters shown of one value."""

_TEXT = 120
_ITEMS = 12


def shown(value: object) -> str:
    """Return `value` as text that tells what it holds.

    >>> shown([Turn("user", "hi", resource_id="t1"), 1])
    "[t1 user 'hi', 1]"
    """
    text = _shown(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _shown(value: object) -> str:
    match value:
        case ContextWindow():
            return (
                f"a window of {value.max_tokens} tokens at {value.pos} of {_listed([_classed(value, turn) for turn in value.all_turns()])}"
            )
        case Turn():
            return _turn(value)
        case LinearityMap():
            return "a ledger of {" + ", ".join(f"{each!r}: {tag.resource_class.name}" for each, tag in value.items()) + "}"
        case View():
            return "a view of {" + ", ".join(f"{atom}: {fidelity.name}" for atom, fidelity in value.fidelities.items()) + "}"
        case PolyAgent():
            return _agent(value)
        case Enum():
            return f"{type(value).__name__}.{value.name}"
        case Store():
            return f"a store at {value.pos} of {_listed([_shown(each) for each in value])}"
        case str() | bytes():
            return _cut(repr(value))
        case _:
            return _collection(value)


def _collection(value: object) -> str:
    match value:
        case Mapping():
            return "{" + ", ".join(f"{_shown(key)}: {_shown(each)}" for key, each in value.items()) + "}"
        case Set():
            return "{" + ", ".join(sorted(map(_shown, value))) + "}"
        case tuple():
            return f"({', '.join(map(_shown, value))}{',' if len(value) == 1 else ''})"
        case Sequence():
            return _listed([_shown(each) for each in value])
        case _:
            return _named(value)


def _listed(items: Sequence[str]) -> str:
    more = f", and {len(items) - _ITEMS} more" if len(items) > _ITEMS else ""
    return f"[{', '.join(items[:_ITEMS])}{more}]"


def _agent(agent: PolyAgent[Any, Any, Any]) -> str:
    """Return a small agent as its table."""
    if len(agent.positions) > _ITEMS:
        return f"an agent of {len(agent.positions)} positions"
    moves = [f"{_shown(s)} {_shown(a)} -> {_moved(agent, s, a)}" for s in _sorted(agent.positions) for a in _sorted(agent.directions(s))]
    return f"an agent of positions {_shown(agent.positions)} that takes {_listed(moves)}"


def _moved(agent: PolyAgent[Any, Any, Any], position: Any, input: Any) -> str:
    try:
        return _shown(agent.transition(position, input))
    except Exception as error:  # noqa: BLE001 - a broken agent is what a counterexample shows
        return type(error).__name__


def _sorted(values: Iterable[Any]) -> list[Any]:
    return sorted(values, key=repr)


def _classed(window: ContextWindow, turn: Turn) -> str:
    resource_class = window.linearity.get(turn.resource_id).name if turn.resource_id in window.linearity else "without a class"
    return f"{_turn(turn)} {resource_class}"


def _turn(turn: Turn) -> str:
    said = _cut(repr(turn.content)) if turn.content is not None or not turn.tool_calls else ""
    answers = f"to {turn.tool_call_id}" if turn.tool_call_id else ""
    sources = f"for {', '.join(turn.sources)}" if turn.sources else ""
    return " ".join(filter(None, (turn.resource_id, turn.role.value, answers, said, *map(_call, turn.tool_calls), sources)))


def _call(call: ToolCall) -> str:
    return f"{call.id}={call.name}({_cut(call.arguments)})"


def _named(value: Any) -> str:
    kind = type(value)
    name = getattr(value, "__qualname__", None)
    if name is not None and callable(value):
        return f"{value.__module__}.{name}"
    if kind.__repr__ is object.__repr__:
        return f"a {kind.__module__}.{kind.__qualname__}"
    try:
        return repr(value)
    except Exception as error:  # noqa: BLE001 - a user's own object is shown even if it cannot show itself
        return f"a {kind.__module__}.{kind.__qualname__}, whose repr raises {type(error).__name__}"


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT else f"{text[:_TEXT]}… ({len(text)} characters)"
