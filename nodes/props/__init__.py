"""Props of a chat component, which a browser may see, and their contract."""

import lazy_loader

# The names are declared in `__init__.pyi`; each is loaded on first access.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
