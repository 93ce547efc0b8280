"""One writer at a time: threads, tasks, slow helpers, and helpers that call their session.

What works for a session may read it but not write to it. Writers in many threads and event loops
lose no turn.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from threading import Event, Thread
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
from polycontext.window import ContextWindow
from tests.house import sizes
from tests.polynomial.conversations import WORDS, add_all, chat, document, whole, words
from tests.polynomial.session.faulty import FaultyAsyncStore

REFUSED = "a summariser, classifier, companion or listener writes to the session that it works for"
BUDGET = 1000
Act = Callable[[ContextSession], Any]


def session_with(summariser: Any, **options: Any) -> ContextSession:
    """Return a session that asks `summariser`."""
    given: dict[str, Any] = {"counter": WORDS, "threshold": AdaptiveThreshold()} | options
    return ContextSession(BUDGET, projector=ContextProjector(summariser), **given)


def check_sound(session: ContextSession) -> None:
    """Expect that nothing was lost or doubled."""
    events = session.history.events()
    assert session.history.revision == len(events)
    empty = Conversation(ContextWindow(BUDGET, counter=WORDS))
    assert replay(events, empty).log == session.conversation.log
    assert (session.machine.context_state, session.machine.window) == (
        session.state,
        session.window,
    )
    assert max(Counter(turn.text for turn in session.log()).values()) == 1


def in_threads(*acts: Callable[[], Any]) -> None:
    """Run all `acts` at once, each in a thread of its own, and raise what any of them raised."""
    failures: list[BaseException] = []

    def run_one(act: Callable[[], Any]) -> None:
        try:
            act()
        except BaseException as failure:  # noqa: BLE001 - raised below
            failures.append(failure)

    threads = [Thread(target=run_one, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    if failures:
        raise failures[0]


@contextmanager
def impatient_threads() -> Generator[None]:
    """Let threads take turns far more often than they do by themselves."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


# --- what works for a session ------------------------------------------------------------


class Helper:
    """A helper of a session in every possible role, which runs `act` once in the role `way`."""

    def __init__(self, way: str) -> None:
        self.way, self.act = way, list[Act]()
        self.came_to: list[Any] = []
        self.session = session_with(
            self.asummarise if way == "asummariser" else self.summarise,
            classifier=self.classify,
            listeners=[self],
        )
        self.session.documents.accompany("helper", self)
        add_all(self.session, chat(15, 45))
        assert self.session.state is ContextState.PRESSURED

    def asked(self, way: str) -> Any:
        """Do it once, if this is the way."""
        return self.act.pop()(self.session) if way == self.way and self.act else None

    def summarise(self, turns: Sequence[object], max_tokens: int) -> str:
        """Summarise."""
        self.came_to.append(self.asked("summariser"))
        return f"{len(turns)} turns were said"

    async def asummarise(self, turns: Sequence[object], max_tokens: int) -> str:
        """Summarise, and await what comes of it."""
        await asyncio.sleep(0)
        come = self.asked("asummariser")
        self.came_to.append(await come if asyncio.iscoroutine(come) else come)
        return f"{len(turns)} turns were said"

    def classify(self, role: str, content: str, facts: Mapping[str, Any]) -> ResourceClass:
        """Classify as ever."""
        self.came_to.append(self.asked("classifier"))
        return default_classifier(role, content, facts)

    def to_data(self) -> dict[str, Any]:
        """Return what is saved."""
        self.came_to.append(self.asked("companion"))
        return {}

    def after_transition(self) -> None:
        """Hear of an event."""
        self.came_to.append(self.asked("listener"))

    def run(self, act: Act, *, tasks: bool) -> None:
        """Add a turn, for which the session has to compress first, and have the helper act."""
        self.came_to, self.act = [], [act]
        add = self.session.aadd_user_turn if tasks else self.session.add_user_turn
        come: Any = add("and now?")
        if tasks:
            asyncio.run(come)


def reading(session: ContextSession) -> dict[str, object]:
    """Read everything there is to read."""
    return {
        "state": session.state,
        "said": [turn.text for turn in session.window.all_turns()],
        "log": len(session.log()),
        "pressure": session.pressure,
        "output": session.output.state,
        "messages": len(session.messages()),
        "saved": len(document(session)["events"]),
        "machine": session.machine.context_state,
    }


