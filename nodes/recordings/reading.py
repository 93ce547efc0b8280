"""Conversations out of files and standard input."""

import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from polycontext.nodes.recordings.conversation import Conversation, conversations
from polycontext.nodes.recordings.documents import read_documents
from polycontext.nodes.recordings.errors import ReadingError
from polycontext.window.providers import Provider

STANDARD_INPUT = "-"
_FILES = "a readable file, or - for standard input"


def read_conversations(names: Iterable[str], provider: Provider | None = None) -> Iterator[Conversation]:
    """Yield the conversations of the files `names`, in order, each as soon as it is read.

    Raises:
        ReadingError: a file that is missing, unreadable or holds no conversation; names file, line and field.
    """
    for name in names:
        with _opened(name) as (source, lines):
            count = 0
            for document in read_documents(source, lines):
                for conversation in conversations(document, provider, count + 1):
                    yield conversation
                    count += 1


def size_of(names: Iterable[str]) -> int | None:
    """Return the bytes of the files together, None where that cannot be known."""
    try:
        return None if STANDARD_INPUT in names else sum(Path(name).stat().st_size for name in names)
    except (OSError, ValueError):
        return None


@contextmanager
def _opened(name: str) -> Generator[tuple[str, BinaryIO]]:
    if name == STANDARD_INPUT:
        yield "<stdin>", sys.stdin.buffer
        return
    source = name.encode("utf-8", "backslashreplace").decode()
    try:
        stream = Path(name).open("rb")  # noqa: SIM115  the with below closes it
    except (OSError, ValueError) as error:
        raise ReadingError(source, None, None, _reason(error), _FILES) from None
    with stream:
        try:
            yield source, stream
        except OSError as error:
            raise ReadingError(source, None, None, _reason(error), _FILES) from None


def _reason(error: OSError | ValueError) -> str:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return f"cannot be read: {(reason or type(error).__name__).lower()}"
