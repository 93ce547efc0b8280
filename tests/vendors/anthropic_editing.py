"""Anthropic's server-side editing: clearing old results and thinking, and compaction.

The client's list stays unchanged. The model sees a shorter one, and the answer reports the tokens
saved.

Source: the vendor's pages on context editing and compaction.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
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
        pauses: Whether the answer ends after the summary.
    """

    applied: tuple[Mapping[str, Any], ...] = ()
    saved: int = 0
    compacts: bool = False
    pauses: bool = False


def edits_of(request: Request, tokens: int, counted: BlockTokens) -> Edits:
    """Return the edits that apply to `request`, which has that many `tokens`."""
    applied: list[Mapping[str, Any]] = []
    saved, compacts, pauses = 0, False, False
    for edit in (request.get("context_management") or {}).get("edits", ()):
        match edit["type"]:
            case "clear_tool_uses_20250919":
                entry = _cleared_results(edit, request, tokens, counted)
            case "clear_thinking_20251015":
                entry = _cleared_thinking(edit, request, counted)
            case _:
                entry = None
                compacts = tokens >= _trigger(edit, tokens)
                pauses = compacts and bool(edit.get("pause_after_compaction"))
        if entry is not None:
            applied.append(entry)
            saved += entry["cleared_input_tokens"]
    return Edits(tuple(applied), saved, compacts, pauses)


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


def refuse_unfinished(waiting: Collection[str], role: str | None, count: int) -> None:
    """Reject a compaction of a list that ends on an unfinished turn, or has no content."""
    if waiting:
        message = "The compaction request ends on an `assistant` turn that is not finished."
        raise invalid_request(
            message,
            "compaction-unfinished",
            count - 1,
            "the results of its calls too",
            "compaction_incomplete_turn",
        )
    if role in {None, "system"}:
        message = "`messages` holds no `user` or `assistant` content to summarize."
        raise invalid_request(
            message, "compaction-empty", None, "a message", "compaction_nothing_to_summarize"
        )


def _trigger(edit: Mapping[str, Any], tokens: int, uses: int = 0) -> float:
    """Return the number of input tokens from which `edit` is applied.

    A trigger by tool uses applies either now or never.
    """
    trigger: Mapping[str, Any] = edit.get("trigger") or {
        "type": "input_tokens",
        "value": _TRIGGERS[edit["type"]],
    }
    if trigger.get("type") == "tool_uses":
        return tokens if uses > trigger["value"] else float("inf")
    return float(trigger["value"])


def _cleared_results(
    edit: Mapping[str, Any], request: Request, tokens: int, counted: BlockTokens
) -> Mapping[str, Any] | None:
    names = {
        block["id"]: block["name"] for block in _blocks(request) if block["type"] == "tool_use"
    }
    results = [block for block in _blocks(request) if block["type"] == "tool_result"]
    if tokens < _trigger(edit, tokens, len(results)):
        return None
    kept = int((edit.get("keep") or {}).get("value", _KEPT[edit["type"]]))
    old = results[: len(results) - kept] if kept else results
    excluded = frozenset(edit.get("exclude_tools") or ())
    gone = [block for block in old if names.get(block["tool_use_id"]) not in excluded]
    saved = sum(
        max(0, counted.block(block) - counted.block({**block, "content": CLEARED}))
        for block in gone
    )
    least = (edit.get("clear_at_least") or {}).get("value", 0)
    if not gone or saved < max(1, least):
        return None
    return {"type": edit["type"], "cleared_tool_uses": len(gone), "cleared_input_tokens": saved}


def _cleared_thinking(
    edit: Mapping[str, Any], request: Request, counted: BlockTokens
) -> Mapping[str, Any] | None:
    keep = edit.get("keep", {"value": _KEPT[edit["type"]]})
    if keep == "all" or (isinstance(keep, Mapping) and keep.get("type") == "all"):
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


def _blocks(request: Request) -> Iterator[Mapping[str, Any]]:
    messages: Sequence[Mapping[str, Any]] = request["messages"]
    return (block for message in messages for block in text_blocks(message["content"]))
