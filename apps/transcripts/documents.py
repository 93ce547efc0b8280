"""JSON values read from files: one document, or one a line, each with its line number.

Lines are read one at a time, so that a stream of conversations is processed as it arrives. The
first line decides whether a file is JSON or JSONL: if it is a complete value, every line is one.
"""

import errno
import json
import sys
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

from attrs import field, frozen

from polycontext.base import InvalidDataError
from polycontext.base.codec import is_cut_off
from polycontext.base.json_data import has_more_containers

from .transcript import Transcript

Notify = Callable[[str], object]
"""Takes a line for people about what was read."""

_DAMAGE = "warning: "


def warn_of_damage(told: str) -> None:
    """Warn of what is damaged; that rows of the host were left out is no fault."""
    if told.startswith(_DAMAGE):
        warnings.warn(told.removeprefix(_DAMAGE), stacklevel=2)


Place = tuple[str | int, ...]
"""The keys and indices that lead to a value inside a document."""

STANDARD_INPUT = "-"
MOST_BYTES, MOST_CONTAINERS = 50_000_000, 500_000
"""The size of the longest document that is read, in bytes and in objects and lists.

An input need not end, and a parsed document takes many times the memory of its text.
"""

_FILES = "a readable file, or - for standard input"
_JSON = "JSON (one document), or JSONL (one document a line)"
_SMALLER = "a smaller file, or JSONL with one conversation a line"
_LINE_SUFFIXES = (".jsonl", ".ndjson")
_BOM = b"\xef\xbb\xbf"
_TEXT = "text in UTF-8, which iconv -f LATIN1 -t UTF-8 makes of others"
_UTF_16 = "UTF-16, not UTF-8", "text in UTF-8, such as iconv -f UTF-16 -t UTF-8 makes"
_MARKS = (
    (b"\xff\xfe", *_UTF_16),
    (b"\xfe\xff", *_UTF_16),
    (b"\x1f\x8b", "compressed with gzip", "what gunzip -c prints"),
)
"""How files begin that are no UTF-8, with the problem and what to use instead."""
_SPACE = " \t\n\r"


@frozen
class Document:
    """A JSON value with its text and first line (`line`).

    `transcript` is what a host's file or another library's record was read as.
    """

    source: str
    line: int
    value: Any = field(repr=False)
    text: str = field(repr=False)
    transcript: Transcript | None = field(default=None, repr=False)

    def line_of(self, path: Place) -> int:
        r"""Return the line where the value at `path` begins, or that of its last known parent.

        >>> Document("x", 1, [{}, {}], "[\n{},\n{}]").line_of((1,))
        3
        """
        return self.line + self.text.count("\n", 0, _offset(self.text, path))

    def refused(self, path: Place, field: str | None, what: str, legal: str) -> InvalidDataError:
        """Return the error about the value at `path`, which `field` names."""
        return unreadable(self.source, self.line_of(path), field, what, legal)


@contextmanager
def opened(name: str) -> Generator[tuple[str, Iterator[bytes]]]:
    """Yield the name of a file for error messages, and its lines; `-` is standard input.

    Raises:
        InvalidDataError: it is missing or cannot be read, or a line is longer than `MOST_BYTES`.
    """
    is_file = name != STANDARD_INPUT
    source = name.encode("utf-8", "backslashreplace").decode() if is_file else "<stdin>"
    try:
        with _stream(name) if is_file else nullcontext(sys.stdin.buffer) as stream:
            yield source, _lines(source, stream)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise unreadable(source, None, None, f"cannot be read: {reason}", _FILES) from None


def _stream(name: str) -> BinaryIO:
    try:
        return Path(name).open("rb")
    except ValueError as error:  # a null character
        raise OSError(errno.EINVAL, str(error)) from None


def _lines(source: str, stream: BinaryIO) -> Iterator[bytes]:
    while line := stream.readline(MOST_BYTES + 1):
        _check_size(source, len(line))
        yield line


def _check_size(source: str, size: int) -> None:
    """Raise `InvalidDataError` if a document has more than `MOST_BYTES`, as of /dev/zero."""
    if size > MOST_BYTES:
        raise unreadable(source, None, None, f"longer than {MOST_BYTES:,} bytes", _SMALLER)


def read_text(name: str) -> str:
    """Return the text in the file `name`, at most `MOST_BYTES`; `-` is standard input.

    Raises:
        InvalidDataError: as for `opened`, or it is not UTF-8, or blank.
    """
    data = bytearray()
    with opened(name) as (source, lines):
        for line in lines:
            data += line
            _check_size(source, len(data))
    text = decoded(source, None, bytes(data))
    if not text.strip():
        raise unreadable(source, None, None, "the file is empty", "a text")
    return text


