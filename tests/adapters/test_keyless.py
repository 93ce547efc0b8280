"""Concurrent conversations without a key: each has its own session as soon as it differs.

They run in threads and tasks, on several bridges, and over restarts.
"""

import asyncio
import contextvars
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from threading import Barrier, Thread
from time import sleep
from typing import Any

import pytest

from polycontext.adapters import Bridge, Sessions
from polycontext.polynomial import ContextOverflowError, ContextSession, SessionWriteError
from polycontext.polynomial.journal.events import RewindEvent
from polycontext.polynomial.stores.sqlite import SQLiteStore
from polycontext.pressure import ContextProjector
from polycontext.testing import FAST
from polycontext.window import Turn
from tests.adapters.test_bridge import Made, Native

CONVERSATIONS, EXCHANGES, ROOM = 8, 12, 800
FIRST = 10
"""Up to so many messages all of them come at the same moment."""
OPENING = [
    Native("user", "Look after the cellar, all of it."),
    Native("assistant", "Gladly, and where to begin?"),
]


def conversation(name: str, exchanges: int = EXCHANGES) -> list[Native]:
    """Return a conversation that begins as all others do.

    Every message after the first two has a word of its own.
    """
    says = [
        Native("user" if n % 2 == 0 else "assistant", f"mark-{name}-{n} " + "plums and pears " * 12)
        for n in range(2 * exchanges - 1)
    ]
    # Objects of its own: a view must not have those of another conversation that says the same.
    return [*(Native(each.who, each.words) for each in OPENING), *says]


def marks(natives: Sequence[Native]) -> set[str]:
    """Return the words of their own."""
    return {mark for native in natives for mark in re.findall(r"mark-\w+-\d+", native.words)}


def naming(turns: Sequence[Turn], max_tokens: int) -> str:
    """Summarise by naming what is summed up, slowly: others come in between."""
    sleep(0.002)
    return (
        " ".join(re.findall(r"mark-\w+-\d+", " ".join(turn.text for turn in turns))) or "A cellar."
    )


def bridge_of(store: Any = None, most: int = 256) -> Bridge[Native]:
    """Return a bridge of little room."""
    kept = {} if store is None else {"store": store}
    return Bridge(
        Made(), model=ROOM, counter=FAST, projector=ContextProjector(naming), most=most, **kept
    )


def ends(natives: Sequence[Native]) -> range:
    """Return how long a list is whenever a model is asked."""
    return range(1, len(natives) + 1, 2)


# --- side by side ------------------------------------------------------------------


def turn_of(native: Native) -> Turn:
    """Return the turn that a message is."""
    return Turn(native.who, native.words)


