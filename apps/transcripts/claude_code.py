"""Session files of Claude Code: one block of an answer a row, rows of the host between."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from .branches import abandoned
from .transcript import Gatherer, Row, Transcript, only, text_block, unpacked

_MESSAGES, _LEAF = ("user", "assistant"), "last-prompt"
_FIELDS = (
    *("type", "subtype", "uuid", "parentUuid", "logicalParentUuid", "leafUuid", "timestamp"),
    *("message", "compactMetadata", "isSidechain", "isMeta"),
    *("isCompactSummary", "isApiErrorMessage"),
)
_COMMAND = re.compile(
    r"\s*<(?:local-command-|command-(?:name|message)>(?!.*<command-args>\s*[^<\s]))", re.DOTALL
)
"""A command that the user typed without words of their own, such as /compact, or its output."""

_OTHERS = (
    ("isSidechain", "of a sub-agent"),
    ("isMeta", "of the host"),
    ("isCompactSummary", "a summary of the host"),
    ("isApiErrorMessage", "an error of the host"),
)


def read_claude_code(rows: Iterable[Row]) -> Transcript:
    """Return the conversation of a session file of Claude Code.

    Summaries of the host are left out if what they summarise is there. What a compaction kept and
    wrote again is told once.
    """
    held, gathered = only(rows, _FIELDS), Gatherer()
    own = [row for _, row in held if not row.get("isSidechain")]
    leaf = next((row.get("leafUuid") for row in reversed(own) if row.get("type") == _LEAF), None)
    left = abandoned(own, "uuid", "parentUuid", is_prompt, leaf)
    kept, seen = _Kept(), set[str | None]()
    # What a compaction kept without writing it again is read once more.
    is_preserving = any("compactMetadata" in row and _segment(row) for row in own)
    for line, short in held:
        row = {**short, "message": unpacked(short.get("message"))}
        if not is_preserving:
            short.clear()
        if (why := _why_not(row, left)) is not None and not _stands_alone(row, gathered):
            gathered.left_out[why] += 1
            if row.get("subtype") == "compact_boundary" and row.get("uuid") not in left:
                kept.is_behind = True
                gathered.compact((), _preserved(own, row))
            elif row.get("isCompactSummary"):
                gathered.see(_content(row))
        elif row.get("uuid") in seen:  # After a retry of the host, a row may stand there twice.
            gathered.left_out["written again"] += 1
        elif row["type"] == "assistant":
            key = row["message"].get("id")
            if isinstance(key, str) and not gathered.has_answer(key):
                kept.is_behind = False
            gathered.say(line, "assistant", _blocks(row), key if isinstance(key, str) else None)
        else:
            _told_by_user(line, row, gathered, kept)
        seen |= {row.get("uuid")} - {None}
    return gathered.transcript("Claude Code")


def _preserved(own: Sequence[Mapping[str, Any]], boundary: Mapping[str, Any]) -> list[Any]:
    """Return the messages that a compaction kept without writing them again."""
    names, segment = [row.get("uuid") for row in own], _segment(boundary)
    if segment is None or not {*segment} <= {*names}:
        return []
    head, tail = map(names.index, segment)
    return [_content(row) for row in own[head : tail + 1]]


def _segment(boundary: Mapping[str, Any]) -> tuple[str, str] | None:
    match unpacked(boundary.get("compactMetadata")):
        case {"preservedSegment": {"headUuid": str(head), "tailUuid": str(tail)}}:
            return head, tail
        case _:
            return None


def _stands_alone(row: Mapping[str, Any], gathered: Gatherer) -> bool:
    """Return whether a row is a summary of what is not in the file."""
    return bool(row.get("isCompactSummary")) and gathered.is_empty


class _Kept:
    """What the user said before a compaction, which the host may write again behind it."""

    def __init__(self) -> None:
        self._before: set[bytes] = set()
        self.is_behind = False  # a compaction, and nothing new was answered since

    def came_before(self, said: object) -> bool:
        known = orjson.dumps(said)
        found = self.is_behind and known in self._before
        self._before.add(known)
        return found


def is_prompt(row: Mapping[str, Any]) -> bool:
    """Return whether a row is what the user typed: no result of a call, no summary."""
    content = _content(row)
    blocks = content if isinstance(content, list) else []
    kinds = {block.get("type") for block in blocks if isinstance(block, dict)}
    is_typed = row.get("type") == "user" and not row.get("isCompactSummary")
    return is_typed and "tool_result" not in kinds


def _why_not(row: Mapping[str, Any], left: set[str]) -> str | None:
    """Return why a row is left out of the conversation, or None for a turn of it."""
    kind = row.get("type")
    if kind not in _MESSAGES or not isinstance(_content(row), str | list):
        return f"{kind} {row.get('subtype') or ''}".strip()
    if row.get("uuid") in left:
        return "of a branch that was left"
    content = _content(row)
    if isinstance(content, str) and _COMMAND.match(content):
        return "a command of the host"
    return next((why for name, why in _OTHERS if row.get(name)), None)


def _content(row: Mapping[str, Any]) -> Any:
    message = unpacked(row.get("message"))
    return message.get("content") if isinstance(message, dict) else None


def _blocks(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = _content(row)
    if isinstance(content, str):
        return [text_block(content)]
    return [block for block in content if isinstance(block, dict) and "type" in block]


def _told_by_user(line: int, row: Mapping[str, Any], gathered: Gatherer, kept: _Kept) -> None:
    blocks = _blocks(row)
    results = [block for block in blocks if block["type"] == "tool_result"]
    for block in results:
        call, content = str(block.get("tool_use_id")), block.get("content", "")
        gathered.answer(line, call, content, failed=block.get("is_error") is True)
    others = [each for each in blocks if each not in results]
    # What is written again keeps its time, so a user may type the same words again.
    if others and kept.came_before([others, row.get("timestamp")]):
        gathered.left_out["written again"] += 1
        gathered.see(others)
    else:
        gathered.say(line, "user", others)
