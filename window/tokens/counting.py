"""What a turn costs: the counter protocol, and the framing that providers add around text.

A counter knows text only. A request costs more than its text: every message is
wrapped, a call repeats its tool's name, tool definitions are written into the
prompt. `count_turn`, `count_tools` and `REQUEST_OVERHEAD` add that on top of any
counter, and they add up: the estimate of a request is the sum of its parts, so
a turn is counted once, when it is appended, and never again.

The constants are fitted to recorded usage of gpt-4o and gpt-4.1 and lean to the
careful side (``docs/decisions/2026-11-21-token-framing.md``).

An image, a document or a recording travels as base64, but no provider bills
the base64: counted as text, one photo would fill a window. Pixels, pages and
seconds are not known without decoding, so media cost a flat estimate on the
careful side.
"""

import json
import re
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from attrs import evolve, frozen

from polycontext.window.part import Part, PartKind
from polycontext.window.turn import Turn

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

IMAGE_TOKENS = 1_600
"""Cost of one image: what Claude charges at most for one of ordinary size; gpt-4o stays below (1,445)."""

_CHARACTERS_PER_TOKEN: Mapping[str, int | None] = {
    "image": None,
    "image_url": None,
    "input_image": None,
    "document": 16,
    "file": 16,
    "input_file": 16,
    "input_audio": 500,
}
_MEDIA = re.compile("|".join(f'"{kind}"' for kind in _CHARACTERS_PER_TOKEN))
_BASE64 = re.compile(r"(?:data:[^,]*,)?[A-Za-z0-9+/_-]{200,}={0,2}")

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

    exact = False

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
        each = CALL_OVERHEAD if len(turn.tool_calls) == 1 else CALL_OVERHEAD + PARALLEL_CALL_OVERHEAD
        tokens += sum(each + 2 * counter.count(call.name) + counter.count(call.arguments) for call in turn.tool_calls)
    if turn.parts:
        tokens += sum(count_part(counter, part) for part in turn.parts)
    return max(1, tokens)


def count_part(counter: TokenCounter, part: Part) -> int:
    """Return what `part` adds to its turn, in tokens; what was counted before is not counted again."""
    if part.tokens is not None:
        return part.tokens
    if part.kind is not PartKind.BLOCK and part.data in ("{}", ""):
        return 0
    text, media = part_text(part.data)
    return media + counter.count(text)


def counted_parts(counter: TokenCounter, turn: Turn) -> Turn:
    """Return `turn` whose parts know what they count, whatever was said before, so that it can yield them without counting again."""
    uncounted = (evolve(part, tokens=None) for part in turn.parts)
    return evolve(turn, parts=tuple(evolve(part, tokens=count_part(counter, part)) for part in uncounted))


def count_tools(counter: TokenCounter, tools: Sequence[Mapping[str, Any]]) -> int:
    """Return what tool definitions cost within a request, in tokens: 0 where there are none.

    Takes OpenAI's definitions (chat or Responses form), which are counted as the
    TypeScript a model reads, and any other, which are counted as JSON. What a
    vendor's hidden instructions on tool use add is not in here: about 90 tokens
    for gpt-5, 300 to 700 for Claude. Reserve it.

    >>> count_tools(EstimatingCounter(), [])
    0
    """
    from polycontext.window.tokens.tool_text import tool_text  # noqa: PLC0415 - for those who define tools

    return TOOLS_OVERHEAD + counter.count(tool_text(tools)) if tools else 0


def part_text(data: str) -> tuple[str, int]:
    """Return the text of a part's JSON that counts as text, and the tokens of the media in it.

    Signed thinking, encrypted items and whatever is not JSON count as they stand.

    >>> part_text('{"type": "thinking", "thinking": "so", "signature": "c2ln"}')[1]
    0
    >>> part_text('{"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}}')[1]
    1600
    """
    if not _MEDIA.search(data):
        return data, 0
    try:
        rest, tokens = _without_media(json.loads(data))
    except (ValueError, RecursionError):
        return data, 0
    return (json.dumps(rest, ensure_ascii=False), tokens) if tokens else (data, 0)


def _without_media(value: Any) -> tuple[Any, int]:
    """Return `value` with the payload of every medium cut out, and what the media cost in tokens."""
    match value:
        case {"type": str(kind)} if kind in _CHARACTERS_PER_TOKEN and not _is_plain_text(value):
            rest, length = _without_payload(value)
            per_token = _CHARACTERS_PER_TOKEN[kind]
            return rest, IMAGE_TOKENS if per_token is None else max(IMAGE_TOKENS, length // per_token)
        case _:
            return _cut(value, _without_media)


def _is_plain_text(block: Mapping[str, Any]) -> bool:
    source = block.get("source")
    return isinstance(source, Mapping) and source.get("type") in ("text", "content")


def _without_payload(value: Any) -> tuple[Any, int]:
    """Return `value` with its base64 texts cut out, and how many characters those had."""
    is_payload = isinstance(value, str) and _BASE64.fullmatch(value)
    return ("", len(value)) if is_payload else _cut(value, _without_payload)


def _cut(value: Any, cut: Callable[[Any], tuple[Any, int]]) -> tuple[Any, int]:
    """Return `value` after `cut` of all that it holds, and the sum of what `cut` counted."""
    match value:
        case Mapping():
            pairs = {key: cut(inner) for key, inner in value.items()}
            return {key: rest for key, (rest, _) in pairs.items()}, sum(count for _, count in pairs.values())
        case [*values]:
            items = [cut(inner) for inner in values]
            return [rest for rest, _ in items], sum(count for _, count in items)
        case _:
            return value, 0
