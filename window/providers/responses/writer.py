"""Turns written as input items of OpenAI's Responses: a turn is a run of items."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from attrs import Factory, define

from ...part import PartKind
from ...turn import Role, ToolCall, Turn
from ..blocks import loaded_object, stand_in
from ..breach import MAX_TOOL_NAME
from ..layout import MISSING, Entry, further_fields, is_native, layout_of, without
from ..wire import Message, Provider, Rendered, aliases
from .item_rules import MAX_ID
from .rules import TRIGGER

CONTENT = frozenset(
    {
        "input_text",
        "output_text",
        "text",
        "refusal",
        "input_image",
        "input_file",
        "input_audio",
        "output_audio",
    }
)
"""Types of what stands inside of a message; blocks of all other types are items of their own."""

TEXTS = {"input_text": "text", "output_text": "text", "text": "text", "refusal": "refusal"}
"""Which field of each kind of content holds text."""

OF_THE_CALLER = {
    "additional_tools": Role.SYSTEM,
    "mcp_approval_response": Role.USER,
    TRIGGER: Role.USER,
}
"""Items that no model makes and that answer no call, and whose turns they are."""

COMPACTION = "compaction"
"""The type of an item that stands for all that was said before it; where it comes first it is the
user's word."""

BODIES = {"function_call": "arguments", "custom_tool_call": "input"}
"""What the calls of a caller's own tools say to them by. Other calls say it by all of their fields.
"""

CALL_FIELDS = ("type", "id", "call_id", "name", "status")
"""Fields of a call that are no arguments of it."""

_NATURAL = object()

JSON: Message = {}
"""The form of an output that is JSON data, told as text in the turn; an empty list, which has no
text, has the form null."""


@define
class Spoken:
    """Hold a message item in the making: its further fields, the type of its texts, and its content."""

    role: str
    further: Message
    kind: str
    blocks: list[Message] = Factory(list)

    def item(self) -> Message:
        """Return the item; its content is a text where that is all, unless it came as a list."""
        form = self.further.get("content", _NATURAL)
        item = {**without(self.further, "content"), "role": self.role}
        if isinstance(form, list) and form:
            # Content of a type that nobody knows is carried as it is.
            return {**item, "content": form}
        is_plain = len(self.blocks) == 1 and self.blocks[0] == {
            "type": self.kind,
            "text": self.blocks[0].get("text"),
        }
        if form is None and all(block == {"type": self.kind, "text": ""} for block in self.blocks):
            return {**item, "content": []}
        if form == [] or not is_plain:
            return {**item, "content": self.blocks}
        return {**item, "content": self.blocks[0]["text"]}


@define
class Writer:
    """Write turns one after the other; see `wire.Writer`. Every item can be read again."""

    readable: bool = False
    _items: list[Message] = Factory(list)
    _ids: dict[str, str] = Factory(dict)
    _kinds: dict[str, str] = Factory(dict)

    @property
    def size(self) -> int:
        """Return how many stand so far."""
        return len(self._items)

    def add(self, turn: Turn) -> None:
        """Write `turn` behind the others."""
        entries = list(layout_of(Provider.RESPONSES, turn))
        if self._items and self._items[-1].get("type") == TRIGGER:
            self._items.pop()
        if turn.tool_calls:
            self._ids = aliases((call.id for call in turn.tool_calls), MAX_ID, any_sign=True)
            further = {entry.call: entry.data for entry in entries if entry.kind is PartKind.CALL}
            self._kinds = {
                call.id: str(further[number].get("type", "function_call"))
                for number, call in enumerate(turn.tool_calls)
            }
        if turn.role is Role.TOOL:
            self._items.append(
                _output(
                    turn,
                    entries,
                    self._ids,
                    self._kinds.get(turn.tool_call_id or "", "function_call"),
                )
            )
        elif is_native(Provider.RESPONSES, turn):
            # What stands before a compaction is not shown to the model: what the system says comes
            # behind it.
            self._items = [*(entry.data for entry in entries), *self._items]
        else:
            self._items += _items(turn, entries, self._ids)

    def finish(self) -> Rendered:
        """Return what was written."""
        return Rendered(list(self._items))


