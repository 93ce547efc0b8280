"""A summary tells what came of calls that change something, before it tells details."""

import json

import pytest

from polycontext.pressure.notes.lines import NEW_LINE
from polycontext.window import Turn
from tests.pressure.notes.extractive_samples import BUSY_TALK, called, summarise

BOOKING = {"booking_id": "HX9", "owner": "Ines", "berth": "B", "nights": 3, "paid": "card 4410"}


def done(name: str, arguments: dict[str, object], result: object, call: str = "c") -> list[Turn]:
    """Return a call and its result."""
    text = result if isinstance(result, str) else json.dumps(result)
    return called(name, json.dumps(arguments), text, call)


@pytest.mark.parametrize(
    ("name", "arguments", "result", "says"),
    [
        ("book", {"berth": "B", "nights": 3}, {"booking_id": "HX12", "berth": "B"}, "-> HX12: "),
        ("cancel", {"booking_id": "HX9"}, {**BOOKING, "state": "cancelled"}, "state cancelled"),
        ("pay", {"booking_id": "HX9", "sum": 80}, "declined: the limit is 50", "the limit is 50"),
        ("bash", {"command": "make lint"}, "a.c: ok\n" * 9 + "exit code 2", "exit code 2"),
        ("bash", {"command": "pytest"}, "E   assert 3 == 4\n1 failed", "E assert 3 == 4"),
    ],
)
def test_the_outcome_of_a_call_is_told(
    name: str, arguments: dict[str, object], result: object, says: str
) -> None:
    """What its result says anew about a record, or the first error and the last line."""
    turns = [
        *done("get_booking", {"booking_id": "HX9"}, BOOKING, "a"),
        *done(name, arguments, result),
        *BUSY_TALK,
    ]
    told = [each for each in NEW_LINE.split(summarise(turns, 120)) if each.startswith(f"{name}(")]
    assert says in told[0]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("list_notes", {}), ("searchNotes", {}), ("bash", {"command": "cd notes && cat today.txt"})],
)
def test_what_only_reads_has_no_outcome(name: str, arguments: dict[str, object]) -> None:
    """A result that can be read again takes no reserved room."""
    turns = [*done(name, arguments, "the tide is low\nthe pier is wet"), *BUSY_TALK]
    assert "the pier is wet" not in summarise(turns, 120)
