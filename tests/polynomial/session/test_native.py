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
from tests.polynomial.conversations import document, text_of

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


def test_forgetting_what_is_said_again_takes_the_block_too() -> None:
    """It stands for those turns as well."""
    session = compacted()
    session.history.forget("t2")
    assert gist_of(session).parts == ()
    assert "Count the jars" not in text_of(session)


def test_thinking_behind_forgotten_words_falls_without_any_summary_too() -> None:
    """It is bound to them."""
    session = ContextSession(max_tokens=8000)
    session.add_user_turn("My name is Nobody.")
    session.add(Turn("assistant", "Noted.", parts=(thinking(1),)))
    session.add_user_turn("And now?")
    session.history.forget("t1")
    for stands in (session, session.history.fork("before", 3)):
        assert thoughts(stands) == 0
        assert not any(part.is_bound for turn in stands.log() for part in turn.parts)
    assert session.window.epoch.why == "forget"


def test_a_second_summary_stands_for_the_first_ones_sources() -> None:
    """And what is PRESERVED is said again a second time, byte for byte."""
    session = compacted()
    first, task = gist_of(session), session.log()[1]
    for number in range(8, 12):
        session.add(Turn("assistant", f"Shelf {number}, then. " * 20, parts=(thinking(number),)))
        session.add_user_turn(f"And shelf {number}?")
    second = committed(session)
    assert set(first.sources) < set(second.sources)
    assert second.level == first.level + 1
    assert sum(turn == task for turn in session.window.all_turns()) == 1
    assert session.window.all_turns()[1] == second


def test_our_own_summary_takes_the_block_in() -> None:
    """It is written from the turns themselves, not from the twin."""
    session = compacted()
    sources = gist_of(session).sources
    session.compress(0.002)
    gist = gist_of(session)
    assert gist.parts == ()
    assert {each for each in sources if each != "t2"} <= set(gist.sources)
    assert "What of shelf" in gist.text
    assert "[Summary" not in gist.text.removeprefix("[Summary of earlier messages]")


def test_a_turn_behind_the_block_may_be_promoted_and_pinned() -> None:
    """A turn behind the block can be pinned and recalled, and stays in the view from then on."""
    session = compacted()
    wanted = next(each for each in gist_of(session).sources if each not in ("t2", "t3"))
    session.pin(wanted, "it matters")
    session.recall(wanted)
    assert wanted in {turn.resource_id for turn in session.window.all_turns()}
    committed(session, 0.8)
    assert session.conversation.log[session.conversation.log.place(wanted)].text in {
        turn.text for turn in session.window.all_turns()
    }


def test_forks_and_rewinds_stand_where_the_session_stood() -> None:
    """Before the block, on it, and behind it again."""
    session = compacted()
    on, before = session.history.revision, session.history.revision - 1
    fork = session.history.fork("fork")
    assert fork.window == session.window
    assert fork.request("anthropic").messages == session.request("anthropic").messages
    assert not any(
        turn.native_providers for turn in session.history.fork("earlier", before).window.all_turns()
    )
    turns = session.window.all_turns()
    session.history.rewind(before)
    assert thoughts(session) == 8
    session.history.rewind(on)
    assert session.window.all_turns() == turns


def test_lines_bring_it_to_another_store(tmp_path: Path) -> None:
    """The block, the twin, and what is said again."""
    session = compacted()
    url = f"sqlite:///{tmp_path / 'jars.db'}"
    again = ContextSession.history.load(
        session.history.export(), url, max_tokens=100_000, auto=False
    )
    assert again.window == session.window
    assert again.request("anthropic").messages == session.request("anthropic").messages


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


def test_where_a_turn_is_said_again_it_is_explained_as_standing() -> None:
    """A repeated turn is explained as in the view, and a summarised one by its gist."""
    session = compacted()
    assert session.explain("t2").place is not None
    assert session.explain("t4").stands_for_it == gist_of(session).resource_id
    session.clear()
    assert session.explain("t2").left == "clear"


@pytest.mark.parametrize(
    "change",
    [
        {"again": ("t19",)},
        {"again": ("t2", "t2")},
        {"again_at": 99},
        {"again_at": -1},
        {"again": ("nobody",)},
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


def test_a_journal_of_before_has_none_of_it() -> None:
    """An edit that says nothing again is written as it always was."""
    session = ContextSession(max_tokens=8000)
    for number in range(6):
        session.add_user_turn(f"shelf {number} " * 40)
    session.compress(0.02)
    edit = next(
        event for event in document(session)["events"] if event["event"] == "CompressEvent"
    )["edit"]
    assert not {"again", "again_at", "keeps_bound"} & set(edit)
