"""Heads of picture files, PDFs and recordings, made to measure."""

import base64
import json
import struct
import zlib
from pathlib import Path
from typing import Any

MEDIA_SHAPES: dict[str, Any] = json.loads(
    Path(__file__).with_name("media_shapes.json").read_text(encoding="utf-8")
)
"""Media as vendors, servers and clients send them: with sizes, texts and their forms elsewhere."""


def png(width: int, height: int, rest: int = 0) -> bytes:
    """Return the head of a PNG, and `rest` bytes behind it."""
    return (
        b"\x89PNG\r\n\x1a\n"
        + struct.pack(">I4sIIBBBBBI", 13, b"IHDR", width, height, 8, 6, 0, 0, 0, 0)
        + bytes(rest)
    )


def gif(width: int, height: int, rest: int = 0) -> bytes:
    """Return the head of a GIF."""
    return b"GIF89a" + struct.pack("<HH", width, height) + bytes(3 + rest)


def jpeg(width: int, height: int, rest: int = 0, *, before: int = 0) -> bytes:
    """Return the head of a JPEG whose frame follows `before` bytes of metadata with a thumbnail."""
    thumbnail = (b"\xff\xd8\xff\xc0" + struct.pack(">HBHH", 11, 8, 9, 9)).ljust(
        min(before, 60_000), b"\xff"
    )
    segments = b"".join(
        b"\xff\xe1" + struct.pack(">H", len(thumbnail) + 2) + thumbnail
        for _ in range(max(1, before // 60_000))
    )
    return (
        b"\xff\xd8"
        + segments
        + b"\xff\xff\xc2"
        + struct.pack(">HBHH", 17, 8, height, width)
        + bytes(rest)
    )


def webp(width: int, height: int, rest: int = 0, *, form: bytes = b"VP8X") -> bytes:
    """Return the head of a WebP of one of its three forms."""
    opening = b"RIFF" + struct.pack("<I", 100) + b"WEBP" + form + struct.pack("<I", 10)
    match form:
        case b"VP8 ":
            body = b"\x00\x00\x00\x9d\x01\x2a" + struct.pack("<HH", width, height)
        case b"VP8L":
            body = b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14)
        case _:
            body = bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return opening + body + bytes(rest)


def pdf(pages: int, *, packed: bool = False, promised: int | None = None) -> bytes:
    """Return a PDF of so many page objects, in the clear or in a compressed stream."""
    tree = b"<< /Type /Pages /Count %d >>" % (pages if promised is None else promised)
    objects = tree + b"<< /Type /Page >>" * pages
    if packed:
        objects = (
            b"<< /Type /ObjStm /Filter /FlateDecode >> stream\n"
            + zlib.compress(objects)
            + b"\nendstream"
        )
    return b"%PDF-1.7\n" + objects + b"\n%%EOF"


def wave(seconds: float, rate: int = 32_000) -> bytes:
    """Return an uncompressed recording of so many seconds at `rate` bytes a second."""
    head = (
        b"RIFF"
        + struct.pack("<I", 0)
        + b"WAVEfmt "
        + struct.pack("<IHHIIHH", 16, 1, 1, rate // 2, rate, 2, 16)
        + b"data"
        + bytes(4)
    )
    return head + bytes(int(seconds * rate) - len(head))


def b64(data: bytes) -> str:
    """Return `data` as base64."""
    return base64.b64encode(data).decode()
