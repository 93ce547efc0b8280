"""The account of a session: what it asked for, as the vendors' prompt caches would have served it.

A request counts once it is known to stand: of several that are asked for in one state of the conversation the last one counts, when
the conversation has gone on, or when somebody looks. So looking at a list twice, or asking again after a failure, pays nothing.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from threading import RLock
from typing import Any

from attrs import define, evolve, field, frozen

from polycontext.linearity import ResourceClass
from polycontext.window import ContextWindow, TokenCounter
from polycontext.window.providers import Provider, Rendered

from ..errors import SpendingError
from .bill import Bill, Miss, Why
from .blocks import Laid, Layout, start_of
from .cache_plan import CachePlan
from .prefix_cache import HOUR, Breakpoint, CacheRules, CacheUse, Held, PrefixCache, rules_of
from .prices import BY_ITSELF, MARKED, Prices

_SHORT, _LONG = 300.0, HOUR
_Row = tuple[int, int, int, int, int]
"""Tokens of a request: read, in full, written for less than an hour, for longer, answered."""


@frozen
class Delivered:
    """Hold a request as it was handed out: for which window, and how many blocks stand behind each of its turns."""

    rendered: Rendered
    window: ContextWindow
    provider: Provider
    ends: Sequence[int]


@frozen
class Limit:
    """Hold what may be spent: tokens, money at `prices`, and how many tokens an answer may have at most."""

    tokens: int | None = None
    money: float | None = None
    prices: Prices = BY_ITSELF
    answer: int = 0


@define
class _Asked:
    """Hold the request that was asked for last, which counts unless another one is asked for in the same state."""

    window: ContextWindow
    ends: Sequence[int]
    laid: Laid
    key: str | None
    marks: tuple[Breakpoint, ...]
    use: CacheUse
    at: float
    misses: tuple[Miss, ...] = ()
    new: int = 0
    output: int = 0

    @property
    def plain(self) -> int:
        """Return the tokens that are neither read nor written."""
        return self.laid.tokens - self.use.read - self.use.all_written

    def money(self, prices: Prices) -> float:
        """Return what it costs."""
        return prices.money(plain=self.plain, read=self.use.read, written=self.use.written, output=self.output)


@frozen
class _Sent:
    """Hold what the next request is compared with."""

    window: ContextWindow
    begun: tuple[bytes, bytes]
    key: str | None
    marks: tuple[Breakpoint, ...]
    misses: tuple[Miss, ...]


@define(eq=False)
class _Thread:
    """Hold what was asked for in one format: what counts already, and the last one, which may not."""

    rules: CacheRules
    layout: Layout
    cache: PrefixCache
    last: _Sent | None = None
    asked: _Asked | None = None
    rows: list[_Row] = field(factory=list)
    missed: dict[tuple[Why, str], Miss] = field(factory=dict)
    new: int = 0

    def settle(self) -> None:
        """Let the last request count."""
        asked, self.asked = self.asked, None
        if asked is None:
            return
        self.layout.take(asked.laid)
        self.cache.keep(asked.use, asked.at)
        self.last = _Sent(asked.window, asked.laid.begun, asked.key, asked.marks, asked.misses)
        self.rows.append(_row(asked))
        self.new += asked.new
        for miss in asked.misses:
            _add(self.missed, miss)


@define
class Account:
    """Keep the account of one session's requests; `clock` tells seconds, `tools` are sent with every request. Safe under threads."""

    clock: Callable[[], float]
    counter: TokenCounter
    model: str | None = None
    tools: Sequence[Mapping[str, Any]] = ()
    limit: Limit | None = None
    _threads: dict[Provider, _Thread] = field(init=False, factory=dict)
    _latest: _Thread | None = field(init=False, default=None)
    _spent: tuple[int, float] = field(init=False, default=(0, 0.0))
    _lock: RLock = field(init=False, repr=False, eq=False, factory=RLock)

    def heard(self, tokens: int) -> None:
        """Take in that the model has said so many tokens since the last request."""
        with self._lock:
            if self._latest is not None and self._latest.asked is not None:
                self._latest.asked.output += tokens

    def ask(self, delivered: Delivered, plan: CachePlan | None = None, key: str | None = None) -> tuple[Laid, tuple[Breakpoint, ...]]:
        """Take in that a request is asked for; return how it is laid out and where breakpoints go: those of `plan`, or its own.

        Raises:
            SpendingError: with it the limit would be crossed; then nothing has been asked for.
        """
        with self._lock:
            thread = self._thread(delivered.provider)
            if thread.asked is not None and not delivered.window.has_contents_of(thread.asked.window):
                self._settle(thread)
            asked = self._asked(thread, delivered, plan, None if thread.rules.marked else key)
            if self.limit is not None:
                self._check(thread, asked, self.limit)
            thread.asked, self._latest = asked, thread
            return asked.laid, asked.marks

    def restrict(self, limit: Limit | None) -> None:
        """Say what may be spent in all, what was spent before included; None takes the limit away."""
        with self._lock:
            self.limit = limit
            self._spent = self._counted(limit)

    def bill(self, prices: Prices | None = None, provider: Provider | None = None) -> Bill:
        """Return what was spent so far, in all formats or in one; without `prices` in tokens alone."""
        with self._lock:
            threads = [thread for own, thread in self._threads.items() if provider in (None, own)]
            return _billed(threads, prices, self._latest)

    def _thread(self, provider: Provider) -> _Thread:
        thread = self._threads.get(provider)
        if thread is None:
            thread = self._threads[provider] = _Thread(
                rules_of(provider, self.model), Layout(provider, self.counter), PrefixCache(self.clock)
            )
        return thread

    def _asked(self, thread: _Thread, delivered: Delivered, plan: CachePlan | None, key: str | None) -> _Asked:
        rules, last, window = thread.rules, thread.last, delivered.window
        tools = list(self.tools if plan is None or plan.tools is None else plan.tools)
        begun = start_of(self.model) if rules.marked else start_of(self.model, key, tools)
        laid = thread.layout.lay(delivered.rendered, tools, begun, grown=last is not None and window.extends(last.window))
        marks = laid.carried
        if plan is not None:
            before = last.marks[-1].block if last is not None and last.marks else None
            marks = plan.marks(laid, rules, head=_head(window, delivered.ends, laid), before=before)
        use = _use(thread, laid, marks)
        asked = _Asked(window, delivered.ends, laid, key, marks, use, self.clock())
        asked.misses = tuple(_misses(thread, asked, last))
        asked.new = laid.tokens - use.read - sum(miss.tokens for miss in asked.misses)
        return asked

    def _settle(self, thread: _Thread) -> None:
        asked = thread.asked
        thread.settle()
        if asked is not None and self.limit is not None:
            tokens, money = self._spent
            self._spent = (tokens + asked.laid.tokens + asked.output, money + asked.money(self.limit.prices))

    def _counted(self, limit: Limit | None) -> tuple[int, float]:
        """Return the tokens and the money of what counts already."""
        if limit is None:
            return 0, 0.0
        rows = [row for thread in self._threads.values() for row in thread.rows]
        return sum(map(sum, rows)), sum(_money(row, limit.prices) for row in rows)

    def _check(self, thread: _Thread, asked: _Asked, limit: Limit) -> None:
        pending = [each.asked for each in self._threads.values() if each is not thread and each.asked is not None]
        whole = evolve(asked, output=limit.answer)
        costs: dict[str, Callable[[_Asked], float]] = {
            "tokens": lambda each: each.laid.tokens + each.output,
            "money": lambda each: each.money(limit.prices),
        }
        for (what, cost), spent, most in zip(costs.items(), self._spent, (limit.tokens, limit.money), strict=True):
            before = spent + sum(map(cost, pending))
            if most is not None and before + cost(whole) > most:
                raise SpendingError(what, before, cost(whole), most)


