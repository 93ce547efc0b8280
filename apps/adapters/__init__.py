"""What fits polycontext into the frameworks and SDKs that agents are made with (docs/adapters.md): each is a module of its own, imported when it is used."""

from .bridge import Bridge
from .dialect import Dialect
from .sessions import Sessions

__all__ = ["Bridge", "Dialect", "Sessions"]
