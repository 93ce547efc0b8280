from . import search_query
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
    check_fork,
    hide_secrets,
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
    "check_fork",
    "hide_secrets",
    "search_query",
    "store_at",
]
