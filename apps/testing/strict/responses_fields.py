"""Fields of OpenAI Responses requests and answers: input, options, content and usage."""

from collections.abc import Mapping, Sequence
from typing import Any

from .prefix_cache import CacheUse
from .provider import Request

DEFAULTS: Mapping[str, Any] = {
    "background": False,
    "error": None,
    "incomplete_details": None,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "reasoning": {"effort": "medium", "summary": None, "context": "all_turns"},
    "service_tier": "default",
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}, "verbosity": "medium"},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}
"""The values in a response of options that its request did not set."""


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


def output_content(given: Any) -> list[dict[str, Any]]:
    """Return the content of an output message; a text is one part."""
    parts = [{"type": "output_text", "text": given}] if isinstance(given, str) else given or ()
    return [
        ({"annotations": [], "logprobs": []} if part["type"] == "output_text" else {}) | dict(part)
        for part in parts
    ]


def message_of(item: Mapping[str, Any], own: str) -> dict[str, Any]:
    """Return an input message as a compaction keeps it, with the id `own`."""
    content = item["content"]
    parts = [{"type": "input_text", "text": content}] if isinstance(content, str) else content
    return {"id": own, "type": "message", "status": "completed"} | dict(item) | {"content": parts}


def usage_of(given: int, use: CacheUse, said: int, reasoning: int) -> dict[str, Any]:
    """Return the usage of a response.

    Args:
        given: The input tokens.
        use: The cache use.
        said: The output tokens.
        reasoning: The reasoning tokens among them.
    """
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": use.read, "cache_write_tokens": use.all_written},
        "output_tokens": said,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": given + said,
    }
