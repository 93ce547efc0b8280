"""Choose units by what they are worth for their tokens, each term paid for once, and print what fits."""

from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import groupby

from attrs import frozen

from polycontext.pressure.notes.pieces import clip, most
from polycontext.pressure.notes.printing import GAP, HEADED_FROM, printed
from polycontext.pressure.notes.terms import terms_of
from polycontext.pressure.notes.units import Entry, Unit
from polycontext.window import Role, TokenCounter

REPEATED = 0.1
"""What is left of a term's weight each time it is told."""

COST_POWER = 0.7
"""How strongly cost counts against worth; below 1 it favours longer units (Lin and Bilmes 2011)."""

STANDING_SHARE, STEP_SHARE, ASKED_SHARE = 0.5, 0.2, 0.7
"""The shares of the tokens in which standing instructions, what comes next, and what the query asks about go before all else."""

USER_SHARE, USER_FROM = 0.3, 1_000
"""The share of the tokens that the user's words have first, and from how many tokens on."""

WHOLE_RECORD = 130
"""A record up to this many characters is told whole or not at all."""

_NEARLY, _TRIES, _LEAST_LEFT, _LEAST_BEGUN, _LEAST_LETTERS = 1.05, 12, 3, 12, 6
_SPECK = 1e-6

Bundle = tuple[int, ...]
"""Indices of units that are told together: the pairs of a short record, or one unit behind what names it."""


def bundles_of(units: Sequence[Unit]) -> list[Bundle]:
    """Return what can be chosen of `units`: short records whole, everything else one by one."""
    found: list[Bundle] = []
    for (_, record), group in groupby(range(len(units)), key=lambda index: (units[index].entry, units[index].record)):
        indices = tuple(group)
        first = units[indices[0]]
        if record >= 0 and (first.header or first.parent) and sum(len(units[index].text) for index in indices) <= WHOLE_RECORD:
            found.append(indices)
            continue
        places = {units[index].place: index for index in indices} if any(units[index].under >= 0 for index in indices) else {}
        for index in indices:
            head = places.get(units[index].under)
            found.append((index,) if head is None else (head, index))
    return found


class Chooser:
    """Rank bundles by the weight of the terms that they add, for their tokens: lazy greedy coverage (Minoux 1978).

    The first of an entry pays for its opening, the first of a record for its header. `ranks` says which units go before others
    whatever they add: what the query asks about, by how much of it.
    """

    def __init__(self, entries: Mapping[int, Entry], units: Sequence[Unit], weights: Mapping[str, float], asked: Sequence[float]) -> None:
        self._entries, self._units, self._left, self._asked = entries, units, dict(weights), asked
        self._opened: set[tuple[int, int | None]] = set()
        self._taken: set[int] = set()
        self._rooms: list[float] = []

    def choose(self, tokens: float) -> list[Bundle]:
        """Return bundles that cost about `tokens`, those that matter most first."""
        user = USER_SHARE if tokens >= USER_FROM else 0.0
        self._rooms = [share * tokens for share in (STANDING_SHARE, ASKED_SHARE, STEP_SHARE, user)]
        taken: list[Bundle] = []
        heap = [(*self._rank(bundle), bundle) for bundle in bundles_of(self._units)]
        heapify(heap)
        while heap and tokens > 0:
            bundle = heappop(heap)[-1]
            rank = self._rank(bundle)
            if heap and (rank[0], _NEARLY * rank[1]) > heap[0][:2]:
                heappush(heap, (*rank, bundle))
                continue
            tokens -= self._take(bundle)
            taken.append(bundle)
        return taken

    def _class(self, bundle: Bundle) -> int:
        unit = self._units[bundle[-1]]
        role = self._entries[unit.entry].role
        claims = (unit.standing, any(self._asked[index] > 0 for index in bundle), unit.step, role == Role.USER and unit.said)
        return next((number for number, claim in enumerate(claims) if claim and self._rooms[number] > 0), len(claims))

    def _rank(self, bundle: Bundle) -> tuple[int, float]:
        gain, cost = 0.0, 0
        for terms, tokens, boost in self._parts(bundle):
            gain += boost * sum([self._left.get(term, 0.0) for term in terms])
            cost += tokens
        of_class = self._class(bundle)
        if of_class == 1:
            gain = 1000 * max(self._asked[index] for index in bundle) + gain
        return of_class, -(gain + _SPECK) / max(1, cost) ** COST_POWER

    def _parts(self, bundle: Bundle) -> Iterator[tuple[Sequence[str], int, float]]:
        """Yield the terms, tokens and boost of what a bundle prints: its units, and what they stand behind if that is not there yet."""
        unit = self._units[bundle[-1]]
        for index in bundle:
            if index not in self._taken:
                yield self._units[index].terms, self._units[index].cost, self._units[index].boost
        if (unit.entry, None) not in self._opened:
            yield self._entries[unit.entry].terms, self._entries[unit.entry].cost, 1.0
        if unit.header and (unit.entry, unit.record) not in self._opened:
            yield terms_of(unit.header), 2 + (len(unit.header) + len(unit.parent)) // 4, unit.boost

    def _take(self, bundle: Bundle) -> int:
        cost, of_class = 0, self._class(bundle)
        for terms, tokens, _ in [*self._parts(bundle)]:
            cost += tokens
            for term in terms:
                self._left[term] = self._left.get(term, 0.0) * REPEATED
        unit = self._units[bundle[-1]]
        self._opened |= {(unit.entry, None), (unit.entry, unit.record)}
        if of_class < len(self._rooms):
            self._rooms[of_class] -= cost
        self._taken.update(bundle)
        return cost


