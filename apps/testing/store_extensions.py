"""The contract of a store's optional features, and the helpers that all checks share.

The features are snapshots, forks, erasure, search, threads and tasks; see `store_contract`.
"""

import asyncio
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

from polycontext.polynomial import Event
from polycontext.polynomial.journal import with_sources
from polycontext.polynomial.stores import (
    AsyncSessionStore,
    ErasingStore,
    Rewritten,
    SearchableStore,
    SessionStore,
    SnapshotStore,
)
from polycontext.pressure import ConflictError
from polycontext.window import Role, Turn

from .store_lives import HOSTILE, is_time, note_patch, session_of, take_step

OpenStore = Callable[[], SessionStore]

_WRITERS, _TURNS_EACH = 8, 12
_MANY = 320
_SEARCHED = 60
_SYNTAX = (
    '"',
    '""',
    'a"b',
    "AND",
    "NOT x",
    "a*",
    "NEAR(a b)",
    "said:step",
    "(",
    "^a",
    "-",
    "\ud800",
)
"""Texts with a search engine's syntax."""


@contextmanager
def open_and_close(open_store: OpenStore) -> Generator[SessionStore]:
    """Open the store and close it at the end."""
    store = open_store()
    try:
        yield store
    finally:
        store.close()


def assert_same(found: Sequence[Event], wanted: Sequence[Event]) -> None:
    """Assert that the events are equal; sources of gists may still be stored as ranges."""
    # The ranges at a journal's end can only be resolved with its beginning.
    is_whole = bool(wanted) and getattr(wanted[0], "turn", None) is not None
    found = list(with_sources(found)) if is_whole else list(found)
    for number, (one, other) in enumerate(zip(found, wanted, strict=False)):
        assert one == other, f"event {number} is {one!r:.500}, and was {other!r:.500}"
    assert len(found) == len(wanted), f"{len(found)} events are there of {len(wanted)}"


def assert_refused(act: Callable[[], object], kind: type[Exception], what: str) -> Any:
    """Assert that `act` raises an error of that kind, and return the error."""
    try:
        act()
    except kind as error:
        return error
    raise AssertionError(what)


def snapshots_change_nothing(open_store: OpenStore) -> None:
    """A long session opened from a snapshot equals the replay of all its events.

    A store without snapshots replays everything.
    """
    with open_and_close(open_store) as store:
        session = session_of(store)
        for number in range(_MANY):
            take_step(session, number)
            if number % 17 == 0:
                session.documents.patch("notes", partial(note_patch, number))
        conversation = session.conversation
    with open_and_close(open_store) as store:
        again = session_of(store)
        assert again.conversation == conversation
        if isinstance(store, SnapshotStore):
            opened = store.opened("s")
            assert opened is not None, "there is no snapshot"
            assert len(opened.stored.events) < _MANY, (
                "all events are read, whatever a snapshot says"
            )
        take_step(again, _MANY)
        take_step(session := session_of(store), _MANY + 1)
        assert len(session.log()) == len(conversation.log) + 2


