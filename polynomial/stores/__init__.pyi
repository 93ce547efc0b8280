from .file_lock import FileLock
from .in_memory import InMemoryStore
from .locations import store_at
from .search_query import AskedWords
from .session_store import (
    AsyncSessionStore,
    ErasingStore,
    Found,
    Opened,
    Rewritten,
    SearchableStore,
    SessionStore,
    SharedStore,
    Snapshot,
    SnapshotStore,
    Stored,
    check_fork,
    hide_secrets,
)
from .sqlite import SQLiteStore
from .word_index import WordIndex

__all__ = [
    "AskedWords",
    "AsyncSessionStore",
    "ErasingStore",
    "FileLock",
    "Found",
    "InMemoryStore",
    "Opened",
    "Rewritten",
    "SQLiteStore",
    "SearchableStore",
    "SessionStore",
    "SharedStore",
    "Snapshot",
    "SnapshotStore",
    "Stored",
    "WordIndex",
    "check_fork",
    "hide_secrets",
    "store_at",
]
