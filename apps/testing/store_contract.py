"""The contract of a session store, as checks to run on one of your own (docs/stores.md); free of any test framework.

    import pytest
    from polycontext.testing import STORE_CHECKS

    @pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__)
    def test_my_store(check, tmp_path):
        check(lambda: MyStore(tmp_path / "sessions"))

A check is given a function that opens the store: empty at the first call, and at every further one with what was stored. (Of a store
in memory, let it return one and the same.) It raises `AssertionError` where the store breaks the contract.
"""

import asyncio
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from polycontext.polynomial import Event
from polycontext.polynomial.journal import with_sources
from polycontext.polynomial.stores import AsyncSessionStore, ErasingStore, Rewritten, SearchableStore, SessionStore, SnapshotStore
from polycontext.pressure import ConflictError
from polycontext.window import Role, Turn

from .store_lives import HOSTILE, is_time, lived_events, note_patch, session_of, take_step

OpenStore = Callable[[], SessionStore]

SESSION_IDS = ("a", "A", "a/b", "../a", "'a'", "a%", "ä", "a\u0308", " a", "日本語", "x" * 200)
"""Ids that a store must tell from one another."""

_WRITERS, _TURNS_EACH = 8, 12
_MANY = 700
_SEARCHED = 60


def a_new_store_is_empty(open_store: OpenStore) -> None:
    """Nothing is there of a session that was never stored: no event, no name, nothing to delete."""
    with _open(open_store) as store:
        stored = store.load("s")
        assert (list(stored.events), dict(stored.companions)) == ([], {})
        assert list(store.list_sessions()) == []
        assert store.delete("s") is False
        assert store.committed("s", "key") is None


def events_come_back_as_they_were(open_store: OpenStore) -> None:
    """Every kind of event, with all that turns can hold, is read as it was written: at once, and once opened again."""
    events = lived_events()
    with _open(open_store) as store:
        for place, event in enumerate(events):
            store.append("s", place, [event], {})
        _assert_same(store.load("s").events, events)
        _assert_same_tail(store, events)
    with _open(open_store) as store:
        _assert_same(store.load("s").events, events)


def several_events_are_one_commit(open_store: OpenStore) -> None:
    """A whole journal goes in at once and comes back; where one of its events cannot be stored none of them is."""
    events = lived_events()
    with _open(open_store) as store:
        broken: Any = object()
        with suppress(Exception):
            store.append("s", 0, [events[0], broken], {"notes": "1"}, key="k")
            # Whoever keeps objects keeps any.
            store.delete("s")
        assert list(store.load("s").events) == [], "a part of a commit is stored"
        assert dict(store.load("s").companions) == {}, "a companion of a commit that failed is stored"
        assert store.committed("s", "k") is None, "the key of a commit that failed is stored"
        store.append("s", 0, events, {})
        _assert_same(store.load("s").events, events)


def a_stale_writer_is_refused(open_store: OpenStore) -> None:
    """Who is too early or too late gets a `ConflictError` with both revisions, and nothing has changed."""
    first, second, third = lived_events()[:3]
    with _open(open_store) as store:
        store.append("s", 0, [first], {"notes": "1"})
        for base in (0, 2, 7):
            refused = _assert_refused(
                partial(store.append, "s", base, [second], {"notes": "2"}, key="k"), ConflictError, "a stale writer is not refused"
            )
            assert (refused.expected, refused.found) == (base, 1), f"made for {base}, found 1; the error says {refused}"
        _assert_refused(partial(store.append, "s", 0, [], {"notes": "2"}), ConflictError, "companions of a stale writer are not refused")
        _assert_same(store.load("s").events, [first])
        assert dict(store.load("s").companions) == {"notes": "1"}
        assert store.committed("s", "k") is None
        store.append("s", 1, [second, third], {})
        _assert_same(store.load("s").events, [first, second, third])


def companions_are_as_they_were_last(open_store: OpenStore) -> None:
    """Companions change with a commit or alone, each under its own name, and events alone leave them as they are."""
    event = lived_events()[0]
    texts = {f"n{number}": f'"{number}"' for number in range(3)}
    with _open(open_store) as store:
        store.append("s", 0, [], texts)
        store.append("s", 0, [event], {"n1": '{"naïve":"日本語"}'})
        store.append("s", 1, [], {"n2": "[]"})
        assert dict(store.load("s").companions) == {"n0": '"0"', "n1": '{"naïve":"日本語"}', "n2": "[]"}
    with _open(open_store) as store:
        assert dict(store.load("s").companions) == {"n0": '"0"', "n1": '{"naïve":"日本語"}', "n2": "[]"}


