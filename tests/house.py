"""Where things are in the tree, derived from the tree so that no list goes stale."""

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("linearity", "window", "pressure", "polynomial", "nodes")
"""From the lowest to the highest."""


def shipped_files() -> Iterator[Path]:
    """Yield every file of the five rooms, relative to the root: modules, `py.typed` and data."""
    for room in ROOMS:
        files = (path for path in (ROOT / room).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        yield from sorted(path.relative_to(ROOT) for path in files)


def module_names() -> Iterator[str]:
    """Yield the import name of every module of the five rooms.

    >>> "polycontext.window.turn" in set(module_names())
    True
    """
    for path in shipped_files():
        if path.suffix == ".py":
            parts = path.with_suffix("").parts
            yield ".".join(("polycontext", *(parts[:-1] if parts[-1] == "__init__" else parts)))
