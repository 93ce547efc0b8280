"""Anthropic's rules for blocks: fields, names, thinking, results, cache marks, images, documents.

A history that breaks these rules can be read but not sent. The vendor's wordings come from recorded
errors and public issues. Sources: the Messages API reference; docs/providers.md lists the rules.
"""

import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

from ...media import HEADS, head
from ...media_sizes import image_size, image_type
from ...wire_text import is_visible
from ..layout import accepted, without
from ..places import shown
from ..wire import CHAT_BLOCKS, RESPONSES_BLOCKS, RESPONSES_ITEMS, Message
from .message_rules import (
    CALL_NAME,
    LIMITS,
    TABLE,
    WHOLE,
    AnthropicPlace,
    Entry,
    block_at,
    refuse_empty_text,
)
from .versions import are_blocks, blocks_in, check_entry, with_blocks

_SOURCES: Mapping[str, str] = {"base64": "data", "url": "url", "file": "file_id"}
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_BASE64 = re.compile(r"[A-Za-z0-9+/\r\n]*={0,2}[\r\n]*")


def _check_image(block: Message, at: AnthropicPlace) -> None:
    """Check the source of an image: base64 of one of four formats, a URL, or an uploaded file.

    Raises:
        InvalidMessagesError: Rules bad-source, media-type, bad-base64, image-size, image-format.
    """
    source = _checked_source(block, at.into("source"), tuple(_SOURCES))
    if source["type"] != "base64":
        return
    tagged = at.into("source", "!base64")
    tagged.into("media_type").one_of("media-type", source.get("media_type"), _IMAGES)
    data, most = source["data"], LIMITS["image_text"]
    _check_base64(data, tagged, "picture", "image")
    if len(data) > most:
        raise tagged.broken("image-size/text", length=len(data), most=most)
    _check_format(data, source["media_type"], tagged)


def _check_document(block: Message, at: AnthropicPlace) -> None:
    """Check the source of a document: base64 of a PDF, text, blocks, a URL, or an uploaded file.

    Raises:
        InvalidMessagesError: Rules bad-source, media-type, bad-base64, empty-text, and those
            of the blocks inside.
    """
    source = _checked_source(block, at.into("source"), (*_SOURCES, "text", "content"))
    kind, rule = source["type"], "media-type"
    tagged = at.into("source", f"!{kind}")
    media_type, given = tagged.into("media_type"), source.get("media_type")
    if kind == "text":
        media_type.one_of(rule, given, ("text/plain",))
    elif kind == "base64":
        legal = "application/pdf; text goes as a text source"
        media_type.one_of(rule, given, ("application/pdf",), legal)
        _check_base64(source["data"], tagged, "document", "PDF")
    for inner, spot in blocks_in(block, at):
        if inner["type"] != "text":
            check_block(inner, spot)


def _checked_source(
    block: Message, at: AnthropicPlace, kinds: tuple[str, ...]
) -> Mapping[str, Any]:
    source, rule = block.get("source"), "bad-source"
    if not isinstance(source, Mapping):
        raise at.wrong(rule, source, "an object with a type")
    kind = source.get("type")
    if kind not in kinds:
        raise at.unknown_tag(rule, kind, kinds, f"has the type {shown(kind)}", ", ".join(kinds))
    name = _SOURCES.get(kind, "data" if kind == "text" else "content")
    content = source.get(name)
    if name != "content" or not (isinstance(content, list) and are_blocks(content)):
        at.into(f"!{kind}").needed(rule, source, name, str, "text")
    return source


def _check_base64(data: str, at: AnthropicPlace, what: str, name: str) -> None:
    if not data:
        raise at.broken("bad-base64/empty", what=what, name=name)
    if not _BASE64.fullmatch(data) or len(data.replace("\n", "").replace("\r", "")) % 4:
        raise at.into("data").broken("bad-base64/form")


def _check_format(data: str, told: str, at: AnthropicPlace) -> None:
    opening = head(data, HEADS[1])
    found = image_type(opening)
    if found is None:
        raise at.broken("image-format/unknown")
    if found != told:
        raise at.broken("image-format/other", told=told, found=found)
    size, most = image_size(opening), LIMITS["side"]
    if size and max(size.width, size.height) > most:
        sides = {"width": size.width, "height": size.height}
        raise at.into("data").broken("image-size/side", **sides, most=most)


MARK = "cache_control"
"""The field of a block that makes it a cache breakpoint."""

THINKING = frozenset({"thinking", "redacted_thinking"})

FIELDS: Mapping[str, frozenset[str]] = {
    kind: frozenset({"type", *names}) for kind, names in TABLE["block_fields"].items()
}
"""The fields of the common block types; blocks of other types may have any fields."""

