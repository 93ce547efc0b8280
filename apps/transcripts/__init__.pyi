from .conversation import (
    MESSAGES,
    Conversation,
    conversations,
    detect_provider,
    legal_in_json,
    read_conversations,
    session_in,
)
from .documents import (
    STANDARD_INPUT,
    Advance,
    Document,
    Notify,
    decoded,
    opened,
    read_bytes,
    read_documents,
    size_of,
    unreadable,
)
from .formats import Format, format_of_rows, messages_of_record
from .losses import Loss, Losses, LossKind, losses_of
from .transcript import Row, Transcript, arguments_of

__all__ = [
    "MESSAGES",
    "STANDARD_INPUT",
    "Advance",
    "Conversation",
    "Document",
    "Format",
    "Loss",
    "LossKind",
    "Losses",
    "Notify",
    "Row",
    "Transcript",
    "arguments_of",
    "conversations",
    "decoded",
    "detect_provider",
    "format_of_rows",
    "legal_in_json",
    "losses_of",
    "messages_of_record",
    "opened",
    "read_bytes",
    "read_conversations",
    "read_documents",
    "session_in",
    "size_of",
    "unreadable",
]
