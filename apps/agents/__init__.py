"""Agents: nodes that run, and whose answers are events of a session's machine (docs/agents.md)."""

import lazy_loader

# The names are declared in `__init__.pyi` and imported on first access.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
