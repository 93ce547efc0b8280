"""Token counters that call the providers' own counting endpoints.

See docs/models.md, "How exact the counts are".
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from operator import attrgetter
from threading import Lock
from typing import Any, ClassVar

from attrs import define, field

from polycontext.base import is_whole, whole_number
from polycontext.window import PluginError, TokenCounter, default_counter
from polycontext.window.providers import Rendered

_ALONE = "."
"""A text of one token, used to measure a request's overhead and to precede blank texts."""

_LEGAL = "an endpoint that answers; catch this, count with another counter, or go on later"


@define
class _EndpointTokens:
    """A counter that asks an endpoint once for each text.

    It keeps the newest `most_known` answers, by digests of the texts.
    """

    exact = True
    _endpoint: ClassVar[str]
    """The client's counting method, and below the field of its messages."""
    _messages: ClassVar[str]
    client: Any
    model: str
    local: TokenCounter = field(factory=default_counter, kw_only=True)
    from_characters: int = field(
        default=0, kw_only=True, validator=lambda _, a, v: whole_number(a.name, v, 0, "characters")
    )
    most_known: int = field(
        default=10_000,
        kw_only=True,
        validator=lambda _, a, v: whole_number(a.name, v, 1, "answers"),
    )
    _known: OrderedDict[bytes, int] = field(init=False, repr=False, eq=False, factory=OrderedDict)
    _lock: Lock = field(init=False, repr=False, eq=False, factory=Lock)

    def count(self, text: str) -> int:
        """Return the tokens of `text`; `local` counts texts shorter than `from_characters`.

        Raises:
            PluginError: the endpoint cannot be called, or does not return a number; the SDK's error
                is the cause.
        """
        if not text:
            return 0
        if len(text) < self.from_characters:
            return self.local.count(text)
        # The endpoint rejects empty and blank texts: put a token before them and subtract it again.
        before = "" if text.strip() else _ALONE
        frame = self._ask(_ALONE) - (0 if before else 1)
        return max(1, self._ask(before + text) - frame)

    def count_request(
        self, request: Rendered, *, tools: Sequence[Mapping[str, Any]] = (), **options: Any
    ) -> int:
        """Return the tokens of a whole request, as `session.request()` returns it.

        Pass the number to ``session.usage.reported({"input_tokens": n})`` to calibrate the session.

        Raises:
            PluginError: as for `count`.
        """
        system = {"system": list(request.system)} if request.system else {}
        offered = {"tools": list(tools)} if tools else {}
        return self._send({self._messages: request.messages, **system, **offered, **options})

    def _ask(self, text: str) -> int:
        key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        # The lock is not held during the request, so the same text may be counted twice.
        tokens = self._send({self._messages: [{"role": "user", "content": text}]})
        with self._lock:
            self._known[key] = tokens
            while len(self._known) > self.most_known:
                self._known.popitem(last=False)
        return tokens

    def _send(self, fields: Mapping[str, Any]) -> int:
        try:
            count = attrgetter(self._endpoint)(self.client)
            tokens = count(model=self.model, **fields).input_tokens
        except Exception as error:
            raise PluginError(
                "the counting endpoint", self.model, f"{type(error).__name__}: {error}", _LEGAL
            ) from error
        if not is_whole(tokens, 1):
            raise PluginError(
                "the counting endpoint",
                self.model,
                f"it answered {tokens!r:.100}",
                "a whole number of tokens",
            )
        return tokens


@define
class AnthropicTokens(_EndpointTokens):
    """A `TokenCounter` for a session that calls Anthropic's ``/v1/messages/count_tokens``.

    Args:
        client: ``anthropic.Anthropic(...)``, with its own timeout and retries.
        model: The provider's name for the model.
        local: The counter for texts shorter than `from_characters`, many of which are counted when
            a session summarises.
        from_characters: The length from which the endpoint is called.
        most_known: The number of answers to remember.

    Raises:
        InvalidOptionError: a number is out of range.
    """

    _endpoint = "messages.count_tokens"
    _messages = "messages"


@define
class OpenAITokens(_EndpointTokens):
    """A `TokenCounter` for a session that calls OpenAI's ``/v1/responses/input_tokens``.

    The arguments are those of `AnthropicTokens`. Requests are in the format of Responses.
    """

    _endpoint = "responses.input_tokens.count"
    _messages = "input"
