"""Middleware for Microsoft agent-framework that fits requests into a window (docs/adapters.md)."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from mimetypes import guess_type
from typing import Any

from polycontext.base import InvalidOptionError, require_extra
from polycontext.window import Part, Role, ToolCall, Turn
from polycontext.window.providers import ToolDefinition

from .blocks import arguments_text, block, own_blocks, picture, pictures, sent_tokens, thought
from .bridge import Bridge, recall_definitions
from .dialect import MessageDialect

require_extra("agent_framework", extra="agent-framework", purpose=__name__)

from agent_framework import ChatMiddleware, Content, FunctionTool, Message, normalize_tools

_OWN, _ROLES = (
    "agent-framework",
    {"assistant": Role.ASSISTANT, "system": Role.SYSTEM, "developer": Role.SYSTEM},
)


class ContextMiddleware(ChatMiddleware):
    """Fit the messages of every request into the window of `model`.

    `options` are those of `Sessions`. One instance serves many agents and sessions.
    """

    def __init__(self, model: Any = None, **options: Any) -> None:
        self._bridge = Bridge(AgentFrameworkDialect(), model=model, **options)
        self.session = self._bridge.session

    @property
    def recall_tools(self) -> list[FunctionTool]:
        """Return tools for an agent's model to look up turns that left its view."""

        def recalling(of: ToolDefinition) -> FunctionTool:
            async def run(ctx, **given: Any) -> str:  # type: ignore[no-untyped-def]  # noqa: ANN001 - so the framework knows it
                key = ctx.session and ctx.session.session_id
                return await self._bridge.alook_up(of.name, given, key)

            return FunctionTool(
                name=of.name,
                description=of.description,
                input_model=dict(of.parameters),
                func=run,
            )

        return [*map(recalling, recall_definitions())]

    async def process(self, context: Any, call_next: Callable[[], Awaitable[None]]) -> None:
        """Shorten the messages of a request; the session's history stays complete.

        Raises:
            InvalidOptionError: the framework's own compaction is configured.
        """
        if own := context.kwargs.get("compaction_strategy") or getattr(
            context.client, "compaction_strategy", None
        ):
            raise InvalidOptionError(
                "compaction_strategy",
                own,
                "None: this middleware makes room, and no other compaction does",
            )
        options, key = context.options or {}, context.session and context.session.session_id
        if options.get("conversation_id"):
            return await call_next()  # the server already has the earlier messages
        given = [
            each
            for each in normalize_tools(options.get("tools"))
            if isinstance(each, FunctionTool | Mapping)
        ]
        tools = [
            each.to_json_schema_spec() if isinstance(each, FunctionTool) else each for each in given
        ]
        besides: dict[str, Any] = {
            "system": arguments_text(options.get("instructions") or ""),
            "reserve": options.get("max_tokens") or 0,
        }
        context.messages = (
            fitted := await self._bridge.afit_with_session(
                context.messages, key=key, tools=tools, **besides
            )
        ).natives
        context.stream_result_hooks.append(
            lambda response: fitted.learn(sent_tokens(response.usage_details))
        )
        await call_next()
        return (
            None
            if context.stream or not context.result
            else fitted.learn(sent_tokens(context.result.usage_details))
        )


class AgentFrameworkDialect(MessageDialect[Message]):
    """Read a message as one turn per function result and one per group of other contents."""

    def read(self, native: Message) -> Iterator[Turn]:
        """Yield the turns of a message."""
        for key, group in groupby(
            native.contents, lambda each: each.type == "function_result" and each.call_id
        ):
            contents, role = [*group], Role.TOOL if key else _ROLES.get(native.role, Role.USER)
            said = " ".join(
                arguments_text(c.result or "" if key else c.text)
                for c in contents
                if key or c.type == "text"
            )
            asked = [c for c in contents if c.type == "function_call" and not c.informational_only]
            calls = [
                ToolCall(c.call_id, c.name or "unknown", arguments_text(c.arguments)) for c in asked
            ]
            if (
                (parts := [*_parts(contents[0].items or () if key else contents)])
                or said
                or calls
                or key
            ):
                yield Turn(
                    role,
                    said,
                    name=native.author_name,
                    tool_call_id=key or None,
                    tool_calls=calls,
                    parts=parts,
                )

    def write(self, turns: Sequence[Turn]) -> list[Message]:
        """Return `turns` as one message."""
        contents: list[Content] = []
        for turn in turns:
            held = [Content.from_text(turn.text)] if turn.text else []
            held += [
                Content.from_uri(url, media_type=guess_type(url)[0] or "image/png")
                for url in pictures(turn)
            ]
            held += [_content(each) for each in own_blocks(turn, _OWN)]
            held += [
                Content.from_function_call(call.id, call.name, arguments=call.arguments)
                for call in turn.tool_calls
            ]
            contents += (
                [Content.from_function_result(turn.tool_call_id or "", result=held)]
                if turn.role is Role.TOOL
                else held
            )
        return [Message(turns[0].role.value, contents, author_name=turns[0].name)]


def _parts(contents: Iterable[Content]) -> Iterator[Part]:
    for c in contents:
        if c.type == "text_reasoning":
            yield thought(c.text or "", c.protected_data, "openai" if c.id else None)
        elif c.type in {"data", "uri"} and (c.media_type or "").startswith("image/"):
            yield picture(c.uri)
        elif c.type == "data":
            file = {"media_type": c.media_type, "data": c.uri.partition(",")[2]}
            yield block(_OWN, {"file": file}, "file")
        elif c.type in {"uri", "hosted_file"}:
            file = {"media_type": c.media_type, "url": c.uri, "file_id": c.file_id}
            yield block(_OWN, {"file": file, "own": c.to_dict()}, "file")
        elif c.type not in {"text", "usage", "function_call"} or c.informational_only:
            yield block(_OWN, {c.type: c.to_dict()})


def _content(held: dict[str, Any]) -> Content:
    """Return the content that a block was made of."""
    file = held.pop("file", {})
    if held:
        (data,) = held.values()
        return Content.from_dict(data)
    return Content.from_uri(
        "data:{media_type};base64,{data}".format(**file), media_type=file["media_type"]
    )
