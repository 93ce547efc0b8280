"""Locations in the source tree, derived from the tree so that no list goes stale."""

import os
import shutil
import socket
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from markdown_it import MarkdownIt

from polycontext.base import MissingExtraError

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "../shared/data"
"""Recordings, which stay outside; tests that need them skip where they are absent."""
NEEDS_GIT = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
IS_DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
"""Whether the profile is that of `just deep`."""
ROOMS = ("base", "linearity", "window", "pressure", "polynomial", "nodes")
"""From the lowest to the highest."""
APPLICATIONS = tuple(
    f"apps/{place.parent.name}" for place in sorted((ROOT / "apps").glob("*/__init__.py"))
)
"""The applications beside the rooms, which use only the public APIs of the rooms."""
REMOVED = Path("front/bill.py")
"""A module that only raises an error, which names its replacement."""
FRONT = "front"
"""The package itself, which stands above the rooms and loads them lazily."""


def shipped_files() -> Iterator[Path]:
    """Yield every shipped file, relative to the root: modules, `py.typed` and data."""
    for room in (FRONT, *ROOMS, *APPLICATIONS):
        files = (
            path
            for path in (ROOT / room).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        )
        yield from sorted(path.relative_to(ROOT) for path in files)


def installed_path(path: Path) -> str:
    """Return where a shipped file stands once it is installed.

    >>> (
    ...     installed_path(Path("front/__init__.py")),
    ...     installed_path(Path("window/turn.py")),
    ...     installed_path(Path("apps/cli/app.py")),
    ... )
    ('polycontext/__init__.py', 'polycontext/window/turn.py', 'polycontext/cli/app.py')
    """
    return Path("polycontext", *path.parts[path.parts[0] in (FRONT, "apps") :]).as_posix()


def module_names() -> Iterator[str]:
    """Yield the import name of every module that is shipped and can be imported.

    >>> {"polycontext", "polycontext.window.turn"} <= set(module_names())
    True
    """
    for path in shipped_files():
        if path.suffix == ".py" and path != REMOVED:
            yield installed_path(path.with_suffix("")).removesuffix("/__init__").replace("/", ".")


def examples(text: str, language: str) -> list[tuple[int, str]]:
    """Return the fenced blocks of a language, each with the number of lines above its code."""
    fences = (token for token in MarkdownIt().parse(text) if token.type == "fence" and token.map)
    return [
        ((token.map or [0])[0] + 1, token.content)
        for token in fences
        if token.info.split()[:1] == [language]
    ]


def modules() -> Iterator[ModuleType]:
    """Yield every shipped module, except adapters whose framework is not installed."""
    for name in module_names():
        try:
            yield import_module(name)
        except MissingExtraError:
            if not name.startswith("polycontext.adapters."):
                raise


def free_port() -> int:
    """Return a free port of the loopback interface."""
    with socket.create_server(("127.0.0.1", 0)) as place:
        port: int = place.getsockname()[1]
        return port


def script(name: str) -> ModuleType:
    """Return a script of `.ci/` as a module; it can import the scripts beside it."""
    if (folder := str(ROOT / ".ci")) not in sys.path:
        sys.path.append(folder)
    spec = spec_from_file_location(f"ci_{name}", ROOT / ".ci" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for the module of a class
    spec.loader.exec_module(module)
    return module


def seeds(quick: int, gate: int, deep: int) -> list[Any]:
    """Return numbers as parameters: from `quick` on they are marked `gate`, from `gate` on `deep`.

    Coverage is measured only for those that every run tries.
    """
    further = [
        pytest.param(
            seed,
            marks=(pytest.mark.no_cover, pytest.mark.gate if seed < gate else pytest.mark.deep),
        )
        for seed in range(quick, deep)
    ]
    return [*range(quick), *further]


def gated(values: Iterable[Any], *quick: Any) -> list[Any]:
    """Return values as parameters; all but the `quick` ones are marked `gate`."""
    return [
        pytest.param(*_parameters(each), marks=() if each in quick else pytest.mark.gate)
        for each in values
    ]


def sizes(short: Any, deep: Any) -> list[Any]:
    """Return how large a test is as its parameters: always `short`, and `deep` in a deep run."""
    return [
        short,
        pytest.param(*_parameters(deep), marks=pytest.mark.deep),
    ]


def _parameters(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)
