"""What `session append` is given: a text, messages in a provider's format, or a provider's whole answer; and the bar that moves while a file is read."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

from attrs import frozen

from polycontext.linearity import InvalidDataError
from polycontext.window import InvalidMessagesError

from ..output import progress
from ..recordings.conversation import kind_of
from ..recordings.documents import Document, Place, opened, read_documents, size_of, unreadable

LONG = 200_000
"""Bytes of input from which on a progress bar is shown."""

_SHAPES = "a message, a list of messages, one message a line, an object with messages, or a provider's answer"
_ERROR_SHOWN = 200


@frozen
class Given:
    """Hold messages, and where each of them stands."""

    messages: Sequence[Any]
    places: Sequence[tuple[Document, Place]]

    def refused(self, error: InvalidMessagesError) -> InvalidDataError:
        """Return what is wrong with the messages, by its place in what was read."""
        document, path = self.places[error.index or 0]
        field = None if error.index is None else "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")
        what = f"{error.provider} rule {error.rule}: {error.problem}"
        return unreadable(document.source, document.line_of(path), field or None, what, error.legal)


@contextmanager
def reading(name: str) -> Generator[Callable[[float], object]]:
    """Show a bar while a long file is read, or one whose length nobody knows; what is yielded is told how many bytes were read."""
    size = size_of([name])
    with progress("reading", size, shown=size is None or size >= LONG) as update:
        yield lambda read: update and update(advance=read)


def read_messages(name: str, advance: Callable[[float], object]) -> Given:
    """Return the messages in the file `name` (``-`` is standard input); `advance` is told how many bytes were read.

    Raises:
        InvalidDataError: what is there holds no messages; names file, line and field.
    """
    messages, places = list[Any](), list[tuple[Document, Place]]()
    with opened(name) as (source, lines):
        for document in read_documents(source, _told(lines, advance)):
            for path, message in _messages_of(document):
                messages.append(message)
                places.append((document, path))
        if not messages:
            raise unreadable(source, None, None, "there is no message", _SHAPES)
    return Given(messages, places)


def read_text(name: str) -> str:
    """Return the text in the file `name`, without the end of its last line.

    Raises:
        InvalidDataError: it is missing, no UTF-8, or empty.
    """
    with opened(name) as (source, stream):
        try:
            text = stream.read().decode()
        except UnicodeDecodeError as error:
            problem = f"not text: byte 0x{error.object[error.start]:02x} at byte {error.start + 1} is no UTF-8"
            raise unreadable(source, None, None, problem, "text in UTF-8") from None
        if not text.strip():
            raise unreadable(source, None, None, "the file is empty", "a text")
    return text.removesuffix("\n").removesuffix("\r")


def _told(lines: Iterable[bytes], advance: Callable[[float], object]) -> Iterator[bytes]:
    for line in lines:
        advance(len(line))
        yield line


def _messages_of(document: Document) -> Iterator[tuple[Place, Any]]:
    """Yield the messages of a document, each with its place: those of a request, an answer or a recording stand deeper in it."""
    match document.value:
        case list() as messages:
            return _placed((), messages)
        case {"messages": list() as messages, **rest}:
            system = rest.get("system")
            before = [] if system is None else [(("system",), {"role": "system", "content": system})]
            return chain(before, _placed(("messages",), messages))
        case {"output": list() as items}:
            return _placed(("output",), items)
        case {"input": list() as items}:
            return _placed(("input",), items)
        case value:
            return iter([_message_of(document, value)])


def _message_of(document: Document, value: object) -> tuple[Place, Any]:
    """Return the one message that a document is, or holds as the answer that it is."""
    match value:
        case {"choices": [{"message": dict() as message}]}:
            return ("choices", 0, "message"), message
        case {"choices": list() as several}:
            raise _misshapen(document, f"{len(several)} choices", "an answer with one choice, and its message")
        case {"error": error} if error is not None:
            raise _misshapen(document, f"an error instead of an answer: {str(error)[:_ERROR_SHOWN]}", _SHAPES)
        case {"stop_reason": _, "role": role, "content": content}:
            # Anthropic's answer is a message and says besides what it cost.
            return (), {"role": role, "content": content}
        case {"role": _} | {"type": _}:
            return (), value
        case dict() as other:
            keys = ", ".join(repr(str(key)[:30]) for key in list(other)[:5])
            raise _misshapen(document, f"an object without a role, its keys: {keys or 'none'}", _SHAPES)
        case _:
            raise _misshapen(document, f"{kind_of(value)} is no message", _SHAPES)


def _placed(path: Place, messages: Sequence[Any]) -> Iterator[tuple[Place, Any]]:
    return (((*path, index), message) for index, message in enumerate(messages))


def _misshapen(document: Document, what: str, legal: str) -> InvalidDataError:
    return unreadable(document.source, document.line, None, what, legal)
