"""Long work runs in threads and does not block the event loop.

The tests count threads and do not measure time.
"""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from polycontext.linearity import ResourceClass, default_classifier
from polycontext.linearity.classification import constraints, model
from polycontext.polynomial import ContextSession, Event
from polycontext.polynomial.journal import snapshots
from polycontext.polynomial.stores import InMemoryStore
from polycontext.pressure import ContextProjector, FixedThreshold
from polycontext.window import EstimatingCounter, TiktokenCounter
from polycontext.window.tokens import tokenizer
from tests.polynomial.conversations import words

TEXT = words(300, "plum")
assert len(TEXT) > 2_000

FRAME = 100


class Watched:
    """Remember in which threads work is done."""

    def __init__(self) -> None:
        self.threads: dict[str, set[int]] = {}

    def saw(self, what: str) -> None:
        """Note who does it."""
        self.threads.setdefault(what, set()).add(threading.get_ident())


class Counter(EstimatingCounter):
    """Count, and say who counts what is longer than a frame."""

    watched = Watched()

    def count(self, text: str) -> int:
        """Return an estimate."""
        if len(text) > FRAME:
            self.watched.saw("counted")
        return super().count(text)


class Store(InMemoryStore):
    """Say who stores."""

    def __init__(self, watched: Watched) -> None:
        super().__init__()
        self.watched = watched

    def append(
        self, session_id: str, base: int, events: Sequence[Event], *args: Any, **options: Any
    ) -> None:
        """Store it."""
        self.watched.saw("stored")
        super().append(session_id, base, events, *args, **options)


class Projector(ContextProjector):
    """Say who plans."""

    def plan_between(self, *args: Any, **options: Any) -> Any:
        """Return the plan."""
        Counter.watched.saw("planned")
        return super().plan_between(*args, **options)


def classifier_of(watched: Watched) -> Any:
    """Return a classifier that says who classifies."""

    def classified(role: str, content: str, metadata: Any) -> ResourceClass:
        watched.saw("classified")
        return default_classifier(role, content, metadata)

    return classified


WORK = ("counted", "classified", "planned", "stored")


def test_a_turn_of_2_kb_is_counted_classified_planned_and_stored_in_threads() -> None:
    """A 2 KB turn is counted, classified, planned and stored in threads, compressed or not."""
    watched = Counter.watched = Watched()

    async def lived() -> int:
        session = ContextSession(
            2_000,
            counter=Counter(),
            classifier=classifier_of(watched),
            projector=Projector(),
            threshold=FixedThreshold(0.7, 0.3),
            store=Store(watched),
        )
        for _ in range(6):
            await session.aadd_user_turn(TEXT)
            await session.aadd_assistant_turn(TEXT)
        await session.aextend([{"role": "user", "content": TEXT}])
        await session.acompress()
        await session.history.aregenerate()
        await session.aadd_assistant_turn(TEXT)
        assert any(turn.is_gist for turn in session.window.all_turns())
        return threading.get_ident()

    loop = asyncio.run(lived())
    assert {what for what in WORK if watched.threads.get(what)} == set(WORK)
    assert [what for what in WORK if loop in watched.threads[what]] == []


def test_a_snapshot_is_made_in_a_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It grows with the conversation."""
    watched, made = Watched(), snapshots.snapshot_of

    def seen(*args: Any) -> Any:
        watched.saw("made")
        return made(*args)

    monkeypatch.setattr(snapshots, "snapshot_of", seen)
    monkeypatch.setattr(snapshots, "due", lambda *_: True)

    async def lived() -> int:
        async with await ContextSession.aopen(tmp_path / "s.db", max_tokens=8_000) as session:
            await session.aadd_user_turn(TEXT)
        return threading.get_ident()

    loop = asyncio.run(lived())
    assert watched.threads["made"]
    assert loop not in watched.threads["made"]


@pytest.mark.parametrize("opened", ["made", "opened"])
def test_vocabulary_and_phrases_are_loaded_off_the_loop_when_a_session_is_made(
    opened: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any turn comes, and by no turn that comes."""
    watched, loads, reads = Watched(), tokenizer.load_encoding, model.own_model
    loaded = threading.Event()

    def seen(*args: Any, **options: Any) -> Any:
        watched.saw("vocabulary")
        loaded.set()
        return loads(*args, **options)

    def read() -> Any:
        watched.saw("phrases")
        return reads()

    monkeypatch.setattr(tokenizer, "load_encoding", seen)
    monkeypatch.setattr("polycontext.window.default_counter", TiktokenCounter)
    monkeypatch.setattr(constraints, "own_model", read)
    constraints._find_cached.cache_clear()
    constraints._read.cache_clear()

    async def lived() -> int:
        session = (
            ContextSession(max_tokens=8_000)
            if opened == "made"
            else await ContextSession.aopen(tmp_path / "s.db", max_tokens=8_000)
        )
        assert await asyncio.to_thread(loaded.wait, 30)
        session.close()
        return threading.get_ident()

    loop = asyncio.run(lived())
    assert set(watched.threads) == {"vocabulary", "phrases"}
    assert loop not in watched.threads["vocabulary"] | watched.threads["phrases"]


def test_without_a_loop_nothing_is_loaded_before_it_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A program that only reads a session does not pay for it."""
    watched = Watched()
    monkeypatch.setattr(tokenizer, "load_encoding", lambda *_, **__: watched.saw("vocabulary"))
    monkeypatch.setattr("polycontext.window.default_counter", TiktokenCounter)
    assert ContextSession(max_tokens=8_000).state == "EMPTY"
    assert watched.threads == {}
