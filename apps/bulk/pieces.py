"""Pieces of a data set: the rows that a worker shortens at once, and what becomes of them."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from attrs import asdict, define, evolve, field, frozen

from polycontext.base import PolycontextError
from polycontext.base.json_data import has_more_containers

from .figures import Figures
from .rows import RowCompressor

Pack = Callable[[bytes], bytes]
"""Compresses the text of a piece so that it can be appended to those before it."""


@frozen
class Piece:
    """Consecutive rows as bytes: lines of JSON, or a stream of Arrow.

    `start` is the number of its first row, from 1, and `end` the position in the input behind it.
    `oversize` are the numbers of rows that are too long to be read; their lines are cut. `share` is
    how much of the input was read with it, from 0 to 1.
    """

    start: int
    end: int
    data: bytes = field(repr=False)
    oversize: frozenset[int] = frozenset()
    share: float = 0.0


@frozen
class Rejected:
    """A row that cannot be shortened: its number from 1, the reason, and the row itself.

    A row of a file of lines is the line, as bytes, if it is JSON; otherwise the beginning as text.
    """

    number: int
    error: str
    reason: str
    row: Any = field(repr=False)

    def as_line(self) -> bytes:
        """Return the record as a line of JSON."""
        if isinstance(self.row, bytes):  # JSON already: parsed, it would take thirty times the room
            head = json.dumps(asdict(self, filter=lambda name, _: name.name != "row")).encode()
            return b'%s, "row": %s}\n' % (head[:-1], self.row)
        return json.dumps(asdict(self, recurse=False), default=str).encode() + b"\n"


def _without_data(piece: Piece) -> Piece:
    return evolve(piece, data=b"")


@define
class Done:
    """A shortened piece: its rows as bytes to append, its rejected rows, and its figures.

    The data of the `piece` are not kept.
    """

    piece: Piece = field(converter=_without_data)
    data: bytes = field(default=b"", repr=False)
    rejected: list[Rejected] = field(factory=list, repr=False)
    figures: Figures = field(factory=Figures)

    def reject(self, number: int, error: Exception | str, row: object) -> None:
        """Note a row that cannot be shortened, with the reason."""
        kind = type(error).__name__ if isinstance(error, Exception) else "InvalidDataError"
        self.figures.reject(kind)
        self.rejected.append(Rejected(number, kind, str(error), row))


class Work(Protocol):
    """What a worker does with a piece; it can be pickled."""

    def __call__(self, piece: Piece) -> Done:
        """Return the shortened piece; rows that cannot be shortened are rejected, never raised."""
        ...

    def split(self, piece: Piece) -> Iterator[Piece]:
        """Yield the rows of a piece as pieces of their own."""
        ...


class Engine(Protocol):
    """Runs work on pieces, in order: a pool of processes, or a cluster."""

    def map(self, work: Work, pieces: Iterator[Piece]) -> Iterator[Done]:
        """Yield what `work` makes of each piece, in order."""
        ...


class LineWork(ABC):
    """Works on lines of JSON: each is a row, from which a line or a rejection is made."""

    compressors: tuple[RowCompressor, ...]

    def __call__(self, piece: Piece) -> Done:
        """Return what is made of the piece."""
        done, lines = Done(piece), list[bytes]()
        for number, line in enumerate(piece.data.split(b"\n"), piece.start):
            if what := excess(piece, number, line, self.compressors[0].most_row_bytes):
                done.reject(number, what, line[:_EXCERPT].decode(errors="replace"))
                continue
            try:
                lines.append(self.line_of(line, done.figures) + b"\n")
            except (PolycontextError, ValueError, RecursionError) as error:
                done.reject(number, *explained(error, line))
        done.data = self.packed(b"".join(lines)) if lines else b""
        return done

    @abstractmethod
    def line_of(self, line: bytes, figures: Figures) -> bytes:
        """Return what a row becomes, and count it."""

    def packed(self, text: bytes) -> bytes:
        """Return the lines as they are written."""
        return text

    def split(self, piece: Piece) -> Iterator[Piece]:
        """Yield the rows of a piece as pieces of their own."""
        for number, line in enumerate(piece.data.split(b"\n"), piece.start):
            yield Piece(number, piece.end, line, piece.oversize & {number})


@frozen
class ShortenLines(LineWork):
    """Shortens lines of JSON. A row that fits is copied byte for byte."""

    compressors: tuple[RowCompressor, ...]
    pack: Pack

    def line_of(self, line: bytes, figures: Figures) -> bytes:
        """Return the shortened row."""
        given = json.loads(line.decode())
        row, projection = self.compressors[0].compressed(given)
        if row is not given:
            try:
                line = json.dumps(row, ensure_ascii=False).encode()
            except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can write
                line = json.dumps(row).encode()
        figures.count(projection)
        return line

    def packed(self, text: bytes) -> bytes:
        """Return the lines as they are written."""
        return self.pack(text)


def excess(piece: Piece, number: int, line: bytes, most: int) -> str:
    """Return why a row would take too much memory to be read, or nothing."""
    pieces, what = most // _BYTES_OF_PIECE, ""
    if number in piece.oversize:
        what = f"longer than {most:,} bytes"
    elif has_more_containers(line, pieces):
        what = f"of more than {pieces:,} objects and lists"
    elif line.count(rb"\n") > pieces:
        what = f"of more than {pieces:,} lines of text"
    return what and f"the row is {what}. Shorten it, or raise most_row_bytes (--max-row)."


_BYTES_OF_PIECE = 2**6
"""The bytes of the limit for each object or list, and each line of a text, that a row may have."""
_EXCERPT = 200
_MOST_TEXT = 2**16


def explained(error: Exception, line: bytes) -> tuple[Exception | str, Any]:
    """Return the reason for a rejection, and the row: the line if it is JSON, or its beginning."""
    text = line[:_MOST_TEXT].decode(errors="replace")
    match error:
        case PolycontextError():
            return error, line
        case UnicodeDecodeError():
            return f"byte {error.start + 1} is 0x{line[error.start]:02x}, which is no UTF-8", text
        case RecursionError():
            return "the row is nested too deeply. Use JSON that is nested less.", text[:_EXCERPT]
        case _:
            return f"the row is not JSON: {error}. Use one JSON document a line.", text
