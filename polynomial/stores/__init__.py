"""Where sessions are kept: one protocol, the store that lives as long as its process, and the one in a SQLite file."""

from typing import TYPE_CHECKING, Any

from .in_memory import InMemoryStore
from .session_store import (
    AsyncSessionStore,
    Found,
    Opened,
    SearchableStore,
    SessionStore,
    Snapshot,
    SnapshotStore,
    Stored,
)

if TYPE_CHECKING:
    from ..journal.rows import event_from_json, event_to_json
    from .sqlite import SQLiteStore

__all__ = [
    "AsyncSessionStore",
    "Found",
    "InMemoryStore",
    "Opened",
    "SQLiteStore",
    "SearchableStore",
    "SessionStore",
    "Snapshot",
    "SnapshotStore",
    "Stored",
    "event_from_json",
    "event_to_json",
]


def __getattr__(name: str) -> Any:
    if name == "SQLiteStore":
        from .sqlite import SQLiteStore  # noqa: PLC0415 - for those who keep sessions in a file

        return SQLiteStore
    if name in ("event_from_json", "event_to_json"):
        from ..journal import rows  # noqa: PLC0415 - for those who write a store

        return getattr(rows, name)
    raise AttributeError(name)
