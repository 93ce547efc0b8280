from .in_memory import InMemoryStore
from .locations import store_at
from .session_store import (
    AsyncSessionStore,
    ErasingStore,
    Found,
    Opened,
    Rewritten,
    SearchableStore,
    SessionStore,
    Snapshot,
    SnapshotStore,
    Stored,
)
from .sqlite import SQLiteStore

__all__ = [
    "AsyncSessionStore",
    "ErasingStore",
    "Found",
    "InMemoryStore",
    "Opened",
    "Rewritten",
    "SQLiteStore",
    "SearchableStore",
    "SessionStore",
    "Snapshot",
    "SnapshotStore",
    "Stored",
    "store_at",
]
