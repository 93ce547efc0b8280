"""The account of a session: its requests, as the vendors' prompt caches would have served them.

A request is a draft until the conversation goes on. If several requests are made in the same state
of the conversation, only the last one counts, so calling `request()` twice or retrying after a
failure costs nothing extra. A bill includes the current draft.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from attrs import define, evolve, field, frozen

from polycontext.base import CallerError
from polycontext.pressure.schedule import BY_ITSELF, Prices
from polycontext.window import ContextWindow, TokenCounter
from polycontext.window.providers import Provider, Rendered

from .blocks import Blocks, Layout, start_of
from .entries import Bill, Miss, Why
from .prefix_cache import HOUR, CacheRules, CacheUse, Held, PrefixCache, rules_of
from .prices import MARKED, input_units, request_cost

_SHORT, _LONG = 300.0, HOUR


@define(slots=False, eq=False)
class SpendingError(CallerError, RuntimeError):
    """A request would exceed a spending limit; nothing was sent or counted.

    `what` is "tokens" or "money", `spent` the amount before the request, and `asked` the amount
    that the request and its longest reply would add.
    """

    what: str
    spent: float
    asked: float
    limit: float

    def __str__(self) -> str:
        spent, asked, limit = (
            f"{value:,.0f}" if self.what == "tokens" else f"{value:,.4f}"
            for value in (self.spent, self.asked, self.limit)
        )
        return (
            f"{self.what}: {spent} spent and {asked} requested, but the limit is {limit}. Shorten "
            f"the request or raise the limit."
        )


class _Row(NamedTuple):
    """The tokens of a request: read, in full, written for less or more than an hour, and output."""

    read: int
    plain: int
    short: int
    long: int
    output: int

    @property
    def written(self) -> dict[float, int]:
        """Return the written tokens by the seconds that they are kept."""
        return {seconds: n for seconds, n in ((_SHORT, self.short), (_LONG, self.long)) if n}

    def money(self, prices: Prices) -> float:
        """Return the cost of the request."""
        return request_cost(
            prices, plain=self.plain, read=self.read, written=self.written, output=self.output
        )


@frozen
class Request:
    """A rendered request with its window, and the tools that are sent with it.

    `ends` holds the number of blocks up to the end of each turn.
    """

    rendered: Rendered
    window: ContextWindow
    provider: Provider
    ends: Sequence[int]
    tools: Sequence[Mapping[str, Any]] = ()


@frozen
class Limit:
    """A spending limit in tokens, and in money at `prices`; replies take up to `answer` tokens."""

    tokens: int | None = None
    money: float | None = None
    prices: Prices = BY_ITSELF
    answer: int = 0


@define
class _Draft:
    """The latest request, which counts unless another is made in the same state."""

    window: ContextWindow
    ends: Sequence[int]
    blocks: Blocks
    key: str | None
    use: CacheUse
    at: float
    misses: tuple[Miss, ...] = ()
    new: int = 0
    output: int = 0

    @property
    def row(self) -> _Row:
        """Return the tokens of the request."""
        use = self.use
        long = sum(tokens for seconds, tokens in use.written.items() if seconds >= HOUR)
        plain = self.blocks.tokens - use.read - use.all_written
        return _Row(use.read, plain, use.all_written - long, long, self.output)


@frozen
class _Base:
    """The values of the last counted request that the next one is compared with."""

    window: ContextWindow
    begun: tuple[bytes, bytes]
    key: str | None
    misses: tuple[Miss, ...]


@define(eq=False)
class _Thread:
    """The requests in one format: the rows that count, and the latest as a draft."""

    rules: CacheRules
    layout: Layout
    cache: PrefixCache
    last: _Base | None = None
    draft: _Draft | None = None
    rows: list[_Row] = field(factory=list)
    missed: dict[tuple[Why, str], Miss] = field(factory=dict)
    new: int = 0

    def settle(self) -> None:
        """Count the draft."""
        draft, self.draft = self.draft, None
        if draft is None:
            return
        self.layout.take(draft.blocks)
        self.cache.keep(draft.use, draft.at)
        self.last = _Base(draft.window, draft.blocks.begun, draft.key, draft.misses)
        self.rows.append(draft.row)
        self.new += draft.new
        for miss in draft.misses:
            _add(self.missed, miss)


@define
class Account:
    """The account of one session's requests; `clock` returns seconds."""

    clock: Callable[[], float]
    counter: TokenCounter
    model: str | None = None
    limit: Limit | None = None
    _threads: dict[Provider, _Thread] = field(init=False, factory=dict)
    _latest: _Thread | None = field(init=False, default=None)
    _spent: tuple[int, float] = field(init=False, default=(0, 0.0))

    def add_output(self, tokens: int) -> None:
        """Add the tokens of the model's output to the latest request."""
        if self._latest is not None and self._latest.draft is not None:
            self._latest.draft.output += tokens

    def add(self, request: Request) -> None:
        """Record a request as a draft.

        Raises:
            SpendingError: the request would exceed the limit; it is not recorded.
        """
        thread = self._thread(request.provider)
        if thread.draft is not None and not request.window.has_contents_of(thread.draft.window):
            self._settle(thread)
        draft = self._prepare(thread, request)
        if self.limit is not None:
            self._check(thread, draft, self.limit)
        thread.draft, self._latest = draft, thread

    def restrict(self, limit: Limit | None) -> None:
        """Set the limit on all spending, including earlier requests; None removes it."""
        self.limit = limit
        self._spent = self._counted(limit)

    def bill(self, prices: Prices | None = None, provider: Provider | None = None) -> Bill:
        """Return the bill for all formats or for one; without `prices`, in tokens only."""
        threads = [thread for own, thread in self._threads.items() if provider in (None, own)]
        return _billed(threads, prices, self._latest)

    def _thread(self, provider: Provider) -> _Thread:
        thread = self._threads.get(provider)
        if thread is None:
            thread = self._threads[provider] = _Thread(
                rules_of(provider, self.model),
                Layout(provider, self.counter),
                PrefixCache(self.clock),
            )
        return thread

    def _prepare(self, thread: _Thread, request: Request) -> _Draft:
        rules, last, window = thread.rules, thread.last, request.window
        key = None if rules.marked else request.rendered.options.get("prompt_cache_key")
        begun = start_of(self.model)
        if not rules.marked:
            begun = start_of(self.model, key, list(request.tools))
        grown = last is not None and window.extends(last.window)
        blocks = thread.layout.lay(request.rendered, request.tools, begun, grown=grown)
        draft = _Draft(window, request.ends, blocks, key, _use(thread, blocks), self.clock())
        draft.misses = tuple(_misses(thread, draft, last))
        draft.new = blocks.tokens - draft.use.read - sum(miss.tokens for miss in draft.misses)
        return draft

    def _settle(self, thread: _Thread) -> None:
        draft = thread.draft
        thread.settle()
        if draft is not None and self.limit is not None:
            (tokens, money), row = self._spent, draft.row
            self._spent = tokens + sum(row), money + row.money(self.limit.prices)

    def _counted(self, limit: Limit | None) -> tuple[int, float]:
        """Return the tokens and the money of the requests that already count."""
        if limit is None:
            return 0, 0.0
        rows = [row for thread in self._threads.values() for row in thread.rows]
        return sum(map(sum, rows)), sum(row.money(limit.prices) for row in rows)

    def _check(self, thread: _Thread, draft: _Draft, limit: Limit) -> None:
        drafts = (each.draft for each in self._threads.values() if each is not thread)
        others = [other.row for other in drafts if other is not None]
        row, (tokens, money) = draft.row._replace(output=limit.answer), self._spent
        for what, before, cost, most in (
            ("tokens", tokens + sum(map(sum, others)), sum(row), limit.tokens),
            (
                "money",
                money + sum(each.money(limit.prices) for each in others),
                row.money(limit.prices),
                limit.money,
            ),
        ):
            if most is not None and before + cost > most:
                raise SpendingError(what, before, cost, most)


