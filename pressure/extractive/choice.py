"""Choose segments: as many terms as the tokens will buy, each paid for once; and print as many as fit, counted and not estimated.

Budgeted coverage: what a segment is worth is the weight of the terms it adds to
those already covered, so a second telling is worth little. The gain is
submodular, which makes the lazy greedy choice both quick and near the best
(Minoux 1978; Lin and Bilmes 2011).
"""

from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import accumulate, groupby

from attrs import define, frozen

from polycontext.pressure.extractive.heads import LEAST_NOTES, STEPS, Head, head_of
from polycontext.pressure.extractive.lines import BODY, CALL, Line, print_line
from polycontext.window import TokenCounter
from polycontext.window.text.segments import clip

STANDING_SHARE = 0.5
"""The share of the tokens in which what stands goes before all else: a document of nothing but rules leaves room for what was done."""

REPEATED = 0.1
"""What is left of a term's weight each time it is covered."""

NEWEST_SHARE = 0.2
"""The same for what says a newer value in the place of an older one."""

COST_POWER = 0.7
"""How strongly cost counts against worth; below 1 it favours longer segments (Lin and Bilmes tune the same exponent)."""

NEARLY = 1.05
"""By how much what is taken may be worth less than the best that is left (Badanidiyuru and Vondrák 2014)."""

_SPECK = 1e-6


@define(eq=False)
class Segment:
    """Hold one piece of a line: where it stands, its text from `lead` on, its terms and its cost in tokens.

    `line` is the number of its line. `part` is 0 for a call's arguments and 1 for the text. `boost` multiplies its
    worth; a `standing` one goes before all that are not, one that is the `newest` of a value next. `head` says what it is
    where its line does not, and `touches` that it says what a call is about.
    """

    line: int
    part: int
    start: int
    lead: int
    end: int
    text: str
    terms: tuple[int, ...]
    boost: float = 1.0
    standing: bool = False
    head: Head | None = None
    touches: bool = False
    newest: bool = False
    cost: int = 0


class Chooser:
    """Rank segments by worth for cost; the order in which they are chosen is the order in which they matter.

    `openings` are the tokens that printing each line takes besides its segments; what says what its call is about comes along.
    `steps` are the lines that say what comes next.
    `chosen` holds the indices so far.
    """

    def __init__(
        self,
        segments: Sequence[Segment],
        weights: Sequence[float],
        boosts: Sequence[float],
        openings: Mapping[int, int],
        steps: Container[int] = (),
    ) -> None:
        self._segments = segments
        self._left = list(weights)
        self._boosts = boosts
        self._unopened = dict(openings)
        self._calls = _telling_calls(segments)
        self._steps = steps
        self._taken = bytearray(len(segments))
        # Above nothing from the start: what waits in the heap may turn out worth less, never more.
        self._standing = self._newest = 1.0
        self.chosen: list[int] = []
        self._heap = [(*self._rank(index), index) for index in range(len(segments))]
        heapify(self._heap)

    def choose(self, tokens: float) -> bool:
        """Choose segments that cost about `tokens` more, most worth first; tell whether there were any left."""
        before = len(self.chosen)
        self._standing += STANDING_SHARE * tokens
        self._newest += NEWEST_SHARE * tokens
        while self._heap and tokens > 0:
            index = heappop(self._heap)[-1]
            if self._taken[index]:
                continue
            rank = self._rank(index)
            # What is nearly the best will do: asking all others again costs more than it brings.
            if self._heap and (rank[0], NEARLY * rank[1]) > self._heap[0][:2]:
                heappush(self._heap, (*rank, index))
            else:
                tokens -= self._take(index) + self._open(index)
        return len(self.chosen) > before

    def _rank(self, index: int) -> tuple[int, float]:
        segment = self._segments[index]
        gain, cost = self._gain(index), segment.cost
        if opening := self._unopened.get(segment.line):
            cost += opening
            call = self._calls.get(segment.line, index)
            if call != index:
                gain, cost = gain + self._gain(call), cost + self._segments[call].cost
        return self._precedence(segment), -gain / cost**COST_POWER

    def _precedence(self, segment: Segment) -> int:
        """Return 0 for what stands while its share lasts, 1 for what comes next and for newest values while theirs does, 2 for all else."""
        if segment.standing and self._standing > 0:
            return 0
        first = (segment.head in STEPS and segment.line in self._steps) or (segment.newest and self._newest > 0)
        return 1 if first else 2

    def _gain(self, index: int) -> float:
        left = self._left
        return self._boosts[index] * sum([left[term] for term in self._segments[index].terms]) + _SPECK

    def _open(self, index: int) -> int:
        line = self._segments[index].line
        opening = self._unopened.pop(line, None)
        if opening is None:
            return 0
        call = self._calls.get(line, index)
        return opening + (0 if self._taken[call] else self._take(call))

    def _take(self, index: int) -> int:
        segment = self._segments[index]
        for term in segment.terms:
            self._left[term] *= REPEATED
        self._standing -= segment.cost if segment.standing else 0
        self._newest -= segment.cost if segment.newest else 0
        self._taken[index] = True
        self.chosen.append(index)
        return segment.cost