def in_threads(bridge: Bridge[Native], lists: Sequence[list[Native]]) -> dict[str, str]:
    """Fit all of them in threads, and return what was wrong with any view."""
    wrong: dict[str, str] = {}
    together = Barrier(len(lists))

    def follow(number: int) -> None:
        natives, random = lists[number], Random(number)  # noqa: S311 - nothing here is a secret
        for end in ends(natives):
            if end < FIRST:
                together.wait()
            else:
                sleep(random.random() / 500)
            check(bridge.fit(natives[:end]), natives[:end], wrong)

    threads = [Thread(target=follow, args=(number,)) for number in range(len(lists))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


def in_tasks(bridge: Bridge[Native], lists: Sequence[list[Native]]) -> dict[str, str]:
    """Fit all of them in tasks of one loop, and return what was wrong with any view."""
    wrong: dict[str, str] = {}

    async def follow(number: int) -> None:
        natives, random = lists[number], Random(number)  # noqa: S311 - as above
        for end in ends(natives):
            await asyncio.sleep(0 if end < FIRST else random.random() / 500)
            check(await bridge.afit(natives[:end]), natives[:end], wrong)

    async def all_of_them() -> None:
        await asyncio.gather(*map(follow, range(len(lists))))

    asyncio.run(all_of_them())
    return wrong


def check(view: Sequence[Native], natives: Sequence[Native], wrong: dict[str, str]) -> None:
    """Note where a view is not of all these messages, and of no others."""
    strangers = [
        native
        for native in view
        if not any(native is each for each in natives)
        and any(native.words == each.words for each in natives)
    ]
    if marks(view) != marks(natives) or strangers or view[-1] is not natives[-1]:
        wrong[natives[-1].words[:12]] = f"{sorted(marks(view) ^ marks(natives))} {strangers}"


@pytest.mark.parametrize("run", [in_threads, in_tasks])
@pytest.mark.parametrize("kept", [False, True])
def test_each_view_is_of_its_own_conversation(
    run: Callable[..., dict[str, str]], kept: bool, tmp_path: Path
) -> None:
    """Each view holds all of its own conversation and nothing else, and no journal is rewound."""
    store = SQLiteStore(tmp_path / "s.db") if kept else None
    bridge, lists = (
        bridge_of(store),
        [conversation(f"c{number}") for number in range(CONVERSATIONS)],
    )
    assert run(bridge, lists) == {}
    assert len(bridge.fit(lists[0])) < len(lists[0])
    for natives in lists:
        session = bridge.fit_with_session(natives).session
        assert [turn.text for turn in session.log()] == [native.words for native in natives]
        assert not any(isinstance(event, RewindEvent) for event in session.history.events())
    assert len(bridge.sessions) == CONVERSATIONS
    if store is not None:
        store.close()


@pytest.mark.parametrize("awaited", [False, True])
def test_whoever_has_waited_for_a_session_looks_again_whether_it_is_still_its_own(
    awaited: bool,
) -> None:
    """A caller that waited for a session takes another if it no longer matches."""
    sessions, one, other = (
        bridge_of().sessions,
        [*map(turn_of, conversation("one"))],
        [*map(turn_of, conversation("other"))],
    )
    first = sessions.longest(one)
    first.sync(one[:2])
    taken: list[ContextSession] = []

    async def take_awaited() -> None:
        async with sessions.aalone(other) as session:
            taken.append(session)

    def take() -> None:
        if awaited:
            asyncio.run(take_awaited())
        else:
            with sessions.alone(other) as session:
                taken.append(session)

    with sessions.alone(one) as session:
        assert session is first
        waiting = Thread(target=take)
        waiting.start()
        waiting.join(0.1)
        assert not taken
        session.sync(one)
    waiting.join()
    assert taken != [first]
    assert not taken[0].log()


def test_what_is_alike_shares_a_session_until_it_differs() -> None:
    """The same list is the same conversation: whoever goes on first has it."""
    bridge, one, other = bridge_of(), conversation("one"), conversation("other")
    first = bridge.fit_with_session(OPENING[:1]).session
    assert bridge.fit_with_session(OPENING).session is first
    assert bridge.fit_with_session([*OPENING]).session is first
    assert bridge.fit_with_session(one).session is first
    assert bridge.fit_with_session(other).session is not first
    assert bridge.fit_with_session(one).session is first
    assert len(bridge.sessions) == 2


def test_a_key_keeps_a_conversation_to_itself() -> None:
    """One without a key is another one, though it begins alike."""
    bridge, natives = bridge_of(), conversation("c")
    keyed = bridge.fit_with_session(natives, key="k").session
    assert bridge.fit_with_session(natives).session is not keyed
    assert bridge.sessions.get("k") is keyed
    edited = [*natives[:4], Native("user", "Edited.")]
    assert bridge.fit_with_session(edited, key="k").session is keyed
    assert bridge.fit_with_session(edited).session is not keyed
    assert len(bridge.sessions) == 3


# --- in stores ---------------------------------------------------------------------


def test_conversations_are_found_again_after_a_restart(tmp_path: Path) -> None:
    """Each its own, with its gists, though they begin alike; a new one takes nobody's place."""
    one, other = conversation("one"), conversation("other")
    views = {}
    for natives in (one, other):
        store = SQLiteStore(tmp_path / "s.db")
        bridge = bridge_of(store)
        bridge.fit(OPENING[:1])
        for end in ends(natives):
            views[natives[-1].words] = bridge.fit_with_session(natives[:end])
        store.close()
    store = SQLiteStore(tmp_path / "s.db")
    bridge = bridge_of(store)
    bridge.fit(conversation("third", 2))
    for natives in (other, one):
        before = views[natives[-1].words]
        again = bridge.fit_with_session(natives)
        assert again.session.history.revision == before.session.history.revision
        assert [native.words for native in again.natives] == [
            native.words for native in before.natives
        ]
    assert len(store.list_sessions()) == 3
    store.close()


def test_processes_may_take_turns_with_one_conversation(tmp_path: Path) -> None:
    """Two processes that take turns see each other's messages, and each is stored once."""
    store, natives = SQLiteStore(tmp_path / "s.db"), conversation("c")
    bridges = [bridge_of(store), bridge_of(store)]
    for place, end in enumerate(ends(natives)):
        for key in (None, "k"):
            view = bridges[place % 2].fit(natives[:end], key=key)
            assert marks(view) == marks(natives[:end])
    assert len(store.list_sessions()) == 2
    for name in store.list_sessions():
        session = ContextSession.open(store, name, ROOM, counter=FAST)
        assert [turn.text for turn in session.log()] == [native.words for native in natives]
        assert not any(isinstance(event, RewindEvent) for event in session.history.events())
    store.close()


# --- who waits for whom ------------------------------------------------------------


def test_a_fit_from_within_a_fit_is_refused() -> None:
    """A summariser that calls `fit` for the same conversation on the same bridge gets an error."""
    raised: list[SessionWriteError] = []

    def asking(turns: Sequence[Turn], max_tokens: int) -> str:
        try:
            bridge.fit(natives, key="k")
        except SessionWriteError as error:
            raised.append(error)
        return naming(turns, max_tokens)

    natives = conversation("c")
    bridge: Bridge[Native] = Bridge(
        Made(), model=ROOM, counter=FAST, projector=ContextProjector(asking)
    )
    assert marks(bridge.fit(natives, key="k")) == marks(natives)
    assert "a summariser or listener" in str(raised[0])
    seen = len(raised)
    assert marks(bridge.fit(natives, key="k")) == marks(natives)
    assert len(raised) == seen


def test_waiting_tasks_leave_the_loop_free_and_may_be_cancelled() -> None:
    """A call that cannot wait is refused in words; who was cancelled holds nothing."""

    async def work() -> None:
        bridge, natives = bridge_of(), conversation("c")[:3]
        async with bridge.sessions.aalone([], "k"):
            waiting = asyncio.create_task(
                bridge.afit(natives, key="k"), context=contextvars.Context()
            )
            cancelled = asyncio.create_task(
                bridge.afit(natives, key="k"), context=contextvars.Context()
            )
            await asyncio.sleep(0.02)
            assert not waiting.done()
            cancelled.cancel()
            with pytest.raises(SessionWriteError, match="a task of this thread"):
                contextvars.Context().run(bridge.fit, natives, key="k")
        assert await waiting == natives
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        assert await bridge.afit(natives, key="k") == natives

    asyncio.run(work())


def test_what_failed_leaves_no_session_behind() -> None:
    """A request that overflows leaves no session behind, however often it is repeated."""
    bridge = bridge_of()
    for _ in range(3):
        with pytest.raises(ContextOverflowError):
            bridge.fit([Native("system", "plums " * 10 * ROOM), *OPENING])
    assert len(bridge.sessions) == 1


def test_a_session_that_is_worked_on_is_not_let_go() -> None:
    """There are more than may be held only as long as they are needed."""
    sessions = Sessions(ROOM, most=1, counter=FAST)
    with sessions.alone([], "a") as first:
        sessions.get("b")
        assert sessions.get("a") is first
        assert len(sessions) == 2
    sessions.get("c")
    assert len(sessions) == 1
