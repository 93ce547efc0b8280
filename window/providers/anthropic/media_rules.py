"""What Anthropic accepts as a picture or a document: sources, media types, base64, sizes.

Sources: the vendor's pages on vision, PDF support and request sizes, and the wordings of recorded refusals. Pictures are
measured by their heads; none is decoded as a whole.
"""

import binascii
import re
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from ...image_sizes import IMAGE_TYPES, ImageSize, image_size
from ..blocks import shown
from ..wire import Message
from .rules import At

IMAGE_BYTES = 5 * 2**20
"""Characters of base64 that one picture may have."""

MOST_PIXELS, MOST_PIXELS_OF_MANY, MANY_IMAGES = 8000, 2000, 20
"""Pixels that a side of a picture may have, in a request of up to `MANY_IMAGES` pictures and in one of more."""

_SOURCES: Mapping[str, str] = {"base64": "data", "url": "url", "file": "file_id"}
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_BASE64 = re.compile(r"[A-Za-z0-9+/\r\n]*={0,2}[\r\n]*")
_HEAD = 2**17


def check_image(block: Message, at: At) -> None:
    """Judge the source of a picture: base64 of one of four formats, a URL, or an uploaded file.

    Raises:
        InvalidMessagesError: rules bad-source, media-type, bad-base64, image-size, image-format.
    """
    source = _checked_source(block, at.into("source"), tuple(_SOURCES))
    if source["type"] != "base64":
        return
    tagged = at.into("source", "!base64")
    if source.get("media_type") not in _IMAGES:
        says = "Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
        raise tagged.into("media_type").refuse("media-type", f"is {shown(source.get('media_type'))}", ", ".join(_IMAGES), says)
    data = source["data"]
    if not data:
        raise tagged.refuse("bad-base64", "is a picture without data", "base64 of a picture", "image cannot be empty")
    _check_base64(data, tagged.into("data"))
    if len(data) > IMAGE_BYTES:
        says = f"image exceeds 5 MB maximum: {len(data)} bytes > {IMAGE_BYTES} bytes"
        raise tagged.refuse("image-size", f"has {len(data)} characters of base64", f"at most {IMAGE_BYTES}", says)
    _check_format(data, source["media_type"], tagged)


def check_document(block: Message, at: At) -> None:
    """Judge the source of a document: base64 of a PDF, plain text, blocks, a URL, or an uploaded file.

    Raises:
        InvalidMessagesError: rules bad-source, media-type, bad-base64, empty-text.
    """
    source = _checked_source(block, at.into("source"), (*_SOURCES, "text", "content"))
    tagged = at.into("source", f"!{source['type']}")
    match source["type"]:
        case "base64":
            if source.get("media_type") != "application/pdf":
                problem, says = f"is {shown(source.get('media_type'))}", "Input should be 'application/pdf'"
                raise tagged.into("media_type").refuse("media-type", problem, "application/pdf; text goes as a text source", says)
            if not source["data"]:
                raise tagged.refuse("bad-base64", "is a document without data", "base64 of a PDF", "PDF cannot be empty")
            _check_base64(source["data"], tagged.into("data"))
        case "text":
            if source.get("media_type") != "text/plain":
                problem, says = f"is {shown(source.get('media_type'))}", "Input should be 'text/plain'"
                raise tagged.into("media_type").refuse("media-type", problem, "text/plain", says)
        case _:
            pass


def side(block: Mapping[str, Any]) -> int:
    """Return the longer side in pixels of a picture sent as base64; 0 where it cannot be told.

    >>> side({"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "R0lGODlhAgADAAAAADs="}})
    3
    """
    source = block.get("source")
    if not isinstance(source, Mapping) or source.get("type") != "base64" or not isinstance(source.get("data"), str):
        return 0
    size = _measured(source["data"])
    return max(size.width, size.height) if size else 0


def _checked_source(block: Message, at: At, kinds: tuple[str, ...]) -> Mapping[str, Any]:
    source = block.get("source")
    if not isinstance(source, Mapping):
        raise at.refuse("bad-source", f"is {shown(source)}", "an object with a type", "Field required")
    kind = source.get("type")
    if kind not in kinds:
        says = f"Input tag '{kind}' found using 'type' does not match any of the expected tags: {', '.join(map(repr, kinds))}"
        raise at.refuse("bad-source", f"has the type {shown(kind)}", ", ".join(kinds), says)
    name = _SOURCES.get(kind, "data" if kind == "text" else "content")
    value = source.get(name)
    if not isinstance(value, str | list if name == "content" else str):
        says = "Field required" if name not in source else "Input should be a valid string"
        raise at.into(f"!{kind}", name).refuse("bad-source", f"is {shown(value)}", "text", says)
    return source


def _check_base64(data: str, at: At) -> None:
    if not _BASE64.fullmatch(data) or len(data.replace("\n", "").replace("\r", "")) % 4:
        raise at.refuse("bad-base64", "is no base64", "base64 with its padding, and no data URL before it", "invalid base64 data")


def _check_format(data: str, told: str, at: At) -> None:
    head = _head(data)
    found = next((kind for magic, kind in IMAGE_TYPES.items() if head.startswith(magic)), None)
    if found is None:
        raise at.refuse("image-format", "is no picture of a known format", ", ".join(_IMAGES), "Could not process image")
    if found != told:
        says = f"The image was specified using the {told} media type, but the image appears to be a {found} image"
        raise at.refuse("image-format", f"is said to be {told} and is {found}", "the media type that the data have", says)
    size = image_size(head)
    if size and max(size.width, size.height) > MOST_PIXELS:
        says = f"At least one of the image dimensions exceed max allowed size: {MOST_PIXELS} pixels"
        raise at.into("data").refuse("image-size", f"has {size.width} x {size.height} pixels", f"at most {MOST_PIXELS} a side", says)


def _measured(data: str) -> ImageSize | None:
    return image_size(_head(data))


def _head(data: str) -> bytes:
    try:
        return b64decode(data[:_HEAD] + "==")
    except (binascii.Error, ValueError):
        return b""