def _use(thread: _Thread, laid: Laid, marks: Sequence[Breakpoint]) -> CacheUse:
    """Return what the cache would do for a request."""
    rules, cache = thread.rules, thread.cache
    if rules.marked:
        return cache.marked(laid.digests, laid.sums, marks, floor=rules.floor, look_back=rules.look_back, sent=False)
    return cache.automatic(laid.digests, laid.sums, floor=rules.floor, step=rules.step, seconds=rules.seconds, sent=False)


# --- which blocks are whose -------------------------------------------------------


def _first_block(ends: Sequence[int], laid: Laid, turn: int) -> int:
    """Return the first block of a turn of the view: what stands before all turns shifts them."""
    shift = len(laid.sums) - (ends[-1] if ends else 0)
    return max(0, shift) + (ends[turn - 1] if turn else 0)


def _head(window: ContextWindow, ends: Sequence[int], laid: Laid) -> int:
    """Return how many blocks the next compression leaves standing: those before the last change, or the first turns that never yield."""
    turns = window.epoch.first_changed
    if turns is None:
        fixed = (turn for turn in range(len(window)) if _yields(window, turn))
        turns = next(fixed, len(window))
    return _first_block(ends, laid, min(turns, len(window))) if turns else 0


def _yields(window: ContextWindow, turn: int) -> bool:
    found = window.peek(turn + 1)
    return found is None or window.class_of(found) is not ResourceClass.PRESERVED


# --- misses -------------------------------------------------------------------------


