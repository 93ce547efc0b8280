"""Anthropic's rules for the shape of one message, which it must meet to be parsed.

Each rule was seen in recorded requests or in the wording of recorded errors; docs/providers.md
lists them. The further rules for sending a message are in `block_rules`, those for the order of
messages in `order_rules`, and those for the request in `request_rules`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from attrs import frozen

from ...errors import InvalidMessagesError
from ...wire_text import is_visible
from ..blocks import Place, check_blocks, shown
from ..wire import Message, Provider

CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")
MAX_NAME = 200
"""The most characters of a called tool's name; a tool's definition may have 128."""

CALL_NAME = re.compile(rf"[a-zA-Z0-9_-]{{1,{MAX_NAME}}}")

_ROLES = ("user", "assistant", "system")
_FIELDS = {"role", "content"}
_SYSTEM_FIELDS = {*_FIELDS, "clear_at", "output_config"}
_ONLY_BY = {
    "tool_use": "assistant",
    "thinking": "assistant",
    "redacted_thinking": "assistant",
    "server_tool_use": "assistant",
    "mcp_tool_use": "assistant",
    "tool_result": "user",
}


NO_STRING, NO_LIST = "Input should be a valid string", "Input should be a valid list"
NO_DICTIONARY, NO_OBJECT = "Input should be a valid dictionary", "Input should be an object"
REQUIRED = "Field required"
EXTRA = "Extra inputs are not permitted"
"""The vendor's wording for an unknown field."""

EMPTY_TEXT = "text content blocks must be non-empty"
MARKED_EMPTY_TEXT = "cache_control cannot be set for empty text blocks"
BLANK = "text content blocks must contain non-whitespace text"
"""The vendor's wording for text without a visible character."""


def literal_wording(*legal: str) -> str:
    """Return the vendor's wording for a value that is not one of `legal`.

    >>> literal_wording("5m", "1h")
    "Input should be '5m' or '1h'"
    """
    *others, last = map(repr, legal)
    return f"Input should be {', '.join(others)}{' or ' if others else ''}{last}"


def tag_wording(tag: object, legal: Iterable[str]) -> str:
    """Return the vendor's wording for an object whose type is not one of `legal`."""
    expected = ", ".join(map(repr, legal))
    return (
        f"Input tag '{tag}' found using 'type' does not match any of the expected tags: {expected}"
    )


def minimum_wording(least: int) -> str:
    """Return the vendor's wording for a number below `least`."""
    return f"Input should be greater than or equal to {least}"


def pattern_wording(value: object, pattern: str) -> str:
    """Return the vendor's wording for a value that is not text matching `pattern`."""
    return f"String should match pattern '^{pattern}$'" if isinstance(value, str) else REQUIRED


