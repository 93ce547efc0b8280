"""A bad request of OpenAI's formats, and pieces that both formats share."""

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
    status: int = 400
    index: int | None = None


def user(content: Any = "hi") -> dict[str, Any]:
    """Return a user's message."""
    return {"role": "user", "content": content}


def tool(**function: Any) -> dict[str, Any]:
    """Return a tool as chat defines it."""
    return {"type": "function", "function": {"name": "read"} | function}
