"""What calls did and showed: outcomes, records, commands, files that were read, and attachments."""

import json

import pytest

from polycontext.pressure import ExtractiveSummariser
from polycontext.pressure.notes import find_sources
from polycontext.pressure.notes.call_items import call_line
from polycontext.pressure.notes.events import Event, Happening
from polycontext.pressure.notes.items import Section
from polycontext.pressure.notes.lines import NEW_LINE
from polycontext.pressure.notes.note import items_of
from polycontext.testing import FAST
from polycontext.window import ToolCall, Turn
from tests.growth import BOUND, growth
from tests.pressure.notes.conversations import ran, read
from tests.pressure.notes.extractive_samples import BUSY_TALK, assistant, called, summarise, user

BETWEEN = assistant("The loft is swept and aired, says the mate.")
BOOKING = {"booking_id": "HX9", "owner": "Ines", "berth": "B", "nights": 3, "paid": "card 4410"}
SOURCE = "\n".join(f"def moor_{n}(quay):\n    return quay.berths[{n}]" for n in range(40))
SCRIPT = " && ".join(f"sort list-{number} > sorted-{number}" for number in range(40))


def done(name: str, arguments: dict[str, object], result: object, call: str = "c") -> list[Turn]:
    """Return a call and its result."""
    text = result if isinstance(result, str) else json.dumps(result)
    return called(name, json.dumps(arguments), text, call)


def noted(*turns: Turn) -> str:
    """Return a note with room for all."""
    return summarise(turns, 5_000)


# ---- what comes next


def test_a_call_that_failed_and_is_to_be_tried_again_is_told_whole() -> None:
    """Before anything else, until it was made with success."""
    legs = [{"leg_id": f"L{n}", "berth": f"B{n}", "owner": f"Ines {n}"} for n in range(6)]
    call = done("book_legs", {"legs": legs, "payment": "card_7"}, "Error: payment is too low")
    records = [
        turn
        for n in range(8)
        for turn in done("get_berth", {"berth_id": f"B{n}"}, {**BOOKING, "booking_id": f"B{n}"})
    ]
    turns = [user("Book the six legs."), *records, *call]
    assert "owner Ines 5" in summarise(turns, 200)
    assert "payment is too low" in summarise(turns, 200)
    again = done("book_legs", {"legs": legs[:1]}, {"booking_id": "HX1", "status": "booked"})
    failed, made = (
        next(item for item in items_of(read(each)) if "too low" in item.variants[0])
        for each in (turns, [*turns, *again])
    )
    assert failed.score - made.score > 30


def test_the_record_that_the_last_request_names_is_told_with_its_pair() -> None:
    """People name a card by its last digits; what many records say names none of them."""
    methods = {f"card_{n}00{n}": {"brand": "visa", "last_four": f"{n}00{n}"} for n in range(1, 9)}
    person = done("get_user", {"user_id": "ines_1"}, {"name": "Ines Aa", "methods": methods})
    others = [
        turn
        for n in range(20)
        for turn in done("get_berth", {"berth_id": f"B{n}"}, {**BOOKING, "booking_id": f"B{n}"})
    ]
    events = read([user("I am ines_1."), *person, *others])
    (asked,) = read([user("Take the one that ends in 5005.")])
    best = max(items_of(events, [asked]), key=lambda item: item.score)
    assert "card_5005" in best.variants[-1]
    assert "card_1001" not in best.variants[-1]
    (asked,) = read([user("Take the card 4410.")])
    assert max(item.score for item in items_of(events, [asked]) if item.group) < 110


# ---- outcomes


