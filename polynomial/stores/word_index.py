"""An index of the words of one session, by which its turns are ranked for a query.

Stores keep the index as postings: bytes by stem and block of turns, which only grow. All stores
therefore find the same turns in the same order, at a cost that depends on the words of the query
and not on the text of the session (docs/history.md, "Search").
"""

import struct
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import compress
from operator import itemgetter
from typing import Protocol

from attrs import field, frozen

from polycontext.pressure.ranking import bm25, stems_in, with_neighbours
from polycontext.window import Role, Turn

from ..journal.events import Event, RewindEvent, TurnEvent
from .search_query import AskedWords, found_in, said
from .session_store import Found

BLOCK = 1_024
"""The number of events whose postings for one stem are stored together."""

NEWEST = 4_096
"""The number of newest turns in which a frequent word is looked up, unless it is in a phrase, so
that it costs no more in a longer session."""

_SPOKEN, _OTHER, _REWINDS = "", " call", " rewind"
"""The terms, which are no stems, of the lengths of spoken turns and of calls and their results, and
of the targets of rewinds."""
_PAIR = struct.Struct("<HH")
"""The place of an event in its block, and a number: of uses, or of the stems of a turn."""
_REWIND = struct.Struct("<HI")
_MOST_USES, _MOST_EVENTS = 0xFFFF, 1 << 32

Step = tuple[int, Turn | Event]
"""A turn of a log, or an event that may add one or rewind the log, after the event's number."""
Row = tuple[str, int, bytes]
"""Postings, after their term and block."""


class Postings(Protocol):
    """The stored postings of a session."""

    def read(self, terms: Sequence[str]) -> Iterable[Row]:
        """Return all postings of some terms, those of a block in the order of their events."""
        ...

    def append(self, rows: Sequence[Row]) -> None:
        """Add to the end of postings; no term and block is there twice."""
        ...


@frozen
class MemoryPostings:
    """Postings in memory; they may continue stored ones."""

    _stored: Postings | None = None
    _blocks: dict[str, dict[int, bytes]] = field(factory=lambda: defaultdict(dict))

    def read(self, terms: Sequence[str]) -> Iterator[Row]:
        """Yield all postings of some terms."""
        if self._stored is not None:
            yield from self._stored.read(terms)
        for term in terms:
            for block, postings in self._blocks.get(term, {}).items():
                yield term, block, postings

    def append(self, rows: Sequence[Row]) -> None:
        """Add to the end of postings."""
        for term, block, postings in rows:
            self._blocks[term][block] = self._blocks[term].get(block, b"") + postings


@frozen
class WordIndex:
    """The index of one session.

    >>> index = WordIndex(MemoryPostings())
    >>> turns = {1: Turn("user", "Where is my parcel?"), 2: Turn("assistant", "On its way.")}
    >>> index.add(turns.items())
    >>> [found.snippet for found in index.search(AskedWords.of("parcels"), 10, lambda _: turns)]
    ['Where is my parcel?']
    """

    _postings: Postings

    def add(self, steps: Iterable[Step]) -> None:
        """Index events; their numbers must rise."""
        added: dict[tuple[str, int], bytearray] = defaultdict(bytearray)
        for number, step in steps:
            block, place = divmod(number, BLOCK)
            if isinstance(step, RewindEvent):
                added[_REWINDS, block] += _REWIND.pack(place, step.to)
            turn = step.turn if isinstance(step, TurnEvent) else step
            if not isinstance(turn, Turn):
                continue
            uses = Counter(stems_in(said(turn)))
            kind = _SPOKEN if is_spoken(turn) else _OTHER
            for stem, count in (*uses.items(), (kind, uses.total())):
                added[stem, block] += _PAIR.pack(place, min(count, _MOST_USES))
        self._postings.append([(*key, bytes(postings)) for key, postings in added.items()])

    def search(
        self,
        asked: AskedWords,
        limit: int,
        turns_at: Callable[[Sequence[int]], Mapping[int, Turn]],
    ) -> tuple[Found, ...]:
        """Return at most `limit` turns that match, best first, then newest.

        `turns_at` returns the turns that events added, by the events' numbers.

        Raises:
            KeyError, struct.error: the postings are damaged.
        """
        if not asked:
            return ()
        stored: dict[str, dict[int, bytes]] = defaultdict(lambda: defaultdict(bytes))
        rows = self._postings.read((_SPOKEN, _OTHER, _REWINDS, *asked.stems))
        for term, block, postings in sorted(rows, key=itemgetter(1)):
            stored[term][block] += postings
        standing = _standing([*_rewinds(stored[_REWINDS])])
        turns = _Turns(stored[_SPOKEN], stored[_OTHER], standing)
        required = asked.required
        uses = {
            stem: turns.using(stored[stem], None if stem in required else NEWEST)
            for stem in asked.stems
        }
        scores = bm25(uses.values(), turns.lengths, turns.number, turns.total)
        near = with_neighbours(scores, turns.spoken)
        matching = {*scores}
        for stem in required:
            matching.intersection_update(place for place, _ in uses[stem][1])
        ranked = sorted(matching, key=lambda place: (-near[place], -place))
        found: list[Found] = []
        start, stop = 0, limit
        while start < len(ranked) and len(found) < limit:
            some = {turns.events[place]: near[place] for place in ranked[start:stop]}
            said_there = turns_at([*some])
            found += (
                found_in(said_there[number], asked, score)
                for number, score in some.items()
                if asked.is_in(said(said_there[number]))
            )
            start, stop = stop, 3 * stop  # few turns have the words of a phrase, but not it
        return tuple(found[:limit])


