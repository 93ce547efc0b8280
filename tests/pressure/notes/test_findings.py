"""What the assistant reported and found, what is open, and the plan."""

import json
from collections.abc import Sequence

import pytest

from polycontext.pressure.notes.findings import finding_items, open_items, plan_items
from polycontext.pressure.notes.items import Item, Section
from polycontext.window import Turn
from tests.pressure.notes.conversations import called, ran, read, talk
from tests.pressure.notes.extractive_samples import assistant, user

ASKED = talk("Mind the boat.", "Low water is at 05:40 by the pier. Shall I wake the pilot?")


def found(turns: Sequence[Turn], *, is_answered: bool = False) -> list[Item]:
    """Return the items on what the assistant said."""
    standing = read(talk("Go on.", "It is done.")) if is_answered else []
    return [*finding_items(read(turns), standing, len(turns))]


def opened(turns: Sequence[Turn], standing: Sequence[Turn] = ()) -> list[Item]:
    """Return the items on what is open."""
    return [*open_items(read(turns), read(standing))]


# ---- what is open


def test_a_question_that_nobody_answered_is_open() -> None:
    """Without the statement before it."""
    (item,) = opened(ASKED)
    assert (item.section, item.variants) == (Section.OPEN, ("assistant: Shall I wake the pilot?",))


@pytest.mark.parametrize(
    "after",
    [
        [user("Yes, wake him.")],
        [assistant("I wake him.")],
        ran("wake pilot", "ok"),
        [user("Yes."), *ran("wake pilot", "ok"), assistant("He is awake.")],
    ],
)
def test_an_answered_question_is_not_open(after: list[Turn]) -> None:
    """Neither is an announcement behind which the assistant went on."""
    assert opened([*ASKED, *after]) == []
    announced = [assistant("Next I'll replace the bulb of the lamp.")]
    assert len(opened(announced)) == 1
    assert opened([*announced, *after]) == []


def test_a_question_stays_with_an_answer_that_stays_in_the_view() -> None:
    """It is known then, not open; an assistant that goes on in the view needs it no more."""
    (item,) = opened(ASKED, [user("Yes.")])
    assert item.section is Section.KNOWN
    assert opened(ASKED, [user("Yes."), assistant("He is awake.")]) == []


# ---- the plan


@pytest.mark.parametrize(
    "plan",
    [
        [assistant("The plan:\n- [x] Find it\n- [ ] Test it\n- [ ] Write it\n- [ ] Send it")],
        called(
            "todo_write",
            todos=[
                {"content": "Find it", "status": "completed"},
                *({"content": f"{verb} it", "status": "pending"} for verb in ("Test", "Write")),
            ],
        ),
        called("plan", plan="- [x] Find it\n- [ ] Test it\n- [ ] Write it"),
        [assistant("- [ ] Test it\n- [ ] Write it"), *talk("Fine.", "The mast is of oak.")],
    ],
)
def test_the_first_open_points_of_a_plan_are_open(plan: list[Turn]) -> None:
    """The current point and the next, in prose and as a call; the shortest has one."""
    (item,) = plan_items(read([*talk("Go."), *plan]))
    assert item.section is Section.OPEN
    whole, short = item.variants
    assert ["Test it" in line for line in whole.splitlines()] == [True, False]
    assert "Write it" in whole.splitlines()[1]
    assert short == whole.splitlines()[0]


def test_the_last_plan_counts() -> None:
    """A plan that is done leaves nothing open."""
    plans = [assistant("- [ ] Find it"), *talk("Go."), assistant("- [x] Find it\n- [x] Test it")]
    assert [*plan_items(read(plans))] == []
    assert [item.variants for item in plan_items(read(plans[:2]))] == [("- [ ] Find it",)]


# ---- what was found


def test_a_sentence_in_a_file_that_is_written_is_no_open_point() -> None:
    """Only items of a list are."""
    text = "Nobody merges a phase in progress.\n"
    assert [*plan_items(read(called("Write", path="rules.md", content=text)))] == []
    (item,) = plan_items(read(called("Write", path="a.md", content=f"{text}- [ ] Merge phase 2")))
    assert item.variants == ("- [ ] Merge phase 2",)


def test_a_closing_report_is_told_whole() -> None:
    """In its lines; the newest comes first unless a reply stays in the view."""
    report = "The pump is repaired.\n- It lost 3 bars of pressure.\n- The seal of hall Q is new."
    turns = [*talk("Repair it."), *ran("fix", "ok"), assistant(report), user("Fine. Now paint.")]
    turns += [*ran("paint", "ok"), assistant("The pump is green. So is the door of hall Q.")]
    first, last = found(turns)
    assert first.variants[0] == f"assistant: {report}"
    assert last.score > first.score
    assert found(turns, is_answered=True)[-1].score < last.score