def unreadable(
    source: str, line: int | None, field: str | None, what: str, legal: str
) -> InvalidDataError:
    """Return the error about a file.

    `line` counts from 1, None for the whole file. `field` is a place within that line, None for the
    whole line.

    >>> print(unreadable("chat.json", 4, "messages[1]", "role is 'poet'", "user or assistant"))
    chat.json, line 4, messages[1]: role is 'poet'. Use user or assistant.
    """
    where = (source, None if line is None else f"line {line}", field)
    return InvalidDataError(", ".join(filter(None, where)), what, legal)


def read_documents(
    source: str, lines: Iterable[bytes], notify: Notify = warn_of_damage
) -> Iterator[Document]:
    """Yield the documents in `lines`, skipping blank lines.

    A last line that a crash cut off is left out, and `notify` is told.

    Raises:
        InvalidDataError: not UTF-8, not JSON, or empty; names source, line and column.
    """
    numbered = _numbered(lines)
    first = next(numbered, None)
    if first is None:
        raise unreadable(source, None, None, "the file is empty", _JSON)
    # The first document may consume all the lines; then the loop finds none left.
    yield _first(source, *first, numbered)
    for line, data in numbered:
        try:
            document = _parsed(source, line, decoded(source, line, data))
        except InvalidDataError:
            if not is_cut_off(data) or next(numbered, None) is not None:
                raise
            notify(f"{_DAMAGE}{source}, line {line}: cut off, and left out")
        else:
            yield document


def _numbered(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    for number, data in enumerate(lines, 1):
        line = data.removeprefix(_BOM) if number == 1 else data
        if line.strip():
            yield number, line


def _first(source: str, line: int, data: bytes, rest: Iterator[tuple[int, bytes]]) -> Document:
    """Parse the first line, or the whole input if that line is not a complete value.

    A file name that ends like JSONL always means one document a line.
    """
    text = decoded(source, line, data)
    try:
        return _parsed(source, line, text)
    except InvalidDataError:
        if source.endswith(_LINE_SUFFIXES):
            raise
    # Blank lines were skipped: put them back, so that line numbers are right.
    whole, last, size = [text], line, len(data)
    for number, more in rest:
        size += len(more)
        _check_size(source, size)
        whole.append("\n" * (number - last - 1) + decoded(source, number, more))
        last = number
    return _parsed(source, line, "".join(whole))


def decoded(source: str, line: int | None, data: bytes) -> str:
    """Return the text of a line, or of a whole file.

    Raises:
        InvalidDataError: it is not UTF-8.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        at = f"byte 0x{data[error.start]:02x} at byte {error.start + 1} is not UTF-8"
        known = (told for mark, *told in _MARKS if data.startswith(mark))
        problem, legal = next(known, (f"not text: {at}", _TEXT))
        raise unreadable(source, line, None, problem, legal) from None


def _parsed(source: str, line: int, text: str) -> Document:
    if has_more_containers(text.encode(), MOST_CONTAINERS):
        problem = f"more than {MOST_CONTAINERS:,} objects and lists"
        raise unreadable(source, line, None, problem, _SMALLER)
    # Report a missing end on the last line that has text.
    text = text.rstrip()
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        line += error.lineno - 1
        # Some of Python's messages end in "at".
        problem = f"not JSON: {error.msg.removesuffix(' at')} at column {error.colno}"
        legal = _JSON
    except RecursionError:
        problem, legal = "nested too deeply to be read", "JSON that is nested less"
    except ValueError:
        problem, legal = "a number with too many digits", "numbers of at most 4300 digits"
    else:
        return Document(source, line, value, text)
    raise unreadable(source, line, None, problem, legal)


def _offset(text: str, path: Place) -> int:
    """Return the offset of the value at `path`, by skipping the values before it."""
    position = _skip(text, 0)
    for step in path:
        position = next((start for key, start in _members(text, position) if key == step), position)
    return position


def _members(text: str, position: int) -> Iterator[tuple[str | int, int]]:
    """Yield the key or index and the offset of each member of the list or object at `position`."""
    # The text has been parsed already, so it is valid and needs no checks.
    scan = json.JSONDecoder().raw_decode
    keyed, position, index = text[position] == "{", _skip(text, position + 1), 0
    while position < len(text) and text[position] not in "]}":
        key: str | int = index
        if keyed:
            key, position = scan(text, position)
            position = _skip(text, _skip(text, position) + 1)
        yield key, position
        position = _skip(text, scan(text, position)[1])
        if text[position] == ",":
            position = _skip(text, position + 1)
        index += 1


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in _SPACE:
        position += 1
    return position
