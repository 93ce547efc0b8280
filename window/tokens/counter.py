"""What a turn costs: the counter protocol, and the framing that providers add around text.

A counter knows text only. A request costs more than its text: every message is
wrapped, a call repeats its tool's name, tool definitions are written into the
prompt. `count_turn`, `count_tools` and `REQUEST_OVERHEAD` add that on top of any
counter, and they add up: the estimate of a request is the sum of its parts, so
a turn is counted once, when it is appended, and never again.

The constants are fitted to recorded usage of gpt-4o and gpt-4.1 and lean to the
careful side (``docs/decisions/2026-11-23-token-counting.md``).

A turn does not know which provider it will be sent to, and one writes longer than another. The
count is
an upper bound over all of them: of two ways to write a thing the costlier one counts, media cost
the most that a provider charges by its published rules (`media_rules`). A counter that knows its
model says with `image_rule` what that one charges for a picture (`model_profiles`).

Most vendors' tokenizers are unpublished, but all of them report the tokens of each request. The
ratio of reported to counted tokens, each summed over all requests seen, is a steady correction
(`CalibratedCounter`): it settles as requests come in, and one odd request moves it little.
"""

import json
import math
import re
import string
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import orjson
from attrs import evolve, field, frozen

from polycontext.linearity import InvalidOptionError

from ..part import Part, PartKind, native_providers
from ..turn import Turn

if TYPE_CHECKING:
    from .media_rules import ImageRule


REQUEST_OVERHEAD = 3
"""Tokens a request costs beside its turns and tools: the opening of the reply."""

TURN_OVERHEAD = 4
"""Tokens around one message: its delimiters and its role."""

NAME_OVERHEAD = 1
"""Tokens that introduce a message's name."""

CALL_OVERHEAD = 6
"""Tokens around one tool call; the tool's name counts twice, as its result is headed by it again.
"""

PARALLEL_CALL_OVERHEAD = 9
"""Tokens each call costs on top where one turn makes several calls."""

TOOLS_OVERHEAD = 4
"""Tokens around the tool definitions as a whole."""

_CUT = 1
"""Tokens that words may cost more where they are cut into two blocks."""

