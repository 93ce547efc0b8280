"""The shared part of the strict OpenAI providers: options, errors, tokens and overflow."""

import time
from collections.abc import Callable, Iterable
from hashlib import blake2b
from itertools import count
from typing import Any

from attrs import define, field

from polycontext.base import InvalidOptionError
from polycontext.window import TokenCounter, default_counter

from .prefix_cache import PrefixCache
from .provider import Faults, Request, RequestRefusedError, as_faults, invalid_request
from .request_tokens import SeenTokens


def _window(_instance: object, _attribute: object, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidOptionError("window", value, "a number of tokens, at least 1")


def _names(given: Iterable[str]) -> frozenset[str]:
    return frozenset(given)


@define(eq=False)
class OpenAIOptions:
    """The options of a strict OpenAI provider.

    Args:
        window: The maximum tokens of a request; a longer one is rejected as an overflow.
        counter: The token counter of texts; o200k_base by default. Media cost what the window's
            counting says.
        models: The known model names; with none, every name is accepted.
        faults: Scripted faults by the number of the request, from 1.
        clock: Returns the time in seconds, for the cache and the creation times of answers.
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
        """Return a new name of 12 hexadecimal digits for an answer after `prefix`.

        It differs for each answer, and as the conversation grows also between processes.
        """
        return blake2b(prefix + b"%d" % next(self._numbers), digest_size=6).hexdigest()

    def known_model(self, request: Request, message: str, param: str | None) -> None:
        """Reject an unknown model with the vendor's `message`, a template of ``{model}``."""
        model = request.get("model")
        if self.models and model is not None and model not in self.models:
            message, legal = message.format(model=model), ", ".join(sorted(self.models))
            code = "model_not_found"
            raise invalid_request(
                message, "unknown-model", None, legal, code, param=param, status=404
            )


def rate_limited(model: str, seconds: float) -> RequestRefusedError:
    """Return the vendor's rate-limit error, for a script of faults.

    >>> rate_limited("gpt-5.6", 2).retry_after
    2
    """
    message = (
        f"Rate limit reached for {model} on tokens per min (TPM): Limit 30000, Used 30000, "
        f"Requested 1000. Please try again in {seconds:g}s. "
        "Visit https://platform.openai.com/account/rate-limits to learn more."
    )
    return RequestRefusedError(
        429, "tokens", message, "rate-limit", code="rate_limit_exceeded", retry_after=seconds
    )
