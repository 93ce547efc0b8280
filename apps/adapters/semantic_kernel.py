"""Wrapper that fits Semantic Kernel chat requests into a window (docs/adapters.md)."""

from base64 import b64decode
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any, TypeVar

from polycontext.base import require as check
from polycontext.base import require_extra
from polycontext.polynomial import ContextSession
from polycontext.window import Part, Role, ToolCall, Turn
from polycontext.window.providers import ToolDefinition

from .blocks import block, own_blocks, picture, pictures, thought
from .bridge import Bridge, recall_definitions
from .dialect import MessageDialect

require_extra("semantic_kernel", extra="semantic-kernel", purpose=__name__)

from pydantic import TypeAdapter
from semantic_kernel import contents as own
from semantic_kernel.contents.binary_content import BinaryContent
from semantic_kernel.functions import (
    KernelFunctionFromMethod,
    KernelParameterMetadata,
    KernelPlugin,
    kernel_function,
)

Service = TypeVar("Service")
_HOOKS = ("_inner_get_chat_message_contents", "_inner_get_streaming_chat_message_contents")
_OWN = "semantic-kernel"
_ITEM: TypeAdapter[Any] = TypeAdapter(
    own.ChatMessageContent.model_fields["items"].annotation.__args__[0]
)
_KINDS = (own.TextContent, own.FunctionCallContent, own.FunctionResultContent)


def wrap(service: Service, model: Any = None, **options: Any) -> Service:
    """Return a chat service of the same type whose requests fit into the window of `model`.

    `options` are those of `Sessions`.

    Raises:
        InvalidOptionError: not a chat service, or an invalid option. A request raises it for a
            history with `auto_reduce`.
    """
    check(
        "service",
        service,
        all(hasattr(service, name) for name in _HOOKS),
        "a ChatCompletionClientBase of the package semantic-kernel",
    )
    plain, stream = (getattr(type(service), name) for name in _HOOKS)
    bridge, copy = (
        Bridge(SemanticKernelDialect(), model=model, **options),
        type(service).model_copy(service),  # type: ignore[attr-defined]
    )

    async def asked(history: Any, settings: Any) -> Any:
        fitted, sent = await _fitted(bridge, history, settings)
        answers = await plain(copy, sent, settings)
        fitted.learn(answers[0].metadata.get("usage") if answers else None)
        return answers

    async def streamed(history: Any, settings: Any, *attempt: int) -> Any:
        (fitted, sent), usage = await _fitted(bridge, history, settings), None
        async for pieces in stream(copy, sent, settings, *attempt):
            usage = next((piece.metadata.get("usage") for piece in pieces if piece), None) or usage
            yield pieces
        fitted.learn(usage)

    def session(conversation: Any, /) -> ContextSession:
        if not isinstance(conversation, str):
            messages = getattr(conversation, "messages", conversation)
            conversation = messages[len(_head(messages)) :]
        return bridge.session(conversation)

    # Instance attributes shadow the class's methods. A later `wrap` starts from the methods, so it
    # replaces this one.
    copy.__dict__.update(zip(_HOOKS, (asked, streamed), strict=True))
    functions = [_recalling(bridge, each) for each in recall_definitions()]
    recall = KernelPlugin(name="polycontext", functions=functions)
    copy.__dict__.update(session=session, recall_tools=[recall])
    return copy  # type: ignore[no-any-return]  # the type of `service`


def _recalling(bridge: Bridge[Any], of: ToolDefinition) -> KernelFunctionFromMethod:
    """Return the function of a tool that looks up turns of the conversation that calls it."""

    async def run(**given: Any) -> str:
        return await bridge.alook_up(of.name, given)

    known: Any = kernel_function(name=of.name, description=of.description)(run)

    parameters = [
        KernelParameterMetadata(
            name=name,
            description=about["description"],
            is_required=name in of.parameters["required"],
            type_="object",
            schema_data=dict(about),
        )
        for name, about in of.parameters["properties"].items()
    ]
    return KernelFunctionFromMethod(known, "polycontext", parameters=parameters)


def _head(messages: Sequence[Any]) -> list[Any]:
    """Return the system messages that lead the list."""
    roles = ("system", "developer")
    return [*takewhile(lambda message: message.role.value in roles, messages)]


