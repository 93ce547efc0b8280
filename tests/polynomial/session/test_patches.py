"""Data kept by patches match the journal.

That holds in another writer, after a restart, in a fork and after a rewind.
"""

from datetime import UTC, datetime
from typing import Any

import pytest
from attrs import evolve

from polycontext.base import InvalidDataError, InvalidOptionError
from polycontext.polynomial import ContextSession, ContextState
from polycontext.polynomial.journal.conversation import replay
from polycontext.polynomial.journal.events import PatchEvent
from polycontext.polynomial.stores import InMemoryStore, SessionStore
from polycontext.window import OrderError, Turn
from tests.polynomial.conversations import WORDS

Patch = list[dict[str, Any]]


def opened(store: SessionStore, session_id: str = "s") -> ContextSession:
    """Return a session of the store."""
    return ContextSession(500, counter=WORDS, store=store, session_id=session_id)


def count(session: ContextSession, **when: Any) -> None:
    """Count one more, whatever was counted before."""
    session.documents.patch("count", counted, **when)


def counted(data: Any) -> Patch:
    """Return the patch that counts one more."""
    return (
        [{"op": "add", "path": "", "value": {"seen": 1}}]
        if data is None
        else [{"op": "replace", "path": "/seen", "value": data["seen"] + 1}]
    )


def test_two_sessions_over_one_store_lose_nothing(store: SessionStore) -> None:
    """Two sessions over one store lose no patch: the later one is retried on fresh data."""
    one, other = opened(store), opened(store)
    for _ in range(5):
        count(one)
        count(other)
    assert (
        one.history.refresh().documents.get("count") == other.documents.get("count") == {"seen": 10}
    )
    assert opened(store).conversation == other.conversation


def test_a_thousand_patches_open_at_once_from_a_snapshot(store: SessionStore) -> None:
    """The data are in the snapshot, and later patches are applied to it on opening."""
    session = opened(store)
    session.add_user_turn("Count.")
    for _ in range(1_000):
        count(session)
    again = opened(store)
    assert again.documents.get("count") == {"seen": 1_000}
    assert again.conversation == session.conversation
    assert replay(session.history.events(), evolve(session._writer.empty)) == session.conversation


def test_a_patch_and_turns_are_one_commit(store: SessionStore) -> None:
    """All of it or none of it: a turn that may not come takes the patch with it."""
    session = opened(store)
    session.add_user_turn("Count.")
    count(session, turns=[{"role": "assistant", "content": "One."}])
    assert [type(event).__name__ for event in session.history.events()] == [
        "TurnEvent",
        "PatchEvent",
        "TurnEvent",
    ]
    before = session.conversation
    with pytest.raises(OrderError):
        count(session, turns=[Turn("tool", "x", tool_call_id="c1")])
    assert session.conversation is before
    assert opened(store).documents.get("count") == {"seen": 1}


def test_going_back_takes_the_data_back_and_a_fork_has_them_as_they_were(
    store: SessionStore,
) -> None:
    """A rewind restores the data of its revision, and forks have data of their own."""
    session = opened(store)
    count(session)
    here = session.history.revision
    count(session)
    fork, middle = session.history.fork("fork"), session.history.fork("middle", here)
    session.history.rewind(here)
    assert [each.documents.get("count")["seen"] for each in (session, fork, middle)] == [1, 2, 1]
    count(middle)
    count(middle)
    session.history.rewind(here + 1)
    assert [each.documents.get("count")["seen"] for each in (session, fork, middle)] == [2, 2, 3]
    assert [
        opened(store, name).documents.get("count")["seen"] for name in ("s", "fork", "middle")
    ] == [2, 2, 3]


def test_what_changes_nothing_is_no_event() -> None:
    """None, or a patch without operations."""
    session = opened(InMemoryStore())
    session.documents.patch("count", lambda _: None)
    session.documents.patch("count", lambda _: [])
    assert (session.history.revision, session.documents.get("count")) == (0, None)


def test_what_is_read_is_a_copy() -> None:
    """Nobody changes what the conversation holds."""
    session = opened(InMemoryStore())
    count(session)
    session.documents.get("count")["seen"] = 7
    assert session.documents.get("count") == {"seen": 1}


def test_a_name_is_a_companion_or_kept_by_patches() -> None:
    """Never both."""

    class Notes:
        def to_data(self) -> dict[str, Any]:
            return {}

    session = opened(InMemoryStore())
    count(session)
    with pytest.raises(InvalidOptionError, match="nothing is kept by `patch`"):
        session.documents.accompany("count", Notes())
    session.documents.accompany("notes", Notes())
    session.documents.save()
    with pytest.raises(InvalidOptionError, match="no other companion has"):
        session.documents.patch("notes", counted)


def test_a_journal_with_a_patch_that_cannot_have_been_is_refused() -> None:
    """With the number of the event."""
    session = opened(InMemoryStore())
    count(session)
    empty = session._writer.empty
    at = datetime(2026, 1, 1, tzinfo=UTC)
    with pytest.raises(InvalidDataError, match=r"\$\.events\[1\]\.patch\[0\]"):
        replay(
            [
                *session.history.events(),
                PatchEvent(ContextState.EMPTY, "count", '[{"op": "remove", "path": "/x"}]', at),
            ],
            empty,
        )
    with pytest.raises(InvalidDataError, match=r"\$\.events\[1\]\.state"):
        replay(
            [*session.history.events(), PatchEvent(ContextState.PRESSURED, "count", "[]", at)],
            empty,
        )
