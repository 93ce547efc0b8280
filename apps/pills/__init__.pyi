from .codec import document_from_json, document_to_json
from .completion import Completer
from .document import PillDocument
from .errors import CannotAttachError, DuplicatePillError, InvalidPillNameError, PillError, Reason
from .file_resolver import FileResolver, decoded_text
from .message import (
    SentMessage,
    SourcedItem,
    asend_message,
    asend_resolved,
    items_of,
    send_message,
)
from .pill import (
    Keymap,
    Pill,
    PillType,
    check_name,
    check_path,
)
from .resolution import (
    BufferResolver,
    PillProblem,
    ResolvedMessage,
    Resolvers,
    resolve_document,
    update_moved,
)
from .resolver import Candidate, Resolved, Resolver, Source
from .symbol_resolver import SymbolResolver

__all__ = [
    "BufferResolver",
    "Candidate",
    "CannotAttachError",
    "Completer",
    "DuplicatePillError",
    "FileResolver",
    "InvalidPillNameError",
    "Keymap",
    "Pill",
    "PillDocument",
    "PillError",
    "PillProblem",
    "PillType",
    "Reason",
    "Resolved",
    "ResolvedMessage",
    "Resolver",
    "Resolvers",
    "SentMessage",
    "Source",
    "SourcedItem",
    "SymbolResolver",
    "asend_message",
    "asend_resolved",
    "check_name",
    "check_path",
    "decoded_text",
    "document_from_json",
    "document_to_json",
    "items_of",
    "resolve_document",
    "send_message",
    "update_moved",
]
