"""Layer 1: the entities of a session and their status (docs/nodes.md).

The parameters `turn` and `current_turn` are exchange numbers.
"""

import lazy_loader

# The names stand in `__init__.pyi`; each is loaded when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