FOREIGN_TYPES = frozenset(
    {*CHAT_BLOCKS, *RESPONSES_BLOCKS, *RESPONSES_ITEMS, "audio", "custom_tool_call_output"}
)
"""The types of blocks and items of other vendors."""

_IN_SYSTEM = frozenset({"text", "tool_addition", "tool_removal"})
_TTLS = ("5m", "1h")


_LOG = logging.getLogger("polycontext.window.providers")


def known_fields(holder: Message, known: Collection[str], what: str) -> Message:
    """Return `holder` with its `known` fields alone: the vendor refuses others."""
    unknown = [name for name in holder if name not in known]
    if unknown:
        _LOG.warning("left out of a %s for Anthropic: %s", what, ", ".join(unknown))
        return {name: value for name, value in holder.items() if name in known}
    return holder


def as_accepted(block: Message, role: str) -> Message:
    """Return `block` as a message of `role` may hold it.

    Fields that the vendor does not know and invalid cache breakpoints are left out. A line
    stands in place of a block that it refuses, also inside a result or a document.
    """
    kind = block["type"]
    block = known_fields(block, FIELDS.get(kind, block), f"{kind} block")
    if kind in _HOLDERS:
        block = with_blocks(block, partial(as_accepted, role=role))
    if accepted(block, check_mark, WHOLE) is not block:
        block = without(block, MARK)
    return block if kind in _SAID else accepted(block, _check_in, WHOLE, role=role)


_SAID = frozenset({"text", "tool_use", "tool_result"})
_HOLDERS = frozenset({"tool_result", "document"})
"""The types of the blocks with blocks inside that are the user's."""


def check_blocks_of(entry: Entry, index: int, *, newest: bool = True) -> None:
    """Check each block of message `index`, including those inside results.

    Raises:
        InvalidMessagesError: Anthropic would reject a block.
    """
    for number, block in enumerate(entry.blocks):
        at = block_at(index, number)
        kind = block["type"]
        _check_in(block, at, entry.role)
        if kind == "tool_result":
            _check_result(block, at.into("!tool_result"))
    if newest:
        check_entry(entry, index)


def _check_in(block: Message, at: AnthropicPlace, role: str) -> None:
    kind = block["type"]
    if role == "system" and kind not in _IN_SYSTEM:
        raise at.broken("misplaced-block/system", kind=kind, shown=shown(kind))
    check_block(block, at)


def check_block(block: Message, at: AnthropicPlace) -> None:
    """Check one block by its type; unknown types pass.

    Raises:
        InvalidMessagesError: Anthropic would reject the block.
    """
    kind = block["type"]
    if kind in FOREIGN_TYPES:
        problem, known = f"is {shown(kind)}, another provider's", sorted(FIELDS)
        legal = f"blocks of Anthropic: {', '.join(known)}, ..."
        raise at.unknown_tag("foreign-block", kind, known, problem, legal)
    tagged = at.into(f"!{kind}")
    check_mark(block, tagged)
    _check_fields(block, tagged)
    if kind in _CHECKS:
        _CHECKS[kind](block, tagged)


def _check_name(block: Message, at: AnthropicPlace) -> None:
    if not CALL_NAME.fullmatch(block["name"]):
        legal = "1 to 200 letters, digits, _ and -"
        raise at.into("name").no_match("bad-name", block["name"], CALL_NAME, legal)


def _check_text(block: Message, at: AnthropicPlace) -> None:
    """Raise an error for a text block without a visible character, even inside results."""
    refuse_empty_text(block, at)
    if not is_visible(block["text"]):
        raise at.broken("blank-text")


def check_mark(block: Mapping[str, Any], at: AnthropicPlace) -> None:
    """Check the cache breakpoint of a block, if it has one.

    Raises:
        InvalidMessagesError: Rules cache-mark, cache-on-thinking.
    """
    mark = block.get("cache_control")
    inner = at.into("cache_control")
    if "cache_control" in block and block.get("type") in THINKING:
        raise inner.broken("cache-on-thinking")
    if mark is None:
        return
    if not isinstance(mark, Mapping) or mark.get("type") != "ephemeral":
        legal = '{"type": "ephemeral"}, perhaps with a ttl'
        raise inner.unsupported("cache-mark", mark, ("ephemeral",), legal)
    inner.into("ttl").one_of("cache-mark", mark.get("ttl", "5m"), _TTLS, " or ".join(_TTLS))


def marks(blocks: Sequence[Message], at: AnthropicPlace) -> Iterator[tuple[str, AnthropicPlace]]:
    """Yield the ttl and place of each cache breakpoint in `blocks`, in order.

    Breakpoints inside results are included.
    """
    for block, spot in each_block(blocks, at):
        mark = block.get("cache_control")
        if isinstance(mark, Mapping):
            yield mark.get("ttl") or "5m", spot.into("cache_control")


