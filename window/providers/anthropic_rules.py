"""What Anthropic accepts in one message, and at both ends of the list.

Each rule was seen in recorded requests or in the wording of recorded refusals;
docs/providers.md lists them.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from attrs import frozen

from polycontext.window.providers.blocks import Place, check_blocks, is_visible, shown
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
    return [_entry(message, Place(Provider.ANTHROPIC, index), final=index == last) for index, message in enumerate(messages)]


def _entry(message: Message, place: Place, *, final: bool) -> Entry:
    role = message.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise place.refuse("unknown-role", f"role is {shown(role)}", ", ".join(_ROLES))
    further = [name for name in message if name not in _FIELDS]
    if further:
        raise place.refuse("extra-field", f"{shown(further[0])} is no field of a message", ", ".join(sorted(_FIELDS)))
    blocks = message_blocks(message, place)
    _refuse_empty(role, blocks, place, final=final)
    for number, block in enumerate(blocks):
        _check_block(block, role, place, f"content[{number}]")
    _refuse_late_results(blocks, place)
    return Entry(role, blocks)


def message_blocks(message: Message, place: Place) -> list[Message]:
    """Return the content of `message` as blocks; text is one block, or none if it is empty."""
    match message.get("content"):
        case str(text):
            return [{"type": "text", "text": text}] if text else []
        case list() as blocks:
            return check_blocks(blocks, place, "content")
        case None:
            raise place.refuse("missing-content", f"a {shown(message['role'])} message without content", "text, or a list of blocks")
        case other:
            raise place.refuse("bad-content", f"content is {shown(other)}", "text, or a list of blocks")


def _refuse_empty(role: str, blocks: list[Message], place: Place, *, final: bool) -> None:
    if any(block["type"] == "text" and not block["text"] for block in blocks):
        raise place.refuse("empty-text", "a text block is empty", "text blocks with text, or no such block")
    if not blocks and not (final and role == "assistant"):
        raise place.refuse("empty-message", f"a {role} message without content", "content; only a final assistant message may be empty")
    if blocks and all(block["type"] == "text" and not is_visible(block["text"]) for block in blocks):
        raise place.refuse("empty-message", f"a {role} message of nothing but white space", "at least one visible character")


def _check_block(block: Message, role: str, place: Place, where: str) -> None:
    kind = block["type"]
    if role != _ONLY_BY.get(kind, role):
        raise place.refuse("misplaced-block", f"{where} is {kind} in a {role} message", f"{kind} in {_ONLY_BY[kind]} messages only")
    if kind == "tool_use":
        _check_call(block, place, where)
    elif kind == "tool_result":
        _check_result(block, place, where)


def _check_call(block: Message, place: Place, where: str) -> None:
    call_id, name = block.get("id"), block.get("name")
    if not isinstance(call_id, str) or not CALL_ID.fullmatch(call_id):
        raise place.refuse("bad-tool-call", f"{where}.id is {shown(call_id)}", "letters, digits, _ and -; not empty")
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME:
        raise place.refuse("bad-tool-call", f"{where}.name is {shown(name)}", f"text of 1 to {MAX_NAME} characters")
    if not isinstance(block.get("input"), dict):
        raise place.refuse("bad-tool-call", f"{where}.input is {shown(block.get('input'))}", "an object")


def _check_result(block: Message, place: Place, where: str) -> None:
    call_id = block.get("tool_use_id")
    if not isinstance(call_id, str):
        raise place.refuse("orphan-result", f"{where}.tool_use_id is {shown(call_id)}", "the id of the call that it answers")
    if not isinstance(block.get("is_error"), bool | None):
        raise place.refuse("bad-content", f"{where}.is_error is {shown(block.get('is_error'))}", "true or false")
    match block.get("content"):
        case None | str():
            pass
        case list() as blocks:
            check_blocks(blocks, place, f"{where}.content")
        case other:
            raise place.refuse("bad-content", f"{where}.content is {shown(other)}", "text, or a list of blocks")


def _refuse_late_results(blocks: list[Message], place: Place) -> None:
    for number, (before, block) in enumerate(pairwise(blocks), start=1):
        if before["type"] != "tool_result" and block["type"] == "tool_result":
            problem = f"content[{number}] is a result behind other blocks"
            raise place.refuse("results-first", problem, "results at the start of a user message")


def refuse_first(parsed: Parsed) -> None:
    """Raise unless the first turn that is not system comes from the user."""
    for turn, place in zip(parsed.turns, parsed.places, strict=True):
        if turn.role is Role.USER:
            return
        if turn.role is not Role.SYSTEM:
            raise Place(Provider.ANTHROPIC, place).refuse("first-role", f"the first message is the {turn.role}'s", "a user message first")
    raise Place(Provider.ANTHROPIC, None).refuse("first-role", "there is no user message", "a user message first")


def refuse_blank_tail(parsed: Parsed) -> None:
    """Raise if a final assistant message ends in white space."""
    message = parsed.messages[-1]
    if message["role"] != "assistant":
        return
    place = Place(Provider.ANTHROPIC, len(parsed.messages) - 1)
    blocks = message_blocks(message, place)
    if blocks and blocks[-1]["type"] == "text" and blocks[-1]["text"][-1].isspace():
        raise place.refuse("trailing-whitespace", "the final assistant message ends in white space", "a final text without it")
