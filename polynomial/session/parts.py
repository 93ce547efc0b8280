"""The parts of a session that `ContextSession` hands out, each loaded on first access."""

import lazy_loader

# `parts.pyi` lists them. A session that adds turns and reads messages loads few of them.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__.rpartition(".")[0], __file__)
