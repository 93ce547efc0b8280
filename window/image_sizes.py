"""The size of a picture, read from the first bytes of its file.

PNG, JPEG, GIF and WebP name width and height in their heads. No picture is decoded, and no library is needed.
"""

from collections.abc import Mapping
from struct import error, unpack_from
from typing import NamedTuple

IMAGE_TYPES: Mapping[bytes, str] = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}
"""The first bytes of the formats that are read, each with its media type."""

_START_OF_FRAME = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD8)})
_SCAN = 0xDA
_MOST_MARKERS = 4_096
"""Of a JPEG: real ones name their size within a few hundred."""


class ImageSize(NamedTuple):
    """Hold what a picture's head says: its format, width and height in pixels."""

    media_type: str
    width: int
    height: int


def image_size(head: bytes) -> ImageSize | None:
    """Return the size that the `head` of a picture file names; None where it names none, or one of no pixels.

    Sources: PNG (W3C, IHDR), GIF89a, WebP (RFC 9649), JPEG (ITU T.81, frame header).

    >>> image_size(b"GIF89a" + bytes([2, 0, 3, 0]))
    ImageSize(media_type='image/gif', width=2, height=3)
    >>> image_size(b"no picture") is None
    True
    """
    media_type = next((kind for magic, kind in IMAGE_TYPES.items() if head.startswith(magic)), None)
    if media_type is None:
        return None
    try:
        width, height = _READERS[media_type](head)
    except (error, _UnreadableError, IndexError):
        return None
    return ImageSize(media_type, width, height) if width > 0 and height > 0 else None


class _UnreadableError(Exception):
    pass


def _png(head: bytes) -> tuple[int, int]:
    if head[12:16] != b"IHDR":
        raise _UnreadableError
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
                raise _UnreadableError
            return int.from_bytes(wide, "little") + 1, int.from_bytes(high, "little") + 1
        case _:
            raise _UnreadableError


def _jpeg(head: bytes) -> tuple[int, int]:
    """Walk over the segments to the frame header, so that a thumbnail inside of one is not taken for the picture."""
    place = 2
    for _ in range(_MOST_MARKERS):
        if head[place] != 0xFF:  # noqa: PLR2004 - what every marker begins with
            raise _UnreadableError
        marker = head[place + 1]
        if marker == 0xFF:  # noqa: PLR2004 - fill bytes
            place += 1
        elif marker in _START_OF_FRAME:
            height, width = unpack_from(">HH", head, place + 5)
            return width, height
        elif marker == _SCAN:
            raise _UnreadableError
        elif marker in _WITHOUT_LENGTH:
            place += 2
        else:
            (length,) = unpack_from(">H", head, place + 2)
            place += 2 + max(2, length)
    raise _UnreadableError


_READERS = {"image/png": _png, "image/jpeg": _jpeg, "image/gif": _gif, "image/webp": _webp}
