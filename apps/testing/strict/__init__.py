"""Strict fake providers, in process and over HTTP, and the checks of requests that they make.

They reject what the vendors reject, with the vendors' messages, and answer from a script.
"""

import lazy_loader

# The names are declared in `__init__.pyi` and imported on first access.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
