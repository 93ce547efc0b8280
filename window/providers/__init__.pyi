from . import anthropic, chat, responses
from .blocks import Place, copied_messages, dumped, is_whole, shown
from .breach import Breach, ObjectJudge, Spot, entry_breaches, first
from .formats import AUTO, check, format_of, get_format, unwrap
from .layout import fresh, left_behind
from .tool_pairs import NO_RESULT
from .wire import Judge, Message, Parsed, Provider, Rendered, WireFormat, Writer, as_provider

__all__ = [
    "AUTO",
    "NO_RESULT",
    "Breach",
    "Judge",
    "Message",
    "ObjectJudge",
    "Parsed",
    "Place",
    "Provider",
    "Rendered",
    "Spot",
    "WireFormat",
    "Writer",
    "anthropic",
    "as_provider",
    "chat",
    "check",
    "copied_messages",
    "dumped",
    "entry_breaches",
    "first",
    "format_of",
    "fresh",
    "get_format",
    "is_whole",
    "left_behind",
    "responses",
    "shown",
    "unwrap",
]
