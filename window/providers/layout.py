"""The layout of a message: its conversion into a turn with parts, and back.

All formats share an order of text, calls and blocks, and further fields of each. A `Collector`
gathers these into a turn; `layout_of` yields them in the same order. Content in the default order
(one plain text, then the calls) needs no parts, so that the turn equals one created by hand.

Unless it is the provider's default, the form of a content is recorded in a field `content` of
MESSAGE and of RESULT: "" for plain text, [] for a list, null for null, false for a missing field.

Another provider's images are converted as base64 or by URL, PDFs as documents and files, text
documents as such or as text. Content that only one provider knows (an uploaded file) or accepts
(recordings, office files) is not converted.
"""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from attrs import Factory, define, frozen

from ..errors import InvalidTurnError
from ..media import MediumKind, Source, read_medium, read_source
from ..part import Part, PartKind
from ..turn import Role, ToolCall, Turn
from ..wire_text import compact
from .wire import Message, Provider

MISSING = False
"""The form of a content that is missing."""


@frozen
class Entry:
    """An entry of a layout; `data` holds the whole block, or the further fields of other kinds."""

    kind: PartKind
    data: Message
    text: str = ""
    call: int = 0

    def block(self, natural: str) -> Message:
        """Return the entry as a block; text gets the type `natural` unless `data` names another."""
        if self.kind is PartKind.BLOCK:
            return self.data
        kind = str(self.data.get("type", natural))
        return {**self.data, "type": kind, "refusal" if kind == "refusal" else "text": self.text}


def further_fields(entries: Iterable[Entry], kind: PartKind) -> Message:
    """Return the further fields of the first entry of the given kind, or an empty object."""
    return next((entry.data for entry in entries if entry.kind is kind), {})


@define
class Collector:
    """Collects the content of one turn of `provider`, in the order of its message."""

    provider: Provider
    _texts: list[str] = Factory(list)
    _calls: list[ToolCall] = Factory(list)
    _parts: list[Part] = Factory(list)
    _length: int = 0

    @property
    def last(self) -> Part | None:
        """Return the part that was added last, or None."""
        return self._parts[-1] if self._parts else None

    def message(self, further: Message) -> None:
        """Begin a message with `further` fields."""
        self._put(PartKind.MESSAGE, further)

    def result(self, further: Message) -> None:
        """Record the `further` fields of the block around the result."""
        self._put(PartKind.RESULT, further)

    def words(self, text: str, further: Message) -> None:
        """Add a block of text with `further` fields."""
        start = self._length + 1 if self._texts else 0
        self._texts.append(text)
        self._length = start + len(text)
        self._put(PartKind.WORDS, further, start, self._length)

    def call(self, call: ToolCall, further: Message) -> None:
        """Add a call with `further` fields."""
        self._calls.append(call)
        self._put(PartKind.CALL, further, len(self._calls) - 1)

    def take(self, block: Message, natural: str, texts: Mapping[str, str]) -> None:
        """Add a block, as words if `texts` names the field of its text.

        The type of such a block is recorded unless it is `natural`.
        """
        key = texts.get(block["type"])
        if key is None or not isinstance(block.get(key), str):
            self.block(block)
        else:
            known = ("type", key) if block["type"] == natural else (key,)
            self.words(block[key], without(block, *known))

    def block(self, block: Message) -> None:
        """Add a native block of the provider."""
        self._put(PartKind.BLOCK, block)

    def turn(self, role: Role, **fields: Any) -> Turn:
        """Return the content as a turn (empty text if none), or raise `InvalidTurnError`."""
        text = "\n".join(self._texts) if self._texts else None
        parts = self._unnatural()
        is_empty = (  # A message may exist without any content.
            text is None
            and not self._calls
            and not any(part.kind is PartKind.BLOCK for part in parts)
        )
        return Turn(role, "" if is_empty else text, tool_calls=self._calls, parts=parts, **fields)

    def _put(self, kind: PartKind, data: Message, start: int = 0, stop: int = 0) -> None:
        self._parts.append(Part(str(self.provider), compact(data), kind, start, stop))

    def _unnatural(self) -> list[Part]:
        """Return the parts, except trailing ones that only repeat the default order."""
        parts, call = list(self._parts), len(self._calls)
        natural = partial(Part, str(self.provider), "{}")
        while call and parts[-1:] == [natural(PartKind.CALL, call - 1)]:
            parts.pop()
            call -= 1
        if self._texts and parts[-1:] == [natural(PartKind.WORDS, 0, self._length)]:
            parts.pop()
        return parts


