"""Print as many of the chosen segments as a number of tokens takes, counted and not estimated."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from attrs import frozen

from polycontext.pressure._choice import Segment
from polycontext.pressure._clip import clip
from polycontext.pressure._lines import Line, print_line
from polycontext.pressure._segments import Span
from polycontext.window import TokenCounter

_FILL_TRIES = 12
_FILL_TOKENS = 2000
"""Above this many tokens the prefix alone fills the budget to half a percent."""


@frozen
class Fitter:
    """Print selections of `segments` on their `lines`, each text counted before it is returned."""

    lines: Sequence[Line]
    segments: Sequence[Segment]
    counter: TokenCounter

    def everything(self, max_tokens: int) -> str | None:
        """Return all segments printed if that fits, None otherwise."""
        if sum(segment.cost for segment in self.segments) > 2 * max_tokens:
            return None
        text = self._print(range(len(self.segments)))
        return text if self.counter.count(text) <= max_tokens else None

    def best(self, chosen: Sequence[int], max_tokens: int) -> str:
        """Return the longest start of `chosen` that fits, topped up with what still fits after it.

        Where not even the first segment fits with its label, return the longest start of one without a label.
        """
        kept = self._longest_start(chosen, max_tokens)
        text = self._print(chosen[:kept])
        if max_tokens <= _FILL_TOKENS:
            text = self._topped_up(chosen, kept, text, max_tokens)
        return text or self._clipped(chosen, max_tokens)

    def _longest_start(self, chosen: Sequence[int], max_tokens: int) -> int:
        bills = [0, *accumulate(self.segments[index].cost for index in chosen)]
        fits, over, guess, halve = 0, len(bills), bisect_right(bills, max_tokens) - 1, False
        while over - fits > 1:
            guess = min(max(guess, fits + 1), over - 1)
            tokens = self.counter.count(self._print(chosen[:guess]))
            if tokens > max_tokens:
                over = guess
            else:
                fits = guess
                if max_tokens - tokens <= max_tokens // 200:
                    break
            guess = (fits + over) // 2 if halve else bisect_right(bills, bills[guess] * max_tokens // max(1, tokens)) - 1
            halve = not halve
        return fits

    def _topped_up(self, chosen: Sequence[int], kept: int, text: str, max_tokens: int) -> str:
        taken = list(chosen[:kept])
        for index in chosen[kept + 1 : kept + 1 + _FILL_TRIES]:
            longer = self._print([*taken, index])
            if self.counter.count(longer) <= max_tokens:
                taken.append(index)
                text = longer
        return text

    def _clipped(self, chosen: Sequence[int], max_tokens: int) -> str:
        for index in chosen[:_FILL_TRIES]:
            segment = self.segments[index]
            text = self.lines[segment.line].parts[segment.part][segment.start : segment.end].strip()
            if clipped := clip(text.replace("\n", " "), max_tokens, self.counter):
                return clipped
        return ""

    def _print(self, indices: Sequence[int]) -> str:
        spans: dict[int, tuple[list[Span], list[Span]]] = {}
        for index in sorted(indices):
            segment = self.segments[index]
            spans.setdefault(segment.line, ([], []))[segment.part].append((segment.lead, segment.end))
        printed = (print_line(self.lines[line], *parts) for line, parts in spans.items())
        return "\n".join(line for line in printed if line)
