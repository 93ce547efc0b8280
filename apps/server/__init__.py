"""Conversations over HTTP: a browser receives props, and events when they change.

See docs/server.md.
"""

import lazy_loader

from polycontext.base import require_extra

require_extra("fastapi", extra="server", purpose=__name__)

# The names are listed in `__init__.pyi`; each is loaded on first access.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
