"""A bad request of OpenAI's formats, and pieces that both formats share."""

import re
from typing import Any

from attrs import frozen

MODEL = "gpt-5.6"
PNG = "data:image/png;base64,iVBORw0KGgo="


@frozen
class BadRequest:
    """Hold a bad request with what is said to it; `index` is that of the message or item."""

    name: str
    request: dict[str, Any]
    rule: str
    wording: str
    param: str | None = None
    code: str | None = None
    index: int | None = None


def user(content: Any = "hi") -> dict[str, Any]:
    """Return a user's message."""
    return {"role": "user", "content": content}


def tool(**function: Any) -> dict[str, Any]:
    """Return a tool as chat defines it."""
    return {"type": "function", "function": {"name": "read"} | function}


def bad(  # noqa: PLR0917 - a row of a table
    field: str,
    name: str,
    given: Any,
    rule: str,
    wording: str,
    param: str | None = None,
    code: str | None = None,
    *,
    index: int | None = None,
    **more: Any,
) -> BadRequest:
    """Return a bad request whose fault is in a field; the index is that in `param`, or is told."""
    request = {"model": MODEL, field: given} | more
    place = re.match(rf"{field}\.?\[(\d+)", param or "")
    index = int(place[1]) if place and index is None else index
    return BadRequest(name, request, rule, wording, param, code, index)


def missing(param: str) -> tuple[str, str, str]:
    """Return what is said where a parameter is missing: the words, `param` and `code`."""
    return f"Missing required parameter: '{param}'.", param, "missing_required_parameter"
