"""Print as many of the chosen segments as a number of tokens takes, counted and not estimated."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from attrs import frozen

from polycontext.pressure.extractive.choice import Chooser, Segment
from polycontext.pressure.extractive.clip import clip
from polycontext.pressure.extractive.lines import Line, print_line
from polycontext.pressure.extractive.segments import Span
from polycontext.window import TokenCounter

OVERSHOOT = 1.35
"""How far beyond the budget to choose: estimates run high, and the end is cut by counting."""

LEAST_SPARE = 64
"""How many tokens beyond the budget to choose at least, so that a tiny budget has pieces to try."""

MOST_OVERESTIMATED = 4
"""How many times their true cost segments may seem to cost: each is billed its lead-in and a gap, which joined ones share."""

TOP_UP_TOKENS = 2000
"""Above this many tokens the start alone fills the budget to half a percent."""

_TRIES = 12
_LABEL_SHARE = 3


@frozen
class Fitter:
    """Print selections of `segments` on their `lines`, each text counted before it is returned."""

    lines: Sequence[Line]
    segments: Sequence[Segment]
    counter: TokenCounter

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
        while kept == len(chooser.chosen) and chooser.choose(max_tokens):
            kept = self._longest_start(chooser.chosen, max_tokens)
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
        for index in chosen[kept + 1 : kept + 1 + _TRIES] if max_tokens <= TOP_UP_TOKENS else ():
            longer = self._print([*taken, index])
            if self.counter.count(longer) <= max_tokens:
                taken.append(index)
                text = longer
        return text

    def _clipped(self, chosen: Sequence[int], max_tokens: int) -> str:
        """Return the longest start that fits of the first segment with any, under its label where that leaves room."""
        for index in chosen[:_TRIES]:
            segment = self.segments[index]
            line = self.lines[segment.line]
            labelled = clip(self._print([index]), max_tokens, self.counter)
            if len(labelled) > _LABEL_SHARE * len(line.label):
                return labelled
            text = line.parts[segment.part][segment.start : segment.end].strip().replace("\n", " ")
            if bare := clip(text, max_tokens, self.counter):
                return bare
        return ""

    def _print(self, indices: Sequence[int]) -> str:
        spans: dict[int, tuple[list[Span], list[Span]]] = {}
        for index in sorted(indices):
            segment = self.segments[index]
            spans.setdefault(segment.line, ([], []))[segment.part].append((segment.lead, segment.end))
        printed = (print_line(self.lines[line], *parts) for line, parts in spans.items())
        return "\n".join(line for line in printed if line)
