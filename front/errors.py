"""Every error and warning that polycontext raises, each loaded on first access (docs/errors.md).

>>> from polycontext import ContextSession, errors
>>> try:
...     ContextSession("gpt5")
... except errors.UnknownNameError as error:
...     print(error.near[0])
gpt-5
"""

import lazy_loader

# A package to the import system, which then says where a name is that is not here.
__path__: list[str] = []

# The names are declared in `errors.pyi`, relative to the package.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub("polycontext", __file__)
