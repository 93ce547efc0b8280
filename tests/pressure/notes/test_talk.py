"""Talk is told in whole sentences of its speakers, in order, and never joined across lines."""

import re
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.pressure.notes.events import Event, Happening
from polycontext.pressure.notes.items import Item, Section
from polycontext.pressure.notes.talk import is_talk, talk_items
from polycontext.pressure.terms import weights_of
from tests.growth import BOUND, growth

PLENTY = 100_000


def said(*texts: str, names: Sequence[str] = ()) -> list[Event]:
    """Return messages of a user and an assistant in turn, or of named users."""
    return [
        Event(
            Happening.SAY if place % 2 and not names else Happening.ASK,
            place,
            f"t{place}",
            text,
            name=names[place % len(names)] if names else "",
        )
        for place, text in enumerate(texts)
    ]


def shortest(items: Sequence[Item]) -> list[str]:
    """Return the shortest variant of each item."""
    return [item.variants[-1] for item in items]


PLAN = (
    "Here is what I found for you.\n\n"
    "### Harbour walk\n"
    "1. **Lighthouse** - opens at 10:30, costs 4 euros\n"
    "2. **Fish market** - closed on Mondays\n"
    "3. **Boat museum** - free for children under 12\n\n"
    "The bus 27 goes there every twenty minutes. It is a pleasant ride. "
    "You may want to bring a coat because Skagen is windy in October."
)


def test_a_message_is_told_by_its_telling_sentences() -> None:
    """Figures and names stay, small talk goes, and a mark stands for what is between."""
    events = said(
        "Our boiler is a Vaillant from 2009. It is what it is. The flue was checked in May.",
        "I see. That is a good age for one of those.",
    )
    items = talk_items(events, 2, 200)
    assert {item.section for item in items} == {Section.TALK}
    assert items[0].event == 0
    assert items[0].variants[-1] == (
        "user: Our boiler is a Vaillant from 2009. […] The flue was checked in May."
    )


def test_variants_go_from_long_to_short() -> None:
    """Each shorter variant has some of the sentences of the longer ones."""
    words = ["pears", "plums", "figs", "dates", "limes", "kiwis", "nuts", "peas"]
    text = " ".join(
        f"The {word} of crate {n}7 go to Aunt {word.title()}." for n, word in enumerate(words)
    )
    (item,) = talk_items(said(text), 1, 150)
    assert len(item.variants) > 3
    assert [*item.steps] == sorted(item.steps, reverse=True)
    for longer, shorter in pairwise(item.variants):
        assert len(longer) > len(shorter)
        assert all(part in longer for part in re.split(r" \[…\] ", shorter[6:]))


def test_list_items_stay_on_lines_of_their_own() -> None:
    """Neither prose nor another item is joined to one."""
    items = talk_items(said("What is there to see in Skagen with two children?", PLAN), 2, PLENTY)
    lines = {line.strip() for line in PLAN.split("\n")}
    told = items[-1].variants[0].removeprefix("assistant: ").split("\n")
    assert "2. **Fish market** - closed on Mondays" in told
    for line in told:
        assert any(all(part in source for part in line.split(" […] ")) for source in lines)


def test_a_shortened_list_is_introduced_and_its_other_items_are_counted() -> None:
    """Nobody takes the told items for all of them."""
    items = talk_items(said("What is there to see in Skagen with two children?", PLAN), 2, 180)
    assert any(
        text.startswith("assistant: ### Harbour walk\n") and "\n[… 1 item]" in text
        for text in items[-1].variants
    )
    assert "[…" not in items[-1].variants[0]


def test_speakers_are_named_by_the_event_or_by_the_text() -> None:
    """A name that the text repeats is not told twice; a clause with a colon is no name."""
    named = talk_items(
        said(
            "Ana Li: The vat leaks at the seam.",
            "I have welded 3 of those.",
            names=["Ana_Li", "Bo"],
        ),
        2,
        PLENTY,
    )
    assert shortest(named) == [
        "Ana Li: The vat leaks at the seam.",
        "Bo: I have welded 3 of those.",
    ]
    texts = (
        "Ana: The vat leaks at the seam.",
        "Bo: I have welded 3 of those.",
        "Ana: Bring the torch from Struer.",
        "Bo: The torch needs 2 bottles of gas.",
    )
    prefixed = [Event(Happening.ASK, n, str(n), text) for n, text in enumerate(texts)]
    assert shortest(talk_items(prefixed, 4, PLENTY)) == [*texts]
    notes = (
        "Diet: cut back on 2 sodas.",
        "Daycare: pay on Friday by card.",
        "Work: call Jacob Wednesday.",
    )
    noted = [Event(Happening.ASK, n, str(n), text) for n, text in enumerate(notes)]
    assert shortest(talk_items(noted, 3, PLENTY)) == [f"user: {text}" for text in notes]
    (alone,) = talk_items(said("Update: the vat leaks at the seam."), 1, PLENTY)
    assert alone.variants[-1] == "user: Update: the vat leaks at the seam."


