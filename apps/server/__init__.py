"""Conversations over HTTP: a browser is given props, and events when they change (docs/server.md)."""

import lazy_loader

from polycontext.linearity import require_extra

require_extra("fastapi", extra="server", purpose=__name__)

# The names stand in `__init__.pyi`; each is loaded when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