def _misses(thread: _Thread, asked: _Asked, last: _Sent | None) -> Iterator[Miss]:
    """Yield what of a request was sent before and is not read, with its reason."""
    laid, read = asked.laid, asked.use.read
    if last is None:
        if laid.tokens > read:
            yield Miss(Why.FIRST, laid.tokens - read)
        return
    newest = _new_from(asked, last)
    old = laid.up_to(min(newest, len(laid.sums)))
    same = laid.up_to(min(laid.common, newest))
    if same > read:
        yield from _unread(thread, asked, same)
    changed = old - max(same, read)
    if changed > 0:
        if asked.key != last.key:
            yield Miss(Why.KEY, changed)
        else:
            yield Miss(Why.CHANGED, changed, _what(asked, last), laid.common)


def _new_from(asked: _Asked, last: _Sent) -> int:
    """Return the first of the blocks at the end that no request before had."""
    window, before = asked.window, last.window
    if window.extends(before):
        return max(asked.laid.common, _first_block(asked.ends, asked.laid, len(before)))
    known = {turn.resource_id for turn in before.all_turns()}
    turns = window.all_turns()
    first = len(turns)
    while first and turns[first - 1].resource_id not in known and not turns[first - 1].is_gist:
        first -= 1
    return _first_block(asked.ends, asked.laid, first)


def _unread(thread: _Thread, asked: _Asked, same: int) -> Iterator[Miss]:
    """Yield why the first `same` tokens, which were sent before, are not read as far as they go."""
    laid, rules, read = asked.laid, thread.rules, asked.use.read
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
    first = 0 if asked.use.hit is None else asked.use.hit + 1
    held = {thread.cache.held(laid.digests[block]) for block in range(first, laid.common)}
    if not any(laid.sums[mark.block] >= rules.floor for mark in asked.marks):
        why = Why.UNMARKED if not asked.marks else Why.FLOOR
    elif Held.LIVING in held:
        why = Why.FAR
    else:
        why = Why.EXPIRED if Held.EXPIRED in held else Why.UNMARKED
    yield Miss(why, same - read)


def _what(asked: _Asked, last: _Sent) -> str:
    """Return the name of what stands at the first block that changed."""
    laid, window = asked.laid, asked.window
    block = laid.common
    if block < laid.tools or (laid.begun[0] != last.begun[0]):
        return "tools"
    if block < laid.tools + laid.system:
        return "system"
    shift = _first_block(asked.ends, laid, 0)
    turn = window.peek(min(bisect_right(asked.ends, block - shift) + 1, len(window)))
    named = f"turn {turn.resource_id}" if turn is not None else "the first message"
    epoch = window.epoch
    return named if epoch.number == last.window.epoch.number else f"{named}, epoch {epoch.number} by {epoch.why}"


# --- sums -----------------------------------------------------------------------------


def _row(asked: _Asked) -> _Row:
    written = asked.use.written
    long = sum(tokens for seconds, tokens in written.items() if seconds >= HOUR)
    return asked.use.read, asked.plain, asked.use.all_written - long, long, asked.output


def _written(row: _Row) -> dict[float, int]:
    return {seconds: tokens for seconds, tokens in ((_SHORT, row[2]), (_LONG, row[3])) if tokens}


def _money(row: _Row, prices: Prices) -> float:
    return prices.money(plain=row[1], read=row[0], written=_written(row), output=row[4])


def _add(missed: dict[tuple[Why, str], Miss], miss: Miss) -> None:
    before = missed.get((miss.why, miss.what))
    missed[miss.why, miss.what] = (
        miss if before is None else evolve(before, tokens=before.tokens + miss.tokens, times=before.times + miss.times)
    )


def _billed(threads: Sequence[_Thread], prices: Prices | None, latest: _Thread | None) -> Bill:
    written: dict[float, int] = {}
    missed: dict[tuple[Why, str], Miss] = {}
    requests = read = plain = output = new = 0
    units, money = 0.0, 0.0
    for thread in threads:
        pending = thread.asked
        ratios = prices or (MARKED if thread.rules.marked else BY_ITSELF)
        for row in (*thread.rows, *([] if pending is None else [_row(pending)])):
            requests, read, plain, output = requests + 1, read + row[0], plain + row[1], output + row[4]
            for seconds, tokens in _written(row).items():
                written[seconds] = written.get(seconds, 0) + tokens
            units += ratios.units(plain=row[1], read=row[0], written=_written(row))
            money += 0.0 if prices is None else _money(row, prices)
        new += thread.new + (0 if pending is None else pending.new)
        for miss in (*thread.missed.values(), *(() if pending is None else pending.misses)):
            _add(missed, miss)
    newest = None if latest is None or latest not in threads else latest.asked or latest.last
    last = () if newest is None else newest.misses
    return Bill(requests, read, written, plain, new, tuple(missed.values()), last, output, units, None if prices is None else money)
