"""Token costs of turns: the counter protocol, and the overhead that providers add around text.

A counter only counts text. A request costs more than its text: every message is wrapped, a call
repeats its tool's name, and tool definitions are written into the prompt. `count_turn`,
`count_tools` and `REQUEST_OVERHEAD` add this to any counter. The costs are additive: the estimate
of a request is the sum of its parts, so a turn is counted once, when it is appended.

The constants are fitted to recorded usage of gpt-4o and gpt-4.1 and err on the high side
(``docs/decisions/2026-11-23-token-counting.md``).

A turn does not know which provider it will be sent to, and formats differ in length. The count is
an upper bound over all of them: the longer of two forms counts, and media cost the most that any
provider charges by its published rules (`media_rules`). A counter for a known model has its own
price of images in `image_rule` (`model_profiles`).

Most vendors do not publish their tokenizers, but all of them report the tokens of each request. The
ratio of reported to counted tokens, each summed over all requests, is a stable correction
(`CalibratedCounter`): it converges as requests come in, and a single outlier changes it little.
"""

import json
import math
import re
import string
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import orjson
from attrs import evolve, field, frozen

from polycontext.base import is_number, require

from ..part import Part, PartKind
from ..turn import Turn
from ..wire_text import compact, is_visible, loaded_arguments, stand_in

if TYPE_CHECKING:
    from .media_rules import ImageRule


REQUEST_OVERHEAD = 3
"""Tokens of a request besides its turns and tools, for the opening of the reply."""

TURN_OVERHEAD = 4
"""Tokens around one message: its delimiters and its role."""

NAME_OVERHEAD = 1
"""Tokens that introduce a message's name."""

CALL_OVERHEAD = 6
"""Tokens around one tool call.

The tool's name counts twice, since the result repeats it as a heading.
"""

PARALLEL_CALL_OVERHEAD = 9
"""Additional tokens for each call of a turn that makes several calls."""

TOOLS_OVERHEAD = 4
"""Tokens around the tool definitions as a whole."""


class Frame(NamedTuple):
    """Tokens that a model's chat template adds, and how it shows the tools to the model.

    A counter with another template than OpenAI's has it as its attribute `frame`.
    """

    turn: int = TURN_OVERHEAD
    call: int = CALL_OVERHEAD
    tools: int = TOOLS_OVERHEAD
    tools_as_json: bool = False


OPENAI_FRAME = Frame()

_CUT = 1
"""Additional tokens that words may cost if they are cut into two blocks."""

_GROWING = re.compile(r"[0-9][eE][-+0-9]")
_DEEP = 60

_LETTERS = (string.ascii_letters + " \t\r\n").encode() + bytes(range(128, 256))


class TokenCounter(Protocol):
    """A counter of the tokens of a text; any class with these two members works.

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
        """Return whether the counts are a tokenizer's own rather than an estimate."""
        ...

    def count(self, text: str) -> int:
        """Return the tokens of `text`: at least 0, and always the same for the same text."""
        ...


@frozen
class EstimatingCounter:
    """A token estimator without a vocabulary: 1/4 token for each byte, 1/2 for a digit or symbol.

    Deviation from o200k_base, summed over recorded conversations: prose +10 % to +35 %, source code
    and shell output +10 % to +20 %, JSON of tools -15 % to +15 %, Chinese, Japanese and Korean -15
    % to +10 %. Single messages of 50 tokens and more deviate from -30 % to +90 %. It finds only
    half to three quarters of the tokens of random-looking text (base64, hex, UUIDs) and of emoji,
    twice too many in Cyrillic and Devanagari, and far too many in long runs of white space.

    >>> EstimatingCounter().count("hello, how are you today?"), EstimatingCounter().exact
    (7, False)
    """

    exact = False

    def count(self, text: str) -> int:
        """Return the estimated tokens, which are 0 only for an empty text."""
        data = text.encode("utf-8", "surrogatepass")
        dense = len(data.translate(None, _LETTERS))
        return (len(data) + dense + 3) // 4


def frame_of(counter: TokenCounter) -> Frame:
    """Return the frame of the counter's model; OpenAI's where the counter has none."""
    frame: Frame = getattr(counter, "frame", OPENAI_FRAME)
    return frame


