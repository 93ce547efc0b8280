"""Readers of a session: the nodes of an agent, prompts for a model, props for a browser.

Each name is imported on first use, so rendering props loads no prompts.
"""

import lazy_loader

# The names are in `__init__.pyi`; each is imported on first access.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
