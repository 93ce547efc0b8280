"""Names that people expect, from habit or another library, and what to write here.

This is read only when an error is made.
"""

import json
import sys
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from re import findall
from typing import Any

from .errors import did_you_mean, similar

_ROOT = Path(__file__).parents[1]
_ADAPTERS = _ROOT / "adapters"

TABLES: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_bytes())
"""By class, by keyword and by import: guesses, separated by spaces, and what to write."""


def attribute_advice(kind: type, name: str) -> str:
    """Return what to write for an attribute that a class does not have, with a space before it."""
    for each in kind.__mro__:
        if cure := _cure(TABLES["attributes"].get(each.__name__, {}), name):
            return f" Use {cure}."
    if name[0] == "_":
        return ""
    # The async twin of a method is not listed beside it.
    public = [each for each in dir(kind) if each[0] != "_"]
    plain = [each for each in public if each[0] != "a" or each[1:] not in public]
    return did_you_mean(similar(name, public, 1, 0.7)) or _listed(plain)


def keyword_advice(function: str, name: str, known: Collection[str]) -> str:
    """Return what to write for a keyword that a function does not know."""
    if meant := _meant(name, known):
        return did_you_mean(meant[:1])
    table = TABLES["attributes"].get(function, {})
    if cure := _cure(table, f"{name}=") or _cure(table, name):
        return f" Use {cure}."
    return did_you_mean(similar(name, known, 1, 0.7)) or _listed(known)


def keyword_for(name: str, known: Collection[str]) -> str | None:
    """Return which of the known keywords a guess means, None if that cannot be told."""
    return next(iter((*_meant(name, known), *similar(name, known, 1, 0.7))), None)


def _meant(name: str, known: Collection[str]) -> list[str]:
    return [each for each in (guess("keywords", name) or "").split() if each in known]


def guess(table: str, name: str) -> str | None:
    """Return what to write for a name by a table, None if it is not in it."""
    return _cure(TABLES[table], name)


def import_advice(package: str, name: str) -> str:
    """Return where a name is that a package does not have, with a space before it."""
    module: Any = sys.modules.get(package)
    known = [each for each in getattr(module, "__all__", dir(module)) if each[0] != "_"]
    if cure := guess("imports", name):
        return f" Use {cure}."
    places = public_names()
    if name in places:
        return f" Import it from {places[name]}."
    adapters = {path.stem: f"polycontext.adapters.{path.stem}" for path in _ADAPTERS.glob("*.py")}
    homes = adapters | {home.rpartition(".")[2]: home for home in places.values()}
    if found := [homes[word] for word in (name, *name.split("_")) if word in homes]:
        return f" Use {found[0]}."
    if near := did_you_mean(similar(name, known, 1)):
        return near
    for each in similar(name, places, 1, 0.7):
        return f" Did you mean {each!r} of {places[each]}?"
    return _listed(known)


def _cure(table: Mapping[str, str], name: str) -> str | None:
    return next((cure for guesses, cure in table.items() if name in guesses.split()), None)


def _listed(names: Collection[str]) -> str:
    return f" Use {', '.join(names)}." if names else ""


@cache
def public_names() -> dict[str, str]:
    """Return each public name with the package to import it from, the shortest one."""
    places = dict[str, str]()
    for stub in sorted(_ROOT.rglob("__init__.pyi"), key=lambda path: len(path.parts)):
        package = ".".join(stub.relative_to(_ROOT.parent).parent.parts)
        listed = stub.read_text(encoding="utf-8").partition("__all__")[2]
        for name in findall(r'"(\w+)"', listed):
            places.setdefault(name, package)
    return places
