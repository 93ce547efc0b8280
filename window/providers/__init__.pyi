from . import anthropic, chat, gemini, responses
from .blocks import copied_messages, dumped
from .formats import check, findings, format_of, get_format, unwrap
from .judge import ListJudge, raise_first
from .layout import left_behind, without
from .media_room import load_errors
from .openai_places import ObjectCheck, OpenAIPlace
from .places import Place, shown
from .tool_pairs import mended, missing_result
from .wire import (
    AUTO,
    Message,
    Parsed,
    Provider,
    Rendered,
    ToolDefinition,
    WireFormat,
    Writer,
    as_provider,
    fresh,
)

__all__ = [
    "AUTO",
    "ListJudge",
    "Message",
    "ObjectCheck",
    "OpenAIPlace",
    "Parsed",
    "Place",
    "Provider",
    "Rendered",
    "ToolDefinition",
    "WireFormat",
    "Writer",
    "anthropic",
    "as_provider",
    "chat",
    "check",
    "copied_messages",
    "dumped",
    "findings",
    "format_of",
    "fresh",
    "gemini",
    "get_format",
    "left_behind",
    "load_errors",
    "mended",
    "missing_result",
    "raise_first",
    "responses",
    "shown",
    "unwrap",
    "without",
]
