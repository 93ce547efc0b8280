"""The laws of what moves the context: agents and their combinators, the operad, the machine, sessions, projections.

A combinator, an engine, `project` are themselves inputs of their laws, so run them on your own by
passing it in.
"""

import lazy_loader

# The names stand in `__init__.pyi`; each is loaded when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
