"""The layout of a message: read into a turn and its parts, and written from them again.

What a format shares with the others is in which order text, calls and blocks stand, and which
further fields they have. A `Collector` takes these in as they come and gives the turn; `layout_of`
gives them back in the same order. What stands in the natural order (one plain text, then the calls)
needs no part, so that such a turn looks as if it were made by hand.

The form of a content is told by one further field, `content` of MESSAGE and of RESULT: an empty
text for a plain text, an empty list for a list, null for null, false where the field is not there
at all. It is absent where the form is the natural one of that provider.

Another provider's pictures go along as base64 or by their URL, PDFs as documents and files, text
documents as such or as text. What one provider alone knows (an uploaded file) or takes (recordings,
office files) does not.
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
from ..part import Part, PartKind, native_providers
from ..turn import Role, ToolCall, Turn
from .blocks import compact
from .wire import Message, Provider

MISSING = False
"""The form of a content that is not there."""


@frozen
class Entry:
    """Hold one entry of a layout: what kind it is, its further fields (of a block all of it), its text, or the number of its call."""

    kind: PartKind
    data: Message
    text: str = ""
    call: int = 0

    def block(self, natural: str) -> Message:
        """Return the block that this is.

        Text is one of the type `natural` unless it says another.
        """
        if self.kind is PartKind.BLOCK:
            return self.data
        kind = str(self.data.get("type", natural))
        return {**self.data, "type": kind, "refusal" if kind == "refusal" else "text": self.text}


def further_fields(entries: Iterable[Entry], kind: PartKind) -> Message:
    """Return the further fields of the first entry of that kind."""
    return next((entry.data for entry in entries if entry.kind is kind), {})


@define
class Collector:
    """Take in one turn of `provider` as it stands in its message."""

    provider: Provider
    _texts: list[str] = Factory(list)
    _calls: list[ToolCall] = Factory(list)
    _parts: list[Part] = Factory(list)
    _length: int = 0

    @property
    def last(self) -> Part | None:
        """Return what was taken in last."""
        return self._parts[-1] if self._parts else None

    def message(self, further: Message) -> None:
        """Say that a message begins here, with `further` fields."""
        self._put(PartKind.MESSAGE, further)

    def result(self, further: Message) -> None:
        """Say that the block around the result has `further` fields."""
        self._put(PartKind.RESULT, further)

    def words(self, text: str, further: Message) -> None:
        """Take in a block of text with `further` fields."""
        start = self._length + 1 if self._texts else 0
        self._texts.append(text)
        self._length = start + len(text)
        self._put(PartKind.WORDS, further, start, self._length)

    def call(self, call: ToolCall, further: Message) -> None:
        """Take in a call with `further` fields."""
        self._calls.append(call)
        self._put(PartKind.CALL, further, len(self._calls) - 1)

    def block(self, block: Message) -> None:
        """Take in a block of the provider's own."""
        self._put(PartKind.BLOCK, block)

    def turn(self, role: Role, **fields: Any) -> Turn:
        """Return what was taken in as a turn; one of nothing at all has an empty text.

        Raises:
            InvalidTurnError: the turn refuses it.
        """
        text = "\n".join(self._texts) if self._texts else None
        parts = self._unnatural()
        # A message may be there without anything in it.
        is_empty = (
            text is None
            and not self._calls
            and not any(part.kind is PartKind.BLOCK for part in parts)
        )
        return Turn(role, "" if is_empty else text, tool_calls=self._calls, parts=parts, **fields)

    def _put(self, kind: PartKind, data: Message, start: int = 0, stop: int = 0) -> None:
        self._parts.append(Part(str(self.provider), compact(data), kind, start, stop))

    def _unnatural(self) -> list[Part]:
        """Return the parts without those at the end that say no more than the natural order does."""
        parts, call = list(self._parts), len(self._calls)
        natural = partial(Part, str(self.provider), "{}")
        while call and parts[-1:] == [natural(PartKind.CALL, call - 1)]:
            parts.pop()
            call -= 1
        if self._texts and parts[-1:] == [natural(PartKind.WORDS, 0, self._length)]:
            parts.pop()
        return parts


def layout_of(provider: Provider, turn: Turn) -> Iterator[Entry]:
    """Iterate over what `turn` holds in the order in which `provider` wrote it.

    Of other providers' parts the media that can go along come first.

    Text that no part places comes behind those that are placed, then calls likewise: no word and no
    call is lost. Where blocks of the provider's own stand for the words, they are all.
    Law: what a `Collector` took in comes out as it came in.

    Raises:
        InvalidTurnError: a part of this provider is no block, or no object of further fields.

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
    """Tell whether blocks of `provider`'s own stand for the words of `turn`."""
    return bool(turn.parts) and provider in native_providers(turn.parts)


def convert_part(provider: Provider, turn: Turn, part: Part) -> Message | None:
    """Return the block that another provider's `part` of `turn` is for `provider`.

    None where it cannot go along.
    """
    takes = turn.role is Role.USER or (turn.role is Role.TOOL and provider != Provider.OPENAI)
    if not takes or part.kind is not PartKind.BLOCK or not part.is_medium:
        return None
    return convert_block(_loaded(part), part.provider, provider)


def left_behind(provider: Provider, turn: Turn) -> Iterator[str]:
    """Yield the types of blocks of `turn` that another provider wrote and that cannot go along to `provider`."""
    for part in turn.parts:
        if (
            part.provider != provider
            and part.kind is PartKind.BLOCK
            and convert_part(provider, turn, part) is None
        ):
            yield part.type


def _unsaid(text: str) -> Iterator[Entry]:
    """Yield text that stands between what parts place, unless it is the line end that joins blocks."""
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
    """Tell whether `blocks` are one text of the natural type of which nothing else is said."""
    return len(blocks) == 1 and set(blocks[0]) == {"type", "text"} and blocks[0]["type"] == kind


def without(message: Message, *names: str) -> Message:
    """Return the fields of `message` but those of these names.

    >>> without({"type": "text", "text": "hi", "id": 1}, "type", "text")
    {'id': 1}
    """
    return {name: value for name, value in message.items() if name not in names}


def fresh(value: Any) -> Any:
    """Return a copy of plain JSON data that shares nothing with `value` that could be changed."""
    if type(value) is dict:
        return {
            name: inner if type(inner) is str else fresh(inner) for name, inner in value.items()
        }
    return [fresh(inner) for inner in value] if type(value) is list else value


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


def convert_block(block: Mapping[str, Any], source: str, target: str) -> Message | None:
    """Return a medium's `block` of provider `source` as a block of `target`, None where it cannot go along.

    The result shares nothing with `block` but texts; marks of the provider's own (cache marks,
    citations) stay behind. A block stays what it is for its own provider.

    Law: what is returned is a block that `target` takes in a user's message.

    >>> convert_block({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}, "openai", "anthropic")
    {'type': 'image', 'source': {'type': 'base64', 'media_type': 'image/png', 'data':
    'iVBORw0KGgo='}}
    >>> convert_block({"type": "image", "source": {"type": "file", "file_id": "file_1"}}, "anthropic", "openai") is None
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
    """Return the text of a document that is made of blocks, None where it has others than text."""
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
