"""`polycontext session`: conversations that are kept in a store, one command after another."""

from . import keeping, reading, writing
from .group import session

__all__ = ["keeping", "reading", "session", "writing"]

_ORDER = (
    *("new", "append", "close-open-calls", "show", "context", "messages", "compress", "recall", "explain", "search"),
    *("rewind", "fork", "export", "import", "list", "delete", "forget", "retain"),
)

# As a person meets them, not as they stand in files.
session.registered_commands.sort(key=lambda each: _ORDER.index(str(each.name)))
