"""A streamed answer holds what the whole one holds, block by block."""

from typing import Any

import pytest

from polycontext.testing.strict.streams import message_events

BLOCKS: list[dict[str, Any]] = [
    {
        "type": "text",
        "text": "It is a fern. " * 9,
        "citations": [{"type": "char_location", "cited_text": "fern"}],
    },
    {"type": "text", "text": "So."},
    {"type": "thinking", "thinking": "Fronds, so a fern.", "signature": "c2ln"},
    {"type": "tool_use", "id": "toolu_1", "name": "zoom", "input": {"factor": 2, "where": "leaf"}},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
    {"type": "compaction", "content": "A talk of plants.", "encrypted_content": "ZW5j"},
    {"type": "redacted_thinking", "data": "ZW5j"},
]
KEYS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
}


def streamed(block: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what the events of an answer with this block hold."""
    usage = {"input_tokens": 3, "output_tokens": 9}
    message = {
        "id": "msg_1",
        "role": "assistant",
        "model": "m",
        "content": [block],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }
    return [event.data for event in message_events(message)]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: str(block["type"]))
def test_a_block_can_be_put_together_again(block: dict[str, Any]) -> None:
    """Begun with what does not come in pieces, and ended; the pieces make the rest."""
    events = streamed(block)
    assert [event["type"] for event in events if event["type"].startswith("message")] == [
        "message_start",
        "message_delta",
        "message_stop",
    ]
    begun = next(
        event["content_block"] for event in events if event["type"] == "content_block_start"
    )
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    for key in ("text", "thinking", "signature"):
        pieces = "".join(delta[key] for delta in deltas if KEYS.get(delta["type"]) == key)
        assert begun.get(key, "") + pieces == block.get(key, "")
    citations = [delta["citation"] for delta in deltas if delta["type"] == "citations_delta"]
    assert citations == block.get("citations", [])
    assert begun["type"] == block["type"]
    if block["type"] == "compaction":
        assert [delta["content"] for delta in deltas] == [block["content"]]
    if block["type"] == "redacted_thinking":
        assert (begun, deltas) == (block, [])
