"""One conversation, driven through the machine.

Each module is loaded on first access, as an attribute of this package.
"""

import lazy_loader

# `__init__.pyi` lists the names.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
