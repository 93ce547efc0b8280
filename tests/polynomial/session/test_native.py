"""A session behind a provider's own summary.

Recalling, forgetting, changing the provider and loading all work.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from polycontext import ContextSession, ResourceClass
from polycontext.base import InvalidDataError
from polycontext.polynomial.journal.conversation import replay
from polycontext.polynomial.journal.events import CompressEvent
from polycontext.pressure import Fulfilment, NativeGist
from polycontext.pressure.native import prefix_plan
from polycontext.window import Part, Turn
from tests.polynomial.conversations import text_of

BLOCK = json.dumps(
    {
        "type": "compaction",
        "content": "They talked of jars.",
        "encrypted_content": None,
        "signature": "c2ln",
    }
)
CLAUDE = NativeGist("anthropic", (BLOCK,), keeps_bound=True)


def thinking(number: int) -> Part:
    """Return signed thinking."""
    return Part(
        "anthropic",
        json.dumps({"type": "thinking", "thinking": f"so {number}", "signature": f"c2ln{number}"}),
    )


def compacted(**options: Any) -> ContextSession:
    """Return a session with its first turns summarised by the provider, and later thinking."""
    session = ContextSession(max_tokens=100_000, auto=False, **options)
    session.add_system("Be brief.")
    session.add_user_turn("Count the jars.")
    session.add(Turn("assistant", "ok"), ResourceClass.DROPPABLE)
    for number in range(8):
        session.add_user_turn(f"What of shelf {number}? " + f"It holds {number} red jars, " * 10)
        session.add(
            Turn("assistant", f"Shelf {number} has {number} jars.", parts=(thinking(number),))
        )
    session.add_user_turn("And now?")
    committed(session)
    return session


def committed(session: ContextSession, share: float = 0.5) -> Turn:
    """Let the provider summarise a prefix, and return the gist."""
    plan = prefix_plan(session.window, int(session.window.total_tokens * share))
    assert session.background.commit(Fulfilment(plan, ((CLAUDE, None),))).refused == ()
    return gist_of(session)


def gist_of(session: ContextSession) -> Turn:
    """Return the gist that stands in the view."""
    return next(turn for turn in session.window.all_turns() if turn.sources)


def thoughts(session: ContextSession) -> int:
    """Return how many bound parts stand."""
    return sum(part.is_bound for turn in session.window.all_turns() for part in turn.parts)


def test_a_recalled_turn_stands_behind_the_block() -> None:
    """Nobody speaks before a provider's own summary, whenever it was said."""
    session = ContextSession(max_tokens=100_000, auto=False)
    session.add_user_turn("Hi.", resource_class=ResourceClass.DROPPABLE)
    session.add_assistant_turn("Hello.", resource_class=ResourceClass.DROPPABLE)
    for number in range(6):
        session.add_user_turn(f"What of shelf {number}? " + f"It holds {number} red jars, " * 10)
        session.add_assistant_turn(f"Shelf {number} has {number} jars.")
    session.add_user_turn("And now?")
    dropping = session.background.plan(1 - 1 / session.window.max_tokens)
    session.background.commit(
        session.background.fulfil(
            session.background.plan((session.window.total_tokens - 3) / session.window.max_tokens)
        )
    )
    assert dropping.is_empty
    gone = {"t1", "t2"}.difference(turn.resource_id for turn in session.window.all_turns())
    assert gone
    gist = committed(session)
    assert not gone.intersection(gist.sources)
    for resource_id in (*sorted(gone), gist.sources[0], gist.sources[2]):
        session.recall(resource_id)
        assert session.window.all_turns()[0].native_providers == {"anthropic"}
        assert session.request("anthropic").messages[0]["content"] == [json.loads(BLOCK)]


def test_a_forgotten_turn_takes_the_block_with_it_and_the_twin_stands() -> None:
    """The block holds the words still; what was bound behind it is not valid behind a twin."""
    session = compacted()
    gist = gist_of(session)
    assert thoughts(session) > 0
    forgotten = next(
        each
        for each in gist.sources
        if "shelf 1" in session.log()[session.conversation.log.place(each)].text
    )
    session.history.forget(forgotten)
    left = gist_of(session)
    assert (left.resource_id, left.parts) == (gist.resource_id, ())
    assert "shelf 1?" not in left.text
    assert "They talked" not in text_of(session)
    assert thoughts(session) == 0
    assert ContextSession.history.load(text_of(session)).window == session.window


def test_a_database_keeps_the_block_and_what_is_said_again(tmp_path: Path) -> None:
    """Told by ids: the words of a turn that is said again stand in the journal once."""
    from polycontext.polynomial.stores.sqlite import SQLiteStore  # noqa: PLC0415 - of this test

    path = tmp_path / "jars.db"
    session = compacted(store=SQLiteStore(path), session_id="jars")
    again = ContextSession(
        max_tokens=100_000, auto=False, store=SQLiteStore(path), session_id="jars"
    )
    assert again.window == session.window
    assert text_of(session).count("Count the jars.") == 1


@pytest.mark.parametrize(
    "change",
    [
        {"again": ("t19",)},
        {"again": ("t2", "t2")},
        {"again_at": 99},
        {"again": ()},
        {"again_at": 2},
    ],
)
def test_a_journal_that_says_something_else_again_is_refused(change: dict[str, Any]) -> None:
    """A journal with an invalid repetition, or that loses a turn that may not yield, is refused."""
    session = compacted()
    *events, last = session.history.events()
    assert isinstance(last, CompressEvent)
    bad = evolve(last, edit=evolve(last.edit, **change))
    with pytest.raises(InvalidDataError):
        replay([*events, bad], ContextSession(max_tokens=100_000, auto=False).conversation)
