"""Compactions for the hosts where agents run, by one contract: see docs/hosts.md."""

import lazy_loader

# The names are listed in `__init__.pyi`; each one is loaded on first access.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