def going_back_is_only_more(open_store: OpenStore) -> None:
    """A session that was rewound and then continued differently reopens in its last state.

    The abandoned states can be restored, even if an id was used twice.
    """
    with open_and_close(open_store) as store:
        session = session_of(store)
        for number in range(_MANY // 2):
            take_step(session, number)
            if is_time(number, 23):
                session.history.rewind(session.history.revision - number % 9)
                session.add(
                    Turn(
                        "user",
                        f"instead of {number}",
                        resource_id=f"own{number % 4}" if number > _MANY // 7 else "",
                    )
                )
            if is_time(number, 40):
                session.compress(0.5)
                session.recall(session.log()[-1].resource_id)
        left = session.history.revision
        wanted = session.conversation
        session.history.rewind(20)
    with open_and_close(open_store) as store:
        session = session_of(store)
        assert [turn.text for turn in session.log()] == [
            turn.text for turn in session.history.at(20).log()
        ]
        session.history.rewind(left)
        assert session.log() == tuple(wanted.log)
        assert (session.state, session.window.all_turns()) == (
            wanted.state,
            wanted.window.all_turns(),
        )
        assert session.window.linearity == wanted.window.linearity


def a_fork_goes_on_by_itself(open_store: OpenStore) -> None:
    """A fork equals the session it was made from, immediately and after reopening the store.

    Changes to one of them, including deletion, do not affect the other.
    """
    with open_and_close(open_store) as store:
        session = session_of(store)
        for number in range(_MANY):
            take_step(session, number)
        store.append("s", session.history.revision, [], {"notes": '{"seen":1}'})
        half = session.history.revision // 2
        newest, middle = session.history.fork("newest"), session.history.fork("middle", half)
        assert_refused(
            lambda: session.history.fork("middle"),
            ConflictError,
            "a fork took the id of another session",
        )
        assert newest.conversation.window == session.window
        middle.add_user_turn("only in the fork")
        session.add_user_turn("only in the first")
    with open_and_close(open_store) as store:
        first, again = session_of(store), session_of(store, "middle")
        assert again.log()[-1].text == "only in the fork"
        assert again.log()[:-1] == first.history.at(half).log()
        store.delete("s")
        assert session_of(store, "middle").log() == again.log()
        assert len(session_of(store, "newest").log()) == len(first.log()) - 1


def what_is_forgotten_is_gone(open_store: OpenStore) -> None:
    """An erasing store removes a turn's text from every event of every session that has it.

    Everything else stays the same, and snapshots are rebuilt.
    """
    with open_and_close(open_store) as store:
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
        stale = {
            "s": Rewritten(session.history.revision - 1, {}),
            "fork": Rewritten(fork.history.revision, {1: fork.history.events()[0]}),
        }
        assert_refused(
            partial(store.rewrite, stale), ConflictError, "a journal was rewritten that had gone on"
        )
        assert session.history.forget(told)
        assert not session.history.forget(told)
    with open_and_close(open_store) as store:
        for name, log in before.items():
            assert all("xyzzy" not in repr(event) for event in store.load(name).events), (
                f"words are left in session {name!r}"
            )
            again = session_of(store, name)
            assert [turn.text for turn in again.log()] == [
                turn.text if turn.text != secret else "[forgotten]" for turn in log
            ]
            again.add_user_turn("on")
            assert session_of(store, name).conversation == again.conversation


def a_search_finds_what_was_said(open_store: OpenStore) -> None:
    """A search finds each turn once `append` returned, only in its session and until deletion."""
    with open_and_close(open_store) as store:
        if not isinstance(store, SearchableStore):
            return
        assert list(store.search("s", "step", 10)) == [], (
            "something is found in a session that was never stored"
        )
        session = session_of(store)
        for number in range(_SEARCHED):
            take_step(session, number)
        session_of(store, "other").add_user_turn("another session takes step 7 too, about quince")
        limit = 3
        found = store.search("s", "step 7", limit)
        assert found[0].snippet.startswith("step 7 is about file7.py"), found
        assert len(found) == limit, "there are more turns than the limit"
        scores = [each.score for each in found]
        assert scores == sorted(scores, reverse=True), "the best is not first"
        assert list(store.search("s", "quince", 10)) == [], "another session's words are found"
        assert {each.role for each in store.search("s", "step", _SEARCHED)} == {
            Role.USER,
            Role.ASSISTANT,
        }
        assert [each.resource_id for each in store.search("s", '"7 step"', 10)] == [], (
            "a phrase is found whose words stand in another order"
        )
        for text in (*HOSTILE, *_SYNTAX):
            for each in store.search("s", text, 1):
                assert session.conversation.log.knows(each.resource_id), text
        session.add_user_turn("我的快递在哪里? Où est mon café?")
        for text in ("快递", "CAFÉ", "cafe"):
            assert [each.resource_id for each in store.search("s", text, 10)] == [
                session.log()[-1].resource_id
            ], text
    with open_and_close(open_store) as store:
        assert isinstance(store, SearchableStore)
        assert len(store.search("s", "café", 10)) == 1
        store.delete("s")
        assert list(store.search("s", "café", 10)) == [], "a session that was deleted is found"


def writers_lose_nothing(open_store: OpenStore) -> None:
    """Threads with their own sessions over one store lose no turn and keep each thread's order."""

    def write(writer: int) -> None:
        session = session_of(store)
        for number in range(_TURNS_EACH):
            session.add_user_turn(f"{writer}/{number}", idempotency_key=f"{writer}/{number}")

    with open_and_close(open_store) as store, ThreadPoolExecutor(_WRITERS) as threads:
        list(threads.map(write, range(_WRITERS)))
        said = [turn.text for turn in session_of(store).log()]
    assert len(said) == _WRITERS * _TURNS_EACH
    for writer in range(_WRITERS):
        wanted = [f"{writer}/{number}" for number in range(_TURNS_EACH)]
        assert [text for text in said if text.startswith(f"{writer}/")] == wanted


def tasks_lose_nothing(open_store: OpenStore) -> None:
    """Tasks of one event loop lose no turn, using the store's async methods if it has them."""

    async def write(store: SessionStore, writer: int) -> None:
        session = session_of(store)
        for number in range(_TURNS_EACH):
            await session.aadd_user_turn(f"{writer}/{number}")

    async def all_write(store: SessionStore) -> None:
        await asyncio.gather(*(write(store, writer) for writer in range(_WRITERS)))
        if isinstance(store, AsyncSessionStore):
            assert_same((await store.aload("s", 3)).events, list(store.load("s").events)[3:])

    with open_and_close(open_store) as store:
        asyncio.run(all_write(store))
        said = [turn.text for turn in session_of(store).log()]
        assert len(set(said)) == len(said) == _WRITERS * _TURNS_EACH


EXTENSION_CHECKS = (
    a_search_finds_what_was_said,
    snapshots_change_nothing,
    going_back_is_only_more,
    a_fork_goes_on_by_itself,
    what_is_forgotten_is_gone,
    writers_lose_nothing,
    tasks_lose_nothing,
)
