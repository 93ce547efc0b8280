"""The immutable turn: one message of a conversation, validated when it is created.

A turn is a provider's message without any wire format. Validation runs once, here, so that all
other code can rely on storable text and a known role.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from typing import Any, TypeVar

from attrs import evolve, field, fields, frozen

from polycontext.base import guided
from polycontext.base.json_data import EMPTY, check_text, freeze_object
from polycontext.linearity import UNIX_EPOCH
from polycontext.linearity.tag import in_utc

from .errors import InvalidTurnError
from .part import Part, PartKind
from .sources import Sources

T = TypeVar("T")

_ID = re.compile(r"[^\s\[\]<>\"'&\x00-\x20\x7f-\x9f\u2028-\u202e]{1,200}")

GIST = "gist"
"""The metadata key that marks a gist whose sources are unknown.

It is set on a gist of an earlier request that was read back from a message list.
"""


class Role(StrEnum):
    """The author of a turn."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@guided
@frozen
class ToolCall:
    """A tool call: its id, the tool's name, and the arguments as the model's own JSON text.

    Ids are only unique within one turn: recorded conversations reuse them later. If two calls come
    with one id, the turn numbers the second (see `call_ids`).
    """

    id: str = field(validator=lambda _, a, v: _nonempty(v, "tool_calls.id"))
    name: str = field(validator=lambda _, a, v: _nonempty(v, "tool_calls.name"))
    arguments: str = field(default="{}", validator=lambda _, a, v: _text(v, "tool_calls.arguments"))


def _text(value: object, name: str) -> str:
    return check_text(value, name, _refuse_text)


_TEXTS = {
    "content": "text: str(value), json.dumps(data, default=str), or add_message for a message",
    "tool_calls.arguments": "JSON as text: json.dumps(arguments)",
    "tool_call_id": "the id of the call, such as call.id",
}
"""What to write in place of something that is not text, by field."""


def _refuse_text(name: str, problem: str, legal: str) -> InvalidTurnError:
    return InvalidTurnError(name, problem, _TEXTS.get(name, legal) if legal == "str" else legal)


def _nonempty(value: object, name: str) -> None:
    if not check_text(value, name, InvalidTurnError):
        raise InvalidTurnError(name, "is empty", "a non-empty string")


def _role(value: object) -> Role:
    if type(value) is Role:
        return value
    try:
        return Role(value)  # type: ignore[arg-type]
    except ValueError:
        raise InvalidTurnError("role", f"unknown role {value!r}", ", ".join(Role)) from None


def _check_id(value: object) -> None:
    # Ids appear in gists and in markup, so characters that close a frame or open a tag are
    # rejected.
    if _ID.fullmatch(_text(value, "resource_id")) is None:
        raise InvalidTurnError(
            "resource_id",
            f"{value!r:.60} is not an id",
            "1 to 200 printable characters without white space, brackets, quotes, <, > or &",
        )


def _aware(value: object) -> datetime:
    return in_utc(value, "timestamp", InvalidTurnError)


def _sequence(value: Iterable[T], kind: type[T], name: str, noun: str) -> tuple[T, ...]:
    if value == ():
        return ()
    legal = f"a sequence of {kind.__name__}"
    if not isinstance(value, Iterable):
        raise InvalidTurnError(name, f"{type(value).__name__} is not a sequence of {noun}s", legal)
    values = tuple(value)
    for each in values:
        if not isinstance(each, kind):
            raise InvalidTurnError(name, f"{type(each).__name__} is not a {noun}", legal)
    return values


