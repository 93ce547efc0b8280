"""Background summaries.

One is written at a time, it is inserted when ready, and one that fails changes nothing.
"""

import asyncio
import copy
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from polycontext.polynomial import ContextSession, ContextState, Event
from polycontext.polynomial.journal.events import CompressEvent
from polycontext.polynomial.session import background
from polycontext.polynomial.stores import InMemoryStore, Stored
from polycontext.pressure import ContextProjector, FixedThreshold
from polycontext.window import ToolCall, Turn
from tests.background_runs import live
from tests.polynomial.conversations import THOUGHT, WORDS, session_of, text_of, words

SAID = "Shelves one to four hold plums."
NAME = "polycontext-background"


class Writer:
    """A fake model that answers when told to, and counts its concurrent calls."""

    def __init__(self, answer: object = SAID) -> None:
        self.answer = answer
        self.may = threading.Event()
        self.asked = self.now = self.most = 0

    def summarise(self, turns: Sequence[Turn], max_tokens: int, **known: Any) -> Any:
        """Return the answer, once it may."""
        self.asked, self.now = self.asked + 1, self.now + 1
        self.most = max(self.most, self.now)
        try:
            assert self.may.wait(120), "nobody let it answer"
        finally:
            self.now -= 1
        return self.answer


def session_with(writer: object, **options: Any) -> ContextSession:
    """Return a session that starts a summary above 200 tokens and compresses above 320."""
    options = {
        "threshold": FixedThreshold(0.8, 0.2),
        "cooldown": 0,
        "projector": ContextProjector(writer),
    } | options
    return session_of(400, auto="background", **options)


def talk(session: ContextSession, exchanges: int, first: int = 0) -> ContextSession:
    """Let user and assistant speak, 40 tokens an exchange."""
    for number in range(first, first + exchanges):
        session.add_user_turn(words(16, f"u{number}x"))
        session.add_assistant_turn(words(16, f"a{number}x"))
    return session


def gists(session: ContextSession) -> list[str]:
    """Return the texts of the view's gists, without their frames and the file list at the end."""
    return [
        turn.text.partition("\n")[2].partition("\nFiles:\n")[0]
        for turn in session.window.all_turns()
        if turn.is_gist
    ]


def became(session: ContextSession) -> list[str]:
    """Return what became of all summaries."""
    return [each.became for each in session.background.outcomes]


# --- landing ---------------------------------------------------------------------


def test_a_summary_is_begun_before_room_is_needed_and_lands_by_itself() -> None:
    """The turns that come meanwhile stand behind it; nobody has to do anything."""
    writer = Writer()
    session = talk(session_with(writer), 6)
    assert session.background.running
    session.add_user_turn("Meanwhile.")
    writer.may.set()
    assert session.background.wait(120)
    settled(session)
    assert (gists(session), session.window.all_turns()[-1].text, session.state) == (
        [SAID],
        "Meanwhile.",
        ContextState.COMPRESSED,
    )
    assert (writer.asked, became(session), len(session.log())) == (1, ["landed"], 13)
    assert ContextSession.history.load(text_of(session), counter=WORDS).window == session.window


def settled(session: ContextSession) -> None:
    """Wait until nothing is in flight."""
    flight = session.background._flight
    assert flight is None or flight.over.wait(120)


def written(session: ContextSession) -> None:
    """Wait until the writing thread has ended, whether or not its summary was used."""
    flight = session.background._flight
    assert flight is not None
    assert flight.thread is not None
    flight.thread.join(120)
    assert not flight.thread.is_alive()


def test_what_yields_without_words_asks_no_model() -> None:
    """A long result is cut when room is needed; until some turns have passed nobody plans again."""
    session = session_with(Writer(), cooldown=5)
    session.add_user_turn("Sort the shelves.")
    session.add(Turn("assistant", "", tool_calls=(ToolCall("c1", "read", "{}"),)))
    session.add(
        Turn(
            "tool",
            "\n".join(words(10, f"line{number}x") for number in range(25)),
            tool_call_id="c1",
        )
    )
    assert session.policy.begins(session.window, session.background._share)
    assert (session.background.running, session.background._not_before) == (
        False,
        session.history.revision + 6,
    )


