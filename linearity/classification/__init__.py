"""What may be done to a turn, decided by rules: the default classifier, and the wordings it looks for."""

import lazy_loader

# The names stand in `__init__.pyi`; each is loaded when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