def _use(thread: _Thread, blocks: Blocks) -> CacheUse:
    """Return what the cache would do for a request."""
    rules, cache, digests, sums = thread.rules, thread.cache, blocks.digests, blocks.sums
    if rules.marked:
        return cache.serve(
            digests, sums, blocks.marks, floor=rules.floor, look_back=rules.look_back, sent=False
        )
    return cache.serve_automatic(
        digests, sums, floor=rules.floor, step=rules.step, seconds=rules.seconds, sent=False
    )


# --- which blocks are whose -------------------------------------------------------


def _first_block(ends: Sequence[int], blocks: Blocks, turn: int) -> int:
    """Return the first block of a turn of the view, shifted by the blocks before all turns."""
    shift = len(blocks.sums) - (ends[-1] if ends else 0)
    return max(0, shift) + (ends[turn - 1] if turn else 0)


# --- misses -------------------------------------------------------------------------


def _misses(thread: _Thread, draft: _Draft, last: _Base | None) -> Iterator[Miss]:
    """Yield the tokens of a request that were sent before but not read, with the reason."""
    blocks, read = draft.blocks, draft.use.read
    if last is None:
        if blocks.tokens > read:
            yield Miss(Why.FIRST, blocks.tokens - read)
        return
    newest = _new_from(draft, last)
    old = blocks.up_to(min(newest, len(blocks.sums)))
    same = blocks.up_to(min(blocks.common, newest))
    if same > read:
        yield from _unread(thread, draft, same)
    changed = old - max(same, read)
    if changed > 0:
        if draft.key != last.key:
            yield Miss(Why.KEY, changed)
        else:
            yield Miss(Why.CHANGED, changed, _what(draft, last), blocks.common)


