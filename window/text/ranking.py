"""Rank the pieces of one text: head and tail first, and woven in with them what is wanted, what failed, what cannot be guessed back."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import log, log2

from attrs import frozen

from polycontext.window.text.cues import failures, work_lists
from polycontext.window.text.pieces import Piece
from polycontext.window.text.segments import Span
from polycontext.window.text.terms import WORTH, TermBook, kind_of, terms_of

WANTED = 3.0
"""How much more a term weighs that the reader named; rare ones weigh more than those that stand everywhere."""

FAILED = 3.0
"""How much more a piece weighs that tells what failed."""

HEAD_SHARE = 0.35
"""The share of characters that head and tail have of what is chosen first; the rest goes by worth."""

NEARBY = (0.9, 0.7, 0.4)
"""The shares of its worth that a piece lends to those next to it: what is read together stays together."""

REPEATED = 0.3
"""What is left of a term's weight each time a piece has it."""

FRAME_SHARE = 0.5
"""The share of the room that the headers of a diff may have before all others."""

LISTED_SHARE = 0.9
"""The same for lists of ids: what is still to be gone through."""

READ_TIMES = 8
"""How many times as much text as there is room for is read for its terms."""

_MARK_CHARS = 40
_COST_POWER = 0.7
_MOST_NAMES = 32
_MOST_HITS = 100


def ranked(text: str, pieces: Sequence[Piece], wanted: str, room: float) -> list[int]:
    """Return the indices of `pieces` (but the first) in the order in which they matter, each behind the one above it.

    There is `room` for about so many characters; the headers of a diff get the
    first half of it. Terms are read in `READ_TIMES` as much, inwards from head and
    tail, and further in where text is named by `wanted` or tells what failed.
    """
    reaches = _reaches(pieces)
    inwards = sorted(range(1, len(pieces)), key=reaches.__getitem__)
    worths = _Worths(text, pieces, wanted).of(_up_to(READ_TIMES * room, inwards, pieces))
    by_worth = sorted(worths, key=lambda index: (-worths[index], reaches[index]))
    listed = set(_within(pieces, work_lists(text)))
    frame = [
        *_up_to(room * LISTED_SHARE, [index for index in inwards if index in listed], pieces),
        *_up_to(room * FRAME_SHARE, [index for index in inwards if _is_frame(pieces, index)], pieces),
    ]
    return _woven(pieces, frame, inwards, by_worth)


def _up_to(characters: float, order: Sequence[int], pieces: Sequence[Piece]) -> Sequence[int]:
    """Return the first of `order` that have so many `characters` in all."""
    lengths = accumulate(pieces[index].end - pieces[index].start for index in order)
    return order[: bisect_right(list(lengths), characters)]


def _is_frame(pieces: Sequence[Piece], index: int) -> bool:
    """Tell whether a piece is the header of a file or of a hunk."""
    return pieces[pieces[index].above].unit in {"files", "hunks"}


def _within(pieces: Sequence[Piece], spans: Sequence[Span]) -> Iterator[int]:
    """Yield the indices of the pieces that begin within one of `spans`, which ascend."""
    index = 1
    for start, end in spans:
        index = bisect_right(pieces, start, index, key=lambda piece: piece.end)
        while index < len(pieces) and pieces[index].start < end:
            yield index
            index += 1


def _reaches(pieces: Sequence[Piece]) -> list[float]:
    """Return how far each piece is from what is read first: keys are near, records far down an array, lines in the middle."""
    reaches = [0.0]
    for piece in pieces[1:]:
        above = pieces[piece.above]
        match above.unit:
            case "keys" | "files" | "hunks":
                step = 0
            case "items":
                step = piece.nth
            case _:
                step = min(piece.nth, above.items - 1 - piece.nth)
        reaches.append(reaches[piece.above] + 1 + log2(1 + step))
    return reaches


