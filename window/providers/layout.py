"""The layout of a message: its conversion into a turn with parts, and back.

All formats share an order of text, calls and blocks, and further fields of each. A `Collector`
gathers these into a turn; `layout_of` yields them in the same order. Content in the default order
(one plain text, then the calls) needs no parts, so that the turn equals one created by hand.

Unless it is the provider's default, the form of a content is recorded in a field `content` of
MESSAGE and of RESULT: "" for plain text, [] for a list, null for null, false for a missing field.

Another provider's media keep their place in this provider's form, if there is one.
"""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from attrs import Factory, define, frozen

from ..errors import InvalidMessagesError, InvalidTurnError
from ..media import describe_block
from ..media_conversion import convert_block
from ..part import Part, PartKind
from ..turn import Role, ToolCall, Turn
from ..wire_text import compact
from .places import Place
from .wire import Message, Provider

TEXT: Message = {"type": "text"}
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


def accepted(
    block: Message,
    check: Callable[..., object],
    place: Place,
    line: Message = TEXT,
    key: str = "text",
    **options: Any,
) -> Message:
    """Return `block` if `check` does, or else a `line` whose `key` says that it was left out.

    What a server or a framework gave is kept, but not sent where the vendor would refuse it.
    """
    try:
        check(block, place, **options)
    except InvalidMessagesError as error:
        _LOG.warning("left out of the messages for %s: %s", place.provider, error)
        return {**line, key: describe_block(block)}
    return block


_LOG = logging.getLogger("polycontext.window.providers")


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
        what, legal = "an object of further fields", "a JSON object, as text"
        if is_block:
            what, legal = "a block", "a JSON object with a type, as text"
        raise InvalidTurnError("parts.data", f"is not {what} of {part.provider}", legal)
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
