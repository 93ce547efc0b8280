"""The plan for caching: breakpoints by the vendor's rules, and the key of the requests.

A vendor that requires breakpoints (Anthropic) looks back a number of blocks from each one and reads
the longest cached prefix that it finds. A plan therefore sets breakpoints at these places:

- the end of each request, where the next one will look;
- the end of the last request, if it is too far back for the look-back;
- after the system message, which other conversations share;
- after the part that the next compression will leave unchanged.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen

from polycontext.base import InvalidOptionError
from polycontext.window.providers import Message, Rendered

from .blocks import MARK, Blocks, seconds_of
from .prefix_cache import MOST_MARKS, Breakpoint, CacheRules

_TTLS = ("5m", "1h")
_LONGEST_KEY = 64


def _check_ttl(_: object, attribute: Any, value: Any) -> None:
    if value not in _TTLS and not (value is None and attribute.default is None):
        raise InvalidOptionError(attribute.name, value, " or ".join(map(repr, _TTLS)))


def _check_key(_: object, __: object, value: Any) -> None:
    if value is not None and not (isinstance(value, str) and 0 < len(value) <= _LONGEST_KEY):
        raise InvalidOptionError("key", value, f"a text of 1 to {_LONGEST_KEY} characters, or None")


@frozen
class CachePlan:
    """How the requests of a session are cached.

    Args:
        ttl: how long the cache keeps the blocks that each turn adds, for a vendor that requires
            breakpoints.
        head_ttl: how long it keeps tools, system and the blocks before the first gist; at least
            `ttl`, which is the default.
        key: the key that requests are sent with, for a vendor that takes one; by default the
            session creates its own.
        tools: the tool definitions that are sent with the request, if they differ from the
            session's.
        mark_tools: whether the last of them has a breakpoint, which you set with `marked_tools`;
            useful if several systems share the tools.

    Raises:
        InvalidOptionError: an option that no vendor takes.

    >>> CachePlan(ttl="1h", head_ttl="5m")
    Traceback (most recent call last):
    polycontext.base.errors.InvalidOptionError: head_ttl = '5m'. Use '1h', where ttl is that: \
longer times stand before shorter ones.
    """

    ttl: str = field(default="5m", validator=_check_ttl)
    head_ttl: str | None = field(default=None, validator=_check_ttl)
    key: str | None = field(default=None, validator=_check_key)
    tools: Sequence[Mapping[str, Any]] | None = None
    mark_tools: bool = False

    def __attrs_post_init__(self) -> None:
        if self.head_ttl == "5m" and self.ttl == "1h":
            raise InvalidOptionError(
                "head_ttl",
                self.head_ttl,
                "'1h', where ttl is that: longer times stand before shorter ones",
            )

    def marks(
        self, blocks: Blocks, rules: CacheRules, *, head: int = 0, before: int | None = None
    ) -> tuple[Breakpoint, ...]:
        """Return the breakpoints of a request, at most four, in the order of the blocks.

        `head` is the number of blocks that the next compression leaves unchanged, `before` the last
        marked block of the previous request.

        Law: the prefix written at `before` is found again, however many blocks were added since.
        """
        if not rules.marked or not len(blocks.sums):
            return ()
        first, seconds = seconds_of(self.head_ttl or self.ttl), seconds_of(self.ttl)
        tail = [_markable(blocks, len(blocks.sums) - 1)]
        if before is not None and before < blocks.common and tail[0] - before >= rules.look_back:
            tail.append(before)
        wanted = [
            blocks.tools - 1 if self.mark_tools else -1,
            *tail,
            blocks.tools + blocks.system - 1 if blocks.system else -1,
            _markable(blocks, head - 1),
        ]
        chosen = list(dict.fromkeys(block for block in wanted if block >= 0))[:MOST_MARKS]
        begins = min(tail)  # a longer time must not follow a shorter one
        return tuple(
            Breakpoint(block, first if block < begins else seconds) for block in sorted(chosen)
        )

    def marked_tools(self, tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the tool definitions with a breakpoint on the last one.

        For a plan with ``mark_tools=True``.

        >>> CachePlan(mark_tools=True).marked_tools([{"name": "look"}])
        [{'name': 'look', 'cache_control': {'type': 'ephemeral'}}]
        """
        made = [dict(tool) for tool in tools]
        for tool in made[-1:]:
            tool[MARK] = _mark(seconds_of(self.head_ttl or self.ttl))
        return made


def apply_marks(rendered: Rendered, blocks: Blocks, marks: Iterable[Breakpoint]) -> Rendered:
    """Return `rendered` with breakpoints at `marks` and no others.

    The messages are changed in place, so they must be the caller's own.
    """
    for message in rendered.messages:
        for block in message["content"] if isinstance(message["content"], list) else ():
            _unmark(block)
    system = [
        {name: value for name, value in block.items() if name != MARK} for block in rendered.system
    ]
    for mark in marks:
        if mark.block < blocks.tools:
            continue  # in the caller's own definitions
        if mark.block < blocks.tools + blocks.system:
            system[mark.block - blocks.tools][MARK] = _mark(mark.seconds)
        else:
            place, number = blocks.message_of(mark.block)
            _blocks(rendered.messages[place])[number][MARK] = _mark(mark.seconds)
    return evolve(rendered, system=tuple(system))


def _markable(blocks: Blocks, block: int) -> int:
    """Return the last block up to `block` that may have a breakpoint, or -1 if there is none."""
    while block in blocks.unmarked:
        block -= 1
    return block


def _blocks(message: Message) -> list[Message]:
    if isinstance(message["content"], str):
        message["content"] = [{"type": "text", "text": message["content"]}]
    blocks: list[Message] = message["content"]
    return blocks


def _unmark(block: Message) -> None:
    block.pop(MARK, None)
    if block.get("type") == "tool_result" and isinstance(block.get("content"), list):
        for inner in block["content"]:
            _unmark(inner)


def _mark(seconds: float) -> dict[str, str]:
    return (
        {"type": "ephemeral", "ttl": "1h"} if seconds == seconds_of("1h") else {"type": "ephemeral"}
    )
