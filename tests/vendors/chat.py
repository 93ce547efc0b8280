"""A strict stand-in for OpenAI's Chat Completions with options and a prompt cache."""

from collections.abc import Sequence
from copy import deepcopy
from itertools import accumulate
from typing import Any

from attrs import define, field, frozen

from polycontext.testing import strict
from polycontext.testing.strict.openai_requests import check_chat_fields
from polycontext.testing.strict.provider import Request, vendor_errors
from polycontext.window import REQUEST_OVERHEAD
from polycontext.window.providers import Provider, load_errors
from polycontext.window.providers.chat.rules import Judge
from polycontext.window.providers.judge import raise_first
from polycontext.window.tokens.counter import TURN_OVERHEAD

from .memory import MOST_PREFIXES, Memory, chain, json_bytes, longest
from .openai import Remembering
from .openai_options import check_chat_options


@frozen
class _Learned:
    judge: Judge
    tokens: list[int]


@define(eq=False)
class StrictChat(Remembering, strict.StrictChat):
    """A provider that checks options too, caches prompts, and judges only what is new."""

    _prefixes: Memory[_Learned] = field(
        init=False, repr=False, factory=lambda: Memory[_Learned](MOST_PREFIXES)
    )

    def answer(self, request: Request) -> dict[str, Any]:
        """Judge `request` and return the whole answer, with its use of the cache."""
        with vendor_errors():
            check_chat_fields(request)
            check_chat_options(request)
            for error in load_errors(Provider.OPENAI, request["messages"]):
                raise error
        start = json_bytes(
            [request.get("model"), request.get("tools"), request.get("prompt_cache_key")]
        )
        digests = chain(start, map(json_bytes, request["messages"]))
        tokens = self._learn(request, digests)
        if tokens[-1] > self.window:
            raise self.overflow(tokens[-1])
        use = self._cache.serve_automatic(digests, tokens)
        answer = self.render(request, self.reply(request), tokens[-1])
        answer["usage"]["prompt_tokens_details"] |= {
            "cached_tokens": use.read,
            "cache_write_tokens": use.all_written,
        }
        return answer

    def _learn(self, request: Request, digests: Sequence[bytes]) -> list[int]:
        """Judge and count the messages after the longest known prefix.

        Returns the tokens up to each message.
        """
        known, learned = longest(self._prefixes, digests)
        judge, counted = (
            (Judge(), []) if learned is None else (deepcopy(learned.judge), learned.tokens)
        )
        new = request["messages"][known:]
        with vendor_errors():
            for message in new:
                judge.add(message)
        before = (
            counted[-1] if counted else REQUEST_OVERHEAD + self._tokens.tools(request.get("tools"))
        )
        each = (self._tokens.of(message) + TURN_OVERHEAD for message in new)
        tokens = counted + [*accumulate(each, initial=before)][1:]
        if digests:
            self._prefixes.keep(digests[-1], _Learned(judge, tokens))
        with vendor_errors():
            raise_first(judge.ends())
        return tokens
