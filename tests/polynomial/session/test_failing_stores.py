"""Failing stores, lost answers and cancelled tasks.

A session is either unchanged, or what its store has.
"""

import asyncio
import json
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from attrs import field, frozen

from polycontext.base import PolycontextError
from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextSession
from polycontext.polynomial.journal.events import TurnEvent
from polycontext.window import ContextItem
from tests.house import seeds
from tests.polynomial.conversations import assistant, result, user, words
from tests.polynomial.session.faulty import FAULTS, FaultyAsyncStore, FaultyStore, Living, seeded

CHUNK, LENGTH = 100, 10
TRAVELS = ("rewind", "edit", "regenerate")
SPOKEN = (
    "add_user_turn",
    "add_user_turn",
    "add_assistant_turn",
    "add_assistant_turn",
    "add_system",
)


@frozen(eq=False)
class Call:
    """One call of a session's method.

    `mark` is a word that the log holds once if the call has happened, or None if it adds nothing.
    """

    name: str
    args: tuple[Any, ...] = ()
    options: dict[str, Any] = field(factory=dict)
    mark: str | None = None

    def on(self, session: ContextSession) -> Any:
        """Call the method."""
        return getattr(self._subject(session), self.name)(*self.args, **self.options)

    def twin_on(self, session: ContextSession) -> Any:
        """Call its twin for tasks."""
        return getattr(self._subject(session), f"a{self.name}")(*self.args, **self.options)

    def _subject(self, session: ContextSession) -> Any:
        return (
            session.documents
            if self.name == "save"
            else session.history
            if self.name in TRAVELS
            else session
        )


class Caller:
    """Think of one call after the other, most of them legal."""

    def __init__(self, living: Living) -> None:
        self.living, self.random = living, living.random
        self._numbers = count()

    def next(self) -> Call:
        """Return the next call; the companion may change before it."""
        random, session = self.random, self.living.session
        if random.random() < 0.3:
            self.living.notes.note()
        mark, text = self._text()
        open_calls = session.window.open_calls
        if open_calls and random.random() < 0.8:
            return Call("add_tool_turn", (text,), {"tool_call_id": open_calls[0]}, mark)
        known: list[str] = [*session.window.linearity, "unknown"]
        last = [turn.resource_id for turn in session.log()[-4:]]
        messages = [
            user(text),
            assistant(self._text()[1]),
            user("on"),
            result("x", "?") if random.random() < 0.1 else assistant("so"),
        ]
        calls = [{"id": f"{mark}/{n}", "name": "look", "input": {}} for n in range(2)]
        items = [(ContextItem(self._text()[1], "text"), source) for source in ("a.txt", "c.txt")]
        source = random.choice(["a.txt", "b.txt", None])
        revision = session.history.revision
        first = 0 if random.random() < 0.1 else max(0, revision - 4)
        drawn = {
            Call(random.choice(SPOKEN), (text,), {}, mark): 6,
            Call("add_assistant_turn", (text, calls[random.randrange(2) :]), {}, mark): 2,
            Call("extend", (messages,), {}, mark): 2,
            Call("send_message", (text, items), {}, mark): 2,
            Call("attach", (ContextItem(text, "text"),), {"source": source}, mark): 2,
            Call(
                "compress",
                (random.choice([None, 0.0, 0.3, 0.6]),),
                {"query": random.choice([None, "what next?"])},
            ): 2,
            Call("recall", (random.choices(known, k=2),)): 2,
            Call(
                "promote",
                (random.choice(known), random.choice([*ResourceClass])),
                {"rationale": "it matters"},
            ): 2,
            Call("add_tool_turn", (text,), {"tool_call_id": "nobody's"}): 1,
            Call("clear"): 1,
            Call("rewind", (random.randrange(first, revision + 1),)): 1,
            Call("edit", (random.choice([*last, "unknown"]), text), {}, mark): 1,
            Call("regenerate"): 1,
            Call("save"): 1,
        }
        return random.choices([*drawn], [*drawn.values()])[0]

    def _text(self) -> tuple[str, str]:
        mark, random = f"mark{next(self._numbers)}", self.random
        # Now and then a turn that is most of the window, or more than fits.
        size = random.choice([3, 10, 30, 60, 120, 400]) if random.random() < 0.5 else 20
        return mark, f"{mark} {words(random.randrange(1, size + 1))}"