def layout_of(provider: Provider, turn: Turn) -> Iterator[Entry]:
    """Yield the content of `turn` in the order in which `provider` wrote it.

    Convertible media of other providers keep their place. Text and calls that no part places follow
    those that are placed, so none is lost. Native blocks that replace the words are yielded alone.

    Law: content that a `Collector` gathered is returned unchanged.

    Raises:
        InvalidTurnError: A part of this provider is neither a block nor an object of fields.

    >>> [entry.kind.value for entry in layout_of(Provider.OPENAI, Turn("user", "hi"))]
    ['words']
    """
    if not is_native(provider, turn):
        return _layout(provider, turn)
    return (
        Entry(PartKind.BLOCK, _loaded(part))
        for part in turn.parts
        if part.kind is PartKind.NATIVE and part.provider == provider
    )


def _layout(provider: Provider, turn: Turn) -> Iterator[Entry]:
    said, calls, spoken = 0, set[int](), False
    for part in turn.parts:
        if part.provider != provider:
            if (block := convert_part(provider, turn, part)) is not None:
                yield Entry(PartKind.BLOCK, block)
            continue
        if part.kind is PartKind.WORDS:
            yield from _unsaid(turn.text[said : part.start])
            yield Entry(part.kind, _loaded(part), turn.text[part.start : part.stop])
            said, spoken = part.stop, True
        elif part.kind is PartKind.CALL:
            calls.add(part.start)
            yield Entry(part.kind, _loaded(part), call=part.start)
        else:
            yield Entry(part.kind, _loaded(part))
    if spoken:
        yield from _unsaid(turn.text[said:])
    elif turn.content is not None:
        yield Entry(PartKind.WORDS, {}, turn.content)
    for number in range(len(turn.tool_calls)):
        if number not in calls:
            yield Entry(PartKind.CALL, {}, call=number)


def is_native(provider: Provider, turn: Turn) -> bool:
    """Return whether native blocks of `provider` replace the words of `turn`."""
    return bool(turn.parts) and provider in turn.native_providers


def convert_part(provider: Provider, turn: Turn, part: Part) -> Message | None:
    """Return another provider's `part` as a block of `provider`, or None if that is impossible."""
    takes = turn.role is Role.USER or (turn.role is Role.TOOL and provider != Provider.OPENAI)
    if not takes or part.kind is not PartKind.BLOCK or not part.is_medium:
        return None
    return convert_block(_loaded(part), part.provider, provider)


def left_behind(provider: Provider, turn: Turn) -> Iterator[str]:
    """Yield the types of other providers' blocks in `turn` that `provider` cannot receive."""
    for part in turn.parts:
        if (
            part.provider != provider
            and part.kind is PartKind.BLOCK
            and convert_part(provider, turn, part) is None
        ):
            yield part.type


def _unsaid(text: str) -> Iterator[Entry]:
    """Yield text between placed parts, unless it is only the newline that joins blocks."""
    if text.strip("\n"):
        yield Entry(PartKind.WORDS, {}, text.strip("\n"))


def _loaded(part: Part) -> Message:
    try:
        data = json.loads(part.data)
    except (ValueError, RecursionError):
        data = None
    is_block = part.kind in (PartKind.BLOCK, PartKind.NATIVE)
    if not isinstance(data, dict) or (is_block and not isinstance(data.get("type"), str)):
        what, legal = "object of further fields", "a JSON object, as text"
        if is_block:
            what, legal = "block", "a JSON object with a type, as text"
        raise InvalidTurnError("parts.data", f"is no {what} of {part.provider}", legal)
    return data


def is_plain(blocks: Sequence[Message], kind: str) -> bool:
    """Return whether `blocks` are one text block of type `kind` without further fields."""
    return len(blocks) == 1 and set(blocks[0]) == {"type", "text"} and blocks[0]["type"] == kind


