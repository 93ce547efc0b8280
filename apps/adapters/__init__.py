"""Adapters for the SDKs and frameworks that agents are built with (docs/adapters.md).

Each adapter is a module of its own. Import the one you need.
"""

from .bridge import Adapter, Bridge
from .dialect import Dialect
from .sessions import Sessions

__all__ = ["Adapter", "Bridge", "Dialect", "Sessions"]
