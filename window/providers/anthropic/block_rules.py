"""What Anthropic demands of a block besides its shape: fields, names, thinking, failed results, cache marks, pictures, documents.

A history may hold what breaks these rules and is read all the same; it cannot be sent. The vendor's wordings were
seen in recorded refusals and in public issues. Sources: the Messages API reference; docs/providers.md lists the rules.
"""

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import Any

from ...media_sizes import IMAGE_TYPES, ImageSize, image_size
from ..blocks import is_visible, shown
from ..wire import Message
from .rules import BLANK, EXTRA, At, Entry
from .versions import NEWEST, check_entry

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


CALL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,200}")
"""What the name of a called tool may be; what the definition of a tool is called may have 128 characters."""

THINKING = frozenset({"thinking", "redacted_thinking"})

_TEXT = {"type", "text", "cache_control", "citations"}
FIELDS: Mapping[str, frozenset[str]] = {
    "text": frozenset(_TEXT),
    "image": frozenset({"type", "source", "cache_control", "transformations"}),
    "document": frozenset({"type", "source", "cache_control", "citations", "context", "title"}),
    "thinking": frozenset({"type", "thinking", "signature"}),
    "redacted_thinking": frozenset({"type", "data"}),
    "tool_use": frozenset({"type", "id", "name", "input", "cache_control", "caller", "toolset_name"}),
    "tool_result": frozenset({"type", "tool_use_id", "content", "is_error", "cache_control", "toolset_name"}),
}
"""The fields of the blocks that every conversation has; blocks of other types may have any."""

