"""The words of turns, as the laws of the message formats compare them."""

from polycontext.window.turn import ToolCall, Turn
from tests.laws.internal.formats import answered, called, missing, spoken

TURNS = [
    Turn("system", " Be brief.\n"),
    Turn("user", "Weather?"),
    Turn("assistant", None, tool_calls=(ToolCall("a", "look"), ToolCall("b", "ask"))),
    Turn("tool", "rain", tool_call_id="b"),
    Turn("tool", " ", tool_call_id="a"),
    Turn("assistant", "Wet.", tool_calls=(ToolCall("a", "look"),)),
    Turn("tool", "sun", tool_call_id="a"),
]


def test_what_is_said_is_parted_into_system_and_all_else() -> None:
    """White space at the ends is no word, and what holds nothing else says nothing."""
    assert spoken(TURNS, system=True) == ["Be brief."]
    assert spoken(TURNS, system=False) == ["Weather?", "rain", "Wet.", "sun"]


def test_calls_are_named_in_order() -> None:
    """Each call counts, also where a tool is called again."""
    assert called(TURNS) == ["look", "ask", "look"]


def test_a_result_answers_a_call_of_the_latest_turn_that_called() -> None:
    """A result answers a call of the latest turn that used its id; an orphan answers none."""
    assert answered(TURNS) == [(2, 1), (2, 0), (3, 0)]
    assert answered([TURNS[3], *TURNS]) == answered(TURNS)


def test_words_are_missing_unless_they_stand_behind_one_another() -> None:
    """A text is missing unless it follows the one before it; all missing ones are listed."""
    assert missing(["one", "two"], ["zero one", "and two"]) == []
    assert missing(["two", "one", "one", "three"], ["one two", "three"]) == ["one", "one"]
    assert missing(["one\ntwo", "X"], ["one", "two"]) == ["X"]
