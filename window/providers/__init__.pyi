from . import anthropic, chat, responses
from .blocks import compact, copied_messages, dumped, loaded_object
from .breach import Breach, Spot
from .formats import AUTO, check, check_request, findings, format_of, get_format, unwrap
from .layout import fresh, left_behind
from .tool_pairs import NO_RESULT
from .wire import Judge, Message, Parsed, Provider, Rendered, WireFormat, Writer, as_provider

__all__ = [
    "AUTO",
    "NO_RESULT",
    "Breach",
    "Judge",
    "Message",
    "Parsed",
    "Provider",
    "Rendered",
    "Spot",
    "WireFormat",
    "Writer",
    "anthropic",
    "as_provider",
    "chat",
    "check",
    "check_request",
    "compact",
    "copied_messages",
    "dumped",
    "findings",
    "format_of",
    "fresh",
    "get_format",
    "left_behind",
    "loaded_object",
    "responses",
    "unwrap",
]
