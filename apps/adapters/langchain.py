"""Middleware for LangChain agents that fits requests into a window (docs/adapters.md)."""

from collections.abc import Iterator, Sequence
from typing import Any

from polycontext.base import InvalidOptionError, require_extra
from polycontext.window import Role, ToolCall, Turn
from polycontext.window.providers import ToolDefinition

from .blocks import arguments_text, block_parts, content_of, tool
from .bridge import Bridge, Fitted, recall_definitions
from .dialect import MessageDialect

require_extra("langchain", extra="langchain", purpose=__name__)

from langchain.agents.middleware import AgentMiddleware
from langchain_core import messages as own
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.prebuilt import ToolRuntime

_ROLES = {
    "ai": Role.ASSISTANT,
    "assistant": Role.ASSISTANT,
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
}


class ContextMiddleware(AgentMiddleware[Any, Any, Any]):
    """Fit the messages of every request into the window of `model`.

    `options` are those of `Sessions`. One instance serves many agents and threads.
    """

    def __init__(self, model: Any = None, **options: Any) -> None:
        self._bridge = Bridge(LangChainDialect(), model=model, **options)
        self.session = self._bridge.session

    @property
    def recall_tools(self) -> list[BaseTool]:
        """Return tools for an agent's model to look up turns that left its view."""

        def recalling(of: ToolDefinition) -> BaseTool:
            def run(runtime: ToolRuntime[Any, Any], **given: Any) -> str:
                return self._bridge.look_up(of.name, given, _conversation(runtime))

            async def arun(runtime: ToolRuntime[Any, Any], **given: Any) -> str:
                return await self._bridge.alook_up(of.name, given, _conversation(runtime))

            return StructuredTool(
                name=of.name,
                description=of.description,
                args_schema=dict(of.parameters),
                func=run,
                coroutine=arun,
            )

        return [*map(recalling, recall_definitions())]

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        """Shorten the messages of a request; the agent's state stays complete.

        Raises:
            InvalidOptionError: `ContextEditingMiddleware` shortens the messages as well.
        """
        fitted = self._bridge.fit_with_session(request.messages, **_besides(request))
        return _learn(fitted, handler(request.override(messages=fitted.natives)))

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        """Do what `wrap_model_call` does, without blocking."""
        fitted = await self._bridge.afit_with_session(request.messages, **_besides(request))
        return _learn(fitted, await handler(request.override(messages=fitted.natives)))


class LangChainDialect(MessageDialect[own.BaseMessage]):
    """Read messages, each of one turn.

    Content other than text and calls is kept unchanged.
    """

    def read(self, native: own.BaseMessage) -> Iterator[Turn]:
        """Yield the turn of a message."""
        called = (
            [*native.tool_calls, *native.invalid_tool_calls]
            if isinstance(native, own.AIMessage)
            else []
        )
        calls = [
            ToolCall(call["id"] or str(n), call["name"] or "unknown", arguments_text(call["args"]))
            for n, call in enumerate(called)
        ]
        role = _ROLES.get(
            getattr(native, "role", native.type).removesuffix("MessageChunk").lower(), Role.USER
        )
        answers = native.tool_call_id if isinstance(native, own.ToolMessage) else None
        besides: dict[str, Any] = {
            "name": native.name,
            "tool_calls": calls,
            "parts": [*block_parts(native.content)],
        }
        yield Turn(
            Role.TOOL if answers is not None else role,
            str(native.text),
            tool_call_id=answers,
            **besides,
        )

    def write(self, turns: Sequence[Turn]) -> list[own.BaseMessage]:
        """Return a message for each turn."""
        return [_message(turn) for turn in turns]


def _besides(request: Any) -> dict[str, Any]:
    if any(message.response_metadata.get("context_editing") for message in request.messages):
        raise InvalidOptionError(
            "middleware",
            "ContextEditingMiddleware",
            "none that shortens what is sent, besides this one",
        )
    tools = [
        each if isinstance(each, dict) else convert_to_openai_tool(each) for each in request.tools
    ]
    forms = [
        tool(form.name, form.description, form.json_schema)
        for form in getattr(request.response_format, "schema_specs", ())
    ]
    return {
        "key": _key(request.runtime),
        "tools": tools + forms,
        "system": request.system_prompt,
        "reserve": request.model_settings.get("max_tokens") or 0,
    }


def _key(runtime: Any) -> str | None:
    info = runtime.execution_info
    # A nested agent shares its parent's thread, but has its own conversation: identify it by its
    # first messages.
    if info is None or info.thread_id is None or "|" in info.checkpoint_ns:
        return None
    return str(info.thread_id)


def _conversation(runtime: Any) -> Any:
    return _key(runtime) or runtime.state["messages"]


def _learn(fitted: Fitted[own.BaseMessage], response: Any) -> Any:
    fitted.learn(getattr(next(iter(response.result), None), "usage_metadata", None))
    return response


def _message(turn: Turn) -> own.BaseMessage:
    said: Any = content_of(turn)
    if turn.role is Role.TOOL:
        return own.ToolMessage(said, tool_call_id=turn.tool_call_id, name=turn.name)
    if turn.role is Role.ASSISTANT:
        asked = [
            {"id": call.id, "function": {"name": call.name, "arguments": call.arguments}}
            for call in turn.tool_calls
        ]
        calls, broken = own.tool.default_tool_parser(asked)
        return own.AIMessage(said, tool_calls=calls, invalid_tool_calls=broken)
    return (own.SystemMessage if turn.role is Role.SYSTEM else own.HumanMessage)(said)
