"""A simulation of prompt caches: prefixes stored by their digest until they expire.

The caller passes the digest and the tokens of every prefix of the request, one for each content
block. The rules of two vendors are supported: explicit breakpoints with a look-back (Anthropic),
and automatic caching in steps (OpenAI). When there are too many prefixes, the oldest are removed.

Sources: platform.claude.com, "Prompt caching" (breakpoints, look-back, floors by model);
developers.openai.com, "Prompt caching" (1,024 tokens, steps of 128). Read in November 2026.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from threading import Lock

from attrs import define, field, frozen

FLOOR, STEP, LOOK_BACK, SECONDS = 1024, 128, 20, 300.0


@frozen
class CacheUse:
    """The tokens of a prompt that were read from the cache and written to it; the rest is new.

    `written` holds the written tokens by the seconds that they are kept.
    """

    read: int
    written: dict[float, int]

    @property
    def all_written(self) -> int:
        """Return the number of written tokens, however long they are kept."""
        return sum(self.written.values())


@frozen
class Breakpoint:
    """The last block of a prefix to cache, and for how many seconds."""

    block: int
    seconds: float = SECONDS


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
        digests: Sequence[bytes],
        tokens: Sequence[int],
        marks: Iterable[Breakpoint],
    ) -> CacheUse:
        """Return the cache use of a request with breakpoints, and record it.

        ``tokens[i]`` is the number of tokens up to and including block i. From each breakpoint, the
        last one first, up to 20 blocks are looked up, including the marked one. A
        breakpoint below 1,024 tokens is ignored. The tokens between the prefix that was read and
        the last breakpoint are written, each stretch for the time of the breakpoint that ends it.
        Marked prefixes inside the prefix that was read are refreshed.
        """
        usable = sorted((m for m in marks if tokens[m.block] >= FLOOR), key=lambda m: m.block)
        written = dict[float, int]()
        with self._lock:
            hit = self._longest(digests, usable)
            read = start = tokens[hit] if hit >= 0 else 0
            for block in {mark.block for mark in usable if mark.block < hit} | {hit} - {-1}:
                if self.has(digests[block]):
                    self._keep(digests[block], self._entries[digests[block]][1])
            for mark in usable:
                if mark.block > hit:
                    end = tokens[mark.block]
                    written[mark.seconds] = written.get(mark.seconds, 0) + end - start
                    start = end
                    self._keep(digests[mark.block], mark.seconds)
        return CacheUse(read, written)

    def serve_automatic(self, digests: Sequence[bytes], tokens: Sequence[int]) -> CacheUse:
        """Return the cache use of a request that is cached automatically, and record it.

        Caching begins at 1,024 tokens and goes in steps of 128 tokens.
        """
        with self._lock:
            places = range(len(digests) - 1, -1, -1)
            found = next((tokens[place] for place in places if self.has(digests[place])), 0)
            whole = tokens[-1] if tokens else 0
            read, kept = (n // STEP * STEP if n >= FLOOR else 0 for n in (found, whole))
            for digest in digests:
                self._keep(digest, SECONDS)
        return CacheUse(read, {SECONDS: kept - read} if kept > read else {})

    def has(self, digest: bytes) -> bool:
        """Return whether a prefix is cached and has not expired."""
        entry = self._entries.get(digest)
        return entry is not None and entry[0] >= self.clock()

    def _longest(self, digests: Sequence[bytes], marks: Sequence[Breakpoint]) -> int:
        for mark in reversed(marks):
            for block in range(mark.block, max(mark.block - LOOK_BACK, -1), -1):
                if self.has(digests[block]):
                    return block
        return -1

    def _keep(self, digest: bytes, seconds: float) -> None:
        self._entries[digest] = (self.clock() + seconds, seconds)
        self._entries.move_to_end(digest)
        if len(self._entries) > self.most:
            self._entries.popitem(last=False)
