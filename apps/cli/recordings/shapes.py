"""The shapes in which conversations are stored, brought to one: documents that hold messages.

Every command that takes a conversation reads its files here, so that all know the same shapes.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from attrs import evolve

from polycontext.base import InvalidDataError
from polycontext.base.json_data import kind_of
from polycontext.polynomial import ContextSession
from polycontext.window.providers import Provider

from .documents import Document, has_any, read_documents

MESSAGES: Mapping[str, str] = {Provider.RESPONSES: "input", Provider.GEMINI: "contents"}
"""The field of a request that holds its messages, by format, where it is not `messages`."""

HOLDERS = ("messages", *MESSAGES.values())
"""The fields of a request that hold its messages."""


def documents_of(source: str, lines: Iterator[bytes]) -> Iterator[Document]:
    """Yield the documents in `lines`; messages that stand one a line are one document, a list.

    A session that `polycontext session export` wrote is the list of its messages.

    Raises:
        InvalidDataError: not UTF-8, not JSON, or empty; names source, line and column.
    """
    found = read_documents(source, lines)
    first = next(found)
    match first.value:
        case {"format": "polycontext session"}:
            yield _imported(first, lines, ContextSession.history.load)
        case {"resource_id": _, "role": _}:
            yield _imported(first, lines, ContextSession.history.load_turns)
        case {"role": _} if not has_any(first.value, HOLDERS):
            yield _joined([first, *found])
        case _:
            yield from chain([first], found)


def _joined(documents: Sequence[Document]) -> Document:
    """Return one list of messages that stand one a line; each keeps its line."""
    first, line, text = documents[0], documents[0].line, "["
    for document in documents:
        if not _is_message(document.value):
            what = f"{kind_of(document.value)} that is not a message, after messages one a line"
            raise document.refused((), None, what, "one message a line, or one conversation a line")
        text += "\n" * (document.line - line) + ("," if document is not first else "")
        text += document.text
        line = document.line + document.text.count("\n")
    values = [document.value for document in documents]
    size = sum(document.size for document in documents)
    return Document(first.source, first.line, values, f"{text}]", size)


def _is_message(value: object) -> bool:
    return isinstance(value, dict) and not any(isinstance(value.get(it), list) for it in HOLDERS)


def _imported(
    first: Document, rest: Iterable[bytes], load: Callable[[Iterable[str | bytes]], ContextSession]
) -> Document:
    """Return the messages of an exported session, or log, as one list in OpenAI's format."""
    try:
        session = load(chain([first.text], rest))
    except InvalidDataError as error:
        raise InvalidDataError(f"{first.source}, {error.path}", error.what, error.legal) from None
    messages = session.history.messages(Provider.OPENAI)
    return evolve(first, value=messages, text=json.dumps(messages), size=first.size)
