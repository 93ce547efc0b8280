"""Every argument of a session's writes reaches its place."""

from datetime import UTC, datetime

from polycontext.linearity import ResourceClass
from polycontext.window import ToolCall, Turn
from tests.polynomial.conversations import session_of

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = datetime(2026, 1, 2, 12, tzinfo=UTC)


def test_a_turn_arrives_with_all_that_was_said_of_it() -> None:
    """Text, name, calls, class and time of each kind of turn are in the log and in the ledger."""
    session = session_of(clock=lambda: NOON)
    calls = [ToolCall("a", "search", "{}")]
    session.add_system("s", resource_class=ResourceClass.REQUIRED)
    session.add_user_turn("u", name="ann", resource_class=ResourceClass.DROPPABLE)
    session.add_assistant_turn("a", calls, resource_class=ResourceClass.PRESERVED)
    session.add_tool_turn(
        "t", tool_call_id="a", name="search", resource_class=ResourceClass.PRESERVED
    )
    session.add(Turn("user", "x", timestamp=LATER, tokens=99), ResourceClass.DROPPABLE)
    assert [
        (turn.role, turn.text, turn.name, turn.tool_calls, turn.tool_call_id, turn.timestamp)
        for turn in session.log()
    ] == [
        ("system", "s", None, (), None, NOON),
        ("user", "u", "ann", (), None, NOON),
        ("assistant", "a", None, tuple(calls), None, NOON),
        ("tool", "t", "search", (), "a", NOON),
        ("user", "x", None, (), None, LATER),
    ]
    assert [session.window.class_of(turn).name for turn in session.log()] == [
        "REQUIRED",
        "DROPPABLE",
        "PRESERVED",
        "PRESERVED",
        "DROPPABLE",
    ]
