"""Anthropic's rules for the shape of one message, which it must meet to be parsed.

Each rule was seen in recorded requests or in the wording of recorded errors; docs/providers.md
lists them. rules.json has their texts, and the fields of messages and blocks. The further rules for
sending a message are in `block_rules`, and those for the order of messages in `order_rules`.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from re import Pattern

from attrs import frozen

from ...errors import InvalidMessagesError
from ...request_limits import request_limits
from ...wire_text import is_visible
from ..blocks import check_blocks
from ..places import Place, shown
from ..wire import Message, Provider

LIMITS = request_limits(Provider.ANTHROPIC)
CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")
SENT_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""The ids that are sent; the clouds that serve these models take no longer ones."""
_ANY_ID = re.compile(r".+", re.DOTALL)
MAX_NAME = 200
"""The most characters of a called tool's name; a tool's definition may have 128."""

CALL_NAME = re.compile(rf"[a-zA-Z0-9_-]{{1,{MAX_NAME}}}")

_ROLES = ("user", "assistant", "system")
TABLE = json.loads(Path(__file__).with_name("rules.json").read_text(encoding="utf-8"))
WORDINGS: Mapping[str, str] = TABLE["shared"]
"""The vendor's wordings that several rules share."""
FIELDS_OF: Mapping[str, frozenset[str]] = {
    role: frozenset(names) for role, names in TABLE["message_fields"].items()
}
"""The fields of a message of each role."""
_ONLY_BY: Mapping[str, str] = TABLE["only_by"]


@cache
def _rules() -> Mapping[str, Sequence[str]]:
    """Return what is wrong, what is legal, and the vendor's wording, by rule.

    The cases of a rule stand behind a slash. A fourth text says that the wording names no place.
    """
    names = re.compile("|".join(f"{{{name}}}" for name in WORDINGS))
    return {
        rule: [names.sub(lambda found: WORDINGS[found[0][1:-1]], text) for text in texts]
        for rule, texts in TABLE["rules"].items()
    }


_EXPECTED: Mapping[type, str] = {
    str: "Input should be a valid string",
    list: "Input should be a valid list",
    dict: "Input should be a valid dictionary",
    bool: "Input should be a valid boolean",
    int: "Input should be a valid integer",
    object: "Input should be an object",
}


@frozen
class AnthropicPlace(Place):
    """A place in a request of Anthropic, which adds the vendor's wording to errors."""

    def fault(
        self, rule: str, problem: str, legal: str, says: str, *, whole: bool = False
    ) -> InvalidMessagesError:
        """Return the error for breaking `rule` here; `problem` says what the value is or has.

        The vendor's wording is `says` after the place, or `says` alone with `whole`.
        """
        dotted = ".".join(str(step).removeprefix("!") for step in self.steps)
        wording = says if whole or not dotted else f"{dotted}: {says}"
        return self.refuse(rule, f"{self.within} {problem}", legal, wording)

    def broken(self, rule: str, **values: object) -> InvalidMessagesError:
        """Return the error for breaking `rule` here, one of rules.json, whose texts take `values`.

        Behind a slash is the case of the rule.
        """
        problem, legal, says, *whole = (text.format_map(values) for text in _rules()[rule])
        return self.fault(rule.partition("/")[0], problem, legal, says, whole=bool(whole))

    def wrong(
        self, rule: str, value: object, legal: str, says: str = WORDINGS["REQUIRED"]
    ) -> InvalidMessagesError:
        """Return the error for a `value` that is not accepted here."""
        return self.fault(rule, f"is {shown(value)}", legal, says)

    def missing(self, rule: str, legal: str) -> InvalidMessagesError:
        """Return the error for a missing required value."""
        return self.fault(rule, "is missing", legal, WORDINGS["REQUIRED"])

    def wrong_type(
        self, rule: str, kind: type, value: object, legal: str = ""
    ) -> InvalidMessagesError:
        """Return the error for a `value` that is not of type `kind`."""
        return self.wrong(rule, value, legal, _EXPECTED[kind])

    def unsupported(
        self, rule: str, value: object, legal: Sequence[str], use: str = ""
    ) -> InvalidMessagesError:
        """Return the error for a `value` that is not one of `legal`."""
        *others, last = map(repr, legal)
        says = f"Input should be {', '.join(others)}{' or ' if others else ''}{last}"
        return self.wrong(rule, value, use or ", ".join(legal), says)

    def no_match(
        self, rule: str, value: object, pattern: Pattern[str], legal: str
    ) -> InvalidMessagesError:
        """Return the error for a `value` that is not text matching `pattern`."""
        says = f"String should match pattern '^{pattern.pattern}$'"
        return self.wrong(
            rule, value, legal, says if isinstance(value, str) else WORDINGS["REQUIRED"]
        )

    def unknown_tag(
        self, rule: str, tag: object, tags: Collection[str], problem: str, legal: str
    ) -> InvalidMessagesError:
        """Return the error for an object whose type `tag` is not one of `tags`."""
        expected = ", ".join(map(repr, tags))
        says = f"Input tag '{tag}' found using 'type' does not match any of the expected tags: "
        return self.fault(rule, problem, legal, says + expected)


WHOLE = AnthropicPlace(Provider.ANTHROPIC)
"""The place of a whole request."""


def block_at(index: int, number: int) -> AnthropicPlace:
    """Return the place of block `number` of message `index`."""
    return WHOLE.into("messages", index, "content", number)