def is_exact(counter: TokenCounter) -> bool:
    """Return whether `counter` declares its counts exact; a counter without `exact` estimates."""
    return bool(getattr(counter, "exact", False))


def count_turn(counter: TokenCounter, turn: Turn) -> int:
    """Return the tokens of `turn` within a request, always at least 1.

    Counts the content, name, calls with arguments, parts (by their JSON text, media by the
    providers' rules) and the framing around them. Call ids are not billed. The time is linear in
    the text.

    Laws: a request costs the sum of its turns, its tools and `REQUEST_OVERHEAD`; no provider is
    sent more than that.
    """
    frame = frame_of(counter)
    said = counter.count(turn.content) if turn.content else 0
    tokens = frame.turn + said
    if turn.name:
        tokens += NAME_OVERHEAD + counter.count(turn.name)
    if turn.tool_calls:
        each = frame.call + (PARALLEL_CALL_OVERHEAD if len(turn.tool_calls) > 1 else 0)
        for call in turn.tool_calls:
            tokens += (
                each + 2 * counter.count(call.name) + arguments_tokens(counter, call.arguments)
            )
    elif not turn.content or turn.content.isspace():
        tokens += max(0, counter.count(stand_in(turn)) - said)
    if turn.parts:
        messages = sum(part.kind is PartKind.MESSAGE for part in turn.parts)
        beside = (part for part in turn.parts if part.kind is not PartKind.NATIVE)
        tokens += frame.turn * max(0, messages - 1) + sum(
            count_part(counter, part) for part in beside
        )
        tokens = max(
            tokens,
            *(_native_tokens(counter, turn, provider) for provider in turn.native_providers),
            1,
        )
    return max(1, tokens)


def _native_tokens(counter: TokenCounter, turn: Turn, provider: str) -> int:
    """Return the tokens of a turn for the provider whose native blocks replace its words.

    Each of these blocks may be a message.
    """
    blocks = [
        part for part in turn.parts if part.kind is PartKind.NATIVE and part.provider == provider
    ]
    turn_overhead = frame_of(counter).turn
    return sum(turn_overhead + count_part(counter, part) for part in blocks)


def count_introduced(counter: TokenCounter, texts: Iterable[str]) -> int:
    """Return the tokens of filler messages that a provider requires: texts and framing."""
    return sum(frame_of(counter).turn + counter.count(text) for text in texts)


def arguments_tokens(counter: TokenCounter, arguments: str) -> int:
    """Return the tokens of a call's arguments, in the longer of two forms.

    The forms are the text itself, and the text as a JSON object that some providers require.

    >>> (
    ...     arguments_tokens(EstimatingCounter(), '{"city": "Paris"}'),
    ...     arguments_tokens(EstimatingCounter(), "Paris"),
    ... )
    (6, 9)
    """
    tokens = counter.count(arguments)
    if not is_visible(arguments):
        return max(tokens, counter.count("{}"))
    if _is_plain_object(arguments):
        return tokens
    if loaded_arguments(arguments) is None:
        return max(tokens, counter.count(compact({"raw_arguments": arguments})))
    return tokens + _growth(arguments)


def _growth(arguments: str) -> int:
    """Return how many characters numbers gain on re-serialisation, as 1e15 does.

    It becomes 1000000000000000.0.
    """
    gained: list[int] = []

    def read(literal: str) -> float:
        number = float(literal)
        gained.append(max(0, len(repr(number)) - len(literal)))
        return number

    json.loads(arguments, parse_float=read)
    return sum(gained)


def _is_plain_object(arguments: str) -> bool:
    """Return whether `arguments` are a JSON object that does not grow on re-serialisation."""
    try:
        if type(orjson.loads(arguments)) is not dict or _GROWING.search(arguments):
            return False
    except ValueError:
        return False
    return len(arguments) < _DEEP or arguments.count("{") + arguments.count("[") < _DEEP