def _items(turn: Turn, entries: Sequence[Entry], ids: dict[str, str]) -> list[Message]:
    items = list(_run(turn, entries, ids))
    return items or [{"role": turn.role.value, "content": stand_in(turn)}]


def _run(turn: Turn, entries: Sequence[Entry], ids: dict[str, str]) -> Iterator[Message]:
    names = aliases((call.name for call in turn.tool_calls), MAX_TOOL_NAME)
    message: Spoken | None = None
    for entry in entries:
        is_inside = entry.kind is PartKind.WORDS or (
            entry.kind is PartKind.BLOCK and _is_content(turn.role, entry.data["type"])
        )
        if message is not None and not is_inside:
            yield message.item()
            message = None
        if entry.kind is PartKind.CALL:
            call = turn.tool_calls[entry.call]
            yield call_item(
                call, entry.data, ids.get(call.id, call.id), names.get(call.name, call.name)
            )
        elif entry.kind is PartKind.MESSAGE:
            message = _message(turn.role, entry.data)
        elif is_inside:
            message = message or _message(turn.role, {})
            message.blocks.append(entry.block(message.kind))
        elif entry.kind is PartKind.BLOCK:
            yield entry.data
    if message is not None:
        yield message.item()


def _is_content(role: Role, kind: str) -> bool:
    """Tell whether a block stands inside of a message: what the model makes beside its messages are items of their own."""
    return (
        kind in CONTENT
        if role is Role.ASSISTANT
        else kind not in OF_THE_CALLER and kind != COMPACTION
    )


def _message(role: Role, further: Message) -> Spoken:
    is_developer = role is Role.SYSTEM and further.get("role") == "developer"
    kind = "output_text" if role is Role.ASSISTANT else "input_text"
    return Spoken("developer" if is_developer else role.value, without(further, "role"), kind)


def call_item(call: ToolCall, further: Message, call_id: str, name: str) -> Message:
    """Return the item of one call: of a caller's own tool by name, of others by their fields."""
    kind = str(further.get("type", "function_call"))
    if kind in BODIES:
        return {
            **further,
            "type": kind,
            "call_id": call_id,
            "name": name,
            BODIES[kind]: call.arguments,
        }
    return {**(loaded_object(call.arguments) or {}), **further, "type": kind, "call_id": call_id}


def _output(turn: Turn, entries: Sequence[Entry], ids: dict[str, str], kind: str) -> Message:
    further = further_fields(entries, PartKind.RESULT)
    inside = (PartKind.WORDS, PartKind.BLOCK)
    blocks = [entry.block("input_text") for entry in entries if entry.kind in inside]
    call_id = turn.tool_call_id or ""
    item = {
        "type": output_type(kind),
        **without(further, "output"),
        "call_id": ids.get(call_id, call_id),
    }
    output = _content(turn, blocks, further.get("output", "natural"))
    return item if output is MISSING else {**item, "output": output}


def output_type(kind: str) -> str:
    """Return the type of the item that answers a call of type `kind`.

    >>> output_type("custom_tool_call"), output_type("tool_search_call")
    ('custom_tool_call_output', 'function_call_output')
    """
    return "function_call_output" if kind == "tool_search_call" else f"{kind}_output"


def _content(turn: Turn, blocks: list[Message], form: object) -> Any:
    if form is MISSING and not turn.text:
        return MISSING
    if form == JSON:
        return blocks[0] if turn.content is None and blocks else _loaded(turn.text)
    plain = not blocks or (
        len(blocks) == 1 and blocks[0] == {"type": "input_text", "text": turn.text}
    )
    if form is None and not turn.text and plain:
        return []
    if form == [] or not plain:
        return blocks
    return stand_in(turn) if turn.content is None else turn.text


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
