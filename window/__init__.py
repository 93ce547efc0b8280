"""The contents of the context: turns, atoms, token counts, the Store comonad and items.

Names are imported lazily, on first access.
"""

import lazy_loader

# The names are declared in `__init__.pyi` and imported on first access.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
