"""One writer at a time: threads, tasks, slow and failing summarisers, cancellation."""

import asyncio
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from threading import Barrier, Thread
from typing import Any

import pytest

from polycontext.polynomial import (
    ContextSession,
    ContextState,
)
from polycontext.pressure import AdaptiveThreshold, ConflictError, ContextProjector
from polycontext.window import TokenCounter, Turn
from tests.polynomial.conversations import (
    WORDS,
    add_all,
    chat,
    recount,
    whole,
    words,
)


class SlowSummariser:
    """Take its time, and say who is waiting; raise `failure` if there is one."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure = failure
        self.started = asyncio.Event()
        self.go_on = asyncio.Event()
        self.calls = 0

    async def asummarise(
        self,
        turns: Sequence[Turn],
        max_tokens: int,
        *,
        counter: TokenCounter,
        query: str | None = None,
    ) -> str:
        """Return a short text when told to."""
        self.calls += 1
        self.started.set()
        await self.go_on.wait()
        if self.failure is not None:
            raise self.failure
        return f"{len(turns)} turns were said"


def session_with(summariser: Any, max_tokens: int = 1000, **options: Any) -> ContextSession:
    """Return a session that asks `summariser`."""
    return ContextSession(
        max_tokens,
        counter=WORDS,
        threshold=AdaptiveThreshold(),
        projector=ContextProjector(summariser),
        **options,
    )


def pressured(summariser: Any) -> ContextSession:
    """Return a session that the next turn will compress."""
    session = add_all(session_with(summariser), chat(15, 45))
    assert session.state is ContextState.PRESSURED
    return session


@contextmanager
def impatient_threads() -> Generator[None]:
    """Let threads take turns far more often than they do by themselves."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def together(acts: Sequence[Callable[[], None]]) -> None:
    """Run all `acts` at once, each in a thread of its own."""
    barrier = Barrier(len(acts))

    def run(act: Callable[[], None]) -> None:
        barrier.wait()
        act()

    threads = [Thread(target=run, args=(act,)) for act in acts]
    with impatient_threads():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


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

    together([write] * 8)
    assert (outcomes.count("won"), outcomes.count("lost"), session.history.revision) == (1, 7, 2)


@pytest.mark.parametrize("write", ["acompress", "aadd while pressured", "aadd over the budget"])
def test_a_cancelled_summary_changes_nothing(write: str) -> None:
    """Cancelling during a summary leaves window, state, ledger, log and journal unchanged."""

    async def scene() -> None:
        summariser = SlowSummariser()
        session = (
            add_all(session_with(summariser), chat(13, 45))
            if "over" in write
            else pressured(summariser)
        )
        before = whole(session)
        work = (
            session.acompress()
            if write == "acompress"
            else session.aadd_user_turn(words(400, "big"))
        )
        task = asyncio.create_task(work)
        await summariser.started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert whole(session) == before
        summariser.go_on.set()
        await session.aadd_user_turn(words(400, "big"))
        assert len(session.log()) == len(before[3]) + 1  # type: ignore[arg-type]

    asyncio.run(scene())


def test_a_summary_for_a_window_that_has_changed_is_made_anew() -> None:
    """A write during a summary wins, and the compression is decided again for the new window."""

    async def scene() -> None:
        summariser = SlowSummariser()
        session = add_all(session_with(summariser), chat(13, 45))
        task = asyncio.create_task(session.acompress(0.3))
        await summariser.started.wait()
        session.add_user_turn("I could not wait")
        revision = session.history.revision
        summariser.go_on.set()
        output = await task
        assert session.history.revision == revision + 1
        assert output.window.extract() == session.log()[-1]
        assert session.log()[-1].content == "I could not wait"

    asyncio.run(scene())


def test_a_failing_summariser_costs_its_own_gist_only() -> None:
    """If the summariser fails the extractive one steps in, and the report says what happened."""

    class Failing:
        def summarise(
            self,
            turns: Sequence[Turn],
            max_tokens: int,
            *,
            counter: TokenCounter,
            query: str | None = None,
        ) -> str:
            raise TimeoutError("the model did not answer")

    session = pressured(Failing())
    output = session.compress()
    assert output.compression is not None
    assert all(
        "TimeoutError: the model did not answer" in each.reason
        for each in output.compression.rejections
    )
    assert output.compression.rejections
    said = {word for turn in session.log() for word in turn.text.split()}
    assert all(said & set(turn.text.split()) for turn in session.window.all_turns() if turn.is_gist)
    assert recount(session.messages(), WORDS) <= 1000