def _telling_calls(segments: Sequence[Segment]) -> dict[int, int]:
    """Return for each line with a call the index of the segment that says what the call is about: the only one, or the first that names it."""
    calls: dict[int, int] = {}
    several: set[int] = set()
    for index, segment in enumerate(segments):
        if segment.part == CALL and calls.setdefault(segment.line, index) != index:
            several.add(segment.line)
            if segment.touches and not segments[calls[segment.line]].touches:
                calls[segment.line] = index
    return {line: index for line, index in calls.items() if line not in several or segments[index].touches}


OVERSHOOT = 1.35
"""How far beyond the budget to choose: estimates run high, and the end is cut by counting."""

LEAST_SPARE = 64
"""How many tokens beyond the budget to choose at least, so that a tiny budget has pieces to try."""

MOST_OVERESTIMATED = 4
"""How many times their true cost segments may seem to cost: each is billed its lead-in and a gap, which joined ones share."""

TOP_UP_TOKENS = 2000
"""Above this many tokens the start alone fills the budget to half a percent."""

_ORDER = {head: place for place, head in enumerate(Head)}
_TRIES = 12
_LEAST_LEFT = 2
_LABEL_SHARE = 3


@frozen
class Fitter:
    """Print selections of `segments` on their `lines`, each text counted before it is returned; with heads where they are `headed`, the lines `steps` under their own."""

    lines: Mapping[int, Line]
    segments: Sequence[Segment]
    counter: TokenCounter
    headed: bool = False
    steps: Container[int] = ()

    def everything(self, max_tokens: int) -> str | None:
        """Return all segments printed if that fits, None otherwise."""
        if sum(segment.cost for segment in self.segments) > MOST_OVERESTIMATED * max_tokens:
            return None
        text = self._print(range(len(self.segments)))
        return text if self.counter.count(text) <= max_tokens else None

    def best(self, chooser: Chooser, max_tokens: int) -> str:
        """Return the longest start of what `chooser` chooses that fits, topped up with what still fits after it.

        Where not even the first one fits, return the longest start of it that does.
        """
        chooser.choose(max(max_tokens * OVERSHOOT, max_tokens + LEAST_SPARE))
        kept = self._longest_start(chooser.chosen, max_tokens)
        more = max_tokens
        while kept == len(chooser.chosen) and chooser.choose(more):
            kept = self._longest_start(chooser.chosen, max_tokens)
            # Twice as much each time: of brackets that close nothing no character is printed, however many are chosen.
            more *= 2
        return self._topped_up(chooser.chosen, kept, max_tokens) if kept else self._clipped(chooser.chosen, max_tokens)

    def _longest_start(self, chosen: Sequence[int], max_tokens: int) -> int:
        """Return how many of `chosen` fit: guess by the estimated bill and halve what is open, in turns."""
        bills = [0, *accumulate(self.segments[index].cost for index in chosen)]
        fits, over, worth, by_bill = 0, len(bills), float(max_tokens), True
        while over - fits > 1:
            guess = bisect_right(bills, worth) - 1 if by_bill else (fits + over) // 2
            guess = min(max(guess, fits + 1), over - 1)
            tokens = self.counter.count(self._print(chosen[:guess]))
            if tokens > max_tokens:
                over = guess
            else:
                fits = guess
                if max_tokens - tokens <= max_tokens // 200:
                    break
            worth, by_bill = bills[guess] * max_tokens / max(1, tokens), not by_bill
        return fits

    def _topped_up(self, chosen: Sequence[int], kept: int, max_tokens: int) -> str:
        taken = list(chosen[:kept])
        text = self._print(taken)
        if max_tokens > TOP_UP_TOKENS:
            return text
        left = max_tokens - self.counter.count(text)
        for index in chosen[kept + 1 : kept + 1 + _TRIES]:
            if left < _LEAST_LEFT or self.segments[index].cost > MOST_OVERESTIMATED * left:
                continue
            longer = self._print([*taken, index])
            if (tokens := self.counter.count(longer)) <= max_tokens:
                taken.append(index)
                text, left = longer, max_tokens - tokens
        return text

    def _clipped(self, chosen: Sequence[int], max_tokens: int) -> str:
        """Return the longest start that fits of the first segment with any, under its label where that leaves room."""
        for index in chosen[:_TRIES]:
            segment = self.segments[index]
            line = self.lines[segment.line]
            labelled = clip(self._print([index]), max_tokens, self.counter)
            if len(labelled) > _LABEL_SHARE * len(line.label):
                return labelled
            text = segment.text[segment.start - segment.lead :].strip().replace("\n", " ")
            if bare := clip(text, max_tokens, self.counter):
                return bare
        return ""

    def _print(self, indices: Iterable[int]) -> str:
        notes = [*self._notes(sorted(indices))]
        if not self.headed or len(notes) < LEAST_NOTES:
            return "\n".join(text for _, _, text in sorted(notes, key=lambda note: note[1]))
        printed: list[str] = []
        for head, texts in groupby(sorted(notes, key=lambda note: (_ORDER[note[0]], note[1])), key=lambda note: note[0]):
            printed += [f"{head.value}:", *(text for _, _, text in texts)]
        return "\n".join(printed)

    def _notes(self, indices: Sequence[int]) -> Iterator[tuple[Head, int, str]]:
        """Yield what stands under each head: pieces of a line together, but for those that stand apart."""
        parts: dict[tuple[int, Head | None], list[Segment]] = {}
        for index in indices:
            segment = self.segments[index]
            apart = segment.head if self.headed and self._stands_apart(segment) else None
            parts.setdefault((segment.line, apart), []).append(segment)
        for (number, apart), segments in parts.items():
            line = self.lines[number]
            call, body = (_joined([segment for segment in segments if segment.part == part]) for part in (CALL, BODY))
            if text := print_line(line, call, body):
                yield apart or head_of(line, (segment.head for segment in segments), answered=bool(body)), number, text

    def _stands_apart(self, segment: Segment) -> bool:
        """Tell whether a piece is told under a head of its own: a constraint, or what comes next, not what came next once."""
        return segment.head is Head.CONSTRAINTS or (segment.head in STEPS and segment.line in self.steps)


def _joined(segments: Sequence[Segment]) -> list[tuple[int, int, str]]:
    """Return the texts of `segments` (of one part, in order) with where each starts and ends, those that touch or share characters as one."""
    pieces: list[tuple[int, int, str]] = []
    for segment in segments:
        start, end, text = segment.lead, segment.end, segment.text
        if pieces and start <= pieces[-1][1]:
            first, until, before = pieces.pop()
            # A lead-in may reach back behind the start of the piece before.
            start, text = (first, before + text[until - start :]) if first <= start else (start, text)
        pieces.append((start, end, text))
    return pieces
