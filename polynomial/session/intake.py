"""What a caller hands in, as commands: turns, a provider's messages, items, ids and classes, each looked at before anything is done."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import chain
from typing import Any

from polycontext.linearity import InvalidOptionError, ResourceClass, UnknownNameError
from polycontext.pressure import Fulfilment
from polycontext.window import ContextItem, ContextWindow, InvalidTurnError, Role, ToolCall, Turn
from polycontext.window.filler import OPENING, opening_of
from polycontext.window.providers import Provider, format_of

from ..inputs import ContextInput
from ..journal.conversation import Conversation
from ..state import ContextState
from .commands import Add, Asked, Attach, Command, Compress, Oversize, Take, Together
from .options import check_arguments, require
from .verbs import When

Messages = Iterable[Turn | Mapping[str, Any]]
Items = Iterable[ContextItem | tuple[ContextItem, str | None]]


def utc_now() -> datetime:
    """Return the time; the one place where a session reads a clock of its own."""
    return datetime.now(UTC)


def added(turn: object, resource_class: ResourceClass | str | None = None, oversize: Oversize = "truncate", **_: object) -> Add:
    """Return the command that takes one turn in; what else is given concerns its write."""
    return Add(checked_turn(turn), None if resource_class is None else class_of(resource_class), _checked(oversize))


def attached(item: ContextItem, source: str | None, resource_class: ResourceClass | str | None = None) -> Attach:
    """Return the command that attaches an item."""
    return Attach(item, source, None if resource_class is None else class_of(resource_class))


def all_attached(items: object) -> tuple[Attach, ...]:
    """Return the commands that attach `items`: each an item, or one with its source.

    Raises:
        InvalidOptionError: no items.
    """
    commands = []
    for each in items if isinstance(items, Iterable) else (items,):
        match each:
            case ContextItem() as item:
                commands.append(attached(item, None))
            case (ContextItem() as item, str() | None as source):
                commands.append(attached(item, source))
            case _:
                raise InvalidOptionError("items", each, "a list of ContextItem, or of pairs (ContextItem, source)")
    return tuple(commands)


def all_added(conversation: Conversation, messages: object, provider: Provider | str, oversize: Oversize = "truncate") -> Together:
    """Return the command that takes turns, or a provider's messages, in behind `conversation`; where the assistant is first, the user opens.

    Raises:
        InvalidMessagesError: the messages break a rule of the provider, or are in another one's format.
    """
    given = list(messages) if isinstance(messages, Iterable) and not isinstance(messages, str | Mapping) else messages
    if isinstance(given, list) and all(isinstance(message, Turn) for message in given):
        turns = list(map(checked_turn, given))
    else:
        from polycontext.window.providers import opened  # noqa: PLC0415 - as below

        from ..restoration import known_again  # noqa: PLC0415 - for those who hand in lists

        given = opened(given)
        parsed = format_of(given, provider).parse(given, waiting=conversation.window.open_calls)
        turns = list(chain.from_iterable(known_again(parsed.turns, has_task=conversation.window.has_task)))
    place = opening_of(turns) if conversation.state is ContextState.EMPTY else None
    if place is not None:
        turns.insert(place, Turn(Role.USER, OPENING, timestamp=turns[place].timestamp))
    return Together(tuple(Add(turn, oversize=_checked(oversize)) for turn in turns))


def closing(conversation: Conversation, reason: str) -> Together:
    """Return the command that ends every open call with a marked result, which says why there is none.

    Raises:
        InvalidOptionError: `reason` is no text.
    """
    check_arguments(reason=reason)
    said = f"[no result: {reason.strip()}]"
    calls = conversation.window.open_calls
    return Together(tuple(Add(Turn(Role.TOOL, said, tool_call_id=call, metadata={"repaired": True})) for call in calls))


def asked(command: Command, when: When, at: datetime, sent: int | None, ready: Fulfilment | None) -> tuple[Asked, int | None]:
    """Return a command with its moment, and the revision that it was made for, if one was said.

    Raises:
        InvalidOptionError: what is said of the write is no revision, or no key.
    """
    if when:
        check_arguments(**when)
    return Asked(command, at, when.get("idempotency_key"), sent, ready), when.get("expected_revision")


def compressing(target: float | None, query: str | None) -> Compress:
    """Return the command that compresses now."""
    check_arguments(query=query)
    return Compress(target, query)


def promoted(resource_id: str, resource_class: object, rationale: str = "") -> Take:
    """Return the command that raises the class of a turn."""
    check_arguments(resource_id=resource_id, rationale=rationale)
    return Take(ContextInput.promote(resource_id, class_of(resource_class), rationale))


def pinned(window: ContextWindow, resource_id: str, why: str) -> Take | None:
    """Return the command that keeps a turn word for word; None where it is kept so already."""
    check_arguments(resource_id=resource_id)
    if window.linearity.get(resource_id) is ResourceClass.PRESERVED:
        return None
    return promoted(resource_id, ResourceClass.PRESERVED, why)


def waiting(window: ContextWindow) -> tuple[ToolCall, ...]:
    """Return the calls of the last atom that have no result yet, in their order."""
    ids, turns = window.open_calls, window.all_turns()
    calls = next((turn.tool_calls for turn in reversed(turns) if turn.tool_calls), ()) if ids else ()
    return tuple(call for call in calls if call.id in ids)


def _checked(oversize: Oversize) -> Oversize:
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


def checked_turn(turn: object) -> Turn:
    """Return `turn`, whose parts are JSON data; raise for what is none, and say what takes it in."""
    if not isinstance(turn, Turn):
        kind = type(turn).__name__
        raise InvalidTurnError("turn", f"{kind} is no Turn", "a Turn; add_message takes a provider's message, add_user_turn a text")
    for index, part in enumerate(turn.parts):
        from polycontext.window.providers import loaded_object  # noqa: PLC0415 - for turns that have parts

        if part.data and loaded_object(part.data) is None:
            raise InvalidTurnError(f"parts[{index}].data", "no JSON object that could be sent", "a JSON object without NaN or Infinity")
    return turn


def checked_ids(given: object) -> tuple[str, ...]:
    """Return one id, or several, as a tuple.

    Raises:
        InvalidOptionError: no ids.
    """
    ids: tuple[Any, ...] = (given,) if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
    require("resource_ids", given, all(isinstance(each, str) for each in ids), "one id or a list of ids, such as ['t5']")
    return ids
