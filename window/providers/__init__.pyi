from . import anthropic, chat, openai_findings, responses
from .blocks import copied_messages, dumped, loaded_object
from .breach import Breach, Spot
from .detection import AUTO, format_of
from .formats import check, check_request, findings, get_format
from .layout import fresh
from .wire import Message, Parsed, Provider, Rendered, WireFormat, as_provider

__all__ = [
    "AUTO",
    "Breach",
    "Message",
    "Parsed",
    "Provider",
    "Rendered",
    "Spot",
    "WireFormat",
    "anthropic",
    "as_provider",
    "chat",
    "check",
    "check_request",
    "copied_messages",
    "dumped",
    "findings",
    "format_of",
    "fresh",
    "get_format",
    "loaded_object",
    "openai_findings",
    "responses",
]
