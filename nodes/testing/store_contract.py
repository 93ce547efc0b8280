"""The contract of a session store, as checks to run on one of your own (docs/stores.md); free of any test framework.

    import pytest
    from polycontext.nodes.testing import STORE_CHECKS

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
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextSession, Event
from polycontext.polynomial.journal.named_sources import with_sources
from polycontext.polynomial.stores.session_store import AsyncSessionStore, SessionStore, SnapshotStore
from polycontext.pressure import ConflictError, ExtractiveSummariser
from polycontext.pressure.projector import ContextProjector
from polycontext.window import ContextItem, Part, Turn

OpenStore = Callable[[], SessionStore]

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
"""Texts that a store must bring back as they are."""

SESSION_IDS = ("a", "A", "a/b", "../a", "'a'", "a%", "ä", "a\u0308", " a", "日本語", "x" * 200)
"""Ids that a store must tell from one another."""

_WRITERS, _TURNS_EACH = 8, 12
_MANY = 700


class _Words:
    """Count a token a word, so that no vocabulary is loaded."""

    exact = False

    def count(self, text: str) -> int:
        return len(text.split())


def a_new_store_is_empty(open_store: OpenStore) -> None:
    """Nothing is there of a session that was never stored: no event, no name, nothing to delete."""
    with _opened(open_store) as store:
        stored = store.load("s")
        assert (list(stored.events), dict(stored.companions)) == ([], {})
        assert list(store.list_sessions()) == []
        assert store.delete("s") is False
        assert store.committed("s", "key") is None


def events_come_back_as_they_were(open_store: OpenStore) -> None:
    """Every kind of event, with all that turns can hold, is read as it was written: at once, and once opened again."""
    events = lived_events()
    with _opened(open_store) as store:
        for place, event in enumerate(events):
            store.append("s", place, [event], {})
        _same(store.load("s").events, events)
        _same_tail(store, events)
    with _opened(open_store) as store:
        _same(store.load("s").events, events)


def several_events_are_one_commit(open_store: OpenStore) -> None:
    """A whole journal goes in at once and comes back; where one of its events cannot be stored none of them is."""
    events = lived_events()
    with _opened(open_store) as store:
        broken: Any = object()
        with suppress(Exception):
            store.append("s", 0, [events[0], broken], {"notes": "1"}, key="k")
            # Whoever keeps objects keeps any.
            store.delete("s")
        assert list(store.load("s").events) == [], "a part of a commit is stored"
        assert dict(store.load("s").companions) == {}, "a companion of a commit that failed is stored"
        assert store.committed("s", "k") is None, "the key of a commit that failed is stored"
        store.append("s", 0, events, {})
        _same(store.load("s").events, events)


def a_stale_writer_is_refused(open_store: OpenStore) -> None:
    """Who is too early or too late gets a `ConflictError` with both revisions, and nothing has changed."""
    first, second, third = lived_events()[:3]
    with _opened(open_store) as store:
        store.append("s", 0, [first], {"notes": "1"})
        for base in (0, 2, 7):
            refused = _refused(
                partial(store.append, "s", base, [second], {"notes": "2"}, key="k"), ConflictError, "a stale writer is not refused"
            )
            assert (refused.expected, refused.found) == (base, 1), f"made for {base}, found 1; the error says {refused}"
        _refused(partial(store.append, "s", 0, [], {"notes": "2"}), ConflictError, "companions of a stale writer are not refused")
        _same(store.load("s").events, [first])
        assert dict(store.load("s").companions) == {"notes": "1"}
        assert store.committed("s", "k") is None
        store.append("s", 1, [second, third], {})
        _same(store.load("s").events, [first, second, third])


def companions_are_as_they_were_last(open_store: OpenStore) -> None:
    """Companions change with a commit or alone, each under its own name, and events alone leave them as they are."""
    event = lived_events()[0]
    texts = {f"n{number}": f'"{number}"' for number in range(3)}
    with _opened(open_store) as store:
        store.append("s", 0, [], texts)
        store.append("s", 0, [event], {"n1": '{"naïve":"日本語"}'})
        store.append("s", 1, [], {"n2": "[]"})
        assert dict(store.load("s").companions) == {"n0": '"0"', "n1": '{"naïve":"日本語"}', "n2": "[]"}
    with _opened(open_store) as store:
        assert dict(store.load("s").companions) == {"n0": '"0"', "n1": '{"naïve":"日本語"}', "n2": "[]"}


def sessions_stay_apart(open_store: OpenStore) -> None:
    """Each id is a session of its own, whatever it looks like; they are listed in order, and one that is deleted is gone, alone."""
    events = lived_events()
    with _opened(open_store) as store:
        for number, session_id in enumerate(SESSION_IDS):
            store.append(session_id, 0, events[: number + 1], {"notes": str(number)}, key="k")
        for number, session_id in enumerate(SESSION_IDS):
            _same(store.load(session_id).events, events[: number + 1])
            assert dict(store.load(session_id).companions) == {"notes": str(number)}, session_id
            assert store.committed(session_id, "k") == number + 1, session_id
        assert list(store.list_sessions()) == sorted(SESSION_IDS)
        assert store.delete(SESSION_IDS[0]) is True
        assert store.delete(SESSION_IDS[0]) is False, "a session is deleted twice"
        assert list(store.list_sessions()) == sorted(SESSION_IDS[1:])
        _same(store.load(SESSION_IDS[1]).events, events[:2])
        assert store.committed(SESSION_IDS[0], "k") is None, "a key outlives its session"
        store.append(SESSION_IDS[0], 0, events[:1], {})
        assert dict(store.load(SESSION_IDS[0]).companions) == {}, "a companion outlives its session"


def a_key_tells_where_its_command_led(open_store: OpenStore) -> None:
    """The key of a commit is found with the revision that it led to, and outlives the store."""
    events = lived_events()[:4]
    with _opened(open_store) as store:
        store.append("s", 0, events[:1], {})
        store.append("s", 1, events[1:3], {}, key="naïve key")
        store.append("s", 3, events[3:], {}, key="b")
    with _opened(open_store) as store:
        assert [store.committed("s", key) for key in ("naïve key", "b", "c")] == [3, 4, None]


def a_command_that_is_asked_again_happens_once(open_store: OpenStore) -> None:
    """A session that is asked again under the same key does nothing, also one that was opened since."""
    for _ in range(2):
        with _opened(open_store) as store:
            session = _session(store)
            for _ in range(2):
                session.add_user_turn("Book it.", idempotency_key="booking")
            assert [turn.text for turn in session.log()] == ["Book it."]


def a_session_is_what_it_was(open_store: OpenStore) -> None:
    """A session over the store, opened again after every few turns, is what the same session is in memory."""
    other = _session(None)
    for start in range(0, 60, 12):
        with _opened(open_store) as store:
            session = _session(store)
            for number in range(start, start + 12):
                for each in (session, other):
                    _say(each, number)
                assert session.conversation == other.conversation, f"after {number + 1} steps"
            assert session.events() == other.events()


def snapshots_change_nothing(open_store: OpenStore) -> None:
    """A long session of a store with snapshots opens as what replaying all of it gives; a store without has none."""
    with _opened(open_store) as store:
        session = _session(store)
        for number in range(_MANY):
            _say(session, number)
        conversation = session.conversation
    with _opened(open_store) as store:
        again = _session(store)
        assert again.conversation == conversation
        if isinstance(store, SnapshotStore):
            opened = store.opened("s")
            assert opened is not None, "there is no snapshot"
            assert len(opened.stored.events) < _MANY, "all events are read, whatever a snapshot says"
        _say(again, _MANY)
        _say(session := _session(store), _MANY + 1)
        assert len(session.log()) == len(conversation.log) + 2


def writers_lose_nothing(open_store: OpenStore) -> None:
    """Threads, each with a session of its own over one store, write as one: every turn is there once, those of each thread in order."""

    def write(writer: int) -> None:
        session = _session(store)
        for number in range(_TURNS_EACH):
            session.add_user_turn(f"{writer}/{number}", idempotency_key=f"{writer}/{number}")

    with _opened(open_store) as store, ThreadPoolExecutor(_WRITERS) as threads:
        list(threads.map(write, range(_WRITERS)))
        said = [turn.text for turn in _session(store).log()]
    assert sorted(said) == sorted(f"{writer}/{number}" for writer in range(_WRITERS) for number in range(_TURNS_EACH))
    for writer in range(_WRITERS):
        assert [text for text in said if text.startswith(f"{writer}/")] == [f"{writer}/{number}" for number in range(_TURNS_EACH)]


def tasks_lose_nothing(open_store: OpenStore) -> None:
    """The same with tasks of one event loop, through the twins of a store that has them."""

    async def write(store: SessionStore, writer: int) -> None:
        session = _session(store)
        for number in range(_TURNS_EACH):
            await session.aadd_user_turn(f"{writer}/{number}")

    async def all_write(store: SessionStore) -> None:
        await asyncio.gather(*(write(store, writer) for writer in range(_WRITERS)))
        if isinstance(store, AsyncSessionStore):
            _same((await store.aload("s", 3)).events, list(store.load("s").events)[3:])

    with _opened(open_store) as store:
        asyncio.run(all_write(store))
        assert len({turn.text for turn in _session(store).log()}) == len(_session(store).log()) == _WRITERS * _TURNS_EACH


def closing_twice_is_closing_once(open_store: OpenStore) -> None:
    """A store can be closed twice, and opened again."""
    with _opened(open_store) as store:
        store.append("s", 0, lived_events()[:1], {})
        store.close()
    with _opened(open_store) as store:
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
    snapshots_change_nothing,
    writers_lose_nothing,
    tasks_lose_nothing,
    closing_twice_is_closing_once,
)
"""All that a store must do, from the plainest on."""


def lived_events() -> tuple[Event, ...]:
    """Return the journal of a session that has lived through everything: every kind of event, texts of many kinds."""
    session = _session(None)
    for number, text in enumerate(HOSTILE):
        session.add_user_turn(f"{number}{text}", name="ann" if number else None)
        session.add_assistant_turn(f"{text}.")
    calls = [{"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": '{"at": "a b"}'}} for number in range(2)]
    session.add_assistant_turn(None, calls)
    for number in range(2):
        session.add_tool_turn(f"result {number}", tool_call_id=f"c{number}")
    session.attach(ContextItem("print(1)", "code", metadata={"filename": "a.py"}))
    parts = (Part("anthropic", '{"type": "thinking", "thinking": "so", "signature": "c2ln"}'),)
    session.add(Turn("assistant", "I think.", parts=parts, metadata={"deep": [1, {"a": None}]}, timestamp=datetime(1, 1, 2, tzinfo=UTC)))
    session.promote("t2", ResourceClass.PRESERVED, rationale="it matters")
    for number in range(3):
        session.compress(0.1)
        session.add_user_turn(f"and then {number}")
    session.recall("t3")
    session.compress(0.2)
    session.clear()
    session.add(Turn("user", "anew", resource_id="my-own-id"), ResourceClass.PRESERVED)
    return session.events()


def _session(store: SessionStore | None) -> ContextSession:
    return ContextSession(
        1_000,
        counter=_Words(),
        store=store,
        session_id="s",
        clock=lambda: datetime(2026, 1, 1, 12, 30, 59, 123_456, tzinfo=UTC),
        projector=ContextProjector(ExtractiveSummariser()),
    )


def _say(session: ContextSession, number: int) -> None:
    """Take the next step of a conversation in which everything happens now and then."""
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
    if number % 211 == 210:  # noqa: PLR2004 - now and then
        session.clear()
        session.add(Turn("user", f"anew, after step {number}", timestamp=at))


@contextmanager
def _opened(open_store: OpenStore) -> Generator[SessionStore]:
    store = open_store()
    try:
        yield store
    finally:
        store.close()


def _same(found: Sequence[Event], wanted: Sequence[Event]) -> None:
    """Expect these events; what their gists stand for may be told by ranges still."""
    found = list(with_sources(found)) if list(wanted) and not _begins_later(wanted) else list(found)
    for number, (one, other) in enumerate(zip(found, wanted, strict=False)):
        assert one == other, f"event {number} is {one!r:.500}, and was {other!r:.500}"
    assert len(found) == len(wanted), f"{len(found)} events are there of {len(wanted)}"


def _begins_later(events: Sequence[Event]) -> bool:
    return getattr(events[0], "turn", None) is None


def _same_tail(store: SessionStore, events: Sequence[Event]) -> None:
    for after in (0, 1, len(events) - 1, len(events), len(events) + 5):
        found = store.load("s", after).events
        assert len(found) == len(events[after:]), f"{len(found)} events behind revision {after}, legal: {len(events[after:])}"
        assert [event.state for event in found] == [event.state for event in events[after:]]


def _refused(act: Callable[[], None], kind: type[Exception], what: str) -> Any:
    try:
        act()
    except kind as error:
        return error
    raise AssertionError(what)
