"""Prompts, assembled from templates, persona, constraints and the view (docs/nodes.md)."""

import lazy_loader

# The names stand in `__init__.pyi`; each is loaded when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