def sessions_stay_apart(open_store: OpenStore) -> None:
    """Each id is a session of its own, whatever it looks like; they are listed in order, and one that is deleted is gone, alone."""
    events = lived_events()
    with _open(open_store) as store:
        for number, session_id in enumerate(SESSION_IDS):
            store.append(session_id, 0, events[: number + 1], {"notes": str(number)}, key="k")
        for number, session_id in enumerate(SESSION_IDS):
            _assert_same(store.load(session_id).events, events[: number + 1])
            assert dict(store.load(session_id).companions) == {"notes": str(number)}, session_id
            assert store.committed(session_id, "k") == number + 1, session_id
        assert list(store.list_sessions()) == sorted(SESSION_IDS)
        assert store.delete(SESSION_IDS[0]) is True
        assert store.delete(SESSION_IDS[0]) is False, "a session is deleted twice"
        assert list(store.list_sessions()) == sorted(SESSION_IDS[1:])
        _assert_same(store.load(SESSION_IDS[1]).events, events[:2])
        assert store.committed(SESSION_IDS[0], "k") is None, "a key outlives its session"
        store.append(SESSION_IDS[0], 0, events[:1], {})
        assert dict(store.load(SESSION_IDS[0]).companions) == {}, "a companion outlives its session"


def a_key_tells_where_its_command_led(open_store: OpenStore) -> None:
    """The key of a commit is found with the revision that it led to, and outlives the store."""
    events = lived_events()[:4]
    with _open(open_store) as store:
        store.append("s", 0, events[:1], {})
        store.append("s", 1, events[1:3], {}, key="naïve key")
        store.append("s", 3, events[3:], {}, key="b")
    with _open(open_store) as store:
        assert [store.committed("s", key) for key in ("naïve key", "b", "c")] == [3, 4, None]


def a_command_that_is_asked_again_happens_once(open_store: OpenStore) -> None:
    """A session that is asked again under the same key does nothing, also one that was opened since."""
    for _ in range(2):
        with _open(open_store) as store:
            session = session_of(store)
            for _ in range(2):
                session.add_user_turn("Book it.", idempotency_key="booking")
            assert [turn.text for turn in session.log()] == ["Book it."]


def a_session_is_what_it_was(open_store: OpenStore) -> None:
    """A session over the store, opened again after every few turns, is what the same session is in memory."""
    other = session_of(None)
    for start in range(0, 60, 12):
        with _open(open_store) as store:
            session = session_of(store)
            for number in range(start, start + 12):
                for each in (session, other):
                    take_step(each, number)
                assert session.conversation == other.conversation, f"after {number + 1} steps"
            assert session.history.events() == other.history.events()


def snapshots_change_nothing(open_store: OpenStore) -> None:
    """A long session of a store with snapshots opens as what replaying all of it gives; a store without has none."""
    with _open(open_store) as store:
        session = session_of(store)
        for number in range(_MANY):
            take_step(session, number)
            if number % 17 == 0:
                session.documents.patch("notes", partial(note_patch, number))
        conversation = session.conversation
    with _open(open_store) as store:
        again = session_of(store)
        assert again.conversation == conversation
        if isinstance(store, SnapshotStore):
            opened = store.opened("s")
            assert opened is not None, "there is no snapshot"
            assert len(opened.stored.events) < _MANY, "all events are read, whatever a snapshot says"
        take_step(again, _MANY)
        take_step(session := session_of(store), _MANY + 1)
        assert len(session.log()) == len(conversation.log) + 2