def _calls(value: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    calls = _sequence(value, ToolCall, "tool_calls", "call")
    return _told_apart(calls) if len(calls) > 1 else calls


def free_name(name: str, taken: Collection[str], longest: int | None = None) -> str:
    """Return `name`, numbered if it is `taken`, with at most `longest` characters.

    >>> free_name("a", {"a", "a_2"}), free_name("abcdef", {"abcd"}, 4)
    ('a_3', 'ab_2')
    """
    if name[:longest] not in taken:
        return name[:longest]

    def numbered(number: int) -> str:
        ending = f"_{number}"
        return name[: longest and longest - len(ending)] + ending

    # Thousands may be taken, so the end of the numbers is found by doubling and halving.
    last, free = 1, 2
    while numbered(free) in taken:
        last, free = free, 2 * free
    while free - last > 1:
        middle = (last + free) // 2
        last, free = (middle, free) if numbered(middle) in taken else (last, middle)
    return numbered(free)


def _told_apart(calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """Return `calls` with the ids that came, numbered from the second call of one id on."""
    taken = {call.id for call in calls}
    if len(taken) == len(calls):
        return calls
    found = dict[str, ToolCall]()
    for call in calls:
        name = free_name(call.id, taken) if call.id in found else call.id
        taken.add(name)
        found[name] = evolve(call, id=name)
    return tuple(found.values())


def _metadata(value: Mapping[str, Any]) -> Mapping[str, Any]:
    return freeze_object(value, "metadata", InvalidTurnError) if value else EMPTY


def _ids(value: Iterable[str]) -> Sequence[str]:
    return value if type(value) is Sources else tuple(value)


def _parts(value: Iterable[Part]) -> tuple[Part, ...]:
    return _sequence(value, Part, "parts", "part")


# Every turn allocates one of these, so it saves the slot for weak references.
@guided
@frozen(weakref_slot=False)
class Turn:
    """An immutable message: role, content and tool calls (docs/window.md, "Turns and atoms").

    `tokens` is None until the turn enters a window, which counts it once. `sources` are the
    resource ids that a gist stands for: a tuple, or a `Sources` object that behaves like one.
    `level` is how often they have been summarised. `resource_id` is empty until a window assigns
    one.

    Raises:
        InvalidTurnError: A field is invalid: text with a lone surrogate, missing content without
            tool calls, an unknown role, a naive timestamp, a tool turn without a call id, calls
            that are not `ToolCall` objects, or metadata that are not JSON data.

    >>> Turn(role="user", content="hello").role
    <Role.USER: 'user'>
    >>> Turn(role="poet", content="hello")
    Traceback (most recent call last):
    polycontext.errors.InvalidTurnError: turn field 'role': unknown role 'poet'. Use \
system, user, assistant, tool.
    """

    role: Role = field(converter=_role)
    content: str | None
    tool_calls: tuple[ToolCall, ...] = field(default=(), converter=_calls, kw_only=True)
    tool_call_id: str | None = field(default=None, kw_only=True)
    name: str | None = field(default=None, kw_only=True)
    resource_id: str = field(default="", kw_only=True)
    timestamp: datetime = field(default=UNIX_EPOCH, converter=_aware, kw_only=True)
    metadata: Mapping[str, Any] = field(
        default=EMPTY, converter=_metadata, kw_only=True, hash=False
    )
    tokens: int | None = field(default=None, kw_only=True)
    sources: Sequence[str] = field(default=(), converter=_ids, kw_only=True)
    level: int = field(default=0, kw_only=True)
    parts: tuple[Part, ...] = field(default=(), converter=_parts, kw_only=True)

    # Runs for every message, so it tests for absent optional fields first and avoids loops.
    def __attrs_post_init__(self) -> None:
        if self.content is not None:
            check_text(self.content, "content", _refuse_text)
        elif not self.tool_calls and not self.parts:
            raise InvalidTurnError(
                "content", "None without tool calls", "text, or tool calls on an assistant turn"
            )
        if self.tool_calls and self.role is not Role.ASSISTANT:
            raise InvalidTurnError(
                "tool_calls", f"on a {self.role} turn", "tool calls on assistant turns only"
            )
        if (self.tool_call_id is None) == (self.role is Role.TOOL):
            raise InvalidTurnError(
                "tool_call_id",
                f"{self.tool_call_id!r} on a {self.role} turn",
                "an id on tool turns and only there",
            )
        if self.tool_call_id is not None:
            _text(self.tool_call_id, "tool_call_id")
        if self.name is not None:
            _text(self.name, "name")
        if self.resource_id != "":
            _check_id(self.resource_id)
        if self.tokens is not None:
            self._check_tokens()
        if self.parts:
            self._check_layout()

    def _check_tokens(self) -> None:
        if isinstance(self.tokens, bool) or not isinstance(self.tokens, int) or self.tokens < 0:
            raise InvalidTurnError(
                "tokens",
                f"{self.tokens!r} is not a number of tokens",
                "None, or a whole number of tokens, at least 0",
            )

    def _check_layout(self) -> None:
        """Raise `InvalidTurnError` if parts place words or calls that do not exist, or twice.

        Each provider has its own layout.
        """
        said: dict[str, int] = {}
        called: dict[str, set[int]] = {}
        for part in self.parts:
            if part.kind is PartKind.WORDS:
                if not said.get(part.provider, 0) <= part.start <= part.stop <= len(self.text):
                    raise InvalidTurnError(
                        "parts",
                        f"words {part.start}:{part.stop} of {len(self.text)} characters",
                        "runs of the text in order",
                    )
                said[part.provider] = part.stop
            elif part.kind is PartKind.CALL:
                done = called.setdefault(part.provider, set())
                if part.start >= len(self.tool_calls) or part.start in done:
                    raise InvalidTurnError(
                        "parts",
                        f"call {part.start} of {len(self.tool_calls)}",
                        "each call of the turn at most once",
                    )
                done.add(part.start)

    @property
    def text(self) -> str:
        """Return the content, or an empty string if there is none."""
        return self.content or ""

    @property
    def is_gist(self) -> bool:
        """Return whether this turn is a gist.

        It is one if it has sources, or if its metadata contain ``{"gist": True}``, as for a gist
        that was read back from a message list.
        """
        return bool(self.sources) or (bool(self.metadata) and self.metadata.get(GIST) is True)

    @property
    def native_providers(self) -> set[str]:
        """Return the providers whose native blocks replace the words of the turn."""
        return {part.provider for part in self.parts if part.kind is PartKind.NATIVE}

    @property
    def bound_providers(self) -> set[str]:
        """Return the providers that have bound parts in the turn."""
        return {part.provider for part in self.parts if part.is_bound}

    def as_gist(self, **marks: bool) -> "Turn":
        """Return the same turn, marked as a gist in its metadata, with further `marks`."""
        return evolve(self, metadata={**self.metadata, GIST: True, **marks})

    def with_tokens(self, tokens: int) -> "Turn":
        """Return the same turn with its token count."""
        return self.admitted(self.resource_id, tokens)

    def admitted(self, resource_id: str, tokens: int | None = None) -> "Turn":
        """Return the same turn with an id and a token count, as a window admits it.

        It skips validation, since it runs for every turn and `evolve` would repeat all checks.
        """
        turn = self._copy()
        _put_id(turn, resource_id)
        _put_tokens(turn, tokens)
        return turn

    def stamped(self, timestamp: datetime) -> "Turn":
        """Return the same turn with another timestamp and without a token count."""
        turn = self._copy()
        _put_time(turn, _aware(timestamp))
        _put_tokens(turn, None)
        return turn

    def _copy(self) -> "Turn":
        turn: Turn = object.__new__(Turn)
        for put, value in zip(_puts, _values(self), strict=True):
            put(turn, value)
        return turn


_FIELDS = tuple(attribute.name for attribute in fields(Turn))
_values = attrgetter(*_FIELDS)
# Setters of the slots: a frozen class rejects `turn.x = ...`, and `object.__setattr__` would look
# up each name.
_puts = tuple(Turn.__dict__[name].__set__ for name in _FIELDS)
_put_id, _put_time, _put_tokens = (
    Turn.__dict__[name].__set__ for name in ("resource_id", "timestamp", "tokens")
)