FOREIGN_TYPES = frozenset(
    {
        *("image_url", "input_audio", "input_text", "input_image", "input_file", "output_text", "refusal", "summary_text", "audio", "file"),
        *("reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "item_reference"),
    }
)
"""Types of blocks and items that are another vendor's."""

_IN_SYSTEM = frozenset({"text", "tool_addition", "tool_removal"})
_TTLS = ("5m", "1h")


def check_blocks_of(entry: Entry, index: int, version: str = NEWEST) -> None:
    """Judge each block of message `index`, those inside of results too.

    Raises:
        InvalidMessagesError: the first block that Anthropic would refuse.
    """
    for number, block in enumerate(entry.blocks):
        at = At("messages", index, ("content", number))
        kind = block["type"]
        if entry.role == "system" and kind not in _IN_SYSTEM:
            says = f"`{kind}` blocks are not permitted in `system` messages"
            raise at.refuse("misplaced-block", f"is {shown(kind)} in a system message", ", ".join(sorted(_IN_SYSTEM)), says)
        check_block(block, at)
        if kind == "tool_result":
            _check_result(block, at.into("!tool_result"))
    check_entry(entry, index, version)


def check_block(block: Message, at: At) -> None:
    """Judge one block by its type; types that nobody here knows pass.

    Raises:
        InvalidMessagesError: Anthropic would refuse it.
    """
    kind = block["type"]
    if kind in FOREIGN_TYPES:
        says = f"Input tag '{kind}' found using 'type' does not match any of the expected tags: {', '.join(map(repr, sorted(FIELDS)))}"
        raise at.refuse(
            "foreign-block", f"is {shown(kind)}, another provider's", f"blocks of Anthropic: {', '.join(sorted(FIELDS))}, ...", says
        )
    tagged = at.into(f"!{kind}")
    check_mark(block, tagged)
    _check_fields(block, tagged)
    match kind:
        case "text":
            check_text(block, tagged)
        case "thinking" | "redacted_thinking":
            _check_thinking(block, tagged)
        case "tool_use":
            _check_name(block["name"], tagged.into("name"))
        case "image":
            check_image(block, tagged)
        case "document":
            check_document(block, tagged)
        case "compaction":
            _check_compaction(block, tagged)
        case _:
            pass


def check_text(block: Message, at: At) -> None:
    """Refuse a text block without a visible character, inside of results and beside other blocks too.

    Raises:
        InvalidMessagesError: rules empty-text, blank-text.
    """
    if not block["text"]:
        raise at.refuse("empty-text", "is empty", "text, or no such block", "messages: text content blocks must be non-empty", whole=True)
    if not is_visible(block["text"]):
        raise at.refuse("blank-text", "is nothing but white space", "at least one visible character, or no such block", BLANK, whole=True)


def check_mark(block: Mapping[str, Any], at: At) -> None:
    """Judge the cache breakpoint of a block, if it has one.

    Raises:
        InvalidMessagesError: rules cache-mark, cache-on-thinking.
    """
    mark = block.get("cache_control")
    inner = at.into("cache_control")
    if "cache_control" in block and block.get("type") in THINKING:
        raise inner.refuse("cache-on-thinking", "stands on a thinking block", "a breakpoint on another block", EXTRA)
    if mark is None:
        return
    if not isinstance(mark, Mapping) or mark.get("type") != "ephemeral":
        raise inner.refuse("cache-mark", f"is {shown(mark)}", '{"type": "ephemeral"}, perhaps with a ttl', "Input should be 'ephemeral'")
    if mark.get("ttl", "5m") not in _TTLS:
        legal = " or ".join(_TTLS)
        raise inner.into("ttl").refuse("cache-mark", f"is {shown(mark['ttl'])}", legal, "Input should be '5m' or '1h'")


def marks(blocks: list[Message], at: At) -> Iterator[tuple[str, At]]:
    """Yield the ttl of each cache breakpoint in `blocks`, in order, with its place; those inside of results too."""
    for number, block in enumerate(blocks):
        spot = at.into(number)
        inner = block.get("content") if block.get("type") == "tool_result" else None
        if isinstance(inner, list):
            yield from marks(inner, spot.into("content"))
        mark = block.get("cache_control")
        if isinstance(mark, Mapping):
            yield mark.get("ttl") or "5m", spot.into("cache_control")


def _check_fields(block: Message, at: At) -> None:
    known = FIELDS.get(block["type"])
    further = [name for name in block if name not in known] if known else []
    if further:
        problem, legal = f"is no field of a {block['type']} block", ", ".join(sorted(known or ()))
        raise at.into(further[0]).refuse("extra-field", problem, legal, EXTRA)


def _check_name(name: str, at: At) -> None:
    if not CALL_NAME.fullmatch(name):
        says = "String should match pattern '^[a-zA-Z0-9_-]{1,200}$'"
        raise at.refuse("bad-name", f"is {shown(name)}", "1 to 200 letters, digits, _ and -", says)


def _check_thinking(block: Message, at: At) -> None:
    for name in ("data",) if block["type"] == "redacted_thinking" else ("thinking", "signature"):
        value = block.get(name)
        if not isinstance(value, str):
            says = "Input should be a valid string" if name in block else "Field required"
            raise at.into(name).refuse("bad-thinking", f"is {shown(value)}", "what the answer held, unchanged", says)
        if not value and name != "thinking":
            says = "Invalid `signature` in `thinking` block" if name == "signature" else "Invalid `data` in `redacted_thinking` block"
            raise at.into(name).refuse("bad-thinking", "is empty", "what the answer held, unchanged", says)


def _check_compaction(block: Message, at: At) -> None:
    content = block.get("content")
    if not isinstance(content, str | None):
        raise at.into("content").refuse("bad-compaction", f"is {shown(content)}", "text, or null", "Input should be a valid string")
    if content == "":
        says = "String should have at least 1 character"
        raise at.into("content").refuse(
            "bad-compaction", "is empty", "what the answer held, unchanged; null where there is no summary", says
        )


def _check_result(block: Message, at: At) -> None:
    content, failed = block.get("content"), bool(block.get("is_error"))
    if failed and not content:
        says = "content cannot be empty if `is_error` is true"
        raise at.refuse("empty-error", "tells of an error and says nothing", "content, or no is_error", says)
    if not isinstance(content, list):
        return
    for number, inner in enumerate(content):
        spot = at.into("content", number)
        if failed and inner["type"] != "text":
            says = "all content must be type `text` if `is_error` is true"
            raise spot.refuse(
                "error-content", f"is {shown(inner['type'])} in a result that tells of an error", "text, or no is_error", says
            )
        check_block(inner, spot)
