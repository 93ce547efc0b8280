"""Text as the formats of providers write it: JSON, and stand-ins for content that is empty."""

import json
from typing import Any

from polycontext.base import InvalidDataError
from polycontext.base.json_data import copy_json

from .turn import Turn

EMPTY = "[empty]"
"""The text that is written where a provider rejects empty content."""

FOREIGN = "[content in another provider's format]"
"""The text of a turn that holds nothing but another provider's blocks."""

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


def is_visible(text: str) -> bool:
    """Return whether `text` contains anything but white space.

    >>> is_visible("a "), is_visible(" "), is_visible("")
    (True, False, False)
    """
    return bool(text) and not text.isspace()


def stand_in(turn: Turn) -> str:
    """Return the text for a turn that has no content to write."""
    return FOREIGN if turn.parts else EMPTY
