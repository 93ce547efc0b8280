"""AgentContext: the agents' shared, guarded store (docs/agent-context.md).

What most users need is here. Every class of the data model is in `records`; the table of all keys in `schema`, what
a place for artifacts of one's own is written with in `artifacts`, what looks for faults and mends them in `consistency`, what counts
model calls in `metrics`, the migrations of this package in `migrations`.
"""

import lazy_loader

# The names stand in `__init__.pyi`; each is loaded when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