def _new_from(draft: _Draft, last: _Base) -> int:
    """Return the first of the blocks at the end that were in no earlier request."""
    window, before = draft.window, last.window
    if window.extends(before):
        return max(draft.blocks.common, _first_block(draft.ends, draft.blocks, len(before)))
    known = {turn.resource_id for turn in before.all_turns()}
    turns = window.all_turns()
    first = len(turns)
    while first and turns[first - 1].resource_id not in known and not turns[first - 1].is_gist:
        first -= 1
    return _first_block(draft.ends, draft.blocks, first)


def _unread(thread: _Thread, draft: _Draft, same: int) -> Iterator[Miss]:
    """Yield the reasons why some of the first `same` tokens are not read although sent before."""
    blocks, rules, read = draft.blocks, thread.rules, draft.use.read
    if same < rules.floor:
        yield Miss(Why.FLOOR, same - read)
        return
    if not rules.marked:
        whole = same // rules.step * rules.step
        if same > max(whole, read):
            yield Miss(Why.STEP, same - max(whole, read))
        if whole > read:
            yield Miss(Why.EXPIRED, whole - read)
        return
    first = 0 if draft.use.hit is None else draft.use.hit + 1
    held = {thread.cache.held(blocks.digests[block]) for block in range(first, blocks.common)}
    if not any(blocks.sums[mark.block] >= rules.floor for mark in blocks.marks):
        why = Why.UNMARKED if not blocks.marks else Why.FLOOR
    elif Held.LIVING in held:
        why = Why.FAR
    else:
        why = Why.EXPIRED if Held.EXPIRED in held else Why.UNMARKED
    yield Miss(why, same - read)


def _what(draft: _Draft, last: _Base) -> str:
    """Return the name of the turn or part at the first block that changed."""
    blocks, window = draft.blocks, draft.window
    block = blocks.common
    if block < blocks.tools or (blocks.begun[0] != last.begun[0]):
        return "tools"
    if block < blocks.tools + blocks.system:
        return "system"
    shift = _first_block(draft.ends, blocks, 0)
    turn = window.peek(min(bisect_right(draft.ends, block - shift) + 1, len(window)))
    named = f"turn {turn.resource_id}" if turn is not None else "the first message"
    epoch = window.epoch
    return (
        named
        if epoch.number == last.window.epoch.number
        else f"{named}, epoch {epoch.number} by {epoch.why}"
    )


# --- sums -----------------------------------------------------------------------------


def _add(missed: dict[tuple[Why, str], Miss], miss: Miss) -> None:
    known = missed.setdefault((miss.why, miss.what), evolve(miss, tokens=0, times=0))
    tokens, times = known.tokens + miss.tokens, known.times + miss.times
    missed[miss.why, miss.what] = evolve(known, tokens=tokens, times=times)


def _billed(threads: Sequence[_Thread], prices: Prices | None, latest: _Thread | None) -> Bill:
    written: Counter[float] = Counter()
    missed: dict[tuple[Why, str], Miss] = {}
    every, new, units = list[_Row](), 0, 0.0
    for thread in threads:
        drafts = [] if thread.draft is None else [thread.draft]
        ratios = prices or (MARKED if thread.rules.marked else BY_ITSELF)
        for row in (*thread.rows, *(each.row for each in drafts)):
            every.append(row)
            written.update(row.written)
            units += input_units(ratios, plain=row.plain, read=row.read, written=row.written)
        new += thread.new + sum(each.new for each in drafts)
        for miss in chain(thread.missed.values(), *(each.misses for each in drafts)):
            _add(missed, miss)
    newest = None if latest is None or latest not in threads else latest.draft or latest.last
    return Bill(
        requests=len(every),
        read=sum(row.read for row in every),
        written=dict(written),
        plain=sum(row.plain for row in every),
        new=new,
        missed=tuple(missed.values()),
        last=() if newest is None else newest.misses,
        output=sum(row.output for row in every),
        units=units,
        money=None if prices is None else sum((row.money(prices) for row in every), 0.0),
    )
