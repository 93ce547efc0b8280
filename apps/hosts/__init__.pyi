from .contract import (
    HOSTS,
    VERSION,
    Call,
    CompactRequest,
    Message,
    Result,
    host_path,
    json_schema,
    read_request,
)
from .plan import CompactAnswer, Status, answer

__all__ = [
    "HOSTS",
    "VERSION",
    "Call",
    "CompactAnswer",
    "CompactRequest",
    "Message",
    "Result",
    "Status",
    "answer",
    "host_path",
    "json_schema",
    "read_request",
]