def test_whoever_is_pressed_before_gets_an_extract_at_once() -> None:
    """No turn waits for a model, and what the model says too late changes nothing."""
    writer = Writer()
    session = talk(session_with(writer), 9)
    assert gists(session) != [SAID]
    assert gists(session)
    assert became(session) == ["outdated"]
    window = session.window
    writer.may.set()
    talk(session, 1, 9)
    assert window.all_turns()[0] == session.window.all_turns()[0]
    assert (writer.most, len(session.log())) == (1, 20)


def test_a_model_whose_answer_was_no_summary_is_not_asked_again_at_every_turn() -> None:
    """It is told why the answer was refused."""
    writer = Writer("")
    writer.may.set()
    session = talk(session_with(writer), 6)
    settled(session)
    assert (became(session)[0], gists(session)) == ("refused", [])
    assert session.background.outcomes[0].why.startswith("the summar")
    asked = writer.asked
    for number in range(20):
        session.add_user_turn(f"On {number}.")
        settled(session)
    assert writer.asked - asked <= 3


def test_a_copy_and_a_fork_have_their_own() -> None:
    """A summary written for one session is not inserted into its copy or fork."""
    writer = Writer()
    session = talk(session_with(writer), 6)
    twin, fork = (
        copy.deepcopy(ContextSession.history.load(text_of(session), counter=WORDS)),
        session.history.fork("other"),
    )
    assert not twin.background.running
    assert not fork.background.running
    writer.may.set()
    settled(session)
    assert (gists(session), gists(twin), gists(fork)) == ([SAID], [], [])


# --- while a model thinks ----------------------------------------------------------


def test_nothing_changes_under_a_model_that_thinks() -> None:
    """Between its request and its answer the view stays; with the answer in, the summary lands."""
    writer = Writer()
    session = session_with(writer)
    session.add_user_turn("Sort the shelves.")
    session.add(Turn("assistant", "Plums first.", parts=(THOUGHT,)))
    talk(session, 5)
    session.add_user_turn("And now?")
    assert session.background.running
    writer.may.set()
    written(session)
    sent = session.request("anthropic").messages
    assert gists(session) == []
    session.add(Turn("assistant", "Now jam.", parts=(THOUGHT,)))
    assert (gists(session), became(session)) == ([SAID], ["landed"])
    assert sent[-1]["content"]


# --- tasks --------------------------------------------------------------------------


async def atalk(session: ContextSession, exchanges: int, first: int = 0) -> None:
    """Let user and assistant speak, awaited."""
    for number in range(first, first + exchanges):
        await session.aadd_user_turn(words(16, f"u{number}x"))
        await session.aadd_assistant_turn(words(16, f"a{number}x"))


def test_where_turns_are_awaited_a_task_writes() -> None:
    """On the loop of the caller, whose clients may belong to it."""
    loops = []

    async def work() -> ContextSession:
        may = asyncio.Event()

        async def summary(turns: object, max_tokens: int) -> str:
            loops.append(asyncio.get_running_loop())
            await may.wait()
            return SAID

        session = session_with(summary)
        await atalk(session, 6)
        await session.aadd_user_turn("Meanwhile.")
        assert session.background.running
        may.set()
        await session.background.settled()
        assert loops == [asyncio.get_running_loop()]
        return session

    session = asyncio.run(work())
    assert (gists(session), became(session), session.window.all_turns()[-1].text) == (
        [SAID],
        ["landed"],
        "Meanwhile.",
    )


ANSWER = Turn("assistant", "Now jam.", parts=(THOUGHT,))


async def soon(turns: object, max_tokens: int) -> str:
    """Summarise by one trip round the loop."""
    await asyncio.sleep(0)
    return SAID


async def never(turns: object, max_tokens: int) -> str:
    """Be a model that does not answer."""
    await asyncio.Event().wait()
    return SAID


async def asked_again(session: ContextSession) -> None:
    """Call a thinking model again, with a finished summary waiting for the answer."""
    await session.aadd_user_turn("Sort the shelves.")
    await session.aadd(Turn("assistant", "Plums first.", parts=(THOUGHT,)))
    await atalk(session, 5)
    await session.aadd_user_turn("And now?")
    await session.background.settled()
    assert session.background.ready is not None


@pytest.mark.parametrize("how", ["cancel", "the loop ends"])
def test_a_task_is_cancelled_cleanly(how: str) -> None:
    """By the session, or with its loop; the next one begins in the next loop."""

    async def work(session: ContextSession) -> None:
        await atalk(session, 6)
        assert session.background.running
        if how == "cancel":
            session.background.cancel()
            for _ in range(9):
                await asyncio.sleep(0)
            assert len(asyncio.all_tasks()) == 1

    session = session_with(never)
    asyncio.run(work(session))
    assert (became(session), session.background.running) == (["cancelled"], False)
    asyncio.run(atalk(session, 8, 6))
    assert len(session.log()) == 28