def limit_marks(marked: Sequence[Message], tools: Sequence[str] = ()) -> list[Message]:
    """Remove cache breakpoints from `marked` blocks that are too many, and return the others.

    The newest ones stay, but none that stands before one with a longer time. `tools` are the times
    of the breakpoints of tools, which stand before all blocks.
    """
    kept, room = list[Message](), LIMITS["marks"] - len(tools)
    for block in reversed(marked):
        is_long = block[MARK].get("ttl") == "1h"
        is_late = "5m" in tools if is_long else any(each[MARK].get("ttl") == "1h" for each in kept)
        if len(kept) < room and not is_late:
            kept.append(block)
        else:
            del block[MARK]
    return kept[::-1]


def with_fewer_marks(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a request with the newest cache breakpoints that fit beside those of its tools.

    Automatic caching, which is a field of the request itself, takes the place of the newest one. If
    a breakpoint is removed, system and messages are copies.

    >>> mark, turn = {"cache_control": {"type": "ephemeral"}}, {"role": "user", "content": []}
    >>> tools, said = [mark] * 3, {"type": "text", "text": "hi", **mark}
    >>> with_fewer_marks({"tools": tools, "messages": [{**turn, "content": [said]}], **mark})[
    ...     "messages"
    ... ]
    [{'role': 'user', 'content': [{'type': 'text', 'text': 'hi'}]}]
    """
    tools = [ttl for ttl, _ in marks([*map(dict, request.get("tools") or ())], WHOLE)]
    marked = _marked(request)
    if len(limit_marks([*map(dict, marked)], tools)) == len(marked):
        return request
    copied = {name: deepcopy(request[name]) for name in ("system", "messages") if name in request}
    fewer = {**request, **copied}
    limit_marks(_marked(fewer), tools)
    return fewer


def _marked(request: Mapping[str, Any]) -> list[Message]:
    """Return what has a cache breakpoint besides tools: blocks, messages, the request."""
    contents = [request.get("system")]
    for message in request["messages"]:
        contents += [message.get("content"), [message]]
    lists = (each for each in [*contents, [request]] if isinstance(each, list | tuple))
    objects = ([block for block in each if isinstance(block, dict)] for each in lists)
    found = (block for each in objects for block, _ in each_block(each, WHOLE))
    return [block for block in found if isinstance(block.get(MARK), Mapping)]


def each_block(
    blocks: Sequence[Message], at: AnthropicPlace
) -> Iterator[tuple[Message, AnthropicPlace]]:
    """Yield each of `blocks` with its place, and those inside a result or a document before it."""
    for number, block in enumerate(blocks):
        spot = at.into(number)
        # Results do not nest, as the vendor accepts none inside a result.
        for each, place in blocks_in(block, spot) if block.get("type") in _HOLDERS else ():
            yield from blocks_in(each, place) if each.get("type") == "document" else ()
            yield each, place
        yield block, spot


def _check_fields(block: Message, at: AnthropicPlace) -> None:
    known = FIELDS.get(block["type"], block.keys())
    for name in block:
        if name not in known:
            legal = ", ".join(sorted(known))
            raise at.into(name).broken("extra-field/block", kind=block["type"], known=legal)


def _check_thinking(block: Message, at: AnthropicPlace) -> None:
    kind = block["type"]
    for name in ("data",) if kind == "redacted_thinking" else ("thinking", "signature"):
        given = at.needed("bad-thinking", block, name, str, _UNCHANGED)
        if not given and name != "thinking":
            raise at.into(name).broken("bad-thinking", name=name, kind=kind)


_UNCHANGED = "what the answer held, unchanged"


def _check_compaction(block: Message, at: AnthropicPlace) -> None:
    content, spot = block.get("content"), at.into("content")
    if not isinstance(content, str | None):
        raise spot.wrong_type("bad-compaction", str, content, "text, or null")
    if content == "":
        raise spot.broken("bad-compaction")


_CHECKS: Mapping[str, Callable[[Message, AnthropicPlace], None]] = {
    "text": _check_text,
    "thinking": _check_thinking,
    "redacted_thinking": _check_thinking,
    "tool_use": _check_name,
    "image": _check_image,
    "document": _check_document,
    "compaction": _check_compaction,
}


def _check_result(block: Message, at: AnthropicPlace) -> None:
    content, failed = block.get("content"), bool(block.get("is_error"))
    if failed and not content:
        raise at.broken("empty-error")
    if not isinstance(content, list):
        return
    for number, inner in enumerate(content):
        spot = at.into("content", number)
        if failed and inner["type"] != "text":
            raise spot.broken("error-content", shown=shown(inner["type"]))
        check_block(inner, spot)
