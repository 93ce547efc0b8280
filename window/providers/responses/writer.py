"""The renderer of turns as Responses input items; a turn becomes a run of items."""

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from attrs import Factory, asdict, define

from ...call_ids import SentCalls
from ...part import PartKind
from ...turn import Role, ToolCall, Turn
from ...wire_text import loaded_arguments, stand_in
from ..layout import (
    MISSING,
    Entry,
    accepted,
    further_fields,
    is_native,
    is_plain,
    layout_of,
    without,
)
from ..media_room import BLANK_SCREEN, MediaRoom
from ..openai_places import MAX_TOOL_NAME, OpenAIPlace
from ..wire import Message, Provider, Rendered, ToolDefinition
from .item_rules import INPUT, MAX_ID, OUTPUT, check_item, check_part, type_of
from .rules import ANSWERS, CALLS, PROGRAM_OUTPUT, TRIGGER, is_made, is_own_reasoning

CONTENT = frozenset({*INPUT, *OUTPUT, "text", "output_audio"})
"""The types of content inside a message; blocks of all other types are separate items."""

TEXTS = {"input_text": "text", "output_text": "text", "text": "text", "refusal": "refusal"}
"""The field of each content type that holds its text."""

OF_THE_CALLER = {
    "additional_tools": Role.SYSTEM,
    "mcp_approval_response": Role.USER,
    TRIGGER: Role.USER,
}
"""Items that neither come from the model nor answer a call, with the role of their turn."""

COMPACTION = "compaction"
"""The type of an item that replaces everything before it.

A leading one counts as the user's turn.
"""

FUNCTION = "function_call"
BODIES = {FUNCTION: "arguments", "custom_tool_call": "input"}
"""The field that holds the arguments of calls of the caller's own tools.

For other calls, all fields are arguments.
"""

CALL_FIELDS = ("type", "id", "call_id", "name", "status")
"""The fields of a call that are not arguments."""

_NATURAL = object()
_LEGAL_ID = re.compile(rf"(?s).{{1,{MAX_ID}}}")
_ITEM = OpenAIPlace(Provider.RESPONSES)
_SAID = CALLS | {"message", PROGRAM_OUTPUT}

JSON: Message = {}
"""The form of an output that is JSON data, which is text in the turn.

An empty list, which has no text, has the form null.
"""


@define
class Spoken:
    """A message item under construction: further fields, type of its texts, and content."""

    role: str
    further: Message
    kind: str
    blocks: list[Message] = Factory(list)

    def item(self) -> Message:
        """Return the item; single plain text becomes a string, unless it was parsed from a list."""
        form = self.further.get("content", _NATURAL)
        blocks = [*map(self._typed, self.blocks)]
        item = {**without(self.further, "content"), "role": self.role}
        if isinstance(form, list) and form:
            # Content of an unknown type is kept unchanged.
            return {**item, "content": [_part(block, self.kind, OUTPUT) for block in form]}
        if form is None and all(block == {"type": self.kind, "text": ""} for block in blocks):
            return {**item, "content": []}
        if form == [] or not is_plain(blocks, self.kind):
            return {**item, "content": blocks}
        return {**item, "content": blocks[0]["text"]}

    def _typed(self, block: Message) -> Message:
        """Return a part as a message of this role may hold it; text gets the role's type."""
        if TEXTS.get(block["type"]) == "text":
            return {**block, "type": self.kind}
        return _part(block, self.kind, OUTPUT if self.role == "assistant" else INPUT)


