"""The state machine, polynomials and operad, sessions, journals, stores, and `project`."""

import lazy_loader

# The names are listed in `__init__.pyi`; each is loaded on first use.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
