"""One conversation, driven through the machine by whoever uses it.

Most of what a session can do is asked for rarely: each module of it is loaded when it is first
looked at, as an attribute of this package.
"""

import lazy_loader

# The names stand in `__init__.pyi`.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
