"""LLM wrapper and memory for llama-index (docs/adapters.md).

The wrapped LLM fits its chats into a window; the memory keeps the complete conversation.
"""

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import takewhile
from typing import Any, TypeVar

from polycontext.base import InvalidOptionError, require_extra
from polycontext.window import Part, Role, ToolCall, Turn, loaded_object
from polycontext.window.providers import dumped

from .blocks import arguments_text, disambiguator, picture, pictures, thought, tool
from .bridge import Bridge, Fitted
from .dialect import Dialect, Piece

require_extra("llama_index.core", extra="llama-index", purpose=__name__)

from llama_index.core.base.llms import types as own
from llama_index.core.llms.llm import LLM
from llama_index.core.memory.types import BaseChatStoreMemory

Model = TypeVar("Model")
_ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}
"""The role of a turn for each role of llama-index; any other is the assistant's."""


def wrap(llm: Model, model: Any = None, **options: Any) -> Model:
    """Return an LLM like `llm` whose chats fit into the window of `model`.

    It has the type and the settings of `llm`. `options` are those of `Sessions`. One LLM serves
    many agents and conversations. If the LLM was wrapped before, the new wrapping replaces the old
    one.

    Raises:
        InvalidOptionError: not an LLM of llama-index, or an invalid option.
    """
    if not isinstance(llm, LLM):
        raise InvalidOptionError(
            "llm", llm, "an LLM of llama-index, such as OpenAI(...) of llama_index.llms.openai"
        )
    asks: Any = getattr(llm, "__asks__", llm)
    bridge = Bridge(LlamaIndexDialect(), model=model, **options)

    def fitting(name: str) -> Any:
        def chat(_: Any, messages: Sequence[own.ChatMessage], **request: Any) -> Any:
            head, besides = _besides(asks, messages, request)
            fitted = bridge.fit_with_session(messages[len(head) :], **besides)
            return _learn(fitted, getattr(asks, name)([*head, *fitted.natives], **request))

        async def achat(_: Any, messages: Sequence[own.ChatMessage], **request: Any) -> Any:
            head, besides = _besides(asks, messages, request)
            fitted = await bridge.afit_with_session(messages[len(head) :], **besides)
            return _learn(fitted, await getattr(asks, name)([*head, *fitted.natives], **request))

        return achat if name.startswith("a") else chat

    wrapped: Any = asks.model_copy()
    # The settings are shared, not copied: a change of one LLM's settings changes the other's.
    object.__setattr__(wrapped, "__dict__", asks.__dict__)
    ways = {name: fitting(name) for name in ("chat", "achat", "stream_chat", "astream_chat")}
    wrapped.__class__ = type(
        type(asks).__name__,
        (type(asks),),
        {**ways, "__asks__": asks, "__module__": type(asks).__module__},
    )
    kept: Model = wrapped
    return kept


def _learn(fitted: Fitted[own.ChatMessage], response: Any) -> Any:
    raw = getattr(response, "raw", None)  # a stream has none
    fitted.learn(raw.get("usage") if isinstance(raw, Mapping) else getattr(raw, "usage", None))
    return response


class ContextMemory(BaseChatStoreMemory):
    """Memory that keeps and returns the complete conversation, for an LLM of `wrap`.

    It returns copies, because agents modify the messages they get.
    """

    @classmethod
    def from_defaults(cls, chat_history: Any = None, **fields: Any) -> "ContextMemory":
        """Return a memory of earlier messages, in `chat_store` under `chat_store_key`."""
        memory = cls(**fields)
        memory.put_messages(chat_history or [])
        return memory

    def get(self, input: str | None = None, **kwargs: Any) -> list[own.ChatMessage]:
        """Return all messages."""
        return deepcopy(self.get_all())

    async def aget(self, input: str | None = None, **kwargs: Any) -> list[own.ChatMessage]:
        """Return all messages."""
        return deepcopy(await self.aget_all())


class LlamaIndexDialect(Dialect[own.ChatMessage]):
    """Read messages, each a list of blocks."""

    def split(self, natives: Sequence[own.ChatMessage]) -> Iterator[Piece]:
        """Yield the turn of each message."""
        nth = disambiguator()
        for place, native in enumerate(natives):
            role, said = _ROLES.get(native.role.value, Role.ASSISTANT), native.content or ""
            parts = [*filter(None, map(_part, native.blocks))]
            if role is Role.TOOL:
                answers = str(native.additional_kwargs.get("tool_call_id") or "")
                yield Piece(
                    Turn(role, said, tool_call_id=nth(answers), name=answers, parts=parts),
                    place,
                    place + 1,
                )
            else:
                calls = [*_calls(native, disambiguator())] if role is Role.ASSISTANT else []
                yield Piece(Turn(role, said, tool_calls=calls, parts=parts), place, place + 1)
                nth = disambiguator()

    def write(self, turns: Sequence[Turn]) -> list[own.ChatMessage]:
        """Return `turns` as one message."""
        blocks: list[Any] = [own.TextBlock(text=turn.text) for turn in turns if turn.text]
        blocks += [own.ImageBlock(url=url) for turn in turns for url in pictures(turn)]
        for call in (call for turn in turns for call in turn.tool_calls):
            given = loaded_object(call.arguments)
            blocks.append(
                own.ToolCallBlock(
                    tool_call_id=call.id,
                    tool_name=call.name,
                    tool_kwargs=call.arguments if given is None else given,
                )
            )
        about = {"tool_call_id": turns[0].name} if turns[0].role is Role.TOOL else {}
        return [own.ChatMessage(role=turns[0].role.value, blocks=blocks, additional_kwargs=about)]


def _calls(native: own.ChatMessage, nth: Callable[[str], str]) -> Iterator[ToolCall]:
    for block in native.blocks:
        if isinstance(block, own.ToolCallBlock):
            yield ToolCall(
                nth(block.tool_call_id or block.tool_name),
                block.tool_name,
                arguments_text(block.tool_kwargs),
            )


def _part(block: Any) -> Part | None:
    if isinstance(block, own.ThinkingBlock):
        about = block.additional_information
        signature = about.get("signature") or about.get("encrypted_content")
        return thought(
            block.content or "", signature, "openai" if about.get("type") == "reasoning" else None
        )
    if isinstance(block, own.ImageBlock):
        return picture(
            str(
                block.url
                or f"data:{block.image_mimetype};base64,"
                f"{b64encode(block.resolve_image().read()).decode()}"
            )
        )
    return None


def _besides(
    llm: Any, messages: Sequence[own.ChatMessage], request: Mapping[str, Any]
) -> tuple[list[own.ChatMessage], dict[str, Any]]:
    """Return the leading system messages, and the rest of a request to `llm`."""
    head = [*takewhile(lambda message: _ROLES.get(message.role.value) is Role.SYSTEM, messages)]
    given = [(each, getattr(each, "metadata", None)) for each in request.get("tools") or ()]
    told = [
        tool(of.get_name(), of.description, of.get_parameters_dict()) if of else dumped(each)
        for each, of in given
    ]
    reserve = max(0, request.get("max_tokens") or llm.metadata.num_output)
    system = "\n".join(message.content or "" for message in head)
    return head, {
        "system": system or None,
        "tools": [each for each in told if isinstance(each, Mapping)],
        "reserve": reserve,
    }
