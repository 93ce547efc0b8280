"""A summary tells what came of calls that change something, before it tells details."""

import json

import pytest

from polycontext.pressure.notes.lines import NEW_LINE
from polycontext.window import Turn
from tests.pressure.notes.extractive_samples import BUSY_TALK, assistant, called, summarise, user

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


def test_what_can_be_read_again_comes_after_edits_results_and_decisions() -> None:
    """Lines of a file that was read stand behind what was done with it and said of it."""
    lines = "\n".join(f"mast_{n} = fasten('stay_{n}', turns={n})" for n in range(60))
    said = [
        "Shorten every halyard before winter storage begins.",
        "Varnish belongs on oak, while teak wants oil.",
        "Insurance covers collisions, excluding careless anchoring.",
        "Spare rivets hide beneath the navigator's bench.",
    ]
    edit = json.dumps({"path": "rig.py", "old": "turns=7", "new": "turns=70"})
    turns = [
        *called("read_file", '{"path": "rig.py"}', lines, "a"),
        *called("edit_file", edit, "replaced 1 line", "b"),
        *called("bash", '{"command": "pytest"}', "E   assert 7 == 70\n1 failed, 8 passed", "c"),
        *map(assistant, said),
    ]
    text = summarise(turns, 190)
    assert "read_file(path=rig.py)" in text
    assert "replaced 1 line" in text
    assert "1 failed, 8 passed" in text
    assert all(each in text for each in said)


def test_thanks_and_offers_come_last() -> None:
    """A sentence that says something stands before one that ends the talk."""
    turns = [
        *BUSY_TALK[:10],
        assistant("If you need any further assistance, please feel free to ask."),
        user("Thank you so much for all of the wonderful help today."),
        user("The harbour master asked for a copy of the drawing."),
    ]
    text = summarise(turns, 150)
    assert "harbour master" in text
    assert "further assistance" not in text
    assert "Thank you" not in text


def test_a_short_answer_stands_with_its_question() -> None:
    """Neither is told without the other where the answer is chosen."""
    turns = [
        *BUSY_TALK[:12],
        assistant("How long have the two of you been sailing together?"),
        user("Since QX77 came out!"),
        *BUSY_TALK[12:],
    ]
    text = summarise(turns, 120)
    assert "QX77" in text
    assert "sailing together?" in text