@frozen
class Entry:
    """A message as role and blocks, with a valid shape."""

    role: str
    blocks: list[Message]

    @property
    def calls(self) -> bool:
        """Return whether the message calls a tool."""
        return any(block["type"] == "tool_use" for block in self.blocks)


def read_entries(messages: Sequence[Message], *, results_first: bool = True) -> list[Entry]:
    """Return `messages` as entries, to be read.

    Unknown fields and empty answers are accepted, as vendors give them; they are not sent. Without
    `results_first`, results are accepted behind other blocks.

    Raises:
        InvalidMessagesError: A message breaks a rule on its own; the error is the first.
    """
    return [
        read_entry(message, index, results_first=results_first)
        for index, message in enumerate(messages)
    ]


def read_entry(
    message: Message,
    index: int,
    *,
    sent: bool = False,
    final: bool = False,
    results_first: bool = True,
) -> Entry:
    """Return the message at `index` as an entry, to be read or `sent`.

    Of sent messages, only a final one of the assistant may be empty.

    Raises:
        InvalidMessagesError: The message breaks a rule on its own.
    """
    at = WHOLE.into("messages", index)
    role = message.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise at.broken("unknown-role", role=shown(role))
    fields = FIELDS_OF[role]
    for name in message:
        if sent and name not in fields:
            names = {"name": name, "shown": shown(name), "known": ", ".join(sorted(fields))}
            raise at.broken("extra-field/message", index=index, **names)
    blocks = message_blocks(message, at)
    is_silent = role == "system" and bool(message.get("output_config"))
    if sent or role != "assistant":
        _refuse_empty(role, blocks, at, may_be_empty=is_silent or (final and role == "assistant"))
    for number, block in enumerate(blocks):
        _check_block(block, role, at.into("content", number), sent=sent)
    if results_first:
        _refuse_late_results(blocks, at)
    return Entry(role, blocks)


def message_blocks(message: Message, at: AnthropicPlace) -> list[Message]:
    """Return the content of `message` as blocks; text becomes one block, or none if it is empty."""
    inner = at.into("content")
    match message.get("content"):
        case str(text):
            return [{"type": "text", "text": text}] if text else []
        case list() as blocks:
            return check_blocks(blocks, Place(at.provider, inner.steps))
        case None:
            raise inner.broken("missing-content", role=shown(message["role"]))
        case other:
            raise inner.wrong_type("bad-content", list, other, _CONTENT)


_CONTENT = "text, or a list of blocks"


def _refuse_empty(
    role: str, blocks: list[Message], at: AnthropicPlace, *, may_be_empty: bool
) -> None:
    for number, block in enumerate(blocks):
        if block["type"] == "text":
            refuse_empty_text(block, at.into("content", number, "!text"))
    a_message = f"{'an' if role == 'assistant' else 'a'} {role} message"
    if not blocks and not may_be_empty:
        raise at.broken("empty-message/none", message=a_message)
    if blocks and all(
        block["type"] == "text" and not is_visible(block["text"]) for block in blocks
    ):
        raise at.broken("empty-message/blank", message=a_message)


def refuse_empty_text(block: Message, at: AnthropicPlace) -> None:
    """Raise `InvalidMessagesError` (rule empty-text) for a block of text without text."""
    if not block["text"]:
        is_marked = block.get("cache_control") is not None
        raise at.broken("empty-text/marked" if is_marked else "empty-text/plain")


def _check_block(block: Message, role: str, at: AnthropicPlace, *, sent: bool) -> None:
    kind = block["type"]
    if role != _ONLY_BY.get(kind, role):
        raise at.broken("misplaced-block/role", kind=kind, role=role, owner=_ONLY_BY[kind])
    if kind == "tool_use":
        _check_call(block, at.into("!tool_use"), CALL_ID if sent else _ANY_ID)
    elif kind == "tool_result":
        _check_result(block, at.into("!tool_result"))


def _check_call(block: Message, at: AnthropicPlace, legal_id: Pattern[str]) -> None:
    call_id, name, rule = block.get("id"), block.get("name"), "bad-tool-call"
    if not isinstance(call_id, str) or not legal_id.fullmatch(call_id):
        legal = "letters, digits, _ and -; not empty"
        raise at.into("id").no_match(rule, call_id, CALL_ID, legal)
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME:
        legal = f"text of 1 to {MAX_NAME} characters"
        raise at.into("name").no_match(rule, name, CALL_NAME, legal)
    at.needed(rule, block, "input", dict, "an object")


def _check_result(block: Message, at: AnthropicPlace) -> None:
    legal = "the id of the call that it answers"
    at.needed("orphan-result", block, "tool_use_id", str, legal)
    if block.get("is_error") is not None:
        at.needed("bad-content", block, "is_error", bool, "true or false")
    inner = at.into("content")
    match block.get("content"):
        case None | str():
            pass
        case list() as blocks:
            check_blocks(blocks, Place(at.provider, inner.steps))
        case other:
            raise inner.wrong_type("bad-content", list, other, _CONTENT)


def _refuse_late_results(blocks: list[Message], at: AnthropicPlace) -> None:
    for number, (before, block) in enumerate(pairwise(blocks), start=1):
        if before["type"] != "tool_result" and block["type"] == "tool_result":
            # The vendor does not recognise a result after other blocks, and reports the call as
            # unanswered.
            caller = max((at.index or 0) - 1, 0)
            spot = at.into("content", number)
            raise spot.broken("results-first", caller=caller, calls=block.get("tool_use_id"))
