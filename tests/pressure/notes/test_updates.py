"""The newest of several statements stays and says what it replaces.

Similar statements stay.
"""

import json

import pytest

from benchmarks.retention import noted, recall
from polycontext.pressure import ExtractiveSummariser
from polycontext.pressure.notes.summariser import Candidates
from polycontext.window import Turn
from tests.pressure.notes.extractive_samples import EXACT, assistant, called, summarise, user

BETWEEN = assistant("The loft is swept and aired.")


def told(*turns: Turn) -> str:
    """Return what a summary with room for all says."""
    return summarise(turns, 5_000)


def results(*texts: str) -> list[Turn]:
    """Return calls that differ, each with a result."""
    return [
        turn
        for number, text in enumerate(texts)
        for turn in (*called("look", json.dumps({"at": number}), text, f"c{number}"), BETWEEN)
    ]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            '{"order_id": "W1", "state": "open", "total": 12}',
            '{"order_id": "W1", "state": "paid", "total": 12}',
            "W1: state paid (was open), total 12",
        ),
        (
            "# app.ini\n[http]\ntimeout = 30\nverify = true",
            "# app.ini\n[http]\ntimeout = 90\nverify = true",
            "timeout = 90 (was 30)",
        ),
        (
            "queue=emails depth=1840 consumers=3",
            "queue=emails depth=26 consumers=3",
            "queue=emails depth=26 consumers=3 (was depth=1840)",
        ),
        (
            "circuit-breaker payments -> OPEN at 09:14",
            "circuit-breaker payments -> CLOSED at 09:31",
            "CLOSED at 09:31 (was OPEN)",
        ),
    ],
)
def test_the_newest_value_of_a_result_says_what_it_replaces(old: str, new: str, says: str) -> None:
    """By record and key, by file and setting, by the name of what a line is about."""
    text = told(*results(old, new))
    assert says in text
    assert (
        len(
            [
                line
                for line in text.splitlines()
                if line.split()[-1] in old and line.split()[-1] not in new
            ]
        )
        == 0
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Session 2 of the course is in room 17.", "Session 3 of the course is in room 18."),
        (
            "There is booking QX01KZ in the list of them.",
            "There is booking QX02KZ in the list of them.",
        ),
        ("The unit tests finish in 48 seconds.", "The integration tests finish in 48 minutes."),
        ("The ferry leaves at 17:30 on Saturday.", "The ferry leaves at 19:15 on Saturday."),
        (
            "The harbour tour begins at 9 on Sunday.",
            "Update: the harbour lunch begins at 12 on Sunday instead of 13.",
        ),
        (
            "The third lab session takes place in room B204.",
            "The fourth lab session has been moved to room E117.",
        ),
        ("Book the ferry from Ancona on Monday.", "The ferry from Ancona to Split is booked."),
        ("Does the ferry leave at 17:30?", "Does the ferry leave at 19:15?"),
        ("Please do not open crate 7 in the yard.", "Please do not open the door of the yard."),
    ],
)
def test_what_merely_looks_alike_stays(one: str, other: str) -> None:
    """A number that is a name, another value, a word of change about something else, a question."""
    text = told(user(one), BETWEEN, user(other))
    assert one in text
    assert other in text


def test_records_that_differ_in_what_they_are_of_stay() -> None:
    """Another date or host is another thing."""
    text = told(
        *results(
            '{"room_id": "B1", "date": "12 June", "by": "Ada"}',
            '{"room_id": "B1", "date": "13 June", "by": "Bo"}',
        )
    )
    assert "date 12 June, by Ada" in text
    assert "date 13 June, by Bo" in text


def test_what_comes_twice_in_one_text_is_a_series() -> None:
    """Lap times put nothing right."""
    log = "lap time was 2:04 on the inner track\nlap time was 1:58 on the inner track"
    assert told(*called("log", "{}", log)) == f"log() -> {log}".replace("\n", "\n ")


def test_a_tool_puts_nothing_right_that_somebody_said() -> None:
    """Its result stands beside the user's words."""
    text = told(
        user("The kiln in the yard stands at 900 degrees."),
        *called("look", "{}", "The kiln in the yard stands at 20 degrees."),
    )
    assert "user: The kiln in the yard stands at 900 degrees." in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The ferry to Elba leaves at 17:30 today.", "The ferry to Elba leaves at 19:15 today."),
        ("The kitchen worktop shall be of oak.", "Make the kitchen worktop of bamboo instead."),
    ],
)
def test_the_newer_of_two_statements_is_told_first(old: str, new: str) -> None:
    """A sentence that a later one may correct stands with room for both, and otherwise yields."""
    turns = [user(old), BETWEEN, user(new)]
    assert old in told(*turns)
    assert new in told(*turns)
    assert "(was" not in told(*turns)
    older, _, newer = ExtractiveSummariser().read(turns, counter=EXACT).units
    assert older.boost < newer.boost


def test_a_question_and_code_correct_nothing() -> None:
    """Words of change in them are about something else."""
    for later in ("Why is the kitchen worktop not of bamboo?", "worktop = kitchen.swap(bamboo)"):
        read = [user("The kitchen worktop shall be of oak."), BETWEEN, user(later)]
        first, *_ = ExtractiveSummariser().read(read, counter=EXACT).units
        assert first.boost > 1