ROLES = ("summariser", "classifier", "companion", "listener")
ways = pytest.mark.parametrize(
    ("way", "tasks"),
    [("asummariser", True), *((way, tasks) for way in ROLES for tasks in (False, True))],
)


@ways
def test_helpers_may_read_and_may_not_write(
    way: str, tasks: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """A write by a helper raises an error, loses or doubles nothing, and the session can continue.

    A summariser loses its gist, a listener nothing, and the others make the write that called them
    fail.
    """
    helper = Helper(way)
    session = helper.session
    before, turns = whole(session), len(session.log())
    read = list[object]()

    def inside(session: ContextSession) -> Any:
        read.append(reading(session))
        write = session.aadd_user_turn if way == "asummariser" else session.add_user_turn
        return write("from inside")

    refused = way in ("classifier", "companion")
    if refused:
        with pytest.raises(SessionWriteError, match=REFUSED):
            helper.run(inside, tasks=tasks)
        assert whole(session) == before
    else:
        helper.run(inside, tasks=tasks)
        failed = "an action of the machine failed"
        logged = [record for record in caplog.records if failed in record.message]
        assert len(logged) == (way == "listener")
        assert all(REFUSED in str(record.exc_info) for record in logged)
        rejected = [record for record in caplog.records if REFUSED in record.message]
        assert bool(rejected) is way.endswith("summariser")
    assert not any(helper.came_to)
    assert len(read) == 1
    assert len(session.log()) == turns + (not refused)
    session.add_user_turn("and on")
    assert session.log()[-1].text == "and on"
    check_sound(session)


@pytest.mark.parametrize("way", ["asummariser", "listener"])
def test_what_a_helper_begins_may_write_afterwards(way: str) -> None:
    """A task that was begun in the middle of a write may write once that is over."""
    helper = Helper(way)

    async def scene() -> None:
        over, tasks = asyncio.Event(), list[asyncio.Task[None]]()

        async def later() -> None:
            await over.wait()
            await helper.session.aadd_user_turn("afterwards")

        helper.act = [lambda _: tasks.append(asyncio.get_running_loop().create_task(later()))]
        await helper.session.aadd_user_turn("and now?")
        over.set()
        await tasks[0]

    asyncio.run(scene())
    assert [turn.text for turn in helper.session.log()[-2:]] == ["and now?", "afterwards"]
    check_sound(helper.session)


# --- slow summarisers ----------------------------------------------------------------------


def test_a_slow_summariser_holds_nobody_up() -> None:
    """Others read and write during a slow summary, and the compression is decided again then."""
    begun, go_on = Event(), Event()
    outputs: list[ContextOutput] = []
    calls: list[int] = []

    def slow(turns: Sequence[object], max_tokens: int) -> str:
        calls.append(max_tokens)
        begun.set()
        assert go_on.wait(60)
        return f"{len(turns)} turns were said"

    session = add_all(session_with(slow), chat(10, 45))
    waiting = Thread(target=lambda: outputs.append(session.compress(0.2)))
    waiting.start()
    assert begun.wait(60)
    assert len(reading(session)["said"]) == 10  # type: ignore[arg-type]
    session.add_user_turn("by a thread")
    asyncio.run(session.aadd_user_turn("by a task"))
    assert outputs == []
    go_on.set()
    waiting.join()
    assert [output.state for output in outputs] == [ContextState.COMPRESSED]
    assert len(calls) >= 2
    assert [turn.text for turn in session.log()[-2:]] == ["by a thread", "by a task"]
    check_sound(session)


# --- many writers ------------------------------------------------------------------------


def test_of_many_writers_with_one_revision_one_wins() -> None:
    """A revision is good for one write: all others get a conflict."""
    session = add_all(ContextSession(2000, counter=WORDS), chat(1))
    outcomes: list[str] = []

    def write() -> None:
        try:
            session.add_user_turn("mine", expected_revision=1)
            outcomes.append("won")
        except ConflictError:
            outcomes.append("lost")

    with impatient_threads():
        in_threads(*[write] * 8)
    assert (outcomes.count("won"), outcomes.count("lost"), session.history.revision) == (1, 7, 2)


@pytest.mark.no_cover
@pytest.mark.parametrize(("turns", "tasks"), sizes((8, 5), (40, 25)))
@pytest.mark.parametrize("store", [InMemoryStore, FaultyAsyncStore])
def test_threads_and_event_loops_lose_no_turn(
    store: type[InMemoryStore], turns: int, tasks: int
) -> None:
    """Every turn of eight threads and four event loops is in the log once, and the journal replays.

    Those of a thread are in its order. A write without a revision succeeds.
    """
    session = ContextSession(2000, counter=WORDS, store=store())
    session.add_user_turn("the task")
    assert session.machine.context_state is session.state

    def thread(name: str) -> None:
        for number in range(turns):
            session.add_user_turn(f"{name}/{number} {words(9)}")

    async def add(text: str, *, retries: bool) -> None:
        while retries:
            await asyncio.sleep(0)
            try:
                revision = session.history.revision
                await session.aadd_user_turn(text, expected_revision=revision)
            except ConflictError as late:
                assert late.found != late.expected
            else:
                return
        await session.aadd_user_turn(text)

    async def loop(name: str) -> None:
        texts = [f"{name}/{number} {words(9)}" for number in range(tasks)]
        await asyncio.gather(*(add(text, retries=n % 2 == 0) for n, text in enumerate(texts)))

    with impatient_threads():
        in_threads(
            *(lambda n=n: thread(f"thread{n}") for n in range(8)),
            *(lambda n=n: asyncio.run(loop(f"loop{n}")) for n in range(4)),
        )
    said = [turn.text.split()[0] for turn in session.log()[1:]]
    threads = [[f"thread{n}/{number}" for number in range(turns)] for n in range(8)]
    loops = [f"loop{n}/{number}" for n in range(4) for number in range(tasks)]
    assert sorted(said) == sorted([*(each for own in threads for each in own), *loops])
    assert all([each for each in said if each in own] == own for own in threads)
    empty = Conversation(ContextWindow(2000, counter=WORDS))
    assert replay(session.history.events(), empty) == session.conversation
    assert (session.machine.context_state, session.machine.window) == (
        session.state,
        session.window,
    )


# --- events that an action sends -----------------------------------------------------------


class Echo(ContextMachine):
    """A machine whose action answers a call, and another one sends the next of many."""

    call = ContextMachine.accumulating.to(ContextMachine.accumulating)
    answer = ContextMachine.accumulating.to(ContextMachine.accumulating)
    ping = ContextMachine.accumulating.to(ContextMachine.accumulating)
    pings = 0

    def on_call(self) -> None:
        """Answer."""
        self.send("answer")

    def on_ping(self) -> None:
        """Send the next."""
        type(self).pings += 1
        if self.pings < 400:
            self.send("ping")


def echoing(store: InMemoryStore, **options: Any) -> ContextSession:
    """Return a session of the store, with that machine."""
    return ContextSession.open(
        store, "s", max_tokens=90_000, counter=WORDS, machine=Echo, **options
    )


def kinds(session: ContextSession) -> list[str]:
    """Return what happened after the first turn."""
    return [event.name for event in session.history.events(1) if isinstance(event, MoveEvent)]


def test_a_long_chain_of_events_is_sent_whole() -> None:
    """Each is an event of the journal, and none is lost to the depth of the stack."""
    session = echoing(InMemoryStore())
    session.add_user_turn("hi")
    session.send("ping")
    assert session.history.revision == 401


def test_only_the_writer_of_an_event_sends_what_its_action_sends() -> None:
    """However many sessions follow: each runs the action, and one answers."""
    store = InMemoryStore()
    first, *others = (echoing(store) for _ in range(3))
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
            in_threads(*(each.history.refresh for each in sessions))

    sessions: list[ContextSession] = []
    sessions.append(echoing(Loaded()))
    sessions[0].add_user_turn("hi")
    sessions[0].send("call")
    assert kinds(sessions[0]) == ["call", "answer"]
