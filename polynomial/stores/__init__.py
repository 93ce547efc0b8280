"""Stores for sessions: the protocols, the in-memory store, and the SQLite store."""

import lazy_loader

# The names are listed in `__init__.pyi`; each is loaded on first use.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