def test_the_same_call_has_one_result_and_a_failed_one_replaces_nothing() -> None:
    """A later answer takes the place of an earlier one, an error does not."""
    first, second = (
        called("read_file", '{"path": "a.py"}', "mast = 'ash'", "a"),
        called("view", '{"file": "./a.py"}', "mast = 'oak'", "b"),
    )
    failed = called("view", '{"file": "a.py"}', "Error: no such file", "c")
    assert "ash" not in told(*first, BETWEEN, *second)
    assert "oak" in told(*first, BETWEEN, *second, *failed)


def test_it_is_no_matter_whether_turns_are_read_at_once_or_one_by_one() -> None:
    """Reading turns at once or one by one gives the same result."""
    turns = [
        *results('{"order_id": "W1", "state": "open"}'),
        user("The ferry leaves at 17:30."),
        BETWEEN,
    ]
    turns += [
        *called("look", '{"at": 9}', '{"order_id": "W1", "state": "paid"}', "z"),
        user("The ferry leaves at 19:15."),
    ]
    summariser, known = ExtractiveSummariser(), Candidates()
    for first in (0, 3, 5):
        known = summariser.read(turns[first : {0: 3, 3: 5, 5: None}[first]], known, counter=EXACT)
    assert summariser.write(known, 5_000, counter=EXACT) == told(*turns)


def test_what_stays_in_the_view_puts_a_summary_right() -> None:
    """The newer value stands behind it as it is."""
    newer = user('{"order_id": "W1", "state": "paid"}')
    known = ExtractiveSummariser().read(
        [user('{"order_id": "W1", "state": "open"}'), BETWEEN], counter=EXACT
    )
    assert len(known.beside([(newer, 0)], EXACT).units) == 1
    assert len(known.beside([(newer, 2)], EXACT).units) == 2


def test_planted_updates_are_seen_and_lookalikes_kept() -> None:
    """Of those that were written for the benchmark, with room for all of it.

    Nearly half of the updates are sentences, or have another value without a record or name.
    """
    found = noted.Noted()
    for item in noted.written("updates", "tuning"):
        text = noted._noted_of([*noted._put(item, "old"), *noted._put(item, "new")])
        found.add("seen", item, not noted._stands_as_current(item["stale"], text))
    for item in noted.written("lookalikes", "tuning"):
        text = noted._noted_of([*noted._put(item, "one"), *noted._put(item, "other")])
        found.add("apart", item, all(recall.flat(each) in text for each in item["both"]))
    assert (found.tallies["seen"].share or 0) >= 0.5
    assert (found.tallies["apart"].share or 0) >= 0.98


@pytest.mark.parametrize(("behind", "stays"), [(0, False), (2, False), (3, True)])
def test_what_stands_beside_a_summary_replaces_what_is_older_than_it(
    behind: int, stays: bool
) -> None:
    """A turn beside a summary replaces only older statements."""
    read = [
        BETWEEN,
        user('{"order_id": "W1", "state": "open"}'),
        BETWEEN,
        assistant("Noted, all of it."),
    ]
    newer = user('{"order_id": "W1", "state": "paid"}')
    candidates = ExtractiveSummariser().read(read, counter=EXACT)
    left = candidates.beside([(newer, behind)], EXACT)
    text = ExtractiveSummariser().write(left, 1_000, counter=EXACT)
    assert ("state open" in text) is stays


@pytest.mark.parametrize(
    ("calls", "says"),
    [
        (('{"day": 1}', '{"day": 2}'), ("sky clear", "sky grey")),
        (("{}", "{}"), ("sky grey",)),
        (('{"at": 1}', '{"at": 2}'), ("sky grey (was clear)",)),
    ],
)
def test_another_scope_of_a_call_is_another_thing(
    calls: tuple[str, str], says: tuple[str, ...]
) -> None:
    """Two days of one town are no change, the same call again has one result."""
    texts = [
        '{"town": "Ulm", "sky": "clear", "wind": 3}',
        '{"town": "Ulm", "sky": "grey", "wind": 3}',
    ]
    text = told(
        *called("look", calls[0], texts[0], "a"), BETWEEN, *called("look", calls[1], texts[1], "b")
    )
    assert all(each in text for each in says)
    assert ("(was" in text) is ("(was" in says[0])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("max_rows = 100", "max_rows = 200"),
        ("Error: seat_map of B7 is locked", "Error: seat_map of B7 is gone"),
        ("src/dock.py: 3 lines", "src/dock.py: 5 lines"),
        ("id: 4\nunit-rows: 3", "id: 5\nunit-rows: 8"),
    ],
)
def test_code_errors_paths_and_longer_results_state_no_change(one: str, other: str) -> None:
    """They may come from another file, command or thing."""
    assert "(was" not in told(*results(one, other))


def test_records_of_a_list_state_no_change_unless_the_call_names_one() -> None:
    """A search finds the same flight on another day; a call for one booking is about it."""
    lists = [
        f'[{{"flight": "HX{seat}", "seats": {seat}}}, {{"flight": "HX9", "seats": {seat}}}]'
        for seat in (3, 4)
    ]
    assert "(was" not in told(*results(*lists))
    legs = json.dumps([{"leg_id": "L1", "at": "x" * 80}])
    named = [
        turn
        for number, total in enumerate((3, 4))
        for turn in called(
            "open" if number else "find",
            '{"booking_id": "HX9"}',
            f'{{"booking_id": "HX9", "total": {total}, "legs": {legs}}}',
            f"c{number}",
        )
    ]
    assert "total 4 (was 3)" in told(*named)
