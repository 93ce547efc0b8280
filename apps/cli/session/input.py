"""The input of `session append`: a text, messages in a provider's format, or a provider's answer.

A progress bar is shown while a long file is read.
"""

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from attrs import frozen

from polycontext.base import InvalidDataError
from polycontext.base.json_data import kind_of
from polycontext.window import InvalidMessagesError

from ..output import progress
from ..recordings.documents import (
    Document,
    Place,
    check_size,
    decoded,
    opened,
    size_of,
    unreadable,
)
from ..recordings.shapes import documents_of

LONG = 200_000
"""Input size, in bytes, from which a progress bar is shown."""

_SHAPES = (
    "a message, a list of messages, one message a line, an object with messages, or a provider's "
    "answer"
)
_ERROR_SHOWN = 200


@frozen
class Given:
    """Messages with the place of each in the input."""

    messages: Sequence[Any]
    places: Sequence[tuple[Document, Place]]

    def refused(self, error: InvalidMessagesError) -> InvalidDataError:
        """Return the error about the messages, with its place in the input."""
        document, path = self.places[error.index or 0]
        steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in path]
        field = None if error.index is None else "".join(steps).lstrip(".") or None
        what = f"{error.provider} rule {error.rule}: {error.problem}"
        return document.refused(path, field, what, error.legal)


@contextmanager
def reading(name: str) -> Generator[tuple[str, Iterator[bytes]]]:
    """Yield the name of a file for error messages, and its lines (``-`` is standard input).

    A progress bar is shown for a long file.
    """
    size = size_of([name])
    is_long = size is None or size >= LONG
    with progress("reading", size, shown=is_long) as update, opened(name) as (source, stream):
        yield source, _counted(stream, update)


def _counted(stream: Iterable[bytes], update: Callable[..., object]) -> Iterator[bytes]:
    for line in stream:
        update(advance=len(line))
        yield line


def read_messages(name: str) -> Given:
    """Return the messages in the file `name` (``-`` is standard input).

    Raises:
        InvalidDataError: the file holds no messages; names file, line and field.
    """
    with reading(name) as (source, lines):
        places = [
            (document, path, message)
            for document in documents_of(source, lines)
            for path, message in _messages_of(document)
        ]
        if not places:
            raise unreadable(source, None, None, "there is no message", _SHAPES)
    return Given(
        [message for *_, message in places], [(document, path) for document, path, _ in places]
    )


def read_text(name: str) -> str:
    """Return the text in the file `name`, without its last line end.

    Raises:
        InvalidDataError: it is missing, not UTF-8, or empty.
    """
    data = bytearray()
    with opened(name) as (source, lines):
        for line in lines:
            data += line
            check_size(source, len(data))
        text = decoded(source, None, bytes(data))
        if not text.strip():
            raise unreadable(source, None, None, "the file is empty", "a text")
    return text.removesuffix("\n").removesuffix("\r")


def _messages_of(document: Document) -> Iterator[tuple[Place, Any]]:
    """Yield the messages of a document with their places, also those inside a request or answer."""
    match document.value:
        case list() as messages:
            yield from _placed((), messages)
        case {"messages": list() as messages, **rest}:
            system = rest.get("system")
            if system is not None:
                yield ("system",), {"role": "system", "content": system}
            yield from _placed(("messages",), messages)
        case {"output": list() as items}:
            yield from _placed(("output",), items)
        case {"input": list() as items}:
            yield from _placed(("input",), items)
        case value:
            yield _message_of(document, value)


def _message_of(document: Document, value: object) -> tuple[Place, Any]:
    """Return a document that is a single message, or a provider's answer that holds one."""
    match value:
        case {"error": error} if error is not None:
            said = error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
            what = f"an error instead of an answer: {said[:_ERROR_SHOWN]}"
        case {"role": _} | {"type": _} | {"choices": _}:
            return (), value
        case dict() as other:
            keys = ", ".join(repr(str(key)[:30]) for key in list(other)[:5])
            what = f"an object without a role, its keys: {keys or 'none'}"
        case _:
            what = f"{kind_of(value)} is not a message"
    raise document.refused((), None, what, _SHAPES)


def _placed(path: Place, messages: Sequence[Any]) -> Iterator[tuple[Place, Any]]:
    return (((*path, index), message) for index, message in enumerate(messages))