class Attempt:
    """Check one call: what was known before it, and what must be so behind it."""

    def __init__(self, living: Living, call: Call) -> None:
        self.living, self.call = living, call
        self.before = living.known()
        self.had = living.store.load("s")
        self.appends = living.store.appends

    def succeeded(self) -> None:
        """Expect the session to be where its store is now, with what was added there once."""
        if self.living.store.appends == self.appends:
            self._check_unchanged()
        else:
            self.living.check_at(self.living.store.load("s"))
            assert self._times() == (self.call.mark is not None)

    def failed(self) -> None:
        """Check that nothing changed, and that a lost answer stored its turn at most once."""
        self._check_unchanged()
        assert self.living.store.appends - self.appends <= 1
        assert self._times() <= 1

    def _check_unchanged(self) -> None:
        # A session whose answer was lost before may have caught up with what its store had.
        if self.living.known() != self.before:
            self.living.check_at(self.had)

    def _times(self) -> int:
        said = [
            event.turn.text
            for event in self.living.store.load("s").events
            if isinstance(event, TurnEvent)
        ]
        return sum(self.call.mark in text.split() for text in said) if self.call.mark else 0


def healthy_end(living: Living) -> None:
    """Expect that the next write over a healthy store catches up with all of it."""
    living.store.fault = None
    living.notes.note()
    living.session.documents.save()
    living.check_at(living.store.load("s"))
    assert json.loads(living.session.conversation.companions["notes"]) == living.notes.to_data()


def spoil(living: Living) -> None:
    """Let every third append or so fail."""
    living.store.fault = living.random.choice(FAULTS) if living.random.random() < 0.35 else None


def blocking(call: Call, session: ContextSession) -> None:
    """Call the method."""
    call.on(session)


def as_task(call: Call, session: ContextSession) -> None:
    """Call its twin, and await it."""
    asyncio.run(call.twin_on(session))


@pytest.mark.parametrize("chunk", seeds(1, 2, 20))
@pytest.mark.parametrize(
    ("first", "store", "run"), [(0, FaultyStore, blocking), (1, FaultyAsyncStore, as_task)]
)
def test_a_failing_store_changes_nothing(
    chunk: int,
    first: int,
    store: type[FaultyStore],
    run: Callable[[Call, ContextSession], None],
) -> None:
    """A failing store changes nothing in memory, and a lost write is seen after the next one.

    The same holds for the async twins, over a store that yields before and after each access.
    """
    for seed in range(chunk * CHUNK + first, (chunk + 1) * CHUNK, 2):
        living = Living(store(), seeded(seed), watched=seed // 2 % 2 == 0)
        caller = Caller(living)
        for _ in range(LENGTH):
            attempt = Attempt(living, caller.next())
            spoil(living)
            try:
                run(attempt.call, living.session)
            except (OSError, PolycontextError):
                attempt.failed()
            else:
                attempt.succeeded()
        healthy_end(living)


async def was_cancelled(living: Living, call: Call, pauses: int) -> bool:
    """Cancel `call` after a number of loop cycles, and return whether it was still running."""
    attempt = Attempt(living, call)
    task = asyncio.ensure_future(call.twin_on(living.session))
    for _ in range(pauses):
        await asyncio.sleep(0)
    was_running = not task.done()
    task.cancel()
    try:
        await task
    except (asyncio.CancelledError, PolycontextError):
        attempt.failed()
    else:
        attempt.succeeded()
    return was_running


@pytest.mark.parametrize("chunk", seeds(1, 2, 10))
def test_cancelling_at_any_await_changes_nothing(chunk: int) -> None:
    """Cancelling a call at any await leaves the session as it was or as the store has it."""

    async def lives() -> None:
        for seed in range(chunk * CHUNK // 5, (chunk + 1) * CHUNK // 5):
            living = Living(FaultyAsyncStore(), seeded(-seed - 1))
            caller = Caller(living)
            for _ in range(4):
                pauses = 0
                while await was_cancelled(living, caller.next(), pauses):
                    pauses += 1
            healthy_end(living)

    asyncio.run(lives())
