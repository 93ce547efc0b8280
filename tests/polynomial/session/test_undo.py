"""Undo: a compression is taken back, and made again."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from polycontext import ContextSession, ContextState
from polycontext.base import InvalidDataError, InvalidOptionError, UnknownNameError
from polycontext.polynomial import (
    ContextMachine,
    ContextOverflowError,
    replay,
)
from polycontext.polynomial.journal.events import UndoEvent
from polycontext.polynomial.machine import once
from polycontext.polynomial.stores import SQLiteStore
from polycontext.pressure import ConflictError, FloorError, Fulfilment, NativeGist, removal
from polycontext.window import Turn
from polycontext.window.providers import Provider
from tests.polynomial.conversations import THOUGHT, ids, texts


def session_of(turns: int = 20, **options: Any) -> ContextSession:
    """Return a session with some questions and answers."""
    session = ContextSession(max_tokens=8000, **options)
    for number in range(turns):
        session.add_user_turn(f"Which colour does wall {number} get?")
        session.add_assistant_turn(f"Wall {number} gets shade-{number}." if number % 3 else "OK.")
    return session


def requests(session: ContextSession) -> list[str]:
    """Return the request to every provider, as text."""
    made = (session.request(provider, allow_open=True) for provider in Provider)
    return [repr((each.messages, each.system)) for each in made]


def replayed(session: ContextSession) -> bool:
    """Tell whether the journal leads to the conversation."""
    return replay(session.history.events(), session._writer.empty) == session.conversation


def test_undoing_twice_makes_the_compression_again() -> None:
    """The bytes are those of before, and those of after; what came since stays in both."""
    session = session_of()
    before = requests(session)
    session.compress(0.02)
    after = requests(session)
    assert after != before
    output = session.history.undo()
    assert requests(session) == before
    assert output.state is session.state is ContextState.ACCUMULATING
    session.add_user_turn("And the door?")
    door = session.log()[-1].resource_id
    session.history.undo()
    assert ids(session)[-1] == door
    session.history.rewind(session.history.revision - 2)
    session.history.undo()
    assert requests(session) == after
    assert replayed(session)


def test_an_earlier_compression_is_taken_back_with_all_later_ones() -> None:
    """Undoing it again makes them all again; so does undoing the last one."""
    session = session_of()
    session.compress(0.04)
    session.add_user_turn("And the door?")
    session.compress(0.02)
    after = ids(session)
    first, last = (receipt.id for receipt in session.history.receipts())
    for again in (first, last):
        session.history.undo(first)
        assert ids(session) == [turn.resource_id for turn in session.log()]
        assert [each.stands for each in session.history.receipts()] == [False, False]
        session.history.undo(again)
        assert ids(session) == after
    assert [each.stands for each in session.history.receipts()] == [True, True]
    session.history.undo(last)
    assert [each.stands for each in session.history.receipts()] == [True, False]


def test_a_view_that_does_not_fit_is_refused_with_its_tokens() -> None:
    """Nothing changes; with the tokens that the error names, it fits."""
    session = session_of()
    session.compress(0.02)
    session.send("resize", 200)
    before = session.conversation
    with pytest.raises(ContextOverflowError) as refused:
        session.history.undo()
    assert session.conversation == before
    session.send("resize", refused.value.tokens)
    session.history.undo()
    assert len(session.window) == 40
    session.history.undo()
    session.send("resize", refused.value.tokens - 1)
    with pytest.raises(ContextOverflowError):
        session.history.undo()


BLOCK = json.dumps({"type": "compaction", "content": "Walls.", "signature": "c2ln"})


def test_a_native_compaction_is_taken_back() -> None:
    """Thinking that was bound to the provider's summary falls; that from before comes back."""
    session = session_of(provider="anthropic")
    session.add_user_turn("Think.")
    session.add(Turn("assistant", "Hm.", parts=(THOUGHT,)))
    before = requests(session)
    plan = session.background.plan(0.01, native=True)
    gist = NativeGist("anthropic", (BLOCK,), keeps_bound=True)
    session.background.commit(Fulfilment(plan, tuple((gist, None) for _ in plan.jobs)))
    (receipt,) = session.history.receipts()
    assert receipt.is_native
    session.history.undo()
    assert requests(session) == before
    session.history.undo()
    session.add_user_turn("Think again.")
    session.messages()
    session.add(Turn("assistant", "Hm, hm.", parts=(THOUGHT,)))
    session.history.undo()
    thinking = [turn.text for turn in session.window.all_turns() if turn.parts]
    assert thinking == ["Hm."]
    assert session.window.epoch.fell == (ids(session)[-1],)


def test_what_was_forgotten_stays_forgotten() -> None:
    """Whether a turn was forgotten before its compression is taken back, or after."""
    session = session_of()
    session.compress(0.02)
    session.history.forget("t3")
    session.history.undo()
    assert [turn.text for turn in session.window.all_turns()] == texts(session)
    assert session.window.all_turns()[2].text == "[forgotten]"
    session.history.forget("t4")
    session.history.undo()
    assert "shade-1." not in repr([requests(session), session.history.events()])
    assert replayed(session)


