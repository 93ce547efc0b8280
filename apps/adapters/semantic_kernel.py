"""Wrapper that fits Semantic Kernel chat requests into a window (docs/adapters.md)."""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any, TypeVar

from polycontext.base import require as check
from polycontext.base import require_extra
from polycontext.window import Role, ToolCall, Turn

from .blocks import picture, pictures, thought
from .bridge import Bridge
from .dialect import MessageDialect

require_extra("semantic_kernel", extra="semantic-kernel", purpose=__name__)

from semantic_kernel import contents as own

Service = TypeVar("Service")
_HOOKS = ("_inner_get_chat_message_contents", "_inner_get_streaming_chat_message_contents")
_KINDS = (
    own.TextContent,
    own.ReasoningContent,
    own.FunctionCallContent,
    own.FunctionResultContent,
    own.ImageContent,
)


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

    # Instance attributes shadow the class's methods. A later `wrap` starts from the methods, so it
    # replaces this one.
    copy.__dict__.update(zip(_HOOKS, (asked, streamed), strict=True))
    return copy  # type: ignore[no-any-return]  # the type of `service`


async def _fitted(bridge: Bridge[Any], history: Any, settings: Any) -> Any:
    check(
        "chat_history",
        "auto_reduce",
        not getattr(history, "auto_reduce", False),
        "one that stays whole, with auto_reduce=False",
    )
    told = [
        *takewhile(lambda message: message.role.value in ("system", "developer"), history.messages)
    ]
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
        texts, thoughts, calls, results, images = (
            [each for each in native.items if isinstance(each, kind)] for kind in _KINDS
        )
        yield from (
            Turn(Role.TOOL, str(each.result), tool_call_id=each.id or "unknown", name=each.name)
            for each in results
        )
        if not results:
            role = {"developer": "system", "tool": "user"}.get(native.role.value, native.role.value)
            parts = [
                *(thought(str(each), each.metadata.get("signature")) for each in thoughts),
                *map(picture, map(str, images)),
            ]
            told = [
                ToolCall(each.id or "unknown", str(each.name), each.to_element().text or "{}")
                for each in calls
            ]
            yield Turn(Role(role), "\n".join(map(str, texts)), tool_calls=told, parts=parts)

    def write(self, turns: Sequence[Turn]) -> list[Any]:
        """Return `turns` as one message."""
        results = [
            own.FunctionResultContent(id=turn.tool_call_id, name=turn.name, result=turn.text)
            for turn in turns
        ]
        turn, items = turns[0], [own.TextContent(text=turns[0].text)]
        items += [
            own.ImageContent(**{"data_uri" if url.startswith("data:") else "uri": url})
            for url in pictures(turn)
        ]
        items += [
            own.FunctionCallContent(id=call.id, name=call.name, arguments=call.arguments)
            for call in turn.tool_calls
        ]
        return [
            own.ChatMessageContent(
                role=own.AuthorRole(turn.role.value),
                items=results if turn.role is Role.TOOL else items,
            )
        ]
