"""An LLM of llama-index whose requests fit, and a memory that keeps all of a conversation (docs/adapters.md)."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, TypeVar

from polycontext.linearity import InvalidOptionError, require_extra

from .bridge import Bridge, Fitted

require_extra("llama_index.core", extra="llama-index", purpose="an LLM whose requests fit")

from llama_index.core.base.llms import types as own  # noqa: E402 - an extra
from llama_index.core.llms.llm import LLM  # noqa: E402 - as above
from llama_index.core.memory.types import BaseChatStoreMemory  # noqa: E402 - as above

from .llama_index_messages import LlamaIndexDialect, besides_of  # noqa: E402 - as above

Model = TypeVar("Model")


def wrap(llm: Model, model: Any = None, **options: Any) -> Model:
    """Return an LLM of the type and with the settings of `llm` whose chats fit into the window of `model`; options are those of `Sessions`.

    One serves many agents and conversations. Of an LLM that was wrapped before, the last wrapping counts.

    Raises:
        InvalidOptionError: no LLM of llama-index, or an option that cannot be.
    """
    if not isinstance(llm, LLM):
        raise InvalidOptionError("llm", llm, "an LLM of llama-index, such as OpenAI(...) of llama_index.llms.openai")
    asks: Any = getattr(llm, "__asks__", llm)
    bridge = Bridge(LlamaIndexDialect(), model=model, **options)

    def fitting(name: str) -> Any:
        def chat(_: Any, messages: Sequence[own.ChatMessage], **request: Any) -> Any:
            head, besides = besides_of(asks, messages, request)
            fitted = bridge.fitted(messages[len(head) :], **besides)
            return _learned(fitted, getattr(asks, name)([*head, *fitted.natives], **request))

        async def achat(_: Any, messages: Sequence[own.ChatMessage], **request: Any) -> Any:
            head, besides = besides_of(asks, messages, request)
            fitted = await bridge.afitted(messages[len(head) :], **besides)
            return _learned(fitted, await getattr(asks, name)([*head, *fitted.natives], **request))

        return achat if name.startswith("a") else chat

    wrapped: Any = asks.model_copy()
    # Not a copy of the settings: what is changed of one is changed of the other.
    object.__setattr__(wrapped, "__dict__", asks.__dict__)
    ways = {name: fitting(name) for name in ("chat", "achat", "stream_chat", "astream_chat")}
    wrapped.__class__ = type(type(asks).__name__, (type(asks),), {**ways, "__asks__": asks, "__module__": type(asks).__module__})
    kept: Model = wrapped
    return kept


def _learned(fitted: Fitted[own.ChatMessage], response: Any) -> Any:
    raw = getattr(response, "raw", None)  # a stream has none
    fitted.learn(raw.get("usage") if isinstance(raw, Mapping) else getattr(raw, "usage", None))
    return response


class ContextMemory(BaseChatStoreMemory):
    """Keep all of a conversation and hand out all of it, for an LLM of `wrap`. Agents write into what they are handed: it is copies."""

    @classmethod
    def from_defaults(cls, chat_history: Any = None, **fields: Any) -> "ContextMemory":
        """Return a memory of what was said before, in `chat_store` under `chat_store_key`."""
        memory = cls(**fields)
        memory.put_messages(chat_history or [])
        return memory

    def get(self, input: str | None = None, **kwargs: Any) -> list[own.ChatMessage]:
        """Return all of it."""
        return deepcopy(self.get_all())

    async def aget(self, input: str | None = None, **kwargs: Any) -> list[own.ChatMessage]:
        """Return all of it."""
        return deepcopy(await self.aget_all())
