"""Session files of pi: a tree of entries, of which the last is on the branch that goes on."""

from collections.abc import Iterable, Mapping
from typing import Any

from .branches import line_to
from .transcript import (
    Gatherer,
    Row,
    Transcript,
    as_text,
    blocks_of,
    call_block,
    only,
    picture_block,
    text_block,
    unpacked,
)

_FIELDS = ("type", "id", "parentId", "message", "summary", "firstKeptEntryId")


def read_pi(rows: Iterable[Row]) -> Transcript:
    """Return the conversation of a session file of pi; its compactions are left out."""
    held, gathered = only(rows, _FIELDS), Gatherer()
    by_id = {row["id"]: row for _, row in held[1:] if isinstance(row.get("id"), str)}
    line_on = line_to(next(reversed(by_id), None), by_id, "parentId")
    left = by_id.keys() - line_on
    for line, row in held:
        message = unpacked(row.get("message"))
        if row.get("id") in left:
            gathered.left_out["of a branch that was left"] += 1
        elif row.get("type") == "compaction":
            gathered.left_out["compaction"] += 1
            gathered.compact(row.get("summary"), _kept(by_id, line_on, row))
        elif row.get("type") == "branch_summary" and isinstance(row.get("summary"), str):
            gathered.say(line, "user", [text_block(f"[Summary of a branch]\n{row['summary']}")])
        elif row.get("type") != "message" or not isinstance(message, dict):
            gathered.left_out[str(row.get("type"))] += 1
        else:
            _add(line, message, gathered)
    return gathered.transcript("pi")


def _kept(
    by_id: Mapping[str, Mapping[str, Any]], line_on: set[str], row: Mapping[str, Any]
) -> list[Any]:
    """Return what a compaction kept: the messages from an entry on, up to its own."""
    names = [name for name in by_id if name in line_on]
    first, own = row.get("firstKeptEntryId"), row.get("id")
    if first not in names or own not in names:
        return []
    return [
        unpacked(by_id[name].get("message"))
        for name in names[names.index(first) : names.index(own)]
    ]


def _add(line: int, message: Mapping[str, Any], gathered: Gatherer) -> None:
    role, content = message.get("role"), message.get("content")
    if role == "toolResult":
        blocks = blocks_of(content, _block)
        told = as_text(blocks) if all("text" in block for block in blocks) else blocks
        call = str(message.get("toolCallId"))
        gathered.answer(line, call, told, failed=message.get("isError") is True)
    elif role == "bashExecution":
        text = f"$ {message.get('command')}\n{message.get('output') or ''}"
        gathered.say(line, "user", [text_block(text)])
    elif role in ("user", "assistant"):
        gathered.say(line, str(role), blocks_of(content, _block))
    else:
        gathered.left_out[f"message of {role}"] += 1


def _block(part: Mapping[str, Any]) -> dict[str, Any] | None:
    match part:
        case {"type": "text", "text": str(text)}:
            return text_block(text)
        case {"type": "toolCall", "id": str(call), "name": str(name)}:
            return call_block(call, name, part.get("arguments"))
        case {"type": "image", "data": str(data)}:
            return picture_block(data, str(part.get("mimeType") or ""))
        case _:
            return None  # thinking is signed for one model only
