"""Events as database rows, with the words in a row of their own.

The words of a turn (its content, and fields that few turns have) are kept apart, so that sessions
that share a turn share its words, and so that words to be erased are in one place. A recalled turn
is stored as the number of the event that added it, since its words are stored there.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVar, assert_never

import orjson

from polycontext.base import InvalidDataError, PolycontextError
from polycontext.base.codec import json_object, strict_converter, structured, to_text
from polycontext.linearity import UNIX_EPOCH, ResourceClass
from polycontext.pressure import Edit, Reach, Signals
from polycontext.window import Part, Role, Splice, ToolCall, Turn

from ..state import State, state_of
from .events import (
    ClearEvent,
    CompressEvent,
    ErasedWhy,
    EraseEvent,
    Event,
    MoveEvent,
    PatchEvent,
    PromoteEvent,
    RecallEvent,
    ResizeEvent,
    RewindEvent,
    TurnEvent,
)
from .source_ranges import read_sources, written_sources

T = TypeVar("T")

CONVERTER = strict_converter(
    sparse=(ToolCall, Part, Turn, Splice, Edit, Reach, Signals), unions={Event: "event"}
)
CONVERTER.register_structure_hook_func(
    lambda kind: kind == Sequence[str], lambda value, _: read_sources(value)
)
CONVERTER.register_unstructure_hook_func(lambda kind: kind == Sequence[str], written_sources)
CONVERTER.register_structure_hook_func(lambda kind: kind == State, lambda value, _: _state(value))

_MICROSECOND = timedelta(microseconds=1)
_COLUMNS = ("role", "content", "resource_id", "timestamp", "tokens")
_ROLES: Mapping[str, Role] = {str(role): role for role in Role}
_CLASSES = tuple(ResourceClass)
_WHY: Mapping[str, ErasedWhy] = {"forgotten": "forgotten", "expired": "expired"}
_LEGAL = "what was written"


class Row(NamedTuple):
    """An event as a database stores it.

    `kind` is the role of a turn, or the name of the input; `state` is the state after the event;
    `at` is in microseconds since 1970. `content` is a turn's text, `more` the rest as JSON: calls,
    parts and metadata of a turn, or the edit of a compression.
    """

    kind: str
    state: str
    at: int
    resource_id: str | None = None
    resource_class: int | None = None
    pinned: int | None = None
    tokens: int | None = None
    content: str | None = None
    more: str | None = None


Numbers = Callable[[Sequence[str]], Mapping[str, int]]
"""Find the numbers of the events that added turns, by the ids of the turns."""
Turns = Callable[[Sequence[int]], Mapping[int, Turn]]
"""Read the turns that some events added, by the events' numbers."""


def row_of(event: Event, numbers: Numbers) -> Row:
    """Return `event` as a row."""
    if isinstance(event, TurnEvent):
        turn = event.turn
        known = (turn.resource_id, int(event.resource_class), int(event.pinned), turn.tokens)
        at = microseconds(turn.timestamp)
        return Row(turn.role.value, str(event.state), at, *known, turn.content, _rest(turn))
    place = (str(event.state), microseconds(event.at))
    match event:
        case CompressEvent():
            row = Row("compress", *place, more=_json(CONVERTER.unstructure(event.edit)))
        case RecallEvent():
            row = Row("recall", *place, more=_json(_recall_data(event.edit, numbers)))
        case PromoteEvent(_, resource_id, resource_class, rationale):
            more = _json(rationale) if rationale else None
            row = Row("promote", *place, resource_id, int(resource_class), more=more)
        case ClearEvent():
            row = Row("clear", *place)
        case RewindEvent(_, number) | ResizeEvent(_, number):
            kind = "rewind" if isinstance(event, RewindEvent) else "resize"
            row = Row(kind, *place, more=_json(number))
        case PatchEvent():
            row = Row("patch", *place, event.name, more=event.patch)
        case MoveEvent():
            row = Row("move", *place, event.name, more=event.arguments)
        case EraseEvent():
            row = Row("erase", *place, more=_json([event.why, *event.resource_ids]))
        case _:
            assert_never(event)
    return row


