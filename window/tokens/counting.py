"""What a turn costs: the counter protocol, and the framing that providers add around text.

A counter knows text only. A request costs more than its text: every message is
wrapped, a call repeats its tool's name, tool definitions are written into the
prompt. `count_turn`, `count_tools` and `REQUEST_OVERHEAD` add that on top of any
counter, and they add up: the estimate of a request is the sum of its parts, so
a turn is counted once, when it is appended, and never again.

The constants are fitted to recorded usage of gpt-4o and gpt-4.1 and lean to the
careful side (``docs/decisions/2026-11-21-token-framing.md``).
"""

import string
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from attrs import frozen

from polycontext.window.tokens.part_tokens import part_text
from polycontext.window.tokens.tool_text import tool_text
from polycontext.window.turn import Part, ToolCall, Turn

REQUEST_OVERHEAD = 3
"""Tokens a request costs beside its turns and tools: the opening of the reply."""

TURN_OVERHEAD = 4
"""Tokens around one message: its delimiters and its role."""

NAME_OVERHEAD = 1
"""Tokens that introduce a message's name."""

CALL_OVERHEAD = 6
"""Tokens around one tool call; the tool's name counts twice, as its result is headed by it again."""

PARALLEL_CALL_OVERHEAD = 9
"""Tokens each call costs on top where one turn makes several calls."""

TOOLS_OVERHEAD = 4
"""Tokens around the tool definitions as a whole."""

_LETTERS = (string.ascii_letters + " \t\r\n").encode() + bytes(range(128, 256))


class TokenCounter(Protocol):
    """Count the tokens of a text; any class with these two members will do.

    >>> class Words:
    ...     exact = False
    ...
    ...     def count(self, text: str) -> int:
    ...         return len(text.split())
    >>> count_turn(Words(), Turn("user", "two words"))
    6
    """

    @property
    def exact(self) -> bool:
        """Tell whether the counts are a tokenizer's own rather than an estimate."""
        ...

    def count(self, text: str) -> int:
        """Return the tokens of `text`: 0 or more, the same for the same text."""
        ...


@frozen
class EstimatingCounter:
    """Estimate tokens without a vocabulary: a quarter of a token a byte, half a token a digit or sign.

    Against o200k_base, summed over recorded conversations: prose +10 % to +35 %,
    source code and shell output +10 % to +20 %, JSON of tools -15 % to +15 %,
    Chinese, Japanese and Korean -15 % to +10 %. Single messages of 50 tokens and
    more stray from -30 % to +90 %. It finds only half to three quarters of what
    looks random (base64, hex, UUIDs) and of emoji, twice too much in Cyrillic and
    Devanagari, and far too much in long runs of white space.

    >>> EstimatingCounter().count("hello, how are you today?"), EstimatingCounter().exact
    (7, False)
    """

    @property
    def exact(self) -> bool:
        """Tell that these counts are estimates."""
        return False

    def count(self, text: str) -> int:
        """Return the estimate in tokens: 0 for an empty text only."""
        data = text.encode("utf-8", "surrogatepass")
        dense = len(data.translate(None, _LETTERS))
        return (len(data) + dense + 3) // 4


def is_exact(counter: TokenCounter) -> bool:
    """Tell whether `counter` labels its counts as exact; a counter without a label estimates."""
    return bool(getattr(counter, "exact", False))


def count_turn(counter: TokenCounter, turn: Turn) -> int:
    """Return what `turn` costs within a request, in tokens: always 1 or more.

    Counts content, name, calls with their arguments, opaque parts by their JSON
    text (media by a flat estimate) and the framing around them. Ids of calls are
    not billed. Takes time in proportion to the text.

    Law: a request costs the sum of its turns, its tools and `REQUEST_OVERHEAD`.
    """
    tokens = TURN_OVERHEAD
    if turn.content:
        tokens += counter.count(turn.content)
    if turn.name:
        tokens += NAME_OVERHEAD + counter.count(turn.name)
    if turn.tool_calls:
        tokens += _count_calls(counter, turn.tool_calls)
    if turn.parts:
        tokens += sum(_count_part(counter, part) for part in turn.parts)
    return max(1, tokens)


def count_tools(counter: TokenCounter, tools: Sequence[Mapping[str, Any]]) -> int:
    """Return what tool definitions cost within a request, in tokens: 0 where there are none.

    Takes OpenAI's definitions (chat or Responses form), which are counted as the
    TypeScript a model reads, and any other, which are counted as JSON. What a
    vendor's hidden instructions on tool use add is not in here: about 90 tokens
    for gpt-5, 300 to 700 for Claude. Reserve it.

    >>> count_tools(EstimatingCounter(), [])
    0
    """
    return TOOLS_OVERHEAD + counter.count(tool_text(tools)) if tools else 0


def _count_calls(counter: TokenCounter, calls: Sequence[ToolCall]) -> int:
    each = CALL_OVERHEAD if len(calls) == 1 else CALL_OVERHEAD + PARALLEL_CALL_OVERHEAD
    return sum(each + 2 * counter.count(call.name) + counter.count(call.arguments) for call in calls)


def _count_part(counter: TokenCounter, part: Part) -> int:
    text, media = part_text(part.data)
    return media + counter.count(text)
