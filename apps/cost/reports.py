"""The tokens that a provider reports for a request, sorted by what each costs.

OpenAI and Gemini include cached tokens in the input. Anthropic counts them beside it, and lists the
parts of a request that it ran in several steps, such as a compaction, under `iterations`.
"""

from collections.abc import Mapping
from operator import add
from typing import Any

from attrs import astuple, frozen

from polycontext.base import InvalidDataError, is_whole
from polycontext.window.providers import dumped

_USAGE = ("usage", "usageMetadata", "usage_metadata")
_INPUT = ("prompt_tokens", "input_tokens", "promptTokenCount", "prompt_token_count")
_OUTPUT = ("completion_tokens", "output_tokens", "candidatesTokenCount", "candidates_token_count")
_CACHED = ("cachedContentTokenCount", "cached_content_token_count", "prompt_cache_hit_tokens")


@frozen
class Tokens:
    """The tokens of one or more requests.

    Of the input, `read` tokens were read from a cache, `written` and `written_long` tokens were
    written to it for less than an hour and for longer, and `plain` tokens were neither.
    """

    plain: int = 0
    read: int = 0
    written: int = 0
    written_long: int = 0
    output: int = 0

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(*map(add, astuple(self), astuple(other)))

    @property
    def total(self) -> int:
        """Return the number of all tokens, sent and received."""
        return sum(astuple(self))

    @property
    def input(self) -> int:
        """Return the number of input tokens, cached ones included."""
        return self.total - self.output


def reported_tokens(response: object) -> Tokens | None:
    """Return the tokens that a response, or its `usage`, reports; None if it reports none.

    A response is JSON data or an SDK object of OpenAI, Anthropic or Gemini, or of a server with one
    of their formats.

    Raises:
        InvalidDataError: `response` is no such data, or a count is not a number of tokens.

    >>> reported_tokens({"input_tokens": 10, "cache_read_input_tokens": 900, "output_tokens": 5})
    Tokens(plain=10, read=900, written=0, written_long=0, output=5)
    """
    data = dumped(response)
    if not isinstance(data, Mapping):
        legal = "a response or usage"
        raise InvalidDataError("response", f"{type(response).__name__} is no response", legal)
    return _tokens(next((data[key] for key in _USAGE if key in data), data))


def _tokens(usage: Any) -> Tokens | None:
    if not _known(usage):
        return None
    steps = usage.get("iterations")
    parts = [*filter(_known, steps)] if isinstance(steps, list) else []
    return sum(map(_own, parts or [usage]), Tokens())


def _known(usage: object) -> bool:
    return isinstance(usage, Mapping) and any(usage.get(name) is not None for name in _INPUT)


def _own(usage: Mapping[str, Any]) -> Tokens:
    details = _part(usage, "prompt_tokens_details") or _part(usage, "input_tokens_details")
    given, output = _count(usage, *_INPUT), _count(usage, *_OUTPUT)
    if usage.get("input_tokens") is not None and not details:
        long = _count(_part(usage, "cache_creation"), "ephemeral_1h_input_tokens")
        written = max(0, _count(usage, "cache_creation_input_tokens") - long)
        return Tokens(given, _count(usage, "cache_read_input_tokens"), written, long, output)
    read = _count(details, "cached_tokens") or _count(usage, *_CACHED)
    written = _count(details, "cache_write_tokens")
    # Gemini counts what its tools read, and thoughts, beside the input and the output.
    plain = max(0, given - read - written) + _count(usage, "toolUsePromptTokenCount")
    return Tokens(plain, read, written, 0, output + _count(usage, "thoughtsTokenCount"))


def _part(usage: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = usage.get(name)
    return part if isinstance(part, Mapping) else {}


def _count(data: Mapping[str, Any], *names: str) -> int:
    """Return the first of the named counts that is given, or 0."""
    name = next((each for each in names if data.get(each) is not None), "")
    value = data.get(name, 0)
    if not is_whole(value, 0):
        what = f"{value!r:.100} is not a number of tokens"
        raise InvalidDataError(f"usage.{name}", what, "0 or more")
    return value
