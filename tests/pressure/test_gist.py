"""A gist says of how many turns it is, is recognised by its frame, and stands in the place of what it stands for."""

from datetime import UTC, datetime

import pytest

from polycontext.pressure.gist import digest_text, is_gist_text, pointer_turn, summary_text, summary_turn
from polycontext.window import Turn

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = datetime(2026, 1, 2, 12, tzinfo=UTC)
POINTER = "[Superseded: a later call with the same arguments has the current result]"
ATTACHED = "[Superseded: a later attachment has the current text of src/a.py]"


def test_a_summary_says_of_how_many_messages_it_is() -> None:
    """One message is one, more are many."""
    assert summary_text("user: hi", 1) == "[Summary of 1 earlier message]\nuser: hi"
    assert summary_text("user: hi", 12) == "[Summary of 12 earlier messages]\nuser: hi"


@pytest.mark.parametrize("text", [summary_text("x", 1), summary_text("", 300), digest_text("x"), POINTER, ATTACHED])
def test_a_gist_is_recognised_by_its_frame(text: str) -> None:
    """Every frame is known again, and only where it opens the text."""
    assert is_gist_text(text)
    assert not is_gist_text(f"I read: {text}")


@pytest.mark.parametrize(
    "text", ["", "[Summary of all]\nx", "[Summary of 3 earlier messages] x", "[Superseded", POINTER[:-1], f"{ATTACHED}\nThe rest."]
)
def test_what_only_begins_like_a_frame_is_none(text: str) -> None:
    """Words that a user may well say are the user's."""
    assert not is_gist_text(text)


def test_a_pointer_stands_where_the_result_stood() -> None:
    """It answers the same call under the same name at the same time, and knows what it stands for."""
    old = Turn("tool", "21 degrees", tool_call_id="c1", name="weather", resource_id="t4", timestamp=NOON, tokens=9)
    expected = Turn("tool", POINTER, tool_call_id="c1", name="weather", resource_id="g7", timestamp=NOON, sources=("t4",))
    assert pointer_turn(old, "g7") == expected


def test_a_summary_is_one_level_above_the_highest_summary_it_stands_for() -> None:
    """Its time is that of the last of them, its sources are those of the log."""
    first = Turn("user", "hi", resource_id="t1", timestamp=NOON)
    low = Turn("user", summary_text("x", 2), resource_id="g1", timestamp=NOON, sources=("t2", "t3"))
    high = Turn("user", summary_text("x", 2), resource_id="g2", timestamp=NOON, sources=("t4", "t5"), level=2)
    last = Turn("assistant", "bye", resource_id="t6", timestamp=LATER)
    for sources, level in (((first, last), 0), ((first, low, last), 1), ((high, low, last), 3)):
        made = summary_turn("text", sources, ("t1", "t6"), "g9")
        assert made == Turn("user", "text", resource_id="g9", timestamp=LATER, sources=("t1", "t6"), level=level)