def test_a_report_around_code_is_one() -> None:
    """Long code in it is counted; what the user repeats is told where the user says it."""
    code = "\n".join(f"seal_{number} = new" for number in range(9))
    report = f"The pump is repaired.\n\n```ini\n{code}\n```\n\nThe seal of hall Q is new."
    (item,) = found([*talk("Repair it."), *ran("fix", "ok"), assistant(report)])
    assert item.variants == (
        "assistant: The pump is repaired.\n[… 9 ini lines]\nThe seal of hall Q is new.",
    )
    turns = [*talk("Repair it.", report), user("The pump is repaired. Fine."), *talk("Paint.")]
    turns += [user("The seal of hall Q is new.")]
    assert [each.variants for each in found(turns)] == [
        ("assistant: The pump is repaired.\n[… 9 ini lines]\n[… 1 line]",)
    ]


@pytest.mark.parametrize("text", ["Is there anything else?", "You're welcome!", "Which one?"])
def test_thanks_and_questions_report_nothing(text: str) -> None:
    """They end a talk without telling anything."""
    assert found(talk("Thanks.", text)) == []


def test_what_is_said_between_acts_is_not_told() -> None:
    """What came of it shows in what was done; the report at the end is told."""
    said = assistant("The mast of NX-22 leans by four degrees to port. I look at the stays now.")
    turns = [*talk("Go."), said, *ran("look", "ok")]
    assert found(turns) == []
    (item,) = found([*turns, assistant("The stays of NX-22 hold. The mast leans by four degrees.")])
    assert item.variants[0].startswith("assistant: The stays of NX-22 hold.")


def test_an_earlier_report_is_told_in_short() -> None:
    """The newest is whole."""
    reports = [[f"Go on with mast {n}.", f"Mast {n} holds. " * 200] for n in range(2)]
    first, last = found([turn for each in reports for turn in talk(*each)])
    assert len(first.variants[0]) < 700
    assert len(last.variants[0]) > 1_200
    assert first.score < last.score


def test_what_only_rejoices_or_announces_is_not_told() -> None:
    """It tells nothing, and is often refuted."""
    report = "Perfect! The mast works exactly as wanted!\nMast 7 holds.\nIts stays are of steel."
    (item,) = found([*talk("Go."), *ran("look", "ok"), assistant(report)])
    assert item.variants[0] == "assistant: Mast 7 holds.\nIts stays are of steel."
    code = "\n".join(f"mast_{number} = {number}" for number in range(20))
    shown = assistant(
        f"Here are the minimal and precise changes for all of the masts:\n```\n{code}\n```"
    )
    assert found([*talk("Go."), *ran("look", "ok"), shown]) == []


def test_a_report_stands_with_what_the_user_objected_or_answered() -> None:
    """What the user only asks next is no answer."""
    report = "The lamp is mended and shines. It has a new bulb of forty watts."
    for reply, is_told in (("No, it is still dark.", True), ("Thanks. Paint the mast.", False)):
        (item,) = found([*talk("Mend it."), *ran("mend", "ok"), assistant(report), user(reply)])
        assert (f"(user then: {reply})" in item.variants[0]) is is_told
    asked = assistant(f"{report} Shall I paint it?")
    (item,) = found([*talk("Mend it."), *ran("mend", "ok"), asked, user("Yes. " * 90)])
    assert item.variants[0].endswith("[…])")


def test_code_in_a_report_that_an_edit_removed_is_not_told() -> None:
    """It is not so any more."""
    report = "The mast leans.\nIt says: mast.angle = degrees(4, side)\nThe stays hold."
    turns = [*talk("Look."), *ran("look", "ok"), assistant(report), *talk("Mend it.")]
    edit = called("edit", file_path="a", old_string="mast.angle = degrees(4, side)", new_string="x")
    assert "mast.angle" in found(turns)[0].variants[0]
    assert "The mast leans.\n[… 1 line]\nThe stays hold." in found([*turns, *edit])[0].variants[0]


def test_json_arguments_that_are_no_plan_are_no_plan() -> None:
    """Neither are numbers or plain lists."""
    for value in ([1, 2], {"a": [1, 2]}, {"a": 3}, {"todo": ["one", "two"]}):
        assert [*plan_items(read(called("set", value=json.dumps(value))))] == []
