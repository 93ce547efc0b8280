"""Session files of Codex, "rollouts": items of the Responses format, and events of its screen."""

from collections.abc import Iterable, Mapping
from typing import Any

from .transcript import (
    Gatherer,
    Row,
    Transcript,
    as_text,
    blocks_of,
    call_block,
    picture_block,
    text_block,
)

_CALLS = {"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action"}
_OF_HOST = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
    "<turn_aborted>",
    "<subagent_notification>",
)
"""How messages begin that Codex writes in the user's name."""


def read_codex(rows: Iterable[Row]) -> Transcript:
    """Return the conversation of a rollout of Codex.

    Only items are read: each stands there once more as an event of the screen. Turns that were
    rolled back are gone, and what a compaction replaced stays.
    """
    gathered = Gatherer()
    for line, row in rows:
        payload = row.get("payload")
        item: Mapping[str, Any] = payload if isinstance(payload, dict) else {}
        if row.get("type") == "response_item" and _added(line, item, gathered):
            continue
        if row.get("type") == "compacted":
            # The model's answer to the host's request stands before, as an item like others.
            gathered.take_summary(str(item.get("message") or ""))
            is_first = gathered.is_empty and bool(item.get("message"))
            gathered.compact(item.get("message"), item.get("replacement_history"))
            if is_first:
                gathered.say(line, "user", [text_block(str(item["message"]))])
                continue
        gathered.left_out[f"{row.get('type')} {item.get('type') or ''}".strip()] += 1
        if item.get("type") == "thread_rolled_back" and isinstance(item.get("num_turns"), int):
            gathered.take_back(item["num_turns"])
    return gathered.transcript("Codex")


def _added(line: int, item: Mapping[str, Any], gathered: Gatherer) -> bool:
    """Add an item to the conversation, and return whether it belongs there."""
    kind, call = str(item.get("type")), str(item.get("call_id") or item.get("id") or "")
    if kind in _CALLS:
        name = str(item.get("name") or "local_shell")
        gathered.say(line, "assistant", [call_block(call, name, item.get(_CALLS[kind]))])
    elif kind.endswith("_call_output"):
        output = item.get("output")
        said = output.get("content") if isinstance(output, dict) else output
        told = blocks_of(said, _block) if isinstance(said, list) else as_text(said)
        gathered.answer(line, call, told)
    elif kind == "message" and item.get("role") in ("user", "assistant"):
        blocks = blocks_of(item.get("content"), _block)
        if not blocks or str(blocks[0].get("text") or "").lstrip().startswith(_OF_HOST):
            return False
        gathered.say(line, item["role"], blocks)
    else:
        return False
    return True


def _block(part: Mapping[str, Any]) -> dict[str, Any]:
    url = part.get("image_url")
    return picture_block(str(url)) if url else text_block(str(part.get("text") or ""))
