"""Google's Gemini contents: parsing, rendering and validation."""

import lazy_loader

# The names are declared in `__init__.pyi` and imported on first access.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
