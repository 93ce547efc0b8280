from .codec import document_from_json, document_to_json, pill_from_json, pill_schema, pill_to_json
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
    DEFAULT_KEYMAP,
    Keymap,
    Pill,
    PillAction,
    PillType,
    TextProperties,
    check_name,
    check_path,
)
from .resolution import (
    BufferResolver,
    FunctionResolver,
    PillProblem,
    ResolvedMessage,
    Resolvers,
    resolve_document,
    update_moved,
)
from .resolver import Candidate, Resolved, Resolver, Source
from .symbol_resolver import SymbolResolver

__all__ = [
    "DEFAULT_KEYMAP",
    "BufferResolver",
    "Candidate",
    "CannotAttachError",
    "Completer",
    "DuplicatePillError",
    "FileResolver",
    "FunctionResolver",
    "InvalidPillNameError",
    "Keymap",
    "Pill",
    "PillAction",
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
    "TextProperties",
    "asend_message",
    "asend_resolved",
    "check_name",
    "check_path",
    "decoded_text",
    "document_from_json",
    "document_to_json",
    "items_of",
    "pill_from_json",
    "pill_schema",
    "pill_to_json",
    "resolve_document",
    "send_message",
    "update_moved",
]
