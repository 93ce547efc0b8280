"""The contract of a session store, as checks to run on your own store (docs/stores.md).

The checks need no test framework.

    import pytest
    from polycontext.testing import STORE_CHECKS

    @pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__)
    def test_my_store(check, tmp_path):
        check(lambda: MyStore(tmp_path / "sessions"))

A check receives a function that opens the store. The store is empty after the first call; each
further call opens it again with its content. For a store in memory, let the function always return
the same one. A check raises `AssertionError` if the store breaks the contract.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from polycontext.polynomial import Event
from polycontext.polynomial.stores import SessionStore
from polycontext.pressure import ConflictError

from .store_extensions import (
    EXTENSION_CHECKS,
    OpenStore,
    assert_refused,
    assert_same,
    open_and_close,
)
from .store_lives import lived_events, session_of, take_step

SESSION_IDS = ("a", "A", "a/b", "../a", "'a'", "a%", "ä", "a\u0308", " a", "日本語", "x" * 200)
"""Session ids that a store must distinguish."""


def a_new_store_is_empty(open_store: OpenStore) -> None:
    """A session that was never stored has no events and no name, and cannot be deleted."""
    with open_and_close(open_store) as store:
        stored = store.load("s")
        assert (list(stored.events), dict(stored.companions)) == ([], {})
        assert list(store.list_sessions()) == []
        assert store.delete("s") is False
        assert store.committed("s", "key") is None


def events_come_back_as_they_were(open_store: OpenStore) -> None:
    """Every kind of event is read as it was written, immediately and after reopening the store."""
    events = lived_events()
    with open_and_close(open_store) as store:
        for place, event in enumerate(events):
            store.append("s", place, [event], {})
        assert_same(store.load("s").events, events)
        _assert_same_tail(store, events)
    with open_and_close(open_store) as store:
        assert_same(store.load("s").events, events)


def several_events_are_one_commit(open_store: OpenStore) -> None:
    """A whole journal is stored in one commit.

    If one of its events cannot be stored, none of them is.
    """
    events = lived_events()
    with open_and_close(open_store) as store:
        broken: Any = object()
        with suppress(Exception):
            store.append("s", 0, [events[0], broken], {"notes": "1"}, key="k")
            # A store that keeps objects accepts any object.
            store.delete("s")
        assert list(store.load("s").events) == [], "a part of a commit is stored"
        assert dict(store.load("s").companions) == {}, (
            "a companion of a commit that failed is stored"
        )
        assert store.committed("s", "k") is None, "the key of a commit that failed is stored"
        store.append("s", 0, events, {})
        assert_same(store.load("s").events, events)


def a_stale_writer_is_refused(open_store: OpenStore) -> None:
    """A stale write raises `ConflictError` with both revisions, and changes nothing."""
    first, second, third = lived_events()[:3]
    with open_and_close(open_store) as store:
        store.append("s", 0, [first], {"notes": "1"})
        for base in (0, 2, 7):
            refused = assert_refused(
                partial(store.append, "s", base, [second], {"notes": "2"}, key="k"),
                ConflictError,
                "a stale writer is not refused",
            )
            assert (refused.expected, refused.found) == (base, 1), (
                f"made for {base}, found 1; the error says {refused}"
            )
        assert_refused(
            partial(store.append, "s", 0, [], {"notes": "2"}),
            ConflictError,
            "companions of a stale writer are not refused",
        )
        assert_same(store.load("s").events, [first])
        assert dict(store.load("s").companions) == {"notes": "1"}
        assert store.committed("s", "k") is None
        store.append("s", 1, [second, third], {})
        assert_same(store.load("s").events, [first, second, third])


def companions_are_as_they_were_last(open_store: OpenStore) -> None:
    """Companions change with a commit or alone, each by name; events alone do not change them."""
    event = lived_events()[0]
    texts = {f"n{number}": f'"{number}"' for number in range(3)}
    with open_and_close(open_store) as store:
        store.append("s", 0, [], texts)
        store.append("s", 0, [event], {"n1": '{"naïve":"日本語"}'})
        store.append("s", 1, [], {"n2": "[]"})
        last = texts | {"n1": '{"naïve":"日本語"}', "n2": "[]"}
        assert dict(store.load("s").companions) == last
    with open_and_close(open_store) as store:
        assert dict(store.load("s").companions) == last


def sessions_stay_apart(open_store: OpenStore) -> None:
    """Each id is a separate session, whatever characters it has.

    Sessions are listed in order, and deleting one affects no other.
    """
    events = lived_events()
    with open_and_close(open_store) as store:
        for number, session_id in enumerate(SESSION_IDS):
            store.append(session_id, 0, events[: number + 1], {"notes": str(number)}, key="k")
        for number, session_id in enumerate(SESSION_IDS):
            assert_same(store.load(session_id).events, events[: number + 1])
            assert dict(store.load(session_id).companions) == {"notes": str(number)}, session_id
            assert store.committed(session_id, "k") == number + 1, session_id
        assert list(store.list_sessions()) == sorted(SESSION_IDS)
        assert store.delete(SESSION_IDS[0]) is True
        assert store.delete(SESSION_IDS[0]) is False, "a session is deleted twice"
        assert list(store.list_sessions()) == sorted(SESSION_IDS[1:])
        assert_same(store.load(SESSION_IDS[1]).events, events[:2])
        assert store.committed(SESSION_IDS[0], "k") is None, "a key outlives its session"
        store.append(SESSION_IDS[0], 0, events[:1], {})
        assert dict(store.load(SESSION_IDS[0]).companions) == {}, "a companion outlives its session"


def a_key_tells_where_its_command_led(open_store: OpenStore) -> None:
    """A commit's key is found with the revision that it led to, also after reopening the store."""
    events = lived_events()[:4]
    with open_and_close(open_store) as store:
        store.append("s", 0, events[:1], {})
        store.append("s", 1, events[1:3], {}, key="naïve key")
        store.append("s", 3, events[3:], {}, key="b")
    with open_and_close(open_store) as store:
        assert [store.committed("s", key) for key in ("naïve key", "b", "c")] == [3, 4, None]


