from .codec import document_from_json, document_to_json, pill_from_json, pill_schema, pill_to_json
from .completion import Completer
from .document import PillDocument
from .errors import CannotAttachError, DuplicatePillError, InvalidPillNameError, PillError, Reason
from .file_resolver import FileResolver, decoded_text
from .pill import (
    DEFAULT_KEYMAP,
    PILL_FACE,
    PILL_KEYMAP,
    Keymap,
    Pill,
    PillAction,
    PillType,
    TextProperties,
    check_name,
    check_path,
    find_pills,
    keymap_of,
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
    "PILL_FACE",
    "PILL_KEYMAP",
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
    "Source",
    "SymbolResolver",
    "TextProperties",
    "check_name",
    "check_path",
    "decoded_text",
    "document_from_json",
    "document_to_json",
    "find_pills",
    "keymap_of",
    "pill_from_json",
    "pill_schema",
    "pill_to_json",
    "resolve_document",
    "update_moved",
]
