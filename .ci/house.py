"""Measure the structure of the code: circles, deep imports, and the characters of each room.

Usage: python .ci/house.py

Every import counts, including those for type checkers and those inside functions. A name that is
imported from a package, or read from a package imported as a namespace, counts as an import of the
module that defines it. Exit code 1 means that there are circles or deep imports, which are named,
or that the code has grown by more than 1 % since the last release. `just layers` checks that
imports run downward. Characters are those of code, without docstrings, comments and indentation.
"""

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
Import = tuple[str, str]  # a module, and a name that is imported from it
RELEASED = ".ci/released_characters"
"""The characters of all code at the last release; each release writes its own."""
DECIDED = re.compile(r"[Tt]he code may have ([\d,]+)\s+characters")
"""The line of a decision that lets the code grow further."""


class House:
    """The modules of a source tree by import name, as its pyproject.toml maps them."""

    def __init__(self, root: Path) -> None:
        """Read the modules of the folders in `[tool.setuptools.package-dir]`."""
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
        self.paths: dict[str, Path] = {}
        for package, folder in project["tool"]["setuptools"]["package-dir"].items():
            for path in sorted((root / folder).rglob("*.py")):
                steps = [package, *path.relative_to(root / folder).with_suffix("").parts]
                self.paths[".".join(steps).removesuffix(".__init__")] = path
        self.packages = {n for n, path in self.paths.items() if path.name == "__init__.py"}
        self.public = {package: dict(self._exports(package)) for package in self.packages}
        self.imports = {module: {*self._imports(module)} for module in self.paths}

    def _exports(self, package: str) -> Iterator[tuple[str, Import]]:
        """Yield the public names of a package, listed in its stub if it has one, with origins."""
        stub = self.paths[package].with_suffix(".pyi")
        for node in ast.parse((stub if stub.exists() else self.paths[package]).read_text()).body:
            if isinstance(node, ast.ImportFrom) and node.level:
                for each in node.names:
                    yield each.asname or each.name, (self._base(package, node), each.name)

    def _base(self, module: str, node: ast.ImportFrom) -> str:
        """Return the full name of the module that an import statement of `module` imports from."""
        parts = module.split(".")[: None if module in self.packages else -1]
        above = parts[: len(parts) - node.level + 1] if node.level else []
        return ".".join([*above, *filter(None, [node.module])])

    def _imports(self, module: str) -> Iterator[Import]:
        nodes = [*ast.walk(ast.parse(self.paths[module].read_text(encoding="utf-8")))]
        attributes = [each for each in nodes if isinstance(each, ast.Attribute)]
        for node in nodes:
            base = self._base(module, node) if isinstance(node, ast.ImportFrom) else ""
            for each in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
                whole, called = f"{base}.{each.name}".strip("."), each.asname or each.name
                if whole in self.public:  # a namespace
                    read = (a.attr for a in attributes if ast.unparse(a.value) == called)
                    yield from ((whole, attribute) for attribute in read)
                elif whole.partition(".")[0] == "polycontext":
                    yield base or whole, each.name if base else ""

    def home(self, base: str, name: str) -> str:
        """Return the module that defines what `from base import name` imports."""
        if f"{base}.{name}" in self.paths:
            return f"{base}.{name}"
        origin = self.public.get(base, {}).get(name)
        return self.home(*origin) if origin else base

    def circles(self) -> list[str]:
        """Return each group of modules that import each other, with the imports in it."""
        homes = {name: {self.home(*each) for each in made} for name, made in self.imports.items()}
        graph = {name: targets & self.paths.keys() - {name} for name, targets in homes.items()}
        above = {name: _reachable(graph, name) for name in graph}
        groups = {frozenset(each for each in above[n] if n in above[each]) for n in graph}
        return [
            ", ".join(f"{one} -> {other}" for one in sorted(group) for other in graph[one] & group)
            for group in groups
            if group
        ]

    def deep_imports(self) -> list[str]:
        """Return the imports from another room or guest of what its public APIs do not export."""
        return [
            f"{module}: {base}.{name}"
            for module, found in self.imports.items()
            for base, name in sorted(found)
            if base.split(".")[:2] != module.split(".")[:2] and not self._is_public(base, name)
        ]

    def _is_public(self, base: str, name: str) -> bool:
        if base in self.public or name.startswith("_"):
            return name in self.public.get(base, ()) or name.startswith("__")
        package, _, last = base.rpartition(".")
        return last in self.public.get(package, ())

    def offenders(self) -> dict[str, list[str]]:
        """Return what no house may have, by kind."""
        return {
            "groups of modules that import each other": self.circles(),
            "deep imports across rooms and guests": self.deep_imports(),
        }

    def characters(self) -> Mapping[str, int]:
        """Return the characters of code of each room and guest, the largest first."""
        found = Counter[str]()
        for name, path in self.paths.items():
            room = ".".join(name.split(".")[:2])
            inner = room.partition(".")[2] if room in self.packages else ""
            found[inner or "front"] += _characters(path)
        return dict(found.most_common())


def most_characters(root: Path) -> int:
    """Return the allowed characters: 1 % over the last release, or what a decision allows."""
    released = int((root / RELEASED).read_text(encoding="utf-8"))
    pages = sorted((root / "docs" / "decisions").glob("*.md"))
    decided = [each for page in pages for each in DECIDED.findall(page.read_text(encoding="utf-8"))]
    return max(released + released // 100, *(int(each.replace(",", "")) for each in decided), 0)


def _characters(path: Path) -> int:
    source = path.read_text(encoding="utf-8")
    docstrings = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    lines = (line.strip() for n, line in enumerate(source.split("\n"), 1) if n not in docstrings)
    return sum(len(line) for line in lines if not line.startswith("#"))


def _reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    found, pending = set[str](), [start]
    while pending:
        more = graph.get(pending.pop(), set()) - found
        found |= more
        pending += more
    return found


def main() -> int:
    """Print the characters of each room, and what must not be; return 1 if there is any."""
    house, most = House(ROOT), most_characters(ROOT)
    characters = house.characters()
    total = sum(characters.values())
    for room, number in {**characters, "in all": total, "allowed": most}.items():
        print(f"{number:>9,}  {room}")
    offenders = house.offenders()
    for what, found in offenders.items():
        print(f"\n{len(found)} {what}", *found, sep="\n  ")
    if total > most:
        print(f"\nThe code has {total - most:,} characters too many. Delete some, or decide:")
        print(f"  (docs/decisions) The code may have {total:,} characters, because ...")
    return 1 if total > most or any(offenders.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
