"""Learn from what providers report how large requests really are, and give the window the room that it has by that.

A turn is counted once and its count stays. A provider counts otherwise: some tokens for each of
ours, and some beside the turns that nobody here has seen (its own instructions, tools that the
session was not told of). Both are estimated from one report after the other, and what follows is
the one
number that everything else goes by: how many of our tokens the window has room for. The journal
holds neither reports nor room.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from attrs import frozen

from polycontext.linearity import InvalidDataError, InvalidOptionError
from polycontext.window.providers import dumped

from ..errors import ContextOverflowError
from .delivery import SentRequest
from .options import is_whole

LEAST_FACTOR, MOST_FACTOR = 0.5, 2.5
"""Tokens of a provider for each of a counter's, as far as they can be explained by another
tokenizer: the rest stands beside the turns."""

WEIGHT = 200
"""Tokens for which a request as a whole stands, against what is learned from how requests grow."""

TELLING = 1_000
"""Tokens from which on a request as a whole tells anything: of a small one most may stand beside
the turns."""

STEPS = 128
"""The room changes by so many parts of the window: what was read for gists is remembered by it."""

LEAST_ROOM = 64
"""Tokens in which a request can say anything."""

_USAGE = "the usage of a response: prompt_tokens of OpenAI's chat, input_tokens of Responses or of Anthropic's messages"


@frozen
class Measured:
    """Say how a model counts, by what its provider has reported.

    Of the last request: `counted` tokens here, `reported` by the provider, tools and all. `factor`
    tokens of the provider's stand for each of ours, and `besides` of them beside the turns. `room`
    is how many of our tokens the window has room for from now on.
    """

    model: str
    counted: int
    reported: int
    factor: float
    besides: int
    room: int


@frozen
class Evidence:
    """Hold what was reported of one model's requests: of the last one, and the sums of how they grew."""

    last: SentRequest
    reported: int
    grown: int = 0
    grown_reported: int = 0

    def after(self, request: SentRequest, reported: int) -> "Evidence":
        """Return what is known after one more report.

        A request that has grown since the last one tells what its new turns took.
        """
        counted, told = request.tokens - self.last.tokens, reported - self.reported
        learns = (
            request.epoch == self.last.epoch
            and counted > 0
            and LEAST_FACTOR * counted <= told <= MOST_FACTOR * counted
        )
        more = (counted, told) if learns else (0, 0)
        return Evidence(request, reported, self.grown + more[0], self.grown_reported + more[1])

    @property
    def factor(self) -> float:
        """Return the provider's tokens for each of ours: the ratio of sums over all that has grown, and at first of the whole request."""
        whole = min(MOST_FACTOR, max(LEAST_FACTOR, self.reported / self.last.tokens))
        whole = 1 + (whole - 1) * min(1.0, self.last.tokens / TELLING)
        return (WEIGHT * whole + self.grown_reported) / (WEIGHT + self.grown)

    @property
    def besides(self) -> int:
        """Return the provider's tokens beside the turns, 0 or more: what the last report has beyond them."""
        return max(0, round(self.reported - self.factor * self.last.tokens))


class Sizes(NamedTuple):
    """Say what a window was given, how much of what was taken off it are tool definitions, and what it has room for now, in tokens."""

    given: int
    tools: int
    now: int


Known = Mapping[str, Evidence]
"""What was reported, by the name of the model."""


def measure(
    known: Known, request: SentRequest | None, usage: object, model: str, sizes: Sizes
) -> tuple[Measured | None, Known]:
    """Return what one more report says, and what is known by it; see `Usage.reported`."""
    if request is None:
        raise InvalidOptionError(
            "usage",
            usage,
            "what is reported of a request that this session has handed out by messages() or request()",
        )
    reported, name = input_tokens(usage)
    name = name or model
    if reported is None:
        return None, known
    before = known.get(name)
    evidence = Evidence(request, reported) if before is None else before.after(request, reported)
    told = Measured(
        name, request.tokens, reported, evidence.factor, evidence.besides, _room(sizes, evidence)
    )
    return told, {**known, name: evidence}


def _room(sizes: Sizes, evidence: Evidence) -> int:
    """Return how many of our tokens the window has room for: fewer at once, more only where it is worth reading for gists anew."""
    # What the session took off for tools is in what was reported.
    budget, step = sizes.given + sizes.tools, max(1, sizes.given // STEPS)
    tokens = int((budget - evidence.besides) / evidence.factor)
    if tokens < LEAST_ROOM:
        needed = evidence.besides + round(evidence.factor * LEAST_ROOM)
        raise ContextOverflowError(
            needed, budget, "what was sent beside the turns, as the provider counts it,"
        )
    tokens = max(tokens // step * step, LEAST_ROOM)
    return sizes.now if sizes.now <= tokens < sizes.now + 2 * step else tokens


# --- what a provider says -----------------------------------------------------------


def input_tokens(given: object) -> tuple[int | None, str]:
    """Return the tokens that a request had by what is reported of it, cached ones too, and the model's name where it is said.

    None where the provider summed up the conversation before it read it: of what was sent nothing
    is told then.

    Raises:
        InvalidDataError: no usage; names what is missing.

    >>> input_tokens({"input_tokens": 10, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 90})
    (1000, '')
    """
    data = _data(given)
    response, usage = (data, _data(data["usage"], "usage.")) if "usage" in data else ({}, data)
    name = response.get("model")
    told = _sent(usage)
    return (None if told is None else told + _cleared(response)), name if isinstance(
        name, str
    ) else ""


def _data(given: object, path: str = "") -> Mapping[str, Any]:
    """Return what was given as data; objects of SDKs tell theirs."""
    data = dumped(given)
    if not isinstance(data, Mapping):
        legal = (
            f"{_USAGE}, or the response"
            if not path
            else f"{_USAGE}; a stream of chat has it with stream_options={{'include_usage': True}}"
        )
        raise InvalidDataError(
            path.rstrip(".") or "usage", f"{type(given).__name__} is no usage", legal
        )
    return data


def _sent(usage: Mapping[str, Any]) -> int | None:
    """Return the tokens of the request as it was sent."""
    if "prompt_tokens" in usage:
        return _whole(usage, "prompt_tokens")
    for entry in usage.get("iterations") or ():
        # Where a provider's own tools run, the totals are those of several requests: the first of
        # them is ours.
        kind = entry.get("type") if isinstance(entry, Mapping) else None
        if kind == "compaction":
            return None
        if kind == "message":
            return _with_cached(entry)
    return _with_cached(usage)


def _with_cached(usage: Mapping[str, Any]) -> int:
    cached = ("cache_creation_input_tokens", "cache_read_input_tokens")
    return _whole(usage, "input_tokens", least=0) + sum(
        _whole(usage, name, least=0) for name in cached if usage.get(name) is not None
    )


def _cleared(response: Mapping[str, Any]) -> int:
    """Return the tokens that the provider left out of the request, by the edits that it tells of."""
    managed = response.get("context_management")
    edits = managed.get("applied_edits") if isinstance(managed, Mapping) else None
    tokens = (edit.get("cleared_input_tokens") for edit in edits or () if isinstance(edit, Mapping))
    return sum(each for each in tokens if isinstance(each, int))


def _whole(usage: Mapping[str, Any], name: str, least: int = 1) -> int:
    value: Any = usage.get(name)
    if not is_whole(value) or value < least:
        raise InvalidDataError(
            f"usage.{name}",
            f"{value!r:.100} is no number of tokens" if name in usage else "is missing",
            _USAGE,
        )
    return int(value)
