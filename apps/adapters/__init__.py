"""Adapters for the SDKs and frameworks that agents are built with (docs/adapters.md).

Each adapter is a module of its own. Import the one you need.
"""

import sys
from collections.abc import Sequence
from pkgutil import iter_modules

from polycontext.base import did_you_mean, similar

from .bridge import Adapter, Bridge
from .dialect import Dialect
from .sessions import Sessions

__all__ = ["Adapter", "Bridge", "Dialect", "Sessions"]


class _SimilarModules:
    """Names a similar adapter where `import` finds none; it never finds one itself."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: object = None, /) -> None:
        package, _, last = name.rpartition(".")
        if path and package == __name__:
            meant = did_you_mean(similar(last, (each.name for each in iter_modules(path)), 1))
            advice = meant or " docs/adapters.md lists the adapters."
            raise ModuleNotFoundError(f"No module named {name!r}.{advice}", name=name)


sys.meta_path.append(_SimilarModules())
