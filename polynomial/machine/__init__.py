"""The state machine: its declaration, engine, timers and diagram."""

import lazy_loader

# `__init__.pyi` lists the names; each is imported on first access.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
