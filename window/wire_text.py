"""Text as the formats of providers write it: JSON, and stand-ins for content that is empty."""

import json
from typing import Any

from polycontext.base import InvalidDataError
from polycontext.base.json_data import copy_json

from .part import BOUND, PartKind
from .turn import Role, Turn

EMPTY = "[empty]"
"""The text that is written where a provider rejects empty content."""

FOREIGN = "[content in another provider's format]"
"""The text of a user's turn or a result that holds nothing but another provider's blocks."""

WIRE_INTEGERS = range(-(2**14284), 2**14284)
"""The integers that Python's JSON reader accepts: of up to 4,300 digits."""


def compact(value: object) -> str:
    """Return JSON text without spaces, in the original key order.

    >>> compact({"b": [1, "ä"], "a": None})
    '{"b":[1,"ä"],"a":null}'
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def loaded_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object in `text`, or None if it does not hold one that can be sent.

    Blank text is an empty object: so servers write a call without arguments.

    >>> loaded_object('{"city": "Paris"}'), loaded_object('{"x": NaN}'), loaded_object("Paris")
    ({'city': 'Paris'}, None, None)
    """
    try:
        # Validate at the depth that it will have inside a message.
        value = copy_json(
            [[[json.loads(text if is_visible(text) else "{}")]]], integers=WIRE_INTEGERS
        )[0][0][0]
    except (ValueError, RecursionError, InvalidDataError):
        return None
    return value if isinstance(value, dict) else None


def loaded_arguments(text: str) -> dict[str, Any] | None:
    """Return the arguments of a call as `loaded_object` does; null and an empty list are none.

    >>> loaded_arguments("null"), loaded_arguments(" [] "), loaded_arguments("[1]")
    ({}, {}, None)
    """
    return {} if text.strip() in ("null", "[]") else loaded_object(text)


def is_visible(text: str) -> bool:
    """Return whether `text` contains anything but white space.

    >>> is_visible("a "), is_visible(" "), is_visible("")
    (True, False, False)
    """
    return bool(text) and not text.isspace()


_THOUGHTS = {*BOUND, "thought"}


def stand_in(turn: Turn) -> str:
    """Return the text for a turn that has no content to write.

    Thinking is no content. The model's turn gets a line for each block, so that no other words
    seem to be its own.
    """
    inside = (PartKind.BLOCK, PartKind.NATIVE)
    held = [part for part in turn.parts if part.kind in inside and part.type not in _THOUGHTS]
    if held and turn.role is Role.ASSISTANT:
        from .media import describe_medium  # noqa: PLC0415 - only needed here

        return "\n".join(map(describe_medium, held))
    return FOREIGN if held else EMPTY
