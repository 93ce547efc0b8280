"""A snapshot equals the replay, wherever it was made, and a damaged one only costs time."""

import pickle
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from zlib import compress, decompress

import orjson
import pytest
from attrs import evolve

from polycontext.base import Column, InvalidDataError, PolycontextError
from polycontext.linearity import LinearityMap, ResourceClass
from polycontext.polynomial import Conversation, replay
from polycontext.polynomial.journal.events import TurnEvent
from polycontext.polynomial.journal.log import StoredTurns
from polycontext.polynomial.journal.snapshots import EVERY, due, restored, snapshot_of
from polycontext.polynomial.stores import Opened, Stored
from polycontext.window import ContextWindow, Turn
from tests.house import seeds
from tests.polynomial.conversations import WORDS
from tests.polynomial.session.faulty import FaultyStore, Living, seeded
from tests.polynomial.session.test_failing_stores import Caller


class Snapped:
    """Live a session, take snapshots on the way, and open it by them."""

    def __init__(self, seed: int, steps: int = 60, *, goes_back: bool = True) -> None:
        random = seeded(seed)
        self.living = Living(FaultyStore(), random, watched=False)
        caller = Caller(self.living)
        self.empty = evolve(self.living.truth)
        self.pieces: list[tuple[int, bytes]] = []
        self.head, last = b"", self.empty
        for _ in range(steps):
            call = caller.next()
            if goes_back or call.name not in ("rewind", "edit", "regenerate"):
                with suppress(PolycontextError):
                    call.on(self.living.session)
            now = self.living.session.conversation
            goes_on = now.has_passed(last.revision)
            if now.revision > last.revision and (not goes_on or random.random() < 0.3):
                if not goes_on:
                    last = self.empty
                    self.pieces.clear()
                snapshot = snapshot_of(last, now)
                assert snapshot.base == last.revision
                self.pieces.append((now.revision, snapshot.piece))
                self.head, last = snapshot.head, now
        self.events = self.living.session.history.events()
        self.conversation = self.living.session.conversation

    def opened(self) -> Opened:
        """Return the session as a store would have it."""
        since = self.pieces[-1][0]
        return Opened(self.pieces, self.head, Stored(self.events[since:], {}, since), self.turns)

    def turns(self, first: int, last: int) -> tuple[Turn, ...]:
        """Return the turns that came with some events."""
        return tuple(
            event.turn for event in self.events[first - 1 : last] if isinstance(event, TurnEvent)
        )


@pytest.mark.parametrize("seed", seeds(4, 25, 80))
def test_a_snapshot_is_what_replaying_gives(seed: int) -> None:
    """A snapshot restores state, view, ledger, log, evictions and epoch, and continues alike."""
    snapped = Snapped(seed)
    if not snapped.pieces:
        pytest.skip("no snapshot was taken")
    since = snapped.pieces[-1][0]
    there, wanted = (
        restored(snapped.opened(), snapped.empty),
        replay(snapped.events[:since], snapped.empty),
    )
    assert there is not None
    assert there == wanted
    assert list(there.past.batches) == list(wanted.past.batches)
    assert there.window.facts == wanted.window.facts
    assert there.window.open_calls == wanted.window.open_calls
    assert there.window.linearity.stats() == wanted.window.linearity.stats()
    assert [turn.sources for turn in there.window.all_turns()] == [
        turn.sources for turn in wanted.window.all_turns()
    ]
    for turn in wanted.log:
        assert there.log.place(turn.resource_id) == wanted.log.place(turn.resource_id)
    later = replay(snapped.events[since:], there)
    assert later == evolve(snapped.conversation, companions={})
    snapshot = snapshot_of(there, later)
    pieces = (
        [*snapped.pieces, (later.revision, snapshot.piece)]
        if later.revision > since
        else snapped.pieces
    )
    assert (
        restored(evolve(snapped.opened(), pieces=pieces, head=snapshot.head), snapped.empty)
        == later
    )
    assert pickle.loads(pickle.dumps(later)) == later  # noqa: S301 - made a moment ago


def test_no_turn_is_read_before_it_is_looked_at() -> None:
    """Opening reads what stands in the view, and no more of the log than the part it stands in."""
    snapped = Snapped(3, steps=200, goes_back=False)
    reads: list[tuple[int, int]] = []

    def turns(first: int, last: int) -> tuple[Turn, ...]:
        reads.append((first, last))
        return snapped.turns(first, last)

    there = restored(evolve(snapped.opened(), turns=turns), snapped.empty)
    assert there is not None
    before = len(reads)
    assert before < len(snapped.pieces) / 2
    assert there.log[0] is there.log[0]
    assert list(there.log) == list(snapped.turns(1, snapped.pieces[-1][0]))
    assert len(reads) == len(set(reads)), "a part is read once"