def a_command_that_is_asked_again_happens_once(open_store: OpenStore) -> None:
    """A command repeated under the same key has no effect, even in a session opened later."""
    for _ in range(2):
        with open_and_close(open_store) as store:
            session = session_of(store)
            for _ in range(2):
                session.add_user_turn("Book it.", idempotency_key="booking")
            assert [turn.text for turn in session.log()] == ["Book it."]


def a_session_is_what_it_was(open_store: OpenStore) -> None:
    """A session reopened from the store every few turns equals the same session in memory."""
    other = session_of(None)
    for start in range(0, 60, 12):
        with open_and_close(open_store) as store:
            session = session_of(store)
            for number in range(start, start + 12):
                for each in (session, other):
                    take_step(each, number)
                assert session.conversation == other.conversation, f"after {number + 1} steps"
            assert session.history.events() == other.history.events()


def closing_twice_is_closing_once(open_store: OpenStore) -> None:
    """A store can be closed twice and opened again."""
    with open_and_close(open_store) as store:
        store.append("s", 0, lived_events()[:1], {})
        store.close()
    with open_and_close(open_store) as store:
        assert list(store.list_sessions()) == ["s"]


STORE_CHECKS: tuple[Callable[[OpenStore], None], ...] = (
    a_new_store_is_empty,
    events_come_back_as_they_were,
    several_events_are_one_commit,
    a_stale_writer_is_refused,
    companions_are_as_they_were_last,
    sessions_stay_apart,
    a_key_tells_where_its_command_led,
    a_command_that_is_asked_again_happens_once,
    a_session_is_what_it_was,
    closing_twice_is_closing_once,
    *EXTENSION_CHECKS,
)
"""All the checks of the contract, the simplest first."""


def _assert_same_tail(store: SessionStore, events: Sequence[Event]) -> None:
    for after in (0, 1, len(events) - 1, len(events), len(events) + 5):
        found = store.load("s", after).events
        assert len(found) == len(events[after:]), (
            f"{len(found)} events behind revision {after}, expected {len(events[after:])}"
        )
        assert [event.state for event in found] == [event.state for event in events[after:]]
