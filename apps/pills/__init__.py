"""Pills: references to context in an input buffer, written [@name] (docs/attachments.md)."""

import lazy_loader

# The names are declared in `__init__.pyi` and imported on first access.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
