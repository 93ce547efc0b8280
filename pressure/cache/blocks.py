"""A request as a prompt cache sees it: block after block in the order tools, system, messages, each with a digest of all up to it.

A conversation is laid out once: what stood in the last request is neither digested nor counted
again. What is no content (cache breakpoints, whether a text came as a string or as one block) has
no part in a digest.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import takewhile
from typing import Any, Generic, TypeVar

import orjson
from attrs import define, field, frozen

from polycontext.window import REQUEST_OVERHEAD, TokenCounter
from polycontext.window.providers import Message, Provider, Rendered
from polycontext.window.providers.anthropic import THINKING
from polycontext.window.tokens import (
    PER_MESSAGE,
    TURN_OVERHEAD,
    BlockTokens,
    SeenTokens,
    text_blocks,
)

from .prefix_cache import HOUR, MINUTE, Breakpoint

T = TypeVar("T")

MARK = "cache_control"

_NEVER_MARKED = THINKING | {"compaction"}


@frozen
class Chain(Generic[T]):
    """Read the first `kept` values of `head` and then those of `tail`, as one list."""

    head: Sequence[T]
    kept: int
    tail: Sequence[T]

    def __len__(self) -> int:
        return self.kept + len(self.tail)

    def __getitem__(self, index: int) -> T:
        place = index if index >= 0 else len(self) + index
        if not 0 <= place < len(self):
            raise IndexError(index)
        return self.head[place] if place < self.kept else self.tail[place - self.kept]

    def write(self, into: list[T]) -> None:
        """Make `into`, which is `head`, this list."""
        del into[self.kept :]
        into.extend(self.tail)


@frozen
class Blocks:
    """Hold a request, laid out: `digests` of all prefixes, `sums` of their tokens, one each a block, and where messages end.

    `begun` is what it begins with: what its cache goes by, tools, system. `tools` and `system` are
    how many blocks of these stand before the messages (none with OpenAI). `unmarked` are blocks
    that no breakpoint may stand on, `carried` the breakpoints that the blocks themselves have.
    `common` are the blocks that are as they were in the request before.
    """

    begun: tuple[bytes, bytes]
    tools: int
    system: int
    digests: Chain[bytes]
    sums: Chain[int]
    ends: Chain[int]
    unmarked: frozenset[int]
    carried: tuple[Breakpoint, ...]
    common: int

    @property
    def tokens(self) -> int:
        """Return the tokens of the whole request."""
        return self.up_to(len(self.sums))

    def up_to(self, blocks: int) -> int:
        """Return the tokens of the first so many blocks."""
        return self.sums[blocks - 1] if blocks else 0

    def message_of(self, block: int) -> tuple[int, int]:
        """Return in which message a block stands that is behind tools and system, and as which of its blocks."""
        message = bisect_right(self.ends, block)
        return message, block - (self.ends[message - 1] if message else self.tools + self.system)


@define
class Layout:
    """Lay out the requests of one conversation in one format.

    The next one goes on from the last that was taken.

    Law: the same as laying every request out anew.
    """

    provider: Provider
    counter: TokenCounter
    _begun: tuple[bytes, bytes] | None = field(init=False, default=None)
    _digests: list[bytes] = field(init=False, factory=list)
    _sums: list[int] = field(init=False, factory=list)
    _ends: list[int] = field(init=False, factory=list)
    _unmarked: frozenset[int] = field(init=False, default=frozenset())
    _carried: tuple[Breakpoint, ...] = field(init=False, default=())

    def lay(
        self, rendered: Rendered, tools: Sequence[Mapping[str, Any]], start: bytes, *, grown: bool
    ) -> Blocks:
        """Return a request laid out.

        `start` names what its cache goes by beside the blocks, `grown` says that all messages but
        the last of the request before stand there.
        """
        is_anthropic = self.provider is Provider.ANTHROPIC
        head = [*tools, *rendered.system] if is_anthropic else []
        begun = (start, _digest(b"", *(_content(block) for block in head)))
        known = len(self._ends) - 1 if grown and begun == self._begun and self._ends else -1
        kept = 0 if known < 0 else self._ends[known - 1] if known else len(head)
        if kept:
            made = _Making(kept, self._digests[kept - 1], self._sums[kept - 1])
        elif is_anthropic:
            made = _Making(0, start, 0)
            for block, tokens in zip(
                head, BlockTokens(self.counter).head(rendered.system, tools), strict=True
            ):
                made.put(b"", block, tokens)
        else:
            made = _Making(0, start, REQUEST_OVERHEAD + SeenTokens(self.counter).tools(tools))
        ends: list[int] = []
        for message in rendered.messages[max(known, 0) :]:
            for role, block, tokens in self._blocks(message):
                made.put(role, block, tokens)
            ends.append(kept + len(made.digests))
        digests = Chain(self._digests, kept, made.digests)
        return Blocks(
            begun,
            len(head) - len(rendered.system),
            len(rendered.system),
            digests,
            Chain(self._sums, kept, made.sums),
            Chain(self._ends, max(known, 0), ends),
            frozenset((*(block for block in self._unmarked if block < kept), *made.unmarked)),
            (*(mark for mark in self._carried if mark.block < kept), *made.carried),
            kept
            + sum(
                1
                for _ in takewhile(
                    lambda pair: pair[0] == pair[1],
                    zip(self._digests[kept:], made.digests, strict=False),
                )
            ),
        )

    def take(self, blocks: Blocks) -> None:
        """Take in that a request was sent."""
        self._begun, self._unmarked, self._carried = blocks.begun, blocks.unmarked, blocks.carried
        blocks.digests.write(self._digests)
        blocks.sums.write(self._sums)
        blocks.ends.write(self._ends)

    def _blocks(self, message: Message) -> Iterator[tuple[bytes, Mapping[str, Any], int]]:
        """Yield the blocks of a message, each with its role and its tokens."""
        if self.provider is not Provider.ANTHROPIC:
            yield b"", message, SeenTokens(self.counter).of(message) + TURN_OVERHEAD
            return
        count = BlockTokens(self.counter).block
        for number, block in enumerate(text_blocks(message["content"])):
            # A summary that the vendor signed stands for messages: it has no frame of one.
            is_frameless = number or (block.get("type") == "compaction" and block.get("signature"))
            yield (
                message["role"].encode(),
                block,
                count(block) + (0 if is_frameless else PER_MESSAGE),
            )


@define
class _Making:
    """Hold the blocks that are laid out anew, behind those that are kept."""

    kept: int
    last: bytes
    total: int
    digests: list[bytes] = field(init=False, factory=list)
    sums: list[int] = field(init=False, factory=list)
    unmarked: list[int] = field(init=False, factory=list)
    carried: list[Breakpoint] = field(init=False, factory=list)

    def put(self, role: bytes, block: Mapping[str, Any], tokens: int) -> None:
        """Lay one block behind the others."""
        place = self.kept + len(self.digests)
        self.last, self.total = _digest(self.last, role, _content(block)), self.total + tokens
        self.digests.append(self.last)
        self.sums.append(self.total)
        self.carried.extend(Breakpoint(place, seconds) for seconds in _carried(block))
        if block.get("type") in _NEVER_MARKED:
            self.unmarked.append(place)


def start_of(*named: object) -> bytes:
    """Return the digest of what a cache goes by beside the blocks: JSON data such as a model, a key, tools."""
    return _digest(b"", orjson.dumps(named))


def seconds_of(ttl: str | None) -> float:
    """Return for how many seconds a breakpoint asks."""
    return HOUR if ttl == "1h" else 5 * MINUTE


def _digest(before: bytes, *parts: bytes) -> bytes:
    made = blake2b(before, digest_size=16)
    for part in parts:
        made.update(len(part).to_bytes(8))
        made.update(part)
    return made.digest()


def _content(block: Mapping[str, Any]) -> bytes:
    return orjson.dumps({name: value for name, value in block.items() if name != MARK})


def _carried(block: Mapping[str, Any]) -> Iterator[float]:
    """Yield the seconds of the breakpoints in a block: those inside of a result, then its own."""
    inner = block.get("content") if block.get("type") == "tool_result" else None
    for each in inner if isinstance(inner, list) else ():
        yield from _carried(each)
    mark = block.get(MARK)
    if isinstance(mark, Mapping):
        yield seconds_of(mark.get("ttl"))
