"""The laws of agents and their combinators, the operad, the machine, sessions and projections.

Combinators, engines and `project` are inputs of their laws, so you can run a law on your own
implementation by passing it in.
"""

import lazy_loader

# The names are listed in `__init__.pyi`; each is loaded on first use.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
