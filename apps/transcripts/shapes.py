"""The shapes in which conversations are stored, brought to one: documents that hold messages."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from attrs import evolve

from polycontext.base import InvalidDataError
from polycontext.base.json_data import kind_of
from polycontext.polynomial import ContextSession
from polycontext.window.providers import Provider

from .documents import Document, Notify, read_documents
from .formats import format_of_rows, messages_of_record
from .transcript import Row, Transcript

_HOLDERS = ("messages", "input", "contents", "output")
_ROWS_AHEAD = 300
"""How many rows are looked at for the format of a session file, which may begin with others."""

_KINDS_SHOWN = 4


def holder_of(value: object) -> str | None:
    """Return the field of an object that holds its messages, or None if it is no request or answer.

    >>> holder_of({"input": []}), holder_of({"call_id": "c", "output": "done"})
    ('input', None)
    """
    if not isinstance(value, dict) or "call_id" in value:
        return None
    return next((name for name in _HOLDERS if name in value), None)


def documents_of(source: str, lines: Iterator[bytes], notify: Notify) -> Iterator[Document]:
    """Yield the documents in `lines`; messages that stand one a line are one document, a list.

    A session that `polycontext session export` wrote is the list of its messages, and so is the
    session file of a host such as Claude Code, which `notify` is told.

    Raises:
        InvalidDataError: not UTF-8, not JSON, or empty; names source, line and column.
    """
    found = read_documents(source, lines, notify)
    first = next(found)
    ahead = [*islice(found, _ROWS_AHEAD)] if _may_be_a_row(first.value) else []
    found = chain(ahead, found)
    form = format_of_rows([each.value for each in (first, *ahead)])
    if form is not None:
        told = _read(first, form.host, form.read, _rows(chain([first], found)))
        notify(f"{source}: a session of {told.host}{_left_out(told)}")
        yield _transcribed(first, told)
        return
    match first.value:
        case {"format": "polycontext session"}:
            yield _imported(first, lines, ContextSession.history.load)
        case {"resource_id": _, "role": _}:
            yield _imported(first, lines, ContextSession.history.load_turns)
        case {"role": _} | {"choices": _} | {"call_id": _} | {"type": "reasoning"} if (
            holder_of(first.value) is None
        ):
            yield _recorded(_joined([first, *found]))
        case _:
            yield from map(_recorded, chain([first], found))


def _may_be_a_row(value: object) -> bool:
    return isinstance(value, dict) and ("type" in value or "sessionId" in value)


def _rows(documents: Iterable[Document]) -> Iterator[Row]:
    return ((each.line, each.value) for each in documents if isinstance(each.value, dict))


def _read(first: Document, host: str, read: Callable[[Any], Any], value: Any) -> Any:
    """Return what a reader returns; a row of another form than its host writes is refused."""
    try:
        return read(value)
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        what = f"a row that {host} does not write: {type(error).__name__}, {error}"
        raise first.refused((), None, what, "the file as it was written") from None


def _left_out(told: Transcript) -> str:
    kinds = sorted(told.left_out.items(), key=lambda kind: -kind[1])[:_KINDS_SHOWN]
    counts = ", ".join(f"{count:,} {kind}" for kind, count in kinds)
    return f"; left out: {counts}" if kinds else ""


def _transcribed(first: Document, told: Transcript) -> Document:
    """Return the messages of a session file; each keeps its line."""
    if not told.messages:
        what = f"a file of {told.host} without messages"
        raise first.refused((), None, what, "a session in which something was said")
    # A place for each message on its line: deeper places are on the line of their message.
    text, at = "[", first.line
    for number, line in enumerate(told.lines):
        text += "\n" * (line - at) + (",{}" if number else "{}")
        at = max(at, line)
    return Document(first.source, first.line, None, f"{text}]", told)


def _recorded(document: Document) -> Document:
    """Return a document as messages if it is the export of a host or a row of a data set."""
    value = document.value
    if isinstance(value, dict) and isinstance(value.get("body"), dict) and "custom_id" in value:
        return evolve(document, value=value["body"])
    told = _read(document, "a data set", messages_of_record, value)
    if told is None:
        return document
    where = [document.line] * len(told.lines)
    return evolve(_transcribed(document, evolve(told, lines=where)), text="[]")


def _joined(documents: Sequence[Document]) -> Document:
    """Return one list of messages that stand one a line; each keeps its line."""
    first, line, text = documents[0], documents[0].line, "["
    for document in documents:
        if not isinstance(document.value, dict) or holder_of(document.value):
            what = f"{kind_of(document.value)} that is not a message, after messages one a line"
            raise document.refused((), None, what, "one message a line, or one conversation a line")
        text += "\n" * (document.line - line) + ("," if document is not first else "")
        text += document.text
        line = document.line + document.text.count("\n")
    values = [document.value for document in documents]
    return Document(first.source, first.line, values, f"{text}]")


def _imported(
    first: Document, rest: Iterable[bytes], load: Callable[[Iterable[str | bytes]], ContextSession]
) -> Document:
    """Return the messages of an exported session, or log, as one list in OpenAI's format."""
    try:
        session = load(chain([first.text], rest))
    except InvalidDataError as error:
        raise InvalidDataError(f"{first.source}, {error.path}", error.what, error.legal) from None
    messages = session.history.messages(Provider.OPENAI)
    return evolve(first, value=messages, text=json.dumps(messages))
