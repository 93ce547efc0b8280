"""What fits polycontext into the frameworks and SDKs that agents are made with (docs/adapters.md): each is a module of its own, imported when it is used."""

from polycontext.nodes.adapters.bridge import Bridge
from polycontext.nodes.adapters.dialect import Dialect
from polycontext.nodes.adapters.sessions import Sessions

__all__ = ["Bridge", "Dialect", "Sessions"]
