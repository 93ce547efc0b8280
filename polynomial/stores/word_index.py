"""An index of the words of one session, by which its turns are ranked for a query.

Stores keep the index as postings: bytes by stem and block of turns, which only grow. All stores
therefore find the same turns in the same order, at a cost that depends on the words of the query
and not on the text of the session (docs/history.md, "Search").
"""

import struct
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from attrs import field, frozen

from polycontext.pressure.ranking import bm25, stems_in, with_neighbours
from polycontext.window import Role, Turn

from ..journal.events import Event, RewindEvent, TurnEvent
from .search_query import AskedWords, found_in, said
from .session_store import Found

BLOCK = 1_024
"""The number of events whose postings for one stem are stored together."""

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
        """Return all postings of some terms."""
        ...

    def append(self, rows: Sequence[Row]) -> None:
        """Add to the end of postings; no term and block is there twice."""
        ...


@frozen
class MemoryPostings:
    """Postings in memory."""

    _blocks: dict[str, dict[int, bytes]] = field(factory=lambda: defaultdict(dict))

    def read(self, terms: Sequence[str]) -> Iterator[Row]:
        """Yield all postings of some terms."""
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
        stored: dict[str, list[tuple[int, bytes]]] = defaultdict(list)
        for term, block, postings in sorted(
            self._postings.read((_SPOKEN, _OTHER, _REWINDS, *asked.stems))
        ):
            stored[term].append((block * BLOCK, postings))
        standing = _standing([*_unpacked(_REWIND, stored[_REWINDS])])
        spoken = dict(_unpacked(_PAIR, stored[_SPOKEN]))
        lengths = dict(sorted((*spoken.items(), *_unpacked(_PAIR, stored[_OTHER]))))
        numbers = [number for number in lengths if any(number in part for part in standing)]
        places = {**dict.fromkeys(lengths), **{number: at for at, number in enumerate(numbers)}}
        uses = {
            stem: [
                (place, count)
                for number, count in _unpacked(_PAIR, stored[stem])
                if (place := places[number]) is not None
            ]
            for stem in asked.stems
        }
        scores = bm25([*uses.values()], [lengths[number] for number in numbers])
        near = with_neighbours(scores, [number in spoken for number in numbers])
        matching = {place for place, score in enumerate(scores) if score}
        for stem in asked.required:
            matching.intersection_update(place for place, _ in uses[stem])
        ranked = sorted(matching, key=lambda place: (-near[place], -place))
        found: list[Found] = []
        start, stop = 0, limit
        while start < len(ranked) and len(found) < limit:
            some = {numbers[place]: near[place] for place in ranked[start:stop]}
            turns = turns_at([*some])
            found += (
                found_in(turns[number], asked, score)
                for number, score in some.items()
                if asked.is_in(said(turns[number]))
            )
            start, stop = stop, 3 * stop  # few turns have the words of a phrase, but not it
        return tuple(found[:limit])


def is_spoken(turn: Turn) -> bool:
    """Return whether a turn is a message, and neither a call alone nor a result."""
    return bool(turn.text) and turn.role is not Role.TOOL


def _unpacked(pair: struct.Struct, rows: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, int]]:
    for start, postings in rows:
        for place, number in pair.iter_unpack(postings):
            yield start + place, number


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