def going_back_is_only_more(open_store: OpenStore) -> None:
    """A session that went back, and then elsewhere, opens as it stood; what it left can be gone back to, under ids that came in twice too."""
    with _open(open_store) as store:
        session = session_of(store)
        for number in range(_MANY // 4):
            take_step(session, number)
            if is_time(number, 23):
                session.history.rewind(session.history.revision - number % 9)
                session.add(Turn("user", f"instead of {number}", resource_id=f"own{number % 4}" if number > _MANY // 7 else ""))
            if is_time(number, 40):
                session.compress(0.5)
                session.recall(session.log()[-1].resource_id)
        left = session.history.revision
        wanted = session.conversation
        session.history.rewind(20)
    with _open(open_store) as store:
        session = session_of(store)
        assert [turn.text for turn in session.log()] == [turn.text for turn in session.history.at(20).log()]
        session.history.rewind(left)
        assert session.log() == tuple(wanted.log)
        assert (session.state, session.window.all_turns()) == (wanted.state, wanted.window.all_turns())
        assert session.window.linearity == wanted.window.linearity


def a_fork_goes_on_by_itself(open_store: OpenStore) -> None:
    """A fork is what the session was, at once and once opened again; what becomes of one, to deletion, changes nothing of the other."""
    with _open(open_store) as store:
        session = session_of(store)
        for number in range(_MANY // 2):
            take_step(session, number)
        store.append("s", session.history.revision, [], {"notes": '{"seen":1}'})
        half = session.history.revision // 2
        newest, middle = session.history.fork("newest"), session.history.fork("middle", half)
        _assert_refused(lambda: session.history.fork("middle"), ConflictError, "a fork took the id of another session")
        assert newest.conversation.window == session.window
        middle.add_user_turn("only in the fork")
        session.add_user_turn("only in the first")
    with _open(open_store) as store:
        first, again = session_of(store), session_of(store, "middle")
        assert again.log()[-1].text == "only in the fork"
        assert again.log()[:-1] == first.history.at(half).log()
        store.delete("s")
        assert session_of(store, "middle").log() == again.log()
        assert len(session_of(store, "newest").log()) == len(first.log()) - 1


def what_is_forgotten_is_gone(open_store: OpenStore) -> None:
    """A store that erases: the words of a turn are in no event of any session that has them, and all else is as it was; snapshots are made anew."""
    with _open(open_store) as store:
        if not isinstance(store, ErasingStore):
            return
        session, secret = session_of(store), "the code is xyzzy-4711"
        for number in range(_MANY // 2):
            take_step(session, number)
            if number == _MANY // 6:
                session.add_user_turn(secret)
        told = next(turn.resource_id for turn in session.log() if turn.text == secret)
        fork, other = session.history.fork("fork"), session_of(store, "other")
        other.add_user_turn("the code is another")
        before = {name: session_of(store, name).log() for name in ("s", "fork", "other")}
        stale = {"s": Rewritten(session.history.revision - 1, {}), "fork": Rewritten(fork.history.revision, {1: fork.history.events()[0]})}
        _assert_refused(partial(store.rewrite, stale), ConflictError, "a journal was rewritten that had gone on")
        assert session.history.forget(told)
        assert not session.history.forget(told)
    with _open(open_store) as store:
        for name, log in before.items():
            assert all("xyzzy" not in repr(event) for event in store.load(name).events), f"words are left in session {name!r}"
            again = session_of(store, name)
            assert [turn.text for turn in again.log()] == [turn.text if turn.text != secret else "[forgotten]" for turn in log]
            again.add_user_turn("on")
            assert session_of(store, name).conversation == again.conversation


def a_search_finds_what_was_said(open_store: OpenStore) -> None:
    """What `append` has returned from is found, in the session that says it and while it is there, whatever is asked."""
    with _open(open_store) as store:
        if not isinstance(store, SearchableStore):
            return
        assert list(store.search("s", "step", 10)) == [], "something is found in a session that was never stored"
        session = session_of(store)
        for number in range(_SEARCHED):
            take_step(session, number)
        session_of(store, "other").add_user_turn("another session takes step 7 too, about quince")
        limit = 3
        found = store.search("s", "step 7", limit)
        assert found[0].snippet.startswith("step 7 is about file7.py"), found
        assert len(found) == limit, "there are more turns than the limit"
        assert [each.score for each in found] == sorted((each.score for each in found), reverse=True), "the best is not first"
        assert list(store.search("s", "quince", 10)) == [], "another session's words are found"
        assert {each.role for each in store.search("s", "step", _SEARCHED)} == {Role.USER, Role.ASSISTANT}
        assert [each.resource_id for each in store.search("s", '"7 step"', 10)] == [], (
            "a phrase is found whose words stand in another order"
        )
        for text in (*HOSTILE, '"', '""', 'a"b', "AND", "NOT x", "a*", "NEAR(a b)", "said:step", "(", "^a", "-", "\ud800"):
            for each in store.search("s", text, 1):
                assert session.conversation.log.knows(each.resource_id), text
        session.add_user_turn("我的快递在哪里? Où est mon café?")
        for text in ("快递", "CAFÉ", "cafe"):
            assert [each.resource_id for each in store.search("s", text, 10)] == [session.log()[-1].resource_id], text
    with _open(open_store) as store:
        assert isinstance(store, SearchableStore)
        assert len(store.search("s", "café", 10)) == 1
        store.delete("s")
        assert list(store.search("s", "café", 10)) == [], "a session that was deleted is found"


def writers_lose_nothing(open_store: OpenStore) -> None:
    """Threads, each with a session of its own over one store, write as one: every turn is there once, those of each thread in order."""

    def write(writer: int) -> None:
        session = session_of(store)
        for number in range(_TURNS_EACH):
            session.add_user_turn(f"{writer}/{number}", idempotency_key=f"{writer}/{number}")

    with _open(open_store) as store, ThreadPoolExecutor(_WRITERS) as threads:
        list(threads.map(write, range(_WRITERS)))
        said = [turn.text for turn in session_of(store).log()]
    assert sorted(said) == sorted(f"{writer}/{number}" for writer in range(_WRITERS) for number in range(_TURNS_EACH))
    for writer in range(_WRITERS):
        assert [text for text in said if text.startswith(f"{writer}/")] == [f"{writer}/{number}" for number in range(_TURNS_EACH)]


def tasks_lose_nothing(open_store: OpenStore) -> None:
    """The same with tasks of one event loop, through the twins of a store that has them."""

    async def write(store: SessionStore, writer: int) -> None:
        session = session_of(store)
        for number in range(_TURNS_EACH):
            await session.aadd_user_turn(f"{writer}/{number}")

    async def all_write(store: SessionStore) -> None:
        await asyncio.gather(*(write(store, writer) for writer in range(_WRITERS)))
        if isinstance(store, AsyncSessionStore):
            _assert_same((await store.aload("s", 3)).events, list(store.load("s").events)[3:])

    with _open(open_store) as store:
        asyncio.run(all_write(store))
        assert len({turn.text for turn in session_of(store).log()}) == len(session_of(store).log()) == _WRITERS * _TURNS_EACH


def closing_twice_is_closing_once(open_store: OpenStore) -> None:
    """A store can be closed twice, and opened again."""
    with _open(open_store) as store:
        store.append("s", 0, lived_events()[:1], {})
        store.close()
    with _open(open_store) as store:
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
    a_search_finds_what_was_said,
    a_session_is_what_it_was,
    snapshots_change_nothing,
    going_back_is_only_more,
    a_fork_goes_on_by_itself,
    what_is_forgotten_is_gone,
    writers_lose_nothing,
    tasks_lose_nothing,
    closing_twice_is_closing_once,
)
"""All that a store must do, from the plainest on."""


@contextmanager
def _open(open_store: OpenStore) -> Generator[SessionStore]:
    store = open_store()
    try:
        yield store
    finally:
        store.close()


def _assert_same(found: Sequence[Event], wanted: Sequence[Event]) -> None:
    """Expect these events; what their gists stand for may be told by ranges still."""
    found = list(with_sources(found)) if list(wanted) and not _begins_later(wanted) else list(found)
    for number, (one, other) in enumerate(zip(found, wanted, strict=False)):
        assert one == other, f"event {number} is {one!r:.500}, and was {other!r:.500}"
    assert len(found) == len(wanted), f"{len(found)} events are there of {len(wanted)}"


def _begins_later(events: Sequence[Event]) -> bool:
    return getattr(events[0], "turn", None) is None


def _assert_same_tail(store: SessionStore, events: Sequence[Event]) -> None:
    for after in (0, 1, len(events) - 1, len(events), len(events) + 5):
        found = store.load("s", after).events
        assert len(found) == len(events[after:]), f"{len(found)} events behind revision {after}, legal: {len(events[after:])}"
        assert [event.state for event in found] == [event.state for event in events[after:]]


def _assert_refused(act: Callable[[], object], kind: type[Exception], what: str) -> Any:
    try:
        act()
    except kind as error:
        return error
    raise AssertionError(what)