_GROWING = re.compile(r"[0-9][eE][-+0-9]")
_DEEP = 60

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

    Counts content, name, calls with their arguments, parts by their JSON text
    (media by the providers' rules) and the framing around them. Ids of calls are
    not billed. Takes time in proportion to the text.

    Laws: a request costs the sum of its turns, its tools and `REQUEST_OVERHEAD`; no provider is
    sent more than that.
    """
    tokens = TURN_OVERHEAD
    if turn.content:
        tokens += counter.count(turn.content)
    if turn.name:
        tokens += NAME_OVERHEAD + counter.count(turn.name)
    if turn.tool_calls:
        each = (
            CALL_OVERHEAD if len(turn.tool_calls) == 1 else CALL_OVERHEAD + PARALLEL_CALL_OVERHEAD
        )
        for call in turn.tool_calls:
            tokens += (
                each + 2 * counter.count(call.name) + arguments_tokens(counter, call.arguments)
            )
    elif not turn.content or turn.content.isspace():
        tokens += _stand_in_tokens(counter, turn)
    if turn.parts:
        messages = sum(part.kind is PartKind.MESSAGE for part in turn.parts)
        beside = (part for part in turn.parts if part.kind is not PartKind.NATIVE)
        tokens += TURN_OVERHEAD * max(0, messages - 1) + sum(
            count_part(counter, part) for part in beside
        )
        tokens = max(
            tokens,
            *(_native_tokens(counter, turn, provider) for provider in native_providers(turn.parts)),
            1,
        )
    return max(1, tokens)


def _native_tokens(counter: TokenCounter, turn: Turn, provider: str) -> int:
    """Return what a turn costs with the provider that is sent blocks of its own instead of the words, each of which may be a message."""
    blocks = [
        part for part in turn.parts if part.kind is PartKind.NATIVE and part.provider == provider
    ]
    return sum(TURN_OVERHEAD + count_part(counter, part) for part in blocks)


def count_introduced(counter: TokenCounter, texts: Iterable[str]) -> int:
    """Return what messages cost that no turn says and a provider wants: their texts and the framing around them."""
    return sum(TURN_OVERHEAD + counter.count(text) for text in texts)


def arguments_tokens(counter: TokenCounter, arguments: str) -> int:
    """Return what a call's arguments cost: as they stand, or as the provider writes them that wants an object, whichever is more.

    >>> arguments_tokens(EstimatingCounter(), '{"city": "Paris"}'), arguments_tokens(EstimatingCounter(), "Paris")
    (6, 9)
    """
    tokens = counter.count(arguments)
    if _is_plain_object(arguments):
        return tokens
    from ..providers.blocks import compact, loaded_object  # noqa: PLC0415 - for what few calls have

    if loaded_object(arguments) is None:
        return max(tokens, counter.count(compact({"raw_arguments": arguments})))
    return tokens + _growth(arguments)


def _growth(arguments: str) -> int:
    """Return how many characters numbers gain that are read and written anew: 1e15 is 1000000000000000.0 then."""
    gained: list[int] = []

    def read(literal: str) -> float:
        number = float(literal)
        gained.append(max(0, len(repr(number)) - len(literal)))
        return number

    json.loads(arguments, parse_float=read)
    return sum(gained)


def _is_plain_object(arguments: str) -> bool:
    """Tell whether `arguments` are a JSON object that is not longer when it is written anew."""
    try:
        if type(orjson.loads(arguments)) is not dict or _GROWING.search(arguments):
            return False
    except ValueError:
        return False
    return len(arguments) < _DEEP or arguments.count("{") + arguments.count("[") < _DEEP


def count_part(counter: TokenCounter, part: Part) -> int:
    """Return what `part` adds to its turn, in tokens: its text, its media, what a cut in the words may cost.

    What was counted before is not counted again.

    >>> count_part(EstimatingCounter(), Part("anthropic", "{}", PartKind.WORDS, 0, 5))
    1
    """
    if part.tokens is not None:
        return part.tokens
    from .part_text import part_text  # noqa: PLC0415 - for turns that have parts

    text, media = part_text(part, getattr(counter, "image_rule", None))
    return (
        (_CUT if part.kind is PartKind.WORDS else 0) + media + (counter.count(text) if text else 0)
    )


def _stand_in_tokens(counter: TokenCounter, turn: Turn) -> int:
    """Return what the words cost that stand where a provider refuses emptiness, beyond what the blank content costs."""
    from ..providers.blocks import stand_in  # noqa: PLC0415 - for empty turns

    return max(
        0, counter.count(stand_in(turn)) - (counter.count(turn.content) if turn.content else 0)
    )


def counted_parts(counter: TokenCounter, turn: Turn) -> Turn:
    """Return `turn` whose parts know what they count, whatever was said before, so that it can yield them without counting again."""
    uncounted = (evolve(part, tokens=None) for part in turn.parts)
    return evolve(
        turn, parts=tuple(evolve(part, tokens=count_part(counter, part)) for part in uncounted)
    )


def count_tools(counter: TokenCounter, tools: Sequence[Mapping[str, Any]]) -> int:
    """Return what tool definitions cost within a request, in tokens: 0 where there are none.

    Takes OpenAI's definitions (chat or Responses form), which are counted as the
    TypeScript a model reads, and any other, which are counted as JSON. What a
    vendor's hidden instructions on tool use add is not in here: about 90 tokens
    for gpt-5, 300 to 700 for Claude. Reserve it.

    >>> count_tools(EstimatingCounter(), [])
    0
    """
    if not tools:
        return 0
    from .part_text import tool_text  # noqa: PLC0415 - for those who define tools

    return TOOLS_OVERHEAD + counter.count(tool_text(tools))


def _check(quantity: str, value: object) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < math.inf:
        raise InvalidOptionError(quantity, value, "a finite number above 0")


@frozen
class CalibratedCounter:
    """Scale the counts of another counter by `factor`.

    The result is an estimate, whatever the other is.

    `counted` and `reported` are the sums of tokens that the factor rests on, 0
    where it was given by hand.

    Raises:
        InvalidOptionError: a factor that is not a finite number above 0.
    """

    exact = False
    counter: TokenCounter
    factor: float = field(default=1.0, validator=lambda _, a, v: _check(a.name, v))
    counted: float = field(default=0.0, kw_only=True)
    reported: float = field(default=0.0, kw_only=True)

    @property
    def image_rule(self) -> "ImageRule | None":
        """Return what the other counter says that a picture costs, None where it says nothing."""
        return getattr(self.counter, "image_rule", None)

    def count(self, text: str) -> int:
        """Return the scaled count in tokens, rounded.

        At least 1 where the other counter finds any.
        """
        tokens = self.counter.count(text)
        return max(1, round(tokens * self.factor)) if tokens > 0 else 0

    def calibrate(self, provider_reported_tokens: float, counted: float) -> "CalibratedCounter":
        """Return a counter corrected by one more request; see `calibrate`."""
        _check("provider_reported_tokens", provider_reported_tokens)
        _check("counted", counted)
        # What the counter below had said: `counted` was scaled by the factor of then.
        total_counted = self.counted + counted / self.factor
        total_reported = self.reported + provider_reported_tokens
        return evolve(
            self,
            factor=total_reported / total_counted,
            counted=total_counted,
            reported=total_reported,
        )


def calibrate(
    counter: TokenCounter, counted: float, provider_reported_tokens: float
) -> CalibratedCounter:
    """Return `counter` corrected by one request: what it counted, and what the provider reported for it (docs/counting.md, "What counts").

    `counted` is what this very counter says about the request, so a calibrated
    counter is given its own, already scaled count. Evidence adds up: the factor is
    the ratio of the sums over all requests.

    Law: where a provider always reports k times the counter's tokens, the factor
    is k from the first request on.

    Raises:
        InvalidOptionError: a number that is not finite and above 0.

    >>> from polycontext.window.tokens.counter import EstimatingCounter
    >>> once = calibrate(EstimatingCounter(), 100, 120)
    >>> once.factor, once.calibrate(provider_reported_tokens=150, counted=120).factor
    (1.2, 1.35)
    """
    start = counter if isinstance(counter, CalibratedCounter) else CalibratedCounter(counter)
    return start.calibrate(provider_reported_tokens, counted)
