"""How other libraries keep a list of messages within a window, with one small adapter each.

Libraries that are not installed are named, not measured. Each compacts at .95 of the window down to
half of it, counts tokens as we do, and gets its summaries from a model that answers at once with as
many tokens as a gist may have.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any, Protocol

from attrs import define, field

from benchmarks.conversation import RememberingCounter
from polycontext.testing.strict.request_tokens import SeenTokens
from polycontext.window.tokens.counter import REQUEST_OVERHEAD, TURN_OVERHEAD

Message = dict[str, Any]

_SUMMARY = "The desk is looking into the open cases. " * 40
_COUNTING = SeenTokens(RememberingCounter())


class Trimmer(Protocol):
    """An object that keeps a growing list of messages within a window."""

    def add(self, message: Message) -> None:
        """Add one message."""
        ...

    def messages(self) -> list[Message]:
        """Return the messages to send."""
        ...


def tokens_of(message: Message) -> int:
    """Return the tokens of a message."""
    return _COUNTING.of(message) + TURN_OVERHEAD


@define
class Sliding:
    """A trimmer that drops the oldest messages down to the low mark when the window is full.

    Calls are dropped with their results.
    """

    max_tokens: int
    high: float
    low: float
    _held: list[Message] = field(factory=list)
    _tokens: int = REQUEST_OVERHEAD

    def add(self, message: Message) -> None:
        """Add one message."""
        self._held.append(message)
        self._tokens += tokens_of(message)

    def messages(self) -> list[Message]:
        """Return the messages to send."""
        if self._tokens > self.high * self.max_tokens:
            while self._tokens > self.low * self.max_tokens or self._held[0]["role"] != "user":
                self._tokens -= tokens_of(self._held.pop(0))
        return list(self._held)


@define
class Langchain:
    """`SummarizationMiddleware`, called before each request as a langchain agent calls it."""

    max_tokens: int
    high: float
    low: float
    _held: list[Any] = field(factory=list)
    _middleware: Any = field(init=False)
    _lib: Any = field(init=False, factory=lambda: import_module("langchain_core.messages"))

    def __attrs_post_init__(self) -> None:
        model = import_module("langchain_core.language_models.fake_chat_models").FakeListChatModel(
            responses=[_SUMMARY]
        )
        keep = int(self.low * self.max_tokens) - RememberingCounter().count(_SUMMARY)
        self._middleware = import_module("langchain.agents.middleware").SummarizationMiddleware(
            model,
            trigger=("tokens", int(self.high * self.max_tokens)),
            keep=("tokens", keep),
            token_counter=self._count,
        )

    def add(self, message: Message) -> None:
        """Add one message."""
        self._held += self._lib.convert_to_messages([message])

    def messages(self) -> list[Message]:
        """Return the messages to send."""
        update = self._middleware.before_model({"messages": self._held}, SimpleNamespace())
        if update is not None:
            self._held = list(update["messages"][1:])
        return list(self._lib.convert_to_openai_messages(self._held))

    def _count(self, messages: Any) -> int:
        return REQUEST_OVERHEAD + sum(
            map(tokens_of, self._lib.convert_to_openai_messages(list(messages)))
        )


PEERS: Mapping[str, Callable[[int, float, float], Trimmer]] = {
    "a sliding window": Sliding,
    "langchain's SummarizationMiddleware": Langchain,
}

_NEEDS = {"langchain's SummarizationMiddleware": "langchain"}


def is_installed(name: str) -> bool:
    """Return whether a library can be measured here."""
    return name not in _NEEDS or find_spec(_NEEDS[name]) is not None
