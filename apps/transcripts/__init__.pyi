from .conversation import (
    MESSAGES,
    Conversation,
    conversations,
    legal_in_json,
    read_conversations,
    session_in,
)
from .documents import (
    STANDARD_INPUT,
    decoded,
    opened,
    read_bytes,
    size_of,
    unreadable,
)
from .formats import Format, format_of_rows, messages_of_record
from .losses import Losses, LossKind, losses_of
from .transcript import Row, arguments_of

__all__ = [
    "MESSAGES",
    "STANDARD_INPUT",
    "Conversation",
    "Format",
    "LossKind",
    "Losses",
    "Row",
    "arguments_of",
    "conversations",
    "decoded",
    "format_of_rows",
    "legal_in_json",
    "losses_of",
    "messages_of_record",
    "opened",
    "read_bytes",
    "read_conversations",
    "session_in",
    "size_of",
    "unreadable",
]
