"""Single items of OpenAI's Responses, read into what a turn holds."""

from collections.abc import Set as AbstractSet
from typing import Any

from ...part import Part, PartKind
from ...turn import Role, ToolCall
from ..blocks import Place, compact, shown
from ..layout import MISSING, Collector, without
from ..wire import Message
from .writer import BODIES, CALL_FIELDS, CONTENT, JSON, OF_THE_CALLER, TEXTS, output_type

_ROLES = {"developer": Role.SYSTEM, "system": Role.SYSTEM, "user": Role.USER, "assistant": Role.ASSISTANT}


def type_of(item: Message, place: Place) -> str:
    """Return the type of an item; one without a type is a message."""
    kind = item.get("type", "message" if "role" in item else None)
    if not isinstance(kind, str):
        raise place.refuse("unknown-type", f"type is {shown(kind)}", "the item's type as text, or a message with a role")
    return kind


def role_of(item: Message, kind: str, place: Place) -> Role:
    """Return whose turn an item is part of: what the model made, and nobody else, is the assistant's."""
    if kind == "message":
        role = item.get("role")
        if not isinstance(role, str) or role not in _ROLES:
            raise place.refuse("unknown-role", f"role is {shown(role)}", ", ".join(_ROLES))
        return _ROLES[role]
    if kind in OF_THE_CALLER:
        return OF_THE_CALLER[kind]
    return Role.TOOL if kind.endswith("_output") and _is_paired(item) else Role.ASSISTANT


def is_call(item: Message, kind: str, answered: AbstractSet[str], *, is_last: bool) -> bool:
    """Tell whether the caller answers this item: all calls of tools of its own, others if they are answered, or may be yet."""
    if kind in BODIES:
        return True
    if not kind.endswith("_call") or not _is_paired(item):
        return False
    environment = item.get("environment")
    is_elsewhere = isinstance(environment, dict) and environment.get("type") != "local"
    return item["call_id"] in answered or (not is_elsewhere and (is_last or kind != "tool_search_call"))


def _is_paired(item: Message) -> bool:
    return isinstance(item.get("call_id"), str) and item.get("execution") != "server"


def take_message(collector: Collector, item: Message, place: Place) -> None:
    """Take in a message item; it is told of where it holds more than role and text, or directly follows another one."""
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
        take(collector, block, natural)


def _is_inside(last: Part | None) -> bool:
    """Tell whether what would come next would stand in the same message."""
    return last is not None and (last.kind in (PartKind.WORDS, PartKind.MESSAGE) or last.type in CONTENT)


def _content(item: Message, natural: str, place: Place) -> list[Message]:
    match item.get("content"):
        case str(text):
            return [{"type": natural, "text": text}]
        case list(blocks):
            for number, block in enumerate(blocks):
                _check_block(block, place, f"content[{number}]")
            return blocks
        case None:
            raise place.refuse("missing-content", "a message without content", "text, or a list of content parts")
        case other:
            raise place.refuse("bad-content", f"content is {shown(other)}", "text, or a list of content parts")


def _check_block(block: object, place: Place, where: str) -> None:
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(block, dict) or not isinstance(kind, str):
        raise place.refuse("bad-content", f"{where} is {shown(block)}", "an object with a type")
    if kind in TEXTS and not isinstance(block.get(TEXTS[kind]), str):
        raise place.refuse("bad-content", f"{where}.{TEXTS[kind]} is {shown(block.get(TEXTS[kind]))}", "text")


def is_plain(blocks: list[Message], kind: str) -> bool:
    """Tell whether `blocks` are one text of the natural type of which nothing else is said."""
    return len(blocks) == 1 and set(blocks[0]) == {"type", "text"} and blocks[0]["type"] == kind


def take(collector: Collector, block: Message, natural: str) -> None:
    """Take in what stands inside of a message or an output."""
    key = TEXTS.get(block["type"])
    if key is None:
        collector.block(block)
    else:
        collector.words(block[key], without(block, key, *(["type"] if block["type"] == natural else [])))


def call_of(item: Message, kind: str, place: Place) -> tuple[ToolCall, Message]:
    """Return a call and its further fields: of the caller's own tools by name, of others all fields are arguments."""
    body = BODIES.get(kind)
    call_id = item.get("call_id")
    name = item.get("name") if body else kind.removesuffix("_call")
    arguments = item.get(body) if body else compact(without(item, *CALL_FIELDS))
    for field, value in {"call_id": call_id, "name": name, body or "arguments": arguments}.items():
        if not isinstance(value, str) or (not value and field in ("call_id", "name")):
            raise place.refuse("bad-tool-call", f"{field} is {shown(value)}", "text; call_id and name not empty")
    further = (
        without(item, "call_id", "name", body) if body else {name: item[name] for name in CALL_FIELDS if name in item and name != "call_id"}
    )
    if kind == "function_call":
        del further["type"]
    return ToolCall(str(call_id), str(name), str(arguments)), further


def take_output(collector: Collector, item: Message, called: str, place: Place) -> None:
    """Take in what answers a call of type `called`: text, blocks, or JSON data, which become text."""
    further = without(item, "type", "call_id", "output")
    if item["type"] != output_type(called):
        further["type"] = item["type"]
    output = item.get("output", MISSING)
    blocks, form = _output(output, place) if "output" in item else ([{"type": "input_text", "text": ""}], {"output": MISSING})
    if further or form:
        collector.result(further | form)
    for block in blocks:
        take(collector, block, "input_text")


def _output(output: Any, place: Place) -> tuple[list[Message], Message]:
    match output:
        case str(text):
            return [{"type": "input_text", "text": text}], {}
        case list(blocks) if all(
            isinstance(block, dict) and isinstance(block.get("type"), str) and block["type"] in CONTENT for block in blocks
        ):
            for number, block in enumerate(blocks):
                _check_block(block, place, f"output[{number}]")
            return blocks, {} if blocks and not is_plain(blocks, "input_text") else {"output": [] if blocks else None}
        case dict() if isinstance(output.get("type"), str) and output["type"] not in TEXTS:
            return [output], {"output": JSON}
        case dict() | list():
            return [{"type": "input_text", "text": compact(output)}], {"output": JSON}
        case other:
            raise place.refuse("bad-content", f"output is {shown(other)}", "text, a list of blocks, or an object")