def test_a_turn_that_was_pinned_since_stays_or_undoing_is_refused() -> None:
    """A compression that would summarise it cannot be made again."""
    session = session_of()
    session.compress(0.02)
    session.history.undo()
    session.pin("t5")
    before = session.conversation
    with pytest.raises(FloorError, match="t5"):
        session.history.undo()
    assert session.conversation == before


def test_what_cannot_be_taken_back_is_refused() -> None:
    """A session that was never compressed, a cleared view, an unknown id, and an empty session."""
    session = session_of(2)
    with pytest.raises(InvalidOptionError, match="Nothing to undo: no compression stands"):
        session.history.undo()
    with pytest.raises(UnknownNameError):
        session.history.undo("c3")
    session = session_of()
    session.compress(0.02)
    key = session.history.receipts()[0].id
    session.add_user_turn("And the door?")
    session.clear()
    session.add_user_turn("And the window?")
    with pytest.raises(InvalidOptionError, match="Nothing to undo: no compression stands"):
        session.history.undo(key)


def test_a_rewind_takes_the_undo_with_it() -> None:
    """And a compression that was rewound can no longer be taken back."""
    session = session_of()
    start = session.history.revision
    session.compress(0.02)
    after = ids(session)
    session.history.undo()
    session.history.rewind(start + 1)
    assert ids(session) == after
    session.history.undo()
    assert len(ids(session)) == 40
    key = session.history.receipts()[0].id
    session.history.rewind(start)
    with pytest.raises(InvalidOptionError):
        session.history.undo(key)


class Archiving(ContextMachine):
    """Take the last turn out."""

    archive = ContextMachine.accumulating.to(ContextMachine.accumulating, on="drop_last") | (
        ContextMachine.compressed.to(ContextMachine.compressed, on="drop_last")
    )

    @once
    def drop_last(self, step: Any) -> Any:
        """Return the edit that takes one out."""
        return removal(step.window, [step.window.all_turns()[-1].resource_id])


def test_an_event_of_ones_own_that_edited_the_view_is_a_limit() -> None:
    """Taking back what was before would bring its turns back."""
    session = session_of(machine=Archiving)
    session.compress(0.02)
    session.add_user_turn("And the door?")
    session.add_assistant_turn("OK.", resource_class="DROPPABLE")
    session.send("archive")
    with pytest.raises(InvalidOptionError, match="Nothing to undo: no compression stands"):
        session.history.undo()


def test_an_undo_is_stored(tmp_path: Path) -> None:
    """Other sessions follow it, it is exported, and a session opens from a snapshot behind it."""
    store = SQLiteStore(tmp_path / "sessions.db")
    session = ContextSession.open(store, "walls", max_tokens=20_000)
    session.add_system("Be brief.")
    other = ContextSession.open(store, "walls")
    for number in range(150):  # more than between two snapshots
        session.add_user_turn(f"Which colour does wall {number} get?")
        session.add_assistant_turn(f"Wall {number} gets shade-{number}.")
        if number == 60:
            session.compress(0.01)
    session.history.undo()
    assert len(ids(session)) == 301
    assert other.history.refresh().conversation == session.conversation
    opened = ContextSession.open(store, "walls")
    assert opened.conversation == session.conversation
    assert opened._writer._snapped.revision == session.history.revision
    loaded = ContextSession.history.load(session.history.export())
    assert loaded.conversation == session.conversation
    fork = session.history.fork("other")
    fork.history.undo()
    assert len(ids(fork)) < 300 <= len(ids(session))
    assert fork.explain("t3").left == "compress"
    assert session.explain("t3").place == ids(session).index("t3")
    store.close()


def test_a_compression_of_another_writer_is_taken_back(tmp_path: Path) -> None:
    """A session that has not seen it catches up first."""
    with closing(SQLiteStore(tmp_path / "sessions.db")) as store:
        session = ContextSession.open(store, "walls", max_tokens=8000)
        for number in range(20):
            session.add_user_turn(f"Which colour does wall {number} get?")
        other, careful = (ContextSession.open(store, "walls") for _ in range(2))
        revision = session.history.revision
        session.compress(0.02)
        with pytest.raises(ConflictError):
            careful.history.undo(expected_revision=revision)
        other.history.undo()
        assert len(ids(other)) == 20
        session.history.undo()
        other.history.undo(session.history.receipt().id)
        assert len(ids(other)) == 20


def test_an_impossible_undo_is_found_in_a_journal() -> None:
    """One that goes forward, or to what a rewind has undone."""
    session = session_of()
    session.compress(0.02)
    session.history.rewind("t3")
    events = session.history.events()
    for to in (len(events) - 2, len(events) + 3):
        undo = UndoEvent(session.state, to, events[-1].at)
        with pytest.raises(InvalidDataError, match="goes back"):
            replay([*events, undo], session._writer.empty)