async def _fitted(bridge: Bridge[Any], history: Any, settings: Any) -> Any:
    check(
        "chat_history",
        "auto_reduce",
        not getattr(history, "auto_reduce", False),
        "one that stays whole, with auto_reduce=False",
    )
    told = _head(history.messages)
    key, system = settings.extension_data.get("thread_id"), "\n".join(map(str, told)) or None
    tools = [each for each in getattr(settings, "tools", None) or () if isinstance(each, dict)]
    reserve = max(
        getattr(settings, name, None) or 0
        for name in ("max_completion_tokens", "max_output_tokens", "max_tokens")
    )
    fitted = await bridge.afit_with_session(
        history.messages[len(told) :], key=key, system=system, tools=tools, reserve=reserve
    )
    return fitted, own.ChatHistory(messages=[*told, *fitted.natives])


class SemanticKernelDialect(MessageDialect[Any]):
    """Read messages, each a list of items."""

    def read(self, native: Any) -> Iterator[Turn]:
        """Yield the turns of a message."""
        texts, calls, results = (
            [each for each in native.items if isinstance(each, kind)] for kind in _KINDS
        )
        beside = [each for each in native.items if not isinstance(each, _KINDS)]
        for each in results:
            told, shown = _found(each.result)
            yield Turn(
                Role.TOOL,
                told,
                tool_call_id=each.id or "unknown",
                name=each.name,
                parts=[*map(_part, shown)],
            )
        if beside or texts or calls or not results:
            role = {"developer": "system", "tool": "user"}.get(native.role.value, native.role.value)
            called = [
                ToolCall(each.id or "unknown", str(each.name), each.to_element().text or "{}")
                for each in calls
            ]
            parts = [*map(_part, beside)]
            yield Turn(Role(role), "\n".join(map(str, texts)), tool_calls=called, parts=parts)

    def write(self, turns: Sequence[Turn]) -> list[Any]:
        """Return `turns` as one message."""
        items = [item for turn in turns for item in _items(turn)]
        return [own.ChatMessageContent(role=own.AuthorRole(turns[0].role.value), items=items)]


def _found(result: Any) -> tuple[str, list[Any]]:
    """Return the text of a function's result, and the contents that it shows."""
    found = result if isinstance(result, list) else [result]
    shown = [each for each in found if isinstance(each, BinaryContent)]
    if not shown:
        return str(result), []
    return "\n".join(str(each) for each in found if each not in shown), shown


def _part(item: Any) -> Part:
    """Return an item that is neither text nor a call."""
    if isinstance(item, own.ReasoningContent):
        return thought(str(item), item.metadata.get("signature"))
    if isinstance(item, own.ImageContent):
        return picture(str(item))
    data = item.model_dump(mode="json")
    if isinstance(item, own.FileReferenceContent):
        file = {"media_type": "", "file_id": item.file_id or ""}
        return block(_OWN, {"file": file, "own": data}, "file")
    if not isinstance(item, BinaryContent):
        return block(_OWN, {str(data["content_type"]): data})
    head, _, payload = str(data.pop("data_uri")).partition(",")
    media_type = head.removeprefix("data:").partition(";")[0] or item.mime_type or ""
    if isinstance(item, own.AudioContent) and not media_type.startswith("audio/"):
        media_type = "audio/wav"
    where = {"data": payload} if payload else {"url": data["uri"]}
    return block(_OWN, {"file": {"media_type": media_type, **where}, "own": data}, "file")


def _file(data: dict[str, Any], file: dict[str, str]) -> BinaryContent:
    """Return a recording or a file; the framework cannot read the data URLs of all types."""
    kind = own.AudioContent if data["content_type"] == "audio" else BinaryContent
    return kind(
        data=b64decode(file["data"]),
        data_format="base64",
        mime_type=file["media_type"],
        metadata=data["metadata"],
        ai_model_id=data["ai_model_id"],
    )


def _items(turn: Turn) -> list[Any]:
    """Return a turn as items of a message."""
    shown: list[Any] = [
        own.ImageContent(**{"data_uri" if url.startswith("data:") else "uri": url})
        for url in pictures(turn)
    ]
    for held in own_blocks(turn, _OWN):
        file = held.pop("file", {})
        (data,) = held.values()
        shown.append(_file(data, file) if "data" in file else _ITEM.validate_python(data))
    said = own.TextContent(text=turn.text)
    if turn.role is Role.TOOL:
        result = [said, *shown] if shown else turn.text
        return [own.FunctionResultContent(id=turn.tool_call_id, name=turn.name, result=result)]
    calls = [
        own.FunctionCallContent(id=call.id, name=call.name, arguments=call.arguments)
        for call in turn.tool_calls
    ]
    return [said, *shown, *calls]
