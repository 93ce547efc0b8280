"""Selection of units by their worth per token, with diminishing weight for repeated terms."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from heapq import heapify, heappop, heappush, heappushpop
from itertools import chain, compress, groupby

from polycontext.window import Role, TokenCounter

from ..terms import terms_of
from .cues import is_question
from .lines import HEADED_FROM, SIZE, Entry, Page, Unit, render_notes
from .pieces import GAP, clip, most

REPEATED = 0.1
"""The share of a term's weight that is left each time it is used."""

COST_POWER = 0.7
"""The exponent of cost against worth; below 1, longer units are favoured (Lin and Bilmes 2011)."""

STANDING_SHARE, STEP_SHARE, ASKED_SHARE, OUTCOME_SHARE = 0.5, 0.2, 0.7, 0.2
"""The shares of the tokens that standing instructions, next steps, units relevant to the query and
outcomes of calls get first."""

USER_SHARE, USER_FROM = 0.2, 1_000
"""The share of the tokens that the user's words get first, and from how many tokens on."""

WHOLE_RECORD = 130
"""A record of at most this many characters is taken whole or not at all."""

SHORT_ANSWER = 60
"""An answer of at most this many characters is printed with the question before it."""

_NEARLY, _TRIES, _LEAST_LETTERS, _LEAST_BEGUN = 1.05, 12, 6, 12
_SPECK, _ASKED = 1e-6, 1

Bundle = tuple[int, ...]
"""Indices of units that are printed together: the pairs of a short record, or one unit after its
heading."""


def bundles_of(units: Sequence[Unit]) -> list[Bundle]:
    """Return the bundles to choose from: short records whole, other units singly."""
    found: list[Bundle] = []
    call = -1
    for (_, record), group in groupby(
        range(len(units)), key=lambda index: (units[index].entry, units[index].record)
    ):
        indices = tuple(group)
        first = units[indices[0]]
        if (
            record >= 0
            and (first.header or first.parent)
            and sum(len(units[index].text) for index in indices) <= WHOLE_RECORD
        ):
            found.append(indices)
            continue
        places = {units[index].place: index for index in indices}
        for index in indices:
            unit = units[index]
            if unit.outcome and unit.said:
                call = index
            command = (call,) if call >= 0 and unit.entry - units[call].entry <= 1 else ()
            above = (places[unit.under],) if unit.under in places else ()
            if unit.read and SIZE in places:
                above = (*command, places[SIZE], *above)
            elif _answers(units, index):
                above = (index - 1,)
            elif unit.outcome and index != call:
                above = (*command, *above)
            found.append((*above, index))
    return found


def _answers(units: Sequence[Unit], index: int) -> bool:
    """Return whether a unit is all of a short answer to the question before it."""
    unit, asked = units[index], units[index - 1]
    return (
        asked.entry == unit.entry - 1
        and unit.said
        and asked.said
        and len(unit.text) <= SHORT_ANSWER
        and is_question(asked.text)
        and {each.entry for each in units[index + 1 : index + 2]} != {unit.entry}
    )


_Offer = tuple[int, float, Bundle, int]
"""A bundle with the share that it uses and its rank in it, best first, and when it was ranked."""


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
        self._entries, self._units, self._asked = entries, units, asked
        self._left = defaultdict[str, float](float, weights)
        self._priced = [(unit.terms, unit.cost, unit.boost) for unit in units]
        self._terms, self._is_asked = cache(terms_of), any(asked)
        self._printed = set[object]()
        self._rooms: list[float] = []
        self._claimed: dict[Bundle, tuple[int, ...]] = {}

    def choose(self, tokens: float) -> list[Bundle]:
        """Return bundles that cost about `tokens`, the most important first."""
        user = USER_SHARE if tokens >= USER_FROM else 0.0
        shares = (STANDING_SHARE, ASKED_SHARE, STEP_SHARE, OUTCOME_SHARE, user)
        self._rooms = [share * tokens for share in shares]
        taken: list[Bundle] = []
        # Of bundles with equal worth, only the first one left is in the heap.
        first: dict[object, Bundle] = {}
        behind: dict[Bundle, Bundle] = {}
        for bundle in reversed(bundles_of(self._units)):
            if claims := self._claims(bundle):
                self._claimed[bundle] = claims
            worth = self._worth(bundle)
            if worth in first:
                behind[bundle] = first[worth]
            first[worth] = bundle
        heap = [self._offer(bundle) for bundle in first.values()]
        heapify(heap)
        offer = heappop(heap) if heap else None
        while offer and tokens > 0:
            share, rank, bundle, ranked = offer
            if ranked != len(self._printed):
                share, rank, *_ = offer = self._offer(bundle)
            if heap and (share, _NEARLY * rank) > heap[0]:
                offer = heappushpop(heap, offer)
                continue
            tokens -= self._take(share, bundle)
            taken.append(bundle)
            if bundle in behind:
                heappush(heap, self._offer(behind[bundle]))
            offer = heappop(heap) if heap else None
        return taken

    def _worth(self, bundle: Bundle) -> object:
        """Return a key that is equal for bundles of equal rank, such as equal lines of one text."""
        index = bundle[-1]
        unit = self._units[index]
        if unit.header:
            return bundle
        asked, claims = self._asked[index], self._claimed.get(bundle)
        return bundle[:-1], unit.entry, unit.terms, unit.cost, unit.boost, asked, claims

    def _claims(self, bundle: Bundle) -> tuple[int, ...]:
        """Return the numbers of the shares that a bundle may use, the preferred one first."""
        unit = self._units[bundle[-1]]
        claims = (
            unit.standing,
            self._is_asked and any(self._asked[index] > 0 for index in bundle),
            unit.step,
            unit.outcome
            or (len(bundle) > 1 and not unit.read and any(self._units[i].outcome for i in bundle)),
            unit.said and self._entries[unit.entry].role == Role.USER,
        )
        return tuple(compress(range(len(claims)), claims)) if True in claims else ()

    def _offer(self, bundle: Bundle) -> _Offer:
        gain, cost, weight = 0.0, 0, self._left.__getitem__
        for terms, tokens, boost in self._parts(bundle):
            gain += boost * sum(map(weight, terms))
            cost += tokens
        share = len(self._rooms)
        for claim in self._claimed.get(bundle, ()):
            if self._rooms[claim] > 0:
                share = claim
                break
        if share == _ASKED:
            gain = 1000 * max(self._asked[index] for index in bundle) + gain
        return share, -(gain + _SPECK) / (cost or 1) ** COST_POWER, bundle, len(self._printed)

    def _parts(self, bundle: Bundle) -> list[tuple[tuple[str, ...], int, float]]:
        """Return the terms, cost and boost of everything that a bundle prints.

        These are its units, and the opening and header before them unless already printed.
        """
        printed, unit = self._printed, self._units[bundle[-1]]
        parts = [self._priced[index] for index in bundle if index not in printed]
        if (unit.entry,) not in printed:
            entry = self._entries[unit.entry]
            parts.append((entry.terms, entry.cost, min(1.0, unit.boost)))
        if unit.header and (unit.entry, unit.record) not in printed:
            tokens = 2 + (len(unit.header) + len(unit.parent)) // 4
            parts.append((self._terms(unit.header), tokens, unit.boost))
        return parts

    def _take(self, share: int, bundle: Bundle) -> int:
        cost, unit = 0, self._units[bundle[-1]]
        for terms, tokens, _ in self._parts(bundle):
            cost += tokens
            for term in terms:
                self._left[term] *= REPEATED
        self._printed.update(bundle, ((unit.entry,), (unit.entry, unit.record)))
        if share < len(self._rooms):
            self._rooms[share] -= cost
        return cost


