"""Image sizes and PDF page counts, read from the raw bytes without decoding them.

No library is needed. PNG, JPEG, GIF and WebP store width and height in their headers. Page objects
of a PDF are counted in the plain bytes and, as newer files compress them, in object streams that
are inflated within bounds. If neither yields a page, the number is unknown.
"""

import re
import zlib
from collections.abc import Mapping
from itertools import islice
from struct import error, unpack_from
from typing import NamedTuple

IMAGE_TYPES: Mapping[bytes, str] = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}
"""The first bytes of the supported image formats, with their media types."""

_START_OF_FRAME = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD8)})
_SCAN = 0xDA
_MARKER = 0xFF
"""The byte that begins every JPEG marker; repetitions of it are padding."""
_MOST_MARKERS = 4_096
"""The most JPEG markers to read; real files give their size within a few hundred."""


def film_seconds(head: bytes) -> float | None:
    """Return the length of an MP4 or MOV film from its movie header, or None (ISO/IEC 14496-12)."""
    at = head.find(b"mvhd") + len(b"mvhd")
    try:
        form = ">8xII" if head[at] == 0 else ">16xIQ"
        scale, length = unpack_from(form, head, at + 4)
    except (error, IndexError):
        return None
    found = at >= len(b"mvhd") + 4 and scale
    return min(length / scale, _LONGEST) if found else None


_LONGEST = 24 * 60 * 60
"""The most seconds of a film that are believed."""


class ImageSize(NamedTuple):
    """The format, width and height (in pixels) from an image's header."""

    media_type: str
    width: int
    height: int


def image_type(head: bytes) -> str | None:
    """Return the media type of the image file that begins with `head`, or None if it is no image.

    >>> image_type(b"GIF89a"), image_type(b"no picture")
    ('image/gif', None)
    """
    return next((kind for magic, kind in IMAGE_TYPES.items() if head.startswith(magic)), None)


def image_size(head: bytes) -> ImageSize | None:
    """Return the size in the `head` of an image file.

    Returns None if there is none, or if a dimension is 0.

    Sources: PNG (W3C, IHDR), GIF89a, WebP (RFC 9649), JPEG (ITU T.81, frame header).

    >>> image_size(b"GIF89a" + bytes([2, 0, 3, 0]))
    ImageSize(media_type='image/gif', width=2, height=3)
    >>> image_size(b"no picture") is None
    True
    """
    media_type = image_type(head)
    if media_type is None:
        return None
    try:
        width, height = _READERS[media_type](head)
    except (error, ValueError, IndexError):
        return None
    return ImageSize(media_type, width, height) if width > 0 and height > 0 else None


def _png(head: bytes) -> tuple[int, int]:
    if head[12:16] != b"IHDR":
        raise ValueError
    return unpack_from(">II", head, 16)


def _gif(head: bytes) -> tuple[int, int]:
    width, height = unpack_from("<HH", head, 6)
    return width, height


def _webp(head: bytes) -> tuple[int, int]:
    match head[8:16]:
        case b"WEBPVP8 ":
            width, height = unpack_from("<HH", head, 26)
            return width & 0x3FFF, height & 0x3FFF
        case b"WEBPVP8L":
            (bits,) = unpack_from("<I", head, 21)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"WEBPVP8X":
            wide, high = head[24:27], head[27:30]
            if len(high) < len(b"xyz"):
                raise ValueError
            return int.from_bytes(wide, "little") + 1, int.from_bytes(high, "little") + 1
        case _:
            raise ValueError


def _jpeg(head: bytes) -> tuple[int, int]:
    """Return the size from the frame header, skipping segments that may contain a thumbnail."""
    place = 2
    for _ in range(_MOST_MARKERS):
        if head[place] != _MARKER:
            raise ValueError
        marker = head[place + 1]
        if marker == _MARKER:
            place += 1
        elif marker in _START_OF_FRAME:
            height, width = unpack_from(">HH", head, place + 5)
            return width, height
        elif marker == _SCAN:
            raise ValueError
        elif marker in _WITHOUT_LENGTH:
            place += 2
        else:
            (length,) = unpack_from(">H", head, place + 2)
            place += 2 + max(2, length)
    raise ValueError


_READERS = {"image/png": _png, "image/jpeg": _jpeg, "image/gif": _gif, "image/webp": _webp}


PDF_LIMIT = 32_000_000
"""The most bytes of a document that are read; no provider accepts a larger request."""

_PAGE = re.compile(rb"/Type\s{0,8}/Page(?![A-Za-z])")
_TREE = re.compile(rb"/Type\s{0,8}/Pages(?![A-Za-z])")
_COUNT = re.compile(rb"/Count\s{1,8}(\d{1,4})(?!\d)")
_PACKED = re.compile(rb"/Type\s{0,8}/ObjStm")
_STREAM = re.compile(rb"stream\r?\n")
_STREAMS, _TREES = 2_000, 2_000
_INFLATED = 8_000_000
_NEAR = 2_000


def count_pages(data: bytes) -> int | None:
    """Return the number of pages of a PDF, or None if it is unknown.

    When in doubt, the number is too high rather than too low.

    >>> count_pages(b"%PDF-1.4 << /Type /Pages /Count 2 >> << /Type /Page >> << /Type/Page >>")
    2
    >>> count_pages(b"%PDF-1.7 locked") is None
    True
    """
    pages, promised = _found(data)
    budget = _INFLATED
    all_read = True
    for number, packed in enumerate(_PACKED.finditer(data)):
        stream = _STREAM.search(data, packed.end(), packed.end() + _NEAR)
        inner = _inflated(data, stream.end(), budget) if stream and number < _STREAMS else b""
        if not inner:
            all_read = False
            break
        budget -= len(inner)
        more, told = _found(inner)
        pages, promised = pages + more, max(promised, told)
    # If a stream could not be read, only a page tree's own count is reliable.
    return max(pages, promised) or None if all_read or promised else None


def _found(data: bytes) -> tuple[int, int]:
    """Return the number of page objects in `data` and the largest count in a page tree."""
    pages = sum(1 for _ in _PAGE.finditer(data))
    trees = (
        data[max(0, tree.start() - _NEAR // 4) : tree.end() + _NEAR // 4]
        for tree in islice(_TREE.finditer(data), _TREES)
    )
    return pages, max(
        (int(count[1]) for near in trees for count in _COUNT.finditer(near)), default=0
    )


def _inflated(data: bytes, start: int, most: int) -> bytes:
    """Return a decompressed stream, or nothing if it is invalid or larger than `most` bytes."""
    if most <= 0:
        return b""
    opened = zlib.decompressobj()
    try:
        inner = opened.decompress(data[start : start + most], most)
    except zlib.error:
        return b""
    return inner if opened.eof else b""
