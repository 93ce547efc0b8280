"""The messages of Haystack, as turns and back (docs/adapters.md)."""

from collections.abc import Iterator, Sequence
from typing import Any

from polycontext.linearity import require_extra
from polycontext.window import Part, Role, ToolCall, Turn

from .blocks import arguments, arguments_text, block_parts, picture, pictures, thought, told_apart
from .dialect import Dialect, Piece

require_extra("haystack", extra="haystack", purpose="a hook whose requests fit")

from haystack import dataclasses as own  # noqa: E402 - an extra


class HaystackDialect(Dialect[own.ChatMessage]):
    """Read messages of parts."""

    def split(self, natives: Sequence[own.ChatMessage]) -> Iterator[Piece]:
        """Yield the turn of each message, those of each result."""
        nth = told_apart()
        for place, native in enumerate(natives):
            if not native.tool_call_results:
                nth = told_apart()
                yield Piece(_said(native), place, place + 1)
            for each in native.tool_call_results:
                found = [own.TextContent(each.result)] if isinstance(each.result, str) else each.result
                text, call = _text(found), nth(each.origin.id or each.origin.tool_name)
                yield Piece(Turn(Role.TOOL, text, tool_call_id=call, name=each.origin.tool_name, parts=_parts(found)), place, place + 1)

    def write(self, turns: Sequence[Turn]) -> list[own.ChatMessage]:
        """Return a message for each turn."""
        return [_written(turn) for turn in turns]


def _said(native: own.ChatMessage) -> Turn:
    nth, content = told_apart(), native._content  # noqa: SLF001 - of all its parts in order nothing else tells
    calls = [ToolCall(nth(call.id or call.tool_name), call.tool_name, arguments_text(call.arguments)) for call in native.tool_calls]
    return Turn(native.role.value, _text(content), tool_calls=calls, name=native.name, parts=_parts(content))


def _text(content: Sequence[Any]) -> str:
    return "\n".join(part.text for part in content if isinstance(part, own.TextContent))


def _parts(content: Sequence[Any]) -> list[Part]:
    thoughts = [(part.reasoning_text, part.extra) for part in content if isinstance(part, own.ReasoningContent)]
    images = [picture(f"data:{part.mime_type};base64,{part.base64_image}") for part in content if isinstance(part, own.ImageContent)]
    files = [
        {"type": "file", "base64": part.base64_data, "mime_type": part.mime_type} for part in content if isinstance(part, own.FileContent)
    ]
    return [*(_thought(*each) for each in thoughts), *images, *block_parts(files)]


def _thought(text: str, extra: dict[str, Any]) -> Part:
    signature = extra.get("encrypted_content") or extra.get("signature")
    return thought(text, signature, "openai" if extra.get("type") == "reasoning" else None)


def _written(turn: Turn) -> own.ChatMessage:
    urls = [url.removeprefix("data:").partition(";base64,") for url in pictures(turn)]
    images = [own.ImageContent(data, mime, validation=False) for mime, _, data in urls]
    if turn.role is Role.TOOL:
        found = [own.TextContent(turn.text), *images] if images else turn.text
        return own.ChatMessage.from_tool(found, own.ToolCall(turn.name or "", {}, turn.tool_call_id))
    if turn.role is Role.ASSISTANT:
        calls = [own.ToolCall(call.name, arguments(call), call.id) for call in turn.tool_calls]
        return own.ChatMessage.from_assistant(turn.text or None, tool_calls=calls)
    if turn.role is Role.SYSTEM:
        return own.ChatMessage.from_system(turn.text)
    return own.ChatMessage.from_user(content_parts=[turn.text, *images])