def headed(head: bytes, **other: Any) -> bytes:
    """Return a head that says something else."""
    return compress(orjson.dumps({**orjson.loads(decompress(head)), **other}))


def pieced(pieces: Sequence[tuple[int, bytes]], **other: Any) -> list[tuple[int, bytes]]:
    """Return pieces that say something else."""
    return [
        (at, compress(orjson.dumps([{**each, **other} for each in orjson.loads(decompress(body))])))
        for at, body in pieces
    ]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda head, pieces: (b"[", pieces),
        lambda head, pieces: (compress(b"["), pieces),
        lambda head, pieces: (compress(b"{}"), pieces),
        lambda head, pieces: (headed(head, schema=2), pieces),
        lambda head, pieces: (headed(head, view=[[0, 10_000]]), pieces),
        lambda head, pieces: (headed(head, state="DREAMING"), pieces),
        lambda head, pieces: (head, pieces[1:]),
        lambda head, pieces: (head, pieced(pieces, whens=[])),
        lambda head, pieces: (head, pieced(pieces, others=[0])),
        lambda head, pieces: (head, pieced(pieces, kinds=[[7, "", "", False]])),
    ],
)
def test_a_snapshot_that_cannot_be_read_is_none(
    spoil: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Then all events are replayed, and the log says so."""
    snapped = Snapped(5)
    head, pieces = spoil(snapped.head, snapped.pieces)
    assert restored(evolve(snapped.opened(), head=head, pieces=pieces), snapped.empty) is None
    assert "a snapshot cannot be read, all events are replayed instead" in caplog.text


def test_snapshots_are_due_by_events_and_by_what_stands() -> None:
    """A large view is not looked at for every few turns."""
    start = Conversation(ContextWindow(10**6, counter=WORDS))
    window = start.window
    for number in range(8 * EVERY + 80):
        window = window.append(Turn("user", f"{number}"))
    assert not due(start, evolve(start, revision=EVERY - 1))
    assert due(start, evolve(start, revision=EVERY))
    assert not due(start, evolve(start, revision=EVERY, window=window))
    assert due(start, evolve(start, revision=EVERY + 10, window=window))


def test_stored_turns_read_as_a_list() -> None:
    """Stored turns are read like a list, and a part that contradicts the snapshot is refused."""
    turns = [Turn("user", f"{number}") for number in range(10)]
    stored = StoredTurns(
        [(0, 1, 4), (4, 5, 5), (5, 6, 10)], 10, lambda first, last: tuple(turns[first - 1 : last])
    )
    assert list(stored) == turns
    assert [stored[place] for place in range(-10, 10)] == [turns[place] for place in range(-10, 10)]
    assert stored[2:9:3] == tuple(turns[2:9:3])
    for place in (10, -11):
        with pytest.raises(IndexError):
            stored[place]
    less = StoredTurns(
        [(0, 1, 4), (4, 5, 10)], 9, lambda first, last: tuple(turns[first - 1 : last])
    )
    with pytest.raises(
        InvalidDataError, match=r"6 turns came with events 5\.\.10. Use 5, as the snapshot says"
    ):
        list(less)


def test_a_ledger_is_told_by_its_columns() -> None:
    """A ledger restored from columns and later changes equals the original, in every chunk."""
    older = LinearityMap()
    for number in range(1, 3_000):
        older = older.tag(f"t{number}", ResourceClass(number % 2))
    newer = older.promote("t7", ResourceClass.PRESERVED).promote(
        "t2999", ResourceClass.PRESERVED, rationale="why"
    )
    for number in range(3_000, 4_200):
        newer = newer.tag(f"t{number}", ResourceClass.REQUIRED)
    assert newer.changed_since(older) == [6, 2_998]
    assert older.changed_since(older) == []
    ids, tags, whens = newer.columns_since(0)
    again = LinearityMap.of_columns(ids, tags, whens, promotions=newer.stats().promotions)
    assert again == newer
    assert again.tag("t4200", ResourceClass.REQUIRED) == newer.tag("t4200", ResourceClass.REQUIRED)
    assert Column.of(range(5)).changed_since(Column.of(())) == []
