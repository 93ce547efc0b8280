"""LLM wrapper and memory for llama-index (docs/adapters.md).

The wrapped LLM fits its chats into a window; the memory keeps the complete conversation.
"""

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeVar

from polycontext.base import InvalidOptionError, require_extra
from polycontext.polynomial import ContextSession
from polycontext.window import Part, Role, ToolCall, Turn
from polycontext.window.providers import ToolDefinition, dumped
from polycontext.window.wire_text import loaded_arguments

from .blocks import (
    arguments_text,
    block,
    disambiguator,
    own_blocks,
    picture,
    pictures,
    thought,
    tool,
)
from .bridge import Bridge, Fitted, recall_definitions
from .dialect import Dialect, Piece

require_extra("llama_index.core", extra="llama-index", purpose=__name__)

from llama_index.core.base.llms import types as own
from llama_index.core.llms.llm import LLM
from llama_index.core.memory.types import BaseChatStoreMemory
from llama_index.core.tools import FunctionTool, ToolMetadata
from llama_index.core.workflow import Context
from pydantic import ConfigDict, TypeAdapter, create_model

Model = TypeVar("Model")
_ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}
"""The role of a turn for each role of llama-index; any other is the assistant's."""

_OWN, _BLOCK = "llama-index", TypeAdapter[Any](own.ContentBlock)
_MEDIA = {
    "image": ("image", "image_mimetype"),
    "audio": ("audio", "format"),
    "video": ("video", "video_mimetype"),
    "document": ("data", "document_mimetype"),
}
"""The fields of a block with its data and their type, by the block's type."""


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

    def session(_: Any, conversation: str | Sequence[own.ChatMessage], /) -> ContextSession:
        if not isinstance(conversation, str):
            conversation = conversation[len(_head(conversation)) :]
        return bridge.session(conversation)

    def recalling(of: ToolDefinition) -> FunctionTool:
        async def run(ctx: Context, **given: Any) -> str:
            messages = await (await ctx.store.get("memory")).aget_all()
            return await bridge.alook_up(of.name, given, messages)

        about = create_model(of.name, __config__=ConfigDict(json_schema_extra=dict(of.parameters)))
        metadata = ToolMetadata(of.description, of.name, fn_schema=about)
        return FunctionTool(async_fn=run, metadata=metadata)

    def recall_tools(_: Any) -> list[FunctionTool]:
        return [*map(recalling, recall_definitions())]

    wrapped: Any = asks.model_copy()
    # The settings are shared, not copied: a change of one LLM's settings changes the other's.
    object.__setattr__(wrapped, "__dict__", asks.__dict__)
    ways = {name: fitting(name) for name in ("chat", "achat", "stream_chat", "astream_chat")}
    ways |= {"session": session, "recall_tools": property(recall_tools)}
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
                told = native.additional_kwargs
                answers = str(told.get("tool_call_id") or told.get("name") or "")
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
            given = loaded_arguments(call.arguments)
            blocks.append(
                own.ToolCallBlock(
                    tool_call_id=call.id,
                    tool_name=call.name,
                    tool_kwargs=call.arguments if given is None else given,
                )
            )
        blocks += [_restored(held) for turn in turns for held in own_blocks(turn, _OWN)]
        about = _about(turns[0]) if turns[0].role is Role.TOOL else {}
        return [own.ChatMessage(role=turns[0].role.value, blocks=blocks, additional_kwargs=about)]


def _calls(native: own.ChatMessage, nth: Callable[[str], str]) -> Iterator[ToolCall]:
    blocks = [each for each in native.blocks if isinstance(each, own.ToolCallBlock)]
    for each in blocks:
        yield ToolCall(
            nth(each.tool_call_id or each.tool_name),
            each.tool_name,
            arguments_text(each.tool_kwargs),
        )
    known, told = {each.tool_call_id for each in blocks}, native.additional_kwargs
    # Older histories have the calls of a message beside its blocks, in the vendor's form.
    for given in told.get("tool_calls") or filter(None, [told.get("function_call")]):
        held = dumped(given)
        function = held.get("function") or held if isinstance(held, Mapping) else {}
        name, call = function.get("name"), held.get("id") if isinstance(held, Mapping) else None
        if name and (call is None or call not in known):
            yield ToolCall(
                nth(call or name),
                name,
                arguments_text(function.get("arguments", function.get("input"))),
            )


def _about(turn: Turn) -> dict[str, str]:
    """Return the fields of a result; a result that was read has its call's id as its name."""
    answers, name = turn.tool_call_id or "", turn.name or ""
    if name and answers.partition("~")[0] in (name, name.partition("~")[0]):
        return {"tool_call_id": name}
    return {"tool_call_id": answers, **({"name": name} if name else {})}


def _part(given: Any) -> Part | None:
    if isinstance(given, own.TextBlock | own.ToolCallBlock):
        return None
    if isinstance(given, own.ThinkingBlock):
        about = given.additional_information
        signature = about.get("signature") or about.get("encrypted_content")
        return thought(
            given.content or "", signature, "openai" if about.get("type") == "reasoning" else None
        )
    if isinstance(given, own.ImageBlock):
        return picture(
            str(
                given.url
                or f"data:{given.image_mimetype};base64,"
                f"{b64encode(given.resolve_image().read()).decode()}"
            )
        )
    held = _data(given)
    return block(_OWN, held, "file") if "file" in held else block(_OWN, {given.block_type: held})


def _data(given: Any) -> dict[str, Any]:
    """Return a block as JSON data, in which each medium is in a field `file`."""
    data: dict[str, Any] = given.model_dump(mode="json")
    for name in ("content", "cited_content"):
        if isinstance(inner := getattr(given, name, None), list):
            data[name] = [*map(_data, inner)]
        elif isinstance(inner, own.BaseContentBlock):
            data[name] = _data(inner)
    if given.block_type in _MEDIA:
        field, kind = _MEDIA[given.block_type]
        media_type = str(data[kind] or given.block_type)
        if given.block_type == "audio" and "/" not in media_type:
            media_type = f"audio/{media_type}"
        payload = data.pop(field)
        if payload is None and given.path is not None:
            payload = b64encode(Path(given.path).read_bytes()).decode()
        where = {"url": data["url"]} if payload is None else {"data": payload}
        data["file"] = {"media_type": media_type, **where}
    return data


def _restored(held: dict[str, Any]) -> Any:
    """Return the block that `_data` was given."""
    return _BLOCK.validate_python(
        _with_data(held if "block_type" in held else next(iter(held.values())))
    )


def _with_data(data: Any) -> Any:
    if isinstance(data, list):
        return [*map(_with_data, data)]
    if not isinstance(data, dict):
        return data
    if "file" in data:
        rest = {name: value for name, value in data.items() if name != "file"}
        return {**rest, _MEDIA[data["block_type"]][0]: data["file"].get("data")}
    return {name: _with_data(inner) for name, inner in data.items()}


def _head(messages: Sequence[own.ChatMessage]) -> list[own.ChatMessage]:
    """Return the system messages that lead the list."""
    return [*takewhile(lambda message: _ROLES.get(message.role.value) is Role.SYSTEM, messages)]


def _besides(
    llm: Any, messages: Sequence[own.ChatMessage], request: Mapping[str, Any]
) -> tuple[list[own.ChatMessage], dict[str, Any]]:
    """Return the leading system messages, and the rest of a request to `llm`."""
    head = _head(messages)
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
