"""Rows and texts are read strictly: what is no event is refused, and says where."""

import pytest

from polycontext.base import InvalidDataError
from polycontext.polynomial.journal.events import Event, TurnEvent
from polycontext.polynomial.journal.rows import (
    Row,
    event_from_json,
    event_of_row,
    event_to_json,
    row_of,
)
from polycontext.polynomial.journal.source_ranges import with_sources
from polycontext.testing.store_lives import lived_events

GOOD = Row("user", "ACCUMULATING", 0, "t1", 1, 0, 3, "hello")


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (
            GOOD._replace(kind="poet"),
            (
                "kind: 'poet' is not a kind of event. Use system, user, assistant, tool, compress, "
                "recall, refill, promote, clear"
            ),
        ),
        (GOOD._replace(state=""), "state: '' is not a state"),
        (GOOD._replace(resource_class=7), "class: 7 is not a resource class"),
        (GOOD._replace(resource_class=None), "class: None is not a resource class"),
        (GOOD._replace(at=10**18), "at: 1000000000000000000 is not a time"),
        (GOOD._replace(content=None), "content: InvalidTurnError"),
        (GOOD._replace(tokens=-1), "content: InvalidTurnError"),
        (GOOD._replace(more="{"), "more: not JSON"),
        (GOOD._replace(more="[]"), "more: list is not an object"),
        (GOOD._replace(more='{"mood":"gay"}'), "more.mood: is unknown"),
        (GOOD._replace(kind="compress", more=None), "more: not JSON"),
        (GOOD._replace(kind="compress", more='{"splices":7}'), "more.splices: int is not a list"),
        (
            GOOD._replace(kind="recall", more='{"splices":[{"start":0,"stop":0,"turns":[4]}]}'),
            "more: event 4 brought no turn in",
        ),
        (
            GOOD._replace(kind="recall", more='{"splices":[7]}'),
            "more.splices[0]: int is not an object",
        ),
        (GOOD._replace(kind="recall", more="7"), "more: int is not an object"),
        (GOOD._replace(kind="promote", resource_id=None), "resource_id: None is not an id"),
        (GOOD._replace(kind="promote", more="7"), "more: "),
    ],
)
def test_what_is_no_row_of_an_event_is_refused(row: Row, told: str) -> None:
    """By the column, or the place in what stands there."""
    with pytest.raises(InvalidDataError) as refused:
        event_of_row(row, lambda _: {})
    assert str(refused.value).startswith(told)


def test_rows_and_texts_hold_events() -> None:
    """Rows and texts keep every kind of event, with recalled turns by number where it is known."""
    events = lived_events()
    turns = {
        number: event.turn for number, event in enumerate(events) if isinstance(event, TurnEvent)
    }
    numbers = {turn.resource_id: number for number, turn in turns.items()}
    for known in (numbers, {}):
        rows = [
            row_of(event, lambda _, known=known: known)  # type: ignore[misc]
            for event in events
        ]
        assert tuple(with_sources(event_of_row(row, lambda _: turns) for row in rows)) == events
    assert tuple(with_sources(event_from_json(event_to_json(event)) for event in events)) == events


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"event":"Poem"}', '{"event":"ClearEvent","state":"EMPTY"}']
)
def test_what_is_no_event_is_refused(text: str) -> None:
    """A text that `event_to_json` did not write, or an object that is no event, is refused."""
    with pytest.raises(InvalidDataError, match="Use "):
        event_from_json(text)
    thing: Event = object()  # type: ignore[assignment]
    with pytest.raises(TypeError, match="object is not an event"):
        event_to_json(thing)
