"""What a prompt cache still holds: prefixes by their digest, until they expire.

A provider gives the digest of every prefix of the request (one a content block) with the tokens up to there. Two
vendors' rules stand on it: marked breakpoints that look back (Anthropic), and steps that are cached by themselves
(OpenAI). The oldest prefixes are forgotten when there are too many.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from threading import Lock

from attrs import define, field, frozen

MINUTE, HOUR = 60.0, 3600.0


@frozen
class CacheUse:
    """Say how many tokens of a prompt were read from the cache, and how many were written for how long; the rest is new.

    `written` has tokens by the seconds that they are kept.
    """

    read: int
    written: dict[float, int]

    @property
    def all_written(self) -> int:
        """Return the tokens written for whatever time."""
        return sum(self.written.values())


@frozen
class Breakpoint:
    """Mark the block up to which (and with which) a prefix shall be cached, and for how many seconds."""

    block: int
    seconds: float = 5 * MINUTE


@define
class PrefixCache:
    """Remember prefixes by digest for some seconds of `clock`. A prefix that is read is kept as long again. Safe under threads."""

    clock: Callable[[], float]
    most: int = 100_000
    _entries: OrderedDict[bytes, tuple[float, float]] = field(init=False, repr=False, factory=OrderedDict)
    _lock: Lock = field(init=False, repr=False, eq=False, factory=Lock)

    def marked(
        self, digests: Sequence[bytes], tokens: Sequence[int], marks: Iterable[Breakpoint], *, floor: int, look_back: int = 20
    ) -> CacheUse:
        """Account for a request with breakpoints; ``tokens[i]`` are those up to and with block i.

        From each breakpoint, the last one first, up to `look_back` blocks are asked for, the marked one among them. A breakpoint
        below `floor` tokens is ignored. What lies between what was read and the last breakpoint is written, each stretch for the time of
        the breakpoint that ends it.
        """
        heard = [mark for mark in sorted(marks, key=lambda mark: mark.block) if tokens[mark.block] >= floor]
        now = self.clock()
        with self._lock:
            hit = self._longest(digests, heard, look_back, now)
            read = start = tokens[hit] if hit is not None else 0
            written: dict[float, int] = {}
            for mark in heard:
                if hit is None or mark.block > hit:
                    written[mark.seconds] = written.get(mark.seconds, 0) + tokens[mark.block] - start
                    start = tokens[mark.block]
                    self._keep(digests[mark.block], mark.seconds, now)
        return CacheUse(read, written)

    def automatic(
        self, digests: Sequence[bytes], tokens: Sequence[int], *, floor: int = 1024, step: int = 128, seconds: float = 5 * MINUTE
    ) -> CacheUse:
        """Account for a request that is cached by itself from `floor` tokens on, in steps of `step` tokens."""
        now = self.clock()
        with self._lock:
            hit = next((block for block in reversed(range(len(digests))) if self._holds(digests[block], now)), None)
            for digest in digests[0 if hit is None else hit + 1 :]:
                self._keep(digest, seconds, now)
        found, whole = (tokens[hit] if hit is not None else 0), (tokens[-1] if tokens else 0)
        read, kept = (count // step * step if count >= floor else 0 for count in (found, whole))
        return CacheUse(read, {seconds: kept - read} if kept > read else {})

    def _longest(self, digests: Sequence[bytes], marks: Sequence[Breakpoint], look_back: int, now: float) -> int | None:
        for mark in reversed(marks):
            for block in range(mark.block, max(mark.block - look_back, -1), -1):
                if self._holds(digests[block], now):
                    return block
        return None

    def _holds(self, digest: bytes, now: float) -> bool:
        entry = self._entries.get(digest)
        if entry is None:
            return False
        until, seconds = entry
        if until < now:
            del self._entries[digest]
            return False
        self._keep(digest, seconds, now)
        return True

    def _keep(self, digest: bytes, seconds: float, now: float) -> None:
        self._entries[digest] = (now + seconds, seconds)
        self._entries.move_to_end(digest)
        if len(self._entries) > self.most:
            self._entries.popitem(last=False)
