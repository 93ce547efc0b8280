"""Where sessions are kept: one protocol, and the store that lives as long as its process."""

from polycontext.polynomial.stores.in_memory import InMemoryStore
from polycontext.polynomial.stores.session_store import AsyncSessionStore, SessionStore, Stored

__all__ = ["AsyncSessionStore", "InMemoryStore", "SessionStore", "Stored"]
