"""Sessions for the store contract: hostile texts, and journals that hold every kind of event."""

from datetime import UTC, datetime, timedelta
from typing import Any

from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextSession, Event
from polycontext.polynomial.stores import SessionStore
from polycontext.pressure import ContextProjector, ExtractiveSummariser
from polycontext.window import ContextItem, Part, Turn

HOSTILE = (
    "",
    " ",
    "naïve 日本語 🎉",
    "a\0b",
    "'; DROP TABLE events; --",
    '{"event": 1}',
    "line\r\nline\u2028line",
    "%s {0} \\",
    "x" * 70_000,
)
"""Texts that a store must return unchanged."""


class Words:
    """A token counter that counts words, so that no vocabulary is loaded."""

    exact = False

    def count(self, text: str) -> int:
        """Return the number of words in `text`."""
        return len(text.split())


def lived_events() -> tuple[Event, ...]:
    """Return the journal of a session with every kind of event and many kinds of text."""
    session = session_of(None)
    for number, text in enumerate(HOSTILE):
        session.add_user_turn(f"{number}{text}", name="ann" if number else None)
        session.add_assistant_turn(f"{text}.")
    calls = [
        {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": "look", "arguments": '{"at": "a b"}'},
        }
        for number in range(2)
    ]
    session.add_assistant_turn(None, calls)
    for number in range(2):
        session.add_tool_turn(f"result {number}", tool_call_id=f"c{number}")
    session.attach(ContextItem("print(1)", "code", metadata={"filename": "a.py"}))
    parts = (Part("anthropic", '{"type": "thinking", "thinking": "so", "signature": "c2ln"}'),)
    session.add(
        Turn(
            "assistant",
            "I think.",
            parts=parts,
            metadata={"deep": [1, {"a": None}]},
            timestamp=datetime(1, 1, 2, tzinfo=UTC),
        )
    )
    session.promote("t2", ResourceClass.PRESERVED, rationale="it matters")
    for number in range(3):
        session.compress(0.1)
        session.add_user_turn(f"and then {number}")
    session.recall("t3")
    session.compress(0.2)
    session.clear()
    session.add(Turn("user", "anew", resource_id="my-own-id"), ResourceClass.PRESERVED)
    session.documents.patch(
        "notes",
        lambda _: [{"op": "add", "path": "", "value": {"naïve": "日本語", "seen": [1, 2.5, None]}}],
    )
    session.documents.patch(
        "notes", lambda _: [{"op": "replace", "path": "/seen/0", "value": "x" * 2_000}]
    )
    session.history.rewind("t3")
    session.compress(0.1)
    session.add(Turn("user", "anew", resource_id="my-own-id"), ResourceClass.PRESERVED)
    session.history.forget("t2")
    session.history.retain(max_bytes=70_000)
    return session.history.events()


def session_of(store: SessionStore | None, session_id: str = "s") -> ContextSession:
    """Return a session of 1,000 words with a fixed clock, in memory or over `store`."""
    return ContextSession(
        1_000,
        counter=Words(),
        store=store,
        session_id=session_id,
        clock=lambda: datetime(2026, 1, 1, 12, 30, 59, 123_456, tzinfo=UTC),
        projector=ContextProjector(ExtractiveSummariser()),
    )


def take_step(session: ContextSession, number: int) -> None:
    """Take step `number` of a conversation in which each kind of event occurs sometimes."""
    at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number)
    session.add(
        Turn(
            "user" if number % 2 == 0 else "assistant",
            f"step {number} is about file{number % 9}.py " + "word " * (number % 40),
            timestamp=at,
        )
    )
    match number % 25:
        case 11:
            session.compress(0.3)
        case 17:
            session.recall(session.log()[number // 2].resource_id)
        case 23:
            session.pin(session.window.all_turns()[-1].resource_id, "it matters")
        case _:
            pass
    if is_time(number, 211):
        session.clear()
        session.add(Turn("user", f"anew, after step {number}", timestamp=at))


def is_time(number: int, every: int) -> bool:
    """Return whether a step is the last of its group of `every` steps.

    >>> [number for number in range(9) if is_time(number, 3)]
    [2, 5, 8]
    """
    return number % every == every - 1


def note_patch(number: int, notes: object) -> list[dict[str, Any]]:
    """Return a JSON patch that adds a number to the notes."""
    return [
        {
            "op": "add",
            "path": f"/{number}" if notes else "",
            "value": number if notes else {"first": number},
        }
    ]
