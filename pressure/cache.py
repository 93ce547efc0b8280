"""Prompt caching: the breakpoints of a request, and its key (docs/cache.md).

Anthropic looks back a number of blocks from each breakpoint and reads the longest cached prefix
that it finds. A plan therefore sets breakpoints at these places:

- the end of each request, where the next one will look;
- the end of the last request, if it is too far back for the look-back;
- after the system message, which other conversations share;
- after the part that the next compression will leave unchanged.

Source: platform.claude.com, "Prompt caching", read in November 2026.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen
from attrs.validators import optional

from polycontext.base import InvalidOptionError, must_be, require
from polycontext.linearity import ResourceClass
from polycontext.window import ContextWindow, Role
from polycontext.window.providers import Message, Provider, Rendered
from polycontext.window.providers.anthropic.block_rules import MARK, THINKING
from polycontext.window.providers.anthropic.message_rules import LIMITS

LOOK_BACK = 20
"""The blocks that are looked up from each breakpoint."""

_NEVER_MARKED = THINKING | {"compaction"}
_TTLS = ("5m", "1h")
_LONGEST_KEY = 64


_check_ttl = must_be(_TTLS.__contains__, " or ".join(map(repr, _TTLS)))
_check_key = must_be(
    lambda value: isinstance(value, str) and 0 < len(value) <= _LONGEST_KEY,
    f"a text of 1 to {_LONGEST_KEY} characters, or None",
)


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
        mark_tools: whether the last tool definition has a breakpoint, which you set with
            `marked_tools`; useful if several systems share the tools.

    Raises:
        InvalidOptionError: an option that no vendor takes.

    >>> CachePlan(ttl="1h", head_ttl="5m")
    Traceback (most recent call last):
    polycontext.errors.InvalidOptionError: head_ttl = '5m'. Use '1h', where ttl is that: \
longer times stand before shorter ones.
    """

    ttl: str = field(default="5m", validator=_check_ttl)
    head_ttl: str | None = field(default=None, validator=optional(_check_ttl))
    key: str | None = field(default=None, validator=optional(_check_key))
    mark_tools: bool = False

    def __attrs_post_init__(self) -> None:
        require(
            "head_ttl",
            self.head_ttl,
            self.head_ttl != "5m" or self.ttl != "1h",
            "'1h', where ttl is that: longer times stand before shorter ones",
        )

    def apply(
        self, rendered: Rendered, provider: Provider, window: ContextWindow, ends: Sequence[int]
    ) -> Rendered:
        """Return a request with the options of this plan: breakpoints, or the key.

        See `with_breakpoints`.
        """
        if provider is Provider.ANTHROPIC:
            return with_breakpoints(rendered, self, window, ends)
        if provider not in (Provider.OPENAI, Provider.RESPONSES) or self.key is None:
            return rendered
        return evolve(rendered, options={**rendered.options, "prompt_cache_key": self.key})

    def marked_tools(self, tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the tool definitions with a breakpoint on the last one.

        For a plan with ``mark_tools=True``.

        >>> CachePlan(mark_tools=True).marked_tools([{"name": "look"}])
        [{'name': 'look', 'cache_control': {'type': 'ephemeral'}}]
        """
        made = [dict(tool) for tool in tools]
        for tool in made[-1:]:
            tool[MARK] = _mark(self.head_ttl or self.ttl)
        return made


def as_plan(cache: object) -> CachePlan | None:
    """Return the plan of a `cache` argument; True is the default plan.

    Raises:
        InvalidOptionError: it is neither a plan nor True or False.
    """
    if not isinstance(cache, bool | CachePlan):
        raise InvalidOptionError("cache", cache, "True, False, or a CachePlan")
    return cache if isinstance(cache, CachePlan) else CachePlan() if cache else None


def with_breakpoints(
    rendered: Rendered, plan: CachePlan, window: ContextWindow, ends: Sequence[int]
) -> Rendered:
    """Return a request to Anthropic with the breakpoints of `plan` and no others.

    `ends` holds the number of blocks up to the end of each turn of `window`. The messages are
    changed in place, so they must be the caller's own.

    Law: one of at most four breakpoints finds the prefix that the request before the last answer
    wrote, however many blocks were added since.
    """
    system = [
        {name: value for name, value in block.items() if name != MARK} for block in rendered.system
    ]
    blocks = [*system, *(block for message in rendered.messages for block in _unmarked(message))]
    filler = max(0, len(blocks) - ends[-1])

    def last_of(turns: int) -> int:
        """Return the last block of the first turns that may have a breakpoint, or -1."""
        block = min(filler + ends[turns - 1], len(blocks)) - 1 if turns else -1
        while block >= 0 and blocks[block].get("type") in _NEVER_MARKED:
            block -= 1
        return block

    end, sent = last_of(len(window)), last_of(_turns_before_answer(window))
    tail = [end, sent] if end - sent >= LOOK_BACK else [end]
    wanted = dict.fromkeys([*tail, len(system) - 1, last_of(_lasting_turns(window))])
    wanted.pop(-1, None)
    # A longer time must not follow a shorter one.
    for block in [*wanted][: LIMITS["marks"] - plan.mark_tools]:
        ttl = plan.head_ttl or plan.ttl if block < min(tail) else plan.ttl
        _own_block(blocks[block])[MARK] = _mark(ttl)
    return evolve(rendered, system=tuple(system))


def _turns_before_answer(window: ContextWindow) -> int:
    """Return how many turns stand before the last answer of the model; 0 without one."""
    for turns in range(len(window) - 1, -1, -1):
        turn = window.peek(turns + 1)
        if turn is not None and turn.role is Role.ASSISTANT and not turn.is_gist:
            return turns
    return 0


def _lasting_turns(window: ContextWindow) -> int:
    """Return how many turns stand before the last change, or before the first that can yield."""
    if window.epoch.first_changed is not None:
        return min(window.epoch.first_changed, len(window))
    turns = range(len(window))
    return next((place for place in turns if _can_yield(window, place)), len(window))


def _can_yield(window: ContextWindow, place: int) -> bool:
    turn = window.peek(place + 1)
    return turn is None or window.class_of(turn) is not ResourceClass.PRESERVED


def _unmarked(message: Message) -> list[Message]:
    """Return the blocks of a message without breakpoints; for a text, the message itself."""
    content = message["content"]
    if isinstance(content, str):
        return [message] if content else []
    for block in content:
        block.pop(MARK, None)
        if block.get("type") == "tool_result" and isinstance(block.get("content"), list):
            _unmarked(block)
    return list(content)


def _own_block(block: Message) -> Message:
    """Return the block that takes a breakpoint; the text of a message becomes one."""
    if "role" in block:
        block["content"] = [{"type": "text", "text": block["content"]}]
        return _own_block(block["content"][0])
    return block


def _mark(ttl: str) -> dict[str, str]:
    return {"type": "ephemeral", "ttl": ttl} if ttl == "1h" else {"type": "ephemeral"}
