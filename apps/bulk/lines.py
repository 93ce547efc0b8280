"""Lines of JSON in files: plain, gzip or zstd, read in pieces and written piece by piece."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
from attrs import frozen

from polycontext.base import InvalidDataError, InvalidOptionError, is_installed, require_extra
from polycontext.transcripts import session_in

from .pieces import LineWork, Pack, Piece, ShortenLines
from .rows import MOST_ROW_BYTES, RowCompressor

SUFFIXES = (".jsonl", ".ndjson")
PIECE_BYTES = 2**19
"""The size of a piece: about 30 conversations of 4,000 tokens."""

_BLOCK = 2**18
_STEP = 2**8
"""The bytes that are decompressed at once: zstd makes 8 MB of them at most, gzip 264 kB."""
_ROW_COST = 2**7
"""The bytes that a row counts in a piece besides its text, so that a piece has few empty rows."""
_BOM = b"\xef\xbb\xbf"


@frozen
class LineFormat:
    """Reads and writes JSONL; the codec is "", ".gz" or ".zst", the ends of the files' names."""

    read: str
    write: str
    most_row_bytes: int = MOST_ROW_BYTES

    def work(self, compressor: RowCompressor) -> LineWork:
        """Return the work for the pieces of a file."""
        return ShortenLines((compressor,), _PACKS[self.write])

    def pieces(self, path: Path, position: int, rows: int) -> Iterator[Piece]:
        """Yield the pieces of a file behind `position`, before which it has so many `rows`.

        The position counts bytes of text. Blank lines are left out.

        Raises:
            InvalidDataError: the file is not whole or not in the format that its name says.
        """
        if not self.read and (session := session_in(path)) is not None:
            # The rows of a host's file are one conversation.
            if not rows:
                text = orjson.dumps({"messages": [*session.messages]})
                yield Piece(1, path.stat().st_size, text, share=1.0)
            return
        splitter = _Splitter(position, rows, self.most_row_bytes)
        try:
            for splitter.share, text in self._blocks(path, position):
                for start in range(0, len(text), _BLOCK):
                    yield from splitter.feed(text[start : start + _BLOCK])
        except _damages() as error:
            # What was read until here can still be shortened: the error comes after it.
            yield from splitter.finish(torn=True)
            at = f"{path}, after row {splitter.row:,}"
            raise InvalidDataError(at, f"the file is damaged or cut off: {error}", _WHOLE) from None
        yield from splitter.finish()

    def _blocks(self, path: Path, position: int) -> Iterator[tuple[float, bytes]]:
        size = max(1, path.stat().st_size)
        with path.open("rb") as file:
            if not self.read:
                file.seek(position)
            skip = position if self.read else 0
            blocks = iter(lambda: file.read(_BLOCK), b"")
            for block in _unpacked(blocks, self.read) if self.read else blocks:
                if skip < len(block):
                    yield file.tell() / size, block[skip:]
                skip = max(0, skip - len(block))

    def finish(self, written: Path, output: Path, source: Path) -> None:
        """Move the finished rows to their place."""
        written.replace(output)


_WHOLE = "a whole file; the rows before are finished, and the same command goes on from there"


class _Splitter:
    """Cuts text into pieces of whole lines."""

    def __init__(self, position: int, rows: int, most: int) -> None:
        self.position, self.row, self.share = position, rows, 0.0
        self._most = most
        self._lines: list[bytes] = []
        self._oversize: set[int] = set()
        self._size = 0
        self._open = bytearray()  # the line whose end is not read yet
        self._length = 0
        self._cut = False  # that line is too long, so only its beginning is held

    def feed(self, block: bytes) -> Iterator[Piece]:
        """Yield the pieces that are full with these bytes."""
        *whole, rest = block.split(b"\n")
        for end in whole:
            self._add(end, 1)
            if self._size >= PIECE_BYTES:
                yield self._piece()
        self._extend(rest)

    def finish(self, *, torn: bool = False) -> Iterator[Piece]:
        """Yield the last piece; a `torn` last line is left out."""
        if self._open and not torn:
            self._add(b"", 0)
        if self._lines:
            yield self._piece()

    def _extend(self, part: bytes) -> None:
        self._length += len(part)
        if not self._cut:
            self._open += part
        if len(self._open) > self._most:
            self._open, self._cut = self._open[:_HEAD], True

    def _add(self, end: bytes, terminator: int) -> None:
        self._extend(end)
        self.position += self._length + terminator
        is_first = self.position == self._length + terminator
        line, is_long = bytes(self._open), self._cut
        self._open, self._cut, self._length = bytearray(), False, 0
        if is_first:
            line = line.removeprefix(_BOM)
        line = line.strip(b"\r\t ")
        if not line and not is_long:
            return
        self.row += 1
        if is_long:
            self._oversize.add(self.row)
        self._lines.append(line)
        self._size += len(line) + _ROW_COST

    def _piece(self) -> Piece:
        piece = Piece(
            self.row - len(self._lines) + 1,
            self.position,
            b"\n".join(self._lines),
            frozenset(self._oversize),
            self.share,
        )
        self._lines, self._oversize, self._size = [], set(), 0
        return piece


