"""What the user asked and said: the task, later messages, and questions with their answers."""

import pytest

from polycontext.pressure.notes.asks import (
    answered_items,
    ask_items,
    pointed_items,
    said_variants,
    tasks_of,
)
from polycontext.pressure.notes.events import Event, Happening
from polycontext.pressure.notes.items import Item, Section
from tests.pressure.notes.conversations import called, read, talk


def asked(*texts: str, is_anchored: bool = False) -> list[Item]:
    """Return the items of what a user and an assistant say in turn."""
    return [*ask_items(read(talk(*texts)), total=len(texts), is_anchored=is_anchored)]


def test_the_first_message_is_the_task() -> None:
    """Unless the first request stays in the view."""
    texts = ("Repair the quay.", "I begin.", "Start at berth 4.")
    assert [item.section for item in asked(*texts)] == [Section.TASK, Section.SAID]
    anchored = asked(*texts, is_anchored=True)
    assert [item.section for item in anchored] == [Section.SAID, Section.SAID]


def test_the_newest_message_comes_first() -> None:
    """Then the task, then the others, the newer ones before the older."""
    items = asked(
        "Repair it.", "Yes.", "Use oak, please.", "Yes.", "Use elm, please.", "Yes.", "Go."
    )
    ranked = sorted(items, key=lambda item: -item.score)
    assert [item.variants[0] for item in ranked] == [
        "user: Go.",
        "user: Repair it.",
        "user: Use elm, please.",
        "user: Use oak, please.",
    ]


def test_a_request_that_a_word_sets_going_goes_before_older_ones() -> None:
    """It is what is being done, and its limits hold."""
    live = "Look into the leak at the quay first. No repairs yet, only tell me what you find there."
    older = "Use HX9021, QX00KZ and VT4410 by 2031-07-04."
    told = ["Use oak.", "Yes.", older, "Yes.", live, "Like this?"]
    items = ask_items(read(talk(*told)), read(talk("Proceed.")), total=6, is_anchored=True)
    assert max(items, key=lambda item: item.score).variants[0] == f"user: {live}"


def test_what_is_said_again_is_told_once() -> None:
    """Where it was said last."""
    items = asked("Go on.", "Done.", "Use oak.", "Done.", "Go on.")
    assert [(item.event, item.variants[0]) for item in items] == [
        (2, "user: Use oak."),
        (4, "user: Go on."),
    ]


@pytest.mark.parametrize(
    ("answer", "before"),
    [("14C.", "assistant: Which seat?"), (f"The one {'far ' * 30}behind.", "")],
)
def test_a_short_answer_stands_with_its_question(answer: str, before: str) -> None:
    """A long one stands alone."""
    assert asked("Book it.", "There are two. Which seat?", answer)[-1].before == before


def test_a_statement_is_no_question() -> None:
    """A short message behind a statement stands alone."""
    assert asked("Book it.", "It is booked.", "Thanks.")[-1].before == ""


def test_long_code_in_a_message_is_counted() -> None:
    """A short block stays as it is."""
    code = "\n".join(f"row_{number} = {number}" for number in range(9))
    (whole,) = said_variants(Event(Happening.ASK, 0, "t0", f"Look:\n```py\n{code}\n```\nFix it."))
    assert whole == "user: Look:\n[… 9 py lines]\nFix it."
    (short,) = said_variants(Event(Happening.ASK, 0, "t0", "Look:\n```\nx = 1\n```"))
    assert "x = 1" in short


def test_a_long_message_has_shorter_variants_of_its_own_words() -> None:
    """All of whole sentences, with marks between them."""
    said = " ".join(f"The mast of ship {n} is {n * 7} feet high." for n in range(40))
    variants = said_variants(Event(Happening.ASK, 0, "t0", said, "Mia"))
    assert len(variants) > 3
    for variant in variants:
        assert variant.startswith("user Mia: The mast")
        for part in variant.removeprefix("user Mia: ").split(" […] "):
            assert part.removesuffix(" […]") in said


CHOICE = """There are three berths:

1. Berth 4, by the crane
   - 12 tolls a day
2. Berth 7, by the mill
   - 9 tolls a day
3. Berth 9

Which one shall I book?"""


@pytest.mark.parametrize(
    ("answer", "before"),
    [
        ("I take the second one.", "2. Berth 7, by the mill\n   - 9 tolls a day"),
        ("Option 1 please.", "1. Berth 4, by the crane\n   - 12 tolls a day"),
        ("2-3", "2. Berth 7, by the mill\n   - 9 tolls a day\n3. Berth 9"),
        ("Whatever is cheap.", "Which one shall I book?"),
    ],
)
def test_an_answer_takes_along_the_points_that_it_names(answer: str, before: str) -> None:
    """A number alone says nothing."""
    assert asked("Book it.", CHOICE, answer)[-1].before == f"assistant: {before}"


def test_the_message_that_the_view_answers_is_told_first() -> None:
    """It has a variant with the points that the answer names; other answers need none."""
    turns = talk("Book it.", CHOICE)
    (item,) = pointed_items(read(turns), read(talk("The second.")))
    assert item.score > 104
    assert item.variants[-1] == "assistant: 2. Berth 7, by the mill\n   - 9 tolls a day"
    assert item.variants[0].endswith("Which one shall I book?")
    assert [*answered_items(read(turns), read(talk("x", "I book it.")[1:]))] == []


def test_points_of_a_list_that_was_told_long_before_are_told() -> None:
    """If the last request surely names points; a list that stays in the view needs no item."""
    turns = talk("Where may we moor?", CHOICE, "What does the crane cost?", "It costs 30 an hour.")
    events = read(turns)
    (item,) = pointed_items(events, read(talk("And a pilot?", "He costs 9.", "Book option 2.")))
    assert item.variants == ("assistant: 2. Berth 7, by the mill\n   - 9 tolls a day",)
    assert [*pointed_items(events, read(talk("We stay for 2 nights.")))] == []
    assert [*pointed_items(events, read(talk("Where?", CHOICE, "Book option 2.")))] == []
    (said,) = [
        item
        for item in ask_items(
            read([*turns, *talk("Take the second one.")]), total=5, is_anchored=True
        )
        if "Take" in item.variants[0]
    ]
    assert said.before.startswith("assistant: 2. Berth 7")


def test_a_request_that_others_followed_is_told_in_short() -> None:
    """Also if the later ones stay in the view; what was pasted into it is counted."""
    pasted = "\n".join(f"src/mast.py:{n}: error: rope {n} is loose" for n in range(40))
    first = f"Mend the mast of the ship, which creaks in every wind.\n\n{pasted}"
    others = ["Now paint the hull, " + "and paint it well " * 5] * 2
    events, later = read(talk(first, "It is mended.")), read(talk(others[0], "Done.", others[1]))
    (item,) = ask_items(events, later, total=5, is_anchored=False)
    assert max(map(len, item.variants)) < 340
    assert min(map(len, item.variants)) < 100
    assert item.variants[0].startswith("user: Mend the mast of the ship")
    assert "[… 40 lines]" in item.variants[0]
    (whole,) = ask_items(events, total=5, is_anchored=False)
    assert "rope 39" in whole.variants[0]


def test_an_answer_to_a_question_of_a_tool_is_no_task() -> None:
    """It finishes none, however long it is."""
    answer = '"Which pump?"="' + "the one by the north wall, behind the tank " * 3 + '"'
    question = called("AskUserQuestion", f"User has answered your questions: {answer}")
    events = read([*talk("Mend the pump. " * 9), *question])
    assert [event.text for event in events if event.happening == "ask"][1:] == [answer]
    assert tasks_of(events, ()) == [0]