@frozen
class Fitter:
    """Print as many bundles as fit, counted; the rest of the room goes to the marked start of one more unit."""

    entries: Mapping[int, Entry]
    units: Sequence[Unit]
    max_tokens: int
    counter: TokenCounter

    def fitted(self, order: Sequence[Bundle]) -> str:
        """Return what comes first in `order` and fits; where not even one unit does, a marked start of the first."""
        count = most(len(order), lambda number: self._tokens(order[:number]) <= self.max_tokens)
        kept, rest = [*order[:count]], order[count:]
        if not kept:
            return self._begun(order[:_TRIES])
        left = self.max_tokens - self._tokens(kept)
        small = [each for each in rest if sum(self.units[index].cost for index in each) <= left]
        for bundle in small[:_TRIES]:
            if left > _LEAST_LEFT and (tokens := self._tokens([*kept, bundle])) <= self.max_tokens:
                kept.append(bundle)
                left = self.max_tokens - tokens
        return (self._lengthened(kept, rest, left) if left >= _LEAST_BEGUN else "") or self._text(kept)

    def _lengthened(self, kept: Sequence[Bundle], rest: Sequence[Bundle], left: int) -> str:
        """Return what is kept with the start of the next sentence or line; empty where none fits."""
        taken = {index for bundle in kept for index in bundle}
        single = (bundle[0] for bundle in rest if len(bundle) == 1 and bundle[0] not in taken)
        begun = next((index for index in single if not self.units[index].header and not self.units[index].hidden), None)
        if begun is None:
            return ""
        unit = self.units[begun]
        for spare in (4, 12):
            start = clip(unit.text, left - spare - self.entries[unit.entry].cost, self.counter)
            if start and start != unit.text:
                units = sorted([*self._units_of(kept), unit._replace(text=start, ends=False, was="")], key=_place)
                longer = printed(self.entries, units, headed=self.max_tokens >= HEADED_FROM)
                if self.counter.count(longer) <= self.max_tokens:
                    return longer
        return ""

    def _tokens(self, bundles: Sequence[Bundle]) -> int:
        return self.counter.count(self._text(bundles))

    def _text(self, bundles: Sequence[Bundle]) -> str:
        return printed(self.entries, self._units_of(bundles), headed=self.max_tokens >= HEADED_FROM)

    def _units_of(self, bundles: Sequence[Bundle]) -> list[Unit]:
        return [self.units[index] for index in sorted({index for bundle in bundles for index in bundle})]

    def _begun(self, order: Sequence[Bundle]) -> str:
        for bundle in order:
            unit = self.units[bundle[-1]]
            if unit.hidden:
                continue
            labelled = clip(self._text([bundle[-1:]]), self.max_tokens, self.counter, f" {GAP}")
            if len(labelled) > len(self.entries[unit.entry].opening) + _LEAST_LETTERS:
                return labelled
            # In a token or two there may be no room for a mark.
            bare = (clip(unit.text, self.max_tokens, self.counter, mark) for mark in (f" {GAP}", GAP, ""))
            if text := next(filter(None, bare), ""):
                return text
        return ""


def _place(unit: Unit) -> tuple[int, int, int, int]:
    return unit.entry, unit.record, unit.item, unit.place