def test_a_name_that_looks_like_a_role_stands_behind_the_role() -> None:
    """Or else all such speakers would be one."""
    texts = [
        "User Interface: The button costs 12 euros.",
        "The case takes 30 days.",
    ] * 3
    items = talk_items(said(*texts, names=["User Interface", "Marketing"]), 6, 900)
    told = "\n".join(item.variants[0] for item in items)
    assert "user User Interface: The button costs 12 euros." in told
    assert "Marketing: The case takes 30 days." in told


def test_dates_stand_where_they_change() -> None:
    """Times that repeat are told once."""
    events = said(
        "(Mon 3 March) Ana: The vat holds 240 litres of cider.",
        "(Mon 3 March) Bo: Then we need 12 crates of Boskoop apples.",
        "(Tue 4 March) Ana: The farmer only has 9 crates left.",
        names=["Ana", "Bo"],
    )
    assert shortest(talk_items(events, 3, PLENTY)) == [
        "(Mon 3 March) Ana: The vat holds 240 litres of cider.",
        "Bo: Then we need 12 crates of Boskoop apples.",
        "(Tue 4 March) Ana: The farmer only has 9 crates left.",
    ]


def test_a_short_answer_takes_its_question_along() -> None:
    """The question is not told a second time."""
    events = said(
        "I need a table at the Harbour Inn on 9 June for my whole family.",
        "With pleasure, the inn has a terrace as well. Would you sit inside or outside at 7 pm?",
        "Outside.",
        "It is booked under the name Ferreira, and the terrace is yours from seven on.",
    )
    items = talk_items(events, 4, PLENTY)
    told = shortest(items)
    answer = items[told.index("user: Outside.")]
    assert answer.before == "assistant: Would you sit inside or outside at 7 pm?"
    assert not any("Would you sit" in text for text in told)


def test_a_question_is_no_answer() -> None:
    """It stands alone."""
    events = said(
        "Which of the 3 crates goes to Lemvig?", "Is Lemvig open on Mondays?", names=["Ana", "Bo"]
    )
    assert shortest(talk_items(events, 2, PLENTY))[-1] == "Bo: Is Lemvig open on Mondays?"


def test_a_short_message_may_be_told_whole() -> None:
    """The longest variant then has its small talk too."""
    text = "Hello there. The vat holds 240 litres of cider. See you."
    (item,) = talk_items(said(text), 1, PLENTY)
    assert item.variants == (f"user: {text}", "user: The vat holds 240 litres of cider.")


def test_the_marks_of_a_transcript_are_left_out() -> None:
    """They stand in many messages, and are no words; one that stands in few is one."""
    names = ("Ann", "Bo")
    talk = [f"{{cough}} The berth number {n} costs {n}0 tolls {{cough}} a day ." for n in range(6)]
    texts = [item.variants[0] for item in talk_items(said(*talk, names=names), 6, PLENTY)]
    assert texts[1] == "Bo: The berth number 1 costs 10 tolls a day ."
    (item,) = talk_items(said("Write {name} on the berth of the boat 7."), 1, PLENTY)
    assert "{name}" in item.variants[0]


def test_fillers_make_no_item() -> None:
    """A word of assent tells nothing where nothing was asked."""
    events = said(
        "The vat holds 240 litres of cider.", "Okay.", "Hm, right.", "Great!", names=["Ana", "Bo"]
    )
    assert len(talk_items(events, 4, PLENTY)) == 1


@pytest.mark.parametrize("takes_back", ["Uh no , younger .", "Sorry, at 39.", "I mean under it."])
def test_a_correction_stands_with_what_it_takes_back(takes_back: str) -> None:
    """Alone, what it takes back would say the opposite."""
    wrong = "Berth HX9021 is for boats of forty feet plus."
    (item, *_) = talk_items(said(f"{wrong} {takes_back} The crew waits.", "Fine."), 2, 60)
    assert all(f"{wrong} {takes_back}" in text for text in item.variants)


def test_no_one_corrects_nobody() -> None:
    """A sentence that begins with "no one" stands for itself."""
    texts = ("Berth HX9021 is for boats of forty feet. No one minds.", "Fine.")
    (item, *_) = talk_items(said(*texts), 2, 60)
    assert "No one" not in item.variants[-1]


def test_repeated_sentences_are_told_once() -> None:
    """What was said before adds nothing."""
    events = said(*["The vat holds 240 litres of cider."] * 3, names=["Ana", "Bo"])
    assert len(talk_items(events, 3, PLENTY)) == 1


def test_a_sentence_of_users_alone_takes_along_what_it_refers_to() -> None:
    """Nobody can tell what "it" is otherwise."""
    text = "The old barn is quiet. It was sold to Lars for 48000 kroner. " + "Rain fell. " * 40
    (item,) = talk_items([Event(Happening.ASK, 0, "a", text)], 1, 80)
    assert item.variants[-1].startswith("user: The old barn is quiet.")