@pytest.mark.parametrize(
    ("name", "arguments", "result", "says"),
    [
        ("book", {"berth": "B", "nights": 3}, {"booking_id": "HX12", "berth": "B"}, "-> HX12"),
        ("cancel", {"booking_id": "HX9"}, {**BOOKING, "state": "cancelled"}, "state cancelled"),
        ("pay", {"booking_id": "HX9", "sum": 80}, "declined: the limit is 50", "the limit is 50"),
        ("bash", {"command": "make lint"}, "a.c: ok\n" * 9 + "exit code 2", "exit code 2"),
        ("bash", {"command": "pytest"}, "E   assert 3 == 4\n1 failed", "E   assert 3 == 4"),
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
    told = summarise(turns, 120).partition("Done:\n")[2].partition("Known:\n")[0]
    assert says in told


def test_a_repeated_command_is_told_once_with_its_count() -> None:
    """Its last outcome stands, with the one before it."""
    text = noted(
        *ran("make", "oak"), *ran("make", "elm"), *ran("make -k", "fir"), *ran("make", "ash")
    )
    assert "`make` (3×, before: elm) -> ash" in text
    assert "`make -k` -> fir" in text
    assert "oak" not in text


def test_a_call_that_failed_says_so() -> None:
    """An answer that the line of the call tells whole is no record besides."""
    text = noted(*done("pay", {"booking_id": "HX9"}, {"error": "the card is expired"}))
    assert text == "Done:\npay(booking_id=HX9) -> error the card is expired"


def test_equal_failures_of_a_tool_are_told_once() -> None:
    """With the arguments of the last one; another failure stands for itself."""
    text = noted(
        *done("pay", {"card": "V1234"}, "Error: refused", "a"),
        *done("pay", {"card": "V5678"}, "Error: refused", "b"),
        *done("pay", {"card": "V5678"}, "Error: expired", "c"),
    )
    assert "pay(card=V5678) (2×, the last shown) -> Error: refused" in text
    assert "pay(card=V5678) -> Error: expired" in text
    assert "V1234" not in text


def test_a_failed_call_is_told_with_all_that_was_given() -> None:
    """Who tries again needs the longest argument, too."""
    berths = [{"berth": f"B{number}", "owner": f"Ines {number}"} for number in range(20)]
    text = noted(*done("book", {"berths": berths, "nights": 3, "paid": False}, "Error: full"))
    assert "{berth B19, owner Ines 19}], nights=3, paid=False) -> Error: full" in text


def test_what_a_command_says_again_in_the_view_is_told_there_alone() -> None:
    """Its older outcome is not the state any more."""
    failed, passed = ran("make check", "exit code 2"), ran("make check", "all is well")
    items = items_of(read([*failed]), read([*passed]))
    assert not any("make check" in text for item in items for text in item.variants)


def test_an_outcome_that_another_followed_is_told_beside_it() -> None:
    """Before and after a repair, the same command tells two things."""
    first, then = ran("make check", "exit code 2"), ran("make check", "12 passed")
    told = noted(*first, BETWEEN, *then)
    assert "`make check` (2×, before: exit 2; exit code 2) -> 12 passed" in told
    assert "`make check` (3×) -> 12 passed" in noted(*then, BETWEEN, *then, BETWEEN, *then)


def test_of_a_failed_call_what_the_error_speaks_of_is_told_first() -> None:
    """It is what has to change."""
    given = {"payment": "by card, half of it today", "owner": "HX9", "berth": "B"}
    most = len(given["payment"]) + 1
    event = Event(
        Happening.CALL, 0, "", "Error: payment is short", "pay", "", json.dumps(given), failed=True
    )
    assert "payment=" in call_line(event, most)
    assert "payment=" not in call_line(event._replace(text="Error: too late"), most)


def test_a_file_that_a_long_request_names_is_no_task() -> None:
    """A short request that points to it leaves the task to it, and only a task file is one."""
    text = "\n".join(f"{number}. Sweep the deck number {number} at dawn." for number in range(9))
    for path, asked, section in (
        ("harbour.txt", "Do what harbour.txt says.", "Known"),
        ("harbour.txt", "Look at harbour.txt. " + "The pier is long and grey. " * 20, ""),
        ("tasks.md", "Do tasks.md. " + "The pier is long and grey. " * 20, "Task"),
        ("tasks.md", "Go on.", ""),
        ("taskstory/quay.md", "Look at taskstory/quay.md. " + "The pier is grey. " * 20, ""),
    ):
        turns = [user(asked), *done("read_file", {"path": path}, text), *BUSY_TALK]
        note = summarise(turns, 5_000)
        head = note.partition("from read_file")[0].rstrip().rpartition("\n")[2]
        assert head == (f"{section}:" if section else note.rpartition("\n")[2]), note


def test_what_a_call_added_to_a_record_is_told_with_it() -> None:
    """Entries that were there before are not."""
    legs = [
        {"leg_id": f"L{n}", "price": 90 + n, "by": "the night ferry", "note": "a" * 60}
        for n in range(3)
    ]
    text = noted(
        *done("get_trip", {"trip_id": "T7"}, {"trip_id": "T7", "legs": legs[:2]}, "a"),
        BETWEEN,
        *done("add_leg", {"trip_id": "T7"}, {"trip_id": "T7", "legs": legs}, "b"),
    )
    (told,) = [part for part in text.split("Known:") if "add_leg(" in part]
    assert "T7 legs L2: price 92" in told
    assert "L1" not in told


def test_arguments_with_identifiers_go_before_others() -> None:
    """A list of flights is worth more than where they start."""
    seats = {"flights": [{"flight": "HX312"}, {"flight": "HX945"}], "cabin": "economy class"}
    line = call_line(
        Event(Happening.CALL, 0, "t0", name="book", arguments=json.dumps(seats)), most=35
    )
    assert line == "book(flights=[{flight HX312}, {flight HX945}], […])"


# ---- records


def booked(state: str, call: str, name: str = "get_booking") -> list[Turn]:
    """Return an answer about one booking."""
    return done(name, {"booking_id": "HX9"}, {"booking_id": "HX9", "state": state}, call)


def test_the_newest_answer_about_a_record_stands() -> None:
    """Whatever call gave it; what changed is told beside a call that changes something."""
    text = noted(*booked("open", "a"), BETWEEN, *booked("paid", "b", "pay"))
    assert "HX9: state paid (was open)" in text.partition("Done:\n")[2].partition("Known:\n")[0]
    assert "state open" not in text
    assert "pay -> HX9" not in text


def test_a_failure_replaces_no_answer() -> None:
    """The older record stands beside it."""
    text = noted(
        *booked("open", "a"), *done("get_booking", {"booking_id": "HX9"}, "Error: busy", "b")
    )
    assert "state open" in text


@pytest.mark.parametrize(
    ("calls", "says"),
    [
        (('{"day": 1}', '{"day": 2}'), ("sky clear", "sky grey")),
        (("{}", "{}"), ("sky grey",)),
    ],
)
def test_another_scope_of_a_call_is_another_thing(
    calls: tuple[str, str], says: tuple[str, ...]
) -> None:
    """Two days of one town are no change, the same call again has one result."""
    texts = [f'{{"town": "Ulm", "sky": "{sky}", "wind": 3}}' for sky in ("clear", "grey")]
    text = noted(
        *called("look", calls[0], texts[0], "a"), BETWEEN, *called("look", calls[1], texts[1], "b")
    )
    assert [each for each in ("sky clear", "sky grey") if each in text] == [*says]
    assert "(was" not in text


def test_lists_replace_nothing() -> None:
    """A search finds the same flight on another day."""
    lists = [json.dumps([{"flight_id": "HX3", "seats": n}, {"flight_id": "HX9"}]) for n in (3, 4)]
    text = noted(
        *called("find", '{"day": 1}', lists[0], "a"), *called("find", '{"day": 2}', lists[1], "b")
    )
    assert "seats 3" in text
    assert "seats 4" in text
    assert "(was" not in text


def test_an_answer_in_part_replaces_no_whole_one() -> None:
    """A confirmation names the record, and says nothing of most of its fields."""
    whole = booked("open", "a")
    part = done("pay", {"booking_id": "HX9"}, {"booking_id": "HX9", "paid": 94}, "b")
    text = noted(*whole, *part)
    assert "state open" in text
    assert "paid 94" in text
    candidates = ExtractiveSummariser().read([BETWEEN, *whole], counter=FAST)
    beside = candidates.beside([(turn, 0) for turn in part], FAST)
    assert "state open" in ExtractiveSummariser().write(beside, 1_000, counter=FAST)


@pytest.mark.parametrize(("behind", "stays"), [(0, False), (3, True)])
def test_what_stays_in_the_view_puts_a_note_right(behind: int, *, stays: bool) -> None:
    """A result in the view replaces only older ones."""
    candidates = ExtractiveSummariser().read([BETWEEN, *booked("open", "a"), BETWEEN], counter=FAST)
    beside = candidates.beside([(turn, behind) for turn in booked("paid", "b")], FAST)
    text = ExtractiveSummariser().write(beside, 1_000, counter=FAST)
    assert ("state open" in text) is stays


# ---- files that were read


def test_a_file_that_was_read_is_told_with_its_path_and_size() -> None:
    """Who needs its text reads it again."""
    turns = called("read_file", '{"path": "src/quays.py"}', SOURCE)
    assert "read: src/quays.py (80 lines)" in summarise([*turns, *BUSY_TALK], 150)
    text = summarise(turns, 400)
    assert "Files:\nread: src/quays.py (80 lines)" in text
    assert "moor_0" not in text


def test_a_few_lines_that_were_read_before_an_edit_are_not_told() -> None:
    """They are not the file as it is now."""
    first = called("read_file", '{"path": "src/quays.py"}', "def moor(quay):\n    tie(quay)", "a")
    given = {"path": "src/quays.py", "old_string": "def moor(quay)", "new_string": "def tie(quay)"}
    edit = called("str_replace", json.dumps(given), "ok", "b")
    assert "src/quays.py ->\n def moor(quay):" in summarise(first, 900)
    edited = summarise([*first, *edit], 900)
    assert "read: src/quays.py (2 lines)" in edited
    assert "src/quays.py ->" not in edited


def test_a_line_that_a_search_found_is_not_told_once_an_edit_removed_it() -> None:
    """Others of its lines stand at their numbers."""
    found = ran("grep -n moor src/*.py", "src/a.py:7:moor(quay, 3)\nsrc/b.py:9:moor(quay, 4)")
    given = {"path": "src/a.py", "old_string": "moor(quay, 3)", "new_string": "tie(quay)"}
    edit = called("str_replace", json.dumps(given), "ok", "b")
    assert "src/a.py:7:moor(quay, 3)" in summarise(found, 900)
    edited = summarise([*found, *edit], 900)
    assert "src/a.py:7" not in edited
    assert "src/b.py:9:moor(quay, 4)" in edited


def test_an_outcome_for_a_task_that_others_followed_is_told_in_short() -> None:
    """Of what is finished the end is enough."""
    text = "\n".join(f"berth {n} of quay {n * 7} is dry and swept" for n in range(12))
    asked = "Now see to the lamps of quay {}, and write down what you find there, berth by berth."
    tasks = [user(asked.format(number)) for number in range(3)]
    long, short = (
        next(item.variants[0] for item in items_of(read(each)) if "quay 77" in item.variants[0])
        for each in ([*ran("sweep", text)], [*ran("sweep", text), *tasks])
    )
    assert len(short) <= 300 < len(long)


def test_a_failure_that_was_made_good_is_not_told() -> None:
    """By a later call of a tool that takes no arguments, or by a later edit of the file."""
    failed, made = (
        done("leave_harbour", {}, text, text[:1]) for text in ("Error: fog", "The harbour is left.")
    )
    assert "fog" in noted(user("Go."), *failed)
    assert "fog" not in noted(user("Go."), *failed, *made)


def test_output_of_numbered_lines_is_a_file_that_was_read() -> None:
    """It is nothing that was done, also if nobody says which file it is."""
    lines = "\n".join(f"  {number}→quay_{number} = {number * 7}" for number in range(1, 5))
    (item,) = items_of([Event(Happening.OUTPUT, 0, "t0", lines)])
    assert item.section is Section.KNOWN
    assert item.variants[0].startswith("a file ->\nquay_1 = 7\n")


def test_a_file_that_is_read_again_is_told_once() -> None:
    """The later text takes the place of an earlier one, an error does not."""
    again = called("view", '{"file": "./a.py"}', "mast = 'oak'", "b")
    first = called("read_file", '{"path": "a.py"}', "mast = 'ash'", "a")
    failed = called("view", '{"file": "a.py"}', "Error: no such file", "c")
    text = noted(*first, BETWEEN, *again)
    assert "oak" in text
    assert "ash" not in text
    assert "oak" in noted(*first, BETWEEN, *again, *failed)


def test_commands_in_text_are_told_too() -> None:
    """Each with what it read, or with what came of it, and each line is traced."""
    turns = [
        user("Repair the quays."),
        *said("cat src/quays.py", SOURCE),
        *said("sed -i 's/quay/pier/' src/quays.py", ""),
        *said("pytest", "collected 8 items\n===== 1 failed, 7 passed in 0.20s ====="),
    ]
    text = summarise(turns, 90)
    assert "read: src/quays.py (80 lines)" in text or "`cat src/quays.py`" in text
    assert "edited src/quays.py: sed s/quay/pier/" in text
    assert "`pytest` -> 1 failed, 7 passed in 0.20s" in text
    assert all(find_sources(line, turns) for line in NEW_LINE.split(text))


def said(command: str, output: str) -> list[Turn]:
    """Return a command in the text of an agent, and its output as the next message."""
    return [
        assistant(f"I look at it.\n\n```bash\n{command}\n```"),
        user(f"<returncode>0</returncode>\n<output>\n{output}\n</output>"),
    ]


def test_a_diff_is_told_with_the_lines_that_changed() -> None:
    """It is what came of the edits, though its command changes nothing."""
    rows = "\n".join(f"     return quay.berths[{n}]" for n in range(9))
    hunk = f"@@ -3,11 +3,11 @@\n{rows}\n-    fare = tolls\n+    fare = harbour_tolls + levy"
    diff = f"diff --git a/src/quays.py b/src/quays.py\n{hunk}\n{rows}"
    turns = [
        assistant("The fare = harbour_tolls + levy is right, with the levy of harbour_tolls."),
        *said("git diff", diff),
        *BUSY_TALK,
    ]
    assert "+ fare = harbour_tolls + levy" in summarise(turns, 240)


def test_an_answer_in_words_is_no_output() -> None:
    """Users who reply to a command with a sentence said it themselves."""
    turns = [assistant("Try it:\n```bash\nls\n```"), user("Never mind, the mast is 14 m high.")]
    assert "user: Never mind, the mast is 14 m high." in summarise(turns, 30)


def test_an_attachment_without_text_is_still_something() -> None:
    """A note of blank code alone says that there was no text, and is not empty."""
    item = {"id": "ctx-1", "type": "code", "source": None, "label": ""}
    blank = Turn("user", "### Code\n```\n \n```", metadata={"context_item": item})
    assert summarise([blank], 40) == "attached code ctx-1: (no text)"


# ---- calls on a line


def test_short_arguments_stand_whole() -> None:
    """A mark stands for the long ones."""
    arguments = json.dumps({"path": "a.py", "old": "first line\n" * 60, "new": "return 7"})
    line = call_line(Event(Happening.CALL, 0, "t0", name="edit", arguments=arguments))
    assert line == "edit(path=a.py, new=return 7, […])"


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")], ids=["compact", "spaced"])
@pytest.mark.parametrize("room", range(10, 130, 10))
def test_what_is_left_of_a_long_value_is_traced_to_its_call(
    separators: tuple[str, str], room: int
) -> None:
    """Each piece of a long command is traced to its call, but marks between are not."""
    arguments = {"note": "for the shed", "command": SCRIPT, "timeout": 30_000}
    call = ToolCall("c1", "run", json.dumps(arguments, separators=separators))
    turns = [
        user("Sort them."),
        Turn("assistant", None, tool_calls=[call]),
        Turn("tool", "done", tool_call_id="c1"),
    ]
    lines = [
        line for line in NEW_LINE.split(summarise(turns, room, counter=FAST)) if "list-" in line
    ]
    assert lines or room < 30
    assert all(turns[1] in find_sources(line, turns) for line in lines)


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("begun", "again"),
    [("", '{"a":1,'), ("", '{"a":'), ("", '"a":[[[[{'), ("", "}"), ('{"a": "', "]}")],
)
def test_a_long_text_without_pairs_to_shorten_is_read_in_linear_time(
    begun: str, again: str
) -> None:
    """Short pairs, brackets and nested lists: what stands before a pair is not copied for it."""

    def read(length: int) -> object:
        call = ToolCall("c1", "run", begun + again * (length // len(again)))
        turns = [Turn("assistant", None, tool_calls=[call]), Turn("tool", "ok", tool_call_id="c1")]
        return summarise(turns, 60, counter=FAST)

    assert growth(read, 2_500) < BOUND


def test_a_blank_argument_is_left_out() -> None:
    """However long it is, white space leaves nothing to tell."""
    call = ToolCall("c", "write", json.dumps({"path": "a.txt", "text": "\t" * 50_000}))
    assert "\t" not in summarise([Turn("assistant", None, tool_calls=[call])], 60, counter=FAST)
