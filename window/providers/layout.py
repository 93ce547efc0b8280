"""The layout of a message: read into a turn and its parts, and written from them again.

What a format shares with the others is in which order text, calls and blocks stand, and which
further fields they have. A `Collector` takes these in as they come and gives the turn; `laid_out`
gives them back in the same order. What stands in the natural order (one plain text, then the calls)
needs no part, so that such a turn looks as if it were made by hand.

The form of a content is told by one further field, `content` of MESSAGE and of RESULT: an empty text for
a plain text, an empty list for a list, null for null, false where the field is not there at all. It is
absent where the form is the natural one of that provider.
"""

import json
from collections.abc import Iterator
from typing import Any

from attrs import Factory, define, frozen

from ..errors import InvalidTurnError
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
        is_empty = text is None and not self._calls and not any(part.kind is PartKind.BLOCK for part in parts)
        return Turn(role, "" if is_empty else text, tool_calls=self._calls, parts=parts, **fields)

    def _put(self, kind: PartKind, data: Message, start: int = 0, stop: int = 0) -> None:
        self._parts.append(Part(str(self.provider), compact(data), kind, start, stop))

    def _unnatural(self) -> list[Part]:
        """Return the parts without those at the end that say no more than the natural order does."""
        parts, call = list(self._parts), len(self._calls)
        while parts and parts[-1] == Part(str(self.provider), "{}", PartKind.CALL, call - 1 if call else 0) and call:
            parts.pop()
            call -= 1
        if parts and self._texts and parts[-1] == Part(str(self.provider), "{}", PartKind.WORDS, 0, self._length):
            parts.pop()
        return parts


def laid_out(provider: Provider, turn: Turn) -> Iterator[Entry]:
    """Iterate over what `turn` holds in the order in which `provider` wrote it; of other providers' parts the media that can go along come first.

    Text that no part places comes behind those that are placed, then calls likewise: no word and no call is lost. Where blocks of the
    provider's own stand for the words, they are all.
    Law: what a `Collector` took in comes out as it came in.

    Raises:
        InvalidTurnError: a part of this provider is no block, or no object of further fields.

    >>> [entry.kind.value for entry in laid_out(Provider.OPENAI, Turn("user", "hi"))]
    ['words']
    """
    return _native_blocks(provider, turn) if is_native(provider, turn) else _laid_out(provider, turn)


def _native_blocks(provider: Provider, turn: Turn) -> Iterator[Entry]:
    return (Entry(PartKind.BLOCK, _loaded(part)) for part in turn.parts if part.kind is PartKind.NATIVE and part.provider == provider)


def _laid_out(provider: Provider, turn: Turn) -> Iterator[Entry]:
    said, calls, spoken = 0, set[int](), False
    for part in turn.parts:
        if part.provider != provider:
            if (block := brought_along(provider, turn, part)) is not None:
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


_TAKE_MEDIA = {
    Provider.ANTHROPIC: frozenset({Role.USER, Role.TOOL}),
    Provider.OPENAI: frozenset({Role.USER}),
    Provider.RESPONSES: frozenset({Role.USER, Role.TOOL}),
}


def brought_along(provider: Provider, turn: Turn, part: Part) -> Message | None:
    """Return the block that another provider's `part` of `turn` is for `provider`; None where it cannot go along."""
    if part.kind is not PartKind.BLOCK or not part.is_medium or turn.role not in _TAKE_MEDIA[provider]:
        return None
    from .media_conversion import converted  # noqa: PLC0415 - for those who change providers

    return converted(_loaded(part), part.provider, provider)


def left_behind(provider: Provider, turn: Turn) -> Iterator[str]:
    """Yield the types of blocks of `turn` that another provider wrote and that cannot go along to `provider`."""
    for part in turn.parts:
        if part.provider != provider and part.kind is PartKind.BLOCK and brought_along(provider, turn, part) is None:
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
        what, legal = (
            ("block", "a JSON object with a type, as text") if is_block else ("object of further fields", "a JSON object, as text")
        )
        raise InvalidTurnError("parts.data", f"is no {what} of {part.provider}", legal)
    return data


def without(message: Message, *names: str) -> Message:
    """Return the fields of `message` but those of these names.

    >>> without({"type": "text", "text": "hi", "id": 1}, "type", "text")
    {'id': 1}
    """
    return {name: value for name, value in message.items() if name not in names}


def fresh(value: Any) -> Any:
    """Return a copy of plain JSON data that shares nothing with `value` that could be changed."""
    if type(value) is dict:
        return {name: inner if type(inner) is str else fresh(inner) for name, inner in value.items()}
    return [fresh(inner) for inner in value] if type(value) is list else value
