"""OpenAI's Responses input: consecutive items that the model created form one turn.

Messages of the user and of the system are separate turns. A call and its output are paired by their
id: an output that stands further behind becomes a turn directly behind the run of items that
called. Calls that the platform runs itself are kept as whole blocks of the turn.
"""

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from attrs import Factory, define

from ...part import Part, PartKind
from ...turn import Role, ToolCall, Turn
from ...wire_text import compact
from ..blocks import check_blocks, copied_messages
from ..layout import MISSING, Collector, is_plain, without
from ..places import Place
from ..tool_pairs import CallNames, paired, result_text
from ..wire import Message, Parsed, Provider
from .rules import PROGRAM_OUTPUT
from .writer import (
    BODIES,
    BY_ID,
    CALL_FIELDS,
    COMPACTION,
    CONTENT,
    JSON,
    OF_THE_CALLER,
    TEXTS,
    output_type,
)


def parse(messages: object, *, repair: bool = False, waiting: Iterable[str] = ()) -> Parsed:
    """Parse input items into turns; the history may end on open calls.

    With `repair`, a call in the middle without an output gets a marked one, and an output that is
    null or a number becomes text. `waiting` are ids of calls before the list that have no result
    yet.

    Raises:
        InvalidMessagesError: An item breaks a rule of docs/providers.md; the error names its index
            and the rule.

    >>> parse(
    ...     [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "hi"}]
    ... ).turns[0].role
    <Role.SYSTEM: 'system'>
    """
    copies = copied_messages(Provider.RESPONSES, messages)
    items: list[Message] = [*_named(copies, [*waiting])]
    if repair:
        items = [
            {**item, "output": result_text(item["output"])}
            if item.get("type") in _OUTPUTS and "output" in item
            else item
            for item in items
        ]
    places = [Place(Provider.RESPONSES, ("input", index)) for index in range(len(items))]
    kinds = [*map(type_of, items, places)]
    roles = _begun_by_the_user(kinds, [*map(role_of, items, kinds, places)])
    answered = {
        item["call_id"] for item, role in zip(items, roles, strict=True) if role is Role.TOOL
    }
    others = max(
        (index for index, role in enumerate(roles) if role is not Role.ASSISTANT), default=-1
    )
    reader = _Reader(answered)
    for place, item, kind, role in zip(places, items, kinds, roles, strict=True):
        reader.read(item, kind, role, place, is_last=(place.index or 0) > others)
    reader.close()
    return paired(Provider.RESPONSES, reader.turns, copies, repair=repair, waiting=waiting)


def _named(items: Iterable[Message], waiting: list[str]) -> Iterator[Message]:
    """Yield `items` with an id for each call of a tool and each output: some servers give none."""
    names = CallNames(waiting)
    for item in items:
        kind = str(item.get("type"))
        if kind in BODIES:
            yield {**item, "call_id": names.call(item.get("call_id") or item.get("id"))}
        elif kind in _OUTPUTS:
            yield {**item, "call_id": names.result(item.get("call_id"))}
        elif kind == "local_shell_call_output" and "call_id" not in item:
            yield {**item, "call_id": item.get("id"), BY_ID: True}
        else:
            yield item


_OUTPUTS = frozenset(f"{kind}_output" for kind in BODIES)


def _begun_by_the_user(kinds: Sequence[str], roles: Sequence[Role]) -> list[Role]:
    """Return the roles of items, in which a leading compaction counts as the user's.

    It replaces the beginning of the conversation.
    """
    first = next((index for index, role in enumerate(roles) if role is not Role.SYSTEM), None)
    return [
        Role.USER if index == first and kinds[index] == COMPACTION else role
        for index, role in enumerate(roles)
    ]


@define
class _Reader:
    """Reads items one at a time.

    `made` collects the current run of the model's items. `kinds` holds the type of the last call of
    each id.
    """

    answered: AbstractSet[str]
    turns: list[tuple[Turn, int]] = Factory(list)
    made: Collector | None = None
    start: int = 0
    kinds: dict[str, str] = Factory(dict)

    def read(self, item: Message, kind: str, role: Role, place: Place, *, is_last: bool) -> None:
        """Read the next item."""
        if role is not Role.ASSISTANT:
            self.close()
            with place.turn_errors():
                turn = self._said(item, kind, role, place)
            self.turns.append((turn, place.index or 0))
            return
        if self.made is None:
            self.made, self.start = Collector(Provider.RESPONSES), place.index or 0
        if kind == "message":
            take_message(self.made, item, place)
        elif is_call(item, kind, self.answered, is_last=is_last):
            call, further = call_of(item, kind, place)
            self.kinds[call.id] = kind
            self.made.call(call, further)
        else:
            self.made.block(item)

    def close(self) -> None:
        """End the current run of items, if there is one."""
        if self.made is not None:
            with Place(Provider.RESPONSES, ("input", self.start)).turn_errors():
                turn = self.made.turn(Role.ASSISTANT)
            self.made = None
            self.turns.append((turn, self.start))

    def _said(self, item: Message, kind: str, role: Role, place: Place) -> Turn:
        collector = Collector(Provider.RESPONSES)
        if role is Role.TOOL:
            take_output(collector, item, self.kinds.get(item["call_id"], "function_call"), place)
            return collector.turn(role, tool_call_id=item["call_id"])
        if kind == "message":
            take_message(collector, item, place)
        else:
            collector.block(item)
        return collector.turn(role)


_ROLES = {
    "developer": Role.SYSTEM,
    "system": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
}


