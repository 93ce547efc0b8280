"""The formats of session files and rows, each known by what only it has."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen

from . import records
from .claude_code import read_claude_code
from .codex import read_codex
from .gemini_cli import read_gemini_cli, read_qwen_code
from .pi import read_pi
from .transcript import Row, Transcript

Record = Mapping[str, Any]


@frozen
class Format:
    """The session files of one host, which are read as rows.

    Attributes:
        host: the name of the host.
        read: returns the transcript of the rows of a file.
    """

    host: str
    read: Callable[[Iterable[Row]], Transcript]
    _has: Callable[[Record], bool]

    def has(self, row: object) -> bool:
        """Return whether only this host writes such a row."""
        return isinstance(row, dict) and self._has(row)


def _is_codex(row: Record) -> bool:
    kinds = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
    return row.get("type") in kinds and isinstance(row.get("payload"), dict)


def _is_pi(row: Record) -> bool:
    return row.get("type") == "session" and "cwd" in row and "timestamp" in row


def _is_gemini_cli(row: Record) -> bool:
    return "sessionId" in row and "projectHash" in row


def _is_qwen_code(row: Record) -> bool:
    message = row.get("message")
    return "parentUuid" in row and isinstance(message, dict) and "parts" in message


def _is_claude_code(row: Record) -> bool:
    return {"parentUuid", "sessionId", "uuid", "type"} <= row.keys() and not _is_qwen_code(row)


FORMATS = (
    Format("Codex", read_codex, _is_codex),
    Format("pi", read_pi, _is_pi),
    Format("Gemini CLI", read_gemini_cli, _is_gemini_cli),
    Format("Qwen Code", read_qwen_code, _is_qwen_code),
    Format("Claude Code", read_claude_code, _is_claude_code),
)

_RECORDS: Sequence[tuple[Callable[[Any], bool], Callable[[Any], Transcript]]] = (
    (records.is_opencode, records.read_opencode),
    (records.is_sharegpt, records.read_sharegpt),
    (records.is_langchain, records.read_langchain),
    (records.is_vercel, records.read_vercel),
)


def format_of_rows(rows: Sequence[object]) -> Format | None:
    """Return the format of a file by its first rows, or None if no host writes such rows.

    >>> format_of_rows([{"type": "session_meta", "payload": {"id": "s"}}]).host
    'Codex'
    """
    found = (each for row in rows for each in FORMATS if each.has(row))
    return next(found, None)


def messages_of_record(value: object) -> Transcript | None:
    """Return the conversation in one JSON value of an export or a data set; None if it is none.

    >>> messages_of_record({"conversations": [{"from": "human", "value": "Hello!"}]}).messages
    [{'role': 'user', 'content': [{'type': 'text', 'text': 'Hello!'}]}]
    """
    found = (read(value) for is_one, read in _RECORDS if is_one(value))
    return next(found, None)
