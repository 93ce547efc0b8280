"""Measure how much of successive requests a provider's prompt cache keeps, and the bill.

The bill is compared with the best schedule known afterwards and with other libraries. Every list
goes through the simulator of OpenAI's cache: from 1,024 tokens on, in steps of 128, with a cached
token at a tenth of the price. A request is sent whenever the model is asked: after a question and
after a result. Writing a summary costs nothing here, for any library.
"""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import accumulate, pairwise
from statistics import mean
from typing import Any

from attrs import define, field, frozen

from benchmarks.budget.caching_peers import PEERS, Trimmer, is_installed, tokens_of
from benchmarks.budget.row import Found, Row, Scale
from benchmarks.conversation import RememberingCounter, turns
from polycontext.polynomial import ContextSession
from polycontext.pressure import FixedThreshold
from polycontext.pressure.schedule import BY_ITSELF
from polycontext.window import REQUEST_OVERHEAD
from polycontext.window.providers import Provider, get_format
from polycontext.window.wire_text import compact
from tests.vendors.prefix_cache import FLOOR, STEP, PrefixCache

HIGH, LOW = 0.95, 0.5
LIMITS = {8_000: 0.90, 32_000: 0.97}
MOST_TURNS = 2_000

CACHED = 0.1
"""The price of a cached token, in units of the input price."""


@frozen
class Sent:
    """The cost of one request.

    `tokens` is its length, `kept` the length of the prefix it shares with the previous request, and
    `read` the tokens of it that the cache served.
    """

    tokens: int
    kept: int
    read: int | None = None

    @property
    def bill(self) -> float:
        """Return the price in input tokens."""
        read = self.kept if self.read is None else self.read
        return self.tokens - read + CACHED * read


@define
class Teller:
    """A client that sends lists of messages and records the cost of each."""

    _cache: PrefixCache = field(factory=lambda: PrefixCache(lambda: 0.0))
    _last: list[dict[str, Any]] = field(factory=list)
    _digests: list[bytes] = field(factory=list)
    _sums: list[int] = field(factory=list)
    sent: list[Sent] = field(factory=list)

    def send(self, messages: list[dict[str, Any]]) -> None:
        """Send one request and record its cost."""
        pairs = enumerate(zip(messages, self._last, strict=False))
        shorter = min(len(messages), len(self._last))
        same = next((place for place, (new, old) in pairs if new != old), shorter)
        kept = self._sums[same - 1] if same else 0
        del self._digests[same:], self._sums[same:]
        for message in messages[same:]:
            before = self._digests[-1] if self._digests else b""
            self._digests.append(blake2b(before + compact(message).encode()).digest())
            total = self._sums[-1] if self._sums else REQUEST_OVERHEAD
            self._sums.append(total + tokens_of(message))
        use = self._cache.serve_automatic(self._digests, self._sums)
        self.sent.append(Sent(self._sums[-1], kept, use.read))
        self._last = messages


@frozen
class Told:
    """The requests of a run, and the tokens that were added before each."""

    sent: Sequence[Sent]
    new: Sequence[int]

    @property
    def kept(self) -> float:
        """Return the mean share of a request that is a prefix of the previous one."""
        return mean(each.kept / each.tokens for each in self.sent[1:])

    @property
    def bill(self) -> float:
        """Return the price of all requests."""
        return sum(each.bill for each in self.sent)


