"""Messages as private copies that are known to be JSON data, and their content as typed blocks.

Whatever a caller hands in is copied and judged in one pass (`linearity.json_data`):
everything behind this door may index, compare and write the copy without ever
failing on bytes, NaN, cycles or text that cannot be stored. Text blocks become a turn's
content; every other block is carried as a `Part`, byte for byte, marked with the
provider it belongs to.
"""

import json
import reprlib
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from attrs import frozen

from polycontext.linearity import InvalidDataError
from polycontext.linearity.json_data import STORABLE, copied
from polycontext.window.errors import InvalidMessagesError, InvalidTurnError
from polycontext.window.part import Part, PartKind
from polycontext.window.providers.wire import Message, Provider
from polycontext.window.turn import Turn

EMPTY = "[empty]"
"""What stands where a provider refuses emptiness."""

FOREIGN = "[content in another provider's format]"
"""What stands for a turn that holds nothing but another provider's blocks."""

_INTEGERS = range(-(2**1024), 2**1024)
"""What a JSON reader that works in doubles can still hold."""


@frozen
class Place:
    """Stand for one message of a list, to say where an error is."""

    provider: Provider
    index: int | None

    def refuse(self, rule: str, problem: str, legal: str) -> InvalidMessagesError:
        """Return the error that says `rule` is broken here."""
        return InvalidMessagesError(str(self.provider), self.index, rule, problem, legal)

    def no_json(self, path: str, problem: str, legal: str) -> InvalidMessagesError:
        """Return the error that says what stands at `path` is no JSON data."""
        return self.refuse("lone-surrogate" if legal == STORABLE else "not-json", f"{path or 'the message'}: {problem}", legal)

    @contextmanager
    def turn_errors(self) -> Generator[None]:
        """Let a refused turn surface as a refused message that names index and field."""
        try:
            yield
        except InvalidTurnError as error:
            raise self.refuse("bad-turn", f"{error.field}: {error.problem}", error.legal) from error


def shown(value: object) -> str:
    """Return a short printable form of `value`: text is quoted and cut, other things give their type."""
    return reprlib.repr(str(value)) if isinstance(value, str) else type(value).__name__


def copied_messages(provider: Provider, messages: object) -> list[Message]:
    """Return a deep copy of `messages`, a non-empty list of JSON objects.

    Raises:
        InvalidMessagesError: rules not-a-list, empty-list, not-an-object, not-json, lone-surrogate.
    """
    whole = Place(provider, None)
    if not isinstance(messages, list | tuple):
        raise whole.refuse("not-a-list", f"{type(messages).__name__} is no list", "a list of messages")
    if not messages:
        raise whole.refuse("empty-list", "there is no message", "at least one message")
    copies: list[Message] = []
    for index, message in enumerate(messages):
        place = Place(provider, index)
        if not isinstance(message, Mapping):
            legal = "an object with a role; for an object of an SDK its model_dump(exclude_none=True)"
            raise place.refuse("not-an-object", f"{type(message).__name__} is no object", legal)
        copies.append(copied(message, "", place.no_json, integers=_INTEGERS))
    return copies


def compact(value: object) -> str:
    """Return JSON text without spaces, key order kept.

    >>> compact({"b": [1, "ä"], "a": None})
    '{"b":[1,"ä"],"a":null}'
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def loaded_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object that `text` holds, or None if it holds none that could be sent.

    >>> loaded_object('{"city": "Paris"}'), loaded_object('{"x": NaN}'), loaded_object("Paris")
    ({'city': 'Paris'}, None, None)
    """
    try:
        # Judged as deep inside a message as it will stand there.
        value = copied([[[json.loads(text)]]], integers=_INTEGERS)[0][0][0]
    except (ValueError, RecursionError, InvalidDataError):
        return None
    return value if isinstance(value, dict) else None


def check_blocks(blocks: Sequence[object], place: Place, where: str) -> list[Message]:
    """Return `blocks` if each is an object with a type, and text blocks hold text."""
    checked: list[Message] = []
    for index, block in enumerate(blocks):
        if not isinstance(block, dict):
            raise place.refuse("bad-content", f"{where}[{index}] is {shown(block)}", "an object with a type")
        if not isinstance(block.get("type"), str):
            raise place.refuse("bad-content", f"{where}[{index}].type is {shown(block.get('type'))}", "the block's type as text")
        if block["type"] == "text" and not isinstance(block.get("text"), str):
            raise place.refuse("bad-content", f"{where}[{index}].text is {shown(block.get('text'))}", "text")
        checked.append(block)
    return checked


def text_and_parts(provider: Provider, blocks: Iterable[Message]) -> tuple[str | None, tuple[Part, ...]]:
    """Return the text of `blocks`, joined by line ends (None where there is none), and all else as parts."""
    texts: list[str] = []
    before: list[Part] = []
    behind: list[Part] = []
    for block in blocks:
        if block["type"] == "text":
            texts.append(block["text"])
        else:
            (behind if texts else before).append(Part(str(provider), compact(block)))
    text = "\n".join(texts) if texts else None
    words = [Part(str(provider), "{}", PartKind.WORDS, 0, len(text))] if behind and text is not None else []
    return text, (*before, *words, *behind)


def own_blocks(provider: Provider, turn: Turn, *, blank: bool = True) -> list[Message]:
    """Return `turn` as blocks: its parts around its text. Parts of other providers are left out.

    With ``blank=False`` text without a visible character is left out as well.

    Raises:
        InvalidTurnError: a part of this provider is no block.
    """
    blocks: list[Message] = []
    has_text = turn.content is not None and (blank or is_visible(turn.content))
    placed = False
    for part in turn.parts:
        if part.provider != provider:
            continue
        if part.kind is PartKind.BLOCK:
            blocks.append(_loaded(part))
        elif part.kind is PartKind.WORDS and has_text and not placed:
            blocks.append({"type": "text", "text": turn.content})
            placed = True
    return blocks if placed or not has_text else [*blocks, {"type": "text", "text": turn.content}]


def _loaded(part: Part) -> Message:
    try:
        block = json.loads(part.data)
    except ValueError:
        block = None
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        raise InvalidTurnError("parts.data", f"is no block of {part.provider}", "a JSON object with a type, as text")
    return block


def is_visible(text: str) -> bool:
    """Tell whether `text` holds anything but white space.

    >>> is_visible("a "), is_visible(" "), is_visible("")
    (True, False, False)
    """
    return bool(text) and not text.isspace()


def stand_in(turn: Turn) -> str:
    """Return what stands for a turn of which nothing can be written."""
    return FOREIGN if turn.parts else EMPTY
