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


def test_what_announces_the_next_act_is_not_told() -> None:
    """Of what is said between acts, whole sentences that tell something are."""
    said = (
        "The mast of NX-22 leans by four degrees to port. The stays of NX-22 deserve a long look."
    )
    turns = [*talk("Go."), assistant(said), *ran("look", "ok"), *ran("look -a", "ok")]
    assert [item.variants[0] for item in found(turns)] == [
        "assistant: The mast of NX-22 leans by four degrees to port."
    ]
    assert found([*talk("Go."), assistant("I look at the stays."), *ran("look", "ok")]) == []


def test_a_guess_on_the_way_is_not_told() -> None:
    """It is weighed, not found; what follows from it is told."""
    turns = [
        assistant(
            "Wait, the leak might be in `bow.py` near the keel. The keel in `bow.py` is sound and"
            " dry. If I caulk it, the paint in `hold.py` would suffer much. Let me look further."
        ),
        *ran("cat bow.py", "keel = 'dry'"),
    ]
    assert [item.variants for item in found(turns)] == [
        ("assistant: The keel in `bow.py` is sound and dry.",)
    ]


def test_what_was_only_weighed_long_ago_and_remarks_are_not_told() -> None:
    """The last thoughts are what the next step goes on from."""
    weighed = assistant("So the fault must be in the mast, and it has to be cut by a hand.")
    remark = assistant("Now I have a complete picture of the whole yard and its boats. Look again.")
    acts = [[weighed, *ran(f"look {n}", "ok")] for n in range(5)]
    assert len(found([turn for act in acts for turn in act])) == 3
    assert found([remark, *ran("look", "ok")]) == []


def test_sentences_stand_on_lines_of_their_own() -> None:
    """A shorter variant has the sentences that are worth most, in order."""
    said = " ".join(f"The {n}th stay of mast NX-{n} is loose by {n} turns." for n in range(6))
    turns = [*talk("Go."), assistant(f"{said} I go on."), *ran("look", "ok")]
    (item,) = found(turns)
    assert len(item.variants) == 3
    for variant in item.variants:
        told = variant.removeprefix("assistant: ")
        assert all(part.removeprefix("[…] ") in said for part in told.split("\n"))
        assert told.replace("\n", " ") in said or "\n[…] " in told


def test_json_arguments_that_are_no_plan_are_no_plan() -> None:
    """Neither are numbers or plain lists."""
    for value in ([1, 2], {"a": [1, 2]}, {"a": 3}, {"todo": ["one", "two"]}):
        assert [*plan_items(read(called("set", value=json.dumps(value))))] == []
