"""Selection of units by their worth per token, with diminishing weight for repeated terms."""

from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import chain, groupby

from attrs import frozen

from polycontext.window import Role, TokenCounter

from .lines import HEADED_FROM, Entry, Unit, render_notes
from .pieces import GAP, clip, most
from .terms import terms_of

REPEATED = 0.1
"""The share of a term's weight that is left each time it is used."""

COST_POWER = 0.7
"""The exponent of cost against worth; below 1, longer units are favoured (Lin and Bilmes 2011)."""

STANDING_SHARE, STEP_SHARE, ASKED_SHARE = 0.5, 0.2, 0.7
"""The shares of the tokens that standing instructions, next steps and units relevant to the query
get first."""

USER_SHARE, USER_FROM = 0.2, 1_000
"""The share of the tokens that the user's words get first, and from how many tokens on."""

WHOLE_RECORD = 130
"""A record of at most this many characters is taken whole or not at all."""

_NEARLY, _TRIES, _LEAST_LETTERS, _LEAST_BEGUN = 1.05, 12, 6, 12
_SPECK = 1e-6

Bundle = tuple[int, ...]
"""Indices of units that are printed together: the pairs of a short record, or one unit after its
heading."""


def bundles_of(units: Sequence[Unit]) -> list[Bundle]:
    """Return the bundles to choose from: short records whole, other units singly."""
    found: list[Bundle] = []
    for (_, record), group in groupby(
        range(len(units)), key=lambda index: (units[index].entry, units[index].record)
    ):
        indices = tuple(group)
        first, size = units[indices[0]], sum(len(units[index].text) for index in indices)
        if record >= 0 and (first.header or first.parent) and size <= WHOLE_RECORD:
            found.append(indices)
            continue
        places = {units[index].place: index for index in indices}
        for index in indices:
            head = places.get(units[index].under)
            found.append((index,) if head is None else (head, index))
    return found