def type_of(item: Message, place: Place) -> str:
    """Return the type of an item; one with a role but no type is a message."""
    kind = item.get("type", "message" if "role" in item else None)
    if not isinstance(kind, str):
        legal = "the item's type as text, or a message with a role"
        raise place.into("type").wrong("unknown-type", kind, legal)
    return kind


def role_of(item: Message, kind: str, place: Place) -> Role:
    """Return the role of the turn of an item; items of the model are the assistant's."""
    if kind == "message":
        role = item.get("role")
        if not isinstance(role, str) or role not in _ROLES:
            raise place.into("role").unsupported("unknown-role", role, [*_ROLES])
        return _ROLES[role]
    if kind in OF_THE_CALLER:
        return OF_THE_CALLER[kind]
    is_result = kind.endswith("_output") and kind != PROGRAM_OUTPUT and _is_paired(item)
    return Role.TOOL if is_result else Role.ASSISTANT


def is_call(item: Message, kind: str, answered: AbstractSet[str], *, is_last: bool) -> bool:
    """Return whether the caller answers this item.

    It does for all calls of its own tools, and for others that are answered or still can be.
    """
    if kind in BODIES:
        return True
    if not kind.endswith("_call") or not _is_paired(item):
        return False
    environment = item.get("environment")
    is_elsewhere = isinstance(environment, dict) and environment.get("type") != "local"
    return item["call_id"] in answered or (
        not is_elsewhere and (is_last or kind != "tool_search_call")
    )


def _is_paired(item: Message) -> bool:
    call_id = item.get("call_id")
    return isinstance(call_id, str) and bool(call_id) and item.get("execution") != "server"


def take_message(collector: Collector, item: Message, place: Place) -> None:
    """Add a message item to the collector.

    It is recorded as a message part if it has more than role and text, or directly follows another
    message.
    """
    role = _ROLES[item["role"]]
    natural = "output_text" if role is Role.ASSISTANT else "input_text"
    blocks, further = _content(item, natural, place), without(item, "role", "content")
    if item["role"] != role:
        further["role"] = item["role"]
    content = item["content"]
    if role is Role.ASSISTANT and any(block["type"] not in CONTENT for block in blocks):
        blocks, further["content"] = [], content
    elif isinstance(content, list) and (not blocks or is_plain(blocks, natural)):
        further["content"] = [] if blocks else None
    if further or _is_inside(collector.last):
        collector.message(further)
    for block in blocks:
        collector.take(block, natural, TEXTS)


def _is_inside(last: Part | None) -> bool:
    """Return whether content that follows `last` would belong to the same message."""
    return last is not None and (
        last.kind in (PartKind.WORDS, PartKind.MESSAGE) or last.type in CONTENT
    )


def _content(item: Message, natural: str, place: Place) -> list[Message]:
    legal = "text, or a list of content parts"
    match item.get("content"):
        case str(text):
            return [{"type": natural, "text": text}]
        case list(blocks):
            return check_blocks(blocks, place.into("content"), TEXTS)
        case None if item["role"] == "assistant":
            return []
        case None:
            raise place.refuse("missing-content", "a message without content", legal)
        case other:
            raise place.into("content").wrong("bad-content", other, legal)


def call_of(item: Message, kind: str, place: Place) -> tuple[ToolCall, Message]:
    """Return a call and its further fields.

    A call of the caller's own tool has a name; for other calls, all fields are arguments.
    """
    body = BODIES.get(kind)
    call_id = item.get("call_id")
    name = item.get("name") if body else kind.removesuffix("_call")
    arguments = item.get(body) if body else compact(without(item, *CALL_FIELDS))
    for field, value in {"call_id": call_id, "name": name, body or "arguments": arguments}.items():
        if not isinstance(value, str) or (not value and field in ("call_id", "name")):
            legal = "text; call_id and name not empty"
            raise place.into(field).wrong("bad-tool-call", value, legal)
    further = (
        without(item, "call_id", "name", body)
        if body
        else {name: item[name] for name in CALL_FIELDS if name in item and name != "call_id"}
    )
    if kind == "function_call":
        del further["type"]
    return ToolCall(str(call_id), str(name), str(arguments)), further


def take_output(collector: Collector, item: Message, called: str, place: Place) -> None:
    """Add the output of a call of type `called`: text, blocks, or JSON data, which become text."""
    further = without(item, "type", "call_id", "output")
    if item["type"] != output_type(called):
        further["type"] = item["type"]
    output = item.get("output", MISSING)
    blocks, form = (
        _output(output, place)
        if "output" in item
        else ([{"type": "input_text", "text": ""}], {"output": MISSING})
    )
    if further or form:
        collector.result(further | form)
    for block in blocks:
        collector.take(block, "input_text", TEXTS)


def _output(output: Any, place: Place) -> tuple[list[Message], Message]:
    match output:
        case str(text):
            return [{"type": "input_text", "text": text}], {}
        case list(blocks) if all(
            isinstance(block, dict)
            and isinstance(block.get("type"), str)
            and block["type"] in CONTENT
            for block in blocks
        ):
            check_blocks(blocks, place.into("output"), TEXTS)
            return blocks, {} if blocks and not is_plain(blocks, "input_text") else {
                "output": [] if blocks else None
            }
        case dict() if isinstance(output.get("type"), str) and output["type"] not in TEXTS:
            return [output], {"output": JSON}
        case dict() | list():
            return [{"type": "input_text", "text": compact(output)}], {"output": JSON}
        case other:
            legal = "text, a list of blocks, or an object"
            raise place.into("output").wrong("bad-content", other, legal)
