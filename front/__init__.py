"""The top-level package: the most used names, each loaded on first access.

>>> from polycontext import ContextSession
>>> ContextSession(max_tokens=1000).state
<ContextState.EMPTY: 'EMPTY'>
"""

import sys
from typing import Any, cast

import lazy_loader

# The names are declared in `__init__.pyi`; each is loaded on first access.
_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


class _Adviser:
    """A finder of imports that is asked last; its error says where a name of the package is."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        """Raise for a public name below this package; there is no such module."""
        if name.startswith(f"{__name__}.") and "._" not in name:
            # Without its `name`, or Python swallows it where a name is imported from a package.
            raise ModuleNotFoundError(_advice(name))


def _advice(name: str) -> str:
    from polycontext.base import guesses  # noqa: PLC0415 - errors are rare

    package, _, name = name.rpartition(".")
    return f"{name} is not in {package}.{guesses.import_advice(package, name)}"


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 - slow to import

        return version(__name__)
    try:
        return _load(name)
    except AttributeError:
        if name[0] == "_":
            raise
    raise AttributeError(_advice(f"{__name__}.{name}"))


sys.meta_path.append(cast("Any", _Adviser))
