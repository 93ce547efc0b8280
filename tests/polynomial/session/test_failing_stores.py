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
from tests.polynomial.conversations import words
from tests.polynomial.session.faulty import FAULTS, FaultyAsyncStore, FaultyStore, Living, seeded

CHUNK, LENGTH = 100, 10
chunks = pytest.mark.parametrize("chunk", seeds(1, 5, 20))

TRAVELS = ("rewind", "edit", "regenerate")


@frozen
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
        self._marks = (f"mark{number}" for number in count())

    def next(self) -> Call:
        """Return the next call; the companion may change before it."""
        if self.random.random() < 0.3:
            self.living.notes.note()
        open_calls = self.living.session.window.open_calls
        if open_calls and self.random.random() < 0.8:
            mark, text = self._text()
            return Call("add_tool_turn", (text,), {"tool_call_id": open_calls[0]}, mark)
        return self.random.choice(_MAKERS)(self)

    def _text(self) -> tuple[str, str]:
        mark, random = next(self._marks), self.random
        # Now and then a turn that is most of the window, or more than fits.
        size = random.choice([3, 10, 30, 60, 120, 400]) if random.random() < 0.5 else 20
        return mark, f"{mark} {words(random.randrange(1, size + 1))}"

    def added(self) -> Call:
        """Add what user, assistant or system say."""
        mark, text = self._text()
        name = self.random.choice(
            [
                "add_user_turn",
                "add_user_turn",
                "add_assistant_turn",
                "add_assistant_turn",
                "add_system",
            ]
        )
        return Call(name, (text,), {}, mark)

    def calling(self) -> Call:
        """Add an assistant turn that calls a tool or two."""
        mark, text = self._text()
        calls = [
            {"id": f"{mark}/{number}", "name": "look", "input": {}}
            for number in range(self.random.randrange(1, 3))
        ]
        return Call("add_assistant_turn", (text, calls), {}, mark)

    def answering_nobody(self) -> Call:
        """Add the result of no call."""
        return Call("add_tool_turn", (self._text()[1],), {"tool_call_id": "nobody's"})

    def extending(self) -> Call:
        """Add several messages at once; the last may be out of order."""
        mark, text = self._text()
        last = (
            {"role": "tool", "tool_call_id": "x", "content": "?"}
            if self.random.random() < 0.1
            else {"role": "assistant", "content": "so"}
        )
        messages = [
            {"role": "user", "content": text},
            {"role": "assistant", "content": self._text()[1]},
            {"role": "user", "content": "on"},
        ]
        return Call("extend", ([*messages, last],), {}, mark)

    def attaching(self) -> Call:
        """Attach an item."""
        mark, text = self._text()
        return Call(
            "attach",
            (ContextItem(text, "text"),),
            {"source": self.random.choice(["a.txt", "b.txt", None])},
            mark,
        )

    def sending(self) -> Call:
        """Attach two items and say something of them."""
        mark, text = self._text()
        items = [(ContextItem(self._text()[1], "text"), source) for source in ("a.txt", "c.txt")]
        return Call("send_message", (text, items), {}, mark)

    def compressing(self) -> Call:
        """Compress, to a target or by the threshold."""
        return Call(
            "compress",
            (self.random.choice([None, 0.0, 0.3, 0.6]),),
            {"query": self.random.choice([None, "what next?"])},
        )

    def clearing(self) -> Call:
        """Forget the view."""
        return Call("clear")

    def recalling(self) -> Call:
        """Recall some turns, or what a gist stands for."""
        return Call("recall", ([self._some_id(), self._some_id()],))

    def promoting(self) -> Call:
        """Raise a class, if it is higher."""
        return Call(
            "promote",
            (self._some_id(), self.random.choice([*ResourceClass])),
            {"rationale": "it matters"},
        )

    def rewinding(self) -> Call:
        """Rewind to a random revision, sometimes an abandoned one, which undoes another rewind."""
        revision = self.living.session.history.revision
        far = 0 if self.random.random() < 0.1 else revision - 4
        return Call("rewind", (self.random.randrange(max(0, far), revision + 1),))

    def editing(self) -> Call:
        """Say something else in the place of a turn."""
        mark, text = self._text()
        known = [turn.resource_id for turn in self.living.session.log()[-4:]]
        return Call("edit", (self.random.choice([*known, "unknown"]), text), {}, mark)

    def regenerating(self) -> Call:
        """Go back to what the user said last."""
        return Call("regenerate")

    def saving(self) -> Call:
        """Save what the companion is now."""
        return Call("save")

    def _some_id(self) -> str:
        known: list[str] = [*self.living.session.window.linearity, "unknown"]
        return self.random.choice(known)


_MAKERS: list[Callable[[Caller], Call]] = [
    *(6 * [Caller.added]),
    *(
        2
        * [
            Caller.calling,
            Caller.extending,
            Caller.sending,
            Caller.attaching,
            Caller.compressing,
            Caller.recalling,
            Caller.promoting,
        ]
    ),
    Caller.answering_nobody,
    Caller.clearing,
    Caller.rewinding,
    Caller.editing,
    Caller.regenerating,
    Caller.saving,
]


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


@chunks
def test_a_failing_store_changes_nothing(chunk: int) -> None:
    """A failing store changes nothing in memory, and a lost write is seen after the next one."""
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK, 2):
        living = Living(FaultyStore(), seeded(seed), watched=seed % 4 == 0)
        caller = Caller(living)
        for _ in range(LENGTH):
            attempt = Attempt(living, caller.next())
            spoil(living)
            try:
                attempt.call.on(living.session)
            except (OSError, PolycontextError):
                attempt.failed()
            else:
                attempt.succeeded()
        healthy_end(living)


@chunks
def test_a_failing_store_changes_nothing_for_tasks(chunk: int) -> None:
    """The same holds for the async twins, over a store that yields before and after each access."""

    async def life(seed: int) -> None:
        living = Living(FaultyAsyncStore(), seeded(seed), watched=seed % 4 == 1)
        caller = Caller(living)
        for _ in range(LENGTH):
            attempt = Attempt(living, caller.next())
            spoil(living)
            try:
                await attempt.call.twin_on(living.session)
            except (OSError, PolycontextError):
                attempt.failed()
            else:
                attempt.succeeded()
        healthy_end(living)

    async def lives() -> None:
        for seed in range(chunk * CHUNK + 1, (chunk + 1) * CHUNK, 2):
            await life(seed)

    asyncio.run(lives())


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


@pytest.mark.parametrize("chunk", seeds(1, 3, 10))
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