def without(message: Mapping[str, Any], *names: str) -> Message:
    """Return the fields of `message` except those with these names.

    >>> without({"type": "text", "text": "hi", "id": 1}, "type", "text")
    {'id': 1}
    """
    return {name: value for name, value in message.items() if name not in names}


ANTHROPIC, CHAT, RESPONSES = "anthropic", "openai", "openai-responses"

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""The image formats that every provider accepts."""

PDF = "application/pdf"
UNNAMED = "document.pdf"
"""The name of a file without a name, if a name is required."""

_OWN = {
    ANTHROPIC: frozenset({"image", "document"}),
    CHAT: frozenset({"image_url", "file"}),
    RESPONSES: frozenset({"input_image", "input_file"}),
}
"""The block types of each provider that can be converted."""


def convert_block(block: Mapping[str, Any], source: str, target: str) -> Message | None:
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
        return {
            "type": "image",
            "source": {"type": "url", "url": link} if link else _base64(media_type, data or ""),
        }
    url = link or f"data:{media_type};base64,{data}"
    detail = {"detail": found.detail} if found.detail else {}
    if target == RESPONSES:
        return {"type": "input_image", "image_url": url} | detail
    return {"type": "image_url", "image_url": {"url": url} | detail}


def _text(text: str, name: str, target: str) -> Message | None:
    if not text.strip():
        return None
    if target == ANTHROPIC:
        return _titled({"type": "text", "media_type": "text/plain", "data": text}, name)
    return {
        "type": "input_text" if target == RESPONSES else "text",
        "text": f"{name}\n\n{text}" if name else text,
    }


def _inner_text(block: Mapping[str, Any]) -> str | None:
    """Return the text of a document made of blocks, or None if it has other blocks than text."""
    match block:
        case {"source": {"type": "content", "content": [_, *_] as inner}}:
            texts = [text for each in inner if (text := _block_text(each)) is not None]
            return "\n".join(texts) if len(texts) == len(inner) else None
        case _:
            return None


def _block_text(block: object) -> str | None:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case _:
            return None


def _same_vendor(found: Source, source: str, target: str) -> Message | None:
    if found.file_id is None or ANTHROPIC in (source, target):
        return None
    if target == CHAT:
        return {"type": "file", "file": {"file_id": found.file_id}}
    return {"type": "input_file", "file_id": found.file_id}


def _document(found: Source, media_type: str) -> Message | None:
    if found.data and media_type == PDF:
        return _titled(_base64(PDF, found.data), found.name)
    if _is_web(found.url) and _may_be_pdf(found.url or ""):
        return _titled({"type": "url", "url": found.url}, found.name)
    return None


def _file(found: Source, media_type: str) -> Message | None:
    if not found.data or media_type != PDF:
        return None
    return {
        "type": "file",
        "file": {"filename": found.name or UNNAMED, "file_data": f"data:{PDF};base64,{found.data}"},
    }


def _input_file(found: Source, media_type: str) -> Message | None:
    if _is_web(found.url):
        return {"type": "input_file", "file_url": found.url}
    if not found.data or not media_type:
        return None
    return {
        "type": "input_file",
        "filename": found.name or UNNAMED,
        "file_data": f"data:{media_type};base64,{_spelled(found)}",
    }


_WRITERS = {ANTHROPIC: _document, CHAT: _file, RESPONSES: _input_file}


def _spelled(found: Source) -> str:
    data = found.data or ""
    return base64.b64encode(data.encode()).decode() if found.plain else data


def _base64(media_type: str, data: str) -> Message:
    return {"type": "base64", "media_type": media_type, "data": data}


def _titled(source: Message, name: str) -> Message:
    return {"type": "document", "source": source} | ({"title": name} if name else {})


def _is_web(url: str | None) -> bool:
    return url is not None and url.startswith(("https://", "http://"))


def _may_be_pdf(url: str) -> bool:
    try:
        suffix = PurePosixPath(urlsplit(url).path).suffix.lower()
    except ValueError:
        return False
    return suffix in ("", ".pdf")
