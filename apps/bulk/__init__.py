"""Data sets of conversations, shortened on all cores or on a Ray cluster; see docs/bulk.md."""

import lazy_loader

# The names are listed in `__init__.pyi`; each one is loaded on first access.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
