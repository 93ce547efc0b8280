"""What Anthropic accepts in one message, and at both ends of the list.

Each rule was seen in recorded requests or in the wording of recorded refusals;
docs/providers.md lists them.
"""

import re
from collections.abc import Sequence

from attrs import frozen

from polycontext.window.providers._blocks import check_blocks, is_visible
from polycontext.window.providers._json import Spot, shown
from polycontext.window.providers.wire import Message, Parsed, Provider
from polycontext.window.turn import Role

CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")
MAX_NAME = 200
"""Characters that the name of a called tool may have."""

_ROLES = ("user", "assistant", "system")
_FIELDS = {"role", "content"}
_ONLY_BY = {"tool_use": "assistant", "thinking": "assistant", "redacted_thinking": "assistant", "tool_result": "user"}


@frozen
class Entry:
    """Hold one message as role and blocks, with its rules checked."""

    role: str
    blocks: list[Message]

    @property
    def calls(self) -> bool:
        """Tell whether a tool is called here."""
        return any(block["type"] == "tool_use" for block in self.blocks)


def checked_entries(messages: Sequence[Message]) -> list[Entry]:
    """Return `messages` as entries; only the last one, of the assistant, may be empty.

    Raises:
        InvalidMessagesError: the first message that breaks a rule by itself.
    """
    last = len(messages) - 1
    return [_entry(message, Spot(Provider.ANTHROPIC, index), final=index == last) for index, message in enumerate(messages)]


def _entry(message: Message, spot: Spot, *, final: bool) -> Entry:
    role = message.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise spot.refuse("unknown-role", f"role is {shown(role)}", ", ".join(_ROLES))
    further = [name for name in message if name not in _FIELDS]
    if further:
        raise spot.refuse("extra-field", f"{shown(further[0])} is no field of a message", ", ".join(sorted(_FIELDS)))
    blocks = message_blocks(message, spot)
    _refuse_empty(role, blocks, spot, final=final)
    for number, block in enumerate(blocks):
        _check_block(block, role, spot, f"content[{number}]")
    _refuse_late_results(blocks, spot)
    return Entry(role, blocks)


def message_blocks(message: Message, spot: Spot) -> list[Message]:
    """Return the content of `message` as blocks; text is one block, or none if it is empty."""
    match message.get("content"):
        case str(text):
            return [{"type": "text", "text": text}] if text else []
        case list() as blocks:
            return check_blocks(blocks, spot, "content")
        case None:
            raise spot.refuse("missing-content", f"a {shown(message['role'])} message without content", "text, or a list of blocks")
        case other:
            raise spot.refuse("bad-content", f"content is {shown(other)}", "text, or a list of blocks")


def _refuse_empty(role: str, blocks: list[Message], spot: Spot, *, final: bool) -> None:
    if any(block["type"] == "text" and not block["text"] for block in blocks):
        raise spot.refuse("empty-text", "a text block is empty", "text blocks with text, or no such block")
    if not blocks and not (final and role == "assistant"):
        raise spot.refuse("empty-message", f"a {role} message without content", "content; only a final assistant message may be empty")
    if blocks and all(block["type"] == "text" and not is_visible(block["text"]) for block in blocks):
        raise spot.refuse("empty-message", f"a {role} message of nothing but white space", "at least one visible character")


def _check_block(block: Message, role: str, spot: Spot, where: str) -> None:
    kind = block["type"]
    if role != _ONLY_BY.get(kind, role):
        raise spot.refuse("misplaced-block", f"{where} is {kind} in a {role} message", f"{kind} in {_ONLY_BY[kind]} messages only")
    if kind == "tool_use":
        _check_call(block, spot, where)
    elif kind == "tool_result":
        _check_result(block, spot, where)


def _check_call(block: Message, spot: Spot, where: str) -> None:
    call_id, name = block.get("id"), block.get("name")
    if not isinstance(call_id, str) or not CALL_ID.fullmatch(call_id):
        raise spot.refuse("bad-tool-call", f"{where}.id is {shown(call_id)}", "letters, digits, _ and -; not empty")
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME:
        raise spot.refuse("bad-tool-call", f"{where}.name is {shown(name)}", f"text of 1 to {MAX_NAME} characters")
    if not isinstance(block.get("input"), dict):
        raise spot.refuse("bad-tool-call", f"{where}.input is {shown(block.get('input'))}", "an object")


def _check_result(block: Message, spot: Spot, where: str) -> None:
    if not isinstance(block.get("tool_use_id"), str):
        raise spot.refuse(
            "orphan-result", f"{where}.tool_use_id is {shown(block.get('tool_use_id'))}", "the id of the call that it answers"
        )
    if not isinstance(block.get("is_error"), bool | None):
        raise spot.refuse("bad-content", f"{where}.is_error is {shown(block.get('is_error'))}", "true or false")
    match block.get("content"):
        case None | str():
            pass
        case list() as blocks:
            check_blocks(blocks, spot, f"{where}.content")
        case other:
            raise spot.refuse("bad-content", f"{where}.content is {shown(other)}", "text, or a list of blocks")


def _refuse_late_results(blocks: list[Message], spot: Spot) -> None:
    others = False
    for number, block in enumerate(blocks):
        if block["type"] != "tool_result":
            others = True
        elif others:
            raise spot.refuse(
                "results-first", f"content[{number}] is a result behind other blocks", "results at the start of a user message"
            )


def refuse_first(parsed: Parsed) -> None:
    """Raise unless the first turn that is not system comes from the user."""
    for turn, place in zip(parsed.turns, parsed.places, strict=True):
        if turn.role is Role.USER:
            return
        if turn.role is not Role.SYSTEM:
            raise Spot(Provider.ANTHROPIC, place).refuse("first-role", f"the first message is the {turn.role}'s", "a user message first")
    raise Spot(Provider.ANTHROPIC, None).refuse("first-role", "there is no user message", "a user message first")


def refuse_blank_tail(parsed: Parsed) -> None:
    """Raise if a final assistant message ends in white space."""
    message = parsed.messages[-1]
    if message["role"] != "assistant":
        return
    spot = Spot(Provider.ANTHROPIC, len(parsed.messages) - 1)
    blocks = message_blocks(message, spot)
    if blocks and blocks[-1]["type"] == "text" and blocks[-1]["text"][-1].isspace():
        raise spot.refuse("trailing-whitespace", "the final assistant message ends in white space", "a final text without it")
