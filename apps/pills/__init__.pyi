from . import errors, message, pill, resolution, resolver
from .codec import document_from_json, document_to_json
from .completion import Completer
from .document import PillDocument
from .file_resolver import FileResolver, decoded_text
from .message import asend_message, send_message
from .resolution import BufferResolver, Resolvers, resolve_document, update_moved
from .symbol_resolver import SymbolResolver

__all__ = [
    "BufferResolver",
    "Completer",
    "FileResolver",
    "PillDocument",
    "Resolvers",
    "SymbolResolver",
    "asend_message",
    "decoded_text",
    "document_from_json",
    "document_to_json",
    "errors",
    "message",
    "pill",
    "resolution",
    "resolve_document",
    "resolver",
    "send_message",
    "update_moved",
]