_HEAD = 1_000


def _unpacked(blocks: Iterator[bytes], codec: str) -> Iterator[bytes]:
    """Yield the text of a file in gzip or zstd, which may consist of several members."""
    unpack: Any = None
    for block in blocks:
        for start in range(0, len(block), _STEP):
            data = block[start : start + _STEP]
            while data:
                unpack = unpack or _decompressor(codec)
                if text := unpack.decompress(data):
                    yield text
                data = unpack.unused_data if unpack.eof else b""
                unpack = None if unpack.eof else unpack
    if unpack is not None:
        raise EOFError("its last part is missing")


def _decompressor(codec: str) -> Any:
    if codec == ".gz":
        return zlib.decompressobj(wbits=31)
    return _zstandard().ZstdDecompressor().decompressobj()


def _plain(text: bytes) -> bytes:
    return text


def _gzip(text: bytes) -> bytes:
    return gzip.compress(text, 6, mtime=0)


def _zstd(text: bytes) -> bytes:
    data: bytes = _zstandard().ZstdCompressor(3).compress(text)
    return data


_PACKS: dict[str, Pack] = {"": _plain, ".gz": _gzip, ".zst": _zstd}


def _zstandard() -> Any:
    require_extra("zstandard", extra="bulk", purpose="a file in zstd")
    import zstandard  # noqa: PLC0415 - an extra

    return zstandard


def _damages() -> tuple[type[Exception], ...]:
    """Return what a damaged file raises."""
    zstd = (_zstandard().ZstdError,) if is_installed("zstandard") else ()
    return zlib.error, EOFError, *zstd


def line_format(source: Path, output: Path, most_row_bytes: int = MOST_ROW_BYTES) -> LineFormat:
    """Return the format of two files of lines, by the ends of their names.

    Raises:
        InvalidOptionError: the output's name ends otherwise.
        MissingExtraError: an extra is not installed.
    """
    if codec_of(output) is None:
        legal = "a name that ends in .jsonl, .jsonl.gz or .jsonl.zst, like the input's"
        raise InvalidOptionError("output", str(output), legal)
    read, write = codec_of(source) or "", codec_of(output) or ""
    if ".zst" in (read, write):
        _zstandard()
    return LineFormat(read, write, most_row_bytes)


def codec_of(path: Path) -> str | None:
    """Return how a file of lines is compressed, by its name; None if it is none.

    >>> codec_of(Path("a.jsonl")), codec_of(Path("a.ndjson.gz")), codec_of(Path("a.csv"))
    ('', '.gz', None)
    """
    codec = path.suffix if path.suffix in (".gz", ".zst") else ""
    return codec if Path(path.name.removesuffix(codec)).suffix in SUFFIXES else None


def pieces_of(source: Path, most_row_bytes: int) -> Iterator[Piece]:
    """Yield the pieces of a file of lines.

    Raises:
        InvalidDataError: it is missing, damaged or cut off.
        InvalidOptionError: its name does not end like that of a file of lines.
    """
    if codec_of(source) is None:
        legal = "a name that ends in .jsonl, .jsonl.gz or .jsonl.zst"
        raise InvalidOptionError("input", str(source), legal)
    check_readable(source)
    yield from line_format(source, source, most_row_bytes).pieces(source, 0, 0)


def check_readable(source: Path) -> None:
    """Raise `InvalidDataError` unless a file can be opened."""
    try:
        source.open("rb").close()
    except OSError as error:
        what = f"cannot be read: {(error.strerror or str(error)).lower()}"
        raise InvalidDataError(str(source), what, "a readable file") from None
