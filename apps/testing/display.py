"""Readable text for the values of a counterexample, shortened to what can be read."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum, StrEnum
from functools import singledispatch
from typing import Any

from polycontext.polynomial import ContextSession
from polycontext.window import ContextWindow, Turn

LONGEST = 2_000
"""The maximum number of characters shown of one value."""

_TEXT = 120
_ITEMS = 12


def shown(value: object) -> str:
    """Return `value` as text that shows its content.

    >>> shown([Turn("user", "hi", resource_id="t1"), 1])
    "[t1 user 'hi', 1]"
    """
    text = _shown(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


@singledispatch
def _shown(value: Any) -> str:
    kind = type(value)
    name = getattr(value, "__qualname__", None)
    if name is not None and callable(value):
        return f"{value.__module__}.{name}"
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - a user's repr may raise anything
        return f"a {kind.__module__}.{kind.__qualname__}, whose repr raises {type(error).__name__}"
    address = f" at {id(value):#x}>"
    return f"a {kind.__module__}.{kind.__qualname__}" if text.endswith(address) else text


# --- texts and collections ------------------------------------------------


@_shown.register
def _(value: str | bytes) -> str:
    return _truncate(repr(value))


@_shown.register
def _(value: Enum | StrEnum) -> str:
    return f"{type(value).__name__}.{value.name}"


@_shown.register(Mapping)
def _(value: Mapping[Any, Any]) -> str:
    return "{" + ", ".join(f"{_shown(key)}: {_shown(each)}" for key, each in value.items()) + "}"


@_shown.register(AbstractSet)
def _(value: AbstractSet[Any]) -> str:
    return "{" + ", ".join(sorted(map(_shown, value))) + "}"


@_shown.register(tuple)
def _(value: tuple[Any, ...]) -> str:
    return f"({', '.join(map(_shown, value))}{',' if len(value) == 1 else ''})"


@_shown.register(Sequence)
def _(value: Sequence[Any]) -> str:
    return _render_list([_shown(each) for each in value])


# --- domain values --------------------------------------------------------


@_shown.register
def _(value: Turn) -> str:
    said = (
        _truncate(repr(value.content)) if value.content is not None or not value.tool_calls else ""
    )
    answers = f"to {value.tool_call_id}" if value.tool_call_id else ""
    calls = [f"{call.id}={call.name}({_truncate(call.arguments)})" for call in value.tool_calls]
    sources = f"for {', '.join(value.sources)}" if value.sources else ""
    return " ".join(
        filter(None, (value.resource_id, value.role.value, answers, said, *calls, sources))
    )


@_shown.register
def _(value: ContextWindow) -> str:
    classes = {each: tag.resource_class.name for each, tag in value.linearity.items()}
    turns = [
        f"{_shown(turn)} {classes.get(turn.resource_id, 'without a class')}"
        for turn in value.all_turns()
    ]
    return f"a window of {value.max_tokens} tokens at {value.pos} of {_render_list(turns)}"


@_shown.register
def _(value: ContextSession) -> str:
    return f"a session in {value.state} whose view is {_shown(value.window)}"


# --- shortening -----------------------------------------------------------


def _render_list(items: Sequence[str]) -> str:
    more = f", and {len(items) - _ITEMS} more" if len(items) > _ITEMS else ""
    return f"[{', '.join(items[:_ITEMS])}{more}]"


def _truncate(text: str) -> str:
    return text if len(text) <= _TEXT else f"{text[:_TEXT]}… ({len(text)} characters)"
