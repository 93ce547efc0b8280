"""Anthropic's server-side editing: clearing old results and thinking, and compaction.

The client's list stays unchanged. The model sees a shorter one, and the answer reports the tokens
saved.

Source: the vendor's pages on context editing and compaction.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from attrs import frozen

from polycontext.testing.strict.anthropic import text_blocks
from polycontext.testing.strict.provider import Request, invalid_request

from .request_tokens import BlockTokens

CLEARED = "[cleared]"
"""The text that the model sees in place of a cleared result."""

_TRIGGERS = {
    "clear_tool_uses_20250919": 100_000,
    "clear_thinking_20251015": 0,
    "compact_20260112": 150_000,
}
"""Default input tokens from which an edit is applied."""

_KEPT = {"clear_tool_uses_20250919": 3, "clear_thinking_20251015": 1}


@frozen
class Edits:
    """The edits of one request.

    Attributes:
        applied: The entries of ``applied_edits``.
        saved: The tokens that they save.
        compacts: Whether the conversation is summarised.
    """

    applied: tuple[Mapping[str, Any], ...] = ()
    saved: int = 0
    compacts: bool = False


def edits_of(request: Request, tokens: int, counted: BlockTokens) -> Edits:
    """Return the edits that apply to `request`, which has that many `tokens`."""
    applied: list[Mapping[str, Any]] = []
    saved, compacts = 0, False
    for edit in (request.get("context_management") or {}).get("edits", ()):
        match edit["type"]:
            case "clear_tool_uses_20250919":
                entry = _cleared_results(edit, request, tokens, counted)
            case "clear_thinking_20251015":
                entry = _cleared_thinking(edit, request, counted)
            case _:
                entry, compacts = None, tokens >= _trigger(edit)
        if entry is not None:
            applied.append(entry)
            saved += entry["cleared_input_tokens"]
    return Edits(tuple(applied), saved, compacts)


def usage_of_summary(read: int, summary: int, seen: int, said: int) -> dict[str, Any]:
    """Return the usage of an answer after a summary, with one entry for each pass of the model.

    The first pass summarised, the second one answered.
    """
    none = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    passes = [
        {"type": "compaction", "input_tokens": read, "output_tokens": summary, **none},
        {"type": "message", "input_tokens": seen, "output_tokens": said, **none},
    ]
    answer = {"input_tokens": seen, "output_tokens": said, **none}
    return {**answer, "service_tier": "standard", "iterations": passes}


def refuse_unfinished(waiting: Collection[str], count: int) -> None:
    """Reject a compaction of a list that ends on an unfinished turn."""
    if waiting:
        message = "The compaction request ends on an `assistant` turn that is not finished."
        raise invalid_request(
            message,
            "compaction-unfinished",
            count - 1,
            "the results of its calls too",
            "compaction_incomplete_turn",
        )


def _trigger(edit: Mapping[str, Any]) -> int:
    """Return the number of input tokens from which `edit` is applied."""
    trigger: Mapping[str, Any] = edit.get("trigger") or {"value": _TRIGGERS[edit["type"]]}
    return int(trigger["value"])


def _cleared_results(
    edit: Mapping[str, Any], request: Request, tokens: int, counted: BlockTokens
) -> Mapping[str, Any] | None:
    messages: Sequence[Mapping[str, Any]] = request["messages"]
    blocks = (block for message in messages for block in text_blocks(message["content"]))
    results = [block for block in blocks if block["type"] == "tool_result"]
    if tokens < _trigger(edit):
        return None
    kept = int((edit.get("keep") or {}).get("value", _KEPT[edit["type"]]))
    gone = results[: len(results) - kept] if kept else results
    saved = sum(
        max(0, counted.block(block) - counted.block({**block, "content": CLEARED}))
        for block in gone
    )
    if not saved:
        return None
    return {"type": edit["type"], "cleared_tool_uses": len(gone), "cleared_input_tokens": saved}


def _cleared_thinking(
    edit: Mapping[str, Any], request: Request, counted: BlockTokens
) -> Mapping[str, Any] | None:
    keep = edit.get("keep", {"value": _KEPT[edit["type"]]})
    if keep == "all":
        return None
    thoughts = [
        [
            block
            for block in text_blocks(message["content"])
            if block["type"] in ("thinking", "redacted_thinking")
        ]
        for message in request["messages"]
        if message["role"] == "assistant"
    ]
    turns = [blocks for blocks in thoughts if blocks]
    gone = turns[: max(0, len(turns) - int(keep["value"]))]
    if not gone:
        return None
    saved = sum(counted.block(block) for blocks in gone for block in blocks)
    return {
        "type": edit["type"],
        "cleared_thinking_turns": len(gone),
        "cleared_input_tokens": saved,
    }
