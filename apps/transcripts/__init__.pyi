from .conversation import (
    MESSAGES,
    Conversation,
    legal_in_json,
    read_conversations,
    session_in,
)
from .documents import (
    STANDARD_INPUT,
    opened,
    read_text,
)
from .formats import format_of_rows, messages_of_record
from .losses import Losses, LossKind, losses_of
from .transcript import arguments_of

__all__ = [
    "MESSAGES",
    "STANDARD_INPUT",
    "Conversation",
    "LossKind",
    "Losses",
    "arguments_of",
    "format_of_rows",
    "legal_in_json",
    "losses_of",
    "messages_of_record",
    "opened",
    "read_conversations",
    "read_text",
    "session_in",
]