class Fitter:
    """Prints as many bundles as fit the token limit, by count."""

    def __init__(
        self,
        entries: Mapping[int, Entry],
        units: Sequence[Unit],
        max_tokens: int,
        counter: TokenCounter,
    ) -> None:
        self._entries, self._most, self._counter = entries, max_tokens, counter
        self._page = Page(entries, units, headed=max_tokens >= HEADED_FROM)
        self._count = cache(counter.count)

    def fit(self, order: Sequence[Bundle]) -> str:
        """Return the first bundles of `order` that fit.

        If not even one unit fits, the start of the first one is returned with a mark.
        """
        count = most(len(order), lambda number: self._tokens(order[:number]) <= self._most)
        kept = [*order[:count]]
        left = self._most - self._tokens(kept)
        small = [
            each
            for each in order[count:]
            if sum(self._page.units[index].cost for index in each) <= left
        ]
        for bundle in small[:_TRIES]:
            if self._tokens([*kept, bundle]) <= self._most:
                kept.append(bundle)
        while kept:
            text = self._page.text(chain.from_iterable(kept))
            if self._counter.count(text) <= self._most:
                return self._extend(kept, order[count:]) or text
            kept.pop()  # The tokens of lines do not quite add up with every tokenizer.
        return self._truncate_first(order[:_TRIES])

    def _tokens(self, bundles: Sequence[Bundle]) -> int:
        return self._page.tokens(chain.from_iterable(bundles), self._count) if bundles else 0

    def _extend(self, kept: Sequence[Bundle], rest: Sequence[Bundle]) -> str:
        """Return the kept bundles with the marked start of the next sentence or line.

        The result is empty if there is no room for one.
        """
        taken, page = {*chain.from_iterable(kept)}, self._page
        left = self._most - self._tokens(kept)
        single = (bundle[0] for bundle in rest if len(bundle) == 1)
        plain = ((index, page.units[index]) for index in single if index not in taken)
        index, unit = next(
            (each for each in plain if not (each[1].subject or each[1].header or each[1].hidden)),
            (-1, None),
        )
        if unit is None or left < _LEAST_BEGUN:
            return ""
        start = clip(unit.text, left - 4 - self._entries[unit.entry].cost, self._counter)
        if not start or start == unit.text:
            return ""
        # The rest of a sentence may follow, which needs a mark before it.
        begun = (f"{start} {GAP}", unit.ends) if index + 1 in taken else (start, False)
        page.units[index] = unit._replace(text=begun[0], ends=begun[1], was="")
        longer = page.text({*taken, index})
        return longer if self._counter.count(longer) <= self._most else ""

    def _truncate_first(self, order: Sequence[Bundle]) -> str:
        """Return the start of the first unit of which a start fits.

        It includes the speaker if there is room, and the mark unless there is room for a token or
        two only.
        """
        for unit in (self._page.units[bundle[-1]] for bundle in order):
            opening = self._entries[unit.entry].opening
            words = unit.text if unit.opens else f"{GAP} {unit.text}"
            bare = () if unit.subject else ((words, f" {GAP}"), (words, GAP), (words, ""))
            for text, mark in (
                () if unit.hidden else ((render_notes(self._entries, [unit]), f" {GAP}"), *bare)
            ):
                start = clip(text, self._most, self._counter, mark)
                if len(start.strip(f"{GAP} ")) > (
                    len(opening) + _LEAST_LETTERS if text is not words else 0
                ):
                    return start
        return ""
