"""A simulation of prompt caches: prefixes stored by their digest until they expire.

The caller passes the digest and the tokens of every prefix of the request, one for each content
block. The rules of two vendors are supported: explicit breakpoints with a look-back (Anthropic),
and automatic caching in steps (OpenAI). `rules_of` returns the rules of a model. When there are too
many prefixes, the oldest ones are removed.

Sources: platform.claude.com, "Prompt caching" (breakpoints, look-back, floors by model);
developers.openai.com, "Prompt caching" (1,024 tokens, steps of 128, half an hour from GPT-5.6 on).
Read in November 2026.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from threading import Lock
from typing import Protocol, TypeVar

from attrs import define, field, frozen

from polycontext.window.providers import Provider

MINUTE, HOUR = 60.0, 3600.0

FLOOR, STEP, LOOK_BACK = 1024, 128, 20


T_co = TypeVar("T_co", covariant=True)


class Values(Protocol[T_co]):
    """A list that is read by index; any sequence works."""

    def __len__(self) -> int:
        """Return the number of values."""
        ...

    def __getitem__(self, index: int, /) -> T_co:
        """Return the value at an index."""
        ...


class Held(Enum):
    """The state of a prefix in the cache."""

    LIVING = "living"
    EXPIRED = "expired"
    UNKNOWN = "unknown"


@frozen
class CacheUse:
    """The tokens of a prompt that were read from the cache and written to it; the rest is new.

    `written` holds the written tokens by the seconds that they are kept. `hit` is the last block of
    the prefix that was found, or None. `entries` holds the digests that are refreshed or added,
    with their seconds.
    """

    read: int
    written: dict[float, int]
    hit: int | None = None
    entries: tuple[tuple[bytes, float], ...] = field(default=(), repr=False)

    @property
    def all_written(self) -> int:
        """Return the number of written tokens, however long they are kept."""
        return sum(self.written.values())


@frozen
class Breakpoint:
    """The last block of a prefix to cache, and for how many seconds."""

    block: int
    seconds: float = 5 * MINUTE


@define
class PrefixCache:
    """A cache that keeps prefixes by digest for some seconds of `clock`; safe under threads.

    A prefix that is used is kept for the same time again.

    >>> seconds = 0.0
    >>> cache = PrefixCache(lambda: seconds)
    >>> blocks, tokens = [b"system", b"system, question"], [2000, 2100]
    >>> cache.serve(blocks, tokens, [Breakpoint(0)]).written
    {300.0: 2000}
    >>> cache.serve(blocks, tokens, [Breakpoint(0)]).read
    2000
    >>> seconds = 301.0
    >>> cache.serve(blocks, tokens, [Breakpoint(0)]).read
    0
    """

    clock: Callable[[], float]
    most: int = 100_000
    _entries: OrderedDict[bytes, tuple[float, float]] = field(
        init=False, repr=False, factory=OrderedDict
    )
    _lock: Lock = field(init=False, repr=False, eq=False, factory=Lock)

    def serve(
        self,
        digests: Values[bytes],
        tokens: Values[int],
        marks: Iterable[Breakpoint],
        *,
        floor: int = FLOOR,
        look_back: int = LOOK_BACK,
        sent: bool = True,
    ) -> CacheUse:
        """Return the cache use of a request with breakpoints.

        ``tokens[i]`` is the number of tokens up to and including block i. From each breakpoint, the
        last one first, up to `look_back` blocks are looked up, including the marked one. A
        breakpoint below `floor` tokens is ignored. The tokens between the prefix that was read and
        the last breakpoint are written, each stretch for the time of the breakpoint that ends it.
        Marked prefixes inside the prefix that was read are refreshed. If `sent` is false, nothing
        changes; call `keep` later to record the request.
        """
        usable = [
            mark
            for mark in sorted(marks, key=lambda mark: mark.block)
            if tokens[mark.block] >= floor
        ]
        with self._lock:
            hit = self._longest(digests, usable, look_back)
            read = start = tokens[hit] if hit is not None else 0
            written: dict[float, int] = {}
            entries = [] if hit is None else [(digests[hit], self._entries[digests[hit]][1])]
            for mark in usable:
                digest = digests[mark.block]
                if hit is None or mark.block > hit:
                    written[mark.seconds] = (
                        written.get(mark.seconds, 0) + tokens[mark.block] - start
                    )
                    start = tokens[mark.block]
                    entries.append((digest, mark.seconds))
                elif self.held(digest) is Held.LIVING:
                    entries.append((digest, self._entries[digest][1]))
            use = CacheUse(read, written, hit, tuple(entries))
            return self._kept(use) if sent else use

    def serve_automatic(
        self,
        digests: Values[bytes],
        tokens: Values[int],
        *,
        floor: int = FLOOR,
        step: int = STEP,
        seconds: float = 5 * MINUTE,
        sent: bool = True,
    ) -> CacheUse:
        """Return the cache use of a request that is cached automatically.

        Caching begins at `floor` tokens and goes in steps of `step` tokens; `sent` is as in
        `serve`.
        """
        size = len(digests)
        with self._lock:
            hit = next(
                (
                    block
                    for block in range(size - 1, -1, -1)
                    if self.held(digests[block]) is Held.LIVING
                ),
                None,
            )
            found, whole = (
                (tokens[hit] if hit is not None else 0),
                (tokens[size - 1] if size else 0),
            )
            read, kept = (count // step * step if count >= floor else 0 for count in (found, whole))
            entries = tuple((digests[block], seconds) for block in range(size))
            use = CacheUse(read, {seconds: kept - read} if kept > read else {}, hit, entries)
            return self._kept(use) if sent else use

    def keep(self, use: CacheUse, at: float | None = None) -> None:
        """Record that a request with this use was sent, at second `at` or now."""
        with self._lock:
            self._kept(use, at)

    def held(self, digest: bytes) -> Held:
        """Return the state of one prefix."""
        entry = self._entries.get(digest)
        if entry is None:
            return Held.UNKNOWN
        return Held.LIVING if entry[0] >= self.clock() else Held.EXPIRED

    def _longest(
        self, digests: Values[bytes], marks: Sequence[Breakpoint], look_back: int
    ) -> int | None:
        for mark in reversed(marks):
            for block in range(mark.block, max(mark.block - look_back, -1), -1):
                if self.held(digests[block]) is Held.LIVING:
                    return block
        return None

    def _kept(self, use: CacheUse, at: float | None = None) -> CacheUse:
        now = self.clock() if at is None else at
        for digest, seconds in use.entries:
            self._entries[digest] = (now + seconds, seconds)
            self._entries.move_to_end(digest)
            if len(self._entries) > self.most:
                self._entries.popitem(last=False)
        return use


FLOORS: Mapping[str, int] = {
    "claude-haiku-4-5": 4096,
    "claude-opus-4-5": 4096,
    "claude-opus-4-6": 4096,
    "claude-opus-4-7": 2048,
    "claude-opus-5": 512,
}
"""The fewest tokens that Anthropic's models cache, if not 1,024. For later models, the pages that
were read do not state it."""

_HALF_AN_HOUR = re.compile(r"gpt-(?:5\.[6-9]|[6-9])")


@frozen
class CacheRules:
    """The caching rules of one vendor for one model.

    With `marked`, the vendor caches the prefix before a breakpoint and looks back `look_back`
    blocks from each; otherwise it caches everything automatically in steps of `step` tokens, for
    `seconds`. Below `floor` tokens nothing is cached.

    >>> (
    ...     rules_of(Provider.ANTHROPIC, "claude-haiku-4-5").floor,
    ...     rules_of(Provider.OPENAI, "gpt-6-sol").seconds,
    ... )
    (4096, 1800.0)
    """

    marked: bool
    floor: int = FLOOR
    step: int = STEP
    look_back: int = LOOK_BACK
    seconds: float = 5 * MINUTE


def rules_of(provider: Provider, model: str | None = None) -> CacheRules:
    """Return the rules for requests in this format, with the usual ones for an unknown model."""
    if provider is Provider.ANTHROPIC:
        return CacheRules(marked=True, floor=FLOORS.get(model or "", FLOOR))
    return CacheRules(
        marked=False, seconds=30 * MINUTE if _HALF_AN_HOUR.match(model or "") else 5 * MINUTE
    )
