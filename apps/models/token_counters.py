"""Count as the providers do: their own endpoints that count tokens, asked through their SDKs (docs/models.md, "How exact the counts are")."""

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from threading import Lock
from typing import Any

from attrs import define, field

from polycontext.polynomial.session import whole_number
from polycontext.window import PluginError, TokenCounter, default_counter
from polycontext.window.providers import Rendered

_ALONE = "."
"""A text of one token, by which the frame of a request is measured; blank texts stand behind it."""

_LEGAL = "an endpoint that answers; catch this, count with another counter, or go on later"


@define
class _EndpointTokens(ABC):
    """Ask an endpoint for the tokens of a text once, and remember the newest `most_known` answers, by digests of the texts."""

    exact = True
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
        """Return the tokens of `text`.

        Of one shorter than `from_characters` those that `local` counts.

        Raises:
            PluginError: the endpoint cannot be asked, or answers no number; what the SDK raised is
                the cause.
        """
        if not text:
            return 0
        if len(text) < self.from_characters:
            return self.local.count(text)
        # A request of nothing or of white space is refused: what stands before the text is taken
        # off again.
        before = "" if text.strip() else _ALONE
        frame = self._ask(_ALONE) - (0 if before else 1)
        return max(1, self._ask(before + text) - frame)

    def count_request(
        self, request: Rendered, *, tools: Sequence[Mapping[str, Any]] = (), **options: Any
    ) -> int:
        """Return the tokens of a whole request, as `session.request()` gives it: ``session.usage.reported({"input_tokens": n})`` learns from it.

        Raises:
            PluginError: as `count`.
        """
        return self._send(self._request(request, tools, options))

    def _ask(self, text: str) -> int:
        key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        # Nobody waits for another one's answer: the same text may be asked for twice.
        tokens = self._send(self._text(text))
        with self._lock:
            self._known[key] = tokens
            while len(self._known) > self.most_known:
                self._known.popitem(last=False)
        return tokens

    def _send(self, fields: Mapping[str, Any]) -> int:
        try:
            tokens = self._endpoint()(model=self.model, **fields).input_tokens
        except Exception as error:
            raise PluginError(
                "the counting endpoint", self.model, f"{type(error).__name__}: {error}", _LEGAL
            ) from error
        if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 1:
            raise PluginError(
                "the counting endpoint",
                self.model,
                f"it answered {tokens!r:.100}",
                "a whole number of tokens",
            )
        return tokens

    @abstractmethod
    def _endpoint(self) -> Any:
        """Return the method of the client that counts."""

    @abstractmethod
    def _text(self, text: str) -> Mapping[str, Any]:
        """Return the fields of a request that says `text`."""

    @abstractmethod
    def _request(
        self, request: Rendered, tools: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Return the fields of a whole request."""


@define
class AnthropicTokens(_EndpointTokens):
    """Count by Anthropic's ``/v1/messages/count_tokens``, a `TokenCounter` for a session's `counter`.

    Args:
        client: ``anthropic.Anthropic(...)``, with its own timeout and retries.
        model: what the provider calls the model.
        local: who counts texts shorter than `from_characters`: a session counts many small ones
            where it sums up.
        from_characters: from which length on the endpoint is asked.
        most_known: how many answers are remembered.

    Raises:
        InvalidOptionError: a number that cannot be.
    """

    def _endpoint(self) -> Any:
        return self.client.messages.count_tokens

    def _text(self, text: str) -> Mapping[str, Any]:
        return {"messages": [{"role": "user", "content": text}]}

    def _request(
        self, request: Rendered, tools: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        named = {"system": list(request.system)} if request.system else {}
        return {
            "messages": request.messages,
            **named,
            **({"tools": list(tools)} if tools else {}),
            **options,
        }


@define
class OpenAITokens(_EndpointTokens):
    """Count by OpenAI's ``/v1/responses/input_tokens``, a `TokenCounter` for a session's `counter`.

    Arguments as those of `AnthropicTokens`.

    Requests are those in the format of Responses.
    """

    def _endpoint(self) -> Any:
        return self.client.responses.input_tokens.count

    def _text(self, text: str) -> Mapping[str, Any]:
        return {"input": text}

    def _request(
        self, request: Rendered, tools: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        return {"input": request.messages, **({"tools": list(tools)} if tools else {}), **options}
