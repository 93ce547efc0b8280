"""AgentContext, the guarded record that agents share (docs/agent-context.md).

Import most names from here. The modules have the rest: every class of the data model (`records`),
the table of all keys (`schema`), the protocol of an artifact store (`artifacts`), finding faults
(`consistency`) and migrations (`migrations`).
"""

import lazy_loader

# The names are in `__init__.pyi`; each is imported on first access.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