def _woven(pieces: Sequence[Piece], frame: Sequence[int], inwards: Sequence[int], by_worth: Sequence[int]) -> list[int]:
    """Return all indices: those of `frame`, then taken from both orders so that each keeps its share of the characters."""
    order: dict[int, None] = {0: None}
    for index in frame:
        order.update(dict.fromkeys(_with_those_above(index, pieces, order)))
    queues, taken = (iter(inwards), iter(by_worth)), [0.0, 0.0]
    while len(order) < len(pieces):
        turn = taken[0] * (1 - HEAD_SHARE) > taken[1] * HEAD_SHARE
        following = next(queues[turn], None)
        if following is None:
            order.update(dict.fromkeys(inwards))
            break
        for member in _with_those_above(following, pieces, order):
            order[member] = None
            taken[turn] += pieces[member].end - pieces[member].start
    del order[0]
    return list(order)


def _with_those_above(index: int, pieces: Sequence[Piece], order: dict[int, None]) -> list[int]:
    """Return what is not in `order` yet of `index` and the pieces above it, from the top down."""
    chain: list[int] = []
    while index not in order:
        chain.append(index)
        index = pieces[index].above
    return chain[::-1]


@frozen
class _Worths:
    """Say what pieces are worth for their length: by their terms, by what failed, by their neighbours."""

    text: str
    pieces: Sequence[Piece]
    wanted: str

    def of(self, near: Sequence[int]) -> dict[int, float]:
        """Return the worth of the pieces that are `near`, named, failing, or beside one of those."""
        failed = failures(self.text)
        told = {self._at(start) for spans in (failed.errors, failed.frames) for start, _ in (*spans[:_MOST_HITS], *spans[-_MOST_HITS:])}
        book = TermBook()
        asked = frozenset(book.read(self.wanted, 0, len(self.wanted), -1, said=False)[0])
        terms: dict[int, tuple[int, ...]] = {}
        for index in dict.fromkeys([*near, *sorted({*told, *self._named()} - {0})]):
            piece = self.pieces[index]
            terms[index] = book.read(self.text, piece.start, piece.end, index, said=False)[0]
        weights = _weights(book, asked, len(terms))
        worths: dict[int, float] = {}
        for index, found in terms.items():
            worth = sum([weights[term] for term in found]) * (FAILED if index in told else 1.0)
            worths[index] = worth / (_MARK_CHARS + self.pieces[index].end - self.pieces[index].start) ** _COST_POWER
            for term in found:
                weights[term] *= REPEATED
        return self._lent(worths)

    def _at(self, place: int) -> int:
        return bisect_right(self.pieces, place, key=lambda piece: piece.start) - 1

    def _named(self) -> Iterator[int]:
        """Yield the pieces in which the hardest terms to guess stand that are wanted."""
        for term in sorted(terms_of(self.wanted), key=lambda term: -WORTH[kind_of(term)])[:_MOST_NAMES]:
            place = -1
            for _ in range(_MOST_HITS):
                if (place := self.text.find(term, place + 1)) < 0:
                    break
                yield self._at(place)

    def _lent(self, worths: dict[int, float]) -> dict[int, float]:
        """Return `worths` with what pieces lend to those next to them under the same one."""
        lent = dict(worths)
        for index, worth in worths.items():
            above = self.pieces[index].above
            for away, share in enumerate(NEARBY, 1):
                for other in (index - away, index + away):
                    if 0 < other < len(self.pieces) and self.pieces[other].above == above:
                        lent[other] = max(lent.get(other, 0.0), worth * share)
        return lent


def _weights(book: TermBook, asked: frozenset[int], pieces: int) -> list[float]:
    """Return the weight of each term by number: none for what stands in every one of `pieces`."""
    scale = log(2 + pieces)
    rarity = (log(max(1, pieces) / min(max(1, seen), max(1, pieces))) / scale for seen in book.turns)
    return [
        WORTH[kind] * rare * (WANTED if number in asked else 1.0)
        for number, (kind, rare) in enumerate(zip(book.kinds, rarity, strict=True))
    ]
