"""Context items: code, files and texts attached to a conversation (docs/attachments.md).

Each name is loaded when it is first asked for.
"""

import lazy_loader

# The names stand in `__init__.pyi`; each is loaded when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
