"""Who reads it? The nodes of an agent, prompts for a model, props for a browser, the command line.

Each name is loaded when it is first asked for: whoever renders props loads no prompts, and nobody the command line.
"""

import lazy_loader

# The names stand in `__init__.pyi`; each is loaded when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
