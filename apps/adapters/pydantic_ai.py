"""Capability for pydantic-ai agents that fits requests into a window (docs/adapters.md)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from polycontext.base import InvalidOptionError, require_extra
from polycontext.window import Part, Role, ToolCall, Turn
from polycontext.window.providers import ToolDefinition

from .blocks import block, own_blocks, picture, pictures, thought, tool
from .bridge import Bridge, Fitted, recall_definitions
from .dialect import MessageDialect

require_extra("pydantic_ai", extra="pydantic-ai", purpose=__name__)

from pydantic import TypeAdapter
from pydantic_ai import Tool
from pydantic_ai import messages as own
from pydantic_ai.capabilities import AbstractCapability

_OWN = "pydantic-ai"
_SHOWN: TypeAdapter[Any] = TypeAdapter(own.UserContent)
_SAID: TypeAdapter[Any] = TypeAdapter(own.ModelResponsePart)


class ContextCapability(AbstractCapability[Any]):
    """Fit the messages of every request into the window of `model`.

    `options` are those of `Sessions`. One instance serves many agents and conversations.
    """

    def __init__(self, model: Any = None, **options: Any) -> None:
        self._bridge = Bridge(PydanticAIDialect(), model=model, **options)
        self.session = self._bridge.session

    @property
    def recall_tools(self) -> list[Tool[Any]]:
        """Return tools for an agent's model to look up turns that left its view."""

        def recalling(of: ToolDefinition) -> Tool[Any]:
            async def run(ctx: Any, **given: Any) -> str:
                return await self._bridge.alook_up(of.name, given, ctx.conversation_id)

            return Tool.from_schema(
                run, of.name, of.description, dict(of.parameters), takes_ctx=True
            )

        return [*map(recalling, recall_definitions())]

    async def prepare_model_request(self, ctx: Any, request_context: Any) -> Any:
        """Shorten the messages of a request; the agent's history stays complete.

        Raises:
            InvalidOptionError: the settings make the provider shorten them as well.
        """
        asked, settings = (
            request_context.model_request_parameters,
            request_context.model_settings or {},
        )
        if name := next(
            (name for name in settings if name.endswith("_context_management") and settings[name]),
            None,
        ):
            raise InvalidOptionError(
                name,
                settings[name],
                "none: this capability makes room, and no other compaction does",
            )
        tools = [
            tool(each.name, each.description, each.parameters_json_schema)
            for each in [*asked.function_tools, *asked.output_tools]
        ]
        system = "\n".join(part.content for part in asked.instruction_parts or ()) or None
        besides: dict[str, Any] = {
            "system": system,
            "tools": tools,
            "reserve": settings.get("max_tokens") or 0,
        }
        return replace(
            request_context,
            messages=await self._bridge.afit(
                request_context.messages, key=ctx.conversation_id, **besides
            ),
        )

    async def after_model_request(
        self, ctx: Any, *, request_context: Any, response: own.ModelResponse
    ) -> own.ModelResponse:
        """Learn from the provider's token counts.

        A response that names no provider has counts that were estimated, which are ignored.
        """
        if response.provider_name is not None:
            Fitted([], self._bridge.sessions.get(ctx.conversation_id)).learn(
                {"input_tokens": response.usage.input_tokens}
            )
        return response


class PydanticAIDialect(MessageDialect[own.ModelMessage]):
    """Read requests, which may hold several turns, and responses."""

    def read(self, native: own.ModelMessage) -> Iterator[Turn]:
        """Return the turns of a message."""
        if isinstance(native, own.ModelRequest):
            return (turn for part in native.parts for turn in _parse_part(part))
        parts = [
            _said_part(p)
            for p in native.parts
            if not isinstance(p, own.TextPart | own.ToolCallPart)
        ]
        calls = [
            ToolCall(p.tool_call_id, p.tool_name, p.args_as_json_str())
            for p in native.parts
            if isinstance(p, own.ToolCallPart)
        ]
        return iter([Turn(Role.ASSISTANT, native.text or "", tool_calls=calls, parts=parts)])

    def write(self, turns: Sequence[Turn]) -> list[own.ModelMessage]:
        """Return `turns` as one request or one response."""
        if turns[0].role is not Role.ASSISTANT:
            return [own.ModelRequest([_render_turn(turn) for turn in turns])]
        calls = [
            own.ToolCallPart(call.name, call.arguments, call.id)
            for turn in turns
            for call in turn.tool_calls
        ]
        texts = [own.TextPart(turn.text) for turn in turns if turn.text]
        beside = [
            _SAID.validate_python(part)
            for turn in turns
            for held in own_blocks(turn, _OWN)
            for part in ([held] if "part_kind" in held else held.values())
        ]
        return [own.ModelResponse([*texts, *beside, *calls])]


def _said_part(part: Any) -> Part:
    """Return what a response holds besides text and calls."""
    if isinstance(part, own.ThinkingPart):
        return thought(part.content, part.signature, part.provider_name)
    data = _SAID.dump_python(part, mode="json")
    if isinstance(part, own.FilePart):
        return block(_OWN, data, "content")
    if isinstance(part, own.SpeechPart) and part.content:
        data["content"] = None  # it is in the text of the response
    return block(_OWN, {part.part_kind: data})


def _shown_part(piece: Any) -> Part:
    """Return what a user or a tool shows besides text."""
    if isinstance(piece, own.ImageUrl) or getattr(piece, "is_image", False):
        return picture(getattr(piece, "data_uri", None) or piece.url)
    data = _SHOWN.dump_python(piece, mode="json")
    return block(_OWN, {"item": data}, "item" if "media_type" in data else None)


def _parse_part(part: Any) -> Iterator[Turn]:
    content = (
        part.files if isinstance(part, own.BaseToolReturnPart) else getattr(part, "content", None)
    )
    pieces: Any = [content] if isinstance(content, str) else content or []
    parts = [_shown_part(p) for p in pieces if not isinstance(p, str | own.TextContent)]
    if isinstance(part, own.BaseToolReturnPart):
        yield Turn(
            Role.TOOL,
            part.model_response_str(),
            tool_call_id=part.tool_call_id,
            name=part.tool_name,
            parts=parts,
        )
    elif isinstance(part, own.UserPromptPart):
        texts = [
            piece if isinstance(piece, str) else piece.content
            for piece in pieces
            if isinstance(piece, str | own.TextContent)
        ]
        yield Turn(Role.USER, "\n".join(texts), parts=parts)
    elif isinstance(part, own.RetryFeedbackPart | own.SystemPromptPart):
        yield (
            Turn(Role.SYSTEM, part.content)
            if isinstance(part, own.SystemPromptPart)
            else Turn(Role.USER, part.model_response())
        )


def _render_turn(turn: Turn) -> Any:
    shown: list[Any] = [
        own.BinaryContent.from_data_uri(url) if url.startswith("data:") else own.ImageUrl(url)
        for url in pictures(turn)
    ]
    shown += [_SHOWN.validate_python(held["item"]) for held in own_blocks(turn, _OWN)]
    said = [turn.text, *shown] if shown else turn.text
    if turn.role is Role.TOOL:
        return own.ToolReturnPart(turn.name or "", said, turn.tool_call_id or "")
    return own.SystemPromptPart(turn.text) if turn.role is Role.SYSTEM else own.UserPromptPart(said)