def count_part(counter: TokenCounter, part: Part) -> int:
    """Return the tokens that `part` adds to its turn: its text, its media and the cost of a cut.

    A part that was counted before is not counted again.

    >>> count_part(EstimatingCounter(), Part("anthropic", "{}", PartKind.WORDS, 0, 5))
    1
    """
    if part.tokens is not None:
        return part.tokens
    from .part_text import part_text  # noqa: PLC0415 - only needed for parts

    texts, media = part_text(part, getattr(counter, "image_rule", None))
    longest = max(counter.count(text) if text else 0 for text in texts)
    return (_CUT if part.kind is PartKind.WORDS else 0) + media + longest


def counted_parts(counter: TokenCounter, turn: Turn) -> Turn:
    """Return `turn` with token counts in all parts, so that removing parts needs no recount.

    Existing counts are replaced.
    """
    uncounted = (evolve(part, tokens=None) for part in turn.parts)
    return evolve(
        turn, parts=tuple(evolve(part, tokens=count_part(counter, part)) for part in uncounted)
    )


def count_tools(counter: TokenCounter, tools: Sequence[Mapping[str, Any]]) -> int:
    """Return the tokens of tool definitions within a request, or 0 if there are none.

    OpenAI's definitions (chat or Responses form) are counted as the TypeScript that the model
    reads; all others, and those for an open model, as JSON. A vendor's hidden instructions on tool
    use are not included: reserve about 90 tokens for gpt-5, and 300 to 700 for Claude.

    >>> count_tools(EstimatingCounter(), [])
    0
    """
    if not tools:
        return 0
    from .part_text import as_json, tool_text  # noqa: PLC0415 - only needed for tools

    frame = frame_of(counter)
    text = as_json(tools) if frame.tools_as_json else tool_text(tools)
    return frame.tools + counter.count(text)


def check_positive(quantity: str, value: object) -> None:
    """Raise `InvalidOptionError` unless `value` is a finite number above 0."""
    fits = is_number(value) and 0 < value < math.inf
    require(quantity, value, fits, "a finite number above 0")


@frozen
class CalibratedCounter:
    """A counter that scales the counts of another counter by `factor`, so its counts are estimates.

    `counted` and `reported` are the sums of tokens that the factor is based on, or 0 for a factor
    that was set explicitly.

    Raises:
        InvalidOptionError: The factor is not a finite number above 0.
    """

    exact = False
    counter: TokenCounter
    factor: float = field(default=1.0, validator=lambda _, a, v: check_positive(a.name, v))
    counted: float = field(default=0.0, kw_only=True)
    reported: float = field(default=0.0, kw_only=True)

    @property
    def image_rule(self) -> "ImageRule | None":
        """Return the image price of the other counter, or None if it has none."""
        return getattr(self.counter, "image_rule", None)

    @property
    def frame(self) -> Frame:
        """Return the frame of the other counter."""
        return frame_of(self.counter)

    def count(self, text: str) -> int:
        """Return the scaled and rounded count, at least 1 if the other counter finds any tokens."""
        tokens = self.counter.count(text)
        return max(1, round(tokens * self.factor)) if tokens > 0 else 0

    def calibrate(self, provider_reported_tokens: float, counted: float) -> "CalibratedCounter":
        """Return a counter calibrated with one more request; see the function `calibrate`."""
        check_positive("provider_reported_tokens", provider_reported_tokens)
        check_positive("counted", counted)
        # `counted` was scaled by the current factor; divide to get the other counter's own count.
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
    """Return `counter` calibrated with the tokens counted and reported for one request.

    See docs/counting.md, "What counts". `counted` is the count of this very counter, so for a
    calibrated counter it is already scaled. Evidence accumulates: the factor is the ratio of the
    sums over all requests.

    Law: where a provider always reports k times the counter's tokens, the factor is k from the
    first request on.

    Raises:
        InvalidOptionError: A number is not finite or not above 0.

    >>> from polycontext.window.tokens.counter import EstimatingCounter
    >>> once = calibrate(EstimatingCounter(), 100, 120)
    >>> once.factor, once.calibrate(provider_reported_tokens=150, counted=120).factor
    (1.2, 1.35)
    """
    start = counter if isinstance(counter, CalibratedCounter) else CalibratedCounter(counter)
    return start.calibrate(provider_reported_tokens, counted)
