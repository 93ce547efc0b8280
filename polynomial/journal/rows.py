"""Events as database rows, and as JSON text for stores that keep texts."""

from collections.abc import Iterable, Mapping, Sequence

from polycontext.base import InvalidDataError
from polycontext.base.codec import json_object, structured, to_text

from .codec import (
    LEGAL,
    Numbers,
    Row,
    Turns,
    as_state,
    converter,
    microseconds,
    moment,
    own_converter,
    turn_of_row,
)
from .events import OF_ROW, Event, TurnEvent

__all__ = ("CONVERTER", "Row", "microseconds", "moment", "turn_of_row")

CONVERTER = own_converter()
_EVENTS = converter({Event: "event"})


def row_of(event: Event, numbers: Numbers) -> Row:
    """Return `event` as a row."""
    return event.row(numbers)


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
    if row.kind not in OF_ROW:
        what = f"{row.kind!r:.60} is not a kind of event"
        raise InvalidDataError("kind", what, ", ".join(OF_ROW))
    event: Event = OF_ROW[row.kind].of_row(as_state(row.state), row, turns)
    return event


def event_to_json(event: Event) -> str:
    """Return an event as JSON text for a store that keeps texts; `event_from_json` reads it.

    Raise `TypeError` if `event` is not an event.
    """
    if not isinstance(event, Event):
        raise TypeError(f"{type(event).__name__} is not an event")
    return to_text(_EVENTS, event, Event)


def event_from_json(text: str | bytes) -> Event:
    """Parse what `event_to_json` returned.

    The sources of gists are still ranges; a store may return them like that.

    Raises:
        InvalidDataError: it is not an event; names the place of the first fault.
    """
    event: Event = structured(
        _EVENTS,
        json_object(text, legal="what event_to_json returned"),
        Event,  # type: ignore[arg-type]  # a union
        legal=LEGAL,
    )
    return event