# --- loops that are closed ----------------------------------------------------------


def stranded(session: ContextSession) -> "asyncio.Task[None]":
    """Have a summary begun on a loop that is closed while a model is asked."""
    loop = asyncio.new_event_loop()
    loop.run_until_complete(atalk(session, 6))
    loop.run_until_complete(asyncio.sleep(0))
    flight = session.background._flight
    assert flight is not None
    assert flight.task is not None
    loop.close()
    return flight.task


@pytest.mark.parametrize("look", ["running", "write", "awrite", "cancel"])
def test_a_task_of_a_closed_loop_is_given_up(look: str) -> None:
    """As soon as anybody looks or writes; it says why, and the next one begins."""
    session = session_with(never)
    task = stranded(session)
    match look:
        case "running":
            assert not session.background.running
        case "write":
            session.add_user_turn("On.")
        case "awrite":
            asyncio.run(session.aadd_user_turn("On."))
        case _:
            session.background.cancel()
    assert became(session) == ["cancelled"]
    assert session.background.outcomes[0].why == "its event loop was closed before it was done"
    begins_again(session)
    closing(task)
    assert became(session) == ["cancelled", "cancelled"]


def begins_again(session: ContextSession) -> None:
    """See that the next summary begins, in a loop of its own; that loop ends, and it with it."""

    async def work() -> None:
        for number in range(3):
            await session.aadd_user_turn(f"Once more {number}.")
        assert session.background.running

    asyncio.run(work())


def closing(task: "asyncio.Task[None]") -> None:
    """End what a closed loop has left waiting, as collecting the garbage does."""
    coroutine: Any = task.get_coro()
    coroutine.close()


# --- landing that is broken off -----------------------------------------------------


class HeldStore(InMemoryStore):
    """Keep sessions in memory; hold, or fail, what is put in from the background."""

    def __init__(self) -> None:
        super().__init__()
        self.arrived, self.may = threading.Event(), threading.Event()
        self.failures: list[BaseException] = []

    def append(
        self, session_id: str, base: int, events: Sequence[Event], *given: Any, **options: Any
    ) -> None:
        """Store it, once it may."""
        if threading.current_thread().name == NAME:
            self.arrived.set()
            assert self.may.wait(120), "nobody let it store"
        if is_summary(events) and self.failures:
            raise self.failures.pop()
        super().append(session_id, base, events, *given, **options)


class AsyncHeldStore(HeldStore):
    """Hold it without blocking."""

    def __init__(self) -> None:
        super().__init__()
        self.arrives, self.goes_on = asyncio.Event(), asyncio.Event()

    async def aload(self, session_id: str, after: int = 0) -> Stored:
        """Return what `load` returns."""
        return self.load(session_id, after)

    async def aappend(
        self, session_id: str, base: int, events: Sequence[Event], *given: Any, **options: Any
    ) -> None:
        """Store it, once it may."""
        if is_summary(events):
            self.arrives.set()
            await self.goes_on.wait()
        self.append(session_id, base, events, *given, **options)


def is_summary(events: Sequence[Event]) -> bool:
    """Tell whether nothing but a summary is stored."""
    return all(isinstance(event, CompressEvent) for event in events)


def test_a_task_that_is_cancelled_while_it_puts_it_in_leaves_it_to_the_next() -> None:
    """If the task that inserts a summary is cancelled, the next turn inserts it."""

    async def work() -> None:
        store = AsyncHeldStore()
        session = session_with(soon, store=store)
        await asked_again(session)
        adding = asyncio.create_task(session.aadd(ANSWER))
        await store.arrives.wait()
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding
        assert (became(session), session.log()[-1].text) == ([], "Now jam.")
        store.goes_on.set()
        await session.aadd_assistant_turn("Then pears.")
        assert (became(session), gists(session)) == (["landed"], [SAID])

    asyncio.run(work())


async def held(session: ContextSession, store: AsyncHeldStore) -> None:
    """Let a task put in a summary, and hold it in the store."""
    await atalk(session, 6)
    await store.arrives.wait()
    session.background.cancel()
    assert session.background.running


