"""A reference count of the tokens of a request as it is sent.

It counts every text that a model reads in a provider's messages: words, names, arguments,
thinking, signatures and every further field. It does not count keys, ids, roles, types and other
marks of the format. Media cost their vendor's published rule. Nothing here uses the library's own
counting of turns.
"""

from collections.abc import Iterable, Mapping
from math import ceil
from typing import Any

from polycontext.window.media import Medium, read_medium, read_source
from polycontext.window.providers.gemini.rules import UNSIGNED
from polycontext.window.tokens.counter import TokenCounter
from polycontext.window.wire_text import compact
from tests.window.tokens.published_rules import claude_most, openai_most

MARKS = frozenset(
    {
        "role",
        "type",
        "status",
        "phase",
        "detail",
        "format",
        "media_type",
        "cache_control",
        "object",
        "encoding",
    }
)
"""Fields that no model reads as text; with them all ids."""

PAYLOADS = frozenset({"data", "url", "image_url", "file_data", "file_url", "result"})


def tokens_leaving(
    counter: TokenCounter, provider: str, messages: Iterable[Mapping[str, Any]]
) -> int:
    """Return the tokens of `messages`, a leading message of what stands in `system` among them."""
    return sum(_count(counter, provider, message) for message in messages)


def _count(counter: TokenCounter, provider: str, value: Any) -> int:
    value = _as_block(value)
    match value:
        case str():
            # Of recorded signatures, the vendor counts at most what was thought, and this has none.
            return 0 if value == UNSIGNED else counter.count(value)
        case list():
            return sum(_count(counter, provider, inner) for inner in value)
        case {"type": "tool_use" | "server_tool_use" | "mcp_tool_use", "input": called}:
            return counter.count(compact(called)) + _fields(
                counter, provider, {key: value[key] for key in value if key != "input"}
            )
        case dict():
            medium = read_medium(value)
            if medium is None or medium.text is not None or _holds_blocks(value):
                return _fields(counter, provider, value)
            rest = _without_payload(value) if read_source(value).data else value
            return _charged(provider, medium) + _fields(counter, provider, rest)
        case _:
            return 0


def _as_block(value: Any) -> Any:
    """Return a medium of Gemini's in the form of a block, anything else as it is."""
    match value:
        case {"inlineData": {"mimeType": str(kind), "data": str(data)} as inner}:
            source = {"type": "base64", "media_type": kind, "data": data}
            sort = kind.partition("/")[0].replace("application", "document")
            rest = {key: told for key, told in inner.items() if key not in ("data", "mimeType")}
            return {**value, "inlineData": rest, "type": sort, "source": source}
        case _:
            return value


def _fields(counter: TokenCounter, provider: str, value: Mapping[str, Any]) -> int:
    read = (
        inner
        for key, inner in value.items()
        if key not in MARKS and key != "id" and not key.endswith("_id")
    )
    return sum(_count(counter, provider, inner) for inner in read)


def _holds_blocks(block: Mapping[str, Any]) -> bool:
    source = block.get("source")
    return isinstance(source, Mapping) and source.get("type") == "content"


def _without_payload(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            key: None if key in PAYLOADS and isinstance(inner, str) else _without_payload(inner)
            for key, inner in value.items()
        }
    return value


def _charged(provider: str, medium: Medium) -> int:
    """Return what the vendor charges for a medium that can be read; 0 for what nobody can know."""
    if medium.width is not None and medium.height is not None:
        most = claude_most if provider == "anthropic" else openai_most
        return ceil(most(medium.width, medium.height))
    if medium.pages is not None:
        return medium.pages * (3_000 + (1_568 if provider == "anthropic" else 1_445))
    return ceil(medium.seconds * 10) if medium.seconds is not None else 0
