"""Commands: requests to a session, each one or more inputs of the machine in one commit.

A command carries its time and ids, and is built from the caller's arguments (turns, a provider's
messages, items, ids, classes), which are checked first.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Literal, Protocol, TypedDict

from attrs import field, frozen, validators
from attrs.converters import optional

from polycontext.base import is_whole, must_be, require
from polycontext.linearity import ResourceClass
from polycontext.pressure import Fulfilment
from polycontext.window import (
    ContextItem,
    ContextWindow,
    InvalidTurnError,
    Role,
    ToolCall,
    Turn,
    providers,
)
from polycontext.window.filler import OPENING, opening_of
from polycontext.window.providers import Provider
from polycontext.window.wire_text import compact, loaded_object

from ..gist_recognition import known_again
from ..inputs import ContextInput, class_of
from ..journal.conversation import Conversation
from ..state import ContextState
from .options import NAME, is_name

Messages = Iterable[Turn | Mapping[str, Any]]
Items = Iterable[ContextItem | tuple[ContextItem, str | None]]
Change = Callable[[Any], Sequence[Mapping[str, Any]] | None]
Oversize = Literal["truncate", "error"]

_LONGEST_KEY = 200
KEY = f"a text of 1 to {_LONGEST_KEY} printable characters, another one for every command"


def is_key(value: object) -> bool:
    """Return whether `value` can be an idempotency key."""
    return isinstance(value, str) and value.isprintable() and 0 < len(value) <= _LONGEST_KEY


def check_turn(turn: object) -> Turn:
    """Return `turn` if it is a `Turn` whose parts are JSON data.

    Raises:
        InvalidTurnError: it is not. The message says which method takes other values.
    """
    if not isinstance(turn, Turn):
        kind = type(turn).__name__
        raise InvalidTurnError(
            "turn",
            f"{kind} is not a Turn",
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


def _listed(ids: object) -> tuple[Any, ...]:
    return tuple(ids) if isinstance(ids, Iterable) and not isinstance(ids, str) else (ids,)


@frozen
class Add:
    """Add a turn; with `auto`, compress first if room is needed.

    A user turn that does not fit is truncated in the view, or is an error.
    """

    turn: Turn = field(converter=check_turn)
    resource_class: ResourceClass | None = field(default=None, converter=optional(class_of))
    oversize: Oversize = field(
        default="truncate", validator=must_be(("truncate", "error").count, "'truncate' or 'error'")
    )


@frozen
class Attach:
    """Attach a context item once, with a fresh id if its own names another item."""

    item: ContextItem = field(
        validator=must_be(
            ContextItem,
            'ContextItem(text, "file", {"filename": "a.py"})',
        )
    )
    source: str | None = None
    resource_class: ResourceClass | None = field(default=None, converter=optional(class_of))


@frozen
class Compress:
    """Compress to a target pressure; by default to at most 40 % of the free budget.

    With `if_due`, compress as under pressure if the policy's schedule says so, else do nothing.
    """

    target: float | None = None
    query: str | None = field(
        default=None,
        validator=must_be(str | None, "a text, or None"),
    )
    if_due: bool = False


@frozen
class Take:
    """Process an input unchanged: clear, resize, promote, or an event that a subclass adds."""

    input: ContextInput


@frozen
class Commit:
    """Commit the fulfilment of a plan that was written while the conversation continued.

    If a summary is rejected, nothing happens; with `fallback`, an extract replaces it.
    """

    fulfilment: Fulfilment = field(
        validator=must_be(
            Fulfilment,
            "what session.background.fulfil() returned, or Fulfilment.of(plan, text)",
        )
    )
    fallback: bool = False


@frozen
class Recall:
    """Restore atoms from the log."""

    resource_ids: tuple[str, ...] = field(
        converter=_listed,
        validator=must_be(
            lambda ids: all(isinstance(each, str) for each in ids),
            "one id or a list of ids, such as ['t5']",
        ),
    )


@frozen
class Refill:
    """Bring back what gists stand for, as far as it fits below the low mark."""


@frozen
class Rewind:
    """Rewind to an earlier state of the conversation."""

    target: Conversation


@frozen
class Undo:
    """Restore the view of an earlier conversation, followed by what came since.

    `window` is the current one, which may grow until the command is executed.
    """

    target: Conversation
    window: ContextWindow


@frozen
class Patch:
    """Change a document of the conversation.

    `change` takes the document, or None if there is none, and returns a JSON Patch, or None. If
    another writer was first, it is called again with that writer's document.
    """

    name: str = field(validator=must_be(is_name, NAME))
    change: Change = field(
        validator=must_be(callable, "a function of the data that returns a JSON Patch, or None")
    )


@frozen
class Together:
    """Execute several commands as one: all or none."""

    commands: tuple["Command", ...]


Command = (
    Add | Attach | Compress | Take | Commit | Recall | Refill | Rewind | Undo | Patch | Together
)
"""Any command that a session accepts."""


class Companion(Protocol):
    """An object that is saved with a session in the same commit: a memory, a shared context."""

    def to_data(self) -> Mapping[str, Any]:
        """Return its JSON data; equal companions return equal data."""
        ...


@frozen
class WriteRequest:
    """A command with its time: the core reads no clock.

    `expected_revision` is the revision that the caller saw. A command with an `idempotency_key`
    happens once, however often it is repeated. `sent` is the number of the epoch in which a model
    last received the conversation; its answer is bound to that. `ready` is a background summary,
    used if room is needed.
    """

    command: Command
    at: datetime
    expected_revision: int | None = field(
        default=None,
        validator=validators.optional(
            must_be(is_whole, "a whole number, as session.history.revision gives it, or None")
        ),
    )
    idempotency_key: str | None = None
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


def build_attaches(items: object) -> tuple[Attach, ...]:
    """Return the commands that attach `items`: items, or pairs of an item and its source.

    Raises:
        InvalidOptionError: an element is neither.
    """
    commands: list[Attach] = []
    each: Any
    for each in items if isinstance(items, Iterable) else (items,):
        match each:
            case (item, str() | None as source):
                commands.append(Attach(item, source))
            case item:
                commands.append(Attach(item))
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
        turns = given
    else:
        given = providers.unwrap(given)
        parsed = providers.format_of(given, provider).parse(
            given, waiting=conversation.window.awaited_calls
        )
        turns = list(
            chain.from_iterable(known_again(parsed.turns, has_task=conversation.window.has_task))
        )
    place = opening_of(turns) if conversation.state is ContextState.EMPTY else None
    if place is not None:
        turns.insert(place, Turn(Role.USER, OPENING, timestamp=turns[place].timestamp))
    return Together(tuple(Add(turn, oversize=oversize) for turn in turns))


def build_results(conversation: Conversation, reason: str) -> Together:
    """Return the command that closes each open call with a marked result that states the reason.

    Raises:
        InvalidOptionError: `reason` is not a string, or is blank.
    """
    fits = isinstance(reason, str) and reason.strip()
    legal = "a text that says why there is no result, such as 'the process was stopped'"
    require("reason", reason, fits, legal)
    said = f"[no result: {reason.strip()}]"
    calls = conversation.window.open_calls
    return Together(tuple(Add(providers.tool_pairs.missing_result(call, said)) for call in calls))


def find_open_calls(window: ContextWindow) -> tuple[ToolCall, ...]:
    """Return the calls of the last atom that have no result yet, in order."""
    ids = frozenset(window.open_calls)
    return tuple(call for call in window.last_atom()[0].tool_calls if call.id in ids) if ids else ()


# --- tool calls -------------------------------------------------------------------------

_CALLS = (
    'a ToolCall, {"id", "function": {"name", "arguments"}} (OpenAI), '
    'or {"id", "name", "input"} (Anthropic)'
)


def as_tool_calls(calls: object) -> tuple[ToolCall, ...]:
    """Return the calls of a reply as `ToolCall`s; None means that there are no calls.

    Raises:
        InvalidTurnError: it is not a list, or a call has none of the known shapes.
    """
    if calls is None:
        return ()
    if not isinstance(calls, Iterable) or isinstance(calls, str | Mapping):
        raise InvalidTurnError(
            "tool_calls", f"{type(calls).__name__} is not a list", "a list of calls, or None"
        )
    return tuple(map(as_tool_call, calls))


def as_tool_call(call: object) -> ToolCall:
    """Return `call` as a `ToolCall`; it may be a provider's JSON data or an SDK object.

    Raises:
        InvalidTurnError: `call` has none of the known shapes.

    >>> function = {"name": "search", "arguments": "{}"}
    >>> as_tool_call({"id": "c1", "type": "function", "function": function})
    ToolCall(id='c1', name='search', arguments='{}')
    """
    if isinstance(call, ToolCall):
        return call
    data = _load_call(call)
    if not isinstance(data, Mapping):
        raise InvalidTurnError("tool_calls", f"{type(call).__name__} is not a tool call", _CALLS)
    match data:
        # The `id` of a Responses item names the item; `call_id` names the call.
        case (
            {"call_id": identity, "name": name, "arguments": arguments}
            | {"id": identity, "function": {"name": name, "arguments": arguments}}
            | {"id": identity, "name": name, "input": arguments}
            | {"id": identity, "name": name, "arguments": arguments}
        ):
            pass
        case _:
            raise InvalidTurnError(
                "tool_calls", f"an object with the keys {sorted(map(str, data))}", _CALLS
            )
    return ToolCall(identity, name, arguments if isinstance(arguments, str) else _json(arguments))


def _load_call(call: object) -> object:
    """Return the JSON data of an SDK object; return anything else unchanged."""
    data = providers.dumped(call)
    if isinstance(data, Mapping):
        return data
    inner: Any = getattr(call, "function", None)
    names = ("id", "call_id", "name", "input", "arguments")
    found = {name: getattr(call, name) for name in names if hasattr(call, name)}
    if hasattr(inner, "name"):
        return {**found, "function": {"name": inner.name, "arguments": inner.arguments}}
    return found or data


def _json(arguments: object) -> str:
    try:
        return compact(arguments)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidTurnError(
            "tool_calls.arguments",
            f"no JSON data ({error})",
            "JSON text, or data that JSON can say",
        ) from None