def rows_of(events: Iterable[Event], first: int, stored: Numbers) -> list[tuple[int, Row]]:
    """Return new events as rows, each with its number, beginning with `first`.

    `stored` finds turns that earlier events added.
    """
    numbered = list(enumerate(events, first))
    fresh = {
        event.turn.resource_id: number for number, event in numbered if isinstance(event, TurnEvent)
    }

    def numbers(resource_ids: Sequence[str]) -> Mapping[str, int]:
        missing = [each for each in resource_ids if each not in fresh]
        return {**stored(missing), **fresh} if missing else fresh

    return [(number, row_of(event, numbers)) for number, event in numbered]


def event_of_row(row: Row, turns: Turns) -> Event:
    """Return the event that was written as `row`.

    Raises:
        InvalidDataError: it is not an event; `path` names the column.
    """
    state = _state(row.state)
    if row.kind in _ROLES:
        return TurnEvent(state, turn_of_row(row), _class(row.resource_class), bool(row.pinned))
    at = moment(row.at)
    event: Event
    match row.kind:
        case "compress":
            event = CompressEvent(state, _more(row, Edit), at)
        case "recall":
            event = RecallEvent(state, _with_turns(_load_json(row.more), turns), at)
        case "promote":
            rationale = "" if row.more is None else _more(row, str)
            resource_class = _class(row.resource_class)
            event = PromoteEvent(state, _text(row.resource_id), resource_class, rationale, at)
        case "clear":
            event = ClearEvent(state, at)
        case "rewind" | "resize":
            kind = RewindEvent if row.kind == "rewind" else ResizeEvent
            event = kind(state, _more(row, int), at)
        case "patch":
            event = PatchEvent(state, _text(row.resource_id), _document(row), at)
        case "move":
            event = MoveEvent(state, _text(row.resource_id), _document(row), at)
        case "erase":
            why, *resource_ids = _more(row, list[str]) or ("",)
            event = EraseEvent(state, tuple(resource_ids), _why(why), at)
        case _:
            legal = (
                f"{', '.join(_ROLES)}, compress, recall, promote, clear, "
                "rewind, erase, patch, resize, move"
            )
            raise InvalidDataError("kind", f"{row.kind!r:.60} is not a kind of event", legal)
    return event


def turn_of_row(row: Row) -> Turn:
    """Return the turn in a row; raise `InvalidDataError` if there is none."""
    at = moment(row.at)
    if row.more is not None:
        data = _load_json(row.more)
        if isinstance(data, dict):
            said = (row.kind, row.content, row.resource_id, at.isoformat(), row.tokens)
            data |= dict(zip(_COLUMNS, said, strict=True))
        return _structure(data, Turn)
    try:
        # The constructor validates the words, the id and the token count.
        return Turn(
            _ROLES[row.kind],
            row.content,
            resource_id=row.resource_id or "",
            timestamp=at,
            tokens=row.tokens,
        )
    except (PolycontextError, KeyError) as error:
        raise InvalidDataError("content", f"{type(error).__name__}: {error}", _LEGAL) from None


def microseconds(at: datetime) -> int:
    """Return a datetime as microseconds since 1970."""
    return (at - UNIX_EPOCH) // _MICROSECOND


def moment(at: int) -> datetime:
    """Return the datetime of `at` microseconds since 1970.

    Raise `InvalidDataError` if that is not a valid datetime.
    """
    try:
        return UNIX_EPOCH + timedelta(microseconds=at)
    except (TypeError, OverflowError):
        raise InvalidDataError(
            "at",
            f"{at!r:.60} is not a time",
            "whole microseconds since 1970, in the years 1 to 9999",
        ) from None


