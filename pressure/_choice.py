"""Choose segments: as many terms as the tokens will buy, each paid for once.

Budgeted coverage: what a segment is worth is the weight of the terms it adds to
those already covered, so the second telling of a thing is worth little. The
gain is submodular, which makes the lazy greedy choice both quick and near the
best (Minoux 1978; Lin and Bilmes 2011).
"""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from attrs import define

REPEATED = 0.1
"""What is left of a term's weight each time it is covered."""

COST_POWER = 0.7
"""How strongly cost counts against worth (Lin and Bilmes tune the same exponent); below 1 it favours longer segments."""

OVERSHOOT = 1.15
"""How far beyond the budget to choose: estimates run high, and the end is cut by counting."""


@define(eq=False)
class Segment:
    """Hold one piece of a line: where it stands, where its copy starts, its terms and its cost in tokens.

    `part` is 0 for a call's arguments and 1 for the text. `boost` multiplies its worth.
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


class Chooser:
    """Rank segments greedily; the order in which they are chosen is the order in which they matter."""

    def __init__(self, segments: Sequence[Segment], weights: Sequence[float], label_costs: Sequence[int]) -> None:
        self._segments = segments
        self._left = list(weights)
        self._label_costs = list(label_costs)

    def choose(self, budget: int) -> list[int]:
        """Return indices of segments, most worth first, that together cost a little more than `budget` tokens."""
        heap = [(*self._rank(index), index) for index in range(len(self._segments))]
        heapify(heap)
        chosen: list[int] = []
        room = budget * OVERSHOOT + 1
        while heap and room > 0:
            _, _, index = heappop(heap)
            rank = self._rank(index)
            if heap and rank > heap[0][:2]:
                heappush(heap, (*rank, index))
                continue
            chosen.append(index)
            room -= self._take(index)
        return chosen

    def _rank(self, index: int) -> tuple[bool, float]:
        segment = self._segments[index]
        left = self._left
        gain = segment.boost * sum([left[term] for term in segment.terms]) + 1e-6
        return not segment.standing, -gain / (segment.cost + self._label_costs[segment.line]) ** COST_POWER

    def _take(self, index: int) -> int:
        segment = self._segments[index]
        for term in segment.terms:
            self._left[term] *= REPEATED
        label_cost, self._label_costs[segment.line] = self._label_costs[segment.line], 0
        return segment.cost + label_cost