def test_a_long_talk_among_users_is_told_in_passages() -> None:
    """None begins with a sentence that refers to another one."""
    told = [
        f"Crate {n} is from Lemvig. It weighs {n * 3} kilos. They sold it to Ana."
        for n in range(60)
    ]
    items = talk_items(said(*told, names=["Bo", "Ida"]), 60, 900)
    best = sorted(sorted(items, key=lambda item: -item.score)[:8], key=lambda item: item.event)
    assert best[0].variants[-1].startswith(("Bo: Crate", "Ida: Crate"))
    gaps = [after.event - before.event for before, after in pairwise(best)]
    assert gaps.count(1) >= 5


def test_statements_are_told_before_questions() -> None:
    """With the same words, what is known says more than what was asked."""
    events = said(
        "Which crates of Boskoop apples go to Lemvig?",
        "Nine barrels of cloudy cider come from Struer on the second Tuesday.",
        names=["Ana", "Bo"],
    )
    asked, stated = talk_items(events, 2, PLENTY)
    assert stated.score > asked.score


def test_the_rules_of_a_user_go_first() -> None:
    """Beside a talkative assistant, the user's demands are told before anything else."""
    advice = " ".join(
        f"Orchard number {n} near Village{n} has rows of {word} trees."
        for n, word in enumerate(
            [
                "pear",
                "plum",
                "fig",
                "quince",
                "cherry",
                "apple",
                "walnut",
                "medlar",
                "almond",
                "olive",
            ]
        )
    )
    events = said("Orchard friends from Struer came by train. Never send me to Fano.", advice)
    first = max(talk_items(events, 2, 45), key=lambda item: item.score)
    assert first.variants[-1] == "user: Never send me to Fano."


def test_the_last_long_answer_is_thinned() -> None:
    """Its lines stay whole, and what is left out is counted."""
    report = "\n".join(
        [
            "The trip is planned.",
            "## Costs",
            *(f"- day {n}: {n}40 euros" for n in range(60)),
            "Enjoy it.",
        ]
    )
    last = talk_items(said("Plan it.", report), 2, 200)[-1]
    assert last.score > 90
    assert 700 < len(last.variants[0]) < 1_400
    assert len(last.variants[-1]) < 700
    lines = last.variants[-1].removeprefix("assistant: ").split("\n")
    assert any(re.fullmatch(r"\[… \d+ lines\]", line) for line in lines)
    assert all(line in report.split("\n") for line in lines if not line.startswith("[…"))


def test_long_code_in_talk_is_counted() -> None:
    """A short piece stays."""
    events = [
        Event(Happening.ASK, 0, "a", "How do I read the 3 files of the press in Python?"),
        Event(Happening.SAY, 1, "b", "Open each file and read its lines with a loop over 3 names."),
        Event(Happening.CODE, 1, "b", "line\n" * 19 + "line"),
    ]
    assert talk_items(events, 2, PLENTY)[-1].variants[0].endswith("\n[… 20 lines]")


@pytest.mark.parametrize(
    ("calls", "happening", "expected"),
    [
        (0, Happening.CALL, True),
        (1, Happening.CALL, True),
        (6, Happening.CALL, False),
        (1, Happening.EDIT, False),
    ],
)
def test_few_calls_and_no_edit_make_talk(
    calls: int, happening: Happening, *, expected: bool
) -> None:
    """One look-up among twenty turns does not make work of a talk."""
    events = said(*["We had a long day at the press."] * 20)
    events += [Event(happening, 20, "z", "")] * calls
    assert is_talk(events) is expected


SENTENCES = st.lists(
    st.sampled_from(
        [
            "Our boiler is a Vaillant from 2009.",
            "- flue checked in May by Mr Olsen",
            "1. pay 240 euros",
            "It is what it is.",
            "Do you think that it will last?",
            "## Heating",
            "The cellar was dry until Tuesday.",
        ]
    ),
    min_size=1,
    max_size=8,
)


@given(st.lists(SENTENCES, min_size=1, max_size=6), st.integers(1, 600))
def test_every_word_is_the_speakers_and_no_join_crosses_a_line(
    texts: list[list[str]], room: int
) -> None:
    """Each told line is one line of the message, whole or with marks."""
    events = said(*("\n".join(lines) for lines in texts))
    for item in talk_items(events, len(events), room):
        heard = [*texts[item.event], *(texts[item.event - 1] if item.event else [])]
        for variant in item.variants:
            for line in variant.split("\n"):
                text = re.sub(r"^(?:user|assistant): ", "", line)
                assert text in heard or re.fullmatch(r"\[… \d items?\]", text)


@pytest.mark.parametrize("unit", ["a", "\n", "a. ", "a: ", "- a\n", "(1", "A b 1? ", "é", "[… "])
def test_hostile_talk_takes_linear_time(unit: str) -> None:
    """Many times the text takes about as many times the steps."""
    assert growth(lambda size: talk_items(said(unit * (size // len(unit))), 1), 10_000) < BOUND


def test_a_word_that_begins_a_sentence_is_no_name() -> None:
    """A word with a capital letter that stands in small letters elsewhere is worth less."""
    weights = weights_of([(0, ("Great", "Bergamo")), (1, ("great", "Great")), (2, ("ferry",))], 3)
    assert weights["Great"] < weights["ferry"] < weights["Bergamo"]