@define
class Writer:
    """Renders turns incrementally; see `wire.Writer`. Every item can be parsed again."""

    readable: bool = False
    _items: list[Message] = Factory(list)
    _calls: SentCalls = Factory(lambda: SentCalls(_LEGAL_ID.fullmatch, "log", MAX_TOOL_NAME))
    _kinds: dict[str, str] = Factory(dict)
    _programs: dict[str, int] = Factory(dict)
    """The places of the programs that have no output yet, by id."""
    _requested: set[str] = Factory(set)
    _known: dict[object, Message] = Factory(dict)
    """The items with an id, by it."""
    _room: MediaRoom = Factory(partial(MediaRoom, Provider.RESPONSES))

    @property
    def size(self) -> int:
        """Return the number of items so far."""
        return len(self._items)

    def add(self, turn: Turn) -> None:
        """Append `turn`."""
        entries = list(layout_of(Provider.RESPONSES, turn))
        if self._items and self._items[-1].get("type") == TRIGGER:
            self._items.pop()
        if turn.tool_calls:
            self._calls.add(turn)
            further = {entry.call: entry.data for entry in entries if entry.kind is PartKind.CALL}
            self._kinds = {
                call.id: str(further[number].get("type", FUNCTION))
                for number, call in enumerate(turn.tool_calls)
            }
        items = list[Message]()
        if turn.role is Role.TOOL:
            called = self._kinds.get(turn.tool_call_id or "")
            items = _output(turn, entries, self._calls.answered(turn), called)
        elif is_native(Provider.RESPONSES, turn):
            # The model does not see anything before a compaction, so earlier system messages move
            # after it.
            self._items = [*(entry.data for entry in entries), *self._items]
        else:
            items = [*_run(turn, entries, self._calls)] or [_line(turn.role, stand_in(turn))]
        self._add(items)
        self._room.add(items)

    def _add(self, items: Sequence[Message]) -> None:
        """Append `items`; reasoning without the item that the model made behind it is left out."""
        for given in items:
            item = self._identified(self._placed(given))
            if item is None:
                continue
            while self._items and is_own_reasoning(self._items[-1]) and not is_made(item):
                self._items.pop()
            self._items.append(item)

    def _identified(self, item: Message) -> Message | None:
        """Return `item` without an id that an earlier item has, or that is empty or too long.

        Returns None if it repeats that item, unless it is said or called again.
        """
        own, kind = item.get("id"), type_of(item)
        has_own = bool(own) and isinstance(own, str) and kind not in ANSWERS.keys() - _SAID
        earlier = self._known.setdefault(own, item) if has_own else item
        if earlier is item:
            is_legal = own is None or 0 < len(own) <= MAX_ID
            return item if is_legal else _answered(without(item, "id"))
        is_again = kind == "item_reference" or (earlier == item and kind not in _SAID)
        return None if is_again else _answered(without(item, "id"))

    def _placed(self, item: Message) -> Message:
        """Return `item`, in another form if it belongs to a program that is gone.

        A program that has no output when the user goes on is left out.
        """
        kind, call_id = item.get("type"), str(item.get("call_id"))
        if kind == "program":
            self._programs[call_id] = len(self._items)
        elif kind == "mcp_approval_request":
            self._requested.add(str(item.get("id")))
        elif kind == "mcp_approval_response":
            # The request may have gone into a summary.
            is_known = str(item.get("approval_request_id")) in self._requested
            return item if is_known else {**_left_out(kind), "role": "user"}
        elif kind == PROGRAM_OUTPUT and self._programs.pop(call_id, None) is None:
            return _left_out(kind)
        elif kind in (None, "message") and item["role"] == "user" and self._programs:
            first = min(self._programs.values())
            left = [*map(self._without_program, self._items[first:])]
            for each in left:
                self._known.pop(each.get("id"), None)
            del self._items[first:]
            self._programs.clear()
            self._add(left)
        caller = _caller_of(item)
        return item if caller in (None, *self._programs) else without(item, "caller")

    def _without_program(self, item: Message) -> Message:
        if item.get("type") == "program" and item.get("call_id") in self._programs:
            return _left_out("program")
        return without(item, "caller") if _caller_of(item) in self._programs else item

    def finish(self) -> Rendered:
        """Return the items."""
        items = list(self._items)
        while items and is_own_reasoning(items[-1]):
            items.pop()
        return Rendered(items)


def _caller_of(item: Message) -> str | None:
    """Return the id of the program that makes this call of the client's tool, or None."""
    match item.get("caller"):
        case {"type": "program", "caller_id": str(call_id)}:
            return call_id
        case _:
            return None


def _answered(item: Message) -> Message:
    """Return an item, or a line in its place if the vendor would refuse it."""
    return accepted(item, check_item, _ITEM, {"role": "assistant"}, "content", foreign=True)


def _part(part: Message, kind: str, legal: tuple[str, ...]) -> Message:
    """Return a part of content, or a line of the type `kind` if the vendor would refuse it."""
    return accepted(part, check_part, _ITEM, {"type": kind}, legal=legal, foreign=True)


def _left_out(what: str) -> Message:
    return _line(Role.ASSISTANT, f"[{what}, left out: it was interrupted]")


def _line(role: Role, text: str) -> Message:
    return {"role": role.value, "content": text}


