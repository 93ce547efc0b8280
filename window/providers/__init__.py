"""The providers' message formats: read into turns, written back, checked against their rules."""

from .formats import check, check_request, findings, get_format
from .wire import Message, Parsed, Provider, Rendered, WireFormat

__all__ = ["Message", "Parsed", "Provider", "Rendered", "WireFormat", "check", "check_request", "findings", "get_format"]
