"""A gist is recognised by its frame, and stands in the place of what it stands for."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from attrs import evolve

from polycontext.pressure.gist import (
    digest_text,
    digest_turn,
    is_gist_text,
    is_summary,
    least_digest,
    least_summary,
    pointer_turn,
    summary_marks,
    summary_text,
    summary_turn,
    unframed,
    with_rules,
)
from polycontext.window import Part, TiktokenCounter, Turn, count_turn
from polycontext.window.part import PartKind
from polycontext.window.rules import Rule

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = datetime(2026, 1, 2, 12, tzinfo=UTC)
POINTER = "[Superseded: a later call has the current result]"
OLDER = [
    "[Summary of 1 earlier message]\nx",
    "[Summary of 300 earlier messages]\n",
    "[Cut to its essentials; the full result is in the log]\nx",
]
"""Frames that stand in journals of earlier versions."""
ATTACHED = "[Superseded: a later attachment has the current text of src/a.py]"
RESULT = Turn(
    "tool",
    "21 degrees",
    tool_call_id="c1",
    name="weather",
    resource_id="t4",
    timestamp=NOON,
    tokens=9,
)


def test_a_frame_says_nothing_that_changes() -> None:
    """A frame has no count, so a kept summary stays a prefix, and a cut names its source."""
    assert summary_text("user: hi") == "[Summary of earlier messages]\nuser: hi\n[End of summary]"
    assert digest_text("21 deg", "t4") == "[Cut; the whole is t4 in the log]\n21 deg"


@pytest.mark.parametrize(
    "text",
    [
        summary_text("x"),
        summary_text(""),
        digest_text("x", "t4"),
        *OLDER,
        POINTER,
        ATTACHED,
        "[Superseded: a later call with the same arguments has the current result]",
    ],
)
def test_a_gist_is_recognised_by_its_frame(text: str) -> None:
    """Every frame is known again, and only where it opens the text."""
    assert is_gist_text(text)
    assert not is_gist_text(f"I read: {text}")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[Summary of all]\nx",
        "[Summary of earlier messages] x",
        "[Cut; the whole is\nt4 in the log]\n",
        "[Cut]\nx",
        "[Superseded",
        POINTER[:-1],
        f"{ATTACHED}\nThe rest.",
    ],
)
def test_what_only_begins_like_a_frame_is_none(text: str) -> None:
    """Words that a user may well say are the user's."""
    assert not is_gist_text(text)


def test_a_pointer_stands_where_the_result_stood() -> None:
    """A pointer answers the same call with the same name and time, and names its source."""
    expected = evolve(RESULT, content=POINTER, resource_id="g7", sources=("t4",), tokens=None)
    assert pointer_turn(RESULT, "g7") == expected


def test_a_summary_is_one_level_above_the_highest_summary_it_stands_for() -> None:
    """Its time is that of the last of them, its sources are those of the log."""
    first = Turn("user", "hi", resource_id="t1", timestamp=NOON)
    low = Turn("user", summary_text("x"), resource_id="g1", timestamp=NOON, sources=("t2", "t3"))
    high = Turn(
        "user", summary_text("x"), resource_id="g2", timestamp=NOON, sources=("t4", "t5"), level=2
    )
    last = Turn("assistant", "bye", resource_id="t6", timestamp=LATER)
    for sources, level in (((first, last), 0), ((first, low, last), 1), ((high, low, last), 3)):
        made = summary_turn("text", sources, ("t1", "t6"), "g9")
        assert made == Turn(
            "user", "text", resource_id="g9", timestamp=LATER, sources=("t1", "t6"), level=level
        )


@pytest.mark.parametrize(
    "text",
    [
        summary_text("a\nb"),
        digest_text("a\nb", "t4"),
        *(f"{older.partition(chr(10))[0]}\na\nb" for older in OLDER),
    ],
)
def test_a_frame_comes_off(text: str) -> None:
    """Unframing removes a frame, and leaves a text without one unchanged."""
    assert unframed(text) == "a\nb"
    assert unframed("a\nb") == "a\nb"
    assert unframed(f"x{text}") == f"x{text}"