def _rest(turn: Turn) -> str | None:
    """Return the fields of a turn that have no column as JSON, None if they are all empty."""
    if not (
        turn.tool_calls
        or turn.tool_call_id
        or turn.name
        or turn.metadata
        or turn.sources
        or turn.level
        or turn.parts
    ):
        return None
    data = CONVERTER.unstructure(turn)
    return _json({name: value for name, value in data.items() if name not in _COLUMNS})


def _recall_data(edit: Edit, numbers: Numbers) -> dict[str, Any]:
    """Return the edit of a recall, with turns replaced by their event numbers where known."""
    data: dict[str, Any] = CONVERTER.unstructure(edit)
    known = numbers([turn.resource_id for splice in edit.splices for turn in splice.turns])
    for splice in data.get("splices", ()):
        splice["turns"] = [known.get(turn["resource_id"], turn) for turn in splice.get("turns", ())]
    return data


def _with_turns(data: Any, turns: Turns) -> Edit:
    """Return the edit of a recall with its event numbers replaced by the turns."""
    splices = data.get("splices") if isinstance(data, dict) else None
    entries: list[list[Any]] = (
        [splice.get("turns", []) for splice in splices if isinstance(splice, dict)]
        if isinstance(splices, list)
        else []
    )
    told = turns([number for listed in entries for number in listed if type(number) is int])
    for listed in entries:
        listed[:] = [_turn_data(told, entry) for entry in listed]
    return _structure(data, Edit)


def _turn_data(told: Mapping[int, Turn], entry: Any) -> Any:
    if type(entry) is not int:
        return entry
    if entry not in told:
        raise InvalidDataError(
            "more", f"event {entry} brought no turn in", "numbers of events that did"
        )
    return CONVERTER.unstructure(told[entry])


def _class(value: object) -> ResourceClass:
    if type(value) is not int or not 0 <= value < len(_CLASSES):
        raise InvalidDataError(
            "class", f"{value!r:.60} is not a resource class", f"0..{len(_CLASSES) - 1}"
        )
    return _CLASSES[value]


def _why(value: str) -> ErasedWhy:
    if value not in _WHY:
        raise InvalidDataError("more", f"{value!r:.60} is not a reason to erase", ", ".join(_WHY))
    return _WHY[value]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidDataError("resource_id", f"{value!r:.60} is not an id", "a text")
    return value


def _state(value: object) -> State:
    if not isinstance(value, str) or not value:
        raise InvalidDataError("state", f"{value!r:.60} is not a state", "the name of one")
    return state_of(value)


def _document(row: Row) -> str:
    _load_json(row.more)
    return str(row.more)


def _json(data: Any) -> str:
    return orjson.dumps(data).decode()


def _load_json(text: object) -> Any:
    try:
        return orjson.loads(text)  # type: ignore[arg-type]  # validated here
    except orjson.JSONDecodeError as error:
        raise InvalidDataError("more", f"not JSON ({error})", _LEGAL) from None


def _more(row: Row, kind: type[T]) -> T:
    return _structure(_load_json(row.more), kind)


def _structure(data: Any, kind: type[T]) -> T:
    return structured(CONVERTER, data, kind, path="more", legal=_LEGAL)


def event_to_json(event: Event) -> str:
    """Return an event as JSON text for a store that keeps texts; `event_from_json` reads it.

    Raise `TypeError` if `event` is not an event.
    """
    if not isinstance(event, Event):
        raise TypeError(f"{type(event).__name__} is not an event")
    return to_text(CONVERTER, event, Event)


def event_from_json(text: str | bytes) -> Event:
    """Parse what `event_to_json` returned.

    The sources of gists are still ranges; a store may return them like that.

    Raises:
        InvalidDataError: it is not an event; names the place of the first fault.
    """
    event: Event = structured(
        CONVERTER,
        json_object(text, legal="what event_to_json returned"),
        Event,  # type: ignore[arg-type]  # a union
        legal=_LEGAL,
    )
    return event
