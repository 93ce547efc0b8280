"""The command line, with one module for each command or group of commands.

It uses only the library's public API. Requires the extra `cli`.
"""

import lazy_loader

from polycontext.base import require_extra

for _module in ("click", "rich"):
    require_extra(_module, extra="cli", purpose="the command line")

# `__init__.pyi` lists the names.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
