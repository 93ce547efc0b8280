"""A request as a prompt cache sees it: blocks in order, each with a digest of its prefix.

The order is tools, system, messages. The blocks of the last request are neither digested nor
counted again. Breakpoints, and whether a text is a string or a single block, do not affect a
digest.
"""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import chain, takewhile
from typing import Any, Generic, TypeVar

from attrs import define, field, frozen

from polycontext.window import REQUEST_OVERHEAD, TokenCounter, compact
from polycontext.window.providers import Message, Provider, Rendered
from polycontext.window.tokens import TURN_OVERHEAD

from .prefix_cache import HOUR, MINUTE, Breakpoint
from .request_tokens import PER_MESSAGE, BlockTokens, SeenTokens, text_blocks

T = TypeVar("T")

_MARK = "cache_control"


@frozen
class Chain(Generic[T]):
    """A list of the first `kept` values of `head`, followed by those of `tail`."""

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
        """Turn `into`, which must be `head`, into this list."""
        del into[self.kept :]
        into.extend(self.tail)


@frozen
class Blocks:
    """The blocks of a request.

    `digests` and `sums` hold, for each block, the digest and the tokens of the prefix that ends
    with it; `ends` holds the end of each message. `begun` is a digest of what the cache is keyed by
    and a digest of tools and system. `tools` and `system` are the numbers of blocks of these before
    the messages (0 for OpenAI). `marks` holds the breakpoints of the blocks. `common` is the number
    of blocks that are unchanged since the previous request.
    """

    begun: tuple[bytes, bytes]
    tools: int
    system: int
    digests: Chain[bytes]
    sums: Chain[int]
    ends: Chain[int]
    marks: tuple[Breakpoint, ...]
    common: int

    @property
    def tokens(self) -> int:
        """Return the tokens of the whole request."""
        return self.up_to(len(self.sums))

    def up_to(self, blocks: int) -> int:
        """Return the tokens of the first `blocks` blocks."""
        return self.sums[blocks - 1] if blocks else 0


@define
class Layout:
    """The layout of the requests of one conversation in one format.

    Each request reuses the blocks of the last request passed to `take`.

    Law: the result is the same as laying out every request from scratch.
    """

    provider: Provider
    counter: TokenCounter
    _begun: tuple[bytes, bytes] | None = field(init=False, default=None)
    _digests: list[bytes] = field(init=False, factory=list)
    _sums: list[int] = field(init=False, factory=list)
    _ends: list[int] = field(init=False, factory=list)

    def lay(
        self, rendered: Rendered, tools: Sequence[Mapping[str, Any]], start: bytes, *, grown: bool
    ) -> Blocks:
        """Return the blocks of a request.

        `start` is a digest of what the cache is keyed by besides the blocks. `grown` states that
        the request contains all messages of the previous one but the last.
        """
        is_anthropic = self.provider is Provider.ANTHROPIC
        head = [*tools, *rendered.system] if is_anthropic else []
        begun = (start, _digest(b"", *(_content(block) for block in head)))
        known = len(self._ends) - 1 if grown and begun == self._begun and self._ends else -1
        kept = 0 if known < 0 else self._ends[known - 1] if known else len(head)
        if kept:
            made = _Making(self._digests[kept - 1], self._sums[kept - 1])
        elif is_anthropic:
            made = _Making(start, 0)
            for block, tokens in zip(
                head, BlockTokens(self.counter).head(rendered.system, tools), strict=True
            ):
                made.put(b"", block, tokens)
        else:
            made = _Making(start, REQUEST_OVERHEAD + SeenTokens(self.counter).tools(tools))
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
            tuple(_marks(rendered, head)) if is_anthropic else (),
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
        """Record that a request was sent."""
        self._begun = blocks.begun
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
            # A summary signed by the vendor replaces messages, so it has no message overhead of its
            # own.
            is_frameless = number or (block.get("type") == "compaction" and block.get("signature"))
            yield (
                message["role"].encode(),
                block,
                count(block) + (0 if is_frameless else PER_MESSAGE),
            )


def _marks(rendered: Rendered, head: Sequence[Mapping[str, Any]]) -> Iterator[Breakpoint]:
    """Yield the breakpoints of a request to Anthropic."""
    contents = (text_blocks(message["content"]) for message in rendered.messages)
    for place, block in enumerate(chain(head, *contents)):
        yield from (Breakpoint(place, seconds) for seconds in _carried(block))


@define
class _Making:
    """The new blocks of a request, after those that are reused."""

    last: bytes
    total: int
    digests: list[bytes] = field(init=False, factory=list)
    sums: list[int] = field(init=False, factory=list)

    def put(self, role: bytes, block: Mapping[str, Any], tokens: int) -> None:
        """Add one block at the end."""
        self.last, self.total = _digest(self.last, role, _content(block)), self.total + tokens
        self.digests.append(self.last)
        self.sums.append(self.total)


def start_of(*named: object) -> bytes:
    """Return the digest of JSON data that a cache is keyed by, such as a model, a key or tools."""
    return _digest(b"", compact(named).encode())


def _digest(before: bytes, *parts: bytes) -> bytes:
    made = blake2b(before, digest_size=16)
    for part in parts:
        made.update(len(part).to_bytes(8))
        made.update(part)
    return made.digest()


def _content(block: Mapping[str, Any]) -> bytes:
    return compact({name: value for name, value in block.items() if name != _MARK}).encode()


def _carried(block: Mapping[str, Any]) -> Iterator[float]:
    """Yield the seconds of the breakpoints in a block: those inside a result, then its own."""
    inner = block.get("content") if block.get("type") == "tool_result" else None
    for each in inner if isinstance(inner, list) else ():
        yield from _carried(each)
    mark = block.get(_MARK)
    if isinstance(mark, Mapping):
        yield HOUR if mark.get("ttl") == "1h" else 5 * MINUTE
