"""The front door: the names most people need, each loaded when it is first asked for.

>>> from polycontext import ContextSession
>>> ContextSession(max_tokens=1000).state
<ContextState.EMPTY: 'EMPTY'>
"""

import lazy_loader

# The names stand in `__init__.pyi`; each is loaded when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
