"""Fields of OpenAI Responses requests: the input and the threshold of compaction."""

from collections.abc import Mapping, Sequence
from typing import Any

from polycontext.testing.strict.provider import Request


def input_items(request: Request) -> Sequence[Any]:
    """Return the items of the input; a text is one message."""
    given = request.get("input")
    return [{"role": "user", "content": given}] if isinstance(given, str) else given or ()


def compact_threshold(request: Request) -> float:
    """Return the number of tokens from which `request` asks for a compaction."""
    entries = request.get("context_management") or ()
    return min(
        (entry["compact_threshold"] for entry in entries if entry.get("compact_threshold")),
        default=float("inf"),
    )


def message_of(item: Mapping[str, Any], own: str) -> dict[str, Any]:
    """Return an input message as a compaction keeps it, with the id `own`."""
    content = item["content"]
    parts = [{"type": "input_text", "text": content}] if isinstance(content, str) else content
    return {"id": own, "type": "message", "status": "completed"} | dict(item) | {"content": parts}
