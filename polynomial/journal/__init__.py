"""The journal of a session: its events, replaying them, and how they are stored."""

import lazy_loader

# The names are listed in `__init__.pyi`; each is loaded on first use.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
