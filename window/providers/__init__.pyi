from . import anthropic, chat, openai_findings, responses
from .answers import opened
from .blocks import compact, copied_messages, dumped, loaded_object
from .breach import Breach, Spot
from .detection import AUTO, format_of
from .formats import check, check_request, findings, get_format
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
    "openai_findings",
    "opened",
    "responses",
]