def is_spoken(turn: Turn) -> bool:
    """Return whether a turn is a message, and neither a call alone nor a result."""
    return bool(turn.text) and turn.role is not Role.TOOL


_Lengths = tuple[Sequence[int], Sequence[int]]
"""The places of turns in their block, rising, and their lengths."""


class _Turns:
    """The turns that no rewind has undone.

    A turn's place is the number of turns before it. Lengths, spoken turns and the numbers of the
    events that added the turns are known for turns that use a stem.
    """

    def __init__(
        self, spoken: Mapping[int, bytes], other: Mapping[int, bytes], standing: Sequence[range]
    ) -> None:
        self.lengths: dict[int, int] = {}
        self.events: dict[int, int] = {}
        self.spoken = set[int]()
        self.number = self.total = 0
        self._standing = standing
        self._blocks: dict[int, tuple[int, _Lengths, _Lengths]] = {}
        for block in sorted({*spoken, *other}):
            kinds = [self._kept(block, kind.get(block, b"")) for kind in (spoken, other)]
            self._blocks[block] = self.number, kinds[0], kinds[1]
            self.number += sum(len(places) for places, _ in kinds)
            self.total += sum(sum(lengths) for _, lengths in kinds)

    def using(
        self, postings: Mapping[int, bytes], most: int | None
    ) -> tuple[int, list[tuple[int, int]]]:
        """Return how many turns use a stem, and the places and uses of the newest `most` of them.

        Raises:
            KeyError: a turn has no length.
        """
        uses, number = list[tuple[int, int]](), 0
        for block, packed in sorted(postings.items(), reverse=True):
            left = None if most is None else most - len(uses)
            if left == 0 and self._is_whole(block):
                number += len(packed) // _PAIR.size
                continue
            pairs = self._standing_in(block, packed)
            number += len(pairs)
            if left == 0:
                continue
            first, (spoken, spoken_lengths), (other, other_lengths) = self._blocks[block]
            for at, count in pairs if left is None else pairs[-left:]:
                in_spoken, in_other = bisect_left(spoken, at), bisect_left(other, at)
                place = first + in_spoken + in_other
                if at in spoken[in_spoken : in_spoken + 1]:
                    self.spoken.add(place)
                    self.lengths[place] = spoken_lengths[in_spoken]
                elif at in other[in_other : in_other + 1]:
                    self.lengths[place] = other_lengths[in_other]
                else:
                    raise KeyError(block * BLOCK + at)
                self.events[place] = block * BLOCK + at
                uses.append((place, count))
        return number, uses

    def _standing_in(self, block: int, packed: bytes) -> Sequence[tuple[int, int]]:
        """Return the places in a block, rising, and the uses of what stands there."""
        pairs = [*_PAIR.iter_unpack(packed)]
        if self._is_whole(block):
            return pairs
        return [(at, count) for at, count in pairs if self._stands(block * BLOCK + at)]

    def _kept(self, block: int, packed: bytes) -> _Lengths:
        numbers = struct.unpack(f"<{len(packed) // _PAIR.size * 2}H", packed)
        places, lengths, first = numbers[::2], numbers[1::2], block * BLOCK
        if self._is_whole(block):
            return places, lengths
        stands = [self._stands(first + at) for at in places]
        return [*compress(places, stands)], [*compress(lengths, stands)]

    def _is_whole(self, block: int) -> bool:
        first = block * BLOCK
        return any(first in part and first + BLOCK - 1 in part for part in self._standing)

    def _stands(self, number: int) -> bool:
        return any(number in part for part in self._standing)


def _rewinds(postings: Mapping[int, bytes]) -> Iterator[tuple[int, int]]:
    """Yield the numbers of rewinds and their targets."""
    for block, packed in postings.items():
        for at, target in _REWIND.iter_unpack(packed):
            yield block * BLOCK + at, target


def _standing(rewinds: Sequence[tuple[int, int]]) -> list[range]:
    """Return the numbers of the events that no rewind has undone.

    `rewinds` are the numbers of rewinds and their targets.

    >>> _standing([(4, 1), (6, 3)])[:2]
    [range(7, 4294967296), range(0, 4)]
    """
    standing, end = list[range](), _MOST_EVENTS
    for number, target in reversed(rewinds):
        if number < end:
            standing.append(range(number + 1, end))
            end = target + 1
    return [*standing, range(end)]
