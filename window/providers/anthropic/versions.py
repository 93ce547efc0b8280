"""Content that a newer version of Anthropic's API rejects, and its replacement.

Source: platform.claude.com, api/migration-2026-10-21, read on 2026-11-24. The page has no error
messages, so the wordings are ours. The SDK for Python sends 2026-10-21 from 2.0.0 on. A history may
hold content that a version rejects: it is read, kept, and rendered in another form.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from ...media import blocks_of_document, describe_block, read_medium
from ...media_conversion import is_text, told
from ..wire import Message, Provider
from .message_rules import WHOLE, AnthropicPlace, Entry, block_at

BINDING_BETA = "thinking-binding-controls-2026-08-01"
COMPACTION_BETA = "compact-2026-09-04"
EDITING_BETA = "context-management-2025-06-27"
THRESHOLD_BETA = "compact-2026-01-12"

EDITS = {
    "clear_tool_uses_20250919": EDITING_BETA,
    "clear_thinking_20251015": EDITING_BETA,
    "compact_20260112": THRESHOLD_BETA,
}
"""The edits that the provider can make to its input, with the beta header that each requires."""


def options_after(unbound: Collection[str]) -> dict[str, Any]:
    """Return the request options needed once bound thinking was removed from the history.

    `unbound` names the providers whose bound content was removed.

    With them, the provider drops thinking blocks whose prefix has changed instead of rejecting the
    request. The provider does not store the setting, so every later request needs it. `betas` is
    the SDK's name for the header ``anthropic-beta``. Source: platform.claude.com, "Fix a thinking
    block bound to a different conversation".

    >>> options_after([])
    {}
    """
    if Provider.ANTHROPIC not in unbound:
        return {}
    return {
        "thinking": {
            "type": "adaptive",
            "block_binding": {"prefix_mismatch_behavior": "drop_block"},
        },
        "betas": [BINDING_BETA],
    }


def check_entry(entry: Entry, index: int) -> None:
    """Raise an error for documents in assistant messages and citations on user text.

    Raises:
        InvalidMessagesError: Rules misplaced-block, user-citations.
    """
    for number, block in enumerate(entry.blocks):
        at = block_at(index, number)
        if entry.role == "assistant" and block["type"] == "document":
            raise at.broken("misplaced-block/document")
        place = _cited(block, at) if entry.role == "user" else None
        if place is not None:
            raise place.broken("user-citations")


def adapted(block: Message, role: str) -> Message:
    r"""Return `block` in a form that a message of `role` may hold under every version.

    A block that is valid is returned as the same object.

    >>> adapted(
    ...     {
    ...         "type": "document",
    ...         "source": {"type": "text", "media_type": "text/plain", "data": "12 EUR"},
    ...         "title": "bill",
    ...     },
    ...     "assistant",
    ... )["text"]
    '[text/plain, bill, 6 bytes]\n12 EUR'
    >>> adapted({"type": "text", "text": "12 EUR", "citations": [{"cited_text": "12"}]}, "user")
    {'type': 'text', 'text': '12 EUR'}
    """
    if role == "assistant" and block["type"] == "document":
        return _told(block)
    return _uncited(block) if role == "user" and _cited(block, WHOLE) is not None else block


def _told(document: Message) -> Message:
    """Return a text block that describes a document and includes its text, if it has any."""
    medium = read_medium(document)
    said = medium.text if medium is not None and medium.text else told(blocks_of_document(document))
    line = describe_block(document)
    mark = {"cache_control": document["cache_control"]} if "cache_control" in document else {}
    return {
        "type": "text",
        "text": f"{line.replace(', left out]', ']')}\n{said}" if said.strip() else line,
        **mark,
    }


def _cited(block: Message, at: AnthropicPlace) -> AnthropicPlace | None:
    """Return the place of the first citations on text in `block` or its inner blocks, or None."""
    if is_text(block):
        return (
            at.into("citations")
            if isinstance(block.get("citations"), list) and block["citations"]
            else None
        )
    found = (_cited(inner, place) for inner, place in blocks_in(block, at))
    return next((spot for spot in found if spot is not None), None)


def _uncited(block: Message) -> Message:
    if is_text(block):
        return {
            name: value
            for name, value in block.items()
            if name != "citations" or not isinstance(value, list)
        }
    return with_blocks(block, _uncited)


def with_blocks(block: Message, change: Callable[[Message], Message]) -> Message:
    """Return `block` with the blocks inside it as `change` returns them."""
    inner = [change(each) for each, _ in blocks_in(block, WHOLE)]
    if not inner:
        return block
    if block["type"] == "document":
        return {**block, "source": {**block["source"], "content": inner}}
    return {**block, "content": inner}


def are_blocks(content: Sequence[Any]) -> bool:
    """Return whether all of a content are objects with a type."""
    return all(isinstance(each, dict) and isinstance(each.get("type"), str) for each in content)


def blocks_in(block: Message, at: AnthropicPlace) -> Iterator[tuple[Message, AnthropicPlace]]:
    """Yield the blocks inside a result, a search result or a document of blocks, with places."""
    is_document = block.get("type") == "document"
    content = blocks_of_document(block) if is_document else block.get("content")
    if isinstance(content, list) and are_blocks(content):
        steps = ("source", "content") if is_document else ("content",)
        for number, each in enumerate(content):
            yield each, at.into(*steps, number)