def cache_rows(scale: Scale) -> Iterator[Row]:
    """Yield the prefix share and the bill at thresholds .95/.5, then those of other libraries."""
    found: list[Found] = []
    notes: list[str] = []
    ours: dict[int, Told] = {}
    for max_tokens, limit in LIMITS.items():
        count, size = min(scale.turns, MOST_TURNS), f"{max_tokens // 1_000}k"
        scale.tell(f"prefixes at {max_tokens:,} tokens")
        ours[max_tokens] = told = _told(_Ours(max_tokens, paying=True), count)
        found.append(Found(f"prefix kept, {size}", told.kept, limit, most=False))
        found.append(
            Found(
                f"bill, {size}",
                told.bill / best_bill(told.sent, told.new, max_tokens, STEP),
                1.05,
                " x",
            )
        )
        late = _told(_Ours(max_tokens, paying=False), count)
        dearer = late.bill / best_bill(late.sent, late.new, max_tokens, STEP)
        notes.append(
            f"{size}: compressing at the high mark alone keeps {late.kept:.3f} and costs "
            f"{dearer:.3g} x the best schedule"
        )
    yield Row(
        (
            "prefix kept between successive requests; bill beside the best schedule, thresholds "
            ".95/.5, compressing where `pays` says so"
        ),
        tuple(found),
        (*notes, "the best schedule compresses to what this session does, when that is cheapest"),
    )
    yield Row("what others keep and pay, in the same run", (), tuple(_beside(scale, ours)))


def _beside(scale: Scale, ours: Mapping[int, Told]) -> Iterator[str]:
    for max_tokens, own in ours.items():
        yield (
            f"{max_tokens // 1_000}k: polycontext keeps {own.kept:.3f}, "
            f"{own.bill / len(own.sent):,.0f} tokens a request"
        )
        count = min(scale.turns, MOST_TURNS)
        for name, make in PEERS.items():
            if not is_installed(name):
                yield f"{max_tokens // 1_000}k: {name} is not installed (just bench cache_peers)"
                continue
            scale.tell(f"prefixes of {name} at {max_tokens:,} tokens")
            told = _told(make(max_tokens, HIGH, LOW), count)
            price = told.bill / len(told.sent)
            yield (
                f"{max_tokens // 1_000}k: {name} keeps {told.kept:.3f}, {price:,.0f} tokens a "
                f"request, {told.bill / own.bill:.2f} x ours"
            )


@define
class _Ours:
    """A session behind the interface of the other libraries' trimmers."""

    max_tokens: int
    paying: bool
    _session: ContextSession = field(init=False)

    def __attrs_post_init__(self) -> None:
        prices = BY_ITSELF if self.paying else None
        self._session = ContextSession(
            self.max_tokens,
            counter=RememberingCounter(),
            threshold=FixedThreshold(HIGH, LOW),
            prices=prices,
        )

    def add(self, message: dict[str, Any]) -> None:
        """Add one message."""
        self._session.add_message(message, Provider.OPENAI)

    def messages(self) -> list[dict[str, Any]]:
        """Return the messages to send."""
        return self._session.messages(Provider.OPENAI)


def _told(trimmer: Trimmer, count: int) -> Told:
    """Run a conversation of `count` turns through `trimmer` and return its requests."""
    teller, new, added = Teller(), list[int](), 0
    render = get_format(Provider.OPENAI).render
    for turn in turns(count):
        (message,) = render([turn]).messages
        trimmer.add(message)
        added += tokens_of(message)
        if message["role"] != "assistant":
            teller.send(trimmer.messages())
            new.append(added)
            added = 0
    return Told(teller.sent, new)


def best_bill(sent: Sequence[Sent], new: Sequence[int], max_tokens: int, step: int = 1) -> float:
    """Return the least bill of any schedule of compressions, known afterwards.

    Each compression leaves and keeps as much as the session's own did on average. Dynamic
    programming over the requests: the best bill up to a compression, and the requests from there to
    the next. `step` is the granularity of the cache in tokens.
    """
    compressed = [each for before, each in pairwise(sent) if each.kept < before.tokens]
    if not compressed:
        return sum(each.bill for each in sent)
    left, kept = (
        round(mean(each.tokens for each in compressed)),
        round(mean(each.kept for each in compressed)),
    )
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
            read = _served(kept if first else tokens - new[place], step)
            bill += tokens - read + CACHED * read
            best[place + 1] = min(best[place + 1], bill)
    return best[-1]


def _served(tokens: int, step: int) -> int:
    return tokens if step == 1 else tokens // step * step if tokens >= FLOOR else 0
