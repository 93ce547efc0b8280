"""Helpers of a session may read it but not write to it.

Writers in many threads and event loops lose no turns.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from time import sleep
from typing import Any

import pytest

from polycontext.linearity import ResourceClass, default_classifier
from polycontext.polynomial import (
    ContextMachine,
    ContextOutput,
    ContextSession,
    ContextState,
    Conversation,
    SessionWriteError,
    replay,
)
from polycontext.polynomial.journal.events import MoveEvent
from polycontext.polynomial.stores import InMemoryStore
from polycontext.pressure import AdaptiveThreshold, ConflictError, ContextProjector
from polycontext.window import ContextWindow, TokenCounter, Turn
from tests.house import sizes
from tests.polynomial.conversations import WORDS, add_all, chat, document, whole, words
from tests.polynomial.session.faulty import FaultyAsyncStore

REFUSED = "a summariser, classifier, companion or listener writes to the session that it works for"
BUDGET = 1000

Act = Callable[[ContextSession], object]


class Helper:
    """A helper of a session in every possible role, which runs `act` in the role under test."""

    def __init__(self, way: str) -> None:
        self.way = way
        self.came_to: list[object] = []
        self.session: ContextSession | None = None
        self.act: Act | None = None

    def works_for(self, **options: Any) -> ContextSession:
        """Return a session that this one works for."""
        summariser: Any = Awaited(self) if self.way == "asummariser" else self
        self.session = ContextSession(
            BUDGET,
            counter=WORDS,
            projector=ContextProjector(summariser),
            threshold=AdaptiveThreshold(),
            classifier=self.classify,
            listeners=[self],
            **options,
        )
        self.session.documents.accompany("helper", self)
        return self.session

    def asked(self, way: str) -> None:
        """Do it once, if this is the way."""
        act, session = self.act, self.session
        if way in self.way and act is not None and session is not None:
            self.act = None
            self.came_to.append(act(session))

    def summarise(
        self,
        turns: Sequence[Turn],
        max_tokens: int,
        *,
        counter: TokenCounter,
        query: str | None = None,
    ) -> str:
        """Summarise."""
        self.asked("summariser")
        return f"{len(turns)} turns were said"

    def classify(self, role: str, content: str, facts: Mapping[str, Any]) -> ResourceClass:
        """Classify as ever."""
        self.asked("classifier")
        return default_classifier(role, content, facts)

    def to_data(self) -> dict[str, Any]:
        """Return what is saved."""
        self.asked("companion")
        return {}

    def after_transition(self) -> None:
        """Hear of an event."""
        self.asked("listener")


class Awaited:
    """Summarise for tasks."""

    def __init__(self, helper: Helper) -> None:
        self._helper = helper

    async def asummarise(
        self,
        turns: Sequence[Turn],
        max_tokens: int,
        *,
        counter: TokenCounter,
        query: str | None = None,
    ) -> str:
        """Summarise, and await what comes of it."""
        helper = self._helper
        act, helper.act = helper.act, None
        if act is not None and helper.session is not None:
            await asyncio.sleep(0)
            come = act(helper.session)
            helper.came_to.append(await come if asyncio.iscoroutine(come) else come)
        return f"{len(turns)} turns were said"


def reading(session: ContextSession) -> dict[str, object]:
    """Read everything there is to read."""
    return {
        "state": session.state,
        "said": [turn.text for turn in session.window.all_turns()],
        "log": len(session.log()),
        "events": len(session.history.events()),
        "pressure": session.pressure,
        "output": session.output.state,
        "messages": len(session.messages()),
        "saved": len(document(session)["events"]),
        "machine": session.machine.context_state,
    }


def writing(session: ContextSession) -> ContextOutput:
    """Write in the middle of another write."""
    return session.add_user_turn("from inside")


async def awriting(session: ContextSession) -> ContextOutput:
    """Write in the middle of another write, as a task does."""
    return await session.aadd_user_turn("from inside")


def pressed(helper: Helper) -> ContextSession:
    """Return a session that the next turn will compress, with everybody that works for it."""
    session = add_all(helper.works_for(), chat(15, 45))
    assert session.state is ContextState.PRESSURED
    return session


def run(session: ContextSession, *, tasks: bool) -> ContextOutput:
    """Add a turn, for which the session has to compress first."""
    if not tasks:
        return session.add_user_turn("and now?")

    async def scene() -> ContextOutput:
        return await session.aadd_user_turn("and now?")

    return asyncio.run(scene())


def check_sound(session: ContextSession) -> None:
    """Expect that nothing was lost or doubled."""
    events = session.history.events()
    assert session.history.revision == len(events)
    assert (
        replay(events, Conversation(ContextWindow(BUDGET, counter=WORDS))).log
        == session.conversation.log
    )
    assert (session.machine.context_state, session.machine.window) == (
        session.state,
        session.window,
    )
    assert max(Counter(turn.text for turn in session.log()).values()) == 1


SUMMARISERS = [("summariser", False), ("summariser", True), ("asummariser", True)]
WAYS = [
    *SUMMARISERS,
    *((way, tasks) for way in ("classifier", "companion", "listener") for tasks in (False, True)),
]
ways = pytest.mark.parametrize(("way", "tasks"), WAYS)


@ways
def test_helpers_may_read(way: str, tasks: bool) -> None:
    """Summariser, classifier, companion and listener may read the session while they are called."""
    helper = Helper(way)
    session = pressed(helper)
    helper.act = reading
    run(session, tasks=tasks)
    assert len(helper.came_to) == 1
    assert session.log()[-1].text == "and now?"
    check_sound(session)


@ways
def test_helpers_may_not_write(way: str, tasks: bool, caplog: pytest.LogCaptureFixture) -> None:
    """A write by a helper raises an error, loses or doubles nothing, and the session can continue.

    A summariser loses its gist, a listener nothing, and the others make the write that called them
    fail.
    """
    helper = Helper(way)
    session = pressed(helper)
    before, turns = whole(session), len(session.log())
    helper.act = awriting if way == "asummariser" else writing
    refused = way in ("classifier", "companion")
    if refused:
        with pytest.raises(SessionWriteError, match=REFUSED):
            run(session, tasks=tasks)
        assert whole(session) == before
    else:
        run(session, tasks=tasks)
        logged = [
            record
            for record in caplog.records
            if "an action of the machine failed" in record.message
        ]
        assert len(logged) == (way == "listener")
        assert all(REFUSED in str(record.exc_info) for record in logged)
    assert helper.came_to == []
    assert len(session.log()) == turns + (not refused)
    session.add_user_turn("and on")
    assert session.log()[-1].text == "and on"
    check_sound(session)


@pytest.mark.parametrize("way", ["asummariser", "listener"])
def test_what_a_helper_begins_may_write_afterwards(way: str) -> None:
    """A task that was begun in the middle of a write may write once that is over."""

    async def scene() -> None:
        helper = Helper(way)
        session = pressed(helper)
        over = asyncio.Event()

        async def later() -> None:
            await over.wait()
            await session.aadd_user_turn("afterwards")

        helper.act = lambda _: asyncio.get_running_loop().create_task(later())
        await session.aadd_user_turn("and now?")
        over.set()
        task: Any = helper.came_to[0]
        await task
        assert [turn.text for turn in session.log()[-2:]] == ["and now?", "afterwards"]
        check_sound(session)

    asyncio.run(scene())


# --- many writers ------------------------------------------------------------------------


@contextmanager
def impatient_threads() -> Generator[None]:
    """Let threads take turns far more often than they do by themselves."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def in_threads(acts: Sequence[Callable[[], None]]) -> None:
    """Run all `acts` at once, and raise what any of them raised."""
    failures: list[BaseException] = []

    def run_one(act: Callable[[], None]) -> None:
        try:
            act()
        except BaseException as failure:  # noqa: BLE001 - raised below
            failures.append(failure)

    threads = [Thread(target=run_one, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


class Crowd:
    """Write to one session from threads and event loops; know what must be in it afterwards."""

    def __init__(self, session: ContextSession) -> None:
        self.session, self.conflicts = session, 0

    def thread(self, name: str, turns: int) -> None:
        """Add turns, one after the other."""
        for number in range(turns):
            self.session.add_user_turn(f"{name}/{number} {words(9)}")

    def loop(self, name: str, tasks: int) -> None:
        """Run tasks that add a turn each, every second one with a revision, which it retries."""

        async def add(number: int) -> None:
            text = f"{name}/{number} {words(9)}"
            if number % 2:
                await self.session.aadd_user_turn(text)
                return
            while True:
                await asyncio.sleep(0)
                try:
                    await self.session.aadd_user_turn(
                        text, expected_revision=self.session.history.revision
                    )
                except ConflictError as late:
                    assert late.found != late.expected
                    self.conflicts += 1
                else:
                    return

        async def all_of_them() -> None:
            await asyncio.gather(*map(add, range(tasks)))

        asyncio.run(all_of_them())

    def check(self, expected: Mapping[str, int]) -> None:
        """Expect every turn once, those of a thread in its order."""
        said = [turn.text.split()[0] for turn in self.session.log()[1:]]
        assert sorted(said) == sorted(
            f"{name}/{number}" for name, count in expected.items() for number in range(count)
        )
        for name, count in expected.items():
            if name.startswith("thread"):
                assert [each for each in said if each.startswith(f"{name}/")] == [
                    f"{name}/{number}" for number in range(count)
                ]
        session = self.session
        assert session.history.revision == len(session.history.events())
        assert (
            replay(session.history.events(), Conversation(ContextWindow(2000, counter=WORDS)))
            == session.conversation
        )
        assert (session.machine.context_state, session.machine.window) == (
            session.state,
            session.window,
        )


@pytest.mark.no_cover
@pytest.mark.parametrize(("turns", "tasks"), sizes((8, 5), (40, 25)))
@pytest.mark.parametrize("store", [InMemoryStore, FaultyAsyncStore])
def test_threads_and_event_loops_lose_no_turn(
    store: type[InMemoryStore], turns: int, tasks: int
) -> None:
    """Eight threads and four event loops write to one session with a live machine and lose no turn.

    Every turn is in the log once, in its thread's order, and the journal replays. A write without a
    revision succeeds.
    """
    session = ContextSession(2000, counter=WORDS, store=store())
    session.add_user_turn("the task")
    assert session.machine.context_state is session.state
    crowd = Crowd(session)
    threads: list[Callable[[], None]] = [
        lambda name=f"thread{number}": crowd.thread(name, turns)  # type: ignore[misc]
        for number in range(8)
    ]
    loops: list[Callable[[], None]] = [
        lambda name=f"loop{number}": crowd.loop(name, tasks)  # type: ignore[misc]
        for number in range(4)
    ]
    with impatient_threads():
        in_threads([*threads, *loops])
    crowd.check(
        {f"thread{number}": turns for number in range(8)}
        | {f"loop{number}": tasks for number in range(4)}
    )


class Slow:
    """Begin to summarise, and go on when told to."""

    def __init__(self) -> None:
        self.begun, self.go_on = Event(), Event()
        self.calls = 0

    def summarise(
        self,
        turns: Sequence[Turn],
        max_tokens: int,
        *,
        counter: TokenCounter,
        query: str | None = None,
    ) -> str:
        """Wait, then summarise."""
        self.calls += 1
        self.begun.set()
        assert self.go_on.wait(60)
        return f"{len(turns)} turns were said"


def test_a_slow_summariser_holds_nobody_up() -> None:
    """Others read and write during a slow summary, and the compression is decided again then."""
    slow = Slow()
    session = add_all(
        ContextSession(BUDGET, counter=WORDS, projector=ContextProjector(slow)), chat(10, 45)
    )
    outputs: list[ContextOutput] = []
    waiting = Thread(target=lambda: outputs.append(session.compress(0.2)))
    waiting.start()
    assert slow.begun.wait(60)
    assert len(reading(session)["said"]) == 10  # type: ignore[arg-type]
    session.add_user_turn("by a thread")
    asyncio.run(asyncio_add(session, "by a task"))
    session.promote("t1", ResourceClass.PRESERVED) if session.window.linearity.get(
        "t1"
    ) < ResourceClass.PRESERVED else None
    assert outputs == []
    slow.go_on.set()
    waiting.join()
    assert [output.state for output in outputs] == [ContextState.COMPRESSED]
    assert slow.calls >= 2
    assert [turn.text for turn in session.log()[-2:]] == ["by a thread", "by a task"]
    assert session.state is ContextState.COMPRESSED
    check_sound(session)


async def asyncio_add(session: ContextSession, text: str) -> None:
    """Add a turn as a task does."""
    await session.aadd_user_turn(text)


class Chain(ContextMachine):
    """A machine whose action sends the next event."""

    ping = ContextMachine.accumulating.to(ContextMachine.accumulating)
    pings = 0

    def on_ping(self) -> None:
        """Send the next of many."""
        type(self).pings += 1
        if self.pings < 400:
            self.send("ping")


def test_a_long_chain_of_events_is_sent_whole() -> None:
    """Each is an event of the journal, and none is lost to the depth of the stack."""
    session = ContextSession(max_tokens=8000, machine=Chain)
    session.add_user_turn("hi")
    session.send("ping")
    assert session.history.revision == 401


class Echo(ContextMachine):
    """A machine whose action answers a call."""

    call = ContextMachine.accumulating.to(ContextMachine.accumulating)
    answer = ContextMachine.accumulating.to(ContextMachine.accumulating)

    def on_call(self) -> None:
        """Answer."""
        self.send("answer")


def kinds(session: ContextSession) -> list[str]:
    """Return what happened after the first turn."""
    return [event.name for event in session.history.events(1) if isinstance(event, MoveEvent)]


def test_only_the_writer_of_an_event_sends_what_its_action_sends() -> None:
    """However many sessions follow: each runs the action, and one answers."""
    store = InMemoryStore()
    first, *others = (
        ContextSession.open(store, "s", max_tokens=900, counter=WORDS, machine=Echo)
        for _ in range(3)
    )
    first.add_user_turn("hi")
    first.send("call")
    for each in others:
        each.history.refresh()
        each.add_user_turn("and?")
    assert kinds(first.history.refresh()) == ["call", "answer"]


def test_an_event_that_another_thread_loaded_is_its_writers_still() -> None:
    """It loads it when it is stored and not yet published."""

    class Loaded(InMemoryStore):
        """A store whose events are loaded at once."""

        def append(self, *given: Any, **options: Any) -> None:
            """Append, and let the session load it."""
            super().append(*given, **options)
            if session is not None:
                thread = Thread(target=session.history.refresh)
                thread.start()
                thread.join(120)

    session: ContextSession | None = None
    session = ContextSession.open(Loaded(), "s", max_tokens=900, counter=WORDS, machine=Echo)
    session.add_user_turn("hi")
    session.send("call")
    assert kinds(session) == ["call", "answer"]


def test_writers_in_a_thread_and_in_a_loop_lose_no_event_of_an_action() -> None:
    """Each loads what the other one has stored and not yet published."""

    class Slow(InMemoryStore):
        """A store that takes time after it has stored."""

        def append(self, *given: Any, **options: Any) -> None:
            """Append, and let others load it."""
            super().append(*given, **options)
            sleep(0.002)

    session = ContextSession.open(
        Slow(), "s", max_tokens=90_000, counter=WORDS, machine=Echo, auto=False
    )
    session.add_user_turn("hi")

    async def call() -> None:
        await asyncio.gather(*(session.asend("call") for _ in range(15)))

    def call_here() -> None:
        for _ in range(15):
            session.send("call")

    threads = [Thread(target=call_here), Thread(target=lambda: asyncio.run(call()))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert Counter(kinds(session.history.refresh())) == {"call": 30, "answer": 30}
