"""Every argument of a session's writes reaches its place, in the blocking and the async form."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextOutput, ContextSession
from polycontext.pressure import ConflictError
from polycontext.window import ToolCall, Turn
from tests.polynomial.conversations import add_all, chat, session_of

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = datetime(2026, 1, 2, 12, tzinfo=UTC)
Write = Callable[..., ContextOutput]


class Twin:
    """Call the async twin of each write of a session as if it were blocking."""

    def __init__(self, session: ContextSession) -> None:
        self._session = session

    def __getattr__(self, name: str) -> Write:
        """Return the twin of `name`."""
        twin: Any = getattr(self._session, f"a{name}")
        return lambda *arguments, **options: asyncio.run(twin(*arguments, **options))


DOORS: list[Callable[[ContextSession], Any]] = [lambda session: session, Twin]
doors = pytest.mark.parametrize("door", DOORS, ids=["blocking", "async"])


@doors
def test_a_turn_arrives_with_all_that_was_said_of_it(door: Callable[[ContextSession], Any]) -> None:
    """Text, name, calls, class and time of each kind of turn are in the log and in the ledger."""
    session = session_of(clock=lambda: NOON)
    write = door(session)
    calls = [ToolCall("a", "search", "{}")]
    write.add_system("s", resource_class=ResourceClass.REQUIRED)
    write.add_user_turn("u", name="ann", resource_class=ResourceClass.DROPPABLE)
    write.add_assistant_turn("a", calls, resource_class=ResourceClass.PRESERVED)
    write.add_tool_turn(
        "t", tool_call_id="a", name="search", resource_class=ResourceClass.PRESERVED
    )
    write.add(Turn("user", "x", timestamp=LATER, tokens=99), ResourceClass.DROPPABLE)
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


@doors
def test_every_write_asks_for_the_revision_that_its_caller_saw(
    door: Callable[[ContextSession], Any],
) -> None:
    """A stale number is refused whatever is written, the current one is not."""
    session = add_all(session_of(), chat(6))
    write = door(session)
    attempts: dict[str, tuple[Any, ...]] = {
        "add_system": ("s",),
        "add_user_turn": ("u",),
        "add_assistant_turn": ("a", [ToolCall("a", "search")]),
        "add_tool_turn": ("t",),
        "add": (Turn("user", "x"),),
        "compress": (0.3,),
        "recall": (["t1"],),
        "clear": (),
    }
    for name, arguments in attempts.items():
        options = {"tool_call_id": "a"} if name == "add_tool_turn" else {}
        with pytest.raises(ConflictError):
            getattr(write, name)(
                *arguments, **options, expected_revision=session.history.revision - 1
            )
        getattr(write, name)(*arguments, **options, expected_revision=session.history.revision)