@frozen
class At:
    """A place in a request, which builds errors in our words and in the vendor's.

    Steps that begin with ``!`` are tags, which only the vendor includes in a path.

    >>> spot = At("messages", 3).into("content", 2, "!image", "source")
    >>> spot.ours, spot.theirs
    ('content[2].source', 'messages.3.content.2.image.source')
    """

    root: str
    index: int | None = None
    steps: tuple[str | int, ...] = ()

    def into(self, *steps: str | int) -> "At":
        """Return a place inside this one."""
        return At(self.root, self.index, self.steps + steps)

    @property
    def ours(self) -> str:
        """Return the place within its message, or within the request, in Python notation."""
        text = "" if self.root == "messages" else self.root
        for step in self.steps:
            if isinstance(step, int):
                text += f"[{step}]"
            elif not step.startswith("!"):
                text += f".{step}" if text else step
        return text or "the message"

    @property
    def theirs(self) -> str:
        """Return the place in the vendor's notation."""
        places = [
            self.root,
            *([] if self.index is None else [str(self.index)]),
            *(str(step).removeprefix("!") for step in self.steps),
        ]
        return ".".join(place for place in places if place)

    def refuse(
        self, rule: str, problem: str, legal: str, says: str, *, whole: bool = False
    ) -> InvalidMessagesError:
        """Return the error for breaking `rule` here.

        The vendor's wording is `says` after the place, or `says` alone with `whole`.
        """
        wording = says if whole or not self.theirs else f"{self.theirs}: {says}"
        return InvalidMessagesError(
            str(Provider.ANTHROPIC), self.index, rule, f"{self.ours} {problem}", legal, wording
        )

    def wrong(self, rule: str, value: object, legal: str, says: str) -> InvalidMessagesError:
        """Return the error for a `value` that is not accepted here."""
        return self.refuse(rule, f"is {shown(value)}", legal, says)

    def wrong_field(
        self, holder: Mapping[str, Any], name: str, rule: str, legal: str, says: str = NO_STRING
    ) -> InvalidMessagesError:
        """Return the error for the field `name` of `holder`.

        The vendor's wording is `says`, or that the field is required if it is missing.
        """
        wording = says if name in holder else REQUIRED
        return self.into(name).wrong(rule, holder.get(name), legal, wording)

    def tag_of(self, value: object, legal: Sequence[str], rule: str) -> str:
        """Return the type of `value`, an object whose type is one of `legal`.

        Raises:
            InvalidMessagesError: `rule`, for any other value.
        """
        tag = value.get("type") if isinstance(value, Mapping) else None
        if tag in legal:
            return str(tag)
        expected = f"a type of {', '.join(legal)}"
        raise self.wrong(rule, value if tag is None else tag, expected, tag_wording(tag, legal))


def block_at(index: int, number: int) -> At:
    """Return the place of block `number` of message `index`."""
    return At("messages", index, ("content", number))


@frozen
class Entry:
    """A message as role and blocks, with a valid shape."""

    role: str
    blocks: list[Message]

    @property
    def calls(self) -> bool:
        """Return whether the message calls a tool."""
        return any(block["type"] == "tool_use" for block in self.blocks)


def check_entries(messages: Sequence[Message]) -> list[Entry]:
    """Return `messages` as entries; only a final assistant message may be empty.

    Raises:
        InvalidMessagesError: A message breaks a rule on its own; the error is the first.
    """
    last = len(messages) - 1
    return [
        check_entry(message, index, final=index == last) for index, message in enumerate(messages)
    ]


def check_entry(message: Message, index: int, *, final: bool) -> Entry:
    """Return the message at `index` as an entry.

    Raises:
        InvalidMessagesError: The message breaks a rule on its own.
    """
    at = At("messages", index)
    role = message.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise at.refuse(
            "unknown-role",
            f"has the role {shown(role)}",
            ", ".join(_ROLES),
            f"Unexpected role {shown(role)}.",
        )
    fields = _SYSTEM_FIELDS if role == "system" else _FIELDS
    for name in message:
        if name not in fields:
            problem = f"has {shown(name)}, which is no field of a message"
            raise at.refuse(
                "extra-field",
                problem,
                ", ".join(sorted(fields)),
                f"{at.theirs}.{name}: {EXTRA}",
                whole=True,
            )
    blocks = message_blocks(message, Place(Provider.ANTHROPIC, index))
    _refuse_empty(
        role,
        blocks,
        at,
        final=final,
        silent=role == "system" and bool(message.get("output_config")),
    )
    for number, block in enumerate(blocks):
        _check_block(block, role, at.into("content", number))
    _refuse_late_results(blocks, at)
    return Entry(role, blocks)


def message_blocks(message: Message, place: Place) -> list[Message]:
    """Return the content of `message` as blocks; text becomes one block, or none if it is empty."""
    at = At("messages", place.index, ("content",))
    match message.get("content"):
        case str(text):
            return [{"type": "text", "text": text}] if text else []
        case list() as blocks:
            return check_blocks(blocks, place, "content")
        case None:
            raise at.refuse(
                "missing-content",
                f"is missing in a {shown(message['role'])} message",
                _CONTENT,
                REQUIRED,
            )
        case other:
            raise at.wrong("bad-content", other, _CONTENT, NO_LIST)


