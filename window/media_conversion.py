"""Media converted from one provider's form into another's.

Images are converted as base64 or by URL, PDFs as documents and files, text documents as such or as
text. Content that only one provider knows (an uploaded file) or accepts (recordings, office files)
is not converted.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from .media import (
    HEADS,
    Medium,
    MediumKind,
    Source,
    blocks_of_document,
    describe_block,
    head,
    read_medium,
    read_source,
)
from .media_sizes import image_type

Block = dict[str, Any]

ANTHROPIC, CHAT, RESPONSES, GEMINI = "anthropic", "openai", "openai-responses", "gemini"

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""The image formats that every provider accepts."""

PDF = "application/pdf"
UNNAMED = "document.pdf"
"""The name of a file without a name, if a name is required."""

_OWN = {
    ANTHROPIC: frozenset({"image", "document"}),
    CHAT: frozenset({"image_url", "file"}),
    RESPONSES: frozenset({"input_image", "input_file"}),
    GEMINI: frozenset({"image", "document"}),
}
"""The block types of each provider that can be converted."""

FORMS = (ANTHROPIC, CHAT, RESPONSES)
"""The forms that a medium can be converted into; GEMINI's blocks have the form of ANTHROPIC's."""


def convert_block(block: Mapping[str, Any], source: str, target: str) -> Block | None:
    """Return a medium's `block` of provider `source` as a block of `target`, or None.

    None means that it cannot be converted. The result shares only strings with `block`, and lacks
    what only `source` has (cache marks, citations). The same provider's block is copied unchanged.

    Law: the result is a block that `target` accepts in a user message.

    >>> url = {"url": "data:image/png;base64,iVBORw0KGgo="}
    >>> convert_block({"type": "image_url", "image_url": url}, "openai", "anthropic")
    {'type': 'image', 'source': {'type': 'base64', 'media_type': 'image/png', 'data': \
'iVBORw0KGgo='}}
    >>> file = {"type": "image", "source": {"type": "file", "file_id": "file_1"}}
    >>> convert_block(file, "anthropic", "openai") is None
    True
    """
    if source == target:
        return dict(block)
    medium = read_medium(block)
    return (
        None
        if medium is None
        else convert_medium(medium, with_standard_base64(read_source(block)), block, source, target)
    )


def convert_medium(
    medium: Medium, found: Source, block: Mapping[str, Any], source: str, target: str
) -> Block | None:
    """Return another provider's `block` as `convert_block` does.

    `medium` and `found` were read from it; data of `found` are standard base64.
    """
    write = _WRITERS.get(target)
    if block["type"] not in _OWN.get(source, ()) or write is None:
        return None
    if medium.kind is MediumKind.IMAGE:
        return _image(found, medium, target)
    text = medium.text if medium.text is not None else _inner_text(block)
    if text is not None:
        return _text(text, found.name, target)
    uploaded = _same_vendor(found, source, target)
    return uploaded or write(found, medium.media_type)


def with_standard_base64(source: Source) -> Source:
    """Return `source` with its data in the standard alphabet and padded, or None if not base64.

    Google's SDK writes the URL-safe alphabet, which other providers reject.

    >>> [with_standard_base64(Source(data=data)).data for data in ("-_8", "A", "!!!!")]
    ['+/8=', None, None]
    """
    if source.plain or source.data is None:
        return source
    text = "".join(source.data.split()).rstrip("=").replace("-", "+").replace("_", "/")
    text += "=" * (-len(text) % 4)
    try:
        binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        return source._replace(data=None)
    return source._replace(data=text)


def _image(found: Source, medium: Medium, target: str) -> Block | None:
    link = found.url if _is_web(found.url) else None
    media_type, data = medium.media_type, None if found.plain else found.data
    if link is None and not (data and _is_accepted(medium, data)):
        return None
    if target in (ANTHROPIC, GEMINI):
        return {
            "type": "image",
            "source": {"type": "url", "url": link} if link else _base64(media_type, data or ""),
        }
    url = link or f"data:{media_type};base64,{data}"
    detail = {"detail": found.detail} if found.detail else {}
    if target == RESPONSES:
        return {"type": "input_image", "image_url": url} | detail
    return {"type": "image_url", "image_url": {"url": url} | detail}


def _is_accepted(medium: Medium, data: str) -> bool:
    """Return whether `data` are a picture of the type that `medium` has."""
    found = image_type(head(data, HEADS[0]))
    return medium.media_type in IMAGES and found == medium.media_type


def _text(text: str, name: str, target: str) -> Block | None:
    if not text.strip():
        return None
    if target == ANTHROPIC:
        return _titled({"type": "text", "media_type": "text/plain", "data": text}, name)
    return {
        "type": "input_text" if target == RESPONSES else "text",
        "text": f"{name}\n\n{text}" if name else text,
    }


def _inner_text(block: Mapping[str, Any]) -> str | None:
    """Return the text of a document made of blocks, or None if it has no text.

    A line stands in place of each other block.
    """
    inner = blocks_of_document(block)
    return told(inner) if any(map(is_text, inner)) else None


def told(blocks: Sequence[Any]) -> str:
    """Return the text of `blocks`, with a line in place of each other block."""
    return "\n".join(each["text"] if is_text(each) else describe_block(each) for each in blocks)


def is_text(block: Any) -> bool:
    """Return whether `block` is a block of text."""
    return (
        isinstance(block, Mapping)
        and block.get("type") == "text"
        and isinstance(block.get("text"), str)
    )


def _same_vendor(found: Source, source: str, target: str) -> Block | None:
    if found.file_id is None or not {source, target} <= {CHAT, RESPONSES}:
        return None
    if target == CHAT:
        return {"type": "file", "file": {"file_id": found.file_id}}
    return {"type": "input_file", "file_id": found.file_id}


def _document(found: Source, media_type: str) -> Block | None:
    if found.data and media_type == PDF:
        return _titled(_base64(PDF, found.data), found.name)
    if _is_web(found.url) and _may_be_pdf(found.url or ""):
        return _titled({"type": "url", "url": found.url}, found.name)
    return None


def _file(found: Source, media_type: str) -> Block | None:
    if not found.data or media_type != PDF:
        return None
    return {
        "type": "file",
        "file": {"filename": found.name or UNNAMED, "file_data": f"data:{PDF};base64,{found.data}"},
    }


def _input_file(found: Source, media_type: str) -> Block | None:
    if _is_web(found.url):
        return {"type": "input_file", "file_url": found.url}
    if not found.data or not media_type:
        return None
    return {
        "type": "input_file",
        "filename": found.name or UNNAMED,
        "file_data": f"data:{media_type};base64,{_spelled(found)}",
    }


_WRITERS = {ANTHROPIC: _document, CHAT: _file, RESPONSES: _input_file, GEMINI: _document}


def _spelled(found: Source) -> str:
    data = found.data or ""
    return base64.b64encode(data.encode()).decode() if found.plain else data


def _base64(media_type: str, data: str) -> Block:
    return {"type": "base64", "media_type": media_type, "data": data}


def _titled(source: Block, name: str) -> Block:
    return {"type": "document", "source": source} | ({"title": name} if name else {})


def _is_web(url: str | None) -> bool:
    return url is not None and url.startswith(("https://", "http://"))


def _may_be_pdf(url: str) -> bool:
    try:
        suffix = PurePosixPath(urlsplit(url).path).suffix.lower()
    except ValueError:
        return False
    return suffix in ("", ".pdf")
