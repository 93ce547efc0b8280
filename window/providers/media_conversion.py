"""A picture or a document of one provider, written as the block of another.

Pictures go along as base64 or by their URL, PDFs as documents and files, text documents as such or as
text. What is known to one provider only (an uploaded file, a container's file) and what another does not take (recordings,
picture formats, office files) does not go along.
"""

import base64
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from ..media import MediumKind, Source, read_medium, read_source
from .wire import Message

ANTHROPIC, CHAT, RESPONSES = "anthropic", "openai", "openai-responses"

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""The picture formats that every provider takes."""

PDF = "application/pdf"
UNNAMED = "document.pdf"
"""What a file is called that has no name, where a name is wanted."""

_OWN = {
    ANTHROPIC: frozenset({"image", "document"}),
    CHAT: frozenset({"image_url", "file"}),
    RESPONSES: frozenset({"input_image", "input_file"}),
}
"""The blocks of each provider that may go along."""


def converted(block: Mapping[str, Any], source: str, target: str) -> Message | None:
    """Return a medium's `block` of provider `source` as a block of `target`, None where it cannot go along.

    The result shares nothing with `block` but texts; marks of the provider's own (cache marks, citations)
    stay behind. A block stays what it is for its own provider.

    Law: what is returned is a block that `target` takes in a user's message.

    >>> converted({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}, "openai", "anthropic")
    {'type': 'image', 'source': {'type': 'base64', 'media_type': 'image/png', 'data': 'iVBORw0KGgo='}}
    >>> converted({"type": "image", "source": {"type": "file", "file_id": "file_1"}}, "anthropic", "openai") is None
    True
    """
    if source == target:
        return dict(block)
    medium = read_medium(block) if block.get("type") in _OWN.get(source, ()) else None
    write = _WRITERS.get(target)
    if medium is None or write is None:
        return None
    found = read_source(block)
    if medium.kind is MediumKind.IMAGE:
        return _image(found, medium.media_type, target)
    text = medium.text if medium.text is not None else _inner_text(block)
    if text is not None:
        return _text(text, found.name, target)
    uploaded = _same_vendor(found, source, target)
    return uploaded or write(found, medium.media_type)


def _image(found: Source, media_type: str, target: str) -> Message | None:
    link = found.url if _is_web(found.url) else None
    data = found.data if media_type in IMAGES and not found.plain else None
    if link is None and not data:
        return None
    if target == ANTHROPIC:
        return {"type": "image", "source": {"type": "url", "url": link} if link else _base64(media_type, data or "")}
    url = link or f"data:{media_type};base64,{data}"
    detail = {"detail": found.detail} if found.detail else {}
    return (
        {"type": "input_image", "image_url": url} | detail
        if target == RESPONSES
        else {"type": "image_url", "image_url": {"url": url} | detail}
    )


def _text(text: str, name: str, target: str) -> Message | None:
    if not text.strip():
        return None
    if target == ANTHROPIC:
        return _titled({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}}, name)
    return {"type": "input_text" if target == RESPONSES else "text", "text": f"{name}\n\n{text}" if name else text}


def _inner_text(block: Mapping[str, Any]) -> str | None:
    """Return the text of a document that is made of blocks, None where it has others than text."""
    match block:
        case {"source": {"type": "content", "content": [_, *_] as inner}}:
            texts = [each.get("text") for each in inner if isinstance(each, Mapping) and each.get("type") == "text"]
            whole = [text for text in texts if isinstance(text, str)]
            return "\n".join(whole) if len(whole) == len(inner) else None
        case _:
            return None


def _same_vendor(found: Source, source: str, target: str) -> Message | None:
    if found.file_id is None or ANTHROPIC in (source, target):
        return None
    return {"type": "file", "file": {"file_id": found.file_id}} if target == CHAT else {"type": "input_file", "file_id": found.file_id}


def _document(found: Source, media_type: str) -> Message | None:
    if found.data and media_type == PDF:
        return _titled({"type": "document", "source": _base64(PDF, found.data)}, found.name)
    if _is_web(found.url) and _may_be_pdf(found.url or ""):
        return _titled({"type": "document", "source": {"type": "url", "url": found.url}}, found.name)
    return None


def _file(found: Source, media_type: str) -> Message | None:
    if not found.data or media_type != PDF:
        return None
    return {"type": "file", "file": {"filename": found.name or UNNAMED, "file_data": f"data:{PDF};base64,{found.data}"}}


def _input_file(found: Source, media_type: str) -> Message | None:
    if _is_web(found.url):
        return {"type": "input_file", "file_url": found.url}
    if not found.data or not media_type:
        return None
    return {"type": "input_file", "filename": found.name or UNNAMED, "file_data": f"data:{media_type};base64,{_spelled(found)}"}


_WRITERS = {ANTHROPIC: _document, CHAT: _file, RESPONSES: _input_file}


def _spelled(found: Source) -> str:
    data = found.data or ""
    return base64.b64encode(data.encode()).decode() if found.plain else data


def _base64(media_type: str, data: str) -> Message:
    return {"type": "base64", "media_type": media_type, "data": data}


def _titled(block: Message, name: str) -> Message:
    return block | ({"title": name} if name else {})


def _is_web(url: str | None) -> bool:
    return url is not None and url.startswith(("https://", "http://"))


def _may_be_pdf(url: str) -> bool:
    try:
        suffix = PurePosixPath(urlsplit(url).path).suffix.lower()
    except ValueError:
        return False
    return suffix in ("", ".pdf")
