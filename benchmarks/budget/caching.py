"""What a provider's prompt cache keeps of successive requests, and the bill beside the best schedule known afterwards."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from statistics import mean

from attrs import frozen

from benchmarks.budget.row import Found, Row, Scale
from benchmarks.conversation import RememberingCounter, turns
from polycontext.polynomial import ContextSession
from polycontext.pressure import FixedThreshold
from polycontext.window import ContextWindow, count_turn

HIGH, LOW = 0.95, 0.5
LIMITS = {8_000: 0.90, 32_000: 0.97}
MOST_TURNS = 6_000
CACHED = 0.1
"""What a cached token costs, in units of the input price."""


@frozen
class Sent:
    """Hold what one request cost: its tokens, and those that stood at the head of the request before."""

    tokens: int
    kept: int

    @property
    def bill(self) -> float:
        """Return the price in input tokens."""
        return self.tokens - self.kept + CACHED * self.kept


def cache_rows(scale: Scale) -> Iterator[Row]:
    """Yield the share of each request that is a prefix of the one before, and the bill, at thresholds .95/.5."""
    found: list[Found] = []
    for max_tokens, limit in LIMITS.items():
        scale.tell(f"prefixes at {max_tokens:,} tokens")
        sent, new = _sent(max_tokens, min(scale.turns, MOST_TURNS * max_tokens // 8_000))
        kept = mean(each.kept / each.tokens for each in sent[1:])
        found.append(Found(f"prefix kept, {max_tokens // 1_000}k", kept, limit, most=False))
        found.append(Found(f"bill, {max_tokens // 1_000}k", sum(each.bill for each in sent) / best_bill(sent, new, max_tokens), 1.05, " x"))
    yield Row(
        "prefix kept between successive requests; bill beside the best schedule, thresholds .95/.5",
        tuple(found),
        (f"cached tokens at {CACHED:g} of the price; the best schedule compresses to what this session does, when that is cheapest",),
    )


def _sent(max_tokens: int, count: int) -> tuple[list[Sent], list[int]]:
    """Return what each turn's request cost, and the tokens that each turn added."""
    session = ContextSession(max_tokens, counter=RememberingCounter(), threshold=FixedThreshold(HIGH, LOW))
    sent: list[Sent] = []
    new: list[int] = []
    for turn in turns(count):
        before, epoch = session.window, session.epoch.number
        session.add(turn)
        after = session.window
        kept = before.total_tokens if session.epoch.number == epoch else _common(before, after)
        sent.append(Sent(after.total_tokens, kept))
        new.append(count_turn(after.counter, turn))
    return sent, new


def _common(before: ContextWindow, after: ContextWindow) -> int:
    """Return the tokens of the turns at the head of both."""
    tokens = 0
    for one, other in zip(before.all_turns(), after.all_turns(), strict=False):
        if one != other:
            break
        tokens += count_turn(after.counter, one)
    return tokens


def best_bill(sent: Sequence[Sent], new: Sequence[int], max_tokens: int) -> float:
    """Return the least bill of any choice of moments to compress, each down to what the session's own compressions left and kept.

    Dynamic programming over the turns: the best bill up to a compression, and the requests from there to the next.
    """
    compressed = [each for before, each in pairwise(sent) if each.kept < before.tokens]
    if not compressed:
        return sum(each.bill for each in sent)
    left, kept = round(mean(each.tokens for each in compressed)), round(mean(each.kept for each in compressed))
    sums = [0, *accumulate(new)]
    best = [float("inf")] * (len(new) + 1)
    best[0] = 0.0
    for start in range(len(new)):
        if best[start] == float("inf"):
            continue
        bill, held = best[start], left if start else 0
        for place in range(start, len(new)):
            tokens = held + sums[place + 1] - sums[start]
            if tokens > max_tokens and place > start:
                break
            first = place == start and start > 0
            cached = kept if first else tokens - new[place]
            bill += tokens - cached + CACHED * cached
            best[place + 1] = min(best[place + 1], bill)
    return best[-1]
