"""Where sessions are kept: one protocol, the store that lives as long as its process, and the one in a SQLite file."""

import lazy_loader

# The names stand in `__init__.pyi`; each is loaded when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
