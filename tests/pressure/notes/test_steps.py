"""A summary tells the steps of an agent before what it read, and what is open or decides first."""

import json

import pytest

from polycontext.pressure.notes import find_sources
from polycontext.pressure.notes.lines import NEW_LINE
from polycontext.window import Turn
from tests.pressure.notes.extractive_samples import BUSY_TALK, assistant, called, summarise, user

SOURCE = "\n".join(f"def moor_{n}(quay):\n    return quay.berths[{n}]" for n in range(40))


def ran(command: str, output: str) -> list[Turn]:
    """Return a command in the text of an agent, and its output as the next message."""
    return [
        assistant(f"I look at it.\n\n```bash\n{command}\n```"),
        user(f"<returncode>0</returncode>\n<output>\n{output}\n</output>"),
    ]


def test_a_file_that_was_read_is_told_with_its_path_and_size() -> None:
    """None of its lines are, unless a later turn names what they are about."""
    turns = [
        *called("read_file", json.dumps({"path": "src/quays.py"}), SOURCE),
        assistant("Nothing is wrong here, as far as anybody can see from the outside."),
    ]
    assert "read_file(path=src/quays.py) -> … 80 lines\n" in summarise(turns, 50)
    named = [*turns, assistant("The fault is in moor_17, which the harbour master uses.")]
    assert "-> … 80 lines\n … def moor_17(quay):" in summarise(named, 60)


def test_a_setting_that_changed_is_told_though_it_can_be_read_again() -> None:
    """The older value stands behind the newer one; nobody named the line since."""
    harbour = "harbour.cfg\n[quay]\n" + "\n".join(f"bollards_{n}=iron" for n in range(8))
    turns = [
        *called("look", '{"at": "noon"}', f"{harbour}\ndepth=fathoms"),
        *called("look", '{"at": "dusk"}', f"{harbour}\ndepth=metres", "d"),
        assistant("Nothing is wrong here, as far as anybody can see from the outside."),
    ]
    assert "depth=metres (was fathoms)" in summarise(turns, 60)


def test_a_page_of_one_line_is_told_with_its_letters() -> None:
    """Sentences are no lines."""
    page = " ".join(f"Lighthouse number {n} burns whale oil on Sundays." for n in range(30))
    turns = [*called("fetch_page", json.dumps({"url": "https://a.example/b"}), page), *BUSY_TALK]
    size = f"fetch_page(url=https://a.example/b) -> … {len(page):,} letters"
    assert size in summarise(turns, 160)


def test_commands_in_text_are_steps_too() -> None:
    """Each is told with the size of what it read, or with what came of it."""
    turns = [
        user("Repair the quays."),
        *ran("cat src/quays.py", SOURCE),
        *ran("sed -i 's/quay/pier/' src/quays.py", ""),
        *ran("pytest", "collected 8 items\n===== 1 failed, 7 passed in 0.20s ====="),
    ]
    told = summarise(turns, 90)
    assert "cat src/quays.py\nuser: … 80 lines\n" in told
    assert "sed -i 's/quay/pier/' src/quays.py" in told
    assert "1 failed, 7 passed in 0.20s" in told
    assert "berths[" not in told
    lines = [line for line in NEW_LINE.split(told) if line != "user: … 80 lines"]
    assert all(find_sources(line, turns) for line in lines)


def test_a_diff_is_told_with_the_lines_that_changed() -> None:
    """It is what came of the edits, though its command changes nothing."""
    rows = "\n".join(f"     return quay.berths[{n}]" for n in range(9))
    hunk = f"@@ -3,11 +3,11 @@\n{rows}\n-    fare = tolls\n+    fare = harbour_tolls + levy"
    diff = f"diff --git a/src/quays.py b/src/quays.py\n{hunk}\n{rows}"
    turns = [
        assistant("The fare = harbour_tolls + levy is right, with the levy of harbour_tolls."),
        *ran("git diff", diff),
        *BUSY_TALK,
    ]
    assert "+ fare = harbour_tolls + levy" in summarise(turns, 120)


@pytest.mark.parametrize("command", ["cat <<'EOF' > a.py\nx = 1\nEOF", "sed -i s/a/b/ a.py"])
def test_what_writes_a_file_is_no_reading(command: str) -> None:
    """Whatever the first word of the command is: its output keeps its worth."""
    report = "\n".join(f"hull {n} caulked" for n in range(9))
    assert "hull 8 caulked" in summarise([*ran(command, report), *BUSY_TALK], 120)