def _run(turn: Turn, entries: Sequence[Entry], calls: SentCalls) -> Iterator[Message]:
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
            yield call_item(call, entry.data, calls.ids[call.id], calls.name(call))
        elif entry.kind is PartKind.MESSAGE:
            message = _message(turn.role, entry.data)
        elif is_inside:
            message = message or _message(turn.role, {})
            message.blocks.append(entry.block(message.kind))
        elif entry.kind is PartKind.BLOCK:
            yield _answered(entry.data) if turn.role is Role.ASSISTANT else entry.data
    if message is not None:
        yield message.item()


def _is_content(role: Role, kind: str) -> bool:
    """Return whether a block belongs inside a message rather than being a separate item."""
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
    """Return the item of one call: by name for the caller's own tools, by fields for others."""
    kind = str(further.get("type", FUNCTION))
    if kind in BODIES:
        return {
            **further,
            "type": kind,
            "call_id": call_id,
            "name": name,
            BODIES[kind]: call.arguments,
        }
    return {**(loaded_arguments(call.arguments) or {}), **further, "type": kind, "call_id": call_id}


def _output(turn: Turn, entries: Sequence[Entry], call_id: str, kind: str | None) -> list[Message]:
    """Return the output of a call of type `kind`, None if the request does not have the call."""
    further = further_fields(entries, PartKind.RESULT)
    is_other = bool(_OF_OTHER_TYPES & further.keys()) or further.get("output") == JSON
    if kind == FUNCTION and is_other:
        # The call's words were erased, and its type with them: what is left is a function's.
        further, entries = {}, ()
    inside = (PartKind.WORDS, PartKind.BLOCK)
    blocks = [entry.block("input_text") for entry in entries if entry.kind in inside]
    own = {"type": output_type(kind or FUNCTION)}
    item = {**own, **without(further, "output"), "call_id": call_id}
    form = further.get("output", "natural")
    if form != JSON:
        blocks = [_part(block, "input_text", INPUT[:3]) for block in blocks]
    output = _content(turn, blocks, form)
    item |= {} if output is MISSING else {"output": output}
    if item["type"] == "computer_call_output" and not _is_screen(output):
        return _screen(item, turn, blocks)
    return [_shaped(item, turn)]


def _screen(item: Message, turn: Turn, blocks: Sequence[Message]) -> list[Message]:
    """Return the output of a computer call that has no screenshot, with its text in a line behind.

    The vendor takes nothing but a screenshot: the first picture, or a blank one.
    """
    pictures = [block["image_url"] for block in blocks if block.get("image_url")]
    output = {"type": "computer_screenshot", "image_url": [*pictures, BLANK_SCREEN][0]}
    line = _line(Role.ASSISTANT, f"[{item['type']}: {turn.text}]")
    return [{**item, "output": output}, *([line] if turn.text.strip() else [])]


def _shaped(item: Message, turn: Turn) -> Message:
    """Return the output of a shell or patch call in the form that the vendor takes.

    A text answers such a call if it was cut, added or inserted.
    """
    call_id, output = item["call_id"], item.get("output")
    has_failed = turn.metadata.keys() & {"is_error", "repaired"}
    match item["type"]:
        case "shell_call_output" if not _is_shell(output):
            outcome = {"type": "exit", "exit_code": 1 if has_failed else 0}
            part = {"stdout": stand_in(turn) if turn.content is None else turn.text}
            return {**item, "output": [{**part, "stderr": "", "outcome": outcome}]}
        case "local_shell_call_output" if BY_ID in item:
            return {**without(item, BY_ID, "call_id"), "id": call_id}
        case "local_shell_call_output" if "id" not in item:
            return {**item, "id": call_id}
        case "apply_patch_call_output" if "status" not in item:
            return {**item, "status": "failed" if has_failed else "completed"}
        case _:
            return item


BY_ID = "by_id"
"""The mark of an output that names its call as `id`, as the SDK's type of a local shell's does."""
_OF_OTHER_TYPES = {"type", BY_ID}
"""Fields of outputs that a function's output does not have beside its own."""


def _is_screen(output: object) -> bool:
    return isinstance(output, dict) and output.get("type") in ("computer_screenshot", "input_image")


def _is_shell(output: object) -> bool:
    return isinstance(output, list) and all("outcome" in part for part in output)


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
    plain = not blocks or is_plain(blocks, "input_text")
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


def define_tools(tools: Sequence[ToolDefinition]) -> list[Message]:
    """Return the entries of a request's `tools`.

    Definitions are strict by default, and strict ones have no optional arguments.
    """
    return [{"type": "function", **asdict(tool), "strict": False} for tool in tools]