class Chooser:
    """Ranks bundles by the weight of the terms that they add per token.

    The method is lazy greedy coverage (Minoux 1978). The first bundle of an entry pays for its
    opening, the first of a record for its header. `asked` holds the relevance of each unit to the
    query; relevant units go before others, whatever they add.
    """

    def __init__(
        self,
        entries: Mapping[int, Entry],
        units: Sequence[Unit],
        weights: Mapping[str, float],
        asked: Sequence[float],
    ) -> None:
        self._entries, self._units, self._left, self._asked = entries, units, dict(weights), asked
        self._opened: set[tuple[int, int | None]] = set()
        self._taken: set[int] = set()
        self._rooms: list[float] = []
        self._claimed: dict[Bundle, tuple[int, ...]] = {}

    def choose(self, tokens: float) -> list[Bundle]:
        """Return bundles that cost about `tokens`, the most important first."""
        user = USER_SHARE if tokens >= USER_FROM else 0.0
        self._rooms = [share * tokens for share in (STANDING_SHARE, ASKED_SHARE, STEP_SHARE, user)]
        taken: list[Bundle] = []
        alike: dict[object, list[Bundle]] = {}
        for bundle in reversed(bundles_of(self._units)):
            self._claimed[bundle] = self._claims(bundle)
            alike.setdefault(self._worth(bundle), []).append(bundle)
        # Of units with equal worth, only the first one left is in the heap.
        heap = [(*self._rank(same[-1]), same[-1]) for same in alike.values()]
        heapify(heap)
        while heap and tokens > 0:
            bundle = heappop(heap)[-1]
            rank = self._rank(bundle)
            if heap and (rank[0], _NEARLY * rank[1]) > heap[0][:2]:
                heappush(heap, (*rank, bundle))
                continue
            tokens -= self._take(bundle)
            taken.append(bundle)
            same = alike[self._worth(bundle)]
            same.pop()
            if same:
                heappush(heap, (*self._rank(same[-1]), same[-1]))
        return taken

    def _worth(self, bundle: Bundle) -> object:
        """Return a key that is equal for bundles of equal rank, such as equal lines of one text."""
        index = bundle[-1]
        unit = self._units[index]
        if unit.header or len(bundle) > 1:
            return bundle
        return (
            unit.entry,
            unit.terms,
            unit.cost,
            unit.boost,
            self._asked[index],
            self._claimed[bundle],
        )

    def _claims(self, bundle: Bundle) -> tuple[int, ...]:
        """Return the numbers of the shares that a bundle may use, the preferred one first."""
        unit = self._units[bundle[-1]]
        role = self._entries[unit.entry].role
        claims = (
            unit.standing,
            any(self._asked[index] > 0 for index in bundle),
            unit.step,
            role == Role.USER and unit.said,
        )
        return tuple(number for number, claim in enumerate(claims) if claim)

    def _class(self, bundle: Bundle) -> int:
        rooms = self._rooms
        return next((number for number in self._claimed[bundle] if rooms[number] > 0), len(rooms))

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
        """Yield the terms, tokens and boost of everything that a bundle prints.

        These are its units, and the opening and header before them unless already printed.
        """
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
    """Prints as many bundles as fit the token limit, by count."""

    entries: Mapping[int, Entry]
    units: Sequence[Unit]
    max_tokens: int
    counter: TokenCounter

    def fit(self, order: Sequence[Bundle]) -> str:
        """Return the first bundles of `order` that fit.

        If not even one unit fits, the start of the first one is returned with a mark.
        """
        count = most(len(order), lambda number: self._tokens(order[:number]) <= self.max_tokens)
        kept = [*order[:count]]
        left = self.max_tokens - self._tokens(kept)
        small = [
            each for each in order[count:] if sum(self.units[index].cost for index in each) <= left
        ]
        for bundle in small[:_TRIES]:
            if self._tokens([*kept, bundle]) <= self.max_tokens:
                kept.append(bundle)
        return (
            (self._extend(kept, order[count:]) or self._text(kept))
            if kept
            else self._truncate_first(order[:_TRIES])
        )

    def _extend(self, kept: Sequence[Bundle], rest: Sequence[Bundle]) -> str:
        """Return the kept bundles with the marked start of the next sentence or line.

        The result is empty if there is no room for one.
        """
        taken = {*chain.from_iterable(kept)}
        left = self.max_tokens - self._tokens(kept)
        single = (bundle[0] for bundle in rest if len(bundle) == 1)
        plain = (self.units[index] for index in single if index not in taken)
        unit = next((u for u in plain if not (u.subject or u.header or u.hidden)), None)
        if unit is None or left < _LEAST_BEGUN:
            return ""
        start = clip(unit.text, left - 4 - self.entries[unit.entry].cost, self.counter)
        if not start or start == unit.text:
            return ""
        units = [self.units[index] for index in taken]
        units.append(unit._replace(text=start, ends=False, was=""))
        longer = self._render(sorted(units, key=_place))
        return longer if self.counter.count(longer) <= self.max_tokens else ""

    def _tokens(self, bundles: Sequence[Bundle]) -> int:
        return self.counter.count(self._text(bundles)) if bundles else 0

    def _text(self, bundles: Sequence[Bundle]) -> str:
        return self._render([self.units[i] for i in sorted({*chain.from_iterable(bundles)})])

    def _render(self, units: Sequence[Unit]) -> str:
        return render_notes(self.entries, units, headed=self.max_tokens >= HEADED_FROM)

    def _truncate_first(self, order: Sequence[Bundle]) -> str:
        """Return the start of the first unit of which a start fits.

        It includes the speaker if there is room, and the mark unless there is room for a token or
        two only.
        """
        for unit in (self.units[bundle[-1]] for bundle in order):
            opening = self.entries[unit.entry].opening
            words = unit.text if unit.opens else f"{GAP} {unit.text}"
            bare = () if unit.subject else ((words, f" {GAP}"), (words, GAP), (words, ""))
            for text, mark in (
                () if unit.hidden else ((render_notes(self.entries, [unit]), f" {GAP}"), *bare)
            ):
                start = clip(text, self.max_tokens, self.counter, mark)
                if len(start.strip(f"{GAP} ")) > (
                    len(opening) + _LEAST_LETTERS if text is not words else 0
                ):
                    return start
        return ""


def _place(unit: Unit) -> tuple[int, int, int, int]:
    return unit.entry, unit.record, unit.item, unit.place