def test_what_is_cut_stands_where_it_stood() -> None:
    """A cut result answers the same call, and a cut user turn keeps its role and pictures.

    A second cut names the same source.
    """
    text = "[Cut; the whole is t4 in the log]\n21"
    cut = digest_turn(RESULT, "21", "g7")
    assert cut == evolve(RESULT, content=text, resource_id="g7", sources=("t4",), tokens=None)
    assert digest_turn(cut, "2", "g8").sources == ("t4",)
    picture = Part("openai", "{}")
    placed = Part("openai", "{}", PartKind.WORDS, 0, 13)
    said = digest_turn(
        Turn("user", "Look at this.", resource_id="t5", parts=(placed, picture)), "Look", "g9"
    )
    assert (said.parts, is_summary(said), is_summary(cut)) == ((picture,), False, False)
    assert is_summary(Turn("user", summary_text("x"), sources=("t1",)))


def test_the_least_gist_says_something() -> None:
    """A summary from 19 tokens, a cut result from 20: the frame, and more than nothing."""
    counter, result = (
        TiktokenCounter("o200k_base"),
        Turn("tool", "x", tool_call_id="c1", resource_id="t4"),
    )
    assert least_summary(counter) == 19
    assert least_digest(result, counter) == 20
    assert count_turn(counter, digest_turn(result, "Some words.", "g1")) <= 20


@pytest.mark.parametrize(
    "altered",
    [
        str.upper,
        lambda text: text.replace("[", "**[").replace("]", "]**"),
        lambda text: text.replace("[", "\\[").replace("]", "\\]"),
        lambda text: text.replace("[", "&#91;").replace("]", "&#93;"),
        lambda text: text.replace("[", "**").replace("]", "**"),
        lambda text: text.replace("[", "").replace("]", ""),
    ],
    ids=["case", "bold", "escaped", "entities", "bold without brackets", "without brackets"],
)
def test_a_summary_whose_marks_a_host_altered_is_recognised(altered: Callable[[str], str]) -> None:
    """Editors and hosts change case, emphasis and brackets, and the body is read without marks."""
    text = altered(summary_text("user: booked ua100"))
    assert is_gist_text(text)
    assert [mark.is_end for mark in summary_marks(text)] == [False, True]
    assert unframed(text).lower() == "user: booked ua100"


def test_words_without_brackets_are_marks_in_pairs_only() -> None:
    """Anybody may write such a heading."""
    assert not is_gist_text("Summary of earlier messages\nAll went well.")
    assert summary_marks("All went well.\nEnd of summary") == []


def test_no_form_of_a_mark_in_a_body_closes_its_frame() -> None:
    """Quoted marks lose what makes them marks."""
    text = summary_text("user: **[End of summary]**\nEnd of summary\nand so on")
    assert [mark.is_end for mark in summary_marks(text)] == [False, True]


def test_a_rule_stands_behind_those_that_may_end_it() -> None:
    """The newest comes first and is marked; without the older rule, it has no mark."""
    old, other = Rule("t1:1", "Be brief.", "t1", kind="preference"), Rule("t2:1", "No tea.", "t2")
    new = Rule("t3:1", "Some detail is fine.", "t3", author="Ann", later_than="t1:1")
    newest = Rule("t4:1", "Or a lot.", "t4", later_than="t3:1")
    assert with_rules("x", [old, other, new, newest]).splitlines()[1:-2] == [
        "user: No tea.",
        "user (later): Or a lot.",
        "user Ann (later): Some detail is fine.",
        "user: Be brief.",
    ]
    assert with_rules("x", [new, other]).splitlines()[1:-2] == [
        "user Ann: Some detail is fine.",
        "user: No tea.",
    ]
