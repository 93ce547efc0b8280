"""The memory of an agent: the exchange under way, and the closed ones.

In `CurrentTurn` and `turn_num` the word turn means an exchange (docs/nodes.md).
"""

import lazy_loader

# The names stand in `__init__.pyi`; each is loaded when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