_CONTENT = "text, or a list of blocks"


def _refuse_empty(role: str, blocks: list[Message], at: At, *, final: bool, silent: bool) -> None:
    for number, block in enumerate(blocks):
        if block["type"] == "text" and not block["text"]:
            inner = at.into("content", number)
            marked = block.get("cache_control") is not None
            raise inner.into("!text").refuse(
                "empty-text",
                "is an empty text block",
                "text blocks with text, or no such block",
                MARKED_EMPTY_TEXT if marked else f"messages: {EMPTY_TEXT}",
                whole=not marked,
            )
    if not blocks and not silent and not (final and role == "assistant"):
        legal = "content; only a final assistant message may be empty"
        says = (
            "all messages must have non-empty content except for the optional final assistant "
            "message"
        )
        raise at.refuse("empty-message", f"is a {role} message without content", legal, says)
    if blocks and all(
        block["type"] == "text" and not is_visible(block["text"]) for block in blocks
    ):
        raise at.refuse(
            "empty-message",
            f"is a {role} message of nothing but white space",
            "at least one visible character",
            f"messages: {BLANK}",
            whole=True,
        )


def _check_block(block: Message, role: str, at: At) -> None:
    kind = block["type"]
    if role != _ONLY_BY.get(kind, role):
        owner = _ONLY_BY[kind]
        says = f"`{kind}` blocks can only be in `{owner}` messages"
        raise at.refuse(
            "misplaced-block",
            f"is {kind} in a {role} message",
            f"{kind} in {owner} messages only",
            says,
        )
    if kind == "tool_use":
        _check_call(block, at.into("!tool_use"))
    elif kind == "tool_result":
        _check_result(block, at.into("!tool_result"))


def _check_call(block: Message, at: At) -> None:
    call_id, name = block.get("id"), block.get("name")
    if not isinstance(call_id, str) or not CALL_ID.fullmatch(call_id):
        legal, says = (
            "letters, digits, _ and -; not empty",
            pattern_wording(call_id, CALL_ID.pattern),
        )
        raise at.into("id").wrong("bad-tool-call", call_id, legal, says)
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME:
        legal, says = (
            f"text of 1 to {MAX_NAME} characters",
            pattern_wording(name, CALL_NAME.pattern),
        )
        raise at.into("name").wrong("bad-tool-call", name, legal, says)
    if not isinstance(block.get("input"), dict):
        raise at.wrong_field(block, "input", "bad-tool-call", "an object", NO_DICTIONARY)


def _check_result(block: Message, at: At) -> None:
    if not isinstance(block.get("tool_use_id"), str):
        raise at.wrong_field(
            block, "tool_use_id", "orphan-result", "the id of the call that it answers"
        )
    if not isinstance(block.get("is_error"), bool | None):
        raise at.wrong_field(
            block, "is_error", "bad-content", "true or false", "Input should be a valid boolean"
        )
    match block.get("content"):
        case None | str():
            pass
        case list() as blocks:
            check_blocks(blocks, Place(Provider.ANTHROPIC, at.index), at.into("content").ours)
        case other:
            raise at.into("content").wrong("bad-content", other, _CONTENT, NO_LIST)


def _refuse_late_results(blocks: list[Message], at: At) -> None:
    for number, (before, block) in enumerate(pairwise(blocks), start=1):
        if before["type"] != "tool_result" and block["type"] == "tool_result":
            # The vendor does not recognise a result after other blocks, and reports the call as
            # unanswered.
            says = (
                f"messages.{max((at.index or 0) - 1, 0)}: `tool_use` ids were found without "
                "`tool_result` blocks immediately after: "
                f"{block.get('tool_use_id')}. Each `tool_use` block must have a corresponding "
                "`tool_result` block in the next message."
            )
            spot = at.into("content", number)
            raise spot.refuse(
                "results-first",
                "is a result behind other blocks",
                "results at the start of a user message",
                says,
                whole=True,
            )
