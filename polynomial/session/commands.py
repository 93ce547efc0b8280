"""Commands: requests to a session, each one or more inputs of the machine in one commit.

A command carries its time and ids, and is built from the caller's arguments (turns, a provider's
messages, items, ids, classes), which are checked first.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Literal, Protocol, TypedDict

from attrs import frozen

from polycontext.base import InvalidOptionError, UnknownNameError
from polycontext.linearity import ResourceClass
from polycontext.pressure import Fulfilment
from polycontext.window import (
    ContextItem,
    ContextWindow,
    InvalidTurnError,
    Role,
    ToolCall,
    Turn,
    loaded_object,
)
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
    """Add a turn; with `auto`, compress first if room is needed.

    A user turn that does not fit is truncated in the view, or is an error.
    """

    turn: Turn
    resource_class: ResourceClass | None = None
    oversize: Oversize = "truncate"


@frozen
class Attach:
    """Attach a context item once, with a fresh id if its own names another item."""

    item: ContextItem
    source: str | None = None
    resource_class: ResourceClass | None = None


@frozen
class Compress:
    """Compress to a target pressure; by default to at most 40 % of the free budget."""

    target: float | None = None
    query: str | None = None


@frozen
class Take:
    """Process an input unchanged: clear, resize, promote, or an event that a subclass adds."""

    input: ContextInput


@frozen
class Commit:
    """Commit the fulfilment of a plan that was written while the conversation continued.

    If a summary is rejected, nothing happens; with `fallback`, an extract replaces it.
    """

    fulfilment: Fulfilment
    fallback: bool = False


@frozen
class Recall:
    """Restore atoms from the log."""

    resource_ids: tuple[str, ...]


@frozen
class Rewind:
    """Rewind to an earlier state of the conversation."""

    target: Conversation


@frozen
class Patch:
    """Change a document of the conversation.

    `change` takes the document, or None if there is none, and returns a JSON Patch, or None. If
    another writer was first, it is called again with that writer's document.
    """

    name: str
    change: Change


@frozen
class Together:
    """Execute several commands as one: all or none."""

    commands: tuple["Command", ...]


Command = Add | Attach | Compress | Take | Commit | Recall | Rewind | Patch | Together
"""Any command that a session accepts."""


class Companion(Protocol):
    """An object that is saved with a session in the same commit: a memory, a shared context."""

    def to_data(self) -> Mapping[str, Any]:
        """Return its JSON data; equal companions return equal data."""
        ...


@frozen
class WriteRequest:
    """A command with its time (the core reads no clock) and its idempotency key.

    A command with a key happens once, however often it is repeated. `sent` is the number of the
    epoch in which a model last received the conversation; its answer is bound to that. `ready` is a
    background summary, used if room is needed.
    """

    command: Command
    at: datetime
    key: str | None = None
    sent: int | None = None
    ready: Fulfilment | None = None


class WriteOptions(TypedDict, total=False):
    """Options of every write: the expected revision and an idempotency key."""

    expected_revision: int | None
    idempotency_key: str | None


class AddOptions(WriteOptions, total=False):
    """Options of a new turn: also its resource class, and what happens if it does not fit."""

    resource_class: ResourceClass | str | None
    oversize: Oversize


# --- building commands ------------------------------------------------------------------


def utc_now() -> datetime:
    """Return the current time; the only place where a session reads the system clock."""
    return datetime.now(UTC)


def build_add(
    turn: object,
    resource_class: ResourceClass | str | None = None,
    oversize: Oversize = "truncate",
    **_: object,
) -> Add:
    """Return the command that adds one turn; other options concern the write and are ignored."""
    return Add(
        check_turn(turn),
        None if resource_class is None else class_of(resource_class),
        _check_oversize(oversize),
    )


def build_attach(
    item: object, source: str | None, resource_class: ResourceClass | str | None = None
) -> Attach:
    """Return the command that attaches an item.

    Raises:
        InvalidOptionError: `item` is not a context item.
    """
    if not isinstance(item, ContextItem):
        raise InvalidOptionError("item", item, 'ContextItem(text, "file", {"filename": "a.py"})')
    return Attach(item, source, None if resource_class is None else class_of(resource_class))


def build_attaches(items: object) -> tuple[Attach, ...]:
    """Return the commands that attach `items`: items, or pairs of an item and its source.

    Raises:
        InvalidOptionError: an element is neither.
    """
    commands: list[Attach] = []
    for each in items if isinstance(items, Iterable) else (items,):
        match each:
            case (item, str() | None as source):
                commands.append(build_attach(item, source))
            case item:
                commands.append(build_attach(item, None))
    return tuple(commands)


def build_extend(
    conversation: Conversation,
    messages: object,
    provider: Provider | str,
    oversize: Oversize = "truncate",
) -> Together:
    """Return the command that adds turns, or a provider's messages, to `conversation`.

    If the assistant comes first in a new conversation, a user turn is inserted before it.

    Raises:
        InvalidMessagesError: the messages break a rule of the provider, or are in another
            provider's format.
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

        from ..restoration import known_again  # noqa: PLC0415 - only needed for message lists

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
    """Return the command that closes each open call with a marked result that states the reason.

    Raises:
        InvalidOptionError: `reason` is not a string, or is blank.
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
    """Return the command that pins a turn, or None if it is already PRESERVED."""
    check_arguments(resource_id=resource_id)
    if window.linearity.get(resource_id) is ResourceClass.PRESERVED:
        return None
    return build_promotion(resource_id, ResourceClass.PRESERVED, why)


def find_open_calls(window: ContextWindow) -> tuple[ToolCall, ...]:
    """Return the calls of the last atom that have no result yet, in order."""
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
    """Return a resource class from a class, a name in any case, or a number.

    Raises:
        UnknownNameError: there is no such class. The message names the legal ones.
    """
    names = ResourceClass.__members__
    if isinstance(value, str) and value.strip().upper() in names:
        return names[value.strip().upper()]
    try:
        return ResourceClass(value)  # type: ignore[arg-type]
    except ValueError:
        raise UnknownNameError("resource class", str(value), tuple(names)) from None


def check_turn(turn: object) -> Turn:
    """Return `turn` if it is a `Turn` whose parts are JSON data.

    Raises:
        InvalidTurnError: it is not. The message says which method takes other values.
    """
    if not isinstance(turn, Turn):
        kind = type(turn).__name__
        raise InvalidTurnError(
            "turn",
            f"{kind} is no Turn",
            "a Turn; add_message takes a provider's message, add_user_turn a text",
        )
    for index, part in enumerate(turn.parts):
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
        InvalidOptionError: an id is not a string.
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
