"""What a caller asks of a session: one or more inputs of the machine that are one commit.

A command carries its time and ids.

Commands are built from what a caller hands in (turns, a provider's messages, items, ids, classes),
which is checked before anything is done.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Literal, Protocol, TypedDict

from attrs import frozen

from polycontext.linearity import InvalidOptionError, ResourceClass, UnknownNameError
from polycontext.pressure import Fulfilment
from polycontext.window import ContextItem, ContextWindow, InvalidTurnError, Role, ToolCall, Turn
from polycontext.window.filler import OPENING, opening_of
from polycontext.window.providers import Provider, format_of

from ..inputs import ContextInput
from ..journal.conversation import Conversation
from ..state import ContextState
from .options import check_arguments, require

Messages = Iterable[Turn | Mapping[str, Any]]
Items = Iterable[ContextItem | tuple[ContextItem, str | None]]
Change = Callable[[Any], Sequence[Mapping[str, Any]] | None]
Oversize = Literal["truncate", "error"]


@frozen
class Add:
    """Take a turn in; where the session is automatic, make room first.

    What the user says and does not fit is truncated in the view, or an error.
    """

    turn: Turn
    resource_class: ResourceClass | None = None
    oversize: Oversize = "truncate"


@frozen
class Attach:
    """Attach a context item once, under a fresh id where its own one named another item here."""

    item: ContextItem
    source: str | None = None
    resource_class: ResourceClass | None = None


@frozen
class Compress:
    """Compress to a target pressure, by default to 40 % of the free room at most."""

    target: float | None = None
    query: str | None = None


@frozen
class Take:
    """Take an input as it is: what clears, resizes or promotes, or an event that a subclass of the machine adds."""

    input: ContextInput


@frozen
class Commit:
    """Put in what was made of a plan, written while the conversation went on.

    Where an answer is no good nothing happens, or an extract stands with `fallback`.
    """

    fulfilment: Fulfilment
    fallback: bool = False


@frozen
class Recall:
    """Bring atoms back from the log."""

    resource_ids: tuple[str, ...]


@frozen
class Rewind:
    """Go back to where the conversation stood once."""

    target: Conversation


@frozen
class Patch:
    """Change a document that accompanies the conversation: `change` is told what it is, None where there is none, and returns a JSON Patch, or None.

    It is asked again where another writer was first, of what that one has left.
    """

    name: str
    change: Change


@frozen
class Together:
    """Do several things as one: all of them or none."""

    commands: tuple["Command", ...]


Command = Add | Attach | Compress | Take | Commit | Recall | Rewind | Patch | Together
"""What a session can be asked for."""


class Companion(Protocol):
    """Stand for whatever is saved with a session, in the same commit: a memory, a shared context."""

    def to_data(self) -> Mapping[str, Any]:
        """Return it as JSON data, in which `to_data` of two equal companions is equal."""
        ...


@frozen
class WriteRequest:
    """Hold a command with its moment (the core reads no clock), and the key under which it happens once, however often it is asked.

    `sent` is the number of the epoch in which a model was last handed the conversation, if one was:
    what it answers is bound to that. `ready` was written in the background: it is put in where room
    is needed.
    """

    command: Command
    at: datetime
    key: str | None = None
    sent: int | None = None
    ready: Fulfilment | None = None


class WriteOptions(TypedDict, total=False):
    """Hold what every write can be given: the revision it was made for, and the key under which it happens once."""

    expected_revision: int | None
    idempotency_key: str | None


class AddOptions(WriteOptions, total=False):
    """Hold what a new turn can be given besides: the class that overrules the classifier, and what becomes of it where it does not fit."""

    resource_class: ResourceClass | str | None
    oversize: Oversize


# --- building them ----------------------------------------------------------------------


def utc_now() -> datetime:
    """Return the time; the one place where a session reads a clock of its own."""
    return datetime.now(UTC)


def build_add(
    turn: object,
    resource_class: ResourceClass | str | None = None,
    oversize: Oversize = "truncate",
    **_: object,
) -> Add:
    """Return the command that takes one turn in; what else is given concerns its write."""
    return Add(
        check_turn(turn),
        None if resource_class is None else class_of(resource_class),
        _check_oversize(oversize),
    )


def build_attach(
    item: ContextItem, source: str | None, resource_class: ResourceClass | str | None = None
) -> Attach:
    """Return the command that attaches an item.

    Raises:
        InvalidOptionError: `item` is not a context item.
    """
    if not isinstance(item, ContextItem):
        raise InvalidOptionError(
            "item", item, 'a ContextItem, such as ContextItem(text, "file", {"filename": "a.py"})'
        )
    return Attach(item, source, None if resource_class is None else class_of(resource_class))


def build_attaches(items: object) -> tuple[Attach, ...]:
    """Return the commands that attach `items`: each an item, or one with its source.

    Raises:
        InvalidOptionError: no items.
    """
    pairs = (
        each if isinstance(each, tuple) else (each, None)
        for each in (items if isinstance(items, Iterable) else (items,))
    )
    return tuple(build_attach(*pair) for pair in pairs)


def build_extend(
    conversation: Conversation,
    messages: object,
    provider: Provider | str,
    oversize: Oversize = "truncate",
) -> Together:
    """Return the command that takes turns, or a provider's messages, in behind `conversation`.

    Where the assistant is first, the user opens.

    Raises:
        InvalidMessagesError: the messages break a rule of the provider, or are in another one's
            format.
    """
    given = (
        list(messages)
        if isinstance(messages, Iterable) and not isinstance(messages, str | Mapping)
        else messages
    )
    if isinstance(given, list) and all(isinstance(message, Turn) for message in given):
        turns = list(map(check_turn, given))
    else:
        from polycontext.window.providers import unwrap  # noqa: PLC0415 - as below

        from ..restoration import known_again  # noqa: PLC0415 - for those who hand in lists

        given = unwrap(given)
        parsed = format_of(given, provider).parse(given, waiting=conversation.window.open_calls)
        turns = list(
            chain.from_iterable(known_again(parsed.turns, has_task=conversation.window.has_task))
        )
    place = opening_of(turns) if conversation.state is ContextState.EMPTY else None
    if place is not None:
        turns.insert(place, Turn(Role.USER, OPENING, timestamp=turns[place].timestamp))
    return Together(tuple(Add(turn, oversize=_check_oversize(oversize)) for turn in turns))


def missing_result(call_id: str, content: str, **fields: Any) -> Turn:
    """Return the marked result of a call that has none."""
    return Turn(Role.TOOL, content, tool_call_id=call_id, metadata={"repaired": True}, **fields)


def build_results(conversation: Conversation, reason: str) -> Together:
    """Return the command that ends every open call with a marked result, which says why there is none.

    Raises:
        InvalidOptionError: `reason` is no text.
    """
    check_arguments(reason=reason)
    said = f"[no result: {reason.strip()}]"
    calls = conversation.window.open_calls
    return Together(tuple(Add(missing_result(call, said)) for call in calls))


def build_compress(target: float | None, query: str | None) -> Compress:
    """Return the command that compresses now."""
    check_arguments(query=query)
    return Compress(target, query)


def build_promotion(resource_id: str, resource_class: object, rationale: str = "") -> Take:
    """Return the command that raises the class of a turn."""
    check_arguments(resource_id=resource_id, rationale=rationale)
    return Take(ContextInput.promote(resource_id, class_of(resource_class), rationale))


def build_pin(window: ContextWindow, resource_id: str, why: str) -> Take | None:
    """Return the command that keeps a turn word for word; None where it is kept so already."""
    check_arguments(resource_id=resource_id)
    if window.linearity.get(resource_id) is ResourceClass.PRESERVED:
        return None
    return build_promotion(resource_id, ResourceClass.PRESERVED, why)


def find_open_calls(window: ContextWindow) -> tuple[ToolCall, ...]:
    """Return the calls of the last atom that have no result yet, in their order."""
    ids, turns = window.open_calls, window.all_turns()
    calls = (
        next((turn.tool_calls for turn in reversed(turns) if turn.tool_calls), ()) if ids else ()
    )
    return tuple(call for call in calls if call.id in ids)


def _check_oversize(oversize: Oversize) -> Oversize:
    if oversize not in ("truncate", "error"):
        raise InvalidOptionError("oversize", oversize, "'truncate' or 'error'")
    return oversize


def class_of(value: object) -> ResourceClass:
    """Return a resource class by itself, its name in any case, or its number.

    Raises:
        UnknownNameError: no such class; names the legal ones.
    """
    names = ResourceClass.__members__
    if isinstance(value, str) and value.strip().upper() in names:
        return names[value.strip().upper()]
    try:
        return ResourceClass(value)  # type: ignore[arg-type]
    except ValueError:
        raise UnknownNameError("resource class", str(value), tuple(names)) from None


def check_turn(turn: object) -> Turn:
    """Return `turn`, whose parts are JSON data.

    Raise for what is none, and say what takes it in.
    """
    if not isinstance(turn, Turn):
        kind = type(turn).__name__
        raise InvalidTurnError(
            "turn",
            f"{kind} is no Turn",
            "a Turn; add_message takes a provider's message, add_user_turn a text",
        )
    for index, part in enumerate(turn.parts):
        from polycontext.window.providers import loaded_object  # noqa: PLC0415 - for turns that have parts

        if part.data and loaded_object(part.data) is None:
            raise InvalidTurnError(
                f"parts[{index}].data",
                "no JSON object that could be sent",
                "a JSON object without NaN or Infinity",
            )
    return turn


def check_ids(given: object) -> tuple[str, ...]:
    """Return one id, or several, as a tuple.

    Raises:
        InvalidOptionError: no ids.
    """
    ids: tuple[Any, ...] = (
        (given,) if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
    )
    require(
        "resource_ids",
        given,
        all(isinstance(each, str) for each in ids),
        "one id or a list of ids, such as ['t5']",
    )
    return ids
