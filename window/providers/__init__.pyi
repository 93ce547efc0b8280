from . import anthropic, chat, judge, layout, openai_places, places, responses, tool_pairs, wire
from .blocks import copied_messages, dumped
from .formats import check, findings, format_of, get_format, unwrap
from .media_room import load_errors
from .wire import AUTO, Message, Provider, Rendered, ToolDefinition, WireFormat, as_provider

__all__ = [
    "AUTO",
    "Message",
    "Provider",
    "Rendered",
    "ToolDefinition",
    "WireFormat",
    "anthropic",
    "as_provider",
    "chat",
    "check",
    "copied_messages",
    "dumped",
    "findings",
    "format_of",
    "get_format",
    "judge",
    "layout",
    "load_errors",
    "openai_places",
    "places",
    "responses",
    "tool_pairs",
    "unwrap",
    "wire",
]