@pytest.mark.parametrize("how", ["the loop ends", "the loop is closed"])
def test_a_loop_that_ends_while_its_task_puts_it_in_bars_nobody(how: str) -> None:
    """That one is given up, the next one lands."""
    store = AsyncHeldStore()
    session = session_with(soon, store=store)
    loop = asyncio.new_event_loop()
    if how == "the loop ends":
        asyncio.run(held(session, store))
    else:
        loop.run_until_complete(held(session, store))
    loop.close()
    flight = session.background._flight or session.background._given_up
    assert (session.background.running, session.background.ready, became(session)) == (
        False,
        None,
        ["cancelled"],
    )
    store.may.set()
    session.background._not_before = 0
    session.add_user_turn("On.")
    settled(session)
    assert (became(session), gists(session), len(session.log())) == (
        ["cancelled", "landed"],
        [SAID],
        13,
    )
    assert flight is not None
    assert flight.task is not None
    closing(flight.task)


@pytest.mark.parametrize("meanwhile", ["a turn", "clear"])
def test_what_one_puts_in_another_does_not(meanwhile: str) -> None:
    """A turn added during the insertion comes before it, and clearing discards the summary."""

    async def work() -> ContextSession:
        store = AsyncHeldStore()
        session = session_with(soon, store=store)
        await held(session, store)
        _ = session.add_user_turn("Meanwhile.") if meanwhile == "a turn" else session.clear()
        store.goes_on.set()
        await session.background.settled()
        return session

    session = asyncio.run(work())
    landed = meanwhile == "a turn"
    assert (became(session), gists(session)) == (
        (["landed"], [SAID]) if landed else (["outdated"], [])
    )
    assert len(session.log()) == 12 + landed


# --- what fails besides ------------------------------------------------------------


def test_a_store_that_fails_under_a_task_costs_the_summary_and_no_turn() -> None:
    """If the store fails while a summary is inserted, the summary is lost and no turn is."""

    async def work() -> ContextSession:
        store = AsyncHeldStore()
        store.goes_on.set()
        store.failures = [OSError("the disk is full")]
        session = session_with(soon, store=store)
        await atalk(session, 6)
        await session.background.settled()
        return session

    session = asyncio.run(work())
    assert (became(session), len(session.log())) == (["failed"], 12)
    assert session.background.outcomes[0].why == "OSError: the disk is full"


class BrokenProjector(ContextProjector):
    """Raise where words are to be written."""

    def fulfil(self, *given: object, **named: object) -> Any:
        """Raise."""
        raise ZeroDivisionError("broken")

    async def afulfil(self, *given: object, **named: object) -> Any:
        """Raise."""
        raise ZeroDivisionError("broken")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("by", ["thread", "task"])
def test_a_projector_that_raises_ends_it(by: str) -> None:
    """It is told, and raised where nobody could catch it: that is a defect of the projector's."""
    session = session_with(never, projector=BrokenProjector())
    if by == "thread":
        talk(session, 6)
        settled(session)
        flight = session.background._given_up
        assert flight is not None
        assert flight.thread is not None
        flight.thread.join(120)
    else:

        async def work() -> None:
            await atalk(session, 6)
            await session.background.settled()
            flight = session.background._given_up
            assert flight is not None
            assert flight.task is not None
            with pytest.raises(ZeroDivisionError):
                await flight.task

        asyncio.run(work())
    assert (became(session), len(session.log())) == (["failed"], 12)
    assert session.background.outcomes[0].why == "ZeroDivisionError: broken"


def test_where_no_thread_can_start_the_turn_is_in_and_the_summary_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is told why; once there is room for a thread, the next one is begun."""

    class Unstartable(threading.Thread):
        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    writer = Writer()
    session = session_with(writer)
    with monkeypatch.context() as patched:
        patched.setattr(background, "Thread", Unstartable)
        talk(session, 6)
    assert (session.background.running, became(session), len(session.log())) == (
        False,
        ["failed"],
        12,
    )
    assert session.background.outcomes[0].why == "RuntimeError: can't start new thread"
    writer.may.set()
    talk(session, 1, 6)
    settled(session)
    assert (became(session), gists(session)) == (["failed", "landed"], [SAID])


def test_many_summaries_while_turns_come_go_and_come_back() -> None:
    """Every good one lands, none that is broken does; the full run is `just bench background`."""
    run = live(40, 7, lambda _: None)
    assert (run.wrong, run.most, run.compactions) == ([], 1, 40)
    assert run.outcomes["good, landed"] > 8
