"""Pills: references to context in an input buffer, written [@name] (seed 001)."""

from polycontext.window.pills.buffer_resolver import BufferResolver
from polycontext.window.pills.candidate import Candidate, Source
from polycontext.window.pills.codec import document_from_json, document_to_json, pill_from_json, pill_schema, pill_to_json
from polycontext.window.pills.completion import Completer
from polycontext.window.pills.document import PillDocument
from polycontext.window.pills.errors import (
    AmbiguousSymbolError,
    BinaryFileError,
    BufferNotFoundError,
    CannotAttachError,
    ContextNotFoundError,
    DuplicatePillError,
    FileChangedError,
    InvalidPillNameError,
    NotAFileError,
    OutsideRootsError,
    PillError,
    PillFormatError,
    PillPositionError,
    ResolverFailedError,
    SymbolNotFoundError,
    TooLargeError,
    UndecodableError,
    UnknownPillError,
    UnreadableError,
)
from polycontext.window.pills.file_resolver import FileResolver
from polycontext.window.pills.keymap import DEFAULT_KEYMAP, Keymap, PillAction, keymap_of
from polycontext.window.pills.pill import PILL_FACE, PILL_KEYMAP, Pill, PillType, TextProperties
from polycontext.window.pills.resolved import Resolved, Resolver
from polycontext.window.pills.resolving import FunctionResolver, PillProblem, ResolvedMessage, Resolvers, resolve_document
from polycontext.window.pills.symbol_resolver import SymbolResolver

__all__ = [
    "DEFAULT_KEYMAP",
    "PILL_FACE",
    "PILL_KEYMAP",
    "AmbiguousSymbolError",
    "BinaryFileError",
    "BufferNotFoundError",
    "BufferResolver",
    "Candidate",
    "CannotAttachError",
    "Completer",
    "ContextNotFoundError",
    "DuplicatePillError",
    "FileChangedError",
    "FileResolver",
    "FunctionResolver",
    "InvalidPillNameError",
    "Keymap",
    "NotAFileError",
    "OutsideRootsError",
    "Pill",
    "PillAction",
    "PillDocument",
    "PillError",
    "PillFormatError",
    "PillPositionError",
    "PillProblem",
    "PillType",
    "Resolved",
    "ResolvedMessage",
    "Resolver",
    "ResolverFailedError",
    "Resolvers",
    "Source",
    "SymbolNotFoundError",
    "SymbolResolver",
    "TextProperties",
    "TooLargeError",
    "UndecodableError",
    "UnknownPillError",
    "UnreadableError",
    "document_from_json",
    "document_to_json",
    "keymap_of",
    "pill_from_json",
    "pill_schema",
    "pill_to_json",
    "resolve_document",
]
