"""A strict stand-in for OpenAI's Chat Completions with options and a prompt cache."""

from itertools import accumulate
from typing import Any

from attrs import define

from polycontext.testing import strict
from polycontext.testing.strict.provider import Request, vendor_errors
from polycontext.window import REQUEST_OVERHEAD
from polycontext.window.providers import Provider, load_errors
from polycontext.window.providers.judge import raise_first
from polycontext.window.tokens.counter import TURN_OVERHEAD

from .digests import chain, json_bytes
from .openai import Remembering
from .openai_options import check_chat_options


@define(eq=False)
class StrictChat(Remembering, strict.StrictChat):
    """A provider that checks options too, and caches prompts."""

    def answer(self, request: Request) -> dict[str, Any]:
        """Judge `request` and return the whole answer, with its use of the cache."""
        self.check(request)
        messages = request["messages"]
        with vendor_errors():
            check_chat_options(request)
            raise_first(load_errors(Provider.OPENAI, messages))
        start = json_bytes(
            [request.get("model"), request.get("tools"), request.get("prompt_cache_key")]
        )
        before = REQUEST_OVERHEAD + self._tokens.tools(request.get("tools"))
        each = (self._tokens.of(message) + TURN_OVERHEAD for message in messages)
        tokens = [*accumulate(each, initial=before)][1:]
        if tokens[-1] > self.window:
            raise self.overflow(tokens[-1])
        use = self._cache.serve_automatic(chain(start, map(json_bytes, messages)), tokens)
        answer = self.render(request, self.reply(request), tokens[-1])
        answer["usage"]["prompt_tokens_details"] |= {
            "cached_tokens": use.read,
            "cache_write_tokens": use.all_written,
        }
        return answer
