"""What reads a session: the nodes of an agent, prompts for a model, props for a browser.

Each name is loaded when it is first used: rendering props loads no prompts.
"""

import lazy_loader

# The names stand in `__init__.pyi`; each is loaded when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