def test_an_answer_in_words_is_no_output() -> None:
    """Users who reply to a command with a sentence said it themselves."""
    turns = [assistant("Try it:\n```bash\nls\n```"), user("Never mind, the mast is 14 m high.")]
    assert "user: Never mind, the mast is 14 m high." in summarise(turns, 30)


def test_a_question_that_nobody_answered_stays() -> None:
    """However little room there is; one that was answered has no room of its own."""
    asked = assistant("Low water is at 05:40 near the northern pier. Shall I wake the pilot?")
    assert summarise([*BUSY_TALK, asked], 12) == "assistant: Shall I wake the pilot?"
    assert "pilot" not in summarise([*BUSY_TALK, asked, user("Yes."), *BUSY_TALK], 12)


def test_a_value_that_decides_outranks_a_birthday() -> None:
    """A level or a status is one of few; it decides what is allowed."""
    record = {
        "member_id": "anna_li_22",
        "born": "1950-06-24",
        "address": {"street": "12 Pine Lane", "city": "Houston", "zip": "77243"},
        "email": "anna.li@example.com",
        "notes": "prefers the northern pier and asks for a berth near the crane",
        "membership": "regular",
    }
    turns = [user("Move my berth."), *called("get_member", "{}", json.dumps(record))]
    told = summarise([*turns, assistant("Done.")], 30)
    assert "membership regular" in told
    assert "1950-06-24" not in told


def test_what_an_agent_went_on_to_do_is_no_next_step() -> None:
    """Neither what a command or a call carried out nor a part of the sentence that announced it."""
    announced = "I'll search for the lamp, to find the files that it needs."
    done = [user("Repair the lamp."), assistant(f"{announced}\n```bash\ngrep -r lamp\n```")]
    done += [user("<returncode>0</returncode>\n<output>\nlamp.py:1: lamp = 4\n</output>")]
    still = assistant("Next I'll replace the bulb of the lamp.")
    said = [*BUSY_TALK, *done, *BUSY_TALK]
    assert "Next:" not in summarise([*said, assistant("It is done.")], 400)
    assert summarise([*said, still], 400).startswith(f"Next:\nassistant: {still.text}\n")
    calling = called("grep", '{"what": "lamp"}', "lamp = 4")
    assert "Next:" not in summarise([*BUSY_TALK, still, *calling, *BUSY_TALK], 400)


def test_a_question_behind_which_its_asker_goes_on_is_not_open() -> None:
    """As a chair does who asks for objections."""
    chair = user("Are all happy to note those? Thank you. Item 4 is the pier. It is 90 m long.")
    assert "Next:" not in summarise([*BUSY_TALK, chair], 400)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("\n\n".join(f"def moor_{n}(quay):\n    return {n}" for n in range(40)), 119),
        ("\n".join(f"berth_{n} = free({n})" for n in range(20_000)), 20_000),
        ("\n".join(f"<b>\nberth {n}\n</b>" for n in range(50)), 150),
    ],
    ids=["with empty lines", "very long", "with tags of its own"],
)
def test_a_size_is_that_of_the_text(text: str, lines: int) -> None:
    """As an editor counts."""
    turns = [*called("read_file", '{"path": "a.py"}', text), assistant("Nothing is wrong here.")]
    assert f"read_file(path=a.py) -> … {lines:,} lines" in summarise(turns, 40)


def test_what_the_user_refused_is_no_next_step() -> None:
    """An assent leaves it."""
    said = [*BUSY_TALK, assistant("Next I'll empty the harbour basin.")]
    assert "Next:" not in summarise([*said, user("No, stop. That is wrong.")], 400)
    assert "Next:" in summarise([*said, user("Good. How deep is it?")], 400)


def test_a_list_that_states_rules_is_no_output() -> None:
    """It follows a command, and has lines as an output has."""
    files = "\n".join(f"- also look at quay number {number}" for number in range(40))
    said = f"- it worked\n- never moor on Fridays\n- the berth is ZFA04Y\n{files}"
    turns = [assistant("Run:\n```bash\nmake\n```"), user(said), assistant("OK.")]
    told = summarise([*turns, user("Go on.")], 40)
    assert "never moor on Fridays" in told
    assert "ZFA04Y" in told
