"""What the strict providers of both OpenAI formats share: options, refusals in the vendor's form, tokens, overflow."""

import time
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from itertools import count
from typing import Any, NoReturn

from attrs import define, field

from polycontext.linearity import InvalidOptionError
from polycontext.pressure.cache import PrefixCache
from polycontext.window import TokenCounter, default_counter
from polycontext.window.providers import Breach
from polycontext.window.tokens import SeenTokens

from .provider import Faults, Request, RequestRefusedError, as_faults


def _window(_instance: object, _attribute: object, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidOptionError("window", value, "a number of tokens, at least 1")


def _names(given: Iterable[str]) -> frozenset[str]:
    return frozenset(given)


@define(eq=False)
class OpenAIOptions:
    """Hold what a strict provider of OpenAI's can be told.

    Args:
        window: tokens that a request may have; more is refused as an overflow.
        counter: counts the tokens of texts; o200k_base unless said. Media cost what the window's
            counting says.
        models: names that are known; any, if there are none.
        faults: what goes wrong, by the number of the request, from 1.
        clock: tells the time in seconds, for the cache and for what answers say of their making.
    """

    window: int = field(default=400_000, validator=_window, kw_only=True)
    counter: TokenCounter = field(factory=default_counter, kw_only=True)
    models: frozenset[str] = field(default=frozenset(), converter=_names, kw_only=True)
    faults: Faults = field(factory=Faults, converter=as_faults, kw_only=True)
    clock: Callable[[], float] = field(default=time.time, kw_only=True)
    _cache: PrefixCache = field(init=False, repr=False)
    _tokens: SeenTokens = field(init=False, repr=False)
    _numbers: "count[int]" = field(init=False, repr=False, factory=lambda: count(1))

    def __attrs_post_init__(self) -> None:
        self._cache, self._tokens = PrefixCache(self.clock), SeenTokens(self.counter)

    def error_body(self, refusal: RequestRefusedError) -> dict[str, Any]:
        """Return `refusal` as the JSON body that the vendor sends."""
        return {
            "error": {
                "message": refusal.message,
                "type": refusal.kind,
                "param": refusal.param,
                "code": refusal.code,
            }
        }

    def new_name(self, prefix: bytes) -> str:
        """Return 12 hexadecimal digits for an answer behind `prefix`: another for each answer, in other processes too as the conversation grows."""
        return blake2b(prefix + b"%d" % next(self._numbers), digest_size=6).hexdigest()

    def known_model(self, request: Request, message: str, param: str | None) -> None:
        """Refuse a model that there is not, with the vendor's `message` of ``{model}``."""
        model = request.get("model")
        if self.models and model is not None and model not in self.models:
            refuse(
                Breach(
                    "unknown-model",
                    message.format(model=model),
                    ", ".join(sorted(self.models)),
                    None,
                    param,
                    "model_not_found",
                    404,
                )
            )


def check(breach: Breach | None) -> None:
    """Refuse a request with a `breach`."""
    if breach is not None:
        refuse(breach)


def refuse(breach: Breach) -> NoReturn:
    """Raise `breach` as the vendor's refusal."""
    raise RequestRefusedError(
        breach.status,
        "invalid_request_error",
        breach.message,
        breach.rule,
        breach.index,
        breach.legal,
        breach.param,
        breach.code,
    )


def rate_limited(model: str, seconds: float) -> RequestRefusedError:
    """Return the refusal of too many requests, for a script of faults.

    >>> rate_limited("gpt-5.6", 2).retry_after
    2
    """
    message = (
        f"Rate limit reached for {model} on tokens per min (TPM): Limit 30000, Used 30000, Requested 1000. Please try again in {seconds:g}s. "
        "Visit https://platform.openai.com/account/rate-limits to learn more."
    )
    return RequestRefusedError(
        429, "tokens", message, "rate-limit", code="rate_limit_exceeded", retry_after=seconds
    )


def without(mapping: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Return `mapping` as a dict without `keys`."""
    return {key: value for key, value in mapping.items() if key not in keys}
