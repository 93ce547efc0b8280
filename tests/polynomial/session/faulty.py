"""Stores that fail, and sessions whose every part can be compared by value."""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random
from typing import Any, Literal

from attrs import evolve

from polycontext.polynomial import (
    ContextSession,
    ContextState,
    Conversation,
    Event,
    InputKind,
    replay,
)
from polycontext.polynomial.journal.events import (
    InputEvent,
    PatchEvent,
    RewindEvent,
    TurnEvent,
    goes_behind,
    standing,
)
from polycontext.polynomial.stores import InMemoryStore, Stored
from polycontext.pressure import ConflictError, ContextProjector
from polycontext.window import ContextWindow, TokenCounter, Turn
from tests.polynomial.conversations import WORDS

Fault = Literal["before", "after", "conflict", "middle"] | None
FAULTS: Sequence[Fault] = ("before", "after", "conflict", "middle")


def seeded(seed: int) -> Random:
    """Return chance that is the same in every run."""
    return Random(seed)  # noqa: S311 - nothing here is a secret


class FaultyStore(InMemoryStore):
    """A store in memory whose next append fails before, after or during it, or comes late."""

    def __init__(self) -> None:
        super().__init__()
        self.fault: Fault = None
        self.appends = 0

    def append(
        self, session_id: str, base: int, events: Sequence[Event], *given: Any, **options: Any
    ) -> None:
        """Store, or fail once in the way of `fault`."""
        fault, self.fault = self.fault, None
        if fault == "before":
            raise OSError("the disk is full")
        if fault == "conflict":
            raise ConflictError("session revision", base, base)
        if fault == "middle":
            taken = list(events[: len(events) // 2])
            raise OSError(
                f"the connection broke after {len(taken)} of {len(events)} events; all were "
                "taken back"
            )
        super().append(session_id, base, events, *given, **options)
        self.appends += 1
        if fault == "after":
            raise OSError("the answer is lost")


class FaultyAsyncStore(FaultyStore):
    """Fail in the same ways, and let other tasks run before and behind every access."""

    async def aload(self, session_id: str, after: int = 0) -> Stored:
        """Return what `load` returns, after a while."""
        await asyncio.sleep(0)
        stored = self.load(session_id, after)
        await asyncio.sleep(0)
        return stored

    async def aappend(self, *given: Any, **options: Any) -> None:
        """Store what `append` stores, after a while."""
        await asyncio.sleep(0)
        self.append(*given, **options)
        await asyncio.sleep(0)


class PatientSummariser:
    """Summarise in a few words; without blocking, with a pause before and behind."""

    def summarise(
        self,
        turns: Sequence[Turn],
        max_tokens: int,
        *,
        counter: TokenCounter,
        query: str | None = None,
    ) -> str:
        """Return how much was said."""
        return f"{len(turns)} turns were said"

    async def asummarise(
        self,
        turns: Sequence[Turn],
        max_tokens: int,
        *,
        counter: TokenCounter,
        query: str | None = None,
    ) -> str:
        """Return the same, after a while."""
        await asyncio.sleep(0)
        text = self.summarise(turns, max_tokens, counter=counter, query=query)
        await asyncio.sleep(0)
        return text


class Least:
    """Keep sessions by the two methods that a session needs."""

    def __init__(self) -> None:
        self._kept = InMemoryStore()

    def load(self, session_id: str, after: int = 0) -> Stored:
        """Return what is kept."""
        return self._kept.load(session_id, after)

    def append(self, *given: Any, **options: Any) -> None:
        """Keep it."""
        self._kept.append(*given, **options)


class Notes:
    """Stand for what lives above a session: something else after every `note`."""

    def __init__(self) -> None:
        self.seen = 0

    def note(self) -> None:
        """Change."""
        self.seen += 1

    def to_data(self) -> dict[str, Any]:
        """Return what is noted."""
        return {"seen": self.seen, "list": list(range(self.seen))}


class Counting:
    """A listener that records each event of a live machine, with its state and window."""

    def __init__(self) -> None:
        self.heard: list[tuple[InputKind, ContextState]] = []
        self.windows: list[ContextWindow] = []

    def after_transition(self, event: str, model: Any) -> None:
        """Write an event down."""
        self.heard.append((InputKind(str(event)), model.state))
        self.windows.append(model.window)


class Ticking:
    """Be a clock that is a second later whenever it is asked."""

    def __init__(self) -> None:
        self._seconds = count()

    def __call__(self) -> datetime:
        """Return the next second."""
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=next(self._seconds))


class Living:
    """A session over a faulty store, compared with a replay of the store's journal."""

    def __init__(self, store: FaultyStore, random: Random, *, watched: bool = True) -> None:
        self.store, self.random = store, random
        self.notes, self.listener = Notes(), Counting()
        budget = random.choice([150, 300, 900])
        self.session = ContextSession(
            budget,
            auto=random.random() < 0.8,
            counter=WORDS,
            cooldown=random.randrange(3),
            projector=ContextProjector(PatientSummariser()),
            clock=Ticking(),
            # Making a live machine costs more than all that follows: every second session has one.
            listeners=[self.listener] if watched else [],
            store=store,
            session_id="s",
        )
        self.watched = watched
        self.session.documents.accompany("notes", self.notes)
        self.truth = self.empty = Conversation(ContextWindow(budget, counter=WORDS))

    def known(self) -> tuple[object, ...]:
        """Return everything that a reader of the session sees, by value and on its own."""
        session = self.session
        machine = (
            (session.machine.context_state, session.machine.window.all_turns())
            if self.watched
            else None
        )
        return (
            _by_value(session.conversation),
            machine,
            session.history.events(),
            tuple(self.listener.heard),
        )

    def check_at(self, stored: Stored) -> None:
        """Check that session, machine and listener match a strict replay of the journal."""
        # From the beginning where it goes back behind what is known.
        known = (
            self.empty
            if goes_behind(stored.events[self.truth.revision :], self.truth.revision)
            else self.truth
        )
        self.truth = evolve(
            replay(stored.events[known.revision :], known), companions=stored.companions
        )
        session = self.session
        assert _by_value(session.conversation) == _by_value(self.truth)
        assert session.conversation == self.truth
        assert session.history.events() == stored.events
        assert session.log() == tuple(
            event.turn for _, event in standing(stored.events) if isinstance(event, TurnEvent)
        )
        if self.watched:
            assert (session.machine.context_state, session.machine.window) == (
                session.state,
                session.window,
            )
            assert self.listener.heard == heard_of(stored.events)


def heard_of(events: Iterable[Event]) -> list[tuple[str, str]]:
    """Return what a listener hears of a journal: every event but the patches of documents."""
    return [(_kind_of(event), event.state) for event in events if not isinstance(event, PatchEvent)]


def _kind_of(event: Event) -> str:
    if isinstance(event, InputEvent):
        return event.given.kind
    return InputKind.REWIND if isinstance(event, RewindEvent) else InputKind.FORGET


def _by_value(conversation: Conversation) -> tuple[object, ...]:
    window = conversation.window
    return (
        conversation.state,
        conversation.revision,
        (
            window.position,
            window.total_tokens,
            window.serial,
            window.turns_since_compression,
            window.open_calls,
        ),
        window.all_turns(),
        tuple(window.linearity.items()),
        tuple(conversation.log),
        repr(conversation.companions),
    )
