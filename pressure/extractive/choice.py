"""Choose segments: as many terms as the tokens will buy, each paid for once.

Budgeted coverage: what a segment is worth is the weight of the terms it adds to
those already covered, so a second telling is worth little. The gain is
submodular, which makes the lazy greedy choice both quick and near the best
(Minoux 1978; Lin and Bilmes 2011).
"""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from attrs import define, frozen

REPEATED = 0.1
"""What is left of a term's weight each time it is covered."""

COST_POWER = 0.7
"""How strongly cost counts against worth; below 1 it favours longer segments (Lin and Bilmes tune the same exponent)."""

_SPECK = 1e-6


@define(eq=False)
class Segment:
    """Hold one piece of a line: where it stands, where its copy starts, its terms and its cost in tokens.

    `part` is 0 for a call's arguments and 1 for the text. `boost` multiplies its
    worth; a `standing` one goes before all that are not.
    """

    line: int
    part: int
    start: int
    lead: int
    end: int
    terms: tuple[int, ...]
    boost: float = 1.0
    standing: bool = False
    cost: int = 0


@frozen
class Opening:
    """Say what printing a line takes besides its segments: the tokens of its label, and the segment that comes along."""

    cost: int
    segment: int | None = None


class Chooser:
    """Rank segments by worth for cost; the order in which they are chosen is the order in which they matter.

    `chosen` holds their indices so far.
    """

    def __init__(self, segments: Sequence[Segment], weights: Sequence[float], openings: Sequence[Opening]) -> None:
        self._segments = segments
        self._left = list(weights)
        self._unopened: list[Opening | None] = list(openings)
        self._taken = bytearray(len(segments))
        self.chosen: list[int] = []
        self._heap = [(*self._rank(index), index) for index in range(len(segments))]
        heapify(self._heap)

    def choose(self, tokens: float) -> bool:
        """Choose segments that cost about `tokens` more, most worth first; tell whether there were any left."""
        before = len(self.chosen)
        while self._heap and tokens > 0:
            index = heappop(self._heap)[-1]
            if self._taken[index]:
                continue
            rank = self._rank(index)
            if self._heap and rank > self._heap[0][:2]:
                heappush(self._heap, (*rank, index))
            else:
                tokens -= self._take(index) + self._open(index)
        return len(self.chosen) > before

    def _rank(self, index: int) -> tuple[bool, float]:
        segment = self._segments[index]
        gain, cost = self._gain(segment), segment.cost
        if opening := self._unopened[segment.line]:
            cost += opening.cost
            if opening.segment is not None and opening.segment != index:
                companion = self._segments[opening.segment]
                gain, cost = gain + self._gain(companion), cost + companion.cost
        return not segment.standing, -gain / cost**COST_POWER

    def _gain(self, segment: Segment) -> float:
        left = self._left
        return segment.boost * sum([left[term] for term in segment.terms]) + _SPECK

    def _open(self, index: int) -> int:
        line = self._segments[index].line
        opening, self._unopened[line] = self._unopened[line], None
        if opening is None:
            return 0
        companion = opening.segment
        return opening.cost + (0 if companion is None or companion == index else self._take(companion))

    def _take(self, index: int) -> int:
        segment = self._segments[index]
        for term in segment.terms:
            self._left[term] *= REPEATED
        self._taken[index] = True
        self.chosen.append(index)
        return segment.cost
